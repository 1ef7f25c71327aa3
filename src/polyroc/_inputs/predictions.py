"""Data of the user -> Predictions, of one model, of several, or a batch of many.

Every error about `y_true`, `y_score`, `labels` and `sample_weight`: `arrays` reads each argument for itself, and here
they are brought together. Scores on a GPU go to `tensors`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    listed,
    no_weight,
    shown,
    weight_exponent,
)
from polyroc._inputs.columns import OF_SCORES, Known, assign_columns, distinct
from polyroc._inputs.labels import Factor, check_class_counts, check_two, encode, factorize, labels_array
from polyroc._inputs.tensors import TensorPredictions, as_tensor_predictions, in_order
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import BoolArray, FloatArray, IntArray, LabelArray
from polyroc._records import Frozen, Predictions, read_only

_ROWS_AT_ONCE = 65_536
# Scores that a thread reads at least: in about a tenth of a millisecond.
_WORTH_A_THREAD = 2**18


def as_predictions(
    y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None, n_jobs: int | None = 1
) -> Predictions:
    """Predictions with coded labels and finite scores; arguments as in `evaluate`.

    Columns named after the classes are brought into the order of `labels`, and samples of weight 0 are dropped.
    `n_jobs` threads read large tables, None as many as the process may use.

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
    factor = _factorized(truth, scores, n_jobs)
    weight = None if sample_weight is None else weights_of(sample_weight, len(truth))
    if weight is not None and not weight.any():
        raise no_weight(len(truth))

    named = None if labels is None else distinct(read_labels(labels, "labels"), "labels")
    categories = read_categories(y_true, "y_true") if named is None else None
    classes, order = assign_columns(Known(factor.values, named, categories), names, scores.shape[1])
    if order is not None:
        scores = scores[:, order]
    codes = encode(factor, classes)

    kept = None if weight is None or weight.all() else weight > 0
    if weight is not None and kept is not None:
        codes, scores, weight = codes[kept], scores[kept], weight[kept]
    # As they were counted, unless other classes or fewer samples are left.
    counts = factor.counts if codes is factor.codes else None
    if counts is None:
        counts = np.bincount(codes, minlength=len(classes))
    check_class_counts(counts, classes)
    if weight is not None:
        weight = _in_range(weight)
    made = Predictions(codes=codes, scores=scores, labels=labels_array(classes), sample_weight=weight, kept=kept)
    # What would be found when first asked for: to count a million samples again takes a millisecond.
    vars(made)["class_counts"] = read_only(counts)
    return made


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
        factor, *finite = threads.map(do, [(None,), *((slice(*part),) for part in parts)])
    if not all(finite):
        _check_finite(scores)
    return cast("Factor", factor)


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


# Several models


def in_order_of(first: Predictions, other: Predictions, first_name: str, name: str) -> Predictions:
    """Another model's predictions, with the classes in the order that the first model has them in."""
    classes, theirs = first.labels.tolist(), other.labels.tolist()
    if len(classes) != len(theirs) or set(classes) != set(theirs):
        raise InputError(
            "scores",
            "must have the same classes for all models",
            f"{listed(classes)} for {shown(first_name)} and {listed(theirs)} for {shown(name)}",
        )
    if classes == theirs:
        return other
    place = {label: column for column, label in enumerate(theirs)}
    order = [place[label] for label in classes]
    if isinstance(other, TensorPredictions):
        return in_order(other, order, first.labels)
    scores = _two_columns(other.scores)[:, order]
    return Predictions(first.codes, scores, first.labels, other.sample_weight, other.kept)


def stacked(folds: Sequence[Predictions]) -> tuple[LabelArray, FloatArray, LabelArray]:
    """Labels, scores and classes of all folds, one after the other.

    The classes are those of the first fold and then those that it lacks.
    """
    classes = list(folds[0].labels)
    for fold in folds[1:]:
        classes += [label for label in fold.labels if label not in classes]
    y_true = np.concatenate([fold.labels[fold.codes] for fold in folds])
    return y_true, np.concatenate([_in_columns(fold, np.array(classes)) for fold in folds]), np.array(classes)


