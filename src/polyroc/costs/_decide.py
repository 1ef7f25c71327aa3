"""decide(...): from labels, scores and costs to the rule that predicts classes, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.predicted import confusion, costs_of, two_columns, with_reject
from polyroc._core.samples import can_be_probabilities, exponentials_hint
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_n_jobs, drawn_seed, one_of
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._lib.warnings import progress_bar, underflow_is_zero
from polyroc._records import Predictions
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import units_of
from polyroc.costs._cost_matrices import (
    as_decision_costs,
    as_n_folds,
    as_prior,
    as_reject_cost,
    check_size,
    check_units,
)
from polyroc.costs._decision import Decision, RuleCost
from polyroc.costs._judging import Bounds, Judge, Paid, as_size, tuning_variance, unseen_mistake
from polyroc.costs._offsets import OffsetProblem
from polyroc.costs._rules import (
    Bayes,
    CrossFit,
    Rule,
    RuleName,
    Scale,
    Shrunk,
    bayes_offsets,
    cross_fit,
    folds_of,
    n_steps,
    offset_problem,
    prior_ratio,
    scale_of,
    shrink,
    shrunk_offsets,
    units_per_class,
)


@underflow_is_zero
def decide(
    y_true: "ArrayLike",
    y_score: "ArrayLike",
    costs: "ArrayLike",
    *,
    prior: Any = None,
    rule: RuleName = "auto",
    reject_cost: float | None = None,
    labels: "ArrayLike | None" = None,
    sample_weight: "ArrayLike | None" = None,
    groups: "ArrayLike | None" = None,
    n_folds: int = 5,
    confidence_level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Decision:
    """From scores and costs to a rule that predicts classes, with an honest estimate of what it costs.

    Parameters
    ----------
    y_true, y_score : array-like
        As in `evaluate`. Rows that are probabilities (between 0 and 1, sum 1) are compared by logarithms, other scores
        as they are: see Notes. Use samples that the classifier was not trained on.
    costs : array-like of shape (n_classes, n_classes)
        ``costs[true, predicted]``, laid out as a confusion matrix, with its diagonal: negative entries are gains. Rows
        and columns of a data frame that are named after the classes are matched by name.
    prior : array-like of shape (n_classes,) or mapping, optional
        Prevalence of the classes where the rule will be used, sum 1; a mapping or a pandas series by class. By default
        the prevalence of the samples.
    rule : {"auto", "tuned", "bayes", "argmax"}
        "auto": Bayes' rule, or a share of the tuned offsets, from an eighth to all, if the samples show that these are
        cheaper; "tuned" if scores are not probabilities. "tuned": the highest level after one offset per class is
        added, which are tuned to the lowest cost. "bayes": the lowest expected cost, with scores taken as
        probabilities. "argmax": the highest score.
    reject_cost : float, optional
        Cost of predicting no class, whatever the true one is. If given, the rule abstains where that is cheaper; scores
        must be probabilities. "argmax" never abstains.
    labels, sample_weight : array-like, optional
        As in `evaluate`.
    groups : array-like of shape (n_samples,), optional
        Group of each sample, such as a patient ID. If given, folds keep groups whole, and intervals count groups
        instead of samples.
    n_folds : int
        Folds of the cross-fitting. A class needs at least two samples (two groups), not as many as folds. Offsets are
        tuned for each fold, and with "auto" for each two folds.
    confidence_level : float
        Of all intervals.
    rng : int, Generator or None
        Seed of the folds and of the random starts.
    n_jobs : int, optional
        Number of threads; None for as many as the process may use. Results do not depend on it.
    progress : bool
        Show a progress bar (needs ``polyroc[progress]``).

    Returns
    -------
    Decision
        With `offsets`, `predict`, `cost`, `cost_interval`, `unseen`, `confusion` and `rules`.

    Notes
    -----
    Offsets are added to levels, chosen so that some offsets give Bayes' rule. If mistakes about a class cost the same
    whatever is predicted instead, and the rule may not abstain, the levels are log probabilities, and offsets of the
    log costs give Bayes' rule. Otherwise they are ``-log(p @ (costs - costs.min(axis=1, keepdims=True)))``, minus the
    logarithm of the cost that is expected of predicting each class (with `reject_cost`, a last column of `costs`), and
    offsets of 0 give Bayes' rule. A probability or an expected cost of 0 counts as the smallest normal double, below
    all others. Free scores are levels as they are.

    The cost of a rule is the sum over classes of prior times the mean of ``costs[true, predicted]`` within the class.
    The offsets that minimise it are sought by exact coordinate sweeps from several starts: the best value of one
    offset, with the others held, takes a sort; to find the best of all offsets together is NP-complete. Tuned and
    judged on the same samples, the cost would come out too low. So each fold is judged with offsets tuned on the other
    folds, and for "auto" with a share that is chosen by folds within these.

    Intervals are Fay and Feuer's gamma intervals, which allow for expensive mistakes that these samples do not show;
    those of differences join two of them by MOVER. Intervals of tuned offsets also allow for the luck of tuning. See
    the page on decisions.

    "bayes" multiplies probabilities by prior / prevalence of the samples where a prior is given: the classifier is
    taken to be calibrated to samples like these.

    References
    ----------
    Bourke, Deng, Scott, Schapire and Vinodchandran, On reoptimizing multi-class classifiers, Machine Learning 71, 2008.
    Fay and Feuer, Confidence intervals for directly standardized rates, Statistics in Medicine 16, 1997.
    Zou and Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = 1 - np.eye(10)
    >>> costs[3] *= 5  # to miss a 3 costs five times as much
    >>> decision = polyroc.decide(example.y_true, example.scores["tree"], costs)
    >>> decision.offsets.shape
    (10,)
    >>> decision.predict(example.scores["tree"]).shape == example.y_true.shape
    True
    """
    level, seed, jobs = as_confidence_level(confidence_level), drawn_seed(rng), as_n_jobs(n_jobs)
    rule = one_of(rule, "rule", get_args(RuleName))
    shown = as_flag(progress, "progress")
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    asked = _asked(predictions, costs, prior, rule, reject_cost)
    units = units_of(predictions, groups)
    check_units(
        units_per_class(predictions.codes, units.unit, len(predictions.labels)),
        predictions.labels,
        are_groups=units.are_groups,
    )
    fold = folds_of(predictions.codes, units.unit, as_n_folds(n_folds), seed)
    judge = Judge.of(predictions, asked.prior if asked.prior_is_given else None, units, level)
    problem, is_auto = _problem(predictions, asked, judge), asked.rule == "auto"
    with progress_bar(n_steps(int(fold.max()) + 1, by_pairs=is_auto), "Tuning", shown=shown) as tick:
        fitted = cross_fit(problem, asked.ratio, fold, seed, jobs, tick, by_pairs=is_auto)
    rules = _rules(predictions, asked, fitted)
    predicted = {name: one.predict(predictions.scores) for name, one in rules.items()}
    if is_auto:
        bayes = Bayes(asked.bayes_offsets(len(problem.z)), predicted["bayes"])
        shrunk = shrink(judge, problem, fitted, bayes, fold, asked.full_costs)
        rules = {"auto": _shrunk_rule(predictions, asked, fitted, shrunk, len(problem.z)), **rules}
        predicted["auto"] = shrunk.predicted
    own: dict[RuleName, IntArray] = {
        name: one.predict(predictions.scores) for name, one in rules.items() if name in ("auto", "tuned")
    }
    predicted["tuned"] = fitted.predicted
    return _decision(predictions, asked, judge, rules, predicted, own, n_folds=int(fold.max()) + 1)


class _Asked(NamedTuple):
    """The checked arguments, and what follows from them."""

    rule: RuleName
    costs: FloatArray
    prior: FloatArray
    prior_is_given: bool
    ratio: FloatArray
    """Prior over prevalence of the samples, shape (k,)."""
    reject_cost: float | None
    on_log_scale: bool

    @property
    def full_costs(self) -> FloatArray:
        return with_reject(self.costs, self.reject_cost)

    def scale(self, rule: RuleName) -> Scale:
        """Scale on which a rule compares: the highest score knows no costs, and Bayes' rule nothing else."""
        if rule in ("auto", "tuned"):
            return scale_of(self.costs, self.ratio, self.reject_cost, are_probabilities=self.on_log_scale)
        if rule == "bayes":
            return "expected cost"
        return "log probability" if self.on_log_scale else "score"

    def bayes_offsets(self, n_levels: int) -> FloatArray:
        return bayes_offsets(self.scale("auto"), self.costs, self.ratio, n_levels)


