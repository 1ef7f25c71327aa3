import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import ConvexHull

from polyroc import RocCurve


def staircase(seed, n=60):
    rng = np.random.default_rng(seed)
    is_positive = np.append(rng.random(n) < 0.5, [True, False])
    tpr, fpr = np.cumsum(is_positive), np.cumsum(~is_positive)
    return RocCurve(fpr=np.append(0, fpr) / fpr[-1], tpr=np.append(0, tpr) / tpr[-1])


@pytest.mark.parametrize("seed", range(10))
def test_area_is_that_of_qhull(seed):
    curve = staircase(seed)
    points = np.vstack([np.column_stack([curve.fpr, curve.tpr]), [[1, 0]]])
    assert_allclose(curve.hull().auc, ConvexHull(points).volume, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_hull_is_concave_and_nowhere_below_the_curve(seed):
    curve = staircase(seed)
    hull = curve.hull()
    assert (hull.fpr[0], hull.tpr[0], hull.fpr[-1], hull.tpr[-1]) == (0, 0, 1, 1)
    turns = np.diff(hull.fpr[:-1]) * np.diff(hull.tpr[1:]) - np.diff(hull.tpr[:-1]) * np.diff(hull.fpr[1:])
    assert (turns < 0).all()
    assert (hull.tpr_at(curve.fpr) >= curve.tpr - 1e-12).all()
    # Its corners are points of the curve.
    points = set(zip(curve.fpr.tolist(), curve.tpr.tolist(), strict=True))
    assert set(zip(hull.fpr.tolist(), hull.tpr.tolist(), strict=True)) <= points
    assert_array_equal(hull.hull().fpr, hull.fpr)


def test_curves_below_the_diagonal_have_the_diagonal_for_a_hull():
    hull = RocCurve(fpr=[0, 1, 1], tpr=[0, 0, 1]).hull()
    assert (hull.fpr.tolist(), hull.tpr.tolist(), hull.auc) == ([0, 1], [0, 1], 0.5)


def test_perfect_curve_is_its_own_hull():
    hull = RocCurve(fpr=[0, 0, 1], tpr=[0, 1, 1]).hull()
    assert (hull.fpr.tolist(), hull.tpr.tolist(), hull.auc) == ([0, 0, 1], [0, 1, 1], 1)


def test_area_is_that_of_the_points_also_where_another_is_known():
    curve = RocCurve(fpr=[0, 0.5, 1], tpr=[0, 0.9, 1], exact_auc=0.8)
    assert curve.auc == 0.8
    assert_allclose(curve.hull().auc, 0.7)
