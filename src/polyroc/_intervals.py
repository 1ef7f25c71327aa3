"""From replicates of a statistic to its standard error, confidence interval and p value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from polyroc._records import Frozen
from polyroc._typing import FloatArray, IntervalKind
from polyroc._warnings import ResamplingWarning, warn

# Replicates that differ by less than this from the estimate are no different: those of the fast engine are in
# single precision.
_SAME = 1e-7


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Distribution(Frozen):
    """An estimate and its replicates; p values are about the statistic being 0."""

    estimate: float
    replicates: FloatArray
    resolution: float
    """Half the smallest step of the statistic: nearer to the ends of its range nothing can be told from them."""
    n_independent: int
    """How many independent observations of the whole statistic the sample holds at least."""
    influences: Callable[[], FloatArray] = field(repr=False)
    """What single samples, or blocks of them, add to the estimate; only "bca" asks for it."""
    lowest: float = 0.0
    """The least value that the statistic can have; the largest is 1."""

    @property
    def standard_error(self) -> float:
        """Standard deviation of the replicates."""
        return float(np.std(self.replicates, ddof=1))

    @property
    def never_varies(self) -> bool:
        """Whether every replicate repeats the estimate."""
        return bool(np.abs(self.replicates - self.estimate).max() < _SAME)

    def interval(self, confidence_level: float, kind: IntervalKind) -> Interval:
        """Confidence interval of one of four kinds."""
        if self.never_varies:
            return self._without_variation(confidence_level)
        tail = (1 - confidence_level) / 2
        if kind == "logit":
            centre, spread = self._on_logit_scale()
            ends = centre + spread * ndtri([tail, 1 - tail])
            low, high = self.lowest + (1 - self.lowest) * expit(ends)
        elif kind == "percentile":
            low, high = np.quantile(self.replicates, [tail, 1 - tail])
        elif kind == "basic":
            high, low = 2 * self.estimate - np.quantile(self.replicates, [tail, 1 - tail])
        else:
            low, high = np.quantile(self.replicates, self._bca_levels(ndtri([tail, 1 - tail])))
        return Interval(float(max(low, self.lowest)), float(min(high, 1.0)))

    def p_value(self, kind: IntervalKind) -> float:
        """Two-sided p value of 0: one minus the largest confidence level whose interval leaves 0 out."""
        if self.never_varies:
            # Only so much can be told from so many replicates.
            return 1.0 if abs(self.estimate) < _SAME else 2 / (len(self.replicates) + 1)
        if kind == "logit":
            centre, spread = self._on_logit_scale()
            at_zero = float(logit(-self.lowest / (1 - self.lowest)))
            return float(2 * ndtr(-abs(centre - at_zero) / spread))
        # The basic interval reflects the replicates at the estimate, so that 0 stands at twice the estimate.
        share = self._share_below(2 * self.estimate if kind == "basic" else 0.0)
        if kind == "bca":
            bias, acceleration = self._bias(), self._acceleration()
            distance = ndtri(share) - bias
            share = float(ndtr(distance / (1 + acceleration * distance) - bias))
        return float(min(1.0, 2 * min(share, 1 - share)))

    def _on_logit_scale(self) -> tuple[float, float]:
        """Estimate, and standard deviation of the replicates, as logits of their place between the two ends."""
        width = 1 - self.lowest
        least = self.resolution / width
        place = (np.append(self.replicates, self.estimate) - self.lowest) / width
        logits = logit(np.clip(place, least, 1 - least))
        return float(logits[-1]), float(np.std(logits[:-1], ddof=1))

    def _without_variation(self, confidence_level: float) -> Interval:
        """Where no replicate differs from the estimate, resampling cannot say how sure it is.

        At an end of the range, though, the sample can: m independent observations, none of which went wrong, are
        compatible with a share of right ones down to the m-th root of the tail probability (Clopper and Pearson).
        """
        reach = float(((1 - confidence_level) / 2) ** (1 / self.n_independent))
        what = f"All {len(self.replicates)} replicates equal the estimate, {round(self.estimate, 6):g}"
        at_end = self.lowest == 0 and min(abs(self.estimate), abs(1 - self.estimate)) < _SAME
        if at_end:
            warn(f"{what}; the interval is Clopper and Pearson's for {self.n_independent} tuples.", ResamplingWarning)
            return Interval(reach, 1.0) if self.estimate > 0.5 else Interval(0.0, 1.0 - reach)
        if self.lowest == 0:
            warn(f"{what}: resampling cannot say how sure it is; the interval is a single point.", ResamplingWarning)
        return Interval(self.estimate, self.estimate)

    def _bias(self) -> float:
        """Efron's z0: where the estimate stands among its replicates."""
        return float(ndtri(self._share_below(self.estimate)))

    def _share_below(self, value: float) -> float:
        """Share of replicates below a value, those equal to it counted half; never quite 0 or 1."""
        below = np.count_nonzero(self.replicates < value) + 0.5 * np.count_nonzero(self.replicates == value)
        return float((below + 0.5) / (len(self.replicates) + 1))

    def _acceleration(self) -> float:
        """Efron's a, a sixth of the skewness of the influences (Efron, 1987)."""
        influence = self.influences()
        scale = np.sum(influence**2)
        return float(np.sum(influence**3) / (6 * scale**1.5)) if scale > 0 else 0.0

    def _bca_levels(self, z: FloatArray) -> FloatArray:
        bias, acceleration = self._bias(), self._acceleration()
        levels: FloatArray = ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
        return levels


def logit_interval(estimate: float, standard_error: float, confidence_level: float) -> Interval:
    """Interval that is normal on the logit scale, from a standard error that a formula gave; a point at 0 and 1."""
    if standard_error == 0 or not 0 < estimate < 1:
        return Interval(estimate, estimate)
    reach = float(ndtri(0.5 + confidence_level / 2)) * standard_error / (estimate * (1 - estimate))
    low, high = expit(logit(estimate) + np.array([-reach, reach]))
    return Interval(float(low), float(high))


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's adjustment of several p values, each at least as large as that of any smaller one.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return adjusted
