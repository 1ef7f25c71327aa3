"""cost_profile(...): what models cost over a family of cost matrices, and how often each is the cheapest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.predicted import cheapest, costs_of, highest, two_columns
from polyroc._core.samples import can_be_probabilities, exponentials_hint
from polyroc._inputs.checks import (
    InputError,
    as_confidence_level,
    as_flag,
    as_n_jobs,
    as_n_resamples,
    drawn_seed,
    one_of,
    shown,
)
from polyroc._inputs.predictions import as_models, in_same_order
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._lib.warnings import progress_bar, underflow_is_zero
from polyroc._records import Frozen, Predictions
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import Units, units_of
from polyroc._uncertainty.unseen import Balance, Counted, one_sided, share_of_poisson
from polyroc.costs._cost_matrices import (
    CostMatrices,
    CostRange,
    CostRatios,
    as_cost_matrices,
    as_n_folds,
    as_prior,
    check_size,
    check_units,
)
from polyroc.costs._judging import Bounds, Judge, Paid, tuning_variance
from polyroc.costs._offsets import tune
from polyroc.costs._profile import (
    Batches,
    CostDifference,
    CostProfile,
    CostSums,
    ModelCost,
    Predictor,
    batches_of,
    bayes_classes,
    cheapest_shares,
    cost_sums,
    known_classes,
    replicated_errors,
    same_classes,
    share_ends,
)
from polyroc.costs._rules import (
    Bayes,
    RuleName,
    bayes_offsets,
    cross_fit,
    folds_of,
    n_steps,
    offset_problem,
    prior_ratio,
    scale_of,
    shrink,
    shrunk_offsets,
    starts_of,
    units_per_class,
)


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


class RulePredictions(NamedTuple):
    """Predictions of a rule, and how uncertain its costs are by the luck of tuning."""

    predict: Predictor
    luck: FloatArray
    """Standard deviation of what the rule costs under each matrix, over samples to tune on, shape (R,)."""
    also: BoolArray | None = None
    """Which classes the deployed rule predicts, shape (R, k), if others' predictions are judged: see `Paid`."""


@dataclass(frozen=True, eq=False)
class RuleInputs(Frozen):
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

    def predict(self, predictions: Predictions, rule: RuleName, tick: Callable[[int], object]) -> RulePredictions:
        """The classes that a rule predicts from a model's scores."""
        is_log = can_be_probabilities(predictions)
        scores = two_columns(predictions.scores, are_probabilities=is_log)
        if rule in ("auto", "tuned"):
            # Scores that are no probabilities have no Bayes' rule to shrink to.
            return self._tuned(predictions, scores, tick, is_log=is_log, is_auto=rule == "auto" and is_log)
        tick(1)
        if rule == "bayes":
            ratio = prior_ratio(self.judge.prior, predictions)
            return RulePredictions(bayes_classes(scores, self.costs, ratio), np.zeros(len(self.costs)))
        return RulePredictions(same_classes(np.argmax(scores, axis=1), len(self.costs)), np.zeros(len(self.costs)))

    def _tuned(
        self,
        predictions: Predictions,
        scores: FloatArray,
        tick: Callable[[int], object],
        *,
        is_log: bool,
        is_auto: bool,
    ) -> RulePredictions:
        """Predictions by offsets that are tuned to each matrix."""
        k, ratio = len(self.judge.prior), prior_ratio(self.judge.prior, predictions)
        predicted = np.empty((len(self.costs), len(scores)), dtype=np.int16 if k < 2**15 else np.intp)
        luck, also = np.zeros(len(self.costs)), np.zeros((len(self.costs), k), dtype=bool)
        for place, costs in enumerate(self.costs):
            problem = offset_problem(scores, costs, ratio, self.judge, is_log=is_log)
            if self.fold is None:
                predicted[place] = highest(problem.z, tune(problem, starts_of(problem, ratio), self.seed).offsets)
                tick(1)
                continue
            found = cross_fit(problem, ratio, self.fold, self.seed, self.n_jobs, tick, by_pairs=is_auto)
            predicted[place], own = found.predicted, highest(problem.z, found.offsets)
            if is_auto:
                start = bayes_offsets(scale_of(costs, ratio, None, are_probabilities=True), costs, ratio, k)
                bayes = Bayes(start, cheapest(scores, costs, ratio, None))
                shrunk = shrink(self.judge, problem, found, bayes, self.fold, costs)
                predicted[place] = shrunk.predicted
                own = (
                    highest(problem.z, shrunk_offsets(found.offsets, start, shrunk.share))
                    if shrunk.share
                    else bayes.predicted
                )
            also[place, own] = True
            gap = self._cost(predicted[place], costs) - self._cost(own, costs)
            luck[place] = np.sqrt(tuning_variance(gap, k - 1, int(self.fold.max()) + 1))
        return RulePredictions(known_classes(predicted), luck, also)

    def _cost(self, predicted: IntArray, costs: FloatArray) -> float:
        return self.judge.mean(costs_of(self.judge.codes, predicted, costs))


