"""Scores of several models on the same samples -> predictions by name."""

from collections.abc import Mapping
from typing import Any

from polyroc._inputs._checks import InputError, listed, shown
from polyroc._inputs._column_classes import OF_SCORES
from polyroc._inputs._joined import in_order_of
from polyroc._inputs._predictions import as_predictions
from polyroc._records import Predictions


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
