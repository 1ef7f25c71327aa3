"""The table in a notebook: numbers of the record, names as text."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from drawing import AWKWARD_NAMES, evaluation_of, problem

import polyroc
from polyroc import Status

NAMES = ["D", "M", "accuracy", "worst pair"]


class Cells(HTMLParser):
    """What a browser would show, cell by cell, and the tags that it would obey."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.rows = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        if data.strip():
            self.rows[-1].append(data)


def test_shows_the_numbers_of_the_record():
    evaluation = evaluation_of(6, n=1200)
    rows = Cells(evaluation._repr_html_()).rows
    worst = f"{evaluation.worst_pair.auc:.4f}"
    numbers = [f"{evaluation.auc:.4f}", f"{evaluation.hand_till:.4f}", f"{evaluation.accuracy:.4f}", worst]
    assert [row[:2] for row in rows[:4]] == [list(row) for row in zip(NAMES, numbers, strict=True)]
    assert rows[4] == ["size", "1,200 samples of 6 classes, 30 ordered pairs"]
    pairs = evaluation.pairs
    order = np.argsort(pairs.auc)[:5]
    assert rows[6:] == [[pairs.positive[p], pairs.negative[p], f"{pairs.auc[p]:.4f}"] for p in order]


@pytest.mark.filterwarnings("ignore:The two columns")
def test_two_classes_have_one_pair():
    assert len(Cells(evaluation_of(2)._repr_html_()).rows) == 6


def test_what_contradicts_d_is_shown():
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(4), 100)
    scores = 8 * np.eye(4)[y_true] + rng.normal(size=(400, 4))
    scores[y_true < 2, :2] = 8 + rng.normal(size=(200, 2))
    evaluation = polyroc.evaluate(y_true, scores)
    rows = Cells(evaluation._repr_html_()).rows
    assert len(evaluation.notes) == 2
    assert all([note] in rows for note in evaluation.notes)
    failed = replace(evaluation, factorization=replace(evaluation.factorization, status=Status.MAX_ITER))
    assert "D is not to be relied on" in failed._repr_html_()


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
def test_names_are_text():
    names = [*AWKWARD_NAMES, "<script>alert(1)</script>"]
    y_true, y_score = problem(len(names), strength=0.0)
    codes = np.unique(y_true, return_inverse=True)[1]
    # Every class is hardest in turn.
    for worst, name in enumerate(names):
        scores = y_score.copy()
        scores[:, worst] = -10.0 * (codes == worst)
        labels = np.array(names, dtype=object)
        page = polyroc.evaluate(labels[codes], scores, labels=labels)._repr_html_()
        cells = Cells(page)
        assert cells.tags == {"table", "tr", "th", "td"}
        assert not re.search(r"on\w+=|href|src", page)
        # A line break is not printable.
        expected = name.replace("\n", "?")
        start = next(place for place, row in enumerate(cells.rows) if row[0].startswith("hardest")) + 1
        assert {row[0] for row in cells.rows[start:]} == {
            expected if len(name) <= 30 else f"{name[:15].rstrip()}…{name[-14:]}"
        }
