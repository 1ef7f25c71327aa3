"""Paired replicates of one statistic of several models -> estimates, differences, rankings, intervals of ranks.

A model's rank is one more than the number of models that are better. Where it is known which models are better than
which, ranks follow by counting (Mogstad, Romano, Shaikh and Wilhelm, 2024; Klein, Wright and Wieczorek, 2020): as many
models as are significantly better are above, and as many as are significantly worse are below. All ranks are covered
together where all decisions about two models are right together.

For that each p value of a difference is compared with the quantile of the smallest of them all (max-t): the errors of
two models go together, and the difference of a and b has much in common with that of a and c, which Holm's adjustment
does not know. Differences that are decided leave the family, and the others are judged again (Romano and Wolf, 2005).
The p values are those of the table of differences, so nothing is significant here that is not significant there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from polyroc._inputs.arrays import FrameBackend, frame_of
from polyroc._lib.numbers import area, level
from polyroc._lib.text import aligned, short_names
from polyroc._lib.typing import AnyStatistic, BoolArray, FloatArray, IntervalKind
from polyroc._records import Frozen
from polyroc._uncertainty.intervals import Distribution, Interval
from polyroc._uncertainty.p_values import holm
from polyroc._uncertainty.units import normal_errors

# Names of two models, their difference, its standard error, interval and p value.
_Measured: TypeAlias = tuple[str, str, float, float, Interval, float]
# Decimals to which replicates are compared: sums of areas in another order differ by rounding.
_TIE = 12


@dataclass(frozen=True)
class ModelEstimate:
    """One model's statistic, how sure it is, and how often it was the best of all.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> best = comparison.by_auc.estimates[0]
    >>> best.model, round(best.value, 3), best.low < best.value < best.high
    ('logistic', 0.982, True)
    """

    model: str
    value: float
    standard_error: float
    low: float
    high: float
    probability_best: float


@dataclass(frozen=True)
class Difference:
    """By how much the first model's statistic exceeds the second's, and whether that could be chance.

    With logit intervals, p values below 1 / (n_resamples + 1) are extrapolated: the resamples give the standard error,
    and Student's t distribution the tail. Below 1e-6 no number of resamples supports their digits.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> difference = comparison.difference("knn", "tree")
    >>> difference.first, difference.second, round(difference.value, 4)
    ('knn', 'tree', 0.0266)
    >>> difference.low < difference.value < difference.high
    True
    """

    first: str
    second: str
    value: float
    standard_error: float
    low: float
    high: float
    p_value: float
    p_value_holm: float

    def turned(self) -> "Difference":
        """The second model minus the first."""
        return replace(self, first=self.second, second=self.first, value=-self.value, low=-self.high, high=-self.low)


@dataclass(frozen=True)
class Ranking:
    """An order of the models, best first, and the share of replicates that had it.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> ranking = comparison.by_auc.rankings[0]
    >>> str(ranking), ranking.probability > 0.99
    ('logistic > knn > tree', True)
    """

    order: tuple[tuple[str, ...], ...]
    """Models that tie exactly share a place."""
    probability: float

    def __str__(self) -> str:
        return " > ".join(" = ".join(place) for place in self.order)


@dataclass(frozen=True)
class Contest(Frozen):
    """What the replicates say about all models, by one statistic.

    Attributes
    ----------
    statistic : {"auc", "hand_till", "mean_auc", "partial_auc"}
        D, Hand and Till's M, the area under the mean curve, or the partial area.
    estimates : tuple of ModelEstimate
        One for each model, in the order in which they were given.
    differences : tuple of Difference
        One for each pair of models.
    rankings : tuple of Ranking
        Every order that occurred, most probable first.
    covariance : ndarray of shape (n_models, n_models), or None
        Covariance of the models' statistics on the same samples.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> contest = comparison.by_hand_till
    >>> [(one.model, round(one.value, 3)) for one in contest.estimates]
    [('logistic', 0.973), ('knn', 0.918), ('tree', 0.867)]
    >>> str(contest.rankings[0])
    'logistic > knn > tree'
    """

    statistic: AnyStatistic
    estimates: tuple[ModelEstimate, ...]
    differences: tuple[Difference, ...]
    rankings: tuple[Ranking, ...]
    covariance: FloatArray | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Everything as plain data that `json` can write."""
        return {
            "estimates": [dict(vars(estimate)) for estimate in self.estimates],
            "differences": [dict(vars(difference)) for difference in self.differences],
            "rankings": [
                {"order": [list(place) for place in ranking.order], "probability": ranking.probability}
                for ranking in self.rankings
            ],
        }


