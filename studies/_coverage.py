"""How often intervals and bands cover the truth.

The replicates come from `studies._batched`, thousands at once; what is made of them is the library's own code.
"""

from dataclasses import dataclass

import numpy as np
import torch

from polyroc import RocCurve
from polyroc._lib.grid import grid, row_weights
from polyroc._uncertainty.band import confidence_band
from polyroc._uncertainty.delong import freedom, standard_error
from polyroc._uncertainty.intervals import Distribution, Reach, end_interval, is_at_end, logit_ends, unseen_error
from polyroc._uncertainty.units import Units
from studies import _batched as batched
from studies._populations import populations
from studies._settings import draw

LEVEL = 0.95
N_TRUTH = 1_000_000
# Bands are slow to make, and their goal is wide.
N_BANDS = 500
# Stands for no shrinkage where the fit without any does not converge, as in the library.
HARDLY_ANY = 0.01
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
REAL = torch.float64
CALL_RATES = grid(99)
GRID = torch.tensor(CALL_RATES, dtype=REAL, device=DEVICE)
ROW_WEIGHTS = torch.tensor(row_weights(CALL_RATES), dtype=REAL, device=DEVICE)


@dataclass(frozen=True)
class Truth:
    auc: float
    hand_till: float
    curve: RocCurve
    mean_curve: RocCurve


@dataclass(frozen=True)
class Drawn:
    """One model's replicates for B samples at once; arrays of NumPy."""

    auc: np.ndarray  # (B,)
    unshrunk: np.ndarray  # (B, 2T) row effects
    row: np.ndarray  # (B, 2T)
    mean_tpr: np.ndarray  # (B, T)
    hand_till: np.ndarray  # (B,)
    influences: np.ndarray  # (B, n), of M
    aucs: np.ndarray  # (B, R)
    hand_tills: np.ndarray  # (B, R)
    rows: np.ndarray  # (B', R, 2T), of the samples that get a band
    mean_tprs: np.ndarray  # (B', R, T)
    not_converged: int


