"""What stands where: the verdict first, intervals as whiskers, differences around zero, one sheet of paper."""

import copy
import itertools
import re

import numpy as np
import pytest
from browser_pages import PAPER, n_sheets, until
from report_pages import HOSTILE, Page, evaluation_of
from report_shelf import MANY_MODELS

import polyroc
from polyroc._lib.axes import difference_axis, logit_axis
from polyroc._lib.numbers import percent_and_ends
from polyroc.report import render_html, summarize, write_html
from polyroc.report._sentences import names_of


def part(page, pattern):
    """One part of a page."""
    return re.search(pattern, page, re.DOTALL)[0]


def ticks(text):
    """Places and numbers of the labels of an axis."""
    found = re.findall(r'<text x="([\d.]+)%"[^>]*>([^<]+)</text>', text)
    return np.array([(float(at), float(label)) for at, label in found]).T


def whisker(text):
    """The places of the point and of the ends of its interval; the ends once as a line, and once as caps."""
    [(first, last)] = re.findall(r'class="reach" x1="([\d.]+)%" x2="([\d.]+)%"', text)
    caps = re.findall(r'class="cap" x1="([\d.]+)%" x2="([\d.]+)%"', text)
    assert caps == [(first, first), (last, last)]
    [at] = re.findall(r'class="point \w" x="([\d.]+)%"', text)
    return float(at), float(first), float(last)


def logit(value):
    return np.log(value) - np.log1p(-np.asarray(value))


# Whiskers


@pytest.mark.parametrize("name", ["near", "costs", "many"])
def test_whiskers_lie_at_the_logits_of_d_and_m_and_of_their_intervals(pages, results, name):
    comparison = results[name]
    board = part(pages[name], r'<table class="board[^"]*">.*?</table>')
    places, numbers = ticks(part(board, r"<thead>.*?</thead>"))
    assert len(places) >= 3
    assert np.diff(places).min() >= 15
    slope, start = np.polyfit(logit(numbers), places, 1)
    np.testing.assert_allclose(places, start + slope * logit(numbers), atol=2e-3)
    rows = part(board, r"<tbody>.*</tbody>").split("<tr")[1:]
    ranked = sorted(comparison.by_auc.estimates, key=lambda one: -one.value)
    names = dict(zip(comparison.evaluations, names_of(list(comparison.evaluations)), strict=True))
    for row, one in zip(rows, ranked, strict=True):
        assert f">{names[one.model].text}</bdi>" in row
        for letter, contest in (("d", comparison.by_auc), ("m", comparison.by_hand_till)):
            [estimate] = [other for other in contest.estimates if other.model == one.model]
            drawn = whisker(part(row, rf'<g class="statistic-{letter}">.*?</g>'))
            wanted = start + slope * logit([estimate.value, estimate.low, estimate.high])
            np.testing.assert_allclose(drawn, wanted, atol=0.02)


def test_the_tiles_of_one_model_have_one_axis_that_begins_at_guessing(pages, summaries):
    summary, text = summaries["k3"], part(pages["k3"], r'<div class="alone">.*?</div>')
    places, numbers = ticks(text)
    assert 0.5 in numbers
    slope, start = np.polyfit(logit(numbers), places, 1)
    for letter, value, ends in (("d", "auc", "confidence_interval"), ("m", "hand_till", "hand_till_interval")):
        drawn = whisker(part(text, rf'<g class="statistic-{letter}">.*?</g>'))
        wanted = [summary[value], summary[ends]["low"], summary[ends]["high"]]
        np.testing.assert_allclose(drawn, start + slope * logit(wanted), atol=0.02)


def test_without_intervals_there_are_points_and_no_whiskers():
    page = render_html(summarize(evaluation_of(3), include_intervals=False))
    assert 'class="reach"' not in page
    assert "intervals. 0.5 is guessing" not in Page(page).text
    assert part(page, r'<div class="alone">.*?</div>').count('class="point ') == 2


def test_two_classes_have_one_mark():
    page = render_html(summarize(evaluation_of(2)))
    assert part(page, r'<div class="alone single">.*?</div>').count('class="point d"') == 1
    assert 'class="point m"' not in page


