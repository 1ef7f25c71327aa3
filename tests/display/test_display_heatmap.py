"""Tables of pairs in colours: the right number in the right cell, and names that can be read."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import AWKWARD_NAMES, check_layout, evaluation_of, problem
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

import polyroc
from polyroc.display import PairwiseHeatmapDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("value", ["auc", "effect"])
@pytest.mark.parametrize("k", [2, 3, 20])
def test_each_cell_holds_its_pair(k, value):
    evaluation = evaluation_of(k)
    display = PairwiseHeatmapDisplay.from_evaluation(evaluation, value=value).plot()
    pairs = evaluation.pairs
    shown = display.im_.get_array()
    place = {label: position for position, label in enumerate(display.labels)}
    for positive, negative, number in zip(pairs.positive, pairs.negative, getattr(pairs, value), strict=True):
        assert shown[place[positive], place[negative]] == number
    assert np.count_nonzero(~np.isnan(display.values)) == len(pairs)
    assert np.isnan(np.diag(display.values)).all()
    assert (display.ax_.get_ylabel(), display.ax_.get_xlabel()) == ("positive class", "negative class")


def test_few_classes_keep_their_order_and_many_are_clustered():
    assert PairwiseHeatmapDisplay.from_evaluation(evaluation_of(5)).labels == tuple(f"c{c:02d}" for c in range(5))
    y_true, y_score = problem(20, n=400)
    # Even and odd classes are two groups, within which classes are mistaken for each other.
    codes = np.array([int(label[1:]) for label in y_true])
    y_score[np.arange(20) % 2 != codes[:, None] % 2] -= 3
    evaluation = polyroc.evaluate(y_true, y_score)
    order = [int(label[1:]) % 2 for label in PairwiseHeatmapDisplay.from_evaluation(evaluation).labels]
    assert sorted(order) in (order, order[::-1])
    given = PairwiseHeatmapDisplay.from_evaluation(evaluation, order="given")
    assert given.labels == tuple(f"c{c:02d}" for c in range(20))
    # Laid side by side, areas and effects have the same rows.
    both = [PairwiseHeatmapDisplay.from_evaluation(evaluation, value=value).labels for value in ("auc", "effect")]
    assert both[0] == both[1] != given.labels


def test_numbers_are_written_where_there_is_room():
    small = PairwiseHeatmapDisplay.from_evaluation(evaluation_of(3)).plot()
    written = {tuple(text.get_position()[::-1]): text.get_text() for text in small.text_}
    assert written == {
        (i, j): f"{small.values[i, j]:.2f}".replace("0.", ".") for i in range(3) for j in range(3) if i != j
    }
    assert PairwiseHeatmapDisplay.from_evaluation(evaluation_of(50)).plot().text_ == []


def test_no_number_in_a_cell_says_perfect_of_what_is_not():
    values = [[np.nan, 0.9951, 1.0], [0.99996, np.nan, 0.934], [0.0, 0.00001, np.nan]]
    display = PairwiseHeatmapDisplay(values=values, labels=["a", "b", "c"]).plot()
    shown = {tuple(text.get_position()[::-1]): text.get_text() for text in display.text_}
    assert shown == {(0, 1): ".995", (0, 2): "1", (1, 0): ">.999", (1, 2): ".93", (2, 0): "0", (2, 1): "<.001"}


def test_long_names_stay_different_also_where_the_font_lacks_them():
    labels = [f"a class with a long common beginning, {end}" for end in ("male", "female")]
    labels += ["\u4e2d\u6587", "\u65e5\u672c"]
    display = PairwiseHeatmapDisplay(values=np.where(np.eye(4) == 1, np.nan, 0.9), labels=labels).plot()
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len(set(shown)) == 4
    assert shown[2:] == ["??", "?? (2)"]
    check_layout(display)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_numbers_and_hard_pairs_stand_out(style):
    with plt.style.context(style):
        display = PairwiseHeatmapDisplay.from_evaluation(evaluation_of(5)).plot()
        display.figure_.canvas.draw()

    def grey(colour):
        return float(np.dot(mpl.colors.to_rgb(colour), [0.3, 0.6, 0.1]))

    cells = {(text.get_position()[1], text.get_position()[0]): text for text in display.text_}
    colour = {at: display.im_.cmap(display.im_.norm(display.values[at])) for at in cells}
    assert min(abs(grey(cells[at].get_color()) - grey(colour[at])) for at in cells) > 0.3
    background = grey(display.ax_.get_facecolor())
    away = {at: abs(grey(colour[at]) - background) for at in cells}
    assert max(away, key=away.get) == min(cells, key=lambda at: display.values[at])


@pytest.mark.parametrize("k", [3, 10, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("size", [(3.3, 3), (6.4, 4.8)])
def test_no_text_upon_other_text(k, size):
    with plt.rc_context({"figure.figsize": size}):
        check_layout(PairwiseHeatmapDisplay.from_evaluation(evaluation_of(k)).plot())
    figure = Figure(figsize=size, layout="constrained")
    check_layout(PairwiseHeatmapDisplay.from_evaluation(evaluation_of(k)).plot(figure.add_subplot()))


def test_names_are_text():
    y_true, y_score = problem(len(AWKWARD_NAMES))
    codes = np.unique(y_true, return_inverse=True)[1]
    names = np.array(AWKWARD_NAMES, dtype=object)
    evaluation = polyroc.evaluate(names[codes], y_score, labels=names)
    display = PairwiseHeatmapDisplay.from_evaluation(evaluation).plot()
    check_layout(display)
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown[0] == r"\$a^\$"
    assert shown[2] == "two?lines"
    assert max(map(len, shown)) <= 30
    assert not any(map(mpl.cbook.is_math_text, shown))


def test_thinned_names_stay_with_their_rows():
    display = PairwiseHeatmapDisplay.from_evaluation(evaluation_of(50)).plot(Figure(figsize=(3, 3)).add_subplot())
    ticks = display.ax_.get_yticks()
    assert 5 < len(ticks) < 50
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [display.labels[int(t)] for t in ticks]


def test_subfigures_are_drawn_into():
    parts = Figure(figsize=(8, 4), layout="constrained").subfigures(1, 2)
    display = PairwiseHeatmapDisplay.from_evaluation(evaluation_of(4)).plot(parts[1].add_subplot())
    assert display.figure_ is parts[1]
    assert len(display.ax_.get_yticks()) == 4


def test_pairs_left_out_stay_blank():
    y_true, y_score = problem(20, n=400)
    evaluation = polyroc.evaluate(y_true, y_score, max_pairs=60)
    display = PairwiseHeatmapDisplay.from_evaluation(evaluation).plot()
    assert np.count_nonzero(~np.isnan(display.values)) == len(evaluation.pairs) <= 60
    display.figure_.canvas.draw()


def test_constant_scores_have_one_colour():
    y_true, y_score = problem(4)
    display = PairwiseHeatmapDisplay.from_evaluation(polyroc.evaluate(y_true, 0 * y_score)).plot()
    low, high = display.im_.get_clim()
    assert low < 0.5 < high
    check_layout(display)


def test_wrong_words_are_refused():
    with pytest.raises(ValueError, match="`value` must be one of 'auc', 'effect'"):
        PairwiseHeatmapDisplay.from_evaluation(evaluation_of(3), value="area")
    with pytest.raises(ValueError, match="`order` must be one of"):
        PairwiseHeatmapDisplay.from_evaluation(evaluation_of(3), order="alphabetical")
    with pytest.raises(ValueError, match="`values` must have a row and a column"):
        PairwiseHeatmapDisplay(values=np.eye(3), labels=["a", "b"])


def test_numbers_held_cannot_be_changed():
    display = PairwiseHeatmapDisplay(values=[[np.nan, 1], [0.5, np.nan]], labels=["a", "b"])
    with pytest.raises(ValueError, match="read-only"):
        display.values[0, 1] = 0
    assert_array_equal(display.values, [[np.nan, 1], [0.5, np.nan]])
