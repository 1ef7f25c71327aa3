"""Mann-Whitney areas of pairs of classes, from one sort per column.

A(i, j) is the probability that a sample of class i scores higher in column i
than a sample of class j, ties counting one half: the area under the ROC
polygon of the pair. One sort of column i gives A(i, j) for every j, because
each sample of any class only needs the weight of class i above it.
"""

import numpy as np

from polyroc._engines._samples import class_shares, doubled_wins
from polyroc._lib.typing import FloatArray
from polyroc._records import PairIndex, Predictions


def pairwise_areas(predictions: Predictions, pairs: PairIndex) -> FloatArray:
    """Mann-Whitney area A(positive, negative) of each pair, shape (K,)."""
    n_classes = len(predictions.labels)
    share = class_shares(predictions)
    wins = np.zeros((n_classes, n_classes))
    for positive, first in zip(*np.unique(pairs.positive, return_index=True), strict=True):
        score = predictions.scores[:, pairs.column[first]]
        wins[positive] = doubled_wins(score, predictions.codes, positive, n_classes, share)
    won: FloatArray = wins[pairs.positive, pairs.negative] / 2
    if share is None:
        total = predictions.class_counts.astype(float)
        won /= total[pairs.positive] * total[pairs.negative]
    return won
