"""Dask collections -> the batches of their partitions, as tasks; everything about how they must fit together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from polyroc._inputs._checks import InputError, listed, shown

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
