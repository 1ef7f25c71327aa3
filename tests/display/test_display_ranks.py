"""Leaderboards: bars from the best to the worst rank, best model on top."""

import matplotlib.pyplot as plt
import pytest
from drawing import AWKWARD_NAMES, check_layout
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from polyroc import RankInterval, RankIntervals
from polyroc.display import RankDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def ranked(names):
    """Every model may change places with its neighbours; given from the worst to the best."""
    count = len(names)
    return RankIntervals(
        "auc",
        0.95,
        tuple(
            RankInterval(name, 0.9 - 0.001 * rank, rank, max(1, rank - 1), min(count, rank + 1))
            for rank, name in zip(range(count, 0, -1), names, strict=True)
        ),
    )


def row_names(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_models_are_sorted_and_bars_are_the_intervals():
    display = RankDisplay(ranks=ranked(list("abcdef"))).plot()
    assert row_names(display) == list("fedcba")
    # A bar reaches 0.35 beyond both of its ranks.
    assert_allclose([bar.get_x() + 0.35 for bar in display.bars_], [1, 1, 2, 3, 4, 5])
    assert_allclose([bar.get_x() + bar.get_width() - 0.35 for bar in display.bars_], [2, 3, 4, 5, 6, 6])
    assert list(display.line_.get_xdata()) == [1, 2, 3, 4, 5, 6]
    assert [text.get_text() for text in display.ax_.texts][:2] == ["0.8990", "0.8980"]
    assert display.ax_.get_xlabel() == "rank by D\n(dot: as measured; bars: 95 % together)"
    colours = [bar.get_facecolor() for bar in display.bars_]
    assert colours[0] == colours[1] != colours[2]  # two may be the best
    assert 1 in display.ax_.get_xticks()
    assert max(display.ax_.get_xticks()) <= 6
    low, high = display.ax_.get_xlim()
    assert low <= 0.65
    assert high >= 6.35


@pytest.mark.parametrize("count", [2, 3, 12, 40])
def test_layout_with_few_and_many_models(count):
    display = RankDisplay(ranks=ranked([f"model {m}" for m in range(count)])).plot()
    check_layout(display)
    assert len(display.bars_) == count
    # What is said of each model stays inside the figure.
    box = display.figure_.bbox
    for text in display.ax_.texts:
        extent = text.get_window_extent()
        assert box.x0 <= extent.x0
        assert extent.x1 <= box.x1 + 1


def test_long_and_awkward_names_stay_different():
    long = [f"experiment-2024/resnet50_with_augmentation_and_mixup_run{m}" for m in range(12)]
    display = RankDisplay(ranks=ranked(long)).plot()
    check_layout(display)
    assert len(set(row_names(display))) == 12
    assert max(map(len, row_names(display))) <= 30
    awkward = RankDisplay(ranks=ranked(list(AWKWARD_NAMES))).plot()
    check_layout(awkward)


def test_axes_of_the_user_and_the_frame():
    ax = Figure().add_subplot()
    display = RankDisplay(ranks=ranked(list("abc"))).plot(ax, despine=False)
    assert display.ax_ is ax
    assert ax.spines["right"].get_visible()
