"""Costs against a ratio, and a decision's confusion matrix: numbers where they belong, names that can be read."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import AWKWARD_NAMES, check_layout
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import polyroc
from polyroc.display import ConfusionDisplay, CostProfileDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def made(n, k, seed=0, strength=1.2, names=None):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    z = rng.normal(size=(n, k))
    z[np.arange(n), codes] += strength
    p = np.exp(z)
    names = [f"c{c:02d}" for c in range(k)] if names is None else names
    return np.array(names)[codes], p / p.sum(axis=1, keepdims=True), names


def profile_of(names=None, ratios=(0.1, 1, 10), models=("first", "second"), **options):
    scores = {}
    for place, model in enumerate(models):
        y_true, scores[model], labels = made(90, 3, seed=place, names=names)
    family = polyroc.CostRatios(labels[1], labels[0], ratios=ratios)
    return polyroc.cost_profile(y_true, scores, costs=family, labels=labels, **options)


def test_lines_and_bands_are_those_of_the_profile():
    profile = profile_of()
    display = CostProfileDisplay.from_profile(profile).plot()
    low, high = profile.low_by_matrix, profile.high_by_matrix
    for place, (line, band) in enumerate(zip(display.lines_, display.bands_, strict=True)):
        assert_array_equal(line.get_xdata(), [0.1, 1, 10])
        assert_array_equal(line.get_ydata(), profile.cost_by_matrix[place])
        corners = band.get_paths()[0].vertices
        assert_allclose([corners[:, 1].min(), corners[:, 1].max()], [low[place].min(), high[place].max()])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["first", "second"]
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "cost of predicting c01 as c00\n(multiple of its cost at 1)"
    assert display.ax_.get_ylabel() == "expected cost per sample\n(95 % intervals)"
    styles = {(line.get_color(), line.get_linestyle()) for line in display.lines_}
    assert len(styles) == 2
    check_layout(display)


def test_without_bands_and_without_a_predicted_class():
    y_true, p, _ = made(60, 3)
    profile = polyroc.cost_profile(y_true, {"a": p, "b": p[:, ::-1]}, costs=polyroc.CostRatios("c02", ratios=[2, 4]))
    display = CostProfileDisplay.from_profile(profile).plot(Figure().add_subplot(), bands=False)
    assert display.bands_ == []
    assert display.ax_.get_ylabel() == "expected cost per sample"
    assert display.ax_.get_xlabel().startswith("cost of predicting c02 as another\n")
    # No ratio of 1, so no line there.
    assert len(display.ax_.get_lines()) == 2


def test_costs_far_apart_get_a_log_axis():
    narrow, wide = profile_of(), profile_of(ratios=[1, 1000], rule=("argmax", "bayes"))
    assert CostProfileDisplay.from_profile(narrow).plot().ax_.get_yscale() == "linear"
    assert CostProfileDisplay.from_profile(wide).plot().ax_.get_yscale() == "log"
    assert CostProfileDisplay.from_profile(wide).plot(yscale="linear").ax_.get_yscale() == "linear"
    with pytest.raises(polyroc.InputError, match="`yscale` must be one of 'auto', 'linear', 'log', got 'symlog'"):
        CostProfileDisplay.from_profile(wide).plot(yscale="symlog")


def test_three_rules_from_predictions():
    y_true, p, _ = made(60, 3)
    costs = polyroc.CostRatios("c02", ratios=[0.5, 2])
    display = CostProfileDisplay.from_predictions(y_true, p, costs=costs, n_folds=2, ax=Figure().add_subplot())
    told = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert told == ["highest score", "Bayes' rule", "tuned offsets"]
    assert [one.rule for one in display.profile.models] == ["argmax", "bayes", "tuned"]
    for r, matrix in enumerate(display.profile.costs):
        rules = {one.rule: one.cost for one in polyroc.decide(y_true, p, matrix, n_folds=2).rules}
        found = [line.get_ydata()[r] for line in display.lines_]
        assert_allclose(found, [rules[name] for name in ("argmax", "bayes", "tuned")])
    with pytest.raises(polyroc.InputError, match=r"`costs` must be a CostRatios, .* got list"):
        CostProfileDisplay.from_predictions(y_true, p, costs=[1 - np.eye(3)])


def test_profiles_without_a_ratio_are_refused():
    y_true, p, _ = made(60, 3)
    profile = polyroc.cost_profile(y_true, {"a": p, "b": p}, costs=[[[0, 1, 2], [3, 0, 1], [1, 1, 0]]])
    with pytest.raises(polyroc.InputError, match=r"`profile` must be of costs=CostRatios\(...\)"):
        CostProfileDisplay.from_profile(profile)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_awkward_names_are_drawn_as_they_are(style):
    names = [*AWKWARD_NAMES[:3]] if len(AWKWARD_NAMES) >= 3 else ["$a^$", "_b", "c" * 80]
    with plt.style.context(style):
        profile = profile_of(names=names, models=("_hidden", "a model " + "x" * 70))
        display = CostProfileDisplay.from_profile(profile).plot()
        display.figure_.canvas.draw()
        assert len(display.ax_.get_legend().get_texts()) == 2
        y_true, p, labels = made(90, 3, names=names)
        decision = polyroc.decide(y_true, p, [[0, 1, 2], [3, 0, 1], [1, 5, 0]], rule="bayes", labels=labels)
        ConfusionDisplay.from_decision(decision).plot().figure_.canvas.draw()


def test_cells_hold_shares_of_rows_and_numbers():
    y_true, p, labels = made(150, 3)
    decision = polyroc.decide(y_true, p, [[0, 1, 2], [3, 0, 1], [1, 5, 0]], rule="bayes")
    display = ConfusionDisplay.from_decision(decision).plot()
    assert_array_equal(display.im_.get_array(), decision.confusion / decision.confusion.sum(axis=1, keepdims=True))
    written = {tuple(text.get_position()[::-1]): text.get_text() for text in display.text_}
    for i in range(3):
        for j in range(3):
            share, number = written[i, j].split("\n")
            assert number == f"{decision.confusion[i, j]:g}"
            assert share == f"{100 * decision.confusion[i, j] / 50:.0f} %"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("predicted", "true class")
    assert display.ax_.get_title() == "Bayes' rule"
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == labels
    check_layout(display)


def test_large_counts_are_written_whole():
    confusion = np.array([[123456.0, 1234.0], [7.0, 0.123456]])
    display = ConfusionDisplay(confusion=confusion, labels=["a", "b"]).plot()
    written = {tuple(text.get_position()[::-1]): text.get_text().split("\n")[1] for text in display.text_}
    assert written == {(0, 0): "123,456", (0, 1): "1,234", (1, 0): "7", (1, 1): "0.1235"}


@pytest.mark.parametrize("k", [3, 20])
def test_column_of_abstentions_stands_apart(k):
    y_true, p, _ = made(20 * k, k)
    rng = np.random.default_rng(0)
    costs = rng.uniform(0.5, 2, (k, k)) * (1 - np.eye(k))
    decision = polyroc.decide(y_true, p, costs, rule="bayes", reject_cost=0.5)
    display = ConfusionDisplay.from_decision(decision).plot()
    assert display.im_.get_array().shape == (k, k + 1)
    assert display.ax_.get_xticklabels()[-1].get_text() == "abstained"
    assert "abstained" not in [text.get_text() for text in display.ax_.get_yticklabels()]
    assert display.ax_.get_xlim() == (-0.5, k + 0.5)
    assert display.ax_.get_ylim() == (k - 0.5, -0.5)
    assert display.ax_.get_lines()[0].get_xdata()[0] == k - 0.5
    check_layout(display)


def test_many_classes_leave_out_what_has_no_room():
    rng = np.random.default_rng(0)
    labels = [f"a class of a register of many, number {c}" for c in range(60)]
    display = ConfusionDisplay(confusion=rng.integers(0, 2000, (60, 60)), labels=labels).plot()
    assert display.text_ == []
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert len(set(names)) == len(names)
    middle = ConfusionDisplay(confusion=np.diag(np.full(20, 100)), labels=list(range(20))).plot()
    # Empty cells stay empty.
    assert [text.get_text().split("\n")[0] for text in middle.text_] == ["100 %"] * 20


def test_no_cell_says_all_or_none_where_it_is_not():
    display = ConfusionDisplay(confusion=[[9999, 1], [0, 5]], labels=["a", "b"]).plot()
    shares = [text.get_text().split("\n")[0] for text in display.text_]
    assert shares == [">99.9 %", "<0.1 %", "100 %"]


def test_classes_without_samples_have_an_empty_row():
    display = ConfusionDisplay(confusion=[[3, 1], [0, 0]], labels=["a", "b"]).plot()
    assert_array_equal(display.shares, [[0.75, 0.25], [0, 0]])


@pytest.mark.parametrize(
    ("confusion", "words"),
    [
        (np.ones((2, 4)), r"`confusion` must have a row for each of the 2 labels, .* got shape \(2, 4\)"),
        (np.ones((3, 3)), "`confusion` must have a row for each of the 2 labels"),
        ([[1, -1], [0, 2]], "`confusion` must be finite and not negative"),
        ([[1, np.nan], [0, 2]], "`confusion` must be finite and not negative"),
    ],
)
def test_other_matrices_are_refused(confusion, words):
    with pytest.raises(polyroc.InputError, match=words):
        ConfusionDisplay(confusion=confusion, labels=["a", "b"])


def test_text_in_cells_can_be_read_on_light_and_dark():
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            display = ConfusionDisplay(confusion=[[90, 10], [45, 55]], labels=["a", "b"]).plot()
            for text in display.text_:
                column, row = text.get_position()
                under = display.im_.cmap(display.im_.norm(display.shares[row, column]))
                light, dark = (np.dot(mpl.colors.to_rgb(one), [0.3, 0.6, 0.1]) for one in (under, text.get_color()))
                assert abs(light - dark) > 0.35
