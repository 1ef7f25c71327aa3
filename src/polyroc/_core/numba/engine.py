"""The fast engine: one sort per class and column, one merge per pair, one pass over the cells per iteration."""

import threading
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from polyroc._core.adjoint import Curvature, Gradient
from polyroc._core.engines import Engine
from polyroc._core.influence import area_influences as area_influences_by_pairs
from polyroc._core.numba.class_sorted import (
    ClassSorted,
    class_sorted,
    difference_sorted,
    with_difference_order,
    with_order,
)
from polyroc._core.numba.factorization import Curvature as CompiledCurvature
from polyroc._core.numba.factorization import fit_rank_one
from polyroc._core.numba.influence import area_influences, sample_influences
from polyroc._core.numba.problem import buffer_memory, pieces
from polyroc._core.numba.rates import LONG, add_areas, cut_own, cut_shared, polygons_of, reflect_areas, reflect_tpr
from polyroc._core.numba.reweighed import MOST_VERTICES, Reweighed
from polyroc._core.polygons import unordered
from polyroc._core.reference import NumpyFitter, NumpyPrepared
from polyroc._lib.threads import Threads, chunks, n_threads
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates

# Fits of more cells than this are done in single precision, for their memory.
SINGLE_CELLS = 2**24
# Samples that must be merged for a task to be worth handing to a thread: in about a tenth of a millisecond.
_WORTH_A_THREAD = 2**14


class _Sorted:
    """Room for the sorted samples, filled when they are first needed."""

    def __init__(self) -> None:
        self.found: ClassSorted | None = None
        self.lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class NumbaFitter(NumpyFitter):
    """Compiled fits."""

    engine_name: ClassVar[str] = "numba"

    def memory_for_cells(self, n_pairs: int, n_call_rates: int) -> int:
        """Bytes that the rates of pairs and their fit need."""
        cells, n_rows, n_pieces = 2 * n_call_rates * n_pairs, 2 * n_call_rates, len(pieces(n_pairs))
        itemsize = 4 if cells > SINGLE_CELLS else 8
        # The side that is solved for: a gram matrix for each piece of the work, or cross terms.
        fit = 32 * n_rows * n_pairs
        if n_pairs > n_rows:
            n_workers = n_threads(self.resources.n_jobs)
            fit = buffer_memory(n_pairs, n_rows, n_pieces, n_workers, itemsize) + 8 * (n_rows + 3) ** 2
        return itemsize * cells + 128 * n_pairs + fit

    def rank_one(
        self, rates: PairwiseRates, weights: PairWeights, shrinkage: float, near: Factorization | None
    ) -> Factorization:
        """The rank-one structure, compiled."""
        return fit_rank_one(rates, weights, shrinkage, n_jobs=self.resources.n_jobs, near=near)

    def curvature(
        self, factorization: Factorization, rates: PairwiseRates, weights: PairWeights, shrinkage: float
    ) -> Curvature | None:
        """Compiled passes over the cells at the end of a fit."""
        return CompiledCurvature(factorization, rates, weights, shrinkage, self.resources.n_jobs)


