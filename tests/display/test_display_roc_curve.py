"""Curves in pictures: the numbers that are held, names as text, and scikit-learn's ways in."""

import builtins
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import AWKWARD_NAMES, check_layout, evaluation_of, problem
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.svm import LinearSVC

import polyroc
from polyroc.display import RocCurveDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.filterwarnings("ignore:The two columns")
@pytest.mark.parametrize("k", [2, 3, 50])
def test_draws_the_curve_that_it_holds(k):
    evaluation = evaluation_of(k)
    display = evaluation.plot()
    fpr, tpr = display.line_.get_data()
    assert_array_equal(fpr, evaluation.curve.fpr)
    assert_array_equal(tpr, evaluation.curve.tpr)
    # Two classes have one pair, and so one curve.
    mean = [] if k == 2 else [f"M {evaluation.hand_till:.3f} (mean of pairs)"]
    assert legend_of(display) == [f"D {evaluation.auc:.3f}", *mean]
    if k > 2:
        assert_array_equal(display.mean_line_.get_data(), [evaluation.mean_curve.fpr, evaluation.mean_curve.tpr])
    assert display.band_ is None
    assert display.chance_level_ is None
    check_layout(display)


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
@pytest.mark.parametrize("scores", ["constant", "perfect", "backwards"])
def test_extreme_scores_are_drawn(scores):
    y_true, _ = problem(3)
    truth = (np.unique(y_true) == y_true[:, None]).astype(float)
    y_score = {"constant": np.zeros_like(truth), "perfect": truth, "backwards": -truth}[scores]
    display = polyroc.evaluate(y_true, y_score).plot()
    expected = {"constant": 0.5, "perfect": 1.0, "backwards": 0.0}[scores]
    # An area within a millionth of an end is said to be above or below, but not to be there.
    assert float(legend_of(display)[0].split()[-1]) == pytest.approx(expected, abs=0.01)
    check_layout(display)


def test_band_and_interval_are_those_given():
    evaluation = evaluation_of(4)
    drawn = evaluation.bootstrap(49, rng=0)
    band, interval = drawn.confidence_band(), drawn.confidence_interval()
    held = RocCurveDisplay.from_evaluation(evaluation, name="model", band=band, interval=interval)
    display = held.plot()
    corners = display.band_.get_xy()
    n_points = len(band.lower.fpr)
    assert_array_equal(corners[:n_points], np.column_stack([band.lower.fpr, band.lower.tpr]))
    assert_array_equal(corners[n_points : 2 * n_points][::-1], np.column_stack([band.upper.fpr, band.upper.tpr]))
    assert legend_of(display)[0] == f"model (D {evaluation.auc:.3f} [{interval.low:.3f}, {interval.high:.3f}])"
    assert held.plot(band=False).band_ is None


def test_from_predictions_draws_what_the_steps_would():
    y_true, y_score = problem(4)
    display = RocCurveDisplay.from_predictions(
        y_true, y_score, n_resamples=29, confidence_level=0.9, rng=3, thresholds="shared"
    )
    evaluation = polyroc.evaluate(y_true, y_score, thresholds="shared")
    drawn = evaluation.bootstrap(29, rng=3)
    assert_array_equal(display.curve.tpr, evaluation.curve.tpr)
    assert display.interval == drawn.confidence_interval(0.9)
    assert_array_equal(display.band.lower.fpr, drawn.confidence_band(0.9).lower.fpr)
    assert display.mean_interval == drawn.confidence_interval(0.9, statistic="mean_auc")
    assert_array_equal(display.mean_band.upper.fpr, drawn.confidence_band(0.9, curve="mean").upper.fpr)
    # With shared thresholds the area under the mean curve is not M, and is not called so.
    assert legend_of(display)[1].startswith(f"area {evaluation.mean_auc:.3f} [")
    assert evaluation.mean_auc != evaluation.hand_till
    bare = RocCurveDisplay.from_predictions(y_true, y_score, n_resamples=0, curves="mean")
    assert (bare.band, bare.interval, bare.mean_band, bare.mean_interval) == (None, None, None, None)
    assert (bare.line_, legend_of(bare)) == (None, [f"M {bare.mean_curve.auc:.3f} (mean of pairs)"])


