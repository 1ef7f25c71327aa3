"""Both passes over partitions, as tasks of Dask: a summary of each, merged in a tree."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from polyroc._inputs.arrays import read_categories, read_labels, read_table
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.columns import Known, are_named, assign_columns
from polyroc._inputs.predictions import is_empty
from polyroc._lib.limits import CLUSTER_CLASSES
from polyroc.streams._partitions import PartCounts, PartPass, PartSums, Recipe, classes_of, in_partition

_KINDS = "a dask array, a dask series or data frame, or a list of delayed objects"


def needed(function: str) -> Any:
    """The package dask."""
    try:
        return import_module("dask")
    except ModuleNotFoundError as error:
        msg = f'`polyroc.dask.{function}` needs dask: pip install "polyroc[dask]".'
        raise ModuleNotFoundError(msg) from error


@dataclass(frozen=True)
class Parts:
    """The arguments of each partition: delayed objects, or names of columns of the scores."""

    truth: Sequence[Any]
    scores: Mapping[str, Sequence[Any]]
    """Of each model."""
    weight: Sequence[Any]
    groups: Sequence[Any]
    targets: Sequence[Any]
    """True classes alone, where `truth` is the name of a column that the scores have."""
    columns: list[tuple[list[Any] | None, int] | None]
    """Names and number of score columns of each model; None where only its batches know."""

    def __len__(self) -> int:
        return len(self.truth)

    def model_scores(self, number: int) -> list[Any]:
        """Of each model in one partition."""
        return [blocks[number] for blocks in self.scores.values()]


def as_parts(y_true: Any, scores: Mapping[str, Any], sample_weight: Any, groups: Any) -> Parts:
    """The partitions of all arguments, aligned."""
    names = dict.fromkeys(scores, "y_score") if len(scores) == 1 else {model: f"scores[{model!r}]" for model in scores}
    first = next(iter(scores))
    leader = _one_chunk_of_columns(scores[first], names[first])
    rest = {"y_true": y_true, "sample_weight": sample_weight, "groups": groups}
    named = {name: value for name, value in rest.items() if isinstance(value, str)}
    if named:
        _check_columns(leader, named, len(scores))
    if not any(map(_is_lazy, (leader, *rest.values()))):
        hint = ": for predictions in memory use `polyroc.evaluate` or `polyroc.compare`"
        raise InputError("y_score", f"must be {_KINDS}", shown(type(leader).__name__), hint=hint)
    blocks = {first: _blocks(leader, names[first])}
    n_parts = len(blocks[first])
    columns = [_columns_of(leader, set(named.values()))]
    for model in list(scores)[1:]:
        whole = _one_chunk_of_columns(scores[model], names[model])
        blocks[model] = _aligned(whole, names[model], leader, n_parts)
        columns.append(_columns_of(whole, set()))
    found = {
        name: [value] * n_parts if value is None or isinstance(value, str) else _aligned(value, name, leader, n_parts)
        for name, value in rest.items()
    }
    targets = _blocks(leader[y_true], "y_true") if isinstance(y_true, str) else found["y_true"]
    return Parts(found["y_true"], blocks, found["sample_weight"], found["groups"], targets, columns)


# By what their types have, so that neither pandas nor dask.array is loaded; a delayed object itself has every name.
def _is_array(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") and hasattr(type(value), "chunks")


def _is_frame(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") and hasattr(type(value), "divisions")


def _is_delayed(value: Any) -> bool:
    from dask.delayed import Delayed

    return isinstance(value, Delayed)


def _is_delayed_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(map(_is_delayed, value))


def _is_lazy(value: Any) -> bool:
    return _is_array(value) or _is_frame(value) or _is_delayed(value) or _is_delayed_list(value)


def _is_known(array: Any) -> bool:
    return _is_array(array) and not np.isnan(array.shape[0])


def _one_chunk_of_columns(value: Any, name: str) -> Any:
    """Arrays whose blocks have all columns."""
    if not _is_array(value):
        return value
    if value.ndim not in (1, 2):
        raise InputError(name, "must have shape (n_samples, n_classes) or (n_samples,)", f"{value.shape}")
    return value.rechunk({1: -1}) if value.ndim == 2 and value.numblocks[1] > 1 else value


def _check_columns(frame: Any, named: Mapping[str, str], n_models: int) -> None:
    """Whether names of columns can be found."""
    [argument, *_] = named
    if n_models > 1:
        raise InputError(argument, f"must be {_KINDS}", f"the name of a column, {shown(named[argument])}")
    if not _is_frame(frame) or frame.ndim != 2:
        rule = "may be the name of a column only where `y_score` is a dask data frame"
        raise InputError(argument, rule, f"{shown(named[argument])} and {type(frame).__name__}")
    for argument, column in named.items():
        if column not in list(frame.columns):
            came = f"{shown(column)}, which is not among {listed(list(frame.columns))}"
            raise InputError(argument, "must be a column of `y_score`", came)


def _blocks(value: Any, name: str) -> list[Any]:
    if _is_array(value):
        return list(np.ravel(value.to_delayed()))
    if _is_frame(value):
        return list(value.to_delayed())
    if _is_delayed(value):
        return [value]
    if _is_delayed_list(value):
        return list(value)
    raise InputError(name, f"must be {_KINDS}", shown(type(value).__name__))


def _aligned(value: Any, name: str, leader: Any, n_parts: int) -> list[Any]:
    """The blocks of an argument, which has the rows of the first model's scores."""
    if not _is_lazy(value) and _is_known(leader):
        from dask import array

        value = array.from_array(np.asarray(value), chunks=-1)
    if _is_array(value) and name in ("y_true", "sample_weight", "groups") and value.ndim != 1:
        raise InputError(name, "must be one-dimensional", f"shape {value.shape}")
    if _is_known(value) and _is_known(leader):
        if value.shape[0] != leader.shape[0]:
            rule = "must have one entry per row of the scores"
            raise InputError(name, rule, f"{value.shape[0]:,} entries and {leader.shape[0]:,} rows")
        value = value.rechunk({0: leader.chunks[0]})
    both_frames = _is_frame(value) and _is_frame(leader)
    if both_frames and value.known_divisions and leader.known_divisions and value.divisions != leader.divisions:
        raise InputError(name, "must have the divisions of the scores", hint=": take both from one data frame")
    found = _blocks(value, name)
    if len(found) != n_parts:
        raise InputError(name, f"must have as many partitions as the scores, {n_parts}", f"{len(found)}")
    return found


