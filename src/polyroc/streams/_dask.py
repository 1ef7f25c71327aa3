"""polyroc.dask.evaluate: one model, whose predictions lie in partitions."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from polyroc._engines._bins import Scores
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._dask_passes import DaskPasses, as_parts, needed
from polyroc.streams._partitions import ONE_MODEL, as_models, as_recipe, compare_passes, evaluate_passes


def evaluate(
    y_true: Any,
    y_score: Any,
    *,
    labels: "ArrayLike | None" = None,
    sample_weight: Any = None,
    groups: Any = None,
    standard_errors: bool = True,
    score_kind: Scores = "probabilities",
    mantissa_bits: int | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a classifier from predictions in the partitions of Dask: D, M, their curves and standard errors.

    Each partition is counted where it lies, as a `RocAccumulator` does. Counts are merged in a tree, and the fit is
    made by the caller. The result is that of one accumulator over all samples, whatever the partitions. Uses the
    distributed client where there is one, else Dask's default scheduler.

    Parameters
    ----------
    y_true : dask array, dask series, list of delayed objects or str
        True classes. With scores in a dask data frame it may be the name of one of its columns, so that each partition
        is read once per pass.
    y_score : dask array, dask data frame or list of delayed objects
        Scores, with as many rows and partitions as `y_true`; one column per class. Arrays are rechunked so that a block
        has all columns. Columns of a data frame that are named after the classes are matched by name.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns. By default they are found as in `polyroc.evaluate`, which takes another
        pass over `y_true`.
    sample_weight : dask array, dask series, list of delayed objects or str, optional
        Non-negative weights, or the name of a column of `y_score`.
    groups : dask array, dask series, list of delayed objects or str, optional
        Group of each sample, such as a patient ID, or the name of a column of `y_score`. If given, groups are
        independent and not samples. Their sums are kept in the memory of the caller.
    standard_errors : bool
        Whether to make the second pass that standard errors and intervals need. Partitions are computed again for it:
        persist them if they fit in the memory of the workers and are expensive.
    score_kind : {"probabilities", "free"}
        Whether scores lie between 0 and 1, or anywhere, as logits do.
    mantissa_bits : int, optional
        As in `RocAccumulator`.
    **options
        Further keyword arguments of `polyroc.evaluate`; ``thresholds="difference"`` needs single samples.

    Returns
    -------
    Evaluation
        As `RocAccumulator.compute` and `SecondPass.compute` give it.

    See Also
    --------
    polyroc.RocAccumulator : The same for batches in one process.

    Examples
    --------
    >>> import dask.array as da
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> y_true = da.from_array(example.y_true, chunks=200)
    >>> y_score = da.from_array(example.scores["tree"], chunks=(200, 10))
    >>> evaluation = polyroc.dask.evaluate(y_true, y_score, labels=range(10))
    >>> round(evaluation.standard_error, 4)
    0.0069
    """
    needed("evaluate")
    check_option_names(options, evaluate, without=OF_SAMPLES)
    if groups is not None and not as_flag(standard_errors, "standard_errors"):
        raise InputError("groups", "must be None where `standard_errors` is False: they have no part in the first pass")
    passes = DaskPasses(as_parts(y_true, {ONE_MODEL: y_score}, sample_weight, groups))
    recipe = as_recipe(labels, passes, (ONE_MODEL,), score_kind, mantissa_bits, options)
    return evaluate_passes(passes, recipe, options, standard_errors)


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
