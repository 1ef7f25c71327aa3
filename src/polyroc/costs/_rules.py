"""Rules that predict a class for every row of scores, and how their offsets are tuned and judged."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr

from polyroc._core.predicted import (
    above_least,
    are_by_true_class,
    cheapest,
    cost_levels,
    expected_costs,
    highest,
    levels,
    two_columns,
    with_reject,
)
from polyroc._core.samples import exponentials_hint, look_like_probabilities
from polyroc._inputs.checks import InputError
from polyroc._lib.threads import Threads
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions
from polyroc.costs._judging import Judge, Paid
from polyroc.costs._offsets import OffsetProblem, class_sums, class_weights, tune

RuleName: TypeAlias = Literal["auto", "tuned", "bayes", "argmax"]
Scale: TypeAlias = Literal["log probability", "expected cost", "score"]


@dataclass(frozen=True, eq=False)
class Rule(Frozen):
    """All that a rule needs; a few numbers per class."""

    name: RuleName
    costs: FloatArray
    """costs[true, predicted], shape (k, k)."""
    ratio: FloatArray
    """Prior over prevalence of each class, shape (k,): what Bayes' rule multiplies probabilities with."""
    scale: Scale
    """Scale of the levels to which offsets are added: "expected cost" stands for minus its logarithm."""
    n_columns: int
    offsets: FloatArray | None = None
    """Shape (k,); None for Bayes' rule."""
    reject_cost: float | None = None
    reject_offset: float | None = None
    tuned_share: float | None = None
    """Of "auto": how much of the tuned offsets is used, from 0 (Bayes' rule) to 1."""

    @property
    def on_log_scale(self) -> bool:
        """Whether scores are probabilities."""
        return self.scale != "score"

    @property
    def abstains(self) -> bool:
        return self.reject_cost is not None and self.name != "argmax"

    def predict(self, scores: FloatArray) -> IntArray:
        """Position of the class predicted for each row of checked scores; k where the rule abstains."""
        scores = two_columns(scores, are_probabilities=self.on_log_scale)
        if self.offsets is None:
            return cheapest(scores, self.costs, self.ratio, self.reject_cost)
        return highest(self._levels(scores), self._all_offsets(self.offsets))

    def margins(self, scores: FloatArray) -> FloatArray:
        """The rule predicts the column of the highest, shape (n, k): it abstains, where it may, if all are negative."""
        scores = two_columns(scores, are_probabilities=self.on_log_scale)
        if self.offsets is None:
            return (self.reject_cost or 0.0) - expected_costs(scores, self.costs, self.ratio)
        found: FloatArray = (self._levels(scores) + self._all_offsets(self.offsets)[:, np.newaxis]).T
        return found[:, :-1] - found[:, -1:] if self.abstains else found

    def _levels(self, scores: FloatArray) -> FloatArray:
        reject_cost = self.reject_cost if self.abstains else None
        return levels_on(self.scale, scores, with_reject(self.costs, reject_cost), self.ratio)

    def _all_offsets(self, offsets: FloatArray) -> FloatArray:
        """With that of abstaining at the end, where the rule may abstain."""
        return offsets if self.reject_offset is None else np.r_[offsets, self.reject_offset]

    def check(self, scores: FloatArray) -> None:
        """Refuse later scores that are of another kind than those that the rule was made from."""
        if self.on_log_scale:
            if not look_like_probabilities(scores):
                rule = "must hold probabilities, as the scores did that the rule was made from"
                came = f"scores from {scores.min():g} to {scores.max():g}, or other row sums"
                raise InputError("y_score", rule, came, exponentials_hint(scores))
        elif scores.shape[1] != self.n_columns:
            rule = f"must have {self.n_columns} columns, as the scores had that the rule was made from"
            raise InputError("y_score", rule, f"{scores.shape[1]}")


