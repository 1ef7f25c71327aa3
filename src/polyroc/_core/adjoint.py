"""Factorization -> Gradient: how D, or a point of the curve, changes with every pairwise rate.

Equations (area-slopes), (adjoint) and (rate-gradient) of docs/influence.md.

At the fit the gradient of the deviance is zero. By the implicit function theorem one linear system in its Hessian, with
what the effects count in D on its right side, replaces one refit for every rate that could change. The Hessian is that
of `polyroc._core.fit`: an arrow, of which the larger side is eliminated. It is singular where lambda is
stretched and v shrunk; the right sides have no part in that direction, and a term of rank one fills it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from scipy.special import expit

from polyroc._core.curve import partial_slopes, shared_rates
from polyroc._core.weights import EDGE
from polyroc._lib.typing import BoolArray, FloatArray, Structure
from polyroc._records import Factorization, Frozen, PairWeights, PairwiseRates


@dataclass(frozen=True, eq=False)
class Gradient(Frozen):
    """Derivatives of m numbers with respect to every pairwise rate, as products of rows and pairs.

    G[s, r, j] = weight[j] cell[r, j] sum_q row[s, q, r] pair[s, q, j], where weight is `tpr` in the first T rows and
    `fpr` in the others. With a thousand classes the cells themselves would fill gigabytes.
    """

    row: FloatArray
    """Shape (m, Q, 2T): T rows of true positive rates, then T of false."""
    pair: FloatArray
    """Shape (m, Q, K)."""
    tpr: FloatArray
    """Weight of each pair's true positive rates, shape (K,)."""
    fpr: FloatArray
    """Weight of each pair's false positive rates, shape (K,)."""
    cell: FloatArray | None = None
    """A factor of each cell, shape (2T, K), where there is one."""

    def __len__(self) -> int:
        return len(self.row)

    def of_numbers(self, some: slice) -> "Gradient":
        """That of some of the numbers."""
        return replace(self, row=self.row[some], pair=self.pair[some])

    def of_pair(self, j: int) -> tuple[FloatArray, FloatArray]:
        """Derivatives by the true and by the false positive rates of one pair, shape (m, T) each."""
        found = np.einsum("sqr,sq->sr", self.row, self.pair[:, :, j])
        if self.cell is not None:
            found = found * self.cell[:, j]
        tpr, fpr = np.split(found, 2, axis=1)
        return self.tpr[j] * tpr, self.fpr[j] * fpr

    @property
    def cells(self) -> FloatArray:
        """All of G, shape (m, 2T, K)."""
        by_pair = [np.concatenate(self.of_pair(j), axis=1) for j in range(self.pair.shape[2])]
        return np.stack(by_pair, axis=2)


# A pair whose effect moves no predictor by more is held at zero: it has no derivative.
HELD = 1e-8


@dataclass(frozen=True, eq=False)
class Eliminated(Frozen):
    """The system of R fitted rows that remains when the free pairs are eliminated."""

    row_block: FloatArray
    """Curvature by rows, shape (R,)."""
    gram: FloatArray
    """Part of it that eliminated pairs take: C' B^-1 C, shape (R, R)."""
    carried: FloatArray
    """Part of a right side of 1 for every free pair that is carried over to rows, shape (R,)."""
    by_pair: FloatArray
    """Curvature by pairs, shape (K,)."""


class Passes(Protocol):
    """Passes over the cells at the end of a fit."""

    def eliminated(self, free: BoolArray) -> Eliminated:
        """The system of rows that remains when the free pairs, of all K, are eliminated."""

    def times(self, found: FloatArray) -> FloatArray:
        """The cross terms of every pair times some rows, shape (m, K) from (m, R)."""


@runtime_checkable
class OwnGradient(Protocol):
    """All of `polyroc._core.adjoint` where the cells are: nothing of the size of pairs comes to the host."""

    def gradient(self, slopes: FloatArray) -> Gradient:
        """The gradient of m numbers by their derivatives by the row effects of the curve, shape (m, 2T)."""


Curvature: TypeAlias = Passes | OwnGradient


# Cells that are worked on at a time, within the cache: all cells of a thousand classes would take gigabytes.
_BLOCK_CELLS = 2**15


def area_gradient(
    factorization: Factorization,
    rates: PairwiseRates,
    weights: PairWeights,
    *,
    shrinkage: float,
    structure: Structure,
    curvature: Curvature | None = None,
    max_fpr: float | None = None,
) -> Gradient:
    """How D, or the standardised area left of `max_fpr`, changes with every pairwise rate: one right side."""
    slopes = area_slopes(factorization) if max_fpr is None else _partial_area_slopes(factorization, max_fpr)
    return _gradient(slopes[None], factorization, rates, weights, shrinkage, structure, curvature)


