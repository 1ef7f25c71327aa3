"""The passes of `polyroc._engines._numpy._offset_passes`, compiled: each reads every sample once."""

from typing import Any

import numpy as np

from polyroc._engines._numba._compile import kernel
from polyroc._lib.typing import FloatArray, IntArray

# Samples whose highest levels stay in the cache while all rows pass.
_BLOCK = 2_048


def later_rows(z: FloatArray, offsets: FloatArray, order: IntArray, level: FloatArray, row: IntArray) -> IntArray:
    """As the reference's."""
    which = np.empty(z.shape[1], dtype=np.int32)
    _later_rows(z, offsets, order, _BLOCK, level, row, which)
    return which


@kernel
def _later_rows(z: Any, offsets: Any, order: Any, block: int, level: Any, row: Any, which: Any) -> None:
    """z, level and row (m, n); which (n,)."""
    m, n = z.shape
    top = np.empty(block)
    for begin in range(0, n, block):
        size = min(block, n - begin)
        for i in range(size):
            top[i] = -np.inf
            which[begin + i] = m
        for place in range(m - 1, -1, -1):
            j = order[place]
            for i in range(size):
                s = begin + i
                level[place, s] = top[i]
                row[place, s] = which[s]
                here = z[j, s] + offsets[j]
                if here > top[i] or (here == top[i] and which[s] > j):
                    top[i] = here
                    which[s] = j


def total(codes: IntArray, predicted: IntArray, weight: FloatArray, costs: FloatArray) -> float:
    """As the reference's."""
    return float(_total(codes, predicted, weight, costs))


@kernel
def _total(codes: Any, predicted: Any, weight: Any, costs: Any) -> float:
    # In blocks, whose sums are summed: rounding stays far below what counts as a gain.
    found = 0.0
    for begin in range(0, codes.shape[0], 4096):
        part = 0.0
        for s in range(begin, min(begin + 4096, codes.shape[0])):
            part += weight[s] * costs[codes[s], predicted[s]]
        found += part
    return found


def lift(top: FloatArray, which: IntArray, z: FloatArray, offset: float, j: int) -> None:
    """As the reference's."""
    _lift(top, which, z, offset, j)


@kernel
def _lift(top: Any, which: Any, z: Any, offset: float, j: int) -> None:
    for s in range(top.shape[0]):
        here = z[s] + offset
        if here > top[s] or (here == top[s] and which[s] > j):
            top[s] = here
            which[s] = j


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
    """As the reference's."""
    threshold, change = np.empty(len(top)), np.empty(len(top))
    return threshold, change, _switches(top, which, level, row, z, j, codes, weight, costs, threshold, change)


@kernel
def _switches(
    top: Any, which: Any, level: Any, row: Any, z: Any, j: int, codes: Any, weight: Any, costs: Any, t: Any, change: Any
) -> float:
    total = 0.0
    for s in range(top.shape[0]):
        rest, rival = top[s], which[s]
        if level[s] > rest or (level[s] == rest and row[s] < rival):
            rest, rival = level[s], row[s]
        without = costs[codes[s], rival]
        t[s] = rest - z[s]
        change[s] = (costs[codes[s], j] - without) * weight[s]
        total += weight[s] * without
    return total


def binned(
    t: FloatArray, change: FloatArray, low: float, scale: float, n: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """As the reference's."""
    place, net, falling = np.empty(len(t), dtype=np.int32), np.zeros(n), np.zeros(n)
    _binned(t, change, low, scale, place, net, falling)
    return place, net, falling


@kernel
def _binned(t: Any, change: Any, low: float, scale: float, place: Any, net: Any, falling: Any) -> None:
    last = net.shape[0] - 1
    for s in range(t.shape[0]):
        here = min(max((t[s] - low) * scale, 0.0), last)
        b = np.int32(here)
        place[s] = b
        net[b] += change[s]
        falling[b] += min(change[s], 0.0)


def lowest_above(t: FloatArray, bound: float) -> float:
    """As the reference's."""
    return float(_lowest_above(t, bound))


@kernel
def _lowest_above(t: Any, bound: float) -> float:
    least = np.inf
    for s in range(t.shape[0]):
        if t[s] > bound and t[s] < least:
            least = t[s]
    return least
