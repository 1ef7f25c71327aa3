"""A decision out of plain data, as `Decision.to_dict` gives it and JSON keeps it; every error about that."""

from collections.abc import Mapping
from contextlib import suppress
from numbers import Integral
from typing import Any, NamedTuple, get_args

import numpy as np

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, listed, one_of, shown
from polyroc._inputs.columns import distinct
from polyroc._inputs.labels import labels_array
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc._uncertainty.intervals import Interval
from polyroc.costs._cost_matrices import as_decision_costs, as_prior, as_reject_cost
from polyroc.costs._judging import UnseenMistake
from polyroc.costs._rules import Rule, RuleName, Scale

# What `Decision.to_dict` gives, except what follows from the rest: the rule, and what it costs.
OF_RULE = (
    *("rule", "tuned_share", "labels", "costs", "prior", "ratio", "on_log_scale", "scale", "n_columns", "offsets"),
    *("reject_cost", "reject_offset"),
)
OF_COSTS = (
    *("confidence_level", "resubstitution_cost", "unseen", "n_samples_to_tell", "confusion", "rules", "n_samples"),
    "n_folds",
)
# Beyond any cost, score or offset that `decide` takes or gives; sums of a few such numbers stay finite.
_LARGEST = 1e200
_ENDS = {"interval": ("low", "high"), "difference_interval": ("difference_low", "difference_high")}
_NUMBERS = ("cost", "standard_error", "low", "high", "difference", "difference_low", "difference_high")


class Stored(NamedTuple):
    """Checked: the rule, the costs of all rules as keyword arguments, and the other fields of a decision."""

    rule: Rule
    rules: list[dict[str, Any]]
    fields: dict[str, Any]


def as_stored(record: Any) -> Stored:
    """A record, checked as if somebody had typed it."""
    if not isinstance(record, Mapping):
        raise InputError("record", "must be a dictionary that `Decision.to_dict` gave", shown(type(record).__name__))
    if missing := [name for name in (*OF_RULE, *OF_COSTS) if name not in record]:
        raise InputError("record", "must have every key that `Decision.to_dict` gives", f"no {listed(missing)}")
    labels = labels_array(distinct(read_labels(record["labels"], "labels"), "labels"))
    rule = _rule(record, labels)
    k = len(labels)
    prior = _numbers(record, "prior", (k,))
    as_prior(prior, labels, np.ones(k))
    fields = {
        "labels": labels,
        "prior": prior,
        "confusion": _numbers(record, "confusion", (k, k + rule.abstains), least=0),
        "resubstitution_cost": float(_numbers(record, "resubstitution_cost", ())),
        "unseen": None if record["unseen"] is None else _mistake(record["unseen"], labels),
        "n_samples_to_tell": _count_or_none(record, "n_samples_to_tell"),
        "n_samples": _count(record, "n_samples"),
        "n_folds": _count(record, "n_folds"),
        "confidence_level": as_confidence_level(record["confidence_level"]),
    }
    return Stored(rule, _rules(record, rule.name, labels), fields)


def _rule(record: Mapping[str, Any], labels: LabelArray) -> Rule:
    k = len(labels)
    name = one_of(record["rule"], "rule", get_args(RuleName))
    reject_cost = as_reject_cost(record["reject_cost"])
    on_log_scale = as_flag(record["on_log_scale"], "on_log_scale")
    n_columns = _count(record, "n_columns")
    if n_columns != k and (n_columns, k) != (1, 2):
        raise InputError("record", f"must have {k} as 'n_columns', one for each class", shown(n_columns))
    if not on_log_scale and (name in ("auto", "bayes") or reject_cost is not None):
        raise InputError(
            "record", "must have true as 'on_log_scale' for 'auto', for Bayes' rule and for a cost of abstaining"
        )
    scale = _scale(record, name, reject_cost, on_log_scale=on_log_scale)
    ratio = _numbers(record, "ratio", (k,), least=0)
    if not ratio.any():
        raise InputError("record", "must not have zeros alone as 'ratio'")
    abstains = name in ("auto", "tuned") and reject_cost is not None
    return Rule(
        name=name,
        costs=as_decision_costs(record["costs"], labels),
        ratio=ratio,
        scale=scale,
        n_columns=n_columns,
        offsets=None if name == "bayes" else _numbers(record, "offsets", (k,)),
        reject_cost=reject_cost,
        reject_offset=float(_numbers(record, "reject_offset", ())) if abstains else None,
        tuned_share=_share(record) if name == "auto" else None,
    )


