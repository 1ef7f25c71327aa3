"""Compiled passes over the cells of a fit; what they mean is said in `polyroc._core.fit`.

A cell is one call rate of one pair. Pairs are the outer loop, because a pair's
rates lie together in memory, and everything that belongs to a pair (its own
Newton step, its gradient) is known after one pass over its cells. So a single
sweep finishes the step of each pair, moves to the new point and linearises
there: the cells are read once per iteration.

The loops are short, and those that write touch few arrays each: LLVM vectorises
a loop only where it can check in a few comparisons that its arrays do not
overlap. Nor does it where an index is a sum, which might count from the end:
so rows are sliced first.

Words in parentheses are the labels of equations in docs/method.md. Sums over cells are those of half the deviance:
with mu = expit(lambda_r v_p), residual = w (mu - R~) and bend = w mu (1 - mu), its derivatives are

    by lambda_r         sum_p v_p residual_rp             twice: sum_p v_p^2 bend_rp
    by v_p              sum_r lambda_r residual_rp        twice: sum_r lambda_r^2 bend_rp
    by lambda_r, v_p    lambda_r v_p bend_rp + residual_rp, the cross term
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._core.numba.compile import (
    TINY,
    add_scaled,
    bits_of,
    borrowed,
    dot,
    exp_negative,
    from_bits,
    inner,
    kernel,
    log_positive,
    summing,
)

# Pairs whose cross terms are gathered before they enter the gram matrix.
BLOCK = 320
# Multiplied by this (Knuth's golden ratio), the numbers of pairs spread evenly over 2^32.
SPREAD = 2654435761
# Moves of the predictor beyond which the change of the deviance takes logarithms. In replicates it only has to say
# whether a step is taken: nobody reads their deviance.
FAR, FAR_IN_REPLICATES = 0.1, 1.0
# Entries of what a sweep adds to `total`.
CHANGE, NOISE, MOVE, WEIGHT_TPR, WEIGHT_FPR, PAIR_GRADIENT, FALL, LENGTH = range(8)
N_TOTALS = 8
# And of `row_sums`: gradient, curvature, and what free and pinned pairs carry over to the rows.
ROW_GRADIENT, ROW_BLOCK, CARRIED, PINNED = range(4)
N_ROW_SUMS = 4


class Data(NamedTuple):
    """The cells; those of a pair lie together. Fitted are R rows: some true positive rates, then some false."""

    tpr: Any  # (K, T)
    fpr: Any  # (K, T), or empty: then it is what TPR leaves of twice the call rate
    doubled: Any  # (T,) twice the call rates, in the working precision
    first_tpr: int  # the first row of `tpr` that is fitted
    first_fpr: int
    n_tpr: int  # the number of rows of `tpr` that are fitted
    curved: int  # how many of 2^32 pairs, picked evenly, enter the curvature of the rows
    on_tpr: Any  # (K,) W_p Q_p of (weights), for the true positive rates
    on_fpr: Any  # (K,) and for the false
    on_row: Any  # (R,) what the call rate of each row counts for, in the working precision
    keep: Any  # (K,) share of its own rate that shrinkage leaves a pair
    mean: Any  # (R,) in the working precision
    far: float  # FAR, or that of replicates


class PairState(NamedTuple):
    """Effect, gradient, curvature of each pair, and whether it takes its own cut step."""

    effect: Any  # (K,) v_p
    gradient: Any  # (K,) of half the deviance, by v_p
    block: Any  # (K,) the second derivative, plus TINY
    pinned: Any  # (K,)


class Gathering(NamedTuple):
    """The gram matrix of the cross terms, and room to gather them in."""

    gram: Any  # (R, R), both rounded up to a multiple of four
    block: Any  # (BLOCK, R)
    turned: Any  # the same, transposed, with as many rows as the gram matrix


@kernel
def add_row_means(tpr: Any, fpr: Any, doubled: Any, on_tpr: Any, on_fpr: Any, start: int, stop: int, out: Any) -> None:
    """Add W_p Q_rp R_rp over pairs to each row, shape (2T,): the row means of (shrinkage), before their division."""
    n = tpr.shape[1]
    for j in range(start, stop):
        for t in range(n):
            out[t] += on_tpr[j] * np.float64(tpr[j, t])
        if fpr.shape[0] > 0:
            for t in range(n):
                out[n + t] += on_fpr[j] * np.float64(fpr[j, t])
        else:
            for t in range(n):
                out[n + t] += on_fpr[j] * np.float64(doubled[t] - tpr[j, t])


@inner
def fill_cells(data: Any, j: int, rate: Any, weight: Any) -> None:
    """The shrunk rates R~ (shrinkage) of a pair and their weights w (weights), shape (R,) each."""
    real = rate.dtype.type
    n, first = data.n_tpr, data.first_fpr
    own, shared = real(data.keep[j]), real(1.0 - data.keep[j])
    tpr, mean = data.tpr[j, data.first_tpr : data.first_tpr + n], data.mean
    for i in range(n):
        rate[i] = own * tpr[i] + shared * mean[i]
    rate_fpr, mean_fpr = rate[n:], mean[n:]
    if data.fpr.shape[0] > 0:
        fpr = data.fpr[j, first : first + rate_fpr.shape[0]]
        for i in range(rate_fpr.shape[0]):
            rate_fpr[i] = own * fpr[i] + shared * mean_fpr[i]
    else:
        left, doubled = data.tpr[j, first : first + rate_fpr.shape[0]], data.doubled[first:]
        for i in range(rate_fpr.shape[0]):
            rate_fpr[i] = own * (doubled[i] - left[i]) + shared * mean_fpr[i]
    on_tpr, on_fpr, on_row = real(data.on_tpr[j]), real(data.on_fpr[j]), data.on_row
    for i in range(n):
        weight[i] = on_tpr * on_row[i]
    weight_fpr, on_row_fpr = weight[n:], on_row[n:]
    for i in range(weight_fpr.shape[0]):
        weight_fpr[i] = on_fpr * on_row_fpr[i]


@inner
def fit_pair(row: Any, effect: float, probability: Any, curvature: Any) -> None:
    """Fitted probabilities mu (model) of a pair, and mu (1 - mu), shape (R,) each."""
    real = row.dtype.type
    # e^-80 is a normal number in single precision, too.
    one, bound, v = real(1), real(80), real(effect)
    for i in range(row.shape[0]):
        eta = row[i] * v
        e = exp_negative(-min(abs(eta), bound))
        # Both tails from one exponential: 1 - p would lose all digits of a p near 1.
        large = one / (one + e)
        small = e * large
        probability[i] = large if eta >= 0 else small
        curvature[i] = small * large


@kernel
def add_deviance(data: Any, row: Any, effect: Any, chance: Any, start: int, stop: int) -> Any:
    """Half the deviance (deviance) of some pairs; and that of chance (explained).

    `chance` (2, R) has the logarithms of the call rate of each row and of what it leaves of 1.
    """
    data, chance, total, by_chance = borrowed(data), borrowed(chance), 0.0, 0.0
    work = np.empty((4, row.shape[0]), row.dtype)
    rate, weight, probability, curvature = work[0], work[1], work[2], work[3]
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        fit_pair(row, effect[j], probability, curvature)
        found = divergences(row, effect[j], rate, weight, probability, chance[0], chance[1])
        total += found[0]
        by_chance += found[1]
    return total, by_chance


@summing
def divergences(row: Any, effect: float, rate: Any, weight: Any, probability: Any, on: Any, off: Any) -> Any:
    """Half the deviances of one pair, from the fit and from chance; all arrays (R,)."""
    # A rate of 0 has no entropy, but its logarithm must be finite; 1e-30 is a normal number in single precision, too.
    one, least, total, by_chance = rate.dtype.type(1), rate.dtype.type(1e-30), 0.0, 0.0
    # Far beyond any predictor: a product of nothing and infinity would be no number.
    v, bound = row.dtype.type(effect), row.dtype.type(1e30)
    for i in range(rate.shape[0]):
        m, p, eta = rate[i], probability[i], row[i] * v
        entropy = m * log_positive(max(m, least)) + (one - m) * log_positive(max(one - m, least))
        # The larger of p and 1 - p has a small logarithm; the other one's is that less |eta|.
        tail = one - m if eta >= 0 else m
        missed = tail * min(abs(eta), bound) - log_positive(max(p, one - p))
        total += np.float64(weight[i] * (entropy + missed))
        by_chance += np.float64(weight[i] * (entropy - m * on[i] - (one - m) * off[i]))
    return total, by_chance


@kernel
def solve_effects(data: Any, pull: Any, table: Any, start: int, stop: int, effect: Any) -> None:
    """The best effects of the pairs start..stop for given rows, to two thousandths.

    Where the gradient of a pair is zero, sum_i w_i lambda_i p_i(v) equals sum_i w_i lambda_i M_i. The left side rises
    with v, and but for the two weights of a pair it is the same for all. So it is looked up: `table` (3, G) has rising
    effects v, and the sums there over the true and over the false positive rows, without the pairs' weights. `pull` is
    lambda times the weight of its row.
    """
    data, pull, table, n = borrowed(data), borrowed(pull), borrowed(table), data.n_tpr
    work = np.empty((2, pull.shape[0]), pull.dtype)
    rate, weight = work[0], work[1]
    on_tpr, on_fpr = table[1], table[2]
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        w_tpr, w_fpr = data.on_tpr[j], data.on_fpr[j]
        sought = w_tpr * dot(pull[:n], rate[:n]) + w_fpr * dot(pull[n:], rate[n:])
        low, high = 0, table.shape[1] - 1
        while high - low > 1:
            middle = (low + high) // 2
            if w_tpr * on_tpr[middle] + w_fpr * on_fpr[middle] < sought:
                low = middle
            else:
                high = middle
        below, above = w_tpr * on_tpr[low] + w_fpr * on_fpr[low], w_tpr * on_tpr[high] + w_fpr * on_fpr[high]
        part = min(1.0, max(0.0, (sought - below) / (above - below + TINY)))
        effect[j] = table[0, low] + part * (table[0, high] - table[0, low])


@kernel
def sweep(
    data: Any,
    row: Any,
    row_new: Any,
    old: Any,
    new: Any,
    stretch: float,
    curvature: bool,
    start: int,
    stop: int,
    row_sums: Any,
    total: Any,
    work: Any,
    cross_terms: Any,
    gathering: Any,
) -> None:
    """Move the pairs start..stop to their new effects and linearise there.

    Where pairs are kept, their effects are in `new` already and `cross_terms` (K, R) are written. Where they are
    eliminated, the effects are found here, from the move of the rows, and a `Gathering` takes the cross terms. The
    other one is None. A stretch of 0 says that nothing moves: the first sweep. Without `curvature` that of the rows is
    left out, much of the work. `row_sums` (4, R) and `total` (8,) are added to; `work` is (10, R), in the working
    precision.
    """
    data, row, row_new, old, new = borrowed(data), borrowed(row), borrowed(row_new), borrowed(old), borrowed(new)
    work, row_sums, terms, gathered = borrowed(work), borrowed(row_sums), borrowed(cross_terms), borrowed(gathering)
    rate, weight, p_old, h_old, p_new = work[0], work[1], work[2], work[3], work[4]
    h_new, residual, bend, cross, row_move = work[5], work[6], work[7], work[8], work[9]
    row_gradient, row_block, carried, pinned = row_sums[0], row_sums[1], row_sums[2], row_sums[3]
    on_tpr, on_fpr, largest = row_lengths(row_new, data.on_row, data.n_tpr)
    for i in range(row.shape[0]):
        row_move[i] = row_new[i] - row[i]
    filled = np.int64(0)
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        if stretch > 0:
            fit_pair(row, old.effect[j], p_old, h_old)
        if gathering is not None:  # noqa: SIM102, asked by itself: numba leaves out what a None will never reach
            if stretch > 0:
                step_pair(row, row_move, old, new, j, stretch, rate, weight, p_old, h_old, cross, total)
        fit_pair(row_new, new.effect[j], p_new, h_new)
        curved = curvature and (j * SPREAD & 0xFFFFFFFF) < data.curved
        linearise_pair(row_new, new, j, rate, weight, p_new, h_new, residual, bend, cross, row_gradient)
        if curved:
            add_scaled(row_block, new.effect[j] * new.effect[j], bend)
        if stretch > 0:
            moved = (row, row_new, old.effect[j], new.effect[j])
            record_move(*moved, rate, weight, p_old, h_old, p_new, h_new, data.far, total)
        record_gradient(data.on_tpr[j], data.on_fpr[j], on_tpr, on_fpr, largest, new, j, total)
        if gathering is not None:
            # The move of a pinned pair is known: it enters the right side of the rows' system, not the gram matrix.
            # 0.9 is the share that (cut) lets it lose.
            if new.pinned[j]:
                add_scaled(pinned, 0.9 * new.effect[j], cross)
            else:
                add_scaled(carried, new.gradient[j] / new.block[j], cross)
                if curved:
                    gather_terms(cross, 1.0 / np.sqrt(new.block[j]), gathered.block[filled])
                    filled += 1
            if filled == BLOCK or (filled > 0 and j + 1 == stop):
                turn(gathered.block, filled, gathered.turned)
                add_gram(gathered.turned, filled, gathered.gram)
                filled = np.int64(0)
        if cross_terms is not None:
            kept = terms[j]
            for i in range(cross.shape[0]):
                kept[i] = cross[i]


@inner
def gather_terms(cross: Any, scale: float, out: Any) -> None:
    """The scaled cross terms of a pair, in single precision."""
    factor = cross.dtype.type(scale)
    for i in range(cross.shape[0]):
        out[i] = np.float32(factor * cross[i])


@inner
def row_lengths(row: Any, on_row: Any, n_tpr: int) -> Any:
    """Weighted sums of |lambda| over the true and the false positive rows, and the largest |lambda|."""
    on_tpr, on_fpr, largest = 0.0, 0.0, 0.0
    for i in range(row.shape[0]):
        length = np.float64(abs(row[i]))
        if i < n_tpr:
            on_tpr += on_row[i] * length
        else:
            on_fpr += on_row[i] * length
        largest = max(largest, length)
    return on_tpr, on_fpr, largest


@inner
def step_pair(
    row: Any,
    row_move: Any,
    old: Any,
    new: Any,
    j: int,
    stretch: float,
    rate: Any,
    weight: Any,
    p: Any,
    h: Any,
    cross: Any,
    total: Any,
) -> None:
    """The pair's part of the joint step, given the rows' part; a pinned pair's own cut step."""
    # With (H + damping D) y = -g the quadratic model falls by -g.y / 2 + damping y.D.y / 2: FALL has the first sum, and
    # LENGTH y.D.y. A pinned pair is not solved for: its slope counts whole.
    v = row.dtype.type(old.effect[j])
    if old.pinned[j]:
        step = -0.9 * old.effect[j] / stretch
        total[FALL] -= old.gradient[j] * step
    else:
        for i in range(row.shape[0]):
            cross[i] = weight[i] * (h[i] * row[i] * v + p[i] - rate[i])
        # The pair's line of the damped system, given the moves of the rows.
        step = -(old.gradient[j] + dot(cross, row_move)) / (old.block[j] * stretch)
        total[FALL] -= 0.5 * old.gradient[j] * step
        total[LENGTH] += old.block[j] * step * step
    # (cut). Each v_j is cut by itself; scaling the whole step would let one pair hold up all others.
    new.effect[j] = max(old.effect[j] + step, 0.1 * old.effect[j])


