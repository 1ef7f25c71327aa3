"""The sweep of `sweeps.py` as one kernel of Triton: a pass over all cells that reads each rate once.

A program is a warp, or a few for a long grid or where programs are few. It takes some pairs in turn and all call rates
of each, so that a pair's own numbers, sums along its rates, need no other program. Sums over pairs stay in registers
until the program is done, and are added up in double precision in the order of the programs: the same bits whenever the
same problem is swept. Padded call rates have weight 0.
"""

import torch
import triton
import triton.language as tl

from polyroc._core.torch import sweeps as plain
from polyroc._core.torch.run_kernels import REAL, compiled_with
from polyroc._core.torch.sweeps import FAR, N_LARGEST, N_ROW_SUMS, N_TOTALS, TINY, Cells, Pairs, Swept

# Call rates of a pair are one row of a block.
MOST_CALL_RATES = 1024
# Programs that a pass is cut into, so that every multiprocessor has several, and the least number of pairs for each.
_PROGRAMS, _LEAST_PAIRS = 16_896, 4
# Call rates for each warp; and where there are few programs, so that a card has registers and time to spare: one warp
# has too few registers for this many call rates in double precision.
_PER_WARP, _PER_WARP_OF_FEW, _FEW_PROGRAMS = 128, 32, 256


@triton.jit
def _probabilities(row, effect):
    """Probabilities mu, and mu (1 - mu), of a block of cells; both tails from one exponential."""
    eta = row * effect
    e = tl.exp(-tl.abs(eta))
    large = 1.0 / (1.0 + e)
    small = e * large
    return tl.where(eta >= 0, large, small), small * large


@triton.jit
def _far_change(eta0, eta1, rate, weight, p0, p1):
    """Half the change of the deviance by long moves, from the logarithms at their ends."""
    ratio = tl.maximum(p0, 1.0 - p0) / tl.maximum(p1, 1.0 - p1)
    softplus = tl.maximum(eta1, 0.0) - tl.maximum(eta0, 0.0) + tl.log(ratio)
    return weight * (softplus - rate * (eta1 - eta0))


