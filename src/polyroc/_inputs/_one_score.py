"""One score of classes that have an order: read like one column per class, all of them the same."""

from typing import Any

import numpy as np

from polyroc._inputs._arrays import read_categories, read_labels, read_table
from polyroc._inputs._checks import InputError
from polyroc._inputs._column_classes import check_two
from polyroc._inputs._predictions import as_predictions
from polyroc._records import Predictions


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
