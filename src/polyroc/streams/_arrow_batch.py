"""Record batches of Arrow -> batches of coded labels and scores, without an object for each row.

Numbers are taken over where they lie. What cannot be a label, a score or a weight is refused with its file, its column
and its row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from polyroc._engines._bins import ROUNDED
from polyroc._inputs.arrays import read_labels, read_table
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.labels import classes_like, labels_array, positions
from polyroc._inputs.predictions import Batch
from polyroc._lib.typing import FloatArray, IntArray, LabelArray

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
                self._low, self._table = low, np.full(high - low + 1, -1, dtype=np.int32)
                self._table[np.array(self._classes) - low] = np.arange(len(self._classes), dtype=np.int32)

    def __call__(self, column: Any, name: str, place: Place) -> IntArray:
        _refuse_nulls(column, "target", name, place)
        if len(self._table) and pa.types.is_integer(column.type):
            return self._by_table(column.to_numpy(), name, place)
        encoded = _encoded(column, name)
        values = _settled(encoded.dictionary, column, name, place)
        found = [-1 if at is None else at for at in positions(values, self._classes)]
        codes: IntArray = np.array(found, dtype=np.int32)[encoded.indices.to_numpy(zero_copy_only=False)]
        if codes.min() < 0:
            row = int(np.argmax(codes < 0))
            self._refuse(encoded.slice(row, 1).to_pylist()[0], row, name, place)
        return codes

    def _by_table(self, values: Any, name: str, place: Place) -> IntArray:
        low, high = int(values.min()), int(values.max())
        if low < self._low or high >= self._low + len(self._table):
            row = int(np.argmax((values < self._low) | (values >= self._low + len(self._table))))
            self._refuse(int(values[row]), row, name, place)
        # Modulo 2^64, because a difference of two labels need not fit in their type.
        places = values.astype(np.uint64) - np.uint64(self._low % 2**64) if self._low else values
        codes: IntArray = self._table[places]
        if codes.min() < 0:
            row = int(np.argmax(codes < 0))
            self._refuse(int(values[row]), row, name, place)
        return codes

    def _refuse(self, value: Any, row: int, name: str, place: Place) -> NoReturn:
        rule = f"must hold only classes of `labels` ({listed(self._classes)})"
        raise InputError("target", rule, f"{shown(value)} {place.of(row, name)}")


def _refuse_nulls(column: Any, argument: str, name: str, place: Place) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        came = f"{column.null_count:,}, the first {place.of(row, name)}"
        raise InputError(argument, "must not have missing values", came)


@dataclass(frozen=True, eq=False)
class BatchReader:
    """How record batches become batches of each model."""

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
        weight = None if self.sample_weight is None else self._weights(rows, place)
        kept = None if weight is None or weight.all() else weight > 0
        if kept is not None and not kept.any():
            return {}
        found = {}
        for name, own in self.models.items():
            columns = tuple(self.score(rows.column(column), column, place) for column in own)
            if kept is not None:
                columns = tuple(column[kept] for column in columns)
            of_kept = codes if kept is None else codes[kept]
            found[name] = Batch(of_kept, columns, weight if kept is None or weight is None else weight[kept], kept)
        return found

    def score(self, column: Any, name: str, place: Place) -> FloatArray:
        """A score column; not copied where it is of the type that all have."""
        _refuse_nulls(column, "scores", name, place)
        return _numbers(column, "scores", name, place).astype(np.float32 if self.single else np.float64, copy=False)

    def _weights(self, rows: Any, place: Place) -> FloatArray:
        assert self.sample_weight is not None
        name = self.sample_weight
        _refuse_nulls(rows.column(name), "sample_weight", name, place)
        weight = _numbers(rows.column(name), "sample_weight", name, place).astype(np.float64, copy=False)
        wrong = ~(np.isfinite(weight) & (weight >= 0))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                "sample_weight", "must be finite and not negative", f"{float(weight[row])} {place.of(row, name)}"
            )
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
        found: LabelArray = values[encoded.indices.to_numpy(zero_copy_only=False)]
        return found

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
