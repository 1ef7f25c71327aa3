"""PairwiseRates and PairWeights -> the cells that are fitted (method, steps 4 and 5)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from polyroc._lib.typing import BoolArray, FloatArray
from polyroc._records import PairWeights, PairwiseRates

# Stands for an infinite logit: of rows whose rate is 0 or 1 in every pair, and of single cells where
# nothing is fitted (the saturated structure, two classes). What a fit finds is not bounded by it.
LOGIT_BOUND = 30.0
EDGE = float(expit(-LOGIT_BOUND))


@dataclass(frozen=True, eq=False)
class Cells:
    """What is fitted: shrunk rates and their weights, shape (2T, K), and the mean rate of each row."""

    rate: FloatArray
    weight: FloatArray
    mean: FloatArray

    @property
    def interior(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Rows with something to fit: those whose mean rate is neither 0 nor 1."""
        return (self.mean > EDGE) & (self.mean < 1 - EDGE)

    @property
    def inner(self) -> "Cells":
        """The cells of the interior rows."""
        rows = self.interior
        if rows.all():
            return self
        return Cells(self.rate[rows], self.weight[rows], self.mean[rows])


def shrunk_cells(rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Cells:
    """Stack the rates, true positives above false, and draw each to its row's mean."""
    on_row = rates.row_weights[:, None]
    weight = np.vstack([on_row * weights.tpr, on_row * weights.fpr])
    return shrunk_rows(np.vstack([rates.tpr, rates.fpr]), weight, weights.size, shrinkage)


def outer_chance(mean: FloatArray, outer: BoolArray, rates: PairwiseRates, totals: FloatArray) -> float:
    """Deviance of chance, where both rates are the call rate, in rows whose rates are all 0 or all 1.

    `totals` (2,) are the sums of the pairs' weights for true and for false positive rates.
    """
    total = np.repeat(totals, rates.n_call_rates) * np.tile(rates.row_weights, 2)
    by_chance = np.tile(rates.call_rates, 2)
    missed = -np.log(np.where(mean < 0.5, 1 - by_chance, by_chance))
    return float(2 * np.sum((total * missed)[outer]))


def shrunk_rows(rate: FloatArray, weight: FloatArray, size: FloatArray, shrinkage: float) -> Cells:
    """The cells of some rows, of rates and weights of shape (R, K)."""
    mean = np.sum(weight * rate, axis=1) / np.sum(weight, axis=1)
    # Rates of 0 and 1 have infinite logits; a little of the mean makes them finite before they can decide the fit.
    shrunk = (size * rate + shrinkage * mean[:, None]) / (size + shrinkage)
    return Cells(shrunk, weight, mean)
