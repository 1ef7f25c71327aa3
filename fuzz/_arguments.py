"""Arguments: every public function is given what nobody should give it. It refuses, or gives a result that is right."""

from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse  # noqa: F401  # sets a filter of warnings when it is imported, once; `meta` loads it

import polyroc
from fuzz._case import Attempt
from fuzz._escape import Escape, attempt, short
from fuzz._hostile import HOSTILE
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
from polyroc import baselines, meta, report, training

_Y = np.arange(12) % 3
_S = np.random.default_rng(0).normal(size=(12, 3)) + np.eye(3)[_Y]
_COSTS = [[[0, 1, 2], [3, 0, 1], [1, 5, 0]], [[0, 2, 1], [1, 0, 4], [1, 1, 0]]]


class Entry(NamedTuple):
    """A public function, arguments with which it works, and what its result must be."""

    function: Callable[..., Any]
    positional: dict[str, Any]
    options: dict[str, Any]
    check: Callable[[Any], None]


# Larger ones are right, and take as long as they say.
_AT_MOST = {"n_resamples": 50, "n_thresholds": 1_000}
# Without these a call takes longer, says something else each time, or is none.
_ALWAYS = ("n_resamples", "n_thresholds", "rng", "true_class", "criterion")
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
    "structure": "rank-one",
    "engine": "numba",
    "max_pairs": None,
    "rng": 0,
    "n_jobs": 1,
}
_LEVEL: dict[str, Any] = {"confidence_level": 0.95}
_ENDS: dict[str, Any] = {"statistic": "auc", "interval": "logit"}
_BAND: dict[str, Any] = {"curve": "shared", "simultaneous": False}
_PRINTED: dict[str, Any] = {
    "tau": [0.2, 0.5, 0.8],
    "quantiles": "column",
    "weighting": "prevalence",
    "structure": "rank-one",
    "rank": 1,
    "end_points": False,
}
_VOLUME: dict[str, Any] = {"ordered": False, "criterion": "sum", "n_draws": 50, "rng": 0}
_DRAWS: dict[str, Any] = {"n_resamples": 4, "groups": None, "rng": 0, "n_jobs": 1, "progress": False}


# No checkpoint: a hostile name of a file would be written.
_FILE: dict[str, Any] = {
    "scores": None,
    "groups": None,
    "standard_errors": False,
    "exact": False,
    "partial": False,
    "score_kind": "auto",
    "mantissa_bits": 6,
}


_READ: dict[str, Any] = {
    "scores": None,
    "labels": None,
    "sample_weight": None,
    "groups": None,
    "model_column": None,
    "pooled": False,
    "drop_missing": True,
}
_PAIRED: dict[str, Any] = {"key": None, "models": None, "common": False}


def _drawing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same by resampling: other methods refuse its options."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, method="bootstrap", **options)

    return call


@cache
def _file() -> bytes:
    """Samples in a Parquet file."""
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table({"y": _Y, **{f"p_{c}": _S[:, c] for c in range(3)}}), buffer, row_group_size=5)
    return buffer.getvalue()


def _of_a_file(target: Any, **options: Any) -> Any:
    """As somebody would call it, with a file that is there."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "samples.parquet"
        path.write_bytes(_file())
        return polyroc.evaluate_parquet(path, target=target, **options)


def _predictions_of_a_file(target: Any, **options: Any) -> Any:
    """Likewise, read and not evaluated."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "samples.parquet"
        path.write_bytes(_file())
        return polyroc.read_predictions(path, target=target, **options)


def _predictions_of_two_files(target: Any, **options: Any) -> Any:
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.parquet" for name in "ab"]
        for path in paths:
            path.write_bytes(_file())
        return polyroc.read_paired_predictions(paths, target=target, **options)


def _read(made: Any) -> None:
    short(made)
    scores = [made.y_score] if hasattr(made, "y_score") else list(made.scores.values())
    require(all(len(one) == len(made.y_true) for one in scores), "scores and labels of a file differ in length")


def attempt_case(given: Attempt) -> None:
    """One function, one or two arguments of another kind than it wants, the others as they should be."""
    entry = _entry(given)
    spoilt = {}
    known = [*entry.positional, *entry.options]
    for argument in given.rng.permutation(known)[: int(given.rng.integers(1, 3))]:
        value = given.choose(HOSTILE)()
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


def _share(made: Any) -> None:
    check_share(made, "the result")


def _one_of_each(made: Any) -> None:
    check_share(float(made), "the result")
    require(made.standard_error >= 0, f"a standard error of {made.standard_error!r}")


def _ends(made: Any) -> None:
    require(made.low <= made.high or np.isnan(made.low), f"{made}")


