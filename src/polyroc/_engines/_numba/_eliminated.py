"""Fits of more pairs than rows: steps are solved for the rows, and each pair follows in the sweep. A crew sweeps."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from polyroc._engines._descent import SINGLE_STEADY, STEADY
from polyroc._engines._numba import _fit as passes
from polyroc._engines._numba._cells import Cells
from polyroc._engines._numba._crew import Crew, new_job
from polyroc._engines._numba._problem import Problem, State
from polyroc._engines._numba._steps import StepRoom, step_rows
from polyroc._lib.threads import Threads
from polyroc._lib.typing import FloatArray


@dataclass(frozen=True, eq=False)
class EliminatedState(State):
    """One of the two states of the crew's job, and a gram matrix of the scaled cross terms there."""

    slot: int
    """Which of the two it is."""
    place: int
    """Where the job has the gram matrix: that of this state, or of one before it that is as good."""


@dataclass(frozen=True, eq=False)
class EliminatedPairs(Problem[EliminatedState]):
    """A fit whose pairs are eliminated, piece by piece."""

    crew: Crew
    room: StepRoom

    @classmethod
    def of(cls, cells: Cells, parts: list[tuple[int, int]], threads: Threads) -> "EliminatedPairs":
        """With as many helpers as there are threads, or parts."""
        job = new_job(cells.data, [0, *(stop for _, stop in parts)], min(threads.size, len(parts)))
        side = (cells.n_rows + 3) // 4 * 4
        # The sweep finds the pairs' part of a step, pair by pair, and needs no room here.
        coupling = np.zeros((0, 0), dtype=cells.precision)
        room = StepRoom(np.empty((side, side)), np.empty((4, cells.n_rows)), np.empty((3, 0)), coupling)
        return cls(cells, Crew(job, threads), room)

    def at_work(self) -> AbstractContextManager[None]:
        return self.crew.at_work()

    def _linearised(self, row: FloatArray, effect: FloatArray) -> EliminatedState:
        job = self.crew.job
        job.rows[0], job.effect[0] = row, effect
        self.crew.sweep(0, 0, 0.0, 0)
        return self._summed(row, slot=0, place=0)

    def _effects(self, pull: FloatArray, table: FloatArray) -> FloatArray:
        self.crew.solve_effects(pull, table)
        found: FloatArray = self.crew.job.effect[0]
        return found

    def _half_deviances(self, state: EliminatedState, chance: FloatArray) -> FloatArray:
        return self.crew.deviances(state.slot, chance)

    def _tried(self, state: EliminatedState, stretch: float, total: FloatArray) -> EliminatedState | None:
        row, job, slot = np.empty_like(state.row), self.crew.job, 1 - state.slot
        if not step_rows(state.row, state.row_sums, job.gram[state.place], stretch, row, total, self.room):
            return None
        job.rows[slot] = row
        # Where rows hardly move their curvature stays, much of the work: it bends the steps, not where they lead.
        is_steady = np.abs(row - state.row).max() < (SINGLE_STEADY if self.cells.is_single else STEADY)
        # Not where that of the old state is: the step may be refused.
        place = state.place if is_steady else 1 - state.place
        self.crew.sweep(state.slot, slot, stretch, None if is_steady else place)
        return self._summed(row, slot, place, block=state.row_sums[passes.ROW_BLOCK] if is_steady else None)

    def _summed(self, row: FloatArray, slot: int, place: int, *, block: FloatArray | None = None) -> EliminatedState:
        """The state that has just been swept; `block` is the rows' curvature, where that stays."""
        job = self.crew.job
        # Pieces add up in their order, whichever thread was first; of these two the largest counts.
        largest = job.totals[:, [passes.MOVE, passes.PAIR_GRADIENT]].max(axis=0)
        total = job.totals.sum(axis=0)
        total[[passes.MOVE, passes.PAIR_GRADIENT]] = largest
        row_sums = job.row_sums.sum(axis=0)
        # The pairs that were picked stand for all.
        found = row_sums[passes.ROW_BLOCK] / (self.cells.data.curved / 2**32)
        row_sums[passes.ROW_BLOCK] = found if block is None else block
        pairs = passes.PairState(job.effect[slot], job.gradient[slot], job.block[slot], job.pinned[slot])
        return EliminatedState(row, pairs, row_sums, total, slot, place)
