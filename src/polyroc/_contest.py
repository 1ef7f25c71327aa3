"""Paired replicates of one statistic of several models -> estimates, differences, rankings."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from polyroc._intervals import Distribution, Interval, holm
from polyroc._typing import FloatArray, IntervalKind, Statistic


@dataclass(frozen=True)
class ModelEstimate:
    """One model's statistic, how sure it is, and how often it was the best of all."""

    model: str
    value: float
    standard_error: float
    low: float
    high: float
    probability_best: float


@dataclass(frozen=True)
class Difference:
    """By how much the first model's statistic exceeds the second's, and whether that could be chance."""

    first: str
    second: str
    value: float
    standard_error: float
    low: float
    high: float
    p_value: float
    p_value_holm: float


@dataclass(frozen=True)
class Ranking:
    """An order of the models, best first, and the share of replicates that had it."""

    order: tuple[tuple[str, ...], ...]
    """Models that tie exactly share a place."""
    probability: float

    def __str__(self) -> str:
        return " > ".join(" = ".join(place) for place in self.order)


@dataclass(frozen=True)
class Contest:
    """What the replicates say about all models, by one statistic.

    Attributes
    ----------
    statistic : {"auc", "hand_till"}
        D, or Hand and Till's M.
    estimates : tuple of ModelEstimate
        One for each model, in the order in which they were given.
    differences : tuple of Difference
        One for each pair of models.
    rankings : tuple of Ranking
        Every order that occurred, most probable first.
    """

    statistic: Statistic
    estimates: tuple[ModelEstimate, ...]
    differences: tuple[Difference, ...]
    rankings: tuple[Ranking, ...]

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
    statistic: Statistic, models: Mapping[str, Distribution], confidence_level: float, interval: IntervalKind
) -> Contest:
    """Compare the models by replicates that were drawn together."""
    names = list(models)
    replicates = np.array([models[name].replicates for name in names])
    best = _probability_best(replicates)
    intervals = {name: models[name].interval(confidence_level, interval) for name in names}
    estimates = [
        ModelEstimate(name, models[name].estimate, models[name].standard_error, *intervals[name], float(share))
        for name, share in zip(names, best, strict=True)
    ]
    measured = []
    for a, b in combinations(names, 2):
        apart = difference_of(models[a], models[b])
        ends = apart.interval(confidence_level, interval)
        if apart.never_varies and ends.low != 0:
            # As far apart as their own intervals allow.
            ends = Interval(intervals[a].low - intervals[b].high, intervals[a].high - intervals[b].low)
        measured.append((a, b, apart.estimate, apart.standard_error, ends, apart.p_value(interval)))
    return Contest(statistic, tuple(estimates), with_holm(measured), _rankings(names, replicates))


def difference_of(first: Distribution, second: Distribution) -> Distribution:
    """The difference of two statistics with paired replicates; it lies between -1 and 1."""
    return Distribution(
        estimate=first.estimate - second.estimate,
        replicates=first.replicates - second.replicates,
        resolution=min(first.resolution, second.resolution),
        n_independent=min(first.n_independent, second.n_independent),
        influences=lambda: first.influences() - second.influences(),
        lowest=-1.0,
    )


def normal_differences(
    names: Sequence[str], values: FloatArray, covariance: FloatArray, confidence_level: float
) -> tuple[Difference, ...]:
    """Differences of statistics whose joint distribution is normal, as DeLong's test takes it."""
    measured = []
    for a, b in combinations(range(len(names)), 2):
        value = float(values[a] - values[b])
        # By the variance of the difference of the influences no rounding could make this negative, but for a model
        # and itself it may differ a little from 0.
        variance = max(0.0, float(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]))
        error = float(np.sqrt(variance)) if variance > 1e-15 * covariance[a, a] else 0.0
        reach = float(ndtri(0.5 + confidence_level / 2)) * error
        ends = Interval(max(-1.0, value - reach), min(1.0, value + reach))
        p_value = float(2 * ndtr(-abs(value) / error)) if error > 0 else float(value == 0)
        measured.append((names[a], names[b], value, error, ends, p_value))
    return with_holm(measured)


def with_holm(measured: Sequence[tuple[str, str, float, float, Interval, float]]) -> tuple[Difference, ...]:
    """Differences with their p values adjusted for one another."""
    adjusted = holm(np.array([entry[-1] for entry in measured]))
    return tuple(
        Difference(a, b, value, error, *ends, p_value, float(p_holm))
        for (a, b, value, error, ends, p_value), p_holm in zip(measured, adjusted, strict=True)
    )


def _probability_best(replicates: FloatArray) -> FloatArray:
    """Share of replicates in which each model is the best, shared evenly where several are."""
    is_best = replicates == replicates.max(axis=0)
    share: FloatArray = (is_best / is_best.sum(axis=0)).mean(axis=1)
    return share


def _rankings(names: list[str], replicates: FloatArray) -> tuple[Ranking, ...]:
    counts: Counter[tuple[tuple[str, ...], ...]] = Counter()
    for values in replicates.T:
        order = np.argsort(-values, kind="stable")
        counts[tuple(tuple(names[m] for m in place) for _, place in groupby(order, key=lambda m: values[m]))] += 1
    # The most probable first; among equals, in the order in which the models were given.
    place = {name: p for p, name in enumerate(names)}
    ordered = sorted(counts.items(), key=lambda item: (-item[1], [[place[m] for m in group] for group in item[0]]))
    return tuple(Ranking(order, count / replicates.shape[1]) for order, count in ordered)
