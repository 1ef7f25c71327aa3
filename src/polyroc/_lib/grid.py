"""The call rates at which every pair's polygon is read, and what a row of rates counts for (method, step 3)."""

import math
from functools import lru_cache

import numpy as np

from polyroc._lib.typing import FloatArray

# A good pair has its corner at a call rate of 1/2, and what distinguishes good models lies within 0.01 of it: these
# points stand at either side, in parts of `_PARTS`.
_PARTS = 20_000
_AROUND_HALF = (10, 20, 40, 60, 100, 150)


@lru_cache(maxsize=16)
def grid(n_thresholds: int) -> FloatArray:
    """N uniform call rates t / (N + 1), with 1/2 and twelve more around it; points that coincide count once.

    >>> len(grid(99)), len(grid(100)), len(grid(999))
    (111, 113, 1003)
    """
    parts = math.lcm(n_thresholds + 1, _PARTS)
    half, scale = parts // 2, parts // _PARTS
    uniform = np.arange(1, n_thresholds + 1) * (parts // (n_thresholds + 1))
    upper = np.union1d(uniform[uniform > half], [half + scale * around for around in _AROUND_HALF]) / parts
    # From 1/2 on floats lie 2^-53 apart, so 1 - s has no rounding: both halves mirror exactly, and so do the weights.
    points = np.concatenate([1 - upper[::-1], [0.5], upper])
    points.flags.writeable = False  # everybody is given the same array
    return points


def row_weights(call_rates: FloatArray) -> FloatArray:
    """Weight of the row at each call rate in the trapezoid rule over call rates, with mean 1.

    So the deviance approximates an integral, and a finer grid changes no result for its points lying closer. Of the
    ends, half a step belongs to 0 and to 1. The mean is 1 because a deviance is then on the scale of its cells; the
    scale changes no result.
    """
    around = np.concatenate([[0.0], call_rates, [1.0]])
    width = around[2:] - around[:-2]
    weights: FloatArray = width / width.mean() if len(width) else width
    return weights
