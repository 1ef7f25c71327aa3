"""Files in long layout, one row per sample and model: split by a column of models, and recognised where nobody said so.

Pooled as one model they would give a number that belongs to none of them.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc.cli._files import Source, quoted_path
from polyroc.cli._labels import labels_column
from polyroc.cli._plain import CommandError, clean, listed, quoted, typed

# Columns that tell samples apart, and columns that tell models apart, by what people and pandas call them.
_IDS = ("id", "ids", "key", "row_id", "rowid", "sample", "sample_id", "example_id", "image_id", "uid", "uuid")
INDEXES = ("", "unnamed: 0", "__index_level_0__", "index", "row")
_MODELS = ("model", "models", "model_name", "classifier", "estimator", "algorithm")
# A column of text with more values than these names no models.
_MOST_MODELS = 50


class Split(NamedTuple):
    """The column of models, and the one that is wanted, where one is."""

    column: str
    model: str | None


def parse_split(source: Source, text: str) -> Split:
    """`model`, or `model=knn`; a column whose name holds an equals sign is a column first."""
    column, equals, model = text.partition("=")
    if text in source.names or not equals:
        return Split(text, None)
    return Split(column, model)


def models_of(source: Source, column: str) -> dict[str, Source]:
    """The rows of each model as a table of its own, in the order in which models occur."""
    values = labels_column(source, column).cast(pa.string())
    names = pc.unique(values).to_pylist()
    found = values.to_numpy()
    return {name: source.where(found == name, f"{source.name}, model {clean(name)}") for name in names}


def one_model(source: Source, split: Split, target: str) -> Source:
    """The rows of the one model that is wanted."""
    models = models_of(source, split.column)
    if split.model is None:
        if len(models) > 1:
            raise CommandError(_choose(source, split.column, list(models), target))
        return source
    if split.model not in models:
        where = f"column {quoted(split.column)} of {quoted_path(source.name)}"
        msg = f"--model-column: no {quoted(split.model)} in {where}, which has {listed(list(models))}"
        raise CommandError(msg)
    return models[split.model]


def _choose(source: Source, column: str, models: list[str], target: str) -> str:
    call = f"`polyroc compare {typed(source.name)} --target {typed(target)} --model-column {typed(column)}`"
    return (
        f"{quoted_path(source.name)} holds {len(models)} models below each other, {listed(models)} in column "
        f"{quoted(column)}: choose one, --model-column {typed(f'{column}={models[0]}')}, or compare them, {call}"
    )


def common_id(source: Source, models: dict[str, Source], taken: list[str]) -> str | None:
    """The column by which the rows of models can be matched: it has the same values, each once, in all of them."""
    by = _id_column(source, taken)
    if by is None:
        return None
    counts = {_n_distinct(one, by) for one in (source, *models.values())} | {one.n_rows for one in models.values()}
    return by if len(counts) == 1 else None


def _id_column(source: Source, taken: list[str]) -> str | None:
    """The column that tells samples apart, where one is called so."""
    for known in (_IDS, INDEXES):
        for name in source.names:
            if name.casefold() in known and name not in taken and _is_plain(source.schema.field(name).type):
                return name
    return None


def check_layout(source: Source, target: str, key: str | None, taken: list[str]) -> str:
    """Refuse a table that has the same samples several times, once for each model; a note where that is only possible.

    `taken` are columns of which the user has said something else, such as groups.
    """
    by = key or _id_column(source, taken)
    texts = [name for name in source.names if name not in {*taken, by} and _is_text(source.schema.field(name).type)]
    if by is not None and (n_ids := _n_distinct(source, by)) < source.n_rows:
        for name in texts:
            if _tells_apart(source, by, name, target):
                way_out = f". If the rows are different samples, say so: --groups {typed(by)}"
                # Which is refused below, where that is plainly not so.
                if name.casefold() in _MODELS and _are_the_same_samples(source, name, target):
                    way_out = ""
                raise CommandError(_choose(source, name, _values(source, name), target) + way_out)
        if by.casefold() in _IDS and key is None:
            return (
                f"column {quoted(by)} has {n_ids} values in {source.n_rows} rows; if these rows form groups, "
                f"--groups {typed(by)} says so"
            )
    for name in (name for name in texts if name.casefold() in _MODELS):
        models = _values(source, name)
        if 1 < len(models) <= _MOST_MODELS:
            if _are_the_same_samples(source, name, target):
                raise CommandError(_choose(source, name, models, target))
            return (
                f"all rows are taken together; if column {quoted(name)} names their models, "
                f"--model-column {typed(name)} splits them"
            )
    return ""


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_plain(kind: Any) -> bool:
    return _is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _column(source: Source, name: str) -> Any:
    """A column without its dictionary, which Arrow cannot count."""
    column = source.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _values(source: Source, name: str) -> list[str]:
    return [str(value) for value in pc.unique(_column(source, name)).to_pylist()]


def _n_distinct(source: Source, name: str) -> int:
    return int(pc.count_distinct(_column(source, name), mode="all").as_py())


def _tells_apart(source: Source, by: str, name: str, target: str) -> bool:
    """Whether the rows of each id have the same true class, and another text each, of few texts."""
    if not 1 < _n_distinct(source, name) <= _MOST_MODELS:
        return False
    columns = {"by": by, "name": name, "target": target}
    table = pa.table({key: _column(source, one) for key, one in columns.items()})
    n_ids = len(table.group_by("by").aggregate([]))
    one_class_each = len(table.group_by(["by", "target"]).aggregate([])) == n_ids
    return one_class_each and len(table.group_by(["by", "name"]).aggregate([])) == source.n_rows


def _are_the_same_samples(source: Source, name: str, target: str) -> bool:
    """Whether the true classes of all models are the same, row by row."""
    values, truth = _column(source, name).cast(pa.string()).to_numpy(), _column(source, target).to_numpy()
    parts = [truth[values == model] for model in _values(source, name)]
    return len(parts[0]) > 1 and all(np.array_equal(part, parts[0]) for part in parts[1:])
