"""Both passes over the partitions of a Spark data frame: a row of bytes of each, merged on the driver or in a tree."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.columns import Known, Said, assign_columns
from polyroc.streams._partitions import (
    PartCounts,
    PartPass,
    PartSums,
    Recipe,
    classes_of,
    in_partition,
    received_error,
    sent_error,
)

_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "boolean")


def needed(function: str) -> None:
    """Refuse where there is no pyspark."""
    try:
        import_module("pyspark")
    except ModuleNotFoundError as error:
        msg = f'`polyroc.spark.{function}` needs pyspark: pip install "polyroc[spark]".'
        raise ModuleNotFoundError(msg) from error


@dataclass(frozen=True)
class Layout:
    """Where in a selected row everything stands: the class, scores of each model, then weight and group."""

    models: tuple[tuple[str, ...] | None, ...]
    """Names of the score columns of each model; None for a single column of arrays."""
    has_weight: bool
    has_groups: bool

    @property
    def n_scores(self) -> int:
        """Columns with scores."""
        return sum(1 if names is None else len(names) for names in self.models)


@dataclass(frozen=True)
class Selected:
    """The columns that are needed, and no others."""

    frame: Any
    layout: Layout
    models: tuple[str, ...]


def selected(df: Any, target: Any, scores: Mapping[str, Any], sample_weight: Any, groups: Any) -> Selected:
    """The columns by their names; None for all columns that have no other role."""
    types = _types_of(df)
    argument = "scores" if len(scores) == 1 else None
    roles = {"target": target, "sample_weight": sample_weight, "groups": groups}
    for name, column in roles.items():
        if column is not None or name == "target":
            _check_column(column, types, name)
    taken = {column for column in roles.values() if column is not None}
    columns: list[Any] = [_column(target).alias("y")]
    models: list[tuple[str, ...] | None] = []
    for model, given in scores.items():
        name = argument or f"scores[{model!r}]"
        names = [column for column in types if column not in taken] if given is None else _as_names(given, types, name)
        if not names:
            raise InputError(name, "must name at least one column")
        first = types[names[0]]
        if len(names) == 1 and (first.typeName() == "array" or _is_vector(first)):
            columns.append(_as_array(names[0], first).alias(f"s{len(columns)}"))
            models.append(None)
            continue
        for column in names:
            columns.append(_as_number(column, types, name).alias(f"s{len(columns)}"))
        models.append(tuple(names))
    columns += [_column(column).alias(role) for role, column in list(roles.items())[1:] if column is not None]
    layout = Layout(tuple(models), sample_weight is not None, groups is not None)
    return Selected(df.select(*columns), layout, tuple(scores))


def _types_of(df: Any) -> dict[str, Any]:
    fields = getattr(getattr(df, "schema", None), "fields", None)
    if fields is None or not hasattr(df, "mapInArrow"):
        raise InputError("df", "must be a Spark data frame", shown(type(df).__name__))
    types = {field.name: field.dataType for field in fields}
    if len(types) < len(fields):
        names = [field.name for field in fields]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError("df", "must have a name of its own for each column", f"{listed(twice)} more than once")
    return types


def _check_column(column: Any, types: Mapping[str, Any], argument: str) -> None:
    if not isinstance(column, str):
        raise InputError(argument, "must be the name of a column", shown(column))
    if column not in types:
        raise InputError(argument, "must be a column", f"{shown(column)}, which is not among {listed(list(types))}")


def _as_names(given: Any, types: Mapping[str, Any], argument: str) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence):
        raise InputError(argument, "must be the name of a column or a list of names", shown(type(given).__name__))
    for column in names:
        _check_column(column, types, argument)
    return list(names)


def _column(name: str) -> Any:
    from pyspark.sql.functions import col

    # In quotes, because a dot in a name would be a field of a structure.
    return col("`" + name.replace("`", "``") + "`")


def _is_vector(kind: Any) -> bool:
    return type(kind).__name__ == "VectorUDT"


def _as_array(name: str, kind: Any) -> Any:
    """A column of arrays, or of vectors as models of Spark ML write them."""
    if _is_vector(kind):
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(_column(name))
    return _column(name)


def _as_number(name: str, types: Mapping[str, Any], argument: str) -> Any:
    kind = types[name].typeName()
    if kind == "decimal":
        return _column(name).cast("double")
    if kind not in _NUMBERS:
        came = f"{shown(name)}, which holds {types[name].simpleString()}"
        hint = ": name the score columns" if argument == "scores" else ""
        raise InputError(argument, "must be columns of numbers, or one column of arrays", came, hint=hint)
    return _column(name)


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


# What the driver merges by itself: Spark refuses results of more than 1 GiB, and a driver is often small.
DRIVER_BYTES = 64 * 2**20
# Rows that a task merges where there are more.
FAN_IN = 16
# What errors about columns call the arguments.
_SAID = Said("scores", "target")
# A target of more values is no class.
_MOST_CLASSES = 100_000

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
