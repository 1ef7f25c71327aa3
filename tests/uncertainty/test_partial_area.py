"""The partial area: its slopes by small moves, its errors by resamples, and scikit-learn for two classes."""

import json
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import polyroc
from polyroc._core.adjoint import area_gradient, point_gradient
from polyroc._core.curve import partial_areas, partial_slopes
from polyroc._core.weights import pair_weights
from polyroc._uncertainty.bootstrap import _at_call_rates
from polyroc._uncertainty.delong import standard_error
from polyroc._uncertainty.units import units_of


def problem(seed=0, k=4, n_class=60, strength=1.3):
    rng = np.random.default_rng(seed)
    y_true = np.repeat(np.arange(k), n_class)
    return y_true, strength * np.eye(k)[y_true] + rng.normal(size=(len(y_true), k))


def two_classes(seed=0, n=200):
    rng = np.random.default_rng(seed)
    y_true = np.arange(n) % 2
    return y_true, np.round(y_true + rng.normal(size=n), 1)


@pytest.fixture(scope="module")
def evaluation():
    return polyroc.evaluate(*problem(), engine="numpy")


@pytest.fixture(scope="module")
def drawn(evaluation):
    return evaluation.bootstrap(399, rng=0)


def curves(seed, n_points=9):
    rng = np.random.default_rng(seed)
    return tuple(np.sort(np.r_[0, rng.uniform(size=n_points), 1]) for _ in range(2))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_fpr", [0.03, 0.2, 0.77, 1.0])
