"""Cost of a rule from its cost on each sample: mean, standard error, interval."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, isinf, log, log10
from typing import Any, NamedTuple

import numpy as np

from polyroc._core.predicted import costs_of
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._records import Frozen, Predictions
from polyroc._uncertainty.delong import Moments
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import Units
from polyroc._uncertainty.unseen import Balance, Counted, one_sided, share_of_poisson


class CostEstimate(NamedTuple):
    """An expected cost per sample, or a difference of two, and how sure it is."""

    value: float
    standard_error: float
    interval: Interval


class Bounds(NamedTuple):
    """Range of what a sample of each class may cost under any rule."""

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


class Paid(NamedTuple):
    """Cost of a rule on each sample, and its range on others: over all classes that it predicts.

    A tuned rule is judged by offsets that were tuned without each fold. The deployed rule may predict a class that
    these never do, so its own predictions (`also`) count for the range.
    """

    costs: FloatArray
    """Shape (n,)."""
    low: FloatArray
    """Of a sample of each class, shape (k,)."""
    high: FloatArray

    @classmethod
    def of(cls, codes: IntArray, predicted: IntArray, costs: FloatArray, also: IntArray | None = None) -> "Paid":
        classes = np.unique(predicted) if also is None else np.union1d(predicted, also)
        made = costs[:, classes]
        return cls(costs_of(codes, predicted, costs), made.min(axis=1), made.max(axis=1))


@dataclass(frozen=True, eq=False)
class Judge(Frozen):
    """Samples by what they count for; the cost of a rule is sum over classes of prior * mean cost within the class."""

    codes: IntArray
    share: FloatArray
    """Weight of each sample within its class, shape (n,), sum 1 in each class."""
    prior: FloatArray
    """Weight of each class, shape (k,)."""
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

    def part(self, rows: IntArray) -> "Judge":
        """The same for some of the samples, whole groups of them."""
        codes, share = self.codes[rows], self.share[rows]
        kept, unit = np.unique(self.units.unit[rows], return_inverse=True)
        units = Units(unit, self.units.stratum[kept], self.units.are_groups)
        return replace(self, codes=codes, share=share / np.bincount(codes, share)[codes], units=units)

    @cached_property
    def weight(self) -> FloatArray:
        """Weight of each sample, shape (n,), sum 1."""
        weight: FloatArray = self.share * self.prior[self.codes]
        return weight

    @cached_property
    def heaviest(self) -> FloatArray:
        """Weight of the heaviest sample of each class, shape (k,); 0 for classes without samples."""
        found = np.zeros(len(self.prior))
        np.maximum.at(found, self.codes, self.weight)
        return found

    @cached_property
    def n_units(self) -> int:
        """Units of the smallest stratum."""
        sizes = self.units.sizes
        return int(sizes[sizes > 0].min())

    def mean(self, costs: FloatArray) -> float:
        """Cost of a rule, from its cost on each sample."""
        # Not by BLAS, whose threads would be in the way of ours.
        return float((self.weight * costs).sum())

    def cost(self, paid: Paid, bounds: Bounds, further: float = 0.0) -> CostEstimate:
        """The cost of a rule with its interval; `further` is a variance that the samples do not show."""
        value, balance = self.mean(paid.costs), self.balance(paid, bounds, further)
        error = float(np.sqrt(self._variance(paid.costs) + further))
        if not self.labels_are_random and np.array_equal(paid.low, paid.high):
            # The same for every sample of a class, whose prevalence is known.
            return CostEstimate(value, error, Interval(value, value))
        return CostEstimate(value, error, self._interval(value, balance, bounds))

    def difference(self, one: Paid, other: Paid, bounds: Bounds, further: float = 0.0) -> CostEstimate:
        """How much more one rule costs than another on the same samples."""
        apart = one.costs - other.costs
        error = float(np.sqrt(self._variance(apart) + further))
        balance = self.balance_of_two(one, other, further)
        return CostEstimate(self.mean(apart), error, self._interval(self.mean(apart), balance, bounds.apart))

    def balance(self, paid: Paid, bounds: Bounds, further: float = 0.0) -> Balance:
        """The cost above the least of each class."""
        excess = np.maximum(paid.costs - bounds.low[self.codes], 0.0)
        counted = self._counted(excess, self.unseen(paid.high - bounds.low))
        shown = self._variance(excess)
        # Where classes differ in their least cost, how many there are of each is a cost, too.
        further += max(0.0, self._variance(paid.costs) - shown)
        share = share_of_poisson(shown, counted.variance, self.n_units)
        return Balance(counted, share=float(share), further=further)

    def balance_of_two(self, one: Paid, other: Paid, further: float = 0.0) -> Balance:
        """The samples on which one rule costs more, and those on which the other does."""
        apart = one.costs - other.costs
        together = self.together(apart)
        unseen = (together * self.unseen(one.high - other.low), together * self.unseen(other.high - one.low))
        more, less = one_sided(self.units.sums(self.weight * apart), *unseen)
        share = share_of_poisson(self._variance(apart), more.variance + less.variance, self.n_units)
        return Balance(more, less, share=float(share), further=further)

    def unseen(self, reach: FloatArray) -> float:
        """Largest effect of a single mistake, if a sample of each class may cost this much more, shape (k,)."""
        return max(0.0, float((self.heaviest * reach).max()))

    def together(self, costs: FloatArray) -> float:
        """How many samples of a group are mistaken together, by the squares of the sums of the groups.

        If no sample costs anything, whole groups.
        """
        if not self.units.are_groups:
            return 1.0
        found = self.weight * (costs if np.any(costs != 0) else 1.0)
        return float((self.units.sums(found) ** 2).sum() / (found**2).sum())

    def _counted(self, excess: FloatArray, unseen: float) -> Counted:
        sums = self.units.sums(self.weight * excess)
        return Counted(float(sums.sum()), float((sums**2).sum()), self.together(excess) * unseen)

    def _interval(self, value: float, balance: Balance, bounds: Bounds) -> Interval:
        """Within what rules can cost."""
        below, above = balance.reaches(self.confidence_level)
        low, high = float(self.prior @ bounds.low), float(self.prior @ bounds.high)
        if self.labels_are_random:
            occurs = self.prior > 0
            low, high = float(bounds.low[occurs].min()), float(bounds.high[occurs].max())
        # The value itself lies within the bounds, but for rounding.
        return Interval(max(value - float(below), min(low, value)), min(value + float(above), max(high, value)))

    def _variance(self, costs: FloatArray) -> float:
        """Variance of a mean cost, as the samples show it."""
        sizes = np.bincount(self.units.stratum)
        shown = self._moments(self._influences(costs, self.mean(costs)), sizes).standard_error(sizes)
        # What is left by rounding where a rule costs the same on every sample.
        return 0.0 if shown <= 1e-13 * float(np.abs(costs).max(initial=0.0)) else shown**2

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
        """Influence of each sample: about the mean of all if labels are random too, else about that of its class."""
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


@dataclass(frozen=True)
class UnseenMistake:
    """A mistake that no sample shows, and that makes up most of the width of the cost interval.

    Attributes
    ----------
    true_class, predicted_class : object
        A sample of the first is predicted as the second.
    cost : float
        What it costs more than the cheapest prediction for the true class.
    may_add : float
        What this mistake alone may add to the cost per sample, because its absence is compatible with it.
    n_samples : int or None
        Samples from which on it no longer makes up most of the width, if it is not seen in these either and other
        mistakes stay as frequent. None for more than a million times as many.
    """

    true_class: Any
    predicted_class: Any
    cost: float
    may_add: float
    n_samples: int | None


def unseen_mistake(
    judge: Judge, predicted: IntArray, costs: FloatArray, paid: Paid, labels: LabelArray, also: IntArray | None = None
) -> UnseenMistake | None:
    """The most expensive mistake that a rule may make, if it is not seen and decides the interval.

    `also` are the predictions of the deployed rule, if others are judged.
    """
    bounds, k = Bounds.of(costs), len(labels)
    balance = judge.balance(paid, bounds)
    if not balance.is_mostly_unseen(judge.confidence_level):
        return None
    # Of a sample of each class, for each prediction that the rule makes; to abstain is no mistake.
    reach = judge.heaviest[:, np.newaxis] * (costs - bounds.low[:, np.newaxis])
    cells = [judge.codes * costs.shape[1] + one for one in (predicted, also) if one is not None]
    counts = np.bincount(np.concatenate(cells), minlength=costs.size).reshape(costs.shape)
    is_open = (counts == 0) & (counts.sum(axis=0) > 0) & (reach >= reach[:, counts.sum(axis=0) > 0].max() * (1 - 1e-9))
    is_open[:, k:] = False
    if not is_open.any():
        return None
    true, column = (int(place) for place in np.argwhere(is_open)[0])
    # None of n: at most - log(tail) of them are expected (3.7 at 95 %).
    most = -log((1 - judge.confidence_level) / 2)
    return UnseenMistake(
        true_class=labels.tolist()[true],
        predicted_class=labels.tolist()[column],
        cost=float(costs[true, column] - bounds.low[true]),
        may_add=most * balance.more.unseen,
        n_samples=as_size(len(judge.codes), balance.times_to_see(judge.confidence_level)),
    )


def as_size(n_samples: int, times: float) -> int | None:
    """Number of samples times a factor, in two digits, rounded up; None for infinitely many.

    >>> as_size(200, 9.87), as_size(200, float("inf"))
    (2000, None)
    """
    if isinf(times):
        return None
    size = n_samples * times
    unit = 10 ** max(0, int(log10(size)) - 1) if size < inf else 1
    return int(unit * ceil(size / unit))