def prior_ratio(prior: FloatArray, predictions: Predictions) -> FloatArray:
    """Prior over prevalence of the samples, shape (k,); 0 of classes without samples."""
    prevalence = predictions.class_weights / predictions.class_weights.sum()
    ratio: FloatArray = np.divide(prior, prevalence, out=np.zeros(len(prevalence)), where=prevalence > 0)
    return ratio


def scale_of(costs: FloatArray, ratio: FloatArray, reject_cost: float | None, *, are_probabilities: bool) -> Scale:
    """The scale on which some offsets give Bayes' rule; from costs, priors and the kind of scores.

    On log probabilities they do if a mistake costs the same whatever is predicted: the logarithms of these costs. To
    know where abstaining is cheaper takes the expected cost, to which all probabilities of a sample contribute.
    """
    if not are_probabilities:
        return "score"
    has_offsets = reject_cost is None and are_by_true_class(costs) and bool((_severity(costs, ratio) > 0).all())
    return "log probability" if has_offsets else "expected cost"


def bayes_offsets(scale: Scale, costs: FloatArray, ratio: FloatArray, n_levels: int) -> FloatArray:
    """The offsets, with mean 0, that give Bayes' rule, shape (n_levels,)."""
    if scale != "log probability":
        return np.zeros(n_levels)
    # Elkan (2001): with one cost per true class, Bayes' rule adds the logarithm of that cost.
    logs = np.log(_severity(costs, ratio))
    centred: FloatArray = logs - logs.mean()
    return centred


def _severity(costs: FloatArray, ratio: FloatArray) -> FloatArray:
    """Mean cost of the mistakes about each class above that of predicting it, times its ratio, shape (k,)."""
    own = np.diag(costs)
    severity: FloatArray = ((costs.sum(axis=1) - own) / (len(costs) - 1) - own) * ratio
    return severity


def levels_on(scale: Scale, scores: FloatArray, costs: FloatArray, ratio: FloatArray) -> FloatArray:
    """Levels to which offsets are added, a row for each column of costs[true, predicted]."""
    if scale == "expected cost":
        return cost_levels(scores, costs, ratio)
    return levels(scores, on_log_scale=scale == "log probability")


def as_labels(predicted: IntArray, labels: Any, *, may_abstain: bool) -> Any:
    """The classes by their names; None in an array of objects where a rule abstained."""
    if not may_abstain:
        return labels[predicted]
    names = np.empty(len(labels) + 1, dtype=object)
    names[: len(labels)] = labels.tolist()
    return names[predicted]


# Fewer numbers than this are not worth a thread.
_FEW_CELLS = 50_000
# A class whose confusions cost nothing has no logarithm of a cost.
_LEAST_SEVERITY = 1e-3


@dataclass(frozen=True, eq=False)
class CrossFit(Frozen):
    """Result of tuning."""

    offsets: FloatArray
    """On all samples, shape (m,)."""
    fold_offsets: FloatArray
    """On all samples but those of each fold, shape (n_folds, m)."""
    pair_offsets: FloatArray | None
    """Without either of two folds, shape (n_folds, n_folds, m); None where nobody chooses by them."""
    predicted: IntArray
    """Class predicted for each sample by the offsets that were tuned without its fold, shape (n,)."""


def offset_problem(
    scores: FloatArray,
    costs: FloatArray,
    ratio: FloatArray,
    judge: Judge,
    reject_cost: float | None = None,
    *,
    is_log: bool,
) -> OffsetProblem:
    """Problem to be tuned: levels of scores with a column per class, and costs[true, predicted] with abstaining."""
    scale, k = scale_of(costs, ratio, reject_cost, are_probabilities=is_log), len(costs)
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
        knows_costs=scale == "expected cost",
    )


