"""Numbers: whatever the values, weights and options, results are right, in range, and the same on every road."""

import warnings
from typing import Any

import numpy as np

import polyroc
from fuzz._case import Attempt
from fuzz._escape import Answer, Escape, attempt
from fuzz._oracles import CONVERGED, ENDED, check_areas, check_engines, check_evaluation, check_share, require
from fuzz._problems import Problem, options, problem
from polyroc import baselines

# Why numbers that are all right in themselves may be refused.
_MAY_BE_REFUSED = ("within a ratio of", "`max_pairs` must be at least the number of classes")


def attempt_case(given: Attempt) -> None:
    """One problem, by one engine or both, perhaps in another order or by the baselines."""
    made = problem(given)
    asked = made.arguments | options(given, made.n_classes)
    # The reference takes several times as long, and is one of the other roads.
    engine = given.choose(["numba"] * 6 + ["numpy", "auto"])
    # Whoever sets everything to raise must get the same answers.
    with np.errstate(**dict.fromkeys(np.geterr(), "raise") if given.happens(0.3) else {}):
        answer = attempt(polyroc.evaluate, made.y_true, made.y_score, engine=engine, n_jobs=1, **asked)
        if not _may_be(answer, made):
            return
        evaluation = answer.result
        check_evaluation(evaluation)
        check_areas(evaluation, made.y_true, made.y_score.astype(float), made.weight)
        _another_road(given, made, asked, evaluation)


def _may_be(answer: Answer, made: Problem) -> bool:
    """Whether there is a result; escape where there should be none, or should be one."""
    if not answer.refused:
        require(made.is_finite, "scores that are not finite were accepted")
        require(made.n_present >= 2, "samples of a single class were accepted")
        return True
    expected = not made.is_finite or made.n_present < 2 or any(why in str(answer.refusal) for why in _MAY_BE_REFUSED)
    if not expected:
        msg = f"good numbers were refused: {answer.refusal}"
        raise Escape(msg)
    return False


def _another_road(given: Attempt, made: Problem, asked: dict[str, Any], evaluation: Any) -> None:
    road = given.choose(["engine", "order", "negated", "ranks", "baselines", *["none"] * 5])
    if road == "engine":
        both = [
            polyroc.evaluate(made.y_true, made.y_score, engine=engine, n_jobs=1, **asked)
            for engine in ("numpy", "numba")
        ]
        check_engines(*both, ended=ENDED if _ratio(asked) <= 1e4 else 1.0)
    elif road == "order" and "max_pairs" not in asked:
        other = made.ordered(given.rng.permutation(len(made.y_true)))
        _same(evaluation, other, asked | other.arguments, "in another order")
    elif road == "ranks" and asked.get("thresholds") != "difference":
        # Only ranks enter: those of all scores together keep the order within and between columns.
        ranks = np.unique(made.y_score, return_inverse=True)[1].reshape(made.y_score.shape).astype(float)
        _same(evaluation, Problem(made.y_true, ranks, made.weight), asked, "by their ranks")
    elif road == "negated":
        _negated(made, asked, evaluation)
    elif road == "baselines":
        _baselines(given, made, evaluation)


def _ratio(asked: dict[str, Any]) -> float:
    """How far costs are apart. The tests go to 1e4; fits that do not converge beyond that end somewhere."""
    costs = asked.get("costs", np.ones(1))
    return float(costs.max() / costs.min())


def _converged(*evaluations: Any) -> bool:
    return all(one.factorization.converged for one in evaluations)


def _same(evaluation: Any, other: Problem, asked: dict[str, Any], how: str) -> None:
    again = polyroc.evaluate(other.y_true, other.y_score, engine="numba", n_jobs=1, **asked)
    if not _converged(again, evaluation):
        return
    apart = abs(again.auc - evaluation.auc)
    require(apart <= CONVERGED, f"the same samples {how} give a D that differs by {apart:.3g}")


def _negated(made: Problem, asked: dict[str, Any], evaluation: Any) -> None:
    again = polyroc.evaluate(made.y_true, -made.y_score, engine="numba", n_jobs=1, **asked)
    apart = abs(again.auc + evaluation.auc - 1)
    require(apart <= CONVERGED or not _converged(again, evaluation), f"negated scores give 1 - D but for {apart:.3g}")
    require(abs(again.hand_till + evaluation.hand_till - 1) <= 1e-12, "negated scores do not give 1 - M")


def _baselines(given: Attempt, made: Problem, evaluation: Any) -> None:
    arguments = made.arguments
    found = polyroc.baselines.hand_till(made.y_true, made.y_score, **arguments)
    if evaluation.fitted.options.max_pairs is None:
        require(abs(found - evaluation.hand_till) <= 1e-12, "baselines.hand_till is not evaluate's")
    for function in (baselines.auc_mu, baselines.one_vs_rest, baselines.pdi):
        answer = attempt(function, made.y_true, made.y_score, **arguments)
        if not answer.refused:
            check_share(float(answer.result), function.__name__)
    if given.happens(0.5):
        with warnings.catch_warnings():
            _perfect(made, evaluation)


def _perfect(made: Problem, evaluation: Any) -> None:
    """Scores that say the class give exactly 1, whatever the weights."""
    if made.y_score.shape[1] < 3:
        return
    weight = {} if made.weight is None else {"sample_weight": made.weight}
    exact = polyroc.evaluate(made.y_true, np.eye(made.n_classes)[made.y_true], labels=evaluation.labels, **weight)
    require(abs(exact.auc - 1) <= 1e-12, f"perfect separation gives D = {exact.auc!r}")
    require(exact.hand_till == 1, f"perfect separation gives M = {exact.hand_till!r}")
