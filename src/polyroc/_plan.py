"""plan(...): how many samples it takes for an interval of some width, or to detect a difference."""

from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from polyroc._comparison import Comparison
from polyroc._evaluation import Evaluation
from polyroc._inputs._checks import InputError, as_confidence_level, listed, one_of, shown
from polyroc._inputs._frames import FrameBackend, frame_of, plain
from polyroc._lib._typing import BoolArray, FloatArray, IntArray, LabelArray, Statistic
from polyroc._lib._warnings import ResamplingWarning, underflow_is_zero, warn
from polyroc._records import Frozen, read_only
from polyroc._texts._plan import STATISTIC_NAMES, PlanText
from polyroc._uncertainty._intervals import is_at_end
from polyroc._uncertainty._planning import (
    LEAST,
    Allocation,
    AreaForecast,
    DifferenceForecast,
    Forecast,
    PlanGoal,
    moments_of,
    next_class,
    shares_of,
    sizes_at,
    smallest_total,
    whole_sizes,
)
from polyroc._uncertainty._resampling import units_of

if TYPE_CHECKING:
    from polyroc.display import PlanDisplay

# Fewer samples of a class say little about its variance.
_FEW_SAMPLES = 10
# Less than this is rounding.
_NO_ERROR = 1e-12


@dataclass(frozen=True, eq=False)
class PlanPoint(Frozen):
    """How sure a statistic is with some numbers of samples.

    Attributes
    ----------
    class_counts : ndarray of shape (n_classes,)
        Samples of each class.
    n_samples : int
        All samples.
    half_width : float
        Half the width of the confidence interval.
    power : float or None
        Probability that the test finds the difference; None for a plan without `detect`.
    """

    class_counts: IntArray
    half_width: float
    power: float | None

    @property
    def n_samples(self) -> int:
        return int(self.class_counts.sum())


@dataclass(frozen=True, eq=False)
class Plan(Frozen):
    """Result of `plan`: how many samples of each class it takes.

    Attributes
    ----------
    n_samples : int
        Samples that are needed, those that there are included.
    class_counts : ndarray of shape (n_classes,)
        The same for each class, in the order of `labels`.
    missing : ndarray of shape (n_classes,)
        How many of them are still to be collected.
    labels : ndarray of shape (n_classes,)
        The classes.
    label_next : object
        The class whose next sample lowers the variance most.
    half_width : float
        Half width of the interval with these samples.
    power : float or None
        Probability with these samples that the test finds the difference; None without `detect`.
    planned, current : PlanPoint
        The numbers of samples that are needed and those of the pilot, each with its half width and power.
    sigma : ndarray of shape (n_classes,)
        By class: the statistic has the variance ``sum(sigma**2 / class_counts)``.
    statistic : {"auc", "hand_till", "mean_auc"}
        What is planned for.
    models : tuple of str or None
        The two models whose difference is planned for.
    asked : PlanGoal
        What was wanted: a half width, or a difference to detect and the power to do so.
    note : str
        What makes the plan a rough one; else empty.
    """

    statistic: Statistic
    models: tuple[str, str] | None
    asked: PlanGoal
    allocation: Allocation
    labels: LabelArray
    planned: PlanPoint
    current: PlanPoint
    sigma: FloatArray
    label_next: Any
    note: str
    forecast: Forecast = field(repr=False)
    shares: FloatArray = field(repr=False)
    """Of all samples, those of each class that has samples."""

    @property
    def n_samples(self) -> int:
        return self.planned.n_samples

    @property
    def class_counts(self) -> IntArray:
        return self.planned.class_counts

    @property
    def missing(self) -> IntArray:
        return read_only(np.maximum(self.class_counts - self.current.class_counts, 0))

    @property
    def half_width(self) -> float:
        return self.planned.half_width

    @property
    def power(self) -> float | None:
        return self.planned.power

    @property
    def is_enough(self) -> bool:
        """Whether the samples of the pilot already do it."""
        return self.asked.is_met(self.current.half_width, self.current.power)

    @underflow_is_zero
    def half_width_at(self, n_samples: float) -> float:
        """Half width of the interval with another number of samples, allocated to the classes as planned.

        Parameters
        ----------
        n_samples : float
            All samples; fractions of samples of a class are not rounded.

        Returns
        -------
        float
            Half of the interval's width.
        """
        return self.forecast.half_width(self._sizes(n_samples), self.asked.confidence_level)

    @underflow_is_zero
    def power_at(self, n_samples: float) -> float:
        """Probability that the test finds the difference with another number of samples.

        Parameters
        ----------
        n_samples : float
            As in `half_width_at`.

        Returns
        -------
        float
            Between 0 and 1.
        """
        found = self.asked.power_of(self.forecast, self._sizes(n_samples))
        if found is None:
            raise InputError("detect", "must be given to `plan`, because power is about a true difference")
        return found

    def _sizes(self, n_samples: Any) -> FloatArray:
        least = LEAST * len(self.shares)
        is_number = isinstance(n_samples, Real) and not isinstance(n_samples, bool)
        if not is_number or not least <= n_samples < np.inf:
            raise InputError("n_samples", f"must be a number of at least {least}, {LEAST} per class", shown(n_samples))
        return sizes_at(float(n_samples), self.shares)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        return {
            "statistic": self.statistic,
            "models": None if self.models is None else list(self.models),
            "asked": dict(vars(self.asked)),
            "allocation": self.allocation,
            "labels": plain(self.labels),
            "planned": _plain_point(self.planned),
            "current": _plain_point(self.current),
            "missing": plain(self.missing),
            "is_enough": self.is_enough,
            "label_next": plain(np.array([self.label_next], dtype=object))[0],
            "sigma": plain(self.sigma),
            "note": self.note,
            "sentence": self.text.sentence,
        }

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """One row for each class: samples there are, planned and missing, and sigma.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.
        """
        columns = {
            "class": self.labels,
            "current": self.current.class_counts,
            "planned": self.class_counts,
            "missing": self.missing,
            "sigma": self.sigma,
        }
        return frame_of(columns, backend)

    def plot(self, ax: Any = None, **kwargs: Any) -> "PlanDisplay":
        """Draw half width or power against the number of samples (needs ``polyroc[plot]``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **kwargs
            Further arguments of `polyroc.display.PlanDisplay.plot`.

        Returns
        -------
        PlanDisplay
            With `ax_`, `figure_` and `line_`.
        """
        # As in `Evaluation.plot`: whoever does not draw does not load it.
        from polyroc.display import PlanDisplay

        return PlanDisplay.from_plan(self).plot(ax, **kwargs)

    @property
    def text(self) -> PlanText:
        """What is said about the plan wherever it is shown."""
        return PlanText(
            statistic=self.statistic,
            models=self.models,
            **vars(self.asked),
            labels=self.labels.tolist(),
            planned=self.class_counts.tolist(),
            n_now=self.current.n_samples,
            half_width_now=self.current.half_width,
            power_now=self.current.power,
            is_enough=self.is_enough,
            label_next=self.label_next,
            note=self.note,
        )

    def __str__(self) -> str:
        return str(self.text)

    def __repr__(self) -> str:
        reached = f"half width {self.half_width:.2g}" if self.power is None else f"power {self.power:.2f}"
        return f"Plan({self.n_samples} samples, {self.current.n_samples} now, {reached}, {self.allocation!r})"


