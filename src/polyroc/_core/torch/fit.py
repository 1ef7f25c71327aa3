"""Rank-one fits on a device: the descent of `_core/fit.py` for one set of rates, or for many at once.

Everything that is large stays on the device. Of each step a handful of numbers of each fit comes to the host, which
decides which steps are taken, how much the next are damped, and which fits are done.

Words in parentheses are the labels of equations in docs/method.md. B fits, K pairs, T call rates, R = 2T rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from polyroc._core import fit as descent
from polyroc._core.fit import FIRST_DAMPING, ROUGH, Attempt, Course, Tolerance
from polyroc._core.torch.devices import pieces
from polyroc._core.torch.passes import passes_on
from polyroc._core.torch.sweeps import TINY, ByRow, Cells, Largest, Pairs, Swept, Total
from polyroc._core.weights import EDGE, LOGIT_BOUND
from polyroc._records import Status

# Fits of more pairs begin where a fit of some of them ended. Beyond MANY pairs the curvature of the rows is that of
# CURVED pairs. `_core/numba` has fewer of these, which are cheap here.
MEDIUM_PAIRS, MANY_PAIRS, CURVED_PAIRS = 4_096, 32_768, 16_384
# Cells that are filled, and numbers of cross terms that are gathered, at once.
_CELLS_AT_ONCE, _CROSS_AT_ONCE = 2**23, 2**25
# Rows of a fit that ended early are solved for by at most this many steps.
_MAX_ROW_STEPS = 100
# Systems have a diagonal of order 1: a smaller pivot is rounding.
_LEAST_ROOT = 1e-7

RecordT = TypeVar("RecordT", bound=tuple[Any, ...])


@dataclass(frozen=True, eq=False)
class Ended:
    """Where B descents ended, and how."""

    row: torch.Tensor  # (B, R), 0 in rows that are not fitted
    effect: torch.Tensor  # (B, K)
    courses: list[Course]

    @property
    def converged(self) -> list[bool]:
        return [course.status is Status.CONVERGED for course in self.courses]


def fit_cells(cells: Cells, *, one_optimum: bool, near: torch.Tensor | None = None) -> Ended:
    """Fit (model) to each of B sets of rates.

    `one_optimum` says that thresholds are such that a fit of some of the pairs may come first; `near` (B, R) has the
    row effects of a fit of the same rates with another shrinkage.
    """
    problem = Problem(cells)
    is_many = cells.n_pairs > MANY_PAIRS
    if not is_many and (cells.n_pairs <= MEDIUM_PAIRS or not one_optimum):
        return _descend(problem, problem.start(), problem.tolerance, FIRST_DAMPING)
    n_few = CURVED_PAIRS if is_many else MEDIUM_PAIRS // 4
    row = _rows_of_few(cells, n_few) if near is None else near.masked_fill(~problem.fitted, 0.0)
    # Near the optimum already, so hardly damped: 1e-6 is the least that a step which disappoints is given.
    return _descend(problem, problem.state(row, _effects_of_rows(cells, row)), problem.tolerance, 1e-6)


def polished(cells: Cells, ended: Ended) -> Ended:
    """The last step of fits in single precision, from a gradient in double: what rates in single can still tell."""
    single, double = Problem(cells), Problem(cells.computed_in(torch.float64))
    state = double.state(ended.row, ended.effect)
    # What a step this small adds to the pairs is as good in single precision.
    tried = single.attempt(state, single.curvature(state), state.row.new_zeros(len(state.row)))
    taken = [
        one is not None and one.change <= one.noise and is_converged
        for one, is_converged in zip(tried.outcomes, ended.converged, strict=True)
    ]
    state = _merged(state, tried.state, taken)
    return replace(ended, row=state.row, effect=state.swept.pairs.effect)


def _descend(problem: "Problem", state: "State", tolerance: Tolerance, damping: float) -> Ended:
    """Lower the deviances until nothing moves; fits that are done leave the others to themselves."""
    n_fits = problem.cells.n_fits
    courses = [Course(0.0, tolerance=tolerance, damping=damping) for _ in range(n_fits)]
    row, effect = torch.empty_like(state.row), torch.empty_like(state.swept.pairs.effect)
    here = problem.gradients(state).tolist()
    going = list(range(n_fits))
    curvature = problem.curvature(state)
    while True:
        dampings = state.row.new_tensor([courses[f].damping for f in going])
        tried = problem.attempt(state, curvature, dampings)
        taken = []
        for place, f in enumerate(going):
            there = tried.gradients[place]
            # Fits that are done stay where they are.
            is_taken = courses[f].status is None and courses[f].goes_on_from(
                tried.outcomes[place], partial(float, here[place]), partial(float, there)
            )
            here[place] = there if is_taken else here[place]
            taken.append(is_taken)
        state = _merged(state, tried.state, taken)
        done = [place for place, f in enumerate(going) if courses[f].status is not None]
        # They stay with the others until half of them are done: to leave them out costs a copy of all rates.
        if 2 * len(done) >= len(going):
            at = [going[place] for place in done]
            row[at], effect[at] = state.row[done], state.swept.pairs.effect[done]
            rest = [place for place in range(len(going)) if place not in set(done)]
            if not rest:
                return Ended(row, effect, courses)
            which = torch.tensor(rest, device=row.device)
            problem, state = Problem(problem.cells.of_fits(which)), _each(lambda one, which=which: one[which], state)
            going, here = [going[place] for place in rest], [here[place] for place in rest]
            curvature = problem.curvature(state)
        # If rows hardly move their curvature stays: it bends the steps, not where they lead.
        elif any(one and move >= problem.steady for one, move in zip(taken, tried.row_moves, strict=True)):
            curvature = problem.curvature(state)


def _merged(state: "State", trial: "State", taken: list[bool]) -> "State":
    """The trial of the fits that take their step, the state of the others."""
    if all(taken):
        return trial
    if not any(taken):
        return state
    is_taken = torch.tensor(taken, device=state.row.device)
    return _each(lambda new, old: torch.where(is_taken.reshape(-1, *(1,) * (new.ndim - 1)), new, old), trial, state)


def _each(function: Callable[..., torch.Tensor], record: RecordT, *others: RecordT) -> RecordT:
    """The record of what a function gives for each tensor of a record, and of records in it."""

    def of(*ones: Any) -> Any:
        return _each(function, *ones) if isinstance(ones[0], tuple) else None if ones[0] is None else function(*ones)

    return type(record)(*(of(*ones) for ones in zip(record, *others, strict=True)))


class State(NamedTuple):
    """Row effects, and what the last sweep gave there."""

    row: torch.Tensor  # (B, R)
    swept: Swept


class Tried(NamedTuple):
    """Where a step leads each of B fits; None if its damped Hessian is not positive definite."""

    state: State
    outcomes: list[Attempt[None] | None]
    gradients: list[float]
    row_moves: list[float]


class Step(NamedTuple):
    """A proposed move of B fits."""

    row: torch.Tensor  # (B, R): the new effects of the rows; the old ones if nothing was solved
    effect: torch.Tensor | None  # (B, K): those of the pairs, if these were solved for
    fall: torch.Tensor  # (B,): what the step adds to FALL and to LENGTH of a sweep
    length: torch.Tensor
    solved: torch.Tensor  # (B,): whether the damped Hessian is positive definite


class RowCurvature(NamedTuple):
    """The second derivatives by the rows, with the pairs eliminated."""

    row_block: torch.Tensor  # (B, R)
    gram: torch.Tensor  # (B, R, R): of the cross terms over the roots of the pairs' blocks


@dataclass(frozen=True, eq=False)
class Problem:
    """The (deviance) of B fits, and steps that lower it."""

    cells: Cells

    @property
    def is_single(self) -> bool:
        return bool(self.cells.precision == torch.float32)

    @property
    def tolerance(self) -> Tolerance:
        return descent.SINGLE_TOLERANCE if self.is_single else Tolerance()

    @property
    def steady(self) -> float:
        return descent.SINGLE_STEADY if self.is_single else descent.STEADY

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
        return State(row, linearised(self.cells, row, effect, with_cross=self.keeps_pairs))

    def curvature(self, state: State) -> RowCurvature | None:
        """That of the rows, with the pairs eliminated; of very many pairs, by a sample of them."""
        if self.keeps_pairs:
            return None
        cells, effect, share = self.cells, state.swept.pairs.effect, 1.0
        if cells.n_pairs > MANY_PAIRS:
            few = _some_pairs(cells.n_pairs, CURVED_PAIRS, effect.device)
            # The pairs that were picked stand for all.
            share = len(few) / cells.n_pairs
            cells, effect = cells.of_pairs(few), effect[:, few]
        row_block, gram = 0.0, 0.0
        for _, swept, cross in crossed(cells, state.row, effect):
            scale = swept.pairs.block.rsqrt().masked_fill(swept.pairs.pinned, 0.0).to(cross.dtype)
            row_block = row_block + swept.by_row[:, ByRow.BLOCK]
            gram = gram + passes_on(cross.device.type).gram(cross.mul_(scale[..., None])).to(torch.float64)
        return RowCurvature(row_block / share, gram / share)

    def attempt(self, state: State, curvature: RowCurvature | None, damping: torch.Tensor) -> Tried:
        """Try the step with these dampings, (B,)."""
        row, swept = state
        stretch = 1 + damping
        step = _step_pairs(row, swept, stretch) if curvature is None else _step_rows(row, swept, curvature, stretch)
        sweep = passes_on(row.device.type).sweep
        after = sweep(self.cells, row, step.row, swept.pairs, stretch, step.effect, with_cross=self.keeps_pairs)
        trial = State(step.row, after)
        # The one transfer of a step.
        numbers = self._numbers(state, trial, step, damping).tolist()
        outcomes = [Attempt(None, *one[1:5]) if one[0] else None for one in numbers]
        return Tried(trial, outcomes, [one[5] for one in numbers], [one[6] for one in numbers])

    def _numbers(self, state: State, trial: State, step: Step, damping: torch.Tensor) -> torch.Tensor:
        """The numbers of each fit that decide how it goes on, (B, 7)."""
        total, rounding = trial.swept.total, descent.SINGLE_ROUNDING if self.is_single else descent.ROUNDING
        # As in `_stepped` of a sweep.
        promised = total[:, Total.FALL] + step.fall + 0.5 * damping * (total[:, Total.LENGTH] + step.length)
        effect, effect_new = state.swept.pairs.effect.mean(1), trial.swept.pairs.effect.mean(1)
        curve = torch.special.expit(trial.row * effect_new[:, None]) - torch.special.expit(state.row * effect[:, None])
        numbers = [
            step.solved.to(torch.float64),
            total[:, Total.CHANGE],
            rounding * total[:, Total.NOISE],
            promised,
            trial.swept.largest[:, Largest.MOVE].maximum(curve.abs().amax(1)),
            self.gradients(trial),
            (trial.row - state.row).abs().amax(1),
        ]
        return torch.stack(numbers, 1)

    def gradients(self, state: State) -> torch.Tensor:
        """The largest scaled gradient of each fit, (B,): a weighted mean of residuals."""
        of_pairs = state.swept.total[:, Total.WEIGHT_TPR : Total.WEIGHT_FPR + 1]
        # A row's gradient is a sum of w v times residuals: divided by the sum of w v it is a mean of residuals.
        scale = self.cells.on_row.to(torch.float64) * of_pairs.repeat_interleave(self.cells.n_rows // 2, 1)
        rows = (state.swept.by_row[:, ByRow.GRADIENT].abs() / scale).masked_fill(scale <= 0, 0.0)
        return rows.amax(1).maximum(state.swept.largest[:, Largest.GRADIENT])


def linearised(cells: Cells, row: torch.Tensor, effect: torch.Tensor, *, with_cross: bool = False) -> Swept:
    """The first sweep, of which nothing but effects is known."""
    nothing = torch.zeros_like(effect[:, :1]).expand(effect.shape)
    sweep = passes_on(row.device.type).sweep
    return sweep(cells, row, row, Pairs(effect, nothing, nothing), None, with_cross=with_cross)


def crossed(cells: Cells, row: torch.Tensor, effect: torch.Tensor) -> Iterator[tuple[slice, Swept, torch.Tensor]]:
    """Some pairs at a time, linearised, with their cross terms."""
    for start, stop in pieces(cells.n_pairs, _CROSS_AT_ONCE // (cells.n_fits * cells.n_rows)):
        some = slice(start, stop)
        swept = linearised(cells.of_pairs(some), row, effect[:, some], with_cross=True)
        assert swept.cross is not None
        yield some, swept, swept.cross


# Steps. The smaller side is solved for, the larger one follows (`_core/fit.py`). The Hessian of (deviance) is an arrow:
# diagonal blocks A of rows and B of pairs, and cross terms C. Scaled by the roots of A and B it has ones on the
# diagonal, which damping makes 1 + mu, the `stretch`. Eliminating one side leaves, with C scaled alike and g the
# gradients,
#
#     ((1 + mu) I - C C' / (1 + mu) + gauge) y = C g_gone / (1 + mu) - g_kept
#
# for the other; y is a step in scaled coordinates. If pairs are kept, C' takes the place of C. The gauge is the outer
# product of the direction in which v is stretched and lambda shrunk: no rate changes along it, and without it the
# undamped system would be singular. Everything here is small, and in double precision. Nothing is chosen by
# `torch.where` with a plain number: that number would be copied to the device each time.


def _step_rows(row: torch.Tensor, swept: Swept, curvature: RowCurvature, stretch: torch.Tensor) -> Step:
    """The rows' part of the joint step, with the pairs eliminated."""
    root = curvature.row_block.sqrt()
    scale = _inverse(root)
    across = 1 / stretch[:, None]
    # Pinned pairs move by -0.9 v / stretch whatever the rows do; that changes the gradient of the rows.
    gradient = scale * (swept.by_row[:, ByRow.GRADIENT] - swept.by_row[:, ByRow.PINNED] * across)
    # CARRIED is C B^-1 g of the free pairs, from the sweep.
    right = scale * swept.by_row[:, ByRow.CARRIED] * across - gradient
    coupled = scale[:, :, None] * scale[:, None, :] * curvature.gram
    y, solved = _solve(coupled, root * row, right, stretch)
    return Step(row + scale * y, None, -0.5 * (gradient * y).sum(1), (y * y).sum(1), solved)