def _columns_of(leader: Any, without: set[str]) -> tuple[list[Any] | None, int] | None:
    if _is_array(leader):
        return None, 1 if leader.ndim == 1 else int(leader.shape[1])
    if _is_frame(leader):
        names = [name for name in leader.columns if name not in without] if leader.ndim == 2 else [leader.name]
        return names, len(names)
    return None


# Summaries that one task merges. A tree over P partitions has log8(P) levels, so no machine has to hold many.
FAN_IN = 8


_Part = TypeVar("_Part")


class DaskPasses:
    """Partitions that Dask passes: with the distributed client where there is one, else with its default scheduler."""

    argument = "y_true"
    how_to_keep = (
        "A loader with an order of its own for each call, or a draw without a seed, does that: seed it, or persist the "
        "partitions with `dask.persist` first"
    )

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def count(self, recipe: Recipe) -> PartCounts | None:
        from dask import delayed

        parts, counting = self._parts, delayed(_count, pure=False)
        return _computed(
            [
                counting(recipe, number, y_true, parts.model_scores(number), weight, group)
                for number, (y_true, weight, group) in self._numbered()
            ],
            PartCounts.merged,
        )

    def sum(self, tables: PartPass) -> PartSums | None:
        from dask import delayed

        # One task, on which all others depend: sent to a machine once, from there to the others, and sent again where
        # that machine is lost, which data that were only scattered are not.
        sent = delayed(_as_it_is, pure=False)(tables)
        parts, adding = self._parts, delayed(_sum, pure=False)
        return _computed(
            [
                adding(sent, number, y_true, parts.model_scores(number), weight, group)
                for number, (y_true, weight, group) in self._numbered()
            ],
            PartSums.merged,
        )

    def labels(self) -> list[Any]:
        """The classes, from the values of the target in all partitions and the names of the score columns."""
        from dask import delayed

        parts, looking = self._parts, delayed(_look, pure=False)
        # Scores are opened only where nobody else knows their columns.
        unknown = [model for model, own in zip(parts.scores, parts.columns, strict=True) if own is None]
        tasks = [
            looking(number, y_true, {model: parts.scores[model][number] for model in unknown})
            for number, y_true in enumerate(parts.targets)
        ]
        found = _computed(tasks, _merged)
        if found is None or not found.values:
            raise InputError("y_true", "must not be empty", "no samples in any partition")
        columns = {
            model: found.columns_of(model) if own is None else own
            for model, own in zip(parts.scores, parts.columns, strict=True)
        }
        if not are_named(*next(iter(columns.values()))) and len(found.categories) > 1:
            raise _differing("y_true", "categories", found.categories)
        return classes_of(Known(sorted(found.values), None, found.categories[0][1]), columns)

    def check(self, labels: list[Any]) -> None:
        """Refuse score columns that cannot be those of the classes, before anything is computed."""
        for columns in self._parts.columns:
            if columns is not None:
                assign_columns(Known(sorted(labels), labels, None), *columns)

    def _numbered(self) -> Any:
        return enumerate(zip(self._parts.truth, self._parts.weight, self._parts.groups, strict=True))


