"""Code that runs on the executors: Arrow batches of one partition -> one row of bytes, or of an error."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from polyroc._inputs.checks import InputError
from polyroc.streams._partitions import in_partition, received_error, sent_error
from polyroc.streams._spark import Layout

SCHEMA = "part long, state binary, error string"
_FIELDS = pa.schema([("part", pa.int64()), ("state", pa.binary()), ("error", pa.string())])
# Scores that are counted at once. Batches of Spark's have 10,000 rows, too few to be worth a call each.
_SCORES_AT_ONCE = 2**21


def summarize(begin: Any, layout: Layout, batches: Iterator[Any]) -> Iterator[Any]:
    """The counts or sums of a partition as a row; none of one without samples.

    `begin` is a `Recipe` or a `PartPass`, or a variable that Spark has broadcast, which has it as its value.
    """
    number = _part_number()
    try:
        with in_partition(number):
            part, n_samples = getattr(begin, "value", begin).begun(number), 0
            for rows in _joined(layout, batches):
                y_true, *others = _opened(layout, rows)
                part.add(y_true, *others)
                n_samples += len(y_true)
            state = part.summary.to_bytes() if n_samples else None
    except ValueError as error:
        # As a row: an exception would be tried again three times, and would arrive as a page of Java.
        for _ in batches:  # which Spark waits for
            pass
        yield _row(number, None, sent_error(error))
        return
    if state is not None:
        yield _row(number, state, None)


def merge_batches(merged: Callable[[Iterable[bytes]], Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Rows of several partitions -> one."""
    rows = sorted((row["part"], row["state"]) for batch in batches for row in batch.to_pylist())
    if rows:
        yield _row(rows[0][0], merged(state for _, state in rows).to_bytes(), None)


def _joined(layout: Layout, batches: Iterator[Any]) -> Iterator[Any]:
    """Tables as they are counted: several of Spark's batches together."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(rows.num_rows for rows in waiting) * _width(layout, batch) >= _SCORES_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if sum(rows.num_rows for rows in waiting):
        yield pa.Table.from_batches(waiting)


def _width(layout: Layout, batch: Any) -> int:
    """Scores of a row, as far as they can be known from one batch."""
    columns = iter(batch.columns[1:])
    width = 0
    for names in layout.models:
        if names is None:
            arrays = next(columns)
            width += len(arrays[0].as_py() or ()) if len(arrays) else 1
        else:
            width += len([next(columns) for _ in names])
    return width


def _opened(layout: Layout, table: Any) -> tuple[Any, list[Any], Any, Any]:
    """True classes, scores of each model, weights and groups."""
    columns, scores = iter(table.columns), []
    y_true = next(columns)
    for names in layout.models:
        if names is None:
            scores.append(_matrix(next(columns)))
        else:
            scores.append(pa.table([next(columns) for _ in names], names=list(names)))
    weight = next(columns) if layout.has_weight else None
    return y_true, scores, weight, next(columns) if layout.has_groups else None


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
