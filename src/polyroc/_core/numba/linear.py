"""Compiled linear algebra of the fit: gram matrices by blocks, and small positive definite systems.

By hand, not by BLAS: its threads and ours would fight, and its sums would depend on how many there are.

The exponential and the logarithm are a few fused multiply-adds without branches, which LLVM vectorises; the library's
are called one number at a time. Accurate to 1e-15 (double) and 1e-7 (single) relative on the ranges used here.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from polyroc._core.numba.compile import EXACT, inner, summing

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


# Fused, which a polynomial can be in one way; the last sums of the logarithms in two, but these only say how far a fit
# came. Not reordered: rounding by adding and subtracting a large number must not be simplified away.
_IN_ORDER: Any = {"fastmath": EXACT | {"contract"}, "error_model": "numpy"}

_INTEGER = {types.float64: (types.int64, ir.IntType(64)), types.float32: (types.int32, ir.IntType(32))}
_REAL = {types.int64: (types.float64, ir.DoubleType()), types.int32: (types.float32, ir.FloatType())}


def _bitcast_to(width: dict[Any, Any]) -> Any:
    def bitcast(_context: Any, x: Any) -> Any:
        target, llvm_target = width[x]
        return target(x), lambda _context, builder, _signature, arguments: builder.bitcast(arguments[0], llvm_target)

    return intrinsic(bitcast)


# The bits of a number as an integer of the same width, and back.
bits_of = _bitcast_to(_INTEGER)
from_bits = _bitcast_to(_REAL)


def exp_negative(x: float) -> float:
    """exp(x) for x in [-700, 0] (double) or [-80, 0] (single)."""
    return math.exp(x)


def log_positive(x: float) -> float:
    """log(x) for normal positive x."""
    return math.log(x)


# Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
_ROUND64, _ROUND32 = 6755399441055744.0, np.float32(12582912.0)
_LOG2E64, _LOG2E32 = math.log2(math.e), np.float32(math.log2(math.e))
# log(2) in two parts, so that n * log(2) is subtracted without rounding (Cody and Waite).
_HIGH64, _LOW64 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_HIGH32, _LOW32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
# The bits of 1.0, to which an exponent is added, and the width of the fraction below the exponent.
_ONE64, _ONE32 = np.int64(0x3FF0000000000000), np.int32(0x3F800000)
_SHIFT64, _SHIFT32 = np.int64(52), np.int32(23)
# Taylor's series for |r| <= log(2) / 2: what is left out is below 1e-17 (double) and 1e-8 (single).
_E2, _E3, _E4, _E5, _E6, _E7 = (1 / math.factorial(i) for i in range(2, 8))
_E8, _E9, _E10, _E11, _E12, _E13 = (1 / math.factorial(i) for i in range(8, 14))
_F2, _F3, _F4, _F5, _F6, _F7 = (np.float32(1 / math.factorial(i)) for i in range(2, 8))
_UNIT32 = np.float32(1)


@overload(exp_negative, jit_options=_IN_ORDER)
def _exp_negative(x: Any) -> Any:
    def double(x: Any) -> Any:
        shifted = x * _LOG2E64 + _ROUND64
        n = shifted - _ROUND64
        r = (x - n * _HIGH64) - n * _LOW64
        p = _E13 * r + _E12
        p = (p * r + _E11) * r + _E10
        p = (p * r + _E9) * r + _E8
        p = (p * r + _E7) * r + _E6
        p = (p * r + _E5) * r + _E4
        p = (p * r + _E3) * r + _E2
        p = (p * r + 1.0) * r + 1.0
        # 2^n: the shift moves n, the low bits of the sum, to the exponent, and the rest out of the word.
        return p * from_bits((bits_of(shifted) << _SHIFT64) + _ONE64)

    def single(x: Any) -> Any:
        shifted = x * _LOG2E32 + _ROUND32
        n = shifted - _ROUND32
        r = (x - n * _HIGH32) - n * _LOW32
        p = _F7 * r + _F6
        p = (p * r + _F5) * r + _F4
        p = (p * r + _F3) * r + _F2
        p = (p * r + _UNIT32) * r + _UNIT32
        return p * from_bits(np.int32((bits_of(shifted) << _SHIFT32) + _ONE32))

    return double if x == types.float64 else single


_SQRT_HALF = np.int64(np.float64(math.sqrt(0.5)).view(np.int64))
_ROUND_BITS = np.int64(np.float64(_ROUND64).view(np.int64))
_LN2, _LN2_32 = math.log(2), np.float32(math.log(2))
_SQRT_HALF32 = np.int32(np.float32(math.sqrt(0.5)).view(np.int32))
# 2 artanh(s) for |s| <= 0.172, with s and s^2 factored out: what is left out is below 1e-9 (single) and 1e-18 (double).
_M1, _M3, _M5, _M7, _M9 = (np.float32(2 / i) for i in range(1, 10, 2))
_L1, _L3, _L5, _L7, _L9, _L11, _L13, _L15, _L17, _L19, _L21 = (2 / i for i in range(1, 22, 2))


@overload(log_positive, jit_options=_IN_ORDER)
def _log_positive(x: Any) -> Any:
    def double(x: Any) -> Any:
        bits = bits_of(np.float64(x))
        # x = 2^exponent * f with f in [sqrt(1/2), sqrt(2)), and log f = 2 artanh((f - 1) / (f + 1)).
        exponent = (bits - _SQRT_HALF) >> _SHIFT64
        f = from_bits(bits - (exponent << _SHIFT64))
        s = (f - 1.0) / (f + 1.0)
        y = s * s
        p = ((_L21 * y + _L19) * y + _L17) * y + _L15
        p = ((p * y + _L13) * y + _L11) * y + _L9
        p = ((p * y + _L7) * y + _L5) * y + _L3
        # The exponent as a float, by its bits: AVX2 cannot convert integers of 64 bits.
        return (from_bits(exponent + _ROUND_BITS) - _ROUND64) * _LN2 + s * (p * y + _L1)

    def single(x: Any) -> Any:
        bits = bits_of(x)
        exponent = np.int32((bits - _SQRT_HALF32) >> _SHIFT32)
        f = from_bits(np.int32(bits - (exponent << _SHIFT32)))
        s = (f - _UNIT32) / (f + _UNIT32)
        y = s * s
        p = ((_M9 * y + _M7) * y + _M5) * y + _M3
        return np.float32(exponent) * _LN2_32 + s * (p * y + _M1)

    return double if x == types.float64 else single