@pytest.mark.filterwarnings("ignore:The two columns")
def test_pairs_are_the_pairwise_curves():
    evaluation = evaluation_of(4)
    display = evaluation.plot(pairs=True)
    segments = display.pairs_.get_segments()
    assert len(segments) == len(evaluation.pairs) == 12
    for pair, points in enumerate(segments):
        inner = np.column_stack([evaluation.rates.fpr[:, pair], evaluation.rates.tpr[:, pair]])
        assert_array_equal(points, np.vstack([[0, 0], inner, [1, 1]]))
    # Behind the curve.
    assert display.pairs_.get_zorder() < display.line_.get_zorder()
    assert evaluation.plot().pairs_ is None
    assert evaluation_of(2).plot(pairs=True).pairs_ is None


def test_of_very_many_pairs_the_dullest_to_the_sharpest_are_held():
    evaluation = evaluation_of(20, n=400)
    held = RocCurveDisplay.from_evaluation(evaluation).pair_curves
    assert len(held) == 300 < len(evaluation.pairs)
    order = np.argsort(evaluation.pairs.effect, kind="stable")
    for curve, pair in ((held[0], order[0]), (held[-1], order[-1])):
        assert_array_equal(curve.tpr[1:-1], evaluation.rates.tpr[:, pair])


def test_legends_round_to_nothing_that_is_not_so():
    evaluation = evaluation_of(3)
    for area, interval, expected in [
        (0.99964, polyroc.Interval(0.9993, 0.99982), "D 0.9996 [0.9993, 0.9998]"),
        (0.99964, polyroc.Interval(0.9996, 0.99968), "D 0.99964 [0.99960, 0.99968]"),
        (1.0, polyroc.Interval(0.98, 1.0), "D 1.000 [0.980, 1.000]"),
    ]:
        # A curve of this area: a corner at (1 - area, 1).
        curve = polyroc.RocCurve(fpr=[0, 1 - area, 1 - area, 1], tpr=[0, 0, 1, 1])
        display = RocCurveDisplay(curve=curve, interval=interval).plot(Figure().add_subplot())
        assert legend_of(display) == [expected]
    assert legend_of(RocCurveDisplay(curve=curve).plot()) == ["D 1.000"]
    assert evaluation.auc < 1


def test_long_names_in_the_same_axes_stay_different():
    ax = Figure(figsize=(6, 6)).add_subplot()
    names = [
        f"gradient boosting with tuned depth and rate, {end}" for end in ("run 1 of 2, final", "run 2 of 2, final")
    ]
    displays = [evaluation_of(3, seed=seed).plot(ax, name=name) for seed, name in enumerate([*names, names[0]])]
    shown = [text.partition("\n")[0].partition(" (")[0] for text in legend_of(displays[-1])[::2]]
    assert len(shown) == 3
    assert shown[0] != shown[1]
    assert shown[0] == shown[2]  # the same name is the same
    assert max(map(len, shown)) <= 30


def both_curves():
    """A shared and a mean curve that part, with bands around them."""
    shared = polyroc.RocCurve(fpr=[0, 0.1, 1], tpr=[0, 0.9, 1])
    mean = polyroc.RocCurve(fpr=[0, 0.2, 1], tpr=[0, 0.8, 1])
    drawn = evaluation_of(3).bootstrap(9, rng=0)
    return RocCurveDisplay(
        curve=shared,
        mean_curve=mean,
        name="tree",
        band=drawn.confidence_band(0.9),
        mean_band=drawn.confidence_band(0.5),
        mean_interval=polyroc.Interval(0.75, 0.85),
    )


def test_both_curves_are_drawn_the_shared_one_solid_and_the_mean_dashed():
    display = both_curves().plot()
    assert_array_equal(display.line_.get_xdata(), [0, 0.1, 1])
    assert_array_equal(display.mean_line_.get_xdata(), [0, 0.2, 1])
    assert (display.line_.get_linestyle(), display.mean_line_.get_linestyle()) == ("-", "--")
    assert display.line_.get_color() == display.mean_line_.get_color()
    assert legend_of(display) == ["tree (D 0.900)", "tree (M 0.800 [0.750, 0.850], mean of pairs)"]
    assert display.band_ is not None
    assert display.mean_band_ is not None
    check_layout(display)
    without = both_curves().plot(band=False)
    assert without.band_ is without.mean_band_ is None
    unnamed = RocCurveDisplay(curve=display.curve, mean_curve=display.mean_curve).plot()
    assert legend_of(unnamed) == ["D 0.900", "M 0.800 (mean of pairs)"]


