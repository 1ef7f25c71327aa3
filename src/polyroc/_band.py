"""Replicates of the curve -> a band around it.

Curves are compared where they cut the lines of equal call rate, TPR + FPR = 2 s. Every curve cuts each line once,
also where it is vertical, which lines of equal FPR would not do.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from polyroc._curve import RocCurve
from polyroc._records import Frozen
from polyroc._typing import FloatArray

# Points of the band, corners left out: percentiles of the call rate.
_N_LINES = 99


@dataclass(frozen=True, eq=False)
class ConfidenceBand(Frozen):
    """Two curves, one below and one above.

    Attributes
    ----------
    lower, upper : RocCurve
        Where the band begins and ends, on the same lines of equal TPR + FPR.
    confidence_level : float
        How sure the band is.
    simultaneous : bool
        Whether it covers the whole curve at this level, or each point by itself.
    """

    lower: RocCurve
    upper: RocCurve
    confidence_level: float
    simultaneous: bool

    def contains(self, curve: RocCurve) -> bool:
        """Whether a curve stays inside the band everywhere."""
        return self.share_inside(curve) == 1

    def share_inside(self, curve: RocCurve) -> float:
        """On how many of its lines the band holds the curve, as a share of all."""
        lines = ((self.lower.fpr + self.lower.tpr) / 2)[1:-1]
        height = _heights(curve.fpr, curve.tpr, lines)
        low, high = (self.lower.tpr - self.lower.fpr)[1:-1], (self.upper.tpr - self.upper.fpr)[1:-1]
        return float(np.mean((low - 1e-12 <= height) & (height <= high + 1e-12)))


def confidence_band(
    curve: RocCurve,
    fpr: FloatArray,
    tpr: FloatArray,
    confidence_level: float,
    *,
    simultaneous: bool,
    resolution: float,
    n_units: int,
) -> ConfidenceBand:
    """The band of replicates of the curve, shape (R, T) each, that are given without their corners."""
    lines = np.arange(1, _N_LINES + 1) / (_N_LINES + 1)
    corner = np.zeros((len(fpr), 1))
    fpr, tpr = np.hstack([corner, fpr, corner + 1]), np.hstack([corner, tpr, corner + 1])
    heights = np.array([_heights(f, t, lines) for f, t in zip(fpr, tpr, strict=True)])
    # TPR - FPR as a share of the room it has on its line, on the logit scale, as for the area.
    room = 2 * np.minimum(lines, 1 - lines)
    place = (1 + np.vstack([heights, _heights(curve.fpr, curve.tpr, lines)]) / room) / 2
    logits = logit(np.clip(place, resolution, 1 - resolution))
    centre, replicates = logits[-1], logits[:-1]
    spread = replicates.std(axis=0, ddof=1)
    if simultaneous:
        # The largest of the standardised deviations along the curve.
        varying = spread > 0
        deviations = np.abs(replicates[:, varying] - centre[varying]) / spread[varying]
        reach = float(np.quantile(deviations.max(axis=1), confidence_level)) if varying.any() else 0.0
    else:
        reach = float(ndtri(0.5 + confidence_level / 2))
    low, high = (expit(centre + sign * reach * spread) for sign in (-1, 1))
    # Where not one sample was called wrongly no replicate varies. Still the share of wrong ones may be as large as
    # leaves n samples without one, and nothing says that it is not 0.
    unseen = (1 - ((1 - confidence_level) / 2) ** (1 / n_units)) / room
    low = np.clip(np.minimum(low, 1 - unseen), 0, 1)
    high = np.clip(np.maximum(high, unseen), 0, 1)
    low, high = np.where(low <= resolution, 0.0, low), np.where(high >= 1 - resolution, 1.0, high)
    return ConfidenceBand(
        lower=_curve_at(lines, _widened(room * (2 * low - 1), lines, down=True)),
        upper=_curve_at(lines, _widened(room * (2 * high - 1), lines, down=False)),
        confidence_level=confidence_level,
        simultaneous=simultaneous,
    )


def _heights(fpr: FloatArray, tpr: FloatArray, lines: FloatArray) -> FloatArray:
    """TPR - FPR where a curve cuts the lines."""
    heights: FloatArray = np.interp(lines, (fpr + tpr) / 2, tpr - fpr)
    return heights


def _widened(height: FloatArray, lines: FloatArray, *, down: bool) -> FloatArray:
    """The nearest heights outside the band that belong to a ROC curve, whose rates never fall."""
    distance = 2 * np.abs(lines[:, None] - lines)
    outer: FloatArray = np.min(height + distance, axis=1) if down else np.max(height - distance, axis=1)
    return outer


def _curve_at(lines: FloatArray, height: FloatArray) -> RocCurve:
    fpr, tpr = np.clip(lines - height / 2, 0, 1), np.clip(lines + height / 2, 0, 1)
    return RocCurve(
        fpr=np.maximum.accumulate(np.concatenate([[0.0], fpr, [1.0]])),
        tpr=np.maximum.accumulate(np.concatenate([[0.0], tpr, [1.0]])),
    )
