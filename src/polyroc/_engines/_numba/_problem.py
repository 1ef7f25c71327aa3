"""The rank-one fit of the fast engine: the descent of `_engines/_descent.py`, whose steps and sweeps are compiled.

Words in parentheses are the labels of equations in docs/method.md. T call rates, K pairs, R fitted rows of 2T: some of
the true positive rates, then some of the false.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from polyroc._engines._cells import EDGE, LOGIT_BOUND, outer_chance, shrunk_rows
from polyroc._engines._descent import FIRST_DAMPING, Attempt, Descent, Tolerance, descend
from polyroc._engines._numba import _fit as passes
from polyroc._engines._numba import _steps as steps
from polyroc._engines._numba._crew import N_EFFECTS, Crew, new_job
from polyroc._engines._numba._descent import descend_small
from polyroc._engines._numpy._solver import solve_rows
from polyroc._lib._threads import Threads, chunks
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


# Cells whose means are found in a millisecond or two.
_FEW_CELLS = 4_000_000


def pieces(n_pairs: int) -> list[tuple[int, int]]:
    """The pieces in which the pairs of a fit are swept."""
    # At most 32, twice as many as threads are common: a core that is slower, or busy, takes fewer. More would have more
    # gram matrices to add up. Below 512 pairs a sweep takes less than a millisecond. Of the pairs of a first, rough fit
    # each piece has fewer, so that there is work for 16 threads.
    return chunks(n_pairs, 128 if n_pairs < MEDIUM_PAIRS else 256, 32) if n_pairs >= 512 else [(0, n_pairs)]


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
            return replace(fit, chance_deviance=outer_chance(problem.mean, ~problem.fitted, rates, _totals(weights)))
        # Own thresholds, for which FPR is not stored, hardly ever have a second optimum; shared ones may.
        n_few = _size_of_first_fit(rates.n_pairs, one_optimum=rates.separate_fpr is None)
        row = None if n_few is None else _first_rows(problem, rates, weights, shrinkage, n_few, near)
        with problem.at_work():
            end = _descended(problem, row)
            # Not at the start: the changes of long moves miss a little, which must not add up in the deviance.
            deviance, of_chance = problem.deviances(end.state, rates.call_rates)
        end = replace(end, deviance_path=end.deviance_path - end.deviance_path[-1] + max(0.0, deviance))
    of_chance += outer_chance(problem.mean, ~problem.fitted, rates, _totals(weights))
    fit = _factorization(problem, end.state.row, end.state.pairs.effect, end, rates, weights, shrinkage)
    return replace(fit, chance_deviance=of_chance)


def _totals(weights: PairWeights) -> tuple[float, float]:
    return float(weights.tpr.sum()), float(weights.fpr.sum())


def _size_of_first_fit(n_pairs: int, *, one_optimum: bool) -> int | None:
    """How many of the pairs are fitted first, to begin near the end; None where all begin alike."""
    if n_pairs > MANY_PAIRS:
        return CURVED_PAIRS
    return MEDIUM_PAIRS // 4 if n_pairs > MEDIUM_PAIRS and one_optimum else None


def _first_rows(
    problem: "_Problem",
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    n_few: int,
    near: Factorization | None = None,
) -> FloatArray:
    """Row effects to begin with, those of fitted rows: where another fit ended, of some of the pairs or `near`."""
    if near is not None and near.converged:
        return near.row_effects[problem.fitted]
    return _rows_of_few(rates, weights, shrinkage, problem.mean, n_few, problem.threads)[problem.fitted]


def _descended(problem: "_Problem", row: FloatArray | None) -> Descent["_State"]:
    """The descent from given row effects, or from the means of the rows."""
    # From given ones near the optimum already, so hardly damped: 1e-6 is the least that a step which disappoints is
    # given.
    start, damping = (problem.start(), FIRST_DAMPING) if row is None else (problem.start_from(row), 1e-6)
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
        first = None if n_few is None else _first_rows(problem, rates, weights, shrinkage, n_few)
        end = _descended(problem, first)
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
        is_single=problem.precision == np.float32,
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
    with problem.at_work():
        end = descend(problem, problem.start(), 0.0, tolerance=ROUGH)
    found = end.state.row * end.state.pairs.effect.mean()
    # A larger effect would start its row at rates of 0 or 1; such a row stays at the logit of its mean.
    row[problem.fitted] = np.where(np.abs(found) < LOGIT_BOUND, found, row[problem.fitted])
    return row


def _row_means(rates: PairwiseRates, weights: PairWeights, threads: Threads) -> FloatArray:
    # Few are done before a thread that helps has begun.
    parts = pieces(rates.n_pairs) if rates.tpr.size > _FEW_CELLS else [(0, rates.n_pairs)]
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
    place: int = 0
    """Where the crew's job has that gram matrix."""


