"""Fits of no more pairs than rows: steps are solved for the pairs, and the rows follow. One thread does it all."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from polyroc._engines._numba import _fit as passes
from polyroc._engines._numba._cells import Cells
from polyroc._engines._numba._problem import Problem, State
from polyroc._engines._numba._steps import StepRoom, step_pairs
from polyroc._lib.typing import FloatArray


@dataclass(frozen=True, eq=False)
class KeptState(State):
    """A state with the second derivatives by rows and pairs."""

    cross: FloatArray
    """(K, R)."""


@dataclass(frozen=True, eq=False)
class KeptPairs(Problem[KeptState]):
    """A fit whose pairs are kept: they are one piece of work."""

    room: StepRoom

    @classmethod
    def of(cls, cells: Cells) -> "KeptPairs":
        """Room for its steps."""
        n_pairs, n_rows = cells.n_pairs, cells.n_rows
        # `add_gram` takes tiles of four rows.
        side = (n_pairs + 3) // 4 * 4
        coupling = np.zeros((side, n_rows), dtype=cells.precision)
        return cls(cells, StepRoom(np.empty((side, side)), np.empty((4, n_pairs)), np.empty((3, n_rows)), coupling))

    def at_work(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _linearised(self, row: FloatArray, effect: FloatArray) -> KeptState:
        pairs = self._new_pairs()
        pairs.effect[:] = effect
        return self._swept(row, row, pairs, pairs, stretch=0.0)

    def _effects(self, pull: FloatArray, table: FloatArray) -> FloatArray:
        found = np.empty(self.cells.n_pairs)
        passes.solve_effects(self.cells.data, pull, table, 0, self.cells.n_pairs, found)
        return found

    def _half_deviances(self, state: KeptState, chance: FloatArray) -> FloatArray:
        given = (self.cells.data, state.row.astype(self.cells.precision), state.pairs.effect, chance)
        return np.array([passes.add_deviance(*given, 0, self.cells.n_pairs)])

    def _tried(self, state: KeptState, stretch: float, total: FloatArray) -> KeptState | None:
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
    ) -> KeptState:
        """The state that rows and pairs have been moved to."""
        n_pairs, n_rows, precision = self.cells.n_pairs, self.cells.n_rows, self.cells.precision
        row_sums, total = np.zeros((passes.N_ROW_SUMS, n_rows)), np.zeros(passes.N_TOTALS)
        cross, work = np.empty((n_pairs, n_rows), dtype=precision), np.empty((10, n_rows), dtype=precision)
        rows = (row.astype(precision, copy=False), row_new.astype(precision, copy=False))
        passes.sweep(self.cells.data, *rows, old, new, stretch, True, 0, n_pairs, row_sums, total, work, cross, None)
        return KeptState(row_new, new, row_sums, total, cross)
