"""Outcome of each sample: whether the true class is near the top, and how far its probabilities are off."""

from collections.abc import Iterator

import numpy as np

from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import Predictions

# Numbers of a block of rows, so that temporaries stay in the cache.
_BLOCK = 1 << 19


def sample_shares(predictions: Predictions) -> FloatArray:
    """Share of each sample in the weight of all, shape (n,)."""
    weight = predictions.sample_weight
    if weight is None:
        return np.full(predictions.n_samples, 1 / predictions.n_samples)
    # By the largest first, so that the sum neither overflows nor vanishes.
    relative = weight / weight.max()
    shares: FloatArray = relative / relative.sum()
    return shares


def within_top(predictions: Predictions, n_first: int) -> BoolArray:
    """Whether the column of the true class is among the highest few, shape (n,).

    Of equal columns the last one comes first, as in scikit-learn's `top_k_accuracy_score`.
    """
    columns = np.arange(predictions.n_columns)
    found = np.empty(predictions.n_samples, dtype=bool)
    for rows in _blocks(predictions):
        scores, codes = predictions.scores[rows], predictions.codes[rows]
        own = scores[np.arange(len(codes)), codes][:, None]
        ahead = (scores > own) | ((scores == own) & (columns > codes[:, None]))
        found[rows] = np.count_nonzero(ahead, axis=1) < n_first
    return found


def squared_losses(predictions: Predictions) -> FloatArray:
    """Squared distance of each row of probabilities from its class, summed over the columns, shape (n,)."""
    found = np.empty(predictions.n_samples)
    for rows in _blocks(predictions):
        errors = _errors(predictions, rows)
        found[rows] = np.einsum("ij,ij->i", errors, errors)
    return found


def log_losses(predictions: Predictions) -> FloatArray:
    """Minus the logarithm of the probability of the true class, shape (n,).

    Probabilities nearer to 0 or 1 than the precision of their type are moved there, as scikit-learn does.
    """
    own = predictions.scores[np.arange(predictions.n_samples), predictions.codes]
    least = np.finfo(own.dtype).eps
    losses: FloatArray = -np.log(np.clip(own, least, 1 - least).astype(float))
    return losses


def calibration_gaps(
    predictions: Predictions, share: FloatArray, n_bins: int, unit: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """By how much each bin of each column promises too little, as a share of all samples, shape (k, n_bins).

    And the variance of that; with groups by their sums, `unit` being the group of each sample.
    """
    n_columns = predictions.n_columns
    gaps: FloatArray = np.zeros(n_columns * n_bins)
    variance: FloatArray = np.zeros_like(gaps)
    for rows in _blocks(predictions):
        where = _bins(predictions, rows, n_bins).ravel()
        parts = (share[rows, None] * _errors(predictions, rows)).ravel()
        gaps = gaps + np.bincount(where, parts, minlength=len(gaps))
        if unit is None:
            variance = variance + np.bincount(where, parts**2, minlength=len(gaps))
    if unit is not None:
        variance = _variance_by_groups(predictions, share, n_bins, unit)
    return gaps.reshape(n_columns, n_bins), variance.reshape(n_columns, n_bins)


def signed_errors(predictions: Predictions, sign: FloatArray) -> FloatArray:
    """Sum of each row over its bins, each bin counted with its sign, shape (n,); `sign` has the shape (k, n_bins)."""
    found = np.empty(predictions.n_samples)
    flat = sign.ravel()
    for rows in _blocks(predictions):
        found[rows] = np.einsum("ij,ij->i", flat[_bins(predictions, rows, sign.shape[1])], _errors(predictions, rows))
    return found


def _variance_by_groups(predictions: Predictions, share: FloatArray, n_bins: int, unit: IntArray) -> FloatArray:
    found = []
    for column in range(predictions.n_columns):
        score = predictions.scores[:, column].astype(float)
        place = unit * n_bins + np.minimum((score * n_bins).astype(np.intp), n_bins - 1)
        summed = np.bincount(place, share * ((predictions.codes == column) - score), minlength=n_bins)
        padded = np.zeros(-(-len(summed) // n_bins) * n_bins)
        padded[: len(summed)] = summed
        found.append((padded.reshape(-1, n_bins) ** 2).sum(axis=0))
    return np.concatenate(found)


def _blocks(predictions: Predictions) -> Iterator[slice]:
    size = max(1, _BLOCK // predictions.n_columns)
    return (slice(start, start + size) for start in range(0, predictions.n_samples, size))


def _errors(predictions: Predictions, rows: slice) -> FloatArray:
    """One in the column of the true class and zero elsewhere, less the probabilities."""
    errors: FloatArray = -predictions.scores[rows].astype(float)
    errors[np.arange(len(errors)), predictions.codes[rows]] += 1
    return errors


def _bins(predictions: Predictions, rows: slice, n_bins: int) -> IntArray:
    """Bin of each probability, of equal width, those of one column after those of another; 1 is in the last bin."""
    scores = predictions.scores[rows]
    bins = np.minimum((scores.astype(float) * n_bins).astype(np.intp), n_bins - 1)
    bins += n_bins * np.arange(scores.shape[1])
    return bins
