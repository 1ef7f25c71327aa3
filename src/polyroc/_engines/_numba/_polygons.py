"""Which two sorted runs make the polygon of each pair, and which polygons are reflections of others.

With own thresholds both runs lie in the pair's column. With differences of columns as scores
(`polyroc._engines._numba._difference_sorted`) both orders of a pair have one polygon: that of the order in which the
lower class comes first is read, and the other one is its reflection.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._engines._numba._compile import borrowed, inner, kernel
from polyroc._engines._unordered import unordered
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import PairIndex, read_only


class Polygons(NamedTuple):
    """The runs of K pairs: class and row of the sorted scores, of the positive and of the negative samples."""

    positive: Any  # (K,)
    negative: Any  # (K,)
    positive_row: Any  # (K,)
    negative_row: Any  # (K,)
    mirror: Any  # (K,) the pair whose reflection this one is, possibly itself; -1 of none; empty where all are -1


def polygons_of(pairs: PairIndex, thresholds: Thresholds) -> Polygons:
    """The runs of each pair's polygon; with shared thresholds those of its own column, for the areas."""
    if thresholds != "difference":
        nobody = read_only(np.empty(0, dtype=np.int64))
        return Polygons(pairs.positive, pairs.negative, pairs.column, pairs.column, nobody)
    both = unordered(pairs)
    first, second = (read_only(column[both.of_pair]) for column in (both.first, both.second))
    mirror = np.full(len(pairs), -1)
    is_back = both.backward >= 0
    # Where the order that would be read is not among the pairs, the other one is read as it, then reflected.
    mirror[both.backward[is_back]] = np.where(both.forward >= 0, both.forward, both.backward)[is_back]
    return Polygons(first, second, second, first, read_only(mirror))


def reflect_areas(polygons: Polygons, areas: FloatArray) -> None:
    """Fill in the areas of reflected polygons, which are those of the polygons that were read; areas (K,)."""
    if len(polygons.mirror) > 0:
        reflected = np.flatnonzero(polygons.mirror >= 0)
        areas[reflected] = areas[polygons.mirror[reflected]]


@inner
def is_read(polygons: Any, pair: int) -> Any:
    """Whether a pair's polygon is read from its runs."""
    if polygons.mirror.shape[0] == 0:
        return True
    mirror = polygons.mirror[pair]
    return mirror < 0 or mirror == pair


@kernel
def reflect_tpr(polygons: Any, grid: Any, tpr: Any) -> None:
    """Fill in the rates of reflected polygons where FPR is what TPR leaves of twice the call rate; tpr (K, T)."""
    polygons = borrowed(polygons)
    n_grid = grid.shape[0]
    for pair in range(polygons.mirror.shape[0]):
        read = polygons.mirror[pair]
        if read < 0:
            continue
        for t in range((n_grid + 1) // 2):
            last = n_grid - 1 - t
            # FPR of the polygon that was read, at 1 - s and at s. Both are read before either is written.
            high = min(1.0, max(0.0, 2.0 * grid[last] - tpr[read, last]))
            low = min(1.0, max(0.0, 2.0 * grid[t] - tpr[read, t]))
            tpr[pair, t], tpr[pair, last] = 1.0 - high, 1.0 - low


@inner
def reflect_rates(mirror: Any, tpr: Any, fpr: Any, areas: Any) -> None:
    """The same where both rates are kept, (K, T) each, and the areas (K,), which a reflection leaves."""
    n_grid = tpr.shape[1]
    for pair in range(mirror.shape[0]):
        read = mirror[pair]
        if read < 0:
            continue
        areas[pair] = areas[read]
        for t in range(n_grid):
            last = n_grid - 1 - t
            positive, negative = tpr[read, last], fpr[read, t]
            # TPR at s is 1 - FPR at 1 - s, and the other way round.
            tpr[pair, last], fpr[pair, t] = 1.0 - negative, 1.0 - positive
