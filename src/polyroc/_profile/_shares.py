"""In what share of the cost matrices each model is the cheapest, and how sure that is: a band of their differences."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import betaincinv

from polyroc._lib._typing import BoolArray, FloatArray, IntArray
from polyroc._records import Frozen
from polyroc._uncertainty._resampling import Units
from polyroc._uncertainty._streams import Streams

# Of more units than this, several are drawn together. The spread over this many batches is known to 2 %.
_MOST_BATCHES = 2000
# Small strata are not thrown together into fewer batches than this.
_LEAST_BATCHES = 10
# Replicates at once.
_BLOCK = 64
# Costs that differ by less than this share of the largest are the same: sums in another order differ by rounding.
_SAME = 1e-10


@dataclass(frozen=True, eq=False)
class Batches(Frozen):
    """Units dealt into batches within their strata: sums over a batch vary as its units do."""

    batch: IntArray
    """The batch of each sample, shape (n,)."""
    stratum: IntArray
    """The stratum of each batch, shape (G,)."""

    @property
    def scale(self) -> FloatArray:
        """What makes u - 1 draws of u batches vary as they should (Rao and Wu 1988), shape (G,)."""
        sizes = np.bincount(self.stratum)
        return (sizes / np.maximum(sizes - 1, 1))[self.stratum]


def batches_of(units: Units, seed: int) -> Batches:
    """Each unit its own batch; of many units, several in a batch, dealt by chance."""
    if units.n_units <= _MOST_BATCHES:
        return Batches(units.unit, units.stratum)
    sizes = np.bincount(units.stratum)
    wanted = np.rint(_MOST_BATCHES * sizes / units.n_units).astype(np.intp)
    counts = np.minimum(np.maximum(wanted, _LEAST_BATCHES), sizes)
    order = np.lexsort((np.random.default_rng([seed, 1]).random(units.n_units), units.stratum))
    stratum = units.stratum[order]
    rank = np.arange(units.n_units) - (np.cumsum(sizes) - sizes)[stratum]
    first = np.cumsum(counts) - counts
    batch = np.empty(units.n_units, dtype=np.intp)
    batch[order] = first[stratum] + rank % np.maximum(counts[stratum], 1)
    return Batches(batch[units.unit], np.repeat(np.arange(len(sizes)), counts))


def cheapest_shares(cost: FloatArray) -> FloatArray:
    """Share of the matrices in which each model is the cheapest, split evenly among equals: (m, R) -> (m,)."""
    is_cheapest = cost <= cost.min(axis=0) + _SAME * np.abs(cost).max(axis=0)
    # Rounded, because sums of thirds are 1 but for rounding.
    split: FloatArray = is_cheapest / is_cheapest.sum(axis=0)
    shares: FloatArray = np.round(split @ np.full(split.shape[1], 1 / split.shape[1]), 12)
    return shares


def share_ends(
    cost: FloatArray,
    errors: FloatArray,
    moved: FloatArray,
    ends_of_differences: Callable[[float], tuple[FloatArray, FloatArray]],
    level: float,
    *,
    is_drawn: bool,
) -> FloatArray:
    """Ends of the intervals of the shares, shape (m, 2).

    The share is no smooth function of the costs: where models are nearly equal, quantiles of its replicates covered the
    true one in 40 to 90 % of trials. So each difference from another model under each matrix is tested, all together.
    A model is surely the cheapest where every test says that it costs less, and may be the cheapest where none says
    that it costs more. From one share to the other the interval reaches.

    `errors` are the standard errors of all differences, shape (m, m, R), `moved` replicates of what costs are off by,
    shape (B, m, R). Neither knows of expensive mistakes that no sample shows, so the interval of the difference, shape
    (m, m, R) at a level, must exclude 0 as well.
    """
    # Matrices that are a sample get half of what is left to chance.
    inside = (1 + level) / 2 if is_drawn else level
    tail, slack = (1 - inside) / 2, _SAME * np.abs(cost).max(axis=0)
    found, (low, high) = np.empty((len(cost), 2)), ends_of_differences(inside)
    for a in range(len(cost)):
        others = np.arange(len(cost)) != a
        apart, error = cost[a] - cost[others], errors[a, others]
        # Models that name the same cost the same; they share what they win. Where nothing varies, nothing is tested.
        same = (error == 0) & (np.abs(apart) <= slack)
        t = np.divide(apart, error, out=np.where(apart > slack, np.inf, -np.inf), where=error > 0)
        noise = (moved[:, a, None] - moved[:, others]) / np.where(error > 0, error, 1.0)
        split = 1 / (1 + same.sum(axis=0))
        surely = np.all(same | _are_surely_positive(-t, -noise, tail) & (high[a, others] < 0), axis=0)
        perhaps = np.all(same | ~(_are_surely_positive(t, noise, tail) & (low[a, others] > 0)), axis=0)
        ends = float(np.mean(split * surely)), float(np.mean(split * perhaps))
        found[a] = _of_a_sample(*ends, cost.shape[1], tail) if is_drawn else ends
    return np.round(found, 12)


def _are_surely_positive(t: FloatArray, noise: FloatArray, tail: float) -> BoolArray:
    """Which of several statistics are positive, so that with probability 1 - tail none is said to be that is not.

    Romano and Wolf's (2005) step-down: the largest error of those that are left decides, until no more are found.
    """
    found = np.isposinf(t)
    while not found.all():
        reach = float(np.quantile(noise[:, ~found].max(axis=1), 1 - tail))
        more = found | (t > max(reach, 0.0))
        if np.array_equal(more, found):
            break
        found = more
    return found


def _of_a_sample(low: float, high: float, size: int, tail: float) -> tuple[float, float]:
    """Clopper and Pearson's ends for shares that were found in a sample of matrices."""
    below, above = low * size, high * size
    return (
        float(betaincinv(below, size - below + 1, tail)) if below > 0 else 0.0,
        float(betaincinv(above + 1, size - above, 1 - tail)) if above < size else 1.0,
    )