def _asked(predictions: Predictions, costs: Any, prior: Any, rule: RuleName, reject_cost: Any) -> _Asked:
    weights = predictions.class_weights
    prevalence = weights / weights.sum()
    given = as_prior(prior, predictions.labels, weights)
    used = prevalence if given is None else given
    on_log_scale = can_be_probabilities(predictions)
    check_size(predictions, "y_score")
    came = f"scores from {predictions.scores.min():g} to {predictions.scores.max():g}"
    if not on_log_scale:
        must, exp = "must be probabilities, each row between 0 and 1 with sum 1,", exponentials_hint(predictions)
        if rule == "bayes":
            raise InputError(
                "y_score", f'{must} for rule="bayes"', came, f'{exp}{";" if exp else ":"} "tuned" takes any scores'
            )
        if reject_cost is not None:
            raise InputError("y_score", f"{must} for `reject_cost`", came, exp)
    return _Asked(
        rule="tuned" if rule == "auto" and not on_log_scale else rule,
        costs=as_decision_costs(costs, predictions.labels),
        prior=used,
        prior_is_given=given is not None,
        ratio=prior_ratio(used, predictions),
        reject_cost=as_reject_cost(reject_cost),
        on_log_scale=on_log_scale,
    )


def _problem(predictions: Predictions, asked: _Asked, judge: Judge) -> OffsetProblem:
    scores = two_columns(predictions.scores, are_probabilities=asked.on_log_scale)
    return offset_problem(scores, asked.costs, asked.ratio, judge, asked.reject_cost, is_log=asked.on_log_scale)


