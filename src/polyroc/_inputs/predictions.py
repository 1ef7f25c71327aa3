"""What the user holds -> Predictions; every error about `y_true`, `y_score`, `labels` and `sample_weight`.

`_arrays` reads each argument for itself; here they are brought together. Scores on a GPU go to `_tensors`.
"""

from typing import Any, cast

import numpy as np

from polyroc._inputs.arrays import is_on_device, read_categories, read_labels, read_table
from polyroc._inputs.checks import (
    SMALLEST_WEIGHT,
    InputError,
    as_n_jobs,
    bad_scores,
    bad_weight,
    check_score_shape,
    check_weight_shape,
    no_weight,
    weight_exponent,
)
from polyroc._inputs.columns import Known, assign_columns, distinct
from polyroc._inputs.labels import Factor, check_class_counts, check_two, encode, factorize, labels_array
from polyroc._inputs.tensors import as_tensor_predictions
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc._records import Predictions, read_only

_ROWS_AT_ONCE = 65_536
# Scores that a thread reads at least: in about a tenth of a millisecond.
_WORTH_A_THREAD = 2**18


def as_predictions(
    y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None, n_jobs: int | None = 1
) -> Predictions:
    """Predictions with coded labels and finite scores.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True class of each sample. The categories of a categorical are the
        classes in the order of unnamed columns.
    y_score : array-like or frame of shape (n, k), (n,) or (n, 1)
        One column of scores per class; a single column is the score of the
        second of two classes. The column names of a frame are the classes,
        perhaps with a common prefix and suffix.
    labels : array-like of shape (k,), optional
        The classes in the order of the columns. Columns named after the
        classes are brought into this order.
    sample_weight : array-like of shape (n,), optional
        Weights, not negative. Samples of weight 0 are dropped.
    n_jobs : int, optional
        Number of threads that read large tables; None for as many as the process may use.

    Examples
    --------
    >>> predictions = as_predictions(["b", "a", "c"], [[1, 2, 0], [3, 1, 0], [0, 1, 2]])
    >>> predictions.labels.tolist(), predictions.codes.tolist()
    (['a', 'b', 'c'], [1, 0, 2])
    """
    if is_on_device(y_score):
        return as_tensor_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    truth = read_labels(y_true, "y_true")
    scores, names = read_table(y_score, "y_score")
    scores = _as_matrix(scores, len(truth))
    found = _factorized(truth, scores, n_jobs)
    weight = None if sample_weight is None else _as_weights(sample_weight, len(truth))

    given = None if labels is None else distinct(read_labels(labels, "labels"), "labels")
    categories = read_categories(y_true, "y_true") if given is None else None
    classes, order = assign_columns(Known(found.values, given, categories), names, scores.shape[1])
    if order is not None:
        scores = scores[:, order]
    codes = encode(found, classes)

    kept = None if weight is None or weight.all() else weight > 0
    if weight is not None and kept is not None:
        codes, scores, weight = codes[kept], scores[kept], weight[kept]
    # As they were counted, unless other classes or fewer samples are left.
    counts = found.counts if codes is found.codes else None
    if counts is None:
        counts = np.bincount(codes, minlength=len(classes))
    check_class_counts(counts, classes)
    if weight is not None:
        weight = _in_range(weight)
    made = Predictions(codes=codes, scores=scores, labels=labels_array(classes), sample_weight=weight, kept=kept)
    # What would be found when first asked for: to count a million samples again takes a millisecond.
    vars(made)["class_counts"] = read_only(counts)
    return made


def plain_scores(y_score: Any) -> FloatArray:
    """Finite scores without true classes, columns as they come; there may be no row."""
    return _named_scores(y_score)[0]


def _named_scores(y_score: Any) -> tuple[FloatArray, list[Any] | None]:
    scores, names = read_table(y_score, "y_score")
    if scores.ndim == 2 and len(scores) == 0:
        return scores, names
    scores = _as_matrix(scores, len(scores) if scores.ndim else 0)
    _check_finite(scores)
    return scores, names


