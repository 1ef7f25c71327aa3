"""Replicates on the fast engine: classes sorted once, then read under any number of sample weights.

Weights move a pair's polygon but not the order of its scores. So the path of the merge is laid once: for each distinct
score of the pair, how many samples of either class score at least as much. A replicate cumulates its weights along the
sorted classes and looks the shares up along the paths; it never compares two scores again.

Words in parentheses are the labels of equations in docs/method.md.
"""

import math
import threading
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from polyroc._core.fit import FIRST_DAMPING, SINGLE_ROUNDING, SINGLE_TOLERANCE
from polyroc._core.numba.class_sorted import ClassSorted
from polyroc._core.numba.compile import borrowed, dot, inner, kernel
from polyroc._core.numba.factorization import fit_rank_one, fit_replicate
from polyroc._core.numba.fit import FAR_IN_REPLICATES, Data
from polyroc._core.numba.rates import (
    add_areas,
    cut_own,
    cut_shared,
    is_read,
    polygons_of,
    reflect_areas,
    reflect_tpr,
)
from polyroc._core.numba.steps import CONVERGED, descend_small
from polyroc._core.weights import EDGE, LOGIT_BOUND
from polyroc._lib.grid import row_weights
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import BoolArray, FloatArray, Thresholds
from polyroc._records import PairIndex, PairWeights, PairwiseRates, RankOneFits


class Paths(NamedTuple):
    """Where classes, pairs and the paths of their merges lie: n samples, k classes, K pairs, V vertices."""

    offsets: Any  # (k + 1,) where each class begins in a sorted column
    polygons: Any  # `polyroc._core.numba.rates`
    begins: Any  # (K + 1,) where each pair's path begins; a reflection has none
    sizes: Any  # (K,) how many vertices it has: distinct scores of the pair
    path: Any  # (V, 2) how many of the positive and of the negative class score at least as much, by falling scores


class Room(NamedTuple):
    """What a replicate's rates are read from and written to."""

    shares: Any  # (columns, n + k) share of each class among its highest scores: one place more per class
    tpr: Any  # (K, T)
    fpr: Any  # (K, T)
    areas: Any  # (K,)


@kernel
def lay_paths(values: Any, paths: Any, start: int, stop: int) -> None:
    """Write the paths and the sizes of the pairs start..stop: the vertices of (rates), as counts.

    `values` (columns, n) has each class in rising order.
    """
    offsets, path, polygons = paths.offsets, paths.path, paths.polygons
    for pair in range(start, stop):
        if not is_read(polygons, pair):
            paths.sizes[pair] = 0
            continue
        i, j = polygons.positive[pair], polygons.negative[pair]
        q, r = polygons.positive_row[pair], polygons.negative_row[pair]
        a, b = values[q, offsets[i] : offsets[i + 1]], values[r, offsets[j] : offsets[j + 1]]
        at_a, at_b, vertex = a.shape[0], b.shape[0], paths.begins[pair]
        while at_a > 0 or at_b > 0:
            score = b[at_b - 1] if at_a == 0 or (at_b > 0 and b[at_b - 1] > a[at_a - 1]) else a[at_a - 1]
            while at_a > 0 and a[at_a - 1] == score:
                at_a -= 1
            while at_b > 0 and b[at_b - 1] == score:
                at_b -= 1
            path[vertex, 0] = a.shape[0] - at_a
            path[vertex, 1] = b.shape[0] - at_b
            vertex += 1
        paths.sizes[pair] = vertex - paths.begins[pair]


