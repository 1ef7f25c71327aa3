"""Rank-one fits on a device, one step at a time: where a step leads, and what must be known to judge it.

Everything that is large stays on the device. Of each step a handful of numbers of each fit comes to the host.

Words in parentheses are the labels of equations in docs/method.md. B fits, K pairs, T call rates, R = 2T rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from polyroc._core.cells import EDGE
from polyroc._core.descent import (
    ROUNDING,
    SINGLE_ROUNDING,
    SINGLE_STEADY,
    SINGLE_TOLERANCE,
    STEADY,
    Attempt,
    Course,
    Tolerance,
)
from polyroc._core.torch.devices import pieces
from polyroc._core.torch.passes import passes_for
from polyroc._core.torch.sweeps import (
    CARRIED,
    CHANGE,
    FALL,
    LENGTH,
    MOVE,
    NOISE,
    PAIR_GRADIENT,
    PINNED,
    ROW_BLOCK,
    ROW_GRADIENT,
    TINY,
    WEIGHT_FPR,
    WEIGHT_TPR,
    Cells,
    Pairs,
    Swept,
)
from polyroc._records import Status

# Steps. The smaller side is solved for, the larger one follows (`_numpy/_solver.py`). The Hessian of (deviance) is an
# arrow: diagonal blocks A of rows and B of pairs, and cross terms C. Scaled by the roots of A and B it has ones on the
# diagonal, which damping makes 1 + mu, the `stretch`. Eliminating one side leaves, with C scaled alike and g the
# gradients,
#
#     ((1 + mu) I - C C' / (1 + mu) + gauge) y = C g_gone / (1 + mu) - g_kept
#
# for the other; y is a step in scaled coordinates. Where pairs are kept, C' takes the place of C. The gauge is the
# outer product of the direction in which v is stretched and lambda shrunk: no rate changes along it, and without it the
# undamped system would be singular. Everything here is small, and in double precision. Nothing is chosen by
# `torch.where` with a plain number: that number would be copied to the device each time.

# Systems have a diagonal of order 1: a smaller pivot is rounding.
_LEAST_ROOT = 1e-7


class Step(NamedTuple):
    """A proposed move of B fits."""

    row: torch.Tensor  # (B, R): the new effects of the rows; the old ones where nothing was solved
    effect: torch.Tensor | None  # (B, K): those of the pairs, where these were solved for
    fall: torch.Tensor  # (B,): what the step adds to FALL and to LENGTH of a sweep
    length: torch.Tensor
    solved: torch.Tensor  # (B,): whether the damped Hessian is positive definite


class Curvature(NamedTuple):
    """The second derivatives by the rows, with the pairs eliminated."""

    row_block: torch.Tensor  # (B, R)
    gram: torch.Tensor  # (B, R, R): of the cross terms over the roots of the pairs' blocks


def step_rows(row: torch.Tensor, swept: Swept, curvature: Curvature, stretch: torch.Tensor) -> Step:
    """The rows' part of the joint step, where pairs are eliminated."""
    root = curvature.row_block.sqrt()
    scale = _inverse(root)
    across = 1 / stretch[:, None]
    # Pinned pairs move by -0.9 v / stretch whatever the rows do; that changes the gradient of the rows.
    gradient = scale * (swept.by_row[:, ROW_GRADIENT] - swept.by_row[:, PINNED] * across)
    # CARRIED is C B^-1 g of the free pairs, from the sweep.
    right = scale * swept.by_row[:, CARRIED] * across - gradient
    coupled = scale[:, :, None] * scale[:, None, :] * curvature.gram
    y, solved = _solve(coupled, root * row, right, stretch)
    return Step(row + scale * y, None, -0.5 * (gradient * y).sum(1), (y * y).sum(1), solved)


def step_pairs(row: torch.Tensor, swept: Swept, stretch: torch.Tensor) -> Step:
    """The joint step, where rows are eliminated and pairs are kept."""
    assert swept.cross is not None
    pairs, pinned = swept.pairs, swept.pairs.pinned
    row_scale = _inverse(swept.by_row[:, ROW_BLOCK].sqrt())
    across = 1 / stretch[:, None]
    # A scale of 0 takes a pinned pair out of the system: its y is 0.
    root = pairs.block.sqrt().masked_fill(pinned, 0.0)
    pair_scale = _inverse(root)
    pinned_move = (-0.9 * pairs.effect * across).masked_fill(~pinned, 0.0)
    # C of docs/method.md with the sign of a pinned pair's move: PINNED is 0.9 sum v C.
    row_side = row_scale * (swept.by_row[:, ROW_GRADIENT] - swept.by_row[:, PINNED] * across)
    coupling = pair_scale[:, :, None] * row_scale[:, None, :] * swept.cross.to(torch.float64)
    gradient = pair_scale * pairs.gradient
    right = (coupling @ row_side[:, :, None])[..., 0] * across - gradient
    y, solved = _solve(coupling @ coupling.mT, root * pairs.effect, right, stretch)
    z = -(row_side + (coupling.mT @ y[:, :, None])[..., 0]) * across
    move = pair_scale * y + pinned_move
    fall = -0.5 * ((gradient * y).sum(1) + (row_side * z).sum(1)) - (pairs.gradient * pinned_move).sum(1)
    length = (y * y).sum(1) + (z * z).sum(1)
    # (cut): each v_j by itself.
    effect = torch.maximum(pairs.effect + move, 0.1 * pairs.effect)
    kept = solved[:, None]
    return Step(
        torch.where(kept, row + row_scale * z, row), torch.where(kept, effect, pairs.effect), fall, length, solved
    )