@inner
def linearise_pair(
    row: Any,
    new: Any,
    j: int,
    rate: Any,
    weight: Any,
    p: Any,
    h: Any,
    residual: Any,
    bend: Any,
    cross: Any,
    row_gradient: Any,
) -> None:
    """Gradient and curvature of the pair, its share in those of the rows, and the terms that couple them."""
    v = row.dtype.type(new.effect[j])
    for i in range(row.shape[0]):
        residual[i] = weight[i] * (p[i] - rate[i])
    for i in range(row.shape[0]):
        bend[i] = weight[i] * h[i]
    for i in range(row.shape[0]):
        cross[i] = bend[i] * row[i]
    gradient, block = dot(row, residual), dot(row, cross)
    for i in range(row.shape[0]):
        cross[i] = cross[i] * v + residual[i]
    for i in range(row.shape[0]):
        row_gradient[i] += np.float64(v * residual[i])
    new.gradient[j] = gradient
    new.block[j] = block + TINY
    # Its own Newton step would take away more than the 9/10 that (cut) allows.
    new.pinned[j] = gradient > 0.9 * new.effect[j] * block


@summing
def record_move(
    row: Any,
    row_new: Any,
    effect: float,
    effect_new: float,
    rate: Any,
    weight: Any,
    p0: Any,
    h0: Any,
    p1: Any,
    h1: Any,
    limit: float,
    total: Any,
) -> None:
    """Half the change of the deviance, its rounding error, and the largest move of a probability."""
    real = row.dtype.type
    v, dv, half, twelfth = real(effect_new), real(effect_new - effect), real(0.5), real(1 / 12)
    # A positive number is larger if its bits are; the largest integer of a loop is found in vector registers.
    largest, far, noise, change = bits_of(real(0)), bits_of(real(0)), real(0), real(0)
    for i in range(row.shape[0]):
        move = (row_new[i] - row[i]) * v + row[i] * dv
        largest = max(largest, bits_of(abs(p1[i] - p0[i])))
        far = max(far, bits_of(abs(move)))
        noise += weight[i] * abs(move)
        # Hermite's rule from both ends, without cancellation; what it misses is a share of move^3 / 360.
        slope = half * (p0[i] + p1[i]) - rate[i] - move * twelfth * (h1[i] - h0[i])
        change += weight[i] * move * slope
    fall = np.float64(change)
    if from_bits(far) > real(limit):
        fall = far_change(row, row_new, effect, effect_new, rate, weight, p0, p1)
    total[CHANGE] += fall
    total[NOISE] += noise
    total[MOVE] = max(total[MOVE], np.float64(from_bits(largest)))


