"""PairwiseRates and PairWeights -> the cells that are fitted (method, steps 4 and 5)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from polyroc._records import PairWeights, PairwiseRates
from polyroc._typing import FloatArray

# Logits are bounded here where a rate is 0 or 1 in every pair, and nowhere else.
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


def shrunk_cells(rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Cells:
    """Stack the rates, true positives above false, and draw each to its row's mean."""
    rate = np.vstack([rates.tpr, rates.fpr])
    weight = np.repeat(np.vstack([weights.tpr, weights.fpr]), rates.n_thresholds, axis=0)
    mean = np.sum(weight * rate, axis=1) / np.sum(weight, axis=1)
    # Left alone, one perfectly separated pair drives its effect, and with it D, to 1.
    shrunk = (weights.size * rate + shrinkage * mean[:, None]) / (weights.size + shrinkage)
    return Cells(shrunk, weight, mean)
