"""Weights of pairs and the cells of a fit: equations (weights), (costs) and (shrinkage) of docs/method.md.

A source and options give the weights of pairs, by a rule of their classes: of 10,000 classes lists would take 2.4 GB.
Rates and weights give the cells that are fitted.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from polyroc._inputs.checks import InputError
from polyroc._inputs.options import LARGEST_RATIO, Options
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import AllPairs, PairIndex, PairWeights, PairwiseRates, Source, read_only


class RuledPairWeights(PairWeights):
    """The same by a rule of the two classes of a pair; lists of pairs are made where they are asked for, and then kept.

    With equal weights the rule is empty. With the number of samples, a pair counts for the product of its classes'
    shares; costs and weights of cells are factors, matrices with a row per positive and a column per negative class.

    >>> from polyroc._records import AllPairs
    >>> weights = RuledPairWeights(AllPairs(np.arange(3)), np.full(3, 8.0), np.array([1.0, 0.5, 0.25]), scale=0.5)
    >>> weights.tpr.tolist(), weights.size.tolist()
    ([1.0, 0.5, 1.0, 0.25, 0.5, 0.25], [8.0, 8.0, 8.0, 8.0, 8.0, 8.0])
    """

    pairs: PairIndex
    counts: FloatArray
    """Kish's effective number of samples of each class, shape (k,)."""
    share: FloatArray | None
    """Weight of each class over the largest, shape (k,); None where pairs count alike."""
    tpr_factors: tuple[FloatArray, ...]
    """Shape (k, k) each."""
    fpr_factors: tuple[FloatArray, ...]
    scale: float
    """Divisor of all weights."""

    def __init__(
        self,
        pairs: PairIndex,
        counts: FloatArray,
        share: FloatArray | None = None,
        tpr_factors: tuple[FloatArray, ...] = (),
        fpr_factors: tuple[FloatArray, ...] = (),
        scale: float = 1.0,
    ) -> None:
        # By its dictionary, because the record is frozen.
        vars(self).update(
            pairs=pairs, counts=counts, share=share, tpr_factors=tpr_factors, fpr_factors=fpr_factors, scale=scale
        )
        self.__post_init__()

    def __repr__(self) -> str:
        return f"RuledPairWeights({len(self.pairs)} ordered pairs of {len(self.counts)} classes)"

    def over(self, scale: float) -> "RuledPairWeights":
        """The same rule, divided by a number."""
        return RuledPairWeights(
            self.pairs, self.counts, self.share, self.tpr_factors, self.fpr_factors, self.scale * scale
        )

    @property
    def are_equal(self) -> bool:
        """Whether all weights are the same, because nothing was asked for."""
        return self.share is None and not self.tpr_factors

    def at(self, positive: IntArray, negative: IntArray) -> tuple[FloatArray, FloatArray]:
        """Weights of the true and of the false positive rates of some pairs, by the positions of their classes."""
        tpr = self._at(self.tpr_factors, positive, negative)
        return tpr, self._at(self.fpr_factors, positive, negative) if self.fpr_factors else tpr

    @cached_property
    def tpr(self) -> FloatArray:
        """Weight of each pair's true positive rates, shape (K,)."""
        return read_only(self._at(self.tpr_factors, self.pairs.positive, self.pairs.negative))

    @cached_property
    def fpr(self) -> FloatArray:
        """Weight of each pair's false positive rates, shape (K,)."""
        if not self.fpr_factors:
            return self.tpr
        return read_only(self._at(self.fpr_factors, self.pairs.positive, self.pairs.negative))

    @cached_property
    def size(self) -> FloatArray:
        """Number of samples behind each pair's rates, shape (K,).

        The harmonic mean of the class counts; one size for both rates, since a pair without information must keep them.
        """
        return read_only(2 / (1 / self.counts[self.pairs.positive] + 1 / self.counts[self.pairs.negative]))

    def _at(self, factors: tuple[FloatArray, ...], positive: IntArray, negative: IntArray) -> FloatArray:
        weight = np.ones(len(positive)) if self.share is None else self.share[positive] * self.share[negative]
        for factor in factors:
            weight = weight * factor[positive, negative]
        return weight / self.scale


# Pairs whose weights are listed at once to find their mean; those of more pairs part by part.
_AT_ONCE = 2_000_000


def pair_weights(source: Source, pairs: PairIndex, options: Options) -> RuledPairWeights:
    """Weights of every pair's rates, with mean 1: only their ratios matter."""
    involved: list[str] = []
    share, on_tpr, on_fpr = None, [], []
    if options.weighting == "prevalence":
        involved.append("`weighting` 'prevalence'")
        share = relative_class_weights(source)
    if options.costs is not None:
        involved.append("`costs`")
        # Missing a true i costs[i, j]; calling a true j an i costs[j, i].
        costs = options.costs / options.costs.max()
        on_tpr.append(costs)
        on_fpr.append(costs.T)
    if options.tpr_weights is not None or options.fpr_weights is not None:
        involved += [f"`{name}`" for name in ("tpr_weights", "fpr_weights") if getattr(options, name) is not None]
        ones = np.broadcast_to(1.0, (len(source.labels),) * 2)
        of_tpr = ones if options.tpr_weights is None else options.tpr_weights
        of_fpr = ones if options.fpr_weights is None else options.fpr_weights
        largest = max(of_tpr.max(), of_fpr.max())
        on_tpr.append(of_tpr / largest)
        on_fpr.append(of_fpr / largest)
    rule = RuledPairWeights(pairs, source.effective_counts, share, tuple(on_tpr), tuple(on_fpr))
    found = _spread(rule)
    _check_ratio(found.smallest, found.largest, involved)
    return rule.over(found.mean)


