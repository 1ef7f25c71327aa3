"""Every line of section 5 of the method: what must always hold."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, sampled_from
from problems import gaussian_problem, quietly, random_problem
from scipy.special import expit

import polyroc

seeds = integers(0, 10**6)


def fit(y_true, y_score, **options: Any) -> polyroc.Evaluation:
    """Evaluate, with classes 0 .. k-1 and without the warnings that tiny classes bring."""
    return quietly(polyroc.evaluate, y_true, y_score, labels=np.arange(np.shape(y_score)[1]), **options)


def both(seed: int, max_samples: int = 300):
    """A problem with one optimum (own thresholds), and what it gives."""
    problem = random_problem(seed, max_samples=max_samples)
    options = {**problem.options, "thresholds": "own"}
    return problem, options, fit(problem.y_true, problem.y_score, **options)


@given(seed=seeds, thresholds=sampled_from(["own", "shared", "difference"]))
def test_order_of_samples_does_not_matter(seed, thresholds):
    problem = random_problem(seed, max_samples=300)
    options = {**problem.options, "thresholds": thresholds}
    order = np.random.default_rng(seed).permutation(len(problem.y_true))
    first = fit(problem.y_true, problem.y_score, **options)
    second = fit(problem.y_true[order], problem.y_score[order], **options)
    assert first.auc == pytest.approx(second.auc, abs=1e-12)


@given(seed=seeds)
def test_order_of_weighted_samples_does_not_matter(seed):
    problem, options, _ = both(seed)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.1, 10, len(problem.y_true))
    order = rng.permutation(len(problem.y_true))
    first = fit(problem.y_true, problem.y_score, sample_weight=weight, **options)
    second = fit(problem.y_true[order], problem.y_score[order], sample_weight=weight[order], **options)
    assert first.auc == pytest.approx(second.auc, abs=1e-9)


@given(seed=seeds)
def test_order_of_classes_does_not_matter(seed):
    problem, options, first = both(seed)
    order = np.random.default_rng(seed).permutation(problem.n_classes)
    if "costs" in options:
        options["costs"] = options["costs"][np.ix_(order, order)]
    second = fit(np.argsort(order)[problem.y_true], problem.y_score[:, order], **options)
    assert first.auc == pytest.approx(second.auc, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_order_of_classes_does_not_matter_with_shared_thresholds(seed):
    problem = gaussian_problem(seed, 200, 4)
    rng = np.random.default_rng(seed)
    costs, order = 10 ** rng.uniform(0, 1, (4, 4)), rng.permutation(4)
    first = fit(problem.y_true, problem.y_score, thresholds="shared", costs=costs)
    moved = {"thresholds": "shared", "costs": costs[np.ix_(order, order)]}
    second = fit(np.argsort(order)[problem.y_true], problem.y_score[:, order], **moved)
    assert first.factorization.converged
    assert first.auc == pytest.approx(second.auc, abs=1e-9)


@given(seed=seeds, thresholds=sampled_from(["own", "shared"]))
def test_only_the_order_of_scores_matters(seed, thresholds):
    problem = random_problem(seed, max_samples=300)
    options = {**problem.options, "thresholds": thresholds}
    ranks = np.unique(problem.y_score, return_inverse=True)[1].reshape(problem.y_score.shape)
    first, second = fit(problem.y_true, problem.y_score, **options), fit(problem.y_true, np.exp(ranks / 1e3), **options)
    assert first.auc == second.auc


@given(seed=seeds)
def test_each_column_may_be_mapped_by_itself(seed):
    problem, options, first = both(seed)
    ranks = np.column_stack([np.unique(c, return_inverse=True)[1] for c in problem.y_score.T])
    second = fit(problem.y_true, ranks * 10.0 ** np.arange(problem.n_classes), **options)
    assert first.auc == second.auc


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
@given(seed=seeds)
def test_negated_scores_give_one_minus_the_area(seed):
    problem, options, first = both(seed)
    second = fit(problem.y_true, -problem.y_score, **options)
    if first.factorization.converged and second.factorization.converged:
        assert first.auc == pytest.approx(1 - second.auc, abs=1e-9)


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
@pytest.mark.parametrize("seed", range(20))
def test_negated_scores_give_one_minus_the_area_of_shared_thresholds(seed):
    problem = gaussian_problem(seed, 200, 4)
    y_score = np.round(problem.y_score, seed % 3)
    for costs in (None, 10 ** np.random.default_rng(seed).uniform(0, 1, (4, 4))):
        options = {"thresholds": "shared", "costs": costs}
        first, second = fit(problem.y_true, y_score, **options), fit(problem.y_true, -y_score, **options)
        assert first.factorization.converged
        assert first.auc == pytest.approx(1 - second.auc, abs=1e-9)


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
@pytest.mark.parametrize("seed", range(20))
def test_negated_scores_give_one_minus_the_area_of_the_centered_model(seed):
    problem = gaussian_problem(seed, 60, 4)
    for costs in (None, 10 ** np.random.default_rng(seed).uniform(0, 1, (4, 4))):
        options = {"structure": "centered", "costs": costs}
        first, second = (
            fit(problem.y_true, problem.y_score, **options),
            fit(problem.y_true, -problem.y_score, **options),
        )
        if first.factorization.converged and second.factorization.converged:
            assert first.auc == pytest.approx(1 - second.auc, abs=1e-9)


def without_shrinkage(seed: int):
    """A problem whose optimum is interior although nothing is shrunk."""
    return gaussian_problem(seed, 120 + seed % 200, 3 + seed % 4)


@given(seed=seeds)
def test_repeating_the_samples_of_one_class(seed):
    problem = without_shrinkage(seed)
    first = fit(problem.y_true, problem.y_score, shrinkage=0)
    index = np.concatenate([np.arange(len(problem.y_true)), *[np.flatnonzero(problem.y_true == 0)] * 3])
    second = fit(problem.y_true[index], problem.y_score[index], shrinkage=0)
    assert first.auc == pytest.approx(second.auc, abs=1e-9)
    # With shrinkage more data are shrunk less.
    shrunk = [fit(problem.y_true[i], problem.y_score[i]).auc for i in (slice(None), index)]
    assert abs(shrunk[0] - shrunk[1]) > 1e-9


@given(seed=seeds, weighting=sampled_from(["equal", "prevalence"]))
def test_repeating_every_sample(seed, weighting):
    problem = without_shrinkage(seed)
    first = fit(problem.y_true, problem.y_score, shrinkage=0, weighting=weighting)
    index = np.tile(np.arange(len(problem.y_true)), 2)
    second = fit(problem.y_true[index], problem.y_score[index], shrinkage=0, weighting=weighting)
    assert first.auc == pytest.approx(second.auc, abs=1e-9)


@given(seed=seeds, weighting=sampled_from(["equal", "prevalence"]))
def test_integer_weights_are_repetitions(seed, weighting):
    problem = without_shrinkage(seed)
    weight = np.random.default_rng(seed).integers(1, 4, len(problem.y_true))
    index = np.repeat(np.arange(len(weight)), weight)
    first = fit(problem.y_true, problem.y_score, sample_weight=weight, shrinkage=0, weighting=weighting)
    second = fit(problem.y_true[index], problem.y_score[index], shrinkage=0, weighting=weighting)
    assert first.auc == pytest.approx(second.auc, abs=1e-9)
    assert first.hand_till == pytest.approx(second.hand_till, abs=1e-12)


@given(seed=seeds)
def test_weight_zero_is_absence(seed):
    problem, options, _ = both(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(problem.y_true))
    weight[:2] = 1
    kept = weight > 0
    first = fit(problem.y_true, problem.y_score, sample_weight=weight, **options)
    second = fit(problem.y_true[kept], problem.y_score[kept], sample_weight=weight[kept], **options)
    assert first.auc == second.auc
    assert first.n_samples == kept.sum()


@given(seed=seeds, scale=sampled_from([1e-6, 7.0, 1e6]))
def test_scale_of_weights_and_costs_does_not_matter(seed, scale):
    problem, options, _ = both(seed)
    rng = np.random.default_rng(seed)
    k = problem.n_classes
    weight = rng.uniform(0.1, 10, len(problem.y_true))
    cells = {"tpr_weights": rng.uniform(0.1, 10, (k, k)), "fpr_weights": rng.uniform(0.1, 10, (k, k))}
    options.setdefault("costs", rng.uniform(0.1, 10, (k, k)))
    base = fit(problem.y_true, problem.y_score, sample_weight=weight, **options, **cells)
    scaled = {**options, "costs": scale * options["costs"]}
    cells = {name: scale * value for name, value in cells.items()}
    again = fit(problem.y_true, problem.y_score, sample_weight=scale * weight, **scaled, **cells)
    assert base.auc == pytest.approx(again.auc, abs=1e-9)


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
@given(seed=seeds, n_thresholds=sampled_from([2, 3, 10, 50, 99]))
def test_separated_classes_have_area_one_and_reversed_ones_zero(seed, n_thresholds):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 8))
    y_true = np.concatenate([np.arange(k), rng.integers(0, k, int(rng.integers(0, 100)))])
    y_score = rng.uniform(size=(len(y_true), k)) + 2 * np.eye(k)[y_true]
    options = {"n_thresholds": n_thresholds, "costs": 10 ** rng.uniform(0, 3, (k, k))}
    for thresholds in ("own", "shared", "difference"):
        assert fit(y_true, y_score, thresholds=thresholds, **options).auc == pytest.approx(1, abs=1e-12)
        assert fit(y_true, -y_score, thresholds=thresholds, **options).auc == pytest.approx(0, abs=1e-12)


@given(seed=seeds)
def test_constant_columns_have_area_one_half(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 8))
    y_true = np.concatenate([np.arange(k), rng.integers(0, k, 50)])
    y_score = np.tile(rng.normal(size=k), (len(y_true), 1))
    assert fit(y_true, y_score).auc == 0.5
    assert fit(y_true, y_score, thresholds="difference").auc == 0.5
    assert fit(y_true, y_score, costs=rng.uniform(0.1, 10, (k, k))).auc == pytest.approx(0.5, abs=1e-15)


@pytest.mark.parametrize("thresholds", ["own", "shared", "difference"])
def test_independent_labels_have_area_one_half(thresholds):
    rng = np.random.default_rng(1)
    areas = []
    for _ in range(20):
        y_true = rng.integers(0, 4, 1000)
        areas.append(fit(y_true, rng.normal(size=(1000, 4)), thresholds=thresholds).auc)
    error = np.std(areas, ddof=1) / np.sqrt(len(areas))
    assert abs(np.mean(areas) - 0.5) < 4 * error
    assert np.std(areas) < 0.02


@pytest.mark.parametrize("strength", [0.5, 1.0, 2.0])
def test_exchangeable_classes_have_the_area_of_hand_and_till(strength):
    gaps, areas = [], []
    for seed in range(10):
        problem = gaussian_problem(seed, 3000, 5, strength)
        evaluation = fit(problem.y_true, problem.y_score)
        gaps.append(evaluation.auc - evaluation.hand_till)
        areas.append(evaluation.auc)
    # The gap of one sample is within the sampling error of its area.
    assert np.abs(np.mean(gaps)) < np.std(areas, ddof=1)


@given(seed=seeds, shrinkage=sampled_from([0.0, 1.0]), structure=sampled_from(["rank-one", "saturated"]))
def test_fits_are_finite_monotone_and_never_rise(seed, shrinkage, structure):
    problem = random_problem(seed, max_samples=300)
    evaluation = fit(problem.y_true, problem.y_score, shrinkage=shrinkage, structure=structure, **problem.options)
    path, curve = evaluation.factorization.deviance_path, evaluation.curve
    assert np.all(np.diff(path) <= 1e-14 * path[:-1])
    for values in (curve.fpr, curve.tpr):
        assert np.isfinite(values).all()
        assert values[0] == 0
        assert values[-1] == 1
        assert np.all(np.diff(values) >= 0)
    # Not only after rounding is taken away: the fitted rates themselves rise.
    for rates in np.split(expit(evaluation.factorization.row_effects), 2):
        assert np.all(np.diff(rates) >= -1e-9)
    assert np.isfinite(evaluation.factorization.pair_effects).all()
    assert np.all(evaluation.factorization.pair_effects >= 0)
    assert 0 <= evaluation.auc <= 1


@given(seed=seeds)
def test_two_classes_are_the_ordinary_area(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 200))
    y_true = np.concatenate([[0, 1], rng.integers(0, 2, n)])
    score = np.round(rng.normal(size=n + 2) + y_true, int(rng.integers(0, 4)))
    weight = rng.uniform(0.1, 5, n + 2)
    for sample_weight in (None, weight):
        expected = metrics.roc_auc_score(y_true, score, sample_weight=sample_weight)
        for shape in (score, score[:, None], np.column_stack([-score, score])):
            evaluation = polyroc.evaluate(y_true, shape, sample_weight=sample_weight)
            assert evaluation.auc == pytest.approx(expected, abs=1e-12)
            assert len(evaluation.pairs) == 1
            assert evaluation.pairs.auc[0] == pytest.approx(expected, abs=1e-12)
