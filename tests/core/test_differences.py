"""Pairs ranked by the difference of their columns: loops over the definition, every ordered pair by itself."""

import warnings
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from preparing import prepared
from problems import gaussian_problem, quietly
from reference import area_by_loops, grid_by_loops, point_of, weighed_polygon

import polyroc
from polyroc._core.adjoint import area_gradient
from polyroc._core.polygons import unordered
from polyroc._core.rates import all_pairs
from polyroc._core.weights import pair_weights
from polyroc._lib.grid import grid
from polyroc._records import Predictions, SomePairs
from polyroc._uncertainty.units import units_of
from polyroc.baselines import auc_mu, hand_till
from polyroc.baselines._pairwise import auc_mu_functional

CALL_RATES = grid(7)


@st.composite
def problems(draw):
    """Few samples, often tied, with whole weights, a class without samples, single or double precision."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(3, 5))
    counts = draw(st.lists(st.integers(1, 7), min_size=k, max_size=k))
    if k > 3 and draw(st.booleans()):
        counts[draw(st.integers(0, k - 1))] = 0
    codes = rng.permutation(np.repeat(np.arange(k), counts))
    scores = rng.normal(size=(len(codes), k)) + np.eye(k)[codes]
    scores = scores.round(draw(st.sampled_from([0, 1, 12]))).astype(draw(st.sampled_from([np.float32, np.float64])))
    weight = rng.integers(1, 5, len(codes)).astype(float) if draw(st.booleans()) else None
    return Predictions(codes, scores, np.arange(k), weight)


def polygon_of(predictions, i, j):
    """The polygon of one ordered pair in exact shares; the difference is that of two doubles."""
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    runs = []
    for c in (i, j):
        who = np.flatnonzero(predictions.codes == c)
        runs.append(
            [(float(predictions.scores[x, i]) - float(predictions.scores[x, j]), Fraction(weight[x])) for x in who]
        )
    return weighed_polygon(*runs)


def some_pairs(predictions, seed):
    """Half of the ordered pairs, so that some come in one order only."""
    pairs = all_pairs(predictions)
    chosen = np.random.default_rng(seed).random(len(pairs)) < 0.5
    chosen[0] = True
    return SomePairs(pairs.positive[chosen], pairs.negative[chosen], pairs.column[chosen])


@given(predictions=problems(), seed=st.integers(0, 99), all_of_them=st.booleans())
def test_rates_and_areas_are_the_definition(engine, predictions, seed, all_of_them):
    pairs = all_pairs(predictions) if all_of_them else some_pairs(predictions, seed)
    ready = prepared(engine, predictions)
    rates, areas = ready.rates(pairs, CALL_RATES, "difference"), ready.areas(pairs, "difference")
    again, same_areas = ready.reweigh(pairs, CALL_RATES, "difference").rates(
        np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    )
    for place, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        vertices = polygon_of(predictions, i, j)
        expected = [point_of(vertices, s) for s in grid_by_loops(7)]
        for found in (rates, again):
            assert_allclose(found.tpr[:, place], [float(t) for t, _ in expected], rtol=0, atol=1e-14)
            assert_allclose(found.fpr[:, place], [float(f) for _, f in expected], rtol=0, atol=1e-14)
        area = float(area_by_loops([(f, t) for _, t, f in vertices]))
        assert areas[place] == pytest.approx(area, rel=0, abs=1e-14)
        assert same_areas[place] == pytest.approx(area, rel=0, abs=1e-14)


@given(predictions=problems())
def test_thresholds_are_differences_where_the_call_rate_is_reached(engine, predictions):
    pairs = all_pairs(predictions)
    found = prepared(engine, predictions).score_thresholds(pairs, CALL_RATES, "difference")
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    scores = predictions.scores.astype(float)
    for place, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        difference = scores[:, i] - scores[:, j]
        for s, threshold in zip(CALL_RATES, found[:, place], strict=True):
            above, upto = (
                np.mean(
                    [np.average(called[predictions.codes == c], weights=weight[predictions.codes == c]) for c in (i, j)]
                )
                for called in (difference > threshold, difference >= threshold)
            )
            assert above - 1e-9 <= s <= upto + 1e-9


def test_huge_and_tiny_scores_rank_as_others_do(engine):
    """Differences of huge scores overflow, and squares of tiny ones vanish."""
    problem = gaussian_problem(3, 120, 4)
    scores = problem.y_score.round(1)
    expected = quietly(polyroc.evaluate, problem.y_true, scores, thresholds="difference", engine=engine)
    for factor in (2.0**1021, 2.0**-1000):
        found = quietly(polyroc.evaluate, problem.y_true, scores * factor, thresholds="difference", engine=engine)
        assert_array_equal(found.rates.tpr, expected.rates.tpr)
        assert_array_equal(found.pairs.auc, expected.pairs.auc)
        assert_array_equal(found.influences, expected.influences)
        assert np.isfinite(found.score_thresholds).all()
        # The largest float is 8 times 2**1021, but for rounding: no difference is shown as more.
        shown = np.clip(expected.score_thresholds, -8, 8) if factor > 1 else expected.score_thresholds
        assert_allclose(found.score_thresholds / factor, shown, rtol=1e-12)


def test_single_precision_is_subtracted_in_double(engine):
    """In single precision the two differences would be the same, 1."""
    scores = np.array([[1, 1e-9, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    predictions = Predictions(np.array([0, 1, 1, 2]), scores, np.arange(3))
    areas = prepared(engine, predictions).areas(SomePairs(np.array([0]), np.array([1]), np.array([0])), "difference")
    assert areas.tolist() == [0.5]  # below one of the two samples of class 1, above the other
    assert np.float32(1) - np.float32(1e-9) == np.float32(1)


def test_pairs_find_their_other_order():
    pairs = SomePairs(np.array([2, 0, 1, 4]), np.array([0, 2, 2, 1]), np.array([2, 0, 1, 4]))
    assert list(unordered(pairs)) == [(0, 2, 1, 0), (1, 2, 2, -1), (1, 4, -1, 3)]
    assert unordered(pairs).of_pair.tolist() == [0, 0, 1, 2]


# Influences.

N = 150
WEIGHT = np.random.default_rng(6).uniform(0.3, 3, N)
SETTINGS = {
    "plain": {},
    "weights": {"sample_weight": WEIGHT},
    "costs": {"costs": 10 ** np.random.default_rng(5).uniform(-1, 1, (4, 4))},
    "prevalence": {"weighting": "prevalence"},
    "saturated": {"structure": "saturated"},
    "some pairs": {"max_pairs": 7},
}
all_settings = pytest.mark.parametrize("name", SETTINGS)
all_shapes = pytest.mark.parametrize("decimals", [8, 1, 0], ids=["distinct", "some ties", "many ties"])


def evaluated(y_true, y_score, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The scores rank samples backwards", UserWarning)
        return quietly(polyroc.evaluate, y_true, y_score, thresholds="difference", **options)


@cache
def small(name="plain", decimals=8, engine="numpy", n_thresholds=9):
    problem = gaussian_problem(1, N, 4, 1.2)
    return evaluated(
        problem.y_true, problem.y_score.round(decimals), engine=engine, n_thresholds=n_thresholds, **SETTINGS[name]
    )


def area_with_weights(evaluation, share, weight):
    """The mean of the areas of all pairs by loops over comparisons, under other weights."""
    codes, scores, pairs = evaluation.fitted.source.codes, evaluation.fitted.source.scores, evaluation.fitted.pairs
    total = 0.0
    for i, j, part in zip(pairs.positive, pairs.negative, share, strict=True):
        a, b = np.flatnonzero(codes == i), np.flatnonzero(codes == j)
        difference = scores[:, i] - scores[:, j]
        higher = np.sign(difference[a][:, None] - difference[b]) / 2 + 0.5
        total += part * (weight[a] @ higher @ weight[b]) / weight[a].sum() / weight[b].sum()
    return total


@all_shapes
@pytest.mark.parametrize("name", ["plain", "weights", "some pairs"])
def test_area_influences_are_the_change_with_a_samples_weight(engine, name, decimals):
    evaluation = small(name, decimals)
    share = np.random.default_rng(1).dirichlet(np.ones(len(evaluation.fitted.pairs)))
    source = evaluation.fitted.source
    weight = np.ones(N) if source.sample_weight is None else source.sample_weight
    found = prepared(engine, source).area_influences(evaluation.fitted.pairs, share, "difference")
    for sample in range(0, N, 10):
        step = np.where(np.arange(N) == sample, 1e-4 * weight, 0.0)
        change = (
            area_with_weights(evaluation, share, weight + step) - area_with_weights(evaluation, share, weight - step)
        ) / 2e-4
        assert found[sample] == pytest.approx(change, rel=0, abs=1e-9)
    assert_allclose(np.bincount(source.codes, found), 0, atol=1e-15)


def psi_by_loops(evaluation, cells):
    """Influences before centring: one ordered pair, one call rate, one sample at a time, no reflection."""
    source, pairs, call_rates = evaluation.fitted.source, evaluation.fitted.pairs, evaluation.rates.call_rates
    weight = np.ones(N) if source.sample_weight is None else source.sample_weight
    points, n = np.r_[0, call_rates, 1], len(call_rates)
    psi = np.zeros(N)
    for place, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        difference = source.scores[:, i] - source.scores[:, j]
        members = [np.flatnonzero(source.codes == c) for c in (i, j)]
        distinct = sorted({*difference[members[0]], *difference[members[1]]}, reverse=True)
        shares = np.zeros((len(distinct) + 1, 2))
        for v, score in enumerate(distinct):
            shares[v + 1] = [np.average(difference[who] >= score, weights=weight[who]) for who in members]
        called = shares.mean(axis=1)
        tpr = np.interp(points, called, shares[:, 0])
        for t, s in enumerate(call_rates):
            edge = next(v for v in range(len(distinct)) if called[v + 1] >= s or v == len(distinct) - 1)
            part = np.clip((s - called[edge]) / (called[edge + 1] - called[edge]), 0, 1)
            beta = np.clip((tpr[t + 2] - tpr[t]) / (2 * (points[t + 2] - points[t])), 0, 1)
            pull = cells[t, place] - cells[n + t, place]
            for who, factor in zip(members, (pull * (1 - beta), -pull * beta), strict=True):
                psi[who] += factor * np.where(difference[who] == distinct[edge], part, difference[who] > distinct[edge])
    return psi


def gradient_of(evaluation):
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    options = {"shrinkage": evaluation.fitted.options.shrinkage, "structure": evaluation.fitted.options.structure}
    return area_gradient(evaluation.factorization, evaluation.rates, weights, **options)


@cache
def phi_by_loops(name, decimals):
    evaluation = small(name, decimals)
    codes, weight = evaluation.fitted.source.codes, SETTINGS[name].get("sample_weight", np.ones(N))
    psi, phi = psi_by_loops(evaluation, gradient_of(evaluation).cells[0]), np.empty(N)
    for c in range(4):
        of_class = codes == c
        share = weight[of_class] / weight[of_class].sum()
        phi[of_class] = share * (psi[of_class] - share @ psi[of_class])
    return phi


@all_shapes
@all_settings
def test_influences_are_loops_over_ordered_pairs(engine, name, decimals):
    evaluation, expected = small(name, decimals), phi_by_loops(name, decimals)
    asked = (evaluation.fitted.pairs, evaluation.rates.call_rates, "difference")
    found = prepared(engine, evaluation.fitted.source).influences(*asked, gradient_of(evaluation))[0]
    assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max() + 1e-15)
    assert_allclose(np.bincount(evaluation.fitted.source.codes, found), 0, atol=1e-15)


@pytest.mark.parametrize("name", ["plain", "costs"])
def test_influences_add_up_to_the_change_under_other_weights(engine, name):
    """A small move of all weights at once, evaluated anew: off by the square of the move, and by the secants."""
    problem = gaussian_problem(2, 3000, 4, 1.0)
    options = {"engine": engine, "thresholds": "difference", **SETTINGS[name]}
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=np.ones(3000), **options)
    move = np.random.default_rng(3).normal(size=3000)
    move -= (np.bincount(problem.y_true, move) / np.bincount(problem.y_true))[problem.y_true]
    # Moves against each other in one class, as the influences say.
    move = np.sign(evaluation.influences) * np.abs(move)
    for c in range(4):
        move[problem.y_true == c] -= move[problem.y_true == c].mean()
    step = 0.02
    high, low = (
        polyroc.evaluate(
            problem.y_true, problem.y_score, sample_weight=1 + sign * step * np.clip(move, -3, 3), **options
        )
        for sign in (1, -1)
    )
    change = (high.auc - low.auc) / (2 * step)
    assert change == pytest.approx(evaluation.influences @ np.clip(move, -3, 3), rel=0.01)


# AUCmu.


@given(predictions=problems())
def test_auc_mu_and_its_influences(engine, predictions):
    value, influences = auc_mu_functional(prepared(engine, predictions))
    arguments = {"labels": predictions.labels, "sample_weight": predictions.sample_weight}
    assert value == pytest.approx(quietly(auc_mu, predictions.codes, predictions.scores, **arguments), rel=0, abs=1e-12)
    assert_allclose(np.bincount(predictions.codes, influences), 0, atol=1e-14)


def test_auc_mu_of_two_classes_is_the_ordinary_area(engine):
    y_true, score = np.array([0, 1, 0, 1, 1]), np.array([[0.7], [0.6], [0.2], [0.9], [0.2]])
    predictions = Predictions(y_true, score, np.arange(2))
    value, influences = auc_mu_functional(prepared(engine, predictions))
    assert value == pytest.approx(np.mean([0, 1, 1, 1, 0, 0.5]), abs=1e-15)
    # Each sample of class 1 wins 1/2, 1 and 1/4 of its comparisons, in the mean 7/12; of class 0 one and 2.5 of three.
    assert_allclose(influences[[1, 3, 4]], np.array([6 / 12, 1, 3 / 12]) / 3 - 7 / 36, atol=1e-15)
    assert_allclose(influences[[0, 2]], np.array([1 / 3, 2.5 / 3]) / 2 - 7 / 24, atol=1e-15)


# What holds for the whole evaluation.


@all_shapes
@pytest.mark.parametrize("name", ["plain", "weights"])
def test_mean_auc_is_auc_mu_and_m_stays_m(engine, name, decimals):
    problem = gaussian_problem(1, N, 4, 1.2)
    scores, weight = problem.y_score.round(decimals), SETTINGS[name].get("sample_weight")
    evaluation = small(name, decimals, engine)
    mu, m = (
        auc_mu(problem.y_true, scores, sample_weight=weight),
        hand_till(problem.y_true, scores, sample_weight=weight),
    )
    assert evaluation.mean_auc == pytest.approx(mu, rel=0, abs=1e-12)
    assert evaluation.pairs.auc.mean() == pytest.approx(mu, rel=0, abs=1e-12)
    assert evaluation.hand_till == pytest.approx(m, rel=0, abs=1e-12)
    assert abs(mu - m) > 0.01
    by_pair = dict(zip(permutations(range(4), 2), evaluation.pairs.auc, strict=True))
    assert all(by_pair[i, j] == by_pair[j, i] for i, j in by_pair)


def test_the_standard_error_of_mean_auc_is_that_of_its_comparisons(engine):
    """DeLong's formula for AUCmu, by its structural components in loops."""
    evaluation = small(engine=engine)
    codes, scores = evaluation.fitted.source.codes, evaluation.fitted.source.scores
    component = np.zeros(N)
    for i, j in permutations(range(4), 2):
        a, b = np.flatnonzero(codes == i), np.flatnonzero(codes == j)
        difference = scores[:, i] - scores[:, j]
        higher = difference[a][:, None] > difference[b]
        component[a] += higher.mean(axis=1) / 12
        component[b] += higher.mean(axis=0) / 12
    variance = sum(component[codes == c].var(ddof=1) / np.sum(codes == c) for c in range(4))
    spread = evaluation.uncertainty.spread("mean_auc", units_of(evaluation.fitted.source, None))
    assert spread.standard_error == pytest.approx(np.sqrt(variance), rel=1e-12)
    low, high = evaluation.confidence_interval(statistic="mean_auc")
    assert low < evaluation.mean_auc < high
    m_low, m_high = evaluation.confidence_interval(statistic="hand_till")
    assert m_low < evaluation.hand_till < m_high
    with pytest.raises(ValueError, match="the area under the mean curve is not M"):
        evaluation.confidence_interval(statistic="mean_auc", method="delong")


