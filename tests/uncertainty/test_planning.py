"""What a pilot foretells, reached by loops, by simulation, and by the intervals of the pilot itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyroc
from polyroc._uncertainty.delong import Moments, freedom, standard_error
from polyroc._uncertainty.p_values import Once
from polyroc._uncertainty.paired_influence import difference
from polyroc._uncertainty.sizes import AreaForecast, PlanGoal, assured, sizes_at, smallest_total, whole_sizes
from polyroc._uncertainty.units import Units, units_of


def sample(counts, strengths, rng, noise=1.0):
    """Labels and scores of samples whose own column is raised."""
    y_true = np.repeat(np.arange(len(counts)), counts)
    y_score = noise * rng.normal(size=(len(y_true), len(counts)))
    y_score[np.arange(len(y_true)), y_true] += np.asarray(strengths)[y_true]
    # Of two classes one score, as the library wants it.
    return y_true, y_score[:, 1] - y_score[:, 0] if len(counts) == 2 else y_score


def half_width_of(y_true, y_score, statistic="auc"):
    low, high = polyroc.evaluate(y_true, y_score).confidence_interval(method="influence", statistic=statistic)
    return (high - low) / 2


def test_moments_are_those_of_the_formula_class_by_class():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [5, 9, 40])
    influences = rng.standard_t(5, size=len(codes))
    units = Units(np.arange(len(codes)), codes, are_groups=False)
    moments = Moments.of(influences, units)
    total = 0.0
    for c, count in enumerate([5, 9, 40]):
        phi = influences[codes == c] - influences[codes == c].mean()
        # influence.md, step 8: sigma_c^2 / n_c = n_c / (n_c - 1) sum of phi^2.
        expected = count * count / (count - 1) * sum(x * x for x in phi)
        assert moments.variance[c] == pytest.approx(expected, rel=1e-12)
        total += expected / count
    assert moments.standard_error([5, 9, 40]) == pytest.approx(np.sqrt(total), rel=1e-12)
    assert standard_error(influences, units) == pytest.approx(np.sqrt(total), rel=1e-12)
    assert freedom(influences, units) == moments.freedom([5, 9, 40])


def test_sigma_of_a_large_sample_is_that_of_the_population():
    """Of two classes with uniform scores on (0, 1) and (d, 1 + d), what one sample wins is known in closed form."""
    rng, shift, n = np.random.default_rng(1), 0.4, 40_000
    y_true = np.repeat([0, 1], n)
    y_score = rng.random(2 * n) + shift * y_true
    sigma = polyroc.plan(polyroc.evaluate(y_true, y_score), half_width=0.01).sigma
    # A positive at shift + u beats min(shift + u, 1) of the negatives, and so for negatives, mirrored.
    u = (np.arange(1_000_000) + 0.5) / 1_000_000
    assert_allclose(sigma, np.std(np.minimum(shift + u, 1)), rtol=0.01)


@pytest.mark.parametrize("statistic", [pytest.param("auc", marks=pytest.mark.slow), "hand_till"])
def test_standard_error_at_other_class_sizes_is_the_spread_of_such_samples(statistic):
    rng, counts, other = np.random.default_rng(2), (900, 600, 300), np.array([60, 90, 120])
    strengths = (0.8, 1.2, 1.6)
    y_true, y_score = sample(counts, strengths, rng)
    evaluation = polyroc.evaluate(y_true, y_score)
    units = units_of(evaluation.fitted.source, None)
    forecast = AreaForecast.of(
        evaluation.uncertainty.spread(statistic, units), evaluation.fitted.source.effective_counts
    )
    drawn = [polyroc.evaluate(*sample(other, strengths, rng)) for _ in range(60)]
    spread = np.std([one.auc if statistic == "auc" else one.hand_till for one in drawn], ddof=1)
    # 60 samples know their spread to 9 %; the pilot knows sigma to a few percent.
    assert forecast.moments.standard_error(other) == pytest.approx(spread, rel=0.25)
    # Another sample of these sizes has about that standard error by its own influences.
    errors = [one.uncertainty.spread(statistic, units_of(one.fitted.source, None)).standard_error for one in drawn]
    assert forecast.moments.standard_error(other) == pytest.approx(np.mean(errors), rel=0.08)


@pytest.mark.parametrize("statistic", ["auc", "hand_till", "mean_auc"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_pilot_itself_is_forecast_exactly(statistic, level):
    rng = np.random.default_rng(3)
    y_true, y_score = sample((50, 40, 35, 30), (1.0, 1.5, 2.0, 1.0), rng)
    weight = rng.integers(1, 3, len(y_true))
    evaluation = polyroc.evaluate(y_true, y_score, sample_weight=weight)
    low, high = evaluation.confidence_interval(level, method="influence", statistic=statistic)
    plan = polyroc.plan(evaluation, half_width=0.03, confidence_level=level, statistic=statistic)
    # The interval counts whole samples of equal weight in the smallest class.
    assert plan.current.half_width == pytest.approx((high - low) / 2, rel=2e-3)
    unweighted = polyroc.evaluate(y_true, y_score)
    low, high = unweighted.confidence_interval(level, method="influence", statistic=statistic)
    plan = polyroc.plan(unweighted, half_width=0.03, confidence_level=level, statistic=statistic)
    assert plan.current.half_width == pytest.approx((high - low) / 2, rel=1e-9)


@pytest.mark.parametrize("statistic", ["auc", "hand_till"])
def test_the_difference_in_the_pilot_is_forecast_exactly(statistic):
    comparison = polyroc.compare(*paired((60, 50, 40), np.random.default_rng(8), 3), method="influence")
    plan = polyroc.plan(comparison, half_width=0.01, statistic=statistic)
    found = comparison.difference("a", "b", statistic=statistic)
    first, second = (one.uncertainty.spread(statistic, comparison.units) for one in comparison.evaluations.values())
    centre = first.corrected()[0] - second.corrected()[0]
    # To the side of 0, at which a test is decided; away from it rare errors may reach further.
    towards = centre - found.low if centre > 0 else found.high - centre
    assert plan.current.half_width == pytest.approx(towards, rel=1e-6)
    # What is detected with power 1/2 or a little more is a difference as large as the half width.
    plan = polyroc.plan(comparison, detect=plan.current.half_width, statistic=statistic, assurance=None)
    assert plan.current.power == pytest.approx(0.5, abs=0.001)


SETTINGS = {
    "two classes": ((200, 100), (0.5, 0.5), "auc", "same", 0.03),
    "three classes, D": ((100, 100, 100), (0.6, 1.0, 1.4), "auc", "equal", 0.025),
    "four classes skewed, M": ((140, 80, 60, 20), (1.0, 1.5, 2.0, 1.5), "hand_till", "optimal", 0.02),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_realised_half_widths_are_those_planned(name):
    counts, strengths, statistic, allocation, half_width = SETTINGS[name]
    rng, realised = np.random.default_rng(4), []
    for _ in range(60):
        pilot = polyroc.evaluate(*sample(counts, strengths, rng))
        options = {"statistic": statistic, "allocation": allocation, "assurance": None}
        plan = polyroc.plan(pilot, half_width=half_width, **options)
        realised.append(half_width_of(*sample(plan.class_counts, strengths, rng), statistic))
    # A pilot knows the half width to some 6 %, so that the mean of 60 has an error of 1 %.
    assert np.mean(realised) == pytest.approx(half_width, rel=0.1)


def paired(counts, rng, n_classes=2):
    """Labels and the scores of two models that share most of their noise; the first is better."""
    y_true = np.repeat(np.arange(n_classes), counts)
    noise = rng.normal(size=(3, len(y_true), n_classes))
    signal = np.eye(n_classes)[y_true]
    return y_true, {
        "a": 0.8 * noise[0] + 0.6 * noise[1] + 1.0 * signal,
        "b": 0.8 * noise[0] + 0.6 * noise[2] + 0.8 * signal,
    }


def test_planned_power_is_the_share_of_samples_that_find_the_difference():
    """Two classes, whose D is the ordinary AUC: difference and test by other code than the planner's."""
    from scipy.special import ndtr

    rng = np.random.default_rng(5)
    # Scores of both columns differ between the classes by twice the signal, with a variance of 2.
    true = ndtr(1.0) - ndtr(0.8)
    y_true, scores = paired((1500, 1500), rng)
    columns = {name: one[:, 1] - one[:, 0] for name, one in scores.items()}
    plan = polyroc.plan(polyroc.compare(y_true, columns, method="influence"), detect=true, assurance=None)
    assert plan.n_samples < 3000
    found = []
    for _ in range(200):
        y_true, scores = paired(plan.class_counts, rng)
        both = [polyroc.evaluate(y_true, one[:, 1] - one[:, 0]) for one in scores.values()]
        spreads = [one.uncertainty.spread("auc", units_of(one.fitted.source, None)) for one in both]
        found.append(difference(*spreads, 0.95, Once())[3] < 0.05)
    # 200 samples know a share of 80 % to 2.8 %.
    assert np.mean(found) == pytest.approx(0.8, abs=0.08)


