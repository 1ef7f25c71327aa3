"""Compiled steps of the fit: the smaller side is solved for, the larger one follows (`_numpy/_solver.py`).

The Hessian of (deviance), a label of docs/method.md, is an arrow: diagonal blocks A of rows and B of pairs, and cross
terms C. Scaled by the roots of A and B it has ones on the diagonal, which damping makes 1 + mu, the `stretch`.
Eliminating one side leaves, with C scaled alike and g the gradients,

    ((1 + mu) I - C C' / (1 + mu) + gauge) y = C g_gone / (1 + mu) - g_kept

for the other; y is a step in scaled coordinates. Where pairs are kept, C' takes the place of C. The gauge is the outer
product of the direction in which v is stretched and lambda shrunk: no rate changes along it, and without the gauge the
undamped system would be singular.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._engines._numba._compile import borrowed, kernel
from polyroc._engines._numba._fit import CARRIED, FALL, LENGTH, PINNED, ROW_BLOCK, ROW_GRADIENT
from polyroc._engines._numba._linear import TINY, add_gram, add_scaled, dot, make_schur, solve_positive


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
