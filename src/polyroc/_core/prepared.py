"""What polyroc asks of an engine: whatever is large, in samples or in cells, is computed behind these functions.

An engine is asked once to make a source ready, which may mean to sort it, to count it or to load it onto a card. What
it made answers every question after that, in the order of the method. Nobody else reads samples to compute a number.
"""

from dataclasses import dataclass
from typing import Protocol

from polyroc._core.curvature import Curvature
from polyroc._core.gradient import Gradient
from polyroc._lib.typing import FloatArray, Structure, Thresholds
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


class Engine(Protocol):
    """How numbers are computed: one module each, whose `ENGINE` is checked against this by mypy."""

    @property
    def name(self) -> str:
        """As users give it."""

    def prepare(self, source: Predictions, resources: Resources) -> Prepared:
        """Make samples ready; what takes long is done when it is first needed, and once."""

    def fitter(self, resources: Resources) -> Fitter:
        """What needs no source."""
