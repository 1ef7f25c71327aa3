"""Replicates on the fast engine: classes sorted once, then read under any number of sample weights."""

import threading
from typing import Any, ClassVar, TypeAlias

import numpy as np

from polyroc._engines._descent import SINGLE_ROUNDING, SINGLE_TOLERANCE
from polyroc._engines._numba._class_sorted import ClassSorted
from polyroc._engines._numba._descent import CONVERGED
from polyroc._engines._numba._factorization import fit_rank_one, fit_replicate
from polyroc._engines._numba._paths import Paths, Room, lay_paths, replicate_rates
from polyroc._engines._numba._polygons import polygons_of, reflect_areas, reflect_tpr
from polyroc._engines._numba._rates import add_areas, cut_own, cut_shared
from polyroc._engines._numba._replicates import Out, Weighing, run_replicates
from polyroc._lib.grid import row_weights
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import BoolArray, FloatArray, Thresholds
from polyroc._records import PairIndex, PairWeights, PairwiseRates, RankOneFits

# Paths of more vertices than this are not kept: 8 bytes each.
MOST_VERTICES = 2**27

# Row effects, means of the pairs' rates and areas, and which converged.
_Fits: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, BoolArray]


class Reweighed:
    """Classes sorted in each column and, where there is room, the paths of all pairs' merges."""

    at_once: ClassVar[int | None] = None

    def __init__(
        self, runs: ClassSorted, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds, threads: Threads
    ) -> None:
        self._runs, self._pairs, self._call_rates, self._thresholds = runs, pairs, call_rates, thresholds
        self._room = threading.local()
        counts = np.diff(runs.offsets)
        self._polygons = polygons_of(pairs, thresholds)
        lengths = counts[pairs.positive] + counts[pairs.negative]
        mirror = self._polygons.mirror
        if len(mirror) > 0:
            lengths[(mirror >= 0) & (mirror != np.arange(len(pairs)))] = 0
        self._begins = np.concatenate([[0], np.cumsum(lengths)])
        self._has_paths = thresholds != "shared" and self._begins[-1] <= MOST_VERTICES
        if self._has_paths:
            self._lay_paths(threads)

    def _lay_paths(self, threads: Threads) -> None:
        self._path = np.empty((self._begins[-1], 2), dtype=np.int32)
        self._sizes = np.empty(len(self._pairs), dtype=np.int64)
        runs, pairs = self._runs, self._pairs
        tasks = [(runs.values, self._layout, *task) for task in chunks(len(pairs), 8, 64)]
        threads.map(lay_paths, tasks)

    def rates(self, weight: FloatArray, precision: Any = np.float64) -> tuple[PairwiseRates, FloatArray]:
        """Rates and areas of all pairs under these weights."""
        n_pairs = len(self._pairs)
        areas = np.empty(n_pairs)
        tpr, fpr = np.empty((2, n_pairs, len(self._call_rates)), dtype=precision)
        if self._has_paths:
            room = Room(self._shares(), tpr, fpr, areas)
            replicate_rates(self._runs.order, weight, self._layout, self._call_rates, room)
            return PairwiseRates(tpr.T, fpr.T, self._call_rates), areas
        tails = self._runs.tails(weight, Threads(1))
        given = (self._runs.values, tails, self._runs.offsets)
        add_areas(*given, self._polygons, 0, n_pairs, areas)
        if self._thresholds == "shared":
            asked = (self._pairs.positive, self._pairs.negative, self._call_rates)
            cut_shared(*given, *asked, 0, n_pairs, tpr, fpr)
            return PairwiseRates(tpr.T, fpr.T, self._call_rates), areas
        cut_own(*given, self._polygons, self._call_rates, 0, n_pairs, tpr)
        reflect_areas(self._polygons, areas)
        reflect_tpr(self._polygons, self._call_rates, tpr)
        return PairwiseRates(tpr.T, None, self._call_rates), areas

    def fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        """The rank-one structure under each of several weights, in single precision.

        Its 1e-7 is nothing compared with what resampling moves. A fit that does not converge is done again in double.
        """
        small = self._has_paths and len(self._pairs) <= 2 * len(self._call_rates)
        fit = self._small_fits if small else self._large_fits
        effects, means, areas, converged = fit(weights, pair_weights, shrinkage)
        for r in np.flatnonzero(~converged):
            again = fit_rank_one(self.rates(weights[r])[0], pair_weights, shrinkage, n_jobs=1)
            effects[r], converged[r] = again.row_effects, again.converged
        return RankOneFits(effects, areas[:, 0], areas[:, 1], means, converged)

    def _small_fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> _Fits:
        """Compiled as a whole, for fits whose pairs are the smaller side."""
        effects, means = np.empty((2, len(weights), 2 * len(self._call_rates)))
        areas = np.empty((len(weights), 2))
        ended = np.empty(len(weights), dtype=np.int64)
        still = SINGLE_TOLERANCE
        run_replicates(
            self._runs.order,
            weights,
            self._layout,
            Weighing(
                pair_weights.tpr,
                pair_weights.fpr,
                pair_weights.size / (pair_weights.size + shrinkage),
                row_weights(self._call_rates).astype(np.float32),
            ),
            self._call_rates,
            (still.move, still.gradient, still.damping, SINGLE_ROUNDING),
            self._shares(),
            Out(effects, means, areas, ended),
        )
        return effects, means, areas, ended == CONVERGED

    def _large_fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> _Fits:
        effects, means = np.empty((2, len(weights), 2 * len(self._call_rates)))
        mean_areas, converged = np.empty((len(weights), 2)), np.empty(len(weights), dtype=np.bool_)
        for r, weight in enumerate(weights):
            rates, areas = self.rates(weight, np.float32)
            fit = fit_replicate(rates, pair_weights, shrinkage, one_optimum=self._thresholds != "shared")
            effects[r], means[r], converged[r] = fit.row_effects, fit.mean_rates, fit.converged
            mean_areas[r] = areas.mean(), np.average(areas, weights=pair_weights.tpr)
        return effects, means, mean_areas, converged

    @property
    def _layout(self) -> Paths:
        """Where classes, pairs and paths lie, as the kernels want it."""
        return Paths(self._runs.offsets, self._polygons, self._begins, self._sizes, self._path)

    def _shares(self) -> FloatArray:
        """Room for the shares of one replicate, kept for each thread: fresh memory costs more than its use."""
        if not hasattr(self._room, "shares"):
            n_columns, n_samples = self._runs.values.shape
            self._room.shares = np.empty((n_columns, n_samples + len(self._runs.offsets) - 1))
        shares: FloatArray = self._room.shares
        return shares