def _share(record: Mapping[str, Any]) -> float:
    share = float(_numbers(record, "tuned_share", ()))
    if not 0 <= share <= 1:
        raise InputError("record", "must have a number from 0 to 1 as 'tuned_share'", shown(share))
    return share


def _mistake(value: Any, labels: LabelArray) -> UnseenMistake:
    """The entry of 'unseen'."""
    by_text = {str(label): label for label in labels.tolist()}
    if not isinstance(value, Mapping):
        raise InputError("record", "must have a dictionary or null as 'unseen'", shown(value))
    classes: list[Any] = [value.get("true_class"), value.get("predicted_class")]
    if wrong := [one for one in classes if not isinstance(one, str) or one not in by_text]:
        raise InputError("record", "must have classes in 'unseen'", shown(wrong[0]))
    return UnseenMistake(
        by_text[classes[0]],
        by_text[classes[1]],
        float(_numbers(value, "cost", ())),
        float(_numbers(value, "may_add", ())),
        _count_or_none(value, "n_samples"),
    )


def _scale(record: Mapping[str, Any], name: str, reject_cost: float | None, *, on_log_scale: bool) -> Scale:
    """Scale of the offsets, of those that the rest of a record allows."""
    allowed: tuple[Scale, ...] = ("log probability", "expected cost")
    if not on_log_scale:
        allowed = ("score",)
    elif name == "argmax":
        allowed = ("log probability",)
    elif name == "bayes" or reject_cost is not None:
        allowed = ("expected cost",)
    found: Scale = one_of(record["scale"], "scale", allowed)
    return found


def _rules(record: Mapping[str, Any], name: str, labels: LabelArray) -> list[dict[str, Any]]:
    """The entries of 'rules' as keyword arguments of RuleCost."""
    given = record["rules"]
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise InputError("record", "must have a list of dictionaries as 'rules'", shown(given))
    by_text = {str(label): label for label in labels.tolist()}
    found: list[dict[str, Any]] = []
    for one in given:
        rule = one_of(one.get("rule"), "rule", ("auto", "tuned", "bayes", "argmax", "always", "abstain"))
        label = one.get("label")
        if rule == "always" and (not isinstance(label, str) or label not in by_text):
            raise InputError("record", "must have a class as 'label' of each rule 'always'", shown(label))
        numbers: dict[str, Any] = {number: float(_numbers(one, number, ())) for number in _NUMBERS}
        for field, ends in _ENDS.items():
            numbers[field] = Interval(*(numbers.pop(end) for end in ends))
        found.append({"rule": rule, "label": by_text[label] if rule == "always" else None, **numbers})
    if name not in [one["rule"] for one in found]:
        raise InputError("record", f"must have the cost of its own rule, {name!r}, among 'rules'")
    return found


def _numbers(record: Mapping[str, Any], name: str, shape: tuple[int, ...], least: float = -np.inf) -> FloatArray:
    value = record.get(name)
    found = np.array(np.nan)
    if _is_plain(value, len(shape)):
        with suppress(ValueError, OverflowError):  # rows of other lengths, integers beyond all floats
            found = np.array(value, dtype=np.float64)
    if found.shape != shape or not ((np.abs(found) <= _LARGEST) & (found >= least)).all():
        what = "a finite number" if shape == () else f"finite numbers of shape {shape}"
        more = "" if least == -np.inf else f", none below {least:g},"
        raise InputError("record", f"must have {what}{more} as {name!r}", shown(value))
    return found


def _is_plain(value: Any, depth: int) -> bool:
    """Whether this is a number, or lists of numbers as deep as that: what JSON has."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iuf"
    if depth == 0:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return isinstance(value, list | tuple) and all(_is_plain(entry, depth - 1) for entry in value)


def _count_or_none(record: Mapping[str, Any], name: str) -> int | None:
    return None if record.get(name) is None else _count(record, name)


def _count(record: Mapping[str, Any], name: str) -> int:
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) < 2**63:
        raise InputError("record", f"must have a positive integer as {name!r}", shown(value))
    return int(value)
