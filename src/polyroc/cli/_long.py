"""Files in long layout, one row per sample and model: split by a column of models, and refused if nobody says which.

Pooled as one model they would give a number that belongs to none of them.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from polyroc.cli._columns import Columns, joined, labels_column, split
from polyroc.cli._files import Source, quoted_path
from polyroc.cli._messages import CommandError, clean, listed, quoted, typed

# Columns that identify samples, and columns that identify models, by what people and pandas call them.
_IDS = ("id", "ids", "key", "row_id", "rowid", "sample", "sample_id", "example_id", "image_id", "uid", "uuid")
INDEXES = ("", "unnamed: 0", "__index_level_0__", "index", "row")
MODELS = ("model", "models", "model_name", "classifier", "estimator", "algorithm")
# A column with more values than these names no models.
MOST_MODELS = 50
_ROWS_AT_ONCE = 65_536


class Split(NamedTuple):
    """The column of models, and those that are wanted, as typed; None for all."""

    column: str
    models: str | None


def parse_split(source: Source, text: str) -> Split:
    """`model`, or `model=knn,tree`; a column whose name holds an equals sign is a column first."""
    column, equals, models = text.partition("=")
    if text in source.names or not equals:
        return Split(text, None)
    return Split(column, models)


def models_of(source: Source, wanted: Split, columns: Columns) -> dict[str, Source]:
    """The rows of each model as a table of its own, in the order in which models occur, or are named."""
    if columns.drop_missing:
        # A row without a model is a row of none of them.
        source = source.where(source.present([wanted.column]), source.name)
    values = labels_column(source, wanted.column).cast(pa.string())
    there = pc.unique(values).to_pylist()
    names = there if wanted.models is None else _named(source, wanted, there)
    found = values.to_numpy()
    return {name: source.where(found == name, f"{source.name}, model {clean(name)}") for name in names}


def _named(source: Source, wanted: Split, there: list[str]) -> list[str]:
    names = [str(wanted.models)] if wanted.models in there else split(wanted.models or "")
    where = f"column {quoted(wanted.column)} of {quoted_path(source.name)}"
    if unknown := [name for name in names if name not in there] or ([] if names else [""]):
        raise CommandError("`model_column`:", f"no {listed(unknown)} in {where}, which has {listed(there)}")
    if len(set(names)) < len(names):
        raise CommandError("`model_column`", f"must name each model once, got {quoted(wanted.models)}")
    return names


def one_model(source: Source, wanted: Split, columns: Columns) -> Source:
    """The rows of the one model that is wanted."""
    models = models_of(source, wanted, columns)
    if len(models) > 1:
        names = list(models)
        below = f"{quoted_path(source.name)} holds {len(names)} models below each other, {listed(names)} in column "
        msg = f"{below}{quoted(wanted.column)}: {_choose(source, wanted, names, columns)}"
        raise CommandError(msg)
    if wanted.models is None:
        return source
    return next(iter(models.values()))


def _choose(source: Source, wanted: Split, models: list[str], columns: Columns, *, takes_one: bool = True) -> str:
    """How to evaluate one model, and how to compare them if their rows can be matched."""
    comparing = _comparing(source, wanted, columns)
    compare = f"compare them, `{comparing}`" if comparing else "name their column with `model_column`, and a `key`"
    if not takes_one:
        return compare
    one = f"choose one, `--model-column {typed(f'{wanted.column}={joined([models[0]])}')}`"
    return f"{one}, or {compare}" if comparing else one


def _comparing(source: Source, wanted: Split, columns: Columns) -> str:
    """The command that compares the models; empty if nothing tells which of their rows are of the same sample."""
    parts = models_of(source, wanted, replace(columns, drop_missing=True))
    column = wanted.column if wanted.models is None else f"{wanted.column}={wanted.models}"
    rest = columns.typed("model_column", "pooled", "common", "key")
    call = f"polyroc compare {typed(source.path)}{rest} --model-column {typed(column)}"
    if columns.key is None:
        taken = [*columns.taken, wanted.column]
        if common_id(source, parts, taken) is not None:
            return call
        keys = [name for name in source.names if name not in taken and _is_key(source, name)]
    else:
        keys = [columns.key]
    by = next(
        (key for key in keys if _repeats(source, key, columns) and _tells_apart(source, key, wanted.column)), None
    )
    if by is not None:
        is_whole = _n_distinct(source, by) * len(parts) == sum(part.n_rows for part in parts.values())
        return f"{call} --key {typed(by)}{'' if is_whole else ' --common'}"
    targets = [labels_column(part, columns.target).combine_chunks() for part in parts.values()]
    return call if all(target.equals(targets[0]) for target in targets[1:]) else ""


def common_id(source: Source, models: dict[str, Source], taken: list[str]) -> str | None:
    """The column by which the rows of models can be matched: it has the same values, each once, in all of them."""
    by = _id_column(source, taken)
    if by is None:
        return None
    parts = list(models.values())
    counts = {_n_distinct(one, by) for one in parts} | {one.n_rows for one in parts}
    n_ids = len(pa.chunked_array([chunk for one in parts for chunk in _column(one, by).chunks]).unique())
    return by if counts == {n_ids} else None


def _id_column(source: Source, taken: list[str]) -> str | None:
    """The column that identifies samples, if one has such a name."""
    for known in (_IDS, INDEXES):
        for name in source.names:
            if name.casefold() in known and name not in taken and _is_key(source, name):
                return name
    return None


class Layout(NamedTuple):
    """That a table may have the rows of several models."""

    column: str
    """The one that may hold their names."""
    key: str | None
    """The column that repeats, once for each model; None if the column of models is only called so."""


def long_layout(source: Source, columns: Columns, scores: Collection[str]) -> Layout | None:
    """A column of few values that is called as models are, or that distinguishes the rows of a repeating key."""
    if columns.pooled:
        return None
    others = [name for name in source.names if name not in {*columns.taken, *scores}]
    few = [name for name in others if _names_models(source, name) and _has_few_values(source, name)]
    # Those that are called so first, then text, then numbers.
    few.sort(key=lambda name: (name.casefold() not in MODELS, not _is_text(source.schema.field(name).type)))
    keys = [columns.key] if columns.key else [name for name in others if _is_key(source, name)]
    repeated = [key for key in keys if _repeats(source, key, columns)] if few else []
    for name in few:
        by = next((key for key in repeated if key != name and _tells_apart(source, key, name)), None)
        if by is not None or name.casefold() in MODELS:
            return Layout(name, by)
    return None


def check_layout(source: Source, columns: Columns, scores: Collection[str], *, takes_one: bool) -> str:
    """Refuse a table that may have the rows of several models; a note if ids repeat.

    `takes_one` says whether the command can evaluate one of the models.
    """
    layout = long_layout(source, columns, scores)
    if layout is not None:
        raise CommandError(_two_readings(source, *layout, columns, takes_one=takes_one))
    by = _id_column(source, columns.taken)
    if columns.pooled or columns.groups or not columns.has_groups or columns.key or by is None:
        return ""
    n_ids = _n_distinct(source, by)
    if n_ids == source.n_rows or by.casefold() not in _IDS:
        return ""
    return (
        f"column {quoted(by)} has {n_ids} values in {source.n_rows} rows; if these rows form groups, "
        f"`--groups {typed(by)}` says so"
    )


def comparison_of(source: Source, layout: Layout, columns: Columns) -> str:
    """That a table must be compared by its column of models."""
    wanted = Split(layout.column, None)
    several = f"{quoted_path(source.name)} alone can be compared by its column {quoted(layout.column)}"
    return f"{several}: {_choose(source, wanted, [], columns, takes_one=False)}"


def _two_readings(source: Source, name: str, by: str | None, columns: Columns, *, takes_one: bool) -> str:
    """Both readings of a table, each with what to type."""
    named = source.where(source.present([name]), source.name)
    models = pc.unique(labels_column(named, name).cast(pa.string())).to_pylist()
    wanted = Split(name, None)
    why = "" if by is None else f", and the rows of each {quoted(by)} differ by it"
    several = (
        f"{quoted_path(source.name)} can be read in two ways. If column {quoted(name)} ({listed(models, 5)}{why}) "
        f"holds the names of {len(models)} models, "
    )
    choose = _choose(source, wanted, models, columns, takes_one=takes_one)
    pooled = "if all rows are samples of one model, add `--pooled`"
    if by is not None and columns.has_groups and columns.groups is None and name.casefold() not in MODELS:
        pooled += f", or `--groups {typed(by)}` if the rows of each {quoted(by)} form a group"
    return f"{several}{choose}; {pooled}"


def _names_models(source: Source, name: str) -> bool:
    """Whether the values of a column can be names: text, whole numbers, booleans, dates and times."""
    kind = source.schema.field(name).type
    return _is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind))


def _has_few_values(source: Source, name: str) -> bool:
    """Whether a column has as many values as a file may have models; of a column of many, little is looked at."""
    values: set[Any] = set()
    for chunk in source.chunks(name):
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            values.update(chunk.slice(start, _ROWS_AT_ONCE).unique().to_pylist())
            if len(values) > MOST_MODELS:
                return False
    return len(values) > 1


def _is_key(source: Source, name: str) -> bool:
    """Whether a column may identify samples; pandas makes floats of integers of which one is missing."""
    kind = source.schema.field(name).type
    is_float_id = bool(pa.types.is_floating(kind)) and name.casefold() in (*_IDS, *INDEXES)
    return is_float_id or _is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _column(source: Source, name: str) -> Any:
    """A column without its dictionary, which Arrow cannot count."""
    column = source.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _n_distinct(source: Source, *names: str) -> int:
    """Number of distinct values of a column, or of combinations of several."""
    if len(names) == 1:
        return int(pc.count_distinct(_column(source, names[0]), mode="all").as_py())
    table = pa.table({str(number): _column(source, name) for number, name in enumerate(names)})
    return len(table.group_by(table.column_names).aggregate([]))


def _repeats(source: Source, key: str, columns: Columns) -> bool:
    """Whether a column can be the key of samples that several models saw: most values repeat, with the same class."""
    n_keys = _n_distinct(source, key)
    # Half of the samples seen by two models make 1.5 rows per key; all of them seen by every model, as many as models.
    if not 1.5 * n_keys <= source.n_rows <= MOST_MODELS * n_keys:
        return False
    if _n_distinct(source, key, columns.target) != n_keys:
        return False
    # Rows of a group are samples of one model if the user says so.
    groups = columns.groups
    return groups is None or not n_keys == _n_distinct(source, groups) == _n_distinct(source, key, groups)


def _tells_apart(source: Source, key: str, name: str) -> bool:
    """Whether no two rows have the same key and the same value of a column, of which there are no more than keys."""
    return _n_distinct(source, name) <= _n_distinct(source, key) and _n_distinct(source, key, name) == source.n_rows
