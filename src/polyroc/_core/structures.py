"""PairwiseRates and PairWeights -> Factorization by the reference's solver, by models (method, steps 4, 6 and 7)."""

from dataclasses import replace

import numpy as np
from scipy.special import logit

from polyroc._core.cells import LOGIT_BOUND, Cells, shrunk_cells
from polyroc._core.fit import Solution, chance_deviance, minimise, solve_rows
from polyroc._lib.typing import FloatArray
from polyroc._records import Factorization, PairWeights, PairwiseRates, Status

# Pairs whose rates differ by no more are the same to rounding.
_ALIKE = 1e-12
# A rate of 0.0001 separates pairs hardly better than one of 0.01, but its logit would rule the singular vectors: a
# decision tree on digits then starts towards a deviance of 2371 instead of 2221.
_START_BOUND = 5.0


def rank_one(rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Factorization:
    """Joint Levenberg-Marquardt steps; at the start all pairs are alike and each row has the logit of its mean."""
    cells = shrunk_cells(rates, weights, shrinkage)
    inner = cells.inner
    solution = minimise(inner, logit(inner.mean)[:, None], np.ones(rates.n_pairs))
    row = solution.row
    if solution.status is not Status.CONVERGED:
        row = solve_rows(inner, row, solution.pair)
    effect = _bounded(cells)
    effect[cells.interior] = row[:, 0] * solution.pair.mean()
    pair = solution.pair / solution.pair.mean()
    return _factorization(cells, solution, effect, pair, chance_deviance(cells, rates.call_rates))


def saturated(rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Factorization:
    """Every cell fits itself, and the shared effect is the mean of the logits."""
    cells = shrunk_cells(rates, weights, shrinkage)
    logits = np.clip(logit(cells.rate), -LOGIT_BOUND, LOGIT_BOUND)
    row = np.sum(cells.weight * logits, axis=1) / np.sum(cells.weight, axis=1)
    row = np.where(cells.interior, row, _bounded(cells))
    return Factorization(
        row_effects=row,
        pair_effects=np.ones(rates.n_pairs),
        deviance=0.0,
        deviance_path=np.zeros(1),
        n_iter=0,
        status=Status.CONVERGED,
        mean_rates=cells.mean,
    )


def centered(rates: PairwiseRates, weights: PairWeights, shrinkage: float, start: Factorization) -> Factorization:
    """The structure with an intercept, eta = lambda0 + lambda v' with sum(v) = 0: the better optimum of two starts.

    With shared thresholds and high costs it has several. The starts are the rank-one optimum and the first singular
    vectors of the logits less their row means.
    """
    cells = shrunk_cells(rates, weights, shrinkage)
    if np.ptp(cells.rate, axis=1).max() <= _ALIKE:
        # Then the intercept fits every pair, and there is no direction in which pairs could differ.
        return replace(start, pair_effects=np.zeros(rates.n_pairs))
    fitted, inner = cells.interior, cells.inner
    effect = start.row_effects[fitted]
    # lambda (1 + (v - 1)): the rank-one fit, written as an intercept and a deviation from it.
    near = minimise(inner, np.column_stack([effect, effect]), _off_the_saddle(start.pair_effects - 1))
    solution = min(near, minimise(inner, *_singular_start(inner)), key=lambda found: float(found.deviance_path[-1]))
    row = start.row_effects.copy()
    row[fitted] = solution.row[:, 0] + solution.row[:, 1] * solution.pair.mean()
    return _factorization(cells, solution, row, solution.pair - solution.pair.mean(), start.chance_deviance)


def _singular_start(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Row means of the logits, and the best approximation of rank one of what they leave."""
    logits = np.clip(logit(cells.rate), -_START_BOUND, _START_BOUND)
    mean = logits.mean(axis=1)
    left, size, right = np.linalg.svd(logits - mean[:, None], full_matrices=False)
    # Pair effects of size one, as at the other start.
    scale = np.sqrt(len(right[0]))
    return np.column_stack([mean, left[:, 0] * size[0] / scale]), right[0] * scale


def _factorization(
    cells: Cells, solution: Solution, row: FloatArray, pair: FloatArray, chance: float | None
) -> Factorization:
    return Factorization(
        row_effects=row,
        pair_effects=pair,
        deviance=float(solution.deviance_path[-1]),
        deviance_path=solution.deviance_path,
        n_iter=solution.n_iter,
        status=solution.status,
        mean_rates=cells.mean,
        chance_deviance=chance,
    )


def _bounded(cells: Cells) -> FloatArray:
    """The effects of rows whose rates are all 0 or all 1, which are not fitted; of other rows, nothing yet."""
    return np.where(cells.mean < 0.5, -LOGIT_BOUND, LOGIT_BOUND)


def _off_the_saddle(pair: FloatArray) -> FloatArray:
    """Leave the saddle where all pairs are alike, in which nothing would say which way to go."""
    if np.ptp(pair) > 1e-6:
        return pair
    return pair + 1e-3 * np.linspace(-1, 1, len(pair))
