"""Moments of what samples add to several statistics, of samples that nobody keeps: all that intervals need of them.

With x_1 .. x_m what a sample adds to m statistics, any combination c of them has the influence c'x. So the sums of
x x' in each class give every variance, covariance and paired difference; and the sums of all products of four give
the degrees of freedom. Both are added batch by batch, and over the parts of a cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polyroc._inputs.checks import InputError
from polyroc._lib.typing import AnyStatistic, FloatArray, IntArray
from polyroc._records import Frozen

if TYPE_CHECKING:
    from polyroc._uncertainty.units import AnyUnits


@dataclass(frozen=True, eq=False)
class StreamedUnits(Frozen):
    """Samples, each within its class, by the sums over them. In place of influences stand combinations, shape (m,)."""

    sizes: IntArray
    """Number of samples of each class, shape (k,)."""
    squares: FloatArray
    """Sum of x x', shape (k, m, m). The sum of x over a class is 0, because influences are centred there."""
    fourths: FloatArray
    """Sum of z z' with z all products of two of x, shape (k, q, q), q = m (m + 1) / 2."""
    one_sided: FloatArray
    """Of the differences of each two of x, p = m (m - 1) / 2 of them: sums and sums of squares of those above 0, and of
    those below, shape (p, 2, 2)."""
    largest: FloatArray
    """The largest of those above 0, and of those below, shape (p, 2)."""
    are_groups: bool = False

    @property
    def n_units(self) -> int:
        return int(self.sizes.sum())

    def covariance(self, combinations: FloatArray) -> FloatArray:
        """Covariance of combinations, shape (r, m), as that of influences: (r, r)."""
        u = np.maximum(self.sizes, 2)[:, None, None]
        summed = np.sum(np.where(self.sizes[:, None, None] > 1, u / (u - 1), 1.0) * self.squares, axis=0)
        found: FloatArray = combinations @ summed @ combinations.T
        # A variance is a sum of squares. That of a difference is made of large terms that cancel, so rounding can put
        # it below 0 if two models have the same scores, when it is 0.
        np.fill_diagonal(found, np.maximum(found.diagonal(), 0.0))
        return found

    def variance_and_fourth(self, combination: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums over each class of the second and the fourth power of a combination, shape (k,) each."""
        first, second = np.triu_indices(len(combination))
        products = combination[first] * combination[second] * np.where(first == second, 1, 2)
        squares = np.einsum("a,cab,b->c", combination, self.squares, combination)
        return squares, np.einsum("p,cpq,q->c", products, self.fourths, products)

    def sides(self, combination: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of a difference of two statistics, one less the other: `_delong.sides`."""
        first, second = int(np.argmax(combination)), int(np.argmin(combination))
        a, b = sorted((first, second))
        # In the order of `differences`.
        place = a * len(combination) - a * (a + 1) // 2 + b - a - 1
        more, less = np.hstack([self.one_sided[place], self.largest[place][:, None]])
        return (more, less) if first < second else (less, more)


def products(x: FloatArray) -> FloatArray:
    """All products of two of the statistics, shape (n, q) from (n, m), in the order of `fourths`."""
    first, second = np.triu_indices(x.shape[1])
    found: FloatArray = x[:, first] * x[:, second]
    return found


def differences(x: FloatArray) -> FloatArray:
    """The differences of each two of the statistics, shape (n, p) from (n, m), in the order of `one_sided`."""
    first, second = np.triu_indices(x.shape[1], 1)
    found: FloatArray = x[:, first] - x[:, second]
    return found


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a second pass found out about the samples behind an evaluation."""

    units: "AnyUnits"
    influences: Mapping[str, FloatArray]
    """By statistic: a combination of what was streamed, or what each group adds."""

    def of(self, statistic: AnyStatistic) -> FloatArray:
        """That of one statistic."""
        if statistic not in self.influences:
            rule = f"must be one of {', '.join(map(repr, self.influences))} for counted scores"
            raise InputError("statistic", rule, repr(statistic))
        return self.influences[statistic]
