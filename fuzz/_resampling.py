"""Resampling: intervals, bands and comparisons of small samples, with groups, weights and a sample of the pairs."""

from typing import Any

import numpy as np

import polyroc
from fuzz._case import Attempt
from fuzz._escape import attempt
from fuzz._oracles import (
    check_band,
    check_interval,
    check_json,
    check_rankings,
    check_share,
    check_shares,
    require,
)
from fuzz._problems import Problem, options, problem

_STATISTICS = ("auc", "hand_till", "mean_auc")
_INTERVALS = ("logit", "percentile", "basic", "bca")
_METHODS = ("bootstrap", "bootstrap", "bootstrap", "parametric-pairs", "parametric-samples")


def attempt_case(given: Attempt) -> None:
    """A problem that can be evaluated, and whatever resampling says about it."""
    made = problem(given, most_samples=24)
    asked = made.arguments | options(given, made.n_classes)
    asked["n_thresholds"] = min(asked.get("n_thresholds", 9), 19)
    engine = given.choose(["numba", "numba", "numba", "numpy"])
    answer = attempt(polyroc.evaluate, made.y_true, made.y_score, engine=engine, n_jobs=1, **asked)
    if answer.refused:
        return
    draws = {"n_resamples": int(given.choose([2, 2, 3, 5, 12])), "groups": groups(given, made), "rng": 0, "n_jobs": 1}
    if given.happens(0.2):
        _compare(given, made, {**asked, "engine": engine}, draws)
    elif given.happens(0.2):
        _by_formula(given, answer.result, draws["groups"])
    else:
        _bootstrap(given, answer.result, draws)


def groups(given: Attempt, made: Problem) -> Any:
    """Groups of the samples: none, few, many, one, of single classes, or with text for names."""
    n = len(made.y_true)
    kind = given.choose(["none", "none", "few", "many", "one", "classes", "text", "missing", "short"])
    if kind == "none":
        return None
    if kind == "one":
        return np.zeros(n, dtype=int)
    if kind == "classes":
        return made.y_true * 3 + given.rng.integers(0, 3, n)
    if kind == "missing":
        return np.where(given.rng.random(n) < 0.2, np.nan, given.rng.integers(0, 4, n))
    if kind == "short":
        return given.rng.integers(0, 4, n - 1)
    drawn = given.rng.integers(0, 3 if kind == "few" else n, n)
    return np.array([f"patient {one}" for one in drawn]) if kind == "text" else drawn


def _bootstrap(given: Attempt, evaluation: Any, draws: dict[str, Any]) -> None:
    method = given.choose(_METHODS)
    influences = method == "bootstrap" and given.happens(0.5)
    answer = attempt(evaluation.bootstrap, method=method, influences=influences, **draws)
    if answer.refused:
        return
    drawn = answer.result
    for name in ("auc", "hand_till", "mean_auc", "fpr", "tpr", "mean_fpr", "mean_tpr"):
        replicates = getattr(drawn, name)
        if replicates is not None:
            check_shares(replicates, f"replicates of {name}")
    level = given.choose([0.5, 0.9, 0.95, 0.999])
    for statistic in _STATISTICS:
        kind = given.choose(_INTERVALS)
        found = attempt(drawn.confidence_interval, level, statistic=statistic, interval=kind)
        if not found.refused:
            check_interval(found.result, f"{kind} interval of {statistic}")
            check_share(drawn.standard_error(statistic), "standard error")
    curve, both = given.choose(["shared", "mean"]), given.happens(0.5)
    band = attempt(drawn.confidence_band, level, curve=curve, simultaneous=both)
    if not band.refused:
        check_band(band.result)
    require("nan" not in repr(drawn), repr(drawn))
    if given.happens(0.1):
        again = evaluation.bootstrap(method=drawn.method, **draws | {"n_jobs": 2})
        require(np.array_equal(again.auc, drawn.auc), "two threads give other replicates than one")


def _by_formula(given: Attempt, evaluation: Any, of: Any) -> None:
    level = given.choose([0.5, 0.95, 0.999])
    statistic = given.choose(["hand_till", "mean_auc"])
    found = attempt(evaluation.confidence_interval, level, statistic=statistic, method="delong", groups=of)
    if not found.refused:
        check_interval(found.result, "DeLong's interval")
    _by_influence(given, evaluation, of)
    if given.happens(0.5):
        check_share(evaluation.pair_sampling_error, "pair_sampling_error")
    if given.happens(0.5) and evaluation.auc_by_thresholds is not None:
        check_shares(list(evaluation.auc_by_thresholds.values()), "auc_by_thresholds")


