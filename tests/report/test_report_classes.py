"""The sections on classes and on measures: rows from the dict, and the page that they stand on."""

import json
import re

import numpy as np
import pytest

import polyroc
from polyroc.report import render_html, summarize
from polyroc.report._class_rows import class_tables
from polyroc.report._measure_rows import measure_tables

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
    [table] = class_tables(summarize(evaluation))
    assert [row["name"].whole for row in table["rows"]] == HOSTILE
    for row, one in zip(table["rows"], evaluation.classes, strict=True):
        assert row["n_named"] == f"{one.n_named:,}"
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
    assert page.count("is never named") == 2  # what needs care, and above the table


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
