"""Plans: what is drawn, how often, and with which seed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from polyroc._inputs.predictions import as_predictions
from polyroc._records import SomePairs
from polyroc._uncertainty.units import ResamplingPlan, Streams, as_seed, units_of


def predictions_of(counts, **options):
    y_true = np.repeat(np.arange(len(counts)), counts)
    return as_predictions(y_true, np.zeros((len(y_true), len(counts))), labels=range(len(counts)), **options)


def all_weights(plan):
    return np.concatenate([plan.weights(*block) for block in plan.blocks])


def test_each_class_is_drawn_from_itself_once_less_than_it_has_samples():
    predictions = predictions_of([1, 2, 7, 40])
    weights = all_weights(ResamplingPlan(predictions, units_of(predictions, None), 50, [0]))
    sums = np.array([weights[:, predictions.codes == c].sum(axis=1) for c in range(4)])
    assert_allclose(sums, np.tile([[1], [1], [6], [39]], 50))
    assert np.array_equal(weights, np.rint(weights))


@pytest.mark.slow
def test_the_variance_of_a_mean_is_the_unbiased_one():
    """That is what one draw less is for: the variance over all draws is s^2 / n, not (n - 1) / n of it."""
    values = np.random.default_rng(0).normal(size=6)
    predictions = predictions_of([6, 6])
    weights = all_weights(ResamplingPlan(predictions, units_of(predictions, None), 200_000, [1]))[:, :6]
    means = weights @ values / weights.sum(axis=1)
    expected = values.var(ddof=1) / 6
    # The standard error of a variance from so many draws is some 0.4 %.
    assert means.var() == pytest.approx(expected, rel=0.015)


def test_whole_groups_are_drawn():
    predictions = predictions_of([30, 30])
    groups = np.arange(60) % 7
    weights = all_weights(ResamplingPlan(predictions, units_of(predictions, groups), 40, [0]))
    for g in range(7):
        assert np.all(weights[:, groups == g] == weights[:, groups == g][:, :1])
    by_group = weights[:, :7]  # the first seven samples are one of each group
    assert_allclose(by_group.sum(axis=1), 6)


def test_groups_of_one_class_are_drawn_within_the_classes():
    predictions = predictions_of([12, 6, 2])
    groups = np.concatenate([np.arange(12) // 3, 10 + np.arange(6) // 2, [20, 21]])
    weights = all_weights(ResamplingPlan(predictions, units_of(predictions, groups), 40, [0]))
    first_of_group = np.unique(groups, return_index=True)[1]
    drawn = weights[:, first_of_group]
    assert_allclose(drawn[:, :4].sum(axis=1), 3)
    assert_allclose(drawn[:, 4:7].sum(axis=1), 2)
    assert_allclose(drawn[:, 7:].sum(axis=1), 1)


def test_groups_of_one_sample_are_the_samples():
    predictions = predictions_of([5, 9])
    plain, grouped = units_of(predictions, None), units_of(predictions, [f"g{i:02}" for i in range(14)])
    assert np.array_equal(
        all_weights(ResamplingPlan(predictions, plain, 30, [4])),
        all_weights(ResamplingPlan(predictions, grouped, 30, [4])),
    )


def test_blocks_may_be_asked_for_in_any_order_and_the_first_replicates_do_not_depend_on_the_last():
    predictions = predictions_of([50, 50])
    plan = ResamplingPlan(predictions, units_of(predictions, None), 100, [7])
    weights = all_weights(plan)
    start, stop = plan.blocks[2]
    assert np.array_equal(plan.weights(start, stop), weights[start:stop])
    longer = ResamplingPlan(predictions, units_of(predictions, None), 1000, [7])
    assert np.array_equal(all_weights(longer)[:100], weights)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_the_length_of_a_block_changes_no_draw(monkeypatch, size):
    """Also of draws that are drawn again, here two in three: they go on in the replicate's own stream."""
    predictions = predictions_of([4, 4, 4, 4])
    groups = predictions.codes.copy()
    groups[0] = 3
    plain = ResamplingPlan(predictions, units_of(predictions, None), 50, [3])
    grouped = ResamplingPlan(predictions, units_of(predictions, groups), 50, [3], sampled(predictions, (0, 1)))
    expected = all_weights(plain), all_weights(grouped)
    monkeypatch.setattr("polyroc._uncertainty.units._BLOCK_REPLICATES", size)
    assert len(plain.blocks) == -(-50 // size)
    assert np.array_equal(all_weights(plain), expected[0])
    assert np.array_equal(all_weights(grouped), expected[1])
    assert np.array_equal(grouped.weights(17, 18)[0], expected[1][17])


def test_replicates_have_streams_of_their_own():
    """Of 5,000 replicates, no two draw the same, and none goes on where another began."""
    numbers = np.array([rng.random(4) for rng in Streams([0])(0, 5000)])
    assert len(np.unique(numbers)) == numbers.size
    # Neighbours are as independent as draws of one stream: the correlation of 5,000 pairs varies by 0.014.
    between = np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]
    assert abs(between) < 0.06
    assert abs(numbers.mean() - 0.5) < 5 * np.sqrt(1 / 12 / numbers.size)


