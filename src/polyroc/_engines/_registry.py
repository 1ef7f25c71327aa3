"""The engines by name: each is a module that is imported on first use and holds one `ENGINE`."""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, cast

from polyroc._engines import _memory
from polyroc._engines._class_wins import areas_against_rest
from polyroc._engines._protocol import Engine, Fitter, Prepared, Resources
from polyroc._engines._samples import whole_polygon
from polyroc._inputs.options import ENGINES
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import warn
from polyroc._records import PairwiseRates, Predictions


def engine_named(name: str) -> Engine:
    """Import an engine; an ImportError names the extra that brings what it is made of."""
    try:
        module = import_module(f"polyroc._engines._{name}._engine")
    except ModuleNotFoundError as error:
        msg = f'engine="{name}" needs {error.name}: pip install "polyroc[{ENGINES[name].extra}]".'
        raise ModuleNotFoundError(msg, name=error.name) from error
    return cast("Engine", module.ENGINE)


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
        return _memory.available()

    def __reduce__(self) -> tuple[Callable[..., Prepared], tuple[Any, ...]]:
        # Without what was sorted: that is made again in less time than it takes to send.
        return prepare_again, (self.engine_name, self.source, self.resources)


def can_compile() -> bool:
    """Whether numba, which is loaded, would compile: NUMBA_DISABLE_JIT runs kernels as Python, which these are not."""
    config = getattr(sys.modules.get("numba"), "config", None)
    return not getattr(config, "DISABLE_JIT", False)


@dataclass(frozen=True, eq=False)
class FastOrReference:
    """An engine that asks the fast one, and the reference from the first time on that the fast one fails."""

    fast: Engine
    reference: Engine
    works: ClassVar[bool] = True
    """Whether the fast engine has not failed in this process."""
    _once: ClassVar[threading.Lock] = threading.Lock()

    @property
    def name(self) -> str:
        return self.fast.name if self.works else self.reference.name

    def prepare(self, source: Predictions, resources: Resources) -> Prepared:
        """Made ready by the fast engine, and by the reference where the fast one fails."""
        fast = _Watched(self.fast.prepare(source, resources), lambda: self.reference.prepare(source, resources))
        return cast("Prepared", fast)

    def fitter(self, resources: Resources) -> Fitter:
        """What needs no source, likewise."""
        return cast("Fitter", _Watched(self.fast.fitter(resources), lambda: self.reference.fitter(resources)))

    @classmethod
    def give_up(cls, error: Exception) -> None:
        """Take the reference from now on, and say so once."""
        with cls._once:
            is_first, FastOrReference.works = cls.works, False
        if is_first:
            msg = (
                f"The fast engine failed ({type(error).__name__}: {str(error).strip().partition(chr(10))[0]}). The "
                'slower reference engine is used in its place: engine="numpy".'
            )
            warn(msg, UserWarning)


class _Watched:
    """What the fast engine made, whose every method is tried there first and then asked of the reference's.

    Whatever a `Prepared` or a `Reweighed` can do, so can this, without a second list of their methods.
    """

    def __init__(self, fast: Any, make_reference: Callable[[], Any]) -> None:
        self._fast, self._make_reference = fast, make_reference

    @cached_property
    def _reference(self) -> Any:
        return self._make_reference()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # while a copy is made, nothing is here yet
            raise AttributeError(name)
        found = getattr(self._fast if FastOrReference.works else self._reference, name)
        return self._tried(name) if callable(found) else found

    def _tried(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            def asked_of_reference() -> Any:
                return getattr(self._reference, name)(*args, **kwargs)

            if not FastOrReference.works:
                return asked_of_reference()
            try:
                found = getattr(self._fast, name)(*args, **kwargs)
            except MemoryError:
                raise
            except Exception as error:
                FastOrReference.give_up(error)
                return asked_of_reference()
            # What is made ready for replicates may fail later, too.
            return _Watched(found, asked_of_reference) if name == "reweigh" else found

        return call

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if not hasattr(self._fast, "source"):
            return fitter_again, (self.engine_name, self.resources)
        return prepare_again, (self.engine_name, self.source, self.resources)
