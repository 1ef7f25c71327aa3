"""Pairs ranked by the difference of their two columns: rates, thresholds, areas and influences of the reference.

The score of pair (i, j) is s_i - s_j, subtracted in double precision whatever the scores are: ties are those of the
double. Each unordered pair is sorted once, and the other order read as its reflection.
"""

import numpy as np

from polyroc._engines._gradient import Gradient
from polyroc._engines._numpy._influence import Knots, cut_polygon, look_up
from polyroc._engines._numpy._rates import Run
from polyroc._engines._reach import reach
from polyroc._engines._samples import centred, class_shares, mann_whitney, subtractable
from polyroc._engines._unordered import of_both_orders, reflected, unordered
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import PairIndex, PairwiseRates, Predictions

_LARGEST = np.finfo(np.float64).max


class Differences:
    """The samples of any two classes, with the difference of their columns as score."""

    def __init__(self, predictions: Predictions) -> None:
        self.members = [np.flatnonzero(predictions.codes == c) for c in range(len(predictions.labels))]
        self._given, self._scores = predictions.scores, subtractable(predictions.scores)
        self._weight = predictions.sample_weight

    def scores(self, i: int, j: int) -> list[FloatArray]:
        """s_i - s_j of the samples of class i, then of class j; or half of it where it would overflow."""
        return [_subtracted(self._scores, members, i, j) for members in (self.members[i], self.members[j])]

    def runs(self, i: int, j: int) -> list[Run]:
        """The same sorted, with the share of each class at or above any difference."""
        members, weight = (self.members[i], self.members[j]), self._weight
        return [
            Run.of(score, None if weight is None else weight[who])
            for score, who in zip(self.scores(i, j), members, strict=True)
        ]

    def distinct(self, i: int, j: int) -> tuple[FloatArray, FloatArray]:
        """Distinct differences, highest first: as they are ranked, and as they are, at most the largest float."""
        both = np.concatenate([self.members[i], self.members[j]])
        ranked, first = np.unique(np.concatenate(self.scores(i, j)), return_index=True)
        with np.errstate(over="ignore"):
            shown = _subtracted(self._given, both[first], i, j)
        return ranked[::-1], np.clip(shown, -_LARGEST, _LARGEST)[::-1]


def _subtracted(scores: FloatArray, samples: IntArray, i: int, j: int) -> FloatArray:
    return np.asarray(np.subtract(scores[samples, i], scores[samples, j], dtype=np.float64))


def difference_rates(predictions: Predictions, pairs: PairIndex, call_rates: FloatArray) -> PairwiseRates:
    """Cut every pair's ROC polygon at the call rates; FPR follows from TPR."""
    scored = Differences(predictions)
    tpr = np.empty((len(call_rates), len(pairs)))
    for i, j, forward, backward in unordered(pairs):
        ranked, _ = scored.distinct(i, j)
        positive, negative = (np.concatenate([[0.0], run.share_from(ranked)]) for run in scored.runs(i, j))
        found = np.interp(call_rates, (positive + negative) / 2, positive)
        if forward >= 0:
            tpr[:, forward] = found
        if backward >= 0:
            tpr[:, backward] = reflected(found, call_rates)
    return PairwiseRates(tpr, None, call_rates)


def difference_thresholds(predictions: Predictions, pairs: PairIndex, call_rates: FloatArray) -> FloatArray:
    """The difference of scores at which every pair reaches every call rate, shape (T, K)."""
    scored = Differences(predictions)
    found = np.empty((len(call_rates), len(pairs)))
    for pair, (i, j) in enumerate(zip(pairs.positive.tolist(), pairs.negative.tolist(), strict=True)):
        ranked, shown = scored.distinct(i, j)
        first, second = scored.runs(i, j)
        called = (first.share_from(ranked) + second.share_from(ranked)) / 2
        # Slack for the rounding of shares, as with the columns' own thresholds.
        reached = np.searchsorted(called, call_rates - 1e-12, side="left")
        found[:, pair] = shown[np.minimum(reached, len(shown) - 1)]
    return found


def difference_areas(predictions: Predictions, pairs: PairIndex) -> FloatArray:
    """Mann-Whitney area of each pair, shape (K,): the same for both of its orders."""
    scored, share, both = Differences(predictions), class_shares(predictions), unordered(pairs)
    areas = np.empty(len(both))
    for place, (i, j, _, _) in enumerate(both):
        members = (scored.members[i], scored.members[j])
        is_first = np.repeat([1, 0], [len(who) for who in members])
        weight = None if share is None else share[np.concatenate(members)]
        areas[place] = mann_whitney(np.concatenate(scored.scores(i, j)), is_first, weight)
    of_pairs: FloatArray = areas[both.of_pair]
    return of_pairs


def difference_influences(
    predictions: Predictions, pairs: PairIndex, call_rates: FloatArray, gradient: Gradient, *, least_reach: float
) -> FloatArray:
    """What each sample adds to each of m numbers, shape (m, n), from their gradient; the sums of classes are 0."""
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
    """What each sample adds to sums of share times pairwise area, shape (..., n) from (..., K): DeLong's components."""
    scored, both, shares = Differences(predictions), unordered(pairs), np.atleast_2d(share)
    wins = np.zeros((len(shares), predictions.n_samples))
    # Both orders of a pair have the same area.
    weights = np.array([np.bincount(both.of_pair, one, minlength=len(both)) for one in shares]).T[:, :, None]
    for (i, j, _, _), weight in zip(both, weights, strict=True):
        (first, second), (mine, others) = scored.runs(i, j), scored.scores(i, j)
        wins[:, scored.members[i]] += weight * (1 - second.share_above(mine))
        wins[:, scored.members[j]] += weight * first.share_above(others)
    return centred(wins, predictions).reshape(*share.shape[:-1], -1)