def cross_fit(
    problem: OffsetProblem,
    ratio: FloatArray,
    fold: IntArray,
    seed: int,
    n_jobs: int | None,
    tick: Callable[[int], object],
    *,
    by_pairs: bool = False,
) -> CrossFit:
    """Tune on all, and without each fold. `problem.weight` has the prior in it, in every part likewise.

    By pairs also without each two folds: what is chosen by judging on one of them has not seen the other.
    """
    n_folds = int(fold.max()) + 1
    sums = class_sums(problem)

    def one(*left_out: int) -> FloatArray:
        part = problem
        if left_out:
            chosen = np.flatnonzero(~np.isin(fold, left_out))
            # Of two folds in all nothing is left.
            chosen = chosen if len(chosen) else np.flatnonzero(fold != left_out[0])
            part = problem.part(chosen, class_weights(problem.codes[chosen], problem.weight[chosen], sums))
        return tune(part, starts_of(part, ratio), seed).offsets

    pairs = list(combinations(range(n_folds), 2)) if by_pairs else []
    tasks: list[tuple[Any, ...]] = [(), *((number,) for number in range(n_folds)), *pairs]
    found = []
    with Threads(1 if problem.z.size < _FEW_CELLS else n_jobs) as threads:
        for offsets in threads.imap(one, tasks):
            tick(1)
            found.append(offsets)
    of_folds = np.array(found[1 : n_folds + 1])
    predicted = np.empty(len(fold), dtype=np.intp)
    for number in range(n_folds):
        inside = np.flatnonzero(fold == number)
        predicted[inside] = highest(problem.z[:, inside], of_folds[number])
    return CrossFit(found[0], of_folds, _both_ways(found[n_folds + 1 :], pairs, n_folds), predicted)


