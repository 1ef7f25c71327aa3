"""Compiled tables of influences.

In one column the influence of a sample of a class is a step function of its score, so of its rank within the class:
a cut adds its coefficient to all samples above, which is one addition at the rank of the lowest of them. When all
pairs of the column are done the additions are cumulated, and handed to the samples in the order of their ranks.

Words in parentheses are the labels of equations in docs/influence.md. m numbers are differentiated, D or points of a
curve; n samples, k classes, K pairs, T call rates.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._engines._numba._compile import borrowed, inner, kernel
from polyroc._engines._numba._cuts import called_share, cut_four, cut_two, room_for_cut


class Sorted(NamedTuple):
    """Class-sorted scores, and which sample stands where (`polyroc._engines._numba._class_sorted`)."""

    values: Any  # (k, n)
    offsets: Any  # (k + 1,)
    order: Any  # (k, n)


class ByColumn(NamedTuple):
    """The pairs of each column."""

    columns: Any  # (C,)
    first: Any  # (C + 1,) where the pairs of each begin
    pairs: Any  # (P,) where P is K, or 2K with shared thresholds: each pair then has two columns
    is_negative: Any  # (P,) whether the column is that of the pair's negative class


class Reading(NamedTuple):
    """Call rates, and between which of their neighbours slopes are taken (`polyroc._engines._reach`)."""

    grid: Any  # (T,)
    low: Any  # (T,) the point at or before the lower end, of the points 0, s_1 .. s_T, 1
    low_part: Any  # (T,) how far on to the next point the lower end lies
    high: Any  # (T,)
    high_part: Any  # (T,)
    width: Any  # (T,) length of the interval


class Slopes(NamedTuple):
    """A gradient (`polyroc._engines._gradient`) by pairs: G of (rate-gradient), as Q products of rows and pairs."""

    row: Any  # (m, Q, 2T)
    pair: Any  # (K, m, Q)
    tpr: Any  # (K,)
    fpr: Any  # (K,)
    cell: Any  # (K, 2T), or empty


@kernel
def add_influences(
    by_column: Any,
    positive: Any,
    negative: Any,
    is_shared: bool,
    classes: Any,
    tails: Any,
    reading: Any,
    slopes: Any,
    start: int,
    stop: int,
    out: Any,
) -> None:
    """Add psi of (influence), the terms of columns start..stop, for every sample; `out` is (m, n)."""
    classes, by_column = borrowed(classes), borrowed(by_column)
    reading, slopes = borrowed(reading), borrowed(slopes)
    n_runs, n_grid = 4 if is_shared else 2, reading.grid.shape[0]
    cut = room_for_cut(n_runs, n_grid)
    rise, by_rate = np.empty((n_runs, n_grid)), np.empty((2, n_grid))
    table, offsets = np.empty(out.shape), classes.offsets
    for place in range(start, stop):
        # By rank from the top of each class, class after class as in `offsets`.
        table[:] = 0.0
        for which in range(by_column.first[place], by_column.first[place + 1]):
            pair = by_column.pairs[which]
            i, j = positive[pair], negative[pair]
            cut_pair(classes, tails, i, j, reading.grid, is_shared, cut)
            find_rise(reading, cut.share, rise)
            # Runs of this column: 0 and 1 in that of the positive class, 2 and 3 in the other one.
            first = 2 if by_column.is_negative[which] else 0
            for s in range(out.shape[0]):
                differentiate(slopes, s, pair, by_rate)
                balance(by_rate, rise, first)
                add_knots(cut, first, by_rate[0], table[s, offsets[i] : offsets[i + 1]])
                add_knots(cut, first + 1, by_rate[1], table[s, offsets[j] : offsets[j + 1]])
        cumulate(table, offsets)
        hand_out(table, offsets, classes.order[by_column.columns[place]], out)


@inner
def cut_pair(classes: Any, tails: Any, i: int, j: int, grid: Any, is_shared: bool, cut: Any) -> None:
    """Cut the polygon of the pair (i, j)."""
    values, offsets = classes.values, classes.offsets
    if is_shared:
        cut_four(values, tails, offsets, i, j, grid, cut)
        return
    a, b = values[i, offsets[i] : offsets[i + 1]], values[i, offsets[j] : offsets[j + 1]]
    if tails is None:
        cut_two(a, b, None, None, grid, cut)
    else:
        tail_a, tail_b = tails[i, offsets[i] : offsets[i + 1]], tails[i, offsets[j] : offsets[j + 1]]
        cut_two(a, b, tail_a, tail_b, grid, cut)


@inner
def find_rise(reading: Any, share: Any, rise: Any) -> None:
    """Each run's part of what is called next, shape (runs, T); of two runs, beta of (influence) and 1 - beta."""
    n_runs = rise.shape[0]
    for r in range(n_runs):
        for t in range(rise.shape[1]):
            low, high = reading.low[t], reading.high[t]
            upper = share[r, high] + reading.high_part[t] * (share[r, high + 1] - share[r, high])
            lower = share[r, low] + reading.low_part[t] * (share[r, low + 1] - share[r, low])
            # A call rate is the mean of the runs' shares: all of them together rise by n_runs times its width.
            rise[r, t] = min(1.0, max(0.0, (upper - lower) / (n_runs * reading.width[t])))


