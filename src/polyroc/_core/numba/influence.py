"""Influences of samples on the fast engine: tables by rank, handed out in the order of the scores.

With differences of columns as scores each unordered pair has a ranking and a table of its own, and both orders of a
pair are done at once: the gradient of the reflected polygon is brought to the one that is cut. Words in parentheses are
the labels of equations in docs/influence.md.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from polyroc._core.adjoint import Gradient
from polyroc._core.influence import reach
from polyroc._core.numba.class_sorted import ClassSorted
from polyroc._core.numba.compile import borrowed, inner, kernel
from polyroc._core.numba.influence_kernels import (
    ByColumn,
    Reading,
    Slopes,
    Sorted,
    add_areas,
    add_influences,
    add_knots,
    add_wins_of_both,
    balance,
    cut_two,
    differentiate,
    find_rise,
    room_for_cut,
)
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
    """What each sample adds to each of m numbers, shape (m, n), from their gradient; the sums of classes are 0."""
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
        both = _both_orders(unordered(pairs))
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
    """What each sample adds to sums of share times pairwise area, shape (..., n) from (..., K): DeLong's components."""
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
        return partial(add_difference_areas, _both_orders(both), _by_pairs(of_both)), len(both)
    by_column = _by_column(pairs, is_shared=False)
    return partial(add_areas, by_column, pairs.negative, _by_pairs(shares)), len(by_column.columns)


def _by_pairs(shares: FloatArray) -> FloatArray:
    return read_only(np.array(shares.T, order="C"))


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


def _both_orders(both: Unordered) -> BothOrders:
    return BothOrders(both.first, both.second, both.forward, both.backward)


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