@dataclass(frozen=True, eq=False)
class NumbaPrepared(NumbaFitter, NumpyPrepared):
    """Samples, and from the first question on their scores sorted by class and column."""

    _sorted: _Sorted = field(default_factory=_Sorted, repr=False)
    _differences: _Sorted = field(default_factory=_Sorted, repr=False)

    def runs(self, threads: Threads, thresholds: Thresholds = "own", *, ordered: bool = False) -> ClassSorted:
        """The sorted scores, or the sorted differences of columns.

        With the sample at each place where samples have weights, or will be given some.
        """
        ordered = ordered or self.source.is_weighted
        is_difference = thresholds == "difference"
        room = self._differences if is_difference else self._sorted
        sort, add_order = (difference_sorted, with_difference_order) if is_difference else (class_sorted, with_order)
        with room.lock:
            if room.found is None:
                room.found = sort(self.source, threads)
            if ordered and room.found.order.size == 0:
                room.found = add_order(room.found, self.source, threads)
            return room.found

    def memory_needed(self, n_pairs: int, n_call_rates: int, thresholds: Thresholds = "own") -> int:
        """Bytes that rates and fit will need at most, in addition to the scores themselves."""
        scores = self.source.scores
        weighted = 12 * scores.size if self.source.is_weighted else 0
        # Differences are in double precision; gathered scores in another one are copied.
        copied = 8 * scores.size if thresholds == "difference" and scores.dtype != np.float64 else 0
        return scores.nbytes + copied + weighted + self.memory_for_cells(n_pairs, n_call_rates)

    def memory_to_reweigh(self, pairs: PairIndex, thresholds: Thresholds) -> int:
        """Bytes that `reweigh` will keep: sorted scores, which sample stands where, and the paths of all pairs."""
        scores, counts = self.source.scores, self.source.class_counts
        vertices = int(counts[pairs.positive].sum() + counts[pairs.negative].sum())
        if thresholds == "difference":
            # Both orders of a pair have one path; of a sample of the pairs some have one order only.
            both = unordered(pairs)
            vertices = int(counts[both.first].sum() + counts[both.second].sum())
        paths = 8 * vertices if thresholds != "shared" and vertices <= MOST_VERTICES else 0
        values = 8 * scores.size if thresholds == "difference" else scores.nbytes
        return values + 4 * scores.size + paths

    def rates(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> PairwiseRates:
        """Cut every pair's ROC polygon at the call rates."""
        precision = np.float32 if 2 * len(call_rates) * len(pairs) > SINGLE_CELLS else np.float64
        # By pairs, as they are made and fitted; the record shows them by call rates.
        tpr = np.empty((len(pairs), len(call_rates)), dtype=precision)
        fpr = np.empty_like(tpr) if thresholds == "shared" else None
        with Threads(self.resources.n_jobs) as threads:
            runs = self.runs(threads, thresholds)
            given = (runs.values, runs.tails(self.source.sample_weight, threads), runs.offsets)
            parts = self._chunks_of_pairs(len(pairs))
            if thresholds == "shared":
                asked = (pairs.positive, pairs.negative, call_rates)
                threads.map(cut_shared, [(*given, *asked, *part, tpr, fpr) for part in parts])
            else:
                polygons = polygons_of(pairs, thresholds)
                threads.map(cut_own, [(*given, polygons, call_rates, *part, tpr) for part in parts])
                reflect_tpr(polygons, call_rates, tpr)
        return PairwiseRates(tpr.T, None if fpr is None else fpr.T, call_rates)

    def _chunks_of_pairs(self, n_pairs: int) -> list[tuple[int, int]]:
        """Pieces in each of which the runs of some pairs are merged."""
        # Samples merged by a pair, in the mean; in long runs points are looked for, as quickly as some thousands merge.
        merged = 2 * self.source.n_samples // int(np.count_nonzero(self.source.class_counts))
        return chunks(n_pairs, 1 + _WORTH_A_THREAD // min(merged, 2 * LONG), 128)

    def areas(self, pairs: PairIndex, thresholds: Thresholds = "own") -> FloatArray:
        """Mann-Whitney area of each pair, shape (K,)."""
        areas = np.empty(len(pairs))
        with Threads(self.resources.n_jobs) as threads:
            runs = self.runs(threads, thresholds)
            tails = runs.tails(self.source.sample_weight, threads)
            polygons = polygons_of(pairs, thresholds)
            asked = (runs.values, tails, runs.offsets, polygons)
            threads.map(add_areas, [(*asked, *task, areas) for task in self._chunks_of_pairs(len(pairs))])
        reflect_areas(polygons, areas)
        return areas

    def influences(
        self,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        gradient: Gradient,
        *,
        least_reach: float = 0.0,
    ) -> FloatArray:
        """What each sample adds to each of m numbers, shape (m, n)."""
        with Threads(self.resources.n_jobs) as threads:
            runs = self.runs(threads, thresholds, ordered=True)
            asked = (self.source, runs, pairs, call_rates, thresholds, gradient, threads)
            return sample_influences(*asked, least_reach=least_reach)

    def area_influences(self, pairs: PairIndex, share: FloatArray, thresholds: Thresholds = "own") -> FloatArray:
        """What each sample adds to weighted means of the areas, shape (..., n) from (..., K)."""
        if self.source.is_binary:  # one pair, whose column is not that of its class
            return area_influences_by_pairs(self.source, pairs, share)
        with Threads(self.resources.n_jobs) as threads:
            runs = self.runs(threads, thresholds, ordered=True)
            return area_influences(self.source, runs, pairs, share, thresholds, threads)

    def reweigh(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> Reweighed:
        """Sort once; weights come later."""
        with Threads(self.resources.n_jobs) as threads:
            runs = self.runs(threads, thresholds, ordered=True)
            return Reweighed(runs, pairs, call_rates, thresholds, threads)


ENGINE = Engine("numba", lambda source, resources: NumbaPrepared(resources, source), NumbaFitter)
