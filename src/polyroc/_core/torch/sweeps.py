"""One pass over the cells of several fits at once, in plain PyTorch.

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
from typing import Any, NamedTuple

import torch

from polyroc._core.torch.devices import pieces

# A number that changes nothing it is added to, but can be divided by; a normal one in single precision, too.
TINY = 1e-30
# Moves of the predictor beyond which the change of the deviance takes logarithms.
FAR = 0.1
# Cells that are worked on at a time.
_AT_ONCE = 2**23
# Pairs whose gram matrix is one product: a single product of very many has too few tiles to fill a card.
_PRODUCT = 4096


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of B fits that share pairs and weights."""

    tpr: torch.Tensor  # (B, K, T)
    fpr: torch.Tensor | None  # (B, K, T); None if it is what TPR leaves of twice the call rate
    doubled: torch.Tensor  # (T,), twice the call rates
    on_row: torch.Tensor  # (B, R), omega_t of (spacing); 0 if nothing is fitted
    mean: torch.Tensor  # (B, R)
    on_tpr: torch.Tensor  # (K,): W_p Q_p of (weights), for the true positive rates; may be one number, expanded
    on_fpr: torch.Tensor  # (K,)
    keep: torch.Tensor  # (K,): m_p / (m_p + alpha) of (shrinkage)

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
        precision, n = self.precision, self.n_rows // 2
        tpr = self.tpr.to(precision)
        fpr = (self.doubled - tpr).clamp(0, 1) if self.fpr is None else self.fpr.to(precision)
        keep = self.keep[:, None]
        rate = keep * torch.cat([tpr, fpr], 2) + (1 - keep) * self.mean[:, None]
        on_row = self.on_row[:, None].split(n, 2)
        on_pair = (self.on_tpr.to(precision)[:, None], self.on_fpr.to(precision)[:, None])
        return rate, torch.cat([one * other for one, other in zip(on_pair, on_row, strict=True)], 2)


class Pairs(NamedTuple):
    """Effect, gradient and curvature of each pair, (B, K) each."""

    effect: torch.Tensor  # in double precision
    gradient: torch.Tensor
    block: torch.Tensor

    @property
    def pinned(self) -> torch.Tensor:
        """Whether its own Newton step would take away more than the 9/10 that (cut) allows."""
        return self.gradient > 0.9 * self.effect * self.block


class ByRow:
    """Places of the sums over the cells of each row."""

    GRADIENT, BLOCK, CARRIED, PINNED = range(4)


class Total:
    """Places of the sums over all cells or pairs."""

    CHANGE, NOISE, WEIGHT_TPR, WEIGHT_FPR, FALL, LENGTH = range(6)


class Largest:
    """Places of the largest of all cells or pairs."""

    MOVE, GRADIENT = range(2)


