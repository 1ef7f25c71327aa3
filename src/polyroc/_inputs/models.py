"""Scores of several models on the same samples -> predictions by name."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.columns import OF_SCORES
from polyroc._inputs.predictions import as_predictions
from polyroc._inputs.tensor_predictions import TensorPredictions
from polyroc._inputs.tensors import in_order
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc._records import Predictions


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