@inner
def differentiate(slopes: Any, s: int, pair: int, by_rate: Any) -> None:
    """Derivatives of number s by the true and false positive rates of a pair: G of (rate-gradient), shape (2, T)."""
    n_grid = by_rate.shape[1]
    for kind in range(2):
        weight = slopes.fpr[pair] if kind else slopes.tpr[pair]
        out = by_rate[kind]
        for q in range(slopes.row.shape[1]):
            row, factor = slopes.row[s, q, kind * n_grid : (kind + 1) * n_grid], weight * slopes.pair[pair, s, q]
            if q == 0:
                for t in range(n_grid):
                    out[t] = factor * row[t]
            else:
                for t in range(n_grid):
                    out[t] += factor * row[t]
        if slopes.cell.shape[0] > 0:
            for t in range(n_grid):
                out[t] *= slopes.cell[pair, kind * n_grid + t]


@inner
def balance(by_rate: Any, rise: Any, first: int) -> None:
    """From derivatives by rates to coefficients of runs, of the first two or the last two: the call rate stays."""
    for t in range(by_rate.shape[1]):
        # One more sample called moves the threshold up, and with it both rates: this much is lost again. With two runs
        # what is left is g (1 - beta) for the positive class and -g beta for the negative, as in (influence).
        moved = by_rate[0, t] * rise[0, t] + by_rate[1, t] * rise[1, t]
        if first == 0:
            by_rate[0, t] -= moved
            by_rate[1, t] -= moved
        else:
            # The rates are those of the positive class's column: a score in the other one only moves the threshold.
            by_rate[0, t] = by_rate[1, t] = -moved


@inner
def add_knots(cut: Any, run: int, height: Any, table: Any) -> None:
    """Note what every call rate adds to the samples that it calls, at the rank of the lowest of them."""
    above, upto = cut.above[run], cut.upto[run]
    for t in range(height.shape[0]):
        # h of (influence): whole above the edge, `part` on it.
        on_edge = cut.part[t] * height[t]
        if above[t] > 0:
            table[above[t] - 1] += height[t] - on_edge
        if upto[t] > 0:
            table[upto[t] - 1] += on_edge


@inner
def cumulate(table: Any, offsets: Any) -> None:
    """From what is noted at each rank to what a sample there is given: the sum from its rank on."""
    for s in range(table.shape[0]):
        for c in range(offsets.shape[0] - 1):
            total = 0.0
            for p in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
                total += table[s, p]
                table[s, p] = total


