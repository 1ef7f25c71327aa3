"""The paper's claims, and the values that the method page states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyroc

N, P, K = 50_000, 10, 5


@pytest.fixture(scope="module")
def simulation():
    """Multinomial labels from ten covariates, random or deterministic, as in the paper's first experiment."""
    rng = np.random.default_rng(2024)
    x = rng.normal(size=(N, P))
    design = np.column_stack([np.ones(N), x])
    logits = design @ rng.normal(1, 1, size=(P + 1, K))
    probability = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability /= probability.sum(axis=1, keepdims=True)
    random_label = (probability.cumsum(axis=1) < rng.uniform(size=(N, 1))).sum(axis=1).clip(max=K - 1)
    return x, random_label, logits.argmax(axis=1), rng.normal(size=(N, P))


def scores_of_regression(x, y):
    linear_model = pytest.importorskip("sklearn.linear_model")
    model = linear_model.LogisticRegression(C=np.inf, max_iter=1000, tol=1e-3).fit(x, y)
    scores = np.full((len(x), K), -np.inf)
    scores[:, model.classes_] = model.predict_proba(x)
    return scores


@pytest.mark.slow
def test_area_grows_with_the_number_of_covariates(simulation):
    x, y, _, independent = simulation
    areas = [polyroc.auc_score(y, scores_of_regression(x[:, :d], y)) for d in range(1, P + 1)]
    assert np.all(np.diff(areas) > 0)
    assert abs(polyroc.auc_score(y, scores_of_regression(independent, y)) - 0.5) < 0.02


@pytest.mark.slow
def test_deterministic_labels_end_at_one(simulation):
    x, _, y, _ = simulation
    assert polyroc.auc_score(y, scores_of_regression(x, y)) > 0.999


COSTS = [0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1 / 0.9, 1 / 0.7, 1 / 0.5, 1 / 0.3, 1 / 0.2, 10.0]


def majority_classifier(noise: float):
    """Scores that always favour class 0 and know nothing of the sample."""
    rng = np.random.default_rng(5)
    y_true = rng.choice(K, 10_000, p=[0.4, 0.15, 0.15, 0.15, 0.15])
    y_score = np.tile([0.6, 0.1, 0.1, 0.1, 0.1], (len(y_true), 1)) + noise * rng.uniform(-1, 1, (len(y_true), K))
    return y_true, y_score


def majority_costs(c: float):
    costs = np.ones((K, K))
    costs[0, :], costs[:, 0] = c, 1 / c
    return costs


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_costs_move_a_classifier_without_information(noise):
    y_true, y_score = majority_classifier(noise)
    areas = [polyroc.auc_score(y_true, y_score, costs=majority_costs(c), thresholds="shared") for c in COSTS]
    assert np.all(np.diff(areas) > 0)
    assert areas[0] < 0.15
    assert areas[-1] > 0.85
    assert abs(areas[COSTS.index(1.0)] - 0.5) < 0.02


def test_own_thresholds_leave_noise_at_one_half_whatever_it_costs():
    y_true, y_score = majority_classifier(0.01)
    areas = [polyroc.auc_score(y_true, y_score, costs=majority_costs(c)) for c in (0.1, 1, 10)]
    assert_allclose(areas, 0.5, atol=0.02)


def test_a_dearer_confusion_pulls_the_area_towards_its_pair():
    rng = np.random.default_rng(8)
    y_true = rng.integers(0, 4, 4000)
    y_score = rng.normal(size=(4000, 4)) + 2 * np.eye(4)[y_true]
    # Classes 0 and 1 can hardly be told apart.
    y_score[y_true == 1, 0] += 1.75
    hard = polyroc.evaluate(y_true, y_score).pairs.auc[0]
    assert hard < 0.65
    areas = []
    for cost in (0.01, 0.1, 1, 10, 100):
        costs = np.ones((4, 4))
        costs[0, 1] = costs[1, 0] = cost
        areas.append(polyroc.auc_score(y_true, y_score, costs=costs))
    assert np.all(np.diff(np.abs(np.array(areas) - hard)) < 0)


def test_iris_with_a_tree_is_not_driven_to_one_by_its_perfect_pairs():
    """Method, section 2: without shrinkage a tree with M = 0.946 got D = 0.9999."""
    datasets, tree = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.tree")
    x, y = datasets.load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:75], order[75:]
    scores = tree.DecisionTreeClassifier(random_state=0).fit(x[train], y[train]).predict_proba(x[test])
    evaluation = polyroc.evaluate(y[test], scores)
    assert evaluation.hand_till < evaluation.auc < evaluation.hand_till + 0.03
