"""A mistake that no sample shows, and that decides how sure a cost is."""

from dataclasses import dataclass
from math import ceil, inf, isinf, log, log10
from typing import Any

import numpy as np

from polyroc._decide._judging import Bounds, Judge, Paid
from polyroc._lib._typing import FloatArray, IntArray, LabelArray


@dataclass(frozen=True)
class UnseenMistake:
    """A mistake that no sample shows, and that makes up most of the width of the cost interval.

    Attributes
    ----------
    true_class, predicted_class : object
        A sample of the first is predicted as the second.
    cost : float
        What it costs more than the cheapest prediction for the true class.
    may_add : float
        What this mistake alone may add to the cost per sample, because its absence is compatible with it.
    n_samples : int or None
        Samples from which on it no longer makes up most of the width, if it is not seen in these either and other
        mistakes stay as frequent. None for more than a million times as many.
    """

    true_class: Any
    predicted_class: Any
    cost: float
    may_add: float
    n_samples: int | None


def unseen_mistake(
    judge: Judge, predicted: IntArray, costs: FloatArray, paid: Paid, labels: LabelArray
) -> UnseenMistake | None:
    """The most expensive mistake that a rule may make, if it is not seen and decides the interval."""
    bounds, k = Bounds.of(costs), len(labels)
    balance = judge.balance(paid, bounds)
    if not balance.is_mostly_unseen(judge.confidence_level):
        return None
    # Of a sample of each class, for each prediction that the rule makes; to abstain is no mistake.
    reach = judge.heaviest[:, np.newaxis] * (costs - bounds.low[:, np.newaxis])
    counts = np.bincount(judge.codes * costs.shape[1] + predicted, minlength=costs.size).reshape(costs.shape)
    is_open = (counts == 0) & (counts.sum(axis=0) > 0) & (reach >= reach[:, counts.sum(axis=0) > 0].max() * (1 - 1e-9))
    is_open[:, k:] = False
    if not is_open.any():
        return None
    true, taken = (int(place) for place in np.argwhere(is_open)[0])
    # None of n: at most - log(tail) of them are expected (3.7 at 95 %).
    most = -log((1 - judge.confidence_level) / 2)
    return UnseenMistake(
        true_class=labels.tolist()[true],
        predicted_class=labels.tolist()[taken],
        cost=float(costs[true, taken] - bounds.low[true]),
        may_add=most * balance.more.unseen,
        n_samples=as_size(len(judge.codes), balance.times_to_see(judge.confidence_level)),
    )


def as_size(n_samples: int, times: float) -> int | None:
    """Number of samples times a factor, in two digits, rounded up; None for infinitely many.

    >>> as_size(200, 9.87), as_size(200, float("inf"))
    (2000, None)
    """
    if isinf(times):
        return None
    size = n_samples * times
    unit = 10 ** max(0, int(log10(size)) - 1) if size < inf else 1
    return int(unit * ceil(size / unit))
