"""Compiled passes over the cells of a fit; what they mean is said in `polyroc._solver`.

A cell is one call rate of one pair. Pairs are the outer loop, because a pair's
rates lie together in memory, and everything that belongs to a pair (its own
Newton step, its gradient) is known after one pass over its cells. So a single
sweep finishes the step of each pair, moves to the new point and linearises
there: the cells are read once per iteration.

The loops are short and touch few arrays each: LLVM vectorises a loop only
where it can check in a few comparisons that its arrays do not overlap.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc.engines._numba_linear import TINY, add_gram, add_scaled, make_schur, solve_positive, turn
from polyroc.engines._numba_math import bits_of, exp_negative, from_bits, inner, kernel, log_positive

# Pairs whose cross terms are gathered before they enter the gram matrix.
BLOCK = 256
# Multiplied by this (Knuth's golden ratio), the numbers of pairs spread evenly over 2^32.
SPREAD = 2654435761
# Entries of `Sums.total`.
CHANGE, NOISE, MOVE, WEIGHT_TPR, WEIGHT_FPR, PAIR_GRADIENT, FALL, LENGTH = range(8)
N_TOTALS = 8
# Rows of `Sums.row`: gradient, curvature, and what free and pinned pairs carry over to the rows.
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
    curved: int  # of 2^32 pairs so many, picked evenly, enter the curvature of the rows
    on_tpr: Any  # (K,)
    on_fpr: Any  # (K,)
    keep: Any  # (K,) share of its own rate that shrinkage leaves a pair
    mean: Any  # (R,) in the working precision


class PairState(NamedTuple):
    """Effect, gradient, curvature of each pair, and whether it takes its own cut step."""

    effect: Any
    gradient: Any
    block: Any
    pinned: Any


class Sums(NamedTuple):
    """What a sweep adds up. `cross` holds the cross terms of all pairs, or of none: then `gram` gathers them."""

    row: Any  # (4, R)
    total: Any  # (8,)
    gram: Any  # (R, R) or empty, both rounded up to a multiple of four
    cross: Any  # (K, R) or empty


@kernel
def add_row_means(tpr: Any, fpr: Any, doubled: Any, on_tpr: Any, on_fpr: Any, start: int, stop: int, out: Any) -> None:
    """Add the weighted rates of each row, shape (2T,)."""
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
    """The shrunk rates of a pair and their weights."""
    real = rate.dtype.type
    n, n_rows = data.n_tpr, rate.shape[0]
    own, shared = real(data.keep[j]), real(1.0 - data.keep[j])
    for i in range(n):
        rate[i] = own * data.tpr[j, data.first_tpr + i] + shared * data.mean[i]
    if data.fpr.shape[0] > 0:
        for i in range(n, n_rows):
            rate[i] = own * data.fpr[j, data.first_fpr + i - n] + shared * data.mean[i]
    else:
        for i in range(n, n_rows):
            t = data.first_fpr + i - n
            rate[i] = own * (data.doubled[t] - data.tpr[j, t]) + shared * data.mean[i]
    on_tpr, on_fpr = real(data.on_tpr[j]), real(data.on_fpr[j])
    for i in range(n):
        weight[i] = on_tpr
    for i in range(n, n_rows):
        weight[i] = on_fpr


@inner
def fit_pair(row: Any, effect: float, probability: Any, curvature: Any) -> None:
    """Fitted probabilities of a pair, and p (1 - p)."""
    real = row.dtype.type
    one, bound, v = real(1), real(80), real(effect)
    for i in range(row.shape[0]):
        eta = row[i] * v
        e = exp_negative(-min(abs(eta), bound))
        large = one / (one + e)
        small = e * large
        probability[i] = large if eta >= 0 else small
        curvature[i] = small * large


@kernel
def add_deviance(data: Any, row: Any, effect: Any, start: int, stop: int) -> float:
    """Half the deviance of some pairs: the divergence of the fit from the rates."""
    n_rows = row.shape[0]
    work = np.empty((4, n_rows), row.dtype)
    rate, weight, probability, curvature = work[0], work[1], work[2], work[3]
    one, least = row.dtype.type(1), row.dtype.type(1e-30)
    total = 0.0
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        fit_pair(row, effect[j], probability, curvature)
        for i in range(n_rows):
            m, p = rate[i], probability[i]
            on = log_positive(max(m, least) / max(p, least))
            off = log_positive(max(one - m, least) / max(one - p, least))
            total += np.float64(weight[i] * (m * on + (one - m) * off))
    return total


@kernel
def solve_effects(data: Any, row: Any, start: int, stop: int, effect: Any) -> None:
    """The best effects of the pairs start..stop for given rows, nearly: by a few Newton steps each from 1."""
    n_rows = row.shape[0]
    work = np.empty((4, n_rows), row.dtype)
    rate, weight, probability, curvature = work[0], work[1], work[2], work[3]
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        v = 1.0
        for _ in range(8):
            fit_pair(row, v, probability, curvature)
            gradient, block = row.dtype.type(0), row.dtype.type(0)
            for i in range(n_rows):
                gradient += weight[i] * row[i] * (probability[i] - rate[i])
                block += weight[i] * row[i] * row[i] * curvature[i]
            moved = min(4.0 * v, max(0.1 * v, v - np.float64(gradient) / (np.float64(block) + TINY)))
            done = abs(moved - v) < 1e-3 * v
            v = moved
            if done:
                break
        effect[j] = v


@kernel
def sweep(
    data: Any,
    row: Any,
    row_new: Any,
    old: Any,
    new: Any,
    solve_pairs: bool,
    stretch: float,
    start: int,
    stop: int,
    sums: Any,
) -> None:
    """Move the pairs start..stop to their new effects and linearise there.

    With `solve_pairs` the effects are found here, from the move of the rows; otherwise they are in `new` already.
    A stretch of 0 says that nothing moves: the first sweep.
    """
    n_rows = row.shape[0]
    work = np.empty((9, n_rows), row.dtype)
    rate, weight, p_old, h_old, p_new = work[0], work[1], work[2], work[3], work[4]
    h_new, residual, bend, cross = work[5], work[6], work[7], work[8]
    block = np.empty((BLOCK, n_rows), np.float32)
    turned = np.zeros((sums.gram.shape[0], BLOCK), np.float32)
    row_gradient, row_block, carried, pinned = sums.row[0], sums.row[1], sums.row[2], sums.row[3]
    total, gram = sums.total, sums.gram
    on_tpr, on_fpr, largest = row_lengths(row_new, data.n_tpr)
    filled = 0
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        if stretch > 0:
            fit_pair(row, old.effect[j], p_old, h_old)
        if solve_pairs:
            step_pair(row, row_new, old, new, j, stretch, rate, weight, p_old, h_old, total)
        fit_pair(row_new, new.effect[j], p_new, h_new)
        curved = (j * SPREAD & 0xFFFFFFFF) < data.curved
        linearise_pair(row_new, new, j, rate, weight, p_new, h_new, residual, bend, cross, row_gradient)
        if curved:
            add_scaled(row_block, new.effect[j] * new.effect[j], bend)
        if stretch > 0:
            record_move(row, row_new, old.effect[j], new.effect[j], rate, weight, p_old, h_old, p_new, h_new, total)
        record_gradient(data.on_tpr[j], data.on_fpr[j], on_tpr, on_fpr, largest, new, j, total)
        if sums.cross.shape[0] > 0:
            for i in range(n_rows):
                sums.cross[j, i] = cross[i]
        elif new.pinned[j]:
            add_scaled(pinned, 0.9 * new.effect[j], cross)
        else:
            add_scaled(carried, new.gradient[j] / new.block[j], cross)
            if not curved:
                continue
            scale = row.dtype.type(1.0 / np.sqrt(new.block[j]))
            for i in range(n_rows):
                block[filled, i] = np.float32(scale * cross[i])
            filled += 1
            if filled == BLOCK:
                turn(block, filled, turned)
                add_gram(turned, gram)
                filled = 0
    if filled > 0:
        turn(block, filled, turned)
        add_gram(turned, gram)


@inner
def row_lengths(row: Any, n_tpr: int) -> Any:
    """Sums of |lambda| over the true and the false positive rows, and the largest |lambda|."""
    on_tpr, on_fpr, largest = 0.0, 0.0, 0.0
    for i in range(row.shape[0]):
        length = np.float64(abs(row[i]))
        if i < n_tpr:
            on_tpr += length
        else:
            on_fpr += length
        largest = max(largest, length)
    return on_tpr, on_fpr, largest


@inner
def step_pair(
    row: Any,
    row_new: Any,
    old: Any,
    new: Any,
    j: int,
    stretch: float,
    rate: Any,
    weight: Any,
    p: Any,
    h: Any,
    total: Any,
) -> None:
    """The pair's part of the joint step, given the rows' part; a pinned pair's own cut step."""
    v = row.dtype.type(old.effect[j])
    if old.pinned[j]:
        step = -0.9 * old.effect[j] / stretch
        total[FALL] -= old.gradient[j] * step
    else:
        pushed = row.dtype.type(0)
        for i in range(row.shape[0]):
            pushed += weight[i] * (h[i] * row[i] * v + p[i] - rate[i]) * (row_new[i] - row[i])
        step = -(old.gradient[j] + pushed) / (old.block[j] * stretch)
        total[FALL] -= 0.5 * old.gradient[j] * step
        total[LENGTH] += old.block[j] * step * step
    # Each v_j is cut by itself; scaling the whole step would let one pair hold up all others.
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
    gradient, block = row.dtype.type(0), row.dtype.type(0)
    for i in range(row.shape[0]):
        residual[i] = weight[i] * (p[i] - rate[i])
    for i in range(row.shape[0]):
        bend[i] = weight[i] * h[i]
    for i in range(row.shape[0]):
        gradient += row[i] * residual[i]
        block += row[i] * row[i] * bend[i]
    for i in range(row.shape[0]):
        cross[i] = bend[i] * row[i] * v + residual[i]
    for i in range(row.shape[0]):
        row_gradient[i] += np.float64(v * residual[i])
    new.gradient[j] = gradient
    new.block[j] = block + TINY
    new.pinned[j] = gradient > 0.9 * new.effect[j] * block