def contest(
    statistic: AnyStatistic,
    models: Mapping[str, Distribution],
    freedoms: Mapping[tuple[str, str], float],
    confidence_level: float,
    interval: IntervalKind,
) -> Contest:
    """Compare the models by replicates that were drawn together; `freedoms` are those of the differences."""
    names = list(models)
    replicates = ties_rounded(np.array([models[name].replicates for name in names]))
    best = probability_best(replicates)
    estimates = []
    for name, share in zip(names, best, strict=True):
        low, high = models[name].interval(confidence_level, interval)
        estimates.append(
            ModelEstimate(name, models[name].estimate, models[name].standard_error, low, high, float(share))
        )
    measured = [
        _measured(a, b, models[a], models[b], freedoms[a, b], confidence_level, interval)
        for a, b in combinations(names, 2)
    ]
    return Contest(statistic, tuple(estimates), with_holm(measured), rankings(names, replicates), np.cov(replicates))


def _measured(
    a: str,
    b: str,
    first: Distribution,
    second: Distribution,
    freedom: float,
    confidence_level: float,
    interval: IntervalKind,
) -> _Measured:
    """The difference of two models with its interval and p value."""
    apart = difference_of(first, second, freedom)
    if first.never_varies and second.never_varies:
        ends = ends_apart(first, second, confidence_level, interval)
        p_value = p_value_by_intervals(first, second, interval)
    else:
        ends, p_value = apart.interval(confidence_level, interval), apart.p_value(interval)
    return a, b, apart.estimate, apart.standard_error, ends, p_value


def difference_of(first: Distribution, second: Distribution, freedom: float) -> Distribution:
    """The difference of two statistics with paired replicates; it lies between -1 and 1.

    Its centre and spread are those that the intervals of the two begin with, each less its own bias and with its
    standard error at that place; the replicates give their correlation. Replicates of good models are nearer to 1 than
    the truth, and vary too little there: the plain standard error of the difference is too small by up to a quarter.
    """
    replicates = first.replicates - second.replicates
    estimate = first.estimate - second.estimate
    unshrunk = None if first.unshrunk is None or second.unshrunk is None else first.unshrunk - second.unshrunk
    plain = float(np.std(replicates, ddof=1))
    (a, error_a), (b, error_b) = first.corrected(), second.corrected()
    a_influences, b_influences = first.influences, second.influences
    alone = first.standard_error * second.standard_error
    common = first.standard_error**2 + second.standard_error**2 - plain**2
    covariance = common / (2 * alone) * error_a * error_b if alone > 0 else 0.0
    error = np.sqrt(max(error_a**2 + error_b**2 - 2 * covariance, plain**2))
    return Distribution(
        estimate=estimate,
        replicates=replicates,
        n_independent=min(first.n_independent, second.n_independent),
        n_classes=min(first.n_classes, second.n_classes),
        freedom=freedom,
        unshrunk=unshrunk,
        influences=None if a_influences is None or b_influences is None else a_influences - b_influences,
        between=(a - b, float(np.hypot(error, 0.0 if unshrunk is None else unshrunk - estimate))),
    )


class HasEnds(Protocol):
    """A statistic with an interval of any level."""

    @property
    def at_end(self) -> bool:
        """Whether not one comparison of two samples went wrong, or all did."""

    def ends(self, confidence_level: float, kind: IntervalKind) -> Interval:
        """The interval, without a warning."""


def ends_apart(first: HasEnds, second: HasEnds, confidence_level: float, interval: IntervalKind = "logit") -> Interval:
    """As far apart as the intervals of two statistics allow, where nothing that varies says more."""
    # Without a warning: the estimate of each model has had it.
    a, b = first.ends(confidence_level, interval), second.ends(confidence_level, interval)
    return Interval(a.low - b.high, a.high - b.low)


def p_value_by_intervals(first: HasEnds, second: HasEnds, interval: IntervalKind = "logit") -> float:
    """One minus the largest level whose interval of the difference leaves 0 out, by bisection."""
    # Where neither is at an end their intervals are points at all levels, and say nothing.
    if not (first.at_end or second.at_end):
        return 1.0
    low, high = 1e-300, 1.0
    for _ in range(200):
        middle = float(np.sqrt(low * high))
        ends = ends_apart(first, second, 1 - middle, interval)
        low, high = (low, middle) if ends.low > 0 or ends.high < 0 else (middle, high)
    return high


