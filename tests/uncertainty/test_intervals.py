"""Intervals and p values: SciPy's from the same replicates, formulas by hand, and agreement with each other."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose
from scipy import stats

import polyroc
from polyroc import Interval, ResamplingWarning
from polyroc._uncertainty.bootstrap import rare_class
from polyroc._uncertainty.delong import freedom
from polyroc._uncertainty.intervals import Distribution, Reach, logit_ends, rare_error, unseen_error
from polyroc._uncertainty.p_values import holm
from polyroc._uncertainty.paired import difference_of
from polyroc._uncertainty.units import Units

KINDS = ("logit", "percentile", "basic", "bca")


def distribution(estimate, replicates, **rest):
    fields = {"n_independent": 10, "n_classes": 3, "freedom": 50.0, "unshrunk": None}
    fields["influences"] = np.array([-1.0, 0.2, 1.1])
    return Distribution(estimate, np.asarray(replicates, dtype=float), **(fields | rest))


def difference_like(estimate, replicates):
    """A difference without bias and shrinkage."""
    return distribution(estimate, replicates, between=(estimate, float(np.std(replicates, ddof=1))))


@pytest.mark.parametrize(("kind", "method"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")])
def test_scipy_finds_the_same_interval(kind, method):
    """The mean of skewed numbers in [0, 1], whose influences are known."""
    rng = np.random.default_rng(0)
    values = rng.beta(0.5, 3, size=40)
    drawn = stats.bootstrap((values,), np.mean, n_resamples=9999, rng=rng, method=method)
    expected = drawn.confidence_interval
    ours = distribution(values.mean(), drawn.bootstrap_distribution, influences=(values - values.mean()) / 40)
    found = ours.interval(0.95, kind)
    # SciPy counts replicates below the estimate without the half that keeps the share from 0 and 1.
    atol = 1e-3 * drawn.standard_error if kind == "bca" else 1e-12
    assert_allclose(found, [expected.low, expected.high], rtol=0, atol=atol)
    assert ours.standard_error == pytest.approx(drawn.standard_error, rel=1e-12)


def test_logit_interval_by_hand():
    """Delta method; Student's t counts by the room above, one unseen error by the room below."""
    replicates = np.array([0.7, 0.8, 0.9])  # with standard deviation 0.1
    normal, student = 1.959963984540054, stats.t.ppf(0.975, 7)
    spread, unseen = 0.1 / (0.75 * 0.25), 0.5 / (3 * 40)
    below, above = np.hypot(spread, unseen / 0.25), np.hypot(spread, unseen / 0.75)
    expected = np.log(3) + np.array(
        [-(normal + 0.25 * (student - normal)) * below, (normal + 0.75 * (student - normal)) * above]
    )
    found = distribution(0.75, replicates, n_independent=40, freedom=7.0).interval(0.95, "logit")
    assert_allclose(found, 1 / (1 + np.exp(-expected)), rtol=1e-12)
    # With samples without end nothing is unseen, and Student's t is the normal.
    many = distribution(0.75, replicates, n_independent=10**12, freedom=np.inf).interval(0.95, "logit")
    assert_allclose(many, 1 / (1 + np.exp(-(np.log(3) + np.array([-1, 1]) * normal * spread))), rtol=1e-9)
    # With hardly any, an unseen error counts 0.9 of what was seen.
    few = distribution(0.75, replicates, n_independent=1, freedom=np.inf).interval(0.95, "logit")
    assert np.log(few.low / (1 - few.low)) == pytest.approx(np.log(3) - normal * np.hypot(spread, 0.9 * spread))


def test_the_interval_of_a_biased_area_by_hand():
    """The centre moves by what the replicates show; the fit without shrinkage adds to the spread."""
    replicates = np.array([0.94, 0.95, 0.96])  # with mean 0.95 and standard deviation 0.01
    biased = distribution(0.93, replicates, n_independent=10**12, freedom=np.inf, unshrunk=0.94)
    logit = lambda p: np.log(p / (1 - p))  # noqa: E731, as in the formula
    centre = 2 * logit(0.93) - logit(0.95)
    reach = 1.959963984540054 * np.hypot(0.01 / (0.95 * 0.05), logit(0.94) - logit(0.93))
    assert_allclose([logit(x) for x in biased.interval(0.95, "logit")], [centre - reach, centre + reach], rtol=1e-9)
    # A fit without shrinkage that ran away says no more than that it did.
    away = distribution(0.93, replicates, n_independent=10**12, freedom=np.inf, unshrunk=1.0).interval(0.95, "logit")
    assert logit(away.low) == pytest.approx(centre - 1.959963984540054 * np.hypot(0.01 / (0.95 * 0.05), 2))


