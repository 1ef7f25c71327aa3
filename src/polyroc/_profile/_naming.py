"""Which class each rule names for every sample under every cost matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polyroc._decide._crossfit import cross_fit, n_steps, offset_problem, starts_of
from polyroc._decide._judging import Judge, tuning_variance
from polyroc._decide._rules import RuleName, bayes_offsets, prior_ratio, scale_of
from polyroc._decide._shrinking import Bayes, shrink, shrunk_offsets
from polyroc._engines._matrix_costs import Names, bayes_names, known_names, same_names
from polyroc._engines._naming import cheapest, costs_of, highest, two_columns
from polyroc._engines._offset_starts import tune
from polyroc._engines._samples import can_be_probabilities
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions


class Named(NamedTuple):
    """What a rule names, and how uncertain its costs are by the luck of tuning."""

    names: Names
    luck: FloatArray
    """Standard deviation of what the rule costs under each matrix, over samples to tune on, shape (R,)."""


@dataclass(frozen=True, eq=False)
class Namer(Frozen):
    """All that rules need beyond the scores."""

    judge: Judge
    costs: FloatArray
    """costs[matrix, true, predicted], shape (R, k, k)."""
    fold: IntArray | None
    """Fold of each sample, by which tuned offsets are judged; None to judge them where they were tuned."""
    seed: int
    n_jobs: int | None

    def steps(self, rule: RuleName) -> int:
        """How many steps of a progress bar a rule takes."""
        if rule not in ("auto", "tuned"):
            return 1
        return len(self.costs) * (
            1 if self.fold is None else n_steps(int(self.fold.max()) + 1, by_pairs=rule == "auto")
        )

    def names(self, predictions: Predictions, rule: RuleName, tick: Callable[[int], object]) -> Named:
        """The classes that a rule names from a model's scores."""
        is_log = can_be_probabilities(predictions)
        scores = two_columns(predictions.scores, are_probabilities=is_log)
        if rule in ("auto", "tuned"):
            # Scores that are no probabilities have no Bayes' rule to shrink to.
            return self._tuned(predictions, scores, tick, is_log=is_log, is_auto=rule == "auto" and is_log)
        tick(1)
        if rule == "bayes":
            ratio = prior_ratio(self.judge.prior, predictions)
            return Named(bayes_names(scores, self.costs, ratio), np.zeros(len(self.costs)))
        return Named(same_names(np.argmax(scores, axis=1), len(self.costs)), np.zeros(len(self.costs)))

    def _tuned(
        self,
        predictions: Predictions,
        scores: FloatArray,
        tick: Callable[[int], object],
        *,
        is_log: bool,
        is_auto: bool,
    ) -> Named:
        """Names by offsets that are tuned to each matrix."""
        k, ratio = len(self.judge.prior), prior_ratio(self.judge.prior, predictions)
        named = np.empty((len(self.costs), len(scores)), dtype=np.int16 if k < 2**15 else np.intp)
        luck = np.zeros(len(self.costs))
        for place, costs in enumerate(self.costs):
            problem = offset_problem(scores, costs, ratio, self.judge, is_log=is_log)
            if self.fold is None:
                named[place] = highest(problem.z, tune(problem, starts_of(problem, ratio), self.seed).offsets)
                tick(1)
                continue
            found = cross_fit(problem, ratio, self.fold, self.seed, self.n_jobs, tick, by_pairs=is_auto)
            named[place], own = found.named, highest(problem.z, found.offsets)
            if is_auto:
                start = bayes_offsets(scale_of(costs, ratio, None, are_probabilities=True), costs, ratio, k)
                bayes = Bayes(start, cheapest(scores, costs, ratio, None))
                shrunk = shrink(self.judge, problem, found, bayes, self.fold, costs)
                named[place] = shrunk.named
                own = (
                    highest(problem.z, shrunk_offsets(found.offsets, start, shrunk.share))
                    if shrunk.share
                    else bayes.named
                )
            gap = self._cost(named[place], costs) - self._cost(own, costs)
            luck[place] = np.sqrt(tuning_variance(gap, k - 1, int(self.fold.max()) + 1))
        return Named(known_names(named), luck)

    def _cost(self, named: IntArray, costs: FloatArray) -> float:
        return self.judge.mean(costs_of(self.judge.codes, named, costs))
