"""The problem that a compiled fit descends on: its cells, and the sweeps of few pairs and of many.

With more pairs than rows, steps are solved for the rows, and each pair follows in the sweep. Pairs are swept in pieces,
which depend on their number alone, and pieces are added up in their order. So results do not depend on the number of
threads. T call rates, K pairs, R fitted rows, P pieces; S is R rounded up to a multiple of four.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from polyroc._core.fit import (
    ROUNDING,
    SINGLE_ROUNDING,
    SINGLE_STEADY,
    SINGLE_TOLERANCE,
    STEADY,
    Attempt,
    Tolerance,
)
from polyroc._core.numba import fit as passes
from polyroc._core.numba.compile import kernel
from polyroc._core.numba.fit import FAR, Data, add_row_means
from polyroc._core.numba.steps import StepRoom, step_pairs, step_rows
from polyroc._core.weights import EDGE
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc._records import PairWeights, PairwiseRates, read_only

# A fit of more pairs than these begins where a fit of some of them ended: of a quarter of MEDIUM, or of CURVED. Beyond
# MANY the curvature of the rows, too, is that of CURVED pairs: it bends the steps a little, not where they lead.
MEDIUM_PAIRS, MANY_PAIRS, CURVED_PAIRS = 4_096, 32_768, 8_192

# Cells whose means are found in a millisecond or two.
_FEW_CELLS = 4_000_000


def size_of_first_fit(n_pairs: int, *, one_optimum: bool) -> int | None:
    """How many of the pairs are fitted first, to begin near the end; None where all begin alike."""
    if n_pairs > MANY_PAIRS:
        return CURVED_PAIRS
    return MEDIUM_PAIRS // 4 if n_pairs > MEDIUM_PAIRS and one_optimum else None


def pieces(n_pairs: int) -> list[tuple[int, int]]:
    """The pieces in which the pairs of a fit are swept."""
    # At most 32, twice as many as threads are common: a core that is slower, or busy, takes fewer. More would have more
    # gram matrices to add up. Below 512 pairs a sweep takes less than a millisecond. Of the pairs of a first, rough fit
    # each piece has fewer, so that there is work for 16 threads.
    return chunks(n_pairs, 128 if n_pairs < MEDIUM_PAIRS else 256, 32) if n_pairs >= 512 else [(0, n_pairs)]


@dataclass(frozen=True, eq=False)
class Cells:
    """What is fitted, as the kernels want it."""

    data: Data
    fitted: BoolArray
    """Which of the 2T rows have something to fit."""
    mean: FloatArray
    """Of all 2T rows."""

    @property
    def n_pairs(self) -> int:
        return len(self.data.tpr)

    @property
    def n_rows(self) -> int:
        """Rows that are fitted."""
        return len(self.data.mean)

    @property
    def precision(self) -> Any:
        return self.data.tpr.dtype

    @property
    def is_single(self) -> bool:
        return bool(self.precision == np.float32)

    @property
    def keeps_pairs(self) -> bool:
        """Whether the pairs are the smaller side, which is solved for."""
        return self.n_pairs <= self.n_rows

    @property
    def tolerance(self) -> Tolerance:
        return SINGLE_TOLERANCE if self.is_single else Tolerance()

    @property
    def rounding(self) -> float:
        return SINGLE_ROUNDING if self.is_single else ROUNDING

    @property
    def first_row(self) -> FloatArray:
        """Where each row begins if all pairs are alike: at the logit of its mean."""
        return np.asarray(logit(np.clip(self.mean[self.fitted], EDGE, 1 - EDGE)))


def cells_of(
    rates: PairwiseRates, weights: PairWeights, shrinkage: float, mean: FloatArray, *, far: float = FAR
) -> Cells:
    """The cells of a fit, given the means of all 2T rows."""
    n = rates.n_call_rates
    on_tpr, on_fpr = _interior(mean[:n]), _interior(mean[n:])
    fitted = np.zeros(2 * n, dtype=np.bool_)
    fitted[:n][on_tpr] = fitted[n:][on_fpr] = True
    tpr, fpr, doubled = _by_pairs(rates)
    data = Data(
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
    return Cells(data, fitted, mean)


def row_means(rates: PairwiseRates, weights: PairWeights, threads: Threads) -> FloatArray:
    """The mean rate of each of the 2T rows."""
    # Few are done before a thread that helps has begun.
    parts = pieces(rates.n_pairs) if rates.tpr.size > _FEW_CELLS else [(0, rates.n_pairs)]
    sums = np.zeros((len(parts), 2 * rates.n_call_rates))
    by_pairs = (*_by_pairs(rates), weights.tpr, weights.fpr)
    threads.map(add_row_means, [(*by_pairs, *c, out) for c, out in zip(parts, sums, strict=True)])
    # Within a row omega_r of (weights) is the same everywhere and cancels.
    totals: FloatArray = np.repeat([weights.tpr.sum(), weights.fpr.sum()], rates.n_call_rates)
    means: FloatArray = sums.sum(axis=0) / totals
    return means


def _interior(mean: FloatArray) -> slice:
    """The rows of one kind of rate with something to fit: the means rise, so they lie together."""
    inside = np.flatnonzero((mean > EDGE) & (mean < 1 - EDGE))
    return slice(int(inside[0]), int(inside[-1]) + 1) if len(inside) else slice(0, 0)


def _by_pairs(rates: PairwiseRates) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The rates as the kernels want them: (K, T), FPR empty where it follows from TPR, and twice the call rates."""
    tpr = np.ascontiguousarray(rates.tpr.T)
    fpr = np.empty((0, 0), tpr.dtype) if rates.separate_fpr is None else np.ascontiguousarray(rates.separate_fpr.T)
    # Read-only always: numba would compile once more for arrays that may be written to.
    return read_only(tpr.view()), read_only(fpr.view()), (2 * rates.call_rates).astype(tpr.dtype)