@kernel
def replicate_rates(order: Any, weight: Any, paths: Any, grid: Any, room: Any) -> None:
    """Rates at the call rates `grid` (call-rate) and areas (pair-area) of all pairs under sample weights.

    `order` (columns, n) is the sample at each place of the sorted columns, `weight` (n,) its weight.
    """
    lay, room = borrowed(paths), borrowed(room)
    offsets, shares = lay.offsets, room.shares
    n_classes = offsets.shape[0] - 1
    for i in range(order.shape[0]):
        for c in range(n_classes):
            # Place 0 of a class is the share of nobody, so counts of `path` are places, without a test for 0.
            total, place = 0.0, offsets[c] + c
            shares[i, place] = 0.0
            for p in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
                total += weight[order[i, p]]
                place += 1
                shares[i, place] = total
            for p in range(offsets[c] + c + 1, place + 1):
                shares[i, p] /= total
    polygons = lay.polygons
    for pair in range(polygons.positive.shape[0]):
        if not is_read(polygons, pair):
            continue
        i, j = polygons.positive[pair], polygons.negative[pair]
        where = (polygons.positive_row[pair], polygons.negative_row[pair], offsets[i] + i, offsets[j] + j)
        of_pair = (lay.path, lay.begins[pair], lay.sizes[pair])
        room.areas[pair] = follow(shares, *where, *of_pair, grid, pair, room.tpr, room.fpr)
    reflect_rates(polygons.mirror, room.tpr, room.fpr, room.areas)


@inner
def reflect_rates(mirror: Any, tpr: Any, fpr: Any, areas: Any) -> None:
    """As `reflect_tpr` where both rates are kept, (K, T) each, and the areas (K,), which a reflection leaves."""
    n_grid = tpr.shape[1]
    for pair in range(mirror.shape[0]):
        read = mirror[pair]
        if read < 0:
            continue
        areas[pair] = areas[read]
        for t in range(n_grid):
            last = n_grid - 1 - t
            positive, negative = tpr[read, last], fpr[read, t]
            # TPR at s is 1 - FPR at 1 - s, and the other way round.
            tpr[pair, last], fpr[pair, t] = 1.0 - negative, 1.0 - positive


@inner
def follow(
    shares: Any,
    row_a: int,
    row_b: int,
    first_a: int,
    first_b: int,
    path: Any,
    begin: int,
    size: int,
    grid: Any,
    pair: int,
    tpr: Any,
    fpr: Any,
) -> Any:
    """Read one pair's polygon at the call rates (call-rate); returns the area under it (pair-area).

    `shares` as in `Room`, `path` as in `Paths`; row `pair` of tpr and fpr (K, T) is written.
    """
    n_grid = grid.shape[0]
    t, a0, b0, doubled_area = 0, 0.0, 0.0, 0.0
    target = 2.0 * grid[0]
    for v in range(begin, begin + size):
        a1, b1 = shares[row_a, first_a + path[v, 0]], shares[row_b, first_b + path[v, 1]]
        # A trapezoid, over FPR: its slanted edge counts ties between the classes one half.
        doubled_area += (b1 - b0) * (a0 + a1)
        if a1 + b1 >= target or v + 1 == begin + size:
            # Samples that were not drawn weigh 0: where they end the path, the last edge has no length.
            length = max(a1 + b1 - a0 - b0, 1e-300)
            while t < n_grid and (target <= a1 + b1 or v + 1 == begin + size):
                part = min(1.0, max(0.0, (target - a0 - b0) / length))
                tpr[pair, t] = a0 + part * (a1 - a0)
                fpr[pair, t] = b0 + part * (b1 - b0)
                t += 1
                target = 2.0 * grid[min(t, n_grid - 1)]
        a0, b0 = a1, b1
    return min(1.0, 0.5 * doubled_area)  # more is rounding


# Whole replicates, compiled: from sample weights to the effects of the shared curve without a word of Python. One of
# few pairs takes a fraction of a millisecond. Calls from Python between its steps would double that, and threads would
# wait for each other there.

LEAST, MOST, BOUND = EDGE, 1 - EDGE, LOGIT_BOUND
# `Data.curved` for all pairs: here there are at most as many as rows.
ALL_CURVED = 2**32


class Weighing(NamedTuple):
    """What pairs and rows count for (equations weights, costs, spacing and shrinkage)."""

    tpr: Any  # (K,) W_p Q_p of the true positive rates
    fpr: Any  # (K,)
    kept_share: Any  # (K,) m_p / (m_p + alpha)
    row: Any  # (T,) omega_t, in the precision of the fit