def normal_differences(
    names: Sequence[str], values: FloatArray, errors: Mapping[tuple[int, int], float], confidence_level: float
) -> tuple[Difference, ...]:
    """Differences of statistics with normal distributions and known standard errors, as DeLong's test takes them.

    Where a standard error is 0 nothing varies, and nothing can be said: the p value is 1.
    """
    measured = []
    for a, b in combinations(range(len(names)), 2):
        value, error = float(values[a] - values[b]), errors[a, b]
        reach = -float(ndtri((1 - confidence_level) / 2)) * error
        ends = Interval(max(-1.0, value - reach), min(1.0, value + reach))
        p_value = float(2 * ndtr(-abs(value) / error)) if error > 0 else 1.0
        measured.append((names[a], names[b], value, error, ends, p_value))
    return with_holm(measured)


def with_holm(measured: Sequence[_Measured]) -> tuple[Difference, ...]:
    """Differences with their p values adjusted for one another."""
    adjusted = holm(np.array([entry[-1] for entry in measured]))
    return tuple(
        Difference(a, b, value, error, *ends, p_value, float(p_holm))
        for (a, b, value, error, ends, p_value), p_holm in zip(measured, adjusted, strict=True)
    )


def ties_rounded(replicates: FloatArray) -> FloatArray:
    """Replicates of all models, shape (m, R), equal where they differ by rounding only."""
    return np.round(replicates, _TIE)


def probability_best(replicates: FloatArray) -> FloatArray:
    """Share of replicates in which each model is the best, shared evenly where several are."""
    is_best = replicates == replicates.max(axis=0)
    share: FloatArray = (is_best / is_best.sum(axis=0)).mean(axis=1)
    return share


def rankings(names: list[str], replicates: FloatArray) -> tuple[Ranking, ...]:
    """Every order of the models that occurred, the most probable first."""
    order = np.argsort(-replicates, axis=0, kind="stable").T
    values = np.take_along_axis(replicates.T, order, axis=1)
    # Orders are counted as rows of numbers: names are read once for each order, and not for each replicate.
    is_new_place = np.hstack([np.ones((len(order), 1), dtype=bool), values[:, 1:] != values[:, :-1]])
    found, counts = np.unique(np.hstack([order, np.cumsum(is_new_place, axis=1)]), axis=0, return_counts=True)
    told = [
        tuple(tuple(names[m] for m, _ in place) for _, place in _by_place(row, len(names))) for row in found.tolist()
    ]
    # The most probable first; among equals, in the order in which the models were given.
    place = {name: p for p, name in enumerate(names)}
    ordered = sorted(
        zip(told, counts.tolist(), strict=True),
        key=lambda item: (-item[1], [[place[m] for m in group] for group in item[0]]),
    )
    return tuple(Ranking(order, count / replicates.shape[1]) for order, count in ordered)


def _by_place(row: list[int], n_models: int) -> Iterator[tuple[int, Iterator[tuple[int, int]]]]:
    """The models of each place, from a row of models in their order and the place of each."""
    return groupby(zip(row[:n_models], row[n_models:], strict=True), key=lambda entry: entry[1])


# Draws from the normal distribution of all models' statistics: a level of 95 % is right to 0.2 %.
_N_DRAWS = 9_999
# Letters of a name in a table.
_NAME = 40
STATISTIC_LABELS = {"auc": "D", "hand_till": "M", "mean_auc": "mean curve", "partial_auc": "partial area"}


@dataclass(frozen=True)
class RankInterval:
    """The ranks that one model may have; 1 is the best.

    >>> RankInterval("forest", value=0.93, rank=2, low=1, high=3)
    RankInterval(model='forest', value=0.93, rank=2, low=1, high=3)
    """

    model: str
    value: float
    """Its statistic."""
    rank: int
    """Its rank here: one more than the number of models with a larger statistic."""
    low: int
    """The best rank that it may have."""
    high: int
    """The worst rank that it may have."""

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


