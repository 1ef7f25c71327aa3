"""The mean area as one cost changes, for all costs at once, without any fit.

Multiply one cost by 1 + u. The mean of the true positive rates moves towards those of the pair (a, b) by the share
w u / (S + w u) of its weight, that of the false positive rates likewise towards those of the pair (b, a). The area by
trapezoids is linear in either of the two means, so that of both is made of four areas, and the difference of two models
has the sign of a polynomial of second degree in u. Where it changes its sign is known exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyroc._estimator._curve import areas_under, from_corner_to_corner
from polyroc._lib._typing import FloatArray
from polyroc._records import Frozen, PairWeights
from polyroc._tipping._rivals import Cells, Rival

# How far outside a root, on the log scale, a model must be first.
_BEYOND = 1e-7


@dataclass(frozen=True, eq=False)
class MeanAreas(Frozen):
    """The mean area of one model by the factor 1 + u of each cost."""

    coefficients: FloatArray
    """Of 1, u and u^2, over a denominator that all models share, shape (3, K)."""
    limit: FloatArray
    """The area where one cost outweighs all others, shape (K,)."""


def mean_areas_of(rival: Rival, cells: Cells) -> MeanAreas:
    """The four areas of each cost, multiplied out."""
    weights, back = cells.weights, cells.turned
    tpr, fpr = (np.asarray(rate, dtype=float).T for rate in (rival.rates.tpr, rival.rates.fpr))
    mean_tpr, mean_fpr = weights.tpr @ tpr / weights.tpr.sum(), weights.fpr @ fpr / weights.fpr.sum()
    both, of_fpr, of_tpr = _areas(fpr[back], tpr), _areas(fpr[back], mean_tpr), _areas(mean_fpr, tpr)
    constant, _, square = _denominator(weights, cells)
    linear = weights.tpr * weights.fpr.sum() * of_tpr + weights.fpr[back] * weights.tpr.sum() * of_fpr
    return MeanAreas(np.stack([constant * _areas(mean_fpr, mean_tpr), linear, square * both]), both)


def _denominator(weights: PairWeights, cells: Cells) -> FloatArray:
    """Coefficients of (S + w u) (S' + w' u), shape (3, K): positive for every positive cost."""
    total_tpr, total_fpr, on_fpr = weights.tpr.sum(), weights.fpr.sum(), weights.fpr[cells.turned]
    constant = np.full(len(cells), total_tpr * total_fpr)
    return np.stack([constant, weights.tpr * total_fpr + on_fpr * total_tpr, weights.tpr * on_fpr])


def _areas(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    return areas_under(*np.broadcast_arrays(from_corner_to_corner(fpr), from_corner_to_corner(tpr)))


def smallest_changes(
    target: MeanAreas, others: Sequence[tuple[MeanAreas, float]], cells: Cells, largest: float
) -> FloatArray:
    """The smallest |log factor| of each cost, made more expensive and cheaper, at which a model is first, shape (2, K).

    It must exceed each of the others by more than the number that comes with it. Infinite where no factor will do.
    """
    below = _denominator(cells.weights, cells)
    margins = np.stack([target.coefficients - other.coefficients - least * below for other, least in others])
    logs = np.log1p(_roots(margins))
    logs = np.concatenate([logs, np.zeros((1, len(cells)))])
    found = np.full((2, len(cells)), np.inf)
    for place, sign in enumerate((1, -1)):
        outside = sign * logs + _BEYOND
        within = (outside > 0) & (outside <= np.log(largest) + _BEYOND)
        u = np.expm1(sign * np.where(within, outside, 0.0))
        is_first = within & np.all(_polynomial(margins, u) > 0, axis=0)
        found[place] = np.where(is_first, np.maximum(outside - _BEYOND, 0.0), np.inf).min(axis=0)
    return found


def _polynomial(margins: FloatArray, u: FloatArray) -> FloatArray:
    """Of each other model (O, 3, K) at each u (C, K), shape (O, C, K)."""
    constant, linear, square = (margins[:, degree, None] for degree in range(3))
    return constant + u * (linear + u * square)


def _roots(margins: FloatArray) -> FloatArray:
    """Real roots above -1 of each polynomial, shape (2 O, K); NaN where there is none."""
    constant, linear, square = np.moveaxis(margins, 1, 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inside = np.sqrt(linear**2 - 4 * square * constant)
        # Without the difference of two numbers that are nearly the same.
        half = -(linear + np.where(linear < 0, -inside, inside)) / 2
        roots = np.concatenate([half / square, constant / half])
        return np.where(np.isfinite(roots) & (roots > -1), roots, np.nan)
