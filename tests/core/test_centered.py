"""The centered structure has several optima; the fit takes the better of two starts."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import polyroc
from experiments._costs import cost_matrix
from experiments._readings import majority_problem
from polyroc._core.rates import all_pairs
from polyroc._core.weights import pair_weights, shrunk_cells
from polyroc._inputs.options import as_options
from polyroc._inputs.predictions import as_predictions


def digits():
    example = polyroc.load_example()
    return example.y_true, example.scores["tree"], None


def majority(cost):
    """The paper's majority classifier, with its costs."""
    y_true, y_score = majority_problem(10_000, np.random.default_rng([0, 52]))
    return y_true, y_score, cost_matrix(5, 0, cost)


def of_random_starts(y_true, y_score, costs, n_starts=3):
    """The lowest deviance that L-BFGS finds for the same rates."""
    rates = polyroc.evaluate(y_true, y_score, thresholds="shared", costs=costs, engine="numpy").rates
    predictions = as_predictions(y_true, y_score)
    weights = pair_weights(predictions, all_pairs(predictions), as_options(predictions.labels, costs=costs))
    cells = shrunk_cells(rates, weights, 1.0)
    n_rows, n_pairs = cells.rate.shape
    entropy = np.sum(cells.weight * (cells.rate * np.log(cells.rate) + (1 - cells.rate) * np.log(1 - cells.rate)))

    def half_deviance(x):
        base, row, pair = np.split(x, [n_rows, 2 * n_rows])
        eta = base[:, None] + np.outer(row, pair)
        slope = cells.weight * (expit(eta) - cells.rate)
        value = entropy + np.sum(cells.weight * (np.logaddexp(0, eta) - cells.rate * eta))
        return value, np.concatenate([slope.sum(axis=1), slope @ pair, slope.T @ row])

    found = []
    for seed in range(n_starts):
        start = np.concatenate([logit(cells.mean), np.random.default_rng(seed).normal(size=n_rows + n_pairs)])
        options = {"maxiter": 5_000, "maxfun": 10_000, "ftol": 1e-13, "gtol": 1e-7}
        found.append(2 * minimize(half_deviance, start, jac=True, method="L-BFGS-B", options=options).fun)
    return min(found)


@pytest.mark.parametrize(
    ("given", "shrinkage", "deviance", "area"),
    [
        (digits(), 1, 2220.837, 0.92387),
        (majority(0.1), 1, 32.183, 0.48892),
        (majority(10), 1, 32.696, 0.52049),
        # The paper's likelihood; a start at the rank-one fit alone ends at 121.8 and 0.149, and at 121.1 and 0.855.
        (majority(0.1), 0, 32.708, 0.48919),
        (majority(10), 0, 33.220, 0.52022),
    ],
    ids=["digits", "c = 0.1", "c = 10", "c = 0.1, plain", "c = 10, plain"],
)
def test_shared_thresholds_reach_the_better_optimum(given, shrinkage, deviance, area, engine):
    y_true, y_score, costs = given
    options = {"costs": costs, "thresholds": "shared", "structure": "centered", "shrinkage": shrinkage}
    found = polyroc.evaluate(y_true, y_score, engine=engine, **options)
    assert found.factorization.converged
    assert found.factorization.deviance == pytest.approx(deviance, abs=1e-3)
    assert found.auc == pytest.approx(area, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("given", [digits(), majority(0.1)], ids=["digits", "c = 0.1"])
def test_no_random_start_is_lower(given):
    y_true, y_score, costs = given
    found = polyroc.evaluate(y_true, y_score, costs=costs, thresholds="shared", structure="centered", engine="numpy")
    assert found.factorization.deviance <= of_random_starts(*given) * (1 + 1e-4)


def test_replicates_take_both_starts(fast_engine):
    """Whichever start a replicate's better optimum comes from, all engines find the same one."""
    y_true, y_score, _ = digits()
    options = {"thresholds": "shared", "structure": "centered", "n_thresholds": 9}
    drawn = [
        polyroc.evaluate(y_true, y_score, engine=name, **options).bootstrap(2, rng=0).auc
        for name in ("numpy", fast_engine)
    ]
    np.testing.assert_allclose(*drawn, atol=1e-8)
