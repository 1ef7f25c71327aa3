"""Compiled linear algebra of the fit: gram matrices by blocks, and small positive definite systems.

By hand, not by BLAS: its threads and ours would fight, and its sums would depend on how many there are.
"""

from typing import Any

import numpy as np

from polyroc._engines._numba._compile import inner, summing

# Added to sums that may be 0 before they are divided by. Its inverse is finite in double, and so is that of its root.
TINY = 1e-290


@inner
def add_scaled(out: Any, factor: float, x: Any) -> None:
    """Add factor * x, in double."""
    for i in range(x.shape[0]):
        out[i] += factor * np.float64(x[i])


@summing
def dot(x: Any, y: Any) -> float:
    """The sum of products."""
    # Summed in the precision of x: twice as many terms fit a register in single.
    total = x.dtype.type(0)
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return np.float64(total)


@inner
def turn(block: Any, filled: int, turned: Any) -> None:
    """Transpose the filled part of a block, by tiles that stay in the nearest cache."""
    # 16 numbers in single precision are one line of the cache.
    for first in range(0, block.shape[1], 16):
        last = min(first + 16, block.shape[1])
        for b in range(filled):
            for i in range(first, last):
                turned[i, b] = block[b, i]


@summing
def add_gram(x: Any, length: int, out: Any) -> None:
    """Add x x' to `out`, by the first columns, on and above the diagonal by tiles; x has a multiple of four rows."""
    zero = x.dtype.type(0)
    for i in range(0, x.shape[0], 4):
        # Tiles on the diagonal also write below it, where nobody reads.
        for k in range(i, x.shape[0], 2):
            # Eight sums stay in registers, and six numbers read serve eight products.
            s00, s01, s10, s11, s20, s21, s30, s31 = zero, zero, zero, zero, zero, zero, zero, zero
            for t in range(length):
                b0, b1 = x[k, t], x[k + 1, t]
                s00 += x[i, t] * b0
                s01 += x[i, t] * b1
                s10 += x[i + 1, t] * b0
                s11 += x[i + 1, t] * b1
                s20 += x[i + 2, t] * b0
                s21 += x[i + 2, t] * b1
                s30 += x[i + 3, t] * b0
                s31 += x[i + 3, t] * b1
            out[i, k] += s00
            out[i, k + 1] += s01
            out[i + 1, k] += s10
            out[i + 1, k + 1] += s11
            out[i + 2, k] += s20
            out[i + 2, k + 1] += s21
            out[i + 3, k] += s30
            out[i + 3, k + 1] += s31


@summing
def solve_positive(matrix: Any, right: Any) -> bool:
    """Solve in place by Cholesky, from the upper triangle; False where the matrix is not positive definite."""
    # L is written below the diagonal, while the matrix is read above it: both by rows, as they lie in memory.
    n = right.shape[0]
    # Of the diagonal: divisions would take a third of the time.
    inverse = np.empty(n)
    for i in range(n):
        mine, left = matrix[i], i // 4 * 4
        # Four columns at a time: a number that is read serves four products, and four sums do not wait for each other.
        for j in range(0, left, 4):
            r0, r1, r2, r3 = matrix[j], matrix[j + 1], matrix[j + 2], matrix[j + 3]
            s0, s1, s2, s3 = r0[i], r1[i], r2[i], r3[i]
            for k in range(j):
                s0 -= mine[k] * r0[k]
                s1 -= mine[k] * r1[k]
                s2 -= mine[k] * r2[k]
                s3 -= mine[k] * r3[k]
            # What the first of the four have in common with those after them.
            s0 *= inverse[j]
            s1 = (s1 - s0 * r1[j]) * inverse[j + 1]
            s2 = (s2 - s0 * r2[j] - s1 * r2[j + 1]) * inverse[j + 2]
            s3 = (s3 - s0 * r3[j] - s1 * r3[j + 1] - s2 * r3[j + 2]) * inverse[j + 3]
            mine[j], mine[j + 1], mine[j + 2], mine[j + 3] = s0, s1, s2, s3
        for j in range(left, i + 1):
            other = matrix[j]
            total = other[i]
            for k in range(j):
                total -= mine[k] * other[k]
            if i == j:
                # Systems come scaled to a diagonal of order 1: a smaller pivot is rounding.
                if not total > 1e-14:
                    return False
                mine[i] = np.sqrt(total)
                inverse[i] = 1 / mine[i]
            else:
                mine[j] = total * inverse[j]
    for i in range(n):
        mine = matrix[i]
        total = right[i]
        for k in range(i):
            total -= mine[k] * right[k]
        right[i] = total / mine[i]
    # L' from the last row up: a number, once solved, is subtracted from those before it, which reads L by rows, too.
    for i in range(n - 1, -1, -1):
        mine = matrix[i]
        right[i] /= mine[i]
        for k in range(i):
            right[k] -= mine[k] * right[i]
    return True


@inner
def make_schur(gram: Any, scale: Any, gauge: Any, stretch: float, system: Any) -> None:
    """(1 + mu) I - scaled gram / (1 + mu) + gauge, in the upper triangle; in place, if `system` is the gram."""
    n = scale.shape[0]
    # The gauge is given at any length; divided by its square it is a projection.
    along, across = 1 / (dot(gauge, gauge) + TINY), 1 / stretch
    for i in range(n):
        held, pulled = gauge[i] * along, scale[i] * across
        for k in range(i, n):
            system[i, k] = held * gauge[k] - pulled * scale[k] * gram[i, k]
        system[i, i] += stretch
