"""The weights of pairs by a rule of their classes: of 10,000 classes their lists would take 2.4 GB."""

from functools import cached_property

import numpy as np

from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import PairIndex, PairWeights, read_only


class RuledPairWeights(PairWeights):
    """The same by a rule of the two classes of a pair; lists of pairs are made where they are asked for, and then kept.

    With equal weights the rule is empty. With the number of samples, a pair counts for the product of its classes'
    shares; costs and weights of cells are factors, matrices with a row per positive and a column per negative class.

    >>> from polyroc._records import AllPairs
    >>> weights = RuledPairWeights(AllPairs(np.arange(3)), np.full(3, 8.0), np.array([1.0, 0.5, 0.25]), scale=0.5)
    >>> weights.tpr.tolist(), weights.size.tolist()
    ([1.0, 0.5, 1.0, 0.25, 0.5, 0.25], [8.0, 8.0, 8.0, 8.0, 8.0, 8.0])
    """

    pairs: PairIndex
    counts: FloatArray
    """Kish's effective number of samples of each class, shape (k,)."""
    share: FloatArray | None
    """Weight of each class over the largest, shape (k,); None where pairs count alike."""
    tpr_factors: tuple[FloatArray, ...]
    """Shape (k, k) each."""
    fpr_factors: tuple[FloatArray, ...]
    scale: float
    """What all weights are divided by."""

    def __init__(
        self,
        pairs: PairIndex,
        counts: FloatArray,
        share: FloatArray | None = None,
        tpr_factors: tuple[FloatArray, ...] = (),
        fpr_factors: tuple[FloatArray, ...] = (),
        scale: float = 1.0,
    ) -> None:
        # By its dictionary, because the record is frozen.
        vars(self).update(
            pairs=pairs, counts=counts, share=share, tpr_factors=tpr_factors, fpr_factors=fpr_factors, scale=scale
        )
        self.__post_init__()

    def __repr__(self) -> str:
        return f"RuledPairWeights({len(self.pairs)} ordered pairs of {len(self.counts)} classes)"

    def over(self, scale: float) -> "RuledPairWeights":
        """The same rule, divided by a number."""
        return RuledPairWeights(
            self.pairs, self.counts, self.share, self.tpr_factors, self.fpr_factors, self.scale * scale
        )

    @property
    def are_equal(self) -> bool:
        """Whether all weights are the same, because nothing was asked for."""
        return self.share is None and not self.tpr_factors

    def at(self, positive: IntArray, negative: IntArray) -> tuple[FloatArray, FloatArray]:
        """Weights of the true and of the false positive rates of some pairs, by the positions of their classes."""
        tpr = self._at(self.tpr_factors, positive, negative)
        return tpr, self._at(self.fpr_factors, positive, negative) if self.fpr_factors else tpr

    @cached_property
    def tpr(self) -> FloatArray:
        """Weight of each pair's true positive rates, shape (K,)."""
        return read_only(self._at(self.tpr_factors, self.pairs.positive, self.pairs.negative))

    @cached_property
    def fpr(self) -> FloatArray:
        """Weight of each pair's false positive rates, shape (K,)."""
        if not self.fpr_factors:
            return self.tpr
        return read_only(self._at(self.fpr_factors, self.pairs.positive, self.pairs.negative))

    @cached_property
    def size(self) -> FloatArray:
        """Number of samples behind each pair's rates, shape (K,).

        The harmonic mean of the class counts; one size for both rates, since a pair without information must keep them.
        """
        return read_only(2 / (1 / self.counts[self.pairs.positive] + 1 / self.counts[self.pairs.negative]))

    def _at(self, factors: tuple[FloatArray, ...], positive: IntArray, negative: IntArray) -> FloatArray:
        weight = np.ones(len(positive)) if self.share is None else self.share[positive] * self.share[negative]
        for factor in factors:
            weight = weight * factor[positive, negative]
        return weight / self.scale
