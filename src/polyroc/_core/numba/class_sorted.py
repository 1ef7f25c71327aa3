"""Predictions -> class-sorted scores: the one copy of the scores that the fast engine makes.

Which sample stands where is found by a plain sort of whole numbers. NumPy's sort uses wide registers where `argsort`
follows indices through memory, which takes four times as long. So the bits of a score, as a whole number of the same
order, and its place share one word of 64 bits. What does not fit is cut from the end of the score: the few scores that
agree in all bits before are put in order afterwards.

With differences of columns as scores each unordered pair of classes has a row of its own.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from polyroc._core.numba.compile import inner, kernel
from polyroc._core.samples import subtractable
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

# Places of a class, from and to, and columns.
Block: TypeAlias = tuple[int, int, int, int]


def gathered(predictions: Predictions, threads: Threads) -> ClassSorted:
    """Copy the scores into columns in which the classes lie together, each still as it came."""
    scores, places = predictions.scores, _Places.of(predictions)
    values = np.empty((scores.shape[1], len(scores)), dtype=scores.dtype)
    if places.n_classes * len(values) <= _SCATTERED:
        members = places.scatter(predictions, values, threads)
    else:
        members = places.members(predictions.codes)
        tasks = chunks(len(members), 1 + WORTH_A_THREAD // len(values), 64)
        threads.map(gather, [(scores, members, values, *task) for task in tasks])
    return ClassSorted(values, places.offsets, members, np.empty((0, 0), dtype=members.dtype))


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
    runs = gathered(predictions, threads)
    sort_blocks(runs.values, runs.offsets, threads)
    return runs


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
def gather(scores: Any, members: Any, values: Any, start: int, stop: int) -> None:
    """All columns of the samples at places start..stop, where there are too many classes to scatter them."""
    # 32 samples at a time: their rows of `scores` are still in the cache when the next column reads them.
    for begin in range(start, stop, 32):
        end = min(begin + 32, stop)
        for i in range(values.shape[0]):
            for p in range(begin, end):
                values[i, p] = scores[members[p], i]


# Steps per score to put scores in order that agree in the bits that were kept; beyond them the row is sorted otherwise.
_MOST_STEPS = 4

ONE, ZERO, WORD = np.uint64(1), np.uint64(0), np.uint64(64)


def order_samples(scores: FloatArray, members: IntArray, column: int, ends: FloatArray, order: IntArray) -> None:
    """Write to each row of `order` the members, shape (n,), in rising order of a column of `scores`.

    The first row belongs to `column`, the next one to the next. `ends` are the lowest and the highest score of the
    members in each, shape (rows, 2).
    """
    unsigned = np.uint32 if scores.dtype.itemsize == 4 else np.uint64
    # (rows, n): the score in the high bits, and in the low ones its place among the members.
    keys = np.empty(order.shape, dtype=np.uint64)
    cuts = np.empty(len(order), dtype=np.uint64)
    # The bit of the sign: 31 or 63.
    sign = np.uint64(8 * scores.dtype.itemsize - 1)
    pack(scores.view(unsigned), members, column, ends.view(unsigned), sign, keys, cuts)
    keys.sort(axis=1)
    is_sorted = np.ones(len(order), dtype=np.bool_)
    unpack(keys, cuts, scores, members, column, _MOST_STEPS * len(members), order, is_sorted)
    for row in np.flatnonzero(~is_sorted):
        order[row] = members[np.argsort(scores[members, column + row])]


@kernel
def pack(bits: Any, members: Any, column: int, ends: Any, sign: Any, keys: Any, cuts: Any) -> None:
    """The distance of each score from the lowest of its row, counted in floats, and its place in the lowest bits.

    bits (n, k) are those of the scores, ends (rows, 2); keys (rows, n) and cuts (rows,) are written.
    """
    n, on_place = members.shape[0], bits_for(members.shape[0])
    lowest = np.empty(keys.shape[0], np.uint64)
    for r in range(keys.shape[0]):
        lowest[r] = rising(ends[r, 0], sign)
        needed = bits_of(rising(ends[r, 1], sign) - lowest[r]) + on_place
        # What is too much for a word: bits cut from the end of the score.
        cuts[r] = needed - WORD if needed > WORD else ZERO
    # 32 samples at a time: their rows of `scores` are still in the cache when the next column reads them.
    for begin in range(0, n, 32):
        end = min(begin + 32, n)
        for r in range(keys.shape[0]):
            for p in range(begin, end):
                distance = rising(bits[members[p], column + r], sign) - lowest[r]
                keys[r, p] = ((distance >> cuts[r]) << on_place) | np.uint64(p)


@inner
def rising(bits: Any, sign: Any) -> Any:
    """A whole number that rises with the float of these bits, the same for both zeros."""
    # Floats rise with their bits, negative ones fall: mirror those below the others.
    word, half = np.uint64(bits), ONE << sign
    return half - (word ^ half) if word >> sign else word + half


@inner
def bits_of(number: Any) -> Any:
    """Binary digits of a whole number."""
    count = ZERO
    while number > ZERO:
        number >>= ONE
        count += ONE
    return count


@inner
def bits_for(n: int) -> Any:
    """Binary digits of the places 0 to n - 1."""
    return bits_of(np.uint64(max(1, n - 1)))


@kernel
def unpack(
    keys: Any, cuts: Any, scores: Any, members: Any, column: int, most_steps: int, order: Any, is_sorted: Any
) -> None:
    """From sorted keys to members; where the bits kept did not decide, by insertion."""
    n, on_place = keys.shape[1], bits_for(keys.shape[1])
    mask = (ONE << on_place) - ONE
    for r in range(keys.shape[0]):
        for p in range(n):
            order[r, p] = members[keys[r, p] & mask]
        # Nothing was cut: equal keys are equal scores.
        if cuts[r] == ZERO:
            continue
        # Insertion costs the square of a run of equal keys, so its steps are counted and bounded.
        steps = 0
        for p in range(1, n):
            q, member = p, order[r, p]
            while q > 0 and keys[r, q - 1] >> on_place == keys[r, p] >> on_place and steps < most_steps:
                if scores[order[r, q - 1], column + r] <= scores[member, column + r]:
                    break
                order[r, q] = order[r, q - 1]
                q -= 1
                steps += 1
            order[r, q] = member
        is_sorted[r] = steps < most_steps


def difference_sorted(predictions: Predictions, threads: Threads) -> ClassSorted:
    """Subtract in double precision, as the reference does, and sort each class in each row."""
    classes = gathered(predictions, threads)
    values = subtractable(classes.values).astype(np.float64, copy=False)

    def subtract(c: int, a: int, b: int) -> None:
        block, own = values[:, a:b], values[c, a:b].copy()
        np.subtract(block[:c], own, out=block[:c])
        np.subtract(own, block[c:], out=block[c:])

    threads.map(subtract, [(c, a, b) for c, (a, b) in enumerate(pairwise(classes.offsets.tolist())) if b > a])
    sort_blocks(values, classes.offsets, threads)
    return replace(classes, values=values)


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


@kernel
def find_tails(order: Any, weight: Any, offsets: Any, tails: Any, start: int, stop: int) -> None:
    """Shares of each class at or above each of its scores, for columns start..stop; order[i, p] is a sample.

    They cumulate the weights of (share) from the top; order and tails (k, n), weight (n,).
    """
    for i in range(start, stop):
        for c in range(offsets.shape[0] - 1):
            total = 0.0
            for p in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
                total += weight[order[i, p]]
                tails[i, p] = total
            # Divided by the same sum, so that the lowest score of a class has exactly the share 1.
            for p in range(offsets[c], offsets[c + 1]):
                tails[i, p] /= total
