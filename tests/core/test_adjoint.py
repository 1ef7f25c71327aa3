"""The gradient of D by every pairwise rate, against refits of rates that were moved a little."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from preparing import prepared
from problems import gaussian_problem, quietly
from scipy.special import expit

import polyroc
from polyroc._core.adjoint import (
    area_gradient,
    held_pairs,
    mean_area_gradient,
    mean_point_gradient,
    point_gradient,
)
from polyroc._core.factorization import rank_one, saturated
from polyroc._core.weights import pair_weights, shrunk_cells

COSTS = 10 ** np.random.default_rng(5).uniform(-1, 1, (4, 4))


def steps_of(problem, *, shrinkage=1.0, structure="rank-one", **options):
    """Rates, weights and a function from rates to a factorization."""
    evaluation = quietly(
        polyroc.evaluate,
        problem.y_true,
        problem.y_score,
        engine="numpy",
        n_thresholds=9,
        shrinkage=shrinkage,
        structure=structure,
        **options,
    )
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)

    def fit(rates):
        return (saturated if structure == "saturated" else rank_one)(rates, weights, shrinkage)

    # FPR of its own, so that either can be moved.
    rates = replace(evaluation.rates, separate_fpr=evaluation.rates.fpr)
    return rates, weights, fit


def moved(rates, row, pair, step):
    tpr, fpr = rates.tpr.copy(), rates.fpr.copy()
    (tpr if row < len(tpr) else fpr)[row % len(tpr), pair] += step
    return replace(rates, tpr=tpr, separate_fpr=fpr)


def plain_area(factorization):
    """The area by trapezoids through the curve's points as they are, without any repair of monotonicity."""
    tpr, fpr = np.split(expit(factorization.row_effects), 2)
    return np.trapezoid(np.r_[0, tpr, 1], np.r_[0, fpr, 1])


def points(factorization):
    return expit(factorization.row_effects)


def mean_area(factorization):
    tpr, fpr = np.split(factorization.mean_rates, 2)
    return np.trapezoid(np.r_[0, tpr, 1], np.r_[0, fpr, 1])


def slope_by_refits(statistic, rates, fit, row, pair, step=1e-4):
    """Central differences, of which two widths cancel the cubic error."""
    wide, narrow = (
        (statistic(fit(moved(rates, row, pair, h))) - statistic(fit(moved(rates, row, pair, -h)))) / (2 * h)
        for h in (2 * step, step)
    )
    return (4 * narrow - wide) / 3


def inner_cells(rates, seed, n=12):
    """Some cells that can be moved either way, from all over."""
    rate = np.vstack([rates.tpr, rates.fpr])
    rows, pairs = np.nonzero((rate > 1e-3) & (rate < 1 - 1e-3))
    chosen = np.random.default_rng(seed).choice(len(rows), n, replace=False)
    return zip(rows[chosen].tolist(), pairs[chosen].tolist(), strict=True)


SETTINGS = {
    "plain": {},
    "costs": {"costs": COSTS},
    "prevalence": {"weighting": "prevalence"},
    "shared": {"thresholds": "shared"},
    "strong shrinkage": {"shrinkage": 20.0},
    "saturated": {"structure": "saturated"},
    "saturated with costs": {"structure": "saturated", "costs": COSTS, "shrinkage": 3.0},
}


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS.keys())
def test_gradient_of_the_area_is_that_of_refits(options):
    structure, shrinkage = options.get("structure", "rank-one"), options.get("shrinkage", 1.0)
    rates, weights, fit = steps_of(gaussian_problem(1, 300, 4, 1.2), **options)
    factorization = fit(rates)
    cells = area_gradient(factorization, rates, weights, shrinkage=shrinkage, structure=structure).cells[0]
    for row, pair in inner_cells(rates, 2):
        expected = slope_by_refits(plain_area, rates, fit, row, pair)
        assert cells[row, pair] == pytest.approx(expected, rel=2e-6, abs=2e-6 * np.abs(cells).max())


def test_eliminating_either_side_gives_the_gradient():
    """Six classes have 30 pairs and 44 rows, ten have 90 pairs: one is solved for pairs, the other for rows."""
    for n_classes in (6, 10):
        rates, weights, fit = steps_of(gaussian_problem(4, 600, n_classes, 1.5))
        factorization = fit(rates)
        assert (rates.n_pairs > len(factorization.row_effects)) == (n_classes == 10)
        cells = area_gradient(factorization, rates, weights, shrinkage=1.0, structure="rank-one").cells[0]
        for row, pair in inner_cells(rates, 3, 5):
            expected = slope_by_refits(plain_area, rates, fit, row, pair)
            assert cells[row, pair] == pytest.approx(expected, rel=2e-6, abs=2e-6 * np.abs(cells).max())


@pytest.mark.parametrize("structure", ["rank-one", "saturated"])
def test_gradient_of_every_point_is_that_of_refits(structure):
    rates, weights, fit = steps_of(gaussian_problem(1, 300, 4, 1.2), costs=COSTS, structure=structure)
    cells = point_gradient(fit(rates), rates, weights, shrinkage=1.0, structure=structure).cells
    for row, pair in inner_cells(rates, 6, 6):
        expected = slope_by_refits(points, rates, fit, row, pair)
        assert_allclose(cells[:, row, pair], expected, rtol=2e-6, atol=2e-6 * np.abs(cells).max())