class _Spread(NamedTuple):
    """The weights of all pairs in three numbers, those of true and of false positive rates together."""

    mean: float
    smallest: float
    largest: float


def _spread(rule: RuledPairWeights) -> _Spread:
    """Mean and extremes of the weights, with as many lists of pairs as there is room for."""
    pairs = rule.pairs
    if rule.are_equal:
        return _Spread(1.0, 1.0, 1.0)
    if not isinstance(pairs, AllPairs) or len(pairs) <= _AT_ONCE:
        tpr, fpr = rule.at(pairs.positive, pairs.negative)
        return _Spread((tpr.mean() + fpr.mean()) / 2, min(tpr.min(), fpr.min()), max(tpr.max(), fpr.max()))
    if rule.share is not None and not rule.tpr_factors:
        return _spread_of_products(rule.share[pairs.classes])
    return _spread_by_parts(rule, pairs)


def _spread_of_products(share: FloatArray) -> _Spread:
    """Of the products of every two different numbers, in as many steps as there are numbers."""
    ordered = np.sort(share)
    # What stands before each and after it. All of them less each one would cancel, where one is nearly all.
    before = np.concatenate([[0.0], np.cumsum(share)[:-1]])
    after = np.concatenate([np.cumsum(share[::-1])[-2::-1], [0.0]])
    mean = math.fsum(share * (before + after)) / (len(share) * (len(share) - 1))
    return _Spread(mean, ordered[0] * ordered[1], ordered[-1] * ordered[-2])


def _spread_by_parts(rule: RuledPairWeights, pairs: AllPairs) -> _Spread:
    sums, smallest, largest = [], math.inf, 0.0
    for start in range(0, len(pairs), _AT_ONCE):
        part = pairs.part(start, min(start + _AT_ONCE, len(pairs)))
        for weight in rule.at(part.positive, part.negative):
            sums.append(weight.sum())
            smallest, largest = min(smallest, weight.min()), max(largest, weight.max())
    return _Spread(math.fsum(sums) / (2 * len(pairs)), smallest, largest)


def relative_class_weights(source: Source) -> FloatArray:
    """Class weights over the largest of them, shape (k,); refused where they are too far apart to be compared."""
    weights = source.class_weights
    share: FloatArray = weights / weights.max()
    smallest = share[source.class_counts > 0].min()
    if smallest * LARGEST_RATIO < 1:
        raise InputError(
            "sample_weight",
            f"must give classes whose sums of weights lie within a ratio of {LARGEST_RATIO:g} where "
            "classes count by their weight",
            f"a smallest that is {smallest:g} of the largest",
        )
    return share


def _check_ratio(smallest: float, largest: float, involved: list[str]) -> None:
    if largest > LARGEST_RATIO * smallest:
        names = " and ".join([", ".join(involved[:-1]), involved[-1]] if len(involved) > 1 else involved)
        # The first gives the error its name, the others stand in its sentence.
        _, argument, others = names.split("`", 2)
        rule = f"{others} must give cells whose weights lie within a ratio of {LARGEST_RATIO:g}".lstrip()
        raise InputError(argument, rule, f"{largest / smallest if smallest > 0 else np.inf:g}")


# Stands for an infinite logit: of rows whose rate is 0 or 1 in every pair, and of single cells where
# nothing is fitted (the saturated structure, two classes). What a fit finds is not bounded by it.
LOGIT_BOUND = 30.0
EDGE = float(expit(-LOGIT_BOUND))


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a fit: shrunk rates and their weights, shape (2T, K), and the mean rate of each row."""

    rate: FloatArray
    weight: FloatArray
    mean: FloatArray

    @property
    def interior(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Rows with something to fit: those whose mean rate is neither 0 nor 1."""
        return (self.mean > EDGE) & (self.mean < 1 - EDGE)

    @property
    def inner(self) -> "Cells":
        """The cells of the interior rows."""
        rows = self.interior
        if rows.all():
            return self
        return Cells(self.rate[rows], self.weight[rows], self.mean[rows])


def shrunk_cells(rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Cells:
    """Stack the rates, true positives above false, and draw each to its row's mean."""
    on_row = rates.row_weights[:, None]
    weight = np.vstack([on_row * weights.tpr, on_row * weights.fpr])
    return shrunk_rows(np.vstack([rates.tpr, rates.fpr]), weight, weights.size, shrinkage)


def outer_chance(mean: FloatArray, outer: BoolArray, rates: PairwiseRates, totals: FloatArray) -> float:
    """Deviance of chance, where both rates are the call rate, in rows whose rates are all 0 or all 1.

    `totals` (2,) are the sums of the pairs' weights for true and for false positive rates.
    """
    total = np.repeat(totals, rates.n_call_rates) * np.tile(rates.row_weights, 2)
    by_chance = np.tile(rates.call_rates, 2)
    missed = -np.log(np.where(mean < 0.5, 1 - by_chance, by_chance))
    return float(2 * np.sum((total * missed)[outer]))


def shrunk_rows(rate: FloatArray, weight: FloatArray, size: FloatArray, shrinkage: float) -> Cells:
    """The cells of some rows, of rates and weights of shape (R, K)."""
    mean = np.sum(weight * rate, axis=1) / np.sum(weight, axis=1)
    # Rates of 0 and 1 have infinite logits; a little of the mean makes them finite before they can decide the fit.
    shrunk = (size * rate + shrinkage * mean[:, None]) / (size + shrinkage)
    return Cells(shrunk, weight, mean)
