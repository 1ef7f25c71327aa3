"""Time of a bootstrap replicate of D. Where polyroc's own module for replicates does not import, neither does this
one, and the table does without its row."""

from time import perf_counter

import numpy as np

from polyroc._options import Options
from polyroc._pairs import all_pairs
from polyroc._replicates import Replicates
from polyroc._validation import as_predictions


def time_replicates(y_true, y_score, n_resamples, n_jobs):
    """Mean seconds of one replicate: drawing within each class and D, with its share of what is done once."""
    start = perf_counter()
    predictions = as_predictions(y_true, y_score)
    replicates = Replicates(predictions, all_pairs(predictions), Options(n_jobs=n_jobs))
    areas = replicates.aucs(_draws(predictions, n_resamples))
    seconds = perf_counter() - start
    assert np.isfinite(areas).all()
    return seconds / n_resamples


def _draws(predictions, n_resamples):
    """Weights of the samples, how often each was drawn."""
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(predictions.codes == c) for c in range(len(predictions.labels))]
    for _ in range(n_resamples):
        weight = np.empty(len(predictions.codes))
        for m in members:
            weight[m] = np.bincount(rng.integers(0, len(m), len(m)), minlength=len(m))
        yield weight
