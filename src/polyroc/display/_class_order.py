"""Numbers of pairs -> a table with a row and a column per class, and an order of classes in which it can be read."""

import numpy as np

from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import PairIndex

# Of more classes nobody finds a group of confused ones in the order in which they happen to be given.
MANY_CLASSES = 12
# The best order of the leaves takes time with the cube of their number.
_MOST_ORDERED = 200


def pair_matrix(n_classes: int, pairs: PairIndex, column: FloatArray) -> FloatArray:
    """One number per pair -> a table, NaN where there is no pair."""
    values = np.full((n_classes, n_classes), np.nan)
    values[pairs.positive, pairs.negative] = column
    return values


def clustered(areas: FloatArray) -> IntArray:
    """An order in which classes that are hard to tell apart are neighbours."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(areas) < 3:
        return np.arange(len(areas))
    both = np.stack([areas, areas.T])
    known = ~np.isnan(both)
    total = np.where(known, both, 0).sum(axis=0)
    # Pairs that were not sampled are taken for middling ones.
    mean = np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nanmean(areas))
    distances = mean[np.triu_indices(len(areas), 1)]
    tree = linkage(distances - distances.min(), "average", optimal_ordering=len(areas) <= _MOST_ORDERED)
    order: IntArray = leaves_list(tree)
    return order
