"""Whole replicates, compiled: from sample weights to the effects of the shared curve without a word of Python.

A replicate of few pairs takes a fraction of a millisecond. Calls from Python between its steps would double that, and
threads would wait for each other there.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from polyroc._engines._cells import EDGE, LOGIT_BOUND
from polyroc._engines._numba._compile import inner, kernel
from polyroc._engines._numba._descent import CONVERGED, descend_small
from polyroc._engines._numba._fit import FAR_IN_REPLICATES, Data
from polyroc._engines._numba._linear import dot
from polyroc._engines._numba._paths import Room, replicate_rates

LEAST, MOST, BOUND = EDGE, 1 - EDGE, LOGIT_BOUND
# `Data.curved` for all pairs: here there are at most as many as rows.
ALL_CURVED = 2**32


class Weighing(NamedTuple):
    """What pairs and rows count for (equations weights, costs, spacing and shrinkage)."""

    tpr: Any  # (K,) W_p Q_p of the true positive rates
    fpr: Any  # (K,)
    kept_share: Any  # (K,) m_p / (m_p + alpha)
    row: Any  # (T,) omega_t, in the precision of the fit


class Out(NamedTuple):
    """One row for each replicate."""

    effects: Any  # (B, 2T) of the curve: lambda, true positive rows first
    means: Any  # (B, 2T) of the pairs' rates
    areas: Any  # (B, 2) mean over pairs, all alike and by weight
    ended: Any  # (B,) how the fit ended


@kernel
def run_replicates(
    order: Any, weights: Any, paths: Any, weighing: Any, grid: Any, limits: Any, shares: Any, out: Any
) -> None:
    """For each row of `weights` (B, n): rates, their means, the fit (equations model and deviance) and the areas.

    `limits` are the last arguments of `descend_small`; `shares` is as in `Room`.
    """
    # Taken out once: numba counts references whenever an array is taken out of a tuple.
    on_tpr, on_fpr, keep, on_row = weighing.tpr, weighing.fpr, weighing.kept_share, weighing.row
    effects, means, mean_areas, ended = out.effects, out.means, out.areas, out.ended
    n_pairs, n_grid, real = on_tpr.shape[0], grid.shape[0], on_row.dtype
    tpr, fpr = np.empty((n_pairs, n_grid), real), np.empty((n_pairs, n_grid), real)
    areas, doubled, total = np.empty(n_pairs), (2.0 * grid).astype(real), on_tpr.sum()
    room = Room(shares, tpr, fpr, areas)
    for r in range(weights.shape[0]):
        replicate_rates(order, weights[r], paths, grid, room)
        mean = means[r]
        mean_areas[r, 0], mean_areas[r, 1] = areas.mean(), min(1.0, dot(on_tpr, areas) / total)
        row_means(tpr, on_tpr, mean[:n_grid])
        row_means(fpr, on_fpr, mean[n_grid:])
        first_tpr, n_tpr = inside(mean[:n_grid])
        first_fpr, n_fpr = inside(mean[n_grid:])
        # Fitted rows: true positive rates first, then false. They start at v = 1 and the logits of their means, as the
        # fit of the sample itself does: if D jumps between optima, the interval must show it.
        fitted, on_fitted = np.empty(n_tpr + n_fpr, real), np.empty(n_tpr + n_fpr, real)
        row = np.empty(n_tpr + n_fpr)
        for i in range(n_tpr + n_fpr):
            t = first_tpr + i if i < n_tpr else first_fpr + i - n_tpr
            m = mean[t] if i < n_tpr else mean[n_grid + t]
            fitted[i], on_fitted[i], row[i] = m, on_row[t], math.log(m / (1 - m))
        where = (first_tpr, first_fpr, n_tpr, ALL_CURVED)
        data = Data(tpr, fpr, doubled, *where, on_tpr, on_fpr, on_fitted, keep, fitted, FAR_IN_REPLICATES)
        effect = np.ones(n_pairs)
        ended[r] = CONVERGED
        if len(row) > 0:
            ended[r], _, row, effect = descend_small(data, row, effect, *limits)
        # Rows whose mean is 0 or 1 have nothing to fit.
        for i in range(2 * n_grid):
            effects[r, i] = -BOUND if mean[i] < 0.5 else BOUND
        for i in range(n_tpr + n_fpr):
            place = first_tpr + i if i < n_tpr else n_grid + first_fpr + i - n_tpr
            # The scale of (curve): the mean of the pair effects is 1.
            effects[r, place] = row[i] * effect.mean()


@inner
def row_means(rates: Any, weight: Any, out: Any) -> None:
    """The mean over the pairs at each call rate."""
    total = 0.0
    for t in range(out.shape[0]):
        out[t] = 0.0
    for j in range(rates.shape[0]):
        total += weight[j]
        for t in range(out.shape[0]):
            out[t] += weight[j] * np.float64(rates[j, t])
    for t in range(out.shape[0]):
        out[t] /= total


@inner
def inside(mean: Any) -> Any:
    """The first row with something to fit, and how many there are: the means rise, so these lie together."""
    first, count = 0, 0
    for t in range(mean.shape[0]):
        if LEAST < mean[t] < MOST:
            if count == 0:
                first = t
            count += 1
    return first, count
