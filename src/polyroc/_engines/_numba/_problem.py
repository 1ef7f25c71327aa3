"""The rank-one fit of the fast engine: the descent of `_engines/_descent.py`, whose steps and sweeps are compiled.

Words in parentheses are the labels of equations in docs/method.md. T call rates, K pairs, R fitted rows of 2T: some of
the true positive rates, then some of the false.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from polyroc._engines._cells import EDGE, LOGIT_BOUND, outer_chance, shrunk_rows
from polyroc._engines._descent import FIRST_DAMPING, Attempt, Descent, Tolerance, descend
from polyroc._engines._numba import _fit as passes
from polyroc._engines._numba import _steps as steps
from polyroc._engines._numba._descent import descend_small
from polyroc._engines._numpy._solver import solve_rows
from polyroc._engines._threads import Threads, chunks
from polyroc._lib._typing import BoolArray, FloatArray
from polyroc._records import Factorization, PairWeights, PairwiseRates, Status, read_only

# A fit of more pairs than these begins where a fit of some of them ended: of a quarter of MEDIUM, or of CURVED. Beyond
# MANY the curvature of the rows, too, is that of CURVED pairs: it bends the steps a little, not where they lead.
MEDIUM_PAIRS, MANY_PAIRS, CURVED_PAIRS = 4_096, 32_768, 8_192

# That first fit need be no better than a sample can tell.
ROUGH = Tolerance(move=1e-2, gradient=1e-3, damping=1e-2)

# A move of the row effects that leaves their curvature as good as it need be: steps that are bent by a hundredth still
# gain two digits each, and in single precision there are fewer digits to gain.
STEADY, SINGLE_STEADY = 1e-2, 0.1

# In single precision: when to stop, and the rounding error of the deviance's change per unit of what moved.
SINGLE_TOLERANCE = Tolerance(move=5e-6, gradient=1e-6, damping=1e-4)
SINGLE_ROUNDING = 5e-7


def pieces(n_pairs: int) -> list[tuple[int, int]]:
    """The pieces in which the pairs of a fit are swept."""
    return chunks(n_pairs, 512, 16)


def fit_rank_one(
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    *,
    n_jobs: int | None = None,
    near: Factorization | None = None,
) -> Factorization:
    """Joint Levenberg-Marquardt steps; at the start all pairs are alike and each row has the logit of its mean.

    Many pairs begin where a fit of some of them ended, or where that of all with another shrinkage did, `near`.
    """
    with Threads(n_jobs) as threads:
        problem = _Problem.of(rates, weights, shrinkage, threads)
        if not problem.fitted.any():
            fit = _without_rows(problem, rates, weights, shrinkage)
            return replace(fit, chance_deviance=outer_chance(problem.mean, ~problem.fitted, rates, weights))
        # Own thresholds, for which FPR is not stored, hardly ever have a second optimum; shared ones may.
        n_few = _size_of_first_fit(rates.n_pairs, one_optimum=rates.separate_fpr is None)
        end = _descended(problem, rates, weights, shrinkage, n_few, near)
        # At the end, not at the start: the changes of long moves miss a little, which must not add up in the deviance.
        deviance, of_chance = problem.deviances(end.state, rates.call_rates)
        end = replace(end, deviance_path=end.deviance_path - end.deviance_path[-1] + max(0.0, deviance))
    of_chance += outer_chance(problem.mean, ~problem.fitted, rates, weights)
    fit = _factorization(problem, end.state.row, end.state.pairs.effect, end, rates, weights, shrinkage)
    return replace(fit, chance_deviance=of_chance)


def _size_of_first_fit(n_pairs: int, *, one_optimum: bool) -> int | None:
    """How many of the pairs are fitted first, to begin near the end; None where all begin alike."""
    if n_pairs > MANY_PAIRS:
        return CURVED_PAIRS
    return MEDIUM_PAIRS // 4 if n_pairs > MEDIUM_PAIRS and one_optimum else None


def _descended(
    problem: "_Problem",
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    n_few: int | None,
    near: Factorization | None = None,
) -> Descent["_State"]:
    """The descent from the means of the rows, or from where another fit ended: of some of the pairs, or `near`."""
    if n_few is None:
        start, damping = problem.start(), FIRST_DAMPING
    else:
        if near is not None and near.converged:
            row = near.row_effects
        else:
            row = _rows_of_few(rates, weights, shrinkage, problem.mean, n_few, problem.threads)
        # Near the optimum already, so hardly damped: 1e-6 is the least that a step which disappoints is given.
        start, damping = problem.start_from(row[problem.fitted]), 1e-6
    return descend(problem, start, 0.0, tolerance=problem.tolerance, damping=damping)


def fit_replicate(
    rates: PairwiseRates, weights: PairWeights, shrinkage: float, *, one_optimum: bool = False
) -> Factorization:
    """As `fit_rank_one`, on one thread and for the effects only, in the precision of the rates.

    `one_optimum` says that thresholds are such that a fit of some of the pairs may come first.
    """
    problem = _Problem.of(rates, weights, shrinkage, Threads(1), is_replicate=True)
    if not problem.fitted.any():
        return _without_rows(problem, rates, weights, shrinkage)
    # Compiled as a whole are only descents that solve for the pairs.
    if not problem.keeps_pairs:
        n_few = _size_of_first_fit(rates.n_pairs, one_optimum=one_optimum)
        end = _descended(problem, rates, weights, shrinkage, n_few)
        return _factorization(problem, end.state.row, end.state.pairs.effect, end, rates, weights, shrinkage)
    row, effect, till = problem.first_row(), np.ones(rates.n_pairs), problem.tolerance
    limits = (till.move, till.gradient, till.damping, problem.rounding)
    ended, n_iter, row, effect = descend_small(problem.data, row, effect, *limits)
    # In the order of CONVERGED, MAX_ITER, STALLED in `_numba/_descent.py`.
    status = (Status.CONVERGED, Status.MAX_ITER, Status.STALLED)[ended]
    # Without the deviance: nobody reads that of a replicate.
    ending: Descent[None] = Descent(None, np.zeros(1), n_iter, status)
    return _factorization(problem, row, effect, ending, rates, weights, shrinkage)


def _without_rows(problem: "_Problem", rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Factorization:
    """Where every rate of every row is 0, or is 1: nothing is left to fit."""
    ending: Descent[None] = Descent(None, np.zeros(1), 0, Status.CONVERGED)
    return _factorization(problem, np.empty(0), np.ones(rates.n_pairs), ending, rates, weights, shrinkage)


def _factorization(
    problem: "_Problem",
    inner: FloatArray,
    effect: FloatArray,
    end: Descent[Any],
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
) -> Factorization:
    """The effects that a descent ended with, scaled, and with the rows that were not fitted."""
    if end.status is not Status.CONVERGED:
        # For any v the rows that solve (row) make a curve that rises, as those of a fit that ended early need not.
        inner = _solve_rows(rates, weights, shrinkage, problem.fitted, inner, effect)
    row = np.where(problem.mean < 0.5, -LOGIT_BOUND, LOGIT_BOUND)
    # The product leaves a scale free: (curve) has the mean of the pair effects at 1.
    row[problem.fitted] = inner * effect.mean()
    return Factorization(
        row_effects=row,
        pair_effects=effect / effect.mean(),
        deviance=max(0.0, float(end.deviance_path[-1])),
        deviance_path=end.deviance_path,
        n_iter=end.n_iter,
        status=end.status,
        mean_rates=problem.mean,
    )


def _rows_of_few(
    rates: PairwiseRates, weights: PairWeights, shrinkage: float, mean: FloatArray, n_few: int, threads: Threads
) -> FloatArray:
    """Row effects by a rough fit of a sample of the pairs: nearly those of all, at a fraction of the work."""
    # A seed of its own: the same rates always give the same fit.
    few = np.sort(np.random.default_rng(0).choice(rates.n_pairs, n_few, replace=False))
    of_few = PairWeights(weights.tpr[few], weights.fpr[few], weights.size[few])
    problem = _Problem.of(rates.of_pairs(few), of_few, shrinkage, threads)
    row = np.asarray(logit(np.clip(mean, EDGE, 1 - EDGE)))
    if not problem.fitted.any():
        return row
    end = descend(problem, problem.start(), 0.0, tolerance=ROUGH)
    found = end.state.row * end.state.pairs.effect.mean()
    # A larger effect would start its row at rates of 0 or 1; such a row stays at the logit of its mean.
    row[problem.fitted] = np.where(np.abs(found) < LOGIT_BOUND, found, row[problem.fitted])
    return row


def _row_means(rates: PairwiseRates, weights: PairWeights, threads: Threads) -> FloatArray:
    parts = pieces(rates.n_pairs)
    sums = np.zeros((len(parts), 2 * rates.n_call_rates))
    by_pairs = (*_by_pairs(rates), weights.tpr, weights.fpr)
    threads.map(passes.add_row_means, [(*by_pairs, *c, out) for c, out in zip(parts, sums, strict=True)])
    # Within a row omega_r of (weights) is the same everywhere and cancels.
    totals: FloatArray = np.repeat([weights.tpr.sum(), weights.fpr.sum()], rates.n_call_rates)
    means: FloatArray = sums.sum(axis=0) / totals
    return means


def _by_pairs(rates: PairwiseRates) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The rates as the kernels want them: (K, T), FPR empty where it follows from TPR, and twice the call rates."""
    tpr = np.ascontiguousarray(rates.tpr.T)
    fpr = np.empty((0, 0), tpr.dtype) if rates.separate_fpr is None else np.ascontiguousarray(rates.separate_fpr.T)
    # Read-only always: numba would compile once more for arrays that may be written to.
    return read_only(tpr.view()), read_only(fpr.view()), (2 * rates.call_rates).astype(tpr.dtype)


