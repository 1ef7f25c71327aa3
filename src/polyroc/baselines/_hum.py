"""Hypervolume under the ROC manifold: one sample of each class, and how often all of them are told right.

With one score and ordered classes: how often the samples come in the right order, and what each adds.
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
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from polyroc._core.samples import (
    are_probabilities,
    centred,
    class_shares,
    exponentials_hint,
    in_range,
    warn_of_disagreement,
)
from polyroc._inputs.arrays import plain
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_rng, is_integer, one_of, shown
from polyroc._inputs.predictions import as_ordered_predictions, as_predictions
from polyroc._lib.limits import HUM_CLASSES
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, Predictions
from polyroc._uncertainty.influence import whole_error
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import units_of
from polyroc.baselines._accuracy import wilson_interval


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
    """Estimate by random sets of samples."""

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
        """Gain of each sample by each class in place of its own, shape (n, k)."""
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


_CRITERIA = ("distance", "sum")
_MOST_DRAWS = 100_000_000


@dataclass(frozen=True, eq=False)
class Hum(Frozen):
    """Result of `hum`; ``float(...)`` of it is the value.

    Attributes
    ----------
    value : float
        Probability that one sample of each class is told right.
    standard_error : float
        Standard error of `value` as an estimate from these data. It does not
        include the error of the simulation.
    labels : ndarray of shape (n_classes,)
        The classes; where they are ordered, in their order.
    n_draws : int or None
        How many sets of samples were drawn; None where the value is exact.
    simulation_interval : Interval or None
        Interval for the exact value on these data; None where the value is
        exact.

    Examples
    --------
    >>> from polyroc.baselines import hum
    >>> found = hum([0, 1, 2], [0.1, 0.4, 0.8], ordered=True)
    >>> found.value, found.n_draws is None
    (1.0, True)
    """

    value: float
    standard_error: float
    labels: LabelArray
    n_draws: int | None = None
    simulation_interval: Interval | None = None

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for JSON.

        Examples
        --------
        >>> from polyroc.baselines import hum
        >>> hum([0, 1, 2], [0.1, 0.4, 0.8], ordered=True).to_dict()["value"]
        1.0
        """
        interval = self.simulation_interval
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "labels": plain(self.labels),
            "n_draws": self.n_draws,
            "simulation_interval": None if interval is None else {"low": interval.low, "high": interval.high},
        }


@underflow_is_zero
def hum(
    y_true: Any,
    y_score: Any,
    *,
    ordered: bool = False,
    criterion: Criterion = "distance",
    labels: Any = None,
    sample_weight: Any = None,
    n_draws: int = 100_000,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> Hum:
    """Hypervolume under the ROC manifold; for three classes the volume under the ROC surface (VUS).

    Take one sample of each class. If the classes are ordered, HUM is the probability that their scores are in this
    order; l neighbouring classes with the same score count 1/l!. If they are not ordered, the samples are assigned to
    the classes, one to each, such that the sum of a criterion over the samples is best, and HUM is the probability that
    this assignment is right; if l assignments are best, each counts 1/l. Both are 1 / k! for k classes and scores
    without information, and the ordinary AUC for two. Classes without samples are left out.

    Parameters
    ----------
    y_true, sample_weight : array-like of shape (n_samples,)
        As in `hand_till`.
    y_score : array-like or frame
        If `ordered`, one score for each sample, shape (n_samples,), which rises with the classes. Otherwise as in
        `hand_till`.
    ordered : bool
        Whether the classes are ordered and there is one score. The order is that of `labels`.
    criterion : {"distance", "sum"}
        What is summed over the samples where the classes are not ordered: the Euclidean distance of a row of
        probabilities to the corner of its class, as in [2]_ and R's mcca, or the score for its class. Scores that are
        not probabilities need "sum"; all columns must be on one scale.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns, or in their own order. By default that of the categories of a
        categorical, or ascending.
    n_draws : int
        How many sets of samples are drawn where there are too many for all of them to be looked at.
    confidence_level : float
        Of the interval for the error of the simulation.
    rng : None, int or numpy.random.Generator
        Seed for these draws.

    Returns
    -------
    Hum
        The value with its standard error.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above, or if more than 12 classes that are not ordered have samples.

    Notes
    -----
    For ordered classes the value is always exact and takes O(n k) time after sorting. Otherwise it is exact where
    s k 2**k is at most 10**8 for s sets of one sample per class: three classes of up to 160 samples, four of up to 35.

    Sums that differ by rounding errors count as equal.

    References
    ----------
    .. [1] B. K. Scurfield, "Multiple-event forced-choice tasks in the theory of signal detectability", Journal of
       Mathematical Psychology 40, 253-269, 1996.
    .. [2] J. Li and J. P. Fine, "ROC analysis with multiple classes and multiple tests: methodology and its application
       in microarray studies", Biostatistics 9, 566-576, 2008.
    .. [3] C. T. Nakas and C. T. Yiannoutsos, "Ordered multiple-class ROC analysis with continuous measurements",
       Statistics in Medicine 23, 3437-3449, 2004.

    Examples
    --------
    Of the four sets of one sample per class three are in order.

    >>> from polyroc.baselines import hum
    >>> float(hum(["low", "mid", "mid", "high", "high"], [1, 2, 4, 3, 5], ordered=True, labels=["low", "mid", "high"]))
    0.75

    The sample of class 1 and the second one of class 2 are assigned to each other's classes.

    >>> y_score = [[0.8, 0.1, 0.1], [0.2, 0.3, 0.5], [0.1, 0.2, 0.7], [0.1, 0.5, 0.4]]
    >>> float(hum([0, 1, 2, 2], y_score))
    0.5
    """
    ordered = as_flag(ordered, "ordered")
    criterion = one_of(criterion, "criterion", _CRITERIA)
    if not is_integer(n_draws, 2, _MOST_DRAWS):
        raise InputError("n_draws", f"must be an integer from 2 to {_MOST_DRAWS:,}", shown(n_draws))
    n_draws, level, rng = int(n_draws), as_confidence_level(confidence_level), as_rng(rng)
    if ordered:
        predictions = as_ordered_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
        return _exact(predictions, *ordered_volume(predictions))
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    if predictions.is_binary:
        # Sorted by the score of the second class, the first one comes first.
        return _exact(predictions, *ordered_volume(predictions))
    assignments = _assignments(predictions, criterion)
    if assignments.n_steps <= MOST_STEPS:
        return _exact(predictions, *assignments.enumerated())
    simulated = assignments.simulated(n_draws, np.random.default_rng(rng))
    # A draw counts from 0 to 1, so that its variance is at most that of a share.
    interval = wilson_interval(simulated.value, n_draws, level)
    return Hum(simulated.value, math.sqrt(simulated.variance), predictions.labels, n_draws, interval)


def _exact(predictions: Predictions, value: float, influences: Any) -> Hum:
    return Hum(value, whole_error(influences, units_of(predictions, None), 0.0), predictions.labels)


def _assignments(predictions: Predictions, criterion: Criterion) -> Assignments:
    n_classes = int(np.count_nonzero(predictions.class_counts))
    if n_classes > HUM_CLASSES:
        raise InputError(
            "y_true", f"must have samples of at most {HUM_CLASSES} classes that are not ordered", f"{n_classes}"
        )
    if criterion == "distance" and not are_probabilities(predictions):
        rule = "must be 'sum' if the rows of `y_score` are not probabilities"
        raise InputError("criterion", rule, repr(criterion), exponentials_hint(predictions))
    return Assignments(predictions, criterion)
