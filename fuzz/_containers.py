"""Containers: what holds the numbers must not change them. Either refused, or the same D as from plain arrays."""

import enum
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import polyroc
from fuzz._case import Attempt
from fuzz._escape import attempt
from fuzz._oracles import check_evaluation, require

_NAMES = ("ant", "bee", "cat", "dog")
# Its columns are called 0, 1, ..., and so are the classes then, also where the labels are booleans.
_NUMBERED = "pandas, no names"


class Animal(str, enum.Enum):  # noqa: UP042  # what people wrote before StrEnum, and what broke
    """Labels that are text and know more."""

    ANT = "ant"
    BEE = "bee"
    CAT = "cat"
    DOG = "dog"


class Level(enum.IntEnum):
    """Labels that are numbers and know more."""

    LOW = 0
    MIDDLE = 1
    HIGH = 2
    TOP = 3


def attempt_case(given: Attempt) -> None:
    """The same samples twice: as plain arrays, and as something else."""
    k, n = int(given.choose([2, 3, 3, 4])), int(given.rng.integers(8, 25))
    codes = given.rng.permutation(np.arange(n) % k)
    # Small fractions and whole numbers, which every type keeps as they are.
    scores = np.round(given.rng.normal(size=(n, k)) * 2 + np.eye(k)[codes]).clip(-8, 7)
    scores = scores if given.happens(0.5) else scores / 4
    weight = given.rng.integers(1, 4, n) if given.happens(0.3) else None
    kind, labels, names = _labels(given, codes, k)
    table_kind, table, order = _table(given, scores, names)
    # The classes come in the order of the columns.
    names, codes, scores = [names[j] for j in order], np.argsort(order)[codes], scores[:, order]
    weight_kind, weights = ("none", None) if weight is None else _vector(given, weight)
    what = f"labels as {kind}, scores as {table_kind}, weights as {weight_kind}"
    inputs = [table, labels, weights]
    before = [_bytes(one) for one in inputs]
    # No fit: it is the same for all that are read alike.
    asked = {"n_thresholds": 9, "structure": "saturated", "engine": "numba", "n_jobs": 1}
    answer = attempt(polyroc.evaluate, labels, table, sample_weight=weights, **asked)
    require([_bytes(one) for one in inputs] == before, f"the input was changed: {what}")
    if answer.refused:
        return
    check_evaluation(answer.result)
    plain = polyroc.evaluate(codes, scores, sample_weight=weight, **asked)
    for name in ("auc", "hand_till"):
        apart = abs(getattr(plain, name) - getattr(answer.result, name))
        require(apart <= 1e-12, f"{what}: {name} differs by {apart:.3g}")
    shown = [str(label) for label in answer.result.labels.tolist()]
    require(len(set(shown)) == k, f"{what}: labels are shown as {shown}")
    if table_kind != _NUMBERED:
        require(shown == [str(name) for name in names], f"{what}: labels are shown as {shown}, not {names}")


def _bytes(value: Any) -> bytes | None:
    return value.tobytes() if type(value) is np.ndarray and value.dtype != object else None


def _labels(given: Attempt, codes: Any, k: int) -> tuple[str, Any, list[Any]]:
    """Labels in some container, and what the classes are then called."""
    sort = given.choose(["integers", "integers", "text", "text", "booleans", "enums", "odd"])
    if sort == "booleans" and k == 2:
        values, names = codes.astype(bool), [False, True]
        return *_drawn(given, _BOOLEANS, values), names
    if sort == "text":
        values, names = np.array(_NAMES)[codes], list(_NAMES[:k])
        return *_drawn(given, _TEXTS, values), names
    if sort == "enums":
        kind = given.choose([Animal, Level])
        members = [list(kind)[code] for code in codes]
        names = [member.value for member in list(kind)[:k]]
        return *_drawn(given, _OBJECTS, members), names
    if sort == "odd":
        return *_drawn(given, _ODD, codes), list(range(k))
    return *_drawn(given, _INTEGERS, codes), list(range(k))


def _vector(given: Attempt, values: Any) -> tuple[str, Any]:
    return _drawn(given, _INTEGERS | _NUMBERS, values)


def _table(given: Attempt, scores: Any, names: list[Any]) -> tuple[str, Any, Any]:
    """Scores in some container, and the order of its columns."""
    if given.happens(0.5):
        return *_drawn(given, _MATRICES, scores), np.arange(len(names))
    order = given.rng.permutation(len(names))
    prefix = given.choose(["", "p_", "score of "])
    columns = {f"{prefix}{names[j]}": scores[:, j] for j in order}
    return *_drawn(given, _FRAMES, columns), order


