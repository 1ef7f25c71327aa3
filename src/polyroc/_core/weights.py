"""A source and options -> PairWeights: what each pair counts for (method, steps 4 and 5, section 3)."""

import math
from typing import NamedTuple

import numpy as np

from polyroc._core.ruled_weights import RuledPairWeights
from polyroc._inputs.checks import InputError
from polyroc._inputs.options import LARGEST_RATIO, Options
from polyroc._lib.typing import FloatArray
from polyroc._records import AllPairs, PairIndex, Source

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
