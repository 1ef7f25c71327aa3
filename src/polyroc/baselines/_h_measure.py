"""Hand's H-measure of two classes: how much of the expected cost of guessing a score saves, over a prior of costs."""

from typing import Any

import numpy as np
from scipy.special import betainc

from polyroc._core.curve import RocCurve
from polyroc._core.samples import warn_of_disagreement, whole_polygon
from polyroc._inputs.checks import InputError, is_number, shown
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import underflow_is_zero

# Beyond it all of the prior lies at one end, and little is left to be saved.
_LARGEST_RATIO = 1e6


@underflow_is_zero
def h_measure(
    y_true: Any, y_score: Any, *, severity_ratio: float | None = None, labels: Any = None, sample_weight: Any = None
) -> float:
    """H-measure of two classes: the share of the expected cost of guessing that the scores save.

    Let c be the cost of a false positive and 1 - c that of a false negative. At each c the best threshold is used; it
    is a corner of the ROC convex hull. The expected cost is the mean over a Beta prior of c, which is the same for all
    classifiers. H is 1 minus that cost over the cost without scores, which always predicts the cheaper class.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes, two of them.
    y_score : array-like or frame of shape (n_samples,) or (n_samples, 2)
        Score of the second class, or one score per class, of which the second counts. Only the order matters.
    severity_ratio : float, optional
        How many times as much a false positive costs as a false negative, at the mode of the prior, which is
        Beta(2, 1 + 1 / severity_ratio). By default the ratio of the second class's samples to the first's, so that
        the rarer class is the more expensive one to miss.
    labels : array-like of shape (2,), optional
        The classes; the second is the positive one.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights.

    Returns
    -------
    float
        H, between 0 (no better than without scores at any cost) and 1 (perfect).

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    Notes
    -----
    Agrees with R's package hmeasure, but that scores which rank backwards are not turned round. Thresholds are chosen
    and judged on the same samples, so H of few samples is too high.

    References
    ----------
    .. [1] D. J. Hand, "Measuring classifier performance: a coherent alternative to the area under the ROC curve",
       Machine Learning 77, 103-123, 2009.
    .. [2] D. J. Hand and C. Anagnostopoulos, "A better Beta for the H measure of classification performance", Pattern
       Recognition Letters 40, 41-46, 2014.

    Examples
    --------
    >>> from polyroc.baselines import h_measure
    >>> h_measure([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9])
    1.0
    >>> round(h_measure([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.5
    """
    ratio = _as_ratio(severity_ratio)
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    if not predictions.is_binary:
        rule = "must have one or two columns, because H is defined for two classes"
        raise InputError("y_score", rule, f"{predictions.n_columns}", hint=": `cost_profile` takes any number")
    warn_of_disagreement(predictions)
    negative, positive = predictions.class_weights / predictions.class_weights.sum()
    rates, _ = whole_polygon(predictions)
    curve = RocCurve(fpr=_with_corners(rates.fpr[:, 0]), tpr=_with_corners(rates.tpr[:, 0]))
    ratio = positive / negative if ratio is None else ratio
    return _h(curve.hull(), negative, positive, 1 + 1 / ratio)


def _h(hull: RocCurve, negative: float, positive: float, b: float) -> float:
    """1 minus the mean cost of the hull over that of guessing, for c of Beta(2, b) and these shares of the classes."""
    # The cost of a point is c * negative * fpr + (1 - c) * positive * (1 - tpr): two neighbours cost the same at the c
    # at which a line of equal cost runs through both. From one corner to the next that c falls.
    lost, gained = negative * np.diff(hull.fpr), positive * np.diff(hull.tpr)
    equal = np.concatenate([[1.0], gained / (lost + gained), [0.0]])
    of_false_positives, of_false_negatives = _moments(equal, b)
    cost = float(
        -np.diff(of_false_positives) @ (negative * hull.fpr) - np.diff(of_false_negatives) @ (positive * (1 - hull.tpr))
    )
    # Without scores: every sample is called positive up to the c at which both ways cost the same, and none beyond.
    below, above = _moments(np.array([positive, 1.0]), b)
    guessing = float(negative * below[0] + positive * (above[1] - above[0]))
    return float(np.clip(1 - cost / guessing, 0.0, 1.0))


def _moments(c: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
    """Integrals of c and of 1 - c from 0 to c under the density of Beta(2, b)."""
    a = 2.0
    return a / (a + b) * betainc(a + 1, b, c), b / (a + b) * betainc(a, b + 1, c)


def _with_corners(rate: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], rate, [1.0]])


def _as_ratio(value: Any) -> float | None:
    if value is None:
        return None
    if not is_number(value) or not 1 / _LARGEST_RATIO <= value <= _LARGEST_RATIO:
        rule = f"must be None or a number from {1 / _LARGEST_RATIO:g} to {_LARGEST_RATIO:g}"
        raise InputError("severity_ratio", rule, shown(value))
    return float(value)