@summing
def far_change(
    row: Any, row_new: Any, effect: float, effect_new: float, rate: Any, weight: Any, p0: Any, p1: Any
) -> float:
    """Half the change of the deviance by a long move, from the logarithms at its ends."""
    change = 0.0
    for i in range(row.shape[0]):
        # log(1 + e^eta) = max(eta, 0) - log(max(p, 1 - p))
        eta0, eta1 = np.float64(row[i]) * effect, np.float64(row_new[i]) * effect_new
        q0, q1 = np.float64(p0[i]), np.float64(p1[i])
        softplus = max(eta1, 0.0) - max(eta0, 0.0) + log_positive(max(q0, 1 - q0) / max(q1, 1 - q1))
        change += np.float64(weight[i]) * (softplus - np.float64(rate[i]) * (eta1 - eta0))
    return change


@inner
def record_gradient(
    weight_tpr: float, weight_fpr: float, on_tpr: float, on_fpr: float, largest: float, new: Any, j: int, total: Any
) -> None:
    """The pair's scaled gradient, and its weight in the scale of the rows' gradients."""
    total[WEIGHT_TPR] += weight_tpr * new.effect[j]
    total[WEIGHT_FPR] += weight_fpr * new.effect[j]
    scaled = new.gradient[j] / (weight_tpr * on_tpr + weight_fpr * on_fpr + TINY)
    # At 0, where v_p >= 0 binds, a gradient that pulls further down is none; as in `_core/fit.py`.
    if new.effect[j] * largest <= 1e-8:
        scaled = max(-scaled, 0.0)
    total[PAIR_GRADIENT] = max(total[PAIR_GRADIENT], abs(scaled))