def test_area_is_the_sum_of_its_points():
    """The area's gradient by the chain rule from the points'."""
    rates, weights, fit = steps_of(gaussian_problem(8, 300, 4, 1.2))
    factorization = fit(rates)
    tpr, fpr = np.split(points(factorization), 2)
    y, x = np.r_[0, tpr, 1], np.r_[0, fpr, 1]
    by_point = np.r_[x[2:] - x[:-2], y[:-2] - y[2:]] / 2
    options = {"shrinkage": 1.0, "structure": "rank-one"}
    by_points = np.einsum("s,srj->rj", by_point, point_gradient(factorization, rates, weights, **options).cells)
    assert_allclose(area_gradient(factorization, rates, weights, **options).cells[0], by_points, rtol=0, atol=1e-13)


def test_gradients_of_the_mean_curve_are_those_of_moved_rates():
    rates, weights, fit = steps_of(gaussian_problem(9, 300, 4, 1.2), costs=COSTS)
    at_points = mean_point_gradient(weights, rates.n_call_rates).cells
    of_area = mean_area_gradient(fit(rates), weights).cells[0]
    for row, pair in inner_cells(rates, 7, 6):
        by_points = slope_by_refits(lambda one: one.mean_rates, rates, fit, row, pair)
        assert_allclose(at_points[:, row, pair], by_points, rtol=0, atol=1e-10)
        by_area = slope_by_refits(mean_area, rates, fit, row, pair)
        assert of_area[row, pair] == pytest.approx(by_area, abs=1e-10)


def test_rows_that_are_not_fitted_have_no_gradient():
    """Two of four classes are separated from all others: rates of 0 and 1 in whole rows."""
    problem = gaussian_problem(2, 200, 4, 30.0)
    rates, weights, fit = steps_of(problem)
    factorization = fit(rates)
    outer = ~shrunk_cells(rates, weights, 1.0).interior
    assert outer.any()
    assert not outer.all()
    cells = area_gradient(factorization, rates, weights, shrinkage=1.0, structure="rank-one").cells[0]
    assert np.isfinite(cells).all()
    assert (cells[outer] == 0).all()


def test_a_pair_at_zero_is_held():
    """Column 0 ranks class 1 backwards: its effect is held at zero, and nothing is divided by zero."""
    problem = gaussian_problem(3, 600, 4, 4.0)
    score = problem.y_score.copy()
    score[problem.y_true == 1, 0] += 20
    rates, weights, fit = steps_of(replace(problem, y_score=score))
    factorization = fit(rates)
    held = held_pairs(factorization)
    assert held.any()
    assert not held.all()
    gradient = area_gradient(factorization, rates, weights, shrinkage=1.0, structure="rank-one")
    assert np.isfinite(gradient.cells).all()
    assert (gradient.pair[0, 1, held] == 0).all()


def test_single_precision_gives_nearly_the_same_gradient():
    rates, weights, fit = steps_of(gaussian_problem(4, 600, 10, 1.5))
    factorization, options = fit(rates), {"shrinkage": 1.0, "structure": "rank-one"}
    single = replace(rates, tpr=rates.tpr.astype(np.float32), separate_fpr=rates.fpr.astype(np.float32))
    expected = area_gradient(factorization, rates, weights, **options).cells
    found = area_gradient(factorization, single, weights, **options).cells
    assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_the_centered_model_is_refused():
    rates, weights, fit = steps_of(gaussian_problem(1, 300, 4, 1.2))
    with pytest.raises(ValueError, match=r"`structure` must be 'rank-one' or 'saturated' for influences"):
        area_gradient(fit(rates), rates, weights, shrinkage=1.0, structure="centered")


@pytest.mark.parametrize("thresholds", ["own", "shared"])
@pytest.mark.parametrize("find", [area_gradient, point_gradient])
def test_passes_of_engines_give_the_gradient(fast_engine, find, thresholds):
    """Many pairs with costs, of which one is at zero, eliminated by compiled passes and by NumPy's."""
    problem = gaussian_problem(4, 600, 8, 2.0)
    options = {"costs": 10 ** np.random.default_rng(5).uniform(-1, 1, (8, 8)), "thresholds": thresholds}
    evaluation = quietly(polyroc.evaluate, problem.y_true, problem.y_score, engine="numpy", n_thresholds=9, **options)
    effects = np.where(np.arange(56) == 3, 0.0, evaluation.factorization.pair_effects)
    rates, factorization = evaluation.rates, replace(evaluation.factorization, pair_effects=effects)
    assert rates.n_pairs > len(factorization.row_effects)
    assert np.flatnonzero(held_pairs(factorization)) == [3]
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    ready = prepared(fast_engine, evaluation.fitted.source)
    asked, given = (factorization, rates, weights), {"shrinkage": 1.0, "structure": "rank-one"}
    expected = find(*asked, **given).cells
    found = find(*asked, **given, curvature=ready.curvature(*asked, 1.0)).cells
    assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_threads_change_no_bit_of_the_passes(fast_engine):
    evaluation = polyroc.evaluate(*_of_many_pairs(), engine=fast_engine)
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    asked = (evaluation.factorization, evaluation.rates, weights)
    one, many = (
        area_gradient(
            *asked,
            shrinkage=1.0,
            structure="rank-one",
            curvature=prepared(fast_engine, evaluation.fitted.source, n_jobs).curvature(*asked, 1.0),
        )
        for n_jobs in (1, 3)
    )
    assert (one.row == many.row).all()
    assert (one.pair == many.pair).all()


def _of_many_pairs():
    """40 classes: 1,560 pairs in three pieces."""
    problem = gaussian_problem(7, 2000, 40, 1.5)
    return problem.y_true, problem.y_score