class Out(NamedTuple):
    """One row for each replicate."""

    effects: Any  # (B, 2T) of the curve: lambda, true positive rows first
    means: Any  # (B, 2T) of the pairs' rates
    areas: Any  # (B, 2) mean over pairs, all alike and by weight
    ended: Any  # (B,) how the fit ended


@kernel
def run_replicates(
    order: Any, weights: Any, paths: Any, weighing: Any, grid: Any, limits: Any, shares: Any, out: Any
) -> None:
    """For each row of `weights` (B, n): rates, their means, the fit (equations model and deviance) and the areas.

    `limits` are the last arguments of `descend_small`; `shares` is as in `Room`.
    """
    # Taken out once: numba counts references whenever an array is taken out of a tuple.
    on_tpr, on_fpr, keep, on_row = weighing.tpr, weighing.fpr, weighing.kept_share, weighing.row
    effects, means, mean_areas, ended = out.effects, out.means, out.areas, out.ended
    n_pairs, n_grid, real = on_tpr.shape[0], grid.shape[0], on_row.dtype
    tpr, fpr = np.empty((n_pairs, n_grid), real), np.empty((n_pairs, n_grid), real)
    areas, doubled, total = np.empty(n_pairs), (2.0 * grid).astype(real), on_tpr.sum()
    room = Room(shares, tpr, fpr, areas)
    for r in range(weights.shape[0]):
        replicate_rates(order, weights[r], paths, grid, room)
        mean = means[r]
        mean_areas[r, 0], mean_areas[r, 1] = areas.mean(), min(1.0, dot(on_tpr, areas) / total)
        row_means(tpr, on_tpr, mean[:n_grid])
        row_means(fpr, on_fpr, mean[n_grid:])
        first_tpr, n_tpr = inside(mean[:n_grid])
        first_fpr, n_fpr = inside(mean[n_grid:])
        # Fitted rows: true positive rates first, then false. They start at v = 1 and the logits of their means, as the
        # fit of the sample itself does: if D jumps between optima, the interval must show it.
        fitted, on_fitted = np.empty(n_tpr + n_fpr, real), np.empty(n_tpr + n_fpr, real)
        row = np.empty(n_tpr + n_fpr)
        for i in range(n_tpr + n_fpr):
            t = first_tpr + i if i < n_tpr else first_fpr + i - n_tpr
            m = mean[t] if i < n_tpr else mean[n_grid + t]
            fitted[i], on_fitted[i], row[i] = m, on_row[t], math.log(m / (1 - m))
        where = (first_tpr, first_fpr, n_tpr, ALL_CURVED)
        data = Data(tpr, fpr, doubled, *where, on_tpr, on_fpr, on_fitted, keep, fitted, FAR_IN_REPLICATES)
        effect = np.ones(n_pairs)
        ended[r] = CONVERGED
        if len(row) > 0:
            ended[r], _, _, row, effect = descend_small(data, row, effect, *limits)
        # Rows whose mean is 0 or 1 have nothing to fit.
        for i in range(2 * n_grid):
            effects[r, i] = -BOUND if mean[i] < 0.5 else BOUND
        for i in range(n_tpr + n_fpr):
            place = first_tpr + i if i < n_tpr else n_grid + first_fpr + i - n_tpr
            # The scale of (curve): the mean of the pair effects is 1.
            effects[r, place] = row[i] * effect.mean()


@inner
def row_means(rates: Any, weight: Any, out: Any) -> None:
    """The mean over the pairs at each call rate."""
    total = 0.0
    for t in range(out.shape[0]):
        out[t] = 0.0
    for j in range(rates.shape[0]):
        total += weight[j]
        for t in range(out.shape[0]):
            out[t] += weight[j] * np.float64(rates[j, t])
    for t in range(out.shape[0]):
        out[t] /= total


@inner
def inside(mean: Any) -> Any:
    """The first row with something to fit, and how many there are: the means rise, so these lie together."""
    first, count = 0, 0
    for t in range(mean.shape[0]):
        if LEAST < mean[t] < MOST:
            if count == 0:
                first = t
            count += 1
    return first, count


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
            (still.move, still.gradient, still.damping, SINGLE_ROUNDING, FIRST_DAMPING),
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