@pytest.mark.parametrize("curves", ["shared", "mean"])
def test_one_of_the_two_curves_may_be_asked_for(curves):
    ax = Figure(figsize=(6, 6)).add_subplot()
    first, second = (both_curves().plot(ax, curves=curves) for _ in range(2))
    for display in (first, second):
        drawn, other = display.line_, display.mean_line_
        drawn, other = (drawn, other) if curves == "shared" else (other, drawn)
        assert other is None
        assert drawn is not None
        assert (display.band_ is None) == (curves == "mean")
    # Models in the same axes differ, whichever of their curves is drawn.
    lines = [(one.line_ or one.mean_line_) for one in (first, second)]
    assert lines[0].get_color() != lines[1].get_color()
    with pytest.raises(ValueError, match="`curves` must be one of 'both', 'shared', 'mean', got 'all'"):
        both_curves().plot(curves="all")
    with pytest.raises(ValueError, match="`curves` must be 'shared' or 'both' where no mean curve is held"):
        RocCurveDisplay(curve=first.curve).plot(curves="mean")


def test_options_are_those_of_scikit_learn():
    display = evaluation_of(3).plot(
        name="m",
        curve_kwargs={"c": "red", "lw": 5},
        plot_chance_level=True,
        chance_level_kwargs={"ls": "--"},
        despine=True,
    )
    assert display.line_.get_color() == "red"
    assert display.line_.get_linewidth() == 5
    assert_array_equal(display.chance_level_.get_data(), [[0, 1], [0, 1]])
    assert display.chance_level_.get_linestyle() == "--"
    assert [side for side, spine in display.ax_.spines.items() if not spine.get_visible()] == ["right", "top"]
    assert display.ax_.get_aspect() == 1


def test_axes_given_are_used_and_curves_differ():
    ax = Figure(figsize=(5, 5)).add_subplot()
    displays = [evaluation_of(3, seed=seed).plot(ax, name=f"model {seed}") for seed in range(7)]
    assert all(display.ax_ is ax for display in displays)
    looks = {(display.line_.get_color(), display.line_.get_linestyle()) for display in displays}
    assert len(looks) == 7
    assert len(legend_of(displays[-1])) == 2 * 7
    means = {(display.mean_line_.get_color(), display.mean_line_.get_linestyle()) for display in displays}
    assert len(means | looks) == 2 * 7
    assert plt.get_fignums() == []


def test_subfigures_are_drawn_into():
    part = Figure(layout="constrained").subfigures(1, 2)[0]
    assert evaluation_of(3).plot(part.add_subplot(), pairs=True).figure_ is part


@pytest.mark.parametrize("name", AWKWARD_NAMES)
@pytest.mark.parametrize("width", [3.3, 6.4])
def test_names_are_text(name, width):
    with plt.rc_context({"figure.figsize": (width, width)}):
        display = evaluation_of(3).plot(name=name, plot_chance_level=True)
    # matplotlib would refuse `$a^$` as a formula here, and warn of glyphs that the font lacks.
    check_layout(display)
    shown = legend_of(display)[1].replace(r"\$", "$")
    assert not mpl.cbook.is_math_text(legend_of(display)[1])
    assert shown.strip()[:3] == {"two\nlines": "two", AWKWARD_NAMES[3]: "???"}.get(name, name[:3])
    assert len(shown) < 60


def test_text_that_is_not_parsed_is_not_escaped():
    with plt.rc_context({"text.parse_math": False}):
        display = evaluation_of(3).plot(name="$a^$")
        assert legend_of(display)[0].startswith("$a^$ (")
        display.figure_.canvas.draw()
    with plt.rc_context({"text.usetex": True}):
        # Not drawn, for that takes a TeX.
        line = evaluation_of(3).plot(Figure().add_subplot(), name=r"$a_1^\b").line_
    assert line.get_label().startswith(r"\$a\_1\textasciicircum{}\textbackslash{}b")