def test_the_smallest_total_is_the_smallest():
    pilot = polyroc.evaluate(*sample((60, 40, 20), (1.0, 1.5, 1.0), np.random.default_rng(6)))
    units = units_of(pilot.fitted.source, None)
    forecast = AreaForecast.of(pilot.uncertainty.spread("auc", units), pilot.fitted.source.effective_counts)
    shares = np.array([0.5, 0.3, 0.2])
    for half_width in (0.005, 0.02, 0.1):
        goal = PlanGoal(0.95, half_width=half_width)
        total = smallest_total(goal, forecast, shares)
        assert forecast.half_width(sizes_at(total, shares), 0.95) <= half_width
        assert forecast.half_width(sizes_at(0.999 * total, shares), 0.95) > half_width
        assert whole_sizes(total, shares).sum() <= total + 3


def test_a_goal_that_the_least_sample_meets_takes_the_least_sample():
    pilot = polyroc.evaluate(*sample((300, 300), (1.0, 1.0), np.random.default_rng(7)))
    plan = polyroc.plan(pilot, half_width=0.49)
    assert plan.class_counts.tolist() == [2, 2]
    assert plan.is_enough


def forecast_of(variance, fourth, sizes):
    moments = Moments(np.array(variance), np.array(fourth))
    one = np.ones(len(sizes))
    return AreaForecast(moments, np.array(sizes), one, estimate=0.8, bias=(0.0, 0.0), unshrunk=None, pair_error=0.0)