def point_gradient(
    factorization: Factorization,
    rates: PairwiseRates,
    weights: PairWeights,
    *,
    shrinkage: float,
    structure: Structure,
    curvature: Curvature | None = None,
) -> Gradient:
    """How every point of the curve changes with every pairwise rate: T right sides for TPR, then T for FPR."""
    slopes = np.diag(_logit_slopes(factorization))
    return _gradient(slopes, factorization, rates, weights, shrinkage, structure, curvature)


def mean_point_gradient(weights: PairWeights, n_call_rates: int) -> Gradient:
    """The same for the mean curve, whose points are weighted means of the rates."""
    row = np.diag(np.repeat([1 / weights.tpr.sum(), 1 / weights.fpr.sum()], n_call_rates))
    pair = np.broadcast_to(np.ones(1), (len(row), 1, len(weights.tpr)))
    return Gradient(row[:, None, :], pair, weights.tpr, weights.fpr)


def mean_area_gradient(factorization: Factorization, weights: PairWeights) -> Gradient:
    """How the trapezoids under the mean curve change: for the areas that are not exact means of the pairwise areas."""
    tpr, fpr = np.split(factorization.mean_rates, 2)
    scale = np.repeat([1 / weights.tpr.sum(), 1 / weights.fpr.sum()], len(tpr))
    row = _trapezoid_slopes(np.r_[0.0, fpr, 1.0], np.r_[0.0, tpr, 1.0]) * scale
    return Gradient(row[None, None], np.ones((1, 1, len(weights.tpr))), weights.tpr, weights.fpr)


def held_pairs(factorization: Factorization) -> BoolArray:
    """Pairs whose effect is held at zero, where D has a kink, shape (K,)."""
    fitted = _is_fitted(factorization)
    largest = np.abs(factorization.row_effects[fitted]).max(initial=0.0)
    return np.asarray(factorization.pair_effects * largest <= HELD)


def area_slopes(factorization: Factorization) -> FloatArray:
    """How D changes with the row effects of the curve, shape (2T,)."""
    fpr, tpr = shared_rates(factorization.row_effects)
    return _trapezoid_slopes(fpr, tpr) * _logit_slopes(factorization)


def _partial_area_slopes(factorization: Factorization, max_fpr: float) -> FloatArray:
    """The same for the area left of `max_fpr`."""
    fpr, tpr = shared_rates(factorization.row_effects)
    return partial_slopes(fpr, tpr, max_fpr) * _logit_slopes(factorization)


