"""Areas of pairs of classes ranked along what separates the two, as AUCmu asks for.

The order changes from pair to pair: no sort of a column serves two of them, so that each pair is sorted by itself.
"""

import numpy as np

from polyroc._engines._samples import class_shares, in_range, mann_whitney
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import PairIndex, Predictions


def contrast_areas(predictions: Predictions, pairs: PairIndex, partition: FloatArray) -> FloatArray:
    """Mann-Whitney area of each pair along (A[negative] - A[positive]) · p, shape (K,)."""
    scores, share = in_range(predictions.scores), class_shares(predictions)
    members = [np.flatnonzero(predictions.codes == c) for c in range(len(predictions.labels))]
    areas = np.empty(len(pairs))
    for pair, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        both = np.concatenate([members[i], members[j]])
        score = project(scores, both, partition[j] - partition[i])
        is_first = np.repeat([1, 0], [len(members[i]), len(members[j])])
        areas[pair] = mann_whitney(score, is_first, None if share is None else share[both])
    return areas


def project(scores: FloatArray, samples: IntArray, normal: FloatArray) -> FloatArray:
    """The sum of normal times score of each of the samples."""
    # Not a matrix product: BLAS may round equal rows differently, and so break ties.
    projected = np.zeros(len(samples))
    for c in np.flatnonzero(normal):
        projected += normal[c] * scores[samples, c]
    return projected
