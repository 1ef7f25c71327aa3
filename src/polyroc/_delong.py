"""Hand and Till's M without resampling: DeLong's covariance over all pairs of classes.

M is a U-statistic of k samples, one per class. What a single sample adds to it, its *influence*, is the share of
comparisons that it wins beyond the mean of its class, summed over all pairs in which it takes part. With two classes
these are the structural components of DeLong, DeLong and Clarke-Pearson (1988); with groups the influences of a group
are summed first, as in Obuchowski (1997).
"""

import numpy as np

from polyroc._records import PairIndex, Predictions
from polyroc._resampling import Units
from polyroc._typing import FloatArray
from polyroc.engines._numpy import Runs


def mean_area_influences(predictions: Predictions, pairs: PairIndex) -> FloatArray:
    """What each sample adds to the mean area of the pairs, shape (n,); they sum to 0 within each class."""
    members = [np.flatnonzero(predictions.codes == c) for c in range(len(predictions.labels))]
    runs = Runs(predictions)
    wins = np.zeros(predictions.n_samples)
    for i, j in zip(pairs.positive, pairs.negative, strict=True):
        column = -1 if predictions.is_binary else int(i)
        # A sample of i wins against those of j below it, a sample of j against those of i above it; ties count half.
        wins[members[i]] += 1 - runs(j, column).share_above(predictions.scores[members[i], column])
        wins[members[j]] += runs(i, column).share_above(predictions.scores[members[j], column])
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    share = weight / predictions.class_weights[predictions.codes]
    mean = np.bincount(predictions.codes, share * wins, minlength=len(predictions.labels))
    influence: FloatArray = share * (wins - mean[predictions.codes]) / len(pairs)
    return influence


def covariance(influences: FloatArray, units: Units) -> FloatArray:
    """Covariance of statistics on the same samples, shape (m, m), from their influences, shape (m, n).

    Samples, or whole groups, are independent within their stratum; each stratum is scaled by u / (u - 1) as a
    sample variance is. A stratum of one unit shows no variation and adds nothing.
    """
    by_unit = np.array([np.bincount(units.unit, row, minlength=units.n_units) for row in influences])
    sizes = np.bincount(units.stratum)
    mean = np.array([np.bincount(units.stratum, row) for row in by_unit]) / np.maximum(sizes, 1)
    centred = by_unit - mean[:, units.stratum]
    scale = (sizes / np.maximum(sizes - 1, 1))[units.stratum]
    found: FloatArray = (centred * scale) @ centred.T
    return found


def standard_error(influences: FloatArray, units: Units) -> float:
    """Standard error of one statistic, or of the difference of two, from its influences."""
    return float(np.sqrt(covariance(influences[None], units)[0, 0]))
