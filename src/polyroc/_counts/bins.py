"""Bins that are the bits of a float: no range to choose, no score outside, and the same bin wherever it is counted.

The highest bits of a float32 are its exponent, those below its mantissa. Cut after `mantissa_bits` of these, a bin is
at most 2^-bits of its scores wide, from the smallest float to the largest. Probabilities are mirrored at 1/2, so that
0.9999 and 0.99999 are as far apart as 0.0001 and 0.00001; other scores have their sign as a mirror.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from polyroc._lib.limits import FINE_BINS
from polyroc._lib.typing import FloatArray, IntArray

Scores: TypeAlias = Literal["probabilities", "free"]

# D of a million calibrated predictions is off by 2e-6 with 6 bits, and by 4e-7 with 8 (python -m benchmarks._bins). Of
# many classes the memory of counts comes first.
_BITS, _BITS_OF_MANY = 8, 6
_ALL_BITS = 23
_HALF = int(np.float32(0.5).view(np.int32))
_LARGEST = np.finfo(np.float32).max
# In place of the only score of a bin. Not NaN, which compiled passes take for a number.
NO_SCORE, SEVERAL_SCORES = np.inf, -np.inf
# Probabilities in single precision are rounded by this much; a score just beyond counts as 0 or 1.
ROUNDED = 1e-6


def usual_bits(n_classes: int) -> int:
    """Bits of the mantissa where nobody asks for others: the same for the same classes, so that counts can be added."""
    return _BITS if n_classes <= FINE_BINS else _BITS_OF_MANY


@dataclass(frozen=True)
class ScoreBins:
    """How scores are binned: a rule without numbers of the data, so that counts of any two batches can be added.

    >>> bins = ScoreBins("probabilities", mantissa_bits=6)
    >>> bins.n_bins
    16130
    >>> bins.index(np.array([0.0, 0.3, 0.3001, 0.5, 0.9999, 0.99999, 1.0])).tolist()
    [0, 8012, 8012, 8064, 8857, 9070, 16129]
    """

    scores: Scores = "probabilities"
    mantissa_bits: int = _BITS

    @property
    def shift(self) -> int:
        """Bits of a float32 that a bin does not look at."""
        return _ALL_BITS - self.mantissa_bits

    @property
    def n_bins(self) -> int:
        if self.scores == "probabilities":
            return 2 * ((_HALF >> self.shift) + 1)
        return int(2 ** (32 - self.shift))

    @property
    def least(self) -> float:
        """The least positive score that does not count as 0.

        >>> f"{ScoreBins().least:.0e}"
        '5e-41'
        """
        zero = self.index(np.zeros(1, dtype=np.float32))
        return float(self.lower_ends(zero + 1)[0])

    def index(self, scores: FloatArray) -> IntArray:
        """The bin of each score, in the order of the scores; what cannot be a score is not looked for here."""
        if self.scores == "probabilities":
            upper = scores > 0.5
            # 1 - p is exact from 1/2 on, in the precision in which p came.
            # Adding 0 makes one zero of the two.
            folded = np.clip(np.where(upper, 1 - scores, scores), 0, 0.5).astype(np.float32) + np.float32(0)
            low: IntArray = folded.view(np.int32) >> self.shift
            return np.where(upper, self.n_bins - 1 - low, low)
        # Beyond single precision all are alike, and so are both zeros.
        bits = (np.clip(scores, -_LARGEST, _LARGEST).astype(np.float32) + np.float32(0)).view(np.int32)
        # The bits of negative floats rise as the floats fall.
        ordered: IntArray = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
        return (ordered >> self.shift).astype(np.int32) + self.n_bins // 2

    def compared(self, scores: FloatArray) -> FloatArray:
        """Scores in double precision, as they compare: zeros alike, and those just beyond 0 and 1 as these."""
        found = scores.astype(np.float64)
        return (np.clip(found, 0, 1) if self.scores == "probabilities" else found) + 0.0

    def slots(self, index: IntArray) -> IntArray:
        """The place of every bin among some of them, -1 of the others."""
        found = np.full(self.n_bins, -1, dtype=np.int32)
        found[index] = np.arange(len(index))
        return found

    def lower_ends(self, index: IntArray) -> FloatArray:
        """The lowest score of each bin, as float64."""
        if self.scores == "probabilities":
            upper = index >= self.n_bins // 2
            low = np.where(upper, self.n_bins - 1 - index, index).astype(np.int64)
            # Of a mirrored bin the lowest score is 1 less the first float of the next bin.
            first = ((low + upper) << self.shift).astype(np.int32).view(np.float32).astype(float)
            return np.where(upper, 1 - np.minimum(first, 0.5), first)
        centred = index.astype(np.int64) - self.n_bins // 2
        bits = (centred << self.shift).astype(np.int32)
        bits = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits).astype(np.int32)
        return np.asarray(bits.view(np.float32).astype(float))

    def coarser(self, index: IntArray) -> IntArray:
        """Bins twice as wide: each is one with its neighbour, on either side of the mirror."""
        last = self.n_bins - 1
        found: IntArray = np.where(index < self.n_bins // 2, index >> 1, last - ((last - index) >> 1))
        return found