def test_many_curves_at_once_are_single_ones(seed, max_fpr):
    made = [polyroc.RocCurve(*curves(10 * seed + one)) for one in range(5)]
    # One of them jumps at 0, and one stands still where the area stops.
    made += [polyroc.RocCurve([0, 0, 0, *curves(seed, 6)[0][1:-1], 1, 1], [0, 0.2, 0.4, *np.full(6, 0.5), 0.6, 1])]
    made += [polyroc.RocCurve(np.r_[0, [max_fpr] * 9, 1], np.linspace(0, 1, 11))]
    found = partial_areas(np.array([one.fpr for one in made]), np.array([one.tpr for one in made]), max_fpr)
    assert_allclose(found, [one.partial_auc(max_fpr) for one in made], rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_fpr", [0.03, 0.2, 0.77, 1.0])
def test_slopes_by_moving_every_point(seed, max_fpr):
    fpr, tpr = curves(seed)
    found, step = partial_slopes(fpr, tpr, max_fpr), 1e-6
    moves = [(tpr, p) for p in range(1, 10)] + [(fpr, p) for p in range(1, 10)]
    for slope, (rate, place) in zip(found, moves, strict=True):
        area = []
        for sign in (1, -1):
            rate[place] += sign * step
            area.append(partial_areas(fpr, tpr, max_fpr))
            rate[place] -= sign * step
        assert slope == pytest.approx((area[0] - area[1]) / (2 * step), abs=1e-7)


@pytest.mark.parametrize("structure", ["rank-one", "saturated"])
@pytest.mark.parametrize("max_fpr", [0.05, 0.4])
def test_one_pass_gives_what_all_points_would(structure, max_fpr):
    evaluation = polyroc.evaluate(*problem(), engine="numpy", structure=structure, n_thresholds=19)
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    asked = (evaluation.factorization, evaluation.rates, weights)
    [found] = area_gradient(*asked, shrinkage=1.0, structure=structure, max_fpr=max_fpr).cells
    points = point_gradient(*asked, shrinkage=1.0, structure=structure).cells
    slopes = partial_slopes(evaluation.curve.fpr, evaluation.curve.tpr, max_fpr)
    assert_allclose(found, np.einsum("s,src->rc", slopes, points), atol=1e-12)


def test_influences_say_how_the_area_changes_with_the_weight_of_a_class_half(evaluation):
    """Half of each class counts 5 % more and the other half less; the area follows the sum of the influences."""
    y_true, y_score = problem()
    rng = np.random.default_rng(2)
    for max_fpr in (0.1, 0.3):
        influences = evaluation.uncertainty.influences("partial_auc", max_fpr)
        assert abs(influences.sum()) < 1e-10
        told, seen = [], []
        for _ in range(8):
            move = 0.05 * np.concatenate([rng.permutation(np.repeat([1.0, -1.0], 30)) for _ in range(4)])
            up, down = (
                polyroc.evaluate(y_true, y_score, engine="numpy", sample_weight=1 + sign * move).partial_auc(max_fpr)
                for sign in (1, -1)
            )
            told.append(move @ influences)
            seen.append((up - down) / 2)
        assert np.corrcoef(told, seen)[0, 1] > 0.99
        assert np.std(seen) == pytest.approx(np.std(told), rel=0.1)


def test_whole_area_is_d(evaluation):
    assert evaluation.partial_auc(1) == evaluation.auc
    assert_allclose(evaluation.uncertainty.influences("partial_auc", 1.0), evaluation.influences, atol=1e-15)
    whole = evaluation.confidence_interval(statistic="partial_auc", max_fpr=1)
    assert_allclose(whole, evaluation.confidence_interval(), atol=1e-9)


@pytest.mark.parametrize("max_fpr", [0.05, 0.1, 0.5])
def test_standard_errors_agree_with_resamples(evaluation, drawn, max_fpr):
    """399 resamples know a standard error to 3.5 %; three of these."""
    spread = evaluation.uncertainty.spread("partial_auc", units_of(evaluation.fitted.source, None), max_fpr)
    by_resamples = drawn.standard_error("partial_auc", max_fpr=max_fpr)
    assert spread.standard_error == pytest.approx(by_resamples, rel=0.11)
    found = evaluation.confidence_interval(statistic="partial_auc", max_fpr=max_fpr)
    assert found.method == "influence"
    expected = drawn.confidence_interval(statistic="partial_auc", max_fpr=max_fpr)
    assert_allclose(found, expected, atol=0.2 * (expected.high - expected.low))
    assert found.low < evaluation.partial_auc(max_fpr) < found.high


def test_replicates_are_the_areas_of_their_curves(evaluation, drawn):
    replicates = drawn.distribution("partial_auc", 0.1).replicates
    curve = polyroc.RocCurve(np.r_[0, drawn.fpr[7], 1], np.r_[0, drawn.tpr[7], 1])
    assert replicates[7] == pytest.approx(curve.partial_auc(0.1), abs=1e-6)
    for kind in ("percentile", "basic"):
        low, high = drawn.confidence_interval(statistic="partial_auc", max_fpr=0.1, interval=kind)
        assert low < evaluation.partial_auc(0.1) < high


@pytest.mark.parametrize("max_fpr", [0.02, 0.1, 0.5, 1.0])
def test_two_classes_are_scikit_learns(max_fpr):
    metrics = pytest.importorskip("sklearn.metrics")
    y_true, y_score = two_classes()
    evaluation = polyroc.evaluate(y_true, y_score)
    expected = metrics.roc_auc_score(y_true, y_score, max_fpr=max_fpr)
    assert evaluation.partial_auc(max_fpr) == pytest.approx(expected, abs=1e-12)


def test_two_classes_are_resampled_as_the_definition_would():
    metrics = pytest.importorskip("sklearn.metrics")
    y_true, y_score = two_classes()
    evaluation = polyroc.evaluate(y_true, y_score, engine="numpy")
    rng, areas = np.random.default_rng(1), []
    for _ in range(400):
        # 99 of 100, as the bootstrap here draws (Rao and Wu, 1988).
        chosen = np.concatenate([rng.choice(np.flatnonzero(y_true == c), 99) for c in (0, 1)])
        areas.append(metrics.roc_auc_score(y_true[chosen], y_score[chosen], max_fpr=0.2))
    drawn = evaluation.bootstrap(400, rng=0)
    assert drawn.standard_error("partial_auc", max_fpr=0.2) == pytest.approx(np.std(areas), rel=0.15)
    replicates = drawn.distribution("partial_auc", 0.2).replicates
    assert np.mean(replicates) == pytest.approx(np.mean(areas), abs=4 * np.std(areas) / np.sqrt(200))
    found = evaluation.confidence_interval(
        statistic="partial_auc", max_fpr=0.2, method="bootstrap", n_resamples=99, rng=0
    )
    assert found.method == "bootstrap"
    assert found.low < evaluation.partial_auc(0.2) < found.high
    with pytest.raises(ValueError, match="`method` must be 'bootstrap' where two classes have no formula"):
        evaluation.confidence_interval(statistic="partial_auc", max_fpr=0.2, method="influence")


def test_the_curve_of_two_classes_is_read_where_its_replicates_are():
    evaluation = polyroc.evaluate(*two_classes(3), engine="numpy")
    again = evaluation.fitted.replicates(1)(np.ones((1, 200)))
    assert_allclose(_at_call_rates(evaluation.curve), [again.fpr[0], again.tpr[0]], atol=1e-14)


def test_perfect_models_may_miss_all_of_it_at_the_left():
    y_true = np.repeat(np.arange(3), 60)
    evaluation = polyroc.evaluate(y_true, np.eye(3)[y_true] + np.linspace(0, 0.1, 540).reshape(180, 3))
    whole = evaluation.confidence_interval()
    found = evaluation.confidence_interval(statistic="partial_auc", max_fpr=0.1)
    assert (evaluation.partial_auc(0.1), found.high) == (1, 1)
    # The share of comparisons that may go wrong, all of it left of 0.1, where a perfect area has 0.1 and chance 0.005.
    assert found.low == pytest.approx(1 - (1 - whole.low) / (2 * (0.1 - 0.005)), abs=1e-12)


@pytest.mark.parametrize(
    "asked",
    [{"method": "influence"}, {"method": "bootstrap", "n_resamples": 49, "rng": 0}],
    ids=["influence", "bootstrap"],
)
def test_an_interval_of_few_perfect_samples_stops_at_the_least_area(asked):
    y_true = np.repeat(np.arange(3), 4)
    evaluation = polyroc.evaluate(y_true, np.eye(3)[y_true], engine="numpy")
    with pytest.warns(polyroc.ResamplingWarning):
        found = evaluation.confidence_interval(statistic="partial_auc", max_fpr=0.1, **asked)
    # 0.025^(1/4) = 0.40: more than all of the area left of 0.1 may be missing.
    least = polyroc.RocCurve([0, 0.1, 1], [0, 0, 1]).partial_auc(0.1)
    assert_allclose(found, [least, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "asked",
    [{"method": "influence"}, {"method": "bootstrap", "n_resamples": 49, "rng": 0}],
    ids=["influence", "bootstrap"],
)
def test_where_every_comparison_is_lost_those_of_chance_may_be_won_at_the_left(asked):
    y_true = np.repeat(np.arange(3), 100)
    with pytest.warns(UserWarning, match="backwards"):
        evaluation = polyroc.evaluate(y_true, -np.eye(3)[y_true], engine="numpy")
    with warnings.catch_warnings():
        # Resamples warn that they never vary.
        warnings.simplefilter("ignore", polyroc.ResamplingWarning)
        found = evaluation.confidence_interval(statistic="partial_auc", max_fpr=0.2, **asked)
    # A curve that rises to this height at once and stays there has won this area left of 0.2, and none right of it.
    won = 1 - 0.025 ** (1 / 100)
    most = polyroc.RocCurve([0, 0, 0.2, 1], [0, won / 0.2, won / 0.2, 1]).partial_auc(0.2)
    least = polyroc.RocCurve([0, 0.2, 1], [0, 0, 1]).partial_auc(0.2)
    assert_allclose(found, [least, most], rtol=0, atol=1e-12)


def test_pairs_that_differences_separate_are_at_the_end_whatever_m_is():
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(3), 30)
    # What all columns of a sample have in common: differences do not see it, and columns alone do.
    y_score = np.eye(3)[y_true] + rng.normal(size=(90, 1))
    evaluation = polyroc.evaluate(y_true, y_score, thresholds="difference", engine="numpy")
    assert evaluation.hand_till < 0.99 < evaluation.auc == 1
    by_formula = evaluation.confidence_interval(statistic="partial_auc", max_fpr=0.1)
    assert by_formula.low < 0.5
    with pytest.warns(polyroc.ResamplingWarning, match="Clopper-Pearson"):
        found = evaluation.confidence_interval(
            statistic="partial_auc", max_fpr=0.1, method="bootstrap", n_resamples=49, rng=0
        )
    assert_allclose(found, by_formula, rtol=0, atol=1e-12)


def test_no_interval_goes_below_the_least_area():
    y_true, y_score = two_classes(n=40)
    with pytest.warns(UserWarning, match="backwards"):
        evaluation = polyroc.evaluate(y_true, -y_score)
    # Without a second warning: a curve may begin below chance without being backwards.
    low, high = evaluation.confidence_interval(
        statistic="partial_auc", max_fpr=0.5, method="bootstrap", n_resamples=99, rng=0
    )
    # A curve that stays at 0 up to 0.5.
    least = polyroc.RocCurve([0, 0.5, 1], [0, 0, 1]).partial_auc(0.5)
    assert least == pytest.approx(1 / 3)
    assert low == pytest.approx(least, abs=1e-12)
    assert high > least + 0.005


def test_models_are_compared_by_it():
    y_true, strong = problem(strength=1.6)
    weak = strong + 0.9 * np.random.default_rng(5).normal(size=strong.shape)
    scores = {"strong": strong, "weak": weak}
    found = polyroc.compare(y_true, scores, max_fpr=0.1)
    again = polyroc.compare(y_true, scores, max_fpr=0.1, method="bootstrap", n_resamples=199, rng=0, engine="numpy")
    one, other = (each.difference("strong", "weak", statistic="partial_auc") for each in (found, again))
    values = [each.partial_auc(0.1) for each in found.evaluations.values()]
    assert one.value == other.value == values[0] - values[1]
    # 199 resamples know a standard error to 5 %.
    assert one.standard_error == pytest.approx(other.standard_error, rel=0.15)
    assert abs(one.low - other.low) < 0.2 * (one.high - one.low)
    assert found.max_fpr == 0.1
    assert [each.value for each in found.by_partial_auc.estimates] == values
    assert found.rank_intervals(statistic="partial_auc").tied_with_best == ("strong",)
    record = json.loads(json.dumps(found.to_dict()))
    assert record["max_fpr"] == 0.1
    assert record["partial_auc"]["differences"][0]["value"] == one.value
    assert "partial area, FPR up to 0.1" in str(found)
    assert "partial area, FPR up to 0.1" in found._repr_html_()
    kept = pickle.loads(pickle.dumps(found))
    assert (kept.max_fpr, kept.by_partial_auc) == (0.1, found.by_partial_auc)
    paired = found.replicates("partial_auc")
    assert np.std(paired["strong"]) == pytest.approx(found.by_partial_auc.estimates[0].standard_error, rel=0.05)
    pytest.importorskip("pandas")
    assert found.to_frame("differences")["statistic"].tolist() == ["auc", "hand_till", "partial_auc"]


def test_influences_are_kept_by_their_end_and_read_only_in_copies():
    evaluation = polyroc.evaluate(*problem())
    found, other = (evaluation.uncertainty.influences("partial_auc", end) for end in (0.1, 0.2))
    assert evaluation.uncertainty.influences("partial_auc", 0.1) is found
    assert not np.allclose(found, other)
    kept = pickle.loads(pickle.dumps(evaluation)).uncertainty.influences("partial_auc", 0.1)
    assert_array_equal(kept, found)
    assert not found.flags.writeable
    assert not kept.flags.writeable


def test_without_max_fpr_there_is_no_partial_area():
    comparison = polyroc.compare(problem()[0], {"a": problem()[1], "b": problem(1)[1]})
    assert comparison.by_partial_auc is None
    assert comparison.to_dict()["partial_auc"] is None
    assert "partial" not in str(comparison)
    for asked in (comparison.rank_intervals, comparison.replicates):
        with pytest.raises(
            ValueError, match="`statistic` must not be 'partial_auc' for a comparison without `max_fpr`"
        ):
            asked(statistic="partial_auc")


@pytest.mark.parametrize("max_fpr", [0, -0.1, 1.01, float("nan"), float("inf"), "0.1", [0.1], True, 1e-320 * 0])
def test_bad_limits_are_refused(evaluation, drawn, max_fpr):
    calls = (
        lambda: evaluation.partial_auc(max_fpr),
        lambda: evaluation.confidence_interval(statistic="partial_auc", max_fpr=max_fpr),
        lambda: drawn.standard_error("partial_auc", max_fpr=max_fpr),
        lambda: polyroc.compare(problem()[0], {"a": problem()[1], "b": problem(1)[1]}, max_fpr=max_fpr),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"`max_fpr` must be in \(0, 1\], got"):
            call()


def test_limits_that_no_sample_reaches_have_no_interval(evaluation, drawn):
    assert 0.5 <= evaluation.partial_auc(1e-200) < 0.500001
    calls = (
        lambda: evaluation.confidence_interval(statistic="partial_auc", max_fpr=1e-200),
        lambda: drawn.confidence_interval(statistic="partial_auc", max_fpr=1e-200),
        lambda: polyroc.compare(problem()[0], {"a": problem()[1], "b": problem(1)[1]}, max_fpr=1e-200),
    )
    for call in calls:
        with pytest.raises(ValueError, match="`max_fpr` must be at least 1e-06 for an interval, got 1e-200"):
            call()


def test_neither_half_is_taken_without_the_other(evaluation, drawn):
    for asked in (evaluation.confidence_interval, drawn.confidence_interval, drawn.standard_error):
        with pytest.raises(ValueError, match="`max_fpr` must be given for statistic='partial_auc'"):
            asked(statistic="partial_auc")
        with pytest.raises(ValueError, match=r"`max_fpr` must be None unless statistic='partial_auc', got 0\.1"):
            asked(max_fpr=0.1)
        with pytest.raises(ValueError, match=r"`max_fpr` must be None unless statistic='partial_auc', got 0\.1"):
            asked(statistic="hand_till", max_fpr=0.1)


def test_what_has_no_formula_is_refused_by_name(evaluation):
    partial = {"statistic": "partial_auc", "max_fpr": 0.1}
    with pytest.raises(
        ValueError, match="`interval` must be 'logit', 'percentile' or 'basic' for statistic='partial_auc'"
    ):
        evaluation.confidence_interval(method="bootstrap", interval="bca", **partial)
    with pytest.raises(ValueError, match="`statistic` must be 'hand_till' for method='delong'"):
        evaluation.confidence_interval(method="delong", **partial)
    with pytest.raises(ValueError, match="`interval` must be 'logit', 'percentile' or 'basic'"):
        polyroc.compare(
            problem()[0], {"a": problem()[1], "b": problem(1)[1]}, max_fpr=0.1, method="bootstrap", interval="bca"
        )
    centered = polyroc.evaluate(*problem(), structure="centered", engine="numpy")
    with pytest.raises(ValueError, match="the centered structure has no formula"):
        centered.confidence_interval(method="influence", **partial)


def test_a_sample_of_the_pairs_adds_to_the_error():
    y_true, y_score = problem(k=12, n_class=30)
    evaluation = polyroc.evaluate(y_true, y_score, max_pairs=60, rng=0, engine="numpy")
    units = units_of(evaluation.fitted.source, None)
    spread = evaluation.uncertainty.spread("partial_auc", units, 0.1)
    assert spread.pair_error > 0
    assert spread.pair_error != evaluation.pair_sampling_error
    assert spread.standard_error > standard_error(spread.influences, units)
