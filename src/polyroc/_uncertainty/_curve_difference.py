"""Paired replicates of two curves -> how far the curves lie apart, with a band at each point.

As for the band of one curve, curves are compared where they cut the lines of equal call rate, TPR + FPR = 2 s. There,
what one model has more in true positives it has less in false positives.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from polyroc._estimator._curve import RocCurve
from polyroc._lib._typing import Curve, FloatArray
from polyroc._records import Frozen
from polyroc._uncertainty._band import band_lines, heights, heights_of_replicates, unseen_share
from polyroc._uncertainty._bootstrap import BootstrapResult


@dataclass(frozen=True, eq=False)
class CurveDifference(Frozen):
    """TPR of the first curve minus TPR of the second at equal call rates, each with an interval of its own."""

    call_rates: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


class CurveReplicates(NamedTuple):
    """A curve and its replicates, without their corners, shape (n_replicates, n_call_rates)."""

    curve: RocCurve
    fpr: FloatArray
    tpr: FloatArray

    def tpr_at(self, lines: FloatArray) -> FloatArray:
        """TPR where the curve cuts the lines, of which TPR - FPR has twice the differences."""
        return lines + heights(self.curve.fpr, self.curve.tpr, lines) / 2

    def replicates_at(self, lines: FloatArray) -> FloatArray:
        return lines + heights_of_replicates(self.fpr, self.tpr, lines) / 2


def replicates_of(drawn: BootstrapResult, curve: Curve) -> CurveReplicates:
    """One of the two curves of resamples."""
    if curve == "shared":
        return CurveReplicates(drawn.curve, drawn.fpr, drawn.tpr)
    assert drawn.mean_fpr is not None
    assert drawn.mean_tpr is not None
    return CurveReplicates(drawn.mean_curve, drawn.mean_fpr, drawn.mean_tpr)


def curve_difference(
    first: CurveReplicates, second: CurveReplicates, *, n_independent: int, confidence_level: float
) -> CurveDifference:
    """The difference of two models whose replicates were drawn together, with a pointwise band."""
    lines = band_lines()
    tail = (1 - confidence_level) / 2
    observed = [one.tpr_at(lines) for one in (first, second)]
    value = observed[0] - observed[1]
    of_first = first.replicates_at(lines)
    replicates = of_first - second.replicates_at(lines)
    # Points of a curve are biased at kinks. The replicates show how much, but not surely: as in the band of a curve,
    # half of it moves the centre, and all of it widens the band.
    bias = replicates.mean(axis=0) - value
    reach = -float(ndtri(tail)) * np.hypot(replicates.std(axis=0, ddof=1), bias)
    low, high = (value - bias / 2 + side * reach for side in (-1, 1))
    # The same scores have the same errors, also those that are not seen. Curves that never vary do not show it.
    if np.any(replicates) or np.any(value) or not np.any(np.ptp(of_first, axis=0)):
        unseen = unseen_share(tail, n_independent)
        falls, rises = zip(*(_may_move(tpr, lines, unseen) for tpr in observed), strict=True)
        low = np.minimum(low, value - np.maximum(falls[0], rises[1]))
        high = np.maximum(high, value + np.maximum(rises[0], falls[1]))
    room = 2 * np.minimum(lines, 1 - lines)
    return CurveDifference(
        call_rates=lines, value=value, low=np.clip(low, -room, room), high=np.clip(high, -room, room)
    )


def _may_move(tpr: FloatArray, lines: FloatArray, unseen: float) -> tuple[FloatArray, FloatArray]:
    """How far errors that are not seen may move a curve down and up: one that is nearer to an end than they are."""
    most = np.minimum(2 * lines, 1.0)
    least = np.maximum(2 * lines - 1, 0.0)
    return np.where(most - tpr < unseen, unseen, 0.0), np.where(tpr - least < unseen, unseen, 0.0)
