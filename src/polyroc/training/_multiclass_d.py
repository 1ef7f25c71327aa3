"""multiclass_d: D of what training loops hold, which is sometimes probabilities and sometimes margins."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._engines._bins import ROUNDED
from polyroc._inputs.arrays import read_labels, read_table
from polyroc._inputs.checks import InputError
from polyroc._lib.typing import FloatArray
from polyroc.evaluation._evaluate import OF_SAMPLES, auc_score, check_option_names


def multiclass_d(
    y_true: "ArrayLike", y_score: "ArrayLike", *, sample_weight: "ArrayLike | None" = None, **options: Any
) -> float:
    """D (multi-class AUC) of coded classes, from probabilities or from the margins before softmax.

    All metrics of `polyroc.training` are this function. For probabilities it is `auc_score`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes as numbers from 0 to n_classes - 1, also if they came as floats.
    y_score : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities; if a value lies outside [0, 1] by more than 1e-6, margins (logits), of which the softmax is
        taken. For two classes one column, the score of class 1, is enough.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights.
    **options
        Further keyword arguments of `evaluate`, such as `costs`.

    Returns
    -------
    float
        Between 0 and 1, higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> from polyroc.training import multiclass_d
    >>> margins = np.array([[2.0, 0, 0], [0, 2, 0], [0, 0, 2], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    >>> y_true = [0, 1, 2, 0, 1, 2]
    >>> probabilities = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    >>> multiclass_d(y_true, margins) == multiclass_d(y_true, probabilities)
    True
    """
    if options:
        check_option_names(options, multiclass_d, without=OF_SAMPLES)
    codes, scores = read_labels(y_true, "y_true"), read_table(y_score, "y_score").values
    if codes.dtype.kind not in "ib":
        raise InputError("y_true", "must hold numbers of classes, 0 to n_classes - 1", "text")
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.ndim == 1 and codes.max() > 1:
        hint = " (of XGBoost, objective='multi:softprob' gives scores, and 'multi:softmax' only the predicted class)"
        raise InputError("y_score", "must have one column per class", f"shape {scores.shape}{hint}")
    if scores.ndim == 2:
        scores = _softmax_if_needed(scores)
    k = scores.shape[1] if scores.ndim == 2 else 2
    return auc_score(codes, scores, labels=range(k), sample_weight=sample_weight, **options)


def _softmax_if_needed(scores: FloatArray) -> FloatArray:
    if not np.isfinite(scores).all():  # `evaluate` says what is wrong
        return scores
    if scores.size == 0 or (scores.min() >= -ROUNDED and scores.max() <= 1 + ROUNDED):
        return scores
    wide = scores.astype(np.float64)
    # What vanishes is 0, whatever the caller has made of underflow.
    with np.errstate(under="ignore", over="ignore"):
        shares = np.exp(wide - wide.max(axis=1, keepdims=True))
        found: FloatArray = shares / shares.sum(axis=1, keepdims=True)
    return found