def _trapezoid_slopes(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    return np.concatenate([(fpr[2:] - fpr[:-2]) / 2, (tpr[:-2] - tpr[2:]) / 2])


def _logit_slopes(factorization: Factorization) -> FloatArray:
    """Derivative of each rate of the curve by its logit; 0 for rows that are not fitted."""
    effect = factorization.row_effects
    return np.where(_is_fitted(factorization), expit(effect) * expit(-effect), 0.0)


def _is_fitted(factorization: Factorization) -> BoolArray:
    mean = factorization.mean_rates
    return np.asarray((mean > EDGE) & (mean < 1 - EDGE))


def _gradient(
    slopes: FloatArray,
    factorization: Factorization,
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    structure: Structure,
    curvature: Curvature | None,
) -> Gradient:
    """The gradient of m numbers whose derivatives by the row effects of the curve are `slopes`, shape (m, 2T)."""
    if structure == "centered":
        msg = "`structure` must be 'rank-one' or 'saturated' for influences, which are not derived for 'centered'."
        raise ValueError(msg)
    cells = _Blocks(factorization, rates, weights, shrinkage)
    if structure == "saturated":
        return _through_logits(slopes, cells)
    if isinstance(curvature, OwnGradient):
        return curvature.gradient(slopes)
    row, pair = solve_adjoint(slopes, cells, curvature)
    return _through_shrinkage(row, pair, cells)


@dataclass(frozen=True, eq=False)
class _Block:
    """The cells of some pairs, by pairs, shape (pairs, R)."""

    pairs: slice
    weight: FloatArray
    rate: FloatArray


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The cells of a fit, some pairs at a time, in the precision of the rates."""

    factorization: Factorization
    rates: PairwiseRates
    weights: PairWeights
    shrinkage: float

    @property
    def fitted(self) -> BoolArray:
        return _is_fitted(self.factorization)

    @property
    def kept(self) -> FloatArray:
        """Share of its own rates that shrinkage leaves to each pair, shape (K,)."""
        size: FloatArray = self.weights.size
        return size / (size + self.shrinkage)

    @property
    def on_row(self) -> FloatArray:
        """What the call rate of each fitted row counts for, shape (R,)."""
        return np.tile(self.rates.row_weights, 2)[self.fitted]

    def __iter__(self) -> Iterator[_Block]:
        n, fitted, precision = self.rates.n_call_rates, self.fitted, self.rates.tpr.dtype
        on_tpr, on_fpr = fitted[:n], fitted[n:]
        on_row, kept = self.on_row.astype(precision), self.kept.astype(precision)
        n_tpr, mean = int(on_tpr.sum()), self.factorization.mean_rates[fitted].astype(precision)
        doubled = (2 * self.rates.call_rates[on_fpr]).astype(precision)
        size = max(1, _BLOCK_CELLS // len(fitted))
        for start in range(0, self.rates.n_pairs, size):
            pairs = slice(start, start + size)
            weight, rate = np.empty((2, len(kept[pairs]), len(on_row)), dtype=precision)
            weight[:, :n_tpr] = self.weights.tpr[pairs, None]
            weight[:, n_tpr:] = self.weights.fpr[pairs, None]
            weight *= on_row
            tpr = self.rates.tpr.T[pairs]
            rate[:, :n_tpr] = tpr[:, on_tpr]
            # As a whole array it would take as much memory as TPR, where it is not stored.
            separate = self.rates.separate_fpr
            rate[:, n_tpr:] = doubled - tpr[:, on_fpr] if separate is None else separate.T[pairs][:, on_fpr]
            rate *= kept[pairs, None]
            rate += (1 - kept[pairs, None]) * mean
            yield _Block(pairs, weight, rate)


def solve_adjoint(slopes: FloatArray, cells: _Blocks, curvature: Passes | None = None) -> tuple[FloatArray, FloatArray]:
    """Solve with the Hessian of the fit for each of m right sides: shapes (m, R) for fitted rows and (m, K).

    Many pairs are eliminated by an engine's passes over the cells, where there are any.
    """
    fitted = cells.fitted
    effect, pair = cells.factorization.row_effects[fitted], cells.factorization.pair_effects
    free = ~held_pairs(cells.factorization)
    right = slopes[:, fitted]
    # The curve is that of lambda times the mean of v: one number for every free pair, shape (m, 1).
    on_pairs = right @ effect[:, None] / len(pair)
    if len(effect) == 0:
        return right, np.zeros((len(right), len(pair)))
    if len(pair) <= len(effect):
        return _keep_pairs(right, on_pairs, effect, pair, free, cells)
    return _keep_rows(right, on_pairs, effect, free, curvature or _PlainCurvature(cells, effect, pair))


def _hessian(block: _Block, effect: FloatArray, pair: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Curvature by rows (R,) of these pairs, by pairs, and the cross terms (pairs, R)."""
    effect, pair = effect.astype(block.rate.dtype), pair[block.pairs].astype(block.rate.dtype)
    eta = pair[:, None] * effect
    # Both tails from one exponential, as in the solver.
    ratio = np.abs(eta)
    np.exp(np.negative(ratio, out=ratio), out=ratio)
    larger = 1 / (1 + ratio)
    ratio *= larger
    residual = np.where(eta < 0, ratio, larger)
    residual -= block.rate
    residual *= block.weight
    larger *= ratio
    larger *= block.weight
    eta *= larger
    eta += residual
    # Without BLAS, whose threads take longer to start and to stop than such a block takes.
    return np.einsum("j,jr->r", pair**2, larger), np.einsum("jr,r->j", larger, effect**2), eta


def _keep_pairs(
    right: FloatArray, on_pairs: FloatArray, effect: FloatArray, pair: FloatArray, free: BoolArray, cells: _Blocks
) -> tuple[FloatArray, FloatArray]:
    """Eliminate the rows: few pairs, whose cross terms fit into memory."""
    parts = [_hessian(block, effect, pair) for block in cells]
    row_block = np.sum([part[0] for part in parts], axis=0)
    pair_block = np.concatenate([part[1] for part in parts])[free]
    cross = np.concatenate([part[2] for part in parts])[free]
    v = pair[free]
    scaled = cross / row_block
    taken = np.einsum("ir,jr->ij", scaled, cross)
    schur = np.diag(pair_block) - taken + pair_block.mean() * np.outer(v, v) / (v @ v)
    found_pair = np.zeros((len(right), len(pair)))
    reduced = on_pairs - np.einsum("sr,jr->sj", right, scaled)
    found_pair[:, free] = np.linalg.solve(schur, reduced.T).T
    return (right - np.einsum("sj,jr->sr", found_pair[:, free], cross)) / row_block, found_pair


def _keep_rows(
    right: FloatArray, on_pairs: FloatArray, effect: FloatArray, free: BoolArray, curvature: Passes
) -> tuple[FloatArray, FloatArray]:
    """Eliminate the pairs, in two passes over the cells."""
    left = curvature.eliminated(free)
    mean = left.row_block.mean()
    schur = np.diag(left.row_block) - left.gram + mean * np.outer(effect, effect) / (effect @ effect)
    found: FloatArray = np.linalg.solve(schur, (right - on_pairs * left.carried).T).T
    inverse = np.divide(1.0, left.by_pair, out=np.zeros(len(free)), where=free)
    return found, inverse * (on_pairs - curvature.times(found))


@dataclass(frozen=True, eq=False)
class _PlainCurvature:
    """The passes in NumPy."""

    cells: _Blocks
    effect: FloatArray
    pair: FloatArray

    def eliminated(self, free: BoolArray) -> Eliminated:
        n_rows = len(self.effect)
        row_block, carried, gram = np.zeros(n_rows), np.zeros(n_rows), np.zeros((n_rows, n_rows))
        by_pair = np.zeros(len(free))
        for block in self.cells:
            by_row, by_pair[block.pairs], cross = _hessian(block, self.effect, self.pair)
            inverse = np.divide(1.0, by_pair[block.pairs], out=np.zeros(len(cross)), where=free[block.pairs])
            row_block += by_row
            carried += np.einsum("j,jr->r", inverse, cross)
            root = cross * np.sqrt(inverse[:, None]).astype(cross.dtype)
            gram += root.T @ root
        return Eliminated(row_block, gram, carried, by_pair)

    def times(self, found: FloatArray) -> FloatArray:
        parts = [found @ _hessian(block, self.effect, self.pair)[2].T for block in self.cells]
        return np.concatenate(parts, axis=1)


def _through_shrinkage(row: FloatArray, pair: FloatArray, cells: _Blocks) -> Gradient:
    """From the solution, shapes (m, R) and (m, K), to every rate: its own shrunk rate, and the mean of its row."""
    factorization, weights, fitted, kept = cells.factorization, cells.weights, cells.fitted, cells.kept
    v, effect, n_pairs = factorization.pair_effects, factorization.row_effects[fitted], len(kept)
    # What the mean of a row pulls on is the sum over pairs of (1 - k) G~, by the weights of the rate's kind.
    is_tpr = np.flatnonzero(fitted) < cells.rates.n_call_rates
    on_mean = np.empty_like(row)
    for chosen, weight in ((is_tpr, weights.tpr), (~is_tpr, weights.fpr)):
        share = weight * (1 - kept) / weight.sum()
        on_mean[:, chosen] = row[:, chosen] * (share @ v) + np.outer(pair @ share, effect[chosen])
    row_factors = np.zeros((len(row), 3, len(fitted)))
    row_factors[:, 0, fitted] = cells.on_row * row
    row_factors[:, 1, fitted] = cells.on_row * effect
    row_factors[:, 2, fitted] = cells.on_row * on_mean
    pair_factors = np.empty((len(row), 3, n_pairs))
    pair_factors[:, 0] = kept * v
    pair_factors[:, 1] = kept * pair
    pair_factors[:, 2] = 1
    return Gradient(row_factors, pair_factors, weights.tpr, weights.fpr)


def _through_logits(slopes: FloatArray, cells: _Blocks) -> Gradient:
    """The saturated structure: a weighted mean of logits in each row, 0 where a logit is bounded."""
    fitted, weights, kept = cells.fitted, cells.weights, cells.kept
    is_tpr = np.flatnonzero(fitted) < cells.rates.n_call_rates
    total = np.where(is_tpr, weights.tpr.sum(), weights.fpr.sum())
    factor = np.zeros((len(fitted), len(kept)))
    on_mean = np.zeros(len(fitted))
    for block in cells:
        rate = block.rate.astype(float)
        bounded = (rate <= EDGE) | (rate >= 1 - EDGE)
        slope = np.where(bounded, 0.0, 1 / np.where(bounded, 1.0, rate * (1 - rate)))
        factor[fitted, block.pairs] = (slope * kept[block.pairs, None]).T
        weight = np.where(is_tpr, weights.tpr[block.pairs, None], weights.fpr[block.pairs, None])
        on_mean[fitted] += np.sum(weight * slope * (1 - kept[block.pairs, None]), axis=0) / total
    factor += on_mean[:, None]
    row = np.zeros_like(slopes)
    row[:, fitted] = slopes[:, fitted] / total
    pair = np.broadcast_to(np.ones(1), (len(row), 1, len(kept)))
    return Gradient(row[:, None], pair, weights.tpr, weights.fpr, factor)


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
    by_rate = area_gradient(
        factorization, rates, weights, shrinkage=shrinkage, structure="rank-one", curvature=curvature
    )
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
