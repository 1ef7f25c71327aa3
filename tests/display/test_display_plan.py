"""The picture of a plan: its numbers are the plan's, and long names fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyroc
from polyroc.display import PlanDisplay

plt = pytest.importorskip("matplotlib.pyplot")

LONG = (
    "gradient boosting with 500 trees of depth 6 and a learning rate of 0.01, seed 1",
    "gradient boosting with 500 trees of depth 6 and a learning rate of 0.01, seed 2",
)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y_true = np.repeat([0, 1, 2], [60, 50, 40])
    y_score = rng.normal(size=(150, 3)) + np.eye(3)[y_true]
    return y_true, y_score, y_score + 0.5 * rng.normal(size=(150, 3))


@pytest.fixture
def by_width(samples):
    return polyroc.plan(polyroc.evaluate(*samples[:2]), half_width=0.03)


@pytest.fixture
def by_power(samples):
    scores = dict(zip(LONG, samples[1:], strict=True))
    return polyroc.plan(polyroc.compare(samples[0], scores, method="influence"), detect=0.02)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_the_curve_is_the_half_width_and_the_plan_is_on_it(by_width):
    display = by_width.plot()
    totals, heights = display.line_.get_data()
    assert isinstance(display, PlanDisplay)
    for place in (0, 77, -1):
        assert heights[place] == by_width.half_width_at(totals[place])
    for mark, point in ((display.current_, by_width.current), (display.planned_, by_width.planned)):
        assert mark.get_data() == ([point.n_samples], [point.half_width])
    planned = by_width.planned
    assert np.interp(planned.n_samples, totals, heights) == pytest.approx(planned.half_width, rel=0.01)
    # The curve is what 80 % of studies reach, and the pilot is one study.
    assert np.interp(150, totals, heights) > 1.02 * by_width.current.half_width
    assert totals[0] <= 75
    assert totals[-1] >= by_width.n_samples
    ax = display.ax_
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "samples")
    assert ax.get_ylabel() == "half width of the 95 % interval\nof D"
    assert ax.get_title() == ""
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == "at most, in 80 % of studies"
    assert labels[2] == f"planned: {by_width.n_samples:,} samples, {by_width.half_width:.2g}"


def test_power_goes_from_0_to_1_and_names_both_models(by_power):
    display = by_power.plot(despine=True)
    totals, heights = display.line_.get_data()
    assert_allclose(heights[100], by_power.power_at(totals[100]))
    assert display.ax_.get_ylim()[0] == 0
    assert display.ax_.get_ylabel() == "power to detect a difference of 0.02\nin D"
    assert not display.ax_.spines["top"].get_visible()
    assert display.ax_.get_legend().get_texts()[2].get_text().endswith(" samples, 80 %")
    first, _, second = display.ax_.get_title().partition(" and ")
    assert first != second
    # As wide as the axes at most.
    display.figure_.draw_without_rendering()
    title, axes = display.ax_.title.get_window_extent(), display.ax_.get_window_extent()
    assert title.width <= axes.width


def test_the_estimate_goes_through_the_pilot(samples):
    plan = polyroc.plan(polyroc.evaluate(*samples[:2]), half_width=0.03, assurance=None)
    display = plan.plot()
    assert np.interp(150, *display.line_.get_data()) == pytest.approx(plan.current.half_width, rel=0.01)
    assert len(display.ax_.get_legend().get_texts()) == 2


def test_the_range_can_be_chosen(by_width):
    display = by_width.plot(n_samples=(30, 10_000))
    totals = display.line_.get_xdata()
    assert_allclose([totals[0], totals[-1]], [30, 10_000])
    for wrong in ((1, 100), (100, 50), 7, "ab", (100, float("inf"))):
        with pytest.raises(polyroc.InputError, match="`n_samples` must be two numbers of at least 6, the smaller one"):
            by_width.plot(n_samples=wrong)
