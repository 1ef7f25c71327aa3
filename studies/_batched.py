"""The estimator once more, in torch, for thousands of resamples at once: what makes a study of intervals affordable.

Written apart from the engines, straight from docs/method.md, so that the two check each other
(tests/around/test_studies.py). Only what the study needs: own thresholds, equal weighting, rank one, every
class with samples.

Shapes: B samples (replications of the study), R resamples of each, n samples per data set, k classes, K ordered pairs,
T grid points. All in double precision, on the card where there is one.
"""

from dataclasses import dataclass

import torch

LOGIT_BOUND = 30.0
EDGE = float(torch.special.expit(torch.tensor(-LOGIT_BOUND, dtype=torch.float64)))


@dataclass(frozen=True)
class Pair:
    """One ordered pair: its samples in falling order of score, and where each tie ends."""

    positive: int
    order: torch.Tensor  # (B, m) positions in the data set
    is_positive: torch.Tensor  # (B, m)
    last_end: torch.Tensor  # (B, m + 1) position of the last finished tie


def ordered_pairs(codes, scores):
    """Every ordered pair of classes, sorted once; codes (n,), scores (B, n, k)."""
    members = [torch.nonzero(codes == c)[:, 0] for c in range(scores.shape[2])]
    pairs = []
    for i, own in enumerate(members):
        for j, other in enumerate(members):
            if i == j:
                continue
            both = torch.cat([own, other])
            value, order = scores[:, both, i].sort(dim=1, descending=True, stable=True)
            ends = torch.ones_like(value, dtype=torch.bool)
            ends[:, :-1] = value[:, 1:] != value[:, :-1]
            place = torch.where(ends, torch.arange(1, len(both) + 1, device=scores.device), 0)
            last_end = torch.cummax(place, dim=1).values
            last_end = torch.cat([torch.zeros_like(last_end[:, :1]), last_end], dim=1)
            pairs.append(Pair(i, both[order], order < len(own), last_end))
    return pairs


def rates_and_areas(pairs, weights, grid):
    """TPR of every pair on the grid, (B, R, T, K), and Mann-Whitney areas, (B, R, K); weights (B, R, n)."""
    n_samples, n_resamples, _ = weights.shape
    tpr = weights.new_empty((n_samples, n_resamples, len(grid), len(pairs)))
    areas = weights.new_empty((n_samples, n_resamples, len(pairs)))
    for number, pair in enumerate(pairs):
        shape = (n_samples, n_resamples, pair.order.shape[1])
        weight = torch.gather(weights, 2, pair.order[:, None].expand(shape))
        positive = _shares(torch.where(pair.is_positive[:, None], weight, 0.0), pair.last_end)
        negative = _shares(torch.where(pair.is_positive[:, None], 0.0, weight), pair.last_end)
        call_rate = (positive + negative) / 2
        wanted = grid.expand(n_samples, n_resamples, len(grid)).contiguous()
        after = torch.searchsorted(call_rate, wanted).clamp(1, shape[2])
        low, high = torch.gather(call_rate, 2, after - 1), torch.gather(call_rate, 2, after)
        below, above = torch.gather(positive, 2, after - 1), torch.gather(positive, 2, after)
        tpr[..., number] = below + (above - below) * (wanted - low) / (high - low)
        areas[..., number] = torch.sum(
            torch.diff(negative, dim=2) * (positive[..., 1:] + positive[..., :-1]) / 2, dim=2
        )
    return tpr, areas


def _shares(weight, last_end):
    cumulated = torch.cumsum(weight, dim=2)
    cumulated = torch.cat([torch.zeros_like(cumulated[..., :1]), cumulated], dim=2) / cumulated[..., -1:]
    # Inside a tie the polygon is a straight line: its inner points repeat the last vertex.
    return torch.gather(cumulated, 2, last_end[:, None].expand(cumulated.shape))


@dataclass(frozen=True)
class Fits:
    row: torch.Tensor  # (G, 2T) effects, scaled so that the pair effects have mean 1
    pair: torch.Tensor  # (G, K)
    converged: torch.Tensor  # (G,)


