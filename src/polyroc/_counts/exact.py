"""Counts whose rates and areas are exact: those of sorted scores, found one column at a time.

A column of n scores is gathered by class and each class is sorted in place. Then two binary searches tell the share of
a class above any score, and the score at which a pair reaches a call rate is found by halving the floats themselves.
Everything else (accuracy, tables for standard errors) comes from the counts in bins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._core import Resources, get_engine
from polyroc._core.memory import available
from polyroc._counts.counted import CountedPrepared
from polyroc._counts.passes import passes_for
from polyroc._inputs.checks import InputError
from polyroc._inputs.options import Options
from polyroc._lib.threads import Threads
from polyroc._lib.typing import FloatArray, IntArray, Thresholds
from polyroc._records import Frozen, PairIndex, PairwiseRates, ScoreCounts

_GIB = 2**30


@dataclass(frozen=True, eq=False)
class ExactColumns(Frozen):
    """What sorted scores say about pairs."""

    call_rates: FloatArray
    tpr: FloatArray
    """Shape (T, K), pairs as they were asked for; nothing of two classes."""
    thresholds: FloatArray
    """The score at which every pair reaches every call rate, shape (T, K)."""
    areas: FloatArray
    """Area of each class (row) against each other one in its own column, shape (k, k); NaN where there is none."""


@dataclass(frozen=True, eq=False)
class ExactPrepared(CountedPrepared):
    """Counts of scores, with exact rates and areas of the pairs."""

    exact: ExactColumns

    def rates(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> PairwiseRates:
        """As they were found; of other pairs and other call rates from bins."""
        if thresholds != "own" or self.exact.tpr.shape != (len(call_rates), len(pairs)):
            return super().rates(pairs, call_rates, thresholds)
        return PairwiseRates(self.exact.tpr, None, call_rates)

    def score_thresholds(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> FloatArray:
        """As they were found."""
        if thresholds != "own" or self.exact.tpr.shape != (len(call_rates), len(pairs)):
            return super().score_thresholds(pairs, call_rates, thresholds)
        return self.exact.thresholds

    def areas(self, pairs: PairIndex, thresholds: Thresholds = "own") -> FloatArray:
        """Mann-Whitney area of each pair, shape (K,)."""
        return self.exact.areas[pairs.positive, pairs.negative]

    def areas_against_rest(self) -> FloatArray:
        """Area of each class against all the others: the mean of its areas by the numbers of the others."""
        counts, found = self.source.class_counts.astype(float), np.full(len(self.source.labels), np.nan)
        for i in np.flatnonzero(counts):
            others = (counts > 0) & (np.arange(len(counts)) != i)
            if self.source.n_columns > 1 and not np.isnan(self.exact.areas[i, others]).any():
                found[i] = float(np.average(self.exact.areas[i, others], weights=counts[others]))
        return np.where(np.isnan(found), super().areas_against_rest(), found)


def counted_for(
    counts: ScoreCounts, pairs: PairIndex, options: Options, exact: ExactColumns | None = None
) -> CountedPrepared:
    """Counts made ready, to be fitted by the engine that the options ask for, or by the one that is done first."""
    engine = get_engine(options.engine, counts, n_pairs=len(pairs), n_thresholds=options.n_thresholds)
    fitter = engine.fitter(Resources(options.n_jobs))
    return CountedPrepared(counts, fitter) if exact is None else ExactPrepared(counts, fitter, exact)


def check_exact_memory(n_samples: int, n_classes: int, itemsize: int, n_rates: int) -> None:
    """Raise MemoryError, with the size needed, where a column of scores and all codes would not fit."""
    each = itemsize + np.dtype(code_type(n_classes)).itemsize
    needed, free = n_samples * each + 16 * n_rates, available()
    if free is None or needed <= free:
        return
    msg = (
        f"`exact=True` needs about {needed / _GIB:.1f} GiB of memory, {each} bytes for each of {n_samples:,} samples, "
        f"and {max(0, free) / _GIB:.1f} GiB are free. Without it, scores are counted in bins, which changes D by at "
        "most about 1e-6."
    )
    raise MemoryError(msg)


def code_type(n_classes: int) -> Any:
    """The smallest type that has a number for every class."""
    return np.uint8 if n_classes <= 2**8 else np.uint16 if n_classes <= 2**16 else np.uint32


class SortedColumn:
    """One column of scores, gathered by class: each class in a stretch of its own, sorted when all are there."""

    def __init__(self, class_counts: IntArray, dtype: Any) -> None:
        self._ends = np.cumsum(class_counts)
        self._starts = self._ends - class_counts
        self._counts = class_counts
        self._places = self._starts.copy()
        self._scores = np.empty(int(class_counts.sum()), dtype=dtype)
        self._passes = passes_for(len(self._scores))

    def begin(self) -> None:
        """Make room for another column of the same samples."""
        self._places[:] = self._starts

    def reserve(self, counts: IntArray) -> IntArray:
        """Places for this many scores of each class; whoever calls keeps others from calling meanwhile."""
        places = self._places.copy()
        self._places += counts
        if np.any(self._places > self._ends):
            raise InputError("paths", "must lead to files that nobody changes meanwhile", "more rows than before")
        return places

    def put(self, scores: FloatArray, codes: Any, places: IntArray) -> None:
        """Put scores at places that were reserved for them."""
        self._passes.gather(scores, codes, places, self._scores)

    def sort(self, n_jobs: int | None) -> None:
        """Sort every class."""
        if not np.array_equal(self._places, self._ends):
            raise InputError("paths", "must lead to files that nobody changes meanwhile", "fewer rows than before")
        with Threads(n_jobs) as threads:
            threads.map(lambda c: self._of_class(c).sort(), [(int(c),) for c in np.flatnonzero(self._counts)])

    def _of_class(self, c: int) -> FloatArray:
        return self._scores[self._starts[c] : self._ends[c]]

    def areas(self, i: int, n_jobs: int | None) -> FloatArray:
        """Area of class i against each other one, shape (k,)."""
        found = np.full(len(self._counts), np.nan)
        others = [int(j) for j in np.flatnonzero(self._counts) if j != i]
        positive = self._of_class(i)
        with Threads(n_jobs) as threads:
            wins = threads.map(lambda j: self._passes.doubled_wins(positive, self._of_class(j)), [(j,) for j in others])
        for j, won in zip(others, wins, strict=True):
            found[j] = won / (2 * len(positive) * int(self._counts[j]))
        return found

    def cut(
        self, i: int, negatives: Sequence[int], call_rates: FloatArray, n_jobs: int | None
    ) -> tuple[FloatArray, FloatArray]:
        """TPR of class i against others at the call rates, and the scores there, shape (T, len(negatives)) each."""
        positive = self._of_class(i)
        with Threads(n_jobs) as threads:
            found = threads.map(lambda j: _cut(positive, self._of_class(j), call_rates), [(int(j),) for j in negatives])
        tpr, scores = zip(*found, strict=True)
        return np.column_stack(tpr), np.column_stack(scores)


def _cut(positive: FloatArray, negative: FloatArray, call_rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where the polygon of two sorted classes has the call rates: TPR, and the score of the vertex that ends the edge.

    The edge of a call rate ends at the highest score from which on the share called is at least that. It is found by
    halving: floats rise with their bits, so there are as many steps as bits.
    """
    n, m = len(positive), len(negative)

    def shares(score: FloatArray, side: Any) -> tuple[FloatArray, FloatArray]:
        above = 1 - np.searchsorted(positive, score, side) / n
        return above, (above + 1 - np.searchsorted(negative, score, side) / m) / 2

    ends = np.array([min(positive[0], negative[0]), max(positive[-1], negative[-1])])
    low, high = (np.full(len(call_rates), end, dtype=np.uint64) for end in _ordered(ends))
    # The lowest score is reached by all call rates. Beyond the highest one nothing is called.
    high += np.uint64(1)
    while np.any(high - low > 1):
        middle = low + (high - low) // np.uint64(2)
        reached = shares(_floats(middle, positive.dtype), "left")[1] >= call_rates
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    score = _floats(low, positive.dtype)
    (before, called_before), (after, called) = shares(score, "right"), shares(score, "left")
    part = np.divide(
        call_rates - called_before, called - called_before, out=np.ones(len(score)), where=called > called_before
    )
    return before + np.clip(part, 0, 1) * (after - before), score.astype(float)


