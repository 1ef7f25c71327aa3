"""What is profiled: scores of several models on the same samples, and how classes are named from them."""

from collections.abc import Mapping
from typing import Any, get_args

from polyroc._decide._rules import Method
from polyroc._engines._samples import are_probabilities
from polyroc._inputs._checks import InputError, listed, one_of, shown
from polyroc._inputs._column_classes import OF_SCORES
from polyroc._inputs._joined import in_order_of
from polyroc._inputs._predictions import as_predictions
from polyroc._records import Predictions

# As in `decide`: differences of larger scores may be beyond all floats.
_LARGEST_SCORE = 1e100


def as_models(y_true: Any, scores: Any, labels: Any, sample_weight: Any) -> dict[str, Predictions]:
    """Predictions of each model, with the classes in the order of the first."""
    if not isinstance(scores, Mapping):
        raise InputError("scores", "must be a mapping from names of models to their scores", type(scores).__name__)
    if len(scores) == 0:
        raise InputError("scores", "must hold at least one model", "none")
    if wrong := [name for name in scores if not isinstance(name, str)]:
        raise InputError("scores", "must have text for its keys, the names of the models", listed(wrong))
    found: dict[str, Predictions] = {}
    for name, score in scores.items():
        try:
            found[name] = as_predictions(y_true, score, labels=labels, sample_weight=sample_weight)
        except InputError as error:
            if error.argument not in OF_SCORES:
                raise
            rule = f"of model {shown(name)}: `{error.argument}` {error.rule}"
            raise InputError("scores", rule, error.got, hint=error.hint) from error
        lowest, highest = float(found[name].scores.min()), float(found[name].scores.max())
        if max(highest, -lowest) > _LARGEST_SCORE:
            raise InputError(
                "scores", f"of model {shown(name)} must lie within {_LARGEST_SCORE:g} of 0", "larger scores"
            )
    first_name, first = next(iter(found.items()))
    return {name: in_order_of(first, one, first_name, name) for name, one in found.items()}


def as_rules(value: Any, models: Mapping[str, Predictions]) -> list[Method]:
    """One rule or several, each once; at least two things to compare."""
    given = [value] if isinstance(value, str) or not isinstance(value, list | tuple) else list(value)
    rules = [one_of(one, "rule", get_args(Method)) for one in given]
    if len(rules) == 0 or len(set(rules)) < len(rules):
        raise InputError("rule", "must name one rule, or several once each", shown(value))
    if len(rules) * len(models) < 2:
        raise InputError("scores", "must hold at least two models where there is one `rule`", "one")
    if "bayes" in rules:
        for name, one in models.items():
            if not on_log_scale(one):
                rule = f"of model {shown(name)} must be probabilities, each row between 0 and 1 with sum 1,"
                came = f"scores from {one.scores.min():g} to {one.scores.max():g}"
                raise InputError("scores", f'{rule} for rule="bayes"', came, hint=': "tuned" takes any scores')
    return rules


def on_log_scale(predictions: Predictions) -> bool:
    """Whether scores are probabilities; of a single column, whether they can be."""
    if predictions.n_columns == 1:
        return bool(predictions.scores.min() >= 0 and predictions.scores.max() <= 1)
    return are_probabilities(predictions)
