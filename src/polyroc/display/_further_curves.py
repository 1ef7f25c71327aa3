"""Further curves of a display: those of pairs, and those of the folds of a cross-validation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._estimator._curve import RocCurve
from polyroc._evaluation import Evaluation
from polyroc._inputs._arrays import read_labels
from polyroc._inputs._checks import InputError
from polyroc._scoring import evaluate_estimator


def evaluate_folds(
    cv_results: Mapping[str, Any], X: Any, y: ArrayLike, sample_weight: Any, options: dict[str, Any]
) -> list[Evaluation]:
    """One evaluation for each fold."""
    from sklearn.utils import _safe_indexing

    for key in ("estimator", "indices"):
        if key not in cv_results:
            wanted = "cross_validate(..., return_estimator=True, return_indices=True)"
            raise InputError("cv_results", f"must contain {key!r}, as those of {wanted} do")
    y_true = read_labels(y, "y")
    weight = None if sample_weight is None else np.asarray(sample_weight)
    return [
        evaluate_estimator(
            estimator,
            _safe_indexing(X, test),
            y_true[test],
            sample_weight=None if weight is None else weight[test],
            **options,
        )
        for estimator, test in zip(cv_results["estimator"], cv_results["indices"]["test"], strict=True)
    ]


# More faint curves than these are one grey area.
_MOST_PAIRS = 300


def pair_curves_of(evaluation: Evaluation) -> list[RocCurve]:
    """The curves of the pairs, from corner to corner, where they are at hand and more than one."""
    rates = evaluation._kept_rates
    if rates is None or rates.n_pairs < 2:
        return []
    chosen = np.arange(rates.n_pairs)
    if rates.n_pairs > _MOST_PAIRS:
        by_effect = np.argsort(evaluation.pairs.effect, kind="stable")
        chosen = by_effect[np.linspace(0, rates.n_pairs - 1, _MOST_PAIRS).round().astype(int)]
    return [RocCurve(fpr=np.r_[0, rates.fpr[:, p], 1], tpr=np.r_[0, rates.tpr[:, p], 1]) for p in chosen]
