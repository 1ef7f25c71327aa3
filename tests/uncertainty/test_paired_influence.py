"""Differences without resampling: against paired resamples, the ordinary t test, and integrals of the mixture."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import quietly
from scipy import integrate, stats

import polyroc
from polyroc._uncertainty.p_values import Anytime, Once
from polyroc._uncertainty.paired_influence import difference


def example(**options):
    found = polyroc.load_example()
    return polyroc.compare(found.y_true, found.scores, **options)


@pytest.fixture(scope="module")
def by_influence():
    return example()


@pytest.fixture(scope="module")
def by_resamples():
    return example(method="bootstrap", n_resamples=999, rng=0)


def contests(comparison):
    return comparison.by_auc, comparison.by_hand_till


def test_auto_says_which_it_was(by_influence, by_resamples):
    assert by_influence.method == "influence"
    assert by_influence.n_resamples == 0
    assert len(by_influence.bootstraps) == 0
    assert by_resamples.method == "bootstrap"
    assert by_influence.to_dict()["method"] == "influence"


def test_differences_are_those_of_paired_resamples(by_influence, by_resamples):
    """999 resamples know a standard error to 2.2 %; three of those, and 3 % for what is not linear."""
    for found, expected in zip(contests(by_influence), contests(by_resamples), strict=True):
        for one, other in zip(found.differences, expected.differences, strict=True):
            assert one.value == other.value
            assert one.standard_error == pytest.approx(other.standard_error, rel=0.1)
        for one, other in zip(found.estimates, expected.estimates, strict=True):
            assert one.standard_error == pytest.approx(other.standard_error, rel=0.1)
            width = other.high - other.low
            assert abs(one.low - other.low) < 0.1 * width
            assert abs(one.high - other.high) < 0.1 * width


def test_rankings_come_from_the_joint_distribution():
    """Three models of nearly equal strength: shares of orders against those of 1,999 resamples."""
    rng = np.random.default_rng(3)
    y_true = np.repeat(np.arange(4), 60)
    shared = rng.normal(size=(240, 4)) + 1.2 * np.eye(4)[y_true]
    scores = {name: shared + 0.7 * rng.normal(size=(240, 4)) for name in "abc"}
    found, expected = (
        polyroc.compare(y_true, scores),
        polyroc.compare(y_true, scores, method="bootstrap", n_resamples=1999, rng=0),
    )
    for one, other in zip(contests(found), contests(expected), strict=True):
        shares = {ranking.order: ranking.probability for ranking in other.rankings}
        for ranking in one.rankings:
            assert ranking.probability == pytest.approx(shares.get(ranking.order, 0.0), abs=0.05)
        best = [[entry.probability_best for entry in contest.estimates] for contest in (one, other)]
        assert_allclose(*best, atol=0.05)


def test_the_same_scores_do_not_differ():
    found = polyroc.load_example()
    tree = found.scores["tree"]
    comparison = polyroc.compare(found.y_true, {"a": tree, "b": tree.copy()})
    for contest in contests(comparison):
        [one] = contest.differences
        assert (one.value, one.low, one.high, one.p_value) == (0.0, 0.0, 0.0, 1.0)
        [ranking] = contest.rankings
        assert ranking.order == (("a", "b"),)


def test_perfect_models_are_compared_by_their_intervals():
    y_true = np.repeat([0, 1, 2], 20)
    perfect = np.eye(3)[y_true]
    comparison = quietly(polyroc.compare, y_true, {"a": perfect, "b": 0.9 * perfect + 0.1 / 3})
    [one] = comparison.by_auc.differences
    assert one.value == 0
    assert one.low < 0 < one.high
    assert one.p_value == 1


@pytest.mark.slow
def test_groups_and_weights_reach_the_influences():
    found = polyroc.load_example()
    groups = np.arange(len(found.y_true)) // 3
    weight = np.random.default_rng(0).uniform(0.5, 2, len(found.y_true))
    asked = {"groups": groups, "sample_weight": weight}
    comparison, expected = example(**asked), example(**asked, method="bootstrap", n_resamples=399, rng=0)
    assert comparison.units.are_groups
    for one, other in zip(comparison.by_auc.differences, expected.by_auc.differences, strict=True):
        assert one.standard_error == pytest.approx(other.standard_error, rel=0.15)


@pytest.mark.slow
def test_auto_resamples_what_influences_do_not_hold_for():
    drawn = quietly(example, structure="centered", n_thresholds=9)
    assert (drawn.method, drawn.n_resamples, drawn.seed) == ("bootstrap", 999, 0)


def test_what_does_not_hold_is_refused():
    found = polyroc.load_example()
    with pytest.raises(
        polyroc.InputError, match=r"`method` must be 'bootstrap' where .* 'logistic', where the centered"
    ):
        polyroc.compare(found.y_true, found.scores, method="influence", structure="centered")
    with pytest.raises(polyroc.InputError, match=r"`interval` needs a method that draws.*method='influence' does not"):
        polyroc.compare(found.y_true, found.scores, method="influence", interval="bca")
    with pytest.raises(polyroc.InputError, match="`anytime` must be False for method='bootstrap'"):
        polyroc.compare(found.y_true, found.scores, method="bootstrap", anytime=True)
    for wrong in ("yes", 1, -3, 2.5, None):
        with pytest.raises(polyroc.InputError, match="`anytime` must be True, False or a number of samples"):
            polyroc.compare(found.y_true, found.scores, anytime=wrong)


def test_words_say_that_nothing_was_resampled(by_influence):
    text = str(by_influence)
    assert "Influences of the samples, no resampling, 95 % logit intervals" in text
    assert "order, share of draws" in text
    assert "resamples" not in text
    assert "paired resample" not in repr(by_influence)


def test_a_sequence_says_so_and_is_wider(by_influence):
    sequence = example(anytime=2000)
    assert sequence.anytime == 2000
    assert "Differences hold at any number of looks" in str(sequence)
    assert "tightest near 2,000 samples" in str(sequence)
    for one, other in zip(sequence.by_auc.differences, by_influence.by_auc.differences, strict=True):
        assert one.low < other.low < other.high < one.high
        assert one.p_value > other.p_value
        # The estimates are for a single look: only differences are tested again and again.
    assert sequence.by_auc.estimates == by_influence.by_auc.estimates


def two_models(seed=0, n=30):
    """A strong model and a noisier copy of it: D's and M's spreads of both."""
    rng = np.random.default_rng(seed)
    y_true = np.repeat(np.arange(4), n)
    first = rng.normal(size=(4 * n, 4)) + 3 * np.eye(4)[y_true]
    both = [polyroc.evaluate(y_true, one) for one in (first, 0.7 * first + rng.normal(size=first.shape))]
    return [
        [one.uncertainty.spread(statistic, both[0].uncertainty.units()) for one in both]
        for statistic in ("auc", "hand_till")
    ]


def ends_by_loops(first, second, tail):
    """Both ends of a difference, sample by sample, with chi-squared quantiles as Fay and Feuer print them."""
    total, squares, largest = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    variance, normal, few = 0.0, 0.0, 0.0
    for c in np.unique(first.units.stratum):
        apart = (first.influences - second.influences)[first.units.stratum == c]
        n, apart = len(apart), apart - apart.mean()
        for x in apart:
            side = 0 if x > 0 else 1
            total[side] += abs(x)
            squares[side] += x * x
            largest[side] = max(largest[side], abs(x))
        own = np.var(apart, ddof=1) * n
        fourth = np.mean((n * apart) ** 4)
        variance += own
        spread = 2 * own**2 / (n - 1)
        normal += spread
        few += max((fourth - (n - 3) / (n - 1) * (n * own) ** 2) / n**3, spread)
    freedom, normal_freedom = max(2.0, 2 * variance**2 / few), 2 * variance**2 / normal
    (a, error_a), (b, error_b) = first.corrected(), second.corrected()
    plain = [first.standard_error, second.standard_error]
    common = (plain[0] ** 2 + plain[1] ** 2 - variance) / 2 * error_a / plain[0] * error_b / plain[1]
    error = max(error_a**2 + error_b**2 - 2 * common, variance) ** 0.5
    if first.unshrunk is not None:
        error = math.hypot(error, first.unshrunk - second.unshrunk - (first.estimate - second.estimate))
    # Towards 0, so for the test, degrees of freedom as of normal units.
    near, far = (stats.t.isf(tail, one) * error for one in (normal_freedom, freedom))
    tail = stats.norm.sf(stats.t.isf(tail, normal_freedom))
    low, high = [], []
    for side in (0, 1):
        y, v = total[side], squares[side]
        w = max(0.5 * math.sqrt(1 - freedom / normal_freedom) * largest[side], 0.15 / 2 * 2 / (4 * 30))
        low.append(v / (2 * y) * stats.chi2.ppf(tail, 2 * y**2 / v))
        high.append((v + w**2) / (2 * (y + w)) * stats.chi2.isf(tail, 2 * (y + w) ** 2 / (v + w**2)))
    scale = error / variance**0.5
    below = scale * math.hypot(total[0] - low[0], high[1] - total[1])
    above = scale * math.hypot(high[0] - total[0], total[1] - low[1])
    return a - b - (max(far, below) if a < b else near), a - b + (max(far, above) if a > b else near)


@pytest.mark.parametrize("seed", range(3))
def test_a_difference_reaches_as_far_from_0_as_two_gamma_intervals_joined(seed):
    for first, second in two_models(seed):
        for one, other in ((first, second), (second, first)):
            ends = difference(one, other, 0.9, Once())[2]
            assert_allclose(ends, ends_by_loops(one, other, 0.05), rtol=1e-8, atol=1e-12)


def test_the_p_value_is_where_the_interval_reaches_0():
    for first, second in two_models(4, n=12):
        p_value = difference(first, second, 0.95, Once())[3]
        assert 1e-6 < p_value < 1
        assert difference(first, second, 1 - p_value, Once())[2].low == pytest.approx(0, abs=1e-9)


def test_a_difference_turned_round_is_the_same():
    for first, second in two_models(5):
        value, error, ends, p_value = difference(first, second, 0.95, Once())
        turned = difference(second, first, 0.95, Once())
        assert turned[0] == -value
        assert turned[1] == pytest.approx(error)
        assert_allclose(turned[2], [-ends.high, -ends.low], rtol=1e-9)
        assert turned[3] == pytest.approx(p_value)


def test_the_side_away_from_0_is_the_longer_one_of_a_noisier_copy():
    """Errors are few, and those of the copy the more: a sample without one of them understates the gap."""
    for first, second in two_models(6):
        _, _, (low, high), _ = difference(first, second, 0.95, Once())
        centre = first.corrected()[0] - second.corrected()[0]
        assert centre > 0
        assert high - centre > 1.05 * (centre - low)


@pytest.mark.parametrize("n", [50, 1000, 20_000])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_reach_of_a_sequence_solves_the_mixture(n, level):
    """Robbins: the integral of exp(z t sqrt(v) - v t^2 / 2) over t ~ N(0, 1) reaches 1 / alpha there, v = m."""
    sequence = Anytime(n, 1000)
    reach, mixed = sequence.reach(level, 1e9), sequence._mixed(1 - level)
    grown, _ = integrate.quad(
        lambda t: math.exp(reach * t * math.sqrt(mixed) - mixed * t**2 / 2) * stats.norm.pdf(t), -40, 40, limit=400
    )
    assert grown == pytest.approx(1 / (1 - level), rel=1e-6)


def test_the_p_value_of_a_sequence_is_where_its_interval_ends():
    sequence = Anytime(700, 1000)
    # Tuned for 0.05, so there and only there interval and p value are the same test.
    assert sequence.p_value(sequence.reach(0.95, 1e9), 1e9) == pytest.approx(0.05, rel=1e-6)
    assert sequence.p_value(0.0, 1e9) == 1.0
    assert sequence.p_value(50.0, 1e9) < 1e-100


def test_a_single_look_is_students():
    assert Once().reach(0.95, 7) == pytest.approx(stats.t.ppf(0.975, 7))
    assert Once().p_value(2.1, 7) == pytest.approx(2 * stats.t.sf(2.1, 7))


def test_a_sequence_is_tightest_where_it_was_planned():
    """Compared with sequences that were planned for half and for twice as many samples."""
    at = 1000
    reaches = {planned: Anytime(at, planned).reach(0.95, 1e9) for planned in (500, 1000, 2000)}
    assert reaches[1000] < min(reaches[500], reaches[2000])


def test_few_samples_that_carry_the_variance_are_warned_of():
    """One gross error in three well separated classes decides alone how sure D is."""
    y_true = np.repeat([0, 1, 2], 20)
    noise = np.random.default_rng(0).normal(size=(2, 60, 3))
    scores = {name: 6 * np.eye(3)[y_true] + noise[place] for place, name in enumerate("ab")}
    scores["a"][0] = [-5, 9, 0]
    scores["b"][0] = [-4, 8, 0]
    with pytest.warns(polyroc.ResamplingWarning, match="errors of very few samples decide"):
        found = polyroc.compare(y_true, scores)
    assert found.method == "influence"
