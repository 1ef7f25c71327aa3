"""From replicates of a statistic to its standard error, confidence interval and p value.

Intervals on the logit scale, for areas and other numbers between 0 and 1 (docs/method.md, uncertainty).

Near 1 an area is one minus a sum of rare errors, and the logit of such a sum is nearly normal. Four things keep the
plain delta method from covering as often as it says. Each has its term here, found on settings of docs/coverage.md.

1. *Bias.* A fitted area is too large on average, and its replicates show most of that: they are larger still. The
   centre is moved by as much to the other side, and the delta method is used at the mean of the replicates.
2. *Shrinkage* is a bias that no replicate shows. The same fit without it says how large that may be.
3. *Few samples carry the variance.* Then the standard error is itself uncertain. Towards the nearer end of the range
   Student's t distribution stands for that, with the degrees of freedom that the influences' fourth moments give.
4. *Errors that no sample shows.* Towards the middle of the range, one more sample of the smallest class may go wrong.
   This is the idea of Fay and Feuer (1997) for weighted sums of rare counts. Where few errors were seen, a single one
   more may be worth more than all of them, and its term here is bounded by these. So the interval reaches at least as
   far as theirs, with one more error in some class: a gamma distribution with the mean and the variance of the sum.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, gammainccinv, logit, ndtr, ndtri, stdtr, stdtrit

from polyroc._lib.numbers import counted
from polyroc._lib.typing import FloatArray, IntervalKind
from polyroc._lib.warnings import ResamplingWarning, warn
from polyroc._records import Frozen

# Nearer to an end than this is at the end.
EDGE = 1e-12
# An unseen error counts at most this share of all errors seen: where nearly none were seen it would be everything.
UNSEEN_BOUND = 0.9
# Of the comparisons of an unseen error where few were seen. With 0.125, models with 0.5 % of wrong labels covered 86 %
# (with 0.15 it is 92 %); with 0.25 the interval of D = 0.999 was 1.8 times as wide as without (1.2 times).
RARE_SHARE = 0.15
# Of c errors the logit has a standard error of about 1 / sqrt(c), more than this only of a number nearer to an end than
# its own standard error, whose logit says nothing.
_MOST_SPREAD = 2.0
# A fit without shrinkage may run away; more than this on the logit scale says only that it did.
_MOST_SHRINKAGE = 2.0


@dataclass(frozen=True)
class Reach:
    """How many standard errors an interval reaches, and what the standard error does not know."""

    normal: float
    """Quantile of the normal distribution."""
    student: float
    """Quantile of Student's t distribution: that of few samples, which carry the variance."""
    unseen: float
    """What one more wrong sample would cost."""
    rare: float = 0.0
    """What one more wrong sample of some class would cost, where few errors were seen; 0 to leave that out."""

    @classmethod
    def of(cls, confidence_level: float, freedom: float, unseen: float, rare: float = 0.0) -> "Reach":
        tail = (1 - confidence_level) / 2
        return cls(-float(ndtri(tail)), -float(stdtrit(freedom, tail)), unseen, rare)


def unseen_error(n_classes: int, least_class: float) -> float:
    """What one more sample of the smallest class costs in the mean over pairs, with a quarter of its comparisons wrong.

    A sample takes part in 2 (k - 1) of the k (k - 1) pairs, and is 1 / n of its class in each.
    """
    return 0.25 * 2 / (n_classes * least_class)


def rare_error(n_classes: int, rare_class: float) -> float:
    """The same of some class, with the share of its comparisons wrong that Fay and Feuer's interval takes."""
    return RARE_SHARE * 2 / (n_classes * rare_class)


def logit_ends(
    estimate: Any, error: Any, reach: Reach, *, mean: Any = None, unshrunk: Any = None
) -> tuple[FloatArray, FloatArray]:
    """Both ends of the interval of a number in [0, 1], or of each of an array.

    `mean` is that of the replicates and `unshrunk` the estimate without shrinkage, of a statistic that is biased.
    """
    estimate = np.clip(estimate, EDGE, 1 - EDGE)
    place = estimate if mean is None else np.clip(mean, EDGE, 1 - EDGE)
    centre = 2 * logit(estimate) - logit(place)
    spread = np.minimum(error / (place * (1 - place)), _MOST_SPREAD)
    shrinkage = 0.0 if unshrunk is None else logit(np.clip(unshrunk, EDGE, 1 - EDGE)) - logit(estimate)
    shrinkage = np.clip(shrinkage, -_MOST_SHRINKAGE, _MOST_SHRINKAGE)
    # Next to 1, the upper end takes Student's t, and the lower end the unseen error; next to 0 the other way round.
    low, high = (
        expit(centre + sign * ((reach.normal + room * (reach.student - reach.normal)) * total + (1 - room) * further))
        for sign, room, total, further in (
            (-1, 1 - place, *_far(spread, shrinkage, reach, 1 - place)),
            (1, place, *_far(spread, shrinkage, reach, place)),
        )
    )
    # There the interval reaches at least as far as a plain one.
    low = np.where(error > 1 - estimate, np.minimum(low, estimate - reach.normal * error), low)
    high = np.where(error > estimate, np.maximum(high, estimate + reach.normal * error), high)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def logit_corrected(estimate: float, error: float, mean: float | None) -> tuple[float, float]:
    """An estimate less the bias that its replicates show, and its standard error there: where `logit_ends` begins."""
    estimate = float(np.clip(estimate, EDGE, 1 - EDGE))
    place = estimate if mean is None else float(np.clip(mean, EDGE, 1 - EDGE))
    centre = float(expit(2 * logit(estimate) - logit(place)))
    return centre, min(error / (place * (1 - place)), _MOST_SPREAD) * centre * (1 - centre)


