"""Influences of own thresholds as kernels of Triton, which do what `influence.py` does by tables the other way round.

A cut at call rate s adds its coefficient to the samples that are called there. So a sample which is called from call
rate s on is given the sum of the coefficients from s on, one entry of cumulated coefficients (`_heights`). Where on the
grid a sample is called follows from its score: by how many samples of both classes lie above it, and up to it, which is
four bisections (`_hand_out`). No table by ranks is made, and which sample stands at which rank need not be known.

Sums over pairs are added as programs come, so that their last bits may differ from run to run. Words in parentheses are
the labels of equations in docs/influence.md. m numbers, n samples, K pairs, T call rates.
"""

import torch
import triton
import triton.language as tl

from polyroc._core.influence import Reach
from polyroc._core.torch import influence as plain
from polyroc._core.torch.devices import pieces, uploaded
from polyroc._core.torch.influence import GetRuns, centred, reach_on
from polyroc._core.torch.records import DevicePairs, Slopes
from polyroc._core.torch.run_kernels import compiled_with, cut, run_of, runs_of_pair, tail_of
from polyroc._core.torch.runs import Runs, Samples
from polyroc._core.torch.sweep_kernels import MOST_CALL_RATES
from polyroc._lib.typing import FloatArray, Thresholds

# Cumulated coefficients that are kept at once, and numbers differentiated at once.
_HEIGHTS, _NUMBERS = 2**27, 16
# Programs into which few pairs of long runs are split.
_PROGRAMS = 8192


@triton.jit
def _called_at(share_ptr, point, inside, T: tl.constexpr):
    """Share of the positive class that is called at the points 0, s_1 .. s_T, 1."""
    share = tl.load(share_ptr + (point - 1), mask=inside & (point > 0) & (point <= T), other=0.0)
    return tl.where(point > T, 1.0, share)


@triton.jit
def _heights(
    share_ptr,  # (P, T)
    low_ptr,  # (T,) each: the interval of each slope, as `Reach` has it
    low_part_ptr,
    high_ptr,
    high_part_ptr,
    width_ptr,
    row_ptr,  # (m, Q, 2T)
    pair_ptr,  # (Q, m, P)
    on_tpr_ptr,  # (P,)
    on_fpr_ptr,
    out_ptr,  # (m, 2, P, T)
    n_pairs,
    n_numbers,
    on_tpr_stride,
    on_fpr_stride,
    T: tl.constexpr,
    Q: tl.constexpr,
    BLOCK_T: tl.constexpr,
):
    """Coefficients of (influence), cumulated from the last call rate on: those of the positive class, of the other."""
    p, s = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    t = tl.arange(0, BLOCK_T)
    inside = t < T
    low, high = tl.load(low_ptr + t, mask=inside, other=0), tl.load(high_ptr + t, mask=inside, other=0)
    low_part = tl.load(low_part_ptr + t, mask=inside, other=0.0)
    high_part = tl.load(high_part_ptr + t, mask=inside, other=0.0)
    share = share_ptr + p * T
    lower = (1.0 - low_part) * _called_at(share, low, inside, T) + low_part * _called_at(share, low + 1, inside, T)
    upper = (1.0 - high_part) * _called_at(share, high, inside, T) + high_part * _called_at(share, high + 1, inside, T)
    # beta of (influence): the share of the positive class in what is called next. The rest is the other one's.
    beta = (upper - lower) / (2.0 * tl.load(width_ptr + t, mask=inside, other=1.0))
    beta = tl.minimum(tl.maximum(beta, 0.0), 1.0)
    by_tpr = tl.zeros([BLOCK_T], tl.float64)
    by_fpr = tl.zeros([BLOCK_T], tl.float64)
    for q in tl.static_range(Q):
        row = row_ptr + (s * Q + q) * 2 * T + t
        factor = tl.load(pair_ptr + (q * n_numbers + s) * n_pairs + p)
        by_tpr += factor * tl.load(row, mask=inside, other=0.0)
        by_fpr += factor * tl.load(row + T, mask=inside, other=0.0)
    g = by_tpr * tl.load(on_tpr_ptr + p * on_tpr_stride) - by_fpr * tl.load(on_fpr_ptr + p * on_fpr_stride)
    at = (2 * s * n_pairs + p) * T + t
    tl.store(out_ptr + at, tl.cumsum(g * (1.0 - beta), 0, reverse=True), mask=inside)
    tl.store(out_ptr + n_pairs * T + at, tl.cumsum(-g * beta, 0, reverse=True), mask=inside)


