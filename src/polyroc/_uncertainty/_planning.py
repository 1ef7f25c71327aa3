"""How sure a statistic will be with other numbers of samples: what its influences in a pilot foretell.

Within a class samples are independent, so that the variance of a statistic is the sum of sigma_c^2 / n_c over the
classes, and a pilot knows sigma_c. The other terms of an interval (`_logit_scale`) follow from the sizes as well: bias
and shrinkage go with 1 / n, degrees of freedom come from the moments of the influences. So the interval of another
sample is computed by the formula of this one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit, logit, ndtr, stdtrit

from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen
from polyroc._uncertainty import _logit_scale
from polyroc._uncertainty._delong import Moments
from polyroc._uncertainty._influence import Spread, error_at, place_of
from polyroc._uncertainty._logit_scale import EDGE, Reach, unseen_error

Allocation: TypeAlias = Literal["same", "equal", "optimal"]

# One sample has no variance.
LEAST = 2
# Nobody has more samples than this.
MOST = 1e12


@dataclass(frozen=True, eq=False)
class _State:
    """A statistic at other class sizes: what `Spread` is at those of the pilot."""

    estimate: float
    error: float
    mean: float | None
    unshrunk: float | None

    def corrected(self) -> tuple[float, float]:
        return _logit_scale.corrected(self.estimate, self.error, self.mean)


@dataclass(frozen=True, eq=False)
class AreaForecast(Frozen):
    """The interval of an area at any class sizes, from a pilot of other sizes."""

    spread: Spread
    moments: Moments
    """Of the classes that have samples."""
    sizes: IntArray
    """Samples of these classes in the pilot."""
    efficiency: FloatArray
    """How many samples of equal weight one of each class stands for."""

    def half_width(self, sizes: Any, confidence_level: float) -> float:
        state = self.state(sizes)
        least = max(1.0, float(np.min(sizes * self.efficiency)))
        unseen = unseen_error(self.spread.n_classes, least)
        reach = Reach.of(confidence_level, self.moments.freedom(sizes), unseen)
        low, high = _logit_scale.ends(state.estimate, state.error, reach, mean=state.mean, unshrunk=state.unshrunk)
        return float(high - low) / 2

    def state(self, sizes: Any) -> _State:
        """The statistic, its standard error and its bias, on the logit scale as in the pilot.

        The bias of the pilot is in its estimate. With more samples that comes nearer to what the bias leaves.
        """
        pilot = self.spread
        ratio = float(np.mean(1 / sizes) / np.mean(1 / self.sizes))
        before = float(np.clip(pilot.estimate, EDGE, 1 - EDGE))
        biased = place_of(before, pilot.bias[0])
        shift = 0.0 if biased is None else float(logit(biased) - logit(before))
        estimate = float(expit(logit(before) - (1 - ratio) * shift))
        slope = estimate * (1 - estimate) / (before * (1 - before))
        mean = place_of(estimate, ratio * shift * estimate * (1 - estimate))
        error = np.hypot(self.moments.standard_error(sizes) * slope, pilot.pair_error)
        error = float(np.hypot(error, ratio * pilot.bias[1] * slope))
        shrinkage = 0.0 if pilot.unshrunk is None else ratio * slope * (pilot.unshrunk - pilot.estimate)
        unshrunk = None if pilot.unshrunk is None else estimate + shrinkage
        return _State(estimate, error_at(mean, estimate, error), mean, unshrunk)


@dataclass(frozen=True, eq=False)
class DifferenceForecast(Frozen):
    """The paired test of two models, and the interval of their difference, at any class sizes."""

    first: AreaForecast
    second: AreaForecast
    moments: Moments
    """Of the influences of the first model less those of the second."""

    def half_width(self, sizes: Any, confidence_level: float) -> float:
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
        quantile = -float(stdtrit(self.moments.freedom(sizes), (1 - confidence_level) / 2))
        return quantile * float(np.hypot(noise, shrinkage)), noise


Forecast: TypeAlias = AreaForecast | DifferenceForecast


def shares_of(allocation: Allocation, sizes: IntArray, moments: Moments) -> FloatArray:
    """Share of each class of all samples."""
    if allocation == "same":
        parts = sizes.astype(float)
    elif allocation == "equal":
        parts = np.ones(len(sizes))
    else:
        # Neyman (1934): for a given total the sum of sigma_c^2 / n_c is smallest so.
        parts = np.sqrt(moments.variance)
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


def smallest_total(is_enough: Callable[[float], bool], start: float, least: float) -> float | None:
    """The smallest total that is enough, as near to `start` as there is one; None where not even MOST is."""
    low = high = start
    while not is_enough(high):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while low > least and is_enough(low):
        low, high = max(least, low / 2), low
    if is_enough(low):
        return low
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def next_class(moments: Moments, sizes: IntArray) -> int:
    """The class whose next sample lowers the variance most: sigma^2 / n - sigma^2 / (n + 1)."""
    return int(np.argmax(moments.variance / (sizes * (sizes + 1.0))))
