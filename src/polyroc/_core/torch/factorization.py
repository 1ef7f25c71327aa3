"""Rates on a device -> Factorization, and its gradient: docs/method.md from (shrinkage) to (explained).

The gradient is that of `_core/adjoint.py` for many pairs, by the system (adjoint) of docs/influence.md with R fitted
rows and K pairs: blocks A of the rows, B of the pairs, and cross terms C, which are made anew in each pass. Eliminating
the free pairs leaves

    (A - C B^-1 C' + gauge) a = c - C B^-1 d,    b = B^-1 (d - C' a)

with one number d for all free pairs: the curve is that of lambda times the mean of v. Gradients are in double
precision, whatever the rates are stored in.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from polyroc._core.adjoint import HELD
from polyroc._core.torch.devices import computing_on, on_host, pieces, uploaded
from polyroc._core.torch.fit import MANY_PAIRS, Ended, crossed, fit_cells, polished, solved_rows
from polyroc._core.torch.passes import passes_on
from polyroc._core.torch.records import (
    Slopes,
    TensorFactorization,
    TensorGradient,
    TensorRates,
    Weights,
    effects_on,
    weights_on,
)
from polyroc._core.torch.sweeps import ByRow, Cells, deviances
from polyroc._core.weights import EDGE, LOGIT_BOUND, outer_chance
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
    """The rank-one structure (model) of one set of rates."""
    device = rates.tpr_tensor.device
    on_device = weights_on(weights, device)
    cells, means = cells_of(*_as_one_fit(rates), rates.call_rates, on_device, shrinkage)
    mean = on_host(means[0])
    fitted = (mean > EDGE) & (mean < 1 - EDGE)
    if not fitted.any():
        return _without_rows(rates, on_host(on_device.totals), mean)
    start = uploaded(near.row_effects[None], device) if near is not None and near.converged else None
    ended = fit_cells(cells, one_optimum=cells.fpr is None, near=start)
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


def _as_one_fit(rates: TensorRates) -> tuple[torch.Tensor, torch.Tensor | None]:
    return rates.tpr_tensor[None], None if rates.fpr_tensor is None else rates.fpr_tensor[None]


def _without_rows(rates: TensorRates, totals: FloatArray, mean: FloatArray) -> Factorization:
    """The fit if every rate of every row is 0, or is 1: nothing is left to fit."""
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
    """Row effects of the curves (curve), (B, R), with rows that were not fitted; and the mean pair effects, (B,)."""
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
    doubled, on_row = uploaded(2 * call_rates, tpr.device), uploaded(np.tile(row_weights(call_rates), 2), tpr.device)
    mean = _row_means(tpr, fpr, doubled, weights)
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


def _row_means(tpr: torch.Tensor, fpr: torch.Tensor | None, doubled: torch.Tensor, weights: Weights) -> torch.Tensor:
    """Means of the rates of all rows under the weights of the pairs, (B, R): those of (shrinkage)."""

    def mean_of(rates: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return _sum(rates) / rates.shape[1] if weights.are_alike else _sum(rates, weight) / weight.sum()

    # Without FPR, means of what TPR leaves of twice the call rate.
    by_fpr = doubled - mean_of(tpr, weights.fpr) if fpr is None else mean_of(fpr, weights.fpr)
    # Rounding may bring a mean of ones above 1, whose logarithms are no numbers.
    return torch.cat([mean_of(tpr, weights.tpr), by_fpr], 1).clamp(0, 1)


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


@dataclass(frozen=True, eq=False)
class TorchCurvature:
    """The cells at the end of a fit of many pairs."""

    cells: Cells  # of one fit, computed in double precision
    weights: Weights
    fitted: torch.Tensor  # places of the fitted rows, (R,)
    row: torch.Tensor  # (2T,), 0 if nothing is fitted
    effect: torch.Tensor  # (K,)

    def gradient(self, slopes: FloatArray) -> TensorGradient:
        """The gradient of m numbers by their derivatives by the row effects of the curve, shape (m, 2T)."""
        with computing_on(self.row.device, len(self.effect)):
            return self._through_shrinkage(*self._solved(slopes))

    def _solved(self, slopes: FloatArray) -> tuple[torch.Tensor, torch.Tensor]:
        """Solution a and b of (adjoint), (m, R) and (m, K), in two passes over the cells."""
        right = uploaded(slopes, self.row.device, torch.float64)[:, self.fitted]
        effect, n_rows, gram = self.row[self.fitted], self.cells.n_rows, passes_on(self.row.device.type).gram
        row_block, carried = torch.zeros((2, n_rows), dtype=torch.float64, device=effect.device)
        taken = torch.zeros((n_rows, n_rows), dtype=torch.float64, device=effect.device)
        for _, by_row, inverse, cross in self._crossed():
            row_block += by_row
            carried += inverse @ cross
            taken += gram(cross.mul_(inverse.sqrt()[:, None]))
        row_block, carried, taken = row_block[self.fitted], carried[self.fitted], taken[self.fitted][:, self.fitted]
        gauge = row_block.mean() * torch.outer(effect, effect) / (effect @ effect)
        on_pairs = right @ effect[:, None] / len(self.effect)
        row = _solve(torch.diag(row_block) - taken + gauge, right - on_pairs * carried)
        pair = torch.empty((len(right), len(self.effect)), dtype=torch.float64, device=effect.device)
        # With zeros if nothing is fitted: to pick rows of the cross terms would copy them.
        of_rows = torch.zeros((len(right), n_rows), dtype=torch.float64, device=effect.device)
        of_rows[:, self.fitted] = row
        for some, _, inverse, cross in self._crossed():
            pair[:, some] = inverse * (on_pairs - of_rows @ cross.mT)
        return row, pair

    def _crossed(self) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Of some pairs at a time: their part of A, (2T,), the inverse of B, (P,), and C, (P, 2T)."""
        least = HELD / self.row.abs().amax()
        for some, swept, cross in crossed(self.cells, self.row[None], self.effect[None]):
            # A pair at the border v = 0 does not follow the rates: it bends the rows, but is not solved for.
            inverse = torch.where(self.effect[some] > least, 1 / swept.pairs.block[0], 0.0)
            yield some, swept.by_row[0, ByRow.BLOCK], inverse, cross[0]

    def _through_shrinkage(self, row: torch.Tensor, pair: torch.Tensor) -> TensorGradient:
        """(rate-gradient): from the solution to every rate, its own shrunk rate and the mean of its row."""
        effect, v, kept = self.row[self.fitted], self.effect, self.cells.keep
        is_tpr = self.fitted < self.cells.n_rows // 2
        on_mean = torch.empty_like(row)
        for chosen, weight in ((is_tpr, self.weights.tpr), (~is_tpr, self.weights.fpr)):
            # The mean of a row pulls on the sum over pairs of (1 - k) G~, by the weights of the rate's kind.
            share = weight * (1 - kept) / weight.sum()
            on_mean[:, chosen] = row[:, chosen] * (share @ v) + torch.outer(pair @ share, effect[chosen])
        factors = torch.zeros((len(row), 3, self.cells.n_rows), dtype=torch.float64, device=row.device)
        by_row = torch.stack([row, effect.expand(row.shape), on_mean], 1)
        factors[:, :, self.fitted] = self.cells.on_row[0, self.fitted] * by_row
        one = torch.ones((1, 1), dtype=torch.float64, device=row.device)
        of_pairs = ((kept * v).expand(pair.shape), pair.mul_(kept), one.expand(pair.shape))
        return TensorGradient(Slopes(factors, of_pairs, self.weights.tpr, self.weights.fpr, None))


