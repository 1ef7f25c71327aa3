"""What changes with every pairwise rate: the gradient of D, of an area, or of points of a curve."""

from dataclasses import dataclass, replace

import numpy as np

from polyroc._lib.typing import FloatArray
from polyroc._records import Frozen


@dataclass(frozen=True, eq=False)
class Gradient(Frozen):
    """Derivatives of m numbers with respect to every pairwise rate, as products of rows and pairs.

    G[s, r, j] = weight[j] cell[r, j] sum_q row[s, q, r] pair[s, q, j], where weight is `tpr` in the first T rows and
    `fpr` in the others. With a thousand classes the cells themselves would fill gigabytes.
    """

    row: FloatArray
    """Shape (m, Q, 2T): T rows of true positive rates, then T of false."""
    pair: FloatArray
    """Shape (m, Q, K)."""
    tpr: FloatArray
    """Weight of each pair's true positive rates, shape (K,)."""
    fpr: FloatArray
    """Weight of each pair's false positive rates, shape (K,)."""
    cell: FloatArray | None = None
    """A factor of each cell, shape (2T, K), where there is one."""

    def __len__(self) -> int:
        return len(self.row)

    def of_numbers(self, some: slice) -> "Gradient":
        """That of some of the numbers."""
        return replace(self, row=self.row[some], pair=self.pair[some])

    def of_pair(self, j: int) -> tuple[FloatArray, FloatArray]:
        """Derivatives by the true and by the false positive rates of one pair, shape (m, T) each."""
        found = np.einsum("sqr,sq->sr", self.row, self.pair[:, :, j])
        if self.cell is not None:
            found = found * self.cell[:, j]
        tpr, fpr = np.split(found, 2, axis=1)
        return self.tpr[j] * tpr, self.fpr[j] * fpr

    @property
    def cells(self) -> FloatArray:
        """All of G, shape (m, 2T, K)."""
        by_pair = [np.concatenate(self.of_pair(j), axis=1) for j in range(self.pair.shape[2])]
        return np.stack(by_pair, axis=2)
