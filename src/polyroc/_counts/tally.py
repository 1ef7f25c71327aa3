"""What is known of samples that have passed: counts by column, bin and class, and a few facts about rows.

Everything is added or is a smallest or largest, so that batches, files and machines can be counted apart and merged
in any order. Without weights all counts are whole numbers, and any order gives the same bytes.
"""

from typing import Any

import numpy as np

from polyroc._core import memory
from polyroc._counts.bins import NO_SCORE, ROUNDED, SEVERAL_SCORES, ScoreBins
from polyroc._counts.passes import passes_for
from polyroc._inputs.checks import InputError
from polyroc._inputs.predictions import Batch
from polyroc._lib.threads import Threads
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._records import ColumnCounts, RowCounts, ScoreCounts

# Rows that there is room for at first: scores of most models fall into some hundred bins or more.
_FIRST_ROWS = 256


class ColumnCounter:
    """Room for the counts of one column."""

    def __init__(self, n_bins: int, n_classes: int) -> None:
        self.slots = np.full(n_bins, -1, dtype=np.int32)
        """The row of each bin, -1 of bins that have not occurred."""
        self.rows: Any = np.zeros((_FIRST_ROWS, n_classes), dtype=np.int64)
        """Counts of each class, or their weights; rows in the order in which their bins occurred."""
        self.scores: FloatArray = np.full(_FIRST_ROWS, NO_SCORE)
        """The score that all samples of a row have, or that there is none or that there are several."""
        self.n_used = 0

    @property
    def occupied(self) -> IntArray:
        """The bins that have a row, in rising order."""
        return np.flatnonzero(self.slots >= 0)

    def at(self, bins: IntArray) -> Any:
        """A copy of the rows of bins."""
        return self.rows[self.slots[bins]]

    def scores_at(self, bins: IntArray) -> FloatArray:
        """The only score of bins; likewise."""
        # Compiled passes do not distinguish the zeros.
        return self.scores[self.slots[bins]] + 0.0

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
        self.make(bins)
        slots = self.slots[bins]
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


# Rows whose highest scores stay in the cache while all columns pass.
_BLOCK = 16_384
# Scores of a batch from which on columns are worth a thread each.
_WORTH_A_THREAD = 2**18
# Scores of a model hardly ever fall into fewer bins.
_FEW_BINS = 256
# To ask for free memory takes as long as some of the work.
_ALWAYS_THERE = 2**22
# Weights outside would lose their squares.
_SMALLEST, _LARGEST = 1e-150, 1e150