@triton.jit
def _sweep(
    tpr_ptr,
    fpr_ptr,
    doubled_ptr,  # (T,)
    on_row_ptr,  # (B, 2T)
    mean_ptr,  # (B, 2T)
    on_tpr_ptr,  # (K,), stride 0 where all are alike
    on_fpr_ptr,
    keep_ptr,
    row_ptr,  # (B, 2T), double
    row_new_ptr,
    stretch_ptr,  # (B,)
    lengths_ptr,  # (B, 3): weighted sums of |lambda| over both kinds of rows, and the largest
    effect_ptr,  # (B, K), double, with a stride by fits and one by pairs
    gradient_ptr,
    block_ptr,
    effect_new_ptr,
    gradient_new_ptr,
    block_new_ptr,
    cross_ptr,  # (B, K, 2T)
    by_row_ptr,  # (B, P, 4, 2T)
    total_ptr,  # (B, P, 6)
    largest_ptr,  # (B, P, 2)
    n_pairs,
    per_program,
    fit_stride,  # of TPR, in numbers
    pair_stride,
    effect_fit_stride,
    effect_pair_stride,
    other_fit_stride,
    other_pair_stride,
    on_tpr_stride,
    on_fpr_stride,
    keep_stride,
    T: tl.constexpr,
    BLOCK_T: tl.constexpr,
    HAS_FPR: tl.constexpr,
    IS_FIRST: tl.constexpr,
    IS_KNOWN: tl.constexpr,
    WITH_CROSS: tl.constexpr,
    REAL: tl.constexpr,
    FAR_MOVE: tl.constexpr,
    LEAST: tl.constexpr,
    TWELFTH: tl.constexpr,
):
    program, fit, n_programs = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.num_programs(0)
    t = tl.arange(0, BLOCK_T)
    in_grid = t < T
    rows = fit * 2 * T + t
    # Padded call rates are 1/2 and have weight 0: whatever is computed of them is finite, and counts for nothing.
    doubled = tl.load(doubled_ptr + t, mask=in_grid, other=1.0).to(REAL)
    on_row_t = tl.load(on_row_ptr + rows, mask=in_grid, other=0.0).to(REAL)
    on_row_f = tl.load(on_row_ptr + rows + T, mask=in_grid, other=0.0).to(REAL)
    mean_t = tl.load(mean_ptr + rows, mask=in_grid, other=0.5).to(REAL)
    mean_f = tl.load(mean_ptr + rows + T, mask=in_grid, other=0.5).to(REAL)
    there_t64 = tl.load(row_new_ptr + rows, mask=in_grid, other=0.0)
    there_f64 = tl.load(row_new_ptr + rows + T, mask=in_grid, other=0.0)
    there_t, there_f = there_t64.to(REAL), there_f64.to(REAL)
    if not IS_FIRST:
        here_t64 = tl.load(row_ptr + rows, mask=in_grid, other=0.0)
        here_f64 = tl.load(row_ptr + rows + T, mask=in_grid, other=0.0)
        here_t, here_f = here_t64.to(REAL), here_f64.to(REAL)
        moved_t, moved_f = (there_t64 - here_t64).to(REAL), (there_f64 - here_f64).to(REAL)
        across = 1.0 / tl.load(stretch_ptr + fit)
    length_t = tl.load(lengths_ptr + 3 * fit)
    length_f = tl.load(lengths_ptr + 3 * fit + 1)
    longest = tl.load(lengths_ptr + 3 * fit + 2)

    gradient_t = tl.zeros([BLOCK_T], REAL)
    gradient_f = tl.zeros([BLOCK_T], REAL)
    curved_t = tl.zeros([BLOCK_T], REAL)
    curved_f = tl.zeros([BLOCK_T], REAL)
    carried_t = tl.zeros([BLOCK_T], REAL)
    carried_f = tl.zeros([BLOCK_T], REAL)
    pinned_t = tl.zeros([BLOCK_T], REAL)
    pinned_f = tl.zeros([BLOCK_T], REAL)
    # By call rates, too: one sum along them at the end instead of one for each pair.
    change = tl.zeros([BLOCK_T], tl.float64)
    noise = tl.zeros([BLOCK_T], REAL)
    moved = tl.zeros([BLOCK_T], REAL)
    zero = tl.load(lengths_ptr + 3 * fit) * 0.0
    weight_t, weight_f, pulled, fall, length = zero, zero, zero, zero, zero

    first = program.to(tl.int64) * per_program
    last = tl.minimum(first + per_program, n_pairs)
    for p in range(first, last):
        at = fit * fit_stride + p * pair_stride + t
        on_tpr, on_fpr = tl.load(on_tpr_ptr + p * on_tpr_stride), tl.load(on_fpr_ptr + p * on_fpr_stride)
        keep = tl.load(keep_ptr + p * keep_stride).to(REAL)
        tpr = tl.load(tpr_ptr + at, mask=in_grid, other=0.0).to(REAL)
        if HAS_FPR:
            fpr = tl.load(fpr_ptr + at, mask=in_grid, other=0.0).to(REAL)
        else:
            fpr = tl.minimum(tl.maximum(doubled - tpr, 0.0), 1.0)
        rate_t, rate_f = keep * tpr + (1.0 - keep) * mean_t, keep * fpr + (1.0 - keep) * mean_f
        w_t, w_f = on_tpr.to(REAL) * on_row_t, on_fpr.to(REAL) * on_row_f
        v_old = tl.load(effect_ptr + fit * effect_fit_stride + p * effect_pair_stride)
        v_new = v_old
        if not IS_FIRST:
            p0_t, h0_t = _probabilities(here_t, v_old.to(REAL))
            p0_f, h0_f = _probabilities(here_f, v_old.to(REAL))
            if IS_KNOWN:
                v_new = tl.load(effect_new_ptr + fit * n_pairs + p)
            else:
                other_at = fit * other_fit_stride + p * other_pair_stride
                gradient = tl.load(gradient_ptr + other_at)
                block = tl.load(block_ptr + other_at)
                v = v_old.to(REAL)
                cross_t = w_t * (h0_t * here_t * v + p0_t - rate_t)
                cross_f = w_f * (h0_f * here_f * v + p0_f - rate_f)
                move = tl.sum(cross_t * moved_t + cross_f * moved_f, 0).to(tl.float64)
                # A pinned pair takes its own cut step; its slope counts whole.
                is_pinned = gradient > 0.9 * v_old * block
                step = tl.where(is_pinned, -0.9 * v_old * across, -(gradient + move) * across / block)
                slope = gradient * step
                fall -= tl.where(is_pinned, slope, 0.5 * slope)
                length += tl.where(is_pinned, 0.0, block * step * step)
                v_new = tl.maximum(v_old + step, 0.1 * v_old)
                tl.store(effect_new_ptr + fit * n_pairs + p, v_new)
        v = v_new.to(REAL)
        p1_t, h1_t = _probabilities(there_t, v)
        p1_f, h1_f = _probabilities(there_f, v)
        residual_t, residual_f = w_t * (p1_t - rate_t), w_f * (p1_f - rate_f)
        bend_t, bend_f = w_t * h1_t, w_f * h1_f
        new_gradient = tl.sum(there_t * residual_t + there_f * residual_f, 0)
        cross_t, cross_f = bend_t * there_t, bend_f * there_f
        new_block = tl.sum(cross_t * there_t + cross_f * there_f, 0) + LEAST
        cross_t, cross_f = cross_t * v + residual_t, cross_f * v + residual_f
        tl.store(gradient_new_ptr + fit * n_pairs + p, new_gradient.to(tl.float64))
        tl.store(block_new_ptr + fit * n_pairs + p, new_block.to(tl.float64))
        is_held = new_gradient.to(tl.float64) > 0.9 * v_new * new_block.to(tl.float64)
        carry = tl.where(is_held, 0.0, new_gradient / new_block)
        held = tl.where(is_held, 0.9 * v, 0.0)
        gradient_t += v * residual_t
        gradient_f += v * residual_f
        curved_t += v * v * bend_t
        curved_f += v * v * bend_f
        carried_t += carry * cross_t
        carried_f += carry * cross_f
        pinned_t += held * cross_t
        pinned_f += held * cross_f
        if WITH_CROSS:
            crossing = (fit * n_pairs + p) * (2 * T) + t
            tl.store(cross_ptr + crossing, cross_t, mask=in_grid)
            tl.store(cross_ptr + crossing + T, cross_f, mask=in_grid)
        if not IS_FIRST:
            dv = (v_new - v_old).to(REAL)
            move_t, move_f = moved_t * v + here_t * dv, moved_f * v + here_f * dv
            # Hermite's rule from both ends, without cancellation; what it misses is a share of move^3 / 360.
            slope_t = 0.5 * (p0_t + p1_t) - rate_t - move_t * (h1_t - h0_t) * TWELFTH
            slope_f = 0.5 * (p0_f + p1_f) - rate_f - move_f * (h1_f - h0_f) * TWELFTH
            near_t, near_f = w_t * move_t * slope_t, w_f * move_f * slope_f
            size_t, size_f = tl.abs(move_t), tl.abs(move_f)
            if tl.max(tl.maximum(size_t, size_f), 0) > FAR_MOVE:
                v0 = v_old.to(REAL)
                far_t = _far_change(here_t * v0, there_t * v, rate_t, w_t, p0_t, p1_t)
                far_f = _far_change(here_f * v0, there_f * v, rate_f, w_f, p0_f, p1_f)
                near_t = tl.where(size_t > FAR_MOVE, far_t, near_t)
                near_f = tl.where(size_f > FAR_MOVE, far_f, near_f)
            change += (near_t + near_f).to(tl.float64)
            noise += w_t * size_t + w_f * size_f
            moved = tl.maximum(moved, tl.maximum(tl.abs(p1_t - p0_t), tl.abs(p1_f - p0_f)))
        weight_t += on_tpr * v_new
        weight_f += on_fpr * v_new
        scaled = new_gradient / (on_tpr * length_t + on_fpr * length_f + LEAST).to(REAL)
        # At 0, where v_p >= 0 binds, a gradient that pulls further down is none.
        scaled = tl.where(v_new * longest <= 1e-8, tl.maximum(-scaled, 0.0), tl.abs(scaled))
        pulled = tl.maximum(pulled, scaled.to(tl.float64))

    out = by_row_ptr + (fit * n_programs + program) * 8 * T + t
    tl.store(out, gradient_t.to(tl.float64), mask=in_grid)
    tl.store(out + T, gradient_f.to(tl.float64), mask=in_grid)
    tl.store(out + 2 * T, curved_t.to(tl.float64), mask=in_grid)
    tl.store(out + 3 * T, curved_f.to(tl.float64), mask=in_grid)
    tl.store(out + 4 * T, carried_t.to(tl.float64), mask=in_grid)
    tl.store(out + 5 * T, carried_f.to(tl.float64), mask=in_grid)
    tl.store(out + 6 * T, pinned_t.to(tl.float64), mask=in_grid)
    tl.store(out + 7 * T, pinned_f.to(tl.float64), mask=in_grid)
    # In the order of `sweeps.py`. Padded call rates have no weight, but their probability may move.
    sums = total_ptr + (fit * n_programs + program) * 6
    tl.store(sums, tl.sum(change, 0))
    tl.store(sums + 1, tl.sum(noise.to(tl.float64), 0))
    tl.store(sums + 2, weight_t)
    tl.store(sums + 3, weight_f)
    tl.store(sums + 4, fall)
    tl.store(sums + 5, length)
    largest = largest_ptr + (fit * n_programs + program) * 2
    tl.store(largest, tl.max(tl.where(in_grid, moved, 0.0), 0).to(tl.float64))
    tl.store(largest + 1, pulled)