@pytest.mark.parametrize("assurance", [0.5, 0.8, 0.95])
def test_assured_standard_errors_are_those_of_so_many_studies(assurance):
    """Normal influences, a pilot and a study drawn many times; of two classes with other shares in the study."""
    rng, pilot, study = np.random.default_rng(9), np.array([30, 60]), np.array([120, 60])
    sigma = np.array([0.3, 0.2])
    truth = np.sqrt(np.sum(sigma**2 / study))
    estimated, realised = (
        np.sqrt(sum(sigma[c] ** 2 * rng.chisquare(n[c] - 1, 40_000) / (n[c] - 1) / study[c] for c in range(2)))
        for n in (pilot, study)
    )
    forecast = forecast_of(sigma**2, 3 * sigma**4, pilot)
    # One error that the pilot just missed: a quarter of the comparisons of the smallest class, as in intervals.
    missed = max(0.25 / np.sqrt(30 * 120), 0.25 / np.sqrt(60 * 60))
    for is_estimated, outcome in ((True, realised), (False, truth)):
        found = assured(forecast, study, assurance, is_estimated=is_estimated).moments.standard_error(study)
        ratio = found / np.hypot(truth, missed)
        # Satterthwaite's approximation, and 40,000 draws, which know a share to 0.25 points.
        assert np.mean(outcome <= ratio * estimated) == pytest.approx(assurance, abs=0.015)
    assert assured(forecast, study, None, is_estimated=True) is forecast


def test_what_a_pilot_may_have_missed_is_bounded_where_it_saw_nearly_nothing():
    forecast = forecast_of([1e-6, 1e-6], [3e-12, 3e-12], [50, 50])
    bounded = assured(forecast, forecast.sizes, 0.5, is_estimated=True).moments.standard_error(forecast.sizes)
    # Both samples of the same size have the same degrees of freedom, and the median of their ratio is 1.
    assert bounded == pytest.approx(np.hypot(1, 0.9) * forecast.moments.standard_error(forecast.sizes), rel=1e-6)


def test_plans_with_more_assurance_are_larger():
    y_true, scores = paired((100, 80, 60), np.random.default_rng(10), 3)
    comparison = polyroc.compare(y_true, scores, method="influence")
    for pilot, goal in ((comparison.evaluations["a"], {"half_width": 0.02}), (comparison, {"detect": 0.02})):
        sizes = [polyroc.plan(pilot, assurance=share, **goal).n_samples for share in (None, 0.5, 0.8, 0.95, 0.99)]
        assert sizes == sorted(set(sizes))


@pytest.mark.slow
def test_assured_plans_reach_the_half_width_as_often_as_they_say():
    rng, strengths = np.random.default_rng(11), (0.8, 1.2, 1.6)
    reached = []
    for _ in range(150):
        pilot = polyroc.evaluate(*sample((200, 160, 120), strengths, rng))
        plan = polyroc.plan(pilot, half_width=0.02, statistic="hand_till")
        reached.append(half_width_of(*sample(plan.class_counts, strengths, rng), "hand_till") <= 0.02)
    # 150 studies know a share of 80 % to 3.3 %.
    assert np.mean(reached) == pytest.approx(0.8, abs=0.07)
