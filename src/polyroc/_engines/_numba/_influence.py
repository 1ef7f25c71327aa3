"""Influences of samples on the fast engine: a table by rank for each column, handed out in the order of the scores."""

from typing import Any

import numpy as np

from polyroc._engines._gradient import Gradient
from polyroc._engines._numba._class_sorted import ClassSorted
from polyroc._engines._numba._influence_kernels import ByColumn, Reading, Slopes, Sorted, add_areas, add_influences
from polyroc._engines._numpy._influence import centred
from polyroc._engines._reach import reach
from polyroc._engines._threads import Threads, chunks
from polyroc._lib._typing import FloatArray, Thresholds
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
    is_shared = thresholds == "shared"
    by_column = _by_column(pairs, is_shared=is_shared)
    found = np.empty((len(gradient), predictions.n_samples))
    classes, tails = _sorted(predictions, runs, threads)
    reading = Reading(call_rates, around.low, around.low_part, around.high, around.high_part, around.width)
    for start in range(0, len(gradient), _TOGETHER):
        slopes = _slopes(gradient, slice(start, start + _TOGETHER))
        n_numbers = len(slopes.row)
        given = (classes, tails, by_column, pairs.positive, pairs.negative, reading, slopes, is_shared)

        def add(first: int, last: int, given: Any = given, n_numbers: int = n_numbers) -> FloatArray:
            out = np.zeros((n_numbers, predictions.n_samples))
            add_influences(*given, first, last, out)
            return out

        summed = _summed(threads, add, len(by_column.columns), n_numbers * predictions.n_samples)
        found[start : start + _TOGETHER] = summed
    return centred(found, predictions)


def area_influences(
    predictions: Predictions, runs: ClassSorted, pairs: PairIndex, share: FloatArray, threads: Threads
) -> FloatArray:
    """What each sample adds to the sum of share times pairwise area, shape (n,): DeLong's structural components."""
    by_column = _by_column(pairs, is_shared=False)
    classes, tails = _sorted(predictions, runs, threads)
    given = (classes, tails, by_column, pairs.negative, read_only(np.array(share, dtype=float)))

    def add(first: int, last: int) -> FloatArray:
        out = np.zeros((1, predictions.n_samples))
        add_areas(*given, first, last, out)
        return out

    found = _summed(threads, add, len(by_column.columns), predictions.n_samples)
    [influence] = centred(found, predictions)
    return np.asarray(influence)


def _summed(threads: Threads, add: Any, n_columns: int, n_sums: int) -> FloatArray:
    """The sum of what tasks of some columns add each, cut by sizes alone so that threads change no bit."""
    most = max(2, min(_MOST_TASKS, _MOST_SUMS // n_sums))
    parts = threads.imap(add, chunks(n_columns, 1, most))
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
