"""Predictions -> PairwiseRates by plain NumPy: one sort per column, then each pair's polygon cut at the call rates.

Equations (share), (rates), (call-rate) and (shared-call-rate) of docs/method.md.

With differences as scores that of pair (i, j) is s_i - s_j, subtracted in double precision whatever the scores are:
ties are those of the double. Each unordered pair is sorted once, and the other order read as its reflection.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyroc._core.predicted import relative_weights
from polyroc._core.samples import class_shares, mann_whitney, subtractable
from polyroc._lib.threads import threads_for
from polyroc._lib.typing import BoolArray, FloatArray, IntArray, Thresholds
from polyroc._records import Frozen, PairIndex, PairwiseRates, Predictions


@dataclass(frozen=True, eq=False)
class Unordered(Frozen):
    """The U unordered pairs among K ordered ones; of a sample of the pairs one order may be missing."""

    first: IntArray
    """The class that comes first in the order of the columns, shape (U,)."""
    second: IntArray
    forward: IntArray
    """Where (first, second) stands among the ordered pairs, -1 where it is not there, shape (U,)."""
    backward: IntArray
    """Where (second, first) stands."""
    of_pair: IntArray
    """The unordered pair of each ordered one, shape (K,)."""

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        columns = (self.first, self.second, self.forward, self.backward)
        return zip(*(column.tolist() for column in columns), strict=True)


def unordered(pairs: PairIndex) -> Unordered:
    """Put both orders of each pair together."""
    low, high = np.minimum(pairs.positive, pairs.negative), np.maximum(pairs.positive, pairs.negative)
    n_classes = int(high.max(initial=0)) + 1
    keys, of_pair = np.unique(low * n_classes + high, return_inverse=True)
    first, second = np.divmod(keys, n_classes)
    forward, backward = np.full((2, len(keys)), -1)
    for place, chosen in ((forward, pairs.positive == low), (backward, pairs.positive != low)):
        place[of_pair[chosen]] = np.flatnonzero(chosen)
    return Unordered(first, second, forward, backward, of_pair)


def reflected(tpr: FloatArray, call_rates: FloatArray) -> FloatArray:
    """True positive rates of the pair in the other order, by call rates along the last axis."""
    fpr = np.clip(2 * call_rates - tpr, 0, 1)
    mirrored: FloatArray = 1 - fpr[..., ::-1]
    return mirrored


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


# Rounds that look at all points together. Curves of samples take about as many as the logarithm of their points; what
# a few odd ones still have after these is gone through point by point.
_ROUNDS = 64
# Three points lie on a line where cross products differ by rounding only.
_ROUNDED = 1 - 1e-12


def upper_hull(x: FloatArray, y: FloatArray, is_end: BoolArray | None = None) -> IntArray:
    """Positions of the points on the upper convex hull, in their order.

    Several polygons may stand one after the other. `is_end` marks the first and last point of each, which are always
    kept. Within a polygon x must rise strictly.

    >>> upper_hull(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 1.0, 3.0])).tolist()
    [0, 3]
    """
    if is_end is None:
        is_end = np.zeros(len(x), dtype=bool)
        is_end[[0, -1]] = True
    kept = np.arange(len(x))
    for _ in range(_ROUNDS):
        dx, dy = np.diff(x[kept]), np.diff(y[kept])
        # A point on or below the line between its neighbours is no corner. All such points may go at once: each lies
        # below points that are there, and x rises, so they cannot all lean on each other.
        is_below = dx[:-1] * dy[1:] >= _ROUNDED * dy[:-1] * dx[1:]
        gone = is_below & ~is_end[kept[1:-1]]
        if not gone.any():
            return kept
        kept = kept[np.concatenate([[True], ~gone, [True]])]
    return _one_by_one(x, y, is_end, kept)


def _one_by_one(x: FloatArray, y: FloatArray, is_end: BoolArray, left: IntArray) -> IntArray:
    """Andrew's monotone chain over the points that are left."""
    chain: list[int] = []
    for c in left.tolist():
        while len(chain) > 1 and not is_end[chain[-1]]:
            a, b = chain[-2:]
            if (x[b] - x[a]) * (y[c] - y[b]) < _ROUNDED * (y[b] - y[a]) * (x[c] - x[b]):
                break
            chain.pop()
        chain.append(c)
    return np.array(chain)


