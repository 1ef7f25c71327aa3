"""What single samples add to a statistic that has no formula for it: leave some out and look."""

import numpy as np

from polyroc._replicates import Replicated, Replicates
from polyroc._resampling import Units
from polyroc._typing import FloatArray, IntArray, Statistic

# So many evaluations at most. The skewness of the influences, which is what they are for, is the same in expectation
# for sums over blocks of samples as for single ones.
_MOST_BLOCKS = 500
_AT_ONCE = 16


def jackknife_influences(replicates: Replicates, units: Units, full: Replicated, statistic: Statistic) -> FloatArray:
    """What each block of units adds to the statistic; `full` is the replicate with all weights 1."""
    block = _blocks(units)
    n_blocks = int(block.max()) + 1
    left_out: FloatArray = np.empty(n_blocks)
    for start in range(0, n_blocks, _AT_ONCE):
        chosen = np.arange(start, min(start + _AT_ONCE, n_blocks))
        weights = (block[units.unit] != chosen[:, None]).astype(np.float64)
        left_out[chosen] = getattr(replicates(weights), statistic)
    # Without m of u units the statistic falls by their summed influence over u - m; u is the size of the stratum.
    size = np.bincount(units.stratum)
    stratum_of_block = np.zeros(n_blocks, dtype=np.intp)
    stratum_of_block[block[block >= 0]] = units.stratum[block >= 0]
    u, m = size[stratum_of_block], np.bincount(block[block >= 0], minlength=n_blocks)
    influence: FloatArray = (getattr(full, statistic)[0] - left_out) * (u - m) / u
    return influence


def _blocks(units: Units) -> IntArray:
    """The block of each unit, within its stratum and at random; -1 where a stratum has one unit only."""
    rng = np.random.default_rng(0)
    size = -(-units.n_units // _MOST_BLOCKS)
    block = np.full(units.n_units, -1)
    n_blocks = 0
    for stratum in np.unique(units.stratum):
        members = rng.permutation(np.flatnonzero(units.stratum == stratum))
        count = min(len(members), max(2, len(members) // size))
        if len(members) > 1:
            block[members] = n_blocks + np.arange(len(members)) % count
            n_blocks += count
    return block
