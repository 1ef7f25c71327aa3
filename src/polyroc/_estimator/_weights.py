"""A source and options -> PairWeights: what each pair counts for (method, steps 4 and 5, section 3)."""

import numpy as np

from polyroc._inputs._checks import InputError
from polyroc._inputs._options import LARGEST_RATIO, Options
from polyroc._lib._typing import FloatArray
from polyroc._records import PairIndex, PairWeights, Source


def pair_weights(source: Source, pairs: PairIndex, options: Options) -> PairWeights:
    """Weights of every pair's rates, with mean 1: only their ratios matter."""
    positive, negative = pairs.positive, pairs.negative
    involved = []
    tpr, fpr = np.ones(len(pairs)), np.ones(len(pairs))
    if options.weighting == "prevalence":
        involved.append("`weighting` 'prevalence'")
        share = relative_class_weights(source)
        tpr, fpr = tpr * share[positive] * share[negative], fpr * share[positive] * share[negative]
    if options.costs is not None:
        involved.append("`costs`")
        # Missing a true i costs[i, j]; calling a true j an i costs[j, i].
        costs = options.costs / options.costs.max()
        tpr, fpr = tpr * costs[positive, negative], fpr * costs[negative, positive]
    if options.tpr_weights is not None or options.fpr_weights is not None:
        involved += [f"`{name}`" for name in ("tpr_weights", "fpr_weights") if getattr(options, name) is not None]
        ones = np.ones((len(source.labels),) * 2)
        on_tpr = ones if options.tpr_weights is None else options.tpr_weights
        on_fpr = ones if options.fpr_weights is None else options.fpr_weights
        largest = max(on_tpr.max(), on_fpr.max())
        tpr, fpr = tpr * (on_tpr / largest)[positive, negative], fpr * (on_fpr / largest)[positive, negative]
    _check_ratio(min(tpr.min(), fpr.min()), max(tpr.max(), fpr.max()), involved)
    scale = (tpr.mean() + fpr.mean()) / 2
    return PairWeights(tpr / scale, fpr / scale, _pair_sizes(source.effective_counts, pairs))


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


def _pair_sizes(counts: FloatArray, pairs: PairIndex) -> FloatArray:
    """Harmonic mean of the class counts; one size for both rates, since a pair without information must keep them."""
    return 2 / (1 / counts[pairs.positive] + 1 / counts[pairs.negative])