def test_a_stream_is_numpys_own_jump_from_the_seed():
    for number, rng in zip((2, 3, 4), Streams([5])(2, 5), strict=True):
        jumped = np.random.PCG64DXSM(np.random.SeedSequence([5])).jumped(number)
        assert np.array_equal(rng.random(3), np.random.Generator(jumped).random(3))


def test_a_draw_that_leaves_one_class_is_drawn_again():
    # Three groups: two draws, and the same group twice leaves one class.
    predictions = predictions_of([4, 4])
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 2])
    groups[0] = 2  # of both classes, so that groups are drawn from all classes at once
    weights = all_weights(ResamplingPlan(predictions, units_of(predictions, groups), 60, [0]))
    for weight in weights:
        assert len(np.unique(predictions.codes[weight > 0])) == 2


def test_of_two_groups_only_one_of_two_classes_is_drawn():
    predictions = predictions_of([4, 4, 1])
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    weights = ResamplingPlan(predictions, units_of(predictions, groups), 10, [0]).weights(0, 10)
    assert np.all(weights == (groups == 1))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(9, dtype=int), "`groups` must name at least two groups"),
        (np.arange(8), "`groups` must have one entry per sample, 9, got 8"),
        (np.full(9, np.nan), "`groups` must"),
        ([None] * 9, "`groups` must"),
        (np.arange(18).reshape(9, 2), "`groups` must"),
        ([], "`groups` must not be empty"),
    ],
    ids=["one group", "length", "nan", "missing", "two columns", "empty"],
)
def test_bad_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        units_of(predictions_of([4, 5]), groups)


def test_groups_are_as_long_as_what_came_also_where_weights_are_zero():
    predictions = predictions_of([4, 4], sample_weight=[0, 1, 1, 1, 1, 1, 1, 0])
    units = units_of(predictions, np.array([0, 0, 1, 1, 2, 2, 3, 3]))
    assert units.unit.tolist() == [0, 1, 1, 2, 2, 3]
    with pytest.raises(ValueError, match="one entry per sample, 8, got 6"):
        units_of(predictions, np.arange(6))


def test_seeds():
    assert as_seed(5) == [5]
    assert as_seed(np.random.default_rng(5)) == as_seed(np.random.default_rng(5))
    assert as_seed(None) != as_seed(None)
    rng = np.random.default_rng(5)
    assert as_seed(rng) != as_seed(rng)


def sampled(predictions, *pairs):
    positive, negative = np.array(pairs).T
    return SomePairs(positive, negative, positive, stratum=np.zeros(len(positive), dtype=int))


def test_a_draw_without_a_compared_pair_is_drawn_again():
    predictions = predictions_of([4, 4, 4, 4])
    # Each class in a group of its own, but for one sample, so that groups are drawn from all classes at once.
    groups = predictions.codes.copy()
    groups[0] = 3
    pairs = sampled(predictions, (0, 1), (1, 2))
    plan = ResamplingPlan(predictions, units_of(predictions, groups), 200, [0], pairs)
    drawn = [set(predictions.codes[weight > 0].tolist()) for weight in all_weights(plan)]
    assert all({0, 1} <= classes or {1, 2} <= classes for classes in drawn)
    # Draws that have such a pair are those that they were without the rule, and others come in their place.
    plain = all_weights(ResamplingPlan(predictions, units_of(predictions, groups), 200, [0]))
    others = [set(predictions.codes[weight > 0].tolist()) for weight in plain]
    usable = [{0, 1} <= classes or {1, 2} <= classes for classes in others]
    assert 20 < sum(usable) < 180


def test_groups_of_which_no_draw_has_a_compared_pair_are_refused():
    predictions = predictions_of([3, 3, 3, 3])
    groups = predictions.codes // 2
    units = units_of(predictions, groups)
    with pytest.raises(ValueError, match=r"`groups` must not leave every resample without a pair.*`max_pairs` sampled"):
        ResamplingPlan(predictions, units, 10, [0], sampled(predictions, (0, 2), (1, 3)))
    weights = all_weights(ResamplingPlan(predictions, units, 10, [0], sampled(predictions, (0, 2), (0, 1))))
    assert np.all(weights == (groups == 0))
