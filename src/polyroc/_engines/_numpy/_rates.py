"""Predictions -> PairwiseRates by plain NumPy: one sort per column, then each pair's polygon cut at the call rates."""

import numpy as np

from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import PairIndex, PairwiseRates, Predictions


class Run:
    """The scores of one class in one column, and the share of the class at or above any score."""

    def __init__(self, scores: FloatArray, tail: FloatArray) -> None:
        self.scores, self.tail = scores, tail

    @classmethod
    def of(cls, scores: FloatArray, weight: FloatArray | None) -> "Run":
        if weight is None:
            return cls(np.sort(scores), np.arange(len(scores), -1, -1) / len(scores))
        order = np.argsort(scores, kind="stable")
        cumulated = np.concatenate([[0.0], np.cumsum(weight[order][::-1])])
        return cls(scores[order], (cumulated / cumulated[-1])[::-1])

    def share_from(self, score: FloatArray) -> FloatArray:
        return self.tail[np.searchsorted(self.scores, score, side="left")]

    def share_above(self, score: FloatArray) -> FloatArray:
        """As `share_from`, with samples of the very same score counted one half."""
        return 0.5 * (self.share_from(score) + self.tail[np.searchsorted(self.scores, score, side="right")])


class Runs:
    """Every run that the pairs ask for, each sorted once."""

    def __init__(self, predictions: Predictions) -> None:
        self._predictions = predictions
        self._members = [np.flatnonzero(predictions.codes == c) for c in range(len(predictions.labels))]
        self._made: dict[tuple[int, int], Run] = {}

    def __call__(self, members_of: int, column: int) -> Run:
        key = (members_of, column)
        if key not in self._made:
            members, weight = self._members[members_of], self._predictions.sample_weight
            scores = self._predictions.scores[members, column]
            self._made[key] = Run.of(scores, None if weight is None else weight[members])
        return self._made[key]


class Column:
    """One column of scores in falling order, and the share of any class at or above each distinct score."""

    def __init__(self, predictions: Predictions, column: int) -> None:
        score, weight = np.ascontiguousarray(predictions.scores[:, column]), predictions.sample_weight
        order = np.argsort(score)[::-1]
        score = score[order]
        is_last_of_tie = np.ones(len(score), dtype=bool)
        np.not_equal(score[1:], score[:-1], out=is_last_of_tie[:-1])
        self._last_of_tie = np.flatnonzero(is_last_of_tie)
        self._codes = predictions.codes[order]
        self._weight = None if weight is None else weight[order]

    def share(self, members_of: int) -> FloatArray:
        """Shares of a class, highest score first, after the corner 0."""
        is_member = self._codes == members_of
        cumulated = np.cumsum(is_member if self._weight is None else np.where(is_member, self._weight, 0.0))
        share = np.zeros(len(self._last_of_tie) + 1)
        np.divide(cumulated[self._last_of_tie], cumulated[-1], out=share[1:])
        return share


def pairwise_rates(
    predictions: Predictions, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds
) -> PairwiseRates:
    """Cut every pair's ROC polygon at the call rates."""
    if thresholds == "own":
        return PairwiseRates(_own_tpr(predictions, pairs, call_rates), None, call_rates)
    runs = Runs(predictions)
    tpr, fpr = np.empty((2, len(call_rates), len(pairs)))
    for pair, (i, j, column) in enumerate(zip(pairs.positive, pairs.negative, pairs.column, strict=True)):
        _, call_rate, positive, negative = polygon(runs, i, j, column, thresholds)
        tpr[:, pair] = np.interp(call_rates, call_rate, positive)
        fpr[:, pair] = np.interp(call_rates, call_rate, negative)
    return PairwiseRates(tpr, fpr, call_rates)


def _own_tpr(predictions: Predictions, pairs: PairIndex, call_rates: FloatArray) -> FloatArray:
    """The same with own thresholds, where one sort of column i serves all pairs (i, j); FPR follows from TPR."""
    tpr = np.empty((len(call_rates), len(pairs)))
    for i in np.flatnonzero(np.bincount(pairs.positive)).tolist():
        of_class = np.flatnonzero(pairs.positive == i)
        column = Column(predictions, int(pairs.column[of_class[0]]))
        positive = column.share(i)
        for pair in of_class.tolist():
            # Scores that only other classes have repeat a vertex, which changes no polygon.
            call_rate = (positive + column.share(pairs.negative[pair])) / 2
            tpr[:, pair] = np.interp(call_rates, call_rate, positive)
    return tpr


def polygon(
    runs: Runs, i: int, j: int, column: int, thresholds: Thresholds
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """One vertex per distinct score, highest first, after the corner (0, 0): scores, then call rate, TPR and FPR."""
    counted = [runs(i, column), runs(j, column)]
    if thresholds == "shared":
        counted += [runs(i, j), runs(j, j)]
    return merged_polygon(counted)


def merged_polygon(counted: list[Run]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The polygon through the scores of some runs, each of which counts alike; the first two are its coordinates."""
    score = np.unique(np.concatenate([run.scores for run in counted]))[::-1]
    shares = np.zeros((len(counted), len(score) + 1))
    for share, run in zip(shares, counted, strict=True):
        share[1:] = run.share_from(score)
    return score, shares.sum(axis=0) / len(counted), shares[0], shares[1]


def score_thresholds(
    predictions: Predictions, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds
) -> FloatArray:
    """The score at which every pair reaches every call rate, shape (T, K)."""
    runs = Runs(predictions)
    found = np.empty((len(call_rates), len(pairs)), dtype=predictions.scores.dtype)
    for pair, (i, j, column) in enumerate(zip(pairs.positive, pairs.negative, pairs.column, strict=True)):
        score, call_rate, _, _ = polygon(runs, i, j, column, thresholds)
        # Slack for the rounding of shares: (0.7 + 0.1) / 2 is a little less than the 0.4 it reaches.
        reached = np.searchsorted(call_rate[1:], call_rates - 1e-12, side="left")
        found[:, pair] = score[np.minimum(reached, len(score) - 1)]
    return found
