"""From replicates of a statistic to its standard error, confidence interval and p value."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from polyroc._lib.typing import FloatArray, IntervalKind
from polyroc._lib.warnings import ResamplingWarning, warn
from polyroc._records import Frozen
from polyroc._uncertainty import logit_scale as _logit_scale
from polyroc._uncertainty.logit_scale import Reach, rare_error, unseen_error

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
        low, high = _logit_scale.ends(self.estimate, self.standard_error, reach, mean=mean, unshrunk=self.unshrunk)
        return float(low), float(high)

    def corrected(self) -> tuple[float, float]:
        """The estimate of an area less the bias that the replicates show, and its standard error there."""
        mean = None if self.unshrunk is None else float(np.mean(self.replicates))
        return _logit_scale.corrected(self.estimate, self.standard_error, mean)

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
        source = f"The interval is Clopper-Pearson's for the smallest class ({self.n_independent} samples)."
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
