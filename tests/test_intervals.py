"""Intervals and p values: SciPy's from the same replicates, formulas by hand, and agreement with each other."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import integers, sampled_from
from numpy.testing import assert_allclose
from scipy import stats

from polyroc import Interval, ResamplingWarning
from polyroc._intervals import Distribution, holm, logit_interval

KINDS = ("logit", "percentile", "basic", "bca")


def distribution(estimate, replicates, **rest):
    fields = {"n_independent": 10, "influences": lambda: np.array([-1.0, 0.2, 1.1])}
    return Distribution(estimate, np.asarray(replicates, dtype=float), **(fields | rest))


@pytest.mark.parametrize(("kind", "method"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")])
def test_scipy_finds_the_same_interval(kind, method):
    """The mean of skewed numbers in [0, 1], whose influences are known."""
    rng = np.random.default_rng(0)
    values = rng.beta(0.5, 3, size=40)
    drawn = stats.bootstrap((values,), np.mean, n_resamples=9999, rng=rng, method=method)
    expected = drawn.confidence_interval
    ours = distribution(values.mean(), drawn.bootstrap_distribution, influences=lambda: (values - values.mean()) / 40)
    found = ours.interval(0.95, kind)
    # SciPy counts replicates below the estimate without the half that keeps the share from 0 and 1.
    atol = 1e-3 * drawn.standard_error if kind == "bca" else 1e-12
    assert_allclose(found, [expected.low, expected.high], rtol=0, atol=atol)
    assert ours.standard_error == pytest.approx(drawn.standard_error, rel=1e-12)


def test_logit_interval_by_hand():
    """By the delta method, with Student's t of as many degrees of freedom as the smallest class leaves."""
    replicates = np.array([0.7, 0.8, 0.9])
    reach = stats.t.ppf(0.975, 9) * 0.1 / (0.75 * 0.25)  # the standard deviation of the replicates is 0.1
    ends = np.log(0.75 / 0.25) + np.array([-reach, reach])
    found = distribution(0.75, replicates).interval(0.95, "logit")
    assert_allclose(found, 1 / (1 + np.exp(-ends)), rtol=1e-12)
    many = distribution(0.75, replicates, n_independent=10**9).interval(0.95, "logit")
    assert_allclose(many, 1 / (1 + np.exp(-(np.log(3) + np.array([-1, 1]) * 1.959963984540054 * 0.1 / 0.1875))))
    few = distribution(0.75, replicates, n_independent=1).interval(0.95, "logit")
    assert_allclose(few, distribution(0.75, replicates, n_independent=5).interval(0.95, "logit"))


def test_the_interval_of_rare_errors_is_nearly_that_of_a_count():
    """One wrong sample in a thousand, drawn m times with m of Poisson's distribution: exactly 0.025 to 5.57 errors."""
    errors = np.random.default_rng(0).poisson(1, 20_000)
    low, high = distribution(0.999, 1 - errors / 1000, n_independent=10**6).interval(0.95, "logit")
    exact = stats.gamma.ppf(0.975, 2)
    assert 1000 * (1 - low) == pytest.approx(exact, rel=0.35)
    assert high > 0.9998


def test_an_estimate_nearer_to_the_end_than_its_standard_error():
    """Its logit alone would reach to the other end, or call a clear difference chance."""
    replicates = 1 - np.random.default_rng(0).exponential(0.01, 999)
    found = distribution(1 - 1e-6, replicates, n_independent=1000).interval(0.95, "logit")
    assert found.low == pytest.approx(1 - 1.96 * np.std(replicates), abs=2e-4)
    assert found.high == 1
    assert distribution(1 - 1e-6, replicates, n_independent=1000, lowest=-1.0).p_value("logit") < 1e-10


