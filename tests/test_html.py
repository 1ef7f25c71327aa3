"""The table in a notebook: numbers of the record, names as text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from drawing import AWKWARD_NAMES, evaluation_of, problem

import polyroc


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
    assert [row[1] for row in rows[:4]] == [f"{evaluation.auc:.4f}", f"{evaluation.hand_till:.4f}", "6", "1,200"]
    pairs = evaluation.pairs
    order = np.argsort(pairs.auc)[:5]
    assert rows[5:] == [[pairs.positive[p], pairs.negative[p], f"{pairs.auc[p]:.4f}"] for p in order]


@pytest.mark.filterwarnings("ignore:The two columns")
def test_two_classes_have_one_pair():
    assert len(Cells(evaluation_of(2)._repr_html_()).rows) == 6


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
        # A line break and the invisible joiner of two emoji are not printable.
        expected = name.replace("\n", "?").replace("\u200d", "?")
        assert {row[0] for row in cells.rows[5:]} == {expected if len(name) <= 30 else f"{name[:27]}..."}
