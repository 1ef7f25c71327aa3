"""The page without a browser: names as text, nothing from elsewhere, written whole or not at all."""

import base64
import errno
import hashlib
import itertools
import json
import os
import re
import sys

import numpy as np
import pytest
from report_pages import HOSTILE, Page, comparison_of, distance_to_line, evaluation_of, from_letters

import polyroc
from polyroc.evaluation._uncertainty import Uncertainty
from polyroc.report import render_html, summarize, write_html
from polyroc.report._figures import thinned
from polyroc.report._page import check_installed, inlined
from polyroc.report._sentences import names_of


@pytest.fixture(scope="module")
def evaluation():
    return evaluation_of(5)


@pytest.fixture(scope="module")
def summary(evaluation):
    return summarize(evaluation, bootstrap=evaluation.bootstrap(29, rng=0), seed=0)


@pytest.fixture(scope="module")
def page(summary):
    return render_html(summary)


@pytest.fixture(scope="module")
def hostile():
    """Hostile names everywhere that a name can be."""
    costs = np.ones((len(HOSTILE),) * 2)
    compared = comparison_of(
        k=len(HOSTILE), names=HOSTILE[:3], classes=HOSTILE, n_resamples=9, options={"costs": costs}
    )
    summary = summarize(compared, source={"files": HOSTILE}, warnings=HOSTILE[:2])
    return summary, render_html(summary, title=HOSTILE[0])


def test_the_sections_come_in_order_under_one_heading(page):
    read = Page(page)
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert read.inside("h2") == [
        "In plain words",
        "The curve",
        "In more words",
        "Classes",
        "Pairs of classes",
        "Heatmap",
        "Settings",
        "How to cite",
    ]
    for landmark in ("header", "nav", "main", "footer"):
        assert len(read.named(landmark)) == 1


def test_ids_are_unique_and_links_lead_to_them(page):
    read = Page(page)
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes in read.named("a")]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_it_says_what_the_numbers_are(page, summary, evaluation):
    text = Page(page).text
    assert f"{evaluation.auc:.4f}" in text
    assert f"{evaluation.hand_till:.4f}" in text
    low, high = (summary["confidence_interval"][end] for end in ("low", "high"))
    assert f"95 % interval {low:.4f} to {high:.4f}" in text
    assert "arXiv:2404.13147" in text
    assert "29, seed 0" in text
    assert f"numpy {np.__version__}" in text
    assert "No costs were given" in text


def test_without_script_there_are_the_worst_pairs_and_the_curve(page, evaluation):
    read = Page(page)
    worst = int(np.argmin(evaluation.pairs.auc))
    rows = re.search(r'<table id="pairs">.*?</table>', page, re.DOTALL)[0]
    assert rows.count("<tr>") == 1 + 20
    first = re.findall(r"<td[^>]*>(?:<bdi[^>]*>)?([^<]*)", rows)[:3]
    pairs = evaluation.pairs
    assert first == [pairs.positive[worst], pairs.negative[worst], f"{pairs.auc[worst]:.4f}"]
    points = next(attributes["points"] for attributes in read.named("polyline") if attributes["class"] == "curve")
    drawn = np.array([[float(x) for x in point.split(",")] for point in points.split()])
    # The frame is 322 units wide and high, and begins 62 from the left and 12 from the top.
    for fpr, tpr in zip(evaluation.curve.fpr, evaluation.curve.tpr, strict=True):
        assert distance_to_line(drawn, (62 + 322 * fpr, 12 + 322 * (1 - tpr))) < 0.3
    assert f"{evaluation.curve.tpr[len(evaluation.curve.tpr) // 2]:.4f}" in read.inside("td")


