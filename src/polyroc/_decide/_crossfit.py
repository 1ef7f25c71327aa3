"""Offsets tuned on all samples, and on all but one fold for each fold: what they name there is judged."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._decide._judging import Judge
from polyroc._decide._rules import levels_on, scale_of
from polyroc._engines._naming import above_least, highest, with_reject
from polyroc._engines._offset_starts import class_sums, class_weights, tune
from polyroc._engines._offsets import OffsetProblem, Tuned, passes_for
from polyroc._lib._threads import Threads
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen

# Fewer numbers than this are not worth a thread.
_FEW_CELLS = 50_000
# A class whose confusions cost nothing has no logarithm of a cost.
_LEAST_SEVERITY = 1e-3


@dataclass(frozen=True, eq=False)
class CrossFit(Frozen):
    """What tuning found."""

    tuned: Tuned
    """On all samples."""
    fold_offsets: FloatArray
    """On all samples but those of each fold, shape (n_folds, m)."""
    named: IntArray
    """What each sample is named by the offsets that were tuned without its fold, shape (n,)."""


def offset_problem(
    scores: FloatArray,
    costs: FloatArray,
    ratio: FloatArray,
    judge: Judge,
    reject_cost: float | None = None,
    *,
    is_log: bool,
) -> OffsetProblem:
    """What is tuned: levels of scores with a column per class, and costs[true, named] with that of abstaining."""
    scale, k = scale_of(costs, reject_cost, are_probabilities=is_log), len(costs)
    full_costs = with_reject(costs, reject_cost)
    z = levels_on(scale, scores, full_costs, ratio)
    # By weight and by scores, so that the order of the columns changes no result; abstaining comes last.
    order = np.r_[np.lexsort((z[:k].mean(axis=1), -judge.prior)), np.arange(k, len(z))]
    return OffsetProblem(
        z,
        judge.codes,
        judge.weight,
        above_least(full_costs),
        1.0 if is_log else float(np.mean(z.std(axis=1))) or 1.0,
        order,
        passes_for(z.size),
        knows_costs=scale == "expected cost",
    )


def cross_fit(
    problem: OffsetProblem,
    ratio: FloatArray,
    fold: IntArray,
    seed: int,
    n_jobs: int | None,
    tick: Callable[[int], object],
) -> CrossFit:
    """Tune on all, and without each fold. `problem.weight` has the prior in it, in every part likewise."""
    n_folds = int(fold.max()) + 1
    sums = class_sums(problem)

    def one(number: int) -> Tuned:
        part = problem
        if number < n_folds:
            chosen = np.flatnonzero(fold != number)
            part = problem.part(chosen, class_weights(problem.codes[chosen], problem.weight[chosen], sums))
        return tune(part, starts_of(part, ratio), seed)

    tasks: list[tuple[Any, ...]] = [(number,) for number in range(n_folds + 1)]
    found = []
    with Threads(1 if problem.z.size < _FEW_CELLS else n_jobs) as threads:
        for tuned in threads.imap(one, tasks):
            tick(1)
            found.append(tuned)
    offsets = np.array([tuned.offsets for tuned in found[:-1]])
    named = np.empty(len(fold), dtype=np.intp)
    for number in range(n_folds):
        inside = np.flatnonzero(fold == number)
        named[inside] = highest(problem.z[:, inside], offsets[number])
    return CrossFit(found[-1], offsets, named)


def starts_of(problem: OffsetProblem, ratio: FloatArray) -> list[FloatArray]:
    """Where sweeps begin: offsets of 0, what costs and priors would do to probabilities, columns of equal mean.

    Levels that know costs and priors are Bayes' rule at 0; there the second start takes out what they know.
    """
    k, m = problem.costs.shape
    costs, prevalence = problem.costs[:, :k], np.bincount(problem.codes, minlength=k) / len(problem.codes)
    own = np.diag(costs)
    # Elkan (2001): with one cost per true class, Bayes' rule adds the logarithm of that cost.
    severity = (costs.sum(axis=1) - own) / (k - 1) - own
    largest = max(float(severity.max()), 1e-300)
    by_cost = np.log(np.clip(severity / largest, _LEAST_SEVERITY, None) * np.clip(ratio, _LEAST_SEVERITY, None))
    starts = [
        np.zeros(k),
        (-1 if problem.knows_costs else 1) * problem.margin * by_cost,
        -problem.margin * np.log(np.maximum(prevalence, 1 / len(problem.codes))),
        -problem.z[:k].mean(axis=1),
    ]
    if m == k:
        return starts
    # Levels of problems in which a rule may abstain know the costs.
    return [np.zeros(m), *(np.r_[start, level] for start in starts for level in _abstaining(problem, start))]


def _abstaining(problem: OffsetProblem, start: FloatArray) -> tuple[float, float]:
    """Offsets of abstaining: one with which every sample is named, and one with which about a fifth are not."""
    z = problem.z[:, :: max(1, problem.z.shape[1] // 1000)]
    reached = np.max(z[:-1] + start[:, None], axis=0) - z[-1]
    return float(reached.min()) - problem.margin, float(np.quantile(reached, 0.2))
