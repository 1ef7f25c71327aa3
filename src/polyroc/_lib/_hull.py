"""Upper convex hulls of many polygons at once."""

import numpy as np

from polyroc._lib._typing import BoolArray, FloatArray, IntArray

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
