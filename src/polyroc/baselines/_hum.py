"""Hypervolume under the ROC manifold: one sample of each class, and how often all of them are told right."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._core.doubts import warn_of_disagreement
from polyroc._core.samples import are_probabilities, exponentials_hint
from polyroc._inputs.arrays import plain
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_rng, is_integer, one_of, shown
from polyroc._inputs.predictions import as_ordered_predictions, as_predictions
from polyroc._lib.limits import HUM_CLASSES
from polyroc._lib.typing import LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, Predictions
from polyroc._uncertainty.influence import whole_error
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import units_of
from polyroc.baselines._accuracy import wilson_interval
from polyroc.baselines._hum_passes import MOST_STEPS, Assignments, Criterion, ordered_volume

_CRITERIA = ("distance", "sum")
_MOST_DRAWS = 100_000_000


@dataclass(frozen=True, eq=False)
class Hum(Frozen):
    """Result of `hum`; ``float(...)`` of it is the value.

    Attributes
    ----------
    value : float
        Probability that one sample of each class is told right.
    standard_error : float
        Standard error of `value` as an estimate from these data. It does not
        include the error of the simulation.
    labels : ndarray of shape (n_classes,)
        The classes; where they are ordered, in their order.
    n_draws : int or None
        How many sets of samples were drawn; None where the value is exact.
    simulation_interval : Interval or None
        Interval for the exact value on these data; None where the value is
        exact.

    Examples
    --------
    >>> from polyroc.baselines import hum
    >>> found = hum([0, 1, 2], [0.1, 0.4, 0.8], ordered=True)
    >>> found.value, found.n_draws is None
    (1.0, True)
    """

    value: float
    standard_error: float
    labels: LabelArray
    n_draws: int | None = None
    simulation_interval: Interval | None = None

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for JSON.

        Examples
        --------
        >>> from polyroc.baselines import hum
        >>> hum([0, 1, 2], [0.1, 0.4, 0.8], ordered=True).to_dict()["value"]
        1.0
        """
        interval = self.simulation_interval
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "labels": plain(self.labels),
            "n_draws": self.n_draws,
            "simulation_interval": None if interval is None else {"low": interval.low, "high": interval.high},
        }


@underflow_is_zero
def hum(
    y_true: Any,
    y_score: Any,
    *,
    ordered: bool = False,
    criterion: Criterion = "distance",
    labels: Any = None,
    sample_weight: Any = None,
    n_draws: int = 100_000,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> Hum:
    """Hypervolume under the ROC manifold; for three classes the volume under the ROC surface (VUS).

    Take one sample of each class. If the classes are ordered, HUM is the probability that their scores are in this
    order; l neighbouring classes with the same score count 1/l!. If they are not ordered, the samples are assigned to
    the classes, one to each, such that the sum of a criterion over the samples is best, and HUM is the probability that
    this assignment is right; if l assignments are best, each counts 1/l. Both are 1 / k! for k classes and scores
    without information, and the ordinary AUC for two. Classes without samples are left out.

    Parameters
    ----------
    y_true, sample_weight : array-like of shape (n_samples,)
        As in `hand_till`.
    y_score : array-like or frame
        If `ordered`, one score for each sample, shape (n_samples,), which rises with the classes. Otherwise as in
        `hand_till`.
    ordered : bool
        Whether the classes are ordered and there is one score. The order is that of `labels`.
    criterion : {"distance", "sum"}
        What is summed over the samples where the classes are not ordered: the Euclidean distance of a row of
        probabilities to the corner of its class, as in [2]_ and R's mcca, or the score for its class. Scores that are
        not probabilities need "sum"; all columns must be on one scale.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns, or in their own order. By default that of the categories of a
        categorical, or ascending.
    n_draws : int
        How many sets of samples are drawn where there are too many for all of them to be looked at.
    confidence_level : float
        Of the interval for the error of the simulation.
    rng : None, int or numpy.random.Generator
        Seed for these draws.

    Returns
    -------
    Hum
        The value with its standard error.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above, or if more than 12 classes that are not ordered have samples.

    Notes
    -----
    For ordered classes the value is always exact and takes O(n k) time after sorting. Otherwise it is exact where
    s k 2**k is at most 10**8 for s sets of one sample per class: three classes of up to 160 samples, four of up to 35.

    Sums that differ by rounding errors count as equal.

    References
    ----------
    .. [1] B. K. Scurfield, "Multiple-event forced-choice tasks in the theory of signal detectability", Journal of
       Mathematical Psychology 40, 253-269, 1996.
    .. [2] J. Li and J. P. Fine, "ROC analysis with multiple classes and multiple tests: methodology and its application
       in microarray studies", Biostatistics 9, 566-576, 2008.
    .. [3] C. T. Nakas and C. T. Yiannoutsos, "Ordered multiple-class ROC analysis with continuous measurements",
       Statistics in Medicine 23, 3437-3449, 2004.

    Examples
    --------
    Of the four sets of one sample per class three are in order.

    >>> from polyroc.baselines import hum
    >>> float(hum(["low", "mid", "mid", "high", "high"], [1, 2, 4, 3, 5], ordered=True, labels=["low", "mid", "high"]))
    0.75

    The sample of class 1 and the second one of class 2 are assigned to each other's classes.

    >>> y_score = [[0.8, 0.1, 0.1], [0.2, 0.3, 0.5], [0.1, 0.2, 0.7], [0.1, 0.5, 0.4]]
    >>> float(hum([0, 1, 2, 2], y_score))
    0.5
    """
    ordered = as_flag(ordered, "ordered")
    criterion = one_of(criterion, "criterion", _CRITERIA)
    if not is_integer(n_draws, 2, _MOST_DRAWS):
        raise InputError("n_draws", f"must be an integer from 2 to {_MOST_DRAWS:,}", shown(n_draws))
    n_draws, level, rng = int(n_draws), as_confidence_level(confidence_level), as_rng(rng)
    if ordered:
        predictions = as_ordered_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
        return _exact(predictions, *ordered_volume(predictions))
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    if predictions.is_binary:
        # Sorted by the score of the second class, the first one comes first.
        return _exact(predictions, *ordered_volume(predictions))
    assignments = _assignments(predictions, criterion)
    if assignments.n_steps <= MOST_STEPS:
        return _exact(predictions, *assignments.enumerated())
    simulated = assignments.simulated(n_draws, np.random.default_rng(rng))
    # A draw counts from 0 to 1, so that its variance is at most that of a share.
    interval = wilson_interval(simulated.value, n_draws, level)
    return Hum(simulated.value, math.sqrt(simulated.variance), predictions.labels, n_draws, interval)


def _exact(predictions: Predictions, value: float, influences: Any) -> Hum:
    return Hum(value, whole_error(influences, units_of(predictions, None), 0.0), predictions.labels)


def _assignments(predictions: Predictions, criterion: Criterion) -> Assignments:
    n_classes = int(np.count_nonzero(predictions.class_counts))
    if n_classes > HUM_CLASSES:
        raise InputError(
            "y_true", f"must have samples of at most {HUM_CLASSES} classes that are not ordered", f"{n_classes}"
        )
    if criterion == "distance" and not are_probabilities(predictions):
        rule = "must be 'sum' if the rows of `y_score` are not probabilities"
        raise InputError("criterion", rule, repr(criterion), exponentials_hint(predictions))
    return Assignments(predictions, criterion)