class Swept(NamedTuple):
    """Results of a sweep, sums in double precision."""

    pairs: Pairs
    by_row: torch.Tensor  # (B, 4, R)
    total: torch.Tensor  # (B, 6)
    largest: torch.Tensor  # (B, 2)
    cross: torch.Tensor | None  # (B, K, R), if asked for


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

    `row` and `row_new` (B, R) in double precision; `stretch` (B,), None if nothing moves: the first sweep.
    `effect_new` (B, K) if the moves of the pairs are known, else they follow from those of the rows.
    """
    parts = []
    for start, stop in pieces(cells.n_pairs, _AT_ONCE // max(1, cells.n_fits * cells.n_rows)):
        some = slice(start, stop)
        before, known = Pairs(*(one[:, some] for one in old)), None if effect_new is None else effect_new[:, some]
        parts.append(_sweep_piece(cells.of_pairs(some), row, row_new, before, stretch, known, with_cross=with_cross))
    if len(parts) == 1:
        return parts[0]
    pairs, by_row, total, largest, cross = zip(*parts, strict=True)
    return Swept(
        Pairs(*(torch.cat(one, 1) for one in zip(*pairs, strict=True))),
        torch.stack(by_row).sum(0),
        torch.stack(total).sum(0),
        torch.stack(largest).amax(0),
        torch.cat(cross, 1) if with_cross else None,
    )


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
    total = torch.zeros((cells.n_fits, 6), dtype=torch.float64, device=rate.device)
    largest = torch.zeros((cells.n_fits, 2), dtype=torch.float64, device=rate.device)
    here, there = row.to(precision)[:, None], row_new.to(precision)[:, None]
    effect = old.effect
    if stretch is not None:
        before = _fitted(here, old.effect)
        if effect_new is None:
            cross = weight * (before.bend * here * before.v + before.p - rate)
            move = ((row_new - row).to(precision)[:, None] * cross).sum(2, dtype=torch.float64)
            effect_new = _stepped(old, move, stretch, total)
        effect = effect_new
    after = _fitted(there, effect)
    v = after.v
    residual, bend = weight * (after.p - rate), weight * after.bend
    gradient = (there * residual).sum(2, dtype=torch.float64)
    block = (there * there * bend).sum(2, dtype=torch.float64) + TINY
    cross = bend * there * v + residual
    pairs = Pairs(effect, gradient, block)
    pinned = pairs.pinned
    carried = torch.where(pinned, 0.0, gradient / block).to(precision)[..., None]
    # The move of a pinned pair is known: it enters the right side of the rows' system by 9/10 of its effect.
    held = torch.where(pinned, 0.9 * effect, 0.0).to(precision)[..., None]
    sums = (v * residual, v * v * bend, carried * cross, held * cross)
    by_row = torch.stack([one.sum(1, dtype=torch.float64) for one in sums], 1)
    if stretch is not None:
        dv = (effect - old.effect).to(precision)[..., None]
        _record_change((there - here) * v + here * dv, before, after, rate, weight, total)
        # Rows that are not fitted stay where they are.
        largest[:, Largest.MOVE] = (after.p - before.p).abs().amax((1, 2)).to(torch.float64)
    _record_gradient(cells, row_new, pairs, total, largest)
    return Swept(pairs, by_row, total, largest, cross if with_cross else None)


class _Fitted(NamedTuple):
    """Fitted cells, (B, K, R) each."""

    v: torch.Tensor  # (B, K, 1): effects of pairs in the precision of the sweep
    eta: torch.Tensor
    p: torch.Tensor  # mu of (model)
    bend: torch.Tensor  # mu (1 - mu)


def _fitted(row: torch.Tensor, effect: torch.Tensor) -> _Fitted:
    """The cells at these effects, of rows (B, 1, R) and pairs (B, K)."""
    v = effect.to(row.dtype)[..., None]
    eta = row * v
    # Both tails from one exponential: 1 - p would lose all digits of a p near 1.
    e = torch.exp(-eta.abs())
    large = 1 / (1 + e)
    small = e * large
    return _Fitted(v, eta, torch.where(eta >= 0, large, small), small * large)


def _stepped(old: Pairs, move: torch.Tensor, stretch: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """The pairs' part of the joint step, given what the rows' part moves; a pinned pair's own cut step."""
    # With (H + damping D) y = -g the quadratic model falls by -g.y / 2 + damping y.D.y / 2: FALL has the first sum, and
    # LENGTH y.D.y. A pinned pair is not solved for: its slope counts whole.
    pinned, stretched = old.pinned, stretch[:, None]
    step = torch.where(pinned, -0.9 * old.effect / stretched, -(old.gradient + move) / (old.block * stretched))
    slope = old.gradient * step
    total[:, Total.FALL] -= torch.where(pinned, slope, 0.5 * slope).sum(1)
    total[:, Total.LENGTH] += torch.where(pinned, 0.0, old.block * step * step).sum(1)
    # (cut). Each v_j is cut by itself; scaling the whole step would let one pair hold up all others.
    return torch.maximum(old.effect + step, 0.1 * old.effect)