# Gram matrices by hand, not by BLAS: its threads and ours would fight, and its sums would depend on how many there are.


@inner
def turn(block: Any, filled: int, turned: Any) -> None:
    """Transpose the filled part of a block, by tiles that stay in the nearest cache."""
    # 16 numbers in single precision are one line of the cache.
    for first in range(0, block.shape[1], 16):
        last = min(first + 16, block.shape[1])
        for b in range(filled):
            for i in range(first, last):
                turned[i, b] = block[b, i]


@summing
def add_gram(x: Any, length: int, out: Any) -> None:
    """Add x x' to `out`, by the first columns, on and above the diagonal by tiles; x has a multiple of four rows."""
    zero = x.dtype.type(0)
    for i in range(0, x.shape[0], 4):
        # Tiles on the diagonal also write below it, where nobody reads.
        for k in range(i, x.shape[0], 2):
            # Eight sums stay in registers, and six numbers read serve eight products.
            s00, s01, s10, s11, s20, s21, s30, s31 = zero, zero, zero, zero, zero, zero, zero, zero
            for t in range(length):
                b0, b1 = x[k, t], x[k + 1, t]
                s00 += x[i, t] * b0
                s01 += x[i, t] * b1
                s10 += x[i + 1, t] * b0
                s11 += x[i + 1, t] * b1
                s20 += x[i + 2, t] * b0
                s21 += x[i + 2, t] * b1
                s30 += x[i + 3, t] * b0
                s31 += x[i + 3, t] * b1
            out[i, k] += s00
            out[i, k + 1] += s01
            out[i + 1, k] += s10
            out[i + 1, k + 1] += s11
            out[i + 2, k] += s20
            out[i + 2, k + 1] += s21
            out[i + 3, k] += s30
            out[i + 3, k + 1] += s31
