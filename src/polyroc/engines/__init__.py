"""Engines compute the arrays; each is a module with the functions of `Engine`, imported on first use."""

from importlib import import_module
from typing import cast

from polyroc._records import Predictions
from polyroc.engines._protocol import Engine, Reweighed

__all__ = ["Engine", "Reweighed", "get_engine"]

# Below these the reference engine is done before compiled code is read from disk.
_MANY_SCORES = 200_000
_MANY_PAIRS = 1_000

# The extra that brings what an engine needs.
_EXTRA = {"numba": "fast"}


def get_engine(name: str, predictions: Predictions, *, repeatedly: bool = False) -> Engine:
    """Import an engine by name; "auto" is the fast one where it is installed and the problem repays it.

    What is done `repeatedly`, hundreds of replicates, always does.
    """
    if name == "auto":
        return _fast_engine() if repeatedly or _is_large(predictions) else _import("numpy")
    try:
        return _import(name)
    except ModuleNotFoundError as error:
        msg = f'engine="{name}" needs {error.name}: pip install "polyroc[{_EXTRA.get(name, name)}]".'
        raise ModuleNotFoundError(msg, name=error.name) from error


def _fast_engine() -> Engine:
    """The compiled engine where numba is there and fits the other packages, else the reference."""
    try:
        return _import("numba")
    except ImportError:
        return _import("numpy")


def _import(name: str) -> Engine:
    return cast("Engine", import_module(f"polyroc.engines._{name}"))


def _is_large(predictions: Predictions) -> bool:
    if predictions.is_binary:
        return False
    n_samples, n_classes = predictions.scores.shape
    return bool(n_samples * n_classes >= _MANY_SCORES or n_classes * (n_classes - 1) >= _MANY_PAIRS)