@given(integers(0, 2**32 - 1))
def test_the_interval_of_negated_scores_is_the_mirror_image(seed):
    rng = np.random.default_rng(seed)
    replicates = rng.beta(8, 1 + 3 * rng.random(), size=50)
    fields = {
        "unshrunk": rng.random(),
        "n_independent": int(rng.integers(1, 100)),
        "freedom": float(rng.uniform(2, 50)),
    }
    found = distribution(0.8, replicates, **fields).interval(0.9, "logit")
    mirrored = distribution(1 - 0.8, 1 - replicates, **(fields | {"unshrunk": 1 - fields["unshrunk"]}))
    assert_allclose(mirrored.interval(0.9, "logit"), [1 - found.high, 1 - found.low], atol=1e-12)


def test_a_difference_begins_where_the_intervals_of_the_two_begin():
    """Each less its own bias with its spread there, correlated as the replicates are; then Student's t."""
    first = distribution(0.95, [0.95, 0.96, 0.98], unshrunk=0.955)
    second = distribution(0.90, [0.89, 0.93, 0.92], unshrunk=0.902)
    place = np.log([0.95 / 0.05, 0.90 / 0.10])
    mean = np.array([np.mean(first.replicates), np.mean(second.replicates)])
    a, b = 1 / (1 + np.exp(-(2 * place - np.log(mean / (1 - mean)))))
    sd = np.array([np.std(first.replicates, ddof=1), np.std(second.replicates, ddof=1)])
    error_a, error_b = sd / (mean * (1 - mean)) * np.array([a * (1 - a), b * (1 - b)])
    correlation = np.corrcoef(first.replicates, second.replicates)[0, 1]
    variance = error_a**2 + error_b**2 - 2 * correlation * error_a * error_b + (0.053 - 0.05) ** 2
    apart = difference_of(first, second, 7.0)
    reach = stats.t.ppf(0.975, 7) * np.sqrt(variance)
    assert_allclose(apart.interval(0.95, "logit"), [a - b - reach, a - b + reach], rtol=1e-9)
    assert apart.p_value("logit") == pytest.approx(2 * stats.t.sf((a - b) / np.sqrt(variance), 7))


def test_a_difference_varies_at_least_as_much_as_its_replicates():
    """Of M, which has no bias, that is the standard error; and next to a model without any error."""
    rng = np.random.default_rng(0)
    first, second = (distribution(x, x + rng.normal(0, 0.01, 99)) for x in (0.8, 0.7))
    error = np.std(first.replicates - second.replicates, ddof=1)
    assert_allclose(difference_of(first, second, np.inf).between, (0.1, error), rtol=1e-9)
    perfect = distribution(1.0, np.ones(99), unshrunk=1.0, at_end=True)
    apart = difference_of(perfect, distribution(0.8, first.replicates, unshrunk=0.8), np.inf)
    assert apart.between[1] >= np.std(first.replicates, ddof=1)
    assert np.isfinite(apart.interval(0.95, "logit")).all()


def test_degrees_of_freedom_are_those_of_normal_samples_by_hand():
    """Normal samples in strata of 30 and 20: Welch and Satterthwaite's, from SciPy, but for the fourth moments."""
    rng = np.random.default_rng(0)
    found, expected = [], []
    for _ in range(200):
        first, second = rng.normal(size=30), 2 * rng.normal(size=20)
        units = Units(np.arange(50), np.repeat([0, 1], [30, 20]), are_groups=False)
        found.append(freedom(np.r_[first / 30, second / 20], units))
        expected.append(stats.ttest_ind(first, second, equal_var=False).df)
    # Fourth moments of few samples are small: the floor of normal samples holds, and they only take away.
    assert np.all(np.array(found) <= np.array(expected) + 1e-9)
    assert np.median(found) == pytest.approx(np.median(expected), rel=0.25)


def test_few_samples_that_carry_the_variance_leave_few_degrees_of_freedom():
    """Of 1,000 samples three are wrong: as for a variance that rests on about so many counts."""
    influences = np.zeros(1000)
    influences[:3] = 1.0
    units = Units(np.arange(1000), np.zeros(1000, dtype=int), are_groups=False)
    # Poisson with mean m: s^2 = m, m_4 = m + 3 m^2, so the variance of s^2 is nearly m / n and 2 s^4 / (m / n) = 2 m n.
    assert freedom((influences - influences.mean()) / 1000, units) == pytest.approx(6, rel=0.02)
    influences[1:3] = 0.0
    assert freedom((influences - influences.mean()) / 1000, units) == pytest.approx(2, rel=0.02)
    assert freedom(np.zeros(1000), units) == 2


