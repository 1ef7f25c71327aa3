"""Scores of a fitted scikit-learn classifier, and scorers for `cross_val_score` and its kin.

Nothing of scikit-learn is imported until it asks itself: a scorer is any function of an estimator, its data and the
true classes.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._inputs.arrays import read_labels, read_table
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.options import DECLARED, as_options
from polyroc._inputs.predictions import stacked
from polyroc._lib.numbers import area
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._lib.warnings import warn
from polyroc._records import Frozen
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names, evaluate
from polyroc.evaluation._evaluation import Evaluation


@dataclass(frozen=True)
class AucScorer:
    """A scorer that gives D, for whatever takes ``scorer(estimator, X, y)``.

    `auc_scorer` is one without options; `make_auc_scorer` makes others. Its `__name__`, which tools show above its
    column, is "D", followed by the options where there are some.

    Examples
    --------
    >>> import polyroc
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> cross_val_score(GaussianNB(), *load_iris(return_X_y=True), scoring=polyroc.auc_scorer).shape
    (5,)
    >>> polyroc.auc_scorer.__name__, polyroc.make_auc_scorer(shrinkage=0.5).__name__
    ('D', 'D(shrinkage=0.5)')
    """

    options: dict[str, Any] = field(default_factory=dict)
    weight_request: bool | str | None = None
    """Request for `sample_weight`, as `set_score_request` was given it."""

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D of a fitted classifier on these samples."""
        return evaluate_estimator(estimator, X, y, sample_weight=sample_weight, **self.options).auc

    @property
    def __name__(self) -> str:
        given = [f"{name}={value if isinstance(value, str | Real) else '...'}" for name, value in self.options.items()]
        return f"D({', '.join(given)})" if given else "D"

    def set_score_request(self, *, sample_weight: Any) -> "AucScorer":
        """A scorer that asks scikit-learn's metadata routing for sample weights.

        Scorers do not change: go on with the one that is returned.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to be given the `sample_weight` that is passed along, False to ignore it, a name to be given the
            weights that are passed by that name, None to refuse them.

        Returns
        -------
        AucScorer
            The same scorer with this request.

        Examples
        --------
        >>> import numpy as np, polyroc, sklearn
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import cross_validate
        >>> from sklearn.naive_bayes import GaussianNB
        >>> scorer = polyroc.auc_scorer.set_score_request(sample_weight=True)
        >>> model = GaussianNB()
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     model.set_fit_request(sample_weight=False)
        ...     found = cross_validate(
        ...         model, *load_iris(return_X_y=True), scoring=scorer, params={"sample_weight": np.arange(150)}
        ...     )
        GaussianNB()
        >>> found["test_score"].shape
        (5,)
        """
        if not (sample_weight is None or isinstance(sample_weight, bool | str)):
            raise InputError("sample_weight", "must be True, False, None or a name", shown(sample_weight))
        return replace(self, weight_request=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Metadata that the scorer asks of scikit-learn, which must be installed."""
        # Only scikit-learn calls this, so it is there.
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="sample_weight", alias=self.weight_request)
        return request

    def _accept_sample_weight(self) -> bool:
        """Asked by scikit-learn where metadata routing is off."""
        return True

    def __repr__(self) -> str:
        if not self.options:
            return "polyroc.auc_scorer"
        return f"polyroc.make_auc_scorer({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"


auc_scorer = AucScorer()


def make_auc_scorer(**options: Any) -> AucScorer:
    """A scorer with options of `evaluate`.

    Parameters
    ----------
    **options
        Keyword arguments of `evaluate`, other than `labels` and `sample_weight`.

    Returns
    -------
    AucScorer
        For `scoring=` of `cross_val_score`, `GridSearchCV` and others.

    Examples
    --------
    >>> import polyroc
    >>> polyroc.make_auc_scorer(thresholds="shared")
    polyroc.make_auc_scorer(thresholds='shared')
    """
    # Asked now, not in the middle of a search that would take the error for a failed fit.
    check_option_names(options, make_auc_scorer, without=OF_SAMPLES)
    return AucScorer(checked_options(options))


def checked_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options, wrong values refused before there are samples; the classes are those of the first matrix.

    Instead of a generator they hold a seed that was drawn from it, so that every evaluation compares the same pairs.
    """
    classes: Any = range(2)
    for name, declared in DECLARED.items():
        if declared.metadata["of_classes"] and options.get(name) is not None:
            values, names = read_table(options[name], name)
            classes = names or range(values.shape[-1] if values.ndim else 2)
            break
    checked = as_options(np.array(classes), **options)
    return options | {"rng": checked.rng} if "rng" in options else options


def evaluate_estimator(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, **options: Any) -> Evaluation:
    """Evaluate a fitted classifier; a class that it has never seen scores alike for all samples."""
    y_true = read_labels(y, "y")
    scores, classes = class_scores(estimator, X)
    scores, classes = _with_unseen(scores, classes, y_true)
    return evaluate(y_true, scores, labels=classes, sample_weight=sample_weight, **options)


def class_scores(estimator: Any, X: Any) -> tuple[FloatArray, np.ndarray[Any, Any]]:
    """Probabilities of a fitted classifier, else its decision function; and its classes."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            scores, _ = read_table(getattr(estimator, method)(X), method)
            break
    else:
        raise InputError("estimator", "must have predict_proba or decision_function", type(estimator).__name__)
    if not hasattr(estimator, "classes_"):
        raise InputError("estimator", "must be a fitted classifier, with classes_", type(estimator).__name__)
    classes = np.asarray(estimator.classes_)
    # Three classes have three pairs: there the number of columns does not tell.
    by_pairs = method == "decision_function" and getattr(estimator, "decision_function_shape", None) == "ovo"
    if scores.ndim == 2 and (by_pairs or scores.shape[1] != max(len(classes), 2)):
        came = f"{scores.shape[1]} columns, one for each pair" if by_pairs else f"{scores.shape[1]} columns"
        raise InputError(
            "estimator",
            f"must score each of its {len(classes)} classes",
            f"{came} (scikit-learn's SVC scores classes with decision_function_shape='ovr')",
        )
    return scores, classes


def _with_unseen(
    scores: FloatArray, classes: "np.ndarray[Any, Any]", y_true: "np.ndarray[Any, Any]"
) -> tuple[FloatArray, "np.ndarray[Any, Any]"]:
    """A constant column for each class that training did not have."""
    found = sorted(set(y_true.tolist()))
    known = set(classes.tolist())
    if isinstance(found[0], str) != isinstance(classes.tolist()[0], str):
        # As `evaluate` matches them: 1 is "1" where one side is text.
        known = {label for label in found if str(label) in set(map(str, known))}
    unseen = [label for label in found if label not in known]
    if not unseen:
        return scores, classes
    if len(unseen) == len(found):
        raise InputError(
            "y",
            f"must have classes that `estimator` was fitted on ({listed(classes.tolist())})",
            listed(found),
            hint=": without a score for any of them D would be 1/2 whatever the classifier",
        )
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    msg = f"`estimator` has never seen {listed(unseen)}: no sample is ranked by these classes."
    warn(msg, UserWarning)
    lowest = np.full((len(scores), len(unseen)), scores.min(), dtype=scores.dtype)
    return np.hstack([scores, lowest]), np.concatenate([classes, unseen])


@dataclass(frozen=True, eq=False)
class CrossValidation(Frozen):
    """A classifier's evaluations on the parts that its fits have not seen.

    Attributes
    ----------
    folds : tuple of Evaluation
        One for each fit. Classes without samples in a fold are left out there.
    test_index : ndarray
        Which sample each row of `pooled` is. Where a splitter tests samples more than once, pass it as `groups` to
        the methods of `pooled` that give intervals.
    auc : ndarray of shape (n_folds,)
        D of each fold.
    mean_fold_auc, std_fold_auc : float
        Their mean and standard deviation. The latter says how folds differ. It is not a standard error, because the
        fits share most of their training data.
    pooled : Evaluation
        The held-out scores of all folds together. It compares scores that different fits gave, so that fits which
        are not on one scale lower it.

    Examples
    --------
    >>> import polyroc
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> found = polyroc.evaluate_cv(GaussianNB(), *load_iris(return_X_y=True), cv=3)
    >>> found.auc.shape, bool(found.mean_fold_auc == found.auc.mean())
    ((3,), True)
    >>> found.pooled.n_samples
    150
    """

    folds: tuple[Evaluation, ...]
    test_index: IntArray
    options: dict[str, Any]

    @cached_property
    def auc(self) -> FloatArray:
        return np.array([fold.auc for fold in self.folds])

    @property
    def mean_fold_auc(self) -> float:
        return float(np.mean(self.auc))

    @property
    def std_fold_auc(self) -> float:
        return float(np.std(self.auc, ddof=1))

    @cached_property
    def pooled(self) -> Evaluation:
        y_true, scores, classes = stacked([fold.fitted.unchanged.samples for fold in self.folds])
        return evaluate(y_true, scores, labels=classes, **self.options)

    def __repr__(self) -> str:
        folds = f"mean D {area(self.mean_fold_auc)}, standard deviation over folds {area(self.std_fold_auc)}"
        return f"CrossValidation({len(self.folds)} folds: {folds}; held-out scores pooled: D {area(self.pooled.auc)})"


def evaluate_cv(
    estimator: Any, X: Any, y: "ArrayLike", *, cv: Any = None, groups: "ArrayLike | None" = None, **options: Any
) -> CrossValidation:
    """Evaluate a scikit-learn classifier by cross-validation.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Cloned and fitted for each fold; it is not changed itself.
    X : array-like or data frame of shape (n_samples, n_features)
        What it learns from.
    y : array-like of shape (n_samples,)
        True classes.
    cv : int, splitter or iterable, optional
        As in scikit-learn: None for five stratified folds.
    groups : array-like of shape (n_samples,), optional
        For splitters that keep groups together.
    **options
        Further keyword arguments of `evaluate`, other than `labels` and `sample_weight`.

    Returns
    -------
    CrossValidation
        With `folds`, `mean_auc`, `std_auc` and `pooled`.

    Examples
    --------
    >>> import polyroc
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> found = polyroc.evaluate_cv(GaussianNB(), *load_iris(return_X_y=True), cv=3)
    >>> len(found.folds), bool(found.mean_fold_auc > 0.95)
    (3, True)
    """
    try:
        from sklearn.base import clone, is_classifier
        from sklearn.model_selection import check_cv
        from sklearn.utils import _safe_indexing, indexable
    except ModuleNotFoundError as error:
        msg = '`evaluate_cv` needs scikit-learn: pip install "polyroc[sklearn]".'
        raise ModuleNotFoundError(msg, name="sklearn") from error
    check_option_names(options, evaluate_cv, without=OF_SAMPLES)
    options = checked_options(options)
    y_true = read_labels(y, "y")
    X, y_true, groups = indexable(X, y_true, groups)
    folds, tested = [], []
    for train, test in check_cv(cv, y_true, classifier=is_classifier(estimator)).split(X, y_true, groups):
        fitted = clone(estimator).fit(_safe_indexing(X, train), y_true[train])
        folds.append(evaluate_estimator(fitted, _safe_indexing(X, test), y_true[test], **options))
        tested.append(test)
    if len(folds) < 2:
        raise InputError("cv", "must give at least two folds", f"{len(folds)}")
    return CrossValidation(tuple(folds), np.concatenate(tested), options)