def fit_rank_one(tpr, grid, row_weights, keep, *, start=None, max_iter=200):
    """Joint damped Newton steps for G problems, tpr (G, T, K); `keep` (K,) is n / (n + a).

    Resamples may start at the fits of their samples, which halves the work; with own thresholds there is one optimum.
    """
    n_rows = 2 * len(grid)
    rate = torch.cat([tpr, 2 * grid[:, None] - tpr], dim=1).clamp_(0, 1)
    mean = rate.mean(dim=2)
    rate = keep * rate + (1 - keep) * mean[:, :, None]
    inner = (mean > EDGE) & (mean < 1 - EDGE)
    weight = torch.cat([row_weights, row_weights]) * (n_rows / 2 / row_weights.sum())
    weight = torch.where(inner, weight, 0.0)
    row = torch.where(inner, torch.logit(mean.clamp(EDGE, 1 - EDGE)), 0.0)
    pair = torch.ones_like(rate[:, 0])
    if start is not None:
        row = torch.where(inner & (start.row.abs() < LOGIT_BOUND), start.row, row)
        pair = start.pair.clamp(min=1e-3)
    done = Fits(row.clone(), pair.clone(), torch.zeros(len(rate), dtype=torch.bool, device=rate.device))
    active = torch.arange(len(rate), device=rate.device)
    damping = torch.full((len(rate),), 0.1 if start is None else 1e-3, dtype=rate.dtype, device=rate.device)
    # Steps are quadratic: after one below 1e-6 a replicate is right to 1e-8, which its standard error cannot see.
    step, damped = (1e-10, 1e-6) if start is None else (1e-6, 1e-3)
    for _ in range(max_iter):
        row_new, pair_new = _step(rate, weight, row, pair, damping)
        change, noise, promised = _change(rate, weight, row, pair, row_new, pair_new)
        accepted = change <= noise
        shared = torch.abs(torch.sigmoid(row_new * pair_new.mean(1, True)) - torch.sigmoid(row * pair.mean(1, True)))
        still = accepted & (shared.max(dim=1).values < step) & (damping <= damped)
        good = noise - change >= 0.75 * promised
        lower = torch.where(damping > 1e-9, damping / 100, 0.0)
        kept = torch.where(-change > 0.25 * promised, damping, (4 * damping).clamp(min=1e-6))
        damping = torch.where(accepted, torch.where(good, lower, kept), (10 * damping).clamp(min=1e-4))
        row = torch.where(accepted[:, None], row_new, row)
        pair = torch.where(accepted[:, None], pair_new, pair)
        finished = still | (damping > 1e12)
        if finished.any():
            ended = active[finished]
            done.row[ended], done.pair[ended], done.converged[ended] = row[finished], pair[finished], still[finished]
            rest = ~finished
            rate, weight, row, pair, damping, active = (x[rest] for x in (rate, weight, row, pair, damping, active))
            if len(active) == 0:
                break
    done.row[active], done.pair[active] = row, pair
    mean_pair = done.pair.mean(dim=1, keepdim=True)
    outer = torch.where(mean < 0.5, -LOGIT_BOUND, LOGIT_BOUND)
    return Fits(torch.where(inner, done.row * mean_pair, outer), done.pair / mean_pair, done.converged)


def _step(rate, weight, row, pair, damping):
    """One damped joint step; pairs that would leave [v / 10, inf) take that cut step by themselves."""
    fitted = torch.sigmoid(row[:, :, None] * pair[:, None])
    bend = weight[:, :, None] * fitted * (1 - fitted)
    residual = weight[:, :, None] * (fitted - rate)
    gradient_row, gradient_pair = (residual * pair[:, None]).sum(2), (residual * row[:, :, None]).sum(1)
    block_row = (bend * pair[:, None] ** 2).sum(2) + 1e-290
    block_pair = (bend * row[:, :, None] ** 2).sum(1) + 1e-290
    cross = bend.mul_(row[:, :, None]).mul_(pair[:, None]).add_(residual)
    del fitted, residual
    stretch = (1 + damping)[:, None]
    pinned = gradient_pair > 0.9 * pair * block_pair
    cut = torch.where(pinned, -0.9 * pair / stretch, 0.0)
    # The others are solved for given that these pairs take their own step.
    gradient_row = gradient_row + (cross * cut[:, None]).sum(2)
    cross = torch.where(pinned[:, None], 0.0, cross)
    gradient_pair = torch.where(pinned, 0.0, gradient_pair)
    free = torch.where(pinned, 0.0, pair)
    solve = _eliminate_rows if len(pair[0]) <= len(row[0]) else _eliminate_pairs
    move_row, move_pair = solve(
        cross, block_row * stretch, block_pair * stretch, gradient_row, gradient_pair, row, free
    )
    return row + move_row, torch.maximum(pair + torch.where(pinned, cut, move_pair), pair / 10)


