"""Columns of a Spark data frame -> what is selected of them, and which of it belongs to what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from polyroc._inputs.checks import InputError, listed, shown

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