def _plain_point(point: PlanPoint) -> dict[str, Any]:
    return {
        "n_samples": point.n_samples,
        "class_counts": plain(point.class_counts),
        "half_width": point.half_width,
        "power": point.power,
    }


@underflow_is_zero
def plan(
    pilot: Evaluation | Comparison,
    *,
    half_width: float | None = None,
    detect: float | None = None,
    power: float = 0.8,
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
    goal = _as_goal(half_width, detect, power, as_confidence_level(confidence_level))
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
        planned=_point(goal, forecast, whole_sizes(total, shares), present),
        current=_point(goal, forecast, forecast.sizes, present),
        sigma=_by_class(np.sqrt(forecast.moments.variance), present),
        label_next=first.labels[present].tolist()[next_class(forecast)],
        note=_note(first),
        forecast=forecast,
        shares=shares,
    )


def _as_goal(half_width: Any, detect: Any, power: Any, level: float) -> PlanGoal:
    """One of the two things that can be wanted."""
    if (half_width is None) == (detect is None):
        came = "neither" if detect is None else "both"
        raise InputError("half_width", "or `detect` must be given, exactly one of them", came)
    if detect is None:
        return PlanGoal(level, half_width=_between(half_width, "half_width", 0, 0.5))
    alpha = round(1 - level, 12)
    return PlanGoal(level, detect=_between(detect, "detect", 0, 1), power=_between(power, "power", alpha, 1))


def _between(value: Any, name: str, low: float, high: float) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not low < value < high:
        raise InputError(name, f"must be a number between {low:g} and {high:g}", shown(value))
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
        ranked = evaluation.hand_till if statistic == "hand_till" else evaluation._mean_area
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
    """The first ten classes with their numbers of samples."""
    more = f" and {len(counts) - 10} more" if len(counts) > 10 else ""
    return ", ".join(f"{shown(label)} ({count})" for label, count in list(counts.items())[:10]) + more


def _note(evaluation: Evaluation) -> str:
    """What makes the plan a rough one."""
    small = _small(evaluation, _FEW_SAMPLES)
    if not small:
        return ""
    return (
        f"This plan is a rough guess: the pilot has fewer than {_FEW_SAMPLES} samples of some classes, "
        f"{_listed_counts(small)}, which say little about how much samples of these classes vary."
    )


def _forecast(chosen: dict[str, Evaluation], statistic: Statistic) -> Forecast:
    """What the influences of one model, or of two on the same samples, foretell."""
    evaluations = list(chosen.values())
    units = units_of(evaluations[0]._source, None)
    effective = evaluations[0]._source.effective_counts
    spreads = [evaluation._spread(statistic, units) for evaluation in evaluations]
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


def _point(goal: PlanGoal, forecast: Forecast, sizes: IntArray, present: BoolArray) -> PlanPoint:
    half_width, power = forecast.half_width(sizes, goal.confidence_level), goal.power_of(forecast, sizes)
    return PlanPoint(_by_class(sizes, present), half_width, power)


def _by_class(values: Any, present: BoolArray) -> Any:
    """Numbers of the classes that have samples, with 0 for the others."""
    found = np.zeros(len(present), dtype=values.dtype)
    found[present] = values
    return found


def _two(names: list[str]) -> tuple[str, str] | None:
    return (names[0], names[1]) if len(names) == 2 else None
