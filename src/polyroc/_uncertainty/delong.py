"""Hand and Till's M without resampling: DeLong's covariance over all pairs of classes.

M is a U-statistic of k samples, one per class. What a single sample adds to it, its *influence*, is the share of
comparisons that it wins beyond the mean of its class, summed over all pairs in which it takes part. With two classes
these are the structural components of DeLong, DeLong and Clarke-Pearson (1988); with groups the influences of a group
are summed first, as in Obuchowski (1997).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._lib.typing import FloatArray
from polyroc._records import Frozen
from polyroc._uncertainty.units import AnyUnits, StreamedUnits, Units

# With fewer degrees of freedom Student's t has no variance, and intervals say nothing.
_LEAST_FREEDOM = 2.0


def covariance(influences: FloatArray, units: AnyUnits) -> FloatArray:
    """Covariance of statistics on the same samples, shape (m, m), from their influences, shape (m, n).

    Samples, or whole groups, are independent within their stratum; each stratum is scaled by u / (u - 1) as a
    sample variance is. A stratum of one unit shows no variation and adds nothing.
    """
    if isinstance(units, StreamedUnits):
        return units.covariance(influences)
    centred = np.array([units.centred(units.sums(row)) for row in influences])
    found: FloatArray = (centred * _unbiased(units)) @ centred.T
    return found


def _unbiased(units: Units) -> FloatArray:
    """The factor of each unit's stratum, shape (U,)."""
    factor: FloatArray = (units.sizes / np.maximum(units.sizes - 1, 1))[units.stratum]
    return factor


def standard_error(influences: FloatArray, units: AnyUnits) -> float:
    """Standard error of one statistic, or of the difference of two, from its influences."""
    if isinstance(units, StreamedUnits):
        return float(np.sqrt(units.covariance(influences[None])[0, 0]))
    # A sum of squares: as a product of matrices it would wake the threads of BLAS, for 50,000 numbers.
    return float(np.sqrt(np.sum(units.centred(units.sums(influences)) ** 2 * _unbiased(units))))


def freedom(influences: FloatArray, units: AnyUnits) -> float:
    """Degrees of freedom of that standard error: few where few samples carry the variance."""
    return Moments.of(influences, units).freedom(units.sizes)


def sides(influences: FloatArray, units: AnyUnits) -> tuple[FloatArray, FloatArray]:
    """Of the units that add to a statistic and of those that take from it: sum, sum of squares, largest; shape (3,)."""
    if isinstance(units, StreamedUnits):
        return units.sides(influences)
    sums = units.centred(units.sums(influences))
    above, below = (np.maximum(sign * sums, 0.0) for sign in (1, -1))
    more, less = (np.array([part.sum(), np.sum(part**2), part.max()]) for part in (above, below))
    return more, less


@dataclass(frozen=True, eq=False)
class Moments(Frozen):
    """What the units of each stratum would add alone: variance and fourth moment, from which other sizes follow."""

    variance: FloatArray
    """sigma_c^2, shape (n_strata,): the statistic has the variance sum of sigma_c^2 / u_c."""
    fourth: FloatArray

    @classmethod
    def of(cls, influences: FloatArray, units: AnyUnits) -> "Moments":
        u = np.maximum(units.sizes, 2).astype(float)
        if isinstance(units, StreamedUnits):
            squared, fourth = units.variance_and_fourth(influences)
            return cls(squared * u**2 / (u - 1), fourth * u**3)
        # An influence is a u-th of what the unit would add alone.
        squares = (units.centred(units.sums(influences)) * u[units.stratum]) ** 2
        return cls(
            np.bincount(units.stratum, squares) / (u - 1),
            np.bincount(units.stratum, squares**2) / u,
        )

    def standard_error(self, sizes: Any) -> float:
        """Standard error of the statistic with this many units in each stratum."""
        return float(np.sqrt(np.sum(self.variance / np.maximum(sizes, 2))))

    def scaled(self, ratio: Any) -> "Moments":
        """Those of the influences multiplied by a ratio, which may differ by stratum."""
        return Moments(self.variance * ratio**2, self.fourth * ratio**4)

    def freedom(self, sizes: Any) -> float:
        """Degrees of freedom of that standard error (Satterthwaite, 1946).

        With s^2 the variance of u units of a stratum and m_4 their fourth moment, s^2 / u has the variance
        (m_4 - s^4 (u - 3) / (u - 1)) / u^3, and at least the 2 s^4 / (u^2 (u - 1)) of normal units: fourth moments of
        few units come out too small.
        """
        u = np.maximum(sizes, 2).astype(float)
        excess = self.fourth - self.variance**2 * (u - 3) / (u - 1)
        return self._satterthwaite(np.maximum(excess, 2 * self.variance**2 * u / (u - 1)) / u**3, u)

    def normal_freedom(self, sizes: Any) -> float:
        """What they would be of normal units, each stratum with its own (Welch, 1947)."""
        u = np.maximum(sizes, 2).astype(float)
        return self._satterthwaite(2 * self.variance**2 / (u**2 * (u - 1)), u)

    def _satterthwaite(self, spread: FloatArray, u: FloatArray) -> float:
        total = float(np.sum(self.variance / u))
        return max(_LEAST_FREEDOM, 2 * total**2 / float(np.sum(spread))) if total > 0 else _LEAST_FREEDOM