def margin_problem(seed=0, n=60, k=4):
    """Every sample's own column exceeds all others, by 0.1 at least, on a level of its own."""
    rng = np.random.default_rng(seed)
    y_true = np.arange(n) % k
    scores = rng.uniform(0, 1, size=(n, k))
    scores[np.arange(n), y_true] = np.max(np.where(np.eye(k)[y_true] == 1, -1, scores), axis=1) + 0.1
    return y_true, scores + rng.normal(0, 5, size=(n, 1))


def test_accuracy_of_one_with_a_margin_gives_d_of_one(engine):
    y_true, scores = margin_problem()
    evaluation = evaluated(y_true, scores, engine=engine)
    assert evaluation.accuracy == 1
    assert evaluation.auc == pytest.approx(1, abs=1e-12)
    assert evaluation.mean_auc == evaluation.worst_pair.auc == 1
    assert evaluation.hand_till < 0.9
    # No comparison went wrong in D: its interval is that of the smallest class, and M has one of its own.
    assert evaluation.confidence_interval() == (pytest.approx(0.025 ** (1 / 15)), 1)
    low, high = evaluation.confidence_interval(statistic="hand_till")
    assert low < evaluation.hand_till < high < 0.95
    drawn = evaluation.bootstrap(20, rng=0)
    with pytest.warns(polyroc.ResamplingWarning, match="All 20 replicates equal 1"):
        assert drawn.confidence_interval() == evaluation.confidence_interval()
    assert drawn.confidence_interval(statistic="hand_till").high < 0.95
    assert quietly(polyroc.evaluate, y_true, scores, engine=engine).auc < 0.95


