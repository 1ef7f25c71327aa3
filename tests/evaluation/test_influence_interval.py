"""Standard errors and intervals without resampling: against the bootstrap, DeLong and Clopper and Pearson."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_problem, quietly
from scipy import stats

import polyroc

N = 400
COSTS = 10 ** np.random.default_rng(5).uniform(-1, 1, (4, 4))
SETTINGS = {
    "plain": {},
    "weights": {"sample_weight": np.random.default_rng(6).uniform(0.2, 3, N)},
    "costs": {"costs": COSTS},
    "prevalence": {"weighting": "prevalence"},
    "shared": {"thresholds": "shared"},
    "difference": {"thresholds": "difference"},
    "saturated": {"structure": "saturated"},
}


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(1, N, 4, 1.2)


@pytest.fixture(scope="module")
def evaluation(problem):
    return polyroc.evaluate(problem.y_true, problem.y_score)


@pytest.fixture(scope="module")
def held():
    """Column 0 ranks class 1 backwards, which the fit answers by an effect of zero."""
    problem = gaussian_problem(3, 600, 4, 4.0)
    score = problem.y_score.copy()
    score[problem.y_true == 1, 0] += 20
    return polyroc.evaluate(problem.y_true, score, n_thresholds=9)


def agrees(evaluation, n_resamples, tolerance, groups=None):
    """Standard error within a tolerance of the bootstrap's, and both ends of the interval within that of its width.

    The error of the bootstrap's standard error is 1 / sqrt(2 n_resamples).
    """
    drawn = evaluation.bootstrap(n_resamples, rng=0, groups=groups)
    low, high = evaluation.confidence_interval(method="influence", groups=groups)
    expected = drawn.confidence_interval()
    width = expected.high - expected.low
    assert_allclose([low, high], expected, rtol=0, atol=tolerance * width)
    if groups is None:
        assert evaluation.standard_error == pytest.approx(drawn.standard_error(), rel=tolerance)
    assert low < evaluation.auc < high


@pytest.mark.parametrize("model", ["knn", "logistic", "tree"])
@pytest.mark.slow
def test_the_example_has_the_errors_of_1999_resamples(model):
    """1.6 % are the bootstrap's own error: three times that, and 2 % for the formula."""
    example = polyroc.load_example()
    assert model in example.scores
    agrees(polyroc.evaluate(example.y_true, example.scores[model]), 1999, 0.07)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_the_error_of_resamples(problem, name):
    """399 resamples are uncertain by 3.5 %."""
    agrees(polyroc.evaluate(problem.y_true, problem.y_score, n_thresholds=20, **SETTINGS[name]), 399, 0.12)


def test_groups_have_the_error_of_resampled_groups(problem):
    """Every sample four times with a little noise: groups of four, that share nearly everything."""
    rng = np.random.default_rng(2)
    y_true, groups = np.repeat(problem.y_true[:120], 4), np.repeat(np.arange(120), 4)
    score = np.repeat(problem.y_score[:120], 4, axis=0) + rng.normal(scale=0.2, size=(480, 4))
    evaluation = polyroc.evaluate(y_true, score, n_thresholds=20)
    agrees(evaluation, 399, 0.12, groups=groups)
    whole, single = (np.ptp(evaluation.confidence_interval(method="influence", groups=g)) for g in (groups, None))
    assert whole > 1.5 * single


def test_names_and_order_of_groups_do_not_matter(evaluation):
    groups = np.arange(N) // 2
    expected = evaluation.confidence_interval(method="influence", groups=groups)
    assert evaluation.confidence_interval(method="influence", groups=(-groups).astype(str)) == pytest.approx(expected)


def test_a_sample_of_pairs_adds_its_squared_error(problem):
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=7)
    of_samples = sum(
        len(one) / (len(one) - 1) * np.sum(one**2)
        for one in (evaluation.influences[problem.y_true == c] for c in range(4))
    )
    assert evaluation.pair_sampling_error > 0
    assert evaluation.standard_error**2 == pytest.approx(of_samples + evaluation.pair_sampling_error**2, rel=1e-9)


