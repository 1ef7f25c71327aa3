"""One score and ordered classes: how often one sample of each class comes in the right order, and what each adds.

F_c(b) is the probability that the samples of the first c classes are in order and at most the b-th distinct score.
It grows at a score by sequences whose last r samples all have that score,

    F_c(b) = F_c(b - 1) + sum over r >= 1 of F_{c-r}(b - 1) a_{c-r+1}(b) ... a_c(b) / r!,

a_c(b) being the share of class c that has the b-th score: r tied samples are in order with probability 1/r!. The terms
of class c follow from those of class c - 1 by one factor, and only at scores that class c has, so that all of them
take O(nk), and O(n + Bk) for B distinct scores without ties. The derivatives by a_c(b) take the same steps backwards.
"""

from typing import NamedTuple

import numpy as np

from polyroc._engines._numpy._influence import centred
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Predictions


class _Step(NamedTuple):
    """One class: the distinct scores that it has, and the terms that end there."""

    scores: IntArray
    """Which of the B distinct scores, rising, shape (m,)."""
    weight: FloatArray
    """Weight of the class at each of them."""
    before: FloatArray
    """Terms without the factor of this class, by the number of tied classes before it, shape (R, m)."""
    carried: tuple[IntArray, IntArray]
    """Where the scores of the last step and of this one are the same: places in both."""

    @property
    def total(self) -> float:
        # Summed as F is, so that F of a class that is always in order is exactly 1.
        return float(np.cumsum(self.weight)[-1])

    @property
    def share(self) -> FloatArray:
        return self.weight / self.total

    @property
    def terms(self) -> FloatArray:
        return self.before * self.share

    @property
    def weights(self) -> FloatArray:
        """1 / r! of each row, shape (R, 1)."""
        return np.cumprod(1 / np.arange(1.0, len(self.before) + 1))[:, None]


def ordered_volume(predictions: Predictions) -> tuple[float, FloatArray]:
    """Probability that one sample of each class is in order of the last column, and the samples' influences, (n,)."""
    distinct, place = np.unique(predictions.scores[:, -1], return_inverse=True)
    present = np.flatnonzero(predictions.class_counts)
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    steps: list[_Step] = []
    reached: FloatArray = np.ones(len(distinct) + 1)
    for c in present:
        members = predictions.codes == c
        at_each = np.bincount(place[members], weight[members]).astype(float, copy=False)
        steps.append(_step(at_each, reached, steps))
        grown = np.zeros(len(distinct) + 1)
        grown[1 + steps[-1].scores] = np.sum(steps[-1].weights * steps[-1].before, axis=0) * steps[-1].weight
        reached = np.cumsum(grown) / steps[-1].total
    found = np.zeros(predictions.n_samples)
    for c, given in zip(present, _given_each_score(steps, len(distinct)), strict=True):
        members = predictions.codes == c
        found[members] = given[place[members]]
    [influences] = centred(found[None], predictions)
    return min(1.0, float(reached[-1])), np.asarray(influences)


def _step(weight: FloatArray, reached: FloatArray, steps: list[_Step]) -> _Step:
    """The terms of the next class, from F of the classes before it, shape (B + 1,), and the terms of the last one."""
    scores = np.flatnonzero(weight)
    fresh = reached[scores][None]
    if not steps:
        none = np.empty(0, dtype=np.intp)
        return _Step(scores, weight[scores], fresh, (none, none))
    _, last, now = np.intersect1d(steps[-1].scores, scores, assume_unique=True, return_indices=True)
    if len(now) == 0:
        return _Step(scores, weight[scores], fresh, (last, now))
    continued = np.zeros((len(steps[-1].before), len(scores)))
    continued[:, now] = steps[-1].terms[:, last]
    return _Step(scores, weight[scores], np.concatenate([fresh, continued]), (last, now))


def _given_each_score(steps: list[_Step], n_distinct: int) -> list[FloatArray]:
    """The volume given that the sample of each class has each distinct score that the class has, shape (B,) each."""
    found: list[FloatArray] = []
    # Derivatives by F of the classes so far, and by the terms of the next step at the scores of this one.
    by_reached = np.zeros(n_distinct + 1)
    by_reached[-1] = 1.0
    by_carried: FloatArray = np.zeros((1, len(steps[-1].scores)))
    for c in range(len(steps) - 1, -1, -1):
        step = steps[c]
        after = np.cumsum(by_reached[::-1])[::-1]
        by_terms = step.weights * after[1 + step.scores] + by_carried
        given = np.zeros(n_distinct)
        given[step.scores] = np.sum(by_terms * step.before, axis=0)
        found.append(given)
        by_before = by_terms * step.share
        by_reached = np.zeros(n_distinct + 1)
        by_reached[step.scores] = by_before[0]
        if c > 0:
            last, now = step.carried
            by_carried = np.zeros(steps[c - 1].before.shape)
            if len(now) > 0:
                by_carried[:, last] = by_before[1:, now]
    return found[::-1]
