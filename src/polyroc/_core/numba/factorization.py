"""Rates -> Factorization by compiled steps and sweeps (method, steps 4, 6 and 7).

The descent is that of `_core/fit.py`. Words in parentheses are the labels of equations in docs/method.md, whose
rows are the true and the false positive rates at all call rates.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logit

from polyroc._core.fit import FIRST_DAMPING, ROUGH, Descent, descend, solve_rows
from polyroc._core.numba import fit as passes
from polyroc._core.numba.fit import FAR_IN_REPLICATES
from polyroc._core.numba.problem import (
    Cells,
    EliminatedPairs,
    Problem,
    State,
    cells_of,
    pieces,
    row_means,
    size_of_first_fit,
)
from polyroc._core.numba.steps import StepRoom, descend_small, step_pairs
from polyroc._core.weights import EDGE, LOGIT_BOUND, outer_chance, shrunk_rows
from polyroc._lib.threads import Threads
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc._records import Factorization, PairWeights, PairwiseRates, Status


@dataclass(frozen=True, eq=False)
class KeptState(State):
    """A state with the second derivatives by rows and pairs."""

    cross: FloatArray
    """(K, R)."""


@dataclass(frozen=True, eq=False)
class KeptPairs(Problem[KeptState]):
    """A fit whose pairs are kept: they are one piece of work."""

    room: StepRoom

    @classmethod
    def of(cls, cells: Cells) -> "KeptPairs":
        """Room for its steps."""
        n_pairs, n_rows = cells.n_pairs, cells.n_rows
        # `add_gram` takes tiles of four rows.
        side = (n_pairs + 3) // 4 * 4
        coupling = np.zeros((side, n_rows), dtype=cells.precision)
        return cls(cells, StepRoom(np.empty((side, side)), np.empty((4, n_pairs)), np.empty((3, n_rows)), coupling))

    def _linearised(self, row: FloatArray, effect: FloatArray) -> KeptState:
        pairs = self._new_pairs()
        pairs.effect[:] = effect
        return self._swept(row, row, pairs, pairs, stretch=0.0)

    def _effects(self, pull: FloatArray, table: FloatArray) -> FloatArray:
        found = np.empty(self.cells.n_pairs)
        passes.solve_effects(self.cells.data, pull, table, 0, self.cells.n_pairs, found)
        return found

    def _half_deviances(self, state: KeptState, chance: FloatArray) -> FloatArray:
        given = (self.cells.data, state.row.astype(self.cells.precision), state.pairs.effect, chance)
        return np.array([passes.add_deviance(*given, 0, self.cells.n_pairs)])

    def _tried(self, state: KeptState, stretch: float, total: FloatArray) -> KeptState | None:
        row, pairs = np.empty_like(state.row), self._new_pairs()
        given = (state.row, state.row_sums, state.pairs, state.cross, stretch)
        if not step_pairs(*given, row, pairs.effect, total, self.room):
            return None
        return self._swept(state.row, row, state.pairs, pairs, stretch=stretch)

    def _new_pairs(self) -> passes.PairState:
        effect, gradient, block = np.empty((3, self.cells.n_pairs))
        return passes.PairState(effect, gradient, block, np.empty(self.cells.n_pairs, dtype=np.bool_))

    def _swept(
        self, row: FloatArray, row_new: FloatArray, old: passes.PairState, new: passes.PairState, *, stretch: float
    ) -> KeptState:
        """The state that rows and pairs have been moved to."""
        n_pairs, n_rows, precision = self.cells.n_pairs, self.cells.n_rows, self.cells.precision
        row_sums, total = np.zeros((passes.N_ROW_SUMS, n_rows)), np.zeros(passes.N_TOTALS)
        cross, work = np.empty((n_pairs, n_rows), dtype=precision), np.empty((10, n_rows), dtype=precision)
        rows = (row.astype(precision, copy=False), row_new.astype(precision, copy=False))
        passes.sweep(self.cells.data, *rows, old, new, stretch, True, 0, n_pairs, row_sums, total, work, cross, None)
        return KeptState(row_new, new, row_sums, total, cross)


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
        problem = problem_of(cells, pieces(rates.n_pairs), threads)
        end = _descended(problem, row)
        # Not at the start: the changes of long moves miss a little, which must not add up in the deviance.
        deviance, of_chance = problem.deviances(end.state, rates.call_rates)
        end = replace(end, deviance_path=end.deviance_path - end.deviance_path[-1] + max(0.0, deviance))
    of_chance += outer_chance(cells.mean, ~cells.fitted, rates, _totals(weights))
    fit = _factorization(cells, end.state.row, end.state.pairs.effect, end, rates, weights, shrinkage)
    return replace(fit, chance_deviance=of_chance)


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
    # Compiled as a whole are only descents that solve for the pairs.
    if not cells.keeps_pairs:
        n_few = size_of_first_fit(rates.n_pairs, one_optimum=one_optimum)
        first = None if n_few is None else _first_rows(cells, rates, weights, shrinkage, n_few, threads)
        # Replicates share the threads: each is swept in one piece.
        end = _descended(EliminatedPairs.of(cells, [(0, rates.n_pairs)], threads), first)
        return _factorization(cells, end.state.row, end.state.pairs.effect, end, rates, weights, shrinkage)
    till = cells.tolerance
    limits = (till.move, till.gradient, till.damping, cells.rounding)
    ended, n_iter, row, effect = descend_small(cells.data, cells.first_row, np.ones(rates.n_pairs), *limits)
    # In the order of CONVERGED, MAX_ITER, STALLED in `_numba/_descent.py`.
    status = (Status.CONVERGED, Status.MAX_ITER, Status.STALLED)[ended]
    # Without the deviance: nobody reads that of a replicate.
    ending: Descent[None] = Descent(None, np.zeros(1), n_iter, status)
    return _factorization(cells, row, effect, ending, rates, weights, shrinkage)


def problem_of(cells: Cells, parts: list[tuple[int, int]], threads: Threads) -> Problem[Any]:
    """The kind of problem by its smaller side, which is solved for."""
    return KeptPairs.of(cells) if cells.keeps_pairs else EliminatedPairs.of(cells, parts, threads)


def _descended(problem: Problem[Any], row: FloatArray | None) -> Descent[Any]:
    """The descent from given row effects, or from the means of the rows."""
    # From given ones near the optimum already, so hardly damped: 1e-6 is the least that a step which disappoints is
    # given.
    start, damping = (problem.start(), FIRST_DAMPING) if row is None else (problem.start_from(row), 1e-6)
    return descend(problem, start, 0.0, tolerance=problem.cells.tolerance, damping=damping)


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
    problem = problem_of(cells, pieces(n_few), threads)
    end = descend(problem, problem.start(), 0.0, tolerance=ROUGH)
    found = end.state.row * end.state.pairs.effect.mean()
    # A larger effect would start its row at rates of 0 or 1; such a row stays at the logit of its mean.
    row[cells.fitted] = np.where(np.abs(found) < LOGIT_BOUND, found, row[cells.fitted])
    return row


def _without_rows(cells: Cells, rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Factorization:
    """Where every rate of every row is 0, or is 1: nothing is left to fit."""
    ending: Descent[None] = Descent(None, np.zeros(1), 0, Status.CONVERGED)
    return _factorization(cells, np.empty(0), np.ones(rates.n_pairs), ending, rates, weights, shrinkage)


def _factorization(
    cells: Cells,
    inner: FloatArray,
    effect: FloatArray,
    end: Descent[Any],
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
) -> Factorization:
    """The effects that a descent ended with, scaled, and with the rows that were not fitted."""
    if end.status is not Status.CONVERGED:
        # For any v the rows that solve (row) make a curve that rises, as those of a fit that ended early need not.
        inner = _solve_rows(rates, weights, shrinkage, cells.fitted, inner, effect)
    row = np.where(cells.mean < 0.5, -LOGIT_BOUND, LOGIT_BOUND)
    # The product leaves a scale free: (curve) has the mean of the pair effects at 1.
    row[cells.fitted] = inner * effect.mean()
    return Factorization(
        row_effects=row,
        pair_effects=effect / effect.mean(),
        deviance=max(0.0, float(end.deviance_path[-1])),
        deviance_path=end.deviance_path,
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
