"""Scorers and cross-validation with scikit-learn: classes absent from folds, frames, searches."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, check_scoring, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polyroc

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def test_a_score_is_that_of_evaluate():
    model = GaussianNB().fit(X[::2], NAMES[::2])
    expected = polyroc.auc_score(NAMES[1::2], model.predict_proba(X[1::2]))
    assert polyroc.auc_scorer(model, X[1::2], NAMES[1::2]) == expected


def test_options_and_weights_reach_evaluate():
    model = GaussianNB().fit(X[::2], Y[::2])
    weight = np.arange(75) + 1
    scorer = polyroc.make_auc_scorer(thresholds="shared", n_thresholds=49, shrinkage=0.5)
    expected = polyroc.auc_score(
        Y[1::2], model.predict_proba(X[1::2]), thresholds="shared", n_thresholds=49, shrinkage=0.5, sample_weight=weight
    )
    assert scorer(model, X[1::2], Y[1::2], sample_weight=weight) == expected
    assert repr(scorer) == "polyroc.make_auc_scorer(thresholds='shared', n_thresholds=49, shrinkage=0.5)"
    assert repr(polyroc.auc_scorer) == "polyroc.auc_scorer"


def test_a_decision_function_will_do():
    model = RidgeClassifier().fit(X, NAMES)
    assert polyroc.auc_scorer(model, X, NAMES) == polyroc.auc_score(NAMES, model.decision_function(X))
    binary = RidgeClassifier().fit(X, Y > 0)
    assert polyroc.auc_scorer(binary, X, Y > 0) == polyroc.auc_score(Y > 0, binary.decision_function(X))


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_val_score_and_search(n_jobs):
    scores = cross_val_score(GaussianNB(), X, NAMES, scoring=polyroc.auc_scorer, cv=3, n_jobs=n_jobs)
    assert scores.shape == (3,)
    assert np.all(scores > 0.95)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.01, 1]},
        scoring={"D": polyroc.make_auc_scorer(shrinkage=0), "accuracy": "accuracy"},
        refit="D",
        cv=3,
    ).fit(X, NAMES)
    assert search.cv_results_["mean_test_D"].shape == (2,)
    assert np.isfinite(search.cv_results_["mean_test_D"]).all()


def test_a_class_absent_from_a_test_fold():
    """Unshuffled folds of sorted classes: each tests one or two classes of three, and some train on two."""
    folds = [(np.r_[0:40, 50:90, 100:150], np.r_[40:50, 90:100]), (np.r_[10:150], np.r_[0:10, 60:70])]
    with pytest.warns(UserWarning, match="No samples in `y_true`"):
        scores = cross_val_score(GaussianNB(), X, NAMES, scoring=polyroc.auc_scorer, cv=folds)
    assert np.all(scores > 0.9)


def test_a_class_absent_from_training_is_one_that_cannot_be_told():
    train, test = np.r_[0:100], np.r_[0:150:3]
    model = GaussianNB().fit(X[train], NAMES[train])
    with pytest.warns(UserWarning, match="`estimator` has never seen 'virginica'"):
        found = polyroc.auc_scorer(model, X[test], NAMES[test])
    scores = np.column_stack([model.predict_proba(X[test]), np.zeros(50)])
    assert found == pytest.approx(polyroc.auc_score(NAMES[test], scores), abs=1e-12)
    assert found < polyroc.auc_scorer(GaussianNB().fit(X, NAMES), X[test], NAMES[test])


def test_cross_validate_with_folds_that_lack_classes_has_no_nan():
    few = KFold(25, shuffle=True, random_state=0)  # six samples each
    with pytest.warns(UserWarning, match="No samples in `y_true`"):
        found = cross_validate(GaussianNB(), X, NAMES, scoring=polyroc.auc_scorer, cv=few, error_score="raise")
    assert np.isfinite(found["test_score"]).all()


def test_binary_training_and_a_third_class_later():
    model = RidgeClassifier().fit(X[:100], Y[:100])
    with pytest.warns(UserWarning, match="never seen 2"):
        found = polyroc.auc_scorer(model, X, Y)
    decision = model.decision_function(X)
    expected = polyroc.auc_score(Y, np.column_stack([-decision, decision, np.full(150, -1e9)]))
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_scorer_holds_a_seed_and_no_generator():
    y_true = np.arange(120) % 12
    features = np.eye(12)[y_true] + np.random.default_rng(0).normal(size=(120, 12))
    model = LogisticRegression().fit(features, y_true)
    scorer = polyroc.make_auc_scorer(max_pairs=24, rng=np.random.default_rng(0))
    assert isinstance(scorer.options["rng"], int)
    assert scorer(model, features, y_true) == scorer(model, features, y_true)
    # Other folds of the same classes compare the same pairs.
    found = polyroc.evaluate_cv(model, features, y_true, cv=2, max_pairs=24, rng=np.random.default_rng(0))
    first, second = (list(zip(fold.pairs.positive, fold.pairs.negative, strict=True)) for fold in found.folds)
    assert first == second


def test_scorers_are_pickled():
    scorer = polyroc.make_auc_scorer(weighting="prevalence")
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_estimators_without_a_score_for_each_class():
    with pytest.raises(ValueError, match="`estimator` must have predict_proba or decision_function, got object"):
        polyroc.auc_scorer(object(), X, Y)
    # Three classes have as many pairs as classes.
    with pytest.raises(ValueError, match="each of its 3 classes, got 3 columns, one for each pair"):
        polyroc.auc_scorer(SVC(decision_function_shape="ovo").fit(X, Y), X, Y)
    four = make_pipeline(SVC(decision_function_shape="ovo")).fit(np.vstack([X, X[:10] + 9]), np.r_[Y, np.full(10, 3)])
    with pytest.raises(ValueError, match="each of its 4 classes, got 6 columns"):
        polyroc.auc_scorer(four, X, Y)
    assert polyroc.auc_scorer(SVC().fit(X, Y), X, Y) > 0.9


def test_unknown_options_are_refused_at_once():
    with pytest.raises(
        TypeError,
        match=r"make_auc_scorer\(\) got an unexpected keyword argument 'multi_class'. Accepted options: weighting, ",
    ):
        polyroc.make_auc_scorer(multi_class="ovo")
    with pytest.raises(TypeError, match=r"evaluate_cv\(\) got an unexpected keyword argument 'sample_weight'. .* cv, "):
        polyroc.evaluate_cv(GaussianNB(), X, Y, sample_weight=np.ones(150))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shrinkage": "x"}, "`shrinkage` must be a finite number of at least 0, got 'x'"),
        ({"thresholds": "mine"}, "`thresholds` must be one of"),
        ({"costs": [[1, 2]]}, r"`costs` must have shape \(2, 2\)"),
        ({"tpr_weights": np.array(3.0)}, "`tpr_weights` must have shape"),
        ({"fpr_weights": [[1, -2], [1, 1]]}, "`fpr_weights` must be finite and positive"),
    ],
)
def test_wrong_options_are_refused_at_once(options, words):
    with pytest.raises(ValueError, match=words):
        polyroc.make_auc_scorer(**options)
    unfitted = GaussianNB(priors=[2, -1])  # which could not be fitted, so that nothing else can have been asked
    with pytest.raises(ValueError, match=words):
        polyroc.evaluate_cv(unfitted, X, Y, **options)


def test_costs_by_class_reach_a_scorer():
    names = ["setosa", "versicolor", "virginica"]
    costs = pd.DataFrame([[1, 1, 1], [1, 1, 9], [1, 3, 1]], index=names, columns=names)
    model = GaussianNB().fit(X[::2], NAMES[::2])
    expected = polyroc.auc_score(NAMES[1::2], model.predict_proba(X[1::2]), costs=costs)
    assert polyroc.make_auc_scorer(costs=costs)(model, X[1::2], NAMES[1::2]) == expected


def test_a_scorer_has_a_name_for_tables():
    assert polyroc.auc_scorer.__name__ == "D"
    scorer = polyroc.make_auc_scorer(thresholds="shared", n_thresholds=49, costs=np.ones((3, 3)))
    assert scorer.__name__ == "D(thresholds=shared, n_thresholds=49, costs=...)"
    assert polyroc.AucScorer.__name__ == "AucScorer"


def test_classes_that_the_estimator_does_not_know_at_all_are_an_error():
    model = GaussianNB().fit(X, Y)
    words = r"`y` must have classes that `estimator` was fitted on \(0, 1, 2\), got 'setosa', 'versicolor', 'virginica'"
    with pytest.raises(ValueError, match=words):
        polyroc.auc_scorer(model, X, NAMES)
    with pytest.raises(ValueError, match=r"fitted on \('setosa', .*\), got 0, 1, 2"):
        polyroc.auc_scorer(GaussianNB().fit(X, NAMES), X, Y)


def test_numbers_and_their_text_are_the_same_classes():
    model, as_text = GaussianNB().fit(X, Y), Y.astype(str)
    assert polyroc.auc_scorer(model, X, as_text) == polyroc.auc_scorer(model, X, Y)
    assert polyroc.auc_scorer(model, X, as_text.astype(object)) == polyroc.auc_scorer(model, X, Y)
    assert polyroc.auc_scorer(GaussianNB().fit(X, as_text), X, Y) == polyroc.auc_scorer(model, X, Y)


def scored_by_hand(folds, *, fit_weight=None, score_weight=None):
    scores = []
    for train, test in folds:
        model = GaussianNB().fit(X[train], Y[train], None if fit_weight is None else fit_weight[train])
        weight = None if score_weight is None else score_weight[test]
        scores.append(polyroc.auc_score(Y[test], model.predict_proba(X[test]), sample_weight=weight))
    return scores


@pytest.mark.parametrize(("wanted", "given"), [(True, "sample_weight"), ("importance", "importance")])
def test_metadata_routing_brings_the_weights(wanted, given):
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    weight = np.random.default_rng(0).uniform(0.1, 9, 150)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = polyroc.auc_scorer.set_score_request(sample_weight=wanted)
        model = GaussianNB().set_fit_request(sample_weight=False)
        found = cross_validate(model, X, Y, scoring=scorer, cv=folds, params={given: weight}, error_score="raise")
        several = cross_validate(model, X, Y, scoring={"D": scorer}, cv=folds, params={given: weight})
    expected = scored_by_hand(folds, score_weight=weight)
    assert_allclose(found["test_score"], expected, atol=1e-12)
    assert_allclose(several["test_D"], expected, atol=1e-12)
    # The scorer that everybody shares has not changed.
    assert polyroc.auc_scorer.weight_request is None


def test_metadata_routing_asks_what_a_scorer_wants():
    folds = KFold(3, shuffle=True, random_state=0)
    weight = np.random.default_rng(0).uniform(0.1, 9, 150)
    with sklearn.config_context(enable_metadata_routing=True):
        model = GaussianNB().set_fit_request(sample_weight=True)
        ignoring = polyroc.auc_scorer.set_score_request(sample_weight=False)
        found = cross_validate(model, X, Y, scoring=ignoring, cv=folds, params={"sample_weight": weight})
        assert_allclose(found["test_score"], scored_by_hand(folds.split(X), fit_weight=weight), atol=1e-12)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(model, X, Y, scoring=polyroc.auc_scorer, cv=folds, params={"sample_weight": weight})
    with pytest.raises(ValueError, match="`sample_weight` must be True, False, None or a name, got 3"):
        polyroc.auc_scorer.set_score_request(sample_weight=3)
    assert pickle.loads(pickle.dumps(ignoring)) == ignoring


def test_several_scorers_take_weights_without_routing():
    model = GaussianNB().fit(X, Y)
    weight = np.random.default_rng(0).uniform(0.1, 9, 150)
    scorers = check_scoring(model, {"D": polyroc.auc_scorer, "accuracy": make_scorer(accuracy_score)})
    found = scorers(model, X, Y, sample_weight=weight)
    assert found["D"] == polyroc.auc_score(Y, model.predict_proba(X), sample_weight=weight)


def test_cross_validation_pools_and_averages():
    found = polyroc.evaluate_cv(GaussianNB(), X, NAMES, cv=5)
    assert_allclose(found.auc, cross_val_score(GaussianNB(), X, NAMES, scoring=polyroc.auc_scorer, cv=5), atol=1e-12)
    assert found.mean_fold_auc == pytest.approx(np.mean(found.auc))
    assert found.std_fold_auc == pytest.approx(np.std(found.auc, ddof=1))
    held_out = cross_val_predict(GaussianNB(), X, NAMES, cv=5, method="predict_proba")
    assert found.pooled.auc == pytest.approx(polyroc.auc_score(NAMES, held_out), abs=1e-12)
    assert np.array_equal(np.sort(found.test_index), np.arange(150))
    assert "mean D" in repr(found)
    assert "standard deviation over folds" in repr(found)
    assert "pooled" in repr(found)


def test_cross_validation_of_frames_groups_and_repeated_tests():
    frame = pd.DataFrame(X, columns=list("abcd"))
    groups = np.arange(150) % 12
    found = polyroc.evaluate_cv(GaussianNB(), frame, pd.Series(NAMES), cv=StratifiedGroupKFold(3), groups=groups)
    assert len(found.folds) == 3
    repeated = polyroc.evaluate_cv(
        GaussianNB(), X, Y, cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
    )
    assert repeated.pooled.n_samples == 450
    # Each sample is tested three times, which is no more information than once.
    drawn = repeated.pooled.bootstrap(50, groups=repeated.test_index, rng=0)
    assert drawn.standard_error() > repeated.pooled.bootstrap(50, rng=0).standard_error()


def test_folds_that_know_different_classes_are_pooled():
    folds = [(np.r_[0:100], np.r_[20:40, 120:150]), (np.r_[30:150], np.r_[0:30, 60:90])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = polyroc.evaluate_cv(GaussianNB(), X, NAMES, cv=folds)
    assert sorted(found.pooled.labels) == ["setosa", "versicolor", "virginica"]
    assert 0.5 < found.pooled.auc <= 1
    binary = polyroc.evaluate_cv(RidgeClassifier(), X, Y > 0, cv=3)
    assert binary.pooled.is_binary


def test_cross_validation_needs_two_folds():
    with pytest.raises(ValueError, match="`cv` must give at least two folds, got 1"):
        polyroc.evaluate_cv(GaussianNB(), X, Y, cv=[(np.arange(0, 150, 2), np.arange(1, 150, 2))])


def test_without_scikit_learn(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(ModuleNotFoundError, match=r'needs scikit-learn: pip install "polyroc\[sklearn\]"'):
        polyroc.evaluate_cv(GaussianNB(), X, Y)
