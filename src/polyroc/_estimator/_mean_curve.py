"""The mean of the pairs' ROC polygons at equal call rates: the curve behind Hand and Till's M (method, section 2b).

With own thresholds, and with those on the difference of two columns, TPR = s + h(s) and FPR = s - h(s). So the area
under any such curve, 1/2 plus twice the integral of h, is linear in h: the area under the mean of the polygons is the
mean of their areas. That is M of own columns, and AUCmu of differences.
"""

import numpy as np

from polyroc._estimator._curve import RocCurve, areas_under, from_corner_to_corner
from polyroc._lib._typing import FloatArray, Thresholds
from polyroc._records import PairWeights

# Shares of two pairs' weights that differ by no more are the same to rounding.
_SAME = 1e-12


def area_weights(weights: PairWeights, thresholds: Thresholds) -> FloatArray | None:
    """What each pairwise area counts for in the area under the mean curve, shape (K,), with sum 1.

    None where there is no such identity: with shared thresholds, and where a pair's true and false positive rates have
    different weights.
    """
    tpr, fpr = weights.tpr / weights.tpr.sum(), weights.fpr / weights.fpr.sum()
    return tpr if thresholds != "shared" and np.allclose(tpr, fpr, rtol=_SAME, atol=0) else None


def is_mean(shares: FloatArray | None) -> bool:
    """Whether the area under the mean curve is the plain mean of the pairwise areas, M or AUCmu."""
    return shares is not None and bool(np.ptp(shares) <= _SAME * shares[0])


def mean_curve(mean_rates: FloatArray, exact_auc: float | None) -> RocCurve:
    """The curve through the mean rates, shape (2T,), whose area is known exactly or found by trapezoids."""
    fpr, tpr = _coordinates(mean_rates)
    return RocCurve(fpr=fpr, tpr=tpr, exact_auc=exact_auc)


def mean_areas(mean_rates: FloatArray) -> FloatArray:
    """Areas by trapezoids under the mean curves of several replicates, shape (R, 2T) -> (R,)."""
    return areas_under(*_coordinates(mean_rates))


def _coordinates(mean_rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    # Only rounding is taken away here: rates are shares, and means of rates that rise do so, too.
    tpr, fpr = np.split(np.clip(mean_rates, 0, 1), 2, axis=-1)
    return from_corner_to_corner(fpr), from_corner_to_corner(tpr)
