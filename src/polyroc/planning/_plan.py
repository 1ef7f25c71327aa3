"""plan(...): how many samples it takes for an interval of some width, or to detect a difference."""

from numbers import Real
from typing import Any, get_args

import numpy as np

from polyroc._inputs.checks import InputError, as_confidence_level, listed, one_of, shown
from polyroc._lib.limits import LISTED_CLASSES
from polyroc._lib.typing import BoolArray, IntArray, Statistic
from polyroc._lib.warnings import ResamplingWarning, underflow_is_zero, warn
from polyroc._uncertainty.intervals import is_at_end
from polyroc._uncertainty.sizes import (
    LEAST,
    Allocation,
    AreaForecast,
    DifferenceForecast,
    Forecast,
    PlanGoal,
    moments_of,
    next_class,
    shares_of,
    smallest_total,
    whole_sizes,
)
from polyroc._uncertainty.units import units_of
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluation import Evaluation
from polyroc.planning._result import STATISTIC_NAMES, Plan, PlanPoint

# Fewer samples of a class say little about its variance.
_FEW_SAMPLES = 10
# Less than this is rounding.
_NO_ERROR = 1e-12


@underflow_is_zero
def plan(
    pilot: Evaluation | Comparison,
    *,
    half_width: float | None = None,
    detect: float | None = None,
    power: float = 0.8,
    assurance: float | None = 0.8,
    confidence_level: float = 0.95,
    allocation: Allocation = "same",
    statistic: Statistic = "auc",
    models: tuple[str, str] | None = None,
) -> Plan:
    """How many samples it takes, by what a first sample says.

    Either for an interval of some half width, or to detect a difference between two models. The plan is for
    independent samples, drawn class by class, and for somebody who looks once.

    Parameters
    ----------
    pilot : Evaluation or Comparison
        Result of `evaluate` or `compare` on the samples that there are: some hundred, and at least ten of each class.
    half_width : float, optional
        Half the width that the confidence interval of the statistic shall have, or for a comparison that of the
        difference; between 0 and 0.5.
    detect : float, optional
        True difference between two models that the paired test shall find; between 0 and 1. Needs a comparison.
    power : float
        Probability with which it shall find that difference.
    assurance : float or None
        Share of studies of the planned size that reach the half width; with `detect`, share of plans whose study has
        the power. At least 0.5 and below 1: the more, the larger the plan. None plans by the estimates of the pilot
        as they are, which too few samples do in about half of the plans.
    confidence_level : float
        Of the interval; the test has the level 1 - `confidence_level`.
    allocation : {"same", "equal", "optimal"}
        Shares of the classes: those of the pilot; the same number of each class; or those that make the variance
        smallest for a given number of samples, proportional to `sigma`.
    statistic : {"auc", "hand_till", "mean_auc"}
        D, Hand and Till's M, or the area under the mean curve.
    models : tuple of two str, optional
        Which models, for a comparison of more than two.

    Returns
    -------
    Plan
        With `n_samples`, `class_counts`, `label_next`, `half_width_at`, `power_at` and `plot`.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    >>> planned = polyroc.plan(evaluation, half_width=0.01)
    >>> planned.n_samples > evaluation.n_samples
    True
    >>> planned.half_width <= 0.01 < planned.current.half_width
    True
    """
    goal = _as_goal(half_width, detect, power, as_confidence_level(confidence_level), assurance)
    allocation = one_of(allocation, "allocation", get_args(Allocation))
    statistic = one_of(statistic, "statistic", get_args(Statistic))
    chosen = _chosen(pilot, models, goal)
    _check_pilot(chosen, statistic)
    first, forecast = next(iter(chosen.values())), _forecast(chosen, statistic)
    present = first.class_counts > 0
    shares = shares_of(allocation, forecast)
    total = smallest_total(goal, forecast, shares)
    if total is None:
        name, value = ("half_width", goal.half_width) if goal.detect is None else ("detect", goal.detect)
        raise InputError(name, "must be large enough to be reached with a trillion samples", f"{value:g}")
    return Plan(
        statistic=statistic,
        models=_two(list(chosen)),
        asked=goal,
        allocation=allocation,
        labels=first.labels,
        planned=_planned(goal, forecast, whole_sizes(total, shares), present),
        current=_current(goal, forecast, present),
        sigma=_by_class(np.sqrt(forecast.moments.variance), present),
        label_next=first.labels[present].tolist()[next_class(forecast)],
        note=_note(first),
        forecast=forecast,
        shares=shares,
    )


def _as_goal(half_width: Any, detect: Any, power: Any, level: float, assurance: Any) -> PlanGoal:
    """One of the two things that can be wanted."""
    assurance = _as_assurance(assurance)
    if (half_width is None) == (detect is None):
        came = "neither" if detect is None else "both"
        raise InputError("half_width", "or `detect` must be given, exactly one of them", came)
    if detect is None:
        return PlanGoal(level, half_width=_between(half_width, "half_width", 0, 0.5), assurance=assurance)
    alpha = round(1 - level, 12)
    detect, power = _between(detect, "detect", 0, 1), _between(power, "power", alpha, 1)
    return PlanGoal(level, detect=detect, power=power, assurance=assurance)


def _as_assurance(value: Any) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0.5 <= value < 1:
        raise InputError("assurance", "must be at least 0.5 and below 1", shown(value))
    return float(value)


