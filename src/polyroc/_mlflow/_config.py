"""What stands in `evaluator_config` -> Config; every error about its keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from polyroc._inputs._checks import InputError, as_confidence_level, as_n_resamples, as_plain_seed, listed, shown
from polyroc._inputs._options import DECLARED

# The seed has its own key, which is that of the resamples, too.
OPTIONS = tuple(name for name in DECLARED if name != "rng")


@dataclass(frozen=True, eq=False)
class Config:
    """How to find the scores, how to evaluate them, and how to call what is logged."""

    score_columns: list[Any] | dict[Any, Any] | None = None
    """The columns of scores, or the column of each class."""
    labels: Any = None
    sample_weight: Any = None
    """The name of a column, or the weights themselves; so are `groups`."""
    groups: Any = None
    confidence_level: float = 0.95
    n_resamples: int = 999
    """0 for no intervals."""
    seed: int = 0
    """Of all resamples, so that the same run gives the same numbers again."""
    metric_prefix: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """Further keyword arguments of `evaluate`."""


KEYS = tuple(entry.name for entry in fields(Config) if entry.name != "options")
# The built-in evaluators read this one too.
_SHARED = "metric_prefix"


def is_for_polyroc(given: Mapping[str, Any]) -> bool:
    """Whether a configuration that all evaluators get has keys that only this one reads.

    >>> is_for_polyroc({"label_list": [0, 1]}), is_for_polyroc({"score_columns": ["a", "b"]})
    (False, True)
    """
    return any(key in given for key in (*KEYS, *OPTIONS) if key != _SHARED)


def as_config(given: Mapping[str, Any]) -> Config:
    """The configuration, checked as far as it can be without the data.

    >>> as_config({"n_resamples": 199, "shrinkage": 0.5}).options
    {'shrinkage': 0.5}
    """
    if unknown := [key for key in given if key not in (*KEYS, *OPTIONS)]:
        raise InputError("evaluator_config", f"must hold only {', '.join((*KEYS, *OPTIONS))}", listed(unknown))
    own: dict[str, Any] = {key: value for key, value in given.items() if key in KEYS}
    for key, check in _CHECKS.items():
        if key in own:
            own[key] = check(own[key])
    if isinstance(own.get("score_columns"), dict) and own.get("labels") is not None:
        raise InputError(
            "labels", "must be left out where `score_columns` names the classes itself, as a mapping of class to column"
        )
    return Config(**own, options={key: value for key, value in given.items() if key in OPTIONS})


def _as_score_columns(value: Any) -> list[Any] | dict[Any, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping | list | tuple) or len(value) == 0:
        raise InputError(
            "score_columns", "must be a list of column names, or a mapping of class to column name", shown(value)
        )
    if isinstance(value, Mapping):
        if len(value) == 1:
            raise InputError(
                "score_columns",
                "must name a column for each class",
                f"one for {listed(list(value))} alone",
                hint=": a single column of two classes is a list of one, and `labels` names the class it speaks "
                "for last",
            )
        return dict(value)
    return list(value)


def _as_count(value: Any) -> int:
    return 0 if type(value) is int and value == 0 else as_n_resamples(value)


def _as_prefix(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError("metric_prefix", "must be text", shown(value))
    return value


_CHECKS = {
    "score_columns": _as_score_columns,
    "confidence_level": as_confidence_level,
    "n_resamples": _as_count,
    # No generator: the numbers of a run are to be found again from what it says.
    "seed": as_plain_seed,
    "metric_prefix": _as_prefix,
}