def test_the_mean_of_the_pairs_is_drawn_dashed_beside_the_shared_curve(summary, page, evaluation):
    read = Page(page)
    shared, mean = read.named("polyline")
    assert (shared["class"], shared["stroke-dasharray"]) == ("curve", "")
    assert (mean["class"], mean["stroke-dasharray"]) == ("mean_curve", "7 4")
    drawn = np.array([[float(x) for x in point.split(",")] for point in mean["points"].split()])
    # Means over the pairs, by a loop over the call rates.
    fpr, tpr = ([np.mean(row) for row in rate] for rate in (evaluation.rates.fpr, evaluation.rates.tpr))
    for x, y in zip(fpr, tpr, strict=True):
        assert distance_to_line(drawn, (62 + 322 * x, 12 + 322 * (1 - y))) < 0.3
    [model] = read.data["models"]
    assert model["dashes"] == {"curve": "", "mean_curve": "7 4"}
    np.testing.assert_allclose(model["curve"]["tpr"], summary["curve"]["tpr"], atol=1e-5)
    np.testing.assert_allclose(model["mean_curve"]["tpr"][1:-1], tpr, atol=1e-5)
    assert set(model["band"]) == set(model["mean_band"]) == {"lower", "upper"}
    assert len(read.named("polygon")) == 2
    assert (
        "Dashed: the mean of the curves of the pairs; its area is M. Where the two part, the pairs differ" in read.text
    )
    assert f"{np.mean(evaluation.rates.tpr[len(evaluation.rates.tpr) // 2]):.4f}" in read.inside("td")


def test_with_costs_the_mean_curve_has_an_area_of_its_own():
    costs = np.ones((5, 5))
    costs[0, 1] = 9
    evaluation = evaluation_of(5, options={"costs": costs})
    text = Page(render_html(summarize(evaluation))).text
    assert "Dashed: the mean of the curves of the pairs, weighted as the costs and settings ask for. Where" in text
    assert f"mean {evaluation.mean_auc:.4f}" in text
    assert abs(evaluation.mean_auc - evaluation.hand_till) > 0.001


def test_a_page_can_be_made_from_what_json_has_kept(summary, page):
    assert render_html(json.loads(json.dumps(summary))) == page


def test_a_class_without_samples_is_no_second_class(evaluation):
    y_true, scores = evaluation.fitted.source.codes % 2, evaluation.fitted.source.scores[:, :3]
    with pytest.warns(UserWarning, match="No samples"):
        without = polyroc.evaluate(y_true, scores, labels=[0, 1, 2])
    read = Page(render_html(summarize(without), title=" "))
    assert "One ROC curve for 2 classes" in read.text
    assert "all 2 ordered pairs of classes share" in read.text
    assert "With two classes there is one pair" not in read.text
    assert read.data["heatmap"]["classes"] == [0, 1]


def test_two_classes_have_a_curve_and_no_heatmap():
    text = Page(render_html(summarize(evaluation_of(2))))
    assert text.data["heatmap"] is None
    assert "Heatmap" not in text.text
    assert "ROC curve for two classes" in text.text


def test_a_comparison_has_differences_rankings_and_a_choice_of_models():
    comparison = comparison_of()
    read = Page(render_html(summarize(comparison)))
    for one in (comparison.by_auc, comparison.by_hand_till):
        for difference in one.differences:
            assert f"{difference.first} minus {difference.second} {difference.value:+.4f}" in read.text
        assert " > ".join(place[0] for place in one.rankings[0].order) in read.text
    assert [option["value"] for option in read.named("option")][:3] == ["0", "1", "2"]
    assert len(read.data["models"]) == 3


def test_costs_are_a_matrix_on_screens_a_list_on_paper_and_the_largest_of_many_classes():
    costs = np.ones((5, 5))
    costs[1, 2] = 17
    few = Page(render_html(summarize(evaluation_of(5, options={"costs": costs}))))
    # Once in the matrix, which scrolls, and once in the list for paper, which does not.
    assert few.inside("td").count("17") == 2
    assert "1 for the other 19 true predicted value class 01 class 02 17" in few.text
    equal = Page(render_html(summarize(evaluation_of(5, options={"costs": 2 * np.ones((5, 5))})))).text
    assert "predicted class: 2 for every confusion" in equal
    costs = np.ones((14, 14))
    costs[1, 2] = 17
    many = Page(render_html(summarize(evaluation_of(14, options={"costs": costs})))).text
    assert "182 entries from 1 to 17, the largest first true predicted value class 01 class 02 17" in many


def test_a_fit_that_did_not_converge_is_said_first(summary):
    failed = {**summary, "fit": {**summary["fit"], "status": "max-iter"}}
    read = Page(render_html(failed))
    said = "In plain words No verdict: the fit ran out of iterations before it converged. D is not to be relied on."
    assert said in read.text


def test_without_intervals_the_page_says_so(evaluation):
    text = Page(render_html(summarize(evaluation, include_intervals=False))).text
    assert "no interval was asked for" in text
    assert "none: no interval was asked for" in text
    assert "95 % band" not in text


# Safety


