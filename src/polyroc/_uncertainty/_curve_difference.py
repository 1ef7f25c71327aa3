"""Paired replicates of two curves -> how far the curves lie apart, with a band at each point.

As for the band of one curve, curves are compared where they cut the lines of equal call rate, TPR + FPR = 2 s. There,
what one model has more in true positives it has less in false positives.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from polyroc._estimator._curve import RocCurve
from polyroc._lib._grid import grid
from polyroc._lib._typing import Curve, FloatArray
from polyroc._records import Frozen
from polyroc._uncertainty._bootstrap import BootstrapResult

# Lines of the difference, as of the band.
_N_THRESHOLDS = 99


@dataclass(frozen=True, eq=False)
class CurveDifference(Frozen):
    """TPR of the first curve minus TPR of the second at equal call rates, each with an interval of its own."""

    call_rates: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


def curve_difference(
    first: BootstrapResult, second: BootstrapResult, *, curve: Curve, confidence_level: float
) -> CurveDifference:
    """The difference of two models whose replicates were drawn together, with a pointwise band."""
    lines = grid(_N_THRESHOLDS)
    value = _observed(first, curve, lines) - _observed(second, curve, lines)
    replicates = _replicates(first, curve, lines) - _replicates(second, curve, lines)
    # Points of a curve are biased at kinks. The replicates show how much, but not surely: as in the band of a curve,
    # half of it moves the centre, and all of it widens the band.
    bias = replicates.mean(axis=0) - value
    reach = -float(ndtri((1 - confidence_level) / 2)) * np.hypot(replicates.std(axis=0, ddof=1), bias)
    room = 2 * np.minimum(lines, 1 - lines)
    low, high = (np.clip(value - bias / 2 + side * reach, -room, room) for side in (-1, 1))
    return CurveDifference(call_rates=lines, value=value, low=low, high=high)


def _observed(drawn: BootstrapResult, curve: Curve, lines: FloatArray) -> FloatArray:
    observed: RocCurve = drawn.curve if curve == "shared" else drawn.mean_curve
    return _true_positives(observed.fpr, observed.tpr, lines)


def _replicates(drawn: BootstrapResult, curve: Curve, lines: FloatArray) -> FloatArray:
    fpr, tpr = (drawn.fpr, drawn.tpr) if curve == "shared" else (drawn.mean_fpr, drawn.mean_tpr)
    assert fpr is not None
    assert tpr is not None
    corner = np.zeros((len(fpr), 1))
    fpr, tpr = np.hstack([corner, fpr, corner + 1]), np.hstack([corner, tpr, corner + 1])
    return np.array([_true_positives(f, t, lines) for f, t in zip(fpr, tpr, strict=True)])


def _true_positives(fpr: FloatArray, tpr: FloatArray, lines: FloatArray) -> FloatArray:
    """TPR where a curve cuts the lines."""
    found: FloatArray = np.interp(lines, (fpr + tpr) / 2, tpr)
    return found
