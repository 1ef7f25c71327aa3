"""The grid of call rates and the weights of its rows, against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import integers, sampled_from
from numpy.testing import assert_allclose, assert_array_equal
from problems import quietly, random_problem
from reference import deviance_by_loops, grid_by_loops, row_weights_by_loops

import polyroc
from polyroc._lib.grid import grid, row_weights


@pytest.mark.parametrize(("n_thresholds", "size"), [(2, 15), (3, 15), (99, 111), (100, 113), (199, 209), (999, 1003)])
def test_the_grid_is_that_of_fractions(n_thresholds, size):
    points = grid_by_loops(n_thresholds)
    found = grid(n_thresholds)
    assert len(points) == len(found) == size
    assert all(abs(Fraction(s) - point) <= Fraction(1, 2**53) for s, point in zip(found.tolist(), points, strict=True))


@given(n_thresholds=integers(2, 3000))
def test_both_halves_mirror_to_the_bit(n_thresholds):
    found = grid(n_thresholds)
    assert_array_equal(1 - found, found[::-1])
    assert_array_equal(row_weights(found), row_weights(found)[::-1])
    assert np.all(np.diff(found) > 0)
    assert 0.5 in found


@pytest.mark.parametrize("n_thresholds", [2, 10, 99, 100, 999])
def test_row_weights_are_those_of_fractions(n_thresholds):
    expected = row_weights_by_loops(grid_by_loops(n_thresholds))
    mean = sum(expected) / len(expected)
    found = row_weights(grid(n_thresholds))
    assert_allclose(found, [float(omega / mean) for omega in expected], rtol=1e-10)
    assert found.mean() == pytest.approx(1)


@example(seed=47925, n_thresholds=99, weighting="equal")  # predictors beyond 80, which were cut there
@example(seed=999, n_thresholds=2, weighting="prevalence")  # long moves, whose changes missed 1.7e-7
@given(seed=integers(0, 10**6), n_thresholds=sampled_from([2, 19, 99]), weighting=sampled_from(["equal", "prevalence"]))
def test_the_deviance_is_that_of_loops(engine, seed, n_thresholds, weighting):
    problem = random_problem(seed, n_classes=3 + seed % 3, max_samples=200)
    asked = {**problem.arguments, "n_thresholds": n_thresholds, "weighting": weighting, "engine": engine}
    evaluation = quietly(polyroc.evaluate, problem.y_true, problem.y_score, **asked)
    of = (evaluation.rates, evaluation.factorization, problem.y_true, problem.options.get("costs"))
    by_loops = deviance_by_loops(*of, shrinkage=1.0, weighting=weighting, n_thresholds=n_thresholds)
    assert evaluation.factorization.deviance == pytest.approx(by_loops, rel=1e-7, abs=1e-9)


def gaps(kind, strength):
    """1 - D of a simulated model on three grids."""
    rng = np.random.default_rng(1)
    y_true, eye = rng.integers(0, 4, 40_000), np.eye(4)
    noise = rng.standard_t(3, size=(40_000, 4)) if kind == "heavy tails" else rng.normal(size=(40_000, 4))
    if kind == "mixed pairs":
        strength = strength * rng.uniform(0.6, 1.4, 4)
    seen = y_true
    if kind == "gross errors":
        seen, strength = np.where(rng.random(40_000) < strength, rng.integers(0, 4, 40_000), y_true), 6
    y_score = noise + strength * eye[seen]
    return [1 - polyroc.auc_score(y_true, y_score, n_thresholds=n) for n in (99, 199, 999)]


@pytest.mark.parametrize(
    ("kind", "strength", "gap"),
    [
        ("heavy tails", 4, 4e-2),
        ("heavy tails", 12, 1e-3),
        ("heavy tails", 24, 1e-4),
        ("gross errors", 0.1, 5e-2),
        ("gross errors", 0.003, 2e-3),
        ("gross errors", 0.0003, 2e-4),
        ("mixed pairs", 2, 5e-2),
        ("mixed pairs", 5, 7e-4),
        ("normal", 1, 2e-1),
        ("normal", 4, 2e-3),
    ],
)
def test_d_converges_as_the_grid_is_refined(kind, strength, gap):
    found = gaps(kind, strength)
    assert gap / 2 < found[-1] < 2 * gap
    assert_allclose(found, found[-1], rtol=0.01)


def test_d_of_nearly_perfect_normal_scores_is_a_little_too_small():
    """Their curves bend where the grid has its usual steps, 0.01 to 0.05 from the corner; before, it was 14 %."""
    coarse, fine, finest = gaps("normal", 5)
    assert finest < 3e-4
    assert 1.01 < coarse / finest < 1.03
    assert fine == pytest.approx(finest, rel=0.01)


@pytest.mark.parametrize("structure", ["rank-one", "centered", "saturated"])
def test_rates_of_zero_and_one_are_drawn_as_such(structure, engine):
    y_true = np.arange(60) % 3
    evaluation = polyroc.evaluate(y_true, np.eye(3)[y_true], n_thresholds=50, structure=structure, engine=engine)
    s = evaluation.rates.call_rates
    assert_array_equal(evaluation.curve.fpr[1:-1][s <= 0.5], 0)
    assert_array_equal(evaluation.curve.tpr[1:-1][s >= 0.5], 1)
    assert evaluation.auc == pytest.approx(1, abs=1e-12)
