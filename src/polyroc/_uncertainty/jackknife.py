"""What single samples add to a statistic that has no formula for it: leave some out and look."""

from typing import get_args

import numpy as np

from polyroc._lib.threads import Threads
from polyroc._lib.typing import BoolArray, FloatArray, IntArray, Statistic
from polyroc._lib.warnings import ResamplingWarning, warn
from polyroc._uncertainty.replicates import Replicates
from polyroc._uncertainty.units import Units

# About this many evaluations at most. The skewness of the influences, which is what they are for, is the same in
# expectation for sums over blocks of samples as for single ones.
_MANY_BLOCKS = 500
_AT_ONCE = 16


def jackknife_influences(replicates: Replicates, units: Units, n_jobs: int | None) -> FloatArray:
    """What each block of units adds to each statistic, shape (3, n_blocks)."""
    block = _blocks(units)
    n_blocks = int(block.max()) + 1
    usable = np.array([replicates.has_pair(block[units.unit] != b) for b in range(n_blocks)])
    if not usable.all():
        what = (
            f"Without {n_blocks - np.count_nonzero(usable)} of {n_blocks} groups no pair of classes is left to compare"
        )
        warn(f"{what}. The acceleration of BCa leaves out these groups.", ResamplingWarning)
    return _influences(replicates, units, block, usable, n_jobs)


def _influences(
    replicates: Replicates, units: Units, block: IntArray, usable: BoolArray, n_jobs: int | None
) -> FloatArray:
    def statistics(weights: FloatArray) -> FloatArray:
        found = replicates(weights)
        return np.array([getattr(found, statistic) for statistic in get_args(Statistic)])

    chosen = np.flatnonzero(usable)
    if len(chosen) == 0:  # nothing can be left out where each class has a single unit
        return np.empty((len(get_args(Statistic)), 0))

    def without(start: int) -> FloatArray:
        weights = block[units.unit] != chosen[start : start + _AT_ONCE, None]
        return statistics(weights.astype(np.float64))

    with Threads(n_jobs) as threads:
        left_out = np.hstack(threads.map(without, [(start,) for start in range(0, len(chosen), _AT_ONCE)]))
    # Without m of u units the statistic falls by their summed influence over u - m; u is the size of the stratum.
    stratum_of_block = np.zeros(len(usable), dtype=np.intp)
    stratum_of_block[block[block >= 0]] = units.stratum[block >= 0]
    u = np.bincount(units.stratum)[stratum_of_block][chosen]
    m = np.bincount(block[block >= 0], minlength=len(usable))[chosen]
    influences: FloatArray = (statistics(np.ones((1, len(units.unit)))) - left_out) * ((u - m) / u)
    return influences


def _blocks(units: Units) -> IntArray:
    """The block of each unit, within its stratum and at random; -1 where a stratum has one unit only."""
    rng = np.random.default_rng(0)
    size = -(-units.n_units // _MANY_BLOCKS)
    block = np.full(units.n_units, -1)
    n_blocks = 0
    for stratum in np.unique(units.stratum):
        members = rng.permutation(np.flatnonzero(units.stratum == stratum))
        count = min(len(members), max(2, len(members) // size))
        if len(members) > 1:
            block[members] = n_blocks + np.arange(len(members)) % count
            n_blocks += count
    return block