@given(integers(0, 2**32 - 1), sampled_from(KINDS))
@example(656058588, "bca")
def test_a_difference_is_significant_where_its_interval_leaves_zero_out(seed, kind):
    rng = np.random.default_rng(seed)
    replicates = np.clip(rng.normal(rng.normal(0, 0.05), 0.04, size=501), -1, 1)
    difference = distribution(float(np.mean(replicates)) + rng.normal(0, 0.01), replicates, lowest=-1.0)
    p_value = difference.p_value(kind)
    assert 0 < p_value <= 1
    # A step of the replicates to either side, since quantiles are interpolated and shares are counted.
    slack = 0.0 if kind == "logit" else 4 / 501
    if kind == "bca":
        # Which bends shares: as far as it bends those steps.
        place = np.searchsorted(np.sort(replicates), 0.0)
        steps = np.sort(replicates)[np.clip([place - 3, place + 2], 0, 500)]
        moved = [distribution(difference.estimate - s, replicates - s, lowest=-1.0).p_value(kind) for s in steps]
        slack = max(abs(p_value - p) for p in moved)
    for level in (1 - (p_value + slack) - 1e-9, 1 - max(p_value - slack, 0) + 1e-9):
        if not 0 < level < 1:
            continue
        low, high = difference.interval(level, kind)
        inside = low <= 0 <= high
        assert inside == (level > 1 - p_value)


def test_p_value_of_a_clear_difference_is_bounded_by_the_number_of_resamples():
    replicates = np.linspace(0.2, 0.3, 99)
    for kind in ("percentile", "basic"):
        assert distribution(0.25, replicates, lowest=-1.0).p_value(kind) == pytest.approx(0.02)
    assert distribution(0.25, replicates, lowest=-1.0).p_value("logit") < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_stay_in_range_and_hold_the_estimate(kind):
    replicates = np.r_[np.linspace(0.9, 1, 200), 0.2]
    low, high = distribution(0.97, replicates).interval(0.999, kind)
    assert 0 <= low < 0.97 < high <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_highest_levels_give_numbers(kind):
    low, high = distribution(0.7, np.linspace(0.6, 0.8, 99)).interval(float(np.nextafter(1, 0)), kind)
    assert 0 <= low < 0.7 < high <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_perfect_samples_have_the_interval_of_clopper_and_pearson(kind):
    expected = stats.binomtest(10, 10).proportion_ci(0.95)
    with pytest.warns(ResamplingWarning, match="All 99 replicates are the same, 1; .* 10 tuples"):
        found = distribution(1.0, np.ones(99), at_end=True).interval(0.95, kind)
    assert_allclose(found, expected, rtol=1e-9)
    with pytest.warns(ResamplingWarning, match="are the same, 0;"):
        found = distribution(0.0, np.zeros(99), at_end=True).interval(0.95, kind)
    assert_allclose(found, stats.binomtest(0, 10).proportion_ci(0.95), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_that_never_varies_is_a_point(kind):
    with pytest.warns(ResamplingWarning, match=r"are the same, 0.5: resampling cannot say"):
        assert distribution(0.5, np.full(9, 0.5)).interval(0.95, kind) == Interval(0.5, 0.5)
    # Replicates that agree with each other but not with the sample do not vary either.
    with pytest.warns(ResamplingWarning, match=r"are the same, 0.6: resampling cannot say"):
        assert distribution(0.5, np.full(9, 0.6)).interval(0.95, kind) == Interval(0.5, 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_difference_that_never_varies_says_nothing(kind):
    same = distribution(0.0, np.zeros(99), lowest=-1.0)
    assert same.interval(0.95, kind) == Interval(0.0, 0.0)
    assert same.p_value(kind) == 1
    assert distribution(0.5, np.full(99, 0.5), lowest=-1.0).p_value(kind) == 1


def test_interval_from_a_standard_error():
    low, high = logit_interval(0.8, 0.02, 0.95)
    reach = 1.959963984540054 * 0.02 / 0.16
    assert_allclose([np.log(low / (1 - low)), np.log(high / (1 - high))], np.log(4) + np.array([-reach, reach]))
    assert logit_interval(0.8, 0.0, 0.95) == pytest.approx((0.8, 0.8))


def test_holm_is_the_closed_test_of_bonferroni():
    """A hypothesis is rejected if Bonferroni rejects every intersection that it belongs to."""
    p_values = np.array([0.004, 0.03, 0.011, 0.6, 0.011])
    expected = []
    for one in range(5):
        families = [s for size in range(1, 6) for s in itertools.combinations(range(5), size) if one in s]
        expected.append(max(min(1.0, len(s) * min(p_values[list(s)])) for s in families))
    assert_allclose(holm(p_values), expected)
    assert holm(np.array([0.2])).tolist() == [0.2]