def replicated_errors(
    influences: FloatArray, luck: FloatArray, batches: Batches, n_resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Standard errors of all differences of costs, shape (m, m, R), and replicates of the errors of costs, (B, m, R).

    By a bootstrap of the influences of batches on costs, shape (G, m, R). `luck` is the standard deviation of costs
    that samples do not show, shape (m, R): one normal error per replicate and model moves its costs under all matrices
    together.
    """
    n_models, n_matrices = luck.shape
    scale = batches.scale
    errors = np.zeros((n_models, n_models, n_matrices))
    for a, b in combinations(range(n_models), 2):
        squares = scale @ (influences[:, a] - influences[:, b]) ** 2
        errors[a, b] = errors[b, a] = np.sqrt(squares + luck[a] ** 2 + luck[b] ** 2)
    scaled = (influences * scale[:, None, None]).reshape(len(influences), -1)
    found = np.empty((n_resamples, n_models, n_matrices))
    streams = Streams([seed, 2])
    for start in range(0, n_resamples, _BLOCK):
        stop = min(start + _BLOCK, n_resamples)
        counts, lucky = np.empty((stop - start, len(scaled))), np.zeros((stop - start, n_models, 1))
        for place, rng in enumerate(streams(start, stop)):
            counts[place] = _drawn(batches.stratum, rng)
            lucky[place, :, 0] = rng.normal(size=n_models)
        found[start:stop] = (counts @ scaled).reshape(-1, n_models, n_matrices) + lucky * luck
    return errors, found


def _drawn(stratum: IntArray, rng: np.random.Generator) -> IntArray:
    """How often each batch is drawn: u - 1 of the u batches of each stratum, with replacement."""
    sizes = np.bincount(stratum)
    order = np.argsort(stratum, kind="stable")
    draws = np.maximum(sizes - 1, np.minimum(sizes, 1))
    first = np.repeat(np.cumsum(sizes) - sizes, draws)
    places = first + (rng.random(len(first)) * np.repeat(sizes, draws)).astype(np.intp)
    return np.bincount(order[places], minlength=len(stratum))
