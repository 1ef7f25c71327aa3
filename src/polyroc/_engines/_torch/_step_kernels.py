"""A step of a small fit as few kernels of Triton: `Problem.step` where pairs are kept, written into given memory.

In plain PyTorch a step of 90 pairs is a hundred launches of a microsecond each. Here it is a dozen: what is needed for
the system of the pairs (`_couple`, a matrix product, `_assemble`), Cholesky, what follows from its solution
(`_follow`), the sweep, and what has to be known of it (`_collect`). The formulas are those of `_steps.py` and
`_problem.py`.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from polyroc._engines._descent import ROUNDING, SINGLE_ROUNDING
from polyroc._engines._torch._devices import compiled_with
from polyroc._engines._torch._problem import State
from polyroc._engines._torch._steps import LEAST_ROOT
from polyroc._engines._torch._sweep_kernels import MOST_CALL_RATES, launch_sweep
from polyroc._engines._torch._sweeps import TINY, Cells

# Pairs whose cross terms are read together.
_TOGETHER = 8


@triton.jit
def _inverse_root(block, LEAST: tl.constexpr):
    """One over the root; 0 where there is nothing to be moved."""
    root = tl.sqrt(block)
    return tl.where(root > LEAST, 1.0 / root, 0.0)


@triton.jit
def _couple(
    by_row_ptr,  # (4, R): gradient, block, carried, pinned
    effect_ptr,  # (K,)
    gradient_ptr,
    block_ptr,
    cross_ptr,  # (K, R)
    damping_ptr,
    coupling_ptr,  # (K, R)
    right_ptr,  # (K,)
    gauge_ptr,  # (K,)
    n_pairs,
    R: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_K: tl.constexpr,
    LEAST: tl.constexpr,
):
    """Scaled cross terms, and the right side and the gauge of the pairs' system."""
    across = 1.0 / (1.0 + tl.load(damping_ptr))
    r = tl.arange(0, BLOCK_R)
    is_row = r < R
    row_scale = _inverse_root(tl.load(by_row_ptr + R + r, mask=is_row, other=0.0), LEAST)
    slope = tl.load(by_row_ptr + r, mask=is_row, other=0.0)
    # Pinned pairs move by -0.9 v / stretch whatever the rows do; that changes the gradient of the rows.
    slope -= tl.load(by_row_ptr + 3 * R + r, mask=is_row, other=0.0) * across
    p = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    is_pair = p < n_pairs
    effect = tl.load(effect_ptr + p, mask=is_pair, other=0.0)
    gradient = tl.load(gradient_ptr + p, mask=is_pair, other=0.0)
    block = tl.load(block_ptr + p, mask=is_pair, other=0.0)
    # A scale of 0 takes a pinned pair out of the system.
    free = tl.where(gradient > 0.9 * effect * block, 0.0, block)
    scale = _inverse_root(free, LEAST)
    at = p[:, None] * R + r[None, :]
    inside = is_pair[:, None] & is_row[None, :]
    cross = tl.load(cross_ptr + at, mask=inside, other=0.0).to(tl.float64)
    coupling = scale[:, None] * row_scale[None, :] * cross
    tl.store(coupling_ptr + at, coupling, mask=inside)
    right = tl.sum(coupling * (row_scale * slope)[None, :], 1) * across - scale * gradient
    tl.store(right_ptr + p, right, mask=is_pair)
    tl.store(gauge_ptr + p, tl.sqrt(free) * effect, mask=is_pair)


@triton.jit
def _assemble(
    gram_ptr,  # (K, K)
    gauge_ptr,
    damping_ptr,
    system_ptr,  # (K, K)
    n_pairs,
    BLOCK: tl.constexpr,
    LEAST: tl.constexpr,
):
    """(1 + mu) I - gram / (1 + mu) + gauge, one row of it."""
    stretch = 1.0 + tl.load(damping_ptr)
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    is_pair = j < n_pairs
    gauge = tl.load(gauge_ptr + j, mask=is_pair, other=0.0)
    length = tl.sqrt(tl.sum(gauge * gauge, 0)) + LEAST
    held = tl.load(gauge_ptr + i) / length
    gram = tl.load(gram_ptr + i * n_pairs + j, mask=is_pair, other=0.0)
    found = held * (gauge / length) - gram / stretch + tl.where(i == j, stretch, 0.0)
    tl.store(system_ptr + i * n_pairs + j, found, mask=is_pair)