def test_two_classes_have_delongs_error_and_interval():
    problem = gaussian_problem(4, 300, 2, 1.0)
    margin = problem.y_score[:, 1] - problem.y_score[:, 0]
    evaluation = polyroc.evaluate(problem.y_true, margin)
    low, high = (margin[problem.y_true == c] for c in (0, 1))
    wins = high[:, None] > low
    expected = np.sqrt(wins.mean(axis=1).var(ddof=1) / len(high) + wins.mean(axis=0).var(ddof=1) / len(low))
    assert evaluation.standard_error == pytest.approx(expected, rel=1e-9)
    by_influence = evaluation.confidence_interval(method="influence")
    assert by_influence == pytest.approx(evaluation.confidence_interval(method="delong", statistic="hand_till"))


@pytest.mark.parametrize("sign", [1, -1])
def test_without_a_single_error_the_interval_is_clopper_and_pearsons(sign):
    y_true = np.repeat(np.arange(3), [20, 30, 40])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The scores rank samples backwards", UserWarning)
        evaluation = polyroc.evaluate(y_true, sign * np.eye(3)[y_true])
        low, high = evaluation.confidence_interval(method="influence")
    assert evaluation.standard_error == 0
    assert evaluation.influence_note == ""
    expected = stats.binomtest(20 if sign == 1 else 0, 20).proportion_ci(method="exact")
    assert (low, high) == pytest.approx((expected.low, expected.high))


def test_constant_scores_do_not_vary(problem):
    evaluation = polyroc.evaluate(problem.y_true, np.full((N, 4), 0.25))
    assert evaluation.auc == 0.5
    assert evaluation.standard_error == 0
    with pytest.warns(polyroc.ResamplingWarning, match="No sample changes the statistic, so the interval is a single"):
        assert evaluation.confidence_interval(method="influence") == (0.5, 0.5)


def test_one_sample_or_group_of_each_class_shows_no_variation(problem):
    scores = [[0.6, 0.3, 0.1], [0.5, 0.2, 0.4], [0.7, 0.1, 0.2]]
    three = quietly(polyroc.evaluate, [0, 1, 2], scores)
    one_per_class = polyroc.evaluate(problem.y_true, problem.y_score)
    for evaluation, groups in [(three, None), (one_per_class, problem.y_true)]:
        with pytest.warns(polyroc.ResamplingWarning) as caught:
            evaluation.confidence_interval(method="influence", groups=groups)
        said = [str(one.message) for one in caught if "single point" in str(one.message)]
        assert said == [
            "A class has only one sample or group, which shows no variation, so the interval is a single point."
        ]


def test_the_centered_model_is_refused(problem):
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, structure="centered")
    assert evaluation.influence_note == "the centered structure has no formula"
    with pytest.raises(ValueError, match=r"`structure` must be 'rank-one' or 'saturated' for influences.*'centered'"):
        evaluation.influences  # noqa: B018, a property that raises
    assert evaluation.standard_error is None
    with pytest.raises(ValueError, match="must be 'bootstrap' where the centered structure has no formula"):
        evaluation.confidence_interval(method="influence")
    # M needs no fit.
    assert evaluation.confidence_interval(method="influence", statistic="hand_till").low > 0.5


def test_a_fit_that_did_not_converge_is_refused():
    rng = np.random.default_rng(2)
    evaluation = quietly(polyroc.evaluate, np.arange(8) % 4, rng.normal(size=(8, 4)), shrinkage=0)
    assert evaluation.influence_note == "the fit did not converge"
    # The formula gives numbers that no area between 0 and 1 can have.
    assert evaluation.standard_error is None
    with pytest.raises(ValueError, match="`method` must be 'bootstrap' where the fit did not converge"):
        evaluation.confidence_interval(method="influence")


def test_a_pair_at_the_border_is_refused(held):
    assert held.pairs.effect.min() < 1e-8
    with pytest.raises(ValueError, match="must be 'bootstrap' where the fit holds 1 of 12 pairs at the border"):
        held.confidence_interval(method="influence")


