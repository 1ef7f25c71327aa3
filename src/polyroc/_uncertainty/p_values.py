"""P values of differences: of one look, of any number of looks (confidence sequences), and of several models (Holm)."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from polyroc._lib.typing import FloatArray
from polyroc._uncertainty.delong import Moments
from polyroc._uncertainty.units import AnyUnits

# Samples at which a sequence is the tightest if none are planned.
USUAL_SAMPLES = 1_000


class Test(Protocol):
    """How many standard errors a difference may be from 0, and what p value it has."""

    def freedom(self, moments: Moments, units: AnyUnits) -> float:
        """Degrees of freedom by which 0 is left out, from the moments of a difference."""

    def reach(self, confidence_level: float, freedom: float) -> float:
        """Standard errors to either side of a difference."""

    def p_value(self, distance: float, freedom: float) -> float:
        """Two-sided p value of a difference at this distance from 0, in standard errors."""


class Once:
    """Student's t test, for somebody who looks once."""

    def freedom(self, moments: Moments, units: AnyUnits) -> float:
        """Welch's: if models are equally good, rare errors come to both, and the tails of two sums cancel."""
        return moments.normal_freedom(units.sizes)

    def reach(self, confidence_level: float, freedom: float) -> float:
        return -float(stdtrit(freedom, (1 - confidence_level) / 2))

    def p_value(self, distance: float, freedom: float) -> float:
        return float(2 * stdtr(freedom, -distance))


@dataclass(frozen=True)
class Anytime:
    """An asymptotic confidence sequence: it holds at all looks together, whenever somebody looks and stops.

    Robbins' normal mixture, in the asymptotic form of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024): with n
    samples an estimate reaches sqrt((1 + 1/m) ln((1 + m) / alpha^2)) standard errors, m = n rho^2. rho is chosen
    beforehand, such that the sequence is tightest near a planned number of samples. The sample does not choose it:
    that would be looking, too.
    """

    n_samples: int
    """Samples seen so far."""
    planned: int = USUAL_SAMPLES
    """Samples at which the sequence is tightest."""

    def freedom(self, moments: Moments, units: AnyUnits) -> float:
        """By fourth moments: somebody looks from the first samples on, of which fewer carry the standard error."""
        return moments.freedom(units.sizes)

    def reach(self, confidence_level: float, freedom: float) -> float:
        """Wider than `Once`, and by as much again where few samples carry the standard error."""
        alpha = 1 - confidence_level
        mixed = self._mixed(alpha)
        few = Once().reach(confidence_level, freedom) / -float(ndtri(alpha / 2))
        return few * math.sqrt((1 + 1 / mixed) * math.log((1 + mixed) / alpha**2))

    def p_value(self, distance: float, freedom: float) -> float:
        """The smallest alpha whose sequence, tuned for 0.05, has left 0 out by now."""
        mixed = self._mixed(0.05)
        # With Student's t in place of the normal distribution: the normal distance that has the same p value.
        normal = -float(ndtri(max(Once().p_value(distance, freedom) / 2, 1e-300)))
        return min(1.0, math.sqrt(1 + mixed) * math.exp(-(normal**2) * mixed / (2 * (1 + mixed))))

    def _mixed(self, alpha: float) -> float:
        """The m of the class: the ratio of what is known to what was planned."""
        spent = -2 * math.log(alpha)
        return self.n_samples / self.planned * (spent + math.log(spent + 1))


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
