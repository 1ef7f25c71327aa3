"""The interface of an engine, and the choice of one.

Whatever is large, in samples or in cells, is computed by an engine. It is asked once to make a source ready, which may
mean to sort it, to count it or to load it onto a card. What it made answers every question after that, in the order of
the method. Each engine is a module that is imported on first use and holds one `ENGINE`.
"""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from polyroc._core.adjoint import Curvature, Gradient
from polyroc._inputs.options import ENGINES
from polyroc._inputs.tensors import TensorPredictions
from polyroc._lib.typing import FloatArray, Structure, Thresholds
from polyroc._lib.warnings import warn
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Predictions, RankOneFits, Source


@dataclass(frozen=True)
class Resources:
    """With what an engine may compute; no number depends on it."""

    n_jobs: int | None = None
    """Number of threads; None for as many as the process may use."""
    device: str | None = None
    """Which card; None for the one that the engine takes by itself. Engines of the host have none."""


class Reweighed(Protocol):
    """Samples made ready to be weighed again and again. A weight may be 0, but not all those of a class."""

    @property
    def at_once(self) -> int | None:
        """How many weights `fits` wants together; None where it takes one after the other, and threads are better."""

    def rates(self, weight: FloatArray) -> tuple[PairwiseRates, FloatArray]:
        """Rates and Mann-Whitney areas of all pairs under these weights of the samples, shape (n,).

        Areas are those of `Prepared.areas` with the same thresholds.
        """

    def fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        """The rank-one structure under each of several weights, shape (R, n); on one thread."""


class Fitter(Protocol):
    """How an engine computes what passes over rates of pairs and no source."""

    @property
    def engine_name(self) -> str:
        """Which engine it is."""

    @property
    def resources(self) -> Resources:
        """With what it computes."""

    def memory_for_cells(self, n_pairs: int, n_call_rates: int) -> int:
        """Bytes that the rates of pairs and their fit need."""

    def fit(
        self,
        rates: PairwiseRates,
        weights: PairWeights,
        *,
        shrinkage: float,
        structure: Structure,
        near: Factorization | None = None,
    ) -> Factorization:
        """Shrink rates and fit a structure to them, scaled to mean(v) = 1 (method, steps 4, 6 and 7).

        The rates are given, not the pairs, because costs and weights change while rates stay. `near` is a fit of the
        same rates with another shrinkage: an engine may begin there where all beginnings lead to one end.
        """

    def curvature(
        self, factorization: Factorization, rates: PairwiseRates, weights: PairWeights, shrinkage: float
    ) -> Curvature | None:
        """Passes over the cells at the end of a rank-one fit, for gradients; None for those of the formula itself."""


class Prepared(Fitter, Protocol):
    """A source that an engine has made ready: samples, or counts of samples."""

    @property
    def source(self) -> Source:
        """What was made ready."""

    @property
    def samples(self) -> Predictions:
        """The source where it holds samples; a ValueError that says so where it holds counts."""

    def memory_available(self) -> int | None:
        """Bytes that can still be had where this engine computes; None where that is unknown."""

    def memory_needed(self, n_pairs: int, n_call_rates: int, thresholds: Thresholds = "own") -> int:
        """Bytes that rates and fit will need at most, in addition to the scores themselves."""

    def memory_to_reweigh(self, pairs: PairIndex, thresholds: Thresholds) -> int:
        """Bytes that `reweigh` will keep, in addition to the scores themselves."""

    def polygon(self) -> tuple[PairwiseRates, FloatArray]:
        """The vertices of the ordinary ROC curve of two classes, without its two corners, and their scores, (T, 1)."""

    def rates(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> PairwiseRates:
        """Where each pair's ROC polygon has the call rates of the grid (method, steps 2 and 3)."""

    def score_thresholds(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> FloatArray:
        """The score at which every pair reaches every call rate, shape (T, K)."""

    def areas(self, pairs: PairIndex, thresholds: Thresholds = "own") -> FloatArray:
        """Mann-Whitney area of each pair, shape (K,), ranked by the difference of two columns or by its own column.

        With shared thresholds, too, it is the column of its own that ranks a pair.
        """

    def areas_against_rest(self) -> FloatArray:
        """Area of each class against all the others, shape (k,); NaN of a class without samples."""

    def influences(
        self,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        gradient: Gradient,
        *,
        least_reach: float = 0.0,
    ) -> FloatArray:
        """What each sample adds to each of m numbers, shape (m, n), by their gradient; 0 in sum over each class.

        Slopes of polygons are read over a step of the grid, and over at least `least_reach` of the call rates.
        """

    def area_influences(self, pairs: PairIndex, share: FloatArray, thresholds: Thresholds = "own") -> FloatArray:
        """What each sample adds to means of the pairs' areas by these shares: DeLong's components.

        Shape (..., n) from (..., K): several means take one pass over the samples.
        """

    def reweigh(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> Reweighed:
        """Do once what does not depend on the weights of the samples, for replicates."""


@dataclass(frozen=True)
class Engine:
    """How numbers are computed, a row of the table that `engine=` picks from: one module each holds one as `ENGINE`."""

    name: str
    """As users give it."""
    prepare: Callable[[Predictions, Resources], Prepared]
    """Make samples ready; what takes long is done when it is first needed, and once."""
    fitter: Callable[[Resources], Fitter]
    """Fits of rates, without a source."""


def get_engine(
    name: str,
    source: Source,
    *,
    n_pairs: int | None = None,
    n_thresholds: int = 99,
    repeats: int = 1,
    has_rates: bool = False,
) -> Engine:
    """Import an engine by name; "auto" is torch for samples on a GPU, else NumPy or numba by the size of the problem.

    All pairs are compared unless `n_pairs` says otherwise. Areas alone have no thresholds, replicates are repeats, and
    fits of rates that are known (`has_rates`) merge no samples.
    """
    if name == "auto":
        if isinstance(source, TensorPredictions):
            # Copying the samples to the host would take longer than evaluating them where they are.
            return engine_named("torch")
        if source.is_binary and repeats == 1:  # one pair and no fit
            return engine_named("numpy")
        n_classes = len(source.labels)
        n_pairs = n_classes * (n_classes - 1) if n_pairs is None else n_pairs
        # A pair merges the samples of two classes, and has a TPR and an FPR at each threshold.
        merged = 0 if has_rates else 2 * source.n_samples // max(n_classes, 1)
        return engine_for(repeats * n_pairs * (merged + 2 * n_thresholds))
    engine = engine_named(name)
    if name == "numba" and not can_compile():
        msg = (
            'engine="numba" needs numba\'s compiler, and the environment variable NUMBA_DISABLE_JIT switches it off: '
            'unset it, or take engine="numpy" or "auto".'
        )
        raise RuntimeError(msg)
    return engine


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
    """The engine of "auto" on the host."""
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
    """A source after a pickle: made by the same engine, or by the reference if that one is not installed."""
    return _installed(name).prepare(source, resources)


def fitter_again(name: str, resources: Resources) -> Fitter:
    """The same of what needs no source."""
    return _installed(name).fitter(resources)


def _installed(name: str) -> Engine:
    try:
        return engine_named(name)
    except ImportError:
        return engine_named("numpy")