@pytest.mark.parametrize("sign", [1, -1])
def test_an_area_next_to_the_end_is_refused(sign):
    problem = gaussian_problem(1, 600, 4, 4.6)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The scores rank samples backwards", UserWarning)
        evaluation = polyroc.evaluate(problem.y_true, sign * problem.y_score)
    assert 0 < min(evaluation.auc, 1 - evaluation.auc) < 0.001
    end = 1 if sign == 1 else 0
    with pytest.raises(ValueError, match=rf"`method` must be 'bootstrap' where D is within 0\.001 of {end}"):
        evaluation.confidence_interval(method="influence")


@pytest.mark.parametrize("interval", ["percentile", "basic", "bca"])
def test_without_replicates_there_are_no_quantiles(evaluation, interval):
    with pytest.raises(ValueError, match="`interval` needs a method that draws: pass method='bootstrap'"):
        evaluation.confidence_interval(method="influence", interval=interval)


def test_influences_can_be_read_only(evaluation):
    with pytest.raises(ValueError, match="read-only"):
        evaluation.influences[0] = 1.0


def test_influences_are_of_samples_in_their_order(problem):
    """A sample without weight has none; the others stand where they stood among those that count."""
    weight = np.ones(N)
    weight[::3] = 0
    some = polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=weight)
    kept = weight > 0
    alone = polyroc.evaluate(problem.y_true[kept], problem.y_score[kept])
    assert len(some.influences) == some.n_samples == kept.sum()
    assert_allclose(some.influences, alone.influences, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["influences", "standard_error"])
def test_changed_samples_are_refused(problem, name):
    score = problem.y_score.copy()
    evaluation = polyroc.evaluate(problem.y_true, score)
    score[:] = 0.5
    with pytest.raises(RuntimeError, match="`y_score` was changed after it was evaluated"):
        getattr(evaluation, name)


def test_the_interval_is_the_same_whenever_and_however_it_is_asked(engine, problem):
    def asked(n_jobs):
        evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, n_jobs=n_jobs, n_thresholds=20)
        return evaluation.confidence_interval(method="influence", n_jobs=n_jobs), evaluation.standard_error

    state = np.random.get_state()[1].copy()  # noqa: NPY002, whether somebody draws from it
    first = asked(1)
    assert asked(1) == asked(3) == first
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_mislabelled_samples_pull_most(problem):
    """A few samples are given another class: the lowest influences are theirs."""
    rng = np.random.default_rng(3)
    score = problem.y_score + 3 * np.eye(4)[problem.y_true]
    wrong = rng.choice(N, 8, replace=False)
    y_true = problem.y_true.copy()
    y_true[wrong] = (y_true[wrong] + rng.integers(1, 4, 8)) % 4
    lowest = np.argsort(polyroc.evaluate(y_true, score).influences)[:8]
    assert len(np.intersect1d(lowest, wrong)) >= 7


def test_a_standard_error_beyond_all_reason_is_no_interval():
    """Costs over six orders of magnitude leave some samples of one pair to decide."""
    y_true = np.repeat([0, 1, 2], [10, 6, 5])
    rng = np.random.default_rng(0)
    notes = []
    for _ in range(40):
        score = np.round(rng.normal(size=(21, 3)) + 2 * np.eye(3)[y_true], 1)
        costs = 10 ** rng.uniform(0, 11, (3, 3))
        evaluation = quietly(polyroc.evaluate, y_true, score, costs=costs, n_thresholds=9)
        influences = evaluation.influences
        sizes = np.bincount(y_true)[y_true]
        error = np.sqrt(np.sum(influences**2 * sizes / (sizes - 1)))
        if error > np.sqrt(evaluation.auc * (1 - evaluation.auc)):
            notes.append(evaluation.influence_note)
            assert evaluation.standard_error is None
            with pytest.raises(polyroc.InputError, match="`method` must be 'bootstrap' where"):
                evaluation.confidence_interval(method="influence")
    assert notes
    assert all(notes)
