"""Predictions -> class-sorted scores: the one copy of the scores that the fast engine makes."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from polyroc._engines._numba._compile import kernel
from polyroc._engines._numba._packed_sort import order_samples
from polyroc._engines._numba._rates import find_tails
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import FloatArray, IntArray
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


# Scores that must be moved for a task to be worth handing to a thread: in half a millisecond, or less.
WORTH_A_THREAD = 2**16

# Classes times columns up to which scores are scattered, not gathered.
_SCATTERED = 1_024
# Samples of a class, in the mean, up to which it is copied and sorted by the same thread, in whose cache it then is.
_SMALL_CLASS = 2**13

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
    scores, places = predictions.scores, _Places.of(predictions)
    values = np.empty((scores.shape[1], len(scores)), dtype=scores.dtype)
    if places.n_classes * len(values) <= _SCATTERED:
        return Gathered(values, places.offsets, places.scatter(predictions, values, threads))
    members = places.members(predictions.codes)
    tasks = chunks(len(members), 1 + WORTH_A_THREAD // len(values), 64)
    threads.map(gather, [(scores, members, values, 0, len(values), *task) for task in tasks])
    return Gathered(values, places.offsets, members)


@dataclass(frozen=True, eq=False)
class _Places:
    """Where the samples of each class go, by blocks of samples: a sort by counting."""

    edges: IntArray
    """Where the blocks begin, shape (B + 1,)."""
    first: IntArray
    """The place of the first sample of each block and class, shape (B, k)."""
    offsets: IntArray
    """Where each class begins, shape (k + 1,)."""

    @staticmethod
    def of(predictions: Predictions) -> "_Places":
        """Count the classes, by one thread: that takes less than a millisecond for each million of samples."""
        blocks = chunks(predictions.n_samples, 1 + WORTH_A_THREAD // predictions.n_columns, 64)
        edges = np.array([0, *(stop for _, stop in blocks)])
        counts = np.zeros((len(blocks), len(predictions.labels)), dtype=np.int64)
        count_classes(predictions.codes, edges, counts)
        offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        return _Places(edges, offsets[:-1] + np.cumsum(counts, axis=0) - counts, offsets)

    @property
    def n_classes(self) -> int:
        return int(self.first.shape[1])

    def members(self, codes: IntArray) -> IntArray:
        """The samples class by class."""
        found = self._room()
        list_members(codes, self.first[0].copy(), found, 0, len(codes))
        return found

    def scatter(self, predictions: Predictions, values: FloatArray, threads: Threads) -> IntArray:
        """The samples class by class, and their scores."""
        found, scores, codes = self._room(), predictions.scores, predictions.codes
        blocks = zip(self.first, pairwise(self.edges.tolist()), strict=True)
        threads.map(scatter, [(scores, codes, first.copy(), found, values, *block) for first, block in blocks])
        return found

    def _room(self) -> IntArray:
        n = int(self.edges[-1])
        return np.empty(n, dtype=np.uint32 if n < 2**32 else np.uint64)


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
    scores, n_classes = predictions.scores, len(predictions.labels)
    if n_classes * scores.shape[1] > _SCATTERED and len(scores) <= _SMALL_CLASS * n_classes:
        classes = _sorted_at_once(predictions, threads)
    else:
        classes = gathered(predictions, threads)
        sort_blocks(classes.values, classes.offsets, threads)
    return ClassSorted(classes.values, classes.offsets, classes.members, np.empty((0, 0), dtype=classes.members.dtype))


def _sorted_at_once(predictions: Predictions, threads: Threads) -> Gathered:
    """As `gathered`, but sorted: many classes, each of which is copied and sorted in one go."""
    scores, places = predictions.scores, _Places.of(predictions)
    values, members = np.empty((scores.shape[1], len(scores)), dtype=scores.dtype), places.members(predictions.codes)

    def sort(*blocks: Block) -> None:
        for a, b, i, j in blocks:
            gather(scores, members, values, i, j, a, b)
            values[i:j, a:b].sort(axis=1)

    threads.map(sort, map(tuple, sorted_together(places.offsets, len(values))))
    return Gathered(values, places.offsets, members)


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


# Compiled copies of scores into columns in which the classes lie together.
# n samples, k classes, C columns, B blocks of samples: codes (n,), scores (n, C), members (n,) the samples class by
# class, each class in the order in which its samples came; values[i, p] = scores[members[p], i], shape (C, n).


@kernel
def count_classes(codes: Any, edges: Any, counts: Any) -> None:
    """How many samples of each class are in each block; edges (B + 1,), counts (B, k), zeros so far."""
    for b in range(counts.shape[0]):
        for s in range(edges[b], edges[b + 1]):
            counts[b, np.uint64(codes[s])] += 1


@kernel
def list_members(codes: Any, places: Any, members: Any, start: int, stop: int) -> None:
    """Write samples start..stop to their places; places (k,) are where those of each class go, and move on."""
    for s in range(start, stop):
        # Unsigned, so that compiled code need not ask whether an index counts from the end.
        c = np.uint64(codes[s])
        members[np.uint64(places[c])] = s
        places[c] += 1


@kernel
def scatter(scores: Any, codes: Any, places: Any, members: Any, values: Any, start: int, stop: int) -> None:
    """As `list_members`, and the scores with them.

    Scores are read in the order in which they lie in memory, so that the next ones are there already. As many places
    are written to as there are classes times columns: up to about a thousand they all stay in the nearest cache.
    """
    for s in range(start, stop):
        c = np.uint64(codes[s])
        place = np.uint64(places[c])
        places[c] += 1
        members[place] = s
        for i in range(values.shape[0]):
            values[i, place] = scores[s, i]


@kernel
def gather(scores: Any, members: Any, values: Any, first: int, last: int, start: int, stop: int) -> None:
    """Columns first..last of the samples at places start..stop, where there are too many classes to scatter them."""
    # 32 samples at a time: their rows of `scores` are still in the cache when the next column reads them.
    for begin in range(start, stop, 32):
        end = min(begin + 32, stop)
        for i in range(first, last):
            for p in range(begin, end):
                values[i, p] = scores[members[p], i]