def test_hostile_names_are_text(hostile):
    _, page = hostile
    read = Page(page)
    assert {tag for tag, _ in read.tags} <= {
        *(
            "html",
            "head",
            "meta",
            "link",
            "title",
            "style",
            "body",
            "a",
            "header",
            "p",
            "h1",
            "h2",
            "h3",
            "span",
            "nav",
        ),
        *(
            "ul",
            "li",
            "main",
            "section",
            "div",
            "bdi",
            "strong",
            "table",
            "caption",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        ),
        *("svg", "g", "line", "path", "polygon", "polyline", "text"),
        *("figure", "figcaption", "fieldset", "legend", "label"),
        *("input", "select", "option", "details", "summary", "button", "noscript", "dl", "dt", "dd", "cite", "pre"),
        *("footer", "script"),
    }
    # The data, the fit, and all the rest.
    assert len(read.named("script")) == 3
    for _, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on")]
    assert [attributes["href"] for attributes in read.named("link")] == ["data:,"]
    assert all(attributes["href"].startswith("#") for attributes in read.named("a"))
    shown = set(read.inside("bdi"))
    for name in names_of(HOSTILE):
        assert name.text in shown


def test_names_that_cannot_be_seen_or_turn_text_round_do_no_harm(hostile):
    _, page = hostile
    assert not {"\u202e", "\u200b"} & set(page)
    blank, long, plain = names_of([" ", 500 * "x", "plain"])
    assert blank.text == "' '"
    assert long.text == f"{20 * 'x'}…{19 * 'x'}"
    assert long.title == 500 * "x"
    assert plain.title == ""
    assert f'title="long {500 * "x"}"' in page


def test_long_names_stay_different_wherever_they_stand():
    """The names differ at their ends, in the middle, and by what a font or a phone would cut off."""
    classes = [
        f"a class with a rather long description, {end}" for end in ("male, young", "female, young", "male, old")
    ]
    models = [f"gradient boosting, depth {depth}, trained for a very long time" for depth in (4, 6)]
    summary = summarize(comparison_of(k=3, names=models, classes=classes, n_resamples=9, n=90))
    page = render_html(summary)
    read = Page(page)
    cells = {text for tag, text in read.texts if tag == "bdi"}
    for names in (names_of(classes), names_of(models)):
        assert len({name.text for name in names}) == len(names)
        assert all(len(name.text) <= 40 for name in names)
        assert {name.text for name in names} <= cells
    assert len(set(read.data["heatmap"]["names"])) == 3
    # In sentences they stand whole, and where they are cut the whole name is there for the pointer and for paper.
    best = summary["best"] or summary["auc"]["estimates"][0]["model"]
    lead = re.search(r'<p class="lead">(.*?)</p>', page, re.DOTALL)[1]
    assert best in lead
    assert {attributes["title"] for attributes in read.named("bdi") if "title" in attributes} >= {*classes, *models}


def test_above_the_fold_stands_what_to_do_in_about_sixty_words():
    example = polyroc.load_example()
    comparison = polyroc.compare(example.y_true, example.scores, method="bootstrap", n_resamples=99, rng=0)
    tree = polyroc.evaluate(example.y_true, example.scores["tree"])
    for result, options, start in [
        (comparison, {}, "Use logistic: "),
        (tree, {"bootstrap": tree.bootstrap(99, rng=0)}, "These scores separate the 10 classes better than guessing"),
    ]:
        summary = summarize(result, **options)
        text = Page(render_html(summary)).text
        words = " ".join(summary["advice"])
        assert words.startswith(start)
        assert 35 <= len(words.split()) <= 70
        # First of all that is below the links.
        assert text.index(start) == text.index("In plain words") + len("In plain words ")
        assert words in text


def test_the_board_has_d_m_accuracy_and_the_worst_pair_of_every_model():
    comparison = comparison_of()
    board = re.search(r'<table class="board">.*?</table>', render_html(summarize(comparison)), re.DOTALL)[0]
    rows = [Page(row).text for row in board.split("<tr>")[2:]]
    for row, (name, evaluation) in zip(rows, comparison.evaluations.items(), strict=True):
        pair = evaluation.worst_pair
        assert name in row
        assert f"{evaluation.auc:.4f}" in row
        assert f"{evaluation.hand_till:.4f}" in row
        right = np.mean(np.argmax(evaluation.fitted.source.scores, axis=1) == evaluation.fitted.source.codes)
        assert f"{100 * right:.0f} %" in row
        assert f"{pair.auc:.4f} {pair.positive} against {pair.negative}" in row
        estimates = [one for contest in (comparison.by_auc, comparison.by_hand_till) for one in contest.estimates]
        for one in estimates:
            assert (f"{one.low:.4f} to {one.high:.4f}" in row) == (one.model == name)


