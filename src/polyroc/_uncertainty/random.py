"""Random numbers of each replicate, which depend on the seed and on the replicate's own number, and on nothing else."""

from collections.abc import Iterator, Sequence

import numpy as np

from polyroc._lib.typing import FloatArray

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


def normal_errors(noise: FloatArray, covariance: FloatArray) -> FloatArray:
    """Errors with this covariance, shape (N, m), from independent ones of variance 1.

    By the symmetric root of the covariance, because there is only one. The signs of eigenvectors, and their directions
    where eigenvalues are alike, depend on the machine, and so would what is drawn along them.

    >>> import numpy as np
    >>> normal_errors(np.eye(2), np.array([[5.0, 4.0], [4.0, 5.0]])).round(12)
    array([[2., 1.],
           [1., 2.]])
    """
    values, vectors = np.linalg.eigh(covariance)
    # Rounding may leave a covariance a little below 0 in directions in which nothing varies.
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    found: FloatArray = noise @ root
    return found
