"""Which class a rule names for each sample: passes over the scores, one row of numbers per class.

Rules with offsets name the highest of z_j + b_j, the first of equal ones. z are the logarithms of probabilities, or
free scores as they are; b are the offsets. Bayes' rule names the class of the least expected cost.
"""

import numpy as np

from polyroc._lib._typing import FloatArray, IntArray

# A probability of 0 has no logarithm. It counts as the smallest normal number of double precision, below all others:
# the same for every sample and every later sample, so that the rule stays one rule.
FLOOR = float(np.finfo(np.float64).tiny)
# As much as rounding may move a probability in a file.
_ROUNDED = 0.02
# Samples per pass: what a pass makes of them fits in the cache.
_ROWS_AT_ONCE = 16_384


def looks_like_probabilities(scores: FloatArray) -> bool:
    """Whether later scores can be of the same kind as probabilities; more may be rounded off few rows than off many."""
    if scores.min() < -_ROUNDED or scores.max() > 1 + _ROUNDED:
        return False
    if scores.shape[1] == 1:
        return True
    return bool(np.mean(np.abs(scores.sum(axis=1, dtype=np.float64) - 1)) <= 5 * _ROUNDED)


def two_columns(scores: FloatArray, *, are_probabilities: bool) -> FloatArray:
    """Scores with a column per class: of a single column, its complement or 0 is the score of the first class."""
    if scores.shape[1] > 1:
        return scores
    second = scores[:, 0].astype(np.float64, copy=False)
    return np.column_stack([1 - second if are_probabilities else np.zeros(len(second)), second])


def levels(scores: FloatArray, *, on_log_scale: bool, abstains: bool = False) -> FloatArray:
    """z, shape (k, n), or (k + 1, n) with a last row of zeros where a rule may abstain."""
    n, k = scores.shape
    z = np.empty((k + abstains, n))
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        z[:k, rows] = scores[rows].T
    if on_log_scale:
        np.maximum(z[:k], FLOOR, out=z[:k])
        np.log(z[:k], out=z[:k])
    if abstains:
        z[k] = 0.0
    return z


def highest(z: FloatArray, offsets: FloatArray) -> IntArray:
    """The row with the highest z + b for each sample, the first of equal ones, shape (n,)."""
    n = z.shape[1]
    named = np.zeros(n, dtype=np.intp)
    for start in range(0, n, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        top, which = z[0, part] + offsets[0], named[part]
        # Row by row: `argmax` along the rows would go through memory across them.
        for j in range(1, len(z)):
            level = z[j, part] + offsets[j]
            np.copyto(which, j, where=level > top)
            np.maximum(top, level, out=top)
    return named


def cheapest(scores: FloatArray, costs: FloatArray, ratio: FloatArray, reject_cost: float | None) -> IntArray:
    """The class of the least expected cost for each sample, the first of equal ones; k where abstaining costs less."""
    named = np.empty(len(scores), dtype=np.intp)
    for start in range(0, len(scores), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        expected = expected_costs(scores[rows], costs, ratio)
        choice = np.argmin(expected, axis=1)
        if reject_cost is not None:
            choice[expected.min(axis=1) > reject_cost] = len(costs)
        named[rows] = choice
    return named


def expected_costs(scores: FloatArray, costs: FloatArray, ratio: FloatArray) -> FloatArray:
    """What naming each class is expected to cost for each sample, shape (n, k).

    Probabilities are multiplied by the ratio of each class's prior to its prevalence, and made to sum to 1 again.
    """
    p = np.maximum(scores.astype(np.float64, copy=False), 0.0) * ratio
    total = p.sum(axis=1, keepdims=True)
    # Where the prior rules out every class that has a probability, nothing is known: all classes that may occur.
    p = np.where(total > 0, p, ratio > 0)
    expected: FloatArray = (p / p.sum(axis=1, keepdims=True)) @ costs
    return expected


def confusion(codes: IntArray, named: IntArray, weight: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Sum of weights by true (row) and named (column) class."""
    flat = np.bincount(codes * shape[1] + named, weight, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(float, copy=False)


def costs_of(codes: IntArray, named: IntArray, costs: FloatArray) -> FloatArray:
    """What naming each sample's class as it was named costs, shape (n,)."""
    found: FloatArray = costs.ravel()[codes * costs.shape[1] + named]
    return found
