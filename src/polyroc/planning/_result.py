"""Plan: how many samples it takes, and how sure a statistic is with them."""

from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from polyroc._inputs.arrays import FrameBackend, frame_of, plain
from polyroc._inputs.checks import InputError, shown
from polyroc._lib.limits import LISTED_CLASSES
from polyroc._lib.numbers import counted, gap, level, percent
from polyroc._lib.text import printable, wrapped
from polyroc._lib.typing import FloatArray, IntArray, LabelArray, Statistic
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, read_only
from polyroc._uncertainty.sizes import LEAST, Allocation, Forecast, PlanGoal, sizes_at

if TYPE_CHECKING:
    from polyroc.display import PlanDisplay

STATISTIC_NAMES: dict[Statistic, str] = {"auc": "D", "hand_till": "M", "mean_auc": "the area under the mean curve"}
# Letters of a line.
_WIDTH = 100


@dataclass(frozen=True)
class PlanText:
    """A plan in sentences."""

    plan: "Plan"

    def __str__(self) -> str:
        return "\n".join(wrapped(self.sentence, _WIDTH))

    @property
    def sentence(self) -> str:
        """All that is said, on one line."""
        plan, n_now = self.plan, self.plan.current.n_samples
        need = counted(plan.n_samples, "sample")
        if plan.is_enough and plan.n_samples > n_now:
            # Its interval happens to be narrow enough, or the plan is for other shares of the classes.
            what = f"{self._goal}, your {counted(n_now, 'sample')} are enough. {self._now}"
            told = f"{what} A new study needs about {need}. {self._by_class}. {self._assured}"
        elif plan.is_enough:
            what = f"{self._goal}, about {need} are enough (you have {n_now:,}). {self._by_class}."
            told = f"{what} {self._assured} {self._now}"
        else:
            what = f"{self._goal}, you need about {need} (you have {n_now:,}). {self._by_class}."
            following = f"The next sample should be of class {_quoted(plan.label_next)}: it lowers the variance most."
            told = f"{what} {self._assured} {self._now} {following}"
        return f"{told} {plan.note}".rstrip()

    @property
    def _assured(self) -> str:
        """How often the plan is enough, because a pilot knows the variance only roughly."""
        asked = self.plan.asked
        if asked.assurance is None:
            return "This is the estimate of the pilot: about half of such plans are too small."
        share = percent(asked.assurance)
        if asked.detect is None:
            return f"That is enough in {share} of such studies."
        return f"The probability is at least that in {share} of such plans."

    @property
    def subject(self) -> str:
        """The statistic or difference that is planned for."""
        name = STATISTIC_NAMES[self.plan.statistic]
        return name if self.plan.models is None else f"the difference in {name} between {self._models}"

    @property
    def _models(self) -> str:
        assert self.plan.models is not None
        return " and ".join(repr(printable(model)) for model in self.plan.models)

    @property
    def _goal(self) -> str:
        asked = self.plan.asked
        if asked.detect is None:
            ends = f"{level(asked.confidence_level)} interval of {self.subject}"
            return f"For a {ends} with half width {asked.half_width:g}"
        assert asked.power is not None
        name = STATISTIC_NAMES[self.plan.statistic]
        return (
            f"To detect a true difference of {asked.detect:g} in {name} between {self._models} with a probability of "
            f"{percent(asked.power)} (two-sided test at level {level(1 - asked.confidence_level)})"
        )

    @property
    def _now(self) -> str:
        power = self.plan.current.power
        if power is None:
            return f"The half width is {gap(self.plan.current.half_width)} now."
        return f"The probability is {percent(power)} now."

    @property
    def _by_class(self) -> str:
        classes = zip(self.plan.labels.tolist(), self.plan.class_counts.tolist(), strict=True)
        present = [(label, count) for label, count in classes if count > 0]
        if len(present) <= LISTED_CLASSES:
            return f"By class: {', '.join(f'{printable(label)}: {count:,}' for label, count in present)}"
        counts = [count for _, count in present]
        if min(counts) == max(counts):
            return f"Of each class: {min(counts):,}"
        return f"Of each class, from {min(counts):,} to {max(counts):,}"


def _quoted(label: Any) -> str:
    """A class inside a sentence: text in quotes, numbers as they are."""
    return repr(printable(label)) if isinstance(label, str) else printable(label)


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
        Half the width of the confidence interval: of the pilot itself, or at most, with the asked assurance, that of a
        study.
    power : float or None
        Probability, at least, that the test finds the difference; None for a plan without `detect`.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> planned = polyroc.plan(evaluation, half_width=0.003)
    >>> planned.current.n_samples, round(planned.current.half_width, 4)
    (899, 0.0043)
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
        How many of them are still to be collected: none if the pilot is enough.
    labels : ndarray of shape (n_classes,)
        The classes.
    label_next : object
        The class whose next sample lowers the variance most.
    half_width : float
        Half width of the interval with these samples, at most, with the asked assurance.
    power : float or None
        Probability with these samples, at least, that the test finds the difference; None without `detect`.
    planned, current : PlanPoint
        The numbers of samples that are needed and those of the pilot, each with its half width and power.
    sigma : ndarray of shape (n_classes,)
        By class: the statistic has the variance ``sum(sigma**2 / class_counts)``.
    statistic : {"auc", "hand_till", "mean_auc"}
        What is planned for.
    models : tuple of str or None
        The two models whose difference is planned for.
    asked : PlanGoal
        What was wanted: a half width, or a difference to detect and the power to do so; and with what assurance.
    note : str
        What makes the plan a rough one; else empty.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> planned = polyroc.plan(evaluation, half_width=0.003)
    >>> planned.half_width <= 0.003, planned.n_samples > evaluation.n_samples
    (True, True)
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
        needed = np.zeros_like(self.class_counts) if self.is_enough else self.class_counts
        return read_only(np.maximum(needed - self.current.class_counts, 0))

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
        """Half width of the interval with another number of samples, at most, with the asked assurance.

        Parameters
        ----------
        n_samples : float
            All samples, allocated to the classes as planned; fractions of samples of a class are not rounded.

        Returns
        -------
        float
            Half of the interval's width.
        """
        return self.asked.half_width_of(self.forecast, self._sizes(n_samples))

    @underflow_is_zero
    def power_at(self, n_samples: float) -> float:
        """Probability, at least, that the test finds the difference with another number of samples.

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

        The package `backend` must be installed.
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
        """The plan in sentences, as it is shown everywhere."""
        return PlanText(self)

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