@dataclass(frozen=True, eq=False)
class _State:
    """Row effects in double, pair effects, and what the last sweep summed there."""

    row: FloatArray
    pairs: passes.PairState
    sums: "_Sums"
    slot: int = 0
    """Which of the two states of the crew's job it is, where there is a crew."""


@dataclass(frozen=True, eq=False)
class _Problem:
    """The descent of a fit, whose steps and sweeps are compiled."""

    data: passes.Data
    fitted: BoolArray
    mean: FloatArray  # of all 2T rows
    threads: Threads
    step_room: steps.StepRoom
    crew: Crew | None
    """Where pairs are eliminated; few pairs, which are kept, are one piece of work for this thread."""

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
        crew = None
        if not _keeps_pairs(data):
            edges = [0, *(stop for _, stop in parts)]
            crew = Crew(new_job(data, edges, min(threads.size, len(parts))), threads)
        return cls(data, fitted, mean, threads, _step_room(data), crew)

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
        return self.crew is None

    def at_work(self) -> AbstractContextManager[None]:
        """Other threads help for as long as the block runs."""
        return nullcontext() if self.crew is None else self.crew.at_work()

    def start(self) -> _State:
        """All pairs alike, and each row at the logit of its mean."""
        pairs = self._pairs(0)
        pairs.effect[:] = 1.0
        return self._started(self.first_row(), pairs)

    def first_row(self) -> FloatArray:
        return np.asarray(logit(np.clip(self.mean[self.fitted], EDGE, 1 - EDGE)))

    def start_from(self, row: FloatArray) -> _State:
        """Rows that some of the pairs have found, and the effects that go with them."""
        # Between neighbours in the table effects are interpolated.
        pairs, effects = self._pairs(0), np.geomspace(0.01, 100, N_EFFECTS)
        pull = self.data.on_row * row
        pulls = pull * expit(np.outer(effects, row))
        n = self.data.n_tpr
        table = np.array([effects, pulls[:, :n].sum(axis=1), pulls[:, n:].sum(axis=1)])
        if self.crew is None:
            passes.solve_effects(self.data, pull.astype(self.precision), table, 0, len(self.data.tpr), pairs.effect)
        else:
            self.crew.solve_effects(pull, table)
        return self._started(row, pairs)

    def _started(self, row: FloatArray, pairs: passes.PairState) -> _State:
        """Linearise at these effects; what `pairs` says beside them is found anew."""
        if self.crew is None:
            return _State(row, pairs, self._sweep_kept(row, row, pairs, pairs, stretch=0.0))
        self.crew.job.rows[0] = row
        return _State(row, pairs, self._sweep(0, 0, 0.0, None))

    def deviances(self, state: _State, call_rates: FloatArray) -> tuple[float, float]:
        """The deviance at a state, and that of chance in the same rows."""
        by_chance = np.tile(call_rates, 2)[self.fitted]
        chance = np.log([by_chance, 1 - by_chance]).astype(self.precision)
        if self.crew is None:
            given = (self.data, state.row.astype(self.precision), state.pairs.effect, chance)
            found = np.array([passes.add_deviance(*given, 0, len(self.data.tpr))])
        else:
            found = self.crew.deviances(state.slot, chance)
        # The kernels sum half the deviance.
        here, there = 2 * found.sum(axis=0)
        return float(here), float(there)

    def attempt(self, state: _State, damping: float) -> Attempt[_State] | None:
        stretch, slot = 1 + damping, 1 - state.slot
        row, pairs, total = np.empty_like(state.row), self._pairs(slot), np.zeros(passes.N_TOTALS)
        sums = state.sums
        if self.crew is None:
            given = (state.row, sums.row, state.pairs, sums.cross, stretch)
            solved = steps.step_pairs(*given, row, pairs.effect, total, self.step_room)
        else:
            solved = steps.step_rows(state.row, sums.row, sums.gram, stretch, row, total, self.step_room)
        if not solved:
            return None
        if self.crew is None:
            swept = self._sweep_kept(state.row, row, state.pairs, pairs, stretch=stretch)
        else:
            self.crew.job.rows[slot] = row
            swept = self._sweep(state.slot, slot, stretch, sums, steady=np.abs(row - state.row).max() < self.steady)
        total += swept.total
        # With (H + damping D) y = -g the quadratic model falls by -g.y / 2 + damping y.D.y / 2.
        promised = total[passes.FALL] + 0.5 * damping * total[passes.LENGTH]
        curve = np.abs(expit(row * pairs.effect.mean()) - expit(state.row * state.pairs.effect.mean())).max()
        noise = self.rounding * total[passes.NOISE]
        trial = _State(row, pairs, swept, slot)
        return Attempt(trial, total[passes.CHANGE], noise, promised, max(total[passes.MOVE], curve))

    def gradient(self, state: _State) -> float:
        total = state.sums.total
        # A row's gradient is a sum of w v times residuals: divided by the sum of w v it is a mean of residuals.
        scale = np.where(
            np.arange(len(state.row)) < self.data.n_tpr, total[passes.WEIGHT_TPR], total[passes.WEIGHT_FPR]
        )
        rows = np.abs(state.sums.row[passes.ROW_GRADIENT]) / (self.data.on_row * scale)
        return float(max(rows.max(), total[passes.PAIR_GRADIENT]))

    def _pairs(self, slot: int) -> passes.PairState:
        """Room for what pairs have in a state: of their own, or that of the crew's job."""
        if self.crew is None:
            n_pairs = len(self.data.tpr)
            effect, gradient, block = np.empty((3, n_pairs))
            return passes.PairState(effect, gradient, block, np.empty(n_pairs, dtype=np.bool_))
        job = self.crew.job
        return passes.PairState(job.effect[slot], job.gradient[slot], job.block[slot], job.pinned[slot])

    def _sweep_kept(
        self, row: FloatArray, row_new: FloatArray, old: passes.PairState, new: passes.PairState, *, stretch: float
    ) -> _Sums:
        """Sweep pairs that are kept."""
        n_rows, n_pairs = len(row), len(self.data.tpr)
        row_sums, total = np.zeros((passes.N_ROW_SUMS, n_rows)), np.zeros(passes.N_TOTALS)
        cross = np.empty((n_pairs, n_rows), dtype=self.precision)
        rows = (row.astype(self.precision, copy=False), row_new.astype(self.precision, copy=False))
        work = np.empty((10, n_rows), dtype=self.precision)
        passes.sweep(self.data, *rows, old, new, stretch, True, 0, n_pairs, row_sums, total, work, cross, None)
        return _Sums(row_sums, total, cross, None)

    def _sweep(self, old: int, new: int, stretch: float, sums: _Sums | None, *, steady: bool = False) -> _Sums:
        """Sweep pairs that are eliminated, from one state of the crew's job, which has these sums, to another.

        Where rows hardly move their curvature stays, much of the work: it bends the steps, not where they lead.
        """
        assert self.crew is not None
        job = self.crew.job
        # Not where that of the old state is: the step may be refused.
        place = 0 if sums is None or sums.place == 1 else 1
        self.crew.sweep(old, new, stretch, None if steady else place)
        # Pieces add up in their order, whichever thread was first; of these two the largest counts.
        largest = job.totals[:, [passes.MOVE, passes.PAIR_GRADIENT]].max(axis=0)
        total = job.totals.sum(axis=0)
        total[[passes.MOVE, passes.PAIR_GRADIENT]] = largest
        row_sums = job.row_sums.sum(axis=0)
        if steady and sums is not None:
            row_sums[passes.ROW_BLOCK] = sums.row[passes.ROW_BLOCK]
            return _Sums(row_sums, total, None, sums.gram, sums.place)
        # The pairs that were picked stand for all.
        row_sums[passes.ROW_BLOCK] /= self.data.curved / 2**32
        return _Sums(row_sums, total, None, job.gram[place], place)