@triton.jit
def _ranks(run, count, score, steps):
    """How many of a run in falling order lie above each score, and how many above it or at it."""
    above = tl.zeros(score.shape, tl.int32)
    upto = above
    above_end = above + count
    upto_end = above_end
    for _ in range(steps):
        # Both bisections in one loop: neither waits for what the other reads.
        middle, other = (above + above_end) // 2, (upto + upto_end) // 2
        is_above = (tl.load(run + tl.minimum(middle, count - 1)) > score) & (above < above_end)
        is_upto = (tl.load(run + tl.minimum(other, count - 1)) >= score) & (upto < upto_end)
        above, above_end = tl.where(is_above, middle + 1, above), tl.where(is_above, above_end, middle)
        upto, upto_end = tl.where(is_upto, other + 1, upto), tl.where(is_upto, upto_end, other)
    return above, upto


@triton.jit
def _shares(run, tail, count, score, steps, HAS_TAILS: tl.constexpr):
    """The share of a run above each score, and above it or at it."""
    above, upto = _ranks(run, count, score, steps)
    if HAS_TAILS:
        before, after = tl.load(tail + above).to(tl.float64), tl.load(tail + upto).to(tl.float64)
    else:
        before, after = above.to(tl.float64) / count.to(tl.float64), upto.to(tl.float64) / count.to(tl.float64)
    return before, after


@triton.jit
def _reached(grid_ptr, share, grid_steps, T: tl.constexpr):
    """How many call rates are at most a share."""
    low = tl.zeros(share.shape, tl.int32)
    high = low + T
    for _ in range(grid_steps):
        middle = (low + high) // 2
        is_reached = (tl.load(grid_ptr + tl.minimum(middle, T - 1)) <= share) & (low < high)
        low, high = tl.where(is_reached, middle + 1, low), tl.where(is_reached, high, middle)
    return low


@triton.jit
def _score_of(column_ptr, members_ptr, place, is_sample, stride):
    """Scores in one column of the samples at some places of `members`."""
    sample = tl.load(members_ptr + place, mask=is_sample, other=0).to(tl.int64)
    return tl.load(column_ptr + sample * stride)


@triton.jit
def _hand_out(
    scores_ptr,  # (n, C)
    members_ptr,  # (n,): the samples, class by class
    values,  # sorted scores, run by run
    tails,
    positive_ptr,  # (P,)
    negative_ptr,
    column_ptr,
    offsets_ptr,  # (k + 1,)
    grid_ptr,  # (T,)
    heights_ptr,  # (m, 2, P, T)
    out_ptr,  # (m, n), class by class
    n_pairs,
    n_numbers,
    n,
    k,
    sample_stride,
    column_stride,
    steps,
    grid_steps,
    T: tl.constexpr,
    BLOCK: tl.constexpr,
    HAS_TAILS: tl.constexpr,
):
    """Add psi of (influence) to the samples of both classes of a pair."""
    p, piece, n_pieces = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    # Scores lie as they came: by samples, by columns, or with other numbers between them.
    scores = scores_ptr + tl.load(column_ptr + p).to(tl.int64) * column_stride
    run_a, n_a, tail_a, run_b, n_b, tail_b = runs_of_pair(
        values, tails, positive_ptr, negative_ptr, column_ptr, offsets_ptr, p, n, k, HAS_TAILS
    )
    i, j = tl.load(positive_ptr + p), tl.load(negative_ptr + p)
    for which in range(2):
        first, count = tl.load(offsets_ptr + tl.where(which > 0, j, i)), tl.where(which > 0, n_b, n_a)
        for begin in range(piece * BLOCK, count, n_pieces * BLOCK):
            rank = begin + tl.arange(0, BLOCK)
            is_sample = rank < count
            score = _score_of(scores, members_ptr, first + rank, is_sample, sample_stride)
            above_a, upto_a = _shares(run_a, tail_a, n_a, score, steps, HAS_TAILS)
            above_b, upto_b = _shares(run_b, tail_b, n_b, score, steps, HAS_TAILS)
            # The edge of this score, between two call rates.
            before, after = 0.5 * (above_a + above_b), 0.5 * (upto_a + upto_b)
            width = after - before
            inverse = 1.0 / tl.where(width > 0, width, 1.0)
            on_edge = _reached(grid_ptr, before, grid_steps, T)
            beyond = _reached(grid_ptr, after, grid_steps, T)
            longest = tl.max(tl.where(is_sample, beyond - on_edge, 0), 0)
            for s in range(n_numbers):
                heights = heights_ptr + ((2 * s + which) * n_pairs + p) * T
                # h of (influence): whole where the edge lies below the call rate, and in part where it is on the edge.
                added = tl.load(heights + beyond, mask=is_sample & (beyond < T), other=0.0)
                for step in range(longest):
                    t = on_edge + step
                    here = is_sample & (t < beyond)
                    height = tl.load(heights + t, mask=here, other=0.0)
                    height -= tl.load(heights + t + 1, mask=here & (t + 1 < T), other=0.0)
                    call_rate = tl.load(grid_ptr + t, mask=here, other=0.0)
                    added += tl.where(here, height * (call_rate - before) * inverse, 0.0)
                tl.atomic_add(out_ptr + s * n + first + rank, added, mask=is_sample)


