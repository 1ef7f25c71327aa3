"""Influence of each sample on D, on the area under the mean curve, and on points of a curve.

Equation (influence) of docs/influence.md.

A pairwise rate changes with a sample in two ways: the share of its class above the threshold changes, and the threshold
moves so that the call rate stays. The second is shared by all runs of the polygon in proportion to what is called next
there. Both depend on whether the sample is called, so its influence is a step function of its score in each column:
a table with a knot for every cut through a polygon.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polyroc._core.adjoint import Gradient
from polyroc._core.polygons import Differences, Run, Runs, unordered
from polyroc._core.samples import centred
from polyroc._lib.typing import FloatArray, IntArray, Thresholds
from polyroc._records import Frozen, PairIndex, Predictions


@dataclass(frozen=True, eq=False)
class Reach(Frozen):
    """Ends of the interval around each call rate, as places between the points 0, s_1 .. s_T, 1."""

    low: IntArray
    """The point at or before the lower end, shape (T,)."""
    low_part: FloatArray
    """How far on to the next point the lower end lies, from 0 to 1."""
    high: IntArray
    high_part: FloatArray
    width: FloatArray
    """Length of the interval."""

    def rise(self, share: FloatArray) -> FloatArray:
        """Rise over each interval of shares at the points 0, s_1 .. s_T, 1, which lie along the last axis."""
        return _read(share, self.high, self.high_part) - _read(share, self.low, self.low_part)


def reach(call_rates: FloatArray, least: float = 0.0) -> Reach:
    """From the call rate before to the one after, and at least by `least` to either side, within 0 and 1.

    Slopes over one step of the grid tile the polygon: sums over all call rates, as areas are, need no more. At a
    single point of a curve one step of the graded grid contains hardly a sample.
    """
    points = np.concatenate([[0.0], call_rates, [1.0]])
    low = np.minimum(points[:-2], np.maximum(call_rates - least, 0.0))
    high = np.maximum(points[2:], np.minimum(call_rates + least, 1.0))
    return Reach(*_place(points, low), *_place(points, high), high - low)


def reach_of_points(smallest_class: int) -> float:
    """How far to either side the slope at a single point of a curve is taken."""
    return max(0.01, 5 / smallest_class)


def _place(points: FloatArray, at: FloatArray) -> tuple[IntArray, FloatArray]:
    place = np.clip(np.searchsorted(points, at, side="right") - 1, 0, len(points) - 2)
    return place, (at - points[place]) / (points[place + 1] - points[place])


def _read(share: FloatArray, place: IntArray, part: FloatArray) -> FloatArray:
    return (1 - part) * share[..., place] + part * share[..., place + 1]


# Heights of knots that are held at once.
_MOST_HEIGHTS = 2**22


def sample_influences(
    predictions: Predictions,
    pairs: PairIndex,
    call_rates: FloatArray,
    thresholds: Thresholds,
    gradient: Gradient,
    *,
    least_reach: float = 0.0,
) -> FloatArray:
    """Influence of each sample on each of m numbers, shape (m, n), from their gradient; the sums of classes are 0."""
    runs, around = Runs(predictions), reach(call_rates, least_reach)
    # With own thresholds all knots of a column come from the pairs of its class: they need not wait for the others.
    columns = [np.arange(len(pairs))]
    if thresholds == "own":
        columns = [np.flatnonzero(pairs.column == column) for column in np.unique(pairs.column)]
    # Of this many numbers at a time the knots of a column stay near the cache.
    together = max(1, _MOST_HEIGHTS // (4 * max(len(column) for column in columns) * len(call_rates)))
    influences = np.zeros((len(gradient), predictions.n_samples))
    for start in range(0, len(gradient), together):
        numbers = slice(start, start + together)
        part = gradient.of_numbers(numbers)
        for column in columns:
            tables = _knots_of(runs, pairs, column.tolist(), around, call_rates, thresholds, part)
            for (members_of, place), knots in tables.items():
                samples = np.flatnonzero(predictions.codes == members_of)
                influences[numbers, samples] += look_up(knots, predictions.scores[samples, place])
    return centred(influences, predictions)


def _knots_of(
    runs: Runs,
    pairs: PairIndex,
    some: list[int],
    around: Reach,
    call_rates: FloatArray,
    thresholds: Thresholds,
    gradient: Gradient,
) -> dict[tuple[int, int], list["Knots"]]:
    """Knots from some of the pairs, by class and column."""
    tables: dict[tuple[int, int], list[Knots]] = {}
    for pair in some:
        i, j, column = int(pairs.positive[pair]), int(pairs.negative[pair]), int(pairs.column[pair])
        members = members_and_columns(i, j, column, thresholds)
        cut = cut_polygon([runs(*each) for each in members], call_rates)
        # Each run's part of what is called next.
        next_called = np.clip(around.rise(cut.share) / (len(members) * around.width), 0, 1)
        by_tpr, by_fpr = gradient.of_pair(pair)
        moved = by_tpr * next_called[0] + by_fpr * next_called[1]
        pulls = [by_tpr, by_fpr, 0.0, 0.0]
        for each, pull in zip(members, pulls, strict=False):
            tables.setdefault(each, []).append(Knots(cut.score, cut.part, pull - moved))
    return tables


def members_and_columns(i: int, j: int, column: int, thresholds: Thresholds) -> list[tuple[int, int]]:
    """Class and column of every run that the threshold of pair (i, j) moves through."""
    own = [(i, column), (j, column)]
    return own if thresholds == "own" else [*own, (i, j), (j, j)]


class Cut(NamedTuple):
    """Where each call rate lies on a polygon."""

    score: FloatArray
    """The distinct score on whose edge it lies, shape (T,)."""
    part: FloatArray
    """How much of that edge is called, shape (T,)."""
    share: FloatArray
    """Share of each run that is called, with 0 before and 1 after, shape (R, T + 2)."""


def cut_polygon(runs: list[Run], call_rates: FloatArray) -> Cut:
    """Cut the polygon through the scores of some runs, each of which counts alike."""
    score = np.unique(np.concatenate([run.scores for run in runs]))[::-1]
    shares = np.zeros((len(runs), len(score) + 1))
    for share, run in zip(shares, runs, strict=True):
        share[1:] = run.share_from(score)
    called = shares.mean(axis=0)
    edge = np.minimum(np.searchsorted(called[1:], call_rates, side="left"), len(score) - 1)
    part = np.clip((call_rates - called[edge]) / (called[edge + 1] - called[edge]), 0, 1)
    share = np.ones((len(runs), len(call_rates) + 2))
    share[:, 0] = 0
    share[:, 1:-1] = shares[:, edge] + part * (shares[:, edge + 1] - shares[:, edge])
    return Cut(score[edge], part, share)


class Knots(NamedTuple):
    """A sample counts `height` where its score lies above `score`, and `part` of it at the very score."""

    score: FloatArray
    part: FloatArray
    height: FloatArray  # (m, T)


def look_up(knots: list[Knots], score: FloatArray) -> FloatArray:
    """The sum over all knots of what each score counts, shape (m, number of scores)."""
    at = np.concatenate([one.score for one in knots])
    order = np.argsort(at, kind="stable")
    height = np.concatenate([one.height for one in knots], axis=1)
    tied = height * np.concatenate([one.part for one in knots])
    below, upto = np.searchsorted(at[order], score, side="left"), np.searchsorted(at[order], score, side="right")
    height, tied = _cumulated(height[:, order]), _cumulated(tied[:, order])
    found: FloatArray = height[:, below] + tied[:, upto] - tied[:, below]
    return found


def _cumulated(terms: FloatArray) -> FloatArray:
    return np.concatenate([np.zeros((len(terms), 1)), np.cumsum(terms, axis=1)], axis=1)


def area_influences(predictions: Predictions, pairs: PairIndex, share: FloatArray) -> FloatArray:
    """Influence of each sample on sums of share times pairwise area, (..., n) from (..., K): DeLong's components."""
    members = [np.flatnonzero(predictions.codes == c) for c in range(len(predictions.labels))]
    runs, shares = Runs(predictions), np.atleast_2d(share)
    wins = np.zeros((len(shares), predictions.n_samples))
    for i, j, column, weight in zip(pairs.positive, pairs.negative, pairs.column, shares.T[:, :, None], strict=True):
        # A sample of i wins against those of j below it, a sample of j against those of i above it; ties count half.
        wins[:, members[i]] += weight * (1 - runs(j, column).share_above(predictions.scores[members[i], column]))
        wins[:, members[j]] += weight * runs(i, column).share_above(predictions.scores[members[j], column])
    return centred(wins, predictions).reshape(*share.shape[:-1], -1)