# Effects at which sums are looked up for a start: neighbours differ by 7 %.
N_EFFECTS = 129


def effects_of(cells: Cells, row: FloatArray, parts: list[tuple[int, int]], threads: Threads) -> FloatArray:
    """The effects that go with row effects which some of the pairs have found, shape (K,)."""
    # Between neighbours in the table effects are interpolated.
    effects, data = np.geomspace(0.01, 100, N_EFFECTS), cells.data
    pull, n = data.on_row * row, data.n_tpr
    pulls = pull * expit(np.outer(effects, row))
    table = np.array([effects, pulls[:, :n].sum(axis=1), pulls[:, n:].sum(axis=1)])
    found, pull = np.empty(cells.n_pairs), pull.astype(cells.precision)
    threads.map(passes.solve_effects, [(data, pull, table, *part, found) for part in parts])
    return found


def deviances(
    cells: Cells,
    row: FloatArray,
    effect: FloatArray,
    call_rates: FloatArray,
    parts: list[tuple[int, int]],
    threads: Threads,
) -> tuple[float, float]:
    """The deviance at these effects, and that of chance in the same rows."""
    by_chance = np.tile(call_rates, 2)[cells.fitted]
    chance = np.log([by_chance, 1 - by_chance]).astype(cells.precision)
    at = (cells.data, row.astype(cells.precision), effect, chance)
    # The kernels sum half the deviance.
    here, there = 2 * np.array(threads.map(passes.add_deviance, [(*at, *part) for part in parts])).sum(axis=0)
    return float(here), float(there)