def _rules(predictions: Predictions, asked: _Asked, fitted: CrossFit) -> dict[RuleName, Rule]:
    """All rules that the scores allow, but the shrunk one."""
    columns = predictions.n_columns
    rules: dict[RuleName, Rule] = {"tuned": _rule(asked, "tuned", asked.scale("tuned"), columns, fitted.offsets)}
    if asked.on_log_scale:
        rules["bayes"] = _rule(asked, "bayes", asked.scale("bayes"), columns)
    rules["argmax"] = _rule(asked, "argmax", asked.scale("argmax"), columns, np.zeros(len(asked.costs)))
    return rules


def _shrunk_rule(predictions: Predictions, asked: _Asked, fitted: CrossFit, shrunk: Shrunk, n_levels: int) -> Rule:
    if shrunk.share == 0:
        # To the last bit Bayes' rule.
        return _rule(asked, "auto", "expected cost", predictions.n_columns, np.zeros(n_levels), 0.0)
    offsets = shrunk_offsets(fitted.offsets, asked.bayes_offsets(n_levels), shrunk.share)
    return _rule(asked, "auto", asked.scale("auto"), predictions.n_columns, offsets, shrunk.share)


def _rule(
    asked: _Asked,
    name: RuleName,
    scale: Scale,
    n_columns: int,
    offsets: FloatArray | None = None,
    tuned_share: float | None = None,
) -> Rule:
    k = len(asked.costs)
    reject_offset = None
    if offsets is not None and len(offsets) > k:
        # With mean 0 over the classes.
        shift = float(offsets[:k].mean())
        offsets, reject_offset = offsets[:k] - shift, float(offsets[k]) - shift
    return Rule(
        name=name,
        costs=asked.costs,
        ratio=asked.ratio,
        scale=scale,
        n_columns=n_columns,
        offsets=offsets,
        reject_cost=asked.reject_cost,
        reject_offset=reject_offset,
        tuned_share=tuned_share,
    )


