"""Ordered pairs by twos: with the difference of two columns as score, (i, j) and (j, i) are one ranking read two ways.

Pair (j, i) is ranked by s_j - s_i, so its polygon is that of (i, j) reflected: its true positive rate at call rate s is
one minus the false positive rate of (i, j) at 1 - s. Call rates are a grid that mirrors itself at 1/2.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyroc._core.gradient import Gradient
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen, PairIndex


@dataclass(frozen=True, eq=False)
class Unordered(Frozen):
    """The U unordered pairs among K ordered ones; of a sample of the pairs one order may be missing."""

    first: IntArray
    """The class that comes first in the order of the columns, shape (U,)."""
    second: IntArray
    forward: IntArray
    """Where (first, second) stands among the ordered pairs, -1 where it is not there, shape (U,)."""
    backward: IntArray
    """Where (second, first) stands."""
    of_pair: IntArray
    """The unordered pair of each ordered one, shape (K,)."""

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        columns = (self.first, self.second, self.forward, self.backward)
        return zip(*(column.tolist() for column in columns), strict=True)


def unordered(pairs: PairIndex) -> Unordered:
    """Put both orders of each pair together."""
    low, high = np.minimum(pairs.positive, pairs.negative), np.maximum(pairs.positive, pairs.negative)
    n_classes = int(high.max(initial=0)) + 1
    keys, of_pair = np.unique(low * n_classes + high, return_inverse=True)
    first, second = np.divmod(keys, n_classes)
    forward, backward = np.full((2, len(keys)), -1)
    for place, chosen in ((forward, pairs.positive == low), (backward, pairs.positive != low)):
        place[of_pair[chosen]] = np.flatnonzero(chosen)
    return Unordered(first, second, forward, backward, of_pair)


def reflected(tpr: FloatArray, call_rates: FloatArray) -> FloatArray:
    """True positive rates of the pair in the other order, by call rates along the last axis."""
    fpr = np.clip(2 * call_rates - tpr, 0, 1)
    mirrored: FloatArray = 1 - fpr[..., ::-1]
    return mirrored


def of_both_orders(gradient: Gradient, forward: int, backward: int) -> tuple[FloatArray, FloatArray]:
    """Derivatives by the true and the false positive rates of (first, second), which those of the other order follow.

    Shape (m, T) each.
    """
    shape = (len(gradient), gradient.row.shape[2] // 2)
    by_tpr, by_fpr = np.zeros(shape), np.zeros(shape)
    if forward >= 0:
        tpr, fpr = gradient.of_pair(forward)
        by_tpr, by_fpr = by_tpr + tpr, by_fpr + fpr
    if backward >= 0:
        tpr, fpr = gradient.of_pair(backward)
        by_tpr, by_fpr = by_tpr - fpr[:, ::-1], by_fpr - tpr[:, ::-1]
    return by_tpr, by_fpr
