"""Whole replicates, compiled: from sample weights to the effects of the shared curve without a word of Python.

A replicate of few pairs takes a fraction of a millisecond. Calls from Python between its steps would double that, and
threads would wait for each other there.
"""

import math
from typing import Any

import numpy as np

from polyroc._engines._cells import EDGE, LOGIT_BOUND
from polyroc._engines._numba._compile import inner, kernel
from polyroc._engines._numba._descent import CONVERGED, descend_small
from polyroc._engines._numba._fit import FAR_IN_REPLICATES, Data
from polyroc._engines._numba._linear import dot
from polyroc._engines._numba._paths import replicate_rates

LEAST, MOST, BOUND = EDGE, 1 - EDGE, LOGIT_BOUND
ALL_CURVED = 2**32


@kernel
def run_replicates(
    order: Any,
    weights: Any,
    offsets: Any,
    positive: Any,
    negative: Any,
    column: Any,
    begins: Any,
    sizes: Any,
    path: Any,
    on_tpr: Any,
    on_fpr: Any,
    keep: Any,
    grid: Any,
    on_row: Any,
    limits: Any,
    shares: Any,
    effects: Any,
    means: Any,
    mean_areas: Any,
    ended: Any,
) -> None:
    """For each row of `weights`: the effects of the curve, what the mean curve is made of, and how the fit ended.

    `effects` and `means`, those of the pairs' rates, have 2T columns; `mean_areas` two, all pairs alike and by weight.
    The fit is done in the precision of `on_row`, the weights of the call rates `grid`. `limits` are the last arguments
    of `descend_small`; `shares` is the room that `replicate_rates` needs.
    """
    n_pairs, n_grid, real = positive.shape[0], grid.shape[0], on_row.dtype
    tpr, fpr = np.empty((n_pairs, n_grid), real), np.empty((n_pairs, n_grid), real)
    areas, doubled, total = np.empty(n_pairs), (2.0 * grid).astype(real), on_tpr.sum()
    layout = (offsets, positive, negative, column, begins, sizes, path)
    for r in range(weights.shape[0]):
        replicate_rates(order, weights[r], *layout, grid, shares, tpr, fpr, areas)
        mean = means[r]
        mean_areas[r, 0], mean_areas[r, 1] = areas.mean(), min(1.0, dot(on_tpr, areas) / total)
        row_means(tpr, on_tpr, mean[:n_grid])
        row_means(fpr, on_fpr, mean[n_grid:])
        first_tpr, n_tpr = inside(mean[:n_grid])
        first_fpr, n_fpr = inside(mean[n_grid:])
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
        for i in range(2 * n_grid):
            effects[r, i] = -BOUND if mean[i] < 0.5 else BOUND
        for i in range(n_tpr + n_fpr):
            place = first_tpr + i if i < n_tpr else n_grid + first_fpr + i - n_tpr
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