def _between(value: Any, name: str, low: float, high: float) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not low < value < high:
        raise InputError(name, f"must be a number greater than {low:g} and less than {high:g}", shown(value))
    return float(value)


def _chosen(pilot: Any, models: Any, goal: PlanGoal) -> dict[str, Evaluation]:
    """The evaluation, or those of the two models, by their names."""
    if isinstance(pilot, Evaluation):
        if goal.detect is not None:
            raise InputError("detect", "needs a comparison of two models as `pilot`", "an Evaluation")
        if models is not None:
            raise InputError("models", "must be None for an Evaluation, which has one model", shown(models))
        return {"": pilot}
    if not isinstance(pilot, Comparison):
        raise InputError("pilot", "must be an Evaluation or a Comparison", type(pilot).__name__)
    if pilot.units.are_groups:
        rule = "must be a comparison without `groups`, because the plan is for independent samples"
        raise InputError("pilot", rule)
    names = list(pilot.models) if models is None else models
    rule = f"must be two of the models ({listed(pilot.models)})"
    is_sequence = isinstance(names, list | tuple)
    if not is_sequence or len(names) != 2 or names[0] == names[1] or not all(name in pilot.models for name in names):
        raise InputError("models", rule, "None" if models is None else shown(models))
    return {name: pilot.evaluations[name] for name in names}


def _check_pilot(chosen: dict[str, Evaluation], statistic: Statistic) -> None:
    """Refuse pilots whose influences say nothing about larger samples; warn of those that say little."""
    for name, evaluation in chosen.items():
        of_model = f" of {shown(name)}" if name else ""
        ranked = evaluation.hand_till if statistic == "hand_till" else evaluation.fitted.mean_area
        if is_at_end(ranked):
            what = "no" if ranked > 0.5 else "nothing but"
            came = f"{what} errors{of_model}"
            raise InputError("pilot", "must have errors and successes, which show how much samples vary", came)
        if statistic == "auc" and evaluation.influence_note:
            rule = "must be one for which the formula of influences holds"
            raise InputError("pilot", rule, f"one{of_model} where {evaluation.influence_note}")
    first = next(iter(chosen.values()))
    if alone := _small(first, LEAST):
        raise InputError("pilot", f"must have at least {LEAST} samples of each class", _listed_counts(alone))
    if note := _note(first):
        warn(note, ResamplingWarning)


def _small(evaluation: Evaluation, least: int) -> dict[Any, int]:
    """Classes with some samples, but fewer than this."""
    counts = zip(evaluation.labels.tolist(), evaluation.class_counts.tolist(), strict=True)
    return {label: count for label, count in counts if 0 < count < least}


def _listed_counts(counts: dict[Any, int]) -> str:
    """The first classes with their numbers of samples."""
    more = f" and {len(counts) - LISTED_CLASSES} more" if len(counts) > LISTED_CLASSES else ""
    return ", ".join(f"{shown(label)} ({count})" for label, count in list(counts.items())[:LISTED_CLASSES]) + more


def _note(evaluation: Evaluation) -> str:
    """Why the plan is only a rough one."""
    small = _small(evaluation, _FEW_SAMPLES)
    if not small:
        return ""
    return (
        f"This plan is a rough guess: the pilot has fewer than {_FEW_SAMPLES} samples of some classes, "
        f"{_listed_counts(small)}, which say little about how much samples of these classes vary."
    )


def _forecast(chosen: dict[str, Evaluation], statistic: Statistic) -> Forecast:
    """Forecast by the influences of one model, or of two on the same samples."""
    evaluations = list(chosen.values())
    units = units_of(evaluations[0].fitted.samples, None)
    effective = evaluations[0].fitted.source.effective_counts
    spreads = [evaluation.uncertainty.spread(statistic, units) for evaluation in evaluations]
    areas = [AreaForecast.of(spread, effective) for spread in spreads]
    found: Forecast = areas[0]
    if len(areas) == 2:
        apart = moments_of(spreads[0].influences - spreads[1].influences, units)
        found = DifferenceForecast(areas[0], areas[1], apart)
    if found.moments.standard_error(found.sizes) < _NO_ERROR:
        rule = f"must have samples that change {STATISTIC_NAMES[statistic]}"
        came = "none" if len(areas) == 1 else "two models that rank the samples alike"
        raise InputError("pilot", rule, came)
    return found


def _planned(goal: PlanGoal, forecast: Forecast, sizes: IntArray, present: BoolArray) -> PlanPoint:
    half_width, power = goal.half_width_of(forecast, sizes), goal.power_of(forecast, sizes)
    return PlanPoint(_by_class(sizes, present), half_width, power)


def _current(goal: PlanGoal, forecast: Forecast, present: BoolArray) -> PlanPoint:
    """The pilot: its half width is known, its power is not."""
    half_width = forecast.half_width(forecast.sizes, goal.confidence_level)
    return PlanPoint(_by_class(forecast.sizes, present), half_width, goal.power_of(forecast, forecast.sizes))


def _by_class(values: Any, present: BoolArray) -> Any:
    """Numbers of the classes that have samples, with 0 for the others."""
    found = np.zeros(len(present), dtype=values.dtype)
    found[present] = values
    return found


def _two(names: list[str]) -> tuple[str, str] | None:
    return (names[0], names[1]) if len(names) == 2 else None
