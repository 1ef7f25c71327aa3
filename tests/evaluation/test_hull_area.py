import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import ConvexHull

import polyroc


def scores_of(n, k, seed, decimals=8):
    rng = np.random.default_rng(seed)
    y_true = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    y_score = rng.normal(size=(n, k))
    y_score[np.arange(n), y_true] += 1
    return y_true, y_score.round(decimals), rng.uniform(0.1, 3, n)


def area_by_thresholds(score, is_positive, is_negative, weight):
    """Area of the convex hull of all points that a threshold reaches, by qhull."""
    points = [(1, 0), (0, 0)]
    for threshold in np.unique(score):
        called = score >= threshold
        points.append(
            tuple(weight[called & of].sum() / weight[of].sum() for of in (is_negative, is_positive)),
        )
    return ConvexHull(np.array(points)).volume


@pytest.mark.parametrize("decimals", [8, 1, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_pair_agrees_with_qhull(decimals, weighted):
    y_true, y_score, weight = scores_of(150, 4, 0, decimals)
    weight = weight if weighted else np.ones(150)
    pairs = polyroc.evaluate(y_true, y_score, sample_weight=weight).pairs
    expected = [
        area_by_thresholds(y_score[:, i], y_true == i, y_true == j, weight)
        for i, j in zip(pairs.positive, pairs.negative, strict=True)
    ]
    assert_allclose(pairs.hull_area, expected, rtol=1e-12)
    assert (pairs.hull_area >= pairs.auc).all()
    assert not pairs.hull_area.flags.writeable


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_that_are_ranked_by_differences(weighted):
    y_true, y_score, weight = scores_of(150, 4, 6, 1)
    weight = weight if weighted else np.ones(150)
    pairs = polyroc.evaluate(y_true, y_score, sample_weight=weight, thresholds="difference").pairs
    expected = [
        area_by_thresholds(y_score[:, i] - y_score[:, j], y_true == i, y_true == j, weight)
        for i, j in zip(pairs.positive, pairs.negative, strict=True)
    ]
    assert_allclose(pairs.hull_area, expected, rtol=1e-12)
    assert (pairs.hull_area >= pairs.auc).all()


@pytest.mark.parametrize("columns", [1, 2])
def test_two_classes_have_the_hull_of_their_curve(columns):
    y_true, y_score, _ = scores_of(80, 2, 1)
    both = np.column_stack([-y_score[:, 1], y_score[:, 1]])
    evaluation = polyroc.evaluate(y_true, both[:, 2 - columns :])
    assert_allclose(evaluation.pairs.hull_area, [evaluation.curve.hull().auc], rtol=1e-12)


def test_merging_scores_reaches_it():
    # The area of the hull is the Mann-Whitney area of scores that an isotonic regression has merged.
    isotonic = pytest.importorskip("sklearn.isotonic")
    y_true, y_score, _ = scores_of(200, 3, 2)
    pairs = polyroc.evaluate(y_true, y_score).pairs
    for i, j, area in zip(pairs.positive, pairs.negative, pairs.hull_area, strict=True):
        both = (y_true == i) | (y_true == j)
        is_positive = (y_true[both] == i).astype(float)
        score = y_score[both, i]
        share = np.where(is_positive == 1, 1 / is_positive.sum(), 1 / (1 - is_positive).sum())
        merged = isotonic.IsotonicRegression().fit(score, is_positive, share).predict(score)
        assert_allclose(area, polyroc.auc_score(is_positive.astype(int), merged), rtol=1e-9)


def test_concave_curves_have_no_more_than_their_area():
    # One tie of two scores: the polygon has a single inner point, above the diagonal.
    y_true = np.repeat([0, 1, 2], [5, 7, 4])
    y_score = (np.arange(3) == y_true[:, None]).astype(float)
    y_score[::3] = 0
    pairs = polyroc.evaluate(y_true, y_score).pairs
    assert (pairs.auc < 1).all()
    assert_array_equal(pairs.hull_area, pairs.auc)


def test_order_of_samples_and_monotone_recalibration_do_not_matter():
    y_true, y_score, _ = scores_of(120, 3, 3, 1)
    usual = polyroc.evaluate(y_true, y_score).pairs.hull_area
    order = np.random.default_rng(0).permutation(120)
    assert_array_equal(polyroc.evaluate(y_true[order], y_score[order]).pairs.hull_area, usual)
    assert_array_equal(polyroc.evaluate(y_true, np.exp(y_score)).pairs.hull_area, usual)


def test_classes_without_samples_and_sampled_pairs():
    y_true, y_score, _ = scores_of(200, 5, 4)
    whole = polyroc.evaluate(y_true, y_score).pairs
    some = polyroc.evaluate(y_true, y_score, max_pairs=6, rng=0).pairs
    where = {pair[:2]: area for pair, area in zip(whole, whole.hull_area, strict=True)}
    assert [where[pair[:2]] for pair in some] == some.hull_area.tolist()
    with pytest.warns(UserWarning, match="No samples"):
        empty = polyroc.evaluate(y_true, np.column_stack([y_score, y_score[:, 0]]), labels=np.arange(6)).pairs
    assert_array_equal(empty.hull_area, whole.hull_area)


def test_many_samples_go_over_threads_to_the_same_bits():
    y_true, y_score, _ = scores_of(30_000, 4, 5)
    one, two = (polyroc.evaluate(y_true, y_score, n_jobs=n_jobs).pairs.hull_area for n_jobs in (1, 2))
    assert_array_equal(one, two)


def test_table_that_was_copied_still_knows_it():
    y_true, y_score, _ = scores_of(60, 3, 6)
    evaluation = polyroc.evaluate(y_true, y_score)
    assert_array_equal(pickle.loads(pickle.dumps(evaluation)).pairs.hull_area, evaluation.pairs.hull_area)
    assert_array_equal(pickle.loads(pickle.dumps(evaluation.pairs)).hull_area, evaluation.pairs.hull_area)


def test_changed_samples_are_noticed():
    y_true, y_score, _ = scores_of(60, 3, 7)
    pairs = polyroc.evaluate(y_true, y_score).pairs
    y_score[:] = y_score[::-1].copy()
    with pytest.raises(RuntimeError, match="changed"):
        _ = pairs.hull_area


def test_table_without_samples_says_so():
    one = np.ones(1)
    pairs = polyroc.Pairs(np.array([0]), np.array([1]), one, one, one, one)
    with pytest.raises(AttributeError, match=r"use `evaluate\(...\).pairs`"):
        _ = pairs.hull_area