def test_perfect_areas_lie_at_the_end_of_the_axis():
    axis = logit_axis([1.0, 0.99, 1.0])
    assert axis.place(1.0) == 94
    assert 6 < axis.place(0.99) < axis.place(0.9999) <= 94
    everything = logit_axis([1.0, 1.0])
    assert everything.place(1.0) == 94
    assert everything.ticks[0].text == "0.5"
    both = logit_axis([0.0, 1.0])
    assert (both.place(0.0), both.place(0.5), both.place(1.0)) == (6, 50, 94)
    page = render_html(summarize(evaluation_of(3, strength=100)))
    assert "nan" not in part(page, r'<div class="alone">.*?</div>')


@pytest.mark.parametrize(
    ("ends", "wanted"),
    [
        ((0.45, 0.9995), ["0.5", "0.9", "0.99", "0.999"]),
        ((0.9955, 0.99965), ["0.995", "0.998", "0.999", "0.9995"]),
        ((0.004, 0.996), ["0.01", "0.1", "0.5", "0.9", "0.99"]),
        ((0.9706, 0.9738), ["0.97", "0.972", "0.974"]),
        ((0.905, 0.975), ["0.9", "0.93", "0.95", "0.97"]),
    ],
)
def test_labels_are_round_numbers_of_the_range(ends, wanted):
    assert [tick.text for tick in logit_axis(ends).ticks] == wanted


def test_an_axis_of_differences_names_zero():
    for values in ([0.02, 0.05], [-0.031, 0.007], [0.0, 0.0], [-1e-5, 3e-5], [0.2, 0.9]):
        axis = difference_axis(values)
        found = {tick.text: tick.at for tick in axis.ticks}
        assert found["0"] == axis.place(0.0)
        assert len(found) >= 2
        for text, at in found.items():
            assert axis.place(float(text)) == at


def test_shares_have_the_digits_that_keep_their_ends_apart():
    assert percent_and_ends(0.8031, 0.7764, 0.8275) == ("80 %", "78 %", "83 %")
    assert percent_and_ends(0.97314, 0.97221, 0.97402) == ("97.3 %", "97.2 %", "97.4 %")
    assert percent_and_ends(1.0, 0.9996, 1.0) == ("100 %", "over 99.9 %", "100 %")
    assert percent_and_ends(0.99951, 0.99935, 0.99963) == ("99.95 %", "99.94 %", "99.96 %")


# Differences


@pytest.mark.parametrize("name", ["near", "costs", "many"])
def test_whiskers_of_differences_cross_zero_exactly_where_the_interval_contains_it(pages, results, name):
    for contest in (results[name].by_auc, results[name].by_hand_till):
        letter = {"auc": "D", "hand_till": "M"}[contest.statistic]
        tables = re.findall(
            rf'aria-label="(?:D|Further d)ifferences of {letter}, drawn">.*?</table>', pages[name], re.DOTALL
        )
        rows = [row for table in tables for row in part(table, r"<tbody>.*</tbody>").split("<tr")[1:]]
        assert len(rows) == len(contest.differences)
        wanted = sorted(contest.differences, key=lambda one: -abs(one.value))
        leader = max(contest.estimates, key=lambda one: one.value).model
        if len(tables) > 1:
            wanted.sort(key=lambda one: leader not in (one.first, one.second))
        for row, one in zip(rows, wanted, strict=True):
            [zero] = re.findall(r'class="zero" x1="([\d.]+)%"', row)
            at, first, last = whisker(row)
            contains = one.low <= 0 <= one.high
            assert (first <= float(zero) <= last) == contains
            assert ('class="whiskers unclear"' in row) == contains
            # The larger of the two comes first.
            assert at >= float(zero)


def test_differences_stand_to_scale_with_their_numbers(pages, results):
    table = part(pages["costs"], r'aria-label="Differences of D, drawn">.*?</table>')
    places, numbers = ticks(part(table, r"<thead>.*?</thead>"))
    slope, start = np.polyfit(numbers, places, 1)
    rows = part(table, r"<tbody>.*</tbody>").split("<tr")[1:]
    ordered = sorted(results["costs"].by_auc.differences, key=lambda one: -one.value)
    for row, one in zip(rows, ordered, strict=True):
        np.testing.assert_allclose(whisker(row), start + slope * np.array([one.value, one.low, one.high]), atol=0.02)
        said = Page(f"<tr{row}").text
        assert f"{one.first} minus {one.second} {one.value:+.4f} {one.low:.4f} to {one.high:.4f}" in said


