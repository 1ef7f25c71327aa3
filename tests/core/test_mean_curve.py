"""The mean curve against exact fractions, and the theorem that its area is Hand and Till's M."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import Problem, gaussian_problem, quietly
from reference import area_by_loops, grid_by_loops, mean_curve_by_loops, polygons_by_loops

import polyroc
from polyroc import baselines
from polyroc._uncertainty.replicates import Replicates

# Few samples of up to three of four classes with few distinct scores: ties, weights, absent classes.
samples = st.lists(
    st.tuples(st.integers(0, 3), *[st.integers(0, 4)] * 4, st.integers(1, 3)), min_size=3, max_size=20
).filter(lambda drawn: len({sample[0] for sample in drawn}) >= 2)


def split(drawn):
    table = np.array(drawn)
    return table[:, 0], table[:, 1:5], table[:, 5]


def equal_weights(polygons):
    return dict.fromkeys(polygons, Fraction(1))


def evaluate(y_true, y_score, **options):
    return quietly(polyroc.evaluate, y_true, y_score, labels=range(y_score.shape[1]), **options)


@given(drawn=samples)
def test_the_area_under_the_mean_of_whole_polygons_is_the_mean_area(drawn):
    """The theorem itself, in fractions: a mean of polygons is a polygon whose vertices are at all their call rates."""
    y_true, y_score, weight = (array.tolist() for array in split(drawn))
    polygons = polygons_by_loops(y_true, y_score, weight)
    all_rates = sorted({s for vertices in polygons.values() for s, _, _ in vertices})
    mean = mean_curve_by_loops(polygons, all_rates, equal_weights(polygons), equal_weights(polygons))
    areas = [area_by_loops([(f, t) for _, t, f in vertices]) for vertices in polygons.values()]
    exact = sum(areas) / len(areas)
    assert area_by_loops(mean) == exact
    evaluation = evaluate(*split(drawn)[:2], sample_weight=split(drawn)[2])
    assert evaluation.mean_auc == pytest.approx(float(exact), abs=1e-12)
    assert evaluation.mean_auc == evaluation.hand_till


@given(drawn=samples, seed=st.integers(0, 1000), weighting=st.sampled_from(["equal", "prevalence"]))
def test_points_are_those_of_loops(engine, drawn, seed, weighting):
    y_true, y_score, weight = split(drawn)
    costs = np.random.default_rng(seed).integers(1, 9, (4, 4))
    options = {"sample_weight": weight, "costs": costs, "weighting": weighting, "n_thresholds": 10}
    curve = evaluate(y_true, y_score, engine=engine, **options).mean_curve
    polygons = polygons_by_loops(y_true.tolist(), y_score.tolist(), weight.tolist())
    total = [int(weight[y_true == c].sum()) for c in range(4)]
    of_pair = {(i, j): total[i] * total[j] if weighting == "prevalence" else 1 for i, j in polygons}
    on_tpr = {(i, j): Fraction(of_pair[i, j] * int(costs[i, j])) for i, j in polygons}
    on_fpr = {(i, j): Fraction(of_pair[i, j] * int(costs[j, i])) for i, j in polygons}
    expected = mean_curve_by_loops(polygons, [Fraction(0), *grid_by_loops(10), Fraction(1)], on_tpr, on_fpr)
    assert_allclose(np.column_stack([curve.fpr, curve.tpr]), np.array(expected, dtype=float), atol=1e-12)
    if on_tpr == on_fpr:
        return
    assert curve.auc == pytest.approx(float(area_by_loops(expected)), abs=1e-12)


@given(drawn=samples, seed=st.integers(0, 1000))
def test_symmetric_costs_weigh_the_areas(drawn, seed):
    y_true, y_score, weight = split(drawn)
    costs = np.random.default_rng(seed).integers(1, 9, (4, 4))
    evaluation = evaluate(y_true, y_score, sample_weight=weight, costs=costs + costs.T, weighting="prevalence")
    polygons = polygons_by_loops(y_true.tolist(), y_score.tolist(), weight.tolist())
    total, expected, weights = [int(weight[y_true == c].sum()) for c in range(4)], 0, 0
    for (i, j), vertices in polygons.items():
        counts = total[i] * total[j] * int(costs[i, j] + costs[j, i])
        expected += counts * area_by_loops([(f, t) for _, t, f in vertices])
        weights += counts
    assert evaluation.mean_auc == pytest.approx(float(expected / weights), abs=1e-12)


@given(drawn=samples, place=st.integers(0, 19), rise=st.integers(1, 5))
def test_raising_a_pair_raises_the_curve(drawn, place, rise):
    """A higher score of a sample in the column of its class raises the polygons of that class, and no other changes."""
    assume(place < len(drawn))
    y_true, y_score, weight = split(drawn)
    higher = y_score.copy()
    higher[place, y_true[place]] += rise
    before, after = (evaluate(y_true, score, sample_weight=weight) for score in (y_score, higher))
    assert after.mean_auc >= before.mean_auc - 1e-12
    assert np.all(after.mean_curve.tpr >= before.mean_curve.tpr - 1e-12)
    assert np.all(after.mean_curve.fpr <= before.mean_curve.fpr + 1e-12)
    areas = before.pairs.auc, after.pairs.auc
    if np.any(areas[1] > areas[0] + 1e-12):
        assert after.mean_auc > before.mean_auc


@given(drawn=samples, seed=st.integers(0, 1000), thresholds=st.sampled_from(["own", "shared"]))
def test_negated_scores_give_the_reflected_curve(drawn, seed, thresholds):
    y_true, y_score, weight = split(drawn)
    options = {"sample_weight": weight, "thresholds": thresholds}
    options["costs"] = np.random.default_rng(seed).integers(1, 9, (4, 4))
    one, other = (evaluate(y_true, sign * y_score, **options) for sign in (1, -1))
    assert_allclose(other.mean_curve.tpr, 1 - one.mean_curve.tpr[::-1], atol=1e-12)
    assert_allclose(other.mean_curve.fpr, 1 - one.mean_curve.fpr[::-1], atol=1e-12)
    assert other.mean_auc == pytest.approx(1 - one.mean_auc, abs=1e-12)


def test_it_is_hand_and_tills_m(engine):
    problem = gaussian_problem(3, 500, 5)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine)
    expected = baselines.hand_till(problem.y_true, problem.y_score)
    assert evaluation.mean_auc == evaluation.mean_curve.auc == evaluation.hand_till
    assert evaluation.mean_auc == pytest.approx(expected, abs=1e-12)
    # The points alone miss what lies between them.
    bare = polyroc.RocCurve(evaluation.mean_curve.fpr, evaluation.mean_curve.tpr)
    assert bare.auc == pytest.approx(expected, abs=1e-3)
    assert bare.auc < expected
    assert evaluation.mean_curve.partial_auc(1) == expected


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_many_pairs_and_single_precision_give_the_same_curve(monkeypatch, single):
    pytest.importorskip("numba")
    from polyroc._core.numba import engine as _numba

    problem = gaussian_problem(1, 3000, 40)
    reference = polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy", weighting="prevalence")
    if single:
        monkeypatch.setattr(_numba, "SINGLE_CELLS", 0)
    found = polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", weighting="prevalence")
    assert_allclose(found.mean_curve.tpr, reference.mean_curve.tpr, atol=1e-7 if single else 1e-12)
    assert_allclose(found.mean_curve.fpr, reference.mean_curve.fpr, atol=2e-7 if single else 1e-12)
    assert found.mean_auc == pytest.approx(reference.mean_auc, abs=1e-12)


@pytest.mark.parametrize("structure", ["centered", "saturated"])
def test_the_structure_does_not_matter(structure):
    problem = gaussian_problem(3, 300, 4)
    one, other = (polyroc.evaluate(problem.y_true, problem.y_score, structure=name) for name in ("rank-one", structure))
    assert_array_equal(one.mean_curve.tpr, other.mean_curve.tpr)
    assert one.mean_auc == other.mean_auc


def test_two_classes_have_one_curve():
    evaluation = polyroc.evaluate([0, 0, 1, 1] * 10, [0.1, 0.4, 0.35, 0.8] * 10)
    assert evaluation.mean_curve is evaluation.curve
    assert evaluation.mean_auc == 0.75
    drawn = evaluation.bootstrap(9, rng=0)
    assert_array_equal(drawn.mean_tpr, drawn.tpr)


def test_sampled_pairs_have_their_own_mean():
    problem = gaussian_problem(0, 600, 12)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=36)
    assert evaluation.mean_auc == evaluation.pairs.auc.mean()
    assert_allclose(evaluation.mean_curve.tpr[1:-1], evaluation.rates.tpr.mean(axis=1), atol=1e-12)


ASKED = [
    {},
    {"weighting": "prevalence"},
    {"thresholds": "shared"},
    {"costs": np.arange(1.0, 17).reshape(4, 4)},
    {"costs": np.add.outer(np.arange(1.0, 5), np.arange(1.0, 5))},
    {"structure": "saturated"},
]


@pytest.mark.parametrize("options", ASKED, ids=lambda asked: "-".join(asked) or "default")
def test_a_replicate_is_the_evaluation_of_its_weights(options, engine):
    """With weights of whole numbers; those of pairs stay as they are in a replicate."""
    problem = gaussian_problem(5, 240, 4)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, **options)
    found = evaluation.fitted.replicates()(np.ones((2, 240)))
    assert found.mean_auc[0] == pytest.approx(evaluation.mean_auc, abs=5e-7)
    assert_allclose(found.mean_tpr[0], evaluation.mean_curve.tpr[1:-1], atol=2e-7)
    assert_allclose(found.mean_fpr[0], evaluation.mean_curve.fpr[1:-1], atol=2e-7)
    if options.get("weighting") != "prevalence":
        weight = np.random.default_rng(0).integers(1, 4, 240).astype(float)
        again = evaluation.fitted.replicates()(weight[None])
        expected = polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=weight, engine=engine, **options)
        assert again.mean_auc[0] == pytest.approx(expected.mean_auc, abs=5e-7)
        assert_allclose(again.mean_tpr[0], expected.mean_curve.tpr[1:-1], atol=2e-7)


def test_the_interval_is_that_of_m_where_it_is_m():
    problem = gaussian_problem(5, 240, 4)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score)
    drawn = evaluation.bootstrap(60, rng=0, influences=True)
    assert_array_equal(drawn.mean_auc, drawn.hand_till)
    for kind in ("logit", "percentile", "basic", "bca"):
        by_mean, by_m = (drawn.confidence_interval(statistic=one, interval=kind) for one in ("mean_auc", "hand_till"))
        assert by_mean == by_m
    asked = {"statistic": "mean_auc", "method": "bootstrap", "n_resamples": 60, "rng": 0}
    assert evaluation.confidence_interval(**asked) == drawn.confidence_interval(statistic="mean_auc")
    by_mean, by_m = (
        evaluation.confidence_interval(statistic=one, method="delong") for one in ("mean_auc", "hand_till")
    )
    assert by_mean == by_m


def test_intervals_and_bands_with_costs():
    problem = gaussian_problem(5, 240, 4)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, costs=np.arange(1.0, 17).reshape(4, 4))
    drawn = evaluation.bootstrap(99, rng=0, influences=True)
    low, high = drawn.confidence_interval(statistic="mean_auc")
    assert low < evaluation.mean_auc < high
    assert (low, high) != drawn.confidence_interval(statistic="hand_till")
    assert drawn.influences.shape == (3, 240)
    assert not np.allclose(drawn.influences[1], drawn.influences[2])
    band = drawn.confidence_band(curve="mean", simultaneous=True)
    assert band.contains(evaluation.mean_curve)
    assert not band.contains(polyroc.RocCurve([0, 0, 1], [0, 1, 1]))
    again = evaluation.confidence_band(curve="mean", simultaneous=True, method="bootstrap", n_resamples=99, rng=0)
    assert_array_equal(again.lower.tpr, band.lower.tpr)
    with pytest.raises(ValueError, match="`statistic` must be 'hand_till' for method='delong'"):
        evaluation.confidence_interval(statistic="mean_auc", method="delong")
    with pytest.raises(ValueError, match="`curve` must be one of"):
        drawn.confidence_band(curve="both")


def test_rates_drawn_around_the_fit_have_no_mean_curve():
    problem = gaussian_problem(5, 240, 4)
    drawn = polyroc.evaluate(problem.y_true, problem.y_score).bootstrap(9, method="parametric-pairs", rng=0)
    assert drawn.mean_auc is drawn.mean_tpr is None
    with pytest.raises(ValueError, match="`curve` must be 'shared' for method='parametric-pairs'"):
        drawn.confidence_band(curve="mean")
    with pytest.raises(ValueError, match="`statistic` must be 'auc'"):
        drawn.confidence_interval(statistic="mean_auc")


def test_groups_that_lose_a_class_have_a_mean_of_the_others():
    problem = gaussian_problem(5, 240, 4)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy")
    weight = (problem.y_true != 2).astype(float)
    found = Replicates(evaluation.fitted.prepared, evaluation.fitted.pairs, evaluation.fitted.options)(weight[None])
    assert found.lost_class[0]
    rest = evaluate(problem.y_true[weight > 0], problem.y_score[weight > 0])
    assert found.mean_auc[0] == pytest.approx(rest.mean_auc, abs=1e-12)
    assert_allclose(found.mean_tpr[0], rest.mean_curve.tpr[1:-1], atol=1e-12)


def two_models():
    problem = gaussian_problem(2, 300, 3)
    noise = np.random.default_rng(1).normal(size=problem.y_score.shape)
    return problem.y_true, {"good": problem.y_score, "noisy": problem.y_score + noise}


@pytest.mark.parametrize(("costs", "n_rows"), [(None, 4), ([[0, 9, 1], [1, 0, 1], [2, 1, 0]], 6)])
def test_a_table_has_rows_of_it_where_it_is_not_hand_and_tills_m(costs, n_rows):
    pytest.importorskip("pandas")
    assert (
        len(polyroc.compare(*two_models(), method="bootstrap", n_resamples=9, rng=0, costs=costs).to_frame()) == n_rows
    )


def test_models_are_compared_by_it():
    plain = polyroc.compare(*two_models(), method="bootstrap", n_resamples=99, rng=0)
    assert plain.by_mean_auc.statistic == "mean_auc"
    assert plain.by_mean_auc.differences == plain.by_hand_till.differences
    costs = [[0, 9, 1], [1, 0, 1], [2, 1, 0]]
    costly = polyroc.compare(*two_models(), method="bootstrap", n_resamples=99, rng=0, costs=costs)
    [difference] = costly.by_mean_auc.differences
    values = [evaluation.mean_auc for evaluation in costly.evaluations.values()]
    assert difference.value == pytest.approx(values[0] - values[1], abs=1e-15)
    assert difference != costly.by_hand_till.differences[0]
    assert costly.to_dict()["mean_auc"]["estimates"][0]["value"] == values[0]


def test_the_cost_sweep_carries_it():
    problem = gaussian_problem(2, 300, 3)
    sweep = polyroc.cost_sweep(problem.y_true, problem.y_score, true_class=1, ratios=[0.1, 1, 10])
    costs = np.ones((3, 3))
    costs[1] = 10
    expected = polyroc.evaluate(problem.y_true, problem.y_score, costs=costs)
    assert sweep.mean_auc[2] == expected.mean_auc
    assert sweep.mean_auc[1] == expected.hand_till
    assert_array_equal(sweep.mean_curves[2].tpr, expected.mean_curve.tpr)


def test_costs_move_the_mean_curve_of_a_classifier_without_information():
    """Of the paper's cost experiment: with one threshold for both columns an expensive class moves all points."""
    rng = np.random.default_rng(0)
    y_true = np.repeat([0, 1, 2], [600, 100, 100])
    y_score = np.tile([0.75, 0.125, 0.125], (800, 1)) + 1e-3 * rng.normal(size=(800, 3))
    areas = []
    for c in (0.1, 1, 10):
        costs = np.ones((3, 3))
        costs[0, :], costs[:, 0] = c, 1 / c
        areas.append(polyroc.evaluate(y_true, y_score, costs=costs, thresholds="shared").mean_auc)
    assert areas[0] < 0.3
    assert areas[1] == pytest.approx(0.5, abs=0.05)
    assert areas[2] > 0.7


def test_it_is_in_the_plain_data():
    evaluation = polyroc.evaluate(*[getattr(gaussian_problem(0, 90, 3), name) for name in ("y_true", "y_score")])
    record = evaluation.to_dict()
    assert record["mean_auc"] == evaluation.hand_till
    assert record["mean_curve"] == {
        "fpr": evaluation.mean_curve.fpr.tolist(),
        "tpr": evaluation.mean_curve.tpr.tolist(),
    }


def test_evaluations_do_not_ask_for_it(monkeypatch):
    """It takes the pairwise areas, which nobody needs for D."""

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("polyroc._core.reference.pairwise_areas", refuse)
    y_true = np.arange(30) % 3
    # A D above 1/2: below, M is asked for to see whether the columns are in the wrong order.
    problem = Problem(y_true, np.random.default_rng(0).normal(size=(30, 3)) + np.eye(3)[y_true], {})
    assert 0.5 < polyroc.auc_score(problem.y_true, problem.y_score) < 1