def n_steps(n_folds: int, *, by_pairs: bool) -> int:
    """How often offsets are tuned."""
    return 1 + n_folds + (n_folds * (n_folds - 1) // 2 if by_pairs else 0)


def _both_ways(offsets: list[FloatArray], pairs: list[tuple[int, int]], n_folds: int) -> FloatArray | None:
    if not pairs:
        return None
    found = np.zeros((n_folds, n_folds, len(offsets[0])))
    for (first, second), one in zip(pairs, offsets, strict=True):
        found[first, second] = found[second, first] = one
    return found


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
    """Offsets of abstaining: one that never abstains, and one that abstains for about a fifth."""
    z = problem.z[:, :: max(1, problem.z.shape[1] // 1000)]
    reached = np.max(z[:-1] + start[:, None], axis=0) - z[-1]
    return float(reached.min()) - problem.margin, float(np.quantile(reached, 0.2))


def folds_of(codes: IntArray, unit: IntArray, n_folds: int, seed: int) -> IntArray:
    """The fold of each sample, shape (n,): units are dealt out in turn within their commonest class.

    A class with fewer units than folds is missing from some folds, and never from all others. What a unit is dealt
    depends on its own random number and on the units of its class, not on the order of the classes.
    """
    rng = np.random.default_rng(seed)
    n_units = int(unit.max()) + 1
    key = rng.random(n_units)
    kind = _commonest(codes, unit, n_units)
    order = np.lexsort((key, kind))
    counts = np.bincount(kind)
    begins = np.cumsum(counts) - counts
    rank = np.arange(n_units) - begins[kind[order]]
    # Where the dealing begins in each class, by chance: else small classes would all lie in the first folds.
    lowest = np.ones(len(counts))
    np.minimum.at(lowest, kind, key)
    shift = np.floor(lowest * 2**40).astype(np.int64) % n_folds
    fold = np.empty(n_units, dtype=np.intp)
    fold[order] = (rank + shift[kind[order]]) % n_folds
    found: IntArray = fold[unit]
    return found


def _commonest(codes: IntArray, unit: IntArray, n_units: int) -> IntArray:
    """The class of most samples of each unit, shape (n_units,); the first of equal ones."""
    if n_units == len(codes):
        kind = np.empty(n_units, dtype=np.intp)
        kind[unit] = codes
        return kind
    k = int(codes.max()) + 1
    pairs, counts = np.unique(unit * k + codes, return_counts=True)
    order = np.lexsort((-pairs, counts))
    kind = np.empty(n_units, dtype=np.intp)
    # Written in rising order of the counts, so that the largest stays.
    kind[pairs[order] // k] = pairs[order] % k
    return kind


def units_per_class(codes: IntArray, unit: IntArray, n_classes: int) -> IntArray:
    """Number of units that hold a sample of each class, shape (k,)."""
    if int(unit.max()) + 1 == len(codes):
        return np.bincount(codes, minlength=n_classes)
    pairs = np.unique(unit.astype(np.int64) * n_classes + codes)
    return np.bincount(pairs % n_classes, minlength=n_classes)


# From Bayes' rule to the tuned offsets.
SHARES = (0.0, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)
_STANDARD_ERRORS = 1.0
_LEVEL = float(2 * ndtr(_STANDARD_ERRORS) - 1)


class Bayes(NamedTuple):
    """Bayes' rule: where the shrinking ends."""

    offsets: FloatArray
    """Shape (m,)."""
    predicted: IntArray
    """Shape (n,)."""


class Shrunk(NamedTuple):
    """The share of the tuned offsets, and the classes that are predicted."""

    share: float
    predicted: IntArray
    """By offsets that were tuned, and a share that was chosen, without the fold of each sample, shape (n,)."""


def shrunk_offsets(offsets: FloatArray, bayes: FloatArray, share: float) -> FloatArray:
    """The offsets between those of Bayes' rule and tuned ones."""
    return bayes + share * (offsets - bayes)


def shrink(
    judge: Judge, problem: OffsetProblem, fitted: CrossFit, bayes: Bayes, fold: IntArray, costs: FloatArray
) -> Shrunk:
    """The share that is chosen on all samples, and without each fold by folds within the others."""
    assert fitted.pair_offsets is not None
    n_folds, inside = len(fitted.fold_offsets), [np.flatnonzero(fold == f) for f in range(len(fitted.fold_offsets))]

    everywhere = np.arange(len(fold))

    def classes(offsets: FloatArray, rows: IntArray) -> IntArray:
        """Classes predicted by each share, shape (n_shares, n_rows)."""
        z = problem.z[:, rows]
        shrunk = (highest(z, shrunk_offsets(offsets, bayes.offsets, share)) for share in SHARES[1:])
        return np.array([bayes.predicted[rows], *shrunk])

    by_share = np.empty((len(SHARES), len(fold)), dtype=np.intp)
    for rows, offsets in zip(inside, fitted.fold_offsets, strict=True):
        by_share[:, rows] = classes(offsets, rows)
    predicted, within = np.empty(len(fold), dtype=np.intp), np.empty_like(by_share)
    for left_out in range(n_folds):
        others = [f for f in range(n_folds) if f != left_out]
        for f in others:
            within[:, inside[f]] = classes(fitted.pair_offsets[left_out, f], inside[f])
        rest = np.flatnonzero(fold != left_out)
        also = classes(fitted.fold_offsets[left_out], rest)
        chosen = _choose(judge.part(rest), within[:, rest], also, costs)
        predicted[inside[left_out]] = by_share[chosen, inside[left_out]]
    return Shrunk(SHARES[_choose(judge, by_share, classes(fitted.offsets, everywhere), costs)], predicted)


def _choose(judge: Judge, by_share: IntArray, also: IntArray, costs: FloatArray) -> int:
    """The cheapest share of those that are seen to be cheaper than Bayes' rule, which is the first.

    `by_share` are the predictions on held-out folds, `also` those of the rule that would be deployed.
    """
    paid = [Paid.of(judge.codes, one, costs, own) for one, own in zip(by_share, also, strict=True)]
    order = np.argsort([judge.mean(one.costs) for one in paid], kind="stable").tolist()
    for place in order[: order.index(0)]:
        low, _ = judge.balance_of_two(paid[0], paid[place]).ends(_LEVEL)
        if low > 0:
            return int(place)
    return 0
