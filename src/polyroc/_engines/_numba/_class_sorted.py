"""Predictions -> class-sorted scores: the one copy of the scores that the fast engine makes."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from polyroc._engines._numba._packed_sort import order_samples
from polyroc._engines._numba._rates import find_tails, gather
from polyroc._engines._threads import Threads, chunks
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Predictions


@dataclass(frozen=True, eq=False)
class ClassSorted:
    """The scores of each class in each column, in rising order."""

    values: FloatArray
    """values[i, offsets[c]:offsets[c + 1]] are the scores of class c in column i, shape (k, n)."""
    offsets: IntArray
    """Where each class begins, shape (k + 1,)."""
    members: IntArray
    """The samples class by class, shape (n,)."""
    order: IntArray
    """The sample at each place of `values`, shape (k, n); empty where nobody asked for it."""

    def tails(self, weight: FloatArray | None, threads: Threads) -> FloatArray | None:
        """Share of its class's weight at or above each score, shape (k, n); None without weights."""
        if weight is None:
            return None
        found = np.empty(self.values.shape)
        tasks = chunks(len(found), 1, 64)
        threads.map(find_tails, [(self.order, weight, self.offsets, found, *task) for task in tasks])
        return found


# Scores that must be moved for a task to be worth handing to a thread.
WORTH_A_THREAD = 2**17

# Places of a class, from and to, and columns.
Block: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Gathered:
    """The scores of each class in each column, as they come."""

    values: FloatArray
    offsets: IntArray
    members: IntArray
    """The sample at each place of a column, shape (n,)."""


def gathered(predictions: Predictions, threads: Threads) -> Gathered:
    """Copy the scores into columns in which the classes lie together."""
    scores, codes = predictions.scores, predictions.codes
    # In few bits, which NumPy sorts by counting.
    narrow = codes.astype(np.min_scalar_type(len(predictions.labels)), copy=False)
    # Unsigned, so that compiled code need not ask whether an index counts from the end.
    members: IntArray = np.argsort(narrow, kind="stable").astype(np.uint32 if len(codes) < 2**32 else np.uint64)
    offsets = np.concatenate([[0], np.cumsum(predictions.class_counts)])
    values = np.empty((scores.shape[1], len(codes)), dtype=scores.dtype)
    tasks = chunks(len(codes), 1 + WORTH_A_THREAD // len(values), 64)
    threads.map(gather, [(scores, members, values, *task) for task in tasks])
    return Gathered(values, offsets, members)


def sorted_together(offsets: IntArray, n_columns: int) -> list[list[Block]]:
    """Tasks of about equal size: some columns of a large class, or all columns of several small ones."""
    tasks: list[list[Block]] = [[]]
    size = 0
    for a, b in pairwise(offsets.tolist()):
        for columns in chunks(n_columns, 1 + WORTH_A_THREAD // max(1, b - a), 64):
            if size >= WORTH_A_THREAD:
                tasks.append([])
                size = 0
            tasks[-1].append((a, b, *columns))
            size += (b - a) * (columns[1] - columns[0])
    return tasks


def class_sorted(predictions: Predictions, threads: Threads) -> ClassSorted:
    """Sort each class in each column."""
    classes = gathered(predictions, threads)
    values, offsets = classes.values, classes.offsets
    sort_blocks(values, offsets, threads)
    return ClassSorted(values, offsets, classes.members, np.empty((0, 0), dtype=classes.members.dtype))


def sort_blocks(values: FloatArray, offsets: IntArray, threads: Threads) -> None:
    """Sort each class in each row, in place."""

    def sort(*blocks: Block) -> None:
        for a, b, i, j in blocks:
            values[i:j, a:b].sort(axis=1)

    threads.map(sort, map(tuple, sorted_together(offsets, len(values))))


def with_order(runs: ClassSorted, predictions: Predictions, threads: Threads) -> ClassSorted:
    """The same with the sample at each place, which not everybody needs: found from the scores as they came."""
    values, members = runs.values, runs.members
    order = np.empty(values.shape, dtype=members.dtype)

    def find(*blocks: Block) -> None:
        for a, b, i, j in blocks:
            if b > a:
                ends = np.stack([values[i:j, a], values[i:j, b - 1]], axis=1)
                order_samples(predictions.scores, members[a:b], i, ends, order[i:j, a:b])

    threads.map(find, map(tuple, sorted_together(runs.offsets, len(values))))
    return replace(runs, order=order)
