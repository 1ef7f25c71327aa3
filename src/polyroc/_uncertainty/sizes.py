"""How sure a statistic will be with other numbers of samples: what its influences in a pilot foretell.

Within a class samples are independent, so that the variance of a statistic is the sum of sigma_c^2 / n_c over the
classes, and a pilot knows sigma_c. The other terms of an interval (`intervals`) follow from the sizes as well: bias
and shrinkage go with 1 / n, degrees of freedom come from the moments of the influences. So the interval of another
sample is computed by the formula of this one.

A pilot knows sigma_c only roughly, and a study finds a standard error of its own. Their ratio has about an F
distribution, with the degrees of freedom of both; and the pilot may have missed one error, as in an interval.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import chdtri, expit, fdtri, logit, ndtr, stdtrit

from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen
from polyroc._uncertainty.delong import Moments
from polyroc._uncertainty.influence import Spread, error_at, place_of
from polyroc._uncertainty.intervals import EDGE, UNSEEN_BOUND, Reach, logit_corrected, logit_ends, unseen_error
from polyroc._uncertainty.units import AnyUnits, sampled_units

Allocation: TypeAlias = Literal["same", "equal", "optimal"]

# One sample has no variance.
LEAST = 2
# Nobody has more samples than this.
MOST = 1e12
# Of a ratio of at most 2: to the last digit.
_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class _State:
    """A statistic at other class sizes: what `Spread` is at those of the pilot."""

    estimate: float
    error: float
    mean: float | None
    unshrunk: float | None

    def corrected(self) -> tuple[float, float]:
        return logit_corrected(self.estimate, self.error, self.mean)


@dataclass(frozen=True, eq=False)
class AreaForecast(Frozen):
    """The interval of an area at any class sizes, from a pilot of other sizes; classes without samples are left out."""

    moments: Moments
    sizes: IntArray
    """Samples of each class in the pilot."""
    efficiency: FloatArray
    """How many samples of equal weight one of each class stands for."""
    estimate: float
    bias: tuple[float, float]
    unshrunk: float | None
    pair_error: float

    @classmethod
    def of(cls, spread: Spread, effective: FloatArray) -> "AreaForecast":
        """From the sureness of the pilot, by classes, and Kish's effective number of samples of each class."""
        counts = np.bincount(sampled_units(spread.units).stratum, minlength=len(effective))
        return cls(
            moments=moments_of(spread.influences, spread.units),
            sizes=counts[counts > 0],
            efficiency=effective[counts > 0] / counts[counts > 0],
            estimate=float(np.clip(spread.estimate, EDGE, 1 - EDGE)),
            bias=spread.bias,
            unshrunk=spread.unshrunk,
            pair_error=spread.pair_error,
        )

    def scaled(self, ratio: float) -> "AreaForecast":
        """The same with standard errors of the influences multiplied by a ratio."""
        return replace(self, moments=self.moments.scaled(ratio))

    def half_width(self, sizes: Any, confidence_level: float) -> float:
        """Half the width of the interval with this many samples of each class."""
        state = self.state(sizes)
        least = max(1.0, float(np.min(sizes * self.efficiency)))
        reach = Reach.of(confidence_level, self.moments.freedom(sizes), unseen_error(len(self.sizes), least))
        low, high = logit_ends(state.estimate, state.error, reach, mean=state.mean, unshrunk=state.unshrunk)
        return float(high - low) / 2

    def state(self, sizes: Any) -> _State:
        """The statistic, its standard error and its bias, each moved from the pilot as an interval moves them.

        The bias of the pilot is in its estimate; with more samples less of it is.
        """
        ratio = float(np.mean(1 / sizes) / np.mean(1 / self.sizes))
        biased = place_of(self.estimate, self.bias[0])
        shift = 0.0 if biased is None else float(logit(biased) - logit(self.estimate))
        estimate = float(expit(logit(self.estimate) - (1 - ratio) * shift))
        slope = estimate * (1 - estimate) / (self.estimate * (1 - self.estimate))
        mean = None if biased is None else float(expit(logit(estimate) + ratio * shift))
        error = float(np.hypot(self.moments.standard_error(sizes), ratio * self.bias[1]))
        error = float(np.hypot(error_at(estimate, self.estimate, error), self.pair_error))
        unshrunk = None if self.unshrunk is None else estimate + ratio * slope * (self.unshrunk - self.estimate)
        return _State(estimate, error_at(mean, estimate, error), mean, unshrunk)


