"""Which columns of Parquet files are scores, and of which class: as `evaluate` reads the columns of a frame."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.columns import Known, Said, assign_columns, distinct
from polyroc._inputs.labels import labels_array
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc.streams._arrow_batch import BatchReader, Encoder, is_numeric, is_single
from polyroc.streams._parquet_files import DamagedPartError, ParquetFiles

_MARKS = "*?["
# Rows that are looked at before all are read.
_LOOKED_AT = 1_000


@dataclass(frozen=True)
class Wanted:
    """The columns as they are asked for."""

    target: str
    scores: Mapping[str, Any]
    """Of each model: None, a name or a pattern, or a list of them."""
    labels: list[Any] | None
    sample_weight: str | None
    groups: str | None

    @property
    def taken(self) -> list[str]:
        """Those that are no scores."""
        return [name for name in (self.target, self.sample_weight, self.groups) if name is not None]


@dataclass(frozen=True, eq=False)
class Layout:
    """The classes, and how rows are read."""

    labels: LabelArray
    reader: BatchReader


def as_wanted(target: Any, scores: Any, labels: Any, sample_weight: Any, groups: Any) -> Wanted:
    """Names of columns, checked before any file is opened."""
    named = {"target": target, "sample_weight": sample_weight, "groups": groups}
    for argument, name in named.items():
        if not (isinstance(name, str) or (name is None and argument != "target")):
            raise InputError(argument, "must be the name of a column", shown(name))
    taken = [name for name in named.values() if name is not None]
    if twice := [name for name in dict.fromkeys(taken) if taken.count(name) > 1]:
        raise InputError("target", "and the other columns must be distinct", f"{listed(twice)} twice")
    given = None if labels is None else distinct(read_labels(labels, "labels"), "labels")
    return Wanted(target, scores, given, sample_weight, groups)


def check_wanted(files: ParquetFiles, wanted: Wanted) -> None:
    """Refuse columns that are not in every file."""
    for argument in ("target", "sample_weight", "groups"):
        name = getattr(wanted, argument)
        if name is not None:
            files.check_columns([name], argument)
    for given in wanted.scores.values():
        chosen_columns(files, given, wanted.taken)


def layout_of(files: ParquetFiles, wanted: Wanted, found: list[Any], categories: list[Any] | None) -> Layout:
    """The columns of every model in the order of the classes; `found` are those of the target, where nobody said."""
    known = Known(found, wanted.labels, categories if wanted.labels is None else None)
    first: list[Any] | None = None
    models: dict[str, tuple[str, ...]] = {}
    for model, given in wanted.scores.items():
        columns = chosen_columns(files, given, wanted.taken)
        said = Said("scores", "target", f"of model {shown(model)} " if model else "")
        # Columns that somebody named must all be scores.
        rows = partial(_first_rows, files) if given is None else None
        classes, order = assign_columns(known, list(columns), len(columns), said, rows)
        own = columns if order is None else [columns[place] for place in order.tolist()]
        if first is None:
            first = classes
        models[model] = _in_order(first, classes, own, model)
    assert first is not None
    every = [column for own in models.values() for column in own]
    single = all(is_single(file.type_of(column)) for file in files.files for column in every)
    labels = labels_array(first)
    reader = BatchReader(wanted.target, Encoder(labels), models, wanted.sample_weight, wanted.groups, single)
    return Layout(labels, reader)


def chosen_columns(files: ParquetFiles, given: Any, taken: Collection[str]) -> list[str]:
    """Columns by name or by pattern; all other numbers where nobody said."""
    if given is None:
        schema = files.files[0].schema
        columns = [name for name in schema.names if name not in taken and is_numeric(schema.field(name).type)]
        if not columns:
            path = files.files[0].path
            raise InputError(
                "scores", "must name columns of numbers", f"none in '{path}' besides {listed(list(taken))}"
            )
    else:
        columns = _named(files, given)
    files.check_columns(columns, "scores")
    return columns


def _named(files: ParquetFiles, given: Any) -> list[str]:
    pieces = [given] if isinstance(given, str) else given
    if isinstance(pieces, os.PathLike | bytes) or not isinstance(pieces, Sequence) or not pieces:
        raise InputError("scores", "must be a pattern such as 'p_*', or a list of columns", shown(given))
    found: list[str] = []
    for piece in pieces:
        if not isinstance(piece, str):
            raise InputError("scores", "must hold names of columns", shown(piece))
        # A name that looks like a pattern is a name first.
        if piece not in files.names and any(mark in piece for mark in _MARKS):
            matches = [name for name in files.names if fnmatchcase(name, piece)]
            if not matches:
                came = f"{shown(piece)} and columns {listed(files.names)}"
                raise InputError("scores", "must match columns of the files", came)
        else:
            matches = [piece]
        if again := [name for name in matches if name in found]:
            raise InputError("scores", "must not name a column twice", listed(again))
        found += matches
    return found


def _first_rows(files: ParquetFiles, names: Sequence[str]) -> FloatArray | None:
    """Some rows of columns; None if none can be looked at, which is said where they are read."""
    if not files.parts:
        return None
    with suppress(DamagedPartError):
        batch = next(files.batches(files.parts[0], list(names), n_rows=_LOOKED_AT, threads=False), None)
        if batch is not None and not any(batch.column(name).null_count for name in names):
            rows = [batch.column(name).to_numpy(zero_copy_only=False) for name in names]
            return np.stack(rows, axis=1).astype(np.float64)
    return None


def _in_order(first: list[Any], classes: list[Any], columns: list[str], model: str) -> tuple[str, ...]:
    """The columns of a model in the order that the first model's classes have."""
    if classes == first:
        return tuple(columns)
    if len(columns) != len(classes) or sorted(classes) != sorted(first):
        rule = f"of model {shown(model)} must be for the classes of the first, {listed(first)}"
        raise InputError("scores", rule, listed(classes))
    return tuple(columns[classes.index(label)] for label in first)
