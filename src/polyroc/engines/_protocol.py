"""The contract of an engine: the only code that passes over samples or over all cells."""

from typing import Protocol

from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Predictions
from polyroc._typing import FloatArray, Thresholds


class Engine(Protocol):
    """How rates are read off the samples and how the rank-one model is fitted to them."""

    def pairwise_rates(
        self, predictions: Predictions, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds
    ) -> PairwiseRates:
        """True and false positive rates of every pair at every call rate (method, steps 2 and 3)."""

    def fit_rank_one(self, rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Factorization:
        """Fit eta = lambda v' to the shrunk rates, with mean(v) = 1 (method, steps 4, 6 and 7)."""