def sweep(
    cells: Cells,
    row: torch.Tensor,
    row_new: torch.Tensor,
    old: Pairs,
    stretch: torch.Tensor | None,
    effect_new: torch.Tensor | None = None,
    *,
    with_cross: bool = False,
) -> Swept:
    """As `sweeps.sweep`: here if the call rates of a pair lie together, and are not too many."""
    if not can_sweep(cells):
        return plain.sweep(cells, row, row_new, old, stretch, effect_new, with_cross=with_cross)
    (n_fits, n_pairs, n), device = cells.tpr.shape, row.device
    effect = old.effect if stretch is None else effect_new
    if effect is None:
        effect = torch.empty((n_fits, n_pairs), dtype=torch.float64, device=device)
    new = Pairs(effect, *torch.empty((2, n_fits, n_pairs), dtype=torch.float64, device=device))
    cross = torch.empty((n_fits, n_pairs, 2 * n), dtype=cells.precision, device=device) if with_cross else None
    # As many pairs as leave enough programs, each with something to do.
    per_program = max(_LEAST_PAIRS, n_fits * n_pairs // _PROGRAMS)
    grid = (triton.cdiv(n_pairs, per_program), n_fits)
    sums = [
        torch.empty((n_fits, grid[0], *shape), dtype=torch.float64, device=device)
        for shape in ((N_ROW_SUMS, 2 * n), (N_TOTALS,), (N_LARGEST,))
    ]
    block_t = max(32, triton.next_power_of_2(n))
    # Without FPR, a step or cross terms, nothing reads what stands in their place.
    _sweep[grid](
        cells.tpr,
        cells.tpr if cells.fpr is None else cells.fpr,
        cells.doubled,
        cells.on_row,
        cells.mean,
        cells.on_tpr,
        cells.on_fpr,
        cells.keep,
        row,
        row_new,
        row if stretch is None else stretch,
        _lengths(cells, row_new),
        *old,
        *new,
        row if cross is None else cross,
        *sums,
        n_pairs,
        per_program,
        *cells.tpr.stride()[:2],
        *old.effect.stride(),
        *old.gradient.stride(),
        *(one.stride(0) for one in (cells.on_tpr, cells.on_fpr, cells.keep)),
        T=n,
        BLOCK_T=block_t,
        HAS_FPR=cells.fpr is not None,
        IS_FIRST=stretch is None,
        IS_KNOWN=effect_new is not None or stretch is None,
        WITH_CROSS=cross is not None,
        REAL=REAL[cells.precision],
        FAR_MOVE=FAR,
        LEAST=TINY,
        TWELFTH=1 / 12,
        **compiled_with(_warps_for(block_t, grid[0] * n_fits)),
    )
    return Swept(new, sums[0].sum(1), sums[1].sum(1), sums[2].amax(1), cross)


def can_sweep(cells: Cells) -> bool:
    """Whether these cells lie as the kernel wants them."""
    of_pair = cells.tpr.stride(2) == 1 and (cells.fpr is None or cells.fpr.stride() == cells.tpr.stride())
    return of_pair and cells.n_rows <= 2 * MOST_CALL_RATES


def _warps_for(block_t: int, n_programs: int) -> int:
    """The warps of each of these programs, for a block of call rates."""
    usual = max(1, block_t // _PER_WARP)
    # More than eight would leave each thread too few registers.
    return usual if n_programs > _FEW_PROGRAMS else max(usual, min(8, block_t // _PER_WARP_OF_FEW))


def _lengths(cells: Cells, row: torch.Tensor) -> torch.Tensor:
    """Weighted sums of |lambda| over the true and the false positive rows, and the largest, (B, 3)."""
    n, size = cells.n_rows // 2, row.abs()
    weighted = (cells.on_row * size).view(len(row), 2, n).sum(2, dtype=torch.float64)
    return torch.cat([weighted, size.amax(1, keepdim=True)], 1)