@inner
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
    total: Any,
) -> None:
    """Half the change of the deviance, its rounding error, and the largest move of a probability."""
    real = row.dtype.type
    v, dv, half, twelfth = real(effect_new), real(effect_new - effect), real(0.5), real(1 / 12)
    # A positive number is larger if its bits are; the largest integer of a loop is found in vector registers.
    largest, far, noise, change = bits_of(real(0)), bits_of(real(0)), real(0), 0.0
    for i in range(row.shape[0]):
        largest = max(largest, bits_of(abs(p1[i] - p0[i])))
    for i in range(row.shape[0]):
        move = abs((row_new[i] - row[i]) * v + row[i] * dv)
        far = max(far, bits_of(move))
        noise += weight[i] * move
    if from_bits(far) <= real(0.1):
        # Hermite's rule from both ends: right to the fifth power of the move, and without cancellation.
        for i in range(row.shape[0]):
            move = (row_new[i] - row[i]) * v + row[i] * dv
            slope = half * (p0[i] + p1[i]) - rate[i] - move * twelfth * (h1[i] - h0[i])
            change += np.float64(weight[i] * move * slope)
    else:
        for i in range(row.shape[0]):
            # log(1 + e^eta) = max(eta, 0) - log(max(p, 1 - p))
            eta0, eta1 = np.float64(row[i]) * effect, np.float64(row_new[i]) * effect_new
            q0, q1 = np.float64(p0[i]), np.float64(p1[i])
            softplus = max(eta1, 0.0) - max(eta0, 0.0) + log_positive(max(q0, 1 - q0) / max(q1, 1 - q1))
            change += np.float64(weight[i]) * (softplus - np.float64(rate[i]) * (eta1 - eta0))
    total[CHANGE] += change
    total[NOISE] += noise
    total[MOVE] = max(total[MOVE], np.float64(from_bits(largest)))