def _far(spread: Any, shrinkage: Any, reach: Reach, missing: Any) -> tuple[Any, Any]:
    """The whole spread, and how much further Fay and Feuer's interval reaches; `missing` is what is wrong by now."""
    total = _total(spread, reach.unseen / missing, shrinkage)
    if reach.rare == 0:
        return total, 0.0
    # All as shares of the sum of errors: its standard error, and one more of them.
    error, one_more = np.hypot(spread, shrinkage), reach.rare / missing
    mean = 1 + one_more
    shape = mean**2 / (error**2 + one_more**2)
    rare = np.log(mean * gammainccinv(shape, ndtr(-reach.normal)) / shape)
    return total, np.maximum(rare - reach.normal * total, 0.0)


def _total(spread: Any, unseen: Any, shrinkage: Any) -> Any:
    return np.sqrt(spread**2 + np.minimum(unseen, UNSEEN_BOUND * spread) ** 2 + shrinkage**2)


# Replicates that differ by less than this do not differ: those of the fast engine are in single precision.
_SAME = 1e-7


class _Ends(NamedTuple):
    low: float
    high: float


class Interval(_Ends):
    """A confidence interval: a named tuple of `low` and `high` that also knows its `method`.

    >>> low, high = Interval(0.8, 0.9)
    >>> Interval(0.8, 0.9).by("influence").method
    'influence'
    """

    method: str | None = None
    """How it was made, as in `Evaluation.confidence_interval`; None where there is only one way."""

    def by(self, method: str) -> "Interval":
        """The same interval, with the name of how it was made."""
        named = Interval(self.low, self.high)
        named.method = method
        return named

    def __repr__(self) -> str:
        made = "" if self.method is None else f", method={self.method!r}"
        return f"Interval(low={self.low}, high={self.high}{made})"