def test_only_a_common_factor_and_shifts_change_nothing(engine):
    problem = gaussian_problem(5, 200, 4)
    # By powers of two and whole numbers, so that no difference is rounded otherwise.
    scores = np.round(problem.y_score * 64) / 64
    first = evaluated(problem.y_true, scores, engine=engine)
    assert evaluated(problem.y_true, 4 * scores + 32, engine=engine).auc == first.auc
    each_its_own = scores * np.array([1, 2, 4, 8])
    assert abs(evaluated(problem.y_true, each_its_own, engine=engine).auc - first.auc) > 1e-3
    assert abs(evaluated(problem.y_true, np.exp(scores), engine=engine).auc - first.auc) > 1e-3
    # What is added to a sample cancels; what is added to a column moves all differences of a pair alike.
    by_sample = np.random.default_rng(0).integers(-8, 8, (200, 1))
    assert evaluated(problem.y_true, scores + by_sample, engine=engine).auc == first.auc
    assert evaluated(problem.y_true, scores + np.array([0, 1, 2, 3]), engine=engine).auc == first.auc


@all_settings
def test_negated_scores_give_one_minus_d(engine, name):
    if name == "costs":
        options = {"costs": np.array([[1, 2, 3, 1], [2, 1, 1, 5], [3, 1, 1, 1], [1, 5, 1, 1]])}
    else:
        options = SETTINGS[name]
    problem = gaussian_problem(1, N, 4, 1.2)
    for scores in (problem.y_score, problem.y_score.round(0)):
        forwards, backwards = (evaluated(problem.y_true, sign * scores, engine=engine, **options) for sign in (1, -1))
        assert forwards.auc + backwards.auc == pytest.approx(1, rel=0, abs=1e-9)
        assert forwards.mean_auc + backwards.mean_auc == pytest.approx(1, rel=0, abs=1e-9)


