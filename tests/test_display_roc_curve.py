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
    assert legend_of(display) == [f"D = {evaluation.auc:.3f}"]
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
    assert float(legend_of(display)[0].removeprefix("D = ")) == pytest.approx(expected, abs=0.01)
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
    assert legend_of(display) == [f"model (D = {evaluation.auc:.3f} [{interval.low:.3f}, {interval.high:.3f}])"]
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
    bare = RocCurveDisplay.from_predictions(y_true, y_score, n_resamples=0)
    assert (bare.band, bare.interval) == (None, None)


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


def test_options_are_those_of_scikit_learn():
    display = evaluation_of(3).plot(
        name="m", curve_kwargs={"c": "red", "lw": 5}, plot_chance_level=True, chance_level_kw={"ls": "--"}, despine=True
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
    assert len(legend_of(displays[-1])) == 7
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
        assert legend_of(display) == [f"{type(model).__name__} (D = {expected:.3f})"]


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
    assert legend_of(display) == [f"iris (mean D = {again.mean_auc:.3f}, SD {again.std_auc:.3f} of 4 folds)"]
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