@dataclass(frozen=True, eq=False)
class Distribution(Frozen):
    """An estimate and its replicates; p values are about the statistic being 0."""

    estimate: float
    replicates: FloatArray
    n_independent: int
    """How many independent observations of the whole statistic the sample holds at least: its smallest class."""
    n_classes: int
    """Classes that have samples."""
    freedom: float
    """Degrees of freedom of the standard error."""
    unshrunk: float | None
    """The estimate without shrinkage, of a statistic that a fit makes biased; None of one that has no bias."""
    influences: FloatArray | None = field(repr=False)
    """What single samples, or blocks of them, add to the estimate; only "bca" needs them, and nothing else has them."""
    between: tuple[float, float] | None = None
    """Of a difference of two areas: the difference less the bias of both, and its standard error there."""
    at_end: bool = False
    """Whether not one comparison of two samples went wrong, or all did."""
    error_cost: float = 1.0
    """What an error may cost at most, compared with what it costs in the whole area."""
    floor: float = 0.0
    """The least value that an area can have."""
    rare_class: float | None = None
    """Size of a class in which an unseen error costs what it does over all classes; None to allow for none more."""

    @property
    def lowest(self) -> float:
        """The least value that the statistic can have; the largest is 1."""
        return self.floor if self.between is None else -1.0

    @property
    def standard_error(self) -> float:
        """Standard deviation of the replicates."""
        return float(np.std(self.replicates, ddof=1))

    def is_like(self, other: "Distribution") -> bool:
        """Whether another one has the very same estimate and replicates."""
        return self.estimate == other.estimate and np.array_equal(self.replicates, other.replicates)

    @property
    def never_varies(self) -> bool:
        """Whether all replicates are the same."""
        return bool(np.ptp(self.replicates) < _SAME)

    def interval(self, confidence_level: float, kind: IntervalKind) -> Interval:
        """Confidence interval of one of four kinds, with a warning where the replicates do not carry it."""
        if doubt := self.doubt:
            warn(doubt, ResamplingWarning)
        return self.ends(confidence_level, kind)

    def ends(self, confidence_level: float, kind: IntervalKind) -> Interval:
        """The interval alone, for whoever asks for many of them, or says the `doubt` elsewhere."""
        if self.never_varies:
            return self._without_variation(confidence_level)
        tail = (1 - confidence_level) / 2
        levels = np.array([tail, 1 - tail])
        if kind == "logit":
            low, high = self._area_ends(confidence_level) if self.between is None else self._difference_ends(tail)
        elif kind == "percentile":
            low, high = np.quantile(self.replicates, levels)
        elif kind == "basic":
            high, low = 2 * self.estimate - np.quantile(self.replicates, levels)
        else:
            low, high = np.quantile(self.replicates, self._bca_levels(float(ndtri(tail))))
        # Both ends: reflected at the estimate, even the lower one may lie beyond 1.
        return Interval(*np.clip([low, high], self.lowest, 1.0).tolist())

    def p_value(self, kind: IntervalKind) -> float:
        """Two-sided p value of 0: one minus the largest confidence level whose interval leaves 0 out."""
        if self.never_varies:
            return 1.0
        if kind == "logit" and self.between is not None:
            centre, error = self.between
            return float(2 * stdtr(self.freedom, -abs(centre) / error))
        if kind == "bca":
            bias, acceleration = self._bias(), self._acceleration()
            distance = ndtri(self._share_below(0.0)) - bias
            share = float(ndtr(distance / (1 + acceleration * distance) - bias))
            return float(min(1.0, 2 * min(share, 1 - share)))
        # The basic interval reflects the replicates at the estimate, so that 0 stands at twice the estimate.
        null = 2 * self.estimate if kind == "basic" else 0.0
        beyond = min(np.count_nonzero(self.replicates <= null), np.count_nonzero(self.replicates >= null))
        return float(min(1.0, 2 * (beyond + 1) / (len(self.replicates) + 1)))

    def _area_ends(self, confidence_level: float) -> tuple[float, float]:
        """Ends of the interval of an area, on the logit scale."""
        unseen = self.error_cost * unseen_error(self.n_classes, self.n_independent)
        rare = 0.0 if self.rare_class is None else rare_error(self.n_classes, self.rare_class)
        reach = Reach.of(confidence_level, self.freedom, unseen, rare)
        mean = None if self.unshrunk is None else float(np.mean(self.replicates))
        low, high = logit_ends(self.estimate, self.standard_error, reach, mean=mean, unshrunk=self.unshrunk)
        return float(low), float(high)

    def corrected(self) -> tuple[float, float]:
        """The estimate of an area less the bias that the replicates show, and its standard error there."""
        mean = None if self.unshrunk is None else float(np.mean(self.replicates))
        return logit_corrected(self.estimate, self.standard_error, mean)

    def _difference_ends(self, tail: float) -> tuple[float, float]:
        """Ends of the interval of a difference, by Student's t.

        Errors that no sample shows may come to either model: with a term for them, tests of equally good strong models
        hardly ever rejected.
        """
        assert self.between is not None
        centre, error = self.between
        reach = -float(stdtrit(self.freedom, tail)) * error
        return centre - reach, centre + reach

    @property
    def doubt(self) -> str:
        """What to warn of: replicates that never vary; else empty. Of a difference, both models have said it."""
        if not self.never_varies or (self.lowest < 0 and not self.at_end):
            return ""
        what = f"All {len(self.replicates)} replicates equal {round(float(self.replicates[0]), 6):g}"
        if not self.at_end:
            return f"{what}, so they say nothing about uncertainty. The interval is a single point."
        source = f"The interval is Clopper-Pearson's for the smallest class ({counted(self.n_independent, 'sample')})."
        return f"{what}, so they carry no information about uncertainty. {source}"

    def _without_variation(self, confidence_level: float) -> Interval:
        """Resampling cannot say how sure an estimate is that never varies; at an end of the range the sample can."""
        if self.at_end:
            return end_interval(self.estimate, self.n_independent, confidence_level, self.error_cost, self.floor)
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
        assert self.influences is not None
        influence = self.influences
        scale = np.sum(influence**2)
        return float(np.sum(influence**3) / (6 * scale**1.5)) if scale > 0 else 0.0

    def _bca_levels(self, lower: float) -> FloatArray:
        """The levels to read instead of those of the normal quantiles `lower` and its mirror image."""
        bias, acceleration, z = self._bias(), self._acceleration(), np.array([lower, -lower])
        levels: FloatArray = ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
        return levels


def is_at_end(area: float) -> bool:
    """Whether a mean of pairwise areas is 0 or 1, but for rounding."""
    return min(area, 1 - area) < 1e-12


def end_interval(
    estimate: float, n_independent: int, confidence_level: float, error_cost: float = 1.0, floor: float = 0.0
) -> Interval:
    """Interval of an area of which not one comparison went wrong, or all did.

    Take m sets of one sample of each class: none went wrong. That is compatible with a share of right ones down to the
    m-th root of the tail probability (Clopper and Pearson), and no pair's area is below that share. All that is missing
    may be left of `max_fpr`, which costs a partial area more, down to its `floor`.
    """
    reach = float(((1 - confidence_level) / 2) ** (1 / n_independent))
    if error_cost != 1:
        reach = max(floor, 1 - error_cost * (1 - reach))
    if estimate > 0.5:
        return Interval(min(reach, estimate), 1.0)
    # The same as seen from the other end, where the least area takes the place of 0.
    return Interval(floor, max(floor + 1.0 - reach, estimate))
