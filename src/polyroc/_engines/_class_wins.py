"""What each sample wins in one column: the parts of DeLong's structural components, for all classes in one pass.

In the column of class i, a sample of i is compared with every other sample, and no other two are. Its wins over each
class, and the wins of i over each sample, are all that areas of class i are made of.
"""

from typing import NamedTuple

import numpy as np

from polyroc._engines._samples import class_shares
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Predictions


class ColumnWins(NamedTuple):
    """Comparisons in one column with the samples of its class; ties count one half."""

    above: FloatArray
    """Share of the class that lies above each sample, shape (n,)."""
    below: FloatArray
    """Share of every class that lies below each sample of this class, shape (n_i, k)."""


class ClassWins:
    """Samples ready to be asked column by column."""

    def __init__(self, predictions: Predictions) -> None:
        self._predictions = predictions
        share = class_shares(predictions)
        self._share = 1 / predictions.class_counts[predictions.codes] if share is None else share

    def in_column(self, column: int, members: IntArray) -> ColumnWins:
        """What the samples of a class, at these places, win in its column."""
        codes, n_classes = self._predictions.codes, len(self._predictions.labels)
        score = np.ascontiguousarray(self._predictions.scores[:, column])
        order = np.argsort(score[members], kind="stable")
        own = score[members][order]
        cumulated = np.concatenate([[0.0], np.cumsum(self._share[members][order])])
        # How many of the class lie strictly below each sample, and how many below or level with it.
        below, upto = np.searchsorted(own, score, side="left"), np.searchsorted(own, score, side="right")
        above = cumulated[-1] - 0.5 * (cumulated[below] + cumulated[upto])
        # A sample lies below the p-th of the class where `upto` <= p, and below or level with it where `below` <= p.
        size = (len(own) + 1) * n_classes
        counted = np.bincount(upto * n_classes + codes, self._share, minlength=size)
        counted += np.bincount(below * n_classes + codes, self._share, minlength=size)
        won = np.empty((len(own), n_classes))
        won[order] = 0.5 * np.cumsum(counted.reshape(-1, n_classes)[:-1], axis=0)
        return ColumnWins(above / cumulated[-1], won)


def areas_against_rest(predictions: Predictions) -> FloatArray:
    """Area of each class against all the others, shape (k,), one column at a time; NaN of a class without samples."""
    found = np.full(len(predictions.labels), np.nan)
    weight = predictions.sample_weight
    for i in np.flatnonzero(predictions.class_counts):
        score, is_own = np.ascontiguousarray(predictions.scores[:, i]), predictions.codes == i
        order = np.argsort(score[is_own], kind="stable")
        own, rest = score[is_own][order], score[~is_own]
        counted = np.ones(len(own)) if weight is None else weight[is_own][order] / weight.max()
        cumulated = np.concatenate([[0.0], np.cumsum(counted)])
        below, upto = (np.searchsorted(own, rest, side=side) for side in ("left", "right"))
        above = 1 - 0.5 * (cumulated[below] + cumulated[upto]) / cumulated[-1]
        found[i] = np.average(above, weights=None if weight is None else weight[~is_own] / weight.max())
    return found
