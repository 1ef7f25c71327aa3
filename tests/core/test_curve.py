"""RocCurve: area, partial area, and the corners."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from numpy.testing import assert_allclose
from problems import quietly, random_problem
from scipy.special import expit, logit

import polyroc
from polyroc import Factorization, Status
from polyroc._core.curve import shared_curve


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


@pytest.mark.parametrize("structure", ["rank-one", "saturated"])
@pytest.mark.parametrize("seed", range(10))
def test_only_rounding_is_taken_from_a_curve_that_cannot_fall(structure, seed):
    problem = random_problem(seed, max_samples=300)
    evaluation = quietly(polyroc.evaluate, problem.y_true, problem.y_score, structure=structure, **problem.arguments)
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


def tpr_by_a_walk(fpr, tpr, at):
    """The highest point of the polygon at a false positive rate, edge by edge."""
    heights = []
    for left, right, low, high in zip(fpr[:-1], fpr[1:], tpr[:-1], tpr[1:], strict=True):
        if left <= at <= right:
            share = (at - left) / (right - left) if right > left else 1.0
            heights.append(low + share * (high - low))
    return max(heights)


@given(seed=integers(0, 10**6))
def test_tpr_at_a_rate_is_the_highest_point_there(seed):
    rng = np.random.default_rng(seed)
    # Rounded, so that the curve has vertical and horizontal edges.
    fpr, tpr = np.sort(rng.uniform(size=(2, 12)).round(1), axis=1)
    curve = polyroc.RocCurve(fpr=np.r_[0, fpr, 1], tpr=np.r_[0, tpr, 1])
    asked = np.r_[0, 1, fpr, rng.uniform(size=5)]
    expected = [tpr_by_a_walk(curve.fpr, curve.tpr, at) for at in asked]
    assert_allclose(curve.tpr_at(asked), expected, atol=1e-12)
    assert curve.tpr_at(float(asked[5])) == pytest.approx(expected[5], abs=1e-12)


def test_tpr_at_answers_in_the_shape_of_the_question():
    curve = polyroc.RocCurve(fpr=[0, 0, 1], tpr=[0, 0.5, 1])
    assert type(curve.tpr_at(0)) is float
    assert curve.tpr_at(0) == 0.5
    assert type(curve.tpr_at(np.float32(0.5))) is float
    assert curve.tpr_at([]).shape == (0,)
    assert curve.tpr_at([[0, 1]]).tolist() == [[0.5, 1.0]]


@pytest.mark.parametrize("fpr", [-0.1, 1.1, float("nan"), [0.5, 2.0]], ids=repr)
def test_tpr_at_refuses_rates_outside_the_unit_interval(fpr):
    with pytest.raises(ValueError, match=r"`fpr` must be in \[0, 1\], got"):
        polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1]).tpr_at(fpr)


@pytest.mark.parametrize("fpr", ["x", None, 0.5j], ids=repr)
def test_tpr_at_refuses_what_is_no_number(fpr):
    with pytest.raises(ValueError, match="`fpr` must be an array"):
        polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1]).tpr_at(fpr)


@pytest.mark.parametrize(
    ("fpr", "words"),
    [
        ([0, 0.5, 0.4, 1], "`fpr` must be finite and never fall, got 0.4 after 0.5 at point 2"),
        ([0, np.nan, 0.5, 1], "`fpr` must be finite and never fall, got nan"),
        ([0, 1, 2, 1], "`fpr` must be finite and never fall, got 1 after 2"),
        ([0.1, 0.2, 0.3, 1], "`fpr` must begin with 0 and end with 1, got 0.1 and 1"),
        ([0, 0.2, 0.3, 0.9], "`fpr` must begin with 0 and end with 1, got 0 and 0.9"),
        ([[0, 1]], r"`fpr` must be one-dimensional with at least two points, got shape \(1, 2\)"),
        ([0, 1], "`fpr` and `tpr` must have the same length, got 2 and 4"),
        (np.array(["0", "0", "0", "1"]), "`fpr` must hold real numbers"),
    ],
)
def test_what_is_no_roc_curve_is_refused(fpr, words):
    with pytest.raises(ValueError, match=words):
        polyroc.RocCurve(fpr=fpr, tpr=[0, 0.5, 0.7, 1])
    mirrored = (
        words.replace("`fpr`", "`tpr`").replace("`tpr` and `tpr`", "`fpr` and `tpr`").replace("2 and 4", "4 and 2")
    )
    with pytest.raises(ValueError, match=mirrored):
        polyroc.RocCurve(fpr=[0, 0.5, 0.7, 1], tpr=fpr)


@pytest.mark.parametrize("area", [7, -0.1, np.nan, np.inf, "0.5", [0.5], 1 + 1e-12, True, 10**400])
def test_an_exact_area_is_an_area(area):
    with pytest.raises(ValueError, match=r"`exact_auc` must be None or a number in \[0, 1\], got "):
        polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1], exact_auc=area)
    assert polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1], exact_auc=np.float64(0.75)).auc == 0.75


def test_a_fall_by_rounding_is_none():
    rate = np.float32([0, 0.3, 0.2999999, 1])
    assert polyroc.RocCurve(fpr=rate, tpr=rate).auc == 0.5


def test_an_exact_area_is_kept_as_a_float():
    curve = polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1], exact_auc=Fraction(19, 20))
    assert type(curve.auc) is float
    assert curve.auc == 0.95


@pytest.mark.parametrize("rate", [10**400, -(10**400)])
def test_a_rate_beyond_all_floats_is_refused_as_others_are(rate):
    curve = polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1])
    with pytest.raises(ValueError, match=r"`fpr` must be in \[0, 1\], got "):
        curve.tpr_at(rate)
    with pytest.raises(ValueError, match=r"`max_fpr` must be in \(0, 1\], got "):
        curve.partial_auc(rate)


def test_rates_may_be_fractions():
    curve = polyroc.RocCurve(fpr=[0, 0, 1], tpr=[0, 0.5, 1])
    assert curve.tpr_at(Fraction(1, 2)) == 0.75
    assert curve.partial_auc(Fraction(1, 4)) == curve.partial_auc(0.25)
    with pytest.raises(ValueError, match=r"`max_fpr` must be in \(0, 1\], got Fraction"):
        curve.partial_auc(Fraction(1, 10**400))  # as a float it is 0