def test_from_estimator_takes_probabilities_or_decisions():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for model in (LogisticRegression(max_iter=500), LinearSVC()):
        fitted = model.fit(X[::2], names[::2])
        display = RocCurveDisplay.from_estimator(fitted, X[1::2], names[1::2], n_resamples=0)
        response = fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.decision_function
        expected = polyroc.auc_score(names[1::2], response(X[1::2]), labels=fitted.classes_)
        assert display.curve.auc == expected
        assert legend_of(display)[0] == f"{type(model).__name__} (D {expected:.3f})"


def test_from_cv_results_draws_each_fold():
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    found = cross_validate(
        LogisticRegression(max_iter=500),
        X,
        y,
        cv=cv,
        return_estimator=True,
        return_indices=True,
        scoring=polyroc.auc_scorer,
    )
    display = RocCurveDisplay.from_cv_results(found, X, y, name="iris")
    assert [curve.auc for curve in display.curve] == found["test_score"].tolist()
    for line, curve in zip(display.line_, display.curve, strict=True):
        assert_array_equal(line.get_data(), [curve.fpr, curve.tpr])
    again = polyroc.evaluate_cv(LogisticRegression(max_iter=500), X, y, cv=cv)
    assert legend_of(display) == [f"iris (mean D {again.mean_fold_auc:.3f}, SD {again.std_fold_auc:.3f} of 4 folds)"]
    check_layout(display)
    heavy = np.where(y == 0, 2.0, 1.0)
    weighted = RocCurveDisplay.from_cv_results(found, X, y, sample_weight=heavy, weighting="prevalence")
    test = found["indices"]["test"][1]
    assert weighted.curve[1].auc == polyroc.auc_score(
        y[test],
        found["estimator"][1].predict_proba(X[test]),
        sample_weight=heavy[test],
        weighting="prevalence",
    )


def test_cv_results_without_estimators_say_what_is_missing():
    with pytest.raises(ValueError, match=re.escape("return_estimator=True, return_indices=True")):
        RocCurveDisplay.from_cv_results({"test_score": [1.0]}, [[0.0]], [0])


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    evaluation = evaluation_of(3)
    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name=name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=re.escape('pip install "polyroc[plot]"')):
        evaluation.plot()
    with pytest.raises(ModuleNotFoundError, match=re.escape('pip install "polyroc[plot]"')):
        RocCurveDisplay.from_predictions(*problem(3))


@pytest.mark.parametrize("k", [3, 50])
def test_a_dark_slide_stays_dark(k):
    with plt.style.context("dark_background"):
        display = evaluation_of(k).plot(plot_chance_level=True, pairs=True)
        ink = mpl.colors.to_rgb(plt.rcParams["text.color"])
    assert mpl.colors.to_rgb(display.chance_level_.get_color()) == ink
    assert {text.get_color() for text in display.ax_.get_legend().get_texts()} == {"white"}
    assert mpl.colors.to_rgb(display.ax_.get_legend().get_frame().get_facecolor()) == (0, 0, 0)


def test_drawing_starts_no_resampling_unasked_and_shows_progress_when_asked(monkeypatch):
    asked = []
    bootstrap = polyroc.Evaluation.bootstrap

    def counted(self, n_resamples, **options):
        asked.append((n_resamples, options))
        return bootstrap(self, n_resamples, **options | {"progress": False})

    monkeypatch.setattr(polyroc.Evaluation, "bootstrap", counted)
    display = RocCurveDisplay.from_predictions(*problem(3))
    assert (display.band, display.interval, asked) == (None, None, [])
    RocCurveDisplay.from_predictions(*problem(3), n_resamples=9, rng=1, progress=True)
    assert asked == [(9, {"rng": 1, "progress": True})]


def test_unknown_options_are_refused_in_the_name_of_the_display():
    with pytest.raises(TypeError, match=r"^from_predictions\(\) got an unexpected keyword argument 'bogus'"):
        RocCurveDisplay.from_predictions(*problem(3), bogus=1)
    with pytest.raises(TypeError, match=r"^from_estimator\(\) got an unexpected keyword argument 'labels'"):
        RocCurveDisplay.from_estimator(None, None, None, labels=[0, 1])