def _printed(made: Any) -> None:
    check_shares(made.rates, "the rates")
    require(np.isfinite(made.auc) or made.status == "diverged", f"{made}")


def _frame(made: Any) -> None:
    require(len(made) >= 0, "a frame without length")


def _classes(made: Any) -> None:
    check_json(made.to_dict(), "Classes.to_dict()")
    for row in made:
        for name, ends in row.intervals.items():
            check_interval(ends, f"interval of {name}")


def _comparison(made: Any) -> None:
    check_json(made.to_dict(), "Comparison.to_dict()")
    for contest in (made.by_auc, made.by_hand_till, made.by_mean_auc):
        for one in contest.estimates:
            check_interval((one.low, one.high), "interval of an estimate")


def _ranks(made: Any) -> None:
    check_json(made.to_dict(), "RankIntervals.to_dict()")
    for one in made:
        require(1 <= one.low <= one.rank <= one.high <= len(made), "a rank outside of its interval")


def _sweep(made: Any) -> None:
    check_shares(made.auc, "CostSweep.auc")
    check_shares(made.mean_auc, "CostSweep.mean_auc")
    require(np.all(np.isfinite(made.ratios) & (made.ratios > 0)), "CostSweep.ratios")


def _decision(made: Any) -> None:
    check_json(made.to_dict(), "Decision.to_dict()")
    low, high = made.cost_interval
    require(low <= made.cost <= high, f"cost {made.cost!r} outside of its interval ({low!r}, {high!r})")
    require(made.confusion.min() >= 0, "Decision.confusion")


def _cost_profile(y_true: Any, scores: Any, costs: Any, **options: Any) -> Any:
    """With the costs by their place, because they are never left out."""
    return polyroc.cost_profile(y_true, scores, costs=costs, **options)


def _profile(made: Any) -> None:
    check_shares(np.array([one.share_cheapest for one in made.models]), "CostProfile.share_cheapest")
    require(abs(sum(one.share_cheapest for one in made.models) - 1) < 1e-9, "shares of a CostProfile do not sum to 1")
    for one in made.models:
        require(one.interval.low <= one.cost <= one.interval.high, "cost of a CostProfile outside of its interval")


def _replicates(made: Any) -> None:
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
    of_evaluations = _of_an_evaluation() | _of_replicates() | _of_a_curve() | _of_a_report()
    return _functions() | of_evaluations | _of_studies() | _of_counts()


def _entry(given: Attempt) -> Entry:
    name = given.choose(_entries())
    # A page takes as long as fifty other calls.
    return _entries()[name if name != "write_html" or given.happens(0.1) else "evaluate"]


def _functions() -> dict[str, Entry]:
    data, other = {"y_true": _Y, "y_score": _S}, {"labels": None, "sample_weight": None}
    models = {"y_true": _Y, "scores": {"a": _S, "b": _S[:, ::-1].copy()}}
    quick = {"n_thresholds": 9, "engine": "numba", "max_pairs": None}
    swept = _LEVEL | {"true_class": 0, "predicted_class": 1, "ratios": [0.5, 2.0], "labels": None, "costs": None}
    decided = _LEVEL | {"prior": None, "rule": "auto", "reject_cost": None, "labels": None, "sample_weight": None}
    p = np.exp(_S) / np.exp(_S).sum(axis=1, keepdims=True)
    probable = {"y_true": _Y, "scores": {"a": p, "b": p[:, ::-1].copy()}}
    profiled = _LEVEL | {"rule": "bayes", "prior": None, "n_costs": 3, "labels": None, "sample_weight": None}
    profiled |= {"groups": None, "n_folds": 2, "n_resamples": 4, "rng": 0, "n_jobs": 1, "progress": False}
    two = {"y_true": _Y > 0, "y_score": _S[:, 0].copy()}
    decided |= {"groups": None, "n_folds": 2, "rng": 0, "n_jobs": 1, "progress": False}
    return {
        "evaluate": Entry(polyroc.evaluate, data, _METHOD, check_evaluation),
        "auc_score": Entry(polyroc.auc_score, data, _METHOD, _share),
        "multiclass_d": Entry(training.multiclass_d, data, _without(_METHOD, "labels"), _share),
        "compare": Entry(
            _drawing(polyroc.compare),
            models,
            _LEVEL | {"interval": "logit", "max_fpr": 0.5} | _DRAWS | quick,
            _comparison,
        ),
        "evaluate_parquet": Entry(_of_a_file, {"target": "y"}, _without(_METHOD, "engine") | _FILE, check_evaluation),
        "read_predictions": Entry(_predictions_of_a_file, {"target": "y"}, _READ, _read),
        "read_paired_predictions": Entry(_predictions_of_two_files, {"target": "y"}, _READ | _PAIRED, _read),
        "cost_sweep": Entry(polyroc.cost_sweep, data, swept | quick, _sweep),
        "decide": Entry(polyroc.decide, data | {"costs": 1 - np.eye(3)}, decided, _decision),
        "cost_profile": Entry(_cost_profile, probable | {"costs": _COSTS}, profiled, _profile),
        "h_measure": Entry(baselines.h_measure, two, other | {"severity_ratio": None}, _share),
        "Decision.from_dict": Entry(_decision_again, {}, _stored_decision(), _decision),
        "make_auc_scorer": Entry(polyroc.make_auc_scorer, {}, _without(_METHOD, "labels", "sample_weight"), _scorer),
        "set_score_request": Entry(polyroc.auc_scorer.set_score_request, {}, {"sample_weight": True}, _anything),
        "hand_till": Entry(baselines.hand_till, data, other, _share),
        "auc_mu": Entry(baselines.auc_mu, data, other | {"partition": None, "costs": None}, _share),
        "pdi": Entry(baselines.pdi, data, other, _one_of_each),
        "hum": Entry(baselines.hum, data, other | _LEVEL | _VOLUME, _one_of_each),
        "wang_carvalho": Entry(
            baselines.wang_carvalho, data, _PRINTED | {"labels": None, "pair_weights": [1, 2, 3, 4, 5, 6]}, _printed
        ),
        "WangCarvalho.confidence_interval": Entry(
            baselines.wang_carvalho(_Y, _S, tau=[0.2, 0.5, 0.8]).confidence_interval,
            {},
            _LEVEL | {"n_resamples": 4, "rng": 0},
            _ends,
        ),
        "one_vs_rest": Entry(baselines.one_vs_rest, data, other | {"average": "macro"}, _share),
    }


