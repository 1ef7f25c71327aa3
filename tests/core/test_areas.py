"""Pairwise areas against the definition by loops, scikit-learn, and what must not matter."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from polyroc._core.rates import all_pairs
from polyroc._core.reference import pairwise_areas
from polyroc._core.samples import class_shares, mann_whitney
from polyroc._records import Predictions, SomePairs


@st.composite
def problems(draw, min_classes=3, weighted=None):
    """Few samples, often tied, some classes of one sample, some columns constant."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(min_classes, 5))
    counts = draw(st.lists(st.integers(1, 8), min_size=k, max_size=k))
    codes = rng.permutation(np.repeat(np.arange(k), counts))
    scores = rng.normal(size=(len(codes), k)) + np.eye(k)[codes]
    decimals = draw(st.sampled_from([0, 1, 12]))
    scores = scores.round(decimals).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        scores[:, 0] = 0.25
    if draw(st.booleans()) if weighted is None else weighted:
        return Predictions(codes, scores, np.arange(k), rng.integers(1, 5, len(codes)).astype(float))
    return Predictions(codes, scores, np.arange(k))


def area_by_loops(predictions, positive, negative):
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    column = predictions.scores[:, positive]
    won = total = 0.0
    for a in np.flatnonzero(predictions.codes == positive):
        for b in np.flatnonzero(predictions.codes == negative):
            total += weight[a] * weight[b]
            won += weight[a] * weight[b] * (float(column[a] > column[b]) + 0.5 * float(column[a] == column[b]))
    return won / total


def areas(predictions):
    return pairwise_areas(predictions, all_pairs(predictions))


def with_scores(predictions, scores):
    return Predictions(predictions.codes, scores, predictions.labels, predictions.sample_weight)


@given(problems())
def test_areas_are_the_definition(predictions):
    pairs = permutations(range(len(predictions.labels)), 2)
    assert_allclose(areas(predictions), [area_by_loops(predictions, i, j) for i, j in pairs], rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [1, 12])
def test_areas_agree_with_scikit_learn(weighted, decimals):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(5)
    codes = rng.choice(4, 3_000, p=[0.7, 0.2, 0.09, 0.01])
    scores = (rng.normal(size=(3_000, 4)) + np.eye(4)[codes]).round(decimals)
    weight = rng.gamma(0.3, size=3_000) + 1e-6 if weighted else None
    predictions = Predictions(codes, scores, np.arange(4), weight)
    pairs = all_pairs(predictions)
    for i, j, area in zip(pairs.positive, pairs.negative, pairwise_areas(predictions, pairs), strict=True):
        of_pair = (codes == i) | (codes == j)
        expected = metrics.roc_auc_score(
            codes[of_pair] == i, scores[of_pair, i], sample_weight=None if weight is None else weight[of_pair]
        )
        assert area == pytest.approx(expected, abs=1e-12)


@given(problems(weighted=True))
def test_whole_weights_are_repetitions(predictions):
    times = predictions.sample_weight.astype(int)
    repeated = Predictions(
        np.repeat(predictions.codes, times), np.repeat(predictions.scores, times, axis=0), predictions.labels
    )
    assert_allclose(areas(predictions), areas(repeated), rtol=0, atol=1e-12)


@given(problems(weighted=True), st.sampled_from([1e-200, 1e-3, 1e200]))
def test_the_scale_of_weights_does_not_matter(predictions, scale):
    scaled = Predictions(predictions.codes, predictions.scores, predictions.labels, predictions.sample_weight * scale)
    assert_allclose(areas(scaled), areas(predictions), rtol=0, atol=1e-12)


@given(problems(), st.integers(0, 2**32 - 1))
def test_the_order_of_samples_does_not_matter(predictions, seed):
    order = np.random.default_rng(seed).permutation(predictions.n_samples)
    weight = predictions.sample_weight
    shuffled = Predictions(
        predictions.codes[order],
        predictions.scores[order],
        predictions.labels,
        None if weight is None else weight[order],
    )
    if weight is None:
        assert_array_equal(areas(shuffled), areas(predictions))
    else:
        assert_allclose(areas(shuffled), areas(predictions), rtol=0, atol=1e-12)