def test_of_many_models_the_differences_to_the_leader_are_drawn_and_the_rest_is_folded(pages, results):
    page, contest = pages["many"], results["many"].by_auc
    section = part(page, r'<section id="comparison".*?</section>')
    before, folded = section.split("<details>", 1)
    leader = names_of(MANY_MODELS)[
        [one.model for one in contest.estimates].index(max(contest.estimates, key=lambda one: one.value).model)
    ]
    rows = part(before, r"<tbody>.*</tbody>").split("<tr")[1:]
    assert len(rows) == 11
    assert all(f">{leader.text}</bdi>" in row for row in rows)
    assert "The other 55 differences of D" in folded


# What stands where


def test_sections_come_in_the_order_in_which_people_ask(pages):
    wanted = ["summary", "curve-section", "words", "classes", "pairs-section", "heatmap-section"]
    ends = {
        "k3": ["measures", "settings", "cite"],
        "near": ["comparison", "settings", "cite"],
        "costs": ["comparison", "costs", "settings", "cite"],
    }
    for name, rest in ends.items():
        found = re.findall(r'<section id="([\w-]+)"', pages[name])
        assert [one for one in found if one not in ("explorer", "tipping")] == wanted + rest
        links = re.findall(r'<a href="#([\w-]+)">', part(pages[name], r"<nav.*?</nav>"))
        assert links == [one for one in found if one in links]
        assert set(wanted + rest) <= set(links)


def test_the_verdict_is_short_and_says_how_often_the_right_class_is_predicted(summaries, results, pages):
    for name in ("near", "costs", "many", "k3", "hostile"):
        summary = summaries[name]
        words = " ".join(summary["advice"])
        if name not in ("hostile", "many"):
            assert len(words.split()) <= 70, words
        text = Page(pages[name]).text
        assert " ".join(words.split()) in text
    alone = results["k3"]
    low, high = alone.accuracy_interval(0.95)
    ends = f"({100 * low:.0f} % to {100 * high:.0f} %)"
    said = f"They predict the right class in {100 * alone.accuracy:.0f} % of samples {ends}."
    assert said in summaries["k3"]["advice"][0]
    best = summaries["costs"]["best"]
    low, high = results["costs"].evaluations[best].accuracy_interval(0.95)
    assert f"of samples ({100 * low:.0f} % to {100 * high:.0f} %)." in summaries["costs"]["advice"][0]


def test_what_few_ask_for_is_folded(pages):
    class Folded(Page):
        """The text inside and outside of folded parts."""

        def handle_data(self, data):
            if "script" not in self._inside and "style" not in self._inside:
                self.texts.append(("details" if "details" in self._inside else "", data))

    read = Folded(pages["costs"])
    folded, open_ = (
        " ".join(text for where, text in read.texts if (where == "details") is inside) for inside in (True, False)
    )
    for words in ("standard error", "Orders of the models", "By Hand and Till's M", "Versions", "@article"):
        assert words in folded
        assert words not in open_
    read = Folded(pages["k3"])
    folded, open_ = (
        " ".join(text for where, text in read.texts if (where == "details") is inside) for inside in (True, False)
    )
    for words in ("standard error", "No costs were given: every confusion counts the same."):
        assert words in folded
        assert words not in open_


def test_the_sheet_names_the_hardest_classes_and_pairs(pages, results):
    evaluation = results["costs"].evaluations["first"]
    read = Page(part(pages["costs"], r'<div class="hardest on-paper">.*?</div>'))
    worst = np.argsort(evaluation.pairs.auc, kind="stable")[:5]
    pairs = evaluation.pairs
    said = " ".join(f"{pairs.positive[p]} {pairs.negative[p]} {pairs.auc[p]:.4f}" for p in worst)
    assert f"Hardest pairs of first class against area {said} " in read.text
    named = evaluation.fitted.source.codes == np.argmax(evaluation.fitted.source.scores, axis=1)
    found = [named[evaluation.fitted.source.codes == c].mean() for c in range(6)]
    hardest = np.argsort(found, kind="stable")[:5]
    said = " ".join(f"class 0{c} {found[c]:.3f}" for c in hardest)
    assert f"Hardest classes of first class share found {said} " in read.text
    assert "Costs: as given." in read.text
    assert "Costs: none given." in Page(pages["k3"]).text