def _of_counts() -> dict[str, Entry]:
    """Samples that come in batches: each call makes an accumulator, which must be whole whatever it is given."""
    batch, options = {"y_true": _Y, "y_score": _S}, {"sample_weight": None}
    made = _without(_METHOD, "labels", "sample_weight") | {"score_kind": "free", "mantissa_bits": 6}
    state = {name: value for name, value in _counted().state_dict().items() if name != "header"}
    return {
        "RocAccumulator": Entry(_accumulated, {"labels": [0, 1, 2]}, made, check_evaluation),
        "RocAccumulator.update": Entry(_updated, batch, options, check_evaluation),
        "RocAccumulator.merge": Entry(_counted().merge, {"other": _counted()}, {}, _anything),
        "RocAccumulator.load_state_dict": Entry(_counted_again, {}, state, check_evaluation),
        "SecondPass.update": Entry(_passed, batch, options | {"groups": None}, check_evaluation),
    }


def _counted(**options: Any) -> Any:
    accumulator = polyroc.RocAccumulator([0, 1, 2], score_kind="free", n_thresholds=9, engine="numpy", **options)
    accumulator.update(_Y, _S)
    return accumulator


def _accumulated(labels: Any, **options: Any) -> Any:
    accumulator = polyroc.RocAccumulator(labels, **options)
    accumulator.update(_Y, _S)
    return accumulator.compute()


def _updated(y_true: Any, y_score: Any, **options: Any) -> Any:
    accumulator = _counted()
    before = {name: array.tobytes() for name, array in accumulator.state_dict().items()}
    try:
        accumulator.update(y_true, y_score, **options)
    except Exception:
        after = {name: array.tobytes() for name, array in accumulator.state_dict().items()}
        require(before == after, "a batch that was refused changed the counts")
        raise
    return accumulator.compute()


def _counted_again(**changed: Any) -> Any:
    accumulator = _counted()
    accumulator.load_state_dict(accumulator.state_dict() | changed)
    return accumulator.compute()


def _passed(y_true: Any, y_score: Any, **options: Any) -> Any:
    second = _counted().second_pass()
    second.update(y_true, y_score, **options)
    return second.compute()


@cache
def _stored_decision() -> dict[str, Any]:
    # Probabilities, so that no part of the record is empty.
    p = np.exp(_S) / np.exp(_S).sum(axis=1, keepdims=True)
    found: dict[str, Any] = polyroc.decide(_Y, p, [[0, 1, 2], [3, 0, 1], [9, 5, -1]], reject_cost=0.5).to_dict()
    return found


def _decision_again(**changes: Any) -> Any:
    if unknown := set(changes) - set(_stored_decision()):
        raise TypeError(unknown)
    again = polyroc.Decision.from_dict(_stored_decision() | changes)
    predicted = again.predict(np.eye(len(again.labels)) if again.on_log_scale else _S[:, : len(again.labels)])
    require(set(predicted.tolist()) <= {*again.labels.tolist(), None}, f"predicted {predicted!r}")
    return again