@dataclass(frozen=True, eq=False)
class DifferenceForecast(Frozen):
    """The paired test of two models, and the interval of their difference, at any class sizes."""

    first: AreaForecast
    second: AreaForecast
    moments: Moments
    """Of the influences of the first model less those of the second."""

    @property
    def sizes(self) -> IntArray:
        """Samples of each class in the pilot."""
        return self.first.sizes

    @property
    def efficiency(self) -> FloatArray:
        """How many samples of equal weight one of each class stands for."""
        return self.first.efficiency

    def scaled(self, ratio: float) -> "DifferenceForecast":
        """The same with standard errors of the influences multiplied by a ratio."""
        return DifferenceForecast(self.first.scaled(ratio), self.second.scaled(ratio), self.moments.scaled(ratio))

    def half_width(self, sizes: Any, confidence_level: float) -> float:
        """Half the width of the interval of the difference."""
        return self._reach(sizes, confidence_level)[0]

    def power(self, sizes: Any, confidence_level: float, difference: float) -> float:
        """How often the test finds a true difference of this size."""
        reach, noise = self._reach(sizes, confidence_level)
        return float(ndtr((difference - reach) / noise) + ndtr((-difference - reach) / noise))

    def _reach(self, sizes: Any, confidence_level: float) -> tuple[float, float]:
        """How far the interval reaches to either side, and the standard error of its centre (`_paired`)."""
        one, two = self.first.state(sizes), self.second.state(sizes)
        plain = self.moments.standard_error(sizes)
        alone = [forecast.moments.standard_error(sizes) for forecast in (self.first, self.second)]
        (_, error_one), (_, error_two) = one.corrected(), two.corrected()
        common = alone[0] ** 2 + alone[1] ** 2 - plain**2
        both = 2 * alone[0] * alone[1]
        covariance = common / both * error_one * error_two if both > 0 else 0.0
        noise = float(np.sqrt(max(error_one**2 + error_two**2 - 2 * covariance, plain**2)))
        shrinkage = 0.0
        if one.unshrunk is not None and two.unshrunk is not None:
            shrinkage = (one.unshrunk - two.unshrunk) - (one.estimate - two.estimate)
        # Those of the test (`p_values.Once`).
        quantile = -float(stdtrit(self.moments.normal_freedom(sizes), (1 - confidence_level) / 2))
        return quantile * float(np.hypot(noise, shrinkage)), noise


def moments_of(influences: FloatArray, units: AnyUnits) -> Moments:
    """Moments of the classes that have samples."""
    found, counts = Moments.of(influences, units), units.sizes
    return Moments(found.variance[counts > 0], found.fourth[counts > 0])


Forecast: TypeAlias = AreaForecast | DifferenceForecast


def assured(forecast: Forecast, sizes: Any, assurance: float | None, *, is_estimated: bool) -> Forecast:
    """The forecast with standard errors that are not exceeded at these sizes with a probability of `assurance`.

    The standard error that a study estimates (`is_estimated`), or the true one. None is the forecast itself.
    """
    if assurance is None:
        return forecast
    error = forecast.moments.standard_error(sizes)
    # An error that the pilot just missed occurs n / n_c times in n samples of its class, n_c being those of the pilot.
    least = np.min(np.sqrt(sizes * forecast.sizes) * forecast.efficiency)
    missed = min(unseen_error(len(forecast.sizes), float(least)), UNSEEN_BOUND * error)
    # Of the same sum of variances: influences of the pilot, each with the share that its class has in the study.
    pilot = forecast.moments.scaled(np.sqrt(forecast.sizes / sizes)).freedom(forecast.sizes)
    if is_estimated:
        ratio = float(fdtri(forecast.moments.freedom(sizes), pilot, assurance))
    else:
        ratio = pilot / float(chdtri(pilot, assurance))
    return forecast.scaled(float(np.sqrt(ratio)) * float(np.hypot(error, missed)) / error)


