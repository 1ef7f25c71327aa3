"""Several predictions brought together: models with the classes in one order, folds with all their samples."""

from collections.abc import Sequence

import numpy as np

from polyroc._inputs._checks import InputError, listed, shown
from polyroc._inputs._tensor_predictions import TensorPredictions
from polyroc._inputs._tensors import in_order
from polyroc._lib._typing import FloatArray, LabelArray
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
