"""Influences of samples, compiled: tables by rank, handed out in the order of the scores.

In one column the influence of a sample of a class is a step function of its score, so of its rank within the class: a
cut (`polyroc._core.numba.rates`) adds its coefficient to all samples above, which is one addition at the rank of the
lowest of them. This is h of (influence), by rank from the top: 1 for the first `above` samples of a run, `part` for
those from there to `upto`, 0 for the others. When all pairs of the column are done the additions are cumulated, and
handed to the samples in the order of their ranks.

With differences of columns as scores each unordered pair has a ranking and a table of its own, and both orders of a
pair are done at once: the gradient of the reflected polygon is brought to the one that is cut.

Words in parentheses are the labels of equations in docs/influence.md, call rates those of (call-rate) and
(shared-call-rate) in docs/method.md. m numbers are differentiated, D or points of a curve; n samples, k classes,
K pairs, T call rates.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from polyroc._core.adjoint import Gradient
from polyroc._core.influence import reach
from polyroc._core.numba.class_sorted import ClassSorted
from polyroc._core.numba.compile import borrowed, inner, kernel
from polyroc._core.numba.rates import called_share, cut_four, cut_two, room_for_cut
from polyroc._core.polygons import Unordered, unordered
from polyroc._core.samples import centred
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import PairIndex, Predictions, read_only

# Numbers whose influences are found in one pass over the pairs: more would need more memory, and save no time.
_TOGETHER = 16
# Most samples times numbers for which each task has sums of its own.
_MOST_SUMS = 2**25
_MOST_TASKS = 16


class BothOrders(NamedTuple):
    """The U unordered pairs (`polyroc._core.polygons`)."""

    first: Any  # (U,)
    second: Any  # (U,)
    forward: Any  # (U,) place of (first, second) among the ordered pairs, or -1
    backward: Any  # (U,)

    @classmethod
    def of(cls, both: Unordered) -> "BothOrders":
        return cls(both.first, both.second, both.forward, both.backward)


class Sorted(NamedTuple):
    """Class-sorted scores, and which sample stands where (`polyroc._core.numba.class_sorted`)."""

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
    """Call rates, and between which of their neighbours slopes are taken (`polyroc._core.influence`)."""

    grid: Any  # (T,)
    low: Any  # (T,) the point at or before the lower end, of the points 0, s_1 .. s_T, 1
    low_part: Any  # (T,) how far on to the next point the lower end lies
    high: Any  # (T,)
    high_part: Any  # (T,)
    width: Any  # (T,) length of the interval


class Slopes(NamedTuple):
    """A gradient (`polyroc._core.adjoint`) by pairs: G of (rate-gradient), as Q products of rows and pairs."""

    row: Any  # (m, Q, 2T)
    pair: Any  # (K, m, Q)
    tpr: Any  # (K,)
    fpr: Any  # (K,)
    cell: Any  # (K, 2T), or empty


def sample_influences(
    predictions: Predictions,
    runs: ClassSorted,
    pairs: PairIndex,
    call_rates: FloatArray,
    thresholds: Thresholds,
    gradient: Gradient,
    threads: Threads,
    *,
    least_reach: float,
) -> FloatArray:
    """Influence of each sample on each of m numbers, shape (m, n), from their gradient; the sums of classes are 0."""
    around = reach(call_rates, least_reach)
    add_terms, n_parts = _terms(pairs, thresholds)
    found = np.empty((len(gradient), predictions.n_samples))
    classes, tails = _sorted(predictions, runs, threads)
    reading = Reading(call_rates, around.low, around.low_part, around.high, around.high_part, around.width)
    for start in range(0, len(gradient), _TOGETHER):
        slopes = _slopes(gradient, slice(start, start + _TOGETHER))

        def add(first: int, last: int, slopes: Slopes = slopes) -> FloatArray:
            out = np.zeros((len(slopes.row), predictions.n_samples))
            add_terms(classes, tails, reading, slopes, first, last, out)
            return out

        found[start : start + _TOGETHER] = _summed(threads, add, n_parts, len(slopes.row) * predictions.n_samples)
    return centred(found, predictions)


def _terms(pairs: PairIndex, thresholds: Thresholds) -> tuple[Callable[..., None], int]:
    """What adds the terms of some parts, columns or unordered pairs, and how many parts there are."""
    if thresholds == "difference":
        both = BothOrders.of(unordered(pairs))
        return partial(add_difference_influences, both), len(both.first)
    is_shared = thresholds == "shared"
    by_column = _by_column(pairs, is_shared=is_shared)
    return partial(add_influences, by_column, pairs.positive, pairs.negative, is_shared), len(by_column.columns)


def area_influences(
    predictions: Predictions,
    runs: ClassSorted,
    pairs: PairIndex,
    share: FloatArray,
    thresholds: Thresholds,
    threads: Threads,
) -> FloatArray:
    """Influence of each sample on sums of share times pairwise area, (..., n) from (..., K): DeLong's components."""
    classes, tails = _sorted(predictions, runs, threads)
    shares = np.atleast_2d(np.asarray(share, dtype=float))
    add_terms, n_parts = _area_terms(pairs, shares, thresholds)

    def add(first: int, last: int) -> FloatArray:
        # By samples: what one of them adds to all sums lies together.
        out = np.zeros((predictions.n_samples, len(shares)))
        add_terms(classes, tails, first, last, out)
        return out

    found = _summed(threads, add, n_parts, len(shares) * predictions.n_samples)
    return centred(found.T, predictions).reshape(*share.shape[:-1], -1)


