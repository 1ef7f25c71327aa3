"""How far around each call rate a slope is taken: what the polygon rises there says which class is called next."""

from dataclasses import dataclass

import numpy as np

from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen


@dataclass(frozen=True, eq=False)
class Reach(Frozen):
    """Ends of the interval around each call rate, as places between the points 0, s_1 .. s_T, 1."""

    low: IntArray
    """The point at or before the lower end, shape (T,)."""
    low_part: FloatArray
    """How far on to the next point the lower end lies, from 0 to 1."""
    high: IntArray
    high_part: FloatArray
    width: FloatArray
    """Length of the interval."""

    def rise(self, share: FloatArray) -> FloatArray:
        """Rise over each interval of shares at the points 0, s_1 .. s_T, 1, which lie along the last axis."""
        return _read(share, self.high, self.high_part) - _read(share, self.low, self.low_part)


def reach(call_rates: FloatArray, least: float = 0.0) -> Reach:
    """From the call rate before to the one after, and at least by `least` to either side, within 0 and 1.

    Slopes over one step of the grid tile the polygon: sums over all call rates, as areas are, need no more. At a
    single point of a curve one step of the graded grid contains hardly a sample.
    """
    points = np.concatenate([[0.0], call_rates, [1.0]])
    low = np.minimum(points[:-2], np.maximum(call_rates - least, 0.0))
    high = np.maximum(points[2:], np.minimum(call_rates + least, 1.0))
    return Reach(*_place(points, low), *_place(points, high), high - low)


def reach_of_points(smallest_class: int) -> float:
    """How far to either side the slope at a single point of a curve is taken."""
    return max(0.01, 5 / smallest_class)


def _place(points: FloatArray, at: FloatArray) -> tuple[IntArray, FloatArray]:
    place = np.clip(np.searchsorted(points, at, side="right") - 1, 0, len(points) - 2)
    return place, (at - points[place]) / (points[place + 1] - points[place])


def _read(share: FloatArray, place: IntArray, part: FloatArray) -> FloatArray:
    return (1 - part) * share[..., place] + part * share[..., place + 1]
