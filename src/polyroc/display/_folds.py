"""What scikit-learn's `cross_validate` kept -> an evaluation of each fold, on the samples its fit has not seen."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