@underflow_is_zero
def cost_profile(
    y_true: "ArrayLike",
    scores: "Mapping[str, ArrayLike]",
    *,
    costs: "Sequence[ArrayLike] | CostRange | CostRatios | Callable[[np.random.Generator], ArrayLike]",
    rule: RuleName | Sequence[RuleName] = "bayes",
    prior: Any = None,
    n_costs: int = 200,
    labels: "ArrayLike | None" = None,
    sample_weight: "ArrayLike | None" = None,
    groups: "ArrayLike | None" = None,
    n_folds: int | None = 5,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> CostProfile:
    """Costs of several models under many cost matrices, and how often each is the cheapest.

    For costs that are known roughly. The share of the matrices in which a model is the cheapest is Adams and Hand's LC
    index, for any number of classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    scores : mapping of str to array-like or data frame of shape (n_samples, n_classes)
        The scores of each model for the same samples, by its name.
    costs : list of matrices, CostRange, CostRatios or callable
        Cost matrices, ``[true, predicted]``, with their diagonal: negative entries are gains. A list, or an array of
        shape (n_matrices, n_classes, n_classes), is used as it is, every matrix alike. `CostRange` draws entries
        between those of two matrices. `CostRatios` makes one confusion cheaper or more expensive. A function is
        called with a NumPy generator, and returns one matrix per call.
    rule : {"bayes", "auto", "tuned", "argmax"} or sequence of these
        How classes are predicted under each matrix, as in `decide`: by the lowest expected cost, with scores taken as
        probabilities; by the share of tuned offsets that is seen to cost less than that; by offsets that are tuned to
        the matrix; by the highest score. Several rules are compared as if they were models of their own.
    prior : array-like of shape (n_classes,) or mapping, optional
        Prevalence of the classes where the models will be used, as in `decide`.
    n_costs : int
        Number of matrices to draw from a `CostRange` or a function.
    labels, sample_weight, groups, confidence_level, n_jobs, progress
        As in `decide`.
    n_folds : int or None
        Tuned offsets are judged on samples that they were not tuned on, by this many folds. None tunes and judges on
        the same samples, which gives costs that are too low; "auto" is then "tuned".
    n_resamples : int
        Number of resamples for the intervals of the shares.
    rng : int, Generator or None
        Seed of the drawn matrices, the folds and the resamples.

    Returns
    -------
    CostProfile
        With `models`, `differences` and `cost_by_matrix`.

    Notes
    -----
    Matrices of higher costs count for more in mean costs; shares depend on each matrix only up to a factor. All models
    are judged on the same samples, and intervals are paired; they allow for expensive mistakes that no sample shows,
    and those of tuned offsets for the luck of tuning, as in `decide`. Without `prior`, the prevalences vary with the
    samples; with it they are fixed. Where matrices are drawn, intervals also cover which matrices were drawn.

    The interval of a share runs from the share of the matrices in which the model is surely the cheapest to the share
    in which it may be, by tests of its differences from the other models under all matrices together. It is wide where
    models are nearly equal.

    References
    ----------
    Adams and Hand, Comparing classifiers when the misallocation costs are uncertain, Pattern Recognition 32, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = polyroc.CostRange(low=1 - np.eye(10), high=50 - 50 * np.eye(10))
    >>> profile = polyroc.cost_profile(example.y_true, example.scores, costs=costs, n_costs=50)
    >>> [(one.name, one.share_cheapest) for one in profile.models]
    [('logistic', 1.0), ('knn', 0.0), ('tree', 0.0)]
    """
    level, seed, jobs = as_confidence_level(confidence_level), drawn_seed(rng), as_n_jobs(n_jobs)
    resamples, shown = as_n_resamples(n_resamples), as_flag(progress, "progress")
    folds = None if n_folds is None else as_n_folds(n_folds)
    models = as_profiled(y_true, scores, labels, sample_weight)
    first = next(iter(models.values()))
    rules = as_rules(rule, models)
    matrices = as_cost_matrices(costs, first.labels, n_costs, seed)
    units = units_of(first, groups)
    is_tuned = not {"auto", "tuned"}.isdisjoint(rules)
    judge = Judge.of(first, as_prior(prior, first.labels, first.class_weights), units, level)
    inputs = RuleInputs(judge, matrices.values, _folds(first, units, folds, seed) if is_tuned else None, seed, jobs)
    batches = batches_of(judge.units, seed)
    entries = [_Entry(name, one, models[name]) for name in models for one in rules]
    sums, luck = [], []
    with progress_bar(sum(inputs.steps(one.rule) for one in entries), "Costs", shown=shown) as tick:
        for one in entries:
            predicted = inputs.predict(one.predictions, one.rule, tick)
            asked = (judge.codes, judge.weight, batches.batch, matrices.values, len(batches.stratum))
            found_sums = cost_sums(predicted.predict, *asked)
            also = found_sums.made if predicted.also is None else predicted.also
            sums.append(replace(found_sums, made=found_sums.made | also))
            luck.append(predicted.luck)
    found = _Found(judge, matrices, batches, sums, np.array(luck))
    low, high = (np.array(ends) for ends in zip(*map(found.ends, range(len(entries))), strict=True))
    return CostProfile(
        models=tuple(_model_costs(found, _named(entries, rules), resamples, seed)),
        differences=tuple(_differences(found, [name for name, _ in _named(entries, rules)])),
        costs=matrices.values,
        cost_by_matrix=found.cost,
        standard_error_by_matrix=found.errors,
        low_by_matrix=low,
        high_by_matrix=high,
        family=costs if isinstance(costs, CostRatios) else None,
        ratios=matrices.ratios,
        is_drawn=matrices.is_drawn,
        labels=first.labels,
        prior=judge.prior,
        n_samples=first.n_samples,
        n_resamples=resamples,
        n_folds=folds if is_tuned else None,
        confidence_level=level,
    )


class _Entry(NamedTuple):
    """A model and how it predicts classes."""

    model: str
    rule: RuleName
    predictions: Predictions


def _named(entries: Sequence[_Entry], rules: Sequence[RuleName]) -> list[tuple[str, _Entry]]:
    """Entries by name: with a single rule that of the model, with a single model that of the rule."""
    if len(rules) == 1:
        return [(one.model, one) for one in entries]
    if len(entries) == len(rules):
        return [(one.rule, one) for one in entries]
    return [(f"{one.model}, {one.rule}", one) for one in entries]


def _folds(predictions: Predictions, units: Units, n_folds: int | None, seed: int) -> IntArray | None:
    if n_folds is None:
        return None
    held = units_per_class(predictions.codes, units.unit, len(predictions.labels))
    check_units(held, predictions.labels, are_groups=units.are_groups)
    return folds_of(predictions.codes, units.unit, n_folds, seed)


class _Found:
    """Costs of all entries, and what batches of samples add to them."""

    def __init__(
        self, judge: Judge, matrices: CostMatrices, batches: Batches, sums: Sequence[CostSums], luck: FloatArray
    ) -> None:
        self.judge, self.matrices, self.batches, self.sums, self.luck = judge, matrices, batches, sums, luck
        self.cost = np.array([one.by_class.sum(axis=0) for one in sums])
        k, n_batches = len(judge.prior), len(batches.stratum)
        weights = np.bincount(batches.batch * k + judge.codes, judge.weight, minlength=n_batches * k)
        self.by_class = weights.reshape(n_batches, k)
        sizes = np.bincount(batches.stratum)
        self.n_batches = int(sizes[sizes > 0].min())
        # Without the mean of all, or of the class where its prevalence is known: as `Judge` does for single samples.
        self.influences = np.stack([self._influences(one.by_batch, one.by_class) for one in sums], axis=1)
        squares = np.einsum("g,gmr->mr", batches.scale, self.influences**2)
        self.errors: FloatArray = np.sqrt(squares + luck**2)
        # What a sample of each class costs at least, and by what each rule predicts at least and at most, (k, R).
        self.least = matrices.values.min(axis=2).T
        self.ranges = [_range_of(one.made, matrices.values) for one in sums]

    def ends(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Ends of the intervals of one entry's costs, shape (R,) each: as `Judge.balance`, for all matrices."""
        one, judge = self.sums[place], self.judge
        sums = np.maximum(one.by_batch - self.by_class @ self.least, 0.0)
        influences = self._influences(sums, one.by_class - judge.prior[:, None] * self.least)
        shown = self.batches.scale @ influences**2
        counted = Counted(
            sums.sum(axis=0), (sums**2).sum(axis=0), self._unseen(place, self.ranges[place][1] - self.least)
        )
        further = self.luck[place] ** 2 + np.maximum(self.errors[place] ** 2 - self.luck[place] ** 2 - shown, 0.0)
        share = share_of_poisson(shown, counted.variance, self.n_batches)
        below, above = Balance(counted, share=share, further=further).reaches(judge.confidence_level)
        highest = (judge.prior @ self.matrices.values.max(axis=2).T, self.matrices.values.max(axis=(1, 2)))
        lowest = (judge.prior @ self.least, self.least.min(axis=0))
        which, cost = int(judge.labels_are_random), self.cost[place]
        return (
            np.maximum(cost - below, np.minimum(lowest[which], cost)),
            np.minimum(cost + above, np.maximum(highest[which], cost)),
        )

    def ends_of_differences(self, confidence_level: float) -> tuple[FloatArray, FloatArray]:
        """Ends of the intervals of all differences, shape (m, m, R) each."""
        low, high = np.zeros((2, len(self.sums), len(self.sums), self.cost.shape[1]))
        for a, b in combinations(range(len(self.sums)), 2):
            apart = self.sums[a].per_sample - self.sums[b].per_sample
            together = self.judge.together(apart)
            (least_a, most_a), (least_b, most_b) = self.ranges[a], self.ranges[b]
            unseen = (together * self._most(most_a - least_b), together * self._most(most_b - least_a))
            more, less = one_sided(self.sums[a].by_batch - self.sums[b].by_batch, *unseen)
            shown = self.batches.scale @ (self.influences[:, a] - self.influences[:, b]) ** 2
            share = share_of_poisson(shown, more.variance + less.variance, self.n_batches)
            balance = Balance(more, less, share=share, further=self.luck[a] ** 2 + self.luck[b] ** 2)
            low[a, b], high[a, b] = balance.ends(confidence_level)
            low[b, a], high[b, a] = -high[a, b], -low[a, b]
        return low, high

    def paid(self, place: int) -> Paid:
        """The mean over the matrices."""
        return Paid(self.sums[place].per_sample, *(ends.mean(axis=1) for ends in self.ranges[place]))

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.least.mean(axis=1), self.matrices.values.max(axis=2).mean(axis=0))

    def _unseen(self, place: int, reach: FloatArray) -> FloatArray:
        excess = np.maximum(self.sums[place].per_sample - self.least.mean(axis=1)[self.judge.codes], 0.0)
        unseen: FloatArray = self.judge.together(excess) * self._most(reach)
        return unseen

    def _most(self, reach: FloatArray) -> FloatArray:
        """Largest effect of a single mistake under each matrix, shape (R,): as `Judge.unseen`."""
        most: FloatArray = np.maximum((self.judge.heaviest[:, None] * reach).max(axis=0), 0.0)
        return most

    def _influences(self, by_batch: FloatArray, by_class: FloatArray) -> FloatArray:
        influences: FloatArray = by_batch - self.by_class @ self._centre(by_class)
        return influences

    def _centre(self, by_class: FloatArray) -> FloatArray:
        """Mean to subtract from the cost of a sample of each class, shape (k, R)."""
        prior = self.judge.prior[:, None]
        if self.judge.labels_are_random:
            return np.repeat(by_class.sum(axis=0, keepdims=True), len(prior), axis=0)
        return np.divide(by_class, prior, out=np.zeros_like(by_class), where=prior > 0)

    def further(self, costs: FloatArray, *entries: int) -> float:
        """Variance of a mean cost, or of a difference, that the samples do not show.

        It comes from the matrices, where they are drawn, by the costs under each of them; and from the luck of tuning,
        as if that were good or bad under all matrices together.
        """
        drawn = float(np.var(costs, ddof=1)) / len(costs) if self.matrices.is_drawn else 0.0
        return drawn + float(sum(self.luck[place].mean() ** 2 for place in entries))


def _model_costs(found: _Found, named: Sequence[tuple[str, _Entry]], n_resamples: int, seed: int) -> list[ModelCost]:
    shares = cheapest_shares(found.cost)
    spread = replicated_errors(found.influences, found.luck, found.batches, n_resamples, seed)
    level, is_drawn = found.judge.confidence_level, found.matrices.is_drawn
    ends = share_ends(found.cost, *spread, found.ends_of_differences, level, is_drawn=is_drawn)
    models = []
    for place, (name, entry) in enumerate(named):
        own = found.judge.cost(found.paid(place), found.bounds, found.further(found.cost[place], place))
        models.append(
            ModelCost(name, entry.model, entry.rule, *own, float(shares[place]), Interval(*ends[place].tolist()))
        )
    return models


def _differences(found: _Found, names: Sequence[str]) -> list[CostDifference]:
    apart = []
    for a, b in combinations(range(len(names)), 2):
        further = found.further(found.cost[a] - found.cost[b], a, b)
        own = found.judge.difference(found.paid(a), found.paid(b), found.bounds, further)
        apart.append(CostDifference(names[a], names[b], *own))
    return apart


def _range_of(made: BoolArray, costs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest cost of a sample of each class by the predictions that are made, shape (k, R) each."""
    least = np.where(made[:, None], costs, np.inf).min(axis=2)
    return least.T, np.where(made[:, None], costs, -np.inf).max(axis=2).T
