"""The Hessian of a fit of many pairs, with the pairs eliminated."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from polyroc._core.gradient import Gradient
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc._records import Frozen

# A pair whose effect moves no predictor by more is held at zero: it has no derivative.
HELD = 1e-8


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


class Passes(Protocol):
    """Passes over the cells at the end of a fit."""

    def eliminated(self, right: FloatArray, free: BoolArray) -> Eliminated:
        """What is left of rows when the free pairs, of all K, are eliminated; `right` has shape (m, K)."""

    def solve(self, schur: FloatArray, right: FloatArray) -> FloatArray:
        """Solve what is left, a positive definite system of R rows, for m right sides, shape (m, R)."""

    def times(self, found: FloatArray) -> FloatArray:
        """The cross terms of every pair times some rows, shape (m, K) from (m, R)."""


@runtime_checkable
class OwnGradient(Protocol):
    """All of `polyroc._core.adjoint` where the cells are: nothing of the size of pairs comes to the host."""

    def gradient(self, slopes: FloatArray) -> Gradient:
        """The gradient of m numbers by their derivatives by the row effects of the curve, shape (m, 2T)."""


Curvature: TypeAlias = Passes | OwnGradient
