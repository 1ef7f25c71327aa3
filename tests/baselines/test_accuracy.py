"""Accuracy by scikit-learn's road, Wilson's interval by SciPy's, and where there is none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_problem
from scipy.stats import binomtest

import polyroc


def test_accuracy_agrees_with_scikit_learn_with_weights_and_ties():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    y_true = rng.choice(["w", "x", "y", "z"], 400)
    # Few distinct values: many rows have ties for the highest.
    scores = rng.integers(0, 4, size=(400, 4)).astype(float)
    weight = rng.integers(0, 3, 400).astype(float)
    predicted = np.array(["w", "x", "y", "z"])[np.argmax(scores, axis=1)]
    assert polyroc.evaluate(y_true, scores).accuracy == pytest.approx(
        metrics.accuracy_score(y_true, predicted), abs=1e-15
    )
    weighted = polyroc.evaluate(y_true, scores, sample_weight=weight)
    assert weighted.accuracy == pytest.approx(
        metrics.accuracy_score(y_true, predicted, sample_weight=weight), abs=1e-15
    )
    assert weighted.accuracy_note == ""


@pytest.mark.filterwarnings("ignore:The scores rank samples backwards")
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n_right", [0, 1, 37, 99, 100])
def test_interval_is_wilsons(n_right, level):
    y_true = np.arange(100) % 4
    scores = np.eye(4)[np.where(np.arange(100) < n_right, y_true, (y_true + 1) % 4)]
    evaluation = polyroc.evaluate(y_true, scores)
    expected = binomtest(n_right, 100).proportion_ci(level, method="wilson")
    assert_allclose(evaluation.accuracy_interval(level), [expected.low, expected.high], atol=1e-12)


def test_equal_weights_change_nothing_and_unequal_ones_widen():
    problem = gaussian_problem(0, 120, 4)
    y_true, scores = problem.y_true, problem.y_score
    plain = polyroc.evaluate(y_true, scores).accuracy_interval()
    equal = polyroc.evaluate(y_true, scores, sample_weight=np.full(len(y_true), 7.0)).accuracy_interval()
    assert_allclose(equal, plain, atol=1e-12)
    uneven = np.where(np.arange(len(y_true)) % 2, 1.0, 20.0)
    wider = polyroc.evaluate(y_true, scores, sample_weight=uneven).accuracy_interval()
    assert wider.high - wider.low > plain.high - plain.low


def test_one_column_names_no_class():
    evaluation = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    assert evaluation.accuracy is None
    assert evaluation.accuracy_interval() is None
    assert evaluation.accuracy_note == "There is one score column, so a class is predicted only by a threshold."
    assert evaluation.to_dict()["accuracy"] is None


def test_two_columns_name_the_higher():
    assert polyroc.evaluate([0, 0, 1, 1], [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]]).accuracy == 0.75


def test_columns_on_scales_that_do_not_meet_have_no_accuracy():
    problem = gaussian_problem(0, 120, 4)
    y_true, scores = problem.y_true, problem.y_score
    labels = np.unique(y_true)
    apart = scores.copy()
    apart[:, 2] -= 100
    above = labels[np.argmax(apart.min(axis=0))]
    evaluation = polyroc.evaluate(y_true, apart)
    assert evaluation.accuracy is None
    assert f"all scores of {labels[2]} are below those of {above}" in evaluation.accuracy_note
    assert "none" in str(evaluation)
    assert evaluation.accuracy_note in str(evaluation).replace("\n", " ")
    # Its D is that of the columns by themselves.
    assert evaluation.auc == pytest.approx(polyroc.evaluate(y_true, scores).auc, abs=1e-12)


def test_probabilities_of_a_class_that_is_never_predicted_are_still_probabilities():
    y_true = np.array([0, 1, 0, 1, 0, 1, 2, 0])
    scores = np.array([[0.6, 0.39, 0.01], [0.3, 0.69, 0.01]])[[0, 1, 0, 1, 1, 0, 1, 0]]
    evaluation = polyroc.evaluate(y_true, scores)
    assert evaluation.accuracy == pytest.approx(5 / 8)


@pytest.mark.filterwarnings("ignore:The scores rank samples backwards")
def test_the_interval_stays_in_range_next_to_0_and_1():
    """A share of 1e-300 is not 0, but the formula rounds as if it were."""
    y_true = np.arange(30) % 3
    lows, highs = [], []
    for n in range(4, 31):
        for tiny in (1e-300, 1e-30, 1e-18):
            right = np.zeros(n, dtype=bool)
            right[-1] = True
            weight = np.where(right, tiny, 1.0)
            for predicted in (right, ~right):
                columns = np.where(predicted, y_true[:n], (y_true[:n] + 1) % 3)
                found = polyroc.evaluate(y_true[:n], np.eye(3)[columns], sample_weight=weight)
                for level in (0.5, 0.9, 0.95, 0.99):
                    low, high = found.accuracy_interval(level)
                    lows.append(low)
                    highs.append(high)
                    assert low <= found.accuracy <= high
    assert min(lows) == 0
    assert max(highs) == 1
