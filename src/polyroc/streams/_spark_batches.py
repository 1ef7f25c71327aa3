"""What runs on the executors: Arrow batches of one partition -> one row of bytes, or of an error."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyroc._inputs.checks import InputError
from polyroc.streams._partitions import PartCounts, PartPass, PartSums, Recipe, in_partition, received_error, sent_error
from polyroc.streams._spark_columns import Layout

SCHEMA = "part long, state binary, error string"
_FIELDS = pa.schema([("part", pa.int64()), ("state", pa.binary()), ("error", pa.string())])
# Scores that are counted at once. Batches of Spark's have 10,000 rows, too few to be worth a call each.
_SCORES_AT_ONCE = 2**21


class Samples(NamedTuple):
    """One batch, as an accumulator takes it."""

    y_true: Any
    scores: list[Any]
    weight: Any
    groups: Any


def count_batches(recipe: Recipe, layout: Layout, batches: Iterator[Any]) -> Iterator[Any]:
    """The counts of a partition; no row of one without samples."""

    def counted() -> bytes | None:
        counts, n_samples = PartCounts(recipe, _part_number()), 0
        for one in _samples(layout, batches):
            counts.add(one.y_true, one.scores, one.weight, one.groups)
            n_samples += len(one.y_true)
        return counts.to_bytes() if n_samples else None

    return _one_row(counted, batches)


def sum_batches(opened: Callable[[], PartPass], layout: Layout, batches: Iterator[Any]) -> Iterator[Any]:
    """The sums of a second pass over a partition."""

    def summed() -> bytes | None:
        begun = opened().begun(_part_number())
        for one in _samples(layout, batches):
            begun.add(one.y_true, one.scores, one.weight, one.groups)
        return begun.sums.to_bytes() if begun.sums.sums is not None else None

    return _one_row(summed, batches)


def merge_counts(recipe: Recipe, states: Sequence[bytes]) -> PartCounts:
    """Counts that were sent, added one by one: only two of them are open at a time."""
    merged = PartCounts(recipe)
    for state in states:
        merged.merge(PartCounts.from_bytes(recipe, state))
    return merged


def merge_sums(states: Sequence[bytes]) -> PartSums:
    """Sums that were sent."""
    return PartSums.merged([PartSums.from_bytes(state) for state in states])


def merge_batches(merged: Callable[[Sequence[bytes]], Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Rows of several partitions -> one."""
    rows = sorted((row["part"], row["state"]) for batch in batches for row in batch.to_pylist())
    if rows:
        yield _row(rows[0][0], merged([state for _, state in rows]).to_bytes(), None)


def _samples(layout: Layout, batches: Iterator[Any]) -> Iterator[Samples]:
    """Batches as they are counted: several of Spark's together."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) * _width(layout, batch) >= _SCORES_AT_ONCE:
            yield _opened(layout, waiting)
            waiting = []
    if sum(one.num_rows for one in waiting):
        yield _opened(layout, waiting)


def _width(layout: Layout, batch: Any) -> int:
    """Scores of a row, as far as they can be known from one batch."""
    if None not in layout.models or batch.num_rows == 0:
        return layout.n_scores
    width, place = 0, 1
    for names in layout.models:
        width += len(batch.column(place)[0].as_py() or ()) if names is None else len(names)
        place += 1 if names is None else len(names)
    return width


def _opened(layout: Layout, batches: list[Any]) -> Samples:
    table = pa.Table.from_batches(batches)
    columns, scores, place = table.columns, [], 1
    for names in layout.models:
        if names is None:
            scores.append(_matrix(columns[place]))
            place += 1
        else:
            scores.append(pa.table(columns[place : place + len(names)], names=list(names)))
            place += len(names)
    weight = columns[place] if layout.has_weight else None
    groups = columns[-1] if layout.has_groups else None
    return Samples(columns[0], scores, weight, groups)


def _matrix(column: Any) -> Any:
    """A column of arrays, all of one length, as a matrix."""
    arrays = column.combine_chunks()
    if isinstance(arrays, pa.ChunkedArray):  # which older versions of pyarrow give
        arrays = arrays.chunk(0)
    if arrays.null_count:
        raise InputError("y_score", "must not have missing values", f"{arrays.null_count} of {len(arrays)} rows")
    lengths = np.diff(arrays.offsets.to_numpy())
    if len(set(lengths.tolist())) > 1:
        raise InputError("y_score", "must be rectangular", "rows of different lengths")
    return arrays.flatten().to_numpy(zero_copy_only=False).reshape(len(arrays), -1)


def _one_row(found: Callable[[], bytes | None], batches: Iterator[Any]) -> Iterator[Any]:
    part = _part_number()
    try:
        with in_partition(part):
            state = found()
    except ValueError as error:
        # As a row: an exception would be tried again three times, and would arrive as a page of Java.
        for _ in batches:  # which Spark waits for
            pass
        yield _row(part, None, sent_error(error))
        return
    if state is not None:
        yield _row(part, state, None)


def _part_number() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _row(part: int, state: bytes | None, error: str | None) -> Any:
    return pa.RecordBatch.from_pydict({"part": [part], "state": [state], "error": [error]}, schema=_FIELDS)


def raise_error(text: str | None) -> None:
    """Raise what an executor has sent, if anything."""
    if text is not None:
        raise received_error(text)