@triton.jit
def _follow(
    row_ptr,  # (R,)
    by_row_ptr,
    effect_ptr,
    gradient_ptr,
    block_ptr,
    coupling_ptr,
    y_ptr,  # (K,)
    lower_ptr,  # (K, K): the Cholesky factor
    failed_ptr,  # whether there is none
    damping_ptr,
    on_row_ptr,  # (R,)
    row_new_ptr,  # (R,)
    effect_new_ptr,  # (K,)
    lengths_ptr,  # (3,): what the sweep wants to know of the rows
    step_ptr,  # (3,): whether it was solved, what the step adds to FALL and to LENGTH
    stretch_ptr,
    n_pairs,
    R: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_K: tl.constexpr,
    LEAST: tl.constexpr,
    PIVOT: tl.constexpr,
):
    """The moves of the pairs and, given these, of the rows."""
    damping = tl.load(damping_ptr)
    across = 1.0 / (1.0 + damping)
    tl.store(stretch_ptr, 1.0 + damping)
    r = tl.arange(0, BLOCK_R)
    is_row = r < R
    row_scale = _inverse_root(tl.load(by_row_ptr + R + r, mask=is_row, other=0.0), LEAST)
    slope = tl.load(by_row_ptr + r, mask=is_row, other=0.0)
    slope -= tl.load(by_row_ptr + 3 * R + r, mask=is_row, other=0.0) * across
    row_side = row_scale * slope
    is_solved = tl.load(failed_ptr) == 0
    for begin in range(0, n_pairs, BLOCK_K):
        p = begin + tl.arange(0, BLOCK_K)
        root = tl.load(lower_ptr + p * (n_pairs + 1), mask=p < n_pairs, other=1.0)
        is_solved = is_solved & (tl.min(root, 0) > PIVOT)
    carried = tl.zeros([BLOCK_R], tl.float64)
    fall = damping * 0.0
    length = damping * 0.0
    for begin in range(0, n_pairs, BLOCK_K):
        p = begin + tl.arange(0, BLOCK_K)
        is_pair = p < n_pairs
        y = tl.where(is_solved, tl.load(y_ptr + p, mask=is_pair, other=0.0), 0.0)
        effect = tl.load(effect_ptr + p, mask=is_pair, other=0.0)
        gradient = tl.load(gradient_ptr + p, mask=is_pair, other=0.0)
        block = tl.load(block_ptr + p, mask=is_pair, other=0.0)
        is_pinned = gradient > 0.9 * effect * block
        scale = _inverse_root(tl.where(is_pinned, 0.0, block), LEAST)
        cut = tl.where(is_pinned, -0.9 * effect * across, 0.0)
        fall -= tl.sum(0.5 * scale * gradient * y + gradient * cut, 0)
        length += tl.sum(y * y, 0)
        # (cut): each v_j by itself.
        moved = tl.maximum(effect + scale * y + cut, 0.1 * effect)
        tl.store(effect_new_ptr + p, tl.where(is_solved, moved, effect), mask=is_pair)
        inside = is_pair[:, None] & is_row[None, :]
        coupling = tl.load(coupling_ptr + p[:, None] * R + r[None, :], mask=inside, other=0.0)
        carried += tl.sum(coupling * y[:, None], 0)
    z = -(row_side + carried) * across
    fall -= 0.5 * tl.sum(row_side * z, 0)
    length += tl.sum(z * z, 0)
    row = tl.load(row_ptr + r, mask=is_row, other=0.0)
    row = tl.where(is_solved, row + row_scale * z, row)
    tl.store(row_new_ptr + r, row, mask=is_row)
    size = tl.abs(row)
    weighted = tl.load(on_row_ptr + r, mask=is_row, other=0.0).to(tl.float64) * size
    tl.store(lengths_ptr, tl.sum(tl.where(r < R // 2, weighted, 0.0), 0))
    tl.store(lengths_ptr + 1, tl.sum(tl.where(r >= R // 2, weighted, 0.0), 0))
    tl.store(lengths_ptr + 2, tl.max(tl.where(is_row, size, 0.0), 0))
    tl.store(step_ptr, tl.where(is_solved, 1.0, 0.0))
    tl.store(step_ptr + 1, fall)
    tl.store(step_ptr + 2, length)


@triton.jit
def _collect(
    parts_ptr,  # (P, 4, R), of the programs of the sweep
    totals_ptr,  # (P, 6)
    largest_ptr,  # (P, 2)
    row_ptr,
    row_new_ptr,
    effect_ptr,
    effect_new_ptr,
    on_row_ptr,
    step_ptr,
    damping_ptr,
    by_row_ptr,  # (4, R)
    total_ptr,  # (6,)
    most_ptr,  # (2,)
    told_ptr,  # (7,)
    n_programs,
    n_pairs,
    R: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_K: tl.constexpr,
    ROUND: tl.constexpr,
):
    """The sums of a sweep, and what has to be known to go on: in the order of `Problem._told`."""
    r, entry = tl.arange(0, BLOCK_R), tl.arange(0, 8)
    is_row = r < R
    gradient = tl.zeros([BLOCK_R], tl.float64)
    block = tl.zeros([BLOCK_R], tl.float64)
    carried = tl.zeros([BLOCK_R], tl.float64)
    pinned = tl.zeros([BLOCK_R], tl.float64)
    total = tl.zeros([8], tl.float64)
    most = tl.zeros([8], tl.float64)
    for part in range(0, n_programs):
        at = parts_ptr + part * 4 * R + r
        gradient += tl.load(at, mask=is_row, other=0.0)
        block += tl.load(at + R, mask=is_row, other=0.0)
        carried += tl.load(at + 2 * R, mask=is_row, other=0.0)
        pinned += tl.load(at + 3 * R, mask=is_row, other=0.0)
        total += tl.load(totals_ptr + part * 6 + entry, mask=entry < 6, other=0.0)
        most = tl.maximum(most, tl.load(largest_ptr + part * 2 + entry, mask=entry < 2, other=0.0))
    tl.store(by_row_ptr + r, gradient, mask=is_row)
    tl.store(by_row_ptr + R + r, block, mask=is_row)
    tl.store(by_row_ptr + 2 * R + r, carried, mask=is_row)
    tl.store(by_row_ptr + 3 * R + r, pinned, mask=is_row)
    tl.store(total_ptr + entry, total, mask=entry < 6)
    tl.store(most_ptr + entry, most, mask=entry < 2)
    change = tl.sum(tl.where(entry == 0, total, 0.0), 0)
    noise = tl.sum(tl.where(entry == 1, total, 0.0), 0)
    weight_t = tl.sum(tl.where(entry == 2, total, 0.0), 0)
    weight_f = tl.sum(tl.where(entry == 3, total, 0.0), 0)
    fall = tl.sum(tl.where(entry == 4, total, 0.0), 0) + tl.load(step_ptr + 1)
    length = tl.sum(tl.where(entry == 5, total, 0.0), 0) + tl.load(step_ptr + 2)
    move = tl.sum(tl.where(entry == 0, most, 0.0), 0)
    pulled = tl.sum(tl.where(entry == 1, most, 0.0), 0)
    mean, mean_new = tl.load(damping_ptr) * 0.0, tl.load(damping_ptr) * 0.0
    for begin in range(0, n_pairs, BLOCK_K):
        p = begin + tl.arange(0, BLOCK_K)
        mean += tl.sum(tl.load(effect_ptr + p, mask=p < n_pairs, other=0.0), 0)
        mean_new += tl.sum(tl.load(effect_new_ptr + p, mask=p < n_pairs, other=0.0), 0)
    mean, mean_new = mean / n_pairs, mean_new / n_pairs
    row = tl.load(row_ptr + r, mask=is_row, other=0.0)
    row_new = tl.load(row_new_ptr + r, mask=is_row, other=0.0)
    curve = tl.abs(1.0 / (1.0 + tl.exp(-row_new * mean_new)) - 1.0 / (1.0 + tl.exp(-row * mean)))
    scale = tl.load(on_row_ptr + r, mask=is_row, other=0.0).to(tl.float64) * tl.where(r < R // 2, weight_t, weight_f)
    pull = tl.where(scale > 0, tl.abs(gradient) / tl.where(scale > 0, scale, 1.0), 0.0)
    tl.store(told_ptr, tl.load(step_ptr))
    tl.store(told_ptr + 1, change)
    tl.store(told_ptr + 2, ROUND * noise)
    tl.store(told_ptr + 3, fall + 0.5 * tl.load(damping_ptr) * length)
    tl.store(told_ptr + 4, tl.maximum(move, tl.max(tl.where(is_row, curve, 0.0), 0)))
    tl.store(told_ptr + 5, tl.maximum(pulled, tl.max(pull, 0)))
    tl.store(told_ptr + 6, tl.max(tl.where(is_row, tl.abs(row_new - row), 0.0), 0))


def can_step(cells: Cells) -> bool:
    """Whether a step of these cells is one of a single small fit that solves for its pairs."""
    return cells.n_fits == 1 and cells.n_pairs <= cells.n_rows <= 2 * MOST_CALL_RATES


def step_into(cells: Cells, state: State, damping: torch.Tensor, trial: State, told: torch.Tensor) -> None:
    """Where the step with this damping, (1,), leads from a state: written to `trial`, and what is known to `told`."""
    n_pairs, n_rows, device = cells.n_pairs, cells.n_rows, damping.device
    old, new = state.swept, trial.swept
    assert old.cross is not None
    assert new.cross is not None
    block_r, block = triton.next_power_of_2(n_rows), max(16, triton.next_power_of_2(n_pairs))
    coupling, system = (torch.empty((n_pairs, n), dtype=torch.float64, device=device) for n in (n_rows, n_pairs))
    right, gauge = torch.empty((2, n_pairs), dtype=torch.float64, device=device)
    small = torch.empty(7, dtype=torch.float64, device=device)
    lengths, step, stretch = small[:3], small[3:6], small[6:]
    sizes: dict[str, Any] = {"R": n_rows, "BLOCK_R": block_r, "BLOCK_K": _TOGETHER, **compiled_with(8)}
    of_pairs = (old.pairs.effect, old.pairs.gradient, old.pairs.block)
    grid: Any = (triton.cdiv(n_pairs, _TOGETHER),)
    _couple[grid](old.by_row, *of_pairs, old.cross, damping, coupling, right, gauge, n_pairs, **sizes, LEAST=TINY)
    gram = coupling @ coupling.mT
    grid = (n_pairs,)
    _assemble[grid](gram, gauge, damping, system, n_pairs, BLOCK=block, LEAST=TINY, **compiled_with(1))
    lower, failed = torch.linalg.cholesky_ex(system)
    y = torch.cholesky_solve(right[:, None], lower)
    grid = (1,)
    _follow[grid](
        state.row,
        old.by_row,
        *of_pairs,
        coupling,
        y,
        lower,
        failed,
        damping,
        cells.on_row,
        trial.row,
        new.pairs.effect,
        lengths,
        step,
        stretch,
        n_pairs,
        **sizes,
        LEAST=TINY,
        PIVOT=LEAST_ROOT,
    )
    parts = launch_sweep(cells, state.row, trial.row, old.pairs, stretch, lengths, new.pairs, new.cross, is_known=True)
    _collect[grid](
        *parts,
        state.row,
        trial.row,
        old.pairs.effect,
        new.pairs.effect,
        cells.on_row,
        step,
        damping,
        new.by_row,
        new.total,
        new.largest,
        told,
        parts[0].shape[1],
        n_pairs,
        **sizes,
        ROUND=SINGLE_ROUNDING if cells.precision == torch.float32 else ROUNDING,
    )
