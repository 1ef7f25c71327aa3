"""Pairwise rates against loops in exact fractions and against scikit-learn's ROC curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, sampled_from
from numpy.testing import assert_allclose
from problems import gaussian_problem, quietly, random_problem
from reference import rates_by_loops

import polyroc


@given(
    seed=integers(0, 10**6),
    thresholds=sampled_from(["own", "shared", "difference"]),
    n_thresholds=sampled_from([2, 7, 10]),
)
def test_rates_agree_with_loops(seed, thresholds, n_thresholds):
    problem = random_problem(seed, n_classes=3 + seed % 2, max_samples=60)
    arguments = {**problem.arguments, "thresholds": thresholds, "n_thresholds": n_thresholds, "costs": None}
    rates = quietly(polyroc.evaluate, problem.y_true, problem.y_score, **arguments).rates
    tpr, fpr = rates_by_loops(problem.y_true, problem.y_score, thresholds, n_thresholds)
    assert_allclose(rates.tpr, tpr, atol=1e-14)
    assert_allclose(rates.fpr, fpr, atol=1e-14)


def test_rates_cut_the_roc_curves_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    problem = gaussian_problem(3, 500, 4)
    y_score = np.round(problem.y_score, 1)
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y_score))
    evaluation = polyroc.evaluate(problem.y_true, y_score, sample_weight=weight)
    for pair, (i, j) in enumerate(zip(evaluation.pairs.positive, evaluation.pairs.negative, strict=True)):
        members = np.isin(problem.y_true, [i, j])
        fpr, tpr, _ = metrics.roc_curve(
            problem.y_true[members] == i, y_score[members, i], sample_weight=weight[members], drop_intermediate=False
        )
        s = evaluation.rates.call_rates
        # Where the line TPR + FPR = 2 s cuts the curve.
        assert_allclose(evaluation.rates.tpr[:, pair], np.interp(2 * s, tpr + fpr, tpr), atol=1e-12)
        assert_allclose(evaluation.rates.fpr[:, pair], np.interp(2 * s, tpr + fpr, fpr), atol=1e-12)


@pytest.mark.parametrize("thresholds", ["own", "shared"])
def test_thresholds_are_where_the_call_rate_is_reached(thresholds):
    problem = gaussian_problem(11, 90, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, thresholds=thresholds)
    y_true, y_score = problem.y_true, problem.y_score
    for pair, (i, j) in enumerate(zip(evaluation.pairs.positive, evaluation.pairs.negative, strict=True)):
        runs = [y_score[y_true == c, column] for column in ([i] if thresholds == "own" else [i, j]) for c in (i, j)]
        for s, threshold in zip(evaluation.rates.call_rates, evaluation.score_thresholds[:, pair], strict=True):
            above = np.mean([np.mean(run > threshold) for run in runs])
            from_there = np.mean([np.mean(run >= threshold) for run in runs])
            assert above - 1e-12 <= s <= from_there + 1e-12


def test_two_classes_keep_the_whole_polygon():
    evaluation = polyroc.evaluate([0, 0, 1, 1, 1], [0.1, 0.5, 0.5, 0.7, 0.9])
    assert_allclose(evaluation.score_thresholds[:, 0], [0.9, 0.7, 0.5])
    rates = evaluation.rates
    assert_allclose(rates.tpr[:, 0], [1 / 3, 2 / 3, 1])
    assert_allclose(rates.fpr[:, 0], [0, 0, 0.5])


def test_float32_scores_give_the_same_rates_as_their_float64_copy():
    problem = gaussian_problem(5, 200, 4)
    single = problem.y_score.astype(np.float32)
    first = polyroc.evaluate(problem.y_true, single)
    second = polyroc.evaluate(problem.y_true, single.astype(np.float64))
    assert first.score_thresholds.dtype == np.float32
    assert np.array_equal(first.rates.tpr, second.rates.tpr)


def test_a_call_rate_that_is_reached_but_for_rounding_is_reached():
    """Of each class ten samples: seven of class 0 and one of class 1 score at least 13, and (0.7 + 0.1) / 2 < 0.4."""
    y_true = np.repeat([0, 1, 2], [10, 10, 1])
    y_score = np.zeros((21, 3))
    y_score[:20, 0] = [*range(20, 13, -1), 5, 4, 3, 13, *range(2, -7, -1)]
    evaluation = polyroc.evaluate(y_true, y_score, n_thresholds=4)
    assert evaluation.rates.call_rates[1] > (0.7 + 0.1) / 2
    assert evaluation.score_thresholds[[0, 1, -2, -1], 0].tolist() == [17, 13, 2, -2]


def test_scores_whose_difference_overflows_are_different():
    evaluation = polyroc.evaluate([0, 1, 1, 0], [-1e308, 1.5e308, -1e308, 1e308])
    assert evaluation.score_thresholds[:, 0].tolist() == [1.5e308, 1e308]
    assert evaluation.rates.tpr[:, 0].tolist() == [0.5, 0.5]
