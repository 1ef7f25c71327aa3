"""The standardised area left of a false positive rate: of many curves at once, and how it changes with their points."""

from numbers import Real
from typing import Any

import numpy as np

from polyroc._inputs.checks import InputError, shown
from polyroc._lib.typing import FloatArray

# The curve begins with a straight line; left of this it is all that is left of the curve, whatever the samples are.
_LEAST_STOP = 1e-6


def as_max_fpr(value: Any) -> float:
    """A false positive rate at which to stop, in (0, 1]."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    # What is too small for a float would be 0.
    if not (is_number and 0 < value <= 1 and float(value) > 0):
        raise InputError("max_fpr", "must be in (0, 1]", shown(value))
    return float(value)


def as_interval_max_fpr(value: Any) -> float:
    """The same for an interval: left of a rate that no sample reaches there is nothing to be uncertain about."""
    stop = as_max_fpr(value)
    if stop < _LEAST_STOP:
        raise InputError("max_fpr", f"must be at least {_LEAST_STOP:g} for an interval", shown(value))
    return stop


def asked_max_fpr(statistic: str, max_fpr: Any) -> float | None:
    """Where to stop for this statistic: given for the partial area, and for nothing else."""
    if statistic == "partial_auc":
        if max_fpr is None:
            raise InputError("max_fpr", "must be given for statistic='partial_auc', in (0, 1]", "None")
        return as_interval_max_fpr(max_fpr)
    if max_fpr is not None:
        raise InputError("max_fpr", "must be None unless statistic='partial_auc'", shown(max_fpr))
    return None


def error_cost(max_fpr: float) -> float:
    """What an area that is missing left of `max_fpr` costs in the standardised one, compared with the whole area."""
    return 0.5 / (max_fpr - 0.5 * max_fpr**2)


def least_area(max_fpr: float) -> float:
    """The standardised area of a curve that stays at 0 up to `max_fpr`: only of the whole area it is 0."""
    return (1 - max_fpr) / (2 - max_fpr)


def partial_areas(fpr: FloatArray, tpr: FloatArray, max_fpr: float) -> FloatArray:
    """Standardised area of each of several curves; points along the last axis, corners included."""
    fpr, tpr = np.asarray(fpr, dtype=np.float64), np.asarray(tpr, dtype=np.float64)
    whole = fpr[..., 1:] - fpr[..., :-1]
    kept = np.clip(max_fpr - fpr[..., :-1], 0.0, whole)
    rise = np.divide(kept, whole, out=np.zeros_like(whole), where=whole > 0) * (tpr[..., 1:] - tpr[..., :-1])
    area = np.sum(kept * (tpr[..., :-1] + rise / 2), axis=-1)
    # McClish (1989): chance is 1/2 and a perfect curve is 1.
    found: FloatArray = 0.5 + (area - 0.5 * max_fpr**2) * error_cost(max_fpr)
    return np.clip(found, 0.0, 1.0)


def with_corners(fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Curves with the points (0, 0) and (1, 1), which replicates are kept without; points along the last axis."""
    beyond = [(0, 0)] * (fpr.ndim - 1) + [(1, 1)]
    first, last = (
        np.pad(np.asarray(rate, dtype=np.float64), beyond, constant_values=(0.0, 1.0)) for rate in (fpr, tpr)
    )
    return first, last


def partial_slopes(fpr: FloatArray, tpr: FloatArray, max_fpr: float) -> FloatArray:
    """Derivatives of one curve's standardised area by TPR and then FPR of its points, corners left out, shape (2T,)."""
    whole, rise = np.diff(fpr), np.diff(tpr)
    kept = np.clip(max_fpr - fpr[:-1], 0.0, whole)
    # A step straight up has no width, but moves with its point, too.
    is_whole = fpr[1:] <= max_fpr
    is_cut = (fpr[:-1] < max_fpr) & ~is_whole
    share = np.divide(kept, whole, out=np.zeros_like(whole), where=whole > 0)
    # A piece of width h of a segment has the area h y + h^2 dy / (2 dx); whole, its width is dx and no constant.
    by_tpr, by_fpr = np.zeros_like(tpr), np.zeros_like(fpr)
    by_tpr[:-1] += kept - kept * share / 2
    by_tpr[1:] += kept * share / 2
    mean = tpr[:-1] + rise / 2
    # Where the piece ends at `max_fpr`, its width shrinks as its left point moves right.
    by_fpr[:-1] -= np.where(is_whole, mean, 0.0) + np.where(is_cut, tpr[:-1] + share * rise - share**2 * rise / 2, 0.0)
    by_fpr[1:] += np.where(is_whole, mean, 0.0) - np.where(is_cut, share**2 * rise / 2, 0.0)
    found: FloatArray = np.concatenate([by_tpr[1:-1], by_fpr[1:-1]]) * error_cost(max_fpr)
    return found
