"""How two models differ by one measure on the same samples, and whether that could be chance."""

import math

import numpy as np

from polyroc._measures._compute import Sure
from polyroc._measures._scale import Scaled
from polyroc._uncertainty._delong import covariance, freedom
from polyroc._uncertainty._influence import Spread
from polyroc._uncertainty._intervals import Interval
from polyroc._uncertainty._paired import ends_apart, p_value_by_intervals
from polyroc._uncertainty._paired_influence import Test
from polyroc._uncertainty._paired_influence import difference as difference_of_areas


def difference(first: Sure, second: Sure, confidence_level: float, test: Test) -> tuple[float, float, Interval, float]:
    """The first less the second: value, standard error, interval and p value; areas as in `compare`."""
    if isinstance(first, Spread) and isinstance(second, Spread):
        return difference_of_areas(first, second, confidence_level, test)
    assert isinstance(first, Scaled)
    assert isinstance(second, Scaled)
    return _difference(first, second, confidence_level, test)


def _difference(first: Scaled, second: Scaled, level: float, test: Test) -> tuple[float, float, Interval, float]:
    """Centre and spread are those with which the intervals of both begin; the influences give the correlation."""
    value = first.estimate - second.estimate
    both = covariance(np.array([first.influences, second.influences]), first.units)
    plain = math.sqrt(max(0.0, both[0, 0] + both[1, 1] - 2 * both[0, 1]))
    if first.standard_error == 0 and second.standard_error == 0:
        return value, 0.0, ends_apart(first, second, level), p_value_by_intervals(first, second)
    (a, error_a), (b, error_b) = first.corrected(), second.corrected()
    alone = math.sqrt(both[0, 0] * both[1, 1])
    common = both[0, 1] / alone * error_a * error_b if alone > 0 else 0.0
    error = math.sqrt(max(error_a**2 + error_b**2 - 2 * common, plain**2))
    if error < 1e-14:  # the same scores, or models that go wrong together
        return value, 0.0, Interval(value, value), 1.0
    few = freedom(first.influences - second.influences, first.units)
    reach, width = test.reach(level, few) * error, first.width
    # Either may be too large by any part of its excess.
    ends = Interval(max(-width, a - b - first.excess - reach), min(width, a - b + second.excess + reach))
    beyond = max(0.0, abs(a - b) - (first.excess if a > b else second.excess))
    return value, plain, ends, test.p_value(beyond / error, few)
