"""Influences of samples: loops over pairs, differences in one sample's weight, DeLong, and the bootstrap."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from preparing import prepared
from problems import gaussian_problem, quietly

import polyroc
from polyroc._core.adjoint import (
    area_gradient,
    mean_area_gradient,
    mean_point_gradient,
    point_gradient,
)
from polyroc._core.factorization import rank_one, saturated
from polyroc._core.influence import reach_of_points
from polyroc._core.weights import pair_weights
from polyroc._uncertainty.delong import covariance, standard_error
from polyroc._uncertainty.units import units_of

N = 160
COSTS = 10 ** np.random.default_rng(5).uniform(-1, 1, (4, 4))
SETTINGS = {
    "plain": {},
    "weights": {"sample_weight": np.random.default_rng(6).uniform(0.2, 3, N)},
    "costs": {"costs": COSTS},
    "prevalence": {"weighting": "prevalence"},
    "shared": {"thresholds": "shared"},
    "shared with weights": {"thresholds": "shared", "sample_weight": np.random.default_rng(7).uniform(0.2, 3, N)},
    "saturated": {"structure": "saturated"},
    "some pairs": {"max_pairs": 7},
}
all_settings = pytest.mark.parametrize("name", SETTINGS)
all_shapes = pytest.mark.parametrize("decimals", [8, 1, 0], ids=["distinct", "some ties", "many ties"])


def evaluated(problem, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The scores rank samples backwards", UserWarning)
        return quietly(polyroc.evaluate, problem.y_true, problem.y_score, engine="numpy", **options)


@cache
def small(name="plain", decimals=8):
    """160 samples of 4 classes, rounded."""
    problem = gaussian_problem(1, N, 4, 1.2)
    scored = replace(problem, y_score=np.round(problem.y_score, decimals))
    return evaluated(scored, n_thresholds=9, **SETTINGS[name])


def gradient_of(evaluation, find=area_gradient):
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    options = {"shrinkage": evaluation.fitted.options.shrinkage, "structure": evaluation.fitted.options.structure}
    return find(evaluation.factorization, evaluation.rates, weights, **options)


def asked(evaluation):
    return evaluation.fitted.pairs, evaluation.rates.call_rates, evaluation.fitted.options.thresholds


def influences_of(evaluation, engine="numpy"):
    return prepared(engine, evaluation.fitted.source).influences(*asked(evaluation), gradient_of(evaluation))[0]


def mean_of_areas(evaluation):
    """Equal shares of all pairs, as in M."""
    return np.full(len(evaluation.fitted.pairs), 1 / len(evaluation.fitted.pairs))


# The formula of the method page in loops: one pair, one call rate, one sample at a time.


def polygon_by_loops(scores, weights):
    """Vertices of the polygon through some runs: distinct scores falling, then shares of each run at or above."""
    distinct = sorted(set(np.concatenate(scores).tolist()), reverse=True)
    shares = [[w[s >= score].sum() / w.sum() for s, w in zip(scores, weights, strict=True)] for score in distinct]
    return distinct, np.vstack([np.zeros(len(scores)), shares])


def at_call_rate(shares, s):
    return np.array([np.interp(s, shares.mean(axis=1), share) for share in shares.T])


def psi_by_loops(evaluation, cells, *, exact=False, least=0.0):
    """Sum over pairs of what every sample counts; with exact slopes those of the very edge of the polygon."""
    predictions, (pairs, call_rates, thresholds) = evaluation.fitted.source, asked(evaluation)
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    grid = np.r_[0, call_rates, 1]
    n = len(call_rates)
    psi = np.zeros(predictions.n_samples)
    for pair, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        places = [(i, i), (j, i)] + ([(i, j), (j, j)] if thresholds == "shared" else [])
        members = [np.flatnonzero(predictions.codes == c) for c, _ in places]
        scores = [predictions.scores[who, column] for who, (_, column) in zip(members, places, strict=True)]
        distinct, shares = polygon_by_loops(scores, [weight[who] for who in members])
        called = shares.mean(axis=1)
        # As everywhere else rates are read between the points of the grid, where a wide slope ends there.
        on_grid = np.array([at_call_rate(shares, s) for s in grid])
        for t, s in enumerate(call_rates):
            edge = next(v for v in range(len(distinct)) if called[v + 1] >= s or v == len(distinct) - 1)
            u = (s - called[edge]) / (called[edge + 1] - called[edge])
            if exact:
                rise = shares[edge + 1] - shares[edge]
            else:
                low, high = min(grid[t], max(s - least, 0)), max(grid[t + 2], min(s + least, 1))
                rise = np.array([np.interp(high, grid, run) - np.interp(low, grid, run) for run in on_grid.T])
            sigma = rise / rise.sum()
            by_tpr, by_fpr = cells[t, pair], cells[n + t, pair]
            m = by_tpr * sigma[0] + by_fpr * sigma[1]
            for who, score, coefficient in zip(members, scores, [by_tpr - m, by_fpr - m, -m, -m], strict=False):
                psi[who] += coefficient * np.where(score == distinct[edge], u, score > distinct[edge])
    return psi


def phi_by_loops(evaluation, cells, **options):
    predictions = evaluation.fitted.source
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    psi, phi = psi_by_loops(evaluation, cells, **options), np.empty(predictions.n_samples)
    for c in range(len(predictions.labels)):
        of_class = predictions.codes == c
        w = weight[of_class]
        phi[of_class] = w / w.sum() * (psi[of_class] - np.average(psi[of_class], weights=w))
    return phi


@cache
def expected_of(name, decimals):
    evaluation = small(name, decimals)
    return phi_by_loops(evaluation, gradient_of(evaluation).cells[0])


@all_shapes
@all_settings
def test_tables_are_loops_over_pairs(engine, name, decimals):
    expected = expected_of(name, decimals)
    found = influences_of(small(name, decimals), engine)
    assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max() + 1e-15)


def test_points_have_slopes_of_their_own_width(engine):
    evaluation = small(decimals=1)
    gradient = gradient_of(evaluation, point_gradient)
    least = reach_of_points(int(evaluation.fitted.source.class_counts.min()))
    assert least > 0.07  # beyond one step, and not at a point of the grid
    found = prepared(engine, evaluation.fitted.source).influences(*asked(evaluation), gradient, least_reach=least)
    for row in (0, 4, 13, len(gradient) - 1):
        expected = phi_by_loops(evaluation, gradient.cells[row], least=least)
        assert_allclose(found[row], expected, rtol=0, atol=1e-12 * np.abs(expected).max() + 1e-15)


def refitted(evaluation, weight):
    """The statistic before any repair, with other sample weights; what pairs count for stays, as in a replicate."""
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    predictions, (pairs, call_rates, thresholds) = evaluation.fitted.source, asked(evaluation)
    shares = []
    for i, j in zip(pairs.positive, pairs.negative, strict=True):
        places = [(i, i), (j, i)] + ([(i, j), (j, j)] if thresholds == "shared" else [])
        members = [np.flatnonzero(predictions.codes == c) for c, _ in places]
        scores = [predictions.scores[who, column] for who, (_, column) in zip(members, places, strict=True)]
        vertices = polygon_by_loops(scores, [weight[who] for who in members])[1]
        shares.append([np.interp(call_rates, vertices.mean(axis=1), vertices[:, run]) for run in (0, 1)])
    tpr, fpr = np.moveaxis(np.array(shares), 0, -1)
    rates = replace(evaluation.rates, tpr=tpr, separate_fpr=fpr)
    fit = saturated if evaluation.fitted.options.structure == "saturated" else rank_one
    effect = fit(rates, weights, evaluation.fitted.options.shrinkage).row_effects
    y, x = np.split(1 / (1 + np.exp(-effect)), 2)
    return np.trapezoid(np.r_[0, y, 1], np.r_[0, x, 1])


@pytest.mark.parametrize("decimals", [8, 1], ids=["distinct", "ties"])
@pytest.mark.parametrize("name", ["plain", "weights", "costs", "prevalence", "shared", "saturated"])
def test_exact_slopes_give_the_change_with_a_samples_weight(name, decimals):
    """Central differences in one weight, relative to the largest influence; call rates off the vertices."""
    problem = gaussian_problem(1, 120, 3, 1.2)
    options = {**SETTINGS[name]}
    rng = np.random.default_rng(2)
    if "costs" in options:
        options["costs"] = COSTS[:3, :3]
    # Weights that no sum of few repeats, so that no call rate falls on a vertex, where slopes jump.
    options["sample_weight"] = rng.uniform(0.5, 2, 120)
    scored = replace(problem, y_score=np.round(problem.y_score, decimals))
    evaluation = evaluated(scored, n_thresholds=9, **options)
    weight = evaluation.fitted.source.sample_weight
    expected = phi_by_loops(evaluation, gradient_of(evaluation).cells[0], exact=True)
    for sample in rng.choice(120, 6, replace=False):
        step = 1e-5 * weight[sample]
        one = np.where(np.arange(120) == sample, step, 0.0)
        change = (refitted(evaluation, weight + one) - refitted(evaluation, weight - one)) / (2 * step)
        # phi is the change per relative change of the weight.
        assert change * weight[sample] == pytest.approx(expected[sample], rel=0, abs=1e-7 * np.abs(expected).max())


@all_shapes
@all_settings
def test_sums_of_classes_are_zero(engine, name, decimals):
    evaluation = small(name, decimals)
    sums = np.bincount(evaluation.fitted.source.codes, influences_of(evaluation, engine))
    assert_allclose(sums, 0, atol=1e-15)


@all_shapes
@pytest.mark.parametrize("name", ["plain", "weights", "prevalence", "shared", "saturated"])
def test_negated_scores_change_the_sign(engine, name, decimals):
    options, problem = SETTINGS[name], gaussian_problem(1, N, 4, 1.2)
    score = np.round(problem.y_score, decimals)
    forwards, backwards = (
        influences_of(evaluated(replace(problem, y_score=sign * score), **options), engine) for sign in (1, -1)
    )
    assert_allclose(backwards, -forwards, rtol=0, atol=1e-9 * np.abs(forwards).max())


@pytest.mark.parametrize("strength", [0.5, 1.5, 2.5])
def test_two_classes_in_three_columns_have_delongs_error(engine, strength):
    """Column 1 ranks as column 0 does backwards, so both ordered pairs have the curve of two classes."""
    problem = gaussian_problem(4, 1500, 2, strength)
    margin = problem.y_score[:, 1] - problem.y_score[:, 0]
    score = np.column_stack([-margin, margin, -margin])
    evaluation = quietly(polyroc.evaluate, problem.y_true, score, labels=[0, 1, 2], engine="numpy")
    [low, high] = (margin[problem.y_true == c] for c in (0, 1))
    wins = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    exact = np.sqrt(wins.mean(axis=1).var(ddof=1) / len(high) + wins.mean(axis=0).var(ddof=1) / len(low))
    units = units_of(evaluation.fitted.source, None)
    assert standard_error(influences_of(evaluation, engine), units) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("name", ["plain", "weights"])
def test_area_influences_are_the_change_with_a_samples_weight(engine, name):
    evaluation = small(name, 1)
    predictions, pairs = evaluation.fitted.source, evaluation.fitted.pairs
    share = np.random.default_rng(1).dirichlet(np.ones(len(pairs)))

    def area(weight):
        total = 0.0
        for i, j, part in zip(pairs.positive, pairs.negative, share, strict=True):
            a, b = (np.flatnonzero(predictions.codes == c) for c in (i, j))
            higher = np.sign(predictions.scores[a, i][:, None] - predictions.scores[b, i]) / 2 + 0.5
            total += part * (weight[a] @ higher @ weight[b]) / weight[a].sum() / weight[b].sum()
        return total

    weight = np.ones(N) if predictions.sample_weight is None else predictions.sample_weight
    found = prepared(engine, predictions).area_influences(pairs, share)
    for sample in range(0, N, 20):
        step = np.where(np.arange(N) == sample, 1e-4 * weight, 0.0)
        change = (area(weight + step) - area(weight - step)) / 2e-4
        assert found[sample] == pytest.approx(change, rel=0, abs=1e-9)


@pytest.mark.parametrize("thresholds", ["own", "difference"])
@pytest.mark.parametrize("name", ["plain", "weights"])
def test_several_means_of_areas_are_those_that_are_asked_for_alone(engine, name, thresholds):
    evaluation = small(name, 1)
    ready, pairs = prepared(engine, evaluation.fitted.source), evaluation.fitted.pairs
    shares = np.random.default_rng(1).dirichlet(np.ones(len(pairs)), size=3)
    together = ready.area_influences(pairs, shares, thresholds)
    alone = [ready.area_influences(pairs, share, thresholds) for share in shares]
    assert_allclose(together, alone, rtol=0, atol=1e-16)


def test_mean_curve_on_the_grid_is_close_to_its_exact_area(engine):
    """Trapezoids on the grid have nearly the influences of the exact area, reached by another road."""
    evaluation = evaluated(gaussian_problem(3, 2000, 4, 1.2))
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    units, ready = units_of(evaluation.fitted.source, None), prepared(engine, evaluation.fitted.source)
    by_trapezoids = ready.influences(*asked(evaluation), mean_area_gradient(evaluation.factorization, weights))[0]
    exact = ready.area_influences(evaluation.fitted.pairs, mean_of_areas(evaluation))
    assert np.corrcoef(by_trapezoids, exact)[0, 1] > 0.999
    assert standard_error(by_trapezoids, units) == pytest.approx(standard_error(exact, units), rel=0.01)


def test_groups_are_summed_first(engine):
    """Every sample three times, as groups: the error of the samples alone."""
    problem = gaussian_problem(3, 400, 4, 1.2)
    alone = evaluated(problem, shrinkage=0)
    threefold = evaluated(
        replace(problem, y_true=np.tile(problem.y_true, 3), y_score=np.tile(problem.y_score, (3, 1))), shrinkage=0
    )
    groups = np.tile(np.arange(400), 3)
    error = standard_error(influences_of(threefold, engine), units_of(threefold.fitted.source, groups))
    expected = standard_error(influences_of(alone, engine), units_of(alone.fitted.source, None))
    assert error == pytest.approx(expected, rel=1e-9)


@cache
def two_models():
    """Two models of which the second has more noise, and 999 resamples of D: the same seed draws the same samples."""
    problem = gaussian_problem(3, 300, 3, 1.2)
    noisy = problem.y_score + np.random.default_rng(4).normal(scale=0.6, size=problem.y_score.shape)
    evaluations = [evaluated(replace(problem, y_score=score), n_thresholds=15) for score in (problem.y_score, noisy)]
    return evaluations, np.array([one.bootstrap(999, rng=0).auc for one in evaluations])


@pytest.mark.slow
def test_covariance_of_two_models_is_that_of_paired_resamples(engine):
    """With 999 resamples errors are uncertain by 2 %, and a correlation of 0.8 by 0.01."""
    evaluations, draws = two_models()
    influences = np.array([influences_of(one, engine) for one in evaluations])
    found = covariance(influences, units_of(evaluations[0].fitted.source, None))
    assert_allclose(np.sqrt(np.diag(found)), np.std(draws, axis=1, ddof=1), rtol=0.07)
    expected = np.corrcoef(draws)[0, 1]
    assert 0.6 < expected < 0.95
    assert found[0, 1] / np.sqrt(found[0, 0] * found[1, 1]) == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("thresholds", ["own", "shared", "difference"])
def test_influences_of_points_are_the_references(fast_engine, thresholds):
    """More numbers than are found in one pass, of both curves, with wide slopes."""
    problem = gaussian_problem(1, N, 4, 1.2)
    scored = replace(problem, y_score=np.round(problem.y_score, 1))
    evaluation = evaluated(scored, n_thresholds=9, costs=COSTS, thresholds=thresholds)
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    for gradient in (
        gradient_of(evaluation, point_gradient),
        mean_point_gradient(weights, evaluation.rates.n_call_rates),
    ):
        assert len(gradient) > 16
        expected, found = (
            prepared(name, evaluation.fitted.source).influences(*asked(evaluation), gradient, least_reach=0.07)
            for name in ("numpy", fast_engine)
        )
        assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_classes_without_samples_and_more_columns_than_a_task(fast_engine):
    problem = gaussian_problem(3, 400, 20, 1.5)
    scored = np.column_stack([problem.y_score, np.zeros(400)])
    options = {"labels": np.arange(21), "engine": "numpy", "n_thresholds": 20}
    evaluation = quietly(polyroc.evaluate, problem.y_true, scored, **options)
    expected = influences_of(evaluation)
    assert_allclose(influences_of(evaluation, fast_engine), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@all_shapes
def test_long_runs_are_cut_as_short_ones(fast_engine, decimals):
    """Pairs of more than 4,000 samples are not merged: each call rate is looked for."""
    problem = gaussian_problem(5, 9000, 3, 1.5)
    score = np.round(problem.y_score, decimals)
    evaluation = evaluated(replace(problem, y_score=score))
    expected = influences_of(evaluation)
    assert_allclose(influences_of(evaluation, fast_engine), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_single_precision_scores_and_signed_zeros(fast_engine):
    """Ties of 0.0 and -0.0, in both precisions: what packs or bins scores must not part them."""
    problem = gaussian_problem(6, 600, 4, 1.0)
    score = np.round(problem.y_score).astype(np.float32)
    score[::2][score[::2] == 0] = np.float32(-0.0)
    assert np.signbit(score[score == 0]).any()
    assert not np.signbit(score[score == 0]).all()
    plus = evaluated(replace(problem, y_score=np.abs(score) * np.sign(score) + np.float32(0)))
    expected = influences_of(plus)
    for precision in (np.float32, np.float64):
        signed = evaluated(replace(problem, y_score=score.astype(precision)))
        found = influences_of(signed, fast_engine)
        assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["plain", "weights", "some pairs"])
@all_shapes
def test_area_influences_are_the_references(fast_engine, name, decimals):
    evaluation = small(name, decimals)
    share = np.random.default_rng(1).dirichlet(np.ones(len(evaluation.fitted.pairs)))
    expected, found = (
        prepared(one, evaluation.fitted.source).area_influences(evaluation.fitted.pairs, share)
        for one in ("numpy", fast_engine)
    )
    assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_threads_change_no_bit(engine):
    evaluation = small("weights", 1)
    gradient = gradient_of(evaluation)
    ready = [prepared(engine, evaluation.fitted.source, n_jobs) for n_jobs in (1, 3)]
    one, many = (each.influences(*asked(evaluation), gradient) for each in ready)
    if str(getattr(ready[0], "device", "")).startswith("cuda"):
        # A card adds numbers in any order, so that the last bits of a sum may differ from one time to the next.
        assert_allclose(one, many, rtol=1e-12, atol=1e-15)
    else:
        assert (one == many).all()
