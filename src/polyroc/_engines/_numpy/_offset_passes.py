"""Passes over the samples that sweeps for offsets are made of, in plain NumPy; see `polyroc._engines._offsets`.

z has shape (m, n), a row for each class. The highest level of some rows is kept with the row that has it; of equal ones
that is the row which stands first, as in `argmax`.
"""

import numpy as np

from polyroc._lib.typing import FloatArray, IntArray


def later_rows(z: FloatArray, offsets: FloatArray, order: IntArray, level: FloatArray, row: IntArray) -> IntArray:
    """Which row is the highest of all; writes the highest level among the rows after each place, and its row."""
    m, n = z.shape
    top, which = np.full(n, -np.inf), np.full(n, m, dtype=np.int32)
    for place in range(m - 1, -1, -1):
        level[place], row[place] = top, which
        lift(top, which, z[order[place]], offsets[order[place]], order[place])
    return which


def total(codes: IntArray, predicted: IntArray, weight: FloatArray, costs: FloatArray) -> float:
    """Sum over samples of weight * costs[code, predicted]."""
    return float(weight @ costs.ravel()[codes * costs.shape[1] + predicted])


def lift(top: FloatArray, which: IntArray, z: FloatArray, offset: float, j: int) -> None:
    """Let row j, with levels z + offset, take part in the highest levels; both arrays are written."""
    level = z + offset
    ties = level == top
    wins = level > top
    if ties.any():
        wins |= ties & (which > j)
    np.maximum(top, level, out=top)
    which[wins] = j


def switches(
    top: FloatArray,
    which: IntArray,
    level: FloatArray,
    row: IntArray,
    z: FloatArray,
    j: int,
    codes: IntArray,
    weight: FloatArray,
    costs: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """Threshold from which class j is predicted for each sample, the change of cost there, and the cost without j.

    The rivals are the rows before, (top, which), and those after, (level, row).
    """
    ahead = level > top
    ties = level == top
    if ties.any():
        ahead |= ties & (row < which)
    rival = np.where(ahead, row, which)
    without = costs.ravel()[codes * costs.shape[1] + rival]
    change = costs[:, j][codes]
    change -= without
    change *= weight
    threshold = np.maximum(top, level)
    threshold -= z
    return threshold, change, float(weight @ without)


def binned(
    t: FloatArray, change: FloatArray, low: float, scale: float, n: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The bin of each threshold; in each bin the sum of all changes, and that of the negative ones."""
    place = np.clip((t - low) * scale, 0, n - 1).astype(np.int32)
    net = np.bincount(place, change, minlength=n).astype(float, copy=False)
    falling = np.bincount(place, np.minimum(change, 0.0), minlength=n).astype(float, copy=False)
    return place, net, falling


def lowest_above(t: FloatArray, bound: float) -> float:
    """The lowest threshold above a bound; infinite where there is none."""
    above = t[t > bound]
    return float(above.min()) if len(above) else np.inf