@dataclass(frozen=True)
class RankIntervals:
    """The ranks that each model may have, for all models together at one confidence level.

    Attributes
    ----------
    statistic : str
        What the models are ranked by, as in `Contest`.
    confidence_level : float
        Of all intervals together.
    intervals : tuple of RankInterval
        One for each model, in the order in which the models were given.
    tied_with_best : tuple of str
        Models that no other model is significantly better than, the largest estimate first.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> ranks = comparison.rank_intervals()
    >>> [(one.model, one.low, one.high) for one in ranks.intervals]
    [('logistic', 1, 1), ('knn', 2, 2), ('tree', 3, 3)]
    """

    statistic: AnyStatistic
    confidence_level: float
    intervals: tuple[RankInterval, ...]

    def __iter__(self) -> Iterator[RankInterval]:
        return iter(self.intervals)

    def __len__(self) -> int:
        return len(self.intervals)

    @property
    def by_rank(self) -> tuple[RankInterval, ...]:
        """The intervals, best model first; those of equal rank in the order in which the models were given."""
        return tuple(sorted(self.intervals, key=lambda one: one.rank))

    @property
    def tied_with_best(self) -> tuple[str, ...]:
        return tuple(one.model for one in self.by_rank if one.low == 1)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        return {
            "confidence_level": self.confidence_level,
            "intervals": [dict(vars(one)) for one in self.intervals],
            "tied_with_best": list(self.tied_with_best),
        }

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """One row for each model, as a data frame; the package `backend` must be installed."""
        rows = [{"statistic": self.statistic, **vars(one)} for one in self.intervals]
        return frame_of({name: np.array([row[name] for row in rows]) for name in rows[0]}, backend)

    def __str__(self) -> str:
        header = ["model", STATISTIC_LABELS[self.statistic], "rank", f"{level(self.confidence_level)} together"]
        names = short_names([one.model for one in self.by_rank], _NAME)
        rows = [[name, area(one.value), str(one.rank), str(one)] for name, one in zip(names, self.by_rank, strict=True)]
        return "\n".join(aligned([header, *rows]))


def rank_intervals(contest: Contest, confidence_level: float, covariance: FloatArray | None) -> RankIntervals:
    """The ranks that each model may have; without a covariance of the statistics, by Holm's adjustment alone."""
    names = [one.model for one in contest.estimates]
    place = {name: m for m, name in enumerate(names)}
    entries = contest.differences
    first = np.array([place[one.first] for one in entries])
    second = np.array([place[one.second] for one in entries])
    draws = None if covariance is None else _draws(covariance)
    decided = _decided(np.array([one.p_value for one in entries]), first, second, draws, 1 - confidence_level)
    # The middle of an interval that leaves 0 out is on the side of the better model.
    ahead = np.array([one.low + one.high > 0 for one in entries])
    better = np.bincount(np.where(ahead, second, first)[decided], minlength=len(names))
    worse = np.bincount(np.where(ahead, first, second)[decided], minlength=len(names))
    values = np.array([one.value for one in contest.estimates])
    found = []
    for m, name in enumerate(names):
        rank = 1 + int(np.count_nonzero(values > values[m]))
        # Decisions are about estimates less their bias, whose order may be another one.
        low, high = min(rank, 1 + int(better[m])), max(rank, len(names) - int(worse[m]))
        found.append(RankInterval(name, float(values[m]), rank, low, high))
    return RankIntervals(contest.statistic, confidence_level, tuple(found))


def _decided(p_values: FloatArray, first: Any, second: Any, draws: FloatArray | None, alpha: float) -> BoolArray:
    """Which differences are significant, all of them judged together, step by step."""
    decided = np.zeros(len(p_values), dtype=bool)
    while not decided.all():
        rest = ~decided
        # Never less than Holm's adjustment decides, nor more than a single test: the quantile is drawn, and may be off.
        bound = alpha / int(np.count_nonzero(rest))
        if draws is not None:
            bound = min(alpha, max(bound, _smallest_p_value(draws, first[rest], second[rest], alpha)))
        new = rest & (p_values < bound)
        if not new.any():
            break
        decided |= new
    return decided


def _smallest_p_value(draws: FloatArray, first: Any, second: Any, alpha: float) -> float:
    """The quantile of the smallest p value of these differences where no two models differ."""
    largest = np.zeros(draws.shape[1])
    for m in np.unique(first):
        apart = draws[m] - draws[second[first == m]]
        # From the draws themselves, so that the distance of two equal models is 0 and not rounding upon rounding.
        error = np.sqrt(np.mean(apart**2, axis=1))
        sure = error > 1e-12
        if sure.any():
            np.maximum(largest, np.max(np.abs(apart[sure]) / error[sure, None], axis=0), out=largest)
    return float(2 * ndtr(-np.quantile(largest, 1 - alpha, method="higher")))


def _draws(covariance: FloatArray) -> FloatArray:
    """Errors of all models from their normal distribution, shape (m, N_DRAWS); the same whenever asked."""
    noise = np.random.default_rng(0).normal(size=(_N_DRAWS, len(covariance)))
    return normal_errors(noise, covariance).T
