"""`Comparison.plot`: the curves of all models in the same axes, and the other views by their names."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import AWKWARD_NAMES, check_layout, problem
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import polyroc
from polyroc.display import ComparisonDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def compared(names, k=3, **options):
    y_true, y_score = problem(k, n=240)
    noise = np.random.default_rng(1).normal(size=(len(names), *y_score.shape))
    scores = {name: y_score + 0.5 * place * noise[place] for place, name in enumerate(names)}
    return polyroc.compare(y_true, scores, **options or {"method": "bootstrap", "n_resamples": 29, "rng": 0})


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_draws_the_curves_of_all_models():
    comparison = compared(["good", "poor"])
    display = comparison.plot()
    assert isinstance(display, ComparisonDisplay)
    evaluations = list(comparison.evaluations.values())
    held = [one.curve for one in evaluations] + [one.mean_curve for one in evaluations]
    for line, curve in zip(display.artists_, held, strict=True):
        assert_array_equal(line.get_data(), [curve.fpr, curve.tpr])
    first, second, *_ = display.artists_
    assert first.get_color() != second.get_color()
    estimate = comparison.by_auc.estimates[0]
    assert f"D {estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]" in " ".join(legend_of(display))
    assert [patch for patch in display.ax_.patches if len(patch.get_xy()) > 10]
    check_layout(display)


def test_bands_are_those_of_the_resamples_and_can_be_left_out():
    comparison = compared(["good", "poor"])
    bands = comparison.plot(curves="shared").ax_.patches
    assert len(bands) == 2
    for band, drawn in zip(bands, comparison.bootstraps.values(), strict=True):
        lower = drawn.confidence_band().lower
        assert_array_equal(band.get_xy()[: len(lower.fpr)], np.column_stack([lower.fpr, lower.tpr]))
    assert not comparison.plot(band=False).ax_.patches


def test_without_resamples_bands_come_from_influences_and_from_the_groups():
    y_true, y_score = problem(3, n=240)
    groups = np.arange(240) // 4
    scores = {"a": y_score, "b": y_score + np.random.default_rng(0).normal(size=y_score.shape)}
    comparison = polyroc.compare(y_true, scores, method="influence", groups=groups)
    expected = comparison.evaluations["a"].confidence_band(method="influence", groups=groups).lower
    band = comparison.plot(curves="shared").ax_.patches[0].get_xy()
    assert_allclose(band[: len(expected.fpr)], np.column_stack([expected.fpr, expected.tpr]), atol=1e-12)


@pytest.mark.filterwarnings("ignore:The two columns")
def test_two_classes_by_influences_have_curves_without_bands():
    display = compared(["a", "b"], k=2, method="influence").plot(scale="corner")
    assert len(display.artists_) == 2
    assert not display.ax_.patches


def test_of_more_than_four_models_the_shared_curves_are_drawn():
    names = [f"model {m}" for m in range(5)]
    comparison = compared(names, method="influence")
    assert len(comparison.plot(band=False).artists_) == 5
    assert len(comparison.plot(band=False, curves="both").artists_) == 10


@pytest.mark.parametrize("kind", ["box", "ridge", "differences", "rankings"])
def test_the_other_views_are_those_of_the_display(kind):
    comparison = compared(["good", "poor"])
    ax = Figure().add_subplot()
    display = comparison.plot(ax, kind=kind, statistic="hand_till")
    other = ComparisonDisplay.from_comparison(comparison).plot(Figure().add_subplot(), kind=kind, statistic="hand_till")
    assert display.ax_ is ax
    assert ax.get_xlabel() == other.ax_.get_xlabel()
    assert ax.get_xlim() == other.ax_.get_xlim()
    assert len(display.artists_) == len(other.artists_)


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["square", "corner", "logit"])
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_names_are_text_and_have_room(scale, style):
    with plt.style.context(style):
        display = compared(AWKWARD_NAMES[:4], method="influence").plot(scale=scale)
        check_layout(display)


def test_wrong_words_are_refused_and_a_display_without_curves_says_so():
    comparison = compared(["a", "b"])
    with pytest.raises(polyroc.InputError, match=r"`kind` must be one of 'curves', 'box', .* got 'curve'"):
        comparison.plot(kind="curve")
    with pytest.raises(polyroc.InputError, match="`scale` must be one of"):
        comparison.plot(scale="log")
    held = ComparisonDisplay.from_comparison(comparison)
    bare = ComparisonDisplay(by_auc=held.by_auc, by_hand_till=held.by_hand_till, spreads=held.spreads)
    with pytest.raises(polyroc.InputError, match="`kind` must not be 'curves'"):
        bare.plot(kind="curves")
