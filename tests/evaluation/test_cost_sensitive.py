"""CostSensitiveClassifier: a classifier as scikit-learn wants it, and cheaper than the highest score."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import polyroc
from polyroc import CostSensitiveClassifier, InputError

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
# costs[true, predicted]: far from its own transpose.
COSTS = np.array([[0.0, 1, 2], [3, 0, 1], [40, 25, -1]])

# The reasons for which scikit-learn leaves these out for its own TunedThresholdClassifierCV.
_NOT_OF_RULES = {
    "check_sample_weight_equivalence_on_dense_data": "folds of repeated samples are other folds",
    "check_sample_weight_equivalence_on_sparse_data": "folds of repeated samples are other folds",
}


def without_sparse(checks):
    """The same checks, of which those on sparse features are slow: they take as long as all others together."""
    names, each = checks.args
    marked = [
        pytest.param(estimator, check, marks=pytest.mark.slow if "sparse" in str(check) else ())
        for estimator, check in each
    ]
    return pytest.mark.parametrize(names, marked, **checks.kwargs)


@pytest.mark.filterwarnings("ignore")
@without_sparse(parametrize_with_checks([CostSensitiveClassifier(RidgeClassifier(), cv=3)]))
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        CostSensitiveClassifier(LogisticRegression(), cv=3),
        CostSensitiveClassifier(LogisticRegression(), cv=3, rule="bayes"),
        CostSensitiveClassifier(GaussianNB(), cv=3, rule="argmax"),
    ],
    expected_failed_checks=lambda one: _NOT_OF_RULES if one.rule != "bayes" and one.rule != "argmax" else {},
)
def test_common_checks_of_other_methods(estimator, check):
    check(estimator)


def simulated(seed=0, n_samples=3000):
    """Classes of unequal frequency, and features that mislead naive Bayes: some are nearly copies of others."""
    features, codes = make_classification(
        n_samples, 12, n_informative=4, n_redundant=6, n_classes=3, weights=[0.7, 0.2], class_sep=0.8, random_state=seed
    )
    names = np.array(["fine", "fraud", "review"])[codes]
    half = n_samples // 2
    return features[:half], names[:half], features[half:], names[half:]


def mean_cost(y_true, predicted, costs, labels):
    """By a loop."""
    places = {label: place for place, label in enumerate(labels)}
    return sum(costs[places[a]][places[b]] for a, b in zip(y_true, predicted, strict=True)) / len(y_true)


def test_held_out_cost_is_below_that_of_the_highest_probability():
    costs = [[0, 8, 2], [60, 0, 6], [10, 4, 0]]
    for seed in range(3):
        first, y_first, second, y_second = simulated(seed)
        model = CostSensitiveClassifier(GaussianNB(), costs).fit(first, y_first)
        plain = GaussianNB().fit(first, y_first)
        found = mean_cost(y_second, model.predict(second), costs, model.classes_)
        assert found < 0.7 * mean_cost(y_second, plain.predict(second), costs, model.classes_)
        assert model.cost(second, y_second) == pytest.approx(found)
        # What fit promised was cross-fitted, and is kept on samples that it has never seen.
        low, high = model.decision_.cost_interval
        assert low - 0.25 < found < high + 0.25
        turned = CostSensitiveClassifier(GaussianNB(), np.transpose(costs)).fit(first, y_first)
        assert mean_cost(y_second, turned.predict(second), costs, model.classes_) > 1.5 * found


def test_fit_is_cross_val_predict_then_decide_then_a_fit_on_all():
    model = CostSensitiveClassifier(GaussianNB(), COSTS, cv=4, rng=3).fit(X, NAMES)
    scores = cross_val_predict(GaussianNB(), X, NAMES, cv=4, method="predict_proba")
    decision = polyroc.decide(NAMES, scores, COSTS, rng=3)
    assert_array_equal(model.decision_.offsets, decision.offsets)
    assert model.decision_.cost == decision.cost
    assert_array_equal(model.predict(X), decision.predict(GaussianNB().fit(X, NAMES).predict_proba(X)))
    assert_array_equal(model.predict_proba(X), GaussianNB().fit(X, NAMES).predict_proba(X))
    assert (model.response_method_, model.n_features_in_) == ("predict_proba", 4)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("rule", ["auto", "tuned", "bayes", "argmax"])
@pytest.mark.parametrize("reject_cost", [None, 0.3])
def test_decision_function_ranks_as_predict_names(rule, reject_cost):
    model = CostSensitiveClassifier(LogisticRegression(max_iter=1000), COSTS, rule=rule, reject_cost=reject_cost, cv=3)
    levels = model.fit(X, NAMES).decision_function(X)
    predicted = model.classes_[levels.argmax(axis=1)].astype(object)
    if reject_cost is not None and rule != "argmax":
        predicted[levels.max(axis=1) < 0] = None
        assert 0 < np.sum(model.predict(X) == None) < len(X)  # noqa: E711  # element by element
    assert_array_equal(model.predict(X).astype(object), predicted)


def test_bayes_names_the_least_expected_cost():
    model = CostSensitiveClassifier(LogisticRegression(max_iter=1000), COSTS, rule="bayes", cv=3).fit(X, NAMES)
    expected = np.array([[sum(p[t] * COSTS[t, j] for t in range(3)) for j in range(3)] for p in model.predict_proba(X)])
    assert_allclose(model.decision_function(X), -expected, atol=1e-12)


def test_two_classes_of_a_decision_function():
    y = np.where(Y == 2, "ill", "healthy")
    costs = [[0, 1], [30, 0]]
    model = CostSensitiveClassifier(SVC(), costs, cv=3).fit(X, y)
    levels = model.decision_function(X)
    assert levels.shape == (150,)
    assert_array_equal(model.predict(X), np.where(levels > 0, "ill", "healthy"))
    assert model.response_method_ == "decision_function"
    assert not hasattr(model, "predict_proba")
    # To miss an ill one costs 30, so that more are called ill than the highest score would.
    assert np.sum(model.predict(X) == "ill") > np.sum(SVC().fit(X, y).predict(X) == "ill")


class _UnitMargins(RidgeClassifier):
    """A decision function from 0 to 1, which is no probability."""

    def decision_function(self, X):
        return 0.5 + np.tanh(super().decision_function(X)) / 2


def test_a_decision_function_from_0_to_1_is_no_probability():
    model = CostSensitiveClassifier(_UnitMargins(), [[0, 1], [3, 0]], cv=3).fit(X, Y > 0)
    assert not model.decision_.on_log_scale
    assert model.classes_.dtype == bool
    assert model.predict(X).dtype == bool


def test_abstaining_is_none_and_not_right():
    model = CostSensitiveClassifier(LogisticRegression(max_iter=1000), COSTS, reject_cost=0.2, cv=3).fit(X, NAMES)
    predicted = model.predict(X)
    assert predicted.dtype == object
    abstained = np.array([one is None for one in predicted])
    assert 0 < abstained.sum() < 150
    assert model.score(X, NAMES) == np.mean([one == name for one, name in zip(predicted, NAMES, strict=True)])
    full = np.column_stack([COSTS, [0.2] * 3])
    places = [3 if one is None else list(model.classes_).index(one) for one in predicted]
    assert model.cost(X, NAMES) == pytest.approx(np.mean([full[t, j] for t, j in zip(Y, places, strict=True)]))


def test_cost_counts_classes_by_the_prior_and_samples_by_their_weights():
    prior = {"setosa": 0.2, "versicolor": 0.7, "virginica": 0.1}
    model = CostSensitiveClassifier(GaussianNB(), COSTS, prior=prior, cv=3).fit(X, NAMES)
    weight = np.arange(1.0, 151)
    places = [list(model.classes_).index(one) for one in model.predict(X)]
    costs = np.array([COSTS[t, j] for t, j in zip(Y, places, strict=True)])
    means = [np.average(costs[one == Y], weights=weight[one == Y]) for one in range(3)]
    assert model.cost(X, NAMES, weight) == pytest.approx(np.dot(means, [0.2, 0.7, 0.1]))
    with pytest.raises(InputError, match="`y` must have samples of every class that `prior` counts, got none of 'virg"):
        model.cost(X[:100], NAMES[:100])
    with pytest.raises(InputError, match=r"`y` must have only classes that `fit` was given .*, got 'rose'"):
        model.cost(X[:2], ["rose", "setosa"])


def test_frames_name_the_costs_and_the_features():
    frame = pd.DataFrame(X, columns=list("abcd"))
    order = ["virginica", "setosa", "versicolor"]
    costs = pd.DataFrame(COSTS, index=np.unique(NAMES), columns=np.unique(NAMES)).loc[order, order]
    model = CostSensitiveClassifier(GaussianNB(), costs).fit(frame, pd.Series(NAMES))
    assert_array_equal(model.decision_.costs, COSTS)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert_array_equal(model.predict(frame), CostSensitiveClassifier(GaussianNB(), COSTS).fit(X, NAMES).predict(X))
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)


def less_cost(model, X, y):
    return -model.cost(X, y)


@pytest.mark.slow
def test_searches_pipelines_clones_and_pickles():
    model = CostSensitiveClassifier(make_pipeline(StandardScaler(), LogisticRegression()), COSTS, cv=3)
    grid = {"estimator__logisticregression__C": [0.01, 1], "rule": ["tuned", "bayes"]}
    found = GridSearchCV(model, grid, scoring=less_cost, cv=3).fit(X, NAMES)
    assert set(found.best_params_) == set(grid)
    assert found.best_score_ == found.cv_results_["mean_test_score"].max()
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    outer = make_pipeline(StandardScaler(), clone(found.best_estimator_)).fit(X, NAMES)
    again = pickle.loads(pickle.dumps(outer))
    assert_array_equal(again.predict(X), outer.predict(X))
    assert repr(model).startswith("CostSensitiveClassifier(costs=array(")


@pytest.mark.slow
def test_results_do_not_depend_on_jobs():
    one, two = (CostSensitiveClassifier(GaussianNB(), COSTS, n_jobs=n).fit(X, NAMES) for n in (None, 2))
    assert_array_equal(one.decision_.offsets, two.decision_.offsets)


def test_groups_are_kept_whole():
    groups = np.arange(150) // 2 % 40
    seen = []

    class Watching(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(X[:, -1])
            return super().fit(X, y, sample_weight)

        def predict_proba(self, X):
            if len(seen) <= n_folds:
                assert not set(X[:, -1]) & set(seen[-1])
            return super().predict_proba(X)

    for cv, n_folds in ((5, 5), (GroupKFold(4), 4)):
        seen.clear()
        marked = np.column_stack([X, groups])
        model = CostSensitiveClassifier(Watching(), COSTS, cv=cv).fit(marked, NAMES, groups=groups)
        assert len(seen) == n_folds + 1
        expected = polyroc.decide(NAMES, _held_out(model, marked, groups), COSTS, groups=groups)
        assert model.decision_.cost == expected.cost


def _held_out(model, features, groups):
    folds = model._folds(features, Y, groups)
    return cross_val_predict(GaussianNB(), features, NAMES, cv=folds, method="predict_proba")


def test_weights_reach_the_estimator_and_the_costs():
    weight = np.where(Y == 1, 5.0, 1.0)
    model = CostSensitiveClassifier(GaussianNB(), COSTS).fit(X, NAMES, weight)
    scores = np.empty((150, 3))
    for train, test in StratifiedKFold(5).split(X, Y):
        scores[test] = GaussianNB().fit(X[train], Y[train], weight[train]).predict_proba(X[test])
    assert model.decision_.cost == polyroc.decide(NAMES, scores, COSTS, sample_weight=weight).cost
    assert_array_equal(model.predict_proba(X), GaussianNB().fit(X, NAMES, weight).predict_proba(X))
    with pytest.warns(UserWarning, match="`fit` of KNeighborsClassifier takes no `sample_weight`: only costs"):
        CostSensitiveClassifier(KNeighborsClassifier(), COSTS).fit(X, NAMES, weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": np.ones((2, 3))}, r"`costs` must have shape \(3, 3\)"),
        ({"estimator": DecisionTreeRegressor()}, "`estimator` must be a classifier, got DecisionTreeRegressor"),
        ({"estimator": SVC(), "rule": "bayes"}, '`estimator` must have predict_proba for rule="bayes", got SVC'),
        ({"estimator": SVC(), "reject_cost": 0.1}, "`estimator` must have predict_proba for `reject_cost`, got SVC"),
        (
            {"cv": ShuffleSplit(2, random_state=0)},
            "`cv` must test every sample once, got .* of 150 samples in 30 tests",
        ),
        ({"cv": KFold(3)}, "`y` must have samples of every class left to fit on, .* no other sample of 'setosa' than"),
        ({"prior": [0.5, 0.5, 0.5]}, r"`prior` must sum to 1"),
        ({"rule": "best"}, "`rule` must be one of 'auto', 'tuned', 'bayes', 'argmax', got 'best'"),
    ],
)
def test_what_is_wrong_is_said(options, message):
    given = {"estimator": GaussianNB(), "costs": COSTS} | options
    with pytest.raises(InputError, match=message):
        CostSensitiveClassifier(**given).fit(X, NAMES)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_of_a_single_sample_is_refused_and_one_of_two_is_not():
    y = NAMES.copy()
    y[7] = "rare"
    model = CostSensitiveClassifier(GaussianNB(var_smoothing=0.1))
    with pytest.raises(InputError, match=r"no other sample of 'rare' than those in fold \d: leave out such classes"):
        model.fit(X, y)
    y[8] = "rare"
    assert model.fit(X, y).decision_.labels.tolist() == ["rare", "setosa", "versicolor", "virginica"]


def test_not_fitted_is_said():
    for method in ("predict", "decision_function", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(CostSensitiveClassifier(GaussianNB()), method)(X)


def test_polyroc_is_imported_without_scikit_learn_and_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from polyroc import *\n"
        "import polyroc\n"
        "try:\n    polyroc.CostSensitiveClassifier\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '`CostSensitiveClassifier` needs scikit-learn: pip install "polyroc[sklearn]".'


def test_it_is_shown_where_it_can_be_loaded(monkeypatch):
    assert "CostSensitiveClassifier" in dir(polyroc)
    monkeypatch.setattr(polyroc, "_find_spec", lambda name: None)
    assert "CostSensitiveClassifier" not in dir(polyroc)
