"""The engines by name: each is a module that is imported on first use and holds one `ENGINE`."""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, cast

from polyroc._core import memory
from polyroc._core.prepared import Engine, Fitter, Prepared, Resources
from polyroc._core.samples import areas_against_rest, whole_polygon
from polyroc._inputs.options import ENGINES
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import warn
from polyroc._records import PairwiseRates, Predictions


def engine_named(name: str) -> Engine:
    """Import an engine; an ImportError names the extra that brings what it is made of."""
    try:
        module = import_module("polyroc._core.reference" if name == "numpy" else f"polyroc._core.{name}.engine")
    except ModuleNotFoundError as error:
        msg = f'engine="{name}" needs {error.name}: pip install "polyroc[{ENGINES[name].extra}]".'
        raise ModuleNotFoundError(msg, name=error.name) from error
    return cast("Engine", module.ENGINE)


# Size of a problem from which "auto" takes compiled code: scores that are sorted and merged, and rates that are cut and
# fitted. Of this size NumPy takes 0.15 to 1.5 s for an evaluation and 0.4 to 9 s for its interval, numba a sixth. So a
# process that has to read compiled code from disk, in 0.5 s, is not slower with it. Compiling takes 13 s, once.
LEAST_COMPILED = 2_000_000

_trial = threading.Lock()


def engine_for(size: int) -> Engine:
    """What "auto" means on the host."""
    return engine_named("numba" if is_compiled(size) else "numpy")


def is_compiled(size: int) -> bool:
    """Whether "auto" on the host means numba: from a size on that is the same on every machine."""
    return size >= LEAST_COMPILED and numba_works()


def numba_works() -> bool:
    """Whether numba is there and compiles; tried once per process, and warned of once if it fails."""
    with _trial:
        return _tried()


@cache
def _tried() -> bool:
    try:
        engine_named("numba")
        return can_compile() and bool(import_module("polyroc._core.numba.compile").compiles())
    except ImportError:
        return False
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        warn(f'numba does not work here ({reason}). engine="numpy" is used instead, which is slower.', UserWarning)
        return False


def can_compile() -> bool:
    """Whether numba, which is loaded, would compile: NUMBA_DISABLE_JIT runs kernels as Python, which these are not."""
    config = getattr(sys.modules.get("numba"), "config", None)
    return not getattr(config, "DISABLE_JIT", False)


def prepare_again(name: str, source: Predictions, resources: Resources) -> Prepared:
    """What comes out of a pickle: made by the same engine, or by the reference where that one is not installed."""
    return _installed(name).prepare(source, resources)


def fitter_again(name: str, resources: Resources) -> Fitter:
    """The same of what needs no source."""
    return _installed(name).fitter(resources)


def _installed(name: str) -> Engine:
    try:
        return engine_named(name)
    except ImportError:
        return engine_named("numpy")


@dataclass(frozen=True, eq=False)
class OnHost:
    """What engines of the host have in common: whose memory they use, and what of them goes into a pickle."""

    source: Predictions
    resources: Resources
    engine_name: ClassVar[str]

    @property
    def samples(self) -> Predictions:
        """The source itself."""
        return self.source

    def polygon(self) -> tuple[PairwiseRates, FloatArray]:
        """The vertices of the ordinary ROC curve of two classes."""
        return whole_polygon(self.source)

    def areas_against_rest(self) -> FloatArray:
        """Area of each class against all the others, shape (k,)."""
        return areas_against_rest(self.source)

    def memory_available(self) -> int | None:
        """Bytes that can still be had; None where that is unknown."""
        return memory.available()

    def __reduce__(self) -> tuple[Callable[..., Prepared], tuple[Any, ...]]:
        # Without what was sorted: that is made again in less time than it takes to send.
        return prepare_again, (self.engine_name, self.source, self.resources)