def _step_pairs(row: torch.Tensor, swept: Swept, stretch: torch.Tensor) -> Step:
    """The joint step, with the rows eliminated."""
    assert swept.cross is not None
    pairs, pinned = swept.pairs, swept.pairs.pinned
    row_scale = _inverse(swept.by_row[:, ByRow.BLOCK].sqrt())
    across = 1 / stretch[:, None]
    # A scale of 0 takes a pinned pair out of the system: its y is 0.
    root = pairs.block.sqrt().masked_fill(pinned, 0.0)
    pair_scale = _inverse(root)
    pinned_move = (-0.9 * pairs.effect * across).masked_fill(~pinned, 0.0)
    # PINNED is 0.9 sum v C.
    row_side = row_scale * (swept.by_row[:, ByRow.GRADIENT] - swept.by_row[:, ByRow.PINNED] * across)
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
    """One over it; 0 if there is nothing to be moved."""
    return (1 / root).masked_fill(root <= TINY, 0.0)


def _solve(
    coupled: torch.Tensor, gauge: torch.Tensor, right: torch.Tensor, stretch: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Solve ((1 + mu) I - coupled / (1 + mu) + gauge) y = right; y is 0 if that is not positive definite."""
    gauge = gauge / (gauge.square().sum(1, keepdim=True).sqrt() + TINY)
    system = gauge[:, :, None] * gauge[:, None, :] - coupled / stretch[:, None, None]
    system.diagonal(dim1=1, dim2=2).add_(stretch[:, None])
    lower, failed = torch.linalg.cholesky_ex(system)
    solved = (failed == 0) & (lower.diagonal(dim1=1, dim2=2).amin(1) > _LEAST_ROOT)
    y = torch.cholesky_solve(right[:, :, None], lower)[..., 0]
    return y.masked_fill(~solved[:, None], 0.0), solved


def _some_pairs(n_pairs: int, n_few: int, device: torch.device) -> torch.Tensor:
    """A sample of the pairs, the same whenever asked: the same rates always give the same fit."""
    rng = np.random.default_rng(0)
    # Drawn with replacement if the list of all would be long; what is drawn twice is taken once.
    few = rng.choice(n_pairs, n_few, replace=False) if n_pairs < 2**22 else np.unique(rng.integers(n_pairs, size=n_few))
    return torch.from_numpy(np.sort(few)).to(device)


def _rows_of_few(cells: Cells, n_few: int) -> torch.Tensor:
    """Row effects by a rough fit of a sample of the pairs: nearly those of all, at a fraction of the work."""
    problem = Problem(cells.of_pairs(_some_pairs(cells.n_pairs, n_few, cells.tpr.device)))
    end = _descend(problem, problem.start(), ROUGH, FIRST_DAMPING)
    row = end.row * end.effect.mean(1, keepdim=True)
    # A larger effect would start its row at rates of 0 or 1; such a row stays at the logit of its mean.
    return torch.where(row.abs() < LOGIT_BOUND, row, problem.first_row())


def _effects_of_rows(cells: Cells, row: torch.Tensor) -> torch.Tensor:
    """The best effects of the pairs for given rows, to two thousandths, (B, K)."""
    # If the gradient of a pair is zero, sum_i w_i lambda_i p_i(v) equals sum_i w_i lambda_i M_i. The left side rises
    # with v, and but for the two weights of a pair it is the same for all. So it is looked up in a table, whose
    # neighbours differ by 7 %; between them effects are interpolated.
    effects = torch.logspace(-2, 2, 129, dtype=torch.float64, device=row.device)
    pulls = (cells.on_row.to(torch.float64) * row)[:, None] * torch.special.expit(effects[:, None] * row[:, None])
    table = pulls.unflatten(2, (2, -1)).sum(3)  # (B, G, 2)
    effect = torch.empty((cells.n_fits, cells.n_pairs), dtype=torch.float64, device=row.device)
    for start, stop in pieces(cells.n_pairs, _CELLS_AT_ONCE // (cells.n_fits * cells.n_rows)):
        some = cells.of_pairs(slice(start, stop))
        rate, weight = some.filled()
        # By products and sums, not by a matrix product: that may be in a lower precision, by a setting of PyTorch.
        target = (weight * rate * row[:, None].to(rate.dtype)).sum(2, dtype=torch.float64)
        on_pair = torch.stack([some.on_tpr, some.on_fpr], 1).to(torch.float64)
        low = torch.zeros_like(target, dtype=torch.int64)
        high = torch.full_like(low, len(effects) - 1)

        def at(place: torch.Tensor, on_pair: torch.Tensor = on_pair) -> torch.Tensor:
            return (on_pair * table.take_along_dim(place[..., None], 1)).sum(2)

        for _ in range(7):
            middle = (low + high) >> 1
            is_below = at(middle) < target
            low, high = torch.where(is_below, middle, low), torch.where(is_below, high, middle)
        below, above = at(low), at(high)
        part = ((target - below) / (above - below + 1e-290)).clamp(0, 1)
        effect[:, start:stop] = effects[low] + part * (effects[high] - effects[low])
    return effect


def solved_rows(cells: Cells, row: torch.Tensor, effect: torch.Tensor) -> torch.Tensor:
    """The best row effects for given pair effects (row), (B, R): `solve_rows` of `_core/fit.py` for B fits."""
    cells = cells.computed_in(torch.float64)
    fitted = cells.on_row > 0
    low, high = torch.full_like(row, -torch.inf), torch.full_like(row, torch.inf)
    for _ in range(_MAX_ROW_STEPS):
        by_row = linearised(cells, row, effect).by_row
        gradient, block = by_row[:, ByRow.GRADIENT], by_row[:, ByRow.BLOCK]
        low, high = torch.where(gradient < 0, row, low), torch.where(gradient > 0, row, high)
        moved = row + torch.where(block > 0, -gradient / block, -torch.inf * gradient.sign()).nan_to_num().clamp(-2, 2)
        # A Newton step that leaves the bracket is replaced by bisection.
        outside = ((moved <= low) | (moved >= high)) & low.isfinite() & high.isfinite() & (gradient != 0)
        moved = torch.where(fitted, torch.where(outside, (low + high) / 2, moved), row)
        if float((moved - row).abs().amax()) < 1e-13:
            break
        row = moved
    return row
