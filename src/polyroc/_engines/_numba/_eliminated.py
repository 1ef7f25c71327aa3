"""Fits of more pairs than rows: steps are solved for the rows, and each pair follows in the sweep.

Pairs are swept in pieces, which depend on their number alone, and pieces are added up in their order. So results do not
depend on the number of threads. K pairs, R fitted rows, P pieces; S is R rounded up to a multiple of four.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._engines._descent import SINGLE_STEADY, STEADY
from polyroc._engines._numba import _fit as passes
from polyroc._engines._numba._cells import Cells
from polyroc._engines._numba._compile import kernel
from polyroc._engines._numba._problem import Problem, State
from polyroc._engines._numba._steps import StepRoom, step_rows
from polyroc._lib.threads import Threads
from polyroc._lib.typing import BoolArray, FloatArray


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
class EliminatedState(State):
    """One of the two states of the buffers, and a gram matrix of the scaled cross terms there."""

    slot: int
    """Which of the two it is."""
    place: int
    """Where the buffers have the gram matrix: that of this state, or of one before it that is as good."""


@dataclass(frozen=True, eq=False)
class EliminatedPairs(Problem[EliminatedState]):
    """A fit whose pairs are eliminated, piece by piece."""

    parts: list[tuple[int, int]]
    threads: Threads
    buffers: Buffers
    room: StepRoom

    @classmethod
    def of(cls, cells: Cells, parts: list[tuple[int, int]], threads: Threads) -> "EliminatedPairs":
        """By as many threads as there are, or parts."""
        side = (cells.n_rows + 3) // 4 * 4
        # The sweep finds the pairs' part of a step, pair by pair, and needs no room here.
        coupling = np.zeros((0, 0), dtype=cells.precision)
        room = StepRoom(np.empty((side, side)), np.empty((4, cells.n_rows)), np.empty((3, 0)), coupling)
        return cls(cells, parts, threads, Buffers.of(cells, len(parts), threads.size), room)

    def _linearised(self, row: FloatArray, effect: FloatArray) -> EliminatedState:
        self.buffers.rows[0], self.buffers.effect[0] = row, effect
        self._sweep(0, 0, 0.0, 0)
        return self._summed(row, slot=0, place=0)

    def _effects(self, pull: FloatArray, table: FloatArray) -> FloatArray:
        effect: FloatArray = self.buffers.effect[0]
        self.threads.map(
            passes.solve_effects, [(self.cells.data, pull, table, start, stop, effect) for start, stop in self.parts]
        )
        return effect

    def _half_deviances(self, state: EliminatedState, chance: FloatArray) -> FloatArray:
        at = (self.cells.data, self.buffers.rows[state.slot], self.buffers.effect[state.slot], chance)
        return np.array(self.threads.map(passes.add_deviance, [(*at, start, stop) for start, stop in self.parts]))

    def _tried(self, state: EliminatedState, stretch: float, total: FloatArray) -> EliminatedState | None:
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

    def _summed(self, row: FloatArray, slot: int, place: int, *, block: FloatArray | None = None) -> EliminatedState:
        """The state that has just been swept; `block` is the rows' curvature, where that stays."""
        buffers = self.buffers
        # Of these two the largest counts.
        largest = buffers.totals[:, [passes.MOVE, passes.PAIR_GRADIENT]].max(axis=0)
        total = buffers.totals.sum(axis=0)
        total[[passes.MOVE, passes.PAIR_GRADIENT]] = largest
        row_sums = buffers.row_sums.sum(axis=0)
        found = row_sums[passes.ROW_BLOCK] / (self.cells.data.curved / 2**32)
        row_sums[passes.ROW_BLOCK] = found if block is None else block
        return EliminatedState(row, buffers.pairs(slot), row_sums, total, slot, place)


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
