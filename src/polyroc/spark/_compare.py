"""polyroc.spark.compare: several models on the same samples, whose predictions are columns of a Spark data frame."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from polyroc._comparison import Comparison
from polyroc._engines._bins import Scores
from polyroc._evaluate import OF_SAMPLES, check_option_names
from polyroc._inputs._checks import InputError, as_confidence_level
from polyroc._scale._partitions import as_models, as_recipe, compare_passes
from polyroc.spark._columns import needed, selected


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
    from polyroc.spark._passes import SparkPasses

    check_option_names(options, compare, without=OF_SAMPLES)
    level, models = as_confidence_level(confidence_level), as_models(scores)
    if None in models.values():
        raise InputError("scores", "must name the columns of every model", "None")
    passes = SparkPasses(selected(df, target, models, sample_weight, groups))
    recipe = as_recipe(labels, passes, tuple(models), score_kind, mantissa_bits, options)
    return compare_passes(passes, recipe, options, level)