def as_scores(y_score: Any, labels: LabelArray) -> FloatArray:
    """Scores without true classes, with finite columns in the order of classes that are known."""
    scores, names = _named_scores(y_score)
    if len(scores) == 0:
        raise InputError("y_score", "must not be empty", f"shape {scores.shape}")
    classes = labels.tolist()
    order = assign_columns(Known(sorted(classes), classes, None), names, scores.shape[1]).order
    return scores if order is None else scores[:, order]


def _as_matrix(scores: FloatArray, n_samples: int) -> FloatArray:
    check_score_shape(scores.shape, n_samples)
    return scores if scores.ndim == 2 else scores[:, np.newaxis]


def _factorized(truth: LabelArray, scores: FloatArray, n_jobs: int | None) -> Factor:
    """The labels, factorized by one thread while others read the scores, which must be finite."""
    if scores.size <= _WORTH_A_THREAD:
        _check_finite(scores)
        return factorize(truth)

    def do(task: slice | None) -> Factor | bool:
        return factorize(truth) if task is None else _is_finite(scores[task])

    parts = chunks(len(scores), 1 + _WORTH_A_THREAD // scores.shape[1], 64)
    with Threads(as_n_jobs(n_jobs)) as threads:
        found, *finite = threads.map(do, [(None,), *((slice(*part),) for part in parts)])
    if not all(finite):
        _check_finite(scores)
    return cast("Factor", found)


def _is_finite(scores: FloatArray) -> bool:
    # One pass without an (n, k) array of booleans: a sum is finite only if all its terms are.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(scores.sum()))


def _check_finite(scores: FloatArray) -> None:
    if _is_finite(scores):
        return
    starts = range(0, len(scores), _ROWS_AT_ONCE)
    bad = np.concatenate(
        [start + np.flatnonzero(~np.isfinite(scores[start : start + _ROWS_AT_ONCE]).all(axis=1)) for start in starts]
    )
    if len(bad) > 0:
        raise bad_scores(len(bad), len(scores), int(bad[0]))


def _as_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    weight = weights_of(sample_weight, n_samples)
    if not weight.any():
        raise no_weight(n_samples)
    return weight


def weights_of(sample_weight: Any, n_samples: int) -> FloatArray:
    """Weights of some samples, all of which may be 0."""
    weight = read_table(sample_weight, "sample_weight").values.astype(np.float64, copy=False)
    check_weight_shape(weight.shape, n_samples)
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        raise bad_weight(float(weight[first]), first)
    return weight


def _in_range(weight: FloatArray) -> FloatArray:
    """Positive weights whose sum is finite and whose products with rates do not vanish."""
    exponent = weight_exponent(float(weight.max()), len(weight))
    if exponent == 0:
        return weight
    # Weights that would underflow are raised to the smallest positive weight.
    return np.maximum(np.ldexp(weight, exponent), SMALLEST_WEIGHT)


def as_ordered_predictions(y_true: Any, y_score: Any, *, labels: Any, sample_weight: Any) -> Predictions:
    """Predictions whose columns are one and the same score, for classes in the order of `labels`.

    Without `labels` the order is that of the categories of a categorical, else the ascending one.
    """
    score = read_table(y_score, "y_score").values
    if score.ndim not in (1, 2) or (score.ndim == 2 and score.shape[1] != 1):
        raise InputError("y_score", "must have shape (n_samples,) where the classes are ordered", f"{score.shape}")
    classes = read_categories(y_true, "y_true") if labels is None else read_labels(labels, "labels")
    if classes is None:
        classes = np.unique(read_labels(y_true, "y_true"))
    check_two(list(classes))
    # A view: no number is copied.
    columns = np.broadcast_to(score.reshape(-1, 1), (len(score), len(classes)))
    return as_predictions(y_true, columns, labels=classes, sample_weight=sample_weight)
