"""Passes over the scores of a batch, one column at a time: into bins, and from bins to what each sample adds."""

import sys
from importlib import import_module
from typing import Any

import numpy as np

from polyroc._core.engines import is_compiled
from polyroc._counts.bins import NO_SCORE, SEVERAL_SCORES, ScoreBins
from polyroc._lib.typing import FloatArray, IntArray


def passes_for(size: int) -> Any:
    """The module of the passes: compiled for many scores, else this one."""
    return import_module("polyroc._counts.compiled") if is_compiled(size) else sys.modules[__name__]


def count(counter: Any, bins: ScoreBins, scores: FloatArray, codes: IntArray, weight: FloatArray | None) -> None:
    """Count the scores of a column, shape (n,), by bin and class."""
    index, occurred = bins.index(scores), np.zeros(bins.n_bins, dtype=bool)
    occurred[index] = True
    counter.make(np.flatnonzero(occurred & (counter.slots < 0)))
    n_classes, slots = counter.rows.shape[1], counter.slots[index]
    cell = slots * n_classes + codes
    counted = np.bincount(cell, weight, minlength=counter.n_used * n_classes)
    counter.rows[: counter.n_used] += counted.reshape(-1, n_classes).astype(counter.rows.dtype, copy=False)
    compared, own = bins.compared(scores), np.full(counter.n_used, NO_SCORE)
    # Whichever score comes last, others of the same bin differ from it.
    own[slots] = compared
    own[slots[own[slots] != compared]] = SEVERAL_SCORES
    counter.join(slice(counter.n_used), own)


def note_rows(
    columns: list[FloatArray], codes: IntArray, weight: FloatArray | None, confusion: Any, times: IntArray
) -> float:
    """Count the predicted class of each row (the first of equal highest scores) and the true one.

    Returned is how far the sum of a row is from 1 at most.
    """
    highest, predicted, k = columns[0].copy(), np.zeros(len(columns[0]), dtype=np.intp), len(times)
    total = columns[0].astype(np.float64)
    for place, column in enumerate(columns[1:], 1):
        higher = column > highest
        np.copyto(highest, column, where=higher)
        predicted[higher] = place
        total += column
    times += np.bincount(predicted, minlength=k)
    cells = np.bincount(codes * np.int64(k) + predicted, weight, minlength=k * k).reshape(k, k)
    confusion += cells.astype(confusion.dtype, copy=False)
    return float(np.abs(total - 1).max())


def look_up(
    slots: IntArray, table: FloatArray, bins: ScoreBins, scores: FloatArray, codes: IntArray, found: FloatArray
) -> bool:
    """Add to `found`, shape (n, m), what the table, shape (rows, k, m), has for the bin and the class of each score.

    False where a bin has no row in the table.
    """
    row = slots[bins.index(scores)]
    if row.min() < 0:
        return False
    found += table[row, codes]
    return True


# Scores that are compared at a time.
_AT_ONCE = 1 << 16


def gather(scores: FloatArray, codes: Any, places: IntArray, column: FloatArray) -> None:
    """Put each score at the next place of its class; places, shape (k,), move on."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(places))
    ends = np.cumsum(counts)
    ranked = scores[order]
    for c in np.flatnonzero(counts).tolist():
        column[places[c] : places[c] + counts[c]] = ranked[ends[c] - counts[c] : ends[c]]
    places += counts


def doubled_wins(positive: FloatArray, negative: FloatArray) -> int:
    """Twice the number of pairs in which the positive sample has the higher score, ties once; both are sorted."""
    wins = 0
    for start in range(0, len(positive), _AT_ONCE):
        some = positive[start : start + _AT_ONCE]
        # Only those between the ends of some scores in a row need be searched.
        first = int(np.searchsorted(negative, some[0], side="left"))
        between = negative[first : np.searchsorted(negative, some[-1], side="right")]
        below = np.searchsorted(between, some, side="left") + np.searchsorted(between, some, side="right")
        wins += 2 * first * len(some) + int(below.sum())
    return wins
