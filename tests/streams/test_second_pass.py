"""Standard errors from a second pass over counted samples, against those of samples in memory."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import quietly, random_problem
from test_accumulator import predictions, snapped

import polyroc
from polyroc._uncertainty.delong import sides, standard_error
from polyroc._uncertainty.units import Units
from polyroc.streams._second_pass import SampleSums

SEEDS = st.integers(0, 2**32 - 1)
STATISTICS = ("auc", "hand_till", "mean_auc")


def two_passes(y_true, y_score, labels, *, sample_weight=None, groups=None, parts=1, **options):
    """Both passes, in batches that differ."""
    accumulator = polyroc.RocAccumulator(labels, **options)
    accumulator.update(y_true, y_score, sample_weight)
    second = quietly(accumulator.second_pass)
    for chosen in np.array_split(np.arange(len(y_true)), parts):
        second.update(
            y_true[chosen],
            y_score[chosen],
            None if sample_weight is None else sample_weight[chosen],
            groups=None if groups is None else groups[chosen],
        )
    return quietly(second.compute)


@given(SEEDS, st.booleans())
def test_standard_errors_are_those_of_samples(seed, weighted):
    problem, rng = random_problem(seed, max_samples=400), np.random.default_rng(seed)
    weight = rng.exponential(size=len(problem.y_true)) + 0.01 if weighted else None
    y_score = snapped(problem)
    exact = quietly(polyroc.evaluate, problem.y_true, y_score, sample_weight=weight, **problem.arguments)
    options = {name: value for name, value in problem.arguments.items() if name != "labels"}
    labels = problem.arguments["labels"]
    counted = two_passes(problem.y_true, y_score, labels, sample_weight=weight, parts=3, score_kind="free", **options)
    units = exact.uncertainty.units()
    for statistic in STATISTICS:
        if statistic == "auc" and (not exact.factorization.converged or exact.fitted.doubt):
            continue
        first, other = exact.uncertainty.spread(statistic, units), quietly_spread(counted, statistic)
        assert other.standard_error == pytest.approx(first.standard_error, rel=1e-6, abs=1e-9)
        if first.standard_error > 1e-6:
            assert other.freedom == pytest.approx(first.freedom, rel=1e-4)


def quietly_spread(evaluation, statistic):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", polyroc.ResamplingWarning)
        return evaluation.uncertainty.spread(statistic, evaluation.uncertainty.units())


def test_intervals_are_those_of_samples_where_nothing_is_refitted():
    # 420 times as many samples of each class as classes: D's bias is not looked for.
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(3), 1_260)
    y_score = np.round((rng.normal(size=(3_780, 3)) + np.eye(3)[y_true]) * 8) / 8
    exact = polyroc.evaluate(y_true, y_score)
    counted = two_passes(y_true, y_score, range(3), score_kind="free", parts=5)
    for statistic in STATISTICS:
        expected = exact.confidence_interval(statistic=statistic)
        found = counted.confidence_interval(statistic=statistic)
        np.testing.assert_allclose(found, expected, atol=1e-7)
        assert found.method == "influence"
    assert counted.standard_error == pytest.approx(exact.standard_error, rel=1e-7)


def test_a_bias_that_needs_samples_is_warned_of():
    y_true, y_score = predictions("calibrated", 300, 3, 0)
    counted = two_passes(y_true, y_score, range(3))
    with pytest.warns(polyroc.ResamplingWarning, match="not corrected for its bias"):
        counted.confidence_interval()


@given(SEEDS, st.booleans())
def test_groups_are_summed_over_batches(seed, within_classes):
    rng = np.random.default_rng(seed)
    y_true, y_score = predictions("calibrated", 300, 3, seed)
    y_score = np.round(y_score * 32) / 32
    groups = rng.integers(0, 20, 300) + (100 * y_true if within_classes else 0)
    exact = polyroc.evaluate(y_true, y_score)
    counted = two_passes(y_true, y_score, range(3), groups=groups, parts=7)
    units = exact.uncertainty.units(groups)
    for statistic in STATISTICS:
        first, other = exact.uncertainty.spread(statistic, units), quietly_spread(counted, statistic)
        assert other.standard_error == pytest.approx(first.standard_error, rel=1e-6)
        assert other.n_independent == first.n_independent


def test_a_paired_pass_compares_as_compare_does():
    rng = np.random.default_rng(1)
    y_true = np.repeat(np.arange(3), 1_260)
    common = rng.normal(size=(3_780, 3))
    scores = {
        name: np.round((common + rng.normal(size=(3_780, 3)) * 0.7 + strength * np.eye(3)[y_true]) * 4) / 4
        for name, strength in (("weak", 1.0), ("strong", 1.2), ("same", 1.2))
    }
    accumulators = {name: polyroc.RocAccumulator(range(3), score_kind="free") for name in scores}
    for name, y_score in scores.items():
        accumulators[name].update(y_true, y_score)
    parts = [polyroc.PairedSecondPass(accumulators) for _ in range(3)]
    for part, chosen in zip(parts, np.array_split(rng.permutation(len(y_true)), 3), strict=True):
        part.update(y_true[chosen], {name: one[chosen] for name, one in scores.items()})
    first, *others = parts
    for other in others:
        first.merge(other)
    found, expected = first.compute(), polyroc.compare(y_true, scores)
    for contest, other in ((found.by_auc, expected.by_auc), (found.by_hand_till, expected.by_hand_till)):
        for one, two in zip(contest.differences, other.differences, strict=True):
            assert (one.first, one.second) == (two.first, two.second)
            np.testing.assert_allclose(
                [one.value, one.standard_error, one.low, one.high, one.p_value],
                [two.value, two.standard_error, two.low, two.high, two.p_value],
                rtol=1e-5,
                atol=1e-8,
            )
    assert found.best == expected.best
    assert str(found)
    for one, two in zip(found.delong, expected.delong, strict=True):
        assert one.standard_error == pytest.approx(two.standard_error, rel=1e-6)


@given(SEEDS, st.integers(2, 5))
def test_merged_passes_are_one_pass(seed, n_parts):
    rng = np.random.default_rng(seed)
    y_true, y_score = predictions("calibrated", 400, 3, seed)
    accumulator = polyroc.RocAccumulator(range(3))
    accumulator.update(y_true, y_score)
    whole = accumulator.second_pass()
    whole.update(y_true, y_score)
    parts = [accumulator.second_pass() for _ in range(n_parts)]
    place = rng.integers(0, n_parts, len(y_true))
    for part, second in enumerate(parts):
        second.update(y_true[place == part], y_score[place == part])
    for other in parts[1:]:
        again = accumulator.second_pass()
        again.load_state_dict(other.state_dict())
        parts[0].merge(again)
    assert parts[0].compute().standard_error == pytest.approx(whole.compute().standard_error, rel=1e-12)


def test_other_samples_are_noticed():
    y_true, y_score = predictions("calibrated", 300, 3, 0)
    accumulator = polyroc.RocAccumulator(range(3))
    accumulator.update(y_true, y_score)
    second = accumulator.second_pass()
    with pytest.raises(ValueError, match=r"first pass.*not counted"):
        second.update(y_true, predictions("confident", 300, 3, 1)[1])
    second.update(y_true[:200], y_score[:200])
    with pytest.raises(ValueError, match="must have the samples of the first pass"):
        second.compute()
    with pytest.raises(ValueError, match="with all batches"):
        second.update(y_true[200:], y_score[200:], groups=np.arange(100))
    other = polyroc.RocAccumulator(range(3))
    other.update(y_true[:299], y_score[:299])
    with pytest.raises(ValueError, match="same first pass"):
        second.merge(other.second_pass())
    with pytest.raises(ValueError, match="must be a SecondPass"):
        second.merge(3)
    with pytest.raises(ValueError, match="class_counts"):
        second.load_state_dict(other.second_pass().state_dict())
    with pytest.raises(ValueError, match="kind"):
        second.load_state_dict(accumulator.state_dict())
    with pytest.raises(ValueError, match="more than the whole class"):
        second.update(y_true[200:], y_score[200:], np.full(100, 1e200))
    doubled = accumulator.second_pass()
    doubled.update(y_true, y_score, np.full(300, 2.0))
    with pytest.raises(ValueError, match="other sums of weights"):
        doubled.compute()
    second.update(y_true[200:], y_score[200:])
    with pytest.raises(ValueError, match="they belong to the second pass"):
        second.compute().confidence_interval(groups=np.arange(300))


def test_models_of_a_paired_pass_must_have_the_same_samples():
    y_true, y_score = predictions("calibrated", 300, 3, 0)
    first, second = polyroc.RocAccumulator(range(3)), polyroc.RocAccumulator(range(3))
    first.update(y_true, y_score)
    second.update(y_true[:200], y_score[:200])
    with pytest.raises(ValueError, match="counted the same samples"):
        polyroc.PairedSecondPass({"a": first, "b": second})
    with pytest.raises(ValueError, match="at least two"):
        polyroc.PairedSecondPass({"a": first})
    with pytest.raises(ValueError, match="RocAccumulator for 'b'"):
        polyroc.PairedSecondPass({"a": first, "b": 3})
    paired = polyroc.PairedSecondPass({"a": first, "b": first})
    with pytest.raises(ValueError, match="mapping with the models 'a', 'b'"):
        paired.update(y_true, {"a": y_score})


def test_the_interval_of_a_model_near_one_is_given_with_a_warning():
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(3), 2_000)
    y_score = np.round((rng.normal(size=(6_000, 3)) + 5 * np.eye(3)[y_true]) * 8) / 8
    counted = two_passes(y_true, y_score, range(3), score_kind="free")
    assert counted.auc > 0.999
    with pytest.warns(polyroc.ResamplingWarning, match="within 0.001 of 1"):
        low, high = counted.confidence_interval()
    assert low < counted.auc < high


def test_a_partial_area_of_counts_has_no_interval():
    y_true, y_score = predictions("calibrated", 300, 3, 0)
    with pytest.raises(ValueError, match="'auc', 'hand_till', 'mean_auc' for counted scores"):
        two_passes(y_true, y_score, range(3)).confidence_interval(statistic="partial_auc", max_fpr=0.1)


@pytest.mark.parametrize("n", [3, 7, 11, 49])
def test_influences_that_are_only_rounding_have_a_standard_error(n):
    # What a constant column leaves: all of them the same, and not quite 0.
    sums = SampleSums(2, 2)
    sums.add(np.repeat([0, 1], n), np.full((2 * n, 2), 0.1 * 2.0**-60))
    for combination in ([1.0, 0.0], [0.0, 1.0], [1.0, -1.0]):
        assert 0 <= standard_error(np.array(combination), sums.units) < 1e-15


def test_the_difference_of_equal_models_has_no_variance():
    x = np.random.default_rng(0).normal(size=(1_000, 1)) * [1.0, 1.0 / 3]
    sums = SampleSums(2, 2)
    sums.add(np.repeat([0, 1], 500), x)
    assert 0 <= standard_error(np.array([1.0, -3.0]), sums.units) < 1e-6


def test_both_sides_of_differences_are_those_of_samples():
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, 3, 200), rng.standard_t(3, size=(200, 4))
    for c in range(3):
        x[codes == c] -= x[codes == c].mean(axis=0)
    first, second = SampleSums(3, 4), SampleSums(3, 4)
    first.add(codes[:70], x[:70])
    second.add(codes[70:], x[70:])
    first.merge(second)
    again = SampleSums(3, 4)
    again.load(first.state())
    units = Units(np.arange(200), codes, are_groups=False)
    for a in range(4):
        for b in set(range(4)) - {a}:
            apart = x[:, a] - x[:, b]
            of_samples = sides(apart, units)
            for sums in (first, again):
                of_sums = sides(sums.influences(a) - sums.influences(b), sums.units)
                np.testing.assert_allclose(of_sums, of_samples, rtol=1e-12)
            more = [one for one in apart if one > 0]
            np.testing.assert_allclose(of_samples[0], [sum(more), sum(one**2 for one in more), max(more)], rtol=1e-9)