def _solve_rows(
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    fitted: BoolArray,
    row: FloatArray,
    effect: FloatArray,
) -> FloatArray:
    """The best row effects for the pair effects of a fit that ended early, a few rows at a time."""
    solved, n = row.copy(), rates.n_call_rates
    # In 32 blocks, because the cells are laid out here as (rows, K): all at once would need 32 times the memory.
    for block in np.array_split(np.flatnonzero(fitted), 32):
        rate = np.vstack([rates.tpr[block[block < n]], rates.fpr[block[block >= n] - n]])
        # Each row is solved by itself, whatever its call rate counts for.
        weight = np.where(block[:, None] < n, weights.tpr, weights.fpr)
        cells = shrunk_rows(rate, weight, weights.size, shrinkage)
        at = np.searchsorted(np.flatnonzero(fitted), block)
        solved[at] = solve_rows(cells, row[at][:, None], effect)[:, 0]
    return solved


def _interior(mean: FloatArray) -> slice:
    """The rows of one kind of rate with something to fit: the means rise, so they lie together."""
    inside = np.flatnonzero((mean > EDGE) & (mean < 1 - EDGE))
    return slice(int(inside[0]), int(inside[-1]) + 1) if len(inside) else slice(0, 0)


def _keeps_pairs(data: passes.Data) -> bool:
    return bool(data.tpr.shape[0] <= data.mean.shape[0])


