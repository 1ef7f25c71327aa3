"""What is profiled: scores of several models on the same samples, and how classes are named from them."""

from collections.abc import Mapping
from typing import Any, get_args

from polyroc._decide._arguments import check_size
from polyroc._decide._rules import RuleName
from polyroc._engines._samples import can_be_probabilities, exponentials_hint
from polyroc._inputs._checks import InputError, one_of, shown
from polyroc._inputs._models import as_models, in_same_order
from polyroc._records import Predictions


def as_profiled(y_true: Any, scores: Any, labels: Any, sample_weight: Any) -> dict[str, Predictions]:
    """Predictions of each model, with the classes in the order of the first."""
    found = as_models(y_true, scores, labels, sample_weight, least=1)
    for name, one in found.items():
        check_size(one, "scores", f"of model {shown(name)} ")
    return in_same_order(found)


def as_rules(value: Any, models: Mapping[str, Predictions]) -> list[RuleName]:
    """One rule or several, each once; at least two things to compare."""
    given = [value] if isinstance(value, str) or not isinstance(value, list | tuple) else list(value)
    rules = [one_of(one, "rule", get_args(RuleName)) for one in given]
    if len(rules) == 0 or len(set(rules)) < len(rules):
        raise InputError("rule", "must name one rule, or several once each", shown(value))
    if len(rules) * len(models) < 2:
        raise InputError("scores", "must hold at least two models where there is one `rule`", "one")
    if "bayes" in rules:
        for name, one in models.items():
            if not can_be_probabilities(one):
                rule = f"of model {shown(name)} must be probabilities, each row between 0 and 1 with sum 1,"
                came = f"scores from {one.scores.min():g} to {one.scores.max():g}"
                exp = exponentials_hint(one)
                hint = f'{exp}{";" if exp else ":"} "tuned" takes any scores'
                raise InputError("scores", f'{rule} for rule="bayes"', came, hint)
    return rules
