"""One class against all the others, averaged."""

from typing import Any, Literal

import numpy as np

from polyroc._engines import Resources, get_engine
from polyroc._estimator._doubts import warn_of_disagreement
from polyroc._estimator._rates import all_pairs
from polyroc._estimator._weights import relative_class_weights
from polyroc._inputs.checks import one_of
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import PairIndex

_AVERAGES = ("macro", "weighted")


@underflow_is_zero
def one_vs_rest(
    y_true: Any,
    y_score: Any,
    *,
    average: Literal["macro", "weighted"] = "macro",
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean over the classes of the area of each class against all the others.

    The area of class i is the probability that a sample of class i scores
    higher in column i than a sample of any other class, ties counting one
    half. Classes without samples are left out. With two classes it is the
    ordinary AUC.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_score : array-like or frame of shape (n_samples, n_classes)
        One score per class, higher meaning more likely; for two classes also
        shape (n_samples,), the score of the second. Only the order within
        each column matters.
    average : {"macro", "weighted"}
        Whether all classes count the same, or each by its share of the
        samples.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns of `y_score`.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights; only their ratios matter.

    Returns
    -------
    float
        The mean area, between 0 and 1; 1/2 for scores without information.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    References
    ----------
    .. [1] F. Provost and P. Domingos, "Well-trained PETs: improving
       probability estimation trees", CeDER working paper IS-00-04, Stern
       School of Business, New York University, 2000 (weighted).
    .. [2] T. Fawcett, "Using rule sets to maximize ROC performance", IEEE
       International Conference on Data Mining, 131-138, 2001 (macro).

    Examples
    --------
    Against the rest, classes 0 and 1 are separated; class 2 wins two of its
    three comparisons in the last column.

    >>> from polyroc.baselines import one_vs_rest
    >>> y_score = [[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3]]
    >>> round(one_vs_rest([0, 0, 1, 2], y_score), 6)
    0.888889
    >>> round(one_vs_rest([0, 0, 1, 2], y_score, average="weighted"), 6)
    0.916667
    """
    average = one_of(average, "average", _AVERAGES)
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    relative = relative_class_weights(predictions)
    share = relative / relative.sum()
    pairs = all_pairs(predictions)
    engine = get_engine("auto", predictions, n_thresholds=0, n_pairs=len(pairs))
    areas = mixed_areas(pairs, engine.prepare(predictions, Resources()).areas(pairs), share)
    compared = ~np.isnan(areas)
    return float(np.average(areas[compared], weights=None if average == "macro" else share[compared]))


def mixed_areas(pairs: PairIndex, areas: FloatArray, weight: FloatArray) -> FloatArray:
    """Area of each class against all the others, from those of its pairs, shape (k,); NaN where it is not compared.

    The rest is a mixture of classes, so its area is the mean of the pairwise ones by the weights of the classes.
    """
    rest = weight[pairs.negative]
    total = np.bincount(pairs.positive, rest, minlength=len(weight))
    won = np.bincount(pairs.positive, rest * areas, minlength=len(weight))
    found: FloatArray = np.divide(won, total, out=np.full(len(weight), np.nan), where=total > 0)
    return found
