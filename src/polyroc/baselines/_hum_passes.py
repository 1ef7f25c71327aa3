"""One score and ordered classes: how often one sample of each class comes in the right order, and what each adds.

F_c(b) is the probability that the samples of the first c classes are in order and at most the b-th distinct score.
It grows at a score by sequences whose last r samples all have that score,

    F_c(b) = F_c(b - 1) + sum over r >= 1 of F_{c-r}(b - 1) a_{c-r+1}(b) ... a_c(b) / r!,

a_c(b) being the share of class c that has the b-th score: r tied samples are in order with probability 1/r!. The terms
of class c follow from those of class c - 1 by one factor, and only at scores that class c has, so that all of them
take O(nk), and O(n + Bk) for B distinct scores without ties. The derivatives by a_c(b) take the same steps backwards.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from polyroc._core.samples import centred, class_shares, in_range
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions


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
    volumes = np.zeros(predictions.n_samples)
    for c, by_score in zip(present, _given_each_score(steps, len(distinct)), strict=True):
        members = predictions.codes == c
        volumes[members] = by_score[place[members]]
    [influences] = centred(volumes[None], predictions)
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
    volumes: list[FloatArray] = []
    # Derivatives by F of the classes so far, and by the terms of the next step at the scores of this one.
    by_reached = np.zeros(n_distinct + 1)
    by_reached[-1] = 1.0
    by_carried: FloatArray = np.zeros((1, len(steps[-1].scores)))
    for c in range(len(steps) - 1, -1, -1):
        step = steps[c]
        after = np.cumsum(by_reached[::-1])[::-1]
        by_terms = step.weights * after[1 + step.scores] + by_carried
        by_score = np.zeros(n_distinct)
        by_score[step.scores] = np.sum(by_terms * step.before, axis=0)
        volumes.append(by_score)
        by_before = by_terms * step.share
        by_reached = np.zeros(n_distinct + 1)
        by_reached[step.scores] = by_before[0]
        if c > 0:
            last, now = step.carried
            by_carried = np.zeros(steps[c - 1].before.shape)
            if len(now) > 0:
                by_carried[:, last] = by_before[1:, now]
    return volumes[::-1]


Criterion: TypeAlias = Literal["distance", "sum"]

# Steps for all sets of samples, all of them tied: about two seconds.
MOST_STEPS = 10**8
# Gains of the sets that are looked at together: they lie in the cache.
_GAINS = 2**17


class Simulated(NamedTuple):
    """What random sets of samples say."""

    value: float
    variance: float
    """Variance of the value over other samples of the data."""


@dataclass(frozen=True, eq=False)
class Assignments(Frozen):
    """Samples made ready to be assigned to the classes that have samples."""

    predictions: Predictions
    criterion: Criterion

    @property
    def n_steps(self) -> int:
        """Steps for all sets of one sample per class."""
        k = len(self._members)
        # In Python's integers, which do not overflow.
        return math.prod(map(len, self._members)) * k * (1 << k)

    def enumerated(self) -> tuple[float, FloatArray]:
        """Share of the sets whose best assignment is right, and what each sample adds to it, shape (n,)."""
        sums, share = np.zeros(self.predictions.n_samples), self._share
        sizes = [len(members) for members in self._members]
        n_sets = int(np.prod(sizes))
        value = of_all = 0.0
        size = _GAINS // len(sizes) ** 2
        for start in range(0, n_sets, size):
            places = np.unravel_index(np.arange(start, min(start + size, n_sets)), sizes)
            sets = np.stack([members[place] for members, place in zip(self._members, places, strict=True)])
            weight = np.prod(share[sets], axis=0)
            right = weight * self._right(sets)
            value, of_all = value + float(np.sum(right)), of_all + float(np.sum(weight))
            for samples in sets:
                sums += np.bincount(samples, right, minlength=len(sums))
        # What was summed is the mean given a sample, times the share of that sample, which may have vanished.
        conditional = sums / np.maximum(share, np.finfo(float).tiny)
        [influences] = centred(conditional[None], self.predictions)
        return min(1.0, value / of_all), np.asarray(influences)

    def simulated(self, n_draws: int, rng: np.random.Generator) -> Simulated:
        """The same from sets drawn at random.

        With p the shares of the samples of a class and V the value given one of them, the class adds the sum of
        p^2 (V - value)^2 to the variance. Two sets that have this sample in common and nothing else are right
        independently given it, so that the mean of the product of their deviations is (V - value)^2.
        """
        value = float(np.mean(self._drawn_right(self._draw(n_draws, rng))))
        n_pairs, variance = -(-n_draws // len(self._members)), 0.0
        for c, members in enumerate(self._members):
            if len(members) == 1:  # which shows no variation
                continue
            squares = self._share[members] ** 2
            common = rng.choice(members, n_pairs, p=squares / squares.sum())
            deviations = np.ones(n_pairs)
            for _ in range(2):
                sets = self._draw(n_pairs, rng)
                sets[c] = common
                deviations *= self._drawn_right(sets) - value
            variance += float(squares.sum() * np.mean(deviations)) * len(members) / (len(members) - 1)
        return Simulated(value, max(0.0, variance))

    def _draw(self, n_draws: int, rng: np.random.Generator) -> IntArray:
        """Sets of samples, shape (k, n_draws)."""
        return np.stack([rng.choice(members, n_draws, p=self._share[members]) for members in self._members])

    def _drawn_right(self, sets: IntArray) -> FloatArray:
        size = _GAINS // len(sets) ** 2
        return np.concatenate([self._right(sets[:, a : a + size]) for a in range(0, sets.shape[1], size)])

    @cached_property
    def _members(self) -> list[IntArray]:
        """The samples of each class that has some."""
        present = np.flatnonzero(self.predictions.class_counts)
        return [np.flatnonzero(self.predictions.codes == c) for c in present]

    @cached_property
    def _share(self) -> FloatArray:
        share = class_shares(self.predictions)
        return 1 / self.predictions.class_weights[self.predictions.codes] if share is None else share

    @cached_property
    def _merits(self) -> FloatArray:
        """Merit of each sample for each class that has samples, shape (n, k)."""
        # Scaled by a power of two where sums of scores would overflow.
        scores = in_range(self.predictions.scores.astype(float))
        if self.criterion == "distance":
            # Summed anew for each corner: differences of sums would leave the root of their rounding.
            corners = np.eye(scores.shape[1])
            scores = -np.stack([np.sqrt(np.sum((scores - corner) ** 2, axis=1)) for corner in corners], axis=1)
        return scores[:, self.predictions.class_counts > 0]

    @cached_property
    def _gains(self) -> FloatArray:
        """What each sample gains by each class in place of its own, shape (n, k)."""
        own = np.searchsorted(np.flatnonzero(self.predictions.class_counts), self.predictions.codes)
        return self._merits - np.take_along_axis(self._merits, own[:, None], axis=1)

    @cached_property
    def _rounding(self) -> float:
        """Sums that differ by no more are the same: 0.1 + 0.2 and 0.3."""
        eps = float(np.finfo(self.predictions.scores.dtype).eps)
        return 4 * len(self._members) * eps * float(np.abs(self._merits).max())

    def _right(self, sets: IntArray) -> FloatArray:
        """1 for sets, shape (k, m), whose best assignment is right, 1/l where it is one of l best ones, else 0."""
        gains = np.moveaxis(self._gains[sets], 2, 1)  # (k samples, k classes, m sets)
        best = _best_cycle(gains)
        right = (best < -self._rounding).astype(float)
        tied = np.abs(best) <= self._rounding
        if tied.any():
            right[tied] = _share_of_best(gains[:, :, tied], self._rounding)
        return right


def _best_cycle(gains: FloatArray) -> FloatArray:
    """The most that samples gain by passing their classes on in a circle, shape (m,): Floyd and Warshall's paths."""
    paths = gains.copy()
    diagonal = np.arange(len(paths))
    paths[diagonal, diagonal] = -np.inf
    for via in range(len(paths)):
        np.maximum(paths, paths[:, via : via + 1] + paths[via : via + 1], out=paths)
    best: FloatArray = paths[diagonal, diagonal].max(axis=0)
    return best


def _share_of_best(gains: FloatArray, rounding: float) -> FloatArray:
    """1/l where the right assignment is one of l best ones, else 0; gains (k samples, k classes, m sets)."""
    k, _, m = gains.shape
    best, count = np.zeros((2**k, m)), np.zeros((2**k, m))
    count[0] = 1.0
    for taken in range(1, 2**k):
        # The first samples are given these classes; the last of them has one of them.
        sample = gains[taken.bit_count() - 1]
        classes = [j for j in range(k) if taken >> j & 1]
        others = [taken ^ (1 << j) for j in classes]
        sums = best[others] + sample[classes]
        best[taken] = sums.max(axis=0)
        count[taken] = np.sum(np.where(sums >= best[taken] - rounding, count[others], 0.0), axis=0)
    return np.where(best[-1] <= rounding, 1 / count[-1], 0.0)