def _drawn(given: Attempt, ways: dict[str, Callable[[Any], Any]], values: Any) -> tuple[str, Any]:
    name = given.choose(ways)
    return name, ways[name](values)


def _frozen(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def _strided(array: Any) -> Any:
    """Every second row of a larger array."""
    wide = np.zeros((2 * len(array), *array.shape[1:]), dtype=array.dtype)
    wide[::2] = array
    return wide[::2]


_INTEGERS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "list of ints": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "column": lambda x: x[:, None],
    "read-only": _frozen,
    "strided": _strided,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "big-endian": lambda x: x.astype(">i8"),
    "object": lambda x: x.astype(object),
    "float": lambda x: x.astype(float),
    **{f"np {kind}": lambda x, kind=kind: x.astype(kind) for kind in ("i1", "u1", "i2", "u4", "u8", "f2", "f4", "g")},
    "masked, nothing masked": np.ma.array,
    "pandas": pd.Series,
    "pandas, other index": lambda x: pd.Series(x, index=np.arange(len(x))[::-1] + 7),
    "pandas Int64": lambda x: pd.Series(x, dtype="Int64"),
    "pandas Arrow": lambda x: pd.Series(x, dtype="int64[pyarrow]"),
    "pandas index": pd.Index,
    "pandas frame": lambda x: pd.DataFrame({"y": x}),
    "polars": lambda x: pl.Series("y", x),
    "polars Int128": lambda x: pl.Series("y", x, dtype=pl.Int128),
    "polars UInt8": lambda x: pl.Series("y", x, dtype=pl.UInt8),
    "polars frame": lambda x: pl.DataFrame({"y": x}),
    "arrow": pa.array,
    "arrow chunks": lambda x: pa.chunked_array([x[:3], x[3:]]),
    "arrow int8": lambda x: pa.array(x, pa.int8()),
    "numpy scalars": lambda x: [np.int16(one) for one in x],
}
_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "polars Decimal": lambda x: pl.Series("w", x.tolist(), dtype=pl.Decimal(10, 2)),
    "polars Float32": lambda x: pl.Series("w", x, dtype=pl.Float32),
    "list of Decimals": lambda x: [Decimal(int(one)) for one in x],
    "arrow decimal": lambda x: pa.array([Decimal(int(one)) for one in x]),
}
_BOOLEANS: dict[str, Callable[[Any], Any]] = {
    "array": np.asarray,
    "list": lambda x: x.tolist(),
    "object": lambda x: x.astype(object),
    "pandas": pd.Series,
    "pandas boolean": lambda x: pd.Series(x, dtype="boolean"),
    "polars": lambda x: pl.Series("y", x),
    "arrow": pa.array,
}
_TEXTS: dict[str, Callable[[Any], Any]] = {
    "array": np.asarray,
    "list": lambda x: x.tolist(),
    "list of np.str_": list,
    "object": lambda x: x.astype(object),
    "StringDType": lambda x: x.astype(np.dtypes.StringDType()),
    "bytes": lambda x: x.astype(bytes),
    "read-only": _frozen,
    "strided": _strided,
    "pandas": pd.Series,
    "pandas category": lambda x: pd.Series(pd.Categorical(x)),
    "pandas Categorical": pd.Categorical,
    "pandas string": lambda x: pd.Series(x, dtype="string"),
    "polars": lambda x: pl.Series("y", x.tolist()),
    "polars Categorical": lambda x: pl.Series("y", x.tolist(), dtype=pl.Categorical),
    "polars Enum": lambda x: pl.Series("y", x.tolist(), dtype=pl.Enum(np.unique(x).tolist())),
    "arrow": lambda x: pa.array(x.tolist()),
    "arrow large": lambda x: pa.array(x.tolist(), pa.large_string()),
    "arrow view": lambda x: pa.array(x.tolist(), pa.string_view()),
    "arrow dictionary": lambda x: (
        pa.array(np.sort(x).tolist())
        .dictionary_encode()
        .take(pa.array(np.argsort(np.argsort(x, kind="stable"), kind="stable")))
    ),
}
_OBJECTS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "object array": lambda x: np.array(x, dtype=object),
    "tuple": tuple,
    "pandas object": lambda x: pd.Series(x, dtype=object),
    "pandas": pd.Series,
}
_ODD: dict[str, Callable[[Any], Any]] = {
    "masked": lambda x: np.ma.array(x, mask=x == 0),
    "missing float": lambda x: np.where(x == 0, np.nan, x),
    "None": lambda x: [None if one == 0 else int(one) for one in x],
    "pandas NA": lambda x: pd.Series(x, dtype="Int64").mask(x == 0),
    "polars null": lambda x: pl.Series("y", [None if one == 0 else int(one) for one in x]),
    "arrow null": lambda x: pa.array([None if one == 0 else int(one) for one in x]),
    "dates": lambda x: x.astype("datetime64[D]"),
    "complex": lambda x: x.astype(complex),
    "fractions": lambda x: x + 0.5,
    "mixed": lambda x: [str(one) if one == 0 else int(one) for one in x],
    "one-hot": lambda x: np.eye(int(x.max()) + 1)[x],
    "sets": lambda x: [{int(one)} for one in x],
    "scalar": lambda x: int(x[0]),
    "text": lambda x: "".join(map(str, x)),
    "generator": lambda x: (int(one) for one in x),
    "lazy": lambda x: pl.LazyFrame({"y": x}),
    "decimals": lambda x: [Decimal(int(one)) for one in x],
    "memoryview": lambda x: memoryview(np.ascontiguousarray(x)),
}
_MATRICES: dict[str, Callable[[Any], Any]] = {
    "array": np.asarray,
    "Fortran": np.asfortranarray,
    "read-only": _frozen,
    "strided": _strided,
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda x: x.astype(">f8"),
    "list": lambda x: x.tolist(),
    "list of rows": list,
    "tuple of tuples": lambda x: tuple(map(tuple, x.tolist())),
    **{f"np {kind}": lambda x, kind=kind: x.astype(kind) for kind in ("f2", "f4", "f8", "g")},
    "object": lambda x: x.astype(object),
    "Decimals": lambda x: [[Decimal(one) for one in row] for row in x.tolist()],
    "complex": lambda x: x.astype(complex),
    "text": lambda x: x.astype(str),
    "matrix": lambda x: np.matrix(x),  # NumPy warns of it
    "masked, nothing masked": np.ma.array,
    "masked": lambda x: np.ma.array(x, mask=x > 1),
    "three axes": lambda x: x[:, :, None],
    "ragged": lambda x: [row[: 1 + place % 2] for place, row in enumerate(x.tolist())],
    _NUMBERED: pd.DataFrame,
    "pandas sparse": lambda x: pd.DataFrame(x).astype(pd.SparseDtype(float)),
    "memoryview": lambda x: memoryview(np.ascontiguousarray(x)),
    "empty": lambda x: x[:0],
    "one row less": lambda x: x[1:],
    "structured": lambda x: np.rec.fromarrays(x.T),
}
_FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.DataFrame,
    "pandas Float64": lambda x: pd.DataFrame(x).astype("Float64"),
    "pandas float32": lambda x: pd.DataFrame(x).astype("float32"),
    "pandas Arrow": lambda x: pd.DataFrame(x).astype("double[pyarrow]"),
    "pandas mixed": lambda x: pd.DataFrame(x).astype({next(iter(x)): "float32"}),
    "pandas object": lambda x: pd.DataFrame(x).astype(object),
    "pandas missing": lambda x: pd.DataFrame(x).mask(pd.DataFrame(x) > 1),
    "polars": pl.DataFrame,
    "polars Float32": lambda x: pl.DataFrame(x).cast(pl.Float32),
    "polars Decimal": lambda x: pl.DataFrame(x).cast(pl.Decimal(12, 4)),
    "polars Int128": lambda x: pl.DataFrame({name: one * 4 for name, one in x.items()}).cast(pl.Int128),
    "polars text": lambda x: pl.DataFrame(x).cast(pl.String),
    "polars null": lambda x: pl.DataFrame(x).with_columns(pl.when(pl.all() < 1).then(pl.all())),
    "lazy": pl.LazyFrame,
    "arrow": pa.table,
    "arrow float": lambda x: pa.table({name: pa.array(one, pa.float32()) for name, one in x.items()}),
    "arrow chunks": lambda x: pa.concat_tables([pa.table(x)[:3], pa.table(x)[3:]]),
    "arrow decimal": lambda x: pa.table({name: [Decimal(v) for v in one.tolist()] for name, one in x.items()}),
    "arrow batch": pa.RecordBatch.from_pydict,
    "dict": dict,
}
