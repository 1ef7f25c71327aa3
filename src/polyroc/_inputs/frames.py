"""Columns -> a data frame of the library that the user names, or plain lists."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np

from polyroc._inputs.checks import one_of

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