def _computed(tasks: Sequence[Any], merged: Callable[[Any], _Part]) -> _Part | None:
    """The result of a tree of merges."""
    import dask

    if not tasks:
        return None
    merging = dask.delayed(merged, pure=False)
    while len(tasks) > 1:
        tasks = [merging(list(tasks[start : start + FAN_IN])) for start in range(0, len(tasks), FAN_IN)]
    found: _Part = dask.compute(tasks[0])[0]
    return found


# What runs on the workers.


def _count(recipe: Recipe, number: int, y_true: Any, scores: list[Any], weight: Any, group: Any) -> PartCounts:
    counts = PartCounts(recipe, number)
    with in_partition(number):
        counts.add(*_opened(y_true, scores, weight, group))
    return counts


def _sum(tables: PartPass, number: int, y_true: Any, scores: list[Any], weight: Any, group: Any) -> PartSums:
    begun = tables.begun(number)
    with in_partition(number):
        begun.add(*_opened(y_true, scores, weight, group))
    return begun.sums


def _as_it_is(tables: PartPass) -> PartPass:
    return tables


def _opened(y_true: Any, scores: list[Any], weight: Any, group: Any) -> tuple[Any, list[Any], Any, Any]:
    """Names of columns in place of which the columns stand, and scores without these."""
    given = (y_true, weight, group)
    named = [name for name in given if isinstance(name, str)]
    if not named:
        return y_true, scores, weight, group
    [frame] = scores
    y_true, weight, group = (frame[one] if isinstance(one, str) else one for one in given)
    return y_true, [frame.drop(columns=list(dict.fromkeys(named)))], weight, group


_Entry: TypeAlias = tuple[int, Any]


class _Seen(NamedTuple):
    """What partitions say about the classes: each entry has the number of the first partition that says so."""

    values: set[Any]
    """Distinct values of the target."""
    categories: list[_Entry]
    """What the first partition with samples says, and the first that says something else."""
    columns: dict[str, list[_Entry]]
    """Likewise the names and the number of score columns, of models whose batches alone know them."""

    def columns_of(self, model: str) -> tuple[list[Any] | None, int]:
        """Names and number of score columns of a model, the same in all partitions."""
        if len(self.columns[model]) > 1:
            named = [(number, columns[0]) for number, columns in self.columns[model]]
            raise _differing(f"scores[{model!r}]" if model else "y_score", "columns", named)
        [(_, columns)] = self.columns[model]
        names, n_columns = columns
        return names, n_columns


def _look(number: int, y_true: Any, scores: dict[str, Any]) -> _Seen:
    with in_partition(number):
        if is_empty(y_true):
            return _Seen(set(), [], {})
        columns = {}
        for model, y_score in scores.items():
            values, names = read_table(y_score, "y_score")
            columns[model] = [(number, (names, 1 if values.ndim == 1 else values.shape[1]))]
        categories = read_categories(y_true, "y_true")
        return _Seen(set(read_labels(y_true, "y_true").tolist()), [(number, categories)], columns)


def _merged(parts: list[_Seen]) -> _Seen:
    """What several partitions say."""
    with_samples = [part for part in parts if part.values]
    if not with_samples:
        return parts[0]
    values = set().union(*(part.values for part in with_samples))
    if len(values) > CLUSTER_CLASSES:
        raise InputError("y_true", f"must have at most {CLUSTER_CLASSES:,} classes", f"{len(values):,} distinct values")
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise InputError("y_true", "must hold integers, strings or booleans, all of one type", ", ".join(kinds))
    columns = {
        # Names may come in another order: then each batch is matched by its names.
        model: _first_two([part.columns[model] for part in with_samples], lambda own: (set(own[0] or ()), own[1]))
        for model in with_samples[0].columns
    }
    return _Seen(values, _first_two([part.categories for part in with_samples], lambda own: own), columns)


def _first_two(said: list[list[_Entry]], key: Callable[[Any], Any]) -> list[_Entry]:
    """The entry of the first partition, and the first entry that differs from it."""
    first, *rest = sorted((entry for entries in said for entry in entries), key=itemgetter(0))
    return [first, *[entry for entry in rest if key(entry[1]) != key(first[1])][:1]]


def _differing(argument: str, what: str, entries: list[_Entry]) -> InputError:
    said = [f"{'none' if names is None else listed(names)} in partition {number}" for number, names in entries]
    other = ", if the score columns are not named after the classes" if what == "categories" else ""
    rule = f"must have the same {what} in every partition{other}"
    hint = ": pass the classes in the order of the columns as `labels=`"
    return InputError(argument, rule, " and ".join(said), hint=hint)
