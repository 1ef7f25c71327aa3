"""What stands in `evaluator_config` -> Config; every error about its keys."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from polyroc._inputs.checks import InputError, as_confidence_level, as_plain_seed, listed, one_of, shown
from polyroc._inputs.options import DECLARED
from polyroc._uncertainty.bootstrap import as_draws
from polyroc.evaluation._intervals import PAGE_METHODS, PageMethod

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
    method: PageMethod = "auto"
    """Where intervals come from; "none" for point estimates."""
    n_resamples: int | None = None
    seed: int | None = None
    """Of the resamples and of a sample of the pairs, 0 by default: the same run gives the same numbers again."""
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

    >>> as_config({"method": "bootstrap", "n_resamples": 199, "shrinkage": 0.5}).options
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
    config = Config(**own, options={key: value for key, value in given.items() if key in OPTIONS})
    method = one_of(config.method, "method", PAGE_METHODS)
    seed = None if config.options.get("max_pairs") else config.seed
    try:
        as_draws(method, n_resamples=config.n_resamples, rng=seed)
    except InputError as error:
        argument = "seed" if error.argument == "rng" else error.argument
        raise InputError(argument, error.rule, error.got, error.hint) from error
    return config


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


def _as_prefix(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError("metric_prefix", "must be text", shown(value))
    return value


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "score_columns": _as_score_columns,
    "confidence_level": as_confidence_level,
    # No generator: the numbers of a run are to be found again from what it says.
    "seed": lambda value: None if value is None else as_plain_seed(value),
    "metric_prefix": _as_prefix,
}
