"""Columns of Parquet files: which are scores, and of which class; and batches of them, coded without an object per row.

Numbers are taken over where they lie. What cannot be a label, a score or a weight is refused with its file, its column
and its row.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyroc._counts.bins import ROUNDED
from polyroc._inputs.arrays import read_labels, read_table
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.columns import Known, Said, assign_columns, distinct
from polyroc._inputs.labels import classes_like, labels_array, positions
from polyroc._inputs.predictions import Batch
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc.streams._parquet_files import DamagedPartError, ParquetFiles

# Integers that are this close together are coded by a table.
_SPAN = 1 << 16
_LABEL_RULE = "must hold integers, strings or booleans"


class Place(NamedTuple):
    """Where rows come from."""

    path: str
    first_row: int

    def of(self, row: int, column: str) -> str:
        return f"in row {self.first_row + row} of column {shown(column)} of '{self.path}'"


def is_words(kind: Any) -> bool:
    """Whether a column of this Arrow type is text, which can be read as a dictionary."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_numeric(kind: Any) -> bool:
    """Whether a column of this Arrow type may be a score."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_single(kind: Any) -> bool:
    """Whether a column of this Arrow type is exact in single precision."""
    return bool(pa.types.is_float32(kind) or pa.types.is_float16(kind))


def is_dictionary(kind: Any) -> bool:
    """Whether a file says that a column has categories."""
    return bool(pa.types.is_dictionary(kind))


def typed_like(texts: list[str], kind: Any) -> list[Any]:
    """Classes that somebody typed, of the type that the target has; text where they cannot be of it."""
    if pa.types.is_boolean(kind):
        return classes_like(texts, [False, True])
    return classes_like(texts, [0] if pa.types.is_integer(kind) or pa.types.is_floating(kind) else [""])


def byte_width(kind: Any) -> int:
    """About how many bytes a row of a column takes."""
    return max(1, kind.bit_width // 8) if pa.types.is_primitive(kind) else 8


def distinct_labels(column: Any, name: str, place: Place) -> tuple[list[Any], list[Any]]:
    """The labels that occur, and those that its dictionary has, each in any order."""
    _refuse_nulls(column, "target", name, place)
    encoded = _encoded(column, name)
    values = _settled(encoded.dictionary, column, name, place)
    used = np.unique(encoded.indices.to_numpy(zero_copy_only=False))
    return [values[number] for number in used.tolist()], values


def _encoded(column: Any, name: str) -> Any:
    if pa.types.is_dictionary(column.type):
        return column
    try:
        return column.dictionary_encode()
    except pa.ArrowException as error:
        raise InputError("target", _LABEL_RULE, f"{column.type} in column {shown(name)}") from error


def _settled(dictionary: Any, column: Any, name: str, place: Place) -> list[Any]:
    """The values of a dictionary as labels of one type."""
    if len(dictionary) == 0:
        return []
    try:
        return list(read_labels(dictionary.to_pylist(), "target").tolist())
    except InputError as error:
        _locate_label(column, name, place)
        raise InputError("target", error.rule, f"{column.type} in column {shown(name)} of '{place.path}'") from error


def _locate_label(column: Any, name: str, place: Place) -> None:
    """Say in which row a number is that is no label."""
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        wrong = np.flatnonzero(~(np.rint(values) == values))
        if len(wrong):
            raise InputError("target", _LABEL_RULE, f"{shown(float(values[wrong[0]]))} {place.of(wrong[0], name)}")


class Encoder:
    """Labels of Arrow -> positions among the classes."""

    def __init__(self, labels: LabelArray) -> None:
        self._classes: list[Any] = labels.tolist()
        self._low, self._table = 0, np.zeros(0, dtype=np.int32)
        first = self._classes[0]
        if isinstance(first, int) and not isinstance(first, bool):
            low, high = min(self._classes), max(self._classes)
            if high - low < _SPAN:
                # The last entry is for all integers that are no classes.
                self._low, self._table = low, np.full(high - low + 2, -1, dtype=np.int32)
                self._table[np.array(self._classes) - low] = np.arange(len(self._classes), dtype=np.int32)

    def __call__(self, column: Any, name: str, place: Place) -> IntArray:
        _refuse_nulls(column, "target", name, place)
        if len(self._table) and pa.types.is_integer(column.type):
            # Modulo 2^64, because a difference of two labels need not fit in their type.
            entries = column.to_numpy().astype(np.uint64) - np.uint64(self._low % 2**64)
            codes: IntArray = self._table[np.minimum(entries, np.uint64(len(self._table) - 1))]
        else:
            encoded = _encoded(column, name)
            values = _settled(encoded.dictionary, column, name, place)
            of_values = np.array([-1 if at is None else at for at in positions(values, self._classes)], dtype=np.int32)
            codes = of_values[encoded.indices.to_numpy(zero_copy_only=False)]
        if codes.min() < 0:
            row = int(np.argmax(codes < 0))
            rule = f"must hold only classes of `labels` ({listed(self._classes)})"
            raise InputError("target", rule, f"{shown(column[row].as_py())} {place.of(row, name)}")
        return codes


def _refuse_nulls(column: Any, argument: str, name: str, place: Place) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        came = f"{column.null_count:,}, the first {place.of(row, name)}"
        raise InputError(argument, "must not have missing values", came)


@dataclass(frozen=True, eq=False)
class BatchReader:
    """How record batches become batches of each model."""

    labels: LabelArray
    target: str
    encode: Encoder
    models: Mapping[str, tuple[str, ...]]
    """Score columns of each model, in the order of the classes."""
    sample_weight: str | None
    groups: str | None
    single: bool
    """Whether all scores are exact in single precision."""

    @property
    def columns(self) -> list[str]:
        others = (self.target, self.sample_weight, self.groups)
        return [*(name for name in others if name is not None), *self.score_columns]

    @property
    def score_columns(self) -> list[str]:
        return list(dict.fromkeys(column for own in self.models.values() for column in own))

    def batches(self, rows: Any, place: Place) -> dict[str, Batch]:
        """A batch for each model, none where no sample counts; scores are not looked at yet."""
        if len(rows) == 0:
            return {}
        codes = self.encode(rows.column(self.target), self.target, place)
        weight = None if self.sample_weight is None else self._weights(rows, self.sample_weight, place)
        kept = None if weight is None or weight.all() else weight > 0
        if kept is not None and not kept.any():
            return {}
        chosen = slice(None) if kept is None else kept
        own_weight = None if weight is None else weight[chosen]
        batches = {}
        for name, own in self.models.items():
            columns = tuple(self.score(rows.column(column), column, place)[chosen] for column in own)
            batches[name] = Batch(codes[chosen], columns, own_weight, kept)
        return batches

    def score(self, column: Any, name: str, place: Place) -> FloatArray:
        """A score column; not copied where it is of the type that all have."""
        _refuse_nulls(column, "scores", name, place)
        return _numbers(column, "scores", name, place).astype(np.float32 if self.single else np.float64, copy=False)

    def _weights(self, rows: Any, name: str, place: Place) -> FloatArray:
        _refuse_nulls(rows.column(name), "sample_weight", name, place)
        weight = _numbers(rows.column(name), "sample_weight", name, place).astype(np.float64, copy=False)
        wrong = ~(np.isfinite(weight) & (weight >= 0))
        if wrong.any():
            row = int(wrong.argmax())
            came = f"{float(weight[row])} {place.of(row, name)}"
            raise InputError("sample_weight", "must be finite and not negative", came)
        return weight

    def groups_of(self, rows: Any, place: Place) -> LabelArray | None:
        """Group of each row."""
        if self.groups is None:
            return None
        column = rows.column(self.groups)
        _refuse_nulls(column, "groups", self.groups, place)
        encoded = _encoded(column, self.groups)
        try:
            values = labels_array(list(read_labels(encoded.dictionary.to_pylist(), "groups").tolist()))
        except InputError as error:
            came = f"{column.type} in column {shown(self.groups)} of '{place.path}'"
            raise InputError("groups", error.rule, came) from error
        groups: LabelArray = values[encoded.indices.to_numpy(zero_copy_only=False)]
        return groups

    def locate(self, rows: Any, place: Place, error: InputError, *, bounded: bool) -> InputError:
        """The error of scores that cannot be counted, with the file, the column and the row of the first of them."""
        if error.argument != "y_score":
            return error
        for name in self.score_columns:
            scores = self.score(rows.column(name), name, place)
            wrong = ~np.isfinite(scores)
            if bounded and not wrong.any():
                wrong = (scores < -ROUNDED) | (scores > 1 + ROUNDED)
            if wrong.any():
                row = int(wrong.argmax())
                is_finite = bool(np.isfinite(scores[row]))
                rule = "must lie between 0 and 1" if is_finite else "must be finite"
                hint = ": for scores that are no probabilities pass `score_kind='free'`" if is_finite else ""
                return InputError("scores", rule, f"{float(scores[row]):g} {place.of(row, name)}", hint=hint)
        return InputError("scores", error.rule, error.got, error.hint)


def _numbers(column: Any, argument: str, name: str, place: Place) -> FloatArray:
    kind = column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (is_numeric(kind) or pa.types.is_boolean(kind)):
        raise InputError(argument, "must hold real numbers", f"{kind} in column {shown(name)} of '{place.path}'")
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype in (np.float32, np.float64):
        return np.asarray(values)
    return read_table(values, argument).values


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


def as_wanted(target: Any, scores: Any, labels: Any, sample_weight: Any, groups: Any) -> Wanted:
    """Names of columns, checked before any file is opened."""
    named = {"target": target, "sample_weight": sample_weight, "groups": groups}
    for argument, name in named.items():
        if not (isinstance(name, str) or (name is None and argument != "target")):
            raise InputError(argument, "must be the name of a column", shown(name))
    taken = [name for name in named.values() if name is not None]
    if twice := [name for name in dict.fromkeys(taken) if taken.count(name) > 1]:
        raise InputError("target", "and the other columns must be distinct", f"{listed(twice)} twice")
    classes = None if labels is None else distinct(read_labels(labels, "labels"), "labels")
    return Wanted(target, scores, classes, sample_weight, groups)


def check_wanted(files: ParquetFiles, wanted: Wanted) -> None:
    """Refuse columns that are not in every file."""
    for argument in ("target", "sample_weight", "groups"):
        name = getattr(wanted, argument)
        if name is not None:
            files.check_columns([name], argument)
    for chosen in wanted.scores.values():
        chosen_columns(files, chosen, wanted.taken)


def reader_of(files: ParquetFiles, wanted: Wanted, classes: list[Any], categories: list[Any] | None) -> BatchReader:
    """The columns of every model in the order of the classes; `classes` are those of the target if not asked for."""
    known = Known(classes, wanted.labels, categories if wanted.labels is None else None)
    first: list[Any] | None = None
    models: dict[str, tuple[str, ...]] = {}
    for model, chosen in wanted.scores.items():
        columns = chosen_columns(files, chosen, wanted.taken)
        said = Said("scores", "target", f"of model {shown(model)} " if model else "")
        # Columns that somebody named must all be scores.
        rows = partial(_first_rows, files) if chosen is None else None
        own, order = assign_columns(known, list(columns), len(columns), said, rows)
        columns = columns if order is None else [columns[place] for place in order.tolist()]
        first = own if first is None else first
        models[model] = _in_order(first, own, columns, model)
    assert first is not None
    every = [column for own in models.values() for column in own]
    single = all(is_single(file.type_of(column)) for file in files.files for column in every)
    labels = labels_array(first)
    return BatchReader(labels, wanted.target, Encoder(labels), models, wanted.sample_weight, wanted.groups, single)


def chosen_columns(files: ParquetFiles, chosen: Any, taken: Collection[str]) -> list[str]:
    """Columns by name or by pattern; for None all other numbers."""
    if chosen is None:
        schema = files.files[0].schema
        columns = [name for name in schema.names if name not in taken and is_numeric(schema.field(name).type)]
        if not columns:
            came = f"none in '{files.files[0].path}' besides {listed(list(taken))}"
            raise InputError("scores", "must name columns of numbers", came)
    else:
        columns = _named(files, chosen)
    files.check_columns(columns, "scores")
    return columns


def _named(files: ParquetFiles, chosen: Any) -> list[str]:
    pieces = [chosen] if isinstance(chosen, str) else chosen
    if isinstance(pieces, os.PathLike | bytes) or not isinstance(pieces, Sequence) or not pieces:
        raise InputError("scores", "must be a pattern such as 'p_*', or a list of columns", shown(chosen))
    columns: list[str] = []
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
        if again := [name for name in matches if name in columns]:
            raise InputError("scores", "must not name a column twice", listed(again))
        columns += matches
    return columns


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
