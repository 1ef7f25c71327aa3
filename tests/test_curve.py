"""RocCurve: area, partial area, and the corners."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from numpy.testing import assert_allclose
from problems import quietly, random_problem
from scipy.special import expit, logit

import polyroc
from polyroc import Factorization, Status
from polyroc._curve import shared_curve


@given(seed=integers(0, 10**6))
def test_area_is_that_of_trapezoids(seed):
    fpr, tpr = np.sort(np.random.default_rng(seed).uniform(size=(2, 20)), axis=1)
    curve = polyroc.RocCurve(fpr=np.r_[0, fpr, 1], tpr=np.r_[0, tpr, 1])
    assert curve.auc == pytest.approx(np.trapezoid(curve.tpr, curve.fpr), abs=1e-14)


@given(seed=integers(0, 10**6))
def test_partial_area_equals_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    y_true = np.r_[0, 1, rng.integers(0, 2, 60)]
    score = np.round(rng.normal(size=62) + y_true, 1)
    max_fpr = float(rng.uniform(0.01, 1))
    curve = polyroc.evaluate(y_true, score).curve
    for limit in (max_fpr, 1.0):
        expected = metrics.roc_auc_score(y_true, score, max_fpr=limit)
        assert curve.partial_auc(limit) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("max_fpr", [0, -0.1, 1.1, float("nan")])
def test_partial_area_refuses_limits_outside_the_unit_interval(max_fpr):
    curve = polyroc.RocCurve(fpr=np.array([0.0, 1]), tpr=np.array([0.0, 1]))
    with pytest.raises(ValueError, match=r"`max_fpr` must be in \(0, 1\], got"):
        curve.partial_auc(max_fpr)


def test_curves_cannot_be_written_to():
    fpr = np.array([0.0, 1])
    curve = polyroc.RocCurve(fpr=fpr, tpr=np.array([0.0, 1]))
    with pytest.raises(ValueError, match="read-only"):
        curve.fpr[0] = 1
    with pytest.raises(AttributeError):
        curve.fpr = fpr
    fpr[0] = 0.5  # the caller's own array stays the caller's


def test_curve_is_the_inverse_logit_of_the_row_effects():
    example = polyroc.load_example()
    evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    tpr, fpr = np.split(1 / (1 + np.exp(-evaluation.factorization.row_effects)), 2)
    assert_allclose(evaluation.curve.tpr, np.r_[0, tpr, 1], atol=1e-12)
    assert_allclose(evaluation.curve.fpr, np.r_[0, fpr, 1], atol=1e-12)


@pytest.mark.parametrize("model", ["rank-one", "saturated"])
@pytest.mark.parametrize("seed", range(10))
def test_only_rounding_is_taken_from_a_curve_that_cannot_fall(model, seed):
    problem = random_problem(seed, max_samples=300)
    evaluation = quietly(polyroc.evaluate, problem.y_true, problem.y_score, model=model, **problem.arguments)
    tpr, fpr = np.split(expit(evaluation.factorization.row_effects), 2)
    assert_allclose(evaluation.curve.tpr[1:-1], tpr, rtol=0, atol=1e-9)
    assert_allclose(evaluation.curve.fpr[1:-1], fpr, rtol=0, atol=1e-9)


def test_a_curve_that_falls_is_mended_half_from_below_and_half_from_above():
    effects = logit(np.array([0.2, 0.6, 0.4, 0.8, 0.1, 0.2, 0.3, 0.4]))
    curve = shared_curve(Factorization(effects, np.zeros(2), 0.0, np.zeros(1), 0, Status.CONVERGED, effects))
    assert_allclose(curve.tpr, [0, 0.2, 0.5, 0.5, 0.8, 1])
    assert_allclose(curve.fpr, [0, 0.1, 0.2, 0.3, 0.4, 1])


def test_curves_are_made_of_lists_too():
    curve = polyroc.RocCurve(fpr=[0, 1, 1], tpr=[0, 0, 1])
    assert curve.auc == 0
    assert curve.fpr.dtype == float
    assert not curve.fpr.flags.writeable


@pytest.mark.parametrize("max_fpr", ["x", None, np.array([0.1, 0.2]), [0.1], 0.5j], ids=repr)
def test_partial_area_refuses_what_is_no_number(max_fpr):
    with pytest.raises(ValueError, match=r"`max_fpr` must be in \(0, 1\], got"):
        polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1]).partial_auc(max_fpr)


def test_partial_area_takes_numbers_of_numpy():
    curve = polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1])
    assert curve.partial_auc(np.float32(0.5)) == curve.partial_auc(0.5) == 0.5
    assert curve.partial_auc(np.int64(1)) == 0.5
