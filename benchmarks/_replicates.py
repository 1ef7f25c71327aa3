"""Time of a bootstrap replicate of D. Where polyroc has no `replicate_areas`, importing this module fails, and the
table does without its row."""

from time import perf_counter

import numpy as np

from polyroc._options import Options
from polyroc._validation import as_predictions
from polyroc.engines._numba import replicate_areas


def time_replicates(y_true, y_score, n_resamples, n_jobs):
    """Mean seconds of one replicate: drawing the weights, and D at them. What is done once is shared by all."""
    rng = np.random.default_rng(0)
    start = perf_counter()
    predictions = as_predictions(y_true, y_score)
    members = [np.flatnonzero(predictions.codes == c) for c in range(y_score.shape[1])]
    weights = np.empty((n_resamples, len(y_true)))
    for m in members:
        weights[:, m] = rng.multinomial(len(m), np.full(len(m), 1 / len(m)), size=n_resamples)
    replicate_areas(predictions, Options(n_jobs=n_jobs), weights)
    return (perf_counter() - start) / n_resamples