class Tally:
    """Counts that grow; `counts` gives what they are now."""

    def __init__(self, labels: LabelArray, bins: ScoreBins) -> None:
        self.labels, self.bins = labels, bins
        self.counters: list[ColumnCounter] = []
        k = len(labels)
        self.class_counts = np.zeros(k, dtype=np.int64)
        self.class_weights, self.class_squares = np.zeros(k), np.zeros(k)
        self.is_weighted = False
        self.confusion: Any = np.zeros((k, k), dtype=np.int64)
        self.times = np.zeros(k, dtype=np.int64)
        self.lowest, self.highest, self.worst_row = np.full(k, np.inf), np.full(k, -np.inf), 0.0

    @property
    def n_columns(self) -> int:
        return len(self.counters)

    @property
    def n_scores(self) -> int:
        return int(self.class_counts.sum()) * self.n_columns

    @property
    def nbytes(self) -> int:
        return int(sum(counter.nbytes for counter in self.counters) + self.confusion.nbytes)

    def add(self, batch: Batch, n_jobs: int | None = None, n_expected: int = 0) -> None:
        """Count a batch: all of it, or nothing where it is refused; `n_expected` scores will come in all."""
        ranges = self._checked(batch)
        if not self.counters:
            self.set_columns(len(batch.columns))
        if batch.weight is not None:
            self.take_weights()
        passes = self._count(batch, n_jobs, n_expected)
        if self.n_columns > 1:
            self._note_rows(batch, passes)
        # Of a single column for both classes.
        low, high = ranges
        self.lowest, self.highest = np.minimum(self.lowest, low), np.maximum(self.highest, high)

    def _count(self, batch: Batch, n_jobs: int | None, n_expected: int = 0) -> Any:
        """Add scores to the columns, and samples to the classes; the passes that did it."""
        k, codes, weight = len(self.labels), batch.codes, batch.weight
        passes = passes_for(max(n_expected, self.n_scores + len(batch) * self.n_columns))
        with Threads(n_jobs if len(batch) * self.n_columns >= _WORTH_A_THREAD else 1) as threads:
            threads.map(
                lambda counter, column: passes.count(counter, self.bins, column, codes, weight),
                list(zip(self.counters, batch.columns, strict=True)),
            )
        self.class_counts += np.bincount(codes, minlength=k)
        if weight is not None:
            self.class_weights += np.bincount(codes, weight, minlength=k)
            self.class_squares += np.bincount(codes, weight**2, minlength=k)
        elif self.is_weighted:
            self.class_weights += np.bincount(codes, minlength=k)
            self.class_squares += np.bincount(codes, minlength=k)
        return passes

    def _checked(self, batch: Batch) -> tuple[Any, Any]:
        """Lowest and highest score of each column of a batch that can be counted."""
        low = np.array([column.min() for column in batch.columns], dtype=float)
        high = np.array([column.max() for column in batch.columns], dtype=float)
        if self.counters and len(batch.columns) != self.n_columns:
            came = f"{len(batch.columns)} after {self.n_columns} in earlier batches"
            raise InputError("y_score", "must have the same number of columns in all batches", came)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InputError("y_score", "must be finite", "NaN or infinity")
        if self.bins.scores == "probabilities" and (low.min() < -ROUNDED or high.max() > 1 + ROUNDED):
            outside = float(low.min() if low.min() < -ROUNDED else high.max())
            raise InputError(
                "y_score",
                "must lie between 0 and 1",
                f"{outside:g}",
                hint=": for scores that are no probabilities make the accumulator with `score_kind='free'`",
            )
        if batch.weight is not None and not (batch.weight.min() >= _SMALLEST and batch.weight.max() <= _LARGEST):
            rule = f"must be 0 or lie between {_SMALLEST:g} and {_LARGEST:g} for counts that are added"
            raise InputError("sample_weight", rule, f"{batch.weight.min():g} to {batch.weight.max():g}")
        return low, high

    def set_columns(self, n_columns: int) -> None:
        """Make room for the columns, whose number the first batch tells."""
        k = len(self.labels)
        self.counters = [ColumnCounter(self.bins.n_bins, k) for _ in range(n_columns)]

    def take_weights(self) -> None:
        """Go on with weights: samples so far count 1 each."""
        if self.is_weighted:
            return
        self.is_weighted = True
        self.class_weights += self.class_counts
        self.class_squares += self.class_counts
        self.confusion = self.confusion.astype(float)
        for counter in self.counters:
            counter.take_weights()

    def _note_rows(self, batch: Batch, passes: Any) -> None:
        """Which class has the highest column, and how far the sum of a row is from 1 at most."""
        for start in range(0, len(batch), _BLOCK):
            rows = slice(start, min(start + _BLOCK, len(batch)))
            weight = None if batch.weight is None else batch.weight[rows]
            columns = [column[rows] for column in batch.columns]
            worst = passes.note_rows(columns, batch.codes[rows], weight, self.confusion, self.times)
            self.worst_row = max(self.worst_row, worst)

    def merge(self, other: "Tally") -> None:
        """Add the counts of another tally of the same classes and bins."""
        if other.n_columns == 0:
            return
        if not self.counters:
            self.set_columns(other.n_columns)
        if other.n_columns != self.n_columns:
            raise InputError("other", f"must have {self.n_columns} score columns as this one", f"{other.n_columns}")
        # Counted apart with and without weights: those without count 1 each.
        if other.is_weighted:
            self.take_weights()
        if self.is_weighted:
            self.class_weights += other.class_weights if other.is_weighted else other.class_counts
            self.class_squares += other.class_squares if other.is_weighted else other.class_counts
        for counter, added in zip(self.counters, other.counters, strict=True):
            counter.add_rows(added.occupied, added.at(added.occupied), added.scores_at(added.occupied))
        self.class_counts += other.class_counts
        self.confusion += other.confusion
        self.times += other.times
        self.lowest, self.highest = np.minimum(self.lowest, other.lowest), np.maximum(self.highest, other.highest)
        self.worst_row = max(self.worst_row, other.worst_row)

    def counts(self) -> ScoreCounts:
        """What has been counted, as a source that later batches do not change."""
        counts = self.class_counts.copy()
        weights, squares = self.class_weights, self.class_squares
        effective = np.divide(weights**2, squares, out=np.zeros(len(weights)), where=squares > 0)
        row_counts = RowCounts(self.confusion.copy(), self.times.copy(), self.lowest, self.highest, self.worst_row)
        return ScoreCounts(
            labels=self.labels,
            columns=tuple(counter.counts() for counter in self.counters),
            class_counts=counts,
            class_weights=weights.copy() if self.is_weighted else counts.astype(float),
            effective_counts=effective if self.is_weighted else counts.astype(float),
            is_weighted=self.is_weighted,
            row_counts=row_counts if self.n_columns > 1 else None,
            bins=self.bins,
            lowest=float(self.lowest.min()),
            highest=float(self.highest.max()),
        )


def check_counts_memory(n_classes: int, bins: ScoreBins) -> None:
    """Raise MemoryError, with the size needed and what to do, where even few bins of all classes would not fit."""
    needed = 8 * _FEW_BINS * n_classes**2 + 4 * bins.n_bins * n_classes
    if needed < _ALWAYS_THERE:
        return
    free = memory.available()
    if free is None or needed <= free:
        return
    msg = (
        f"Counts of {n_classes:,} classes in {_FEW_BINS} bins need about {needed / 2**30:.1f} GiB of memory, and "
        f"{free / 2**30:.1f} GiB are free. Call `polyroc.evaluate` with a random part of the samples, and `max_pairs`; "
        "or evaluate Parquet files with `exact=True`, which counts no bins."
    )
    raise MemoryError(msg)