def _in_columns(fold: Predictions, classes: LabelArray) -> FloatArray:
    """The fold's scores with a column for each class; lowest where the fold's fit had never heard of one."""
    if fold.n_columns == 1 and len(classes) == 2:
        return fold.scores
    scores = _two_columns(fold.scores)
    place = {label: column for column, label in enumerate(fold.labels.tolist())}
    table = np.full((len(scores), len(classes)), scores.min(), dtype=scores.dtype)
    for column, label in enumerate(classes.tolist()):
        if label in place:
            table[:, column] = scores[:, place[label]]
    return table


def _two_columns(scores: FloatArray) -> FloatArray:
    """The score of the second class speaks against the first."""
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def as_models(y_true: Any, scores: Any, labels: Any, sample_weight: Any, *, least: int) -> dict[str, Predictions]:
    """Predictions of each of at least this many models, with the classes as each model has them."""
    if not isinstance(scores, Mapping):
        raise InputError("scores", "must be a mapping from names of models to their scores", type(scores).__name__)
    if len(scores) < least:
        wanted = "one model" if least == 1 else "two models"
        raise InputError("scores", f"must hold at least {wanted}", f"{len(scores)}")
    if wrong := [name for name in scores if not isinstance(name, str)]:
        raise InputError("scores", "must have text for its keys, the names of the models", listed(wrong))
    return {name: _of_model(name, y_true, score, labels, sample_weight) for name, score in scores.items()}


def _of_model(name: str, y_true: Any, score: Any, labels: Any, sample_weight: Any) -> Predictions:
    """Predictions of one model, whose name an error about its scores says."""
    try:
        return as_predictions(y_true, score, labels=labels, sample_weight=sample_weight)
    except InputError as error:
        if error.argument not in OF_SCORES:
            raise
        rule = f"of model {shown(name)}: `{error.argument}` {error.rule}"
        raise InputError("scores", rule, error.got, hint=error.hint) from error


def in_same_order(models: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """The same models, with the classes in the order of the first."""
    first_name, first = next(iter(models.items()))
    return {name: in_order_of(first, one, first_name, name) for name, one in models.items()}


# One batch of many, whose classes are known beforehand


@dataclass(frozen=True, eq=False)
class Batch(Frozen):
    """Some of the samples; those of weight 0 are already gone."""

    codes: IntArray
    """True class of each sample as a position in the labels, shape (n,)."""
    columns: tuple[FloatArray, ...]
    """Scores of each column, shape (n,) each, all of one type; a single column of two classes."""
    weight: FloatArray | None
    kept: BoolArray | None = None
    """Which of the samples that came are here, where some had weight 0."""

    def __len__(self) -> int:
        return len(self.codes)


def as_batch(y_true: Any, y_score: Any, labels: LabelArray, sample_weight: Any = None) -> Batch | None:
    """A batch that may lack classes; None where it has no sample that counts."""
    if is_empty(y_true):
        return None
    truth, scores = read_labels(y_true, "y_true"), as_scores(y_score, labels)
    if len(scores) != len(truth):
        came = f"shape {scores.shape} and {len(truth)} labels in `y_true`"
        raise InputError("y_score", "must have one row per label", came)
    codes = encode(factorize(truth), labels.tolist()).astype(np.int32, copy=False)
    if sample_weight is None:
        return Batch(codes, tuple(scores.T), None)
    weight = weights_of(sample_weight, len(truth))
    kept = weight > 0
    if kept.all():
        return Batch(codes, tuple(scores.T), weight)
    return Batch(codes[kept], tuple(scores[kept].T), weight[kept], kept) if kept.any() else None


def groups_of(batch: Batch, groups: Any) -> LabelArray:
    """Group of each sample of a batch; `groups` has one entry for each sample that came."""
    named = read_labels(groups, "groups")
    n_given = len(batch) if batch.kept is None else len(batch.kept)
    if len(named) != n_given:
        raise InputError("groups", f"must have one entry per sample, {n_given}", f"{len(named)}")
    return named if batch.kept is None else named[batch.kept]


def is_empty(y_true: Any) -> bool:
    """Whether a batch has no samples."""
    try:
        return len(y_true) == 0
    except TypeError:  # whatever has no length is refused by name later
        return False