def _inverse(root: torch.Tensor) -> torch.Tensor:
    """One over it; 0 where there is nothing to be moved."""
    return (1 / root).masked_fill(root <= TINY, 0.0)


def _solve(
    coupled: torch.Tensor, gauge: torch.Tensor, right: torch.Tensor, stretch: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Solve ((1 + mu) I - coupled / (1 + mu) + gauge) y = right; y is 0 where that is not positive definite."""
    gauge = gauge / (gauge.square().sum(1, keepdim=True).sqrt() + TINY)
    system = gauge[:, :, None] * gauge[:, None, :] - coupled / stretch[:, None, None]
    system.diagonal(dim1=1, dim2=2).add_(stretch[:, None])
    lower, failed = torch.linalg.cholesky_ex(system)
    solved = (failed == 0) & (lower.diagonal(dim1=1, dim2=2).amin(1) > _LEAST_ROOT)
    y = torch.cholesky_solve(right[:, :, None], lower)[..., 0]
    return y.masked_fill(~solved[:, None], 0.0), solved


# As in `_numba/_cells.py`, where the reasons stand: beyond MANY pairs the curvature of the rows is that of CURVED
# pairs. More of them than there, because here they are cheap.
MANY_PAIRS, CURVED_PAIRS = 32_768, 16_384
# Numbers of the scaled cross terms that are gathered at once.
_CROSS_AT_ONCE = 2**27


@dataclass(frozen=True, eq=False)
class Ended:
    """Where B descents ended, and how."""

    row: torch.Tensor  # (B, R), 0 in rows that are not fitted
    effect: torch.Tensor  # (B, K)
    courses: list[Course]

    @property
    def converged(self) -> list[bool]:
        return [course.status is Status.CONVERGED for course in self.courses]


class State(NamedTuple):
    """Row effects, and what the last sweep found there."""

    row: torch.Tensor  # (B, R)
    swept: Swept

    def of_fits(self, which: torch.Tensor) -> "State":
        return State(self.row[which], self.swept.of_fits(which))


class Tried(NamedTuple):
    """Where a step leads each of B fits; None where its damped Hessian is not positive definite."""

    state: State
    outcomes: list[Attempt[None] | None]
    gradients: list[float]
    row_moves: list[float]


@dataclass(frozen=True, eq=False)
class Problem:
    cells: Cells

    @property
    def is_single(self) -> bool:
        return bool(self.cells.precision == torch.float32)

    @property
    def tolerance(self) -> Tolerance:
        return SINGLE_TOLERANCE if self.is_single else Tolerance()

    @property
    def steady(self) -> float:
        return SINGLE_STEADY if self.is_single else STEADY

    @property
    def keeps_pairs(self) -> bool:
        """Whether the pairs are the smaller side, which is solved for."""
        return self.cells.n_pairs <= self.cells.n_rows

    @property
    def fitted(self) -> torch.Tensor:
        return self.cells.on_row > 0

    def first_row(self) -> torch.Tensor:
        """Each row at the logit of its mean."""
        mean = self.cells.mean.to(torch.float64)
        return torch.logit(mean.clamp(EDGE, 1 - EDGE)).masked_fill(~self.fitted, 0.0)

    def start(self) -> State:
        """All pairs alike, and each row at the logit of its mean."""
        row = self.first_row()
        return self.state(row, torch.ones_like(row[:, :1]).expand(-1, self.cells.n_pairs).contiguous())

    def state(self, row: torch.Tensor, effect: torch.Tensor) -> State:
        """Linearise at these effects."""
        sweep = passes_for(self.cells).sweep
        return State(row, sweep(self.cells, row, row, only_effects(effect), None, with_cross=self.keeps_pairs))

    def curvature(self, state: State) -> Curvature | None:
        """That of the rows, with the pairs eliminated; of very many pairs, by a sample of them."""
        if self.keeps_pairs:
            return None
        cells, effect, share = self.cells, state.swept.pairs.effect, 1.0
        if cells.n_pairs > MANY_PAIRS:
            few = some_pairs(cells.n_pairs, CURVED_PAIRS, effect.device)
            # The pairs that were picked stand for all.
            share = len(few) / cells.n_pairs
            cells, effect = cells.of_pairs(few), effect[:, few]
        row_block, gram = eliminated(cells, state.row, effect)
        return Curvature(row_block / share, gram / share)

    def attempt(self, state: State, curvature: Curvature | None, damping: torch.Tensor) -> Tried:
        """Try the step with these dampings, (B,)."""
        row, swept = state
        stretch = 1 + damping
        step = step_pairs(row, swept, stretch) if curvature is None else step_rows(row, swept, curvature, stretch)
        sweep = passes_for(self.cells).sweep
        found = sweep(self.cells, row, step.row, swept.pairs, stretch, step.effect, with_cross=self.keeps_pairs)
        trial = State(step.row, found)
        # The one transfer of a step.
        told = self._told(state, trial, step, damping).tolist()
        outcomes = [Attempt(None, *one[1:5]) if one[0] else None for one in told]
        return Tried(trial, outcomes, [one[5] for one in told], [one[6] for one in told])

    def _told(self, state: State, trial: State, step: Step, damping: torch.Tensor) -> torch.Tensor:
        """What has to be known of each fit to go on, (B, 7)."""
        total, rounding = trial.swept.total, SINGLE_ROUNDING if self.is_single else ROUNDING
        # With (H + damping D) y = -g the quadratic model falls by -g.y / 2 + damping y.D.y / 2.
        promised = total[:, FALL] + step.fall + 0.5 * damping * (total[:, LENGTH] + step.length)
        effect, effect_new = state.swept.pairs.effect.mean(1), trial.swept.pairs.effect.mean(1)
        curve = torch.special.expit(trial.row * effect_new[:, None]) - torch.special.expit(state.row * effect[:, None])
        return torch.stack(
            [
                step.solved.to(torch.float64),
                total[:, CHANGE],
                rounding * total[:, NOISE],
                promised,
                trial.swept.largest[:, MOVE].maximum(curve.abs().amax(1)),
                self.gradients(trial),
                (trial.row - state.row).abs().amax(1),
            ],
            1,
        )

    def gradients(self, state: State) -> torch.Tensor:
        """The largest scaled gradient of each fit, (B,): a weighted mean of residuals."""
        total, n = state.swept.total, self.cells.n_rows // 2
        # A row's gradient is a sum of w v times residuals: divided by the sum of w v it is a mean of residuals.
        scale = torch.cat([total[:, WEIGHT_TPR, None].expand(-1, n), total[:, WEIGHT_FPR, None].expand(-1, n)], 1)
        scale = self.cells.on_row.to(torch.float64) * scale
        rows = (state.swept.by_row[:, ROW_GRADIENT].abs() / scale).masked_fill(scale <= 0, 0.0)
        return rows.amax(1).maximum(state.swept.largest[:, PAIR_GRADIENT])


def only_effects(effect: torch.Tensor) -> Pairs:
    """Pairs of which nothing else is known yet."""
    nothing = torch.zeros_like(effect[:, :1]).expand(effect.shape)
    return Pairs(effect, nothing, nothing)


def eliminated(cells: Cells, row: torch.Tensor, effect: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Curvature by rows (B, R), and the gram matrix of the free pairs' scaled cross terms (B, R, R)."""
    shape = (cells.n_fits, cells.n_rows)
    row_block = torch.zeros(shape, dtype=torch.float64, device=row.device)
    gram = torch.zeros((*shape, cells.n_rows), dtype=torch.float64, device=row.device)
    for start, stop in pieces(cells.n_pairs, _CROSS_AT_ONCE // (cells.n_fits * cells.n_rows)):
        piece = slice(start, stop)
        some = cells.of_pairs(piece)
        swept = passes_for(some).sweep(some, row, row, only_effects(effect[:, piece]), None, with_cross=True)
        assert swept.cross is not None
        pairs = swept.pairs
        scale = pairs.block.rsqrt().masked_fill(pairs.pinned, 0.0).to(swept.cross.dtype)
        root = swept.cross.mul_(scale[..., None])
        row_block += swept.by_row[:, ROW_BLOCK]
        gram += root.mT @ root
    return row_block, gram


def chosen_states(state: State, trial: State, kept: torch.Tensor) -> State:
    """The trial of the fits where `kept`, (B,), the state of the others."""

    def chosen(new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
        return torch.where(kept.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

    new, old = trial.swept, state.swept
    cross = None if new.cross is None or old.cross is None else chosen(new.cross, old.cross)
    pairs = Pairs(
        chosen(new.pairs.effect, old.pairs.effect),
        chosen(new.pairs.gradient, old.pairs.gradient),
        chosen(new.pairs.block, old.pairs.block),
    )
    by_row, total, largest = (chosen(getattr(new, name), getattr(old, name)) for name in ("by_row", "total", "largest"))
    swept = Swept(pairs, by_row, total, largest, cross)
    return State(chosen(trial.row, state.row), swept)


def some_pairs(n_pairs: int, n_few: int, device: torch.device) -> torch.Tensor:
    """A sample of the pairs, the same whenever asked: the same rates always give the same fit."""
    rng = np.random.default_rng(0)
    # Drawn with replacement where the list of all would be long; what is drawn twice is taken once.
    few = rng.choice(n_pairs, n_few, replace=False) if n_pairs < 2**22 else np.unique(rng.integers(n_pairs, size=n_few))
    return torch.from_numpy(np.sort(few)).to(device)
