"""Replicates of the curve -> a band around it.

Curves are compared where they cut the lines of equal call rate, TPR + FPR = 2 s. Every curve cuts each line once,
also where it is vertical, which lines of equal FPR would not do.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from polyroc._core.curve import RocCurve, with_corners
from polyroc._lib.grid import grid
from polyroc._lib.typing import FloatArray
from polyroc._records import Frozen
from polyroc._uncertainty.intervals import UNSEEN_BOUND, unseen_error

# Lines of the band: the default grid, percentiles of the call rate and more around the corner.
_N_THRESHOLDS = 99
# Nearer to an end than this is at the end, and less than this does not vary: replicates are in single precision.
_EDGE = 1e-6
# A bias of more than this on the logit scale, in either direction, is one of single replicates.
_MOST_BIAS = 1.0
# More than this on the logit scale has only a point nearer to an end than its own standard error.
_MOST_SPREAD = 1.0
# Of the share of the smallest class that may belong on the wrong side unseen, this much is allowed for in the mean over
# all classes: not all of it, and not less with many classes, because each of them has unseen errors of its own.
_UNSEEN_SHARE = 0.3
# With fewer degrees of freedom single samples decide, and what may be unseen says more than Student's t.
_LEAST_FREEDOM = 4.0


@dataclass(frozen=True, eq=False)
class ConfidenceBand(Frozen):
    """Two curves, one below and one above.

    Attributes
    ----------
    lower, upper : RocCurve
        Where the band begins and ends, on the same lines of equal TPR + FPR.
    confidence_level : float
        Confidence level of the band.
    simultaneous : bool
        Whether it covers the whole curve at this level, or each point by itself.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> band = evaluation.confidence_band()
    >>> band.contains(evaluation.curve), band.simultaneous
    (True, False)
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
        height = heights(curve.fpr, curve.tpr, lines)
        low, high = (self.lower.tpr - self.lower.fpr)[1:-1], (self.upper.tpr - self.upper.fpr)[1:-1]
        return float(np.mean((low - 1e-12 <= height) & (height <= high + 1e-12)))


def confidence_band(
    curve: RocCurve,
    fpr: FloatArray,
    tpr: FloatArray,
    confidence_level: float,
    *,
    simultaneous: bool,
    least_class: int,
    n_classes: int,
    freedom: float,
    unshrunk: RocCurve | None,
) -> ConfidenceBand:
    """The band of replicates of the curve, shape (R, T) each, that are given without their corners.

    `unshrunk` is the curve without shrinkage, of a curve that is a fit; None of one that is not.
    """
    lines = band_lines()
    # TPR - FPR as a share of the room that it has on its line.
    room = 2 * np.minimum(lines, 1 - lines)
    observed = _places(curve, lines, room)
    replicates = (1 + heights_of_replicates(fpr, tpr, lines) / room) / 2
    error, mean = replicates.std(axis=0, ddof=1), np.clip(replicates.mean(axis=0), _EDGE, 1 - _EDGE)
    tail = (1 - confidence_level) / 2
    # Nearer to an end than this, the band goes from the end to it.
    unseen = unseen_share(tail, least_class) / room
    reach = -float(ndtri(tail))
    if simultaneous:
        fitted = (error > _EDGE) & (observed > unseen) & (observed < 1 - unseen)
        reach = max(reach, _largest_deviation(replicates[:, fitted], error[fitted], confidence_level))
        # The standard errors are themselves uncertain where few samples carry them.
        reach *= float(stdtrit(max(freedom, _LEAST_FREEDOM), tail) / ndtri(tail))
    # A single point of any curve is biased at a kink, also of one whose area is not. The replicates show how much, but
    # not surely: half of it moves the centre, and all of it widens the band.
    bias = np.clip(logit(mean) - logit(observed), -_MOST_BIAS, _MOST_BIAS)
    place = expit(logit(observed) - bias / 2)
    at = observed if unshrunk is None else mean
    spread = np.hypot(np.minimum(error / (at * (1 - at)), _MOST_SPREAD), bias)
    shrinkage = 0.0 if unshrunk is None else logit(_places(unshrunk, lines, room)) - logit(place)
    one_more = unseen_error(n_classes, least_class) / room
    below = np.hypot(np.hypot(spread, np.minimum(one_more / (1 - at), UNSEEN_BOUND * spread)), shrinkage)
    above = np.hypot(np.hypot(spread, np.minimum(one_more / at, UNSEEN_BOUND * spread)), shrinkage)
    low, high = expit(logit(place) - reach * below), expit(logit(place) + reach * above)
    low = np.where(error > 1 - place, np.minimum(low, place - reach * error), low)
    high = np.where(error > place, np.maximum(high, place + reach * error), high)
    low = np.where(place <= unseen, 0.0, np.clip(np.minimum(low, 1 - unseen), 0, 1))
    high = np.where(place >= 1 - unseen, 1.0, np.clip(np.maximum(high, unseen), 0, 1))
    return ConfidenceBand(
        lower=_curve_at(lines, _widened(room * (2 * low - 1), lines, down=True)),
        upper=_curve_at(lines, _widened(room * (2 * high - 1), lines, down=False)),
        confidence_level=confidence_level,
        simultaneous=simultaneous,
    )


def _largest_deviation(replicates: FloatArray, error: FloatArray, confidence_level: float) -> float:
    """How many standard errors the whole curve stays within, in as many replicates as the level says."""
    if len(error) == 0:
        return 0.0
    deviation = np.abs(replicates - replicates.mean(axis=0)) / error
    return float(np.quantile(deviation.max(axis=1), confidence_level))


def _places(curve: RocCurve, lines: FloatArray, room: FloatArray) -> FloatArray:
    """Where a curve stands on the lines, between 0 (all wrong) and 1."""
    places: FloatArray = np.clip((1 + heights(curve.fpr, curve.tpr, lines) / room) / 2, _EDGE, 1 - _EDGE)
    return places


def unseen_share(tail: float, least_class: int) -> float:
    """Where not one sample is on the wrong side no replicate varies.

    Still a share of the smallest class may belong there, as large as leaves none among its samples.
    """
    return float(_UNSEEN_SHARE * (1 - tail ** (1 / least_class)))


def band_lines() -> FloatArray:
    """The call rates of the lines."""
    return grid(_N_THRESHOLDS)


def heights(fpr: FloatArray, tpr: FloatArray, lines: FloatArray) -> FloatArray:
    """TPR - FPR where a curve cuts the lines."""
    found: FloatArray = np.interp(lines, (fpr + tpr) / 2, tpr - fpr)
    return found


def heights_of_replicates(fpr: FloatArray, tpr: FloatArray, lines: FloatArray) -> FloatArray:
    """The same of curves without their corners, shape (R, T) each."""
    return np.array([heights(f, t, lines) for f, t in zip(*with_corners(fpr, tpr), strict=True)])


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
