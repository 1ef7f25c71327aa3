"""Models beside each other: replicates, differences and rankings as they are held."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import AWKWARD_NAMES, check_layout, problem
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import polyroc
from polyroc import Contest, ModelEstimate, Ranking
from polyroc.display import ComparisonDisplay

KINDS = ("box", "ridge", "differences", "rankings")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def compared(names, n_resamples=49, k=3):
    """Models that differ less and less."""
    y_true, y_score = problem(k)
    noise = np.random.default_rng(1).normal(size=(len(names), *y_score.shape))
    scores = {name: y_score + 0.5 * place * noise[place] for place, name in enumerate(names)}
    return polyroc.compare(y_true, scores, method="bootstrap", n_resamples=n_resamples, rng=0)


@pytest.fixture(scope="module")
def comparison():
    return compared(["good", "fair", "poor"])


@pytest.fixture
def display(comparison):
    return ComparisonDisplay.from_comparison(comparison)


def row_names(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


@pytest.mark.parametrize("kind", KINDS)
def test_models_without_resamples_are_drawn_from_their_normal_distribution(kind):
    y_true, y_score = problem(3)
    noise = np.random.default_rng(1).normal(size=y_score.shape)
    found = polyroc.compare(y_true, {"good": y_score, "fair": y_score + 0.5 * noise})
    assert found.method == "influence"
    display = ComparisonDisplay.from_comparison(found).plot(kind=kind)
    if kind == "box":
        assert display.ax_.get_xlabel().startswith("D, normal distribution by influences\n")
        # Half of a normal distribution lies within 0.674 standard errors.
        quartiles = [spread.quantiles for spread in display.spreads["auc"].values()]
        for entry, (_, low, middle, high, _) in zip(found.by_auc.estimates, quartiles, strict=True):
            assert middle == pytest.approx(entry.value, abs=0.05 * entry.standard_error)
            assert (high - low) / 2 == pytest.approx(0.6745 * entry.standard_error, rel=0.1)


def test_resamples_are_counted_in_the_label(display):
    assert display.plot(kind="box").ax_.get_xlabel().startswith("D of 49 resamples\n")


@pytest.mark.parametrize("statistic", ["auc", "hand_till"])
def test_boxes_are_quantiles_of_the_replicates(comparison, display, statistic):
    display.plot(kind="box", statistic=statistic)
    for box, drawn in zip(display.artists_, comparison.bootstraps.values(), strict=True):
        quartiles = np.percentile(getattr(drawn, statistic), [25, 75])
        assert_allclose([box.get_x(), box.get_x() + box.get_width()], quartiles, rtol=1e-12)
    assert row_names(display) == ["good", "fair", "poor"]


@pytest.mark.parametrize("kind", ["box", "ridge"])
def test_the_other_statistic_is_a_triangle_below_its_row_and_no_outlier(comparison, display, kind):
    for statistic, other in (("auc", "hand_till"), ("hand_till", "auc")):
        ax = display.plot(kind=kind, statistic=statistic).ax_
        [marks] = [line for line in ax.get_lines() if line.get_marker() not in ("None", "", None)]
        expected = [estimate.value for estimate in getattr(comparison, f"by_{other}").estimates]
        assert_array_equal(marks.get_xdata(), expected)
        assert marks.get_marker() == "^"
        # Rows are counted downwards, and no box, whisker or ridge of a row is lower than a quarter below its middle.
        assert (marks.get_ydata() - np.arange(3) >= (0.3 if kind == "box" else 0.1)).all()
        assert "triangle" in ax.get_xlabel()
        assert ("M, Hand and Till" in ax.get_xlabel()) == (statistic == "auc")


def test_densities_are_those_of_scipy(comparison, display):
    for model, drawn in comparison.bootstraps.items():
        spread = display.spreads["auc"][model]
        middle_half = stats.iqr(drawn.auc) / 1.34
        width = 0.9 * min(np.std(drawn.auc, ddof=1), middle_half) * len(drawn.auc) ** -0.2
        kernel = stats.gaussian_kde(drawn.auc, width / np.std(drawn.auc, ddof=1))
        assert_allclose(spread.density, kernel(spread.at), rtol=1e-6)
        assert np.trapezoid(spread.density, spread.at) == pytest.approx(1, abs=0.01)


def test_densities_stay_between_0_and_1_and_lose_nothing():
    rng = np.random.default_rng(0)
    y_true = np.arange(90) % 3
    scores = {name: np.eye(3)[y_true] + spread * rng.normal(size=(90, 3)) for name, spread in (("a", 0.3), ("b", 0.35))}
    comparison = polyroc.compare(y_true, scores, method="bootstrap", n_resamples=199, rng=0)
    for spread in ComparisonDisplay.from_comparison(comparison).spreads["auc"].values():
        width = np.std(spread.replicates, ddof=1)
        assert spread.replicates.max() > 1 - width  # so near to the end that kernels reach beyond it
        assert spread.at.min() >= 0
        assert spread.at.max() <= 1
        assert np.trapezoid(spread.density, spread.at) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("statistic", ["auc", "hand_till"])
def test_differences_have_their_intervals(comparison, display, statistic):
    display.plot(kind="differences", statistic=statistic)
    entries = getattr(comparison, f"by_{statistic}").differences
    for artist, entry in zip(display.artists_, entries, strict=True):
        [[[low, _], [high, _]]] = artist.lines[2][0].get_segments()
        assert_allclose([low, high], [entry.low, entry.high], rtol=0, atol=1e-12)
        assert artist.lines[0].get_xdata() == [entry.value]
        hollow = mpl.colors.to_rgb(artist.lines[0].get_markerfacecolor()) == mpl.colors.to_rgb("white")
        assert hollow == (entry.low <= 0 <= entry.high)
    assert row_names(display) == [f"{a} - {b}" for a, b in itertools.combinations(("good", "fair", "poor"), 2)]


def test_rankings_beyond_ten_are_summed():
    models = "abcd"
    shares = np.arange(24, 0, -1) / 300
    rankings = tuple(
        Ranking(tuple((model,) for model in order), share)
        for order, share in zip(itertools.permutations(models), shares, strict=True)
    )
    estimates = tuple(ModelEstimate(model, 0.5, 0.1, 0.4, 0.6, 0.25) for model in models)
    contests = [Contest(statistic, estimates, (), rankings) for statistic in ("auc", "hand_till")]
    display = ComparisonDisplay(by_auc=contests[0], by_hand_till=contests[1], spreads={}).plot(kind="rankings")
    assert_allclose([bar.get_width() for bar in display.artists_], [*shares[:10], shares[10:].sum()])
    assert row_names(display)[0] == "a > b > c > d"
    assert row_names(display)[-1] == "others (14)"
    check_layout(display)


def test_ties_are_told():
    comparison = compared(["one", "two"])
    tied = Ranking((("one", "two"),), 1.0)
    contest = Contest("auc", comparison.by_auc.estimates, (), (tied,))
    display = ComparisonDisplay(by_auc=contest, by_hand_till=comparison.by_hand_till, spreads={}).plot(kind="rankings")
    assert row_names(display) == ["one = two"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(3.3, 2.5), (6.4, 4.8)])
@pytest.mark.parametrize("n_models", [2, 6])
def test_no_text_upon_other_text(kind, size, n_models):
    display = ComparisonDisplay.from_comparison(compared([f"a model {m}" for m in range(n_models)], n_resamples=9))
    with plt.rc_context({"figure.figsize": size}):
        check_layout(display.plot(kind=kind))


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_text(kind):
    display = ComparisonDisplay.from_comparison(compared(AWKWARD_NAMES[:5], n_resamples=9)).plot(kind=kind)
    # matplotlib would refuse `$a^$` as a formula here, and warn of glyphs that the font lacks.
    check_layout(display)
    assert any(r"\$a^\$" in name for name in row_names(display))
    assert not any(map(mpl.cbook.is_math_text, row_names(display)))


@pytest.mark.parametrize("kind", KINDS)
def test_replicates_that_never_vary_are_drawn(kind):
    y_true, _ = problem(3)
    truth = (np.unique(y_true) == y_true[:, None]).astype(float)
    with pytest.warns(polyroc.ResamplingWarning, match="replicates equal"):
        comparison = polyroc.compare(
            y_true, {"perfect": truth, "constant": 0 * truth}, method="bootstrap", n_resamples=9, rng=0
        )
    display = ComparisonDisplay.from_comparison(comparison).plot(kind=kind)
    check_layout(display)


def test_four_pictures_in_one_figure(display):
    figure = Figure(figsize=(8, 6), layout="constrained")
    for ax, kind in zip(figure.subplots(2, 2).flat, KINDS, strict=True):
        assert display.plot(ax, kind=kind).ax_ is ax
    check_layout(display)


def test_wrong_words_are_refused(display):
    with pytest.raises(ValueError, match="`kind` must be one of 'curves', 'box', 'ridge', 'differences', 'rankings'"):
        display.plot(kind="violin")
    with pytest.raises(ValueError, match="`statistic` must be one of"):
        display.plot(statistic="D")


@pytest.mark.parametrize("kind", KINDS)
def test_long_names_stay_different(kind):
    names = [f"a gradient boosting machine with depth {depth} and many rounds" for depth in (4, 6, 8)]
    display = ComparisonDisplay.from_comparison(compared(names, n_resamples=9)).plot(kind=kind)
    check_layout(display)
    shown = " ".join(row_names(display))
    for depth in (4, 6, 8):
        assert str(depth) in shown
    assert len(set(row_names(display))) == len(row_names(display))