class _Room(NamedTuple):
    """What a sweep works in: fresh memory in every sweep would cost more than its use."""

    work: FloatArray
    block: FloatArray
    turned: FloatArray


def _room(data: passes.Data) -> _Room:
    n_rows = len(data.mean)
    # Four: `add_gram` takes tiles of four rows. What is added to fill them stays 0.
    side, n_gathered = (0, 0) if _keeps_pairs(data) else ((n_rows + 3) // 4 * 4, passes.BLOCK)
    return _Room(
        work=np.empty((10, n_rows), dtype=data.tpr.dtype),
        block=np.empty((n_gathered, n_rows), dtype=np.float32),
        turned=np.zeros((side, n_gathered), dtype=np.float32),
    )


def _step_room(data: passes.Data) -> steps.StepRoom:
    n_pairs, n_rows = len(data.tpr), len(data.mean)
    # Where pairs are gone, the sweep finds their part of the step, pair by pair, and needs no room here.
    kept, gone = (n_pairs, n_rows) if _keeps_pairs(data) else (n_rows, 0)
    side = (kept + 3) // 4 * 4
    return steps.StepRoom(
        system=np.empty((side, side)),
        kept=np.empty((4, kept)),
        gone=np.empty((3, gone)),
        coupling=np.zeros((side if gone else 0, gone), dtype=data.tpr.dtype),
    )


def data_of(
    rates: PairwiseRates, weights: PairWeights, shrinkage: float, mean: FloatArray, *, far: float = passes.FAR
) -> tuple[passes.Data, BoolArray]:
    """The cells of a fit, given the means of all 2T rows, and which rows are fitted."""
    n = rates.n_call_rates
    on_tpr, on_fpr = _interior(mean[:n]), _interior(mean[n:])
    fitted = np.zeros(2 * n, dtype=np.bool_)
    fitted[:n][on_tpr] = fitted[n:][on_fpr] = True
    tpr, fpr, doubled = _by_pairs(rates)
    data = passes.Data(
        tpr=tpr,
        fpr=fpr,
        doubled=doubled,
        first_tpr=on_tpr.start,
        first_fpr=on_fpr.start,
        n_tpr=on_tpr.stop - on_tpr.start,
        curved=2**32 if rates.n_pairs <= MANY_PAIRS else 2**32 * CURVED_PAIRS // rates.n_pairs,
        on_tpr=weights.tpr,
        on_fpr=weights.fpr,
        on_row=np.tile(rates.row_weights, 2)[fitted].astype(tpr.dtype),
        keep=weights.size / (weights.size + shrinkage),
        mean=mean[fitted].astype(tpr.dtype),
        far=far,
    )
    return data, fitted


@dataclass(frozen=True, eq=False)
class _Sums:
    """What a sweep leaves behind: the cross terms where pairs are kept, else their gram matrix."""

    row: FloatArray
    total: FloatArray
    cross: FloatArray | None
    gram: FloatArray | None


@dataclass(frozen=True, eq=False)
class _State:
    """Row effects in double, pair effects, and what the last sweep summed there."""

    row: FloatArray
    pairs: passes.PairState
    sums: "_Sums"


@dataclass(frozen=True, eq=False)
class _Problem:
    """The descent of a fit, whose steps and sweeps are compiled."""

    data: passes.Data
    fitted: BoolArray
    mean: FloatArray  # of all 2T rows
    threads: Threads
    chunks: list[tuple[int, int]]
    rooms: list[_Room]
    step_room: steps.StepRoom

    @classmethod
    def of(
        cls,
        rates: PairwiseRates,
        weights: PairWeights,
        shrinkage: float,
        threads: Threads,
        *,
        is_replicate: bool = False,
    ) -> "_Problem":
        mean = _row_means(rates, weights, threads)
        far = passes.FAR_IN_REPLICATES if is_replicate else passes.FAR
        data, fitted = data_of(rates, weights, shrinkage, mean, far=far)
        # Replicates share the threads: each is swept in one piece.
        parts = [(0, rates.n_pairs)] if is_replicate else pieces(rates.n_pairs)
        return cls(data, fitted, mean, threads, parts, [_room(data) for _ in parts], _step_room(data))

    @property
    def precision(self) -> Any:
        return self.data.tpr.dtype

    @property
    def tolerance(self) -> Tolerance:
        return Tolerance() if self.precision == np.float64 else SINGLE_TOLERANCE

    @property
    def rounding(self) -> float:
        """Rounding error of the change of the deviance, per unit of what moved."""
        return 1e-15 if self.precision == np.float64 else SINGLE_ROUNDING

    @property
    def steady(self) -> float:
        return STEADY if self.precision == np.float64 else SINGLE_STEADY

    @property
    def keeps_pairs(self) -> bool:
        """Whether the pairs are the smaller side, which is solved for."""
        return _keeps_pairs(self.data)

    def start(self) -> _State:
        """All pairs alike, and each row at the logit of its mean."""
        pairs = self._room_for_pairs()
        pairs.effect[:] = 1.0
        return self.state(self.first_row(), pairs)

    def first_row(self) -> FloatArray:
        return np.asarray(logit(np.clip(self.mean[self.fitted], EDGE, 1 - EDGE)))

    def start_from(self, row: FloatArray) -> _State:
        """Rows that some of the pairs have found, and the effects that go with them."""
        # Neighbours in the table differ by 7 %; between them effects are interpolated.
        pairs, effects = self._room_for_pairs(), np.geomspace(0.01, 100, 129)
        pull = self.data.on_row * row
        pulls = pull * expit(np.outer(effects, row))
        n = self.data.n_tpr
        table = np.array([effects, pulls[:, :n].sum(axis=1), pulls[:, n:].sum(axis=1)])
        tasks = [(self.data, pull.astype(self.precision), table, *c, pairs.effect) for c in self.chunks]
        self.threads.map(passes.solve_effects, tasks)
        return self.state(row, pairs)

    def state(self, row: FloatArray, pairs: passes.PairState) -> _State:
        """Linearise at these effects; what `pairs` says beside them is found anew."""
        return _State(row, pairs, self._sweep(row, row, pairs, pairs, stretch=0.0))

    def deviances(self, state: _State, call_rates: FloatArray) -> tuple[float, float]:
        """The deviance at a state, and that of chance in the same rows."""
        row = state.row.astype(self.precision)
        by_chance = np.tile(call_rates, 2)[self.fitted]
        chance = np.log([by_chance, 1 - by_chance]).astype(self.precision)
        tasks = [(self.data, row, state.pairs.effect, chance, *c) for c in self.chunks]
        here, there = zip(*self.threads.map(passes.add_deviance, tasks), strict=True)
        # The kernels sum half the deviance.
        return float(2 * sum(here)), float(2 * sum(there))

    def attempt(self, state: _State, damping: float) -> Attempt[_State] | None:
        stretch = 1 + damping
        row, pairs, total = np.empty_like(state.row), self._room_for_pairs(), np.zeros(passes.N_TOTALS)
        sums = state.sums
        if self.keeps_pairs:
            given = (state.row, sums.row, state.pairs, sums.cross, stretch)
            solved = steps.step_pairs(*given, row, pairs.effect, total, self.step_room)
        else:
            solved = steps.step_rows(state.row, sums.row, sums.gram, stretch, row, total, self.step_room)
        if not solved:
            return None
        # Where rows hardly move their curvature stays, much of the work: it bends the steps, not where they lead.
        steady = not self.keeps_pairs and np.abs(row - state.row).max() < self.steady
        swept = self._sweep(state.row, row, state.pairs, pairs, stretch=stretch, curvature=sums if steady else None)
        total += swept.total
        # With (H + damping D) y = -g the quadratic model falls by -g.y / 2 + damping y.D.y / 2.
        promised = total[passes.FALL] + 0.5 * damping * total[passes.LENGTH]
        curve = np.abs(expit(row * pairs.effect.mean()) - expit(state.row * state.pairs.effect.mean())).max()
        noise = self.rounding * total[passes.NOISE]
        trial = _State(row, pairs, swept)
        return Attempt(trial, total[passes.CHANGE], noise, promised, max(total[passes.MOVE], curve))

    def gradient(self, state: _State) -> float:
        total = state.sums.total
        # A row's gradient is a sum of w v times residuals: divided by the sum of w v it is a mean of residuals.
        scale = np.where(
            np.arange(len(state.row)) < self.data.n_tpr, total[passes.WEIGHT_TPR], total[passes.WEIGHT_FPR]
        )
        rows = np.abs(state.sums.row[passes.ROW_GRADIENT]) / (self.data.on_row * scale)
        return float(max(rows.max(), total[passes.PAIR_GRADIENT]))

    def _room_for_pairs(self) -> passes.PairState:
        n_pairs = len(self.data.tpr)
        effect, gradient, block = np.empty((3, n_pairs))
        return passes.PairState(effect, gradient, block, np.empty(n_pairs, dtype=np.bool_))

    def _sweep(
        self,
        row: FloatArray,
        row_new: FloatArray,
        old: passes.PairState,
        new: passes.PairState,
        *,
        stretch: float,
        curvature: _Sums | None = None,
    ) -> _Sums:
        """Sweep all pairs, with the curvature of the rows from an earlier sweep or their own."""
        n_rows, rooms = len(row), self.rooms
        by_rows = np.zeros((len(rooms), passes.N_ROW_SUMS, n_rows))
        totals = np.zeros((len(rooms), passes.N_TOTALS))
        cross = np.empty((len(self.data.tpr), n_rows), dtype=self.precision) if self.keeps_pairs else None
        # Single precision will do: it bends the steps a little, not where they lead.
        grams = None if self.keeps_pairs else np.zeros((len(rooms), *self.step_room.system.shape), dtype=np.float32)
        rows = (row.astype(self.precision, copy=False), row_new.astype(self.precision, copy=False))
        data = self.data if curvature is None else self.data._replace(curved=0)
        tasks = []
        for p, (piece, room) in enumerate(zip(self.chunks, rooms, strict=True)):
            gathering = None if grams is None else passes.Gathering(grams[p], room.block, room.turned)
            added = (by_rows[p], totals[p], room.work, cross, gathering)
            tasks.append((data, *rows, old, new, stretch, *piece, *added))
        self.threads.map(passes.sweep, tasks)
        # Pieces add up in their order, whichever thread was first; of these two the largest counts.
        largest = totals[:, [passes.MOVE, passes.PAIR_GRADIENT]].max(axis=0)
        total = totals.sum(axis=0)
        total[[passes.MOVE, passes.PAIR_GRADIENT]] = largest
        row_sums = by_rows.sum(axis=0)
        if curvature is not None:
            row_sums[passes.ROW_BLOCK] = curvature.row[passes.ROW_BLOCK]
            return _Sums(row_sums, total, cross, curvature.gram)
        # The pairs that were picked stand for all.
        share = self.data.curved / 2**32
        row_sums[passes.ROW_BLOCK] /= share
        return _Sums(row_sums, total, cross, None if grams is None else grams.sum(axis=0, dtype=np.float64) / share)