def _eliminate_rows(cross, block_row, block_pair, gradient_row, gradient_pair, row, pair):
    scaled = cross / block_row[:, :, None]
    system = -cross.transpose(1, 2) @ scaled
    right = -gradient_pair + (scaled * gradient_row[:, :, None]).sum(1)
    move_pair = _solve(system, block_pair, pair, right)
    return (-gradient_row - (cross * move_pair[:, None]).sum(2)) / block_row, move_pair


def _eliminate_pairs(cross, block_row, block_pair, gradient_row, gradient_pair, row, pair):
    scaled = cross / block_pair[:, None]
    system = -scaled @ cross.transpose(1, 2)
    right = -gradient_row + (scaled * gradient_pair[:, None]).sum(2)
    move_row = _solve(system, block_row, row, right)
    return move_row, (-gradient_pair - (cross * move_row[:, :, None]).sum(1)) / block_pair


def _solve(system, block, orbit, right):
    """Solve the Schur complement; NaN where it is not positive definite, which more damping mends."""
    system.diagonal(dim1=1, dim2=2).add_(block)
    # The orbit on which v is stretched and lambda shrunk has no curvature of its own.
    pin = block.mean(1) / (orbit**2).sum(1).clamp(min=1e-290)
    system += pin[:, None, None] * orbit[:, :, None] * orbit[:, None]
    factor, failed = torch.linalg.cholesky_ex(system)
    move = torch.cholesky_solve(right[:, :, None], factor)[:, :, 0]
    return torch.where((failed == 0)[:, None], move, torch.nan)


def _change(rate, weight, row, pair, row_new, pair_new):
    """Half the change of the deviance, its rounding error, and what the step could promise."""
    old, new = row[:, :, None] * pair[:, None], row_new[:, :, None] * pair_new[:, None]
    move = new - old
    # Without cancellation for small moves: softplus(b) - softplus(a) = log1p(sigmoid(a) expm1(b - a)).
    clipped = move.clamp(-30, 30)
    near = torch.log1p(torch.sigmoid(old) * torch.expm1(clipped))
    far = torch.nn.functional.softplus(new) - torch.nn.functional.softplus(old)
    rise = torch.where(move.abs() < 1, near, far) - rate * move
    change = (weight[:, :, None] * rise).sum((1, 2))
    residual = torch.sigmoid(old) - rate
    # The moves are differences of predictors and carry their rounding.
    noise = 1e-15 * (weight[:, :, None] * (move.abs() + residual.abs() * old.abs())).sum((1, 2))
    promised = -(weight[:, :, None] * residual * move).sum((1, 2)) / 2
    change = torch.nan_to_num(change, nan=torch.inf)
    return change, noise, promised


def curves(row):
    """FPR and TPR of the curves of row effects (..., 2T), corners included."""
    tpr, fpr = torch.sigmoid(row).chunk(2, dim=-1)
    zero, one = torch.zeros_like(tpr[..., :1]), torch.ones_like(tpr[..., :1])
    return torch.cat([zero, fpr, one], -1), torch.cat([zero, tpr, one], -1)


def areas_under(fpr, tpr):
    cross = fpr[..., 1:] * tpr[..., :-1] - fpr[..., :-1] * tpr[..., 1:]
    return (0.5 + 0.5 * cross.sum(-1)).clamp(0, 1)


def gaps_under(fpr, tpr):
    """1 - D without cancellation: the area between the curve and the corner (0, 1)."""
    miss = 1 - tpr
    return torch.sum(torch.diff(fpr, dim=-1) * (miss[..., 1:] + miss[..., :-1]) / 2, dim=-1)
