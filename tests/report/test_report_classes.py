"""The sections on classes and on measures: rows from the dict, and the page that they stand on."""

import json
import re

import numpy as np
import pytest
from table_pages import selected, table

import polyroc
from polyroc.report import render_html, summarize
from polyroc.report._tables import class_tables, measure_tables

HOSTILE = ["<script>alert(1)</script>", "a & b", '"quoted"']


def problem(k, per_class=15, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(k).repeat(per_class)
    return y, np.eye(k)[y] + rng.normal(size=(len(y), k)) * np.linspace(0.3, 0.9, k)


@pytest.fixture(scope="module")
def evaluation():
    y, score = problem(3, per_class=30)
    return polyroc.evaluate(np.array(HOSTILE)[y], score, labels=HOSTILE)


def test_rows_are_those_of_the_table_of_classes(evaluation):
    [table] = class_tables(summarize(evaluation, include_intervals=False))
    assert [row["name"].whole for row in table["rows"]] == HOSTILE
    for row, one in zip(table["rows"], evaluation.classes, strict=True):
        assert row["n_predicted"] == f"{one.n_predicted:,}"
        assert row["numbers"]["recall"] == {"text": f"{one.recall:.3f}", "ends": ""}
        assert row["hardest"].whole == one.hardest_partner
    assert (table["others"], table["order"]) == ([], "")


def test_intervals_are_there_where_the_page_has_some(evaluation):
    drawn = evaluation.bootstrap(19, rng=0)
    summary = summarize(evaluation, bootstrap=drawn, confidence_level=0.9)
    expected = evaluation.classes.with_intervals(0.9)
    assert summary["classes"] == expected.to_dict()
    [table] = class_tables(summary)
    assert " to " in table["rows"][0]["numbers"]["auc_vs_rest"]["ends"]
    # Who belongs together is no longer known.
    grouped = evaluation.bootstrap(19, groups=np.arange(90) // 3, rng=0)
    assert summarize(evaluation, bootstrap=grouped)["classes"]["confidence_level"] is None


@pytest.mark.slow
def test_of_many_classes_the_worst_are_shown_and_the_others_open_on_a_click():
    y, score = problem(26)
    evaluation = polyroc.evaluate(y, score)
    summary = summarize(evaluation)
    [table] = class_tables(summary)
    order = np.argsort(evaluation.classes.recall, kind="stable")
    shown = [int(row["name"].whole) for row in table["rows"]]
    assert shown == order[:20].tolist()
    assert [int(row["name"].whole) for row in table["others"]] == order[20:].tolist()
    page = render_html(summary)
    assert "The 20 of 26 classes with the lowest recall." in page
    assert "The other 6 classes" in page


def test_a_lost_class_is_marked_on_the_page():
    y, score = problem(4)
    probability = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    probability[:, 2] /= 100
    probability /= probability.sum(axis=1, keepdims=True)
    page = render_html(summarize(polyroc.evaluate(y, probability)))
    assert '<td class="number lost">0</td>' in page
    seen = page[: page.index('<script type="application/json"')]
    assert seen.count("is never predicted") == 2  # what needs care, and above the table


def test_hostile_names_are_text(evaluation):
    page = render_html(summarize(evaluation))
    section = page[page.index('<section id="classes"') : page.index('<section id="settings"')]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in section
    assert "<script" not in section


def test_a_comparison_shows_the_best_model_first_and_has_paired_measures():
    y, score = problem(3, per_class=30)
    noise = np.random.default_rng(1).normal(size=score.shape)
    comparison = polyroc.compare(y, {"<b>worse</b>": score + noise, "better": score}, method="influence")
    measures = comparison.measures(["accuracy", "mcc"])
    summary = summarize(comparison, measures=measures)
    first, second = class_tables(summary)
    assert (first["name"].whole, second["name"].whole) == ("better", "<b>worse</b>")
    assert summary["evaluations"]["better"]["classes"]["recall_low"] is not None
    tables = measure_tables(summary)
    assert [name.whole for name in tables["models"]] == ["<b>worse</b>", "better"]
    estimate = measures["mcc"].estimates["better"].estimate
    assert tables["rows"][1]["estimates"][1]["text"] == f"{estimate:.4f}"
    assert [row["label"] for row in tables["differences"]] == ["accuracy", "MCC"]
    page = render_html(json.loads(json.dumps(summary)))
    section = page[page.index('<section id="measures"') : page.index('<section id="settings"')]
    assert "&lt;b&gt;worse&lt;/b&gt; minus" in re.sub(r"</?bdi[^>]*>", "", section)
    assert "<b>" not in section


def test_measures_are_on_the_page_only_where_they_were_computed(evaluation):
    plain = render_html(summarize(evaluation))
    assert 'id="measures"' not in plain
    measures = evaluation.measures(["accuracy"])
    page = render_html(summarize(evaluation, measures=measures))
    assert 'href="#measures"' in page
    low_high = f"{measures['accuracy'].low:.4f} to {measures['accuracy'].high:.4f}"
    assert low_high in page
    with pytest.raises(ValueError, match=r"`measures` must be what `Evaluation.measures` gave, got str"):
        summarize(evaluation, measures="accuracy")


# With a script


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A comparison of a few classes with intervals, and 26 classes without."""
    y, score = problem(5, per_class=30)
    noise = np.random.default_rng(1).normal(size=score.shape)
    few = polyroc.compare(y, {"better": score, "worse": score + noise}, method="influence")
    many = polyroc.evaluate(*problem(26))
    folder = tmp_path_factory.mktemp("classes")
    for name, result in (("few", few), ("many", many)):
        (folder / f"{name}.html").write_text(render_html(summarize(result)), encoding="utf-8")
    return {"few": (folder / "few.html", few), "many": (folder / "many.html", many)}


def shown(page):
    return [row[0] for row in table(page, "#class-table")]


def test_the_table_follows_the_model_and_says_what_python_says(opened, files):
    path, comparison = files["few"]
    with opened(path) as page:
        without = table(page, "#class-table")
        for place, name in ((1, "worse"), (0, "better")):
            page.locator("#model").select_option(str(place))
            assert page.locator("#classes-title").inner_text() == f"Classes: {name}"
            classes = comparison.evaluations[name].classes
            for row, one in zip(table(page, "#class-table"), classes, strict=True):
                assert row[:3] == [str(one.label), f"{one.n_samples:,}", f"{one.n_predicted:,}"]
                assert row[3].startswith(f"{one.recall:.3f}")
                assert " to " in row[3]
                assert row[7].startswith(f"{one.hardest_auc:.3f}")
                assert row[7].endswith(f"with {one.hardest_partner}")
                assert row[8].endswith(f"as {one.mistaken_for}" if one.mistaken_for is not None else "none")
        # Drawn by the script and by the template, the rows are the same.
        assert table(page, "#class-table") == without
        assert page.locator("#classes details").count() == 0


def test_the_table_of_classes_sorts_by_every_column(opened, files):
    path, comparison = files["few"]
    classes = comparison.evaluations["better"].classes
    columns = {
        "class": classes.label,
        "n_samples": classes.n_samples,
        "n_predicted": classes.n_predicted,
        "recall": classes.recall,
        "precision": classes.precision,
        "auc_vs_rest": classes.auc_vs_rest,
        "mean_pair_auc": classes.mean_pair_auc,
        "hardest": classes.hardest_auc,
        "mistaken": classes.mistaken_share,
    }
    with opened(path) as page:
        assert page.locator("#class-table th[aria-sort]").count() == 0
        for key, values in columns.items():
            head = page.locator(f"#class-table th[data-key={key}]")
            for direction, sign in (("ascending", 1), ("descending", -1)):
                head.locator("button").click()
                assert head.get_attribute("aria-sort") == direction
                assert page.locator("#class-table th[aria-sort]").count() == 1
                found = [values[int(label)] for label in shown(page)]
                # As many digits as are shown.
                digits = 2 if key == "mistaken" else 3
                rounded = [sign * round(float(value), digits) for value in found]
                assert rounded == sorted(rounded)


def test_of_many_classes_the_script_shows_the_worst_and_the_others_when_asked(opened, files):
    path, evaluation = files["many"]
    order = np.argsort(evaluation.classes.recall, kind="stable").astype(str).tolist()
    with opened(path) as page:
        assert shown(page) == order[:20]
        assert page.locator("#class-table th[data-key=recall]").get_attribute("aria-sort") == "ascending"
        assert page.locator("#classes-shown").inner_text() == "The 20 of 26 classes with the lowest recall."
        assert page.locator("#more-classes").inner_text() == "Show the other 6"
        page.locator("#class-table th[data-key=recall] button").click()
        assert page.locator("#classes-shown").inner_text() == "The 20 of 26 classes with the highest recall."
        page.locator("#class-table th[data-key=recall] button").click()
        page.locator("#more-classes").click()
        assert shown(page) == order
        assert page.locator("#classes-shown").inner_text() == "All 26 classes."
        assert not page.locator("#more-classes").is_visible()
    # A class that is not among the first comes with the others, when it is selected elsewhere.
    with opened(path, f"#model=0&class={order[-1]}") as page:
        assert [row[0] for row in selected(page, "#class-table")] == [order[-1]]
        assert len(shown(page)) == 26


def test_without_a_script_all_classes_and_models_are_there(opened, files):
    for name, summaries in (("few", ["Classes: worse"]), ("many", ["The other 6 classes"])):
        with opened(files[name][0], java_script_enabled=False) as page:
            assert page.locator("#classes summary").all_inner_texts() == summaries
            assert not page.locator("#more-classes").is_visible()
            assert page.locator("#class-table button").count() == 0
            assert len(shown(page)) == (5 if name == "few" else 20)
