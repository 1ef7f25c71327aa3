"""Which ranks each of many models may have, for all of them together.

A model's rank is one more than the number of models that are better. Where it is known which models are better than
which, ranks follow by counting (Mogstad, Romano, Shaikh and Wilhelm, 2024; Klein, Wright and Wieczorek, 2020): as many
models as are significantly better are above, and as many as are significantly worse are below. All ranks are covered
together where all decisions about two models are right together.

For that each p value of a difference is compared with the quantile of the smallest of them all (max-t): the errors of
two models go together, and the difference of a and b has much in common with that of a and c, which Holm's adjustment
does not know. Differences that are decided leave the family, and the others are judged again (Romano and Wolf, 2005).
The p values are those of the table of differences, so nothing is significant here that is not significant there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from polyroc._inputs.arrays import FrameBackend, frame_of
from polyroc._lib.numbers import area, level
from polyroc._lib.text import aligned, short_names
from polyroc._lib.typing import AnyStatistic, BoolArray, FloatArray
from polyroc._uncertainty.paired import Contest
from polyroc._uncertainty.random import normal_errors

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
        """One row for each model, as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.
        """
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