def test_what_an_unseen_error_costs():
    """A sample of a class of 20, one of four classes, beaten by a quarter of all it is compared with: by loops."""
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(4), 20)
    perfect = np.where(y_true[:, None] == np.arange(4), 1.0, 0.0) + rng.normal(scale=1e-3, size=(80, 4))
    worse = perfect.copy()
    # Its own column falls among a quarter of the others; in theirs it rises above a quarter of their samples.
    for column in range(4):
        rivals = perfect[y_true != 0, column] if column == 0 else perfect[y_true == column, column]
        share = 0.75 if column == 0 else 0.25
        worse[0, column] = np.quantile(rivals, share, method="inverted_cdf") + 1e-12
    lost = polyroc.baselines.hand_till(y_true, perfect) - polyroc.baselines.hand_till(y_true, worse)
    assert lost == pytest.approx(unseen_error(4, 20), rel=0.05)


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
    assert found.high > 1 - 1e-6


@given(integers(0, 2**32 - 1), sampled_from(KINDS))
@example(656058588, "bca")
def test_a_difference_is_significant_where_its_interval_leaves_zero_out(seed, kind):
    rng = np.random.default_rng(seed)
    replicates = np.clip(rng.normal(rng.normal(0, 0.05), 0.04, size=501), -1, 1)
    difference = difference_like(float(np.mean(replicates)) + rng.normal(0, 0.01), replicates)
    p_value = difference.p_value(kind)
    assert 0 < p_value <= 1
    # A step of the replicates to either side, since quantiles are interpolated and shares are counted.
    slack = 0.0 if kind == "logit" else 4 / 501
    if kind == "bca":
        # Which bends shares: as far as it bends those steps.
        place = np.searchsorted(np.sort(replicates), 0.0)
        steps = np.sort(replicates)[np.clip([place - 3, place + 2], 0, 500)]
        moved = [difference_like(difference.estimate - s, replicates - s).p_value(kind) for s in steps]
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
        assert difference_like(0.25, replicates).p_value(kind) == pytest.approx(0.02)
    assert difference_like(0.25, replicates).p_value("logit") < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_stay_in_range_and_hold_the_estimate(kind):
    replicates = np.r_[np.linspace(0.9, 1, 200), 0.2]
    low, high = distribution(0.97, replicates).interval(0.999, kind)
    assert 0 <= low < 0.97 < high <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_interval_never_ends_before_it_begins(kind):
    """Replicates so far from the estimate that reflected at it they lie beyond what the statistic can be."""
    for estimate, replicates in ((0.99, np.linspace(0.9, 0.97, 99)), (0.01, np.linspace(0.03, 0.1, 99))):
        low, high = distribution(estimate, replicates).interval(0.9, kind)
        assert 0 <= low <= high <= 1
        if kind == "basic":
            assert low == high == round(estimate)


@pytest.mark.parametrize("kind", KINDS)
def test_the_highest_levels_give_numbers(kind):
    low, high = distribution(0.7, np.linspace(0.6, 0.8, 99)).interval(float(np.nextafter(1, 0)), kind)
    assert 0 <= low < 0.7 < high <= 1


def test_a_perfect_class_of_one_sample_is_one_sample():
    one = replace(distribution(1.0, np.ones(99), at_end=True), n_independent=1)
    assert one.doubt.endswith("for the smallest class (1 sample).")