def curvature_of(
    factorization: Factorization, rates: TensorRates, weights: PairWeights, shrinkage: float
) -> TorchCurvature | None:
    """The cells at the end of a fit; None of so few pairs that rows are better eliminated, which the host does."""
    mean = factorization.mean_rates
    fitted = np.flatnonzero((mean > EDGE) & (mean < 1 - EDGE))
    if not 0 < len(fitted) < rates.n_pairs:
        return None
    device = rates.tpr_tensor.device
    on_device = weights_on(weights, device)
    cells, _ = cells_of(*_as_one_fit(rates), rates.call_rates, on_device, shrinkage)
    row = np.zeros(len(mean))
    row[fitted] = factorization.row_effects[fitted]
    return TorchCurvature(
        cells=cells.computed_in(torch.float64),
        weights=on_device,
        fitted=uploaded(fitted, device),
        row=uploaded(row, device),
        effect=effects_on(factorization, device),
    )


def _solve(schur: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Solve what is left, scaled to a diagonal of 1, for m right sides, (m, R)."""
    scale = schur.diagonal().clamp(min=1e-300).rsqrt()
    scaled = schur * scale[:, None] * scale
    lower, failed = torch.linalg.cholesky_ex(scaled)
    sides = (right * scale).mT
    solution = torch.linalg.solve(scaled, sides) if int(failed) else torch.cholesky_solve(sides, lower)
    return solution.mT * scale
