"""One class against all others: areas that depend on how frequent the others are, with what each sample adds."""

from dataclasses import dataclass

import numpy as np

from polyroc._estimator._pairs import all_pairs
from polyroc._lib._typing import FloatArray
from polyroc._records import Frozen, Predictions
from polyroc.baselines._one_vs_rest import mixed_areas


@dataclass(frozen=True, eq=False)
class OneVsRest(Frozen):
    """The mean area of one class against the rest. A sample counts in the pairwise areas, and in the weights."""

    value: float
    share: FloatArray
    """What each pairwise area counts for, shape (K,)."""
    by_weight: FloatArray
    """What each sample adds by its weight alone, the areas staying as they are, shape (n,)."""


def one_vs_rest_of(source: Predictions, areas: FloatArray, *, weighted: bool) -> OneVsRest:
    """The mean area of one class against the rest, from the areas of all pairs, shape (K,).

    Class i has the area R_i = sum_j W_j A_ij / sum_j W_j over the other classes j, and counts the same as the others
    or by its weight W_i.
    """
    pairs = all_pairs(source)
    weight = source.class_weights / source.class_weights.sum()
    i, j = pairs.positive, pairs.negative
    rest = np.bincount(i, weight[j], minlength=len(weight))
    compared = rest > 0
    against = np.where(compared, mixed_areas(pairs, areas, weight), 0.0)
    counts = np.where(compared, weight if weighted else 1.0, 0.0)
    counts /= counts.sum()
    value = float(counts @ against)
    # dR_i / dW_c = (A_ic - R_i) / sum_j W_j, of every other class i.
    slope = np.bincount(j, counts[i] / rest[i] * (areas - against[i]), minlength=len(weight))
    if weighted:
        # And the weight of the class itself: d value / dW_c = (R_c - value) / sum of the weights compared.
        slope += np.where(compared, against - value, 0.0) / weight[compared].sum()
    share = source.sample_weight
    share = np.full(source.n_samples, 1 / source.n_samples) if share is None else share / source.class_weights.sum()
    return OneVsRest(value, counts[i] * weight[j] / rest[i], share * slope[source.codes])