def _area_terms(pairs: PairIndex, shares: FloatArray, thresholds: Thresholds) -> tuple[Callable[..., None], int]:
    """As `_terms`, for areas; `shares` (m, K)."""
    if thresholds == "difference":
        both = unordered(pairs)
        # Both orders of a pair have the same area.
        of_both = np.array([np.bincount(both.of_pair, share, minlength=len(both)) for share in shares])
        return partial(add_difference_areas, BothOrders.of(both), read_only(np.array(of_both.T, order="C"))), len(both)
    by_column = _by_column(pairs, is_shared=False)
    return partial(add_areas, by_column, pairs.negative, read_only(np.array(shares.T, order="C"))), len(
        by_column.columns
    )


def _summed(threads: Threads, add: Any, n_parts: int, n_sums: int) -> FloatArray:
    """The sum of what tasks of some parts add each, cut by sizes alone so that threads change no bit."""
    most = max(2, min(_MOST_TASKS, _MOST_SUMS // n_sums))
    parts = threads.imap(add, chunks(n_parts, 1, most))
    total: FloatArray = next(parts)
    for part in parts:
        total += part
    return total


def _sorted(predictions: Predictions, runs: ClassSorted, threads: Threads) -> tuple[Sorted, FloatArray | None]:
    return Sorted(runs.values, runs.offsets, runs.order), runs.tails(predictions.sample_weight, threads)


def _by_column(pairs: PairIndex, *, is_shared: bool) -> ByColumn:
    """The pairs whose threshold moves through each column: as the positive class's, and shared also the other's."""
    column = np.concatenate([pairs.positive, pairs.negative]) if is_shared else pairs.positive
    order = np.argsort(column, kind="stable")
    columns, first = np.unique(column[order], return_index=True)
    return ByColumn(columns, np.append(first, len(order)), order % len(pairs), order >= len(pairs))


def _slopes(gradient: Gradient, numbers: slice) -> Slopes:
    cell = np.empty((0, 0)) if gradient.cell is None else np.ascontiguousarray(gradient.cell.T)
    # By pairs, as they are met; read-only always: numba would compile once more for arrays that may be written to.
    return Slopes(
        row=read_only(np.array(gradient.row[numbers], dtype=float)),
        pair=read_only(np.array(np.moveaxis(gradient.pair[numbers], 2, 0), dtype=float, order="C")),
        tpr=read_only(np.array(gradient.tpr, dtype=float)),
        fpr=read_only(np.array(gradient.fpr, dtype=float)),
        cell=read_only(cell.view()),
    )


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
