"""Engines compute the arrays; each is a module with the functions of `Engine`, imported on first use."""

from importlib import import_module
from typing import cast

from polyroc._engines._choice import Task, Work, fast_is_quicker
from polyroc._engines._fallback import FastOrReference, can_compile
from polyroc._engines._protocol import Engine, Reweighed
from polyroc._records import Predictions

__all__ = ["Engine", "Reweighed", "get_engine"]

# The extra that brings what an engine needs.
_EXTRA = {"numba": "fast"}


def get_engine(
    name: str,
    predictions: Predictions,
    *,
    task: Task = "evaluate",
    n_pairs: int | None = None,
    n_thresholds: int = 99,
    repeats: int = 1,
) -> Engine:
    """Import an engine by name; "auto" is the one that is done first with a task, done several times.

    All pairs are compared unless `n_pairs` says otherwise.
    """
    if name == "auto":
        n_classes = len(predictions.labels)
        n_pairs = n_classes * (n_classes - 1) if n_pairs is None else n_pairs
        work = Work(task, predictions.n_samples, n_classes, n_pairs, n_thresholds, repeats)
        # Two classes have one pair and no fit.
        is_simple = predictions.is_binary and task != "replicates"
        return _import("numpy") if is_simple or not fast_is_quicker(work) else _fast_engine()
    try:
        engine = _import(name)
    except ModuleNotFoundError as error:
        msg = f'engine="{name}" needs {error.name}: pip install "polyroc[{_EXTRA.get(name, name)}]".'
        raise ModuleNotFoundError(msg, name=error.name) from error
    if name == "numba" and not can_compile():
        msg = (
            'engine="numba" needs numba\'s compiler, and the environment variable NUMBA_DISABLE_JIT switches it off: '
            'unset it, or take engine="numpy" or "auto".'
        )
        raise RuntimeError(msg)
    return engine


def _fast_engine() -> Engine:
    """The compiled engine where numba is there, fits the other packages and compiles, else the reference."""
    reference = _import("numpy")
    if not FastOrReference.works:
        return reference
    try:
        fast = _import("numba")
    except ImportError:
        return reference
    except Exception as error:
        FastOrReference.give_up(error)
        return reference
    return FastOrReference(fast, reference) if can_compile() else reference


def _import(name: str) -> Engine:
    return cast("Engine", import_module(f"polyroc._engines._{name}._engine"))
