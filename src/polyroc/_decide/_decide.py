"""decide(...): from labels, scores and costs to the rule that names classes, and what it costs."""

from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._decide._arguments import as_decision_costs, as_n_folds, as_prior, as_reject_cost, check_size, check_units
from polyroc._decide._crossfit import CrossFit, cross_fit, offset_problem
from polyroc._decide._decision import Decision, RuleCost
from polyroc._decide._folds import folds_of, units_per_class
from polyroc._decide._judging import Bounds, Judge, tuning_variance
from polyroc._decide._rules import Method, Rule, Scale, prior_ratio, scale_of
from polyroc._engines._naming import confusion, costs_of, two_columns, with_reject
from polyroc._engines._offsets import OffsetProblem
from polyroc._engines._samples import can_be_probabilities
from polyroc._inputs._checks import InputError, as_confidence_level, as_flag, as_n_jobs, drawn_seed, one_of
from polyroc._inputs._predictions import as_predictions
from polyroc._lib._progress import progress_bar
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._lib._warnings import underflow_is_zero
from polyroc._records import Predictions
from polyroc._uncertainty._resampling import units_of


@underflow_is_zero
def decide(
    y_true: "ArrayLike",
    y_score: "ArrayLike",
    costs: "ArrayLike",
    *,
    prior: Any = None,
    method: Method = "tuned",
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
    """From scores and costs to a rule that names classes, with an honest estimate of what it costs.

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
    method : {"tuned", "bayes", "argmax"}
        "tuned": the highest level after one offset per class is added, which are tuned to the lowest cost. "bayes":
        the lowest expected cost, with scores taken as probabilities. "argmax": the highest score.
    reject_cost : float, optional
        Cost of naming no class, whatever the true one is. If given, the rule abstains where that is cheaper; scores
        must be probabilities. "argmax" never abstains.
    labels, sample_weight : array-like, optional
        As in `evaluate`.
    groups : array-like of shape (n_samples,), optional
        Group of each sample, such as a patient ID. If given, folds keep groups whole, and intervals count groups
        instead of samples.
    n_folds : int
        Folds of the cross-fitting. A class needs at least two samples (two groups), not as many as folds.
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
        With `offsets`, `predict`, `cost`, `cost_interval`, `confusion` and `rules`.

    Notes
    -----
    Offsets are added to levels, chosen so that some offsets give Bayes' rule. If mistakes about a class cost the same
    whatever is named instead, and the rule may not abstain, the levels are log probabilities, and offsets of the log
    costs give Bayes' rule. Otherwise they are ``-log(p @ (costs - costs.min(axis=1, keepdims=True)))``, minus the
    logarithm of the cost that is expected of naming each class (with `reject_cost`, a last column of `costs`), and
    offsets of 0 give Bayes' rule. A probability or an expected cost of 0 counts as the smallest normal double, below
    all others. Free scores are levels as they are.

    The cost of a rule is the sum over classes of prior times the mean of ``costs[true, named]`` within the class. The
    offsets that minimise it are sought by exact coordinate sweeps from several starts: the best value of one offset,
    with the others held, takes a sort; to find the best of all offsets together is NP-complete. Tuned and judged on
    the same samples, the cost would come out too low. So each fold is judged with offsets tuned on the other folds.
    Intervals of tuned offsets also allow for the luck of tuning: see the page on decisions. If a rule names no sample
    wrong, the samples show no variation: the interval then allows for the errors that this many samples can miss
    (Clopper and Pearson), at the highest cost.

    "bayes" multiplies probabilities by prior / prevalence of the samples where a prior is given: the classifier is
    taken to be calibrated to samples like these.

    References
    ----------
    Bourke, Deng, Scott, Schapire and Vinodchandran, On reoptimizing multi-class classifiers, Machine Learning 71, 2008.

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
    method = one_of(method, "method", get_args(Method))
    shown = as_flag(progress, "progress")
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    asked = _asked(predictions, costs, prior, method, reject_cost)
    units = units_of(predictions, groups)
    check_units(
        units_per_class(predictions.codes, units.unit, len(predictions.labels)),
        predictions.labels,
        are_groups=units.are_groups,
    )
    fold = folds_of(predictions.codes, units.unit, as_n_folds(n_folds), seed)
    judge = Judge.of(predictions, asked.prior if asked.prior_is_given else None, units, level)
    with progress_bar(int(fold.max()) + 2, "Tuning", shown=shown) as tick:
        fitted = cross_fit(_problem(predictions, asked, judge), asked.ratio, fold, seed, jobs, tick)
    return _decision(predictions, asked, judge, fitted, n_folds=int(fold.max()) + 1)


class _Asked(NamedTuple):
    """The checked arguments, and what follows from them."""

    method: Method
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

    def scale(self, method: Method) -> Scale:
        """What a rule compares: the highest score knows no costs, and Bayes' rule nothing else."""
        if method == "tuned":
            return scale_of(self.costs, self.reject_cost, are_probabilities=self.on_log_scale)
        if method == "bayes":
            return "expected cost"
        return "log probability" if self.on_log_scale else "score"


def _asked(predictions: Predictions, costs: Any, prior: Any, method: Method, reject_cost: Any) -> _Asked:
    weights = predictions.class_weights
    prevalence = weights / weights.sum()
    given = as_prior(prior, predictions.labels, weights)
    used = prevalence if given is None else given
    on_log_scale = can_be_probabilities(predictions)
    check_size(predictions, "y_score")
    came = f"scores from {predictions.scores.min():g} to {predictions.scores.max():g}"
    if not on_log_scale:
        rule = "must be probabilities, each row between 0 and 1 with sum 1,"
        if method == "bayes":
            raise InputError("y_score", f'{rule} for method="bayes"', came, hint=': "tuned" takes any scores')
        if reject_cost is not None:
            raise InputError("y_score", f"{rule} for `reject_cost`", came)
    return _Asked(
        method=method,
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


def _rule(asked: _Asked, method: Method, n_columns: int, offsets: FloatArray | None = None) -> Rule:
    k = len(asked.costs)
    reject_offset = None
    if offsets is not None and len(offsets) > k:
        # With mean 0 over the classes.
        shift = float(offsets[:k].mean())
        offsets, reject_offset = offsets[:k] - shift, float(offsets[k]) - shift
    return Rule(
        method=method,
        costs=asked.costs,
        ratio=asked.ratio,
        scale=asked.scale(method),
        n_columns=n_columns,
        offsets=offsets,
        reject_cost=asked.reject_cost,
        reject_offset=reject_offset,
    )


def _decision(predictions: Predictions, asked: _Asked, judge: Judge, fitted: CrossFit, *, n_folds: int) -> Decision:
    k, columns = len(asked.costs), predictions.n_columns
    rules: dict[Method, Rule] = {"tuned": _rule(asked, "tuned", columns, fitted.tuned.offsets)}
    if asked.on_log_scale:
        rules["bayes"] = _rule(asked, "bayes", columns)
    rules["argmax"] = _rule(asked, "argmax", columns, np.zeros(k))
    named = {name: fitted.named if name == "tuned" else rule.named(predictions.scores) for name, rule in rules.items()}
    chosen = rules[asked.method]
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    own = costs_of(predictions.codes, rules["tuned"].named(predictions.scores), asked.full_costs)
    gap = judge.mean(costs_of(predictions.codes, named["tuned"], asked.full_costs)) - judge.mean(own)
    tuning = tuning_variance(gap, asked.full_costs.shape[1] - 1, n_folds)
    judged = _rule_costs(predictions, asked, judge, named, tuning)
    return Decision(
        labels=predictions.labels,
        prior=asked.prior,
        confusion=confusion(predictions.codes, named[asked.method], weight, (k, k + chosen.abstains)),
        rules=tuple(judged),
        resubstitution_cost=judge.mean(own)
        if asked.method == "tuned"
        else judged[list(rules).index(asked.method)].cost,
        n_samples=predictions.n_samples,
        n_folds=n_folds,
        confidence_level=judge.confidence_level,
        _rule=chosen,
    )


def _rule_costs(
    predictions: Predictions, asked: _Asked, judge: Judge, named: dict[Method, IntArray], tuning: float
) -> list[RuleCost]:
    """The three rules, always naming each class, and always abstaining, each compared with the chosen one.

    `tuning` is the variance of the tuned offsets' cost that the samples do not show.
    """
    codes, full = predictions.codes, asked.full_costs
    reference = costs_of(codes, named[asked.method], full)

    bounds = Bounds.of(full)

    def judged(rule: str, label: Any, costs: FloatArray) -> RuleCost:
        # What naming the same for every sample costs is known; what rules by scores cost is known from samples.
        own = judge.estimate(costs, tuning if rule == "tuned" else 0.0, bounds if rule in named else None)
        # Of two rules that differ, one is tuned at most.
        is_other = rule != asked.method
        is_tuned = is_other and "tuned" in (rule, asked.method)
        apart = judge.estimate(costs - reference, tuning if is_tuned else 0.0, bounds.apart if is_other else None)
        return RuleCost(rule, label, *own, apart.value, apart.interval)

    found = [judged(method, None, costs_of(codes, names, full)) for method, names in named.items()]
    for j, label in enumerate(predictions.labels.tolist()):
        found.append(judged("always", label, full[:, j][codes]))
    if asked.reject_cost is not None:
        found.append(judged("abstain", None, np.full(len(codes), asked.reject_cost)))
    return found