def _of_an_evaluation() -> dict[str, Entry]:
    one = polyroc.evaluate(_Y, _S, n_thresholds=9, engine="numpy")
    draws, method = _without(_DRAWS, "n_resamples"), {"method": "bootstrap"}
    return {
        "confidence_interval": Entry(_drawing(one.confidence_interval), _LEVEL, _ENDS | _DRAWS, _interval_or_none),
        "bootstrap": Entry(one.bootstrap, {"n_resamples": 4}, draws | method, _replicates),
        "confidence_band": Entry(_drawing(one.confidence_band), _LEVEL, _BAND | _DRAWS, check_band),
        "evaluation.partial_auc": Entry(one.partial_auc, {"max_fpr": 0.5}, {}, _share),
        "accuracy_interval": Entry(one.accuracy_interval, _LEVEL, {"groups": None}, _interval_or_none),
        "to_dict": Entry(one.to_dict, {}, {"include_rates": True}, _anything),
        "pairs.to_frame": Entry(one.pairs.to_frame, {"backend": "polars"}, {}, _frame),
        "classes.with_intervals": Entry(one.classes.with_intervals, _LEVEL, {}, _classes),
        "classes.of": Entry(one.classes.of, {"label": 0}, {}, _anything),
    }


def _of_replicates() -> dict[str, Entry]:
    asked = {"rng": 0, "n_thresholds": 9, "engine": "numpy"}
    several = polyroc.compare(_Y, {"a": _S, "b": _S[:, ::-1].copy()}, method="bootstrap", n_resamples=5, **asked)
    drawn = several.bootstraps["a"]
    return {
        "drawn.confidence_interval": Entry(drawn.confidence_interval, _LEVEL, _ENDS, _interval_or_none),
        "drawn.confidence_band": Entry(drawn.confidence_band, _LEVEL, _BAND, check_band),
        "drawn.standard_error": Entry(drawn.standard_error, {"statistic": "auc"}, {}, _share),
        "rank_intervals": Entry(several.rank_intervals, {}, _LEVEL | {"statistic": "auc"}, _ranks),
        "comparison.to_frame": Entry(several.to_frame, {"table": "estimates", "backend": "polars"}, {}, _frame),
    }


def _of_a_curve() -> dict[str, Entry]:
    points = {"fpr": [0, 0.5, 1], "tpr": [0, 0.75, 1]}
    curve = polyroc.RocCurve(**points)
    return {
        "RocCurve": Entry(polyroc.RocCurve, points, {"exact_auc": None}, _curve),
        "tpr_at": Entry(curve.tpr_at, {"fpr": 0.5}, {}, _rates),
        "partial_auc": Entry(curve.partial_auc, {"max_fpr": 0.5}, {}, _partial),
    }


def _of_a_report() -> dict[str, Entry]:
    one = polyroc.evaluate(_Y, _S, n_thresholds=9, engine="numpy")
    given = {"bootstrap": one.bootstrap(3, rng=0), "confidence_level": 0.95}
    told = given | {"seed": 0, "source": {"file": "x"}, "warnings": ["x"], "include_decisions": True}
    page = {"result": one, "path": "report.html"}
    return {
        "summarize": Entry(report.summarize, {"result": one}, told, _summary),
        "write_html": Entry(
            report.write_html, page, given | {"title": "x", "progress": False, "include_decisions": True}, _anything
        ),
    }


def _of_studies() -> dict[str, Entry]:
    tables = {"tables": [[47, 9, 101, 738], [126, 51, 272, 1543], [19, 10, 12, 192], [36, 3, 78, 276]]}
    options = {"approach": "moses", "method": "reml", "weighted": False, "correction": 0.5, "correction_control": "all"}
    summary = meta.summary_roc(**tables)
    return {
        "summary_roc": Entry(meta.summary_roc, tables, options, _summary_curve),
        "confidence_region": Entry(summary.confidence_region, _LEVEL, {}, _region),
        "prediction_region": Entry(summary.prediction_region, _LEVEL, {}, _region),
        "tpr_interval": Entry(summary.tpr_interval, _LEVEL, {}, _interval_or_none),
    }


def _summary_curve(made: Any) -> None:
    check_json(made.to_dict(), "SummaryRoc.to_dict()")
    check_curve(made.curve, "SummaryRoc.curve")
    check_share(made.partial_auc, "SummaryRoc.partial_auc")


def _region(made: Any) -> None:
    check_shares(made.fpr, "Region.fpr")
    check_shares(made.tpr, "Region.tpr")


def _summary(made: Any) -> None:
    check_json(made, "the summary")


def _without(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def _curve(made: Any) -> None:
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
