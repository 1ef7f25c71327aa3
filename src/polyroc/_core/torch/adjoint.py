"""Gradients of what was fitted, on the device: `polyroc._core.adjoint` for many pairs.

The system is that of equation (adjoint) in docs/influence.md, with R fitted rows and K pairs: blocks A of the rows, B
of the pairs, and cross terms C, which are found anew in each pass. Eliminating the free pairs leaves

    (A - C B^-1 C' + gauge) a = c - C B^-1 d,    b = B^-1 (d - C' a)

where d is one number for all free pairs: the curve is that of lambda times the mean of v. Everything is in double
precision, whatever the rates are stored in.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from polyroc._core.cells import EDGE
from polyroc._core.curvature import HELD
from polyroc._core.torch.devices import computing_on, pieces, uploaded
from polyroc._core.torch.effects import effects_on
from polyroc._core.torch.factorization import cells_of
from polyroc._core.torch.gradient import Slopes, TensorGradient
from polyroc._core.torch.pairs import Weights, weights_on
from polyroc._core.torch.passes import passes_for
from polyroc._core.torch.rates import TensorRates
from polyroc._core.torch.sweeps import ROW_BLOCK, Cells, Pairs
from polyroc._lib.typing import FloatArray
from polyroc._records import Factorization, PairWeights

# Numbers of the cross terms that are gathered at once.
_AT_ONCE = 2**25
# Pairs whose gram matrix is one product: a single product of very many has too few tiles to fill a card.
_PRODUCT = 4096


@dataclass(frozen=True, eq=False)
class _Linearised:
    """Some pairs at the end of a fit."""

    pairs: slice
    row_block: torch.Tensor  # (2T,): their part of the curvature by rows
    inverse: torch.Tensor  # (P,): one over the curvature by pairs, 0 of those held at zero
    cross: torch.Tensor  # (P, 2T)


@dataclass(frozen=True, eq=False)
class TorchCurvature:
    """The cells at the end of a fit of many pairs."""

    cells: Cells  # of one fit, computed in double precision
    weights: Weights
    fitted: torch.Tensor  # places of the fitted rows, (R,)
    row: torch.Tensor  # (2T,), 0 where nothing is fitted
    effect: torch.Tensor  # (K,)

    def gradient(self, slopes: FloatArray) -> TensorGradient:
        """The gradient of m numbers by their derivatives by the row effects of the curve, shape (m, 2T)."""
        with computing_on(self.row.device, len(self.effect)):
            return self._through_shrinkage(*self._solved(slopes))

    def _solved(self, slopes: FloatArray) -> tuple[torch.Tensor, torch.Tensor]:
        """What rows and pairs count for, (m, R) and (m, K), in two passes over the cells."""
        right = uploaded(slopes, self.row.device, torch.float64)[:, self.fitted]
        effect, n_rows = self.row[self.fitted], self.cells.n_rows
        row_block, carried = torch.zeros((2, n_rows), dtype=torch.float64, device=effect.device)
        gram = torch.zeros((n_rows, n_rows), dtype=torch.float64, device=effect.device)
        for some in self._passed():
            row_block += some.row_block
            carried += some.inverse @ some.cross
            gram += _gram(some.cross.mul_(some.inverse.sqrt()[:, None]))
        row_block, carried, gram = row_block[self.fitted], carried[self.fitted], gram[self.fitted][:, self.fitted]
        gauge = row_block.mean() * torch.outer(effect, effect) / (effect @ effect)
        on_pairs = right @ effect[:, None] / len(self.effect)
        found = _solve(torch.diag(row_block) - gram + gauge, right - on_pairs * carried)
        pair = torch.empty((len(right), len(self.effect)), dtype=torch.float64, device=effect.device)
        # With zeros where nothing is fitted: to pick rows of the cross terms would copy them.
        of_rows = torch.zeros((len(right), n_rows), dtype=torch.float64, device=effect.device)
        of_rows[:, self.fitted] = found
        for some in self._passed():
            pair[:, some.pairs] = some.inverse * (on_pairs - of_rows @ some.cross.mT)
        return found, pair

    def _passed(self) -> Iterator[_Linearised]:
        row = self.row[None]
        least = HELD / row.abs().amax()
        for start, stop in pieces(self.cells.n_pairs, _AT_ONCE // self.cells.n_rows):
            some, effect = self.cells.of_pairs(slice(start, stop)), self.effect[None, start:stop]
            nothing = torch.zeros_like(effect[:, :1]).expand(effect.shape)
            swept = passes_for(some).sweep(some, row, row, Pairs(effect, nothing, nothing), None, with_cross=True)
            assert swept.cross is not None
            # A pair at the border v = 0 does not follow the rates: it bends the rows, but is not solved for.
            inverse = torch.where(effect[0] > least, 1 / swept.pairs.block[0], 0.0)
            yield _Linearised(slice(start, stop), swept.by_row[0, ROW_BLOCK], inverse, swept.cross[0])

    def _through_shrinkage(self, row: torch.Tensor, pair: torch.Tensor) -> TensorGradient:
        """From the solution to every rate: its own shrunk rate, and the mean of its row."""
        effect, v, kept = self.row[self.fitted], self.effect, self.cells.keep
        is_tpr = self.fitted < self.cells.n_rows // 2
        on_mean = torch.empty_like(row)
        for chosen, weight in ((is_tpr, self.weights.tpr), (~is_tpr, self.weights.fpr)):
            # What the mean of a row pulls on is the sum over pairs of (1 - k) G~, by the weights of the rate's kind.
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
    device, on_device = rates.tpr_tensor.device, weights_on(weights, rates.tpr_tensor.device)
    fpr = None if rates.fpr_tensor is None else rates.fpr_tensor[None]
    cells, _ = cells_of(rates.tpr_tensor[None], fpr, rates.call_rates, on_device, shrinkage)
    row = np.zeros(len(mean))
    row[fitted] = factorization.row_effects[fitted]
    return TorchCurvature(
        cells=cells.computed_in(torch.float64),
        weights=on_device,
        fitted=uploaded(fitted, device),
        row=uploaded(row, device),
        effect=effects_on(factorization, device),
    )


def _gram(root: torch.Tensor) -> torch.Tensor:
    """The product of (P, R) with itself, (R, R)."""
    whole = len(root) // _PRODUCT * _PRODUCT
    blocks, rest = root[:whole].view(-1, _PRODUCT, root.shape[1]), root[whole:]
    return (blocks.mT @ blocks).sum(0) + rest.mT @ rest


def _solve(schur: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Solve what is left, scaled to a diagonal of 1, for m right sides, (m, R)."""
    scale = schur.diagonal().clamp(min=1e-300).rsqrt()
    scaled = schur * scale[:, None] * scale
    lower, failed = torch.linalg.cholesky_ex(scaled)
    given = (right * scale).mT
    found = torch.linalg.solve(scaled, given) if int(failed) else torch.cholesky_solve(given, lower)
    return found.mT * scale