def _measures(evaluation: Any, of: Any, level: float) -> None:
    found = attempt(evaluation.measures, ordered=True, confidence_level=level, groups=of)
    if found.refused:
        return
    check_json(found.result.to_dict(), "Measures.to_dict()")
    for row in found.result:
        inside = row.low is None or row.low <= row.high
        require(inside and np.isfinite(row.estimate), f"{row}")
    require("nan" not in str(found.result), str(found.result))


def _by_influence(given: Attempt, evaluation: Any, of: Any) -> None:
    level = given.choose([0.5, 0.95, 0.999])
    _measures(evaluation, of, level)
    for statistic in _STATISTICS:
        found = attempt(evaluation.confidence_interval, level, statistic=statistic, method="influence", groups=of)
        if not found.refused:
            check_interval(found.result, f"interval of {statistic} by influences")
    influences = attempt(lambda: evaluation.influences)
    if not influences.refused:
        require(bool(np.all(np.isfinite(influences.result))), "an influence is not finite")
        if not evaluation.influence_note:
            check_share(evaluation.standard_error, "standard_error")
    curve, both = given.choose(["shared", "mean"]), given.happens(0.5)
    band = attempt(evaluation.confidence_band, level, curve=curve, simultaneous=both, method="influence", groups=of)
    if not band.refused:
        check_band(band.result)
    goal = {"half_width": given.choose([0.3, 0.05, 0.001]), "assurance": given.choose([None, 0.5, 0.8, 0.999])}
    planned = attempt(polyroc.plan, evaluation, **goal)
    if not planned.refused:
        require("nan" not in str(planned.result), str(planned.result))
        check_json(planned.result.to_dict(), "Plan.to_dict()")


def _compare(given: Attempt, made: Problem, asked: dict[str, Any], draws: dict[str, Any]) -> None:
    others = [
        given.rng.permutation(made.y_score),
        made.y_score.copy(),
        np.round(np.clip(made.y_score, -9, 9)),
        np.zeros_like(made.y_score),
    ]
    models = {"first": made.y_score} | {f"other {j}": others[j] for j in range(int(given.rng.integers(1, 4)))}
    level, kind = given.choose([0.5, 0.95, 0.999]), given.choose(_INTERVALS)
    if given.happens(0.4):  # without resampling
        draws, kind = {"groups": draws["groups"], "anytime": given.choose([False, True, 50])}, "logit"
    method = "auto" if "anytime" in draws else "bootstrap"
    answer = attempt(
        polyroc.compare, made.y_true, models, confidence_level=level, method=method, interval=kind, **draws, **asked
    )
    if answer.refused:
        return
    comparison = answer.result
    check_json(comparison.to_dict(include_delong=True), "Comparison.to_dict()")
    require("nan" not in str(comparison), "nan in the text of a comparison")
    for contest in (comparison.by_auc, comparison.by_hand_till, comparison.by_mean_auc):
        for one in contest.estimates:
            check_interval((one.low, one.high), f"{kind} interval of {contest.statistic}")
            check_share(one.probability_best, "probability_best")
        for one in (*contest.differences, *comparison.delong):
            check_interval((one.low, one.high), f"{kind} interval of a difference of {contest.statistic}", lowest=-1)
            check_share(float(one.p_value), "p value")
            check_share(float(one.p_value_holm), "Holm's p value")
        check_rankings(contest.rankings)
    if given.happens(0.2) and len(models) < 4:
        _tipping(comparison, given.choose([1.5, 10, 1000.0, 1e6]))


def _tipping(comparison: Any, largest: float) -> None:
    found = attempt(comparison.tipping_costs, largest=largest)
    if found.refused:
        return
    check_json(found.result.to_dict(), "TippingCosts.to_dict()")
    require("nan" not in str(found.result), str(found.result))
    for one in found.result:
        if one.factor is not None:
            within = 1 / largest * 0.999 <= one.factor <= largest * 1.001
            require(within and one.value > one.first_value, f"{one}")
