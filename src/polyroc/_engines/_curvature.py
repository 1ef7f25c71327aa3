"""The Hessian of a fit of many pairs, with the pairs eliminated."""

from dataclasses import dataclass
from typing import Protocol

from polyroc._lib._typing import BoolArray, FloatArray
from polyroc._records import Frozen


@dataclass(frozen=True, eq=False)
class Eliminated(Frozen):
    """What is left of R fitted rows when the free pairs are eliminated."""

    row_block: FloatArray
    """Curvature by rows, shape (R,)."""
    gram: FloatArray
    """What eliminated pairs take from it: C' B^-1 C, shape (R, R)."""
    carried: FloatArray
    """What right sides of pairs carry over to rows, shape (m, R)."""
    by_pair: FloatArray
    """Curvature by pairs, shape (K,)."""


class Curvature(Protocol):
    """Passes over the cells at the end of a fit."""

    def eliminated(self, right: FloatArray, free: BoolArray) -> Eliminated:
        """What is left of rows when the free pairs, of all K, are eliminated; `right` has shape (m, K)."""

    def solve(self, schur: FloatArray, right: FloatArray) -> FloatArray:
        """Solve what is left, a positive definite system of R rows, for m right sides, shape (m, R)."""

    def times(self, found: FloatArray) -> FloatArray:
        """The cross terms of every pair times some rows, shape (m, K) from (m, R)."""