@pytest.mark.parametrize("name", ["plain", "weights", "costs", "prevalence", "some pairs"])
def test_replicates_are_evaluations_of_the_resample(engine, name):
    """Without shrinkage, which keeps the class counts of the sample itself in a replicate."""
    problem = gaussian_problem(7, N, 4, 0.8)
    scores, options = problem.y_score.round(1), {"shrinkage": 0.0, **SETTINGS[name]}
    evaluation = evaluated(problem.y_true, scores, engine=engine, **options)
    times = np.zeros((2, N), dtype=int)
    rng = np.random.default_rng(0)
    for row in times:
        for c in range(4):
            who = np.flatnonzero(problem.y_true == c)
            np.add.at(row, rng.choice(who, len(who)), 1)
    found = evaluation.fitted.replicates(2)(times.astype(float))
    for r, row in enumerate(times):
        again = dict(options)
        if "sample_weight" in again:
            again["sample_weight"] = np.repeat(WEIGHT, row)
        expected = evaluated(np.repeat(problem.y_true, row), np.repeat(scores, row, axis=0), engine="numpy", **again)
        assert found.auc[r] == pytest.approx(expected.auc, rel=0, abs=1e-6)
        assert found.mean_auc[r] == pytest.approx(expected.mean_auc, rel=0, abs=2e-6 if name == "costs" else 1e-12)
        assert found.hand_till[r] == pytest.approx(expected.hand_till, rel=0, abs=1e-12)
        assert_allclose(found.mean_tpr[r], expected.factorization.mean_rates[: len(found.mean_tpr[r])], atol=1e-6)


