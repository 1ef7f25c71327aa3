"""Random numbers of each replicate, which depend on the seed and on the replicate's own number, and on nothing else."""

from collections.abc import Iterator, Sequence

import numpy as np

# Numbers from one stream to the next: numpy's own jump, the golden ratio of the period. So even millions of streams
# stay more than 2**100 numbers apart.
_APART = 0x9E3779B97F4A7C15F39CC0605CEDC835
_PERIOD = 1 << 128


class Streams:
    """One stream of random numbers per replicate: places in the single long sequence of a seed.

    A generator is moved to the place instead of seeded anew, which would take as long as 3,000 random numbers.
    """

    def __init__(self, seed: Sequence[int]) -> None:
        self._beginning = np.random.PCG64DXSM(np.random.SeedSequence(seed)).state

    def __call__(self, start: int, stop: int) -> Iterator[np.random.Generator]:
        """For each replicate of a block a generator at the beginning of its stream, valid until the next one is asked.

        Blocks may be asked for on several threads at once: each has a generator of its own.
        """
        bits = np.random.PCG64DXSM(0)
        rng = np.random.Generator(bits)
        for number in range(start, stop):
            bits.state = self._beginning
            bits.advance(number * _APART % _PERIOD)
            yield rng
