"""In what share of the cost matrices each model is the cheapest, and how sure that is: a bootstrap of batches."""

from dataclasses import dataclass

import numpy as np

from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen
from polyroc._uncertainty._intervals import Interval, end_interval
from polyroc._uncertainty._resampling import Units
from polyroc._uncertainty._streams import Streams

# Of more units than this, several are drawn together. The spread over so many batches is known to 2 %.
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


def cheapest_shares(cost: FloatArray, matrix_weight: FloatArray | None = None) -> FloatArray:
    """Share of the matrices in which each model is the cheapest, split evenly among equals.

    Costs have shape (..., m, R), shares (..., m); matrices may be weighed, shape (..., R), sum 1.
    """
    slack = _SAME * np.abs(cost).max(axis=-2, keepdims=True)
    is_cheapest = cost <= cost.min(axis=-2, keepdims=True) + slack
    split = is_cheapest / is_cheapest.sum(axis=-2, keepdims=True)
    weight = 1 / cost.shape[-1] if matrix_weight is None else matrix_weight[..., None, :]
    # Sums of weights are 1 but for rounding, and shares are at most 1.
    shares: FloatArray = np.round(np.sum(split * weight, axis=-1), 12)
    return shares


def share_replicates(
    cost: FloatArray,
    influences: FloatArray,
    luck: FloatArray,
    batches: Batches,
    n_resamples: int,
    seed: int,
    *,
    is_drawn: bool,
) -> FloatArray:
    """Replicates of the shares, shape (B, m), from costs (m, R) and the influences of batches on them, (G, m, R).

    `luck` is the standard deviation of costs that samples do not show, shape (m, R): one normal error per replicate and
    model moves its costs under all matrices together. Where the matrices were drawn from a distribution, each replicate
    draws them again, too.
    """
    n_models, n_matrices = cost.shape
    scaled = (influences * batches.scale[:, None, None]).reshape(len(influences), -1)
    streams, found = Streams([seed, 2]), []
    for start in range(0, n_resamples, _BLOCK):
        stop = min(start + _BLOCK, n_resamples)
        counts, weights = np.empty((stop - start, len(scaled))), np.full((stop - start, n_matrices), 1 / n_matrices)
        errors = np.zeros((stop - start, n_models, 1))
        for place, rng in enumerate(streams(start, stop)):
            counts[place] = _drawn(batches.stratum, rng)
            if luck.any():
                errors[place, :, 0] = rng.normal(size=n_models)
            if is_drawn:
                weights[place] = np.bincount(rng.integers(0, n_matrices, n_matrices), minlength=n_matrices) / n_matrices
        moved = cost + errors * luck + (counts @ scaled).reshape(-1, n_models, n_matrices)
        found.append(cheapest_shares(moved, weights))
    return np.concatenate(found)


def _drawn(stratum: IntArray, rng: np.random.Generator) -> IntArray:
    """How often each batch is drawn: u - 1 of the u batches of each stratum, with replacement."""
    sizes = np.bincount(stratum)
    order = np.argsort(stratum, kind="stable")
    draws = np.maximum(sizes - 1, np.minimum(sizes, 1))
    first = np.repeat(np.cumsum(sizes) - sizes, draws)
    places = first + (rng.random(len(first)) * np.repeat(sizes, draws)).astype(np.intp)
    return np.bincount(order[places], minlength=len(stratum))


def share_interval(share: float, replicates: FloatArray, level: float, n_drawn: int | None) -> Interval:
    """Quantiles of the replicates of one share; around it, also where they lean to one side.

    Of `n_drawn` matrices of a distribution that all say the same, others might not: Clopper and Pearson's interval.
    """
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2]).tolist()
    if n_drawn is not None and share in (0.0, 1.0):
        end = end_interval(share, n_drawn, level)
        low, high = min(low, end.low), max(high, end.high)
    return Interval(min(low, share), max(high, share))
