"""Tables and pictures in a notebook: numbers of the record, names as text."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from drawing import AWKWARD_NAMES, evaluation_of, problem
from numpy.testing import assert_allclose
from scipy.special import logit

import polyroc
from polyroc import Status
from polyroc._lib.axes import COLOURS
from polyroc.display._style import contrast

NAMES = ["D", "M", "accuracy", "worst pair"]


# What a table and a picture are made of: nothing that runs, loads or leads anywhere.
TAGS = {"div", "table", "tr", "th", "td", "svg", "g", "path", "rect", "circle", "text"}
ATTRIBUTES = {
    *("style", "colspan", "role", "aria-label", "width", "height", "viewbox", "transform", "x", "y", "dy", "d"),
    *("fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "text-anchor"),
    *("font-family", "font-size", "cx", "cy", "r"),
}


class Cells(HTMLParser):
    """What a browser would show, cell by cell, what is written in pictures, and the tags that it would obey."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.rows, self.drawn, self.paths, self.attributes = set(), [], [], [], set()
        self._open = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        # Of an attribute that is there twice, browsers take the first.
        assert len(dict(attrs)) == len(attrs)
        self.attributes.update(name for name, _ in attrs)
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "path":
            self.paths.append(dict(attrs))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self._open[-1] in ("td", "th"):
            self.rows[-1].append(data)
        elif data.strip() and "svg" in self._open:
            self.drawn.append(data)


def test_shows_the_numbers_of_the_record():
    evaluation = evaluation_of(6, n=1200)
    rows = Cells(evaluation._repr_html_()).rows
    worst = f"{evaluation.worst_pair.auc:.4f}"
    numbers = [f"{evaluation.auc:.4f}", f"{evaluation.hand_till:.4f}", f"{evaluation.accuracy:.4f}", worst]
    assert [row[:2] for row in rows[:4]] == [list(row) for row in zip(NAMES, numbers, strict=True)]
    assert rows[4] == ["size", "1,200 samples of 6 classes, 30 ordered pairs"]
    pairs = evaluation.pairs
    order = np.argsort(pairs.auc)[:5]
    areas = {(pair.positive, pair.negative): f"{pair.auc:.4f}" for pair in pairs}
    hardest = [(pairs.positive[p], pairs.negative[p]) for p in order]
    assert rows[6:] == [[i, j, f"{areas[i, j]}; reversed {areas[j, i]}"] for i, j in hardest]


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
    fit = replace(evaluation.factorization, status=Status.MAX_ITER)
    failed = replace(evaluation, fitted=replace(evaluation.fitted, factorization=fit))
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
        assert cells.tags <= TAGS
        assert cells.attributes <= ATTRIBUTES
        assert not re.search(r"on\w+=|href|src", page)
        # A line break is not printable.
        expected = name.replace("\n", "?")
        start = next(place for place, row in enumerate(cells.rows) if row[0].startswith("hardest")) + 1
        assert {row[0] for row in cells.rows[start:]} == {
            expected if len(name) <= 30 else f"{name[:15].rstrip()}…{name[-14:]}"
        }


def coloured(cells):
    """The curves among the paths: from their points, in the order in which they are drawn."""
    return [path for path in cells.paths if path["stroke"].startswith("var(--curve-") and "L" in path["d"]]


def points(path):
    return np.array([pair.split() for pair in path["d"][1:].split("L")], dtype=float)


def test_both_curves_are_drawn_where_they_are():
    evaluation = evaluation_of(4, n=800)
    mean, shared = coloured(Cells(evaluation._repr_html_()))
    assert "stroke-dasharray" in mean
    assert "stroke-dasharray" not in shared
    for path, curve in ((mean, evaluation.mean_curve), (shared, evaluation.curve)):
        found = points(path) / 220
        assert_allclose(found[0], [0, 1])
        assert_allclose(found[-1], [1, 0])
        # Every point is on the curve: its height is the one at its call rate, to a tenth of a pixel.
        heights = np.interp(found[:, 0] + 1 - found[:, 1], curve.fpr + curve.tpr, curve.tpr - curve.fpr)
        assert_allclose(1 - found[:, 1] - found[:, 0], heights, atol=2e-3)


def test_curves_near_one_are_drawn_in_the_corner():
    far, near = (Cells(evaluation_of(3, n=900, strength=strength)._repr_html_()) for strength in (1.0, 4.0))
    assert "0.2" in far.drawn
    assert "90 %" not in far.drawn
    assert {"1 %", "10 %", "90 %", "99 %"} <= set(near.drawn)


