"""How kernels are compiled, how they lend arrays to each other, and the functions that all of them use."""

import hashlib
import logging
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import event
from numba.extending import intrinsic, overload

logger = logging.getLogger("polyroc")

# What the compiler may assume: no NaN, and no difference between the zeros. Whatever would change last bits is left
# out: kernels that are read from disk have passed the optimiser once more than those of the process that compiled
# them, and both must give the same numbers.
EXACT = {"nsz", "nnan"}
# In sums it may also reorder terms and fuse multiply-adds, or it could not vectorise them.
SUMS = EXACT | {"reassoc", "contract"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use, and keep it on disk where there is a folder to keep it in."""
    options: Any = {"nogil": True, "error_model": "numpy", "fastmath": EXACT, "no_cfunc_wrapper": True}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that may be written to
        _Announcer.kept = False
        return njit(**options)(function)
    # numba would look at the kernel's own file only, and go on with machine code of what that file imported earlier.
    if hasattr(compiled, "_cache"):  # with NUMBA_DISABLE_JIT it is the function itself
        compiled._cache._cache_file._source_stamp = state_of_engines()
    return compiled


@cache
def state_of_engines() -> str:
    """A hash of every file that a kernel may be compiled from."""
    core = Path(__file__).parents[1]
    files = sorted(core.rglob("*.py")) + sorted((core.parent / "_counts").glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


@kernel
def compiles() -> bool:
    """True: the smallest kernel, by which a process finds out whether numba works."""
    return True


# Called by kernels only, so without a way in from Python, which takes long to compile.
_WITHOUT_WRAPPERS: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner: Callable[..., Any] = njit(error_model="numpy", fastmath=EXACT, nogil=True, **_WITHOUT_WRAPPERS)
summing: Callable[..., Any] = njit(error_model="numpy", fastmath=SUMS, nogil=True, **_WITHOUT_WRAPPERS)


# Parts of the fast engine that take seconds to compile: the modules of their kernels, and the processor seconds for ten
# classes, by `python -m benchmarks._compiling`. What is not listed takes less than two.
PARTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "evaluation": (8, ("class_sorted", "fit", "problem", "rates", "steps")),
    "influences": (5, ("factorization", "influence")),
    "resampling": (12, ("reweighed",)),
}
_PART_OF = {module: part for part, (_, modules) in PARTS.items() for module in modules}


class _Announcer(event.Listener):
    """Says once for each part that its kernels are being compiled, and how long that takes.

    By a log line that is seen if nobody has set up logging, and silenced as any other.
    """

    kept = True

    def __init__(self) -> None:
        self.announced: set[str] = set()
        self.depth = 0

    def on_start(self, started: Any) -> None:
        # Every compilation of the process comes by here, also of functions that belong to no module; kernels compile
        # what they call, so only the outermost one is a kernel of the part that is needed.
        self.depth += 1
        function = getattr((started.data or {}).get("dispatcher"), "py_func", None)
        package, _, module = str(getattr(function, "__module__", "")).rpartition(".")
        part = _PART_OF.get(module)
        if self.depth > 1 or package != "polyroc._core.numba" or part is None or part in self.announced:
            return
        self.announced.add(part)
        logger.warning("Compiling the fast engine for %s takes about %d s. %s", part, PARTS[part][0], self.hint)

    @property
    def hint(self) -> str:
        if self.kept:
            return "Later runs read it from disk."
        return "It cannot be kept: name a folder that can be written to in the environment variable NUMBA_CACHE_DIR."

    def on_end(self, ended: Any) -> None:
        self.depth -= 1


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


def _borrowed(_context: Any, x: Any) -> Any:
    """An array, or a tuple with arrays, whose references are not counted; for arguments of a function only.

    numba counts a reference wherever an array is sliced or taken out of a tuple. In a loop over short rows that is
    much of the time, and more with several threads, which count in the same place of memory. What a function is
    given its caller keeps alive; what it makes itself it must not borrow, because numba lets go of it after its last
    use.
    """

    def lend(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, x, arguments[0])

    return x(x), lend


borrowed: Any = intrinsic(_borrowed)


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        return array._getvalue()
    is_tuple = isinstance(kind, types.BaseTuple)
    for place, member in enumerate(kind if is_tuple else ()):
        lent = _without_owner(context, builder, member, builder.extract_value(value, place))
        value = builder.insert_value(value, lent, place)
    return value


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


# The exponential and the logarithm are a few fused multiply-adds without branches, which LLVM vectorises; the library's
# are called one number at a time. Accurate to 1e-15 (double) and 1e-7 (single) relative on the ranges used here.
#
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