def difference_influences(
    predictions: Predictions, pairs: PairIndex, call_rates: FloatArray, gradient: Gradient, *, least_reach: float
) -> FloatArray:
    """Influence of each sample on each of m numbers, shape (m, n), from their gradient; the sums of classes are 0."""
    scored, around = Differences(predictions), reach(call_rates, least_reach)
    found = np.zeros((len(gradient), predictions.n_samples))
    for i, j, forward, backward in unordered(pairs):
        cut = cut_polygon(scored.runs(i, j), call_rates)
        next_called = np.clip(around.rise(cut.share) / (2 * around.width), 0, 1)
        pulls = of_both_orders(gradient, forward, backward)
        moved = pulls[0] * next_called[0] + pulls[1] * next_called[1]
        for c, score, pull in zip((i, j), scored.scores(i, j), pulls, strict=True):
            found[:, scored.members[c]] += look_up([Knots(cut.score, cut.part, pull - moved)], score)
    return centred(found, predictions)


def difference_area_influences(predictions: Predictions, pairs: PairIndex, share: FloatArray) -> FloatArray:
    """Influence of each sample on sums of share times pairwise area, (..., n) from (..., K): DeLong's components."""
    scored, both, shares = Differences(predictions), unordered(pairs), np.atleast_2d(share)
    wins = np.zeros((len(shares), predictions.n_samples))
    # Both orders of a pair have the same area.
    weights = np.array([np.bincount(both.of_pair, one, minlength=len(both)) for one in shares]).T[:, :, None]
    for (i, j, _, _), weight in zip(both, weights, strict=True):
        (first, second), (mine, others) = scored.runs(i, j), scored.scores(i, j)
        wins[:, scored.members[i]] += weight * (1 - second.share_above(mine))
        wins[:, scored.members[j]] += weight * first.share_above(others)
    return centred(wins, predictions).reshape(*share.shape[:-1], -1)


def of_both_orders(gradient: Gradient, forward: int, backward: int) -> tuple[FloatArray, FloatArray]:
    """Derivatives by the true and the false positive rates of (first, second), which those of the other order follow.

    Shape (m, T) each.
    """
    shape = (len(gradient), gradient.row.shape[2] // 2)
    by_tpr, by_fpr = np.zeros(shape), np.zeros(shape)
    if forward >= 0:
        tpr, fpr = gradient.of_pair(forward)
        by_tpr, by_fpr = by_tpr + tpr, by_fpr + fpr
    if backward >= 0:
        tpr, fpr = gradient.of_pair(backward)
        by_tpr, by_fpr = by_tpr - fpr[:, ::-1], by_fpr - tpr[:, ::-1]
    return by_tpr, by_fpr
