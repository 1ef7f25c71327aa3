"""How kernels are compiled, and how they lend arrays to each other without counting references."""

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.core import event
from numba.extending import intrinsic

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
    "influences": (5, ("adjoint", "influence_kernels")),
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