@dataclass(frozen=True, eq=False)
class Buffers:
    """The arrays of a fit by pieces; those of a state, of two, have an axis of length two in front."""

    rows: FloatArray
    """(2, R) lambda of both states, in the working precision."""
    effect: FloatArray
    """(2, K), as the next three in `PairState`."""
    gradient: FloatArray
    block: FloatArray
    pinned: BoolArray
    row_sums: FloatArray
    """(P, 4, R)."""
    totals: FloatArray
    """(P, 8)."""
    grams: FloatArray
    """(P, S, S) of the pieces, in single precision: it bends steps a little, not where they lead."""
    gram: FloatArray
    """(2, S, S) their sums, in double, on and above the diagonal; one for each state at most."""
    spare: "deque[tuple[FloatArray, FloatArray, FloatArray]]"
    """What a sweep of a piece works in, one for each thread: (10, R), (BLOCK, R) and (S, BLOCK)."""

    @classmethod
    def of(cls, cells: Cells, n_pieces: int, n_threads: int) -> "Buffers":
        """For pieces that this many threads sweep."""
        n_pairs, n_rows, precision = cells.n_pairs, cells.n_rows, cells.precision
        side = (n_rows + 3) // 4 * 4
        effect, gradient, block = np.empty((3, 2, n_pairs))
        return cls(
            rows=np.empty((2, n_rows), dtype=precision),
            effect=effect,
            gradient=gradient,
            block=block,
            pinned=np.empty((2, n_pairs), dtype=np.bool_),
            row_sums=np.empty((n_pieces, passes.N_ROW_SUMS, n_rows)),
            totals=np.empty((n_pieces, passes.N_TOTALS)),
            grams=np.empty((n_pieces, side, side), dtype=np.float32),
            gram=np.zeros((2, side, side)),
            spare=deque(
                (
                    np.empty((10, n_rows), dtype=precision),
                    np.empty((passes.BLOCK, n_rows), dtype=np.float32),
                    # Zeros: rows beyond R fill up tiles of four and stay what they are.
                    np.zeros((side, passes.BLOCK), dtype=np.float32),
                )
                for _ in range(min(n_threads, n_pieces))
            ),
        )

    def pairs(self, slot: int) -> passes.PairState:
        """What pairs have in one of the two states."""
        return passes.PairState(self.effect[slot], self.gradient[slot], self.block[slot], self.pinned[slot])


def buffer_memory(n_pairs: int, n_rows: int, n_pieces: int, n_threads: int, itemsize: int) -> int:
    """Bytes of `Buffers`."""
    by_pairs, by_pieces = 2 * 25 * n_pairs, n_pieces * (8 * passes.N_ROW_SUMS * n_rows + 4 * (n_rows + 3) ** 2)
    by_threads = min(n_threads, n_pieces) * (10 * itemsize * n_rows + 8 * passes.BLOCK * (n_rows + 3))
    return by_pairs + by_pieces + by_threads + 16 * (n_rows + 3) ** 2


