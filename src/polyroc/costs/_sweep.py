"""cost_sweep(...): how D changes as one confusion becomes more expensive than the others."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.curve import RocCurve
from polyroc._inputs.checks import InputError, as_confidence_level, shown
from polyroc._inputs.options import LARGEST_RATIO, as_options, as_weights
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.numbers import area
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, Predictions, read_only
from polyroc._uncertainty.bootstrap import warn_of_small_classes
from polyroc._uncertainty.units import units_of
from polyroc.costs._cost_matrices import as_ratios, class_position
from polyroc.evaluation._evaluate import check_option_names, checked, fitted, measured
from polyroc.evaluation._evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class CostSweep(Frozen):
    """The curve and its area at several costs of one confusion.

    Attributes
    ----------
    ratios : ndarray of shape (n_ratios,)
        Factors by which the cost of the confusion is multiplied, ascending.
    curves : tuple of RocCurve
        The shared curve at each of them.
    auc : ndarray of shape (n_ratios,)
        Their areas D.
    mean_curves : tuple of RocCurve
        The mean curve at each of them.
    mean_auc : ndarray of shape (n_ratios,)
        Their areas; at equal costs, Hand and Till's M.
    true_class : object
        The true class of the mistake.
    predicted_class : object or None
        The predicted class; None for any other class.
    labels : ndarray of shape (n_classes,)
        The classes, in the order of the score columns.
    intervals, mean_intervals : ndarray of shape (n_ratios, 2) or None
        Confidence intervals of `auc` and of `mean_auc` at each ratio, pointwise and without resampling; None where no
        `confidence_level` was given. NaN where the formula does not hold; `interval_note` says why.
    confidence_level : float or None
        Of the intervals.
    interval_note : str
        Why D has no interval at some ratios; empty where it has one at all of them.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> sweep = polyroc.cost_sweep(example.y_true, example.scores["tree"], true_class=8, ratios=[0.1, 1, 10])
    >>> sweep.ratios.tolist(), sweep.auc.round(3).tolist()
    ([0.1, 1.0, 10.0], [0.915, 0.915, 0.908])
    """

    ratios: FloatArray
    curves: tuple[RocCurve, ...]
    mean_curves: tuple[RocCurve, ...]
    true_class: Any
    predicted_class: Any
    labels: LabelArray
    intervals: FloatArray | None = None
    mean_intervals: FloatArray | None = None
    confidence_level: float | None = None
    interval_note: str = ""

    @cached_property
    def auc(self) -> FloatArray:
        return read_only(np.array([curve.auc for curve in self.curves]))

    @cached_property
    def mean_auc(self) -> FloatArray:
        return read_only(np.array([curve.auc for curve in self.mean_curves]))

    def __repr__(self) -> str:
        predicted_as = "any other class" if self.predicted_class is None else shown(self.predicted_class)
        ends = f"D from {area(self.auc[0])} to {area(self.auc[-1])}"
        costs = f"cost ratios from {self.ratios[0]:g} to {self.ratios[-1]:g}"
        return f"CostSweep({shown(self.true_class)} predicted as {predicted_as}: {ends} at {costs})"


@underflow_is_zero
def cost_sweep(
    y_true: "ArrayLike",
    y_score: "ArrayLike",
    *,
    true_class: Any,
    predicted_class: Any = None,
    ratios: "ArrayLike | None" = None,
    labels: "ArrayLike | None" = None,
    sample_weight: "ArrayLike | None" = None,
    costs: "ArrayLike | None" = None,
    confidence_level: float | None = None,
    **options: Any,
) -> CostSweep:
    """D as one confusion becomes cheaper or more expensive than all the others.

    Parameters
    ----------
    y_true, y_score : array-like
        As in `evaluate`, for three classes or more: two classes have one pair, whatever it costs.
    true_class : object
        The true class of the mistake.
    predicted_class : object, optional
        The predicted class; by default any other class.
    ratios : array-like of shape (n_ratios,), optional
        Positive numbers, by which the cost of this confusion is multiplied. By default nine from 0.01 to 100.
    labels, sample_weight, costs
        As in `evaluate`; without `costs` all confusions cost the same at ratio 1.
    confidence_level : float, optional
        Level of a confidence interval at each ratio, between 0 and 1, such as 0.95; by default there are none. They
        come from the influences of the samples, without resampling, and hold for each ratio separately.
    **options
        Further keyword arguments of `evaluate`. A sample of pairs (`max_pairs`) is the same at all ratios.

    Returns
    -------
    CostSweep
        With `ratios`, `auc`, `mean_auc`, the curves, and `intervals` where they were asked for.

    Examples
    --------
    The higher the cost of predicting an eight as a one, the closer D is to the area of that pair.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> sweep = polyroc.cost_sweep(
    ...     example.y_true, example.scores["tree"], true_class=8, predicted_class=1, ratios=[0.1, 1, 10]
    ... )
    >>> sweep.auc.shape
    (3,)
    >>> bool(sweep.auc[1] == polyroc.auc_score(example.y_true, example.scores["tree"]))
    True

    With an interval at each ratio:

    >>> sweep = polyroc.cost_sweep(
    ...     example.y_true, example.scores["tree"], true_class=8, ratios=[1, 10], confidence_level=0.95
    ... )
    >>> for ratio, area, (low, high) in zip(sweep.ratios, sweep.auc, sweep.intervals):
    ...     print(f"{ratio:g}: {area:.3f} [{low:.3f}, {high:.3f}]")
    1: 0.915 [0.898, 0.927]
    10: 0.908 [0.891, 0.921]
    """
    check_option_names(options, cost_sweep)
    factors = as_ratios(ratios, 9)
    level = None if confidence_level is None else as_confidence_level(confidence_level)
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    if predictions.is_binary:
        raise InputError("y_score", "must have at least three columns", hint=": with two classes no cost has an effect")
    row = _position(true_class, "true_class", predictions)
    columns = slice(None) if predicted_class is None else _position(predicted_class, "predicted_class", predictions)
    if row == columns:
        raise InputError(
            "predicted_class", "must be another class than `true_class`", f"{shown(predicted_class)} for both"
        )
    usual = as_weights(costs, "costs", predictions.labels)
    costs_of = [_swept(usual, row, columns, factor, predictions) for factor in factors]
    # Rates do not depend on costs, and the pairs must be the same at all of them.
    asked = as_options(predictions.labels, **options)
    found = measured(predictions, asked)
    evaluations = [fitted(found, replace(asked, costs=swept)) for swept in costs_of]
    checked(evaluations[-1])
    curves = tuple(evaluation.curve for evaluation in evaluations)
    mean_curves = tuple(evaluation.mean_curve for evaluation in evaluations)
    # As the classes are called, where an enumeration was given.
    classes = predictions.labels.tolist()
    predicted_as = None if predicted_class is None else classes[columns]
    sweep = CostSweep(factors, curves, mean_curves, classes[row], predicted_as, predictions.labels)
    return sweep if level is None else _with_intervals(sweep, evaluations, level)


def _with_intervals(sweep: CostSweep, evaluations: list[Evaluation], level: float) -> CostSweep:
    """An interval of both areas at each ratio; those of D only where influences give one."""
    source = evaluations[0].fitted.samples
    units = units_of(source, None)
    # Once for all ratios, which have the same samples.
    warn_of_small_classes(source, units)
    notes = [evaluation.influence_note for evaluation in evaluations]
    nothing = (np.nan, np.nan)
    of_auc = [
        nothing if note else evaluation.uncertainty.spread("auc", units).ends(level)
        for evaluation, note in zip(evaluations, notes, strict=True)
    ]
    of_mean = [evaluation.uncertainty.spread("mean_auc", units).ends(level) for evaluation in evaluations]
    return replace(
        sweep,
        intervals=np.array(of_auc),
        mean_intervals=np.array(of_mean),
        confidence_level=level,
        interval_note=next(filter(None, notes), ""),
    )


def _swept(usual: FloatArray | None, row: int, columns: Any, factor: float, predictions: Predictions) -> FloatArray:
    """The costs with those of the confusion multiplied, ones on the diagonal."""
    costs = np.ones((len(predictions.labels),) * 2) if usual is None else usual.copy()
    with np.errstate(over="ignore", under="ignore"):
        costs[row, columns] *= factor
    costs[row, row] = 1.0
    others = costs[~np.eye(len(costs), dtype=bool)]
    with np.errstate(over="ignore"):
        is_too_wide = not others.max() <= LARGEST_RATIO * others.min()
    if is_too_wide:
        raise InputError(
            "ratios", f"must keep all costs within a ratio of {LARGEST_RATIO:g} of each other", f"{factor:g}"
        )
    return costs


def _position(label: Any, name: str, predictions: Predictions) -> int:
    position = class_position(label, name, predictions.labels)
    if predictions.class_counts[position] == 0:
        raise InputError(name, "must have samples in `y_true`", f"{shown(label)}, which has none")
    return position
