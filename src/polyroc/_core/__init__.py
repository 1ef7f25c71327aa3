"""Engines compute the arrays: `get_engine` chooses one, which makes a source ready and answers questions about it."""

from polyroc._core.engines import can_compile, engine_for, engine_named
from polyroc._core.prepared import Engine, Fitter, Prepared, Resources, Reweighed
from polyroc._inputs.tensors import TensorPredictions
from polyroc._records import Source

__all__ = ["Engine", "Fitter", "Prepared", "Resources", "Reweighed", "get_engine"]


def get_engine(
    name: str,
    source: Source,
    *,
    n_pairs: int | None = None,
    n_thresholds: int = 99,
    repeats: int = 1,
    has_rates: bool = False,
) -> Engine:
    """Import an engine by name; "auto" is torch for samples on a GPU, else NumPy or numba by the size of the problem.

    All pairs are compared unless `n_pairs` says otherwise. Areas alone have no thresholds, replicates are repeats, and
    fits of rates that are known (`has_rates`) merge no samples.
    """
    if name == "auto":
        if isinstance(source, TensorPredictions):
            # Copying the samples to the host would take longer than evaluating them where they are.
            return engine_named("torch")
        if source.is_binary and repeats == 1:  # one pair and no fit
            return engine_named("numpy")
        n_classes = len(source.labels)
        n_pairs = n_classes * (n_classes - 1) if n_pairs is None else n_pairs
        # A pair merges the samples of two classes, and has a TPR and an FPR at each threshold.
        merged = 0 if has_rates else 2 * source.n_samples // max(n_classes, 1)
        return engine_for(repeats * n_pairs * (merged + 2 * n_thresholds))
    engine = engine_named(name)
    if name == "numba" and not can_compile():
        msg = (
            'engine="numba" needs numba\'s compiler, and the environment variable NUMBA_DISABLE_JIT switches it off: '
            'unset it, or take engine="numpy" or "auto".'
        )
        raise RuntimeError(msg)
    return engine