def hull_areas(predictions: Predictions, pairs: PairIndex, n_jobs: int | None = None) -> FloatArray:
    """Area under the upper convex hull of each pair's ROC polygon, each class by its own column, shape (K,)."""
    weight = relative_weights(predictions)
    areas = np.zeros((len(predictions.labels),) * 2)

    def one(positive: int, column: int) -> None:
        areas[positive] = _against_each(predictions.scores[:, column], predictions.codes, weight, positive, len(areas))

    positives, first = np.unique(pairs.positive, return_index=True)
    tasks = list(zip(positives.tolist(), pairs.column[first].tolist(), strict=True))
    with threads_for(predictions.scores.size, n_jobs) as threads:
        threads.map(one, tasks)
    found: FloatArray = np.minimum(areas[pairs.positive, pairs.negative], 1.0)
    return found


def difference_hull_areas(predictions: Predictions, pairs: PairIndex, n_jobs: int | None = None) -> FloatArray:
    """The same where a pair is ranked by the difference of its columns; both orders of a pair have one area."""
    weight = relative_weights(predictions)
    scores, both = subtractable(predictions.scores), unordered(pairs)
    areas = np.empty(len(both))

    def one(place: int, first: int, second: int) -> None:
        members = np.flatnonzero((predictions.codes == first) | (predictions.codes == second))
        # In double precision, as rates and areas are ranked.
        apart = scores[members, first].astype(np.float64) - scores[members, second]
        is_first = (predictions.codes[members] == first).astype(np.intp)
        areas[place] = _against_each(apart, is_first, weight[members], 1, 2)[0]

    tasks = [(place, first, second) for place, (first, second, *_) in enumerate(both)]
    with threads_for(predictions.scores.size, n_jobs) as threads:
        threads.map(one, tasks)
    found: FloatArray = np.minimum(areas[both.of_pair], 1.0)
    return found


def _against_each(score: FloatArray, codes: IntArray, weight: FloatArray, positive: int, n_classes: int) -> FloatArray:
    """Hull areas of one class against each class, shape (k,); 0 against itself and against classes without samples.

    A corner of the hull stands just before a score that some negative sample has: before any other score, the polygon
    goes straight up. So each score of a negative class gives one point, the weights of both classes above it, and the
    points of all negative classes together are no more than the samples.
    """
    order = np.argsort(score)[::-1]
    score, codes, weight = score[order], codes[order], weight[order]
    is_positive = codes == positive
    won = np.where(is_positive, weight, 0.0)
    cumulated = np.cumsum(won)
    above = (cumulated - won)[_first_of_tie(score)]
    # By class, and within each class by falling scores as before.
    # Small integers are sorted by their digits, several times as fast.
    others = np.argsort(codes.astype(np.int16) if n_classes < 2**15 else codes, kind="stable")
    others = others[~is_positive[others]]
    score, codes, weight, above = score[others], codes[others], weight[others], above[others]
    begins = _differs(codes)
    places = np.flatnonzero(begins | _differs(score))
    first = np.flatnonzero(begins)
    before, total = _within_classes(weight, first)
    # Each class ends in the corner (1, 1), here in weights: the last point of its hull.
    ends = np.append(np.flatnonzero(begins[places])[1:], len(places))
    x, y = np.insert(before[places], ends, total), np.insert(above[places], ends, cumulated[-1])
    areas = _doubled_areas(x, y, np.insert(codes[places], ends, codes[first]), n_classes)
    areas[codes[first]] /= 2 * cumulated[-1] * total
    return areas


def _differs(values: FloatArray | IntArray) -> BoolArray:
    """Where a value is not the one before it."""
    # Compared, not subtracted: the difference of two finite scores may overflow.
    return np.concatenate([[True], values[1:] != values[:-1]])


def _first_of_tie(score: FloatArray) -> IntArray:
    """The position of the first of the equal scores that each belongs to."""
    first: IntArray = np.maximum.accumulate(np.where(_differs(score), np.arange(len(score)), 0))
    return first


def _within_classes(weight: FloatArray, first: IntArray) -> tuple[FloatArray, FloatArray]:
    """Weight before each sample within its class, and the weight of each class; classes begin at `first`."""
    total = np.add.reduceat(weight, first)
    cumulated = np.concatenate([[0.0], np.cumsum(weight)[:-1]])
    return cumulated - np.repeat(cumulated[first], np.diff(np.append(first, len(weight)))), total


def _doubled_areas(x: FloatArray, y: FloatArray, kind: IntArray, n_classes: int) -> FloatArray:
    """Twice the area under the hull of the points of each class."""
    is_first = _differs(kind)
    kept = upper_hull(x, y, is_first | np.append(is_first[1:], True))
    x, y, kind = x[kept], y[kept], kind[kept]
    inside = ~_differs(kind)[1:]
    strips = (np.diff(x) * (y[1:] + y[:-1]))[inside]
    return np.bincount(kind[1:][inside], strips, minlength=n_classes).astype(float, copy=False)
