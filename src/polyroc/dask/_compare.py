"""polyroc.dask.compare: several models on the same samples, whose predictions lie in partitions."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from polyroc._comparison import Comparison
from polyroc._engines._bins import Scores
from polyroc._evaluate import OF_SAMPLES, check_option_names
from polyroc._inputs._checks import as_confidence_level
from polyroc._scale._partitions import as_models, as_recipe, compare_passes
from polyroc.dask._parts import as_parts, needed
from polyroc.dask._passes import DaskPasses


def compare(
    y_true: Any,
    scores: Mapping[str, Any],
    *,
    labels: "ArrayLike | None" = None,
    sample_weight: Any = None,
    groups: Any = None,
    confidence_level: float = 0.95,
    score_kind: Scores = "probabilities",
    mantissa_bits: int | None = None,
    **options: Any,
) -> Comparison:
    """Which of several models is better, from predictions in the partitions of Dask, in two passes.

    Parameters
    ----------
    y_true : dask array, dask series or list of delayed objects
        True classes.
    scores : mapping of str to dask array, dask data frame or list of delayed objects
        The scores of each model for the same samples, by its name.
    labels, sample_weight, groups, score_kind, mantissa_bits
        As in `evaluate`; no names of columns.
    confidence_level : float
        Of the intervals, between 0 and 1.
    **options
        Further keyword arguments of `polyroc.evaluate`, the same for all models.

    Returns
    -------
    Comparison
        As `PairedSecondPass.compute` gives it, without resampling.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import polyroc
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.integers(3, size=10_000)
    >>> noise = rng.normal(size=(10_000, 3))
    >>> scores = {
    ...     "strong": da.from_array(2 * np.eye(3)[y_true] + noise, chunks=(1000, 3)),
    ...     "weak": da.from_array(np.eye(3)[y_true] + noise, chunks=(1000, 3)),
    ... }
    >>> comparison = polyroc.dask.compare(da.from_array(y_true, chunks=1000), scores, score_kind="free")
    >>> str(comparison.by_auc.rankings[0])
    'strong > weak'
    """
    needed("compare")
    check_option_names(options, compare, without=OF_SAMPLES)
    level, models = as_confidence_level(confidence_level), as_models(scores)
    passes = DaskPasses(as_parts(y_true, models, sample_weight, groups))
    recipe = as_recipe(labels, passes, tuple(models), score_kind, mantissa_bits, options)
    return compare_passes(passes, recipe, options, level)