def _decision(
    predictions: Predictions,
    asked: _Asked,
    judge: Judge,
    rules: dict[RuleName, Rule],
    predicted: dict[RuleName, IntArray],
    own: dict[RuleName, IntArray],
    *,
    n_folds: int,
) -> Decision:
    """`predicted` are the classes by which rules are judged, `own` those of rules tuned to the same samples."""
    k, codes, full = len(asked.costs), predictions.codes, asked.full_costs
    chosen = rules[asked.rule]
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    paid = {name: Paid.of(codes, predicted[name], full, own.get(name)) for name in rules}
    resubstitution = {name: judge.mean(costs_of(codes, one, full)) for name, one in own.items()}
    tuning = {
        name: tuning_variance(judge.mean(paid[name].costs) - cost, full.shape[1] - 1, n_folds)
        for name, cost in resubstitution.items()
    }
    entries = [_Entry(name, None, one) for name, one in paid.items()]
    entries += [
        _Entry("always", label, _always(judge, full[:, j])) for j, label in enumerate(predictions.labels.tolist())
    ]
    if asked.reject_cost is not None:
        entries.append(_Entry("abstain", None, _always(judge, full[:, -1])))
    compared = _Compared(judge, Bounds.of(full), asked.rule, paid[asked.rule], tuning)
    found = Decision(
        labels=predictions.labels,
        prior=asked.prior,
        confusion=confusion(codes, predicted[asked.rule], weight, (k, k + chosen.abstains)),
        rules=tuple(compared.rule_cost(one) for one in entries),
        resubstitution_cost=resubstitution.get(asked.rule, judge.mean(paid[asked.rule].costs)),
        unseen=unseen_mistake(
            judge, predicted[asked.rule], full, paid[asked.rule], predictions.labels, own.get(asked.rule)
        ),
        n_samples_to_tell=None,
        n_samples=predictions.n_samples,
        n_folds=n_folds,
        confidence_level=judge.confidence_level,
        predictor=chosen,
    )
    if found.rival is None:
        return found
    rival = entries[found.rules.index(found.rival)]
    return replace(found, n_samples_to_tell=compared.n_samples_to_tell(found.rival, rival))


def _always(judge: Judge, costs: FloatArray) -> Paid:
    """The same for every sample, with a cost for each class."""
    return Paid(costs[judge.codes], costs, costs)


class _Entry(NamedTuple):
    rule: str
    label: Any
    paid: Paid


@dataclass(frozen=True, eq=False)
class _Compared:
    """Rules compared with the chosen one."""

    judge: Judge
    bounds: Bounds
    rule: RuleName
    paid: Paid
    tuning: Mapping[Any, float]
    """The variance of the cost of tuned offsets that the samples do not show, by rule."""

    def rule_cost(self, one: _Entry) -> RuleCost:
        own = self.judge.cost(one.paid, self.bounds, self.tuning.get(one.rule, 0.0))
        if one.rule == self.rule:
            return RuleCost(one.rule, one.label, *own, 0.0, Interval(0.0, 0.0))
        apart = self.judge.difference(one.paid, self.paid, self.bounds, self._tuning(one))
        return RuleCost(one.rule, one.label, *own, apart.value, apart.interval)

    def n_samples_to_tell(self, cost: RuleCost, one: _Entry) -> int | None:
        """Samples that would tell whether a rule costs more; None if these tell."""
        low, high = cost.difference_interval
        if low > 0 or high < 0:
            return None
        balance = self.judge.balance_of_two(one.paid, self.paid, self._tuning(one))
        return as_size(len(self.judge.codes), balance.times_to_tell(self.judge.confidence_level))

    def _tuning(self, one: _Entry) -> float:
        # Rules with tuned offsets share them: a difference is no more uncertain than the more uncertain one.
        return max(self.tuning.get(one.rule, 0.0), self.tuning.get(self.rule, 0.0))
