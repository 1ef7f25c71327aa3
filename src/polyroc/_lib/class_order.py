"""The classes in an order in which those that are hard to separate are neighbours, and the tree that says so."""

import numpy as np

from polyroc._lib.limits import BEST_ORDER
from polyroc._lib.typing import FloatArray, IntArray


def clustered(areas: FloatArray) -> IntArray:
    """An order in which classes that are hard to separate are neighbours."""
    return np.arange(len(areas)) if len(areas) < 3 else leaves(cluster_tree(areas))


def cluster_tree(areas: FloatArray) -> FloatArray:
    """Which classes and groups are joined, as SciPy's `linkage` writes it; heights are mean areas."""
    from scipy.cluster.hierarchy import linkage

    both = np.stack([areas, areas.T])
    known = ~np.isnan(both)
    total = np.where(known, both, 0).sum(axis=0)
    # Pairs that were not sampled are taken for middling ones.
    mean = np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nanmean(areas))
    distances = mean[np.triu_indices(len(areas), 1)]
    least = distances.min()
    tree: FloatArray = linkage(distances - least, "average", optimal_ordering=len(areas) <= BEST_ORDER)
    tree[:, 2] += least
    return tree


def leaves(tree: FloatArray) -> IntArray:
    """The classes in the order of their tree."""
    from scipy.cluster.hierarchy import leaves_list

    order: IntArray = leaves_list(tree)
    return order
