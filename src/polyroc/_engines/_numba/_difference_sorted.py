"""Predictions -> class-sorted differences of columns, in the room of class-sorted scores.

Row m has, of the samples of class c, the difference of columns c and m, the lower one first: s_c - s_m where c comes
before m, else s_m - s_c. So both classes of the pair (c, m) are ranked by the same difference, class c in row m and
class m in row c, and every sample of a pair is sorted once. Rows of a class with itself have nothing to say.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from polyroc._engines._numba._class_sorted import Block, ClassSorted, gathered, sort_blocks, sorted_together
from polyroc._engines._numba._packed_sort import order_samples
from polyroc._engines._samples import subtractable
from polyroc._engines._threads import Threads
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Predictions


def difference_sorted(predictions: Predictions, threads: Threads) -> ClassSorted:
    """Subtract in double precision, as the reference does, and sort each class in each row."""
    classes = gathered(predictions, threads)
    values, offsets = subtractable(classes.values).astype(np.float64, copy=False), classes.offsets

    def subtract(c: int, a: int, b: int) -> None:
        block, own = values[:, a:b], values[c, a:b].copy()
        np.subtract(block[:c], own, out=block[:c])
        np.subtract(own, block[c:], out=block[c:])

    threads.map(subtract, [(c, a, b) for c, (a, b) in enumerate(pairwise(offsets.tolist())) if b > a])
    sort_blocks(values, offsets, threads)
    return ClassSorted(values, offsets, classes.members, np.empty((0, 0), dtype=classes.members.dtype))


def with_difference_order(runs: ClassSorted, predictions: Predictions, threads: Threads) -> ClassSorted:
    """The same with the sample at each place."""
    values, members, codes = runs.values, runs.members, predictions.codes
    order = np.empty(values.shape, dtype=members.dtype)
    scores = subtractable(predictions.scores)

    def find(*blocks: Block) -> None:
        for a, b, i, j in blocks:
            if b > a:
                samples = members[a:b]
                ends = np.stack([values[i:j, a], values[i:j, b - 1]], axis=1)
                places = np.empty((j - i, b - a), dtype=members.dtype)
                here = np.arange(b - a, dtype=members.dtype)
                order_samples(_differences(scores, samples, int(codes[samples[0]]), i, j), here, 0, ends, places)
                order[i:j, a:b] = samples[places]

    threads.map(find, map(tuple, sorted_together(runs.offsets, len(values))))
    return replace(runs, order=order)


def _differences(scores: FloatArray, samples: IntArray, c: int, i: int, j: int) -> FloatArray:
    """Rows i..j of the differences of some samples of class c, as columns, shape (n, j - i)."""
    own = scores[samples, c].astype(np.float64)[:, None]
    found = scores[samples, i:j].astype(np.float64)
    before = max(0, min(c, j) - i)
    np.subtract(found[:, :before], own, out=found[:, :before])
    np.subtract(own, found[:, before:], out=found[:, before:])
    return found
