"""evaluate_cv(...): a classifier judged on the samples that each of its fits has not seen."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError
from polyroc._inputs.predictions import stacked
from polyroc._lib.numbers import area
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names, evaluate
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._scoring import checked_options, evaluate_estimator


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
        y_true, scores, classes = stacked([fold._unchanged.samples for fold in self.folds])
        return evaluate(y_true, scores, labels=classes, **self.options)

    def __repr__(self) -> str:
        folds = f"mean D {area(self.mean_fold_auc)}, standard deviation over folds {area(self.std_fold_auc)}"
        return f"CrossValidation({len(self.folds)} folds: {folds}; held-out scores pooled: D {area(self.pooled.auc)})"


def evaluate_cv(
    estimator: Any,
    X: Any,
    y: "ArrayLike",
    *,
    cv: Any = None,
    groups: "ArrayLike | None" = None,
    **options: Any,
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
        With `folds`, `mean_fold_auc`, `std_fold_auc` and `pooled`.

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
