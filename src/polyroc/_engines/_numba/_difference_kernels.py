"""Compiled influences of samples where pairs are ranked by the difference of their columns.

Each unordered pair has a ranking of its own, so that there is one table for each pair and class instead of one for
each column. Both orders of a pair are done at once: the gradient of the reflected polygon is brought to the one that is
cut. Words in parentheses are the labels of equations in docs/influence.md.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._engines._numba._compile import borrowed, inner, kernel
from polyroc._engines._numba._cuts import cut_two, room_for_cut
from polyroc._engines._numba._influence_kernels import add_knots, add_wins_of_both, balance, differentiate, find_rise


class BothOrders(NamedTuple):
    """The U unordered pairs (`polyroc._engines._unordered`)."""

    first: Any  # (U,)
    second: Any  # (U,)
    forward: Any  # (U,) place of (first, second) among the ordered pairs, or -1
    backward: Any  # (U,)


@kernel
def add_difference_influences(
    both: Any, classes: Any, tails: Any, reading: Any, slopes: Any, start: int, stop: int, out: Any
) -> None:
    """Add psi of (influence), the terms of the unordered pairs start..stop, for every sample; `out` is (m, n)."""
    classes, both = borrowed(classes), borrowed(both)
    reading, slopes = borrowed(reading), borrowed(slopes)
    n_grid, offsets, order = reading.grid.shape[0], classes.offsets, classes.order
    cut = room_for_cut(2, n_grid)
    rise, by_rate, other = np.empty((2, n_grid)), np.empty((2, n_grid)), np.empty((2, n_grid))
    table = np.empty(out.shape[1])
    for pair in range(start, stop):
        i, j = both.first[pair], both.second[pair]
        cut_differences(classes, tails, i, j, reading.grid, cut)
        find_rise(reading, cut.share, rise)
        for s in range(out.shape[0]):
            differentiate_both(slopes, s, both.forward[pair], both.backward[pair], by_rate, other)
            balance(by_rate, rise, 0)
            for run in range(2):
                c, row = (j, i) if run else (i, j)
                of_class = table[: offsets[c + 1] - offsets[c]]
                of_class[:] = 0.0
                add_knots(cut, run, by_rate[run], of_class)
                hand_out_sums(of_class, order[row, offsets[c] : offsets[c + 1]], out[s])


@inner
def cut_differences(classes: Any, tails: Any, i: int, j: int, grid: Any, cut: Any) -> None:
    """Cut the polygon of classes i and j, i before j: class i lies in row j, and class j in row i."""
    values, offsets = classes.values, classes.offsets
    a, b = values[j, offsets[i] : offsets[i + 1]], values[i, offsets[j] : offsets[j + 1]]
    if tails is None:
        cut_two(a, b, None, None, grid, cut)
    else:
        tail_a, tail_b = tails[j, offsets[i] : offsets[i + 1]], tails[i, offsets[j] : offsets[j + 1]]
        cut_two(a, b, tail_a, tail_b, grid, cut)


@inner
def differentiate_both(slopes: Any, s: int, forward: int, backward: int, by_rate: Any, other: Any) -> None:
    """G of (rate-gradient) by the rates of (first, second), which those of the other order follow, shape (2, T)."""
    n_grid = by_rate.shape[1]
    if forward >= 0:
        differentiate(slopes, s, forward, by_rate)
    else:
        by_rate[:] = 0.0
    if backward >= 0:
        differentiate(slopes, s, backward, other)
        for t in range(n_grid):
            # TPR of the reflection at 1 - s is 1 - FPR at s, and its FPR 1 - TPR.
            by_rate[0, t] -= other[1, n_grid - 1 - t]
            by_rate[1, t] -= other[0, n_grid - 1 - t]


@inner
def hand_out_sums(table: Any, order: Any, out: Any) -> None:
    """Add to each sample of a run the sum of what is noted from its rank on; ranks count from the top."""
    n, total = table.shape[0], 0.0
    for p in range(n):
        total += table[n - 1 - p]
        out[order[p]] += total


@kernel
def add_difference_areas(both: Any, share: Any, classes: Any, tails: Any, start: int, stop: int, out: Any) -> None:
    """Add the share of comparisons that each sample wins in the unordered pairs start..stop, shape (n, m).

    These are DeLong's structural components of the areas; `share` (U, m) is what both orders of a pair count for.
    """
    classes, both = borrowed(classes), borrowed(both)
    values, offsets, order, n_sums = classes.values, classes.offsets, classes.order, share.shape[1]
    below = np.empty(values.shape[1], np.int64)
    for pair in range(start, stop):
        i, j = both.first[pair], both.second[pair]
        n = offsets[i + 1] - offsets[i]
        a, b = values[j, offsets[i] : offsets[i + 1]], values[i, offsets[j] : offsets[j + 1]]
        of_a, of_b = order[j, offsets[i] : offsets[i + 1]], order[i, offsets[j] : offsets[j + 1]]
        rise = np.zeros((n + 1, n_sums))
        if tails is None:
            add_wins_of_both(a, b, None, None, of_b, share[pair], below, rise, out)
        else:
            tail_a, tail_b = tails[j, offsets[i] : offsets[i + 1]], tails[i, offsets[j] : offsets[j + 1]]
            add_wins_of_both(a, b, tail_a, tail_b, of_b, share[pair], below, rise, out)
        for p in range(n):
            for s in range(n_sums):
                out[of_a[p], s] += rise[p, s]
                rise[p + 1, s] += rise[p, s]
