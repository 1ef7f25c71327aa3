"""Rates on a device -> Factorization (method, steps 4, 6 and 7)."""

from functools import lru_cache

import numpy as np
import torch

from polyroc._core.cells import EDGE, LOGIT_BOUND, outer_chance
from polyroc._core.torch.devices import on_host, pieces, uploaded
from polyroc._core.torch.effects import TensorFactorization
from polyroc._core.torch.fit import fit_cells, polished, solved_rows
from polyroc._core.torch.pairs import Weights, weights_on
from polyroc._core.torch.problem import MANY_PAIRS, Ended
from polyroc._core.torch.rates import TensorRates
from polyroc._core.torch.sweeps import Cells, deviances
from polyroc._lib.grid import row_weights
from polyroc._lib.typing import FloatArray
from polyroc._records import Factorization, PairWeights, Status

# Rates that are added up at once.
_AT_ONCE = 2**26
# Measured at 10,000 classes: what is allocated at the peak, less rates and scores.
_PAIR_BYTES = 192


def cell_bytes(n_pairs: int, n_call_rates: int, size: int) -> int:
    """Bytes for the rates of pairs, `size` for each, and for their fit."""
    n_rows = 2 * n_call_rates
    # Of a pair: its classes, weights and size, the places of its runs, and its effect, gradient and curvature, twice.
    of_pairs = (_PAIR_BYTES + size * n_call_rates) * n_pairs
    # The cross terms of the pairs that enter the curvature, once more scaled; their gram matrix, what is solved, its
    # factor and room to find it.
    gathered = min(n_pairs, MANY_PAIRS)
    return of_pairs + 2 * 8 * n_rows * gathered + 4 * 8 * min(n_rows, n_pairs) ** 2


def fit_rank_one(
    rates: TensorRates, weights: PairWeights, shrinkage: float, near: Factorization | None = None
) -> Factorization:
    """The rank-one structure of one set of rates."""
    device = rates.tpr_tensor.device
    tpr, fpr = rates.tpr_tensor[None], None if rates.fpr_tensor is None else rates.fpr_tensor[None]
    on_device = weights_on(weights, device)
    cells, means = cells_of(tpr, fpr, rates.call_rates, on_device, shrinkage)
    mean = on_host(means[0])
    fitted = (mean > EDGE) & (mean < 1 - EDGE)
    if not fitted.any():
        return _without_rows(rates, on_host(on_device.totals), mean)
    begun = None
    if near is not None and near.converged:
        begun = uploaded(near.row_effects[None], device)
    ended = fit_cells(cells, one_optimum=fpr is None, near=begun)
    if cells.precision == torch.float32:
        ended = polished(cells, ended)
    row, scale = effects_of(cells, ended, means)
    # One transfer for all: each number that is read waits for the device.
    numbers = on_host(torch.cat([*deviances(cells, ended.row, ended.effect), on_device.totals, row[0]]))
    (deviance, chance), totals, row_effects = np.split(numbers, [2, 4])
    if not fitted.all():
        chance += outer_chance(mean, ~fitted, rates, totals)
    course = ended.courses[0]
    path = np.array(course.path)
    # At the end, not at the start: the changes of long moves miss a little, which must not add up in the deviance.
    path = path - path[-1] + max(0.0, deviance)
    assert course.status is not None
    return TensorFactorization(
        row_effects=row_effects.copy(),
        pair_effects=ended.effect[0] / scale[0],
        deviance=float(path[-1]),
        deviance_path=path,
        n_iter=course.n_iter,
        status=course.status,
        mean_rates=mean,
        chance_deviance=float(chance),
        is_single=cells.precision == torch.float32,
    )


def _without_rows(rates: TensorRates, totals: FloatArray, mean: FloatArray) -> Factorization:
    """Where every rate of every row is 0, or is 1: nothing is left to fit."""
    return Factorization(
        row_effects=np.where(mean < 0.5, -LOGIT_BOUND, LOGIT_BOUND),
        pair_effects=np.ones(rates.n_pairs),
        deviance=0.0,
        deviance_path=np.zeros(1),
        n_iter=0,
        status=Status.CONVERGED,
        mean_rates=mean,
        chance_deviance=outer_chance(mean, np.ones(len(mean), dtype=np.bool_), rates, totals),
    )


