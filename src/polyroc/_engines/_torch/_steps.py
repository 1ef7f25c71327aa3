"""Steps of several fits at once: the smaller side is solved for, the larger one follows (`_numpy/_solver.py`).

The Hessian of (deviance), a label of docs/method.md, is an arrow: diagonal blocks A of rows and B of pairs, and cross
terms C. Scaled by the roots of A and B it has ones on the diagonal, which damping makes 1 + mu, the `stretch`.
Eliminating one side leaves, with C scaled alike and g the gradients,

    ((1 + mu) I - C C' / (1 + mu) + gauge) y = C g_gone / (1 + mu) - g_kept

for the other; y is a step in scaled coordinates. Where pairs are kept, C' takes the place of C. The gauge is the outer
product of the direction in which v is stretched and lambda shrunk: no rate changes along it, and without the gauge the
undamped system would be singular. Everything here is small, and in double precision. Nothing is chosen by
`torch.where` with a plain number: that number would be copied to the device each time.
"""

from typing import NamedTuple

import torch

from polyroc._engines._torch._sweeps import CARRIED, PINNED, ROW_BLOCK, ROW_GRADIENT, TINY, Swept

# Systems have a diagonal of order 1: a smaller pivot is rounding.
LEAST_ROOT = 1e-7


class Step(NamedTuple):
    """A proposed move of B fits."""

    row: torch.Tensor  # (B, R): the new effects of the rows; the old ones where nothing was solved
    effect: torch.Tensor | None  # (B, K): those of the pairs, where these were solved for
    fall: torch.Tensor  # (B,): what the step adds to FALL and to LENGTH of a sweep
    length: torch.Tensor
    solved: torch.Tensor  # (B,): whether the damped Hessian is positive definite


class Curvature(NamedTuple):
    """The second derivatives by the rows, with the pairs eliminated."""

    row_block: torch.Tensor  # (B, R)
    gram: torch.Tensor  # (B, R, R): of the cross terms over the roots of the pairs' blocks


def step_rows(row: torch.Tensor, swept: Swept, curvature: Curvature, stretch: torch.Tensor) -> Step:
    """The rows' part of the joint step, where pairs are eliminated."""
    root = curvature.row_block.sqrt()
    scale = _inverse(root)
    across = 1 / stretch[:, None]
    # Pinned pairs move by -0.9 v / stretch whatever the rows do; that changes the gradient of the rows.
    gradient = scale * (swept.by_row[:, ROW_GRADIENT] - swept.by_row[:, PINNED] * across)
    # CARRIED is C B^-1 g of the free pairs, from the sweep.
    right = scale * swept.by_row[:, CARRIED] * across - gradient
    coupled = scale[:, :, None] * scale[:, None, :] * curvature.gram
    y, solved = _solve(coupled, root * row, right, stretch)
    return Step(row + scale * y, None, -0.5 * (gradient * y).sum(1), (y * y).sum(1), solved)


def step_pairs(row: torch.Tensor, swept: Swept, stretch: torch.Tensor) -> Step:
    """The joint step, where rows are eliminated and pairs are kept."""
    assert swept.cross is not None
    pairs, pinned = swept.pairs, swept.pairs.pinned
    row_scale = _inverse(swept.by_row[:, ROW_BLOCK].sqrt())
    across = 1 / stretch[:, None]
    # A scale of 0 takes a pinned pair out of the system: its y is 0.
    root = pairs.block.sqrt().masked_fill(pinned, 0.0)
    pair_scale = _inverse(root)
    pinned_move = (-0.9 * pairs.effect * across).masked_fill(~pinned, 0.0)
    # C of docs/method.md with the sign of a pinned pair's move: PINNED is 0.9 sum v C.
    row_side = row_scale * (swept.by_row[:, ROW_GRADIENT] - swept.by_row[:, PINNED] * across)
    coupling = pair_scale[:, :, None] * row_scale[:, None, :] * swept.cross.to(torch.float64)
    gradient = pair_scale * pairs.gradient
    right = (coupling @ row_side[:, :, None])[..., 0] * across - gradient
    y, solved = _solve(coupling @ coupling.mT, root * pairs.effect, right, stretch)
    z = -(row_side + (coupling.mT @ y[:, :, None])[..., 0]) * across
    move = pair_scale * y + pinned_move
    fall = -0.5 * ((gradient * y).sum(1) + (row_side * z).sum(1)) - (pairs.gradient * pinned_move).sum(1)
    length = (y * y).sum(1) + (z * z).sum(1)
    # (cut): each v_j by itself.
    effect = torch.maximum(pairs.effect + move, 0.1 * pairs.effect)
    kept = solved[:, None]
    return Step(
        torch.where(kept, row + row_scale * z, row), torch.where(kept, effect, pairs.effect), fall, length, solved
    )


def _inverse(root: torch.Tensor) -> torch.Tensor:
    """One over it; 0 where there is nothing to be moved."""
    return (1 / root).masked_fill(root <= TINY, 0.0)


def _solve(
    coupled: torch.Tensor, gauge: torch.Tensor, right: torch.Tensor, stretch: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Solve ((1 + mu) I - coupled / (1 + mu) + gauge) y = right; y is 0 where that is not positive definite."""
    gauge = gauge / (gauge.square().sum(1, keepdim=True).sqrt() + TINY)
    system = gauge[:, :, None] * gauge[:, None, :] - coupled / stretch[:, None, None]
    system.diagonal(dim1=1, dim2=2).add_(stretch[:, None])
    lower, failed = torch.linalg.cholesky_ex(system)
    solved = (failed == 0) & (lower.diagonal(dim1=1, dim2=2).amin(1) > LEAST_ROOT)
    y = torch.cholesky_solve(right[:, :, None], lower)[..., 0]
    return y.masked_fill(~solved[:, None], 0.0), solved
