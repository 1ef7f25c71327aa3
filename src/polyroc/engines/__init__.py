"""Engines compute the arrays; each is a module with the functions of `Engine`, imported on first use."""

from importlib import import_module
from importlib.util import find_spec
from typing import cast

from polyroc._records import Predictions
from polyroc.engines._protocol import Engine

__all__ = ["Engine", "get_engine"]

# Below these the reference engine is done before compiled code is read from disk.
_MANY_SCORES = 200_000
_MANY_PAIRS = 1_000

# The extra that brings what an engine needs.
_EXTRA = {"numba": "fast"}


def get_engine(name: str, predictions: Predictions) -> Engine:
    """Import an engine by name; "auto" is the fast one where it is installed and the problem repays it."""
    if name == "auto":
        name = "numba" if _is_large(predictions) and find_spec("numba") is not None else "numpy"
    try:
        return cast("Engine", import_module(f"polyroc.engines._{name}"))
    except ModuleNotFoundError as error:
        msg = f'engine="{name}" needs {error.name}: pip install "polyroc[{_EXTRA.get(name, name)}]".'
        raise ModuleNotFoundError(msg, name=error.name) from error


def _is_large(predictions: Predictions) -> bool:
    n_samples, n_classes = predictions.scores.shape
    return bool(n_samples * n_classes >= _MANY_SCORES or n_classes * (n_classes - 1) >= _MANY_PAIRS)