def effects_of(cells: Cells, ended: Ended, mean: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Row effects of the curves, (B, R), with rows that were not fitted; and the mean pair effects, (B,)."""
    row = ended.row
    if not all(ended.converged):
        # For any v the rows that solve (row) make a curve that rises, as those of a fit that ended early need not.
        early = torch.tensor([not one for one in ended.converged], device=row.device)
        row = row.clone()
        row[early] = solved_rows(cells.of_fits(early), row[early], ended.effect[early])
    scale = ended.effect.mean(1)
    bounded = LOGIT_BOUND * (mean - 0.5).sign()
    # The product leaves a scale free: (curve) has the mean of the pair effects at 1.
    return torch.where(cells.on_row > 0, row * scale[:, None], bounded), scale


def cells_of(
    tpr: torch.Tensor, fpr: torch.Tensor | None, call_rates: FloatArray, weights: Weights, shrinkage: float
) -> tuple[Cells, torch.Tensor]:
    """The cells of B fits, of rates of shape (B, K, T), and the means of their rows in double precision, (B, R)."""
    precision = tpr.dtype
    doubled, on_row = _rows_on(tuple(call_rates.tolist()), tpr.device)
    mean = row_means(tpr, fpr, doubled, weights)
    # Within EDGE of 0 or 1 there is nothing to fit.
    outer = (mean - 0.5).abs() >= 0.5 - EDGE
    cells = Cells(
        tpr=tpr,
        fpr=fpr,
        doubled=doubled.to(precision),
        on_row=on_row.expand_as(mean).masked_fill(outer, 0.0).to(precision),
        mean=mean.to(precision),
        on_tpr=weights.tpr,
        on_fpr=weights.fpr,
        keep=(weights.size / (weights.size + shrinkage)).to(precision),
    )
    return cells, mean


@lru_cache(maxsize=16)
def _rows_on(call_rates: tuple[float, ...], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Twice the call rates, (T,), and what each row counts for, (2T,); the same for all fits with this grid."""
    grid = np.array(call_rates)
    return uploaded(2 * grid, device), uploaded(np.tile(row_weights(grid), 2), device)


def row_means(tpr: torch.Tensor, fpr: torch.Tensor | None, doubled: torch.Tensor, weights: Weights) -> torch.Tensor:
    """Means of the rates of all rows under the weights of the pairs, (B, R): those of (shrinkage)."""
    alike = weights.tpr.stride(0) == 0 and weights.fpr.stride(0) == 0
    by_tpr = _sum(tpr) / tpr.shape[1] if alike else _sum(tpr, weights.tpr) / weights.tpr.sum()
    if fpr is not None:
        of_rest = _sum(fpr, weights.fpr) / weights.fpr.sum()
    else:
        # Means of what TPR leaves of twice the call rate.
        of_rest = doubled - (by_tpr if alike else _sum(tpr, weights.fpr) / weights.fpr.sum())
    # Rounding may bring a mean of ones above 1, whose logarithms are no numbers.
    return torch.cat([by_tpr, of_rest], 1).clamp(0, 1)


def _sum(rates: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
    """Sums over pairs, (B, T) from (B, K, T), in double precision."""
    total = torch.zeros((rates.shape[0], rates.shape[2]), dtype=torch.float64, device=rates.device)
    # In pieces: PyTorch may make a copy in double precision of what it sums so.
    for start, stop in pieces(rates.shape[1], _AT_ONCE // (rates.shape[0] * rates.shape[2])):
        some = rates[:, start:stop]
        if weight is not None:
            some = some * weight[start:stop, None].to(rates.dtype)
        total += some.sum(1, dtype=torch.float64)
    return total