def test_whiskers_are_the_intervals_without_resampling():
    evaluation = evaluation_of(4, n=800)
    page = evaluation._repr_html_()
    cells = Cells(page)
    assert [text for text in cells.drawn if text in ("D", "M")] == ["D", "M"]
    ends = [path["d"] for path in cells.paths if "v8m0 -4H" in path["d"]]
    assert len(ends) == 2
    ticks = {float(text): float(x) for x, text in re.findall(r'<text x="([\d.]+)" y="52"[^>]*>([\d.]+)<', page)}
    assert len(ticks) >= 2
    (one, at_one), *_, (other, at_other) = ticks.items()
    for path, statistic in zip(ends, ("auc", "hand_till"), strict=True):
        low, high = evaluation.confidence_interval(method="influence", statistic=statistic)
        drawn = [float(re.match(r"M([\d.]+)", path)[1]), float(re.search(r"H([\d.]+)", path)[1])]
        slope = (at_other - at_one) / (logit(other) - logit(one))
        expected = [at_one + slope * (logit(end) - logit(one)) for end in (low, high)]
        assert_allclose(drawn, expected, atol=0.3)


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
@pytest.mark.parametrize("scores", ["constant", "perfect", "backwards"])
def test_extreme_scores_are_shown(scores):
    y_true, _ = problem(3)
    truth = (np.unique(y_true) == y_true[:, None]).astype(float)
    y_score = {"constant": np.zeros_like(truth), "perfect": truth, "backwards": -truth}[scores]
    page = polyroc.evaluate(y_true, y_score)._repr_html_()
    assert not re.search("nan|inf[^l]", page)
    assert Cells(page).tags <= TAGS


def test_large_evaluations_are_shown_at_once_without_whiskers(monkeypatch):
    evaluation = evaluation_of(4)
    monkeypatch.setattr("polyroc.evaluation._evaluation._QUICK_CELLS", 100)
    monkeypatch.setattr(polyroc.Evaluation, "influence_note", property(lambda self: pytest.fail("a pass over samples")))
    assert "intervals" not in evaluation._repr_html_()


def test_scores_that_were_changed_still_show_what_was_found():
    y_true, y_score = problem(4)
    evaluation = polyroc.evaluate(y_true, y_score)
    shown = evaluation.headline, evaluation.pairs, evaluation.mean_curve
    y_score[0] += 1
    assert all(shown)
    assert "intervals" not in evaluation._repr_html_()
    assert f"{evaluation.auc:.4f}" in evaluation._repr_html_()


def test_pages_are_small_and_load_nothing():
    evaluation = evaluation_of(50, n=2000)
    assert len(evaluation._repr_html_()) < 30_000
    y_true, y_score = problem(5, n=500)
    noise = np.random.default_rng(0).normal(size=(6, *y_score.shape))
    for n_models in (2, 6):
        models = {f"<i>model</i> {m}" + "x" * 60: y_score + 0.2 * m * noise[m] for m in range(n_models)}
        page = polyroc.compare(y_true, models, method="influence")._repr_html_()
        assert len(page) < 30_000
        cells = Cells(page)
        assert cells.tags <= TAGS | {"p"}
        assert cells.attributes <= ATTRIBUTES
        assert not re.search(r"on\w+=|href|src|url\(|<i>", page)
        assert len(coloured(cells)) == 2 * n_models


def test_of_many_models_the_best_are_drawn():
    y_true, y_score = problem(3, n=300)
    noise = np.random.default_rng(0).normal(size=(9, *y_score.shape))
    models = {f"m{m}": y_score + 0.3 * m * noise[m] for m in reversed(range(9))}
    comparison = polyroc.compare(y_true, models, method="influence")
    page = comparison._repr_html_()
    assert "The picture shows the 6 models with the largest D." in page
    best = sorted(comparison.by_auc.estimates, key=lambda one: -one.value)[:6]
    drawn = [text for text in Cells(page).drawn if re.fullmatch(r"m\d [DM]", text)]
    assert {text.split()[0] for text in drawn} == {one.model for one in best}
    assert len(drawn) == 12


def test_colours_are_seen_on_white_and_on_black():
    for colour in COLOURS:
        assert min(contrast(colour, "white"), contrast(colour, "black")) >= 3


def test_a_perfect_curve_is_seen_at_the_frame():
    y_true, _ = problem(3)
    truth = (np.unique(y_true) == y_true[:, None]).astype(float)
    page = polyroc.evaluate(y_true, truth)._repr_html_()
    shown = [float(x) for x in re.search(r'viewBox="(-[^"]*)"', page)[1].split()]
    drawn = points(coloured(Cells(page))[-1])
    # Up along the left side, then to the right along the upper one: outside of the frame, inside of what is shown.
    assert shown[0] < drawn[:-1, 0].max() < 0
    assert shown[1] < drawn[1:, 1].max() < 0


def test_curves_are_drawn_alike_in_notebooks_and_on_pages():
    from polyroc.report import summarize
    from polyroc.report._figures import LEFT, SIDE, TOP, curve_svg

    evaluation = evaluation_of(3, n=900, strength=4.0)
    path = coloured(Cells(evaluation._repr_html_()))[-1]
    summary = summarize(evaluation)
    [line] = [line for line in curve_svg(summary)["lines"] if line["kind"] == "curve"]
    drawn = np.array([point.split(",") for point in line["points"].split()], dtype=float)
    across, up = (drawn[:, 0] - LEFT) / SIDE, (drawn[:, 1] - TOP) / SIDE
    x, y = (points(path) / 220).T
    # Length along both lines, of which rates are functions: half a pixel of the smaller picture.
    for at in np.linspace(0.05, 1.95, 60):
        assert np.interp(at, x + 1 - y, x) == pytest.approx(np.interp(at, across + 1 - up, across), abs=0.5 / 220)
