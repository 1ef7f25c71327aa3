"""Where rates are drawn: in the whole square, or in its corner on two log axes, FPR against the misses, 1 - TPR.

In the square, four models of D 0.996 to 0.9995 are one blob. In the corner, false positives go from 100 % at the right
to a small share at the left, misses likewise from the bottom to the top, each decade as wide as the next: better is up
and left, as in the square. Displays, notebooks and the page draw by these rules; `scale.js` has them once more.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polyroc._lib._numbers import level
from polyroc._lib._typing import FloatArray

# D of the best model above which curves are first shown in the corner: the square would show little but its edges.
_GOOD = 0.95
# No test of a usual size says anything about rates further out; less than two decades are no corner.
_FEWEST_DECADES, _MOST_DECADES = 2, 5
# A rate of 0 stands this far outside the frame, as a share of its side, so that its line is seen to leave it.
_OUTSIDE = 0.015
# Straight lines between rates are bent on a log axis: 40 points per decade, from one below the frame, so that a line to
# a rate of 0 leaves it where it should.
_RATES = np.geomspace(10.0 ** -(_MOST_DECADES + 1), 1, 40 * (_MOST_DECADES + 1) + 1)


def opens_in_corner(areas: Iterable[float]) -> bool:
    """Whether curves with these areas are first shown in the corner.

    >>> opens_in_corner([0.91, 0.96]), opens_in_corner([0.95])
    (True, False)
    """
    return max(areas) > _GOOD


def decades_of(curves: Iterable[tuple[FloatArray, FloatArray]], n_steps: int | None = None) -> int:
    """How far both axes go: enough to show curves, FPR and TPR, from a TPR of 1/2 to an FPR of 1/2.

    A curve has no place for a rate of 0, so its smallest positive rate counts there. `n_steps` is the number of samples
    that rates are shares of, where it is known: a smaller rate than one of them is no finding.

    >>> one = np.array([0, 0.004, 1]), np.array([0, 0.9, 1])
    >>> decades_of([one]), decades_of([one], n_steps=90), decades_of([(np.array([0, 0, 1]), np.array([0, 1, 1]))])
    (3, 2, 2)
    """
    found = [1.0]
    for fpr, tpr in curves:
        found += [_end(fpr, tpr), _end(1 - tpr[::-1], 1 - fpr[::-1])]
    wanted = math.ceil(-math.log10(min(found)) - 1e-9)
    known = _MOST_DECADES if n_steps is None else math.ceil(math.log10(n_steps))
    return max(_FEWEST_DECADES, min(wanted, known, _MOST_DECADES))


def _end(rate: FloatArray, other: FloatArray) -> float:
    """The rate where the other one is 1/2; where that is 0, the smallest that is not."""
    middle = float(np.interp(0.5, other, rate))
    return middle if middle > 0 else float(rate[rate > 0].min())


def densified(fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A curve with more points on the same straight lines, close enough together for log axes.

    >>> fpr, tpr = densified(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    >>> bool(np.abs(fpr - tpr).max() < 1e-12), bool(np.diff(np.log(fpr[fpr > 1e-5])).max() < 0.06)
    (True, True)
    """
    # Lengths along the curve: rates may stand still, but not both at once.
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(fpr)) + np.abs(np.diff(tpr)))])
    at = np.unique(np.concatenate([along, np.interp(_RATES, fpr, along), np.interp(1 - _RATES[::-1], tpr, along)]))
    return np.interp(at, along, fpr), np.interp(at, along, tpr)


@dataclass(frozen=True)
class Tick:
    """A line of the grid: the same place means other rates at either axis."""

    place: float
    fpr: float
    tpr: float
    across: str
    """FPR in words."""
    up: str


@dataclass(frozen=True)
class View:
    """Square or corner; places go from 0 to 1, to the right and upwards."""

    is_corner: bool
    decades: int = _MOST_DECADES

    def places(self, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where a curve stands, across and up, with points between its own where lines bend.

        >>> across, up = View(is_corner=True, decades=4).places(np.array([0.001, 0.1]), np.array([0.9, 0.99]))
        >>> round(float(across[0]), 12), round(float(up[-1]), 12)
        (0.25, 0.5)
        """
        if not self.is_corner:
            return fpr, tpr
        fpr, tpr = densified(fpr, tpr)
        return 1 - self._depth(fpr), self._depth(1 - tpr)

    def _depth(self, rates: FloatArray) -> FloatArray:
        """Decades below 100 %, as a share of all; of nothing, a little more than all."""
        least = 10.0 ** -(self.decades * (1 + _OUTSIDE))
        depth: FloatArray = -np.log10(np.maximum(rates, least)) / self.decades
        return depth

    def ticks(self) -> list[Tick]:
        """The grid, from the left and from below."""
        if not self.is_corner:
            return [Tick(rate, rate, rate, f"{rate:g}", f"{rate:g}") for rate in (0, 0.2, 0.4, 0.6, 0.8, 1)]
        rates = [(10.0 ** (decade - self.decades), 1 - 10.0**-decade) for decade in range(self.decades + 1)]
        return [
            Tick(decade / self.decades, fpr, tpr, level(fpr), level(tpr)) for decade, (fpr, tpr) in enumerate(rates)
        ]
