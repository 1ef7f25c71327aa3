"""Deviances of the fit and of chance, as a kernel of Triton with the programs of a sweep (`_sweep_kernels.py`)."""

import torch
import triton
import triton.language as tl

from polyroc._engines._torch._devices import compiled_with
from polyroc._engines._torch._sweep_kernels import (
    REAL,
    of_rows,
    pairs_per_program,
    shrunk_rates,
    strides_of_weights,
    tensors_of,
    warps_for,
)
from polyroc._engines._torch._sweeps import Cells


@triton.jit
def _deviances(
    tpr_ptr,
    fpr_ptr,
    doubled_ptr,
    on_row_ptr,
    mean_ptr,
    on_tpr_ptr,
    on_fpr_ptr,
    keep_ptr,
    row_ptr,
    effect_ptr,
    out_ptr,  # (B, P, 2)
    n_pairs,
    per_program,
    fit_stride,
    pair_stride,
    effect_fit_stride,
    effect_pair_stride,
    on_tpr_stride,
    on_fpr_stride,
    keep_stride,
    T: tl.constexpr,
    BLOCK_T: tl.constexpr,
    HAS_FPR: tl.constexpr,
    REAL: tl.constexpr,
):
    program, fit, n_programs = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.num_programs(0)
    t = tl.arange(0, BLOCK_T)
    in_grid = t < T
    rows = fit * 2 * T + t
    doubled, on_row_t, on_row_f, mean_t, mean_f = of_rows(doubled_ptr, on_row_ptr, mean_ptr, rows, t, T, REAL)
    row_t = tl.load(row_ptr + rows, mask=in_grid, other=0.0).to(REAL)
    row_f = tl.load(row_ptr + rows + T, mask=in_grid, other=0.0).to(REAL)
    on, off = tl.log(doubled * 0.5), tl.log(1.0 - doubled * 0.5)
    found = tl.zeros([BLOCK_T], tl.float64)
    chance = tl.zeros([BLOCK_T], tl.float64)
    first = program.to(tl.int64) * per_program
    for p in range(first, tl.minimum(first + per_program, n_pairs)):
        at = fit * fit_stride + p * pair_stride + t
        keep = tl.load(keep_ptr + p * keep_stride).to(REAL)
        rate_t, rate_f = shrunk_rates(tpr_ptr, fpr_ptr, at, in_grid, doubled, keep, mean_t, mean_f, HAS_FPR, REAL)
        w_t = tl.load(on_tpr_ptr + p * on_tpr_stride).to(REAL) * on_row_t
        w_f = tl.load(on_fpr_ptr + p * on_fpr_stride).to(REAL) * on_row_f
        v = tl.load(effect_ptr + fit * effect_fit_stride + p * effect_pair_stride).to(REAL)
        missed_t, by_chance_t = _divergence(row_t * v, rate_t, on, off)
        missed_f, by_chance_f = _divergence(row_f * v, rate_f, on, off)
        found += (w_t * missed_t + w_f * missed_f).to(tl.float64)
        chance += (w_t * by_chance_t + w_f * by_chance_f).to(tl.float64)
    out = out_ptr + (fit * n_programs + program) * 2
    tl.store(out, tl.sum(found, 0))
    tl.store(out + 1, tl.sum(chance, 0))


@triton.jit
def _divergence(eta, rate, on, off):
    """Half the deviance of cells from the fit, and from chance, without their weights."""
    # A rate of 0 has no entropy, but its logarithm must be finite.
    rest = 1.0 - rate
    entropy = rate * tl.log(tl.maximum(rate, 1e-30)) + rest * tl.log(tl.maximum(rest, 1e-30))
    size = tl.abs(eta)
    missed = tl.where(eta >= 0, rest, rate) * size + tl.log(1.0 + tl.exp(-size))
    return entropy + missed, entropy - rate * on - rest * off


def deviances(cells: Cells, row: torch.Tensor, effect: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As `_sweeps.deviances`."""
    n, shape = cells.n_rows // 2, (cells.n_fits, cells.n_pairs)
    block_t = max(32, triton.next_power_of_2(n))
    per_program = pairs_per_program(*shape)
    n_programs = triton.cdiv(shape[1], per_program)
    found = torch.empty((shape[0], n_programs, 2), dtype=torch.float64, device=row.device)
    _deviances[(n_programs, shape[0])](
        *tensors_of(cells),
        row,
        effect,
        found,
        shape[1],
        per_program,
        cells.tpr.stride(0),
        cells.tpr.stride(1),
        *effect.stride(),
        *strides_of_weights(cells),
        T=n,
        BLOCK_T=block_t,
        HAS_FPR=cells.fpr is not None,
        REAL=REAL[cells.precision],
        **compiled_with(warps_for(block_t, n_programs * shape[0])),
    )
    total = 2 * found.sum(1)
    return total[:, 0], total[:, 1]
