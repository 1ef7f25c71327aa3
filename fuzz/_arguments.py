"""Arguments: every public function is given what nobody should give it. It refuses, or gives a result that is right."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

import polyroc
from fuzz._case import Attempt
from fuzz._escape import Escape, attempt, short
from fuzz._oracles import (
    check_band,
    check_curve,
    check_evaluation,
    check_interval,
    check_json,
    check_share,
    check_shares,
    require,
)
from polyroc import baselines

_Y = np.arange(12) % 3
_S = np.random.default_rng(0).normal(size=(12, 3)) + np.eye(3)[_Y]


class Entry(NamedTuple):
    """A public function, arguments with which it works, and what its result must be."""

    function: Callable[..., Any]
    positional: dict[str, Any]
    options: dict[str, Any]
    check: Callable[[Any], None]


class _Unreadable:
    """A container that fails when it is read."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        msg = "on purpose"
        raise RuntimeError(msg)


class _Endless:
    """A sequence that claims to be larger than any memory."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, place: int) -> int:
        if place > 20:
            raise IndexError
        return place


def _nested() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


# Made anew for each case.
_HOSTILE: tuple[Callable[[], Any], ...] = (
    *[
        lambda value=value: value
        for value in (
            *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, -(2**63), 10**400, -(10**400)),
            *(0.0, -0.0, 0.5, 0.95, 1.0, -1.0, 1.5, 1e-320, 1e308, float("nan"), float("inf"), float("-inf"), 1j),
            *("", "x", "auc", "own", "logit", "nan", "0.5", "\0", "\udcff", "é", "a" * 10_000, b"", b"own"),
            *((), (1,), {}, {"a": 1}, set(), {0, 1}, frozenset(), range(3), slice(None), ..., int, NotImplemented),
            *(Decimal("0.95"), Decimal("NaN"), Fraction(19, 20), datetime.date(2000, 1, 1), Path("x")),
            *(np.float32(0.9), np.float64("nan"), np.int64(3), np.bool_(True), np.str_("own"), np.datetime64("NaT")),
        )
    ],
    object,
    _Unreadable,
    _Endless,
    _nested,
    list,
    lambda: [[]],
    lambda: [None] * 12,
    lambda: ["a"] * 12,
    lambda: list("abcabcabcabc"),
    lambda: [[1, 2], [3]],
    lambda: iter([1, 2]),
    lambda: (one for one in "abc"),
    lambda: lambda: None,
    lambda: np.array(1.0),
    lambda: np.zeros(0),
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((12, 0)),
    lambda: np.zeros((12, 3)),
    lambda: np.ones((3, 3)),
    lambda: np.full((3, 3), np.nan),
    lambda: -np.ones((3, 3)),
    lambda: np.ones((2, 2)),
    lambda: np.ones((3, 3, 3)),
    lambda: np.full(12, np.inf),
    lambda: np.full(12, 1e308),
    lambda: np.arange(12),
    lambda: np.arange(12) % 2,
    lambda: np.arange(11),
    lambda: np.zeros(12),
    lambda: np.array(["a", "b", "c"] * 4),
    lambda: np.array(["a", None, 3] * 4, dtype=object),
    lambda: np.ma.array(np.arange(12), mask=np.arange(12) > 5),
    lambda: np.ma.array(np.ones((3, 3)), mask=np.eye(3)),
    lambda: np.array([0.1, 1, 10]),
    lambda: np.array([0.0, 0.5, 1.0]),
    lambda: np.array([0.0, np.nan, 1.0]),
    lambda: np.zeros(12, dtype="datetime64[D]"),
    lambda: np.zeros(12, dtype=[("a", float)]),
    lambda: pd.Series(np.arange(12) % 3),
    lambda: pd.DataFrame(np.ones((3, 3)), index=list("abc"), columns=list("abc")),
    lambda: pd.DataFrame(np.ones((3, 3))),
    lambda: pd.DataFrame({"a": [1], "b": ["x"]}),
    lambda: pl.DataFrame({"a": [1.0], "b": [None]}),
    lambda: pl.LazyFrame({"a": [1.0]}),
    lambda: np.random.default_rng(0),
    lambda: np.random.RandomState(0),  # noqa: NPY002  # what people pass for a generator
    lambda: np.random.SeedSequence(0),
)
# Larger ones are right, and take as long as they say.
_AT_MOST = {"n_resamples": 50, "n_thresholds": 1_000}
# Without these a call takes longer, says something else each time, or is none.
_ALWAYS = ("n_resamples", "n_thresholds", "rng", "true_class")
# What a scorer cannot know before it has seen the classes.
_LATER = ("costs", "weights", "max_pairs")

_METHOD: dict[str, Any] = {
    "labels": None,
    "sample_weight": None,
    "weighting": "equal",
    "costs": None,
    "tpr_weights": None,
    "fpr_weights": None,
    "thresholds": "own",
    "n_thresholds": 9,
    "shrinkage": 1.0,
    "model": "rank-one",
    "engine": "numba",
    "max_pairs": None,
    "rng": 0,
    "n_jobs": 1,
}
_DRAWS: dict[str, Any] = {"n_resamples": 4, "groups": None, "rng": 0, "n_jobs": 1, "progress": False}


def attempt_case(given: Attempt) -> None:
    """One function, one or two arguments of another kind than it wants, the others as they should be."""
    entries = _entries()
    entry = entries[given.choose(entries)]
    spoilt = {}
    known = [*entry.positional, *entry.options]
    for argument in given.rng.permutation(known)[: int(given.rng.integers(1, 3))]:
        value = given.choose(_HOSTILE)()
        most = _AT_MOST.get(str(argument))
        if most is None or type(value) not in (int, np.int64) or not most < value <= 10**7:
            spoilt[str(argument)] = value
    arguments = [spoilt.pop(name, value) for name, value in entry.positional.items()]
    chosen = {name: value for name, value in entry.options.items() if name in _ALWAYS or given.happens(0.3)}
    options = chosen | spoilt
    if given.happens(0.03):
        _unknown_option(entry, arguments, options)
        return
    answer = attempt(entry.function, *arguments, **options)
    if not answer.refused:
        entry.check(answer.result)


def _unknown_option(entry: Entry, arguments: list[Any], options: dict[str, Any]) -> None:
    try:
        entry.function(*arguments, **options, no_such_option=1)
    except (TypeError, ValueError):
        return
    require(False, f"{short(entry.function)} took an option that it does not have")


def _frame(made: Any) -> None:
    require(len(made) >= 0, "a frame without length")


def _comparison(made: Any) -> None:
    check_json(made.to_dict(), "Comparison.to_dict()")
    for contest in (made.auc, made.hand_till, made.mean_auc):
        for one in contest.estimates:
            check_interval((one.low, one.high), "interval of an estimate")


def _sweep(made: Any) -> None:
    check_shares(made.auc, "CostSweep.auc")
    check_shares(made.mean_auc, "CostSweep.mean_auc")
    require(np.all(np.isfinite(made.ratios) & (made.ratios > 0)), "CostSweep.ratios")


def _drawn(made: Any) -> None:
    check_shares(made.auc, "replicates")
    check_interval(made.confidence_interval(), "interval")


def _rates(made: Any) -> None:
    check_shares(made, "tpr_at")


def _interval_or_none(made: Any) -> None:
    if made is not None:
        check_interval(made, "interval")


def _anything(made: Any) -> None:
    short(made)


@cache
def _entries() -> dict[str, Entry]:
    """Every public function and method that takes arguments."""
    evaluation = polyroc.evaluate(_Y, _S, n_thresholds=9, engine="numpy")
    drawn = evaluation.bootstrap(9, rng=0)
    other = _S[:, ::-1].copy()
    comparison = polyroc.compare(_Y, {"a": _S, "b": other}, n_resamples=5, rng=0, n_thresholds=9, engine="numpy")
    curve = evaluation.curve
    data = {"y_true": _Y, "y_score": _S}
    baseline = {"labels": None, "sample_weight": None}
    level = {"confidence_level": 0.95}
    ends = {"statistic": "auc", "interval": "logit"}
    band = {"curve": "shared", "simultaneous": False}
    swept = {"true_class": 0, "predicted_class": 1, "ratios": [0.5, 2.0], "labels": None, "costs": None}
    share = lambda made: check_share(made, "the result")  # noqa: E731
    return {
        "evaluate": Entry(polyroc.evaluate, data, _METHOD, check_evaluation),
        "auc_score": Entry(polyroc.auc_score, data, _METHOD, share),
        "compare": Entry(
            polyroc.compare,
            {"y_true": _Y, "scores": {"a": _S, "b": other}},
            level | {"interval": "logit"} | _DRAWS | {"n_thresholds": 9, "engine": "numba", "max_pairs": None},
            _comparison,
        ),
        "cost_sweep": Entry(polyroc.cost_sweep, data, swept | {"n_thresholds": 9, "engine": "numba"}, _sweep),
        "RocCurve": Entry(
            polyroc.RocCurve, {"fpr": [0, 0.5, 1], "tpr": [0, 0.75, 1]}, {"exact_auc": None}, _made_curve
        ),
        "tpr_at": Entry(curve.tpr_at, {"fpr": 0.5}, {}, _rates),
        "partial_auc": Entry(curve.partial_auc, {"max_fpr": 0.5}, {}, _partial),
        "make_auc_scorer": Entry(polyroc.make_auc_scorer, {}, _without(_METHOD, "labels", "sample_weight"), _scorer),
        "set_score_request": Entry(polyroc.auc_scorer.set_score_request, {}, {"sample_weight": True}, _anything),
        "hand_till": Entry(baselines.hand_till, data, baseline, share),
        "auc_mu": Entry(baselines.auc_mu, data, baseline | {"partition": None, "costs": None}, share),
        "one_vs_rest": Entry(baselines.one_vs_rest, data, baseline | {"average": "macro"}, share),
        "confidence_interval": Entry(
            evaluation.confidence_interval, level, ends | {"method": "bootstrap"} | _DRAWS, _interval_or_none
        ),
        "bootstrap": Entry(evaluation.bootstrap, {"n_resamples": 4}, _without(_DRAWS, "n_resamples") | {"method": "bootstrap"}, _drawn),
        "confidence_band": Entry(evaluation.confidence_band, level, band | _DRAWS, check_band),
        "accuracy_interval": Entry(evaluation.accuracy_interval, level, {}, _interval_or_none),
        "to_dict": Entry(evaluation.to_dict, {}, {"include_rates": True}, _anything),
        "pairs.to_frame": Entry(evaluation.pairs.to_frame, {"backend": "polars"}, {}, _frame),
        "drawn.confidence_interval": Entry(drawn.confidence_interval, level, ends, _interval_or_none),
        "drawn.confidence_band": Entry(drawn.confidence_band, level, band, check_band),
        "drawn.standard_error": Entry(drawn.standard_error, {"statistic": "auc"}, {}, share),
        "comparison.to_frame": Entry(comparison.to_frame, {"table": "estimates", "backend": "polars"}, {}, _frame),
    }


def _without(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def _made_curve(made: Any) -> None:
    check_curve(made, "RocCurve")


def _partial(made: Any) -> None:
    # Below the diagonal it may fall under 1/2, and near 0 far under it; but it is a number of at most 1.
    require(np.isfinite(made) and made <= 1 + 1e-12, f"partial_auc is {made!r}")


def _scorer(made: Any) -> None:
    """What was accepted must work, on an estimator that says what it was told."""
    require(isinstance(made.__name__, str), "a scorer without a name")
    answer = attempt(made, _Known(), _S, _Y)
    if not answer.refused:
        check_share(answer.result, "the score")
    elif not any(f"{word}`" in str(answer.refusal) for word in _LATER):
        msg = f"a scorer that was made is refused when it is used: {answer.refusal}"
        raise Escape(msg)


class _Known:
    """An estimator whose features are its scores."""

    classes_ = np.arange(3)

    def predict_proba(self, X: Any) -> Any:
        return X