@dataclass(frozen=True, eq=False)
class State:
    """Row effects in double, pair effects, and what the last sweep summed there."""

    row: FloatArray
    pairs: passes.PairState
    row_sums: FloatArray
    total: FloatArray
    slot: int = 0
    """Of eliminated pairs: which of the two states of the buffers it is."""
    place: int = 0
    """Likewise: where the buffers have its gram matrix of scaled cross terms, its own or one before that is as good."""
    cross: Any = None
    """Of kept pairs: the cross terms, (K, R)."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The descent of a fit, whose steps and sweeps are compiled."""

    cells: Cells
    room: StepRoom

    def attempt(self, state: State, damping: float) -> Attempt[State] | None:
        """Solve for the step with this damping, and say what it would change."""
        total = np.zeros(passes.N_TOTALS)
        trial = self._tried(state, 1 + damping, total)
        if trial is None:
            return None
        total += trial.total
        # With (H + damping D) y = -g the quadratic model falls by -g.y / 2 + damping y.D.y / 2.
        promised = total[passes.FALL] + 0.5 * damping * total[passes.LENGTH]
        curve = np.abs(_scaled_curve(trial) - _scaled_curve(state)).max()
        noise = self.cells.rounding * total[passes.NOISE]
        return Attempt(trial, total[passes.CHANGE], noise, promised, max(total[passes.MOVE], curve))

    def gradient(self, state: State) -> float:
        """The largest mean residual of a row or a pair."""
        total, data = state.total, self.cells.data
        # A row's gradient is a sum of w v times residuals: divided by the sum of w v it is a mean of residuals.
        scale = np.where(np.arange(len(state.row)) < data.n_tpr, total[passes.WEIGHT_TPR], total[passes.WEIGHT_FPR])
        rows = np.abs(state.row_sums[passes.ROW_GRADIENT]) / (data.on_row * scale)
        return float(max(rows.max(), total[passes.PAIR_GRADIENT]))

    def _tried(self, state: State, stretch: float, total: FloatArray) -> State | None:
        """Where a step leads, whose fall and length are added to `total`; None if it cannot be solved for."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class KeptPairs(Problem):
    """A fit whose pairs are kept: they are one piece of work."""

    @classmethod
    def of(cls, cells: Cells) -> "KeptPairs":
        """Room for its steps."""
        n_pairs, n_rows = cells.n_pairs, cells.n_rows
        # `add_gram` takes tiles of four rows.
        side = (n_pairs + 3) // 4 * 4
        coupling = np.zeros((side, n_rows), dtype=cells.precision)
        return cls(cells, StepRoom(np.empty((side, side)), np.empty((4, n_pairs)), np.empty((3, n_rows)), coupling))

    def start(self, row: FloatArray, effect: FloatArray) -> State:
        """The state at these effects, by a sweep from nowhere."""
        pairs = self._new_pairs()
        pairs.effect[:] = effect
        return self._swept(row, row, pairs, pairs, stretch=0.0)

    def _tried(self, state: State, stretch: float, total: FloatArray) -> State | None:
        row, pairs = np.empty_like(state.row), self._new_pairs()
        given = (state.row, state.row_sums, state.pairs, state.cross, stretch)
        if not step_pairs(*given, row, pairs.effect, total, self.room):
            return None
        return self._swept(state.row, row, state.pairs, pairs, stretch=stretch)

    def _new_pairs(self) -> passes.PairState:
        effect, gradient, block = np.empty((3, self.cells.n_pairs))
        return passes.PairState(effect, gradient, block, np.empty(self.cells.n_pairs, dtype=np.bool_))

    def _swept(
        self, row: FloatArray, row_new: FloatArray, old: passes.PairState, new: passes.PairState, *, stretch: float
    ) -> State:
        """The state that rows and pairs have been moved to."""
        n_pairs, n_rows, precision = self.cells.n_pairs, self.cells.n_rows, self.cells.precision
        row_sums, total = np.zeros((passes.N_ROW_SUMS, n_rows)), np.zeros(passes.N_TOTALS)
        cross, work = np.empty((n_pairs, n_rows), dtype=precision), np.empty((10, n_rows), dtype=precision)
        rows = (row.astype(precision, copy=False), row_new.astype(precision, copy=False))
        passes.sweep(self.cells.data, *rows, old, new, stretch, True, 0, n_pairs, row_sums, total, work, cross, None)
        return State(row_new, new, row_sums, total, cross=cross)


@dataclass(frozen=True, eq=False)
class EliminatedPairs(Problem):
    """A fit whose pairs are eliminated, piece by piece."""

    parts: list[tuple[int, int]]
    threads: Threads
    buffers: Buffers

    @classmethod
    def of(cls, cells: Cells, parts: list[tuple[int, int]], threads: Threads) -> "EliminatedPairs":
        """By as many threads as there are, or parts."""
        side = (cells.n_rows + 3) // 4 * 4
        # The sweep finds the pairs' part of a step, pair by pair, and needs no room here.
        coupling = np.zeros((0, 0), dtype=cells.precision)
        room = StepRoom(np.empty((side, side)), np.empty((4, cells.n_rows)), np.empty((3, 0)), coupling)
        return cls(cells, room, parts, threads, Buffers.of(cells, len(parts), threads.size))

    def start(self, row: FloatArray, effect: FloatArray) -> State:
        """The state at these effects, by a sweep from nowhere."""
        self.buffers.rows[0], self.buffers.effect[0] = row, effect
        self._sweep(0, 0, 0.0, 0)
        return self._summed(row, slot=0, place=0)

    def _tried(self, state: State, stretch: float, total: FloatArray) -> State | None:
        row, buffers, slot = np.empty_like(state.row), self.buffers, 1 - state.slot
        if not step_rows(state.row, state.row_sums, buffers.gram[state.place], stretch, row, total, self.room):
            return None
        buffers.rows[slot] = row
        # Where rows hardly move their curvature stays, much of the work: it bends the steps, not where they lead.
        is_steady = np.abs(row - state.row).max() < (SINGLE_STEADY if self.cells.is_single else STEADY)
        # Not where that of the old state is: the step may be refused.
        place = state.place if is_steady else 1 - state.place
        self._sweep(state.slot, slot, stretch, None if is_steady else place)
        return self._summed(row, slot, place, block=state.row_sums[passes.ROW_BLOCK] if is_steady else None)

    def _sweep(self, old: int, new: int, stretch: float, place: int | None) -> None:
        """Sweep from one state to another; the curvature of the rows goes to a place for it, or is left out."""
        buffers, data = self.buffers, self.cells.data
        moves = (data, buffers.rows[old], buffers.rows[new], buffers.pairs(old), buffers.pairs(new), stretch)

        def sweep_piece(p: int, start: int, stop: int) -> None:
            work, block, turned = spare = buffers.spare.pop()
            row_sums, total, gram = buffers.row_sums[p], buffers.totals[p], buffers.grams[p]
            row_sums[:], total[:] = 0.0, 0.0
            if place is not None:
                gram[:] = 0.0
            gathering = passes.Gathering(gram, block, turned)
            passes.sweep(*moves, place is not None, start, stop, row_sums, total, work, None, gathering)
            buffers.spare.append(spare)

        self.threads.map(sweep_piece, [(p, *part) for p, part in enumerate(self.parts)])
        if place is not None:
            # The pairs that were picked stand for all.
            add_grams(buffers.grams, data.curved / 2.0**32, buffers.gram[place])

    def _summed(self, row: FloatArray, slot: int, place: int, *, block: FloatArray | None = None) -> State:
        """The state that has just been swept; `block` is the rows' curvature, where that stays."""
        buffers = self.buffers
        # Of these two the largest counts.
        largest = buffers.totals[:, [passes.MOVE, passes.PAIR_GRADIENT]].max(axis=0)
        total = buffers.totals.sum(axis=0)
        total[[passes.MOVE, passes.PAIR_GRADIENT]] = largest
        row_sums = buffers.row_sums.sum(axis=0)
        found = row_sums[passes.ROW_BLOCK] / (self.cells.data.curved / 2**32)
        row_sums[passes.ROW_BLOCK] = found if block is None else block
        return State(row, buffers.pairs(slot), row_sums, total, slot, place)


def _scaled_curve(state: State) -> FloatArray:
    found: FloatArray = expit(state.row * state.pairs.effect.mean())
    return found


@kernel
def add_grams(grams: Any, share: float, out: Any) -> None:
    """Add up the gram matrices of all pieces, in their order, divided by the share of the pairs that is in them."""
    for i in range(out.shape[0]):
        total = out[i, i:]
        for k in range(total.shape[0]):
            total[k] = 0.0
        for p in range(grams.shape[0]):
            more = grams[p, i, i:]
            for k in range(more.shape[0]):
                total[k] += np.float64(more[k])
        for k in range(total.shape[0]):
            total[k] /= share
