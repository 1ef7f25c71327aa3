"""Predictions and options -> PairWeights: what each pair counts for (method, steps 4 and 5, section 3)."""

import numpy as np

from polyroc._options import Options
from polyroc._records import PairIndex, PairWeights, Predictions
from polyroc._typing import FloatArray


def pair_weights(predictions: Predictions, pairs: PairIndex, options: Options) -> PairWeights:
    """Weights of every pair's rates, with mean 1: only their ratios matter."""
    positive, negative = pairs.positive, pairs.negative
    tpr, fpr = np.ones(len(pairs)), np.ones(len(pairs))
    if options.weighting == "prevalence":
        share = predictions.class_weights / predictions.class_weights.max()
        tpr, fpr = tpr * share[positive] * share[negative], fpr * share[positive] * share[negative]
    if options.costs is not None:
        # Missing a true i costs[i, j]; calling a true j an i costs[j, i].
        costs = options.costs / options.costs.max()
        tpr, fpr = tpr * costs[positive, negative], fpr * costs[negative, positive]
    if options.tpr_weights is not None or options.fpr_weights is not None:
        ones = np.ones((len(predictions.labels),) * 2)
        on_tpr = ones if options.tpr_weights is None else options.tpr_weights
        on_fpr = ones if options.fpr_weights is None else options.fpr_weights
        largest = max(on_tpr.max(), on_fpr.max())
        tpr, fpr = tpr * (on_tpr / largest)[positive, negative], fpr * (on_fpr / largest)[positive, negative]
    scale = (tpr.mean() + fpr.mean()) / 2
    return PairWeights(tpr / scale, fpr / scale, _pair_sizes(predictions.effective_counts, pairs))


def _pair_sizes(counts: FloatArray, pairs: PairIndex) -> FloatArray:
    """Harmonic mean of the two class counts: the same for both rates, so that equal rates stay equal."""
    return 2 / (1 / counts[pairs.positive] + 1 / counts[pairs.negative])
