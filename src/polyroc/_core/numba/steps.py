"""Compiled steps of the fit: the smaller side is solved for, the larger one follows (`_core/fit.py`).

Systems are solved by hand, not by BLAS: its threads and ours would fight.

The Hessian of (deviance), a label of docs/method.md, is an arrow: diagonal blocks A of rows and B of pairs, and cross
terms C. Scaled by the roots of A and B it has ones on the diagonal, which damping makes 1 + mu, the `stretch`.
Eliminating one side leaves, with C scaled alike and g the gradients,

    ((1 + mu) I - C C' / (1 + mu) + gauge) y = C g_gone / (1 + mu) - g_kept

for the other; y is a step in scaled coordinates. Where pairs are kept, C' takes the place of C. The gauge is the outer
product of the direction in which v is stretched and lambda shrunk: no rate changes along it, and without the gauge the
undamped system would be singular.

`descend_small` is the descent of `polyroc._core.fit`, compiled as a whole for small fits that are done many
times: a replicate's fit takes a millisecond or two. In Python a third of that would go by between the sweeps, and
threads would wait for each other there. K pairs, R fitted rows: true positive rates, then false.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from polyroc._core import fit as rules
from polyroc._core.numba.compile import TINY, add_scaled, borrowed, dot, inner, kernel, summing
from polyroc._core.numba.fit import (
    CARRIED,
    CHANGE,
    FALL,
    LENGTH,
    MOVE,
    N_ROW_SUMS,
    N_TOTALS,
    NOISE,
    PAIR_GRADIENT,
    PINNED,
    ROW_BLOCK,
    ROW_GRADIENT,
    WEIGHT_FPR,
    WEIGHT_TPR,
    PairState,
    add_gram,
    sweep,
)


class StepRoom(NamedTuple):
    """What a step works in, by the side that is kept (n) and the one that is gone (m)."""

    system: Any  # (n, n), both rounded up to a multiple of four
    kept: Any  # (4, n)
    gone: Any  # (3, m), or empty where pairs are gone
    coupling: Any  # likewise (n, m), with zeros in the rows beyond n; in the precision of the cells


@kernel
def step_rows(row: Any, row_sums: Any, gram: Any, stretch: float, row_new: Any, total: Any, room: Any) -> bool:
    """The rows' part of the joint step, where pairs have been eliminated.

    row, row_new (R,); row_sums (4, R) and total (8,) as `sweep` fills them; gram (R, R) of the scaled cross terms.
    """
    n, room = row.shape[0], borrowed(room)
    scale, gauge, gradient, y = room.kept[0], room.kept[1], room.kept[2], room.kept[3]
    for i in range(n):
        scale[i] = 1 / np.sqrt(row_sums[ROW_BLOCK, i] + TINY)
        gauge[i] = row[i] / scale[i]
        # Pinned pairs move by -0.9 v / stretch whatever the rows do; that changes the gradient of the rows.
        gradient[i] = scale[i] * (row_sums[ROW_GRADIENT, i] - row_sums[PINNED, i] / stretch)
        # CARRIED is C B^-1 g of the free pairs, from the sweep.
        y[i] = scale[i] * row_sums[CARRIED, i] / stretch - gradient[i]
    make_schur(gram, scale, gauge, stretch, room.system)
    if not solve_positive(room.system, y):
        return False
    for i in range(n):
        row_new[i] = row[i] + scale[i] * y[i]
        total[FALL] -= 0.5 * gradient[i] * y[i]
        total[LENGTH] += y[i] * y[i]
    return True


@kernel
def step_pairs(
    row: Any,
    row_sums: Any,
    pairs: Any,
    cross: Any,
    stretch: float,
    row_new: Any,
    effect_new: Any,
    total: Any,
    room: Any,
) -> bool:
    """The joint step, where rows are eliminated and pairs are kept.

    row, row_new (R,); effect_new (K,); cross (K, R), unscaled; row_sums (4, R) and total (8,) as `sweep` fills them.
    """
    n_rows, n_pairs, pairs, room = row.shape[0], effect_new.shape[0], borrowed(pairs), borrowed(room)
    pair_scale, gauge, y, ones = room.kept[0], room.kept[1], room.kept[2], room.kept[3]
    row_scale, row_side, z, coupling = room.gone[0], room.gone[1], room.gone[2], room.coupling
    for i in range(n_rows):
        row_scale[i] = 1 / np.sqrt(row_sums[ROW_BLOCK, i] + TINY)
        row_side[i] = row_sums[ROW_GRADIENT, i]
    for j in range(n_pairs):
        # A scale of 0 takes a pinned pair out of the system: its y is 0.
        pair_scale[j] = 0.0 if pairs.pinned[j] else 1 / np.sqrt(pairs.block[j])
        gauge[j] = pair_scale[j] * pairs.block[j] * pairs.effect[j]
        ones[j] = 1.0
        if pairs.pinned[j]:
            add_scaled(row_side, -0.9 * pairs.effect[j] / stretch, cross[j])
        for i in range(n_rows):
            # In double: a scale may be too large for single precision.
            coupling[j, i] = pair_scale[j] * row_scale[i] * np.float64(cross[j, i])
    for i in range(n_rows):
        row_side[i] *= row_scale[i]
        z[i] = row_side[i]
    for j in range(n_pairs):
        y[j] = dot(coupling[j], row_side) / stretch - pair_scale[j] * pairs.gradient[j]
    system = room.system
    for j in range(system.shape[0]):
        for k in range(system.shape[0]):
            system[j, k] = 0.0
    add_gram(coupling, n_rows, system)
    make_schur(system, ones, gauge, stretch, system)
    if not solve_positive(system, y):
        return False
    for j in range(n_pairs):
        # A pinned pair goes where (cut) would put it, damped like the others.
        move = -0.9 * pairs.effect[j] / stretch if pairs.pinned[j] else pair_scale[j] * y[j]
        effect_new[j] = max(pairs.effect[j] + move, 0.1 * pairs.effect[j])
        # Solved for, a step falls by half its slope, as in `Attempt.promised`; a pinned pair's slope counts whole.
        total[FALL] -= (1.0 if pairs.pinned[j] else 0.5) * pairs.gradient[j] * move
        total[LENGTH] += y[j] * y[j]
        add_scaled(z, y[j], coupling[j])
    for i in range(n_rows):
        # The rows follow: their line of the system, given y.
        z[i] = -z[i] / stretch
        row_new[i] = row[i] + row_scale[i] * z[i]
        total[FALL] -= 0.5 * row_side[i] * z[i]
        total[LENGTH] += z[i] * z[i]
    return True


CONVERGED, MAX_ITER, STALLED, SADDLE = range(4)

# What to do after a step is decided by the very same functions, with the same constants; where these come from is said
# there.
more_damping = inner(rules.more_damping)
next_damping = inner(rules.next_damping)
MOST_ITER, MAX_DAMPING, SOME_DAMPING, AT_REST = rules.MAX_ITER, rules.MAX_DAMPING, rules.SOME_DAMPING, rules.AT_REST


class Sums(NamedTuple):
    """What a sweep leaves behind."""

    row: Any  # (4, R), by ROW_GRADIENT and what follows it
    total: Any  # (8,), by CHANGE and what follows it
    cross: Any  # (K, R) second derivatives by lambda_r and v_p


@kernel
def descend_small(
    data: Any,
    row: Any,
    effect: Any,
    still_move: float,
    still_gradient: float,
    still_damping: float,
    rounding: float,
    damping: float,
) -> Any:
    """Lower the deviance from the given effects; `row` is written over.

    For fits whose pairs are the smaller side: row (R,), effect (K,). Minimises (deviance), bounded by (cut). Returned
    are how it ended, after how many steps, the changes of the deviance that were taken, from 0, and the effects.
    """
    n_pairs = effect.shape[0]
    state, trial = make_pairs(n_pairs), make_pairs(n_pairs)
    sums, sums_new = make_sums(data, row.shape[0], n_pairs), make_sums(data, row.shape[0], n_pairs)
    row_new = row.copy()
    # Steps are solved for in double; the cells are computed from rows in their own precision.
    here, there = row.astype(data.mean.dtype), row.astype(data.mean.dtype)
    for j in range(n_pairs):
        trial.effect[j] = effect[j]
    work = np.empty((10, row.shape[0]), data.mean.dtype)
    # `add_gram` takes tiles of four rows.
    side = (n_pairs + 3) // 4 * 4
    step_room = StepRoom(
        np.empty((side, side)),
        np.empty((4, n_pairs)),
        np.empty((3, row.shape[0])),
        np.zeros((side, row.shape[0]), data.mean.dtype),
    )
    path, n_taken = np.zeros(MOST_ITER + 1), 0
    n_iter, ended = 0, MAX_ITER
    # A stretch of 0: nothing moves yet. In one loop with the steps, so that the sweep is compiled into this once.
    solved, stretch = True, 0.0
    while True:
        total = sums_new.total
        if solved:
            for i in range(row.shape[0]):
                there[i] = row_new[i]
            added = (sums_new.row, total, work, sums_new.cross)
            sweep(data, here, there, state, trial, stretch, True, 0, n_pairs, *added, None)
        elif damping >= SOME_DAMPING and scaled_gradient(data, sums) <= AT_REST:
            ended = SADDLE
            break
        # Half the change of the deviance; a rise within its rounding error is none.
        if not solved or not total[CHANGE] <= rounding * total[NOISE]:
            damping = more_damping(damping)
            if damping > MAX_DAMPING:
                ended = STALLED
                break
        else:
            still = False
            if stretch > 0:
                move = max(total[MOVE], curve_move(row, row_new, state.effect, trial.effect))
                # Before the damping changes: a step that damping made small is no sign of an end.
                still = move <= still_move and damping <= still_damping
                promised = total[FALL] + 0.5 * damping * total[LENGTH]
                path[n_taken + 1] = path[n_taken] + 2 * min(total[CHANGE], 0.0)
                n_taken += 1
                damping = next_damping(damping, total[CHANGE], rounding * total[NOISE], promised)
            # Swapped, not copied: what was left behind is the room of the next step.
            state, trial, sums, sums_new = trial, state, sums_new, sums
            row, row_new, here, there = row_new, row, there, here
            if still and scaled_gradient(data, sums) <= still_gradient:
                ended = CONVERGED
                break
        if n_iter == MOST_ITER:
            break
        n_iter += 1
        clear(sums_new)
        stretch = 1 + damping
        solved = step_pairs(row, sums.row, state, sums.cross, stretch, row_new, trial.effect, sums_new.total, step_room)
    return ended, n_iter, path[: n_taken + 1], row, state.effect


@inner
def make_pairs(n_pairs: int) -> Any:
    """Room for the state of all pairs."""
    return PairState(np.empty(n_pairs), np.empty(n_pairs), np.empty(n_pairs), np.empty(n_pairs, np.bool_))


@inner
def make_sums(data: Any, n_rows: int, n_pairs: int) -> Any:
    """Room for what a sweep sums, and all cross terms."""
    cross = np.empty((n_pairs, n_rows), data.mean.dtype)
    return Sums(np.zeros((N_ROW_SUMS, n_rows)), np.zeros(N_TOTALS), cross)


@inner
def clear(sums: Any) -> None:
    """Begin to sum again."""
    for a in range(sums.row.shape[0]):
        for i in range(sums.row.shape[1]):
            sums.row[a, i] = 0.0
    for t in range(sums.total.shape[0]):
        sums.total[t] = 0.0


@inner
def curve_move(row: Any, row_new: Any, effect: Any, effect_new: Any) -> float:
    """The largest move of a coordinate of the curve."""
    # Of (curve), with the scale that makes the mean of the pair effects 1.
    mean, mean_new, largest = 0.0, 0.0, 0.0
    for j in range(effect.shape[0]):
        mean += effect[j] / effect.shape[0]
        mean_new += effect_new[j] / effect.shape[0]
    for i in range(row.shape[0]):
        # exp overflows in double beyond 709.
        before = 1 / (1 + math.exp(-min(max(row[i] * mean, -700.0), 700.0)))
        after = 1 / (1 + math.exp(-min(max(row_new[i] * mean_new, -700.0), 700.0)))
        largest = max(largest, abs(after - before))
    return largest


@inner
def scaled_gradient(data: Any, sums: Any) -> Any:
    """The largest gradient, as a weighted mean of residuals."""
    # A gradient divided by the sum of the weights of its residuals, w v in rows, is a mean of residuals.
    largest = sums.total[PAIR_GRADIENT]
    for i in range(sums.row.shape[1]):
        scale = sums.total[WEIGHT_TPR] if i < data.n_tpr else sums.total[WEIGHT_FPR]
        largest = max(largest, abs(sums.row[ROW_GRADIENT, i]) / (data.on_row[i] * scale))
    return largest


@summing
def solve_positive(matrix: Any, right: Any) -> bool:
    """Solve in place by Cholesky, from the upper triangle; False where the matrix is not positive definite."""
    # L is written below the diagonal, while the matrix is read above it: both by rows, as they lie in memory.
    n = right.shape[0]
    # Of the diagonal: divisions would take a third of the time.
    inverse = np.empty(n)
    for i in range(n):
        mine, left = matrix[i], i // 4 * 4
        # Four columns at a time: a number that is read serves four products, and four sums do not wait for each other.
        for j in range(0, left, 4):
            r0, r1, r2, r3 = matrix[j], matrix[j + 1], matrix[j + 2], matrix[j + 3]
            s0, s1, s2, s3 = r0[i], r1[i], r2[i], r3[i]
            for k in range(j):
                s0 -= mine[k] * r0[k]
                s1 -= mine[k] * r1[k]
                s2 -= mine[k] * r2[k]
                s3 -= mine[k] * r3[k]
            # What the first of the four have in common with those after them.
            s0 *= inverse[j]
            s1 = (s1 - s0 * r1[j]) * inverse[j + 1]
            s2 = (s2 - s0 * r2[j] - s1 * r2[j + 1]) * inverse[j + 2]
            s3 = (s3 - s0 * r3[j] - s1 * r3[j + 1] - s2 * r3[j + 2]) * inverse[j + 3]
            mine[j], mine[j + 1], mine[j + 2], mine[j + 3] = s0, s1, s2, s3
        for j in range(left, i + 1):
            other = matrix[j]
            total = other[i]
            for k in range(j):
                total -= mine[k] * other[k]
            if i == j:
                # Systems come scaled to a diagonal of order 1: a smaller pivot is rounding.
                if not total > 1e-14:
                    return False
                mine[i] = np.sqrt(total)
                inverse[i] = 1 / mine[i]
            else:
                mine[j] = total * inverse[j]
    for i in range(n):
        mine = matrix[i]
        total = right[i]
        for k in range(i):
            total -= mine[k] * right[k]
        right[i] = total / mine[i]
    # L' from the last row up: a number, once solved, is subtracted from those before it, which reads L by rows, too.
    for i in range(n - 1, -1, -1):
        mine = matrix[i]
        right[i] /= mine[i]
        for k in range(i):
            right[k] -= mine[k] * right[i]
    return True


@inner
def make_schur(gram: Any, scale: Any, gauge: Any, stretch: float, system: Any) -> None:
    """(1 + mu) I - scaled gram / (1 + mu) + gauge, in the upper triangle; in place, if `system` is the gram."""
    n = scale.shape[0]
    # The gauge is given at any length; divided by its square it is a projection.
    along, across = 1 / (dot(gauge, gauge) + TINY), 1 / stretch
    for i in range(n):
        held, pulled = gauge[i] * along, scale[i] * across
        for k in range(i, n):
            system[i, k] = held * gauge[k] - pulled * scale[k] * gram[i, k]
        system[i, i] += stretch
