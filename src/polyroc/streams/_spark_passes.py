"""Both passes over the partitions of a Spark data frame: a row of bytes of each, merged on the driver or in a tree."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError
from polyroc._inputs.columns import Known, Said, assign_columns
from polyroc._lib.limits import CLUSTER_CLASSES
from polyroc.streams._partitions import PartCounts, PartPass, PartSums, Recipe, classes_of
from polyroc.streams._spark_batches import (
    SCHEMA,
    count_batches,
    merge_batches,
    merge_counts,
    merge_sums,
    raise_error,
    sum_batches,
)
from polyroc.streams._spark_columns import Selected

# What the driver merges by itself: Spark refuses results of more than 1 GiB, and a driver is often small.
DRIVER_BYTES = 64 * 2**20
# Rows that a task merges where there are more.
FAN_IN = 16
# What errors about columns call the arguments.
_SAID = Said("scores", "target")

_Part = TypeVar("_Part", PartCounts, PartSums)


class SparkPasses:
    """Partitions that Spark passes."""

    argument = "df"
    how_to_keep = (
        "Something in the query differs from run to run, such as a function that draws at random: write the data frame "
        "to a file and read that, or `persist()` it first"
    )

    def __init__(self, chosen: Selected) -> None:
        self._frame, self._layout, self._models = chosen.frame, chosen.layout, chosen.models

    def count(self, recipe: Recipe) -> PartCounts | None:
        counting = partial(count_batches, recipe, self._layout)
        return _collected(self._frame, counting, partial(merge_counts, recipe))

    def sum(self, tables: PartPass) -> PartSums | None:
        context = _context_of(self._frame)
        if context is None:
            return _collected(self._frame, partial(sum_batches, _Closure(tables), self._layout), merge_sums)
        sent = context.broadcast(tables)
        try:
            return _collected(self._frame, partial(sum_batches, _Broadcast(sent), self._layout), merge_sums)
        finally:
            sent.destroy()

    def labels(self) -> list[Any]:
        """The classes, from the distinct values of the target and the names of the score columns."""
        rows = self._frame.select("y").distinct().limit(CLUSTER_CLASSES + 1).collect()
        if len(rows) > CLUSTER_CLASSES:
            raise InputError("y_true", f"must have at most {CLUSTER_CLASSES:,} classes")
        if not rows:
            raise InputError("y_true", "must not be empty", "no samples in any partition")
        values = sorted(set(read_labels([row[0] for row in rows], "y_true").tolist()))
        first = self._layout.models[0]
        n_columns = len(self._frame.select("s1").first()[0] or ()) if first is None else len(first)
        columns: dict[str, tuple[list[Any] | None, int]] = {
            model: (None, n_columns) if names is None else (list(names), len(names))
            for model, names in zip(self._models, self._layout.models, strict=True)
        }
        return classes_of(Known(values, None, None), columns, _SAID)

    def check(self, labels: list[Any]) -> None:
        """Refuse score columns that cannot be those of the classes, before anything is computed."""
        for names in self._layout.models:
            if names is not None:
                assign_columns(Known(sorted(labels), labels, None), list(names), len(names), _SAID)


class _Broadcast:
    """Tables that each machine has once."""

    def __init__(self, sent: Any) -> None:
        self._sent = sent

    def __call__(self) -> PartPass:
        found: PartPass = self._sent.value
        return found


class _Closure:
    """Tables that are sent with the function, where Spark Connect has no variables to broadcast."""

    def __init__(self, tables: PartPass) -> None:
        self._tables = tables

    def __call__(self) -> PartPass:
        return self._tables


def _context_of(frame: Any) -> Any:
    """What can broadcast; None over Spark Connect."""
    session = frame.sparkSession
    return None if "connect" in type(session).__module__ else session.sparkContext


def _collected(
    frame: Any, per_partition: Callable[[Any], Any], merged: Callable[[Sequence[bytes]], _Part]
) -> _Part | None:
    """The merged states of all partitions; an error of one of them is raised as it was there."""
    kept: list[Any] = []

    def summarized(function: Callable[[Any], Any], rows: Any) -> tuple[int, int]:
        """Numbers of rows and bytes; the rows stay where they are, and are computed again only where they are lost."""
        from pyspark.sql import functions as F  # noqa: N812

        kept.append(rows.mapInArrow(function, SCHEMA).persist())
        failed = F.min(F.when(F.col("error").isNotNull(), F.struct("part", "error")))
        [found] = kept[-1].agg(F.count("part"), F.sum(F.length("state")), failed).collect()
        raise_error(None if found[2] is None else found[2]["error"])
        return int(found[0]), int(found[1] or 0)

    try:
        n_rows, n_bytes = summarized(per_partition, frame)
        while n_bytes > DRIVER_BYTES and n_rows > FAN_IN:
            n_rows, n_bytes = summarized(partial(merge_batches, merged), kept[-1].repartition(-(-n_rows // FAN_IN)))
        rows = sorted((row["part"], bytes(row["state"])) for row in kept[-1].collect())
    finally:
        for one in kept:
            one.unpersist()
    return merged([state for _, state in rows]) if rows else None
