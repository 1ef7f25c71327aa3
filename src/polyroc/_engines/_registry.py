"""The engines by name: each is a module that is imported on first use and holds one `ENGINE`."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, cast

from polyroc._engines import _memory
from polyroc._engines._class_wins import areas_against_rest
from polyroc._engines._protocol import Engine, Fitter, Prepared, Resources
from polyroc._engines._samples import whole_polygon
from polyroc._inputs._options import ENGINES
from polyroc._lib._typing import FloatArray
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
