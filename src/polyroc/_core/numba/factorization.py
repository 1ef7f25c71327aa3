"""Rates -> Factorization by compiled steps and sweeps, and the Hessian at its end for gradients.

The descent is that of `_core/fit.py`. Words in parentheses are the labels of equations in docs/method.md, whose rows
are the true and the false positive rates at all call rates.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logit

from polyroc._core.adjoint import Eliminated
from polyroc._core.fit import FIRST_DAMPING, ROUGH, Tolerance, descend, solve_rows
from polyroc._core.numba.compile import add_scaled, borrowed, dot, kernel
from polyroc._core.numba.fit import (
    BLOCK,
    FAR_IN_REPLICATES,
    PairState,
    add_gram,
    fill_cells,
    fit_pair,
    linearise_pair,
    turn,
)
from polyroc._core.numba.problem import (
    Cells,
    EliminatedPairs,
    KeptPairs,
    cells_of,
    deviances,
    effects_of,
    pieces,
    row_means,
    size_of_first_fit,
)
from polyroc._core.numba.steps import descend_small
from polyroc._core.weights import EDGE, LOGIT_BOUND, outer_chance, shrunk_rows
from polyroc._lib.threads import Threads
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc._records import Factorization, PairWeights, PairwiseRates, Status, read_only


def fit_rank_one(
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    *,
    n_jobs: int | None = None,
    near: Factorization | None = None,
) -> Factorization:
    """Joint Levenberg-Marquardt steps; at the start all pairs are alike and each row has the logit of its mean.

    Many pairs begin where a fit of some of them ended, or where that of all with another shrinkage did, `near`.
    """
    with Threads(n_jobs) as threads:
        cells = cells_of(rates, weights, shrinkage, row_means(rates, weights, threads))
        if not cells.fitted.any():
            fit = _without_rows(cells, rates, weights, shrinkage)
            return replace(fit, chance_deviance=outer_chance(cells.mean, ~cells.fitted, rates, _totals(weights)))
        # Own thresholds, for which FPR is not stored, hardly ever have a second optimum; shared ones may.
        n_few = size_of_first_fit(rates.n_pairs, one_optimum=rates.separate_fpr is None)
        row = None if n_few is None else _first_rows(cells, rates, weights, shrinkage, n_few, threads, near)
        parts = pieces(rates.n_pairs)
        found = _descended(cells, row, parts, threads)
        # Not at the start: the changes of long moves miss a little, which must not add up in the deviance.
        deviance, of_chance = deviances(cells, found.row, found.effect, rates.call_rates, parts, threads)
        found = replace(found, path=found.path - found.path[-1] + max(0.0, deviance))
    of_chance += outer_chance(cells.mean, ~cells.fitted, rates, _totals(weights))
    return replace(_factorization(cells, found, rates, weights, shrinkage), chance_deviance=of_chance)


def fit_replicate(
    rates: PairwiseRates, weights: PairWeights, shrinkage: float, *, one_optimum: bool = False
) -> Factorization:
    """As `fit_rank_one`, on one thread and for the effects only, in the precision of the rates.

    `one_optimum` says that thresholds are such that a fit of some of the pairs may come first.
    """
    threads = Threads(1)
    mean = row_means(rates, weights, threads)
    cells = cells_of(rates, weights, shrinkage, mean, far=FAR_IN_REPLICATES)
    if not cells.fitted.any():
        return _without_rows(cells, rates, weights, shrinkage)
    if cells.keeps_pairs:
        # Many of these are done: compiled as a whole.
        till = cells.tolerance
        limits = (till.move, till.gradient, till.damping, cells.rounding, FIRST_DAMPING)
        ended, n_iter, path, row, effect = descend_small(cells.data, cells.first_row, np.ones(rates.n_pairs), *limits)
        return _factorization(cells, _Found(row, effect, path, n_iter, _ENDINGS[ended]), rates, weights, shrinkage)
    n_few = size_of_first_fit(rates.n_pairs, one_optimum=one_optimum)
    first = None if n_few is None else _first_rows(cells, rates, weights, shrinkage, n_few, threads)
    # Replicates share the threads: each is swept in one piece. Nobody reads its deviance.
    return _factorization(cells, _descended(cells, first, [(0, rates.n_pairs)], threads), rates, weights, shrinkage)


@dataclass(frozen=True, eq=False)
class _Found:
    """Where a descent ended, and how."""

    row: FloatArray
    effect: FloatArray
    path: FloatArray
    """The deviance after each step that was taken, less that of the start."""
    n_iter: int
    status: Status


# In the order of CONVERGED, MAX_ITER, STALLED, SADDLE in `steps.py`.
_ENDINGS = (Status.CONVERGED, Status.MAX_ITER, Status.STALLED, Status.SADDLE)


def _descended(
    cells: Cells,
    row: FloatArray | None,
    parts: list[tuple[int, int]],
    threads: Threads,
    *,
    tolerance: Tolerance | None = None,
) -> _Found:
    """The descent from given row effects, or from the means of the rows, by the smaller side: that is solved for."""
    # From given ones near the optimum already, so hardly damped: 1e-6 is the least that a step which disappoints is
    # given.
    damping = FIRST_DAMPING if row is None else 1e-6
    effect = np.ones(cells.n_pairs) if row is None else effects_of(cells, row, parts, threads)
    row, tolerance = cells.first_row if row is None else row, tolerance or cells.tolerance
    problem = KeptPairs.of(cells) if cells.keeps_pairs else EliminatedPairs.of(cells, parts, threads)
    end = descend(problem, problem.start(row, effect), 0.0, tolerance=tolerance, damping=damping)
    return _Found(end.state.row, end.state.pairs.effect, end.deviance_path, end.n_iter, end.status)


def _first_rows(
    cells: Cells,
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    n_few: int,
    threads: Threads,
    near: Factorization | None = None,
) -> FloatArray:
    """Row effects to begin with, those of fitted rows: where another fit ended, of some of the pairs or `near`."""
    if near is not None and near.converged:
        return near.row_effects[cells.fitted]
    return _rows_of_few(rates, weights, shrinkage, cells.mean, n_few, threads)[cells.fitted]


def _rows_of_few(
    rates: PairwiseRates, weights: PairWeights, shrinkage: float, mean: FloatArray, n_few: int, threads: Threads
) -> FloatArray:
    """Row effects by a rough fit of a sample of the pairs: nearly those of all, at a fraction of the work."""
    # A seed of its own: the same rates always give the same fit.
    few = np.sort(np.random.default_rng(0).choice(rates.n_pairs, n_few, replace=False))
    rates, weights = rates.of_pairs(few), PairWeights(weights.tpr[few], weights.fpr[few], weights.size[few])
    cells = cells_of(rates, weights, shrinkage, row_means(rates, weights, threads))
    row = np.asarray(logit(np.clip(mean, EDGE, 1 - EDGE)))
    if not cells.fitted.any():
        return row
    end = _descended(cells, None, pieces(n_few), threads, tolerance=ROUGH)
    found = end.row * end.effect.mean()
    # A larger effect would start its row at rates of 0 or 1; such a row stays at the logit of its mean.
    row[cells.fitted] = np.where(np.abs(found) < LOGIT_BOUND, found, row[cells.fitted])
    return row


def _without_rows(cells: Cells, rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Factorization:
    """Where every rate of every row is 0, or is 1: nothing is left to fit."""
    found = _Found(np.empty(0), np.ones(rates.n_pairs), np.zeros(1), 0, Status.CONVERGED)
    return _factorization(cells, found, rates, weights, shrinkage)


def _factorization(
    cells: Cells, end: _Found, rates: PairwiseRates, weights: PairWeights, shrinkage: float
) -> Factorization:
    """The effects that a descent ended with, scaled, and with the rows that were not fitted."""
    inner, effect = end.row, end.effect
    if end.status is not Status.CONVERGED:
        # For any v the rows that solve (row) make a curve that rises, as those of a fit that ended early need not.
        inner = _solve_rows(rates, weights, shrinkage, cells.fitted, inner, effect)
    row = np.where(cells.mean < 0.5, -LOGIT_BOUND, LOGIT_BOUND)
    # The product leaves a scale free: (curve) has the mean of the pair effects at 1.
    row[cells.fitted] = inner * effect.mean()
    return Factorization(
        row_effects=row,
        pair_effects=effect / effect.mean(),
        deviance=max(0.0, float(end.path[-1])),
        deviance_path=end.path,
        n_iter=end.n_iter,
        status=end.status,
        mean_rates=cells.mean,
        is_single=cells.is_single,
    )


def _solve_rows(
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    fitted: BoolArray,
    row: FloatArray,
    effect: FloatArray,
) -> FloatArray:
    """The best row effects for the pair effects of a fit that ended early, a few rows at a time."""
    solved, n = row.copy(), rates.n_call_rates
    # In 32 blocks, because the cells are laid out here as (rows, K): all at once would need 32 times the memory.
    for block in np.array_split(np.flatnonzero(fitted), 32):
        rate = np.vstack([rates.tpr[block[block < n]], rates.fpr[block[block >= n] - n]])
        # Each row is solved by itself, whatever its call rate counts for.
        weight = np.where(block[:, None] < n, weights.tpr, weights.fpr)
        cells = shrunk_rows(rate, weight, weights.size, shrinkage)
        at = np.searchsorted(np.flatnonzero(fitted), block)
        solved[at] = solve_rows(cells, row[at][:, None], effect)[:, 0]
    return solved


def _totals(weights: PairWeights) -> FloatArray:
    return np.array([weights.tpr.sum(), weights.fpr.sum()])


# The Hessian of a fit of many pairs, with the pairs eliminated, as `polyroc._core.adjoint` has it, by the passes of the
# fit: BLAS would bring threads of its own, which wait for each other while ours compute. The system is that of equation
# (adjoint) in docs/influence.md, with R fitted rows and K pairs: A (R,) is `row_block`, B (K,) is `by_pair`, and C is
# found anew for each pair, `cross` (R,). Eliminating the pairs leaves
#
#     (A - C B^-1 C') a = c - d C B^-1 1,    b = B^-1 (d - C' a)
#
# where d is one number for all free pairs. `eliminate` sums A, C B^-1 C' (the gram matrix) and C B^-1 1 (carried), and
# `multiply` C' a.

# Rows of the room in which the cells of one pair are worked out: rate, weight, p, p (1 - p), residual, bend, cross.
_WORK = 7


class Curvature:
    """Passes over the cells at the end of a fit."""

    def __init__(
        self,
        factorization: Factorization,
        rates: PairwiseRates,
        weights: PairWeights,
        shrinkage: float,
        n_jobs: int | None,
    ) -> None:
        cells = cells_of(rates, weights, shrinkage, factorization.mean_rates)
        self._data = cells.data
        self._row = factorization.row_effects[cells.fitted].astype(cells.precision)
        self._effect = factorization.pair_effects
        self._pieces, self._n_jobs = pieces(rates.n_pairs), n_jobs

    def eliminated(self, free: BoolArray) -> Eliminated:
        """The system of rows that remains when the free pairs are eliminated."""
        n_rows = len(self._row)
        # `add_gram` takes tiles of four rows.
        side, precision = (n_rows + 3) // 4 * 4, self._row.dtype
        by_pair, free = np.zeros(len(self._effect)), read_only(free.copy())
        results, tasks = [], []
        for piece in self._pieces:
            found = np.zeros((2, n_rows)), np.zeros((side, side))
            results.append(found)
            room = self._work(), np.empty((BLOCK, n_rows), precision), np.zeros((side, BLOCK), precision)
            tasks.append((self._data, self._row, self._pairs(), free, *piece, by_pair, *found, *room))
        with Threads(self._n_jobs) as threads:
            threads.map(eliminate, tasks)
        (row_block, carried), gram = (sum(parts[1:], start=parts[0]) for parts in zip(*results, strict=True))
        # `add_gram` fills the triangle above the diagonal; below it only where tiles cross.
        upper = np.triu(gram[:n_rows, :n_rows])
        return Eliminated(row_block, upper + np.triu(upper, 1).T, carried, by_pair)

    def times(self, found: FloatArray) -> FloatArray:
        """The cross terms of every pair times some rows, shape (m, K) from (m, R)."""
        out = np.empty((len(found), len(self._effect)))
        given = read_only(np.array(found, dtype=float))
        tasks = [(self._data, self._row, self._pairs(), given, *piece, self._work(), out) for piece in self._pieces]
        with Threads(self._n_jobs) as threads:
            threads.map(multiply, tasks)
        return out

    def _work(self) -> FloatArray:
        return np.empty((_WORK, len(self._row)), self._row.dtype)

    def _pairs(self) -> PairState:
        # Room for each task: `linearise_pair` writes gradient, curvature and pins, of which only the curvature is read.
        gradient, block = np.empty((2, len(self._effect)))
        effect = read_only(np.array(self._effect, dtype=float))
        return PairState(effect, gradient, block, np.empty(len(self._effect), dtype=np.bool_))


@kernel
def eliminate(
    data: Any,
    row: Any,
    pairs: Any,
    free: Any,
    start: int,
    stop: int,
    by_pair: Any,
    by_row: Any,
    gram: Any,
    work: Any,
    block: Any,
    turned: Any,
) -> None:
    """Add the curvature of rows and what pairs carry over to rows, `by_row` (2, R), and the gram matrix of cross terms.

    The sums over pairs of (adjoint): free and by_pair (K,), gram (R, R) rounded up to a multiple of four; work (7, R),
    block (BLOCK, R), turned its transpose, with as many rows as gram.
    """
    data, row, pairs, work, block = borrowed(data), borrowed(row), borrowed(pairs), borrowed(work), borrowed(block)
    rate, weight, p, h, residual, bend, cross = work[0], work[1], work[2], work[3], work[4], work[5], work[6]
    # `nowhere` takes the gradient of the rows, which is 0 at the optimum and not needed.
    nowhere, filled = np.zeros(row.shape[0]), np.int64(0)
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        fit_pair(row, pairs.effect[j], p, h)
        linearise_pair(row, pairs, j, rate, weight, p, h, residual, bend, cross, nowhere)
        add_scaled(by_row[0], pairs.effect[j] * pairs.effect[j], bend)
        by_pair[j] = pairs.block[j]
        # A pair at the border v = 0 does not follow the rates: it bends the rows, but is not solved for.
        if free[j]:
            add_scaled(by_row[1], 1.0 / by_pair[j], cross)
            # C B^-1/2, whose gram matrix is C B^-1 C'.
            factor, out = row.dtype.type(1.0 / np.sqrt(by_pair[j])), block[filled]
            for i in range(cross.shape[0]):
                out[i] = factor * cross[i]
            filled += 1
        # As in `sweep`: the gram matrix is added to by whole blocks, transposed so that sums run along memory.
        if filled == BLOCK or (filled > 0 and j + 1 == stop):
            turn(block, filled, turned)
            add_gram(turned, filled, gram)
            filled = np.int64(0)


@kernel
def multiply(data: Any, row: Any, pairs: Any, found: Any, start: int, stop: int, work: Any, out: Any) -> None:
    """The cross terms of pairs start..stop times some rows: C' a of (adjoint); found (m, R), out (m, K)."""
    data, row, pairs, work, found = borrowed(data), borrowed(row), borrowed(pairs), borrowed(work), borrowed(found)
    rate, weight, p, h, residual, bend, cross = work[0], work[1], work[2], work[3], work[4], work[5], work[6]
    nowhere = np.zeros(row.shape[0])
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        fit_pair(row, pairs.effect[j], p, h)
        linearise_pair(row, pairs, j, rate, weight, p, h, residual, bend, cross, nowhere)
        for s in range(found.shape[0]):
            out[s, j] = dot(found[s], cross)
