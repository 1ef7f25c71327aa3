"""DeLong's covariance: Sun and Xu's algorithm for two classes, the jackknife and the bootstrap for more."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from numpy.testing import assert_allclose
from problems import gaussian_problem, quietly
from scipy import stats

import polyroc
from polyroc._uncertainty.delong import covariance
from polyroc._uncertainty.units import units_of


def sun_and_xu(y_true, scores):
    """Areas and covariance of DeLong by midranks (Sun and Xu, 2014), an algorithm of its own."""
    positive, negative = scores[:, y_true == 1], scores[:, y_true == 0]
    m, n = positive.shape[1], negative.shape[1]
    ranks = stats.rankdata(np.hstack([positive, negative]), axis=1)
    areas = ranks[:, :m].sum(axis=1) / m / n - (m + 1) / 2 / n
    v10 = (ranks[:, :m] - stats.rankdata(positive, axis=1)) / n
    v01 = 1 - (ranks[:, m:] - stats.rankdata(negative, axis=1)) / m
    return areas, np.atleast_2d(np.cov(v10) / m + np.cov(v01) / n)


def evaluations_of(y_true, scores, **options):
    with warnings.catch_warnings():
        # Of many random problems one ranks backwards by more than chance explains in most cases.
        warnings.filterwarnings("ignore", "The scores rank samples backwards", UserWarning)
        return [quietly(polyroc.evaluate, y_true, score, engine="numpy", **options) for score in scores]


def delong_of(evaluations, groups=None):
    influences = np.array([one.hand_till_influences for one in evaluations])
    return covariance(influences, units_of(evaluations[0].fitted.source, groups))


@pytest.mark.parametrize("decimals", [0, 1, 8])
@given(seed=integers(0, 2**32 - 1))
def test_two_classes_are_as_in_sun_and_xu(decimals, seed):
    rng = np.random.default_rng(seed)
    y_true = np.r_[0, 0, 1, 1, rng.integers(0, 2, 40)]
    scores = np.round(rng.normal(size=(3, 44)) + rng.uniform(0, 2, (3, 1)) * y_true, decimals)
    evaluations = evaluations_of(y_true, scores)
    areas, expected = sun_and_xu(y_true, scores)
    assert_allclose([one.hand_till for one in evaluations], areas, atol=1e-12)
    assert_allclose(delong_of(evaluations), expected, rtol=0, atol=1e-12)


def test_a_published_example():
    """Hanley and McNeil (1982), table I: 58 normal and 51 abnormal scans, rated 1 to 5.

    Stata's manual, entry `roctab`, has their area 0.8932, DeLong's standard error 0.0307 and the normal interval
    0.83295 to 0.95339.
    """
    normal, abnormal = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]
    rating = np.r_[np.repeat(np.arange(5), normal), np.repeat(np.arange(5), abnormal)].astype(float)
    y_true = np.repeat([0, 1], [58, 51])
    [evaluation] = evaluations_of(y_true, [rating])
    error = np.sqrt(delong_of([evaluation])[0, 0])
    assert evaluation.hand_till == pytest.approx(0.8932, abs=5e-5)
    assert error == pytest.approx(0.0307, abs=5e-5)
    ends = evaluation.hand_till + 1.959964 * error * np.array([-1, 1])
    assert_allclose(ends, [0.83295, 0.95339], rtol=0, atol=5e-6)


@pytest.mark.parametrize("seed", range(8))
def test_many_classes_are_as_by_leaving_one_out(seed):
    """M is linear in what each class is made of, so the jackknife within classes is the very same number."""
    rng = np.random.default_rng(seed)
    y_true = np.r_[np.repeat(np.arange(4), 2), rng.choice(4, 30, p=[0.6, 0.2, 0.1, 0.1])]
    score = rng.normal(size=(38, 4)) + np.eye(4)[y_true]
    scores, present = [score, np.round(score)], range(4)
    full = np.array([one.hand_till for one in evaluations_of(y_true, scores, labels=range(4))])
    expected = np.zeros((2, 2))
    for c in present:
        members = np.flatnonzero(y_true == c)
        left = [
            evaluations_of(np.delete(y_true, x), [np.delete(s, x, axis=0) for s in scores], labels=range(4))
            for x in members
        ]
        change = np.array([[one.hand_till for one in both] for both in left]) - full
        expected += (len(members) - 1) / len(members) * change.T @ change
    assert_allclose(delong_of(evaluations_of(y_true, scores, labels=range(4))), expected, rtol=0, atol=1e-12)


def test_many_classes_against_the_bootstrap():
    problem = gaussian_problem(3, 600, 4)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score)
    n_resamples = 4000
    error = evaluation.bootstrap(n_resamples, rng=0).standard_error("hand_till")
    # The standard error of a standard deviation is 1 / sqrt(2 n) of it; the rest is beyond the linear part.
    assert np.sqrt(delong_of([evaluation])[0, 0]) == pytest.approx(error, rel=4 / np.sqrt(2 * n_resamples))


def test_influences_sum_to_zero_in_each_class_also_with_weights():
    problem = gaussian_problem(4, 90, 3)
    weight = np.random.default_rng(0).uniform(0.1, 3, 90)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=weight)
    for c in range(3):
        assert evaluation.hand_till_influences[problem.y_true == c].sum() == pytest.approx(0, abs=1e-15)
    assert np.abs(evaluation.hand_till_influences).max() > 0


def test_equal_weights_change_nothing():
    problem = gaussian_problem(4, 90, 3)
    plain, weighted = (
        polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=weight) for weight in (None, np.full(90, 2.5))
    )
    assert_allclose(plain.hand_till_influences, weighted.hand_till_influences, atol=1e-15)


def test_groups_of_one_change_nothing_and_copies_in_a_group_count_once():
    problem = gaussian_problem(5, 80, 3)
    plain = delong_of(evaluations_of(problem.y_true, [problem.y_score]))
    alone = delong_of(evaluations_of(problem.y_true, [problem.y_score]), np.arange(80))
    assert_allclose(alone, plain, rtol=1e-12)
    # Every sample twice, the copies in one group: the same information, so the same variance.
    doubled = delong_of(
        evaluations_of(np.tile(problem.y_true, 2), [np.tile(problem.y_score, (2, 1))]), np.tile(np.arange(80), 2)
    )
    assert_allclose(doubled, plain, rtol=1e-12)


def test_interval_of_hand_till():
    problem = gaussian_problem(6, 300, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score)
    low, high = evaluation.confidence_interval(statistic="hand_till", method="delong")
    by_bootstrap = evaluation.confidence_interval(statistic="hand_till", method="bootstrap", rng=0, n_resamples=1999)
    assert_allclose([low, high], by_bootstrap, atol=0.004)
    assert low < evaluation.hand_till < high
