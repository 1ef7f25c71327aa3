"""Intervals of measures whose range is not that of an area: on the logit scale of their range, or on a log scale."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from polyroc._lib.typing import FloatArray, IntervalKind
from polyroc._records import Frozen
from polyroc._uncertainty import logit_scale as _logit_scale
from polyroc._uncertainty.delong import freedom
from polyroc._uncertainty.influence import error_at, place_of, whole_error
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.logit_scale import Reach
from polyroc._uncertainty.units import Units
from polyroc.baselines._accuracy import wilson_interval

# A measure this near to an end of its range is there; sums of shares are rounded.
_AT_END = 1e-12
# The logarithm of a measure with a larger standard error says nothing.
_MOST_SPREAD = 2.0
# Of what an unseen error costs, in a difference of two models: as for areas (`_logit_scale.RARE_SHARE` / 2 of 0.25).
_SHARED_UNSEEN = 0.3


@dataclass(frozen=True, eq=False)
class Scaled(Frozen):
    """One measure and how sure it is, by its influences, within its range."""

    estimate: float
    influences: FloatArray
    units: Units
    n_independent: float
    """Units of the smallest class, or all units, whichever a single unit counts in."""
    lowest: float = 0.0
    highest: float = 1.0
    is_log: bool = False
    """Whether the interval is made on a log scale, of losses without a natural upper end."""
    unseen: float = 0.0
    """What one more sample that goes wrong would cost."""
    bias: tuple[float, float] = (0.0, 0.0)
    """By how much the measure is too large on average, and the standard error of that."""
    excess: float = 0.0
    """By how much a measure that is never too small may be too large: of sizes of differences."""
    unshrunk: ClassVar[None] = None
    """No fit shrinks a measure."""

    @cached_property
    def standard_error(self) -> float:
        return whole_error(self.influences, self.units, 0.0)

    @cached_property
    def freedom(self) -> float:
        return freedom(self.influences, self.units)

    @property
    def hidden(self) -> float:
        """What an unseen error of one model may add to its difference from another (`Spread.hidden`)."""
        return _SHARED_UNSEEN * self.unseen

    @property
    def width(self) -> float:
        return self.highest - self.lowest

    @property
    def at_end(self) -> bool:
        """Whether the measure is as good, or as bad, as can be."""
        return min(self.estimate - self.lowest, self.highest - self.estimate) < _AT_END * self.width

    def ends(self, confidence_level: float, kind: IntervalKind = "logit") -> Interval:
        """Confidence interval; never a single point, because a sample without variation is a sample nevertheless."""
        if self.standard_error == 0:
            return self._without_variation(confidence_level)
        reach = Reach.of(confidence_level, self.freedom, self.unseen / self.width)
        if self.excess:
            low, high = self._one_sided(reach)
        elif self.is_log:
            low, high = self._log_ends(reach)
        else:
            low, high = self._logit_ends(reach)
        # The bias of very few samples may be larger than the error: the estimate stays inside.
        low, high = min(low, self.estimate), max(high, self.estimate)
        return Interval(max(self.lowest, low), min(self.highest, high))

    def corrected(self) -> tuple[float, float]:
        """The estimate less its bias, and its standard error there: where the interval of a difference begins."""
        if self.is_log or self.excess:
            return self.estimate, self.standard_error
        centre, error = _logit_scale.corrected(self._place_in_range, self._error, self._place)
        return self.lowest + self.width * centre, self.width * error

    @property
    def _place_in_range(self) -> float:
        return (self.estimate - self.lowest) / self.width

    @property
    def _place(self) -> float | None:
        return place_of(self._place_in_range, self.bias[0] / self.width)

    @property
    def _error(self) -> float:
        plain = math.hypot(self.standard_error, self.bias[1]) / self.width
        return error_at(self._place, self._place_in_range, plain)

    def _logit_ends(self, reach: Reach) -> tuple[float, float]:
        low, high = _logit_scale.ends(self._place_in_range, self._error, reach, mean=self._place)
        return self.lowest + self.width * float(low), self.lowest + self.width * float(high)

    def _log_ends(self, reach: Reach) -> tuple[float, float]:
        """Student's t at the lower end, near which few samples carry the mean; one more loss at the upper end."""
        spread = min(self.standard_error / self.estimate, _MOST_SPREAD)
        unseen = min(self.unseen / self.estimate, _logit_scale.UNSEEN_BOUND * spread)
        return (
            self.estimate * math.exp(-reach.student * spread),
            self.estimate * math.exp(reach.student * math.hypot(spread, unseen)),
        )

    def _one_sided(self, reach: Reach) -> tuple[float, float]:
        """From what is left after the largest possible excess to what stands where there is none."""
        error = reach.student * self.standard_error
        return self.estimate - self.excess - error, self.estimate + error

    def _without_variation(self, confidence_level: float) -> Interval:
        """As far as one unit in m might differ from the others without having been seen (Clopper and Pearson)."""
        hidden = self.width * (1 - ((1 - confidence_level) / 2) ** (1 / self.n_independent))
        low, high = max(self.lowest, self.estimate - hidden), min(self.highest, self.estimate + hidden)
        if not self.at_end:
            return Interval(low, high)
        is_high = self.estimate > self.lowest + self.width / 2
        return Interval(low, self.highest) if is_high else Interval(self.lowest, high)


def effective_number(share: FloatArray) -> float:
    """Kish's effective number of samples, from their shares of the weight."""
    return float(1 / np.sum(share**2))


@dataclass(frozen=True, eq=False)
class Share(Scaled):
    """A share of samples: Wilson's interval, unless samples come in groups."""

    def ends(self, confidence_level: float, kind: IntervalKind = "logit") -> Interval:
        if self.units.are_groups:
            return super().ends(confidence_level, kind)
        return wilson_interval(self.estimate, self.n_independent, confidence_level)