def find_truth(setting, seed):
    """Of the whole population, or of a million samples, the same number of each class: D does not depend on that."""
    if setting.population is not None:
        return truth_of(*populations()[setting.population])
    counts = (N_TRUTH // setting.n_classes,) * setting.n_classes
    return truth_of(*draw(setting, np.random.default_rng([seed, 1]), counts)[:2])


def truth_of(y_true, y_score):
    weights = torch.ones((1, 1, len(y_true)), dtype=REAL, device=DEVICE)
    pairs = batched.ordered_pairs(on_device(y_true), on_device(y_score)[None].to(REAL))
    tpr, areas = batched.rates_and_areas(pairs, weights, GRID)
    fit = unshrunk_fit(tpr[:, 0], np.bincount(y_true))
    fpr, curve = (x[0].cpu().numpy() for x in batched.curves(fit.row))
    mean = tpr[0, 0].mean(dim=1).cpu().numpy()
    return Truth(
        float(1 - batched.gaps_under(*batched.curves(fit.row))[0]),
        float(areas.mean()),
        RocCurve(fpr=fpr, tpr=curve),
        mean_curve(mean),
    )


def unshrunk_fit(tpr, counts):
    fit = batched.fit_rank_one(tpr, GRID, ROW_WEIGHTS, kept_share(counts, 0.0))
    if fit.converged.all():
        return fit
    again = batched.fit_rank_one(tpr, GRID, ROW_WEIGHTS, kept_share(counts, HARDLY_ANY))
    kept = fit.converged[:, None]
    return batched.Fits(torch.where(kept, fit.row, again.row), torch.where(kept, fit.pair, again.pair), fit.converged)


def kept_share(counts, shrinkage):
    """What shrinkage leaves of each pair's own rates."""
    counts = np.asarray(counts, dtype=float)
    sizes = [2 / (1 / a + 1 / b) for i, a in enumerate(counts) for j, b in enumerate(counts) if i != j]
    return on_device(np.array(sizes) / (np.array(sizes) + shrinkage))


def on_device(array):
    return torch.tensor(np.asarray(array), device=DEVICE)


def mean_curve(tpr):
    return RocCurve(fpr=np.r_[0, 2 * CALL_RATES - tpr, 1].clip(0, 1), tpr=np.r_[0, tpr, 1])


def curve_of(row):
    fpr, tpr = batched.curves(torch.as_tensor(row))
    return RocCurve(fpr=fpr.numpy(), tpr=tpr.numpy())


def units_of(y_true, groups):
    """As the library has them: samples within their class, or whole groups."""
    if groups is None:
        return Units(np.arange(len(y_true)), y_true, are_groups=False)
    lowest, highest = np.full(groups.max() + 1, y_true.max()), np.zeros(groups.max() + 1, dtype=int)
    np.minimum.at(lowest, groups, y_true)
    np.maximum.at(highest, groups, y_true)
    return Units(groups, lowest if np.array_equal(lowest, highest) else np.zeros_like(lowest), are_groups=True)


def draw_weights(units, n_samples, n_resamples, generator):
    """How often each sample is drawn, (B, R, n): of each stratum of u units u - 1."""
    drawn = torch.zeros((n_samples * n_resamples, units.n_units), dtype=REAL, device=DEVICE)
    for stratum in np.unique(units.stratum):
        members = on_device(np.flatnonzero(units.stratum == stratum))
        shape = (len(drawn), max(len(members) - 1, 1))
        chosen = members[torch.randint(len(members), shape, generator=generator, device=DEVICE)]
        drawn.scatter_add_(1, chosen, torch.ones_like(chosen, dtype=REAL))
    return drawn[:, on_device(units.unit)].reshape(n_samples, n_resamples, -1)


def draw_replicates(y_true, y_scores, weights, n_bands):
    """All that is needed of one model for B samples, y_scores (B, n, k), weights (B, R, n)."""
    counts, (n_samples, n_resamples, _) = np.bincount(y_true), weights.shape
    pairs = batched.ordered_pairs(on_device(y_true), on_device(y_scores).to(REAL))
    ones = torch.ones_like(weights[:, :1]).requires_grad_()
    tpr, areas = batched.rates_and_areas(pairs, ones, GRID)
    # The derivative in a sample's weight is its influence: DeLong's structural components.
    [influences] = torch.autograd.grad(areas.mean(dim=2).sum(), ones)
    tpr, hand_till = tpr.detach()[:, 0], areas.detach().mean(dim=2)[:, 0]
    fit = batched.fit_rank_one(tpr, GRID, ROW_WEIGHTS, kept_share(counts, 1.0))
    unshrunk = unshrunk_fit(tpr, counts)
    tprs, areas = batched.rates_and_areas(pairs, weights, GRID)
    start = batched.Fits(*(x.repeat_interleave(n_resamples, dim=0) for x in (fit.row, fit.pair, fit.converged)))
    fits = batched.fit_rank_one(
        tprs.reshape(n_samples * n_resamples, *tpr.shape[1:]),
        GRID,
        ROW_WEIGHTS,
        kept_share(counts, 1.0),
        start=start,
    )
    rows = fits.row.reshape(n_samples, n_resamples, -1)
    found = [
        1 - batched.gaps_under(*batched.curves(fit.row)),
        unshrunk.row,
        fit.row,
        tpr.mean(dim=2),
        hand_till,
        influences[:, 0],
        1 - batched.gaps_under(*batched.curves(rows)),
        areas.mean(dim=2),
        rows[:n_bands],
        tprs[:n_bands].mean(dim=3),
    ]
    return Drawn(*(x.cpu().numpy() for x in found), int((~fits.converged).sum()))


def at_once(setting, n_resamples):
    """Samples whose replicates fit into a quarter of the card's memory, or into some GiB."""
    memory = torch.cuda.mem_get_info()[1] / 4 if DEVICE == "cuda" else 2 * 2**30
    cells = 2 * len(CALL_RATES) * setting.n_classes * (setting.n_classes - 1)
    return max(1, int(memory / (8 * 14 * cells * n_resamples)))


def distributions(drawn, one, units, setting):
    """D and M of one sample, as the library's own records."""
    shared = {
        "n_independent": least_class(setting),
        "n_classes": setting.n_classes,
        "freedom": freedom(drawn.influences[one], units),
        "influences": None,  # for "bca" only
        "at_end": is_at_end(float(drawn.hand_till[one])),
    }
    unshrunk = curve_of(drawn.unshrunk[one])
    by_d = Distribution(float(drawn.auc[one]), drawn.aucs[one], unshrunk=unshrunk.auc, **shared)
    by_m = Distribution(float(drawn.hand_till[one]), drawn.hand_tills[one], unshrunk=None, **shared)
    return by_d, by_m


def least_class(setting):
    return min(setting.counts) // (setting.group_size or 1)


def judge_sample(drawn, one, units, setting, truth, with_bands):
    """Estimates, and where the truth lies: -1 below an interval, 1 above it, 0 inside."""
    by_d, by_m = distributions(drawn, one, units, setting)
    found = {"D": by_d.estimate, "M": by_m.estimate, "standard error": by_d.standard_error}
    for kind in ("logit", "percentile", "basic"):
        interval = by_d.interval(LEVEL, kind)
        found[kind] = side(interval, truth.auc)
    interval = by_d.interval(LEVEL, "logit")
    found["width"] = interval.high - interval.low
    found["width before"] = width_before(by_d)
    found["before"] = side(before(by_d), truth.auc)
    found["M, logit"] = side(by_m.interval(LEVEL, "logit"), truth.hand_till)
    found["M, delong"] = side(delong(drawn, one, units, setting), truth.hand_till)
    if with_bands:
        found |= bands(drawn, one, units, setting, truth)
    return found


def delong(drawn, one, units, setting):
    estimate, influences = float(drawn.hand_till[one]), drawn.influences[one]
    if is_at_end(estimate):
        return end_interval(estimate, least_class(setting), LEVEL)
    unseen = unseen_error(setting.n_classes, least_class(setting))
    return logit_ends(estimate, standard_error(influences, units), Reach.of(LEVEL, freedom(influences, units), unseen))


def before(by_d):
    """The interval that this one replaced: the plain delta method, Student's t with the smallest class's freedom."""
    if by_d.never_varies:
        return by_d.interval(LEVEL, "logit")
    place = np.clip(by_d.estimate, 1e-12, 1 - 1e-12)
    reach = Reach.of(LEVEL, max(by_d.n_independent - 1, 4), 0.0).student
    spread = by_d.standard_error / (place * (1 - place))
    step = reach * min(spread, 1)
    low, high = (1 / (1 + np.exp(-(np.log(place / (1 - place)) + sign * step))) for sign in (-1, 1))
    if spread > 1:
        low, high = min(low, place - reach * by_d.standard_error), max(high, place + reach * by_d.standard_error)
    return max(low, 0.0), min(high, 1.0)


def width_before(by_d):
    low, high = before(by_d)
    return high - low


def side(interval, value):
    low, high = interval
    # Rounding of an area that is exactly 1.
    return -1 if value < low - 1e-12 else 1 if value > high + 1e-12 else 0


def bands(drawn, one, units, setting, truth):
    """Share of the points that a pointwise band covers, and whether the simultaneous one covers the curve."""
    found = {}
    rows = batched.curves(torch.as_tensor(drawn.rows[one]))
    shared = (curve_of(drawn.row[one]), rows[0][:, 1:-1].numpy(), rows[1][:, 1:-1].numpy())
    tpr = drawn.mean_tprs[one]
    mean = (mean_curve(drawn.mean_tpr[one]), np.clip(2 * CALL_RATES - tpr, 0, 1), tpr)
    for name, made_of, unshrunk, true in (
        ("", shared, curve_of(drawn.unshrunk[one]), truth.curve),
        ("mean ", mean, None, truth.mean_curve),
    ):
        asked = {"least_class": least_class(setting), "n_classes": setting.n_classes, "unshrunk": unshrunk}
        asked["freedom"] = freedom(drawn.influences[one], units)
        whole = confidence_band(*made_of, LEVEL, simultaneous=True, **asked)
        point = confidence_band(*made_of, LEVEL, simultaneous=False, **asked)
        found |= {f"{name}band, whole": whole.contains(true), f"{name}band, a point": point.share_inside(true)}
    return found
