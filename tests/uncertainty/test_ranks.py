"""Rank intervals: against Tukey's studentized range, loops over the definition, and true ranks that are known."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import quietly
from scipy import stats

import polyroc
from polyroc import Contest, ModelEstimate, RankInterval, RankIntervals
from polyroc._uncertainty.paired import _draws, _smallest_p_value, normal_differences, rank_intervals

# What the errors of six models have in common, and two that vary more than the others.
ERRORS = np.array([1.0, 1.0, 1.2, 0.8, 2.0, 1.5]) / 100
SHARED = np.outer(ERRORS, ERRORS) * (0.6 + 0.4 * np.eye(6))
TRUTHS = {
    "all equal": np.full(6, 0.8),
    "three tied, three apart": np.array([0.8, 0.8, 0.8, 0.83, 0.9, 0.7]),
    "nearly tied": 0.8 + np.arange(6) / 400,
    "two far groups": np.array([0.8, 0.8, 0.8, 0.5, 0.5, 0.5]),
}


def contest(values, covariance):
    """A contest of statistics with a normal distribution of known covariance."""
    names = [f"m{m}" for m in range(len(values))]
    errors = {
        (a, b): float(np.sqrt(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]))
        for a, b in combinations(range(len(values)), 2)
    }
    estimates = tuple(ModelEstimate(name, float(x), 0.01, 0.0, 1.0, 0.0) for name, x in zip(names, values, strict=True))
    return Contest("auc", estimates, normal_differences(names, values, errors, 0.95), (), covariance)


def covers(found, truth):
    """Whether every interval contains all ranks that its model may have, ties included."""
    return all(
        one.low <= 1 + np.sum(truth > own) and one.high >= len(truth) - np.sum(truth < own)
        for one, own in zip(found, truth, strict=True)
    )


@pytest.mark.parametrize("n_models", [2, 4, 12])
def test_quantile_of_independent_models_is_tukeys(n_models):
    first, second = np.triu_indices(n_models, 1)
    found = _smallest_p_value(_draws(0.01 * np.eye(n_models)), first, second, 0.05)
    largest = stats.studentized_range.ppf(0.95, n_models, np.inf) / np.sqrt(2)
    # 9,999 draws know the level to 0.0022.
    assert stats.studentized_range.sf(stats.norm.isf(found / 2) * np.sqrt(2), n_models, np.inf) == pytest.approx(
        0.05, abs=0.0066
    )
    assert stats.norm.isf(found / 2) == pytest.approx(largest, rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_without_a_covariance_ranks_are_counted_by_holms_adjustment(seed):
    values = np.random.default_rng(seed).multivariate_normal(TRUTHS["three tied, three apart"], SHARED)
    made = contest(values, SHARED)
    for one in rank_intervals(made, 0.95, None):
        sure = [entry for entry in made.differences if entry.p_value_holm < 0.05]
        lead = [
            entry if entry.first == one.model else entry.turned() for entry in sure if one.model in vars(entry).values()
        ]
        assert one.low == 1 + sum(entry.value < 0 for entry in lead)
        assert one.high == len(values) - sum(entry.value > 0 for entry in lead)
        assert one.rank == 1 + sum(values > one.value)


def test_never_less_than_holm_decides_and_never_more_than_single_tests():
    rng, sharper = np.random.default_rng(0), 0
    for _ in range(60):
        values = rng.multivariate_normal(TRUTHS["three tied, three apart"], SHARED)
        made = contest(values, SHARED)
        together, by_holm = rank_intervals(made, 0.95, SHARED), rank_intervals(made, 0.95, None)
        for one, other in zip(together, by_holm, strict=True):
            ahead = [
                entry if entry.first == one.model else entry.turned()
                for entry in made.differences
                if one.model in (entry.first, entry.second) and entry.p_value < 0.05
            ]
            assert 1 + sum(entry.value < 0 for entry in ahead) >= one.low >= other.low
            assert len(values) - sum(entry.value > 0 for entry in ahead) <= one.high <= other.high
            sharper += one.high - one.low < other.high - other.low
    # The differences have models in common, which Holm does not know.
    assert sharper > 0


def share_covered(truth, n):
    rng = np.random.default_rng(1)
    return np.mean(
        [
            covers(rank_intervals(contest(rng.multivariate_normal(truth, SHARED), SHARED), 0.95, SHARED), truth)
            for _ in range(n)
        ]
    )


# One of them in every run; all with the slow tests, and more samples.
def test_all_ranks_are_covered_together():
    assert share_covered(TRUTHS["nearly tied"], 200) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTHS)
def test_all_ranks_are_covered_together_in_many_samples(name):
    covered = share_covered(TRUTHS[name], 3000)
    assert covered >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 3000)
    # Step by step: with few ties left, not much is given away.
    if name == "all equal":
        assert covered <= 0.96


def test_models_far_apart_have_one_rank_each():
    values = 0.5 + 0.08 * np.arange(6)
    found = rank_intervals(contest(values, SHARED), 0.95, SHARED)
    assert [(one.low, one.rank, one.high) for one in found] == [(r, r, r) for r in (6, 5, 4, 3, 2, 1)]
    assert found.tied_with_best == ("m5",)
    assert [str(one) for one in found.by_rank] == ["1", "2", "3", "4", "5", "6"]


def tukey(level, n_models):
    """The p value of a difference that reaches the quantile of the range of so many independent models."""
    return 2 * stats.norm.sf(stats.studentized_range.ppf(level, n_models, np.inf) / np.sqrt(2))


def test_a_second_step_decides_what_the_first_leaves_open():
    # Two groups far apart leave the family; of the three pairs inside each group, one is then significant.
    values = np.array([0.8, 0.8, 0.8 + 3.0 * np.sqrt(0.8) * 0.01, 0.5, 0.5, 0.5])
    covariance = 1e-4 * (0.6 + 0.4 * np.eye(6))
    p_value = stats.norm.sf(3.0) * 2
    first, second = np.triu_indices(6, 1)
    draws = _draws(covariance)
    within = (first < 3) == (second < 3)
    # Tukey: the largest difference of six models that are alike, and of two times three. 10,000 draws give the level of
    # 5 % to 0.2 %, and so a bound to 5 %; this is within three times that.
    of_six, of_three = tukey(0.95, 6), tukey(np.sqrt(0.95), 3)
    assert p_value < of_six < 0.006 < of_three
    assert _smallest_p_value(draws, first, second, 0.05) == pytest.approx(of_six, rel=0.15)
    assert _smallest_p_value(draws, first[within], second[within], 0.05) == pytest.approx(of_three, rel=0.15)
    values[2] = 0.8 + 2.75 * np.sqrt(0.8) * 0.01  # p = 0.006, between the two
    assert rank_intervals(contest(values, covariance), 0.95, covariance).tied_with_best == ("m2",)


def problem(seed, n_models, n_class=40, k=3, strengths=None):
    rng = np.random.default_rng(seed)
    y_true = np.repeat(np.arange(k), n_class)
    shared = rng.normal(size=(len(y_true), k))
    strengths = np.full(n_models, 1.2) if strengths is None else strengths
    return y_true, {
        f"m{m}": strength * np.eye(k)[y_true] + 0.7 * shared + 0.7 * rng.normal(size=shared.shape)
        for m, strength in enumerate(strengths)
    }


def share_of_compared(n, **options):
    return np.mean(
        [
            covers(quietly(polyroc.compare, *problem(seed, 6), **options).rank_intervals(), np.ones(6))
            for seed in range(n)
        ]
    )


@pytest.mark.slow
def test_equal_models_keep_all_ranks_through_compare():
    assert share_of_compared(15, engine="numpy") >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 15)


@pytest.mark.slow
def test_equal_models_keep_all_ranks_through_compare_in_many_samples():
    assert share_of_compared(300, engine="numpy") >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 300)


def test_compare_separates_strong_models_from_weak_ones():
    y_true, scores = problem(0, 6, n_class=100, strengths=[2.2, 2.2, 1.4, 1.4, 0.6, 0.6])
    comparison = polyroc.compare(y_true, scores)
    found = comparison.rank_intervals()
    assert [(one.low, one.high) for one in found] == [(1, 2)] * 2 + [(3, 4)] * 2 + [(5, 6)] * 2
    assert set(comparison.tied_with_best) == {"m0", "m1"}
    assert comparison.best is None


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "bootstrap", "n_resamples": 49, "rng": 0, "engine": "numpy"}],
    ids=["influence", "bootstrap"],
)
def test_covariance_is_that_of_the_differences(options):
    y_true, scores = problem(3, 4)
    comparison = polyroc.compare(y_true, scores, **options)
    for found in (comparison.by_auc, comparison.by_hand_till):
        place = {one.model: m for m, one in enumerate(found.estimates)}
        for entry in found.differences:
            a, b = place[entry.first], place[entry.second]
            variance = found.covariance[a, a] + found.covariance[b, b] - 2 * found.covariance[a, b]
            assert np.sqrt(variance) == pytest.approx(entry.standard_error, rel=1e-6)
        assert not found.covariance.flags.writeable


def test_the_same_scores_share_all_ranks():
    y_true, scores = problem(1, 1)
    found = polyroc.compare(y_true, dict.fromkeys("abcd", scores["m0"])).rank_intervals()
    assert [(one.low, one.rank, one.high) for one in found] == [(1, 1, 4)] * 4
    assert found.tied_with_best == ("a", "b", "c", "d")


def test_perfect_and_constant_models_are_ranked():
    y_true, scores = problem(1, 1)
    models = {"constant": np.zeros((120, 3)), "perfect": 2 * np.eye(3)[y_true], "usual": scores["m0"]}
    with pytest.warns(polyroc.ResamplingWarning, match="All 99 replicates equal"):
        comparison = polyroc.compare(y_true, models, method="bootstrap", n_resamples=99, rng=0, engine="numpy")
    assert comparison.tied_with_best == ("perfect",)
    assert [(one.low, one.high) for one in comparison.rank_intervals()] == [(3, 3), (1, 1), (2, 2)]


def test_any_number_of_looks_is_paid_for_by_holms_adjustment():
    y_true, scores = problem(2, 6, n_class=100, strengths=[2.2, 2.0, 1.7, 1.4, 1.0, 0.6])
    comparison = polyroc.compare(y_true, scores, anytime=True)
    found = comparison.rank_intervals()
    by_holm = rank_intervals(comparison.by_auc, 0.95, None)
    assert found == by_holm
    # A single look knows more.
    once = polyroc.compare(y_true, scores).rank_intervals()
    assert sum(one.high - one.low for one in once) < sum(one.high - one.low for one in found)


def test_other_statistics_and_levels():
    y_true, scores = problem(2, 5, strengths=[1.6, 1.5, 1.3, 1.0, 0.8])
    comparison = polyroc.compare(y_true, scores)
    by_m = comparison.rank_intervals(statistic="hand_till")
    assert_array_equal([one.value for one in by_m], [one.value for one in comparison.by_hand_till.estimates])
    by_mean = comparison.rank_intervals(statistic="mean_auc")
    assert (by_mean.statistic, by_mean.intervals) == ("mean_auc", by_m.intervals)
    widths = [
        sum(one.high - one.low for one in comparison.rank_intervals(confidence_level=level))
        for level in (0.5, 0.95, 0.999999)
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]
    assert comparison.rank_intervals(confidence_level=0.95) == comparison.rank_intervals()
    with pytest.raises(ValueError, match="`confidence_level` must be"):
        comparison.rank_intervals(confidence_level=1.5)
    with pytest.raises(ValueError, match="`statistic` must be one of"):
        comparison.rank_intervals(statistic="accuracy")


def test_records_as_frames_and_plain_data():
    pytest.importorskip("pandas")
    y_true, scores = problem(2, 4, strengths=[1.9, 1.9, 1.3, 0.4])
    comparison = polyroc.compare(y_true, scores)
    found = comparison.rank_intervals()
    frame = comparison.to_frame("ranks")
    assert list(frame.columns) == ["statistic", "model", "value", "rank", "low", "high"]
    assert frame["statistic"].tolist() == ["auc"] * 4 + ["hand_till"] * 4
    assert found.to_frame().equals(frame[:4])
    record = comparison.to_dict()
    assert record["tied_with_best"] == list(comparison.tied_with_best) == record["auc"]["ranks"]["tied_with_best"]
    assert record["auc"]["ranks"]["intervals"][3] == vars(found.intervals[3])
    assert record["mean_auc"]["ranks"] == record["hand_till"]["ranks"]


def test_printed_comparisons_say_which_models_may_be_the_best():
    y_true, scores = problem(2, 4, n_class=100, strengths=[1.9, 1.9, 1.3, 0.4])
    four = polyroc.compare(y_true, scores)
    assert set(four.tied_with_best) == {"m0", "m1"}
    first, second = four.tied_with_best
    text = " ".join(str(four).split())
    assert f"By D, 2 of 4 models may have rank 1 (95 %, all ranks together): {first} and {second}." in text
    assert "rank by D" in text
    assert "1 to 2" in text
    three = polyroc.compare(y_true, {name: scores[name] for name in ("m0", "m1", "m2")})
    assert "rank" not in str(three)
    equal = polyroc.compare(*problem(0, 8))
    assert "By D, any of the 8 models may have rank 1 (95 %, all ranks together)." in " ".join(str(equal).split())
    many = polyroc.compare(*problem(0, 9, n_class=60, strengths=[1.5] * 8 + [0.2]))
    told = " ".join(many.tables.tie.split())
    assert told.startswith("By D, 8 of 9 models may have rank 1")
    assert told.endswith("and 3 others.")


def test_printed_by_rank():
    ranks = RankIntervals(
        "hand_till", 0.95, (RankInterval("worse\nmodel", 0.8, 2, 2, 3), RankInterval("better", 0.99996, 1, 1, 1))
    )
    assert str(ranks).splitlines()[0] == "model        M        rank  95 % together"
    assert str(ranks).splitlines()[1] == "better       0.99996  1     1"
    assert "2 to 3" in str(ranks).splitlines()[2]
    assert len(str(ranks).splitlines()) == 3