@inner
def record_gradient(
    weight_tpr: float, weight_fpr: float, on_tpr: float, on_fpr: float, largest: float, new: Any, j: int, total: Any
) -> None:
    """The pair's scaled gradient, and its weight in the scale of the rows' gradients."""
    total[WEIGHT_TPR] += weight_tpr * new.effect[j]
    total[WEIGHT_FPR] += weight_fpr * new.effect[j]
    scaled = new.gradient[j] / (weight_tpr * on_tpr + weight_fpr * on_fpr + TINY)
    if new.effect[j] * largest <= 1e-8:
        scaled = max(-scaled, 0.0)
    total[PAIR_GRADIENT] = max(total[PAIR_GRADIENT], abs(scaled))


@kernel
def step_rows(row: Any, row_sums: Any, gram: Any, stretch: float, row_new: Any, total: Any) -> bool:
    """The rows' part of the joint step, where pairs have been eliminated."""
    n = row.shape[0]
    scale, gauge, gradient, y = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        scale[i] = 1 / np.sqrt(row_sums[ROW_BLOCK, i] + TINY)
        gauge[i] = row[i] / scale[i]
        gradient[i] = scale[i] * (row_sums[ROW_GRADIENT, i] - row_sums[PINNED, i] / stretch)
        y[i] = scale[i] * row_sums[CARRIED, i] / stretch - gradient[i]
    if not solve_positive(make_schur(gram, scale, gauge, stretch), y):
        return False
    for i in range(n):
        row_new[i] = row[i] + scale[i] * y[i]
        total[FALL] -= 0.5 * gradient[i] * y[i]
        total[LENGTH] += y[i] * y[i]
    return True


