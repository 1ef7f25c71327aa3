"""Counts of one score column that grow batch by batch: a row of class counts for every bin that has occurred."""

from typing import Any

import numpy as np

from polyroc._engines._bins import NO_SCORE, SEVERAL_SCORES
from polyroc._engines._numpy import _counting, _cutting
from polyroc._engines._registry import FastOrReference, can_compile
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import ColumnCounts

# Rows that there is room for at first: scores of most models fall into some hundred bins or more.
_FIRST_ROWS = 256
# Scores from which on compiled passes are worth to be loaded.
_WORTH_COMPILING = 1_000_000


class ColumnCounter:
    """Room for the counts of one column."""

    def __init__(self, n_bins: int, n_classes: int) -> None:
        self._by_bin = True
        self.slots = np.full(n_bins, -1, dtype=np.int32)
        """The row of each bin, -1 of bins that have not occurred."""
        self.rows: Any = np.zeros((_FIRST_ROWS, n_classes), dtype=np.int64)
        """Counts of each class, or their weights; rows in the order in which their bins occurred."""
        self.scores: FloatArray = np.full(_FIRST_ROWS, NO_SCORE)
        """The score that all samples of a row have, or that there is none or that there are several."""
        self.n_used = 0

    @classmethod
    def of_groups(cls, groups: IntArray, n_classes: int) -> "ColumnCounter":
        """One whose rows are groups of bins, all of them there from the beginning."""
        made = cls(0, n_classes)
        made._by_bin = False
        made.slots, made.n_used = groups.astype(np.int32), int(groups[-1]) + 1
        made.rows = np.zeros((made.n_used, n_classes), dtype=np.int64)
        made.scores = np.full(made.n_used, NO_SCORE)
        return made

    @property
    def occupied(self) -> IntArray:
        """The bins, or groups of bins, that have a row, in rising order."""
        return np.flatnonzero(self.slots >= 0) if self._by_bin else np.arange(self.n_used)

    def at(self, bins: IntArray) -> Any:
        """A copy of the rows of bins, or of groups."""
        return self.rows[self._slots_of(bins)]

    def scores_at(self, bins: IntArray) -> FloatArray:
        """The only score of bins, or of groups; likewise."""
        # Compiled passes do not distinguish the zeros.
        return self.scores[self._slots_of(bins)] + 0.0

    def _slots_of(self, bins: IntArray) -> IntArray:
        return self.slots[bins] if self._by_bin else bins

    def take_weights(self) -> None:
        """Go on with weights instead of counts."""
        if self.rows.dtype != np.float64:
            self.rows = self.rows.astype(np.float64)

    def make(self, bins: IntArray) -> None:
        """See to it that each of these bins, which are distinct, has a row."""
        new = bins[self.slots[bins] < 0]
        self.grow(self.n_used + len(new))
        self.slots[new] = np.arange(self.n_used, self.n_used + len(new))
        self.n_used += len(new)

    def grow(self, least: int) -> None:
        """Have room for at least this many rows, and for twice as many as before where that is not so."""
        if least <= len(self.rows):
            return
        rows = np.zeros((min(len(self.slots), max(2 * len(self.rows), least)), self.rows.shape[1]), self.rows.dtype)
        rows[: self.n_used] = self.rows[: self.n_used]
        scores = np.full(len(rows), NO_SCORE)
        scores[: self.n_used] = self.scores[: self.n_used]
        self.rows, self.scores = rows, scores

    def add_rows(self, bins: IntArray, rows: Any, scores: FloatArray) -> None:
        """Add counts of distinct bins, and the only score of each."""
        if rows.dtype == np.float64:
            self.take_weights()
        if self._by_bin:
            self.make(bins)
        slots = self._slots_of(bins)
        self.rows[slots] += rows
        self.join(slots, scores)

    def join(self, slots: Any, scores: FloatArray) -> None:
        """Take in the only score of more samples of some rows."""
        own = self.scores[slots]
        either = np.where((scores == own) | (scores == NO_SCORE), own, SEVERAL_SCORES)
        self.scores[slots] = np.where(own == NO_SCORE, scores, either)

    @property
    def nbytes(self) -> int:
        return int(self.slots.nbytes + self.rows.nbytes + self.scores.nbytes)

    def counts(self) -> ColumnCounts:
        """A copy of the counts, the bin of the highest scores first."""
        bins = self.occupied[::-1]
        return ColumnCounts(bins, self.at(bins), self.scores_at(bins) != SEVERAL_SCORES)


def counting_for(n_scores: int) -> Any:
    """The module of passes over this many scores: compiled ones for many, where numba is there."""
    if not _is_worth_compiling(n_scores):
        return _counting
    try:
        from polyroc._engines._numba import _counting as compiled
    except ImportError:
        return _counting
    return compiled if can_compile() else _counting


def cutting_for(n_vertices: int) -> Any:
    """The module that cuts polygons with this many vertices, likewise."""
    if not _is_worth_compiling(n_vertices):
        return _cutting
    try:
        from polyroc._engines._numba import _cutting as compiled
    except ImportError:
        return _cutting
    return compiled if can_compile() else _cutting


def _is_worth_compiling(n: int) -> bool:
    return n >= _WORTH_COMPILING and FastOrReference.works