def test_paths_that_do_not_fit_are_not_needed(fast_engine, monkeypatch):
    predictions = gaussian_problem(3, 90, 4)
    source = Predictions(predictions.y_true, predictions.y_score.round(1), np.arange(4))
    weight = np.random.default_rng(0).integers(1, 4, 90).astype(float)
    for pairs in (all_pairs(source), some_pairs(source, 1)):
        with_paths = prepared(fast_engine, source).reweigh(pairs, CALL_RATES, "difference").rates(weight)
        with monkeypatch.context() as patch:
            patch.setattr("polyroc._core.numba.reweighed.MOST_VERTICES", 0)
            without = prepared(fast_engine, source).reweigh(pairs, CALL_RATES, "difference").rates(weight)
        assert_allclose(without[0].tpr, with_paths[0].tpr, rtol=0, atol=1e-14)
        assert_allclose(without[0].fpr, with_paths[0].fpr, rtol=0, atol=1e-14)
        assert_allclose(without[1], with_paths[1], rtol=0, atol=1e-14)


def test_a_replicate_that_loses_a_class_keeps_the_others(engine):
    problem = gaussian_problem(7, 80, 4)
    scores = problem.y_score.round(1)
    evaluation = evaluated(problem.y_true, scores, engine=engine, shrinkage=0.0)
    weight = np.where(problem.y_true == 3, 0.0, 1.0)
    found = evaluation.fitted.replicates(1)(weight[None])
    rest = problem.y_true != 3
    expected = evaluated(problem.y_true[rest], scores[rest], labels=range(4), engine="numpy", shrinkage=0.0)
    assert found.lost_class.tolist() == [True]
    assert found.auc[0] == pytest.approx(expected.auc, rel=0, abs=1e-6)
    assert found.mean_auc[0] == pytest.approx(expected.mean_auc, rel=0, abs=1e-12)
    assert found.hand_till[0] == pytest.approx(expected.hand_till, rel=0, abs=1e-12)


