"""The paper's update, as printed: alternating Newton steps of full length (its Algorithm 1)."""

import numpy as np
from scipy.special import expit, logit

from polyroc._lib._typing import FloatArray
from polyroc._records import PairwiseRates

# The paper begins at "a perturbed version" of the rates; by how much it does not say.
_PERTURBATION = 1e-3


def printed_update(rates: PairwiseRates, n_iter: int) -> list[float]:
    """Area after each iteration, all pairs counting the same; NaN where it is no number any more.

    Nothing damps the steps, and nothing keeps the area in [0, 1].
    """
    cells, on_row = np.concatenate([rates.tpr, rates.fpr]), np.tile(rates.row_weights, 2)[:, None]
    return _areas(cells, on_row, n_iter)


def _areas(rates: FloatArray, on_row: FloatArray, n_iter: int) -> list[float]:
    start = logit(np.clip(rates, _PERTURBATION, 1 - _PERTURBATION))
    areas = []
    with np.errstate(all="ignore"):
        row = start[:, 0]
        pair = _least_squares(row[:, None], start, rates, on_row, axis=0)
        for _ in range(n_iter):
            row = _least_squares(pair[None, :], row[:, None] * pair, rates, on_row, axis=1)
            pair = _least_squares(row[:, None], row[:, None] * pair, rates, on_row, axis=0)
            # The projection on the vector of ones.
            areas.append(_area(row * pair.mean()))
    return areas


def _least_squares(fixed: FloatArray, eta: FloatArray, rates: FloatArray, on_row: FloatArray, axis: int) -> FloatArray:
    """One side of the paper's equation of updates, given the other side and the fit so far."""
    fitted = expit(eta)
    weight = on_row * fitted * (1 - fitted)
    response = weight * eta + on_row * (rates - fitted)
    effects: FloatArray = (fixed * response).sum(axis=axis) / (fixed**2 * weight).sum(axis=axis)
    return effects


def _area(effects: FloatArray) -> float:
    """By trapezoids, whether the curve rises or not."""
    if not np.all(np.isfinite(effects)):
        return float("nan")
    tpr, fpr = np.split(expit(effects), 2)
    return float(np.trapezoid(np.r_[0, tpr, 1], np.r_[0, fpr, 1]))
