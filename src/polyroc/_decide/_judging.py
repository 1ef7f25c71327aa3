"""What a rule costs, from what it costs on each sample: mean, standard error, interval."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions
from polyroc._uncertainty._delong import Moments
from polyroc._uncertainty._intervals import Interval
from polyroc._uncertainty._resampling import Units


class CostEstimate(NamedTuple):
    """An expected cost per sample, or a difference of two, and how sure it is."""

    value: float
    standard_error: float
    interval: Interval


class Bounds(NamedTuple):
    """What a sample of each class may cost, or cost more under one rule than under another."""

    low: FloatArray
    """Shape (k,)."""
    high: FloatArray

    @classmethod
    def of(cls, costs: FloatArray) -> "Bounds":
        return cls(costs.min(axis=1), costs.max(axis=1))

    @property
    def apart(self) -> "Bounds":
        """The same for the difference of two rules."""
        return Bounds(self.low - self.high, self.high - self.low)


@dataclass(frozen=True, eq=False)
class Judge(Frozen):
    """Samples by what they count for; the cost of a rule is sum over classes of prior * mean cost within the class."""

    codes: IntArray
    share: FloatArray
    """What each sample counts for within its class, shape (n,), sum 1 in each class."""
    prior: FloatArray
    """What each class counts for, shape (k,)."""
    units: Units
    labels_are_random: bool
    """Whether the prior is the prevalence of these samples, and as uncertain as that."""
    confidence_level: float

    @classmethod
    def of(cls, predictions: Predictions, prior: FloatArray | None, units: Units, confidence_level: float) -> "Judge":
        """For the prior where the rule will be used; None for the prevalence of the samples."""
        weight = predictions.sample_weight
        weight = np.ones(predictions.n_samples) if weight is None else weight
        labels_are_random = prior is None
        return cls(
            codes=predictions.codes,
            share=weight / predictions.class_weights[predictions.codes],
            prior=predictions.class_weights / predictions.class_weights.sum() if prior is None else prior,
            units=_judged_units(units) if labels_are_random else units,
            labels_are_random=labels_are_random,
            confidence_level=confidence_level,
        )

    @cached_property
    def weight(self) -> FloatArray:
        """What each sample counts for, shape (n,), sum 1."""
        weight: FloatArray = self.share * self.prior[self.codes]
        return weight

    def mean(self, costs: FloatArray) -> float:
        """Cost of a rule, from its cost on each sample."""
        # Not by BLAS, whose threads would be in the way of ours.
        return float((self.weight * costs).sum())

    def estimate(self, costs: FloatArray, further: float = 0.0, bounds: Bounds | None = None) -> CostEstimate:
        """The cost with its interval, by Student's t; `further` is a variance that the samples do not show.

        The interval stays within the bounds, if given. Without them, costs that do not vary are taken to be known.
        """
        value = self.mean(costs)
        sizes = np.bincount(self.units.stratum)
        moments = self._moments(self._influences(costs, value), sizes)
        shown = moments.standard_error(sizes)
        # What is left by rounding where a rule costs the same on every sample.
        if shown <= 1e-13 * float(np.abs(costs).max(initial=0.0)):
            shown = 0.0
        error = float(np.hypot(shown, np.sqrt(further)))
        reach = error * -float(stdtrit(moments.freedom(sizes), (1 - self.confidence_level) / 2)) if error > 0 else 0.0
        below = above = reach
        if bounds is not None and shown == 0:
            below, above = np.maximum(reach, self._unseen(costs, bounds, int(sizes[sizes > 0].min()))).tolist()
        return CostEstimate(value, error, self._within(Interval(value - below, value + above), value, bounds))

    def _unseen(self, costs: FloatArray, bounds: Bounds, n_units: int) -> tuple[float, float]:
        """How far below and above the truth may lie where no sample costs more or less than the others of its class.

        None of m units costs anything else: that is compatible with a share of others of up to 1 minus the m-th root of
        the tail probability (Clopper and Pearson), each of which costs as little or as much as a sample can.
        """
        share = 1 - ((1 - self.confidence_level) / 2) ** (1 / n_units)
        means, occurs = np.bincount(self.codes, self.share * costs, minlength=len(self.prior)), self.prior > 0
        below, above = (means - bounds.low)[occurs].max(), (bounds.high - means)[occurs].max()
        return share * max(0.0, float(below)), share * max(0.0, float(above))

    def _within(self, interval: Interval, value: float, bounds: Bounds | None) -> Interval:
        if bounds is None:
            return interval
        low, high = float(self.prior @ bounds.low), float(self.prior @ bounds.high)
        if self.labels_are_random:
            occurs = self.prior > 0
            low, high = float(bounds.low[occurs].min()), float(bounds.high[occurs].max())
        # The value itself lies within the bounds, but for rounding.
        return Interval(max(interval.low, min(low, value)), min(interval.high, max(high, value)))

    def _moments(self, influences: FloatArray, sizes: IntArray) -> Moments:
        """As `Moments.of`, in fewer passes where every sample is a unit of its own."""
        if self.units.are_groups:
            return Moments.of(influences, self.units)
        u = np.maximum(sizes, 2).astype(float)
        if len(sizes) == 1:
            alone = (influences - influences.mean()) * u[0]
            squares = alone * alone
            return Moments(np.array([squares.sum()]) / (u - 1), np.array([squares @ squares]) / u)
        stratum = self.units.stratum
        mean = np.bincount(stratum, influences) / np.maximum(sizes, 1)
        alone = (influences - mean[stratum]) * u[stratum]
        squares = alone * alone
        return Moments(np.bincount(stratum, squares) / (u - 1), np.bincount(stratum, squares * squares) / u)

    def _influences(self, costs: FloatArray, value: float) -> FloatArray:
        """What each sample adds: about the mean of all where labels are random too, else about that of its class."""
        if self.labels_are_random:
            return self.weight * (costs - value)
        means = np.bincount(self.codes, self.share * costs, minlength=len(self.prior))
        return self.weight * (costs - means[self.codes])


def _judged_units(units: Units) -> Units:
    """Where the prior is not known, units vary all together and not within their classes."""
    return Units(units.unit, np.zeros(units.n_units, dtype=np.intp), units.are_groups)


def tuning_variance(gap: float, n_offsets: int, n_folds: int) -> float:
    """Variance of what the tuned offsets truly cost, over the samples that they might have been tuned on.

    Offsets tuned on few samples miss the best ones, and cost more by a quadratic form of as many errors as there are
    free offsets. On average the tuned cost is as much too low on its own samples as the true one is above the least
    (as in Akaike's criterion). Without one of K folds, the excess is K / (K - 1) times as large. So the gap between
    the cross-fitted cost and that on its own samples is 1 + K / (K - 1) times the mean excess. A sum of m squares of
    normal errors has a standard deviation of sqrt(2 / m) of its mean.
    """
    excess = max(0.0, gap) / (1 + n_folds / (n_folds - 1))
    return excess**2 * 2 / n_offsets