@dataclass(frozen=True)
class PlanGoal:
    """What a sample shall be large enough for: an interval of some half width, or to detect a difference.

    Attributes
    ----------
    confidence_level : float
        Of the interval; the test has the level 1 - `confidence_level`.
    half_width : float or None
        Half the width of the interval, at most.
    detect : float or None
        A true difference between two models.
    power : float or None
        Probability that the test finds that difference, at least.
    assurance : float or None
        Probability that a study of the planned size has this half width, or that its power is this; None to plan by
        the estimates of the pilot.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> planned = polyroc.plan(evaluation, half_width=0.003)
    >>> planned.asked.half_width, planned.asked.assurance
    (0.003, 0.8)
    """

    confidence_level: float
    half_width: float | None = None
    detect: float | None = None
    power: float | None = None
    assurance: float | None = None

    def half_width_of(self, forecast: Forecast, sizes: Any) -> float:
        """Half width that a study does not exceed with the asked assurance."""
        return assured(forecast, sizes, self.assurance, is_estimated=True).half_width(sizes, self.confidence_level)

    def power_of(self, forecast: Forecast, sizes: Any) -> float | None:
        """Probability that the test finds the difference, at least; None if none is to be detected."""
        careful = assured(forecast, sizes, self.assurance, is_estimated=False)
        if self.detect is None or isinstance(careful, AreaForecast):
            return None
        return careful.power(sizes, self.confidence_level, self.detect)

    def is_met(self, half_width: float, power: float | None) -> bool:
        """Whether a sample of this half width and power is large enough."""
        if self.power is None or power is None:
            return self.half_width is not None and half_width <= self.half_width
        return power >= self.power

    def is_met_by(self, forecast: Forecast, sizes: Any) -> bool:
        """Whether a sample of these class sizes is large enough."""
        return self.is_met(self.half_width_of(forecast, sizes), self.power_of(forecast, sizes))


def shares_of(allocation: Allocation, forecast: Forecast) -> FloatArray:
    """Share of each class of all samples."""
    if allocation == "same":
        parts = forecast.sizes.astype(float)
    elif allocation == "equal":
        parts = np.ones(len(forecast.sizes))
    else:
        # Neyman (1934): for a given total the sum of sigma_c^2 / n_c is smallest so.
        parts = np.sqrt(forecast.moments.variance)
    found: FloatArray = parts / parts.sum()
    return found


def sizes_at(total: float, shares: FloatArray) -> FloatArray:
    """Class sizes of a total, fractions of samples among them; none below the least."""
    sizes: FloatArray = np.maximum(total * shares, float(LEAST))
    return sizes


def whole_sizes(total: float, shares: FloatArray) -> IntArray:
    """The same in whole samples, rounded up."""
    # Rounding errors of the search must not add a sample.
    sizes: IntArray = np.ceil(sizes_at(total, shares) * (1 - 1e-9)).astype(np.int64)
    return sizes


def smallest_total(goal: PlanGoal, forecast: Forecast, shares: FloatArray) -> float | None:
    """The smallest number of samples that meets a goal, found from the pilot's on; None where not even MOST do."""
    least = float(LEAST * len(shares))
    low = high = max(least, float(forecast.sizes.sum()))
    while not goal.is_met_by(forecast, sizes_at(high, shares)):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while low > least and goal.is_met_by(forecast, sizes_at(low, shares)):
        low, high = max(least, low / 2), low
    if goal.is_met_by(forecast, sizes_at(low, shares)):
        return low
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        is_met = goal.is_met_by(forecast, sizes_at(middle, shares))
        low, high = (low, middle) if is_met else (middle, high)
    return high


def next_class(forecast: Forecast) -> int:
    """The class whose next sample lowers the variance most: sigma^2 / n - sigma^2 / (n + 1)."""
    return int(np.argmax(forecast.moments.variance / (forecast.sizes * (forecast.sizes + 1.0))))