def _record_change(
    move: torch.Tensor, before: _Fitted, after: _Fitted, rate: torch.Tensor, weight: torch.Tensor, total: torch.Tensor
) -> None:
    """Half the change of the (deviance) by moves of the predictor, and its rounding error."""
    # Hermite's rule from both ends, without cancellation; what it misses is a share of move^3 / 360.
    slope = 0.5 * (before.p + after.p) - rate - move * (after.bend - before.bend) / 12
    # log(1 + e^eta) = max(eta, 0) - log(max(p, 1 - p)) for moves that are too long for that.
    large = before.p.maximum(1 - before.p) / after.p.maximum(1 - after.p)
    softplus = after.eta.clamp(min=0) - before.eta.clamp(min=0) + torch.log(large)
    change = torch.where(move.abs() > FAR, softplus - rate * (after.eta - before.eta), move * slope)
    total[:, Total.CHANGE] += (weight * change).sum((1, 2), dtype=torch.float64)
    total[:, Total.NOISE] += (weight * move.abs()).sum((1, 2), dtype=torch.float64)


def _record_gradient(cells: Cells, row: torch.Tensor, pairs: Pairs, total: torch.Tensor, largest: torch.Tensor) -> None:
    """The pairs' scaled gradients, and their weights in the scale of the rows' gradients."""
    n, on_tpr, on_fpr = cells.n_rows // 2, cells.on_tpr.to(torch.float64), cells.on_fpr.to(torch.float64)
    length = cells.on_row.to(torch.float64) * row.abs()
    scale = on_tpr * length[:, :n].sum(1)[:, None] + on_fpr * length[:, n:].sum(1)[:, None] + TINY
    scaled = pairs.gradient / scale
    # At 0, where v_p >= 0 binds, a gradient that pulls further down is none.
    at_zero = pairs.effect * row.abs().amax(1)[:, None] <= 1e-8
    largest[:, Largest.GRADIENT] = torch.where(at_zero, (-scaled).clamp(min=0), scaled.abs()).amax(1)
    total[:, Total.WEIGHT_TPR] = (on_tpr * pairs.effect).sum(1)
    total[:, Total.WEIGHT_FPR] = (on_fpr * pairs.effect).sum(1)


def gram(root: torch.Tensor) -> torch.Tensor:
    """The product of cross terms (..., P, R) with themselves, summed over pairs, (..., R, R)."""
    n_blocks = root.shape[-2] // _PRODUCT
    blocks = root[..., : n_blocks * _PRODUCT, :].unflatten(-2, (n_blocks, _PRODUCT))
    rest = root[..., n_blocks * _PRODUCT :, :]
    return (blocks.mT @ blocks).sum(-3) + rest.mT @ rest


def deviances(cells: Cells, row: torch.Tensor, effect: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The (deviance) of each fit, and that of chance in the same rows (explained), (B,) each."""
    total = torch.zeros((2, cells.n_fits), dtype=torch.float64, device=row.device)
    row, by_chance = row.to(cells.precision)[:, None], torch.cat([cells.doubled, cells.doubled]) / 2
    for start, stop in pieces(cells.n_pairs, _AT_ONCE // max(1, cells.n_fits * cells.n_rows)):
        rate, weight = cells.of_pairs(slice(start, stop)).filled()
        eta = row * effect[:, start:stop].to(row.dtype)[..., None]
        entropy = torch.xlogy(rate, rate) + torch.xlogy(1 - rate, 1 - rate)
        # The larger of p and 1 - p has a small logarithm; the other one's is that less |eta|.
        missed = torch.where(eta >= 0, 1 - rate, rate) * eta.abs() + torch.log1p(torch.exp(-eta.abs()))
        of_chance = entropy - rate * by_chance.log() - (1 - rate) * torch.log1p(-by_chance)
        total += torch.stack([weight * (entropy + missed), weight * of_chance]).sum((2, 3), dtype=torch.float64)
    # The sums are those of half the deviance.
    return 2 * total[0], 2 * total[1]
