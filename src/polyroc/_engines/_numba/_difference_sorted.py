"""Predictions -> class-sorted differences of columns, in the room of class-sorted scores.

Row m has, of the samples of class c, the difference of columns c and m, the lower one first: s_c - s_m where c comes
before m, else s_m - s_c. So both classes of the pair (c, m) are ranked by the same difference, class c in row m and
class m in row c, and every sample of a pair is sorted once. Rows of a class with itself have nothing to say.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from polyroc._engines._numba._class_sorted import Block, ClassSorted, gathered, sort_blocks, sorted_together
from polyroc._engines._numba._packed_sort import order_samples
from polyroc._engines._samples import subtractable
from polyroc._lib.threads import Threads
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Predictions


def difference_sorted(predictions: Predictions, threads: Threads) -> ClassSorted:
    """Subtract in double precision, as the reference does, and sort each class in each row."""
    runs = _unsorted(predictions, threads)
    sort_blocks(runs.values, runs.offsets, threads)
    return runs


def difference_ordered(predictions: Predictions, threads: Threads) -> ClassSorted:
    """The same with the sample at each place, by one sort."""
    runs = _unsorted(predictions, threads)
    values, members = runs.values, runs.members
    order = np.empty(values.shape, dtype=members.dtype)

    def sort(*blocks: Block) -> None:
        for a, b, i, j in blocks:
            if b > a:
                block = values[i:j, a:b]
                places = _places(np.ascontiguousarray(block.T), block.min(axis=1), block.max(axis=1), members.dtype)
                order[i:j, a:b] = members[a:b][places]
                values[i:j, a:b] = np.take_along_axis(block, places.astype(np.intp), axis=1)

    threads.map(sort, map(tuple, sorted_together(runs.offsets, len(values))))
    return replace(runs, order=order)


def with_difference_order(runs: ClassSorted, predictions: Predictions, threads: Threads) -> ClassSorted:
    """Sorted differences with the sample at each place."""
    values, members, codes = runs.values, runs.members, predictions.codes
    order = np.empty(values.shape, dtype=members.dtype)
    scores = subtractable(predictions.scores)

    def find(*blocks: Block) -> None:
        for a, b, i, j in blocks:
            if b > a:
                samples = members[a:b]
                differences = _differences(scores, samples, int(codes[samples[0]]), i, j)
                order[i:j, a:b] = samples[_places(differences, values[i:j, a], values[i:j, b - 1], members.dtype)]

    threads.map(find, map(tuple, sorted_together(runs.offsets, len(values))))
    return replace(runs, order=order)


def _unsorted(predictions: Predictions, threads: Threads) -> ClassSorted:
    classes = gathered(predictions, threads)
    values, offsets = subtractable(classes.values).astype(np.float64, copy=False), classes.offsets

    def subtract(c: int, a: int, b: int) -> None:
        block, own = values[:, a:b], values[c, a:b].copy()
        np.subtract(block[:c], own, out=block[:c])
        np.subtract(own, block[c:], out=block[c:])

    threads.map(subtract, [(c, a, b) for c, (a, b) in enumerate(pairwise(offsets.tolist())) if b > a])
    return ClassSorted(values, offsets, classes.members, np.empty((0, 0), dtype=classes.members.dtype))


def _places(differences: FloatArray, lowest: FloatArray, highest: FloatArray, precision: Any) -> IntArray:
    """The rows of `differences` (n, columns) in the order of each column, shape (columns, n)."""
    n, n_columns = differences.shape
    places = np.empty((n_columns, n), dtype=precision)
    order_samples(differences, np.arange(n, dtype=precision), 0, np.stack([lowest, highest], axis=1), places)
    return places


def _differences(scores: FloatArray, samples: IntArray, c: int, i: int, j: int) -> FloatArray:
    """Rows i..j of the differences of some samples of class c, as columns, shape (n, j - i)."""
    own = scores[samples, c].astype(np.float64)[:, None]
    found = scores[samples, i:j].astype(np.float64)
    before = max(0, min(c, j) - i)
    np.subtract(found[:, :before], own, out=found[:, :before])
    np.subtract(own, found[:, before:], out=found[:, before:])
    return found
