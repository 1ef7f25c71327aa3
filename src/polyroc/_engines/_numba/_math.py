"""An exponential and a logarithm that LLVM can vectorise, in single and double precision.

The library functions are called one number at a time; these are a few fused
multiply-adds without branches, so a loop over them runs in vector registers.
Accurate to 1e-15 (double) and 1e-7 (single) relative on the ranges used here.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from polyroc._engines._numba._compile import EXACT

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
