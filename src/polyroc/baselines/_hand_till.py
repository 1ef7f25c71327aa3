"""Hand and Till's M: the mean area over all pairs of classes."""

from typing import Any

from polyroc._engines import Resources, get_engine
from polyroc._estimator._doubts import warn_of_disagreement
from polyroc._estimator._rates import all_pairs
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Predictions


@underflow_is_zero
def hand_till(y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Mean area over all pairs of classes, the M of Hand and Till.

    M is the mean of (A(i, j) + A(j, i)) / 2 over the unordered pairs of the
    classes that have samples, where A(i, j) is the probability that a sample
    of class i scores higher in column i than a sample of class j, ties
    counting one half. With two classes it is the ordinary AUC.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_score : array-like or frame of shape (n_samples, n_classes)
        One score per class, higher meaning more likely; for two classes also
        shape (n_samples,), the score of the second. Only the order within
        each column matters.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns of `y_score`.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights; only their ratios within a class matter.

    Returns
    -------
    float
        M, between 0 and 1; 1/2 for scores without information.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    References
    ----------
    .. [1] D. J. Hand and R. J. Till, "A simple generalisation of the area
       under the ROC curve for multiple class classification problems",
       Machine Learning 45, 171-186, 2001.

    Examples
    --------
    A(2, 0) is 1/2, because the score of the sample of class 2 lies between
    those of class 0 in the last column; the five other areas are 1.

    >>> from polyroc.baselines import hand_till
    >>> y_score = [[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3]]
    >>> round(hand_till([0, 0, 1, 2], y_score), 6)
    0.916667
    """
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    return hand_till_of(predictions)


def hand_till_of(predictions: Predictions) -> float:
    """M of checked predictions; of two classes, the area of their pair."""
    # Hand and Till (2001), eq. 7: both orders of a pair occur once, so the mean over ordered pairs is M.
    engine = get_engine("auto", predictions, n_thresholds=0)
    return float(engine.prepare(predictions, Resources()).areas(all_pairs(predictions)).mean())
