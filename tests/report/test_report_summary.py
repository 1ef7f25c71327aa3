"""The dict behind `--json` and the report: the library's numbers, plain, and nothing resampled for it."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from parts import Uncertainty
from report_pages import comparison_of, evaluation_of

import polyroc
from polyroc.report import render_html, summarize

# What `--json` printed before there was a report.
OF_EVALUATION = {"auc", "hand_till", "n_samples", "labels", "class_counts", "curve", "pairs", "fit", "options"}
OF_EVALUATION |= {"confidence_interval", "hand_till_interval", "n_resamples", "seed", "source", "warnings", "version"}
OF_COMPARISON = {"models", "confidence_level", "interval", "n_resamples", "n_not_converged", "n_lost_class", "auc"}
OF_COMPARISON |= {
    "hand_till",
    "n_samples",
    "labels",
    "class_counts",
    "options",
    "seed",
    "source",
    "warnings",
    "version",
}


@pytest.fixture(scope="module")
def evaluation():
    return evaluation_of(5)


@pytest.fixture(scope="module")
def drawn(evaluation):
    return evaluation.bootstrap(49, rng=0)


def test_an_evaluation_has_the_numbers_of_the_library(evaluation, drawn):
    summary = summarize(
        evaluation, bootstrap=drawn, confidence_level=0.9, seed=7, source={"file": "a"}, warnings=["careful"]
    )
    assert set(summary) >= OF_EVALUATION
    assert summary["auc"] == evaluation.auc
    assert summary["hand_till"] == evaluation.hand_till
    interval = drawn.confidence_interval(0.9)
    assert (summary["confidence_interval"]["low"], summary["confidence_interval"]["high"]) == interval
    assert summary["hand_till_interval"]["high"] == drawn.confidence_interval(0.9, statistic="hand_till").high
    assert summary["pairs"] == evaluation.pairs.to_dict()
    assert summary["curve"]["tpr"] == evaluation.curve.tpr.tolist()
    assert summary["options"] == evaluation.fitted.options.to_dict()
    assert (summary["n_resamples"], summary["seed"]) == (49, 7)
    assert summary["source"] == {"file": "a"}
    assert summary["warnings"] == ["careful"]
    assert summary["versions"]["numpy"] == np.__version__
    assert summary["versions"]["polyroc"] == summary["version"] == polyroc.__version__


def test_a_comparison_has_the_numbers_of_the_library_and_of_each_model():
    comparison = comparison_of()
    summary = summarize(comparison, seed=0)
    assert set(summary) >= OF_COMPARISON
    assert summary["auc"] == json.loads(json.dumps(comparison.to_dict()["auc"]))
    assert list(summary["evaluations"]) == ["first", "second", "third"]
    for name, evaluation in comparison.evaluations.items():
        alone = summarize(evaluation, bootstrap=comparison.bootstraps[name])
        part = summary["evaluations"][name]
        for key in ("auc", "hand_till", "curve", "band", "pairs", "pair_curves", "auc_by_thresholds", "fit"):
            assert part[key] == alone[key], key
        assert part["confidence_interval"] == alone["confidence_interval"]
        assert part["hand_till_interval"] == alone["hand_till_interval"]


def test_it_is_plain_data(evaluation, drawn):
    for summary in (summarize(evaluation, bootstrap=drawn), summarize(comparison_of()), summarize(evaluation_of(2))):
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_numbers_that_json_does_not_have_become_none(evaluation):
    summary = summarize(evaluation, source={"weights": [1.0, float("nan"), float("inf")]})
    assert summary["source"]["weights"] == [1.0, None, None]


def test_nothing_is_resampled(evaluation, monkeypatch):
    def no(*_, **__):
        pytest.fail("resampled")

    monkeypatch.setattr(Uncertainty, "resampled", no)
    summary = summarize(evaluation)
    assert (summary["n_resamples"], summary["method"]) == (0, "influence")
    assert summary["confidence_interval"]["low"] == evaluation.confidence_interval().low
    # The curve of two classes has no band by influences.
    assert summarize(evaluation_of(2))["band"] is None
    summary = summarize(evaluation, include_intervals=False)
    assert summary["confidence_interval"] is summary["hand_till_interval"] is summary["band"] is None


def test_call_rates_are_those_of_the_grid(evaluation):
    assert_allclose(summarize(evaluation)["curve"]["call_rate"], [0, *evaluation.rates.call_rates, 1], atol=1e-12)
    binary = evaluation_of(2)
    assert_allclose(summarize(binary)["curve"]["call_rate"], [0, *binary.rates.call_rates, 1], atol=1e-12)


def test_the_band_is_that_of_the_replicates(evaluation, drawn):
    band = drawn.confidence_band(0.9)
    found = summarize(evaluation, bootstrap=drawn, confidence_level=0.9)["band"]
    assert found["level"] == 0.9
    for side, curve in (("lower", band.lower), ("upper", band.upper)):
        assert_allclose(found[side]["fpr"], curve.fpr, atol=1e-5)
        assert_allclose(found[side]["tpr"], curve.tpr, atol=1e-5)


@pytest.mark.parametrize("engine", ["numpy", "auto"])
@pytest.mark.parametrize("thresholds", ["own", "shared"])
def test_pair_curves_are_those_of_the_worst_pairs(thresholds, engine):
    evaluation = evaluation_of(16, options={"thresholds": thresholds, "engine": engine})
    curves, areas = summarize(evaluation, include_intervals=False)["pair_curves"], evaluation.pairs.auc
    assert len(curves["pair"]) == 200
    assert_array_equal(areas[curves["pair"]], np.sort(areas)[:200])
    assert_allclose(np.transpose(curves["fpr"]), evaluation.rates.fpr[:, curves["pair"]], atol=1e-5)
    assert_allclose(np.transpose(curves["tpr"]), evaluation.rates.tpr[:, curves["pair"]], atol=1e-5)


def test_a_fine_grid_does_not_make_long_pair_curves():
    curves = summarize(evaluation_of(3, options={"n_thresholds": 999}), include_intervals=False)["pair_curves"]
    assert len(curves["call_rate"]) == len(curves["tpr"][0]) == 113
    assert (curves["call_rate"][0], curves["call_rate"][-1]) == (0.001, 0.999)


def test_the_operating_point_lies_on_the_curve(evaluation):
    curve, point = evaluation.curve, summarize(evaluation)["operating_point"]
    after = int(np.argmax(curve.fpr > point["fpr"]))
    share = (point["fpr"] - curve.fpr[after - 1]) / (curve.fpr[after] - curve.fpr[after - 1])
    assert point["tpr"] == pytest.approx(curve.tpr[after - 1] + share * (curve.tpr[after] - curve.tpr[after - 1]))


def test_what_pairs_find_is_read_off_their_own_polygons(evaluation):
    rates, found = evaluation.rates, []
    for pair in range(rates.n_pairs):
        fpr, tpr = [0.0, *rates.fpr[:, pair], 1.0], [0.0, *rates.tpr[:, pair], 1.0]
        after = next(place for place, rate in enumerate(fpr) if rate > 0.05)
        share = (0.05 - fpr[after - 1]) / (fpr[after] - fpr[after - 1])
        found.append(tpr[after - 1] + share * (tpr[after] - tpr[after - 1]))
    pairs = summarize(evaluation)["operating_point"]["pairs"]
    assert pairs == pytest.approx({"mean": np.mean(found), "low": min(found), "high": max(found)})
    assert summarize(evaluation_of(2))["operating_point"]["pairs"] is None


def test_costs_of_pairs_are_there_where_costs_are(evaluation):
    assert summarize(evaluation)["pair_costs"] is None
    costs = np.ones((5, 5))
    costs[0, 1] = 9
    found = np.array(summarize(evaluation_of(5, options={"costs": costs}))["pair_costs"])
    # A true 0 predicted as 1 is a miss in the pair (0, 1) and a false alarm in the pair (1, 0): half of each cost.
    assert_allclose(found / found.min(), [5 if {*pair} == {0, 1} else 1 for pair in permutations(range(5), 2)])


def test_heatmaps_show_every_class_once_and_of_very_many_the_hardest():
    assert summarize(evaluation_of(2))["heatmap_classes"] is None
    assert summarize(evaluation_of(2))["heatmap_tree"] is None
    order = summarize(evaluation_of(20, n=600), include_intervals=False)["heatmap_classes"]
    assert sorted(order) == list(range(20))
    # Classes 0 and 1 are mistaken for each other, so they stand side by side.
    assert abs(order.index(0) - order.index(1)) == 1
    evaluation = evaluation_of(160, n=640)
    mean = [
        evaluation.pairs.auc[(evaluation.fitted.pairs.positive == c) | (evaluation.fitted.pairs.negative == c)].mean()
        for c in range(160)
    ]
    assert sorted(summarize(evaluation, include_intervals=False)["heatmap_classes"]) == sorted(np.argsort(mean)[:100])


def test_a_heatmap_of_which_hardly_a_cell_is_known_is_left_out():
    known, blank = (
        summarize(evaluation_of(20, options={"max_pairs": pairs}), include_intervals=False) for pairs in (200, 40)
    )
    assert len(known["heatmap_classes"]) == 20
    assert blank["heatmap_classes"] is blank["heatmap_tree"] is None


def test_parametric_replicates_have_no_interval_of_m(evaluation):
    summary = summarize(evaluation, bootstrap=evaluation.bootstrap(19, method="parametric-samples", rng=0))
    assert summary["confidence_interval"]["method"] == "parametric-samples"
    assert summary["hand_till_interval"] is None


def test_what_does_not_go_together_is_refused(evaluation, drawn):
    comparison = comparison_of(k=3, n_resamples=9)
    with pytest.raises(ValueError, match=r"`result` must be an Evaluation or a Comparison, got float"):
        summarize(0.5)
    with pytest.raises(ValueError, match=r"`bootstrap` must be None for a Comparison"):
        summarize(comparison, bootstrap=drawn)
    with pytest.raises(ValueError, match=r"`confidence_level` must be that of the Comparison, 0\.95, or left out"):
        summarize(comparison, confidence_level=0.9)
    with pytest.raises(ValueError, match=r"`confidence_level` must be between 0 and 1"):
        summarize(evaluation, confidence_level=95)
    with pytest.raises(ValueError, match=r"`bootstrap` must be what `Evaluation\.bootstrap` gave, got int"):
        summarize(evaluation, bootstrap=999)
    with pytest.raises(ValueError, match=r"`bootstrap` must be of the same evaluation"):
        summarize(evaluation_of(5, seed=1), bootstrap=drawn)
    assert summarize(comparison, confidence_level=0.95)["confidence_level"] == 0.95


def test_groups_are_told(evaluation, drawn):
    groups = np.arange(evaluation.n_samples) // 2
    by_groups = evaluation.bootstrap(9, groups=groups, rng=0)
    assert summarize(evaluation, bootstrap=by_groups)["by_groups"] is True
    assert summarize(evaluation, bootstrap=drawn)["by_groups"] is False
    assert "whole groups resampled" in render_html(summarize(evaluation, bootstrap=by_groups))


def test_the_seed_is_that_of_the_resamples_unless_another_is_given(evaluation, drawn):
    comparison = comparison_of(3)
    truth = np.tile(np.eye(3), (20, 1))
    scores = {name: truth + np.random.default_rng(seed).normal(size=(60, 3)) for seed, name in enumerate("ab")}
    known = polyroc.compare([0, 1, 2] * 20, scores, method="bootstrap", n_resamples=9, rng=17)
    assert summarize(known)["seed"] == 17
    assert summarize(comparison)["seed"] == comparison.seed
    assert summarize(evaluation, bootstrap=drawn)["seed"] == 0
    assert summarize(evaluation, bootstrap=drawn, seed=5)["seed"] == 5
    assert summarize(evaluation)["seed"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": 3}, r"`source` must be a mapping such as \{'file': 'predictions\.csv'\}, got 3"),
        ({"source": np.eye(2)}, r"`source` must be a mapping"),
        ({"source": [("file", "a.csv")]}, r"`source` must be a mapping"),
        ({"source": {"file": Path("a.csv")}}, r"`source` must hold text, numbers, lists and dicts, .*, got \{'file'"),
        ({"warnings": 1.0}, r"`warnings` must be a sequence of text, got 1\.0"),
        ({"warnings": "one text"}, r"`warnings` must be a sequence of text, got 'one text'"),
        ({"warnings": ["a", 3]}, r"`warnings` must be a sequence of text, got \['a', 3\]"),
        ({"warnings": None}, r"`warnings` must be a sequence of text, got None"),
        ({"seed": -1}, r"`seed` must be a non-negative integer, got -1"),
        ({"seed": np.random.default_rng(0)}, r"`seed` must be a non-negative integer, got Generator"),
    ],
)
def test_what_is_told_must_be_plain(evaluation, options, message):
    with pytest.raises(ValueError, match=message):
        summarize(evaluation, **options)


def test_a_seed_of_numpy_can_be_written(evaluation, drawn):
    for seed in (np.int64(3), np.uint8(3)):
        assert json.loads(json.dumps(summarize(evaluation, bootstrap=drawn, seed=seed)))["seed"] == 3
