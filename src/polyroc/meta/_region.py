"""Ellipses on the logit scale, drawn in the plane of rates."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from polyroc._lib._typing import FloatArray
from polyroc._records import Frozen

_N_POINTS = 200


@dataclass(frozen=True, eq=False)
class Region(Frozen):
    """A region of points (FPR, TPR), by its border.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The border; its last point is its first.
    confidence_level : float
        Probability that it covers what it is for.
    """

    fpr: FloatArray
    tpr: FloatArray
    confidence_level: float

    def __repr__(self) -> str:
        return f"Region(confidence_level={self.confidence_level:g}, {len(self.fpr)} points)"


def region_of(mean: FloatArray, covariance: FloatArray, confidence_level: float) -> Region:
    """The points at one Mahalanobis distance from the mean; both are of the logits of TPR and FPR."""
    # The chi-squared distribution of two degrees of freedom has a quantile in closed form.
    radius = math.sqrt(-2 * math.log1p(-confidence_level))
    lengths, axes = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, _N_POINTS + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    # An eigenvalue of 0 may come out a little below.
    border = mean[:, None] + radius * (axes * np.sqrt(np.maximum(lengths, 0))) @ circle
    border[:, -1] = border[:, 0]
    tpr, fpr = expit(border)
    return Region(fpr=fpr, tpr=tpr, confidence_level=confidence_level)