def test_what_the_script_reads_holds_the_names_and_no_markup(hostile):
    _, page = hostile
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert not set("<>&\u2028\u2029") & set(embedded)
    data = Page(page).data
    assert [label["text"] for label in data["labels"]] == [name.text for name in names_of(HOSTILE)]


def test_a_line_separator_and_half_a_character_are_no_trouble():
    y_true, scores = np.repeat([0, 1, 2], 20), np.random.default_rng(0).normal(size=(60, 3))
    labels = np.array(["a\u2028b", "c\u2029d", "half \ud800"], dtype=object)
    page = render_html(
        summarize(
            polyroc.evaluate(labels[y_true], scores, labels=labels), source={"file": "\udcff.csv"}, warnings=["\ud800"]
        )
    )
    page.encode("utf-8")
    assert Page(page).data["labels"][0]["text"] == "a?b"


def test_nothing_is_named_that_a_browser_would_fetch(page, hostile):
    for one in (page, hostile[1]):
        for _, attributes in Page(one).tags:
            assert not {"src", "srcset", "poster", "action"} & set(attributes)
    # The name of SVG is no address, and what is clipped is clipped by a part of the page.
    own = page.replace("http://www.w3.org/2000/svg", "").replace("url(#curve-clip)", "")
    assert not re.search(r"https?:|url\(|@import", own)


