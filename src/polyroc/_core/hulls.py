"""Areas under the convex hulls of the pairs' ROC polygons, from one sort per column."""

import numpy as np

from polyroc._core.predicted import relative_weights
from polyroc._core.samples import subtractable
from polyroc._core.unordered import unordered
from polyroc._lib.threads import threads_for
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import PairIndex, Predictions

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
