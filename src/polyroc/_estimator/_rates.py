"""Predictions -> PairwiseRates: every pair's ROC polygon, read at the same call rates (method, steps 1 to 3)."""

from functools import partial

import numpy as np

from polyroc._engines import Engine
from polyroc._lib._grid import grid
from polyroc._lib._typing import FloatArray, Thresholds
from polyroc._records import PairIndex, PairwiseRates, Predictions


def pairwise_rates(
    predictions: Predictions,
    pairs: PairIndex,
    *,
    thresholds: Thresholds,
    n_thresholds: int,
    engine: Engine,
    n_jobs: int | None = None,
) -> PairwiseRates:
    """Rates of all pairs on the grid; of two classes, the whole polygon."""
    if predictions.is_binary:
        return _whole_polygon(predictions)
    return engine.pairwise_rates(predictions, pairs, grid(n_thresholds), thresholds, n_jobs=n_jobs)


def _whole_polygon(predictions: Predictions) -> PairwiseRates:
    """The vertices of the ordinary ROC curve, without its two corners."""
    score = predictions.scores[:, -1]
    weight = np.ones(len(score)) if predictions.sample_weight is None else predictions.sample_weight
    order = np.argsort(score, kind="stable")[::-1]
    score, positive = score[order], predictions.codes[order] == 1
    # Compared, not subtracted: the difference of two finite scores may overflow.
    last_of_tie = np.flatnonzero(score[1:] != score[:-1])
    tpr = _shares(np.where(positive, weight[order], 0.0))[last_of_tie]
    fpr = _shares(np.where(positive, 0.0, weight[order]))[last_of_tie]
    locate = partial(np.array, score[last_of_tie][:, None])
    return PairwiseRates(tpr[:, None], fpr[:, None], (tpr + fpr) / 2, locate)


def _shares(weight: FloatArray) -> FloatArray:
    cumulated = np.cumsum(weight)
    shares: FloatArray = cumulated / cumulated[-1]
    return shares