def influences(
    samples: Samples,
    get_runs: GetRuns,
    pairs: DevicePairs,
    call_rates: FloatArray,
    thresholds: Thresholds,
    slopes: Slopes,
    *,
    least_reach: float,
) -> torch.Tensor:
    """As `influence.influences`: here for own thresholds, gradients without factors of cells, and grids that fit."""
    if thresholds != "own" or slopes.cell is not None or len(call_rates) > MOST_CALL_RATES:
        return plain.influences(samples, get_runs, pairs, call_rates, thresholds, slopes, least_reach=least_reach)
    runs, device, n_pairs, n_grid = get_runs(), samples.device, len(pairs.column), len(call_rates)
    around, grid = reach_on(call_rates, least_reach, device), uploaded(call_rates, device)
    members = samples.by_class
    psi = torch.zeros((len(slopes.row), len(members)), dtype=torch.float64, device=device)
    # Places in `psi` are numbers of 32 bits in the kernel.
    together = max(1, min(len(psi), _NUMBERS, 2**31 // psi.shape[1]))
    for start, stop in pieces(n_pairs, _HEIGHTS // (2 * n_grid * together)):
        some = pairs.part(start, stop)
        share = torch.empty((stop - start, n_grid), dtype=torch.float64, device=device)
        cut(runs, some, grid, share)
        block, n_pieces = _blocks(runs.longest, stop - start)
        for first, last in pieces(len(psi), together):
            heights = _heights_of(share, around, slopes.of_numbers(slice(first, last)), slice(start, stop))
            _hand_out[(stop - start, n_pieces)](
                *_read_of(samples, members, runs, some),
                grid,
                heights,
                psi[first:last],
                stop - start,
                last - first,
                len(members),
                len(runs.counts),
                *samples.scores.stride(),
                runs.longest.bit_length(),
                n_grid.bit_length(),
                T=n_grid,
                BLOCK=block,
                HAS_TAILS=runs.tails is not None,
                **compiled_with(max(1, block // 64)),
            )
    return centred(_by_sample(psi, members), samples)


def _heights_of(share: torch.Tensor, around: Reach, slopes: Slopes, some: slice) -> torch.Tensor:
    """Cumulated coefficients of both classes of some pairs, (m, 2, P, T)."""
    (n_pairs, n_grid), (n_numbers, n_factors) = share.shape, slopes.row.shape[:2]
    heights = torch.empty((n_numbers, 2, n_pairs, n_grid), dtype=torch.float64, device=share.device)
    block = max(32, triton.next_power_of_2(n_grid))
    _heights[(n_pairs, n_numbers)](
        share,
        around.low,
        around.low_part,
        around.high,
        around.high_part,
        around.width,
        slopes.row.contiguous(),
        torch.stack([one[:, some] for one in slopes.pair]),
        slopes.tpr[some],
        slopes.fpr[some],
        heights,
        n_pairs,
        n_numbers,
        slopes.tpr.stride(0),
        slopes.fpr.stride(0),
        T=n_grid,
        Q=n_factors,
        BLOCK_T=block,
        **compiled_with(max(1, min(8, block // 64))),
    )
    return heights


def _blocks(longest: int, n_pairs: int) -> tuple[int, int]:
    """Samples that a program takes at a time, and programs for each pair."""
    # At most 64: of the classes of a problem with very many, most would leave half of 128 lanes without a sample.
    block = min(64, max(32, triton.next_power_of_2(longest)))
    return block, max(1, min(triton.cdiv(longest, block), _PROGRAMS // n_pairs))


def _read_of(samples: Samples, members: torch.Tensor, runs: Runs, pairs: DevicePairs) -> tuple[torch.Tensor, ...]:
    """The tensors that both kernels read of some pairs, from `scores_ptr` to `offsets_ptr`."""
    # Without weights nothing reads the tails: anything may stand there.
    return samples.scores, members, runs.values, runs.values if runs.tails is None else runs.tails, *pairs, runs.offsets


def _by_sample(psi: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """From the order of `members` to that of the samples, (m, n)."""
    ordered = torch.empty_like(psi)
    ordered[:, members] = psi
    return ordered


@triton.jit
def _wins(
    scores_ptr,  # (n, C)
    members_ptr,  # (n,): the samples, class by class
    values,  # sorted scores, run by run
    tails,
    positive_ptr,  # (P,)
    negative_ptr,
    column_ptr,
    offsets_ptr,  # (k + 1,)
    counted_ptr,  # (m, P): what the area of each pair counts for
    out_ptr,  # (m, n), class by class
    n_numbers,
    n,
    k,
    sample_stride,
    column_stride,
    number_stride,  # of what areas count for
    pair_stride,
    steps,
    BLOCK: tl.constexpr,
    HAS_TAILS: tl.constexpr,
):
    """Add the share of comparisons that each sample of a pair wins: DeLong's components; ties count half."""
    p, piece, n_pieces = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    # Scores lie as they came: by samples, by columns, or with other numbers between them.
    column = tl.load(column_ptr + p).to(tl.int64)
    scores = scores_ptr + column * column_stride
    i, j = tl.load(positive_ptr + p), tl.load(negative_ptr + p)
    for which in range(2):
        own, other = tl.where(which > 0, j, i), tl.where(which > 0, i, j)
        first = tl.load(offsets_ptr + own)
        count = (tl.load(offsets_ptr + own + 1) - first).to(tl.int32)
        run, n_others = run_of(values, offsets_ptr, other, column, n)
        tail = tails
        if HAS_TAILS:
            tail = tail_of(tails, offsets_ptr, other, column, n + k)
        for begin in range(piece * BLOCK, count, n_pieces * BLOCK):
            rank = begin + tl.arange(0, BLOCK)
            is_sample = rank < count
            score = _score_of(scores, members_ptr, first + rank, is_sample, sample_stride)
            above, upto = _shares(run, tail, n_others, score, steps, HAS_TAILS)
            # A sample of the second class wins against those of the first above it.
            higher = 0.5 * (above + upto)
            won = tl.where(which > 0, higher, 1.0 - higher)
            for s in range(n_numbers):
                counted = tl.load(counted_ptr + s * number_stride + p * pair_stride)
                tl.atomic_add(out_ptr + s * n + first + rank, counted * won, mask=is_sample)


def area_influences(samples: Samples, get_runs: GetRuns, pairs: DevicePairs, shares: torch.Tensor) -> torch.Tensor:
    """As `influence.area_influences`."""
    runs, members, n_pairs = get_runs(), samples.by_class, len(pairs.column)
    psi = torch.zeros((len(shares), len(members)), dtype=torch.float64, device=samples.device)
    block, n_pieces = _blocks(runs.longest, n_pairs)
    _wins[(n_pairs, n_pieces)](
        *_read_of(samples, members, runs, pairs),
        shares,
        psi,
        len(psi),
        len(members),
        len(runs.counts),
        *samples.scores.stride(),
        *shares.stride(),
        runs.longest.bit_length(),
        BLOCK=block,
        HAS_TAILS=runs.tails is not None,
        **compiled_with(max(1, block // 64)),
    )
    return centred(_by_sample(psi, members), samples)