def _ordered(floats: FloatArray) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    """Whole numbers in the order of the floats, one for each float."""
    size = 8 * floats.dtype.itemsize
    bits = floats.view(f"u{floats.dtype.itemsize}").astype(np.uint64)
    sign = np.uint64(1 << (size - 1))
    every = np.uint64(2**size - 1)
    return np.where(bits & sign, bits ^ every, bits | sign)


def _floats(ordered: "np.ndarray[Any, np.dtype[np.uint64]]", dtype: Any) -> FloatArray:
    """The floats of such numbers."""
    size = 8 * np.dtype(dtype).itemsize
    sign, every = np.uint64(1 << (size - 1)), np.uint64(2**size - 1)
    bits = np.where(ordered & sign, ordered ^ sign, ordered ^ every)
    found: FloatArray = bits.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)
    return found


def exact_columns(
    call_rates: FloatArray, pairs: PairIndex, found: Mapping[int, tuple[FloatArray, FloatArray, FloatArray]], k: int
) -> ExactColumns:
    """Put together what was found for each positive class: areas (k,), and TPR and scores of its pairs."""
    tpr, scores = np.empty((2, len(call_rates), len(pairs)))
    areas = np.full((k, k), np.nan)
    for i, (own, own_tpr, own_scores) in found.items():
        of_class = np.flatnonzero(pairs.positive == i)
        areas[i], tpr[:, of_class], scores[:, of_class] = own, own_tpr, own_scores
    return ExactColumns(call_rates, tpr, scores, areas)
