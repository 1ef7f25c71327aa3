"""Influences of samples on the fast engine: tables by rank, handed out in the order of the scores."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from polyroc._engines._gradient import Gradient
from polyroc._engines._numba._class_sorted import ClassSorted
from polyroc._engines._numba._difference_kernels import (
    BothOrders,
    add_difference_areas,
    add_difference_influences,
)
from polyroc._engines._numba._influence_kernels import ByColumn, Reading, Slopes, Sorted, add_areas, add_influences
from polyroc._engines._reach import reach
from polyroc._engines._samples import centred
from polyroc._engines._unordered import Unordered, unordered
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import PairIndex, Predictions, read_only

# Numbers whose influences are found in one pass over the pairs: more would need more memory, and save no time.
_TOGETHER = 16
# Most samples times numbers for which each task has sums of its own.
_MOST_SUMS = 2**25
_MOST_TASKS = 16


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
