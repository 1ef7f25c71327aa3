"""The reference engine: plain NumPy, written to be read; it decides what the others must give."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from polyroc._core import memory
from polyroc._core.adjoint import Curvature, Gradient
from polyroc._core.engines import Engine, Prepared, Resources, prepare_again
from polyroc._core.engines import Reweighed as AnyReweighed
from polyroc._core.factorization import centered, rank_one, saturated
from polyroc._core.influence import (
    area_influences,
    difference_area_influences,
    difference_influences,
    sample_influences,
)
from polyroc._core.polygons import (
    difference_areas,
    difference_rates,
    difference_thresholds,
    pairwise_rates,
    score_thresholds,
)
from polyroc._core.samples import areas_against_rest, class_shares, doubled_wins, weighed, whole_polygon
from polyroc._lib.typing import FloatArray, Structure, Thresholds
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Predictions, RankOneFits


@dataclass(frozen=True, eq=False)
class NumpyFitter:
    """Fits in plain NumPy, on one thread whatever is asked; faster engines replace single methods."""

    resources: Resources
    engine_name: ClassVar[str] = "numpy"

    def memory_for_cells(self, n_pairs: int, n_call_rates: int) -> int:
        """Bytes that the rates of pairs and their fit need."""
        # Rates, shrunk rates, weights and the arrays of two points of the fit, each of all cells in double precision.
        return 20 * 8 * 2 * n_call_rates * n_pairs

    def fit(
        self,
        rates: PairwiseRates,
        weights: PairWeights,
        *,
        shrinkage: float,
        structure: Structure,
        near: Factorization | None = None,
    ) -> Factorization:
        """Shared and pair effects. Structures that are not of rank one are the same code in all engines."""
        if structure == "saturated":
            return saturated(rates, weights, shrinkage)
        found = self.rank_one(rates, weights, shrinkage, near)
        return found if structure == "rank-one" else centered(rates, weights, shrinkage, found)

    def rank_one(
        self, rates: PairwiseRates, weights: PairWeights, shrinkage: float, near: Factorization | None
    ) -> Factorization:
        """The rank-one structure; it never begins `near` another fit."""
        return rank_one(rates, weights, shrinkage)

    def curvature(
        self, factorization: Factorization, rates: PairwiseRates, weights: PairWeights, shrinkage: float
    ) -> Curvature | None:
        """None: the formula's own passes are in NumPy."""
        return None


@dataclass(frozen=True, eq=False)
class NumpyPrepared(NumpyFitter):
    """Samples as they came: nothing is done once."""

    source: Predictions

    @property
    def samples(self) -> Predictions:
        """The source itself."""
        return self.source

    def memory_available(self) -> int | None:
        """Bytes that can still be had; None where that is unknown."""
        return memory.available()

    def polygon(self) -> tuple[PairwiseRates, FloatArray]:
        """The vertices of the ordinary ROC curve of two classes."""
        return whole_polygon(self.source)

    def areas_against_rest(self) -> FloatArray:
        """Area of each class against all the others, shape (k,)."""
        return areas_against_rest(self.source)

    def memory_needed(self, n_pairs: int, n_call_rates: int, thresholds: Thresholds = "own") -> int:
        """Bytes that rates and fit will need at most, in addition to the scores themselves."""
        return 2 * self.source.scores.nbytes + self.memory_for_cells(n_pairs, n_call_rates)

    def memory_to_reweigh(self, pairs: PairIndex, thresholds: Thresholds) -> int:
        """None: samples are sorted anew for each weight."""
        return 0

    def rates(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> PairwiseRates:
        """Cut every pair's ROC polygon at the call rates."""
        if thresholds == "difference":
            return difference_rates(self.source, pairs, call_rates)
        return pairwise_rates(self.source, pairs, call_rates, thresholds)

    def score_thresholds(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> FloatArray:
        """The score at which every pair reaches every call rate, shape (T, K)."""
        if thresholds == "difference":
            return difference_thresholds(self.source, pairs, call_rates)
        return score_thresholds(self.source, pairs, call_rates, thresholds)

    def areas(self, pairs: PairIndex, thresholds: Thresholds = "own") -> FloatArray:
        """Mann-Whitney area of each pair, shape (K,)."""
        return (
            difference_areas(self.source, pairs) if thresholds == "difference" else pairwise_areas(self.source, pairs)
        )

    def influences(
        self,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        gradient: Gradient,
        *,
        least_reach: float = 0.0,
    ) -> FloatArray:
        """What each sample adds to each of m numbers, shape (m, n)."""
        if thresholds == "difference":
            return difference_influences(self.source, pairs, call_rates, gradient, least_reach=least_reach)
        return sample_influences(self.source, pairs, call_rates, thresholds, gradient, least_reach=least_reach)

    def area_influences(self, pairs: PairIndex, share: FloatArray, thresholds: Thresholds = "own") -> FloatArray:
        """What each sample adds to weighted means of the areas, shape (..., n) from (..., K)."""
        if thresholds == "difference":
            return difference_area_influences(self.source, pairs, share)
        return area_influences(self.source, pairs, share)

    def reweigh(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> AnyReweighed:
        """Nothing is done once."""
        return Reweighed(self.source, pairs, call_rates, thresholds)

    def __reduce__(self) -> tuple[Callable[..., Prepared], tuple[Any, ...]]:
        # Without what was sorted: that is made again in less time than it takes to send.
        return prepare_again, (self.engine_name, self.source, self.resources)


@dataclass(frozen=True, eq=False)
class Reweighed:
    """Samples that are sorted anew for each weight: what others must give without that."""

    predictions: Predictions
    pairs: PairIndex
    call_rates: FloatArray
    thresholds: Thresholds
    at_once: ClassVar[int | None] = None

    def rates(self, weight: FloatArray) -> tuple[PairwiseRates, FloatArray]:
        """Rates and areas of all pairs under these weights."""
        again = NumpyPrepared(Resources(), weighed(self.predictions, weight))
        return again.rates(self.pairs, self.call_rates, self.thresholds), again.areas(self.pairs, self.thresholds)

    def fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        """The rank-one structure under each of several weights."""
        found = [self.rates(weight) for weight in weights]
        fits = [rank_one(rates, pair_weights, shrinkage) for rates, _ in found]
        return RankOneFits(
            row_effects=np.array([fit.row_effects for fit in fits]),
            mean_area=np.array([areas.mean() for _, areas in found]),
            weighted_area=np.array([np.average(areas, weights=pair_weights.tpr) for _, areas in found]),
            mean_rates=np.array([fit.mean_rates for fit in fits]),
            converged=np.array([fit.converged for fit in fits]),
        )


ENGINE = Engine("numpy", lambda source, resources: NumpyPrepared(resources, source), NumpyFitter)


def pairwise_areas(predictions: Predictions, pairs: PairIndex) -> FloatArray:
    """Mann-Whitney area A(positive, negative) of each pair, shape (K,)."""
    n_classes = len(predictions.labels)
    share = class_shares(predictions)
    wins = np.zeros((n_classes, n_classes))
    for positive, first in zip(*np.unique(pairs.positive, return_index=True), strict=True):
        score = predictions.scores[:, pairs.column[first]]
        wins[positive] = doubled_wins(score, predictions.codes, positive, n_classes, share)
    won: FloatArray = wins[pairs.positive, pairs.negative] / 2
    if share is None:
        total = predictions.class_counts.astype(float)
        won /= total[pairs.positive] * total[pairs.negative]
    return won
