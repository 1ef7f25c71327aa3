"""The solver on random problems, and its optima against an independent optimizer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import STUDY, gaussian_problem, quietly, random_problem
from reference import deviance_by_loops
from scipy.special import expit

import polyroc
from polyroc._core import fit as _solver
from polyroc._core.fit import Solution, Tolerance, descend, deviance, minimise, point, solve_rows
from polyroc._core.weights import Cells, pair_weights, shrunk_cells


def study(seeds: range, shrinkage: float) -> list[polyroc.Factorization]:
    """Fit every problem; whatever must hold for all of them is asserted here."""
    fits = []
    for seed in seeds:
        problem = random_problem(seed)
        evaluation = quietly(
            polyroc.evaluate,
            problem.y_true,
            problem.y_score,
            engine="numpy",
            shrinkage=shrinkage,
            **problem.arguments,
        )
        fit, curve = evaluation.factorization, evaluation.curve
        assert np.isfinite(fit.row_effects).all(), seed
        assert np.isfinite(fit.pair_effects).all(), seed
        assert np.all(np.diff(fit.deviance_path) <= 1e-14 * fit.deviance_path[:-1]), seed
        # The fitted rates themselves, before the curve takes away their rounding.
        for values in np.split(expit(fit.row_effects), 2):
            assert np.all(np.diff(values) >= -1e-9), seed
        for values in (curve.fpr, curve.tpr):
            assert np.all((values >= 0) & (values <= 1)), seed
            assert np.all(np.diff(values) >= 0), seed
        assert fit.n_iter <= 200, seed
        fits.append(fit)
    return fits


@pytest.mark.parametrize("seeds", STUDY)
def test_random_problems_converge(seeds):
    fits = study(seeds, shrinkage=1.0)
    assert sum(fit.converged for fit in fits) >= 0.99 * len(seeds)


@pytest.mark.parametrize("seeds", STUDY)
def test_random_problems_without_shrinkage_end_with_a_status(seeds):
    fits = study(seeds, shrinkage=0.0)
    # Some optima lie at infinity here; those are reported, the others found.
    assert sum(fit.converged for fit in fits) >= 0.9 * len(seeds)
    assert any(not fit.converged for fit in fits)


# Some hundred steps of SciPy's from two starts each: ten problems in every run, the others with the slow tests.
@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 100), marks=pytest.mark.slow)], ids=str)
def test_nothing_lower_is_found_by_scipy(seeds):
    optimize = pytest.importorskip("scipy.optimize")
    for seed in seeds:
        problem = random_problem(seed, max_samples=500)
        evaluation = quietly(polyroc.evaluate, problem.y_true, problem.y_score, **problem.arguments)
        found = evaluation.factorization.deviance
        costs = problem.options.get("costs")
        by_loops = deviance_by_loops(evaluation.rates, evaluation.factorization, problem.y_true, costs, shrinkage=1.0)
        assert_allclose(found, by_loops, rtol=1e-9, atol=1e-10)
        lowest = _lowest_by_lbfgs(optimize, _fitted_cells(evaluation), evaluation.factorization, seed)
        assert lowest >= found * (1 - 1e-5) - 1e-8, seed


def _all_cells(evaluation: polyroc.Evaluation) -> Cells:
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    return shrunk_cells(evaluation.rates, weights, evaluation.fitted.options.shrinkage)


def _fitted_cells(evaluation: polyroc.Evaluation) -> Cells:
    return _all_cells(evaluation).inner


def _lowest_by_lbfgs(optimize, cells: Cells, found: polyroc.Factorization, seed: int) -> float:
    """The lowest deviance from the start of the method, and from near where it ended."""
    n_rows, n_pairs = cells.rate.shape

    def objective(x):
        row, pair = x[:n_rows], x[n_rows:]
        eta = np.outer(row, pair)
        residual = cells.weight * (1 / (1 + np.exp(-np.clip(eta, -700, 700))) - cells.rate)
        value = np.sum(cells.weight * (np.logaddexp(0, eta) - cells.rate * eta))
        return value, np.concatenate([residual @ pair, row @ residual])

    # Rows that took no part in the fit stand at +-30 exactly.
    row = found.row_effects[np.abs(found.row_effects) != 30]
    optimum = np.concatenate([row, found.pair_effects])
    assert len(row) == n_rows
    perturbed = optimum * (1 + 0.01 * np.random.default_rng(seed).uniform(-1, 1, len(optimum)))
    start = np.concatenate([np.log(cells.mean / (1 - cells.mean)), np.ones(n_pairs)])
    bounds = [(None, None)] * n_rows + [(0, None)] * n_pairs
    options = {"jac": True, "bounds": bounds, "method": "L-BFGS-B", "options": {"maxiter": 300}}
    ends = [optimize.minimize(objective, x, **options).x for x in (start, perturbed)]
    return min(deviance(cells, point(end[:n_rows, None], end[n_rows:])) for end in ends)


class _Recorder:
    """A problem that keeps every state a step led to."""

    def __init__(self, problem):
        self.problem, self.tried = problem, []

    def attempt(self, state, damping):
        attempt = self.problem.attempt(state, damping)
        if attempt is not None:
            self.tried.append((state, attempt.state))
        return attempt

    def gradient(self, state):
        return self.problem.gradient(state)


@pytest.mark.parametrize("shrinkage", [0.0, 1.0])
def test_no_accepted_state_has_a_higher_deviance(shrinkage):
    """Each deviance anew, from the state alone: the path that is reported is summed up from changes."""
    for seed in range(25):
        problem = random_problem(seed, max_samples=300)
        evaluation = quietly(
            polyroc.evaluate, problem.y_true, problem.y_score, engine="numpy", shrinkage=shrinkage, **problem.arguments
        )
        cells = _fitted_cells(evaluation)
        recorder = _Recorder(_solver._Problem(cells, bounded=True))
        first = recorder.problem.state(
            point(np.log(cells.mean / (1 - cells.mean))[:, None], np.ones(cells.rate.shape[1]))
        )
        end = descend(recorder, first, deviance(cells, first.at), tolerance=Tolerance())
        # What was tried next was tried from an accepted state.
        accepted = [first]
        for before, _ in [*recorder.tried, (end.state, None)]:
            if before is not accepted[-1]:
                accepted.append(before)
        assert len(accepted) == len(end.deviance_path), seed
        anew = np.array([deviance(cells, state.at) for state in accepted])
        # The sum of all cells has a rounding error of its own, beyond that of the deviance.
        rounding = 1e-14 * np.maximum(anew, np.sum(cells.weight))
        assert np.all(np.diff(anew) <= rounding[:-1]), seed
        assert_allclose(end.deviance_path, anew, rtol=1e-10, atol=rounding.max())
        assert anew[-1] < anew[0] or np.ptp(anew) <= rounding.max()


def _random_cells(seed: int, n_rows: int, n_pairs: int) -> Cells:
    rng = np.random.default_rng(seed)
    rate = np.sort(rng.uniform(0.02, 0.98, (n_rows, n_pairs)), axis=0)
    return Cells(rate, np.ones_like(rate), rate.mean(axis=1))


def _solve(cells: Cells, q: int) -> Solution:
    start = np.repeat(np.log(cells.mean / (1 - cells.mean))[:, None], q, axis=1)
    pair = np.ones(cells.rate.shape[1]) if q == 1 else np.linspace(-0.1, 0.1, cells.rate.shape[1])
    return minimise(cells, start, pair)


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize(("n_rows", "n_pairs"), [(8, 20), (20, 8)])
def test_both_sides_may_be_eliminated(q, n_rows, n_pairs):
    """More rows than pairs and more pairs than rows take different roads to the same gradient of zero."""
    cells = _random_cells(1, n_rows, n_pairs)
    solution = _solve(cells, q)
    assert solution.status == "converged"
    at = point(solution.row, solution.pair)
    residual = cells.weight * (at.probability - cells.rate)
    design = solution.pair[:, None] if q == 1 else np.column_stack([np.ones(n_pairs), solution.pair])
    assert_allclose(residual @ design, 0, atol=1e-7)
    pair_gradient = solution.row[:, -1] @ residual
    assert np.all((np.abs(pair_gradient) < 1e-7) | ((pair_gradient > 0) & (solution.pair < 1e-7)))


def test_the_centered_model_fits_no_worse_than_rank_one():
    for seed in range(10):
        problem = gaussian_problem(seed, 300, 4)
        y_score = problem.y_score * [1, 1, 1, -0.5]
        rank_one, centered = (
            polyroc.evaluate(problem.y_true, y_score, structure=structure) for structure in ("rank-one", "centered")
        )
        assert centered.factorization.converged
        assert centered.factorization.deviance <= rank_one.factorization.deviance + 1e-9
        assert centered.pairs.effect.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("scores", [lambda y: np.eye(3)[y], lambda y: np.tile([0.1, 0.2, 0.3], (len(y), 1))])
def test_the_centered_model_of_pairs_that_are_all_alike_is_its_intercept(scores):
    y_true = np.arange(30) % 3
    rank_one, centered = (
        polyroc.evaluate(y_true, scores(y_true), structure=structure) for structure in ("rank-one", "centered")
    )
    assert centered.factorization.converged
    assert centered.auc == rank_one.auc
    assert np.array_equal(centered.pairs.effect, np.zeros(6))


def test_a_saddle_is_reported_at_once():
    """Constant columns under one threshold: the pull of pairs called early and of those called late cancels."""
    y_true = np.arange(30) % 3
    y_score = np.tile([0.1, 0.2, 0.3], (30, 1))
    with pytest.warns(polyroc.ConvergenceWarning, match="saddle point"):
        evaluation = polyroc.evaluate(y_true, y_score, thresholds="shared")
    fit = evaluation.factorization
    assert fit.status == "saddle"
    assert not fit.converged
    assert fit.n_iter < 5
    assert evaluation.auc == pytest.approx(0.5, abs=1e-12)
    # It is one: a little aside of it the way leads down.
    cells = _fitted_cells(evaluation)
    row = np.log(cells.mean / (1 - cells.mean))[:, None]
    aside = minimise(cells, row, 1 + 0.01 * np.random.default_rng(0).normal(size=6))
    assert aside.status == "converged"
    assert aside.deviance_path[-1] < fit.deviance - 1


def test_the_saturated_model_is_the_mean_of_logits():
    problem = gaussian_problem(2, 400, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, structure="saturated", shrinkage=0)
    with np.errstate(divide="ignore"):
        logits = np.log(evaluation.rates.tpr) - np.log1p(-evaluation.rates.tpr)
    expected = 1 / (1 + np.exp(-np.clip(logits, -30, 30).mean(axis=1)))
    assert_allclose(evaluation.curve.tpr[1:-1], expected, atol=1e-12)


def test_rows_are_solved_for_any_pair_effects():
    cells = _random_cells(3, 12, 7)
    pair = np.array([0, 0.1, 1, 2, 3, 10, 1e-9])
    row = solve_rows(cells, np.full((12, 1), 5.0), pair)
    gradient = (cells.weight * (1 / (1 + np.exp(-row * pair)) - cells.rate)) @ pair
    assert_allclose(gradient, 0, atol=1e-9)
    assert np.all(np.diff(row[:, 0]) > 0)


def test_a_pair_may_end_at_zero():
    """An inverted pair among good ones: its rates would have to fall, which its effect of 0 forbids."""
    rate = np.linspace(0.1, 0.9, 9)[:, None] * np.ones((9, 4))
    rate[:, 3] = rate[::-1, 3]
    cells = Cells(rate, np.ones_like(rate), rate.mean(axis=1))
    solution = minimise(cells, np.log(cells.mean / (1 - cells.mean))[:, None], np.ones(4))
    assert solution.status == "converged"
    assert solution.pair[3] == pytest.approx(0, abs=1e-8)
    assert np.all(solution.pair[:3] > 0.1)


def test_too_few_iterations_are_reported():
    solution = minimise(_random_cells(1, 8, 20), np.zeros((8, 1)) + 0.1, np.ones(20), max_iter=2)
    assert solution.status == "max-iter"
    assert solution.n_iter == 2
