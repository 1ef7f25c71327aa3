"""What polyroc asks of an engine: whatever is large, in samples or in cells, is computed behind these functions."""

from typing import Protocol

from polyroc._lib._typing import FloatArray, Thresholds
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Predictions, RankOneFits


class Reweighed(Protocol):
    """Samples made ready to be weighed again and again. A weight may be 0, but not all those of a class."""

    def rates(self, weight: FloatArray) -> tuple[PairwiseRates, FloatArray]:
        """Rates and Mann-Whitney areas of all pairs under these weights of the samples, shape (n,)."""

    def fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        """The rank-one model under each of several weights, shape (R, n); on one thread."""


class Engine(Protocol):
    """How rates are read off the samples and how the rank-one model is fitted to them.

    `n_jobs` is the number of threads; None takes as many as the process may use. The numbers do not depend on it.
    """

    def memory_needed(self, predictions: Predictions, n_pairs: int, n_call_rates: int) -> int:
        """Bytes that rates and fit will need at most, beside the scores themselves."""

    def memory_to_reweigh(self, predictions: Predictions, pairs: PairIndex, thresholds: Thresholds) -> int:
        """Bytes that `reweigh` will keep, beside the scores themselves."""

    def pairwise_rates(
        self,
        predictions: Predictions,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        *,
        n_jobs: int | None = None,
    ) -> PairwiseRates:
        """Where each pair's ROC polygon has the call rates of the grid (method, steps 2 and 3)."""

    def fit_rank_one(
        self, rates: PairwiseRates, weights: PairWeights, shrinkage: float, *, n_jobs: int | None = None
    ) -> Factorization:
        """Shrink the rates and fit eta = lambda v' to them, scaled to mean(v) = 1 (method, steps 4, 6 and 7)."""

    def pairwise_areas(self, predictions: Predictions, pairs: PairIndex, *, n_jobs: int | None = None) -> FloatArray:
        """Mann-Whitney area of each pair, shape (K,)."""

    def contrast_areas(
        self, predictions: Predictions, pairs: PairIndex, partition: FloatArray, *, n_jobs: int | None = None
    ) -> FloatArray:
        """As `pairwise_areas`, each pair ranked along (A[negative] - A[positive]) · p by a partition matrix A."""

    def reweigh(
        self,
        predictions: Predictions,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        *,
        n_jobs: int | None = None,
    ) -> Reweighed:
        """Do once what does not depend on the weights of the samples, for replicates."""
