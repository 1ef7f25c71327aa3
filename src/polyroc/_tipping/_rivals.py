"""The models of a comparison, measured once: what each is worth under other costs takes a fit, or not even that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from polyroc._engines import Fitter, get_engine
from polyroc._estimator._curve import shared_curve
from polyroc._estimator._mean_curve import mean_areas
from polyroc._estimator._weight_gradient import weight_gradient
from polyroc._estimator._weights import pair_weights
from polyroc._evaluation import Evaluation
from polyroc._inputs._options import Options
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Factorization, Frozen, PairWeights, PairwiseRates

# About as many as it takes to look for the costs that make a model first by D.
N_FITS = 110


@dataclass(frozen=True, eq=False)
class Cells(Frozen):
    """The costs that may change, one for each ordered pair of classes, and the weights of the pairs as they are.

    The cost of taking class a for b weights the true positive rates of the pair (a, b) and the false positive rates
    of (b, a).
    """

    true: IntArray
    """Position of the true class, shape (K,): also the positive class of pair number K."""
    taken: IntArray
    """Position of the class that it is taken for, shape (K,)."""
    weights: PairWeights

    @classmethod
    def of(cls, evaluation: Evaluation) -> "Cells":
        pairs = evaluation._pair_index
        return cls(pairs.positive, pairs.negative, pair_weights(evaluation._source, pairs, evaluation._options))

    def __len__(self) -> int:
        return len(self.true)

    @cached_property
    def turned(self) -> IntArray:
        """Where the pair (b, a) of each pair (a, b) stands, shape (K,)."""
        n_classes = int(self.true.max()) + 1
        place = np.zeros((n_classes, n_classes), dtype=np.intp)
        place[self.true, self.taken] = np.arange(len(self))
        return place[self.taken, self.true]

    def weights_at(self, cell: int, factor: float) -> PairWeights:
        """The weights where one cost is multiplied by a factor; only their ratios matter."""
        tpr, fpr = self.weights.tpr.copy(), self.weights.fpr.copy()
        tpr[cell] *= factor
        fpr[self.turned[cell]] *= factor
        scale = (tpr.mean() + fpr.mean()) / 2
        return PairWeights(tpr / scale, fpr / scale, self.weights.size)


@dataclass(frozen=True, eq=False)
class Rival:
    """One model: its rates, and what it is worth now."""

    name: str
    auc: float
    mean_auc: float
    rates: PairwiseRates = field(repr=False)
    _factorization: Factorization = field(repr=False)
    _fitter: Fitter = field(repr=False)
    _options: Options = field(repr=False)

    def auc_at(self, weights: PairWeights) -> float:
        """D under other weights, by a fit; NaN where that does not converge."""
        fit = self._fit(weights, self._options)
        return shared_curve(fit).auc if fit.converged else float("nan")

    def mean_auc_at(self, weights: PairWeights) -> float:
        """The area under the mean curve, which takes no fit."""
        tpr = self.rates.tpr.astype(float, copy=False) @ weights.tpr / weights.tpr.sum()
        fpr = self.rates.fpr.astype(float, copy=False) @ weights.fpr / weights.fpr.sum()
        return float(mean_areas(np.concatenate([tpr, fpr])[None])[0])

    def auc_slopes(self, cells: Cells) -> FloatArray:
        """How D changes with the logarithm of each cost, shape (K,); of other models than rank-one, nearly."""
        weights, fit = cells.weights, self._factorization
        if self._options.model != "rank-one":
            fit = self._fitter.fit(self.rates, weights, shrinkage=self._options.shrinkage, model="rank-one")
        shrinkage = self._options.shrinkage
        curvature = self._fitter.curvature(fit, self.rates, weights, shrinkage)
        tpr, fpr = weight_gradient(fit, self.rates, weights, shrinkage=shrinkage, curvature=curvature)
        return tpr + fpr[cells.turned]

    def _fit(self, weights: PairWeights, options: Options) -> Factorization:
        return self._fitter.fit(self.rates, weights, shrinkage=options.shrinkage, model=options.model)


def rivals_of(evaluations: Mapping[str, Evaluation]) -> list[Rival]:
    """All models with their rates, which depend on no cost."""
    return [
        Rival(name, one.auc, one.mean_auc, one.rates, one.factorization, _for_many_fits(one), one._options)
        for name, one in evaluations.items()
    ]


def _for_many_fits(one: Evaluation) -> Fitter:
    """The engine that is done first with as many fits as are to come, which a single one may not have been worth."""
    prepared, options = one._prepared, one._options
    engine = get_engine(
        options.engine,
        prepared.source,
        n_pairs=len(one._pair_index),
        n_thresholds=options.n_thresholds,
        repeats=N_FITS,
    )
    if engine.name == prepared.engine_name:
        return prepared
    return engine.fitter(prepared.resources)
