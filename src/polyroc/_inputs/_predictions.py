"""What the user holds -> Predictions; every error about `y_true`, `y_score`, `labels` and `sample_weight`.

`_containers` reads each argument for itself; here they are brought together.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._inputs._arrays import read_categories, read_labels, read_table
from polyroc._inputs._checks import InputError, listed
from polyroc._inputs._column_classes import Known, assign_columns, check_two, distinct, positions
from polyroc._lib._typing import FloatArray, IntArray, LabelArray
from polyroc._lib._warnings import warn
from polyroc._records import Predictions

_ROWS_AT_ONCE = 65_536


class _Factor(NamedTuple):
    """The distinct labels in ascending order, and each sample's position among them."""

    values: list[Any]
    codes: IntArray


def as_predictions(y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None) -> Predictions:
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

    Examples
    --------
    >>> predictions = as_predictions(["b", "a", "c"], [[1, 2, 0], [3, 1, 0], [0, 1, 2]])
    >>> predictions.labels.tolist(), predictions.codes.tolist()
    (['a', 'b', 'c'], [1, 0, 2])
    """
    truth = read_labels(y_true, "y_true")
    scores, names = read_table(y_score, "y_score")
    scores = _as_matrix(scores, len(truth))
    _check_finite(scores)
    weight = None if sample_weight is None else _as_weights(sample_weight, len(truth))

    found = _factorize(truth)
    given = None if labels is None else distinct(read_labels(labels, "labels"), "labels")
    categories = read_categories(y_true, "y_true") if given is None else None
    classes, order = assign_columns(Known(found.values, given, categories), names, scores.shape[1])
    if order is not None:
        scores = scores[:, order]
    codes = _encode(found, classes)

    kept = None if weight is None or weight.all() else weight > 0
    if weight is not None and kept is not None:
        codes, scores, weight = codes[kept], scores[kept], weight[kept]
    _check_samples(codes, classes)
    if weight is not None:
        weight = _in_range(weight)
    return Predictions(codes=codes, scores=scores, labels=labels_array(classes), sample_weight=weight, kept=kept)


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
    if scores.ndim not in (1, 2):
        raise InputError("y_score", "must have shape (n_samples, n_classes) or (n_samples,)", f"{scores.shape}")
    if scores.size == 0:
        raise InputError("y_score", "must not be empty", f"shape {scores.shape}")
    if len(scores) != n_samples:
        raise InputError(
            "y_score", "must have one row per label", f"shape {scores.shape} and {n_samples} labels in `y_true`"
        )
    return scores if scores.ndim == 2 else scores[:, np.newaxis]


def _check_finite(scores: FloatArray) -> None:
    # One pass without an (n, k) array of booleans: a sum is finite only if all its terms are.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(scores.sum()):
            return
    starts = range(0, len(scores), _ROWS_AT_ONCE)
    bad = np.concatenate(
        [start + np.flatnonzero(~np.isfinite(scores[start : start + _ROWS_AT_ONCE]).all(axis=1)) for start in starts]
    )
    if len(bad) > 0:
        raise InputError(
            "y_score",
            "must be finite",
            f"NaN, infinity or missing values in {len(bad)} of {len(scores)} rows, the first is row {bad[0]}",
        )


def _as_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    weight = weights_of(sample_weight, n_samples)
    if not weight.any():
        raise InputError("sample_weight", "must not be zero everywhere", f"{n_samples} zeros")
    return weight


def weights_of(sample_weight: Any, n_samples: int) -> FloatArray:
    """Weights of some samples, all of which may be 0."""
    weight = read_table(sample_weight, "sample_weight").values.astype(np.float64, copy=False)
    if weight.shape != (n_samples,):
        raise InputError("sample_weight", f"must have shape ({n_samples},) as `y_true` has", f"{weight.shape}")
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        raise InputError("sample_weight", "must be finite and not negative", f"{float(weight[first])} in row {first}")
    return weight


def _in_range(weight: FloatArray) -> FloatArray:
    """Positive weights whose sum is finite and whose products with rates do not vanish.

    Only ratios matter, and a power of two leaves them as they are.
    """
    limits = np.finfo(np.float64)
    largest = weight.max()
    if largest < limits.tiny / limits.eps:
        return np.ldexp(weight, -int(np.frexp(largest)[1]))
    if largest > limits.max / len(weight):
        # By no more than the sum needs; beside the largest, what would vanish is nothing, but still a weight.
        return np.maximum(np.ldexp(weight, -len(weight).bit_length()), limits.smallest_subnormal)
    return weight


def _factorize(labels: LabelArray) -> _Factor:
    if labels.dtype.kind in "OU":
        items = labels.tolist()
        values = sorted(set(items))
        # A dictionary, because np.unique would sort all n strings.
        position = {value: code for code, value in enumerate(values)}
        return _Factor(values, np.fromiter(map(position.__getitem__, items), np.intp, len(items)))
    if labels.dtype.kind == "b":
        values, codes = _factorize_integers(labels.astype(np.int64))
        return _Factor([bool(value) for value in values], codes)
    return _factorize_integers(labels)


def _factorize_integers(labels: IntArray) -> _Factor:
    low, high = int(labels.min()), int(labels.max())
    span = high - low + 1
    if span > 2 * len(labels) + 1024:
        distinct, inverse = np.unique(labels, return_inverse=True)
        return _Factor(distinct.tolist(), inverse)
    offsets = (labels - low).astype(np.intp, copy=False)
    present = np.bincount(offsets) > 0
    values = [low + offset for offset in np.flatnonzero(present).tolist()]
    return _Factor(values, offsets if len(values) == span else (np.cumsum(present) - 1)[offsets])


def labels_array(classes: list[Any]) -> LabelArray:
    """The classes as an array of one type that keeps each as it is."""
    if isinstance(classes[0], str):
        # NumPy's fixed width pads with NUL, so it cannot keep one at the end.
        return np.array(classes, dtype=object if any(label.endswith("\0") for label in classes) else None)
    if isinstance(classes[0], bool):
        return np.array(classes)
    # Named, because NumPy looks for a common type of the numbers and settles for float64.
    return np.array(classes, dtype=np.uint64 if max(classes) >= 2**63 else np.int64)


def encoded(truth: LabelArray, classes: list[Any]) -> IntArray:
    """Each label as its position among the classes, all of which are known."""
    return _encode(_factorize(truth), classes)


def _encode(found: _Factor, classes: list[Any]) -> IntArray:
    if found.values == classes:
        return found.codes
    places = positions(found.values, classes)
    unknown = [code for code, place in enumerate(places) if place is None]
    if unknown:
        first = int(np.isin(found.codes, unknown).argmax())
        came = f"{listed([found.values[code] for code in unknown])}, first in row {first}"
        raise InputError("y_true", f"must hold only classes of `labels` ({listed(classes)})", came)
    return np.array(places, dtype=np.intp)[found.codes]


def _check_samples(codes: IntArray, classes: list[Any]) -> None:
    check_class_counts(np.bincount(codes, minlength=len(classes)), classes)


def check_class_counts(class_counts: IntArray, classes: list[Any]) -> None:
    """Two classes must have samples; those that have none are named in a warning."""
    has_samples = class_counts > 0
    if has_samples.all():
        return
    check_two([label for label, present in zip(classes, has_samples, strict=True) if present])
    absent = [label for label, present in zip(classes, has_samples, strict=True) if not present]
    msg = (
        f"No samples in `y_true` (or only of weight 0) for {len(absent)} of {len(classes)} classes: {listed(absent)}. "
        "Their pairs are dropped; pass `labels=` if the classes are others."
    )
    warn(msg, UserWarning)
