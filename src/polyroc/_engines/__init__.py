"""Engines compute the arrays: `get_engine` chooses one, which makes a source ready and answers questions about it."""

from polyroc._engines._choice import Task, Work, fast_is_quicker
from polyroc._engines._protocol import Engine, Fitter, Prepared, Resources, Reweighed
from polyroc._engines._registry import FastOrReference, can_compile, engine_named
from polyroc._inputs.tensor_predictions import TensorPredictions
from polyroc._records import Source

__all__ = ["Engine", "Fitter", "Prepared", "Resources", "Reweighed", "get_engine"]


def get_engine(
    name: str,
    source: Source,
    *,
    task: Task = "evaluate",
    n_pairs: int | None = None,
    n_thresholds: int = 99,
    repeats: int = 1,
) -> Engine:
    """Import an engine by name; "auto" is the one that is done first with a task, done several times.

    That is the one for GPUs where the samples lie on one. All pairs are compared unless `n_pairs` says otherwise.
    """
    if name == "auto":
        if isinstance(source, TensorPredictions):
            # Where the samples lie already: to copy them would take longer than to evaluate them there.
            return engine_named("torch")
        n_classes = len(source.labels)
        n_pairs = n_classes * (n_classes - 1) if n_pairs is None else n_pairs
        work = Work(task, source.n_samples, n_classes, n_pairs, n_thresholds, repeats)
        # Two classes have one pair and no fit.
        is_simple = source.is_binary and task != "replicates"
        return engine_named("numpy") if is_simple or not fast_is_quicker(work) else _fast_engine()
    engine = engine_named(name)
    if name == "numba" and not can_compile():
        msg = (
            'engine="numba" needs numba\'s compiler, and the environment variable NUMBA_DISABLE_JIT switches it off: '
            'unset it, or take engine="numpy" or "auto".'
        )
        raise RuntimeError(msg)
    return engine


def _fast_engine() -> Engine:
    """The compiled engine where numba is there, fits the other packages and compiles, else the reference."""
    reference = engine_named("numpy")
    if not FastOrReference.works:
        return reference
    try:
        fast = engine_named("numba")
    except ImportError:
        return reference
    except Exception as error:
        FastOrReference.give_up(error)
        return reference
    return FastOrReference(fast, reference) if can_compile() else reference
