"""Data of the user -> NumPy arrays and column names; and columns -> a data frame of the user's library.

Lists, arrays, tensors (from a GPU by a copy), and the series and frames that narwhals knows, without importing the
library any of them comes from. Which arrays fit together is asked one level up; here each is read for itself.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from numbers import Integral
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from polyroc._inputs.checks import InputError, one_of, shown
from polyroc._lib.typing import FloatArray, LabelArray

# Types of devices in DLPack: kDLCUDA and kDLROCM.
_CUDA, _ROCM = 2, 10


def is_on_device(value: Any) -> bool:
    """Whether an array lies on a GPU that torch can compute on."""
    # Asked first what comes most often, and is quickly told.
    return not isinstance(value, np.ndarray | list | tuple) and _lies_on_device(value)


def _lies_on_device(value: Any) -> bool:
    # Cards of AMD are called CUDA by torch.
    if getattr(value, "is_cuda", None) is True:
        return True
    ask = getattr(value, "__dlpack_device__", None)
    if ask is None:
        return False
    try:
        return int(ask()[0]) in (_CUDA, _ROCM)
    # Whatever cannot say where it lies is read as an array, which says what is wrong with it.
    except Exception:
        return False


def on_host(value: Any) -> Any:
    """An array on a GPU as NumPy can read it; anything else as it came."""
    if not is_on_device(value):
        return value
    if hasattr(value, "detach"):  # torch
        return value.detach().cpu()
    # CuPy; an array of JAX copies itself when it is read.
    return value.get() if hasattr(value, "get") else value


# Whole numbers up to here are exact in float64.
EXACT = 2**53
# The same for arrays of any precision: half precision cannot be compared with a Python number beyond its own.
_EXACT_FLOAT = np.float64(EXACT)
_CPU = 1  # kDLCPU in DLPack
# Polars has them, NumPy has not.
_WIDE = (nw.Int128, nw.UInt128)
_LABEL_RULE = "must hold integers, strings or booleans"
_SETS_OF_LABELS = ". Several classes per sample are a multi-label problem, which polyroc does not handle"
_NOT_REAL = {
    "c": "complex numbers",
    "O": "objects",
    "U": "text",
    "S": "text",
    "T": "text",
    "M": "dates",
    "m": "time spans",
}


class Table(NamedTuple):
    """Real numbers, and the names of their columns where they came with names."""

    values: FloatArray
    names: list[Any] | None


def read_labels(value: Any, name: str) -> LabelArray:
    """Labels as a vector of booleans, 64-bit integers or strings (`U` or all-`str` objects), none missing."""
    array = _read_label_array(value, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        _refuse_label_matrix(array, name)
    if array.size == 0:
        raise InputError(name, "must not be empty", f"shape {array.shape}")
    return _settled(array, name)


def read_table(value: Any, name: str) -> Table:
    """Real numbers as float32 or float64, copied only where their type must change."""
    if isinstance(value, np.ndarray | list | tuple):
        return Table(_as_real(_read_array(value, name), name), None)
    native = _as_narwhals(value, name)
    if isinstance(native, nw.Series):
        return Table(_read_column(native, name), [native.name])
    if isinstance(native, nw.DataFrame):
        return Table(_read_frame(native, name), list(native.columns))
    return Table(_as_real(_read_array(value, name), name), None)


def read_categories(value: Any, name: str) -> list[Any] | None:
    """The categories of a categorical in their order; None for whatever has none.

    Those of a polars Categorical have no order of their own (its text is shared by all columns of a process), so there
    are none; those of a polars Enum have.
    """
    if isinstance(value, np.ndarray | list | tuple):
        return None
    native = _as_narwhals(value, name)
    if isinstance(native, nw.DataFrame):
        native = next(native.iter_columns())
    if isinstance(native, nw.Series):
        if native.dtype == nw.Categorical and native.implementation.is_polars():
            return None
        value = native.to_native()
    categories = _native_categories(value)
    return None if categories is None or len(categories) == 0 else read_labels(categories, name).tolist()


def _native_categories(value: Any) -> Any:
    """By what the objects of each library have, because none of these is imported."""
    if hasattr(value, "codes") and hasattr(value, "categories"):  # pandas: Categorical and CategoricalIndex
        return np.asarray(value.categories)
    if hasattr(getattr(value, "dtype", None), "pyarrow_dtype"):  # pandas with Arrow's types
        value = value.array.__arrow_array__()
    if hasattr(getattr(value, "type", None), "index_type"):  # Arrow's dictionaries, which may differ by chunk
        chunks = value.unify_dictionaries().chunks if hasattr(value, "unify_dictionaries") else [value]
        return chunks[0].dictionary.to_pylist() if chunks else None
    categories = getattr(getattr(value, "dtype", None), "categories", None)  # pandas: Series; polars: Enum
    return None if categories is None else np.asarray(categories)


def row_names(value: Any) -> list[Any] | None:
    """The index of a pandas frame; None for whatever has no names of rows."""
    native = nw.from_native(value, pass_through=True)
    index = nw.maybe_get_index(native) if isinstance(native, nw.DataFrame) else None
    return None if index is None else list(index)


def _read_array(value: Any, name: str) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(name, "must not be a masked array", hint=": drop the masked samples first")
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    refuse_sparse(value, name)
    try:
        value = on_host(value)
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return _read_dlpack(value, name)
        array = np.asarray(_without_gradient(value))
    # A foreign `__array__` may raise anything, e.g. TypeError for a torch tensor on some devices.
    except Exception as error:
        if _is_ragged(value):
            hint = _SETS_OF_LABELS if name in ("y_true", "y") else ""
            raise InputError(name, "must be rectangular", "rows of different lengths", hint=hint) from error
        rule, came = "cannot be read as an array on the CPU", type(value).__name__
        raise InputError(name, rule, came, hint=f": {str(error).rstrip('.')}") from error
    if array.ndim == 0:
        raise no_array(value, name)
    return array


def no_array(value: Any, name: str) -> InputError:
    """The error of what has no dimension."""
    return InputError(name, "must be an array, a list, a series or a data frame", type(value).__name__)


def _is_ragged(value: Any, depth: int = 2) -> bool:
    """Whether rows of nested lists, or rows of such rows, have different lengths; a number among rows counts as one.

    No deeper: a list may contain itself.
    """
    if depth == 0 or not isinstance(value, list | tuple):
        return False
    lengths = {len(row) if isinstance(row, list | tuple | np.ndarray) else None for row in value}
    return len(lengths) > 1 or any(_is_ragged(row, depth - 1) for row in value)


def _without_gradient(value: Any) -> Any:
    """A torch tensor that NumPy can read: without its history, and in a precision that NumPy has."""
    if hasattr(value, "detach"):
        value = value.detach()
        return value.float() if str(value.dtype) == "torch.bfloat16" else value
    return value


def _read_dlpack(value: Any, name: str) -> NDArray[Any]:
    device = value.__dlpack_device__()[0]
    if device != _CPU:
        msg = f"`{name}` must be on the CPU, got DLPack device type {int(device)}"
        raise BufferError(msg)
    return np.from_dlpack(value)


def refuse_sparse(value: Any, name: str) -> None:
    """Refuse what stores only some of its numbers."""
    # scipy.sparse and pydata/sparse; torch; pandas.
    is_sparse = hasattr(value, "todense") or getattr(value, "is_sparse", False) is True
    if is_sparse or str(getattr(value, "dtype", "")).startswith("Sparse"):
        raise InputError(name, "must be dense", f"sparse {type(value).__name__}")


def _as_narwhals(value: Any, name: str) -> Any:
    """The narwhals series or frame of a series or frame; anything else as it came."""
    # One of Arrow's batches is a table for narwhals. Whoever holds one has loaded pyarrow.
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(value, arrow.RecordBatch):
        value = arrow.Table.from_batches([value])
    try:
        native = nw.from_native(value, pass_through=True, allow_series=True)
    except Exception as error:
        hint = f": {str(error).rstrip('.')}"
        raise InputError(name, "cannot be read", type(value).__name__, hint=hint) from error
    if isinstance(native, nw.LazyFrame):
        raise InputError(name, "must be in memory", f"a lazy {type(value).__name__}", hint=": collect it first")
    if native is value and hasattr(value, "__dataframe__"):
        # Read as a plain array it would silently lose its column names.
        raise InputError(name, "must be a pandas, polars or pyarrow table", type(value).__name__)
    return native


def _read_frame(frame: nw.DataFrame[Any], name: str) -> FloatArray:
    kinds = set(frame.schema.values())
    if not frame.columns:
        raise InputError(name, "must not be empty", f"a frame of shape {frame.shape}")
    for column in frame.iter_columns():
        refuse_sparse(column.to_native(), name)
    if len(kinds) == 1 and kinds.pop().is_float():
        table = frame.to_numpy()
        # A pandas frame of Arrow's floats comes as objects, though each of its columns is an array of floats.
        if table.dtype != object:
            return _as_real(table, name)
    return np.column_stack(
        [_read_column(column, name, f" in column {shown(column.name)}") for column in frame.iter_columns()]
    )


def _read_column(column: Any, name: str, where: str = "") -> FloatArray:
    refuse_sparse(column.to_native(), name)
    if column.dtype in _WIDE:
        present = column.drop_nulls()
        if len(present) > 0 and max(-int(present.min()), int(present.max())) > EXACT:
            raise too_large(name, where)
        column = column.cast(nw.Float64)
    if (column.dtype.is_integer() or column.dtype == nw.Boolean) and column.null_count() > 0:
        # Missing becomes NaN, which is refused with the number of rows.
        column = column.cast(nw.Float64)
    return _as_real(column.to_numpy(), name, where)


def _as_real(array: NDArray[Any], name: str, where: str = "") -> FloatArray:
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f":
        if size in (4, 8) and array.dtype.isnative:
            return array
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, and is refused as such
            return array.astype(np.float32 if size <= 4 else np.float64)
    if kind not in "biu":
        came = f"{_NOT_REAL.get(kind, 'values')} (dtype {array.dtype})"
        raise InputError(name, "must hold real numbers", f"{came}{where}")
    if kind in "iu" and size == 8 and array.size and max(-int(array.min()), int(array.max())) > EXACT:
        raise too_large(name, where)
    return array.astype(np.float64)


def too_large(name: str, where: str = "") -> InputError:
    """The error of integers that floats cannot distinguish."""
    came = f"larger ones{where}, whose order float64 cannot keep"
    return InputError(name, "must hold integers within 2**53", came)


def _read_label_array(value: Any, name: str) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        return _read_array(value, name)
    if isinstance(value, list | tuple):
        array = _read_array(value, name)
        # NumPy writes a NaN or a number among strings as text, and integers beyond int64 next to smaller ones
        # as floats; objects keep what they are.
        altered = array.dtype.kind in "US" or (array.dtype.kind == "f" and bool(np.any(np.abs(array) > _EXACT_FLOAT)))
        return np.array(value, dtype=object) if altered else array
    native = _as_narwhals(value, name)
    if isinstance(native, nw.DataFrame):
        if native.shape[1] != 1:
            return native.to_numpy()
        native = next(native.iter_columns())
    if not isinstance(native, nw.Series):
        return _read_array(value, name)
    refuse_sparse(native.to_native(), name)
    # Asked of the series: a null in a pyarrow dictionary does not survive the way to NumPy.
    _refuse_missing(native.is_null().to_numpy(), name)
    if native.dtype in _WIDE:
        return np.array(native.to_list(), dtype=object)
    return native.to_numpy()


def _refuse_label_matrix(array: NDArray[Any], name: str) -> NoReturn:
    hint = _about_matrix(array) if name in ("y_true", "y") and array.ndim == 2 else ""
    raise InputError(name, "must be one-dimensional", f"shape {array.shape}", hint=hint)


def _about_matrix(array: NDArray[Any]) -> str:
    """Kind of a matrix of labels, and what to do with it; only a one-hot one tells the class of each row."""
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        return ". A matrix of scores belongs in `y_score`"
    several = int(np.count_nonzero(array.sum(axis=1) != 1))
    if several:
        return (
            f": {several} of {len(array)} rows mark none or several classes, so this is a multi-label problem, which "
            "polyroc does not handle. Here each sample has exactly one class"
        )
    last = array.shape[1] - 1
    return (
        f", a one-hot matrix. Pass the class of each row instead: `argmax(axis=1)` gives the number of its column, 0 "
        f"to {last}, which is the class if the columns of `y_score` are in the same order"
    )


def _refuse_missing(missing: NDArray[np.bool_], name: str) -> None:
    if missing.any():
        n_missing, first = int(missing.sum()), int(missing.argmax())
        raise InputError(
            name, "must not have missing values", f"{n_missing} of {len(missing)}, the first in row {first}"
        )


def _settled(array: NDArray[Any], name: str) -> LabelArray:
    """One type for all labels: see `read_labels`."""
    kind = array.dtype.kind
    if kind in "bU":
        return array
    if kind in "iu":
        return array.astype(np.uint64 if array.dtype.itemsize == 8 and kind == "u" else np.int64, copy=False)
    if kind == "f":
        return _as_whole(array, name)
    if kind in "OT":
        return _settled_objects(array.astype(object, copy=False), name)
    hint = ": decode bytes with `.astype(str)`" if kind == "S" else ""
    raise InputError(name, _LABEL_RULE, f"dtype {array.dtype}", hint=hint)


def _as_whole(array: NDArray[Any], name: str) -> LabelArray:
    _refuse_missing(np.isnan(array), name)
    fractional = (np.rint(array) != array) | (np.abs(array) > _EXACT_FLOAT)
    if fractional.any():
        # A question, which ends in its own mark.
        hint = ". Were `y_true` and `y_score` swapped?" if name == "y_true" else ""
        first = int(fractional.argmax())
        raise InputError(name, _LABEL_RULE, f"{shown(float(array[first]))} in row {first}", hint=hint)
    return array.astype(np.int64)


def _settled_objects(array: NDArray[Any], name: str) -> LabelArray:
    items = array.tolist()
    types = set(map(type, items))
    if all(issubclass(kind, str) for kind in types):
        # Of what only is a kind of text, the text itself: str() of an enumeration's member is the name of the member.
        return array if types == {str} else np.array([str.__str__(item) for item in items], dtype=object)
    _refuse_missing(np.fromiter(map(_is_missing, items), np.bool_, len(items)), name)
    if types <= {bool, np.bool_}:
        return array.astype(np.bool_)
    numbers = (Integral, float, np.floating)
    if all(issubclass(kind, numbers) and kind is not bool for kind in types):
        if not all(issubclass(kind, Integral) for kind in types) and (array := np.array(items)).dtype.kind == "f":
            return _as_whole(array, name)
        return _settled_integers(items, name)
    came = ", ".join(sorted(kind.__name__ for kind in types))
    raise InputError(name, f"{_LABEL_RULE}, all of one type", came)


def _settled_integers(items: list[Any], name: str) -> LabelArray:
    low, high = int(min(items)), int(max(items))
    for kind in (np.int64, np.uint64):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.array(items, dtype=kind)
    raise InputError(
        name, "must hold integers of at most 64 bits, signed or unsigned", f"{shown(low)} to {shown(high)}"
    )


def _is_missing(item: Any) -> bool:
    # By name, because pandas is not imported: pandas.NA refuses to be compared.
    if type(item).__name__ in {"NoneType", "NAType", "NaTType"}:
        return True
    return isinstance(item, float | np.floating | np.datetime64 | np.timedelta64) and bool(item != item)


# Data frames of results

FrameBackend: TypeAlias = Literal["pandas", "polars", "pyarrow"]


def frame_of(columns: Mapping[str, "np.ndarray[Any, Any]"], backend: FrameBackend) -> Any:
    """A data frame with these columns."""
    backend = one_of(backend, "backend", get_args(FrameBackend))
    try:
        import_module(backend)
    except ModuleNotFoundError as error:
        msg = f"`to_frame({backend!r})` needs {backend}, which is not installed: `pip install {backend}`."
        raise ModuleNotFoundError(msg) from error
    lists = {name: x.tolist() if x.dtype == object else x for name, x in columns.items()}
    return nw.from_dict(lists, backend=backend).to_native()


def plain(array: "np.ndarray[Any, Any]") -> list[Any]:
    """An array as a list that `json` can write: labels of other types become text."""
    return [x if isinstance(x, bool | int | float | str) else str(x) for x in array.tolist()]


def frame_with_gaps(columns: Mapping[str, "np.ndarray[Any, Any]"], backend: FrameBackend) -> Any:
    """The same of columns in which NaN, or None of a column of objects, means that nothing is there: null.

    In pandas that is NaN. Labels keep their type there: a column of numbers and None would become one of floats.
    """
    frame = nw.from_native(frame_of({name: x for name, x in columns.items() if x.dtype != object}, backend))
    floats = [name for name, x in columns.items() if x.dtype.kind == "f"]
    if backend != "pandas":
        frame = frame.with_columns(nw.col(floats).fill_nan(None))
    dtype = nw.Object() if backend == "pandas" else None
    objects = [
        nw.new_series(name, x.tolist(), dtype, backend=backend) for name, x in columns.items() if x.dtype == object
    ]
    return frame.with_columns(*objects).select(*columns).to_native()
