"""Intervals of costs that allow for mistakes which were not seen: costs as weighted sums of Poisson counts.

A sample of n in which an expensive mistake does not occur says at most that its rate is below 3.7 / n. Normal intervals
take it for impossible.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtri

from polyroc._lib.typing import FloatArray
from polyroc._records import Frozen

# Samples by which shares are drawn in before their variance is computed (Agresti and Coull, 1998).
_DRAWN_IN = 4
# Share of samples of the planned size that tell, if the difference is as it seems; at the size at which its interval
# would just exclude 0, half of them do.
TELLING = 0.8
# More times as many samples are not worth a plan.
_MOST_TIMES = 1e6


class Counted(NamedTuple):
    """A sum of mistakes by their costs; numbers, or arrays of them for many sums."""

    mean: Any
    """Sum of the costs of the mistakes, each with the weight of its sample."""
    variance: Any
    """Of that sum, as of weighted Poisson counts: the sum of the squares."""
    unseen: Any
    """What a single mistake more may add."""


NOTHING = Counted(0.0, 0.0, 0.0)


def gamma_ends(counted: Counted, confidence_level: float) -> tuple[Any, Any]:
    """Ends of Fay and Feuer's (1997) gamma interval of a weighted sum of Poisson counts.

    With equal weights it is Garwood's (1936) exact interval of a Poisson mean.
    """
    tail = (1 - confidence_level) / 2
    y, v, w = counted
    # low = v / (2 y) chi2(alpha / 2; 2 y^2 / v), and chi2(q; 2 a) = 2 gammaincinv(a, q).
    low = _gamma(gammaincinv, y, v, tail)
    # high = (v + w^2) / (2 (y + w)) chi2(1 - alpha / 2; 2 (y + w)^2 / (v + w^2)).
    return low, _gamma(gammainccinv, y + w, v + w**2, tail)


def _gamma(quantile: Any, mean: Any, variance: Any, tail: float) -> Any:
    """Quantile of the gamma distribution of a mean and variance; 0 for a mean of 0."""
    is_positive = (np.asarray(mean) > 0) & (np.asarray(variance) > 0)
    scale = np.divide(variance, mean, out=np.zeros(is_positive.shape), where=is_positive)
    shape = np.divide(mean, scale, out=np.ones(is_positive.shape), where=is_positive)
    return scale * quantile(shape, tail)


def share_of_poisson(shown: Any, poisson: Any, n_units: int) -> Any:
    """How much of the Poisson variance counts out of n have: 1 for rare mistakes, 1 - p for a share p of one cost.

    `shown` is the sample variance. The share p is first drawn in by four samples: of mistakes in all samples the
    sample variance is 0, and that is not known.
    """
    poisson = np.asarray(poisson)
    lost = 1 - np.divide(shown, poisson, out=np.ones(poisson.shape), where=poisson > 0)
    return 1 - np.clip(lost, 0.0, 1.0) * n_units / (n_units + _DRAWN_IN)


@dataclass(frozen=True, eq=False)
class Balance(Frozen):
    """A cost, or a difference of two: mistakes that add to it, and mistakes that take from it."""

    more: Counted
    less: Counted = NOTHING
    share: Any = 1.0
    """Of the Poisson variance."""
    further: Any = 0.0
    """A variance in addition, of normal errors."""

    @property
    def value(self) -> Any:
        return self.more.mean - self.less.mean

    def reaches(self, confidence_level: float) -> tuple[Any, Any]:
        """How far the interval reaches below and above the value.

        MOVER (Zou and Donner, 2008): each side joins the squares of what the two parts leave open on that side.
        """
        low, high = gamma_ends(self.more, confidence_level)
        least, most = gamma_ends(self.less, confidence_level)
        below = (self.more.mean - low) ** 2 + (most - self.less.mean) ** 2
        above = (high - self.more.mean) ** 2 + (self.less.mean - least) ** 2
        further = self.further * float(ndtri((1 - confidence_level) / 2)) ** 2
        return np.sqrt(self.share * below + further), np.sqrt(self.share * above + further)

    def ends(self, confidence_level: float) -> tuple[Any, Any]:
        """Ends of the interval."""
        below, above = self.reaches(confidence_level)
        return self.value - below, self.value + above

    def is_mostly_unseen(self, confidence_level: float) -> bool:
        """Whether mistakes that were not seen make up most of the width."""
        seen = replace(self, more=self.more._replace(unseen=0.0), less=self.less._replace(unseen=0.0))
        return bool(2 * sum(seen.reaches(confidence_level)) < sum(self.reaches(confidence_level)))

    def times(self, factor: float) -> "Balance":
        """The same rates, seen in this many times as many samples."""
        more, less = (Counted(y, v / factor, w / factor) for y, v, w in (self.more, self.less))
        return replace(self, more=more, less=less, further=self.further / factor)

    def times_to_tell(self, confidence_level: float) -> float:
        """How many times as many samples it takes until most intervals exclude 0, at the same rates; or infinity."""

        def tells(factor: float) -> bool:
            more = self.times(factor)
            below, above = more.reaches(confidence_level)
            error = np.sqrt(more.share * (more.more.variance + more.less.variance) + more.further)
            return bool(abs(self.value) > (below if self.value > 0 else above) + float(ndtri(TELLING)) * error)

        return _least(tells)

    def times_to_see(self, confidence_level: float) -> float:
        """The same until mistakes that were not seen no longer make up most of the width."""
        return _least(lambda factor: not self.times(factor).is_mostly_unseen(confidence_level))


def _least(holds: Callable[[float], bool]) -> float:
    """The least factor of at least 1, to 1 %, from which on something holds."""
    low = high = 1.0
    while not holds(high):
        if high > _MOST_TIMES:
            return float("inf")
        low, high = high, 2 * high
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def one_sided(sums: FloatArray, unseen_more: Any, unseen_less: Any) -> tuple[Counted, Counted]:
    """The parts of a difference that are above and below 0, from its sums by units, shape (U, ...)."""
    above, below = np.maximum(sums, 0.0), np.maximum(-sums, 0.0)
    more = Counted(above.sum(axis=0), (above**2).sum(axis=0), unseen_more)
    return more, Counted(below.sum(axis=0), (below**2).sum(axis=0), unseen_less)
