"""ROC curves on logit axes: where rates belong, what the fit is there, and the frame that others must fit."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import check_layout, evaluation_of, problem
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.special import expit, logit

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


def test_rates_stand_by_their_logits():
    display = RocCurveDisplay(curve=curve((0.002, 0.6), (0.3, 0.995))).plot(scale="logit")
    display.figure_.canvas.draw()
    rates = np.array([0.002, 0.01, 0.2, 0.5, 0.8, 0.99, 0.998])
    for axis in (0, 1):
        pixels = display.ax_.transData.transform(np.column_stack([rates, rates]))[:, axis]
        steps = np.diff(pixels) / np.diff(logit(rates))
        assert_allclose(steps, steps[0], rtol=1e-9)
    ticks = ["0.1 %", "1 %", "10 %", "50 %", "90 %", "99 %", "99.9 %"]
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ticks
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ticks
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == pytest.approx((0.001, 0.999))
    check_layout(display)


def test_each_pair_of_the_fit_is_the_shared_curve_stretched():
    """What the paper's first plot shows: pairs differ in how far they are from the middle, and in nothing else."""
    evaluation = evaluation_of(4, n=400)
    display, fit = evaluation.plot(scale="logit", curves="shared"), evaluation.factorization
    at = display.ax_.transData.transform
    middle = at((0.5, 0.5))
    effects = np.stack(np.split(fit.row_effects, 2))
    tp, fp = effects[:, np.abs(effects).max(axis=0) < 20]  # beyond that the curve has rates of 0 and 1
    assert len(tp) > 50
    shared = at(np.column_stack([expit(fp), expit(tp)])) - middle
    drawn = at(display.line_.get_xydata()) - middle
    for point in shared:
        assert np.abs(drawn - point).sum(axis=1).min() < 1e-6
    for effect in fit.pair_effects:
        pair = at(np.column_stack([expit(effect * fp), expit(effect * tp)])) - middle
        assert_allclose(pair, effect * shared, atol=1e-6 * np.abs(shared).max())


def test_lines_are_straight_in_rates_at_both_ends():
    held = curve((0.001, 0.7), (0.4, 0.9999))
    display = RocCurveDisplay(curve=held).plot(scale="logit")
    fpr, tpr = display.line_.get_data()
    assert_allclose(tpr, held.tpr_at(fpr), atol=1e-12)
    inside = (np.minimum(fpr, tpr) > 1e-5) & (np.maximum(fpr, tpr) < 1 - 1e-5)
    assert np.hypot(np.diff(logit(fpr[inside])), np.diff(logit(tpr[inside]))).max() < 0.3


def test_rates_of_0_and_1_leave_the_frame():
    display = RocCurveDisplay(curve=curve((0, 0.7), (0.01, 0.9), (0.2, 1))).plot(scale="logit")
    display.figure_.canvas.draw()
    frame = display.ax_.get_window_extent()
    path = display.line_.get_transform().transform(display.line_.get_xydata())
    fpr, tpr = display.line_.get_data()
    assert np.all(path[fpr == 0, 0] < frame.x0)
    assert np.all(path[tpr == 1, 1] > frame.y1)
    assert np.isfinite(path).all()


def test_chance_is_the_diagonal_of_the_frame():
    display = RocCurveDisplay(curve=curve((0.1, 0.8))).plot(scale="logit", plot_chance_level=True)
    fpr, tpr = display.chance_level_.get_data()
    assert_allclose(fpr, tpr, atol=1e-15)
    assert len(fpr) > 200


def test_another_scale_in_the_same_axes_is_refused():
    ax = Figure().add_subplot()
    RocCurveDisplay(curve=curve((0.004, 0.9))).plot(ax, scale="logit")
    RocCurveDisplay(curve=curve((0.00004, 0.9))).plot(ax, scale="logit")
    assert ax.get_xlim()[0] == pytest.approx(1e-5)
    for other in ("square", "corner"):
        with pytest.raises(polyroc.InputError, match=f"`scale` must be 'logit', as that .* got '{other}'"):
            RocCurveDisplay(curve=curve((0.1, 0.9))).plot(ax, scale=other)
    ax.clear()
    RocCurveDisplay(curve=curve((0.1, 0.9))).plot(ax)
    assert ax.get_xscale() == "linear"


@pytest.mark.parametrize("size", [(3.3, 2.5), (6.4, 4.8)])
def test_labels_have_room(size):
    with plt.rc_context({"figure.figsize": size, "font.size": 8 if size[0] < 4 else 10}):
        display = RocCurveDisplay(curve=curve((0.00002, 0.9), (0.001, 0.9999))).plot(scale="logit")
        assert "50 %" in [text.get_text() for text in display.ax_.get_xticklabels()]
        check_layout(display)


def test_all_ways_in_take_it():
    ax = Figure().add_subplot()
    assert RocCurveDisplay.from_predictions(*problem(3), ax=ax, scale="logit").ax_.get_xscale() == "logit"
    assert evaluation_of(3).plot(scale="logit", pairs=True).ax_.get_yscale() == "logit"
