"""The corner of ROC curves on log axes: rates where they belong, straight lines bent, nothing at rates of 0."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import check_layout, evaluation_of, problem
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import polyroc
from polyroc import RocCurve
from polyroc.display import RocCurveDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def curve(*points):
    fpr, tpr = np.array([(0, 0), *points, (1, 1)], dtype=float).T
    return RocCurve(fpr=fpr, tpr=tpr)


def pixel(display, fpr, tpr):
    return display.ax_.transData.transform((fpr, tpr))


def test_better_is_up_and_left_and_decades_are_equally_long():
    display = RocCurveDisplay(curve=curve((0.002, 0.99))).plot(scale="corner")
    display.figure_.canvas.draw()
    across = [pixel(display, rate, 0.5)[0] for rate in (0.001, 0.01, 0.1, 1)]
    up = [pixel(display, 0.5, rate)[1] for rate in (0, 0.9, 0.99, 0.999)]
    assert_allclose(np.diff(across), np.diff(across)[0], rtol=1e-9)
    assert_allclose(np.diff(up), np.diff(up)[0], rtol=1e-9)
    # A square frame with the same decades on both axes.
    assert np.diff(across)[0] == pytest.approx(np.diff(up)[0], rel=0.01)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["100 %", "10 %", "1 %", "0.1 %"]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["99.9 %", "99 %", "90 %", "0 %"]
    check_layout(display)


def test_lines_are_straight_in_rates_and_not_on_the_log_axes():
    held = curve((0.001, 0.5), (0.02, 0.999))
    display = RocCurveDisplay(curve=held).plot(scale="corner")
    fpr, tpr = display.line_.get_data()
    # Every point is on the polygon of the curve, by its own formula.
    on_first = np.isclose(tpr, 500 * fpr)
    on_second = np.isclose(tpr, 0.5 + 0.499 / 0.019 * (fpr - 0.001))
    on_third = np.isclose(tpr, 0.999 + 0.001 / 0.98 * (fpr - 0.02))
    assert np.all(on_first | on_second | on_third)
    inside = (fpr > 1e-5) & (tpr < 1 - 1e-5)
    steps = np.hypot(np.diff(np.log10(fpr[inside])), np.diff(np.log10(1 - tpr[inside])))
    assert steps.max() < 0.06
    # The middle of the second line in logarithms is far from the one in rates.
    middle = np.interp(np.sqrt(0.001 * 0.02), fpr, tpr)
    assert middle == pytest.approx(0.5 + 0.499 / 0.019 * (np.sqrt(0.001 * 0.02) - 0.001), abs=1e-3)


@pytest.mark.parametrize(
    ("points", "lowest"),
    [
        # Half of the positives are found at an FPR of 0.00004 or above.
        ([(0.00004, 0.6), (0.1, 0.95)], 1e-5),
        ([(0.03, 0.8)], 1e-2),
        ([(0.004, 0.9)], 1e-3),
        # What is beyond a TPR of 1/2 or an FPR of 1/2 counts; the ends do not.
        ([(1e-9, 0.01), (0.003, 0.9)], 1e-3),
        ([(1e-9, 0.9)], 1e-5),
        # A rate of 0 has no logarithm.
        ([(0, 0.7), (0.0004, 0.9)], 1e-4),
        ([(0, 1)], 1e-2),
    ],
)
def test_the_range_is_chosen_by_the_curves(points, lowest):
    ax = RocCurveDisplay(curve=curve(*points)).plot(scale="corner").ax_
    assert ax.get_xlim()[0] == pytest.approx(lowest)
    assert 1 - ax.get_ylim()[1] == pytest.approx(lowest)


def test_points_at_zero_leave_the_frame():
    display = RocCurveDisplay(curve=curve((0, 0.7), (0.01, 0.9), (0.2, 1))).plot(scale="corner")
    display.figure_.canvas.draw()
    frame = display.ax_.get_window_extent()
    path = display.line_.get_transform().transform(display.line_.get_xydata())
    fpr, tpr = display.line_.get_data()
    assert np.all(path[fpr == 0, 0] < frame.x0)
    assert np.all(path[tpr == 1, 1] > frame.y1)
    assert np.isfinite(path).all()


def test_bands_pairs_and_chance_are_drawn_there():
    evaluation = evaluation_of(3, n=600, strength=3.0)
    drawn = evaluation.bootstrap(29, rng=0)
    held = RocCurveDisplay.from_evaluation(
        evaluation, band=drawn.confidence_band(), mean_band=drawn.confidence_band(curve="mean")
    )
    display = held.plot(scale="corner", pairs=True, plot_chance_level=True)
    for polygon, band in ((display.band_, held.band), (display.mean_band_, held.mean_band)):
        corners = polygon.get_xy()
        for side in (band.lower, band.upper):
            for point in np.column_stack([side.fpr, side.tpr]):
                assert np.abs(corners - point).sum(axis=1).min() < 1e-12
    assert len(display.pairs_.get_segments()) == 6
    fpr, tpr = display.chance_level_.get_data()
    assert_allclose(fpr, tpr, atol=1e-15)
    assert len(fpr) > 100
    check_layout(display)


def test_the_square_stays_the_default():
    evaluation = evaluation_of(3)
    display = evaluation.plot()
    assert display.ax_.get_xscale() == "linear"
    assert_array_equal(display.line_.get_data(), [evaluation.curve.fpr, evaluation.curve.tpr])
    assert evaluation.plot(scale="corner").ax_.get_xscale() == "log"


def test_a_second_curve_widens_the_range_and_another_scale_is_refused():
    ax = Figure().add_subplot()
    RocCurveDisplay(curve=curve((0.004, 0.9))).plot(ax, scale="corner")
    RocCurveDisplay(curve=curve((0.00004, 0.9))).plot(ax, scale="corner")
    assert ax.get_xlim()[0] == pytest.approx(1e-5)
    RocCurveDisplay(curve=curve((0.1, 0.9))).plot(ax, scale="corner")
    assert ax.get_xlim()[0] == pytest.approx(1e-5)
    with pytest.raises(polyroc.InputError, match="`scale` must be 'corner', as that of the curves in these axes"):
        RocCurveDisplay(curve=curve((0.1, 0.9))).plot(ax)
    ax.clear()
    RocCurveDisplay(curve=curve((0.1, 0.9))).plot(ax)
    assert ax.get_xscale() == "linear"
    with pytest.raises(polyroc.InputError, match="`scale` must be 'square'"):
        RocCurveDisplay(curve=curve((0.1, 0.9))).plot(ax, scale="corner")
    with pytest.raises(polyroc.InputError, match="`scale` must be one of 'square', 'corner', 'logit', got 'log'"):
        RocCurveDisplay(curve=curve((0.1, 0.9))).plot(scale="log")


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("size", [(3.3, 2.5), (6.4, 4.8)])
def test_labels_have_room(style, size):
    with plt.style.context(style), plt.rc_context({"figure.figsize": size, "font.size": 8 if size[0] < 4 else 10}):
        check_layout(RocCurveDisplay(curve=curve((0.00002, 0.9), (0.001, 0.9999))).plot(scale="corner"))


def test_all_ways_in_take_it():
    ax = Figure().add_subplot()
    assert RocCurveDisplay.from_predictions(*problem(3), ax=ax, scale="corner").ax_.get_xscale() == "log"


def test_of_two_curves_the_one_that_is_better_there_is_higher():
    # Best below an FPR of 0.1 %, worst above 1 %, as the square cannot show.
    careful, bold = curve((1e-6, 0.992)), curve((0.001, 0.9), (0.002, 0.999))
    display = RocCurveDisplay(curve=careful).plot(scale="corner")
    RocCurveDisplay(curve=bold).plot(display.ax_, scale="corner")
    for rate, first in ((0.0005, careful), (0.02, bold)):
        second = bold if first is careful else careful
        heights = [pixel(display, rate, one.tpr_at(rate))[1] for one in (first, second)]
        assert heights[0] > heights[1] + 10
