"""The sweep of `sweeps.py` as one kernel of Triton: a pass over all cells that reads each rate once.

A program is a warp, or a few for a long grid or where programs are few. It takes some pairs in turn and all rows of
each, so that a pair's own numbers, sums along its rows, need no other program. Sums over pairs stay in registers
until the program is done, and are added up in double precision in the order of the programs: the same bits whenever the
same problem is swept. R = 2T rows are one block.
"""

import torch
import triton
import triton.language as tl

from polyroc._core.torch import sweeps as plain
from polyroc._core.torch.run_kernels import REAL, compiled_with
from polyroc._core.torch.sweeps import FAR, TINY, Cells, Pairs, Swept

# More call rates of a pair than this would be too long a block.
MOST_CALL_RATES = 1024
# Programs that a pass is cut into, so that every multiprocessor has several, and the least number of pairs for each.
_PROGRAMS, _LEAST_PAIRS = 16_896, 4
# Rows for each warp; and if there are few programs, so that a card has registers and time to spare: one warp has too
# few registers for this many rows in double precision.
_PER_WARP, _PER_WARP_OF_FEW, _FEW_PROGRAMS = 256, 64, 256


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
    on_row_ptr,  # (B, R)
    mean_ptr,  # (B, R)
    on_tpr_ptr,  # (K,), stride 0 if all are alike
    on_fpr_ptr,
    keep_ptr,
    row_ptr,  # (B, R), double
    row_new_ptr,
    stretch_ptr,  # (B,)
    lengths_ptr,  # (B, 3): weighted sums of |lambda| over both kinds of rows, and the largest
    effect_ptr,  # (B, K), double
    gradient_ptr,
    block_ptr,
    effect_new_ptr,
    gradient_new_ptr,
    block_new_ptr,
    cross_ptr,  # (B, K, R)
    by_row_ptr,  # (B, P, 4, R)
    total_ptr,  # (B, P, 6)
    largest_ptr,  # (B, P, 2)
    n_pairs,
    per_program,
    fit_stride,  # of TPR, in numbers
    pair_stride,
    on_tpr_stride,
    on_fpr_stride,
    keep_stride,
    T: tl.constexpr,
    BLOCK: tl.constexpr,
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
    # True positive rates first, then false ones. Padded rows have weight 0: whatever is computed of them is finite, and
    # counts for nothing.
    r = tl.arange(0, BLOCK)
    inside, is_tpr = r < 2 * T, r < T
    t, rows = tl.where(is_tpr, r, r - T), fit * 2 * T + r
    doubled = tl.load(doubled_ptr + t, mask=inside, other=1.0).to(REAL)
    on_row = tl.load(on_row_ptr + rows, mask=inside, other=0.0).to(REAL)
    mean = tl.load(mean_ptr + rows, mask=inside, other=0.5).to(REAL)
    there64 = tl.load(row_new_ptr + rows, mask=inside, other=0.0)
    there = there64.to(REAL)
    if not IS_FIRST:
        here64 = tl.load(row_ptr + rows, mask=inside, other=0.0)
        here, row_move = here64.to(REAL), (there64 - here64).to(REAL)
        across = 1.0 / tl.load(stretch_ptr + fit)
    length_t, length_f = tl.load(lengths_ptr + 3 * fit), tl.load(lengths_ptr + 3 * fit + 1)
    longest = tl.load(lengths_ptr + 3 * fit + 2)

    by_gradient = tl.zeros([BLOCK], REAL)
    by_block = tl.zeros([BLOCK], REAL)
    by_carried = tl.zeros([BLOCK], REAL)
    by_pinned = tl.zeros([BLOCK], REAL)
    # By rows, too: one sum along them at the end instead of one for each pair.
    change = tl.zeros([BLOCK], tl.float64)
    noise = tl.zeros([BLOCK], REAL)
    moved = tl.zeros([BLOCK], REAL)
    zero = length_t * 0.0
    weight_t, weight_f, pulled, fall, length = zero, zero, zero, zero, zero

    first = program.to(tl.int64) * per_program
    last = tl.minimum(first + per_program, n_pairs)
    for p in range(first, last):
        at, pair = fit * fit_stride + p * pair_stride + t, fit * n_pairs + p
        on_tpr, on_fpr = tl.load(on_tpr_ptr + p * on_tpr_stride), tl.load(on_fpr_ptr + p * on_fpr_stride)
        keep = tl.load(keep_ptr + p * keep_stride).to(REAL)
        if HAS_FPR:
            rate = tl.load(tpr_ptr + at, mask=is_tpr, other=0.0).to(REAL)
            rate += tl.load(fpr_ptr + at, mask=inside & (r >= T), other=0.0).to(REAL)
        else:
            rate = tl.load(tpr_ptr + at, mask=inside, other=0.0).to(REAL)
            rate = tl.where(is_tpr, rate, tl.minimum(tl.maximum(doubled - rate, 0.0), 1.0))
        rate = keep * rate + (1.0 - keep) * mean
        w = tl.where(is_tpr, on_tpr, on_fpr).to(REAL) * on_row
        v_old = tl.load(effect_ptr + pair)
        v_new = v_old
        if not IS_FIRST:
            p0, h0 = _probabilities(here, v_old.to(REAL))
            if IS_KNOWN:
                v_new = tl.load(effect_new_ptr + pair)
            else:
                gradient, block = tl.load(gradient_ptr + pair), tl.load(block_ptr + pair)
                cross = w * (h0 * here * v_old.to(REAL) + p0 - rate)
                move = tl.sum(cross * row_move, 0).to(tl.float64)
                # A pinned pair takes its own cut step; its slope counts whole.
                is_pinned = gradient > 0.9 * v_old * block
                step = tl.where(is_pinned, -0.9 * v_old * across, -(gradient + move) * across / block)
                slope = gradient * step
                fall -= tl.where(is_pinned, slope, 0.5 * slope)
                length += tl.where(is_pinned, 0.0, block * step * step)
                v_new = tl.maximum(v_old + step, 0.1 * v_old)
                tl.store(effect_new_ptr + pair, v_new)
        v = v_new.to(REAL)
        p1, h1 = _probabilities(there, v)
        residual, bend = w * (p1 - rate), w * h1
        new_gradient = tl.sum(there * residual, 0)
        cross = bend * there
        new_block = tl.sum(cross * there, 0) + LEAST
        cross = cross * v + residual
        tl.store(gradient_new_ptr + pair, new_gradient.to(tl.float64))
        tl.store(block_new_ptr + pair, new_block.to(tl.float64))
        is_held = new_gradient.to(tl.float64) > 0.9 * v_new * new_block.to(tl.float64)
        by_gradient += v * residual
        by_block += v * v * bend
        by_carried += tl.where(is_held, 0.0, new_gradient / new_block) * cross
        by_pinned += tl.where(is_held, 0.9 * v, 0.0) * cross
        if WITH_CROSS:
            tl.store(cross_ptr + pair * (2 * T) + r, cross, mask=inside)
        if not IS_FIRST:
            move = row_move * v + here * (v_new - v_old).to(REAL)
            # Hermite's rule from both ends, without cancellation; what it misses is a share of move^3 / 360.
            near = w * move * (0.5 * (p0 + p1) - rate - move * (h1 - h0) * TWELFTH)
            size = tl.abs(move)
            if tl.max(size, 0) > FAR_MOVE:
                near = tl.where(size > FAR_MOVE, _far_change(here * v_old.to(REAL), there * v, rate, w, p0, p1), near)
            change += near.to(tl.float64)
            noise += w * size
            moved = tl.maximum(moved, tl.abs(p1 - p0))
        weight_t += on_tpr * v_new
        weight_f += on_fpr * v_new
        scaled = new_gradient / (on_tpr * length_t + on_fpr * length_f + LEAST).to(REAL)
        # At 0, where v_p >= 0 binds, a gradient that pulls further down is none.
        scaled = tl.where(v_new * longest <= 1e-8, tl.maximum(-scaled, 0.0), tl.abs(scaled))
        pulled = tl.maximum(pulled, scaled.to(tl.float64))

    # In the order of `sweeps.py`. Padded rows have no weight, but their probability may move.
    out = by_row_ptr + (fit * n_programs + program) * 8 * T + r
    tl.store(out, by_gradient.to(tl.float64), mask=inside)
    tl.store(out + 2 * T, by_block.to(tl.float64), mask=inside)
    tl.store(out + 4 * T, by_carried.to(tl.float64), mask=inside)
    tl.store(out + 6 * T, by_pinned.to(tl.float64), mask=inside)
    sums = total_ptr + (fit * n_programs + program) * 6
    tl.store(sums, tl.sum(change, 0))
    tl.store(sums + 1, tl.sum(noise.to(tl.float64), 0))
    tl.store(sums + 2, weight_t)
    tl.store(sums + 3, weight_f)
    tl.store(sums + 4, fall)
    tl.store(sums + 5, length)
    largest = largest_ptr + (fit * n_programs + program) * 2
    tl.store(largest, tl.max(tl.where(inside, moved, 0.0), 0).to(tl.float64))
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
        torch.empty((n_fits, grid[0], *shape), dtype=torch.float64, device=device) for shape in ((4, 2 * n), (6,), (2,))
    ]
    block = max(64, triton.next_power_of_2(2 * n))
    effects = (old.effect,) * 3 if stretch is None else old
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
        *(one.contiguous() for one in effects),
        *new,
        row if cross is None else cross,
        *sums,
        n_pairs,
        per_program,
        *cells.tpr.stride()[:2],
        *(one.stride(0) for one in (cells.on_tpr, cells.on_fpr, cells.keep)),
        T=n,
        BLOCK=block,
        HAS_FPR=cells.fpr is not None,
        IS_FIRST=stretch is None,
        IS_KNOWN=effect_new is not None or stretch is None,
        WITH_CROSS=cross is not None,
        REAL=REAL[cells.precision],
        FAR_MOVE=FAR,
        LEAST=TINY,
        TWELFTH=1 / 12,
        **compiled_with(_warps_for(block, grid[0] * n_fits)),
    )
    return Swept(new, sums[0].sum(1), sums[1].sum(1), sums[2].amax(1), cross)


def can_sweep(cells: Cells) -> bool:
    """Whether these cells lie as the kernel wants them."""
    of_pair = cells.tpr.stride(2) == 1 and (cells.fpr is None or cells.fpr.stride() == cells.tpr.stride())
    return of_pair and cells.n_rows <= 2 * MOST_CALL_RATES


def _warps_for(block: int, n_programs: int) -> int:
    """The warps of each of these programs, for a block of rows."""
    usual = max(1, block // _PER_WARP)
    # More than eight would leave each thread too few registers.
    return usual if n_programs > _FEW_PROGRAMS else max(usual, min(8, block // _PER_WARP_OF_FEW))


def _lengths(cells: Cells, row: torch.Tensor) -> torch.Tensor:
    """Weighted sums of |lambda| over the true and the false positive rows, and the largest, (B, 3)."""
    n, size = cells.n_rows // 2, row.abs()
    weighted = (cells.on_row * size).view(len(row), 2, n).sum(2, dtype=torch.float64)
    return torch.cat([weighted, size.amax(1, keepdim=True)], 1)
