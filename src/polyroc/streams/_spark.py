"""polyroc.spark.evaluate: one model, whose predictions are columns of a Spark data frame."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from polyroc._engines._bins import Scores
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._partitions import ONE_MODEL, as_models, as_recipe, compare_passes, evaluate_passes
from polyroc.streams._spark_columns import needed, selected


def evaluate(
    df: Any,
    *,
    target: str,
    scores: str | Sequence[str] | None = None,
    labels: "ArrayLike | None" = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    standard_errors: bool = True,
    score_kind: Scores = "probabilities",
    mantissa_bits: int | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a classifier from columns of a Spark data frame: D, M, their curves and standard errors.

    Each partition is counted where it lies, as a `RocAccumulator` does, and becomes one row of bytes. The driver merges
    these rows and makes the fit. The result is that of one accumulator over all samples, whatever the partitions.
    polyroc must be installed on the executors, too.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Predictions, one sample in each row. Only columns that are named are read.
    target : str
        The column of true classes: integers, strings or booleans.
    scores : str or list of str, optional
        Columns of scores, one per class; those that are named after the classes are matched by name. Or one column
        whose entries are arrays, or vectors as models of Spark ML write them. By default all other columns.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns. By default they are found as in `polyroc.evaluate`, which takes another
        pass over the column `target`.
    sample_weight : str, optional
        The column of non-negative weights.
    groups : str, optional
        The column of the group of each sample, such as a patient ID. If given, groups are independent and not samples.
        Their sums are kept in the memory of the driver.
    standard_errors : bool
        Whether to make the second pass that standard errors and intervals need. The data frame is computed again for
        it: cache it if it is expensive.
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
    >>> import polyroc
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()
    >>> example = polyroc.load_example()
    >>> rows = [(int(y), p.tolist()) for y, p in zip(example.y_true, example.scores["tree"])]
    >>> df = spark.createDataFrame(rows, "digit int, probability array<double>")
    >>> evaluation = polyroc.spark.evaluate(df, target="digit", scores="probability", labels=range(10))
    >>> round(evaluation.standard_error, 4)
    0.0069
    """
    needed("evaluate")
    from polyroc.streams._spark_passes import SparkPasses

    check_option_names(options, evaluate, without=OF_SAMPLES)
    if groups is not None and not as_flag(standard_errors, "standard_errors"):
        raise InputError("groups", "must be None where `standard_errors` is False: they have no part in the first pass")
    passes = SparkPasses(selected(df, target, {ONE_MODEL: scores}, sample_weight, groups))
    recipe = as_recipe(labels, passes, (ONE_MODEL,), score_kind, mantissa_bits, options)
    return evaluate_passes(passes, recipe, options, standard_errors)


def compare(
    df: Any,
    *,
    target: str,
    scores: Mapping[str, str | Sequence[str]],
    labels: "ArrayLike | None" = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    confidence_level: float = 0.95,
    score_kind: Scores = "probabilities",
    mantissa_bits: int | None = None,
    **options: Any,
) -> Comparison:
    """Which of several models is better, from columns of a Spark data frame, in two passes.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Predictions of all models, one sample in each row.
    target : str
        The column of true classes.
    scores : mapping of str to str or list of str
        The score columns of each model, by its name: one per class, or one column of arrays or vectors.
    labels, sample_weight, groups, score_kind, mantissa_bits
        As in `evaluate`.
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
    >>> import numpy as np
    >>> import polyroc
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.integers(3, size=5000)
    >>> noise = rng.normal(size=(5000, 3))
    >>> strong, weak = 2 * np.eye(3)[y_true] + noise, np.eye(3)[y_true] + noise
    >>> rows = list(zip(y_true.tolist(), strong.tolist(), weak.tolist()))
    >>> df = spark.createDataFrame(rows, "y int, strong array<double>, weak array<double>")
    >>> models = {"strong": "strong", "weak": "weak"}
    >>> comparison = polyroc.spark.compare(df, target="y", scores=models, labels=range(3), score_kind="free")
    >>> str(comparison.by_auc.rankings[0])
    'strong > weak'
    """
    needed("compare")
    from polyroc.streams._spark_passes import SparkPasses

    check_option_names(options, compare, without=OF_SAMPLES)
    level, models = as_confidence_level(confidence_level), as_models(scores)
    if None in models.values():
        raise InputError("scores", "must name the columns of every model", "None")
    passes = SparkPasses(selected(df, target, models, sample_weight, groups))
    recipe = as_recipe(labels, passes, tuple(models), score_kind, mantissa_bits, options)
    return compare_passes(passes, recipe, options, level)