@given(problems(), st.integers(0, 2**32 - 1))
def test_classes_may_change_places(predictions, seed):
    new = np.random.default_rng(seed).permutation(len(predictions.labels))
    scores = np.empty_like(predictions.scores)
    scores[:, new] = predictions.scores
    moved = Predictions(new[predictions.codes], scores, predictions.labels, predictions.sample_weight)
    pairs = all_pairs(predictions)
    moved_pairs = SomePairs(new[pairs.positive], new[pairs.negative], new[pairs.positive])
    assert_allclose(pairwise_areas(moved, moved_pairs), areas(predictions), rtol=0, atol=1e-12)


@given(problems())
def test_only_the_order_within_a_column_matters(predictions):
    # Ranks of the distinct values, scaled differently in each column.
    ranks = [np.unique(column, return_inverse=True)[1] for column in predictions.scores.T]
    mapped = np.column_stack([10.0**c * (rank - 3.0) ** 3 for c, rank in enumerate(ranks)])
    assert_array_equal(areas(with_scores(predictions, mapped)), areas(predictions))


@given(problems())
def test_negated_scores_give_one_minus_the_area(predictions):
    assert_allclose(areas(with_scores(predictions, -predictions.scores)), 1 - areas(predictions), rtol=0, atol=1e-12)


def test_a_constant_column_has_area_one_half_exactly():
    predictions = Predictions(np.array([0, 0, 1, 2, 2]), np.full((5, 3), 0.1), np.arange(3))
    assert_array_equal(areas(predictions), np.full(6, 0.5))


def test_negative_zero_ties_with_zero():
    predictions = Predictions(np.array([0, 1]), np.array([[0.0], [-0.0]]), np.arange(2))
    assert_array_equal(areas(predictions), [0.5])


@pytest.mark.parametrize("n_columns", [1, 2])
def test_two_classes_are_one_pair_read_from_the_last_column(n_columns):
    # The first of two columns is noise that would give another area: 1/4.
    scores = np.array([[0.0, 0.1], [0.1, 0.4], [0.2, 0.4], [0.05, 0.8]])[:, -n_columns:]
    predictions = Predictions(np.array([0, 0, 1, 1]), scores, np.array(["no", "yes"]))
    pairs = all_pairs(predictions)
    assert (pairs.positive.tolist(), pairs.negative.tolist()) == ([1], [0])
    assert_array_equal(pairwise_areas(predictions, pairs), [3.5 / 4])


def test_pairs_are_positive_major_and_leave_out_empty_classes():
    predictions = Predictions(np.array([0, 1, 3, 3]), np.eye(4), np.arange(4))
    pairs = all_pairs(predictions)
    assert list(zip(pairs.positive.tolist(), pairs.negative.tolist(), strict=True)) == list(permutations([0, 1, 3], 2))


@given(problems(min_classes=4))
def test_some_pairs_in_any_order(predictions):
    pairs = SomePairs(np.array([3, 0, 3, 1]), np.array([1, 2, 0, 0]), np.array([3, 0, 3, 1]))
    expected = [area_by_loops(predictions, i, j) for i, j in zip(pairs.positive, pairs.negative, strict=True)]
    assert_allclose(pairwise_areas(predictions, pairs), expected, rtol=0, atol=1e-12)


@given(problems())
def test_one_pair_alone_has_the_same_area(predictions):
    of_pair = predictions.codes < 2
    share = class_shares(predictions)
    alone = mann_whitney(
        predictions.scores[of_pair, 0],
        (predictions.codes[of_pair] == 0).astype(int),
        None if share is None else share[of_pair],
    )
    assert alone == pytest.approx(area_by_loops(predictions, 0, 1), abs=1e-12)


@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.0, 1.0, 5.0, 100.0]))
def test_weighted_areas_are_1_where_a_class_always_wins_and_never_more(seed, spread):
    """By other sums of the same weights they were up to 1 + 3e-15."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 6))
    codes = np.r_[np.arange(k), rng.integers(0, k, int(rng.integers(0, 300)))]
    scores = 0.1 * rng.random((len(codes), k)) + np.eye(k)[codes]
    weight = np.exp(spread * rng.normal(size=len(codes)))
    separated = Predictions(codes, scores, np.arange(k), weight)
    pairs = all_pairs(separated)
    assert_array_equal(pairwise_areas(separated, pairs), 1.0)
    assert_array_equal(pairwise_areas(Predictions(codes, -scores, np.arange(k), weight), pairs), 0.0)
    scores[:, 0] = rng.permutation(scores[:, 0])
    areas = pairwise_areas(Predictions(codes, scores, np.arange(k), weight), pairs)
    assert np.all((areas >= 0) & (areas <= 1))