def test_hostile_names_are_text_in_every_new_place(pages):
    read = Page(pages["hostile"])
    for _, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on")]
    for pattern in (
        r'<table class="board[^"]*">.*?</table>',
        r'<table class="differences">.*?</table>',
        r'<div class="hardest.*?</div>',
    ):
        text = part(pages["hostile"], pattern)
        tags = {tag for tag, _ in Page(text).tags}
        assert tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "span", "bdi", "svg", "g", "path"} | {
            "line",
            "text",
            "div",
            "p",
        }
        shown = {name.text for names in (names_of(HOSTILE), names_of(HOSTILE[:3])) for name in names}
        assert set(Page(text).inside("bdi")) <= shown | set(HOSTILE)
        assert len(set(Page(text).inside("bdi"))) >= 3


# In a browser


@pytest.mark.parametrize("name", ["k3", "near", "many"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_point_hides_its_interval_and_nothing_scrolls_sideways(opened, name, width):
    box = "(one) => { const box = one.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom]; }"
    with opened(name, viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        groups = page.locator("#summary .whiskers g").all()
        assert groups
        for group in groups:
            left, right, top, bottom = group.locator(".point path").evaluate(box)
            assert right - left < 12
            caps = [cap.evaluate(box) for cap in group.locator(".cap").all()]
            assert len(caps) == 2
            for cap in caps:
                assert cap[2] < top
                assert cap[3] > bottom
            assert caps[0][0] >= 0
            assert caps[1][1] <= width


# Left and right ends of elements, and of the words of headings.
ENDS = "(all) => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])"
HEADINGS = """(all) => all.filter((one) => !one.querySelector(".axis")).map((one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  const { left, right } = range.getBoundingClientRect();
  return [left, right];
})"""
COVERED = """(all) => all.some((one) => {
  const { right, left, top, bottom } = one.getBoundingClientRect();
  return [left + 1, right - 1].some((x) => !document.elementFromPoint(x, (top + bottom) / 2).closest(".axis-cell"));
})"""


@pytest.mark.parametrize(("media", "last"), [("screen", 7.6), ("print", 8)])
def test_labels_of_axes_neither_touch_nor_are_covered(opened, summaries, tmp_path, media, last):
    summary = copy.deepcopy(summaries["near"])
    # Of close models: labels of many digits, the last of them at the end of the axis.
    for one, ends in zip(summary["auc"]["differences"], ((3, last), (3, 7), (-0.05, 0.5)), strict=True):
        one |= {"value": 5e-5 * sum(ends), "low": 1e-4 * ends[0], "high": 1e-4 * ends[1]}
    (tmp_path / "page.html").write_text(render_html(summary), encoding="utf-8")
    # A sheet of paper is 680 pixels wide between its margins.
    viewport = {"width": 1280 if media == "screen" else 680, "height": 1000}
    with opened(tmp_path / "page.html", viewport=viewport) as page:
        page.emulate_media(media=media)
        for table in (".board", "#comparison > .box .differences"):
            page.locator(f"{table} thead").scroll_into_view_if_needed()
            labels = page.locator(f"{table} thead .axis text")
            assert labels.count() >= 2
            ends = sorted([*labels.evaluate_all(ENDS), *page.locator(f"{table} thead th").evaluate_all(HEADINGS)])
            assert all(one[1] + 2 < other[0] for one, other in itertools.pairwise(ends)), ends
            assert not labels.evaluate_all(COVERED)


def test_all_columns_of_classes_are_in_sight_however_many_digits_they_have(opened, tmp_path):
    y_true = np.arange(9000) % 4
    scores = 7 * np.eye(4)[y_true] + np.random.default_rng(0).normal(size=(9000, 4))
    evaluation = polyroc.evaluate(y_true, scores)
    write_html(evaluation, tmp_path / "page.html", bootstrap=evaluation.bootstrap(19, rng=0))
    with opened(tmp_path / "page.html", viewport={"width": 1280, "height": 1000}) as page:
        box = page.locator(".box", has=page.locator("#class-table"))
        assert "to above 0.999999" in box.inner_text()
        assert box.evaluate("(one) => one.scrollWidth <= one.clientWidth")


def test_d_and_m_are_drawn_at_the_height_of_their_numbers(opened):
    with opened("near", viewport={"width": 1440, "height": 900}) as page:
        middle = "(one) => { const box = one.getBoundingClientRect(); return (box.top + box.bottom) / 2; }"
        for row in page.locator(".board tbody tr").all():
            numbers = [one.evaluate(middle) for one in row.locator(".statistic").all()]
            marks = [one.evaluate(middle) for one in row.locator(".point path").all()]
            np.testing.assert_allclose(marks, numbers, atol=4)


@pytest.mark.parametrize("viewport", [{"width": 390, "height": 844}, {"width": 1280, "height": 800}])
def test_the_verdict_is_above_the_fold_and_the_links_stay_in_sight(opened, viewport):
    with opened("near", viewport=viewport) as page:
        lead = page.locator(".lead").bounding_box()
        assert lead["y"] + lead["height"] <= viewport["height"]
        page.locator("#settings").scroll_into_view_if_needed()
        page.mouse.wheel(0, 10_000)
        # At the end of the page, or of how far the wheel goes.
        until(page, lambda: page.evaluate("scrollY") > 1_000)
        links = page.locator("nav").bounding_box()
        assert abs(links["y"]) <= 1
        assert links["height"] <= 50
        if viewport["width"] < 400:
            assert all(link.bounding_box()["height"] >= 43.5 for link in page.locator("nav a").all())


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("name", ["k3", "near", "costs", "many"])
def test_the_summary_is_one_sheet_of_paper(opened, name, script):
    with opened(name, java_script_enabled=script) as page:
        whole = page.pdf(prefer_css_page_size=True)
        assert n_sheets(whole) >= 2
        if not script:
            return
        # All that comes after the sheet is taken away, and one sheet is left.
        page.evaluate("""() => {
          for (let one = document.querySelector(".sheet"); one !== document.body; one = one.parentElement) {
            while (one.nextElementSibling) one.nextElementSibling.remove();
          }
        }""")
        assert n_sheets(page.pdf(prefer_css_page_size=True)) == 1
        page.set_viewport_size(PAPER)
        page.emulate_media(media="print")
        for selector in ("h1", ".lead", "#summary .whiskers", "#curve-section", ".hardest caption", ".settings-line"):
            box = page.locator(selector).first.bounding_box()
            assert box["width"] > 0
            assert box["y"] + box["height"] <= PAPER["height"]


def test_of_many_models_ten_are_on_the_sheet_and_all_are_printed(opened):
    with opened("many", viewport=PAPER) as page:
        rows = page.locator(".board tbody tr")
        assert [row.is_visible() for row in rows.all()] == 12 * [True]
        page.emulate_media(media="print")
        assert [row.is_visible() for row in rows.all()] == [*(10 * [True]), False, False]
        assert page.get_by_text("The 10 of 12 models with the largest D").is_visible()
        estimates = page.locator("[aria-label='Estimates of D'] tbody tr")
        assert [row.is_visible() for row in estimates.all()] == 12 * [True]
        assert not page.locator("[aria-label='Estimates of M']").is_visible()


@pytest.mark.parametrize("script", [True, False])
def test_settings_are_printed_and_the_tables_of_m_are_not(opened, script):
    with opened("costs", java_script_enabled=script, viewport=PAPER) as page:
        assert not page.locator("#settings dl").is_visible()
        page.emulate_media(media="print")
        page.locator("#settings dl").wait_for(state="visible", timeout=120_000)
        assert page.locator("#settings dl").bounding_box()["height"] > 50
        assert page.locator("#cite pre").is_visible()
        assert not page.locator("#comparison details").first.is_visible()
        assert page.locator("#comparison .differences").first.is_visible()
        assert not page.locator("nav").is_visible()
        page.emulate_media(media="screen")
        page.locator("#settings dl").wait_for(state="hidden", timeout=120_000)


def test_without_a_script_the_page_is_complete(opened):
    with opened("near", java_script_enabled=False) as page:
        for selector in (
            ".lead",
            ".board .whiskers",
            ".differences .whiskers",
            "#curve-section svg",
            "#pairs",
            "#words p",
        ):
            assert page.locator(selector).first.is_visible(), selector
        page.locator("#settings summary").click()
        assert page.locator("#settings dl").is_visible()


def test_hostile_names_do_nothing_in_a_browser(opened):
    with opened("hostile") as page:
        page.emulate_media(media="print")
        assert page.evaluate("window.hacked") is None
        assert page.locator("main a, main img, main script, bdi *").count() == 0
        assert page.locator(".board th bdi").first.text_content() in [name.text for name in names_of(HOSTILE[:3])]
