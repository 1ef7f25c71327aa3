"""Scores of a fitted scikit-learn classifier, and scorers for `cross_val_score` and its kin.

Nothing of scikit-learn is imported: a scorer is any function of an estimator, its data and the true classes.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyroc._containers import listed, read_labels, read_table
from polyroc._evaluate import check_option_names, evaluate
from polyroc._evaluation import Evaluation
from polyroc._typing import FloatArray
from polyroc._warnings import warn

# Arguments of `evaluate` that belong to the samples of a fold, or follow from the estimator.
OF_SAMPLES = ("y_true", "y_score", "labels", "sample_weight")


@dataclass(frozen=True)
class AucScorer:
    """A scorer that gives D, for whatever takes ``scorer(estimator, X, y)``.

    `auc_scorer` is one without options; `make_auc_scorer` makes others.

    Examples
    --------
    >>> import polyroc
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> cross_val_score(GaussianNB(), *load_iris(return_X_y=True), scoring=polyroc.auc_scorer).shape
    (5,)
    """

    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D of a fitted classifier on these samples."""
        return evaluate_estimator(estimator, X, y, sample_weight=sample_weight, **self.options).auc

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
    check_option_names(options, "make_auc_scorer", without=OF_SAMPLES)
    return AucScorer(options)


def evaluate_estimator(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, **options: Any) -> Evaluation:
    """Evaluate a fitted classifier; a class that it has never seen scores alike for all samples."""
    y_true = read_labels(y, "y")
    scores, classes = class_scores(estimator, X)
    scores, classes = _with_unseen(scores, classes, y_true)
    return evaluate(y_true, scores, labels=classes, sample_weight=sample_weight, **options)


def class_scores(estimator: Any, X: Any) -> tuple[FloatArray, np.ndarray[Any, Any]]:
    """What a fitted classifier says of each class: its probabilities, else its decision function; and the classes."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            scores, _ = read_table(getattr(estimator, method)(X), method)
            break
    else:
        msg = f"`estimator` must have predict_proba or decision_function, got {type(estimator).__name__}."
        raise ValueError(msg)
    if not hasattr(estimator, "classes_"):
        msg = f"`estimator` must be a fitted classifier, with classes_, got {type(estimator).__name__}."
        raise ValueError(msg)
    classes = np.asarray(estimator.classes_)
    # Three classes have three pairs: there the number of columns does not tell.
    by_pairs = method == "decision_function" and getattr(estimator, "decision_function_shape", None) == "ovo"
    if scores.ndim == 2 and (by_pairs or scores.shape[1] != max(len(classes), 2)):
        came = f"{scores.shape[1]} columns, one for each pair" if by_pairs else f"{scores.shape[1]} columns"
        msg = (
            f"`estimator` must score each of its {len(classes)} classes, got {came} "
            "(scikit-learn's SVC scores classes with decision_function_shape='ovr')."
        )
        raise ValueError(msg)
    return scores, classes


def _with_unseen(
    scores: FloatArray, classes: "np.ndarray[Any, Any]", y_true: "np.ndarray[Any, Any]"
) -> tuple[FloatArray, "np.ndarray[Any, Any]"]:
    """A constant column for each class that training did not have."""
    unseen = np.setdiff1d(y_true, classes)
    if len(unseen) == 0:
        return scores, classes
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    msg = f"`estimator` has never seen {listed(unseen.tolist())}: no sample is ranked by these classes."
    warn(msg, UserWarning)
    lowest = np.full((len(scores), len(unseen)), scores.min(), dtype=scores.dtype)
    return np.hstack([scores, lowest]), np.concatenate([classes, unseen])
