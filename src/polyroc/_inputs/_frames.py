"""Columns -> a data frame of the library that the user names, or plain lists."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np

from polyroc._inputs._checks import one_of

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
