"""Cost sweeps: each point is an evaluation with these costs; and their pictures."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from drawing import AWKWARD_NAMES, check_layout, problem
from numpy.testing import assert_allclose, assert_array_equal

import polyroc
from polyroc._core.rates import rates_of
from polyroc.display import CostSweepDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def swept(k=4, **arguments):
    return polyroc.cost_sweep(*problem(k), **{"true_class": "c01", "predicted_class": "c02", **arguments})


def test_each_ratio_is_an_evaluation_with_that_cost():
    y_true, y_score = problem(4)
    sweep = swept(ratios=[10, 0.1, 1])
    assert_array_equal(sweep.ratios, [0.1, 1, 10])
    for ratio, area in zip(sweep.ratios, sweep.auc, strict=True):
        costs = np.ones((4, 4))
        costs[1, 2] = ratio
        assert area == polyroc.auc_score(y_true, y_score, costs=costs)
    assert len(set(sweep.auc)) == 3


def test_any_other_class_and_usual_costs():
    y_true, y_score = problem(4)
    usual = np.random.default_rng(0).uniform(1, 5, size=(4, 4))
    sweep = swept(predicted_class=None, costs=usual, ratios=[7.0], weighting="prevalence", shrinkage=2.0)
    costs = usual.copy()
    costs[1] *= 7
    assert sweep.auc == polyroc.auc_score(y_true, y_score, costs=costs, weighting="prevalence", shrinkage=2.0)
    assert "any other class" in repr(sweep)


def test_rates_are_computed_once_for_all_ratios(monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return rates_of(*arguments)

    monkeypatch.setattr("polyroc.evaluation._evaluate.rates_of", counted)
    assert len(swept().auc) == 9
    assert len(calls) == 1


def test_a_sample_of_pairs_is_the_same_at_all_ratios():
    asked = {"k": 12, "max_pairs": 36, "ratios": [1, 1 + 1e-12]}
    for rng in (np.random.default_rng(3), None):
        first, second = swept(rng=rng, **asked).auc
        assert first == pytest.approx(second, abs=1e-9)
    alike = [swept(rng=np.random.default_rng(3), **asked).auc for _ in range(2)]
    assert_array_equal(*alike)


def test_nine_ratios_by_default():
    assert swept().ratios == pytest.approx(10.0 ** np.arange(-2, 2.5, 0.5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"true_class": "c9"}, "`true_class` must be one of the classes"),
        ({"predicted_class": "c9"}, "`predicted_class` must be one of the classes"),
        ({"predicted_class": "c01"}, "`predicted_class` must be another class"),
        ({"ratios": [0.0, 1.0]}, "`ratios` must be one or more finite positive numbers"),
        ({"ratios": []}, "`ratios` must be one or more"),
        ({"ratios": 5}, "`ratios` must be an array, a list, a series or a data frame, got int"),
        ({"ratios": 10**400}, "`ratios` must be an array, a list"),
        ({"ratios": [1, 10**400]}, "`ratios` must hold real numbers, got objects"),
        ({"ratios": ["a"]}, "`ratios` must hold real numbers, got text"),
        ({"ratios": [[1, 2]]}, "`ratios` must be one or more finite positive numbers"),
        ({"ratios": np.ma.array([1.0, 2.0], mask=[True, False])}, "`ratios` must not be a masked array"),
        ({"ratios": [1e-13, 1]}, "`ratios` must keep all costs within a ratio of 1e.12 of each other, got 1e-13"),
        ({"ratios": [1e308], "costs": np.full((4, 4), 1e10)}, "`ratios` must keep all costs within a ratio"),
        ({"true_class": np.array(["c01", "c02"])}, "`true_class` must be one of the classes"),
        ({"predicted_class": ["c01", "c02"]}, "`predicted_class` must be one of the classes"),
        ({"true_class": pl.LazyFrame({"a": [1]})}, "`true_class` must be one of the classes"),
        ({"predicted_class": pl.LazyFrame({"a": [1]})}, "`predicted_class` must be one of the classes"),
        ({"true_class": object()}, "`true_class` must be one of the classes"),
        ({"k": 2}, "`y_score` must have at least three columns"),
    ],
)
def test_what_cannot_be_swept_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        swept(**arguments)


def test_a_class_without_samples_is_refused():
    y_true, y_score = problem(4)
    with pytest.warns(UserWarning, match="No samples"), pytest.raises(ValueError, match="must have samples"):
        polyroc.cost_sweep(
            y_true[y_true != "c01"], y_score[y_true != "c01"], true_class="c01", labels=np.unique(y_true)
        )


def test_draws_the_areas_that_it_holds():
    sweep = swept()
    display = CostSweepDisplay.from_sweep(sweep).plot()
    assert_array_equal(display.lines_[0].get_data(), [sweep.ratios, sweep.auc])
    assert_array_equal(display.lines_[1].get_data(), [sweep.ratios, sweep.mean_auc])
    assert [line.get_linestyle() for line in display.lines_] == ["-", "--"]
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert shown == ["D, shared curve", "area, mean of pairs"]
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel().startswith("cost of predicting c01 as c02")
    check_layout(display)


def test_draws_the_curves_that_it_holds():
    sweep = swept()
    display = CostSweepDisplay.from_sweep(sweep).plot(kind="curves")
    for line, curve in zip(display.lines_, sweep.curves, strict=True):
        assert_array_equal(line.get_data(), [curve.fpr, curve.tpr])
    assert len({line.get_color() for line in display.lines_}) == 9
    check_layout(display)


def test_intervals_are_those_of_an_evaluation_at_each_ratio():
    y_true, y_score = problem(4, n=400)
    sweep = polyroc.cost_sweep(y_true, y_score, true_class="c01", ratios=[0.1, 10], confidence_level=0.9)
    assert (sweep.confidence_level, sweep.interval_note) == (0.9, "")
    for place, ratio in enumerate(sweep.ratios):
        costs = np.ones((4, 4))
        costs[1] *= ratio
        alone = polyroc.evaluate(y_true, y_score, costs=costs)
        asked = {"method": "influence", "confidence_level": 0.9}
        assert_allclose(sweep.intervals[place], alone.confidence_interval(**asked), rtol=1e-12)
        of_mean = alone.confidence_interval(statistic="mean_auc", **asked)
        assert_allclose(sweep.mean_intervals[place], of_mean, rtol=1e-12)
    # By another road: replicates of resampled samples spread about as far.
    width = np.diff(alone.confidence_interval(0.9, method="bootstrap", n_resamples=199, rng=0))
    assert np.diff(sweep.intervals[-1]) == pytest.approx(width, rel=0.25)


def test_without_a_level_there_are_no_intervals():
    sweep = swept(ratios=[1.0])
    assert (sweep.intervals, sweep.mean_intervals, sweep.confidence_level) == (None, None, None)
    assert CostSweepDisplay.from_sweep(sweep).plot().bands_ == []
    with pytest.raises(ValueError, match="`confidence_level` must be"):
        swept(confidence_level=95)


def test_where_no_formula_holds_d_has_a_gap_and_the_mean_has_none():
    sweep = swept(ratios=[1.0, 2.0], confidence_level=0.95, structure="centered")
    assert np.isnan(sweep.intervals).all()
    assert np.isfinite(sweep.mean_intervals).all()
    assert sweep.interval_note == "the centered structure has no formula"
    CostSweepDisplay.from_sweep(sweep).plot().figure_.canvas.draw()


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_bands_are_the_intervals_of_the_sweep(style):
    with plt.style.context(style):
        sweep = swept(confidence_level=0.9)
        display = CostSweepDisplay.from_sweep(sweep).plot()
        for band, ends in zip(display.bands_, (sweep.intervals, sweep.mean_intervals), strict=True):
            corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
            for ratio, (low, high) in zip(sweep.ratios, ends, strict=True):
                assert {(ratio, low), (ratio, high)} <= corners
        assert display.ax_.get_ylabel() == "area under the curve\n(90 % intervals)"
        check_layout(display)
    bare = CostSweepDisplay.from_sweep(sweep).plot(bands=False)
    assert (bare.bands_, bare.ax_.get_ylabel()) == ([], "area under the curve")
    assert CostSweepDisplay.from_sweep(sweep).plot(kind="curves").bands_ == []


@pytest.mark.parametrize("kind", ["auc", "curves"])
@pytest.mark.parametrize("ratios", [[1.0], [0.1, 10.0]])
def test_in_a_column_of_a_paper(kind, ratios):
    with plt.rc_context({"figure.figsize": (3.3, 2.5), "font.size": 8}):
        check_layout(CostSweepDisplay.from_sweep(swept(ratios=ratios)).plot(kind=kind))


@pytest.mark.parametrize("kind", ["auc", "curves"])
@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_names_are_text(kind, name):
    y_true, y_score = problem(3)
    labels = [name, "c01", "c02"]
    y_true = np.array(labels, dtype=object)[np.unique(y_true, return_inverse=True)[1]]
    sweep = polyroc.cost_sweep(y_true, y_score, labels=labels, true_class=name, predicted_class="c01", ratios=[0.5, 2])
    display = CostSweepDisplay.from_sweep(sweep).plot(kind=kind)
    check_layout(display)
    texts = [ax.get_xlabel() + ax.get_ylabel() for ax in display.figure_.axes]
    assert not any(map(mpl.cbook.is_math_text, texts))
    assert any("cost of predicting" in text and "as c01\n" in text for text in texts)


def test_a_wrong_word_is_refused():
    with pytest.raises(ValueError, match="`kind` must be one of 'auc', 'curves'"):
        CostSweepDisplay.from_sweep(swept(ratios=[1.0])).plot(kind="areas")
