"""Sort, tails, cut and areas as kernels of Triton, which do what `runs.py` does.

Sort: each class in each column by itself, in the registers of a warp or some. PyTorch sorts the rows of a table, with
an index of eight bytes for every number, and classes of different sizes would have to be laid out as such a table
first, and back, which takes twice as long as the sorting.

Cut: each lane follows one call rate of one pair by bisection. Without weights a run's shares are known from ranks
alone: whether the a-th sample of the first run is called before call rate s is one comparison with a sample of the
second run, the one whose rank brings the call rate to s (the merge path of two sorted lists). So a bisection over the
first run finds the edge on which s lies, with two reads a step. With weights there is a second bisection inside the
first.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from polyroc._core.torch import runs as plain
from polyroc._core.torch.devices import pieces
from polyroc._core.torch.records import DevicePairs
from polyroc._core.torch.runs import Group, Runs

# Classes of at most this many samples are sorted here, and numbers of a run for each warp.
LONGEST_SHORT, _PER_WARP = 1024, 256
# Columns that one launch takes: CUDA has no more programs in the second dimension of a grid.
MOST_COLUMNS = 65_535
# Programs into which few pairs of long runs are split when areas are summed, and polygons of one launch.
_PROGRAMS, _POLYGONS_AT_ONCE = 8192, 2**24
REAL: dict[torch.dtype, Any] = {torch.float32: tl.float32, torch.float64: tl.float64}


def compiled_with(num_warps: int) -> dict[str, Any]:
    """How Triton compiles a kernel, as arguments of its launch."""
    # A product is rounded together with the sum that it enters. Triton will do so only if that is asked for (3.10);
    # until then it warns if nothing is said (3.9).
    return {"num_warps": num_warps, "enable_fp_fusion": True}


@triton.jit
def _flipped(bits, FLIP: tl.constexpr):
    """The bits of floats as whole numbers of the same order, and such numbers as the bits of floats."""
    return tl.where(bits >= 0, bits, bits ^ FLIP)


@triton.jit
def _sort(
    scores_ptr,  # (c, n): some columns, gathered by class
    values_ptr,  # (c, n)
    order_ptr,  # (c, n), int32: places in the gathered column
    classes_ptr,  # the classes of this size
    offsets_ptr,
    n,
    BLOCK: tl.constexpr,
    IS_ORDERED: tl.constexpr,
    WHOLE: tl.constexpr,  # whole numbers as wide as the scores
    FLIP: tl.constexpr,  # all their bits but the sign
):
    c = tl.load(classes_ptr + tl.program_id(0))
    start, stop = tl.load(offsets_ptr + c), tl.load(offsets_ptr + c + 1)
    column = tl.program_id(1).to(tl.int64) * n
    place = tl.arange(0, BLOCK)
    inside = place < stop - start
    score = tl.load(scores_ptr + column + start + place, mask=inside, other=float("-inf"))
    # As whole numbers: Triton before 3.4 multiplies what it sorts by 0, and 0 times infinity is no number.
    if IS_ORDERED:
        # Above the places, which break ties: the first sample comes first. A zero is one, whatever its sign.
        ranks = _flipped(tl.where(score == 0.0, 0.0, score).to(WHOLE, bitcast=True), FLIP)
        key = (ranks.to(tl.int64) << 32) | (BLOCK - 1 - place).to(tl.int64)
        key = tl.sort(key, descending=True)
        rank = (BLOCK - 1 - (key & 0xFFFFFFFF)).to(tl.int32)
        sorted_score = tl.load(scores_ptr + column + start + rank, mask=inside, other=0.0)
        tl.store(values_ptr + column + start + place, sorted_score, mask=inside)
        tl.store(order_ptr + column + start + place, (start + rank).to(tl.int32), mask=inside)
    else:
        ranks = tl.sort(_flipped(score.to(WHOLE, bitcast=True), FLIP), descending=True)
        sorted_score = _flipped(ranks, FLIP).to(score.dtype, bitcast=True)
        tl.store(values_ptr + column + start + place, sorted_score, mask=inside)


def sort(
    gathered: torch.Tensor, group: Group, offsets: torch.Tensor, values: torch.Tensor, order: torch.Tensor | None
) -> None:
    """As `runs.sort`: here if classes are short and, for the sample at each place, scores have 32 bits."""
    if group.length > LONGEST_SHORT or (order is not None and gathered.dtype != torch.float32):
        plain.sort(gathered, group, offsets, values, order)
        return
    block = max(32, triton.next_power_of_2(group.length))
    # Without an order, nothing is written there.
    places = gathered if order is None else order
    whole, width = (tl.int32, 32) if gathered.dtype == torch.float32 else (tl.int64, 64)
    for first, last in pieces(len(gathered), MOST_COLUMNS):
        grid: Any = (group.n_classes, last - first)
        _sort[grid](
            gathered[first:last],
            values[first:last],
            places[first:last],
            group.classes,
            offsets,
            gathered.shape[1],
            BLOCK=block,
            IS_ORDERED=order is not None,
            WHOLE=whole,
            FLIP=2 ** (width - 1) - 1,
            **compiled_with(max(1, block // _PER_WARP)),
        )


@triton.jit
def _above(run, count, score, steps, EQUAL: tl.constexpr):
    """How many of a run in falling order lie above a score, or at it as well; `run` points to its first."""
    low = (score == score).to(tl.int32) * 0
    high = low + count
    for _ in range(steps):
        middle = (low + high) >> 1
        value = tl.load(run + tl.minimum(middle, count - 1))
        is_above = (value >= score) if EQUAL else (value > score)
        is_above = is_above & (low < high)
        low = tl.where(is_above, middle + 1, low)
        high = tl.where(is_above, high, middle)
    return low


@triton.jit
def run_of(values, offsets_ptr, c, column, n):
    """Where a class begins in a column of sorted scores, and how many samples it has."""
    start = tl.load(offsets_ptr + c)
    return values + column * n + start, (tl.load(offsets_ptr + c + 1) - start).to(tl.int32)


@triton.jit
def tail_of(tails, offsets_ptr, c, column, row_length):
    """The same for shares, of which every class has one more."""
    return tails + column * row_length + tl.load(offsets_ptr + c) + c


@triton.jit
def runs_of_pair(values, tails, positive_ptr, negative_ptr, column_ptr, offsets_ptr, p, n, k, HAS_TAILS: tl.constexpr):
    """Both runs of a pair, how many samples they have, and their tails."""
    i, j = tl.load(positive_ptr + p), tl.load(negative_ptr + p)
    column = tl.load(column_ptr + p).to(tl.int64)
    a, a_count = run_of(values, offsets_ptr, i, column, n)
    b, b_count = run_of(values, offsets_ptr, j, column, n)
    a_tail, b_tail = tails, tails
    if HAS_TAILS:
        a_tail = tail_of(tails, offsets_ptr, i, column, n + k)
        b_tail = tail_of(tails, offsets_ptr, j, column, n + k)
    return a, a_count, a_tail, b, b_count, b_tail


@triton.jit
def _cut(
    values,
    tails,
    grid_ptr,  # (T,), in double precision
    positive_ptr,  # (P,), int32
    negative_ptr,
    column_ptr,
    offsets_ptr,  # (k + 1,)
    out_ptr,  # (B, P, T)
    n_polygons,
    n,
    k,
    steps,
    tail_stride,  # from one set of weights to the next
    T: tl.constexpr,
    BLOCK_T: tl.constexpr,
    HAS_TAILS: tl.constexpr,
    REAL: tl.constexpr,
):
    p, weighing = tl.program_id(0).to(tl.int64), tl.program_id(2).to(tl.int64)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    inside = t < T
    target = 2.0 * tl.load(grid_ptr + t, mask=inside, other=0.5).to(REAL)
    tails += weighing * tail_stride
    a, a_count, a_tail, b, b_count, b_tail = runs_of_pair(
        values, tails, positive_ptr, negative_ptr, column_ptr, offsets_ptr, p, n, k, HAS_TAILS
    )
    a_real, b_real = a_count.to(REAL), b_count.to(REAL)
    low = tl.zeros([BLOCK_T], tl.int32)
    high = low + a_count
    # How many of the first run are called before the edge.
    for _ in range(steps):
        middle = (low + high) >> 1
        held = tl.minimum(middle, a_count - 1)
        score = tl.load(a + held)
        if HAS_TAILS:
            before = _above(b, b_count, score, steps, False)
            called = tl.load(a_tail + held + 1).to(REAL) + tl.load(b_tail + before).to(REAL)
            is_before = called < target
        else:
            # c / n_b + (a + 1) / n_a < 2 s for c, the number of the second run above the score.
            most = tl.ceil((target - (held + 1).to(REAL) / a_real) * b_real).to(tl.int32) - 1
            score_b = tl.load(b + tl.minimum(tl.maximum(most, 0), b_count - 1))
            is_before = (most >= b_count) | ((most >= 0) & (score_b <= score))
        is_before = is_before & (low < high)
        low = tl.where(is_before, middle + 1, low)
        high = tl.where(is_before, high, middle)
    # And how many of the second, if the edge is one of theirs.
    if HAS_TAILS:
        called = tl.load(a_tail + low).to(REAL)
        other = tl.zeros([BLOCK_T], tl.int32)
        high = other + b_count
        for _ in range(steps):
            middle = (other + high) >> 1
            held = tl.minimum(middle, b_count - 1)
            is_before = (called + tl.load(b_tail + held + 1).to(REAL) < target) & (other < high)
            other = tl.where(is_before, middle + 1, other)
            high = tl.where(is_before, high, middle)
    else:
        other = tl.ceil((target - low.to(REAL) / a_real) * b_real).to(tl.int32) - 1
        other = tl.maximum(other, 0)
    of_a = tl.load(a + tl.minimum(low, a_count - 1))
    of_b = tl.load(b + tl.minimum(other, b_count - 1))
    score = tl.where(low >= a_count, of_b, tl.where(other >= b_count, of_a, tl.maximum(of_a, of_b)))
    b_above = _above(b, b_count, score, steps, False)
    a_above = low
    # The run of the edge has one sample there, and the other one none, unless scores are tied.
    a_upto = low + ((low < a_count) & (of_a == score)).to(tl.int32)
    b_upto = b_above + ((b_above < b_count) & (tl.load(b + tl.minimum(b_above, b_count - 1)) == score)).to(tl.int32)
    is_tied = (low > 0) & (tl.load(a + tl.maximum(low - 1, 0)) == score)
    is_tied = is_tied | ((a_upto < a_count) & (tl.load(a + tl.minimum(a_upto, a_count - 1)) == score))
    is_tied = is_tied | ((b_upto < b_count) & (tl.load(b + tl.minimum(b_upto, b_count - 1)) == score))
    if tl.max(is_tied.to(tl.int32), 0) > 0:
        a_above = _above(a, a_count, score, steps, False)
        a_upto = _above(a, a_count, score, steps, True)
        b_upto = _above(b, b_count, score, steps, True)
    if HAS_TAILS:
        a_before, a_after = tl.load(a_tail + a_above).to(REAL), tl.load(a_tail + a_upto).to(REAL)
        b_before, b_after = tl.load(b_tail + b_above).to(REAL), tl.load(b_tail + b_upto).to(REAL)
    else:
        a_before, a_after = a_above.to(REAL) / a_real, a_upto.to(REAL) / a_real
        b_before, b_after = b_above.to(REAL) / b_real, b_upto.to(REAL) / b_real
    width = (a_after - a_before) + (b_after - b_before)
    part = (target - (a_before + b_before)) / tl.where(width > 0, width, 1.0)
    part = tl.minimum(tl.maximum(part, 0.0), 1.0)
    at = (weighing * n_polygons + p) * T + t
    tl.store(out_ptr + at, a_before + part * (a_after - a_before), mask=inside)


def cut(
    runs: Runs,
    pairs: DevicePairs,
    call_rates: torch.Tensor,
    tpr: torch.Tensor,
    fpr: torch.Tensor | None = None,
    weighed: torch.Tensor | None = None,
) -> None:
    """As `runs.cut`: here if thresholds are own."""
    if fpr is not None:
        plain.cut(runs, pairs, call_rates, tpr, fpr, weighed)
        return
    tails = runs.own_tails if weighed is None else weighed
    n_polygons, n_grid = tpr.shape[-2:]
    block = min(128, max(32, triton.next_power_of_2(n_grid)))
    grid: Any = (n_polygons, triton.cdiv(n_grid, block), len(tpr) if tpr.ndim == 3 else 1)
    _cut[grid](
        runs.values,
        runs.values if tails is None else tails,
        call_rates,
        *pairs,
        runs.offsets,
        tpr,
        n_polygons,
        runs.values.shape[1],
        len(runs.counts),
        runs.longest.bit_length(),
        0 if tails is None else tails.stride(0),
        T=n_grid,
        BLOCK_T=block,
        HAS_TAILS=tails is not None,
        REAL=REAL[tpr.dtype],
        **compiled_with(1),
    )


@triton.jit
def _lost(
    values,
    tails,
    positive_ptr,
    negative_ptr,
    column_ptr,
    offsets_ptr,
    out_ptr,  # (B, S, P)
    n_polygons,
    n,
    k,
    steps,
    tail_stride,
    BLOCK: tl.constexpr,
    HAS_TAILS: tl.constexpr,
):
    p, piece, n_pieces = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    weighing = tl.program_id(2).to(tl.int64)
    tails += weighing * tail_stride
    a, a_count, a_tail, b, b_count, b_tail = runs_of_pair(
        values, tails, positive_ptr, negative_ptr, column_ptr, offsets_ptr, p, n, k, HAS_TAILS
    )
    total = tl.zeros([BLOCK], tl.float64 if HAS_TAILS else tl.int64)
    for begin in range(piece * BLOCK, a_count, n_pieces * BLOCK):
        rank = begin + tl.arange(0, BLOCK)
        is_sample = rank < a_count
        held = tl.minimum(rank, a_count - 1)
        score = tl.load(a + held)
        above = _above(b, b_count, score, steps, False)
        upto = _above(b, b_count, score, steps, True)
        if HAS_TAILS:
            weight = tl.load(a_tail + held + 1) - tl.load(a_tail + held)
            lost = weight * (tl.load(b_tail + above) + tl.load(b_tail + upto))
            total += tl.where(is_sample, lost, 0.0)
        else:
            total += tl.where(is_sample, above + upto, 0).to(tl.int64)
    tl.store(out_ptr + (weighing * n_pieces + piece) * n_polygons + p, tl.sum(total, 0))


def areas(runs: Runs, pairs: DevicePairs, weighed: torch.Tensor | None = None) -> torch.Tensor:
    """As `runs.areas`."""
    tails = runs.own_tails if weighed is None else weighed
    parts = pieces(len(pairs.positive), _POLYGONS_AT_ONCE)
    return torch.cat([_areas_of_part(runs, pairs.part(*part), tails) for part in parts], -1)


def _areas_of_part(runs: Runs, pairs: DevicePairs, tails: torch.Tensor | None) -> torch.Tensor:
    n_polygons, device = len(pairs.positive), runs.device
    n_weighings = tails.shape[0] if tails is not None and tails.ndim == 2 else 1
    # At most 64: of the classes of a problem with very many, most would leave half of 128 lanes without a sample.
    block = min(64, max(32, triton.next_power_of_2(runs.longest)))
    n_pieces = max(1, min(triton.cdiv(runs.longest, block), _PROGRAMS // n_polygons))
    kind = torch.int64 if tails is None else torch.float64
    lost = torch.empty((n_weighings, n_pieces, n_polygons), dtype=kind, device=device)
    grid: Any = (n_polygons, n_pieces, n_weighings)
    _lost[grid](
        runs.values,
        runs.values if tails is None else tails,
        *pairs,
        runs.offsets,
        lost,
        n_polygons,
        runs.values.shape[1],
        len(runs.counts),
        runs.longest.bit_length(),
        0 if tails is None else tails.stride(0),
        BLOCK=block,
        HAS_TAILS=tails is not None,
        **compiled_with(1),
    )
    total = lost.sum(1)
    if tails is not None:
        area = (1 - total / 2).clamp(0, 1)
        return area if tails.ndim == 2 else area[0]
    # In double precision: PyTorch divides whole numbers in single unless told otherwise.
    return 1 - total[0].to(torch.float64) / (2 * runs.counts[pairs.positive] * runs.counts[pairs.negative])


@triton.jit
def _weights_of(weights, order, place, stop):
    """Weights of the samples at some places of a column, 0 beyond the end of the run."""
    sample = tl.load(order + place, mask=place < stop, other=0)
    return tl.load(weights + sample, mask=place < stop, other=0.0)


@triton.jit
def _tails(
    weights_ptr,  # (B, n)
    order_ptr,  # (C, n), int32
    offsets_ptr,
    out_ptr,  # (B, C, n + k)
    n,
    k,
    n_columns,
    BLOCK: tl.constexpr,
):
    c, column, weighing = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    start, stop = tl.load(offsets_ptr + c), tl.load(offsets_ptr + c + 1)
    weights, order = weights_ptr + weighing * n, order_ptr + column * n
    out = out_ptr + (weighing * n_columns + column) * (n + k) + start + c
    carried = start.to(tl.float64) * 0.0
    tl.store(out, carried)
    # The sum of the run first, added up here: the same bits whenever asked, which sums by `index_add_` are not.
    total = carried
    for begin in range(start, stop, BLOCK):
        total += tl.sum(_weights_of(weights, order, begin + tl.arange(0, BLOCK), stop), 0)
    for begin in range(start, stop, BLOCK):
        place = begin + tl.arange(0, BLOCK)
        weight = _weights_of(weights, order, place, stop)
        share = tl.minimum((carried + tl.cumsum(weight, 0)) / total, 1.0)
        # After the last sample all is called, however sums were rounded.
        tl.store(out + 1 + (place - start), tl.where(place + 1 == stop, 1.0, share), mask=place < stop)
        carried += tl.sum(weight, 0)


def tails(runs: Runs, weights: torch.Tensor) -> torch.Tensor:
    """As `runs.tails`."""
    order = runs.order
    assert order is not None
    (n_columns, n), k = order.shape, len(runs.counts)
    shares = torch.empty((len(weights), n_columns, n + k), dtype=torch.float64, device=runs.device)
    block = min(512, max(32, triton.next_power_of_2(runs.longest)))
    sizes: dict[str, Any] = {"BLOCK": block, **compiled_with(max(1, block // 128))}
    for first, last in pieces(n_columns, MOST_COLUMNS):
        grid: Any = (k, last - first, len(weights))
        _tails[grid](weights, order[first:last], runs.offsets, shares[:, first:last], n, k, n_columns, **sizes)
    return shares