def test_only_the_scripts_of_the_page_may_run(page):
    read = Page(page)
    [policy] = [m["content"] for m in read.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    scripts = re.findall(r'<script(?: id="fit")?>(.*?)</script>', page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert rules["script-src"].split() == [f"'sha256-{one}'" for one in hashes]
    assert len(hashes) == 2


def test_scripts_are_read_as_they_are_hashed():
    assert inlined("a\r\nb<!--c") == "a\nb<\\!--c"


# Errors and files


def test_what_is_missing_is_said_with_what_to_install(evaluation, tmp_path, monkeypatch):
    def no(*_, **__):
        pytest.fail("resampled for nothing")

    monkeypatch.setattr(Uncertainty, "resampled", no)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "jinja2", None)
        with pytest.raises(ModuleNotFoundError, match=r"jinja2: pip install \"polyroc\[report\]\""):
            check_installed()
        with pytest.raises(ModuleNotFoundError, match=r"polyroc\[report\]"):
            write_html(evaluation, tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_bad_arguments_are_named_before_anything_is_done(evaluation, tmp_path, monkeypatch):
    def no(*_, **__):
        pytest.fail("resampled for nothing")

    drawn = evaluation.bootstrap(9, rng=0)
    comparison = comparison_of(k=3, n_resamples=9)
    monkeypatch.setattr(Uncertainty, "resampled", no)
    page = tmp_path / "a.html"
    for arguments, options, message in [
        ((0.5, page), {}, r"`result` must be an Evaluation or a Comparison, got float"),
        (
            (evaluation, tmp_path / "no" / "a.html"),
            {},
            r"`path` must be a file that can be written, got .*: there is no",
        ),
        ((evaluation, tmp_path), {}, r"`path` must be .* it is a folder"),
        ((evaluation, None), {}, r"`path` must be the path of a file, got None"),
        ((evaluation, b"a.html"), {}, r"`path` must be the path of a file, got b'a\.html'"),
        ((evaluation, tmp_path / f"{300 * 'x'}.html"), {}, r"`path` must be .*name too long"),
        (
            (evaluation, "a\0b.html"),
            {},
            r"`path` must be a file that can be written, got .*: no name may contain a NUL",
        ),
        ((evaluation, page), {"confidence_level": 95}, r"`confidence_level` must be between 0 and 1"),
        ((evaluation, page), {"progress": 1}, r"`progress` must be True or False, got 1"),
        ((comparison, page), {"groups": np.arange(9)}, r"`groups` must be None for a Comparison, which has its own"),
        ((evaluation, page), {"title": 7}, r"`title` must be text or None, got 7"),
        ((comparison, page), {"bootstrap": drawn}, r"`bootstrap` must be None for a Comparison"),
        ((comparison, page), {"bootstrap": drawn}, r"which carries its own, got BootstrapResult"),
    ]:
        with pytest.raises(ValueError, match=message):
            write_html(*arguments, **options)
    with pytest.raises(ValueError, match=r"`summary` must be what `summarize` gave, got \{\}"):
        render_html({})
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_written_whole_or_not_at_all(evaluation, tmp_path, monkeypatch):
    path, drawn = tmp_path / "a.html", evaluation.bootstrap(9, rng=0)
    write_html(evaluation, str(path), bootstrap=drawn, title="First")
    before = path.read_bytes()
    assert b"<h1>First</h1>" in before

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_html(evaluation, path, bootstrap=drawn, title="Second")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_has_the_intervals_of_the_library_and_says_where_they_come_from(tmp_path):
    evaluation, groups = evaluation_of(3), np.arange(120) // 2
    for options, said in (
        ({}, "none: intervals by influences of the samples"),
        ({"groups": groups}, "none: intervals by influences of the groups, 60 groups"),
        ({"bootstrap": evaluation.bootstrap(19, rng=3)}, "19, seed 3"),
    ):
        write_html(evaluation, tmp_path / "a.html", **options)
        text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
        drawn = options.get("bootstrap")
        low, high = evaluation.confidence_interval(**options) if drawn is None else drawn.confidence_interval()
        assert f"95 % interval {low:.4f} to {high:.4f}" in text
        assert said in text


def test_a_page_resamples_only_if_the_data_ask_for_it(tmp_path, monkeypatch):
    asked = []
    original = Uncertainty.resampled

    def drawn(self, count, units, seed, n_jobs, progress, **options):
        asked.append((count, seed, progress))
        return original(self, 9, units, seed, n_jobs, False, **options)

    monkeypatch.setattr(Uncertainty, "resampled", drawn)
    write_html(evaluation_of(3), tmp_path / "a.html", progress=True)
    assert asked == []
    write_html(evaluation_of(3, options={"structure": "centered"}), tmp_path / "a.html", progress=True)
    assert asked == [(999, [0], True)]
    text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
    assert "9, seed 0, because the centered structure has no formula" in text


def test_the_same_result_gives_the_same_page(evaluation, tmp_path):
    for name in ("a.html", "b.html"):
        write_html(evaluation, tmp_path / name, bootstrap=evaluation.bootstrap(9, rng=0))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


# Size


def test_long_curves_are_thinned_and_keep_their_shape():
    rates = np.linspace(0, 1, 20_001)
    curve = {"call_rate": rates.tolist(), "fpr": (rates**2).tolist(), "tpr": np.sqrt(rates).tolist()}
    thin = thinned(curve, 1500)
    assert 1000 < len(thin["fpr"]) <= 1500
    assert [thin[key][0] for key in thin] + [thin[key][-1] for key in thin] == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(
        np.interp(rates, thin["fpr"], thin["tpr"]), np.interp(rates, rates**2, np.sqrt(rates)), atol=0.03
    )
    assert thinned(thin, 1500) is thin


def test_very_many_pairs_are_cut_and_the_page_says_so(monkeypatch, summary):
    monkeypatch.setattr("polyroc.report._context.PAIRS_ON_PAGE", 12)
    monkeypatch.setattr("polyroc.report._context.PAIRS_ON_PAGE", 12)
    read = Page(render_html(summary))
    assert "This page holds the worst 12 of 20 pairs." in read.text
    kept = read.data["models"][0]["pairs"]
    areas = np.array(from_letters(kept["auc"])) / 1e7
    np.testing.assert_allclose(areas, np.sort(summary["pairs"]["auc"])[:12], atol=1.01e-7)
    worst = np.argsort(summary["pairs"]["auc"], kind="stable")[:12]
    assert from_letters(kept["positive"]) == [summary["labels"].index(summary["pairs"]["positive"][p]) for p in worst]


def test_the_mean_of_curves_by_differences_is_auc_mu():
    options = {"thresholds": "difference"}
    read = Page(render_html(summarize(evaluation_of(5, options=options))))
    assert "the mean of the curves of the pairs; its area is AUCmu. Where the two part" in read.text
    assert "on the difference of a pair's two score columns" in read.text
    weighted = Page(render_html(summarize(evaluation_of(5, n=131, options=options | {"weighting": "prevalence"}))))
    assert "the mean of the curves of the pairs, weighted as the costs and settings ask for" in weighted.text