@pytest.mark.parametrize("kind", KINDS)
def test_perfect_samples_have_the_interval_of_clopper_and_pearson(kind):
    expected = stats.binomtest(10, 10).proportion_ci(0.95)
    with pytest.warns(
        ResamplingWarning,
        match=r"All 99 replicates equal 1, .* Clopper-Pearson's for the smallest class \(10 samples\)",
    ):
        found = distribution(1.0, np.ones(99), at_end=True).interval(0.95, kind)
    assert_allclose(found, expected, rtol=1e-9)
    with pytest.warns(ResamplingWarning, match="equal 0, so they carry no information"):
        found = distribution(0.0, np.zeros(99), at_end=True).interval(0.95, kind)
    assert_allclose(found, stats.binomtest(0, 10).proportion_ci(0.95), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_that_never_varies_is_a_point(kind):
    with pytest.warns(ResamplingWarning, match="equal 0.5, so they say nothing"):
        assert distribution(0.5, np.full(9, 0.5)).interval(0.95, kind) == Interval(0.5, 0.5)
    # Replicates that agree with each other but not with the sample do not vary either.
    with pytest.warns(ResamplingWarning, match="equal 0.6, so they say nothing"):
        assert distribution(0.5, np.full(9, 0.6)).interval(0.95, kind) == Interval(0.5, 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_difference_that_never_varies_says_nothing(kind):
    same = difference_like(0.0, np.zeros(99))
    assert same.interval(0.95, kind) == Interval(0.0, 0.0)
    assert same.p_value(kind) == 1
    assert difference_like(0.5, np.full(99, 0.5)).p_value(kind) == 1


def test_interval_from_a_standard_error():
    reach = Reach.of(0.95, np.inf, unseen=0.0)
    low, high = logit_ends(0.8, 0.02, reach)
    length = 1.959963984540054 * 0.02 / 0.16
    assert_allclose([np.log(low / (1 - low)), np.log(high / (1 - high))], np.log(4) + np.array([-length, length]))
    assert_allclose(logit_ends(0.8, 0.0, reach), (0.8, 0.8))


@pytest.mark.parametrize("count", [1, 3, 8, 30])
def test_rare_errors_have_the_interval_of_garwood(count):
    """Equal errors and one more of them: Fay and Feuer's interval is the exact one of a Poisson count."""
    missing = 0.002
    reach = Reach.of(0.95, np.inf, 0.0, rare=missing / count)
    low, _ = logit_ends(1 - missing, missing * (1 - missing) / np.sqrt(count), reach)
    exact = stats.chi2.ppf(0.975, 2 * (count + 1)) / 2 / count
    normal = 1.959963984540054 / np.sqrt(count)
    # Of the two it is the longer one, as far as the area is near 1.
    expected = normal + (1 - missing) * max(np.log(exact) - normal, 0.0)
    assert np.log((1 - low) / low) == pytest.approx(np.log(missing / (1 - missing)) + expected, rel=1e-9)


@given(floats(0.01, 0.999), floats(1e-4, 0.05), floats(2, 100), floats(1e-5, 0.05))
def test_an_unseen_error_moves_the_ends_outwards_and_from_either_end_alike(estimate, error, few, rare):
    without, allowed = Reach.of(0.95, few, rare / 2), Reach.of(0.95, few, rare / 2, rare)
    low, high = logit_ends(estimate, error, allowed)
    shorter = logit_ends(estimate, error, without)
    assert low <= shorter[0] + 1e-15
    assert high >= shorter[1] - 1e-15
    assert_allclose(logit_ends(1 - estimate, error, allowed), [1 - high, 1 - low], atol=1e-12)


def test_the_class_of_a_rare_error_is_the_root_mean_square_of_what_it_costs():
    y_true = np.repeat([0, 1, 2], [10, 40, 100])
    y_score = np.random.default_rng(0).normal(size=(150, 3)) + np.eye(3)[y_true]
    evaluation = polyroc.evaluate(y_true, y_score)
    costs = [0.15 * 2 / (3 * n) for n in (10, 40, 100)]
    expected = np.sqrt(sum(cost**2 for cost in costs) / 3)
    found = rare_class(evaluation.fitted.source, evaluation.uncertainty.units())
    assert rare_error(3, found) == pytest.approx(expected, rel=1e-12)
    # Ten groups of each class count as ten samples, and samples of very unequal weights as fewer.
    groups = np.concatenate([np.arange(n) % 10 for n in (10, 40, 100)]) + 10 * y_true
    assert rare_class(evaluation.fitted.source, evaluation.uncertainty.units(groups)) == pytest.approx(10)
    weight = np.where(np.arange(150) % 10 == 0, 1.0, 1e-9)
    weighted = polyroc.evaluate(y_true, y_score, sample_weight=weight)
    expected = 1 / np.sqrt(np.mean([1.0, 4.0**-2, 10.0**-2]))
    assert rare_class(weighted.fitted.source, weighted.uncertainty.units()) == pytest.approx(expected, rel=1e-6)


def test_holm_is_the_closed_test_of_bonferroni():
    """A hypothesis is rejected if Bonferroni rejects every intersection that it belongs to."""
    p_values = np.array([0.004, 0.03, 0.011, 0.6, 0.011])
    expected = []
    for one in range(5):
        families = [s for size in range(1, 6) for s in itertools.combinations(range(5), size) if one in s]
        expected.append(max(min(1.0, len(s) * min(p_values[list(s)])) for s in families))
    assert_allclose(holm(p_values), expected)
    assert holm(np.array([0.2])).tolist() == [0.2]
