"""Factorization -> how D changes with the weight of every pair, and so with the costs (method, steps 4 to 6).

A weight pulls the fit towards the rates of its pair, and likewise the mean to which all rates are shrunk. With G~, the
derivatives by shrunk rates of `polyroc._estimator._adjoint`:

    dD / dlog w_j = sum_r G~_rj (R~_rj - mu_rj) + sum_r (sum_m (1 - k_m) G~_rm) w_j (R_rj - mean_r) / sum_m w_m

over the rows of the true, or of the false positive rates, each of which has weights of its own.
"""

import numpy as np
from scipy.special import expit

from polyroc._engines._curvature import Curvature
from polyroc._estimator._adjoint import area_gradient
from polyroc._lib._typing import FloatArray
from polyroc._records import Factorization, PairWeights, PairwiseRates

# Pairs that are worked on at a time: the cells of all pairs of hundreds of classes need not be there at once.
_BLOCK = 1024


def weight_gradient(
    factorization: Factorization,
    rates: PairwiseRates,
    weights: PairWeights,
    *,
    shrinkage: float,
    curvature: Curvature | None = None,
) -> tuple[FloatArray, FloatArray]:
    """How D of a rank-one fit changes with the log weight of each pair's true and false positive rates, shape (K,)."""
    by_rate = area_gradient(factorization, rates, weights, shrinkage=shrinkage, model="rank-one", curvature=curvature)
    # Products of rows and pairs: the first two make k G~, the last what the mean of a row pulls on.
    row, pair = by_rate.row[0], by_rate.pair[0]
    kept = weights.size / (weights.size + shrinkage)
    found = np.empty((2, rates.n_pairs))
    n = rates.n_call_rates
    for start in range(0, rates.n_pairs, _BLOCK):
        part = slice(start, start + _BLOCK)
        rate = np.concatenate([rates.tpr[:, part], rates.fpr[:, part]]).astype(float)
        beyond_mean = rate - factorization.mean_rates[:, None]
        # R~ = k R + (1 - k) mean.
        shrunk = factorization.mean_rates[:, None] + kept[part] * beyond_mean
        missed = shrunk - expit(np.outer(factorization.row_effects, factorization.pair_effects[part]))
        pulled = np.outer(row[0], pair[0, part]) + np.outer(row[1], pair[1, part])
        by_cell = missed * pulled / kept[part] + row[2][:, None] * beyond_mean
        found[0, part] = weights.tpr[part] * by_cell[:n].sum(axis=0)
        found[1, part] = weights.fpr[part] * by_cell[n:].sum(axis=0)
    return found[0], found[1]