@kernel
def step_pairs(
    row: Any, row_sums: Any, pairs: Any, cross: Any, stretch: float, row_new: Any, effect_new: Any, total: Any
) -> bool:
    """The joint step, where rows are eliminated and pairs are kept."""
    n_rows, n_pairs = row.shape[0], pairs.effect.shape[0]
    row_scale, row_side = np.empty(n_rows), np.empty(n_rows)
    pair_scale, gauge, y, move = np.empty(n_pairs), np.empty(n_pairs), np.empty(n_pairs), np.empty(n_pairs)
    for i in range(n_rows):
        row_scale[i] = 1 / np.sqrt(row_sums[ROW_BLOCK, i] + TINY)
        row_side[i] = row_sums[ROW_GRADIENT, i]
    coupling = np.zeros(((n_pairs + 3) // 4 * 4, n_rows))
    for j in range(n_pairs):
        pair_scale[j] = 0.0 if pairs.pinned[j] else 1 / np.sqrt(pairs.block[j])
        gauge[j] = 0.0 if pairs.pinned[j] else np.sqrt(pairs.block[j]) * pairs.effect[j]
        if pairs.pinned[j]:
            add_scaled(row_side, -0.9 * pairs.effect[j] / stretch, cross[j])
        for i in range(n_rows):
            coupling[j, i] = pair_scale[j] * row_scale[i] * np.float64(cross[j, i])
    for i in range(n_rows):
        row_side[i] *= row_scale[i]
    gram = np.zeros((coupling.shape[0], coupling.shape[0]))
    add_gram(coupling, gram)
    ones = np.ones(n_pairs)
    for j in range(n_pairs):
        carried = 0.0
        for i in range(n_rows):
            carried += coupling[j, i] * row_side[i]
        y[j] = carried / stretch - pair_scale[j] * pairs.gradient[j]
    if not solve_positive(make_schur(gram, ones, gauge, stretch), y):
        return False
    z = row_side.copy()
    for j in range(n_pairs):
        move[j] = -0.9 * pairs.effect[j] / stretch if pairs.pinned[j] else pair_scale[j] * y[j]
        effect_new[j] = max(pairs.effect[j] + move[j], 0.1 * pairs.effect[j])
        total[FALL] -= (1.0 if pairs.pinned[j] else 0.5) * pairs.gradient[j] * move[j]
        total[LENGTH] += y[j] * y[j]
        add_scaled(z, y[j], coupling[j])
    for i in range(n_rows):
        z[i] = -z[i] / stretch
        row_new[i] = row[i] + row_scale[i] * z[i]
        total[FALL] -= 0.5 * row_side[i] * z[i]
        total[LENGTH] += z[i] * z[i]
    return True