def test_a_draw_of_pairs_and_its_reflection_are_one():
    """Left out one order at a time, the other order would stay, and the error of the sample of pairs come out as 0."""
    problem = gaussian_problem(1, 400, 6, 0.7)
    scores = problem.y_score * np.array([1, 2, 0.5, 3, 1, 0.3])
    errors = []
    for seed in range(8):
        # Two draws of pairs: those at two distances in a circle of six.
        evaluation = evaluated(problem.y_true, scores, max_pairs=12, rng=seed, engine="numpy")
        n_unordered = len(unordered(evaluation.fitted.pairs))
        errors.append((n_unordered, evaluation.pair_sampling_error))
    reflected = [error for n_unordered, error in errors if n_unordered == 6]
    assert reflected
    assert len(reflected) < 8
    assert min(reflected) > 5e-4


def test_memory_counts_what_is_kept(engine):
    """Sorted differences are in double precision, whatever the scores are in; M keeps the sorted scores, too."""
    scores = gaussian_problem(1, 4000, 10).y_score
    single, double = (
        Predictions(np.arange(4000) % 10, scores.astype(kind), np.arange(10)) for kind in (np.float32, np.float64)
    )
    pairs = all_pairs(double)
    ready = [prepared(engine, one) for one in (single, double)]
    kept = [one.memory_to_reweigh(pairs, "difference") for one in ready]
    assert kept[0] == kept[1]
    if engine == "numba":
        assert kept[1] == 8 * 40_000 + 4 * 40_000 + 8 * 4000 * 9
        extra = [one.memory_needed(90, 111, "difference") - one.memory_needed(90, 111) for one in ready]
        assert extra == [8 * 40_000, 0]
