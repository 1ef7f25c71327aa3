"""CostSensitiveClassifier: a scikit-learn classifier that predicts the classes which cost least.

The only module of the package that needs scikit-learn to be imported: `polyroc` loads it when somebody asks for it.
"""

from numbers import Integral
from typing import Any

import numpy as np

from polyroc._core.predicted import costs_of, with_reject
from polyroc._inputs.checks import InputError, listed
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._lib.warnings import warn
from polyroc.costs._decide import decide
from polyroc.costs._rules import RuleName, as_labels
from polyroc.evaluation._scoring import class_scores

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
    from sklearn.model_selection import StratifiedGroupKFold, check_cv
    from sklearn.utils import _safe_indexing, column_or_1d, get_tags, indexable
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import _check_method_params, _check_sample_weight, check_is_fitted, has_fit_parameter
except ModuleNotFoundError as error:
    _msg = '`CostSensitiveClassifier` needs scikit-learn: pip install "polyroc[sklearn]".'
    raise ModuleNotFoundError(_msg, name="sklearn") from error


def _has_probabilities(classifier: "CostSensitiveClassifier") -> bool:
    # Asked of the wrapped estimator, so that the error names what that one lacks.
    getattr(getattr(classifier, "estimator_", classifier.estimator), "predict_proba")  # noqa: B009
    return True


class CostSensitiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn classifier that predicts the classes which cost least.

    `fit` gets scores for every sample from fits of `estimator` that have not seen it (`cv`), gives them to `decide`,
    and fits `estimator` on all samples. `predict` applies the rule that `decide` found. Needs ``polyroc[sklearn]``.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Cloned before each fit. Its `predict_proba` is used; its `decision_function` where it has no `predict_proba`.
    costs : array-like of shape (n_classes, n_classes), optional
        ``costs[true, predicted]``, as in `decide`, classes in ascending order or by the names of a data frame. By
        default every mistake costs 1.
    prior, rule, reject_cost, confidence_level, rng
        As in `decide`. "bayes" and `reject_cost` need an estimator with `predict_proba`.
    cv : int, splitter or iterable
        As in scikit-learn: how samples are split to get their scores. Each must be tested once. An integer means
        stratified folds, which keep groups whole if `fit` is given `groups`.
    n_jobs : int, optional
        Number of fits at a time, as in scikit-learn. Results do not depend on it.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all samples.
    decision_ : Decision
        The rule. Its `cost` is cross-fitted: what to expect on new samples.
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    response_method_ : {"predict_proba", "decision_function"}
        Where scores come from.
    n_features_in_, feature_names_in_
        As `estimator_` has them.

    See Also
    --------
    decide : The same from scores that you have.

    Notes
    -----
    The rule is made from scores of estimators that were fitted on a part of the samples, and applied to scores of one
    that was fitted on all. With few samples these are less sure of themselves than the last one.

    `score` is the accuracy, as of every classifier of scikit-learn. To choose parameters by cost, define
    ``def less_cost(model, X, y): return -model.cost(X, y)`` and pass ``scoring=less_cost``.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_wine(return_X_y=True)
    >>> costs = np.array([[0, 1, 1], [1, 0, 1], [20, 20, 0]])  # to miss the third wine costs 20
    >>> model = polyroc.CostSensitiveClassifier(GaussianNB(), costs).fit(X, y)
    >>> model.predict(X[:3]), model.decision_.rule
    (array([0, 0, 0]), 'auto')
    """

    def __init__(
        self,
        estimator: Any,
        costs: Any = None,
        *,
        prior: Any = None,
        rule: RuleName = "auto",
        reject_cost: float | None = None,
        cv: Any = 5,
        confidence_level: float = 0.95,
        rng: int | np.random.Generator | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.prior = prior
        self.rule = rule
        self.reject_cost = reject_cost
        self.cv = cv
        self.confidence_level = confidence_level
        self.rng = rng
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> "CostSensitiveClassifier":
        """Tune the rule on held-out scores, and fit the estimator on all samples.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            What the estimator learns from.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for the estimator and the costs. An estimator whose `fit` takes none is fitted without, with a
            warning.
        groups : array-like of shape (n_samples,), optional
            Group of each sample, such as a patient ID, for `cv` and for `decide`: groups are kept whole.
        **fit_params
            Further arguments of the estimator's `fit`; those with an entry per sample are split as the samples are.

        Returns
        -------
        CostSensitiveClassifier
            Itself.
        """
        if not is_classifier(self.estimator):
            raise InputError("estimator", "must be a classifier", type(self.estimator).__name__)
        y = _as_classes(y)
        X, y, groups = indexable(X, y, groups)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("y", "must have at least two classes", f"one class, {listed(self.classes_.tolist())}")
        params = fit_params | self._weights(weight)
        scores = self._held_out_scores(X, y, self._folds(X, codes, groups), params)
        self.decision_ = decide(
            y,
            scores,
            1 - np.eye(len(self.classes_)) if self.costs is None else self.costs,
            prior=self.prior,
            rule=self.rule,
            reject_cost=self.reject_cost,
            labels=self.classes_,
            sample_weight=weight,
            groups=groups,
            confidence_level=self.confidence_level,
            rng=self.rng,
            # scikit-learn's None is one at a time.
            n_jobs=1 if self.n_jobs is None else max(self.n_jobs, -1),
        )
        self.estimator_ = clone(self.estimator).fit(X, y, **_check_method_params(X, params))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _weights(self, weight: Any) -> dict[str, Any]:
        """Weights as an argument of the estimator's `fit`, if that takes them."""
        if weight is None:
            return {}
        if has_fit_parameter(self.estimator, "sample_weight"):
            return {"sample_weight": weight}
        name = type(self.estimator).__name__
        warn(f"`fit` of {name} takes no `sample_weight`: only costs are weighted, not its fits.", UserWarning)
        return {}

    def _folds(self, X: Any, codes: IntArray, groups: Any) -> list[tuple[IntArray, IntArray]]:
        """The samples to fit on and to score, for each fold."""
        cv = self.cv
        if groups is not None and isinstance(cv, Integral):
            cv = StratifiedGroupKFold(int(cv))
        folds = list(check_cv(cv, codes, classifier=True).split(X, codes, groups))
        tested = np.sort(np.concatenate([np.arange(len(codes))[test] for _, test in folds]))
        if not np.array_equal(tested, np.arange(len(codes))):
            came = f"{len(np.unique(tested))} of {len(codes)} samples in {len(tested)} tests"
            raise InputError("cv", "must test every sample once", came)
        for number, (train, _) in enumerate(folds):
            missing = np.setdiff1d(np.arange(len(self.classes_)), codes[train])
            if len(missing) > 0:
                rule = "must have samples of every class left to fit on, whichever fold is held out"
                came = f"no other sample of {listed(self.classes_[missing].tolist())} than those in fold {number}"
                raise InputError("y", rule, came, hint=": leave out such classes, or shuffle the folds (`cv`)")
        return folds

    def _held_out_scores(self, X: Any, y: Any, folds: list[tuple[IntArray, IntArray]], params: Any) -> FloatArray:
        self.response_method_ = "predict_proba" if hasattr(self.estimator, "predict_proba") else "decision_function"
        if self.response_method_ == "decision_function" and (self.rule == "bayes" or self.reject_cost is not None):
            what = 'rule="bayes"' if self.rule == "bayes" else "`reject_cost`"
            raise InputError("estimator", f"must have predict_proba for {what}", type(self.estimator).__name__)
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_fold_scores)(clone(self.estimator), X, y, train, test, _check_method_params(X, params, train))
            for train, test in folds
        )
        scores = np.empty((len(y), len(self.classes_)))
        for (_, test), part in zip(folds, found, strict=True):
            scores[test] = part
        return scores

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return _both_columns(class_scores(self.estimator_, X)[0])

    def predict(self, X: Any) -> Any:
        """The class that the rule predicts for each sample.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes. With `reject_cost`, an array of objects that has None where the rule abstains.
        """
        predicted = self._predicted(X)
        return as_labels(predicted, self.classes_, may_abstain=self.decision_.predictor.abstains)

    def _predicted(self, X: Any) -> IntArray:
        scores = self._scores(X)
        return self.decision_.predictor.predict(scores)

    def decision_function(self, X: Any) -> FloatArray:
        """How the rule ranks the classes of each sample: the highest is predicted.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Levels (as `Decision.scale` says) plus offsets; minus the expected cost for "bayes". With `reject_cost`, the
            level of abstaining is subtracted: the rule abstains where all are negative. Of two classes and without
            `reject_cost`, the second column minus the first: the second class is predicted if it is positive.
        """
        scores = self._scores(X)
        rule = self.decision_.predictor
        levels = rule.margins(scores)
        if len(self.classes_) > 2 or rule.abstains:
            return levels
        second: FloatArray = levels[:, 1] - levels[:, 0]
        return second

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the fitted estimator, without offsets and without `prior`.

        The class of the highest probability need not be the one that `predict` returns.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, one column per class of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the share of samples whose class is predicted rightly. To abstain is not right.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        float
            Accuracy, higher is better.
        """
        # Objects: an array of text with None in it is no array of text.
        is_right = np.asarray(self.predict(X), dtype=object) == np.asarray(column_or_1d(y), dtype=object)
        return float(np.average(is_right, weights=sample_weight))

    def cost(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean cost per sample on samples that were not used in `fit`; classes count by `prior` if that is given.

        Parameters
        ----------
        X, y, sample_weight
            As in `score`.

        Returns
        -------
        float
            Cost, lower is better; negative if gains outweigh costs.
        """
        predicted = self._predicted(X)
        codes = self._codes(column_or_1d(y))
        decision = self.decision_
        costs = costs_of(codes, predicted, with_reject(decision.costs, decision.reject_cost))
        weight = np.ones(len(codes)) if sample_weight is None else _check_sample_weight(sample_weight, codes)
        if self.prior is None:
            return float(np.average(costs, weights=weight))
        sums = np.bincount(codes, weight, minlength=len(self.classes_))
        if absent := self.classes_[(sums == 0) & (decision.prior > 0)].tolist():
            raise InputError("y", "must have samples of every class that `prior` counts", f"none of {listed(absent)}")
        means = np.bincount(codes, weight * costs, minlength=len(sums)) / np.where(sums > 0, sums, 1)
        return float(decision.prior @ means)

    def _codes(self, y: Any) -> IntArray:
        position = {label: code for code, label in enumerate(self.classes_.tolist())}
        values, inverse = np.unique(y, return_inverse=True)
        if unknown := [label for label in values.tolist() if label not in position]:
            known = listed(self.classes_.tolist())
            raise InputError("y", f"must have only classes that `fit` was given ({known})", listed(unknown))
        codes: IntArray = np.array([position[label] for label in values.tolist()], dtype=np.intp)[inverse]
        return codes

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def _as_classes(y: Any) -> Any:
    if y is None:
        msg = "CostSensitiveClassifier requires y to be passed, but the target y is None."
        raise ValueError(msg)
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    return y


def _fold_scores(estimator: Any, X: Any, y: Any, train: IntArray, test: IntArray, params: Any) -> FloatArray:
    """Scores of some samples by a fit on others."""
    fitted = estimator.fit(_safe_indexing(X, train), _safe_indexing(y, train), **params)
    return _both_columns(class_scores(fitted, _safe_indexing(X, test))[0])


def _both_columns(scores: FloatArray) -> FloatArray:
    # A decision function of two classes has one column: by itself, numbers from 0 to 1 would pass for probabilities.
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
