"""Factorization -> RocCurve: the shared effects mapped back to [0, 1].

Equations (curve), (area) and (mean-curve) of docs/method.md.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from polyroc._core.polygons import upper_hull
from polyroc._core.weights import LOGIT_BOUND
from polyroc._inputs.arrays import read_table
from polyroc._inputs.checks import InputError, shown
from polyroc._lib.numbers import area
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import Factorization, Frozen, PairWeights

# By how much rates in single precision may fall without being wrong.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class RocCurve(Frozen):
    """A ROC curve from (0, 0) to (1, 1), joined by straight lines.

    Parameters
    ----------
    fpr, tpr : array-like of shape (n_points,)
        False and true positive rates, from 0 to 1 and non-decreasing.
    exact_auc : float, optional
        The area under the whole curve, where it is known and these are only some of its points.

    Examples
    --------
    >>> import numpy as np
    >>> from polyroc import RocCurve
    >>> RocCurve(fpr=np.array([0, 0.5, 1]), tpr=np.array([0, 1, 1])).auc
    0.75
    """

    fpr: FloatArray
    tpr: FloatArray
    exact_auc: float | None = None

    def __post_init__(self) -> None:
        for name in ("fpr", "tpr"):
            object.__setattr__(self, name, _as_rates(getattr(self, name), name))
        if len(self.fpr) != len(self.tpr):
            raise InputError("fpr", "and `tpr` must have the same length", f"{len(self.fpr)} and {len(self.tpr)}")
        exact: Any = self.exact_auc
        if exact is not None:
            # Compared as it came, here and below: an integer may be too large for a float.
            is_number = isinstance(exact, Real) and not isinstance(exact, bool)
            if not is_number or not 0 <= exact <= 1:
                raise InputError("exact_auc", "must be None or a number in [0, 1]", shown(exact))
            object.__setattr__(self, "exact_auc", float(exact))
        super().__post_init__()

    def __repr__(self) -> str:
        return f"RocCurve(auc={area(self.auc)}, {len(self.fpr)} points)"

    @cached_property
    def auc(self) -> float:
        """Area under the curve: `exact_auc` where it is known, otherwise by trapezoids."""
        return float(areas_under(self.fpr, self.tpr)) if self.exact_auc is None else self.exact_auc

    def tpr_at(self, fpr: "ArrayLike") -> Any:
        """True positive rate of the curve at a false positive rate.

        Parameters
        ----------
        fpr : float or array-like
            False positive rates, in [0, 1].

        Returns
        -------
        float or ndarray
            One for each of `fpr`. Where the curve jumps, the upper end: what is reached without more false positives.

        Examples
        --------
        >>> import numpy as np
        >>> from polyroc import RocCurve
        >>> curve = RocCurve(fpr=np.array([0, 0, 0.5, 1]), tpr=np.array([0, 0.6, 1, 1]))
        >>> curve.tpr_at(0)
        0.6
        >>> curve.tpr_at([0.25, 0.5, 1])
        array([0.8, 1. , 1. ])
        """
        value: Any = fpr
        is_number = isinstance(value, Real)
        if is_number and not 0 <= value <= 1:
            raise InputError("fpr", "must be in [0, 1]", shown(value))
        asked = np.asarray(value, dtype=np.float64) if is_number else read_table(value, "fpr").values
        wrong = asked[~((asked >= 0) & (asked <= 1))]
        if wrong.size > 0:
            raise InputError("fpr", "must be in [0, 1]", shown(wrong.flat[0].item()))
        # Of several points at one rate `interp` takes the last, which is the highest.
        found = np.interp(asked, self.fpr, self.tpr)
        return found if asked.ndim > 0 else float(found)

    def partial_auc(self, max_fpr: float) -> float:
        """Area left of `max_fpr`, standardised as in scikit-learn: 1/2 is chance and 1 perfect.

        Parameters
        ----------
        max_fpr : float
            Where to stop, in (0, 1]; 1 gives the whole area.

        References
        ----------
        McClish (1989), Analyzing a portion of the ROC curve, Medical Decision Making 9.

        Examples
        --------
        >>> import numpy as np
        >>> from polyroc import RocCurve
        >>> RocCurve(fpr=np.array([0, 0, 1]), tpr=np.array([0, 0.5, 1])).partial_auc(0.2)
        0.75
        """
        max_fpr = as_max_fpr(max_fpr)
        if max_fpr == 1:
            return self.auc
        stop = int(np.searchsorted(self.fpr, max_fpr, side="right"))
        fpr = np.append(self.fpr[:stop], max_fpr)
        tpr = np.append(self.tpr[:stop], np.interp(max_fpr, self.fpr, self.tpr))
        area = float(np.trapezoid(tpr, fpr))
        chance, perfect = 0.5 * max_fpr**2, max_fpr
        return float(0.5 * (1 + (area - chance) / (perfect - chance)))

    def hull(self) -> "RocCurve":
        """The upper convex hull of the curve's points: the least concave curve above it.

        Between two corners of the hull, costs decide which of the two is the better threshold; no point below the
        hull is the best one at any costs.

        Returns
        -------
        RocCurve
            From (0, 0) to (1, 1), with the corners of the hull alone. Its area is that of the hull of these points,
            also where `exact_auc` is known.

        References
        ----------
        Provost and Fawcett (2001), Robust classification for imprecise environments, Machine Learning 42.

        Examples
        --------
        >>> import numpy as np
        >>> from polyroc import RocCurve
        >>> curve = RocCurve(fpr=np.array([0, 0, 0.5, 0.5, 1]), tpr=np.array([0, 0.5, 0.5, 1, 1]))
        >>> hull = curve.hull()
        >>> hull.fpr.tolist(), hull.tpr.tolist()
        ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
        >>> curve.auc, hull.auc
        (0.75, 0.875)
        """
        # Rounding may have let rates fall a little.
        fpr, tpr = np.maximum.accumulate(self.fpr), np.maximum.accumulate(self.tpr)
        # Of several points at one rate the last is the highest.
        last = np.append(fpr[1:] != fpr[:-1], True)
        fpr, tpr = fpr[last], tpr[last]
        kept = upper_hull(fpr, tpr)
        fpr, tpr = fpr[kept], tpr[kept]
        if tpr[0] > 0:
            fpr, tpr = np.append(0.0, fpr), np.append(0.0, tpr)
        return RocCurve(fpr=fpr, tpr=tpr)


def _as_rates(value: Any, name: str) -> FloatArray:
    """Rates that rise from 0 to 1; whoever falls short of that by rounding is not told so."""
    rate = read_table(value, name).values
    if rate.ndim != 1 or len(rate) < 2:
        raise InputError(name, "must be one-dimensional with at least two points", f"shape {rate.shape}")
    rate = np.asarray(rate, dtype=np.float64)
    # NaN compares as false, so whatever passes is finite and within [0, 1], too.
    if not (rate[0] == 0 and rate[-1] == 1):
        raise InputError(name, "must begin with 0 and end with 1", f"{rate[0]:g} and {rate[-1]:g}")
    rises = rate[1:] - rate[:-1] >= -_ROUNDING
    if not rises.all():
        at = int(rises.argmin()) + 1
        raise InputError(name, "must be finite and never fall", f"{rate[at]:g} after {rate[at - 1]:g} at point {at}")
    return rate


def areas_under(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    """Area under each of several curves, by trapezoids; points along the last axis, corners included."""
    # As 1/2 plus half the cross products of neighbours: exactly 1/2 for a curve on the diagonal.
    cross = fpr[..., 1:] * tpr[..., :-1] - fpr[..., :-1] * tpr[..., 1:]
    areas: FloatArray = np.clip(0.5 + 0.5 * cross.sum(axis=-1), 0.0, 1.0)
    return areas


def shared_curve(factorization: Factorization) -> RocCurve:
    """The curve of the effects that all pairs share."""
    fpr, tpr = shared_rates(factorization.row_effects)
    return RocCurve(fpr=fpr, tpr=tpr)


def shared_rates(row_effects: FloatArray) -> tuple[FloatArray, FloatArray]:
    """FPR and TPR of the curve of each row of effects, shape (..., 2T) -> (..., T + 2), corners included."""
    # Beyond the bound a logit stands for an infinite one: rows of rate 0 or 1 are drawn as just that.
    rates = np.where(np.abs(row_effects) < LOGIT_BOUND, expit(row_effects), row_effects > 0)
    tpr_and_fpr = from_corner_to_corner(rates.reshape(*rates.shape[:-1], 2, rates.shape[-1] // 2))
    return tpr_and_fpr[..., 1, :], tpr_and_fpr[..., 0, :]


def from_corner_to_corner(rate: FloatArray) -> FloatArray:
    """Rates that never fall, with 0 before and 1 after them; points along the last axis."""
    # A rank-one fit is monotone because its pair effects are not negative, and so are means of logits: there
    # this only takes away rounding. The intercept of the centered structure may fall a little (by some 0.003 in
    # hard cases), and is mended half from below and half from above, so that negated scores still give 1 - D.
    rising = np.maximum.accumulate(rate, axis=-1)
    falling = np.minimum.accumulate(rate[..., ::-1], axis=-1)[..., ::-1]
    corner = np.zeros((*rate.shape[:-1], 1))
    return np.concatenate([corner, (rising + falling) / 2, corner + 1], axis=-1)


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