@inner
def hand_out(table: Any, offsets: Any, order: Any, out: Any) -> None:
    """Add to every sample what the table has at its rank, which counts from the top of its class."""
    for s in range(out.shape[0]):
        for c in range(offsets.shape[0] - 1):
            # Sorted scores rise and ranks fall: place p has the rank ends - p.
            ends = offsets[c] + offsets[c + 1] - 1
            for p in range(offsets[c], offsets[c + 1]):
                out[s, order[p]] += table[s, ends - p]


@kernel
def add_areas(
    by_column: Any, negative: Any, share: Any, classes: Any, tails: Any, start: int, stop: int, out: Any
) -> None:
    """Add the share of comparisons that each sample wins in columns start..stop, shape (n, m).

    These are DeLong's structural components of the areas (pair-area in docs/method.md); `share` (K, m) is what each
    area counts for in each of m sums.
    """
    classes, by_column = borrowed(classes), borrowed(by_column)
    values, offsets, n_sums = classes.values, classes.offsets, share.shape[1]
    below = np.empty(values.shape[1], np.int64)
    for place in range(start, stop):
        i = by_column.columns[place]
        order, first, n = classes.order[i], offsets[i], offsets[i + 1] - offsets[i]
        a = values[i, first : first + n]
        # What the samples of class i win, by place: each sample of another class adds at the first place above it.
        rise = np.zeros((n + 1, n_sums))
        for which in range(by_column.first[place], by_column.first[place + 1]):
            pair = by_column.pairs[which]
            begin, end = offsets[negative[pair]], offsets[negative[pair] + 1]
            b, of_b = values[i, begin:end], order[begin:end]
            if tails is None:
                add_wins_of_both(a, b, None, None, of_b, share[pair], below, rise, out)
            else:
                both_tails = (tails[i, first : first + n], tails[i, begin:end])
                add_wins_of_both(a, b, *both_tails, of_b, share[pair], below, rise, out)
        for p in range(n):
            for s in range(n_sums):
                out[order[first + p], s] += rise[p, s]
                rise[p + 1, s] += rise[p, s]


@inner
def add_wins_of_both(
    a: Any, b: Any, tail_a: Any, tail_b: Any, order_b: Any, share: Any, below: Any, rise: Any, out: Any
) -> None:
    """Add what each sample of run b wins by lying below run a to `out`, and what those of a win to `rise`; ties half.

    a (n_a,) and b (n_b,) rise, and so do the places of `rise` (n_a + 1, m); share (m,). `below` is room for n_b places.
    """
    n_a, n_b, high = a.shape[0], b.shape[0], np.int64(0)
    of_a, half = 0.5 / n_a, 0.5 / n_b
    find_below(a, b, below)
    for p in range(n_b):
        low = below[p]
        high = max(high, low)
        while high < n_a and a[high] == b[p]:
            high += 1
        if tail_a is None:
            higher = of_a * (2 * n_a - low - high)
        else:
            higher = 0.5 * (called_share(tail_a, low, n_a) + called_share(tail_a, high, n_a))
            half = 0.5 * (tail_b[p] - called_share(tail_b, p + 1, n_b))
        sample = order_b[p]
        for s in range(share.shape[0]):
            rise[low, s] += share[s] * half
            rise[high, s] += share[s] * half
            out[sample, s] += share[s] * higher


@inner
def find_below(a: Any, b: Any, below: Any) -> None:
    """How many of run a lie below each of run b, both rising: the first entries of `below`, as many as b has."""
    n_a, n_b = a.shape[0], b.shape[0]
    at_a, at_b = np.int64(0), np.int64(0)
    while at_a < n_a and at_b < n_b:
        # Which run comes next cannot be predicted, so nothing branches upon it: a place is written until it is right.
        below[at_b] = at_a
        one = np.int64(a[at_a] < b[at_b])
        at_a += one
        at_b += 1 - one
    below[at_b:n_b] = n_a
