"""One pass over the cells of several fits at once, in plain PyTorch: what `_sweep_kernels.py` must give.

A cell is one call rate of one pair; a fit is one set of rates of all pairs, of which a bootstrap has many. A sweep
moves every pair to its new effect, given the move of the rows, and linearises there. Sums over cells are those of half
the deviance: with mu = expit(lambda_r v_p), residual = w (mu - R~) and bend = w mu (1 - mu), its derivatives are

    by lambda_r         sum_p v_p residual_rp             twice: sum_p v_p^2 bend_rp
    by v_p              sum_r lambda_r residual_rp        twice: sum_r lambda_r^2 bend_rp
    by lambda_r, v_p    lambda_r v_p bend_rp + residual_rp, the cross term

Words in parentheses are the labels of equations in docs/method.md. B fits, K pairs, T call rates, R = 2T rows: true
positive rates first. Rows with nothing to fit have weight 0 and effect 0.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch

from polyroc._core.torch.devices import pieces

# Entries of what a sweep adds up over pairs, and of what it takes the largest of; `_numba/_fit.py` has the same in one
# array.
CHANGE, NOISE, WEIGHT_TPR, WEIGHT_FPR, FALL, LENGTH = range(6)
N_TOTALS = 6
MOVE, PAIR_GRADIENT = range(2)
N_LARGEST = 2
# And over the cells of each row.
ROW_GRADIENT, ROW_BLOCK, CARRIED, PINNED = range(4)
N_ROW_SUMS = 4
# A number that changes nothing it is added to, but can be divided by; a normal one in single precision, too.
TINY = 1e-30
# Moves of the predictor beyond which the change of the deviance takes logarithms.
FAR = 0.1
# Cells that are worked on at a time.
_AT_ONCE = 2**23


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of B fits that share pairs and weights."""

    tpr: torch.Tensor  # (B, K, T)
    fpr: torch.Tensor | None  # (B, K, T), or None: then it is what TPR leaves of twice the call rate
    doubled: torch.Tensor  # (T,), twice the call rates
    on_row: torch.Tensor  # (B, R), what the call rate of each row counts for; 0 where nothing is fitted
    mean: torch.Tensor  # (B, R)
    on_tpr: torch.Tensor  # (K,): W_p Q_p of (weights), for the true positive rates; may be one number, expanded
    on_fpr: torch.Tensor  # (K,)
    keep: torch.Tensor  # (K,): share of its own rate that shrinkage leaves a pair

    @property
    def n_fits(self) -> int:
        return int(self.tpr.shape[0])

    @property
    def n_pairs(self) -> int:
        return int(self.tpr.shape[1])

    @property
    def n_rows(self) -> int:
        return 2 * int(self.tpr.shape[2])

    @property
    def precision(self) -> torch.dtype:
        """Of what is computed; rates may be stored in a lower one."""
        return self.on_row.dtype

    def computed_in(self, precision: torch.dtype) -> "Cells":
        """The same cells, swept in another precision."""
        names = ("doubled", "on_row", "mean", "keep")
        return replace(self, **{name: getattr(self, name).to(precision) for name in names})

    def of_fits(self, which: torch.Tensor) -> "Cells":
        """Some of the fits."""
        fpr = None if self.fpr is None else self.fpr[which]
        return replace(self, tpr=self.tpr[which], fpr=fpr, on_row=self.on_row[which], mean=self.mean[which])

    def of_pairs(self, which: Any) -> "Cells":
        """Some of the pairs, by places or a slice."""
        fpr = None if self.fpr is None else self.fpr[:, which]
        weights = {name: getattr(self, name)[which] for name in ("on_tpr", "on_fpr", "keep")}
        return replace(self, tpr=self.tpr[:, which], fpr=fpr, **weights)

    def filled(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Shrunk rates R~ (shrinkage) and weights w (weights) of all cells, (B, K, R) each."""
        precision = self.precision
        tpr = self.tpr.to(precision)
        fpr = (self.doubled - tpr).clamp(0, 1) if self.fpr is None else self.fpr.to(precision)
        keep = self.keep[:, None]
        rate = keep * torch.cat([tpr, fpr], 2) + (1 - keep) * self.mean[:, None]
        n = tpr.shape[2]
        weight = torch.cat(
            [
                self.on_tpr.to(precision)[:, None] * self.on_row[:, None, :n],
                self.on_fpr.to(precision)[:, None] * self.on_row[:, None, n:],
            ],
            2,
        )
        return rate, weight


@dataclass(frozen=True, eq=False)
class Pairs:
    """Effect, gradient and curvature of each pair, (B, K) each."""

    effect: torch.Tensor  # in double precision
    gradient: torch.Tensor
    block: torch.Tensor

    @property
    def pinned(self) -> torch.Tensor:
        """Whether its own Newton step would take away more than the 9/10 that (cut) allows."""
        return self.gradient > 0.9 * self.effect * self.block

    def of_fits(self, which: torch.Tensor) -> "Pairs":
        return Pairs(self.effect[which], self.gradient[which], self.block[which])


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep leaves behind."""

    pairs: Pairs
    by_row: torch.Tensor  # (B, 4, R), in double precision
    total: torch.Tensor  # (B, 6), in double precision
    largest: torch.Tensor  # (B, 2), in double precision
    cross: torch.Tensor | None  # (B, K, R), where they were asked for

    def of_fits(self, which: torch.Tensor) -> "Swept":
        cross = None if self.cross is None else self.cross[which]
        return Swept(self.pairs.of_fits(which), self.by_row[which], self.total[which], self.largest[which], cross)


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
    """Move all pairs and linearise there.

    `row` and `row_new` (B, R) in double precision; `stretch` (B,), None where nothing moves: the first sweep.
    `effect_new` (B, K) where the moves of the pairs are known, else they follow from those of the rows.
    """
    parts = []
    size = _AT_ONCE // max(1, cells.n_fits * cells.n_rows)
    for start, stop in pieces(cells.n_pairs, size):
        piece = slice(start, stop)
        before = Pairs(old.effect[:, piece], old.gradient[:, piece], old.block[:, piece])
        known = None if effect_new is None else effect_new[:, piece]
        parts.append(_sweep_piece(cells.of_pairs(piece), row, row_new, before, stretch, known, with_cross=with_cross))
    if len(parts) == 1:
        return parts[0]
    pairs = Pairs(
        *(torch.cat([getattr(part.pairs, name) for part in parts], 1) for name in ("effect", "gradient", "block"))
    )
    cross = torch.cat([part.cross for part in parts if part.cross is not None], 1) if with_cross else None
    by_row, total = (torch.stack([getattr(part, name) for part in parts]).sum(0) for name in ("by_row", "total"))
    return Swept(pairs, by_row, total, torch.stack([part.largest for part in parts]).amax(0), cross)


def _sweep_piece(
    cells: Cells,
    row: torch.Tensor,
    row_new: torch.Tensor,
    old: Pairs,
    stretch: torch.Tensor | None,
    effect_new: torch.Tensor | None,
    *,
    with_cross: bool,
) -> Swept:
    precision = cells.precision
    rate, weight = cells.filled()
    total = torch.zeros((cells.n_fits, N_TOTALS), dtype=torch.float64, device=rate.device)
    largest = torch.zeros((cells.n_fits, N_LARGEST), dtype=torch.float64, device=rate.device)
    here, there = row.to(precision)[:, None], row_new.to(precision)[:, None]
    effect = old.effect
    if stretch is not None:
        p_old, h_old = _fitted(here, old.effect)
        if effect_new is None:
            v = old.effect.to(precision)[..., None]
            cross = weight * (h_old * here * v + p_old - rate)
            move = ((row_new - row).to(precision)[:, None] * cross).sum(2, dtype=torch.float64)
            effect_new = _stepped(old, move, stretch, total)
        effect = effect_new
    p, h = _fitted(there, effect)
    v = effect.to(precision)[..., None]
    residual, bend = weight * (p - rate), weight * h
    gradient = (there * residual).sum(2, dtype=torch.float64)
    block = (there * there * bend).sum(2, dtype=torch.float64) + TINY
    cross = bend * there * v + residual
    pairs = Pairs(effect, gradient, block)
    pinned = pairs.pinned
    by_row = torch.stack(
        [
            (v * residual).sum(1, dtype=torch.float64),
            (v * v * bend).sum(1, dtype=torch.float64),
            # The move of a pinned pair is known: it enters the right side of the rows' system by 9/10 of its effect.
            (torch.where(pinned, 0.0, gradient / block).to(precision)[..., None] * cross).sum(1, dtype=torch.float64),
            (torch.where(pinned, 0.9 * effect, 0.0).to(precision)[..., None] * cross).sum(1, dtype=torch.float64),
        ],
        1,
    )
    if stretch is not None:
        _record_move(here, there, old.effect, effect, rate, weight, p_old, h_old, p, h, total)
        # Rows that are not fitted stay where they are.
        largest[:, MOVE] = (p - p_old).abs().amax((1, 2)).to(torch.float64)
    _record_gradient(cells, row_new, pairs, total, largest)
    return Swept(pairs, by_row, total, largest, cross if with_cross else None)


def _fitted(row: torch.Tensor, effect: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Fitted probabilities mu (model), and mu (1 - mu), (B, K, R) each; `row` is (B, 1, R)."""
    eta = row * effect.to(row.dtype)[..., None]
    # Both tails from one exponential: 1 - p would lose all digits of a p near 1.
    e = torch.exp(-eta.abs())
    large = 1 / (1 + e)
    small = e * large
    return torch.where(eta >= 0, large, small), small * large


def _stepped(old: Pairs, move: torch.Tensor, stretch: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """The pairs' part of the joint step, given what the rows' part moves; a pinned pair's own cut step."""
    # With (H + damping D) y = -g the quadratic model falls by -g.y / 2 + damping y.D.y / 2: FALL has the first sum, and
    # LENGTH y.D.y. A pinned pair is not solved for: its slope counts whole.
    pinned, stretched = old.pinned, stretch[:, None]
    step = torch.where(pinned, -0.9 * old.effect / stretched, -(old.gradient + move) / (old.block * stretched))
    slope = old.gradient * step
    total[:, FALL] -= torch.where(pinned, slope, 0.5 * slope).sum(1)
    total[:, LENGTH] += torch.where(pinned, 0.0, old.block * step * step).sum(1)
    # (cut). Each v_j is cut by itself; scaling the whole step would let one pair hold up all others.
    return torch.maximum(old.effect + step, 0.1 * old.effect)


def _record_move(
    row: torch.Tensor,
    row_new: torch.Tensor,
    effect: torch.Tensor,
    effect_new: torch.Tensor,
    rate: torch.Tensor,
    weight: torch.Tensor,
    p0: torch.Tensor,
    h0: torch.Tensor,
    p1: torch.Tensor,
    h1: torch.Tensor,
    total: torch.Tensor,
) -> None:
    """Half the change of the deviance, and its rounding error."""
    v, dv = effect_new.to(rate.dtype)[..., None], (effect_new - effect).to(rate.dtype)[..., None]
    move = (row_new - row) * v + row * dv
    # Hermite's rule from both ends, without cancellation; what it misses is a share of move^3 / 360.
    slope = 0.5 * (p0 + p1) - rate - move * (h1 - h0) / 12
    # log(1 + e^eta) = max(eta, 0) - log(max(p, 1 - p)) for moves that are too long for that.
    eta0, eta1 = row * effect.to(rate.dtype)[..., None], row_new * v
    softplus = eta1.clamp(min=0) - eta0.clamp(min=0) + torch.log(p0.maximum(1 - p0) / p1.maximum(1 - p1))
    change = torch.where(move.abs() > FAR, softplus - rate * (eta1 - eta0), move * slope)
    total[:, CHANGE] += (weight * change).sum((1, 2), dtype=torch.float64)
    total[:, NOISE] += (weight * move.abs()).sum((1, 2), dtype=torch.float64)


def _record_gradient(cells: Cells, row: torch.Tensor, pairs: Pairs, total: torch.Tensor, largest: torch.Tensor) -> None:
    """The pairs' scaled gradients, and their weights in the scale of the rows' gradients."""
    n, on_tpr, on_fpr = cells.n_rows // 2, cells.on_tpr.to(torch.float64), cells.on_fpr.to(torch.float64)
    length = cells.on_row.to(torch.float64) * row.abs()
    scale = on_tpr * length[:, :n].sum(1)[:, None] + on_fpr * length[:, n:].sum(1)[:, None] + TINY
    scaled = pairs.gradient / scale
    # At 0, where v_p >= 0 binds, a gradient that pulls further down is none; as in `_numpy/_solver.py`.
    at_zero = pairs.effect * row.abs().amax(1)[:, None] <= 1e-8
    largest[:, PAIR_GRADIENT] = torch.where(at_zero, (-scaled).clamp(min=0), scaled.abs()).amax(1)
    total[:, WEIGHT_TPR] = (on_tpr * pairs.effect).sum(1)
    total[:, WEIGHT_FPR] = (on_fpr * pairs.effect).sum(1)


def deviances(cells: Cells, row: torch.Tensor, effect: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The deviance of each fit (deviance), and that of chance in the same rows (explained), (B,) each."""
    found = torch.zeros((2, cells.n_fits), dtype=torch.float64, device=row.device)
    size = _AT_ONCE // max(1, cells.n_fits * cells.n_rows)
    for start, stop in pieces(cells.n_pairs, size):
        piece = slice(start, stop)
        found += _deviances_of_piece(cells.of_pairs(piece), row.to(cells.precision)[:, None], effect[:, piece])
    # The sums are those of half the deviance.
    return 2 * found[0], 2 * found[1]


def _deviances_of_piece(cells: Cells, row: torch.Tensor, effect: torch.Tensor) -> torch.Tensor:
    rate, weight = cells.filled()
    eta = row * effect.to(row.dtype)[..., None]
    entropy = torch.xlogy(rate, rate) + torch.xlogy(1 - rate, 1 - rate)
    # The larger of p and 1 - p has a small logarithm; the other one's is that less |eta|.
    missed = torch.where(eta >= 0, 1 - rate, rate) * eta.abs() + torch.log1p(torch.exp(-eta.abs()))
    by_chance = torch.cat([cells.doubled, cells.doubled]) / 2
    of_chance = entropy - rate * by_chance.log() - (1 - rate) * torch.log1p(-by_chance)
    found = torch.stack([weight * (entropy + missed), weight * of_chance])
    return found.sum((2, 3), dtype=torch.float64)
