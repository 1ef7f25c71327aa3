"""The problem that a compiled fit descends on: what it is whichever side of the steps is solved for.

The two kinds of it are in `_factorization.py`, of few pairs, and in `_eliminated.py`, of many. T call rates, K pairs,
R fitted rows.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from scipy.special import expit

from polyroc._engines._descent import Attempt
from polyroc._engines._numba import _fit as passes
from polyroc._engines._numba._cells import Cells
from polyroc._lib.typing import FloatArray

# Effects at which sums are looked up for a start: neighbours differ by 7 %.
N_EFFECTS = 129


@dataclass(frozen=True, eq=False)
class State:
    """Row effects in double, pair effects, and what the last sweep summed there."""

    row: FloatArray
    pairs: passes.PairState
    row_sums: FloatArray
    total: FloatArray


StateT = TypeVar("StateT", bound=State)


@dataclass(frozen=True, eq=False)
class Problem(ABC, Generic[StateT]):
    """The descent of a fit, whose steps and sweeps are compiled."""

    cells: Cells

    def start(self) -> StateT:
        """All pairs alike, and each row at the logit of its mean."""
        return self._linearised(self.cells.first_row, np.ones(self.cells.n_pairs))

    def start_from(self, row: FloatArray) -> StateT:
        """Rows that some of the pairs have found, and the effects that go with them."""
        # Between neighbours in the table effects are interpolated.
        effects, data = np.geomspace(0.01, 100, N_EFFECTS), self.cells.data
        pull, n = data.on_row * row, data.n_tpr
        pulls = pull * expit(np.outer(effects, row))
        table = np.array([effects, pulls[:, :n].sum(axis=1), pulls[:, n:].sum(axis=1)])
        return self._linearised(row, self._effects(pull.astype(self.cells.precision), table))

    def deviances(self, state: StateT, call_rates: FloatArray) -> tuple[float, float]:
        """The deviance at a state, and that of chance in the same rows."""
        by_chance = np.tile(call_rates, 2)[self.cells.fitted]
        chance = np.log([by_chance, 1 - by_chance]).astype(self.cells.precision)
        # The kernels sum half the deviance.
        here, there = 2 * self._half_deviances(state, chance).sum(axis=0)
        return float(here), float(there)

    def attempt(self, state: StateT, damping: float) -> Attempt[StateT] | None:
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

    def gradient(self, state: StateT) -> float:
        """The largest mean residual of a row or a pair."""
        total, data = state.total, self.cells.data
        # A row's gradient is a sum of w v times residuals: divided by the sum of w v it is a mean of residuals.
        scale = np.where(np.arange(len(state.row)) < data.n_tpr, total[passes.WEIGHT_TPR], total[passes.WEIGHT_FPR])
        rows = np.abs(state.row_sums[passes.ROW_GRADIENT]) / (data.on_row * scale)
        return float(max(rows.max(), total[passes.PAIR_GRADIENT]))

    @abstractmethod
    def _linearised(self, row: FloatArray, effect: FloatArray) -> StateT:
        """The state at these effects, by a sweep from nowhere."""

    @abstractmethod
    def _effects(self, pull: FloatArray, table: FloatArray) -> FloatArray:
        """The effects that go with given rows, as `solve_effects` has it."""

    @abstractmethod
    def _half_deviances(self, state: StateT, chance: FloatArray) -> FloatArray:
        """Half the deviances of a state and of chance, by pieces, shape (P, 2)."""

    @abstractmethod
    def _tried(self, state: StateT, stretch: float, total: FloatArray) -> StateT | None:
        """Where a step leads, whose fall and length are added to `total`; None if it cannot be solved for."""


def _scaled_curve(state: State) -> FloatArray:
    found: FloatArray = expit(state.row * state.pairs.effect.mean())
    return found
