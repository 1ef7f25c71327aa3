"""Which class a rule predicts for each sample: passes over the scores, one row of numbers per class.

Rules with offsets name the highest of z_j + b_j, the first of equal ones. z are the logarithms of probabilities, minus
the logarithms of expected costs, or free scores as they are; b are the offsets. Bayes' rule predicts the class of the
least expected cost: the highest of z_j, where z comes from expected costs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._core.samples import predicted_classes, row_notes
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions, Source

# A probability or an expected cost of 0 has no logarithm. It counts as the smallest normal number of double precision,
# below all others: the same for every sample and every later sample, so that the rule stays one rule.
FLOOR = float(np.finfo(np.float64).tiny)
# Costs of a row that differ by less than this part of the widest row are equal but for rounding.
_SAME_COST = 1e-12
# Samples per pass: what a pass makes of them fits in the cache.
_ROWS_AT_ONCE = 16_384


def two_columns(scores: FloatArray, *, are_probabilities: bool) -> FloatArray:
    """Scores with a column per class: of a single column, its complement or 0 is the score of the first class."""
    if scores.shape[1] > 1:
        return scores
    second = scores[:, 0].astype(np.float64, copy=False)
    return np.column_stack([1 - second if are_probabilities else np.zeros(len(second)), second])


def levels(scores: FloatArray, *, on_log_scale: bool) -> FloatArray:
    """Levels z from scores alone, shape (k, n)."""
    n, k = scores.shape
    z = np.empty((k, n))
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        z[:, rows] = scores[rows].T
    if on_log_scale:
        np.maximum(z, FLOOR, out=z)
        np.log(z, out=z)
    return z


def cost_levels(scores: FloatArray, costs: FloatArray, ratio: FloatArray) -> FloatArray:
    """Levels z from expected costs, shape (m, n), for costs[true, predicted] of shape (k, m)."""
    n, m = len(scores), costs.shape[1]
    z, scaled = np.empty((m, n)), above_least(costs)
    # True classes are summed over in an order of their costs, so that the order of the columns changes no last bit.
    order = np.lexsort([*np.sort(scaled, axis=1).T, ratio])
    scaled, ratio = scaled[order], ratio[order]
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        z[:, rows] = expected_costs(scores[rows][:, order], scaled, ratio).T
    np.maximum(z, FLOOR, out=z)
    np.log(z, out=z)
    return np.negative(z, out=z)


def above_least(costs: FloatArray) -> FloatArray:
    """Costs above the least of their row, in units of the highest.

    A constant on a row and the unit of the costs change no rule. Without them no expected cost is negative, and
    rounding is known to be 1e-16.
    """
    above: FloatArray = costs - costs.min(axis=1, keepdims=True)
    above /= above.max()
    return above


def are_by_true_class(costs: FloatArray) -> bool:
    """Whether, but for rounding, every mistake about a class costs the same, whatever is predicted instead."""
    k = len(costs)
    mistakes = costs[~np.eye(k, dtype=bool)].reshape(k, k - 1)
    return bool(np.ptp(mistakes, axis=1).max() <= _SAME_COST * np.ptp(costs, axis=1).max())


def highest(z: FloatArray, offsets: FloatArray) -> IntArray:
    """The row with the highest z + b for each sample, the first of equal ones, shape (n,)."""
    n = z.shape[1]
    predicted = np.zeros(n, dtype=np.intp)
    for start in range(0, n, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        top, which = z[0, part] + offsets[0], predicted[part]
        # Row by row: `argmax` along the rows would go through memory across them.
        for j in range(1, len(z)):
            level = z[j, part] + offsets[j]
            np.copyto(which, j, where=level > top)
            np.maximum(top, level, out=top)
    return predicted


def cheapest(scores: FloatArray, costs: FloatArray, ratio: FloatArray, reject_cost: float | None) -> IntArray:
    """The class of the least expected cost for each sample, the first of equal ones; k where abstaining costs less."""
    # As offsets of 0 name them, so that tuned offsets contain this rule also where expected costs are equal.
    z = cost_levels(scores, with_reject(costs, reject_cost), ratio)
    return highest(z, np.zeros(len(z)))


def with_reject(costs: FloatArray, reject_cost: float | None) -> FloatArray:
    """costs[true, predicted] with a last column for abstaining, where that is allowed."""
    if reject_cost is None:
        return costs
    return np.column_stack([costs, np.full(len(costs), reject_cost)])


def expected_costs(scores: FloatArray, costs: FloatArray, ratio: FloatArray) -> FloatArray:
    """What each column of costs[true, predicted] is expected to cost for each sample, shape (n, m).

    Probabilities are multiplied by the ratio of each class's prior to its prevalence, and made to sum to 1 again.
    """
    p = np.maximum(scores.astype(np.float64, copy=False), 0.0) * ratio
    total = p.sum(axis=1, keepdims=True)
    # Where the prior rules out every class that has a probability, nothing is known: all classes that may occur.
    p = np.where(total > 0, p, ratio > 0)
    expected: FloatArray = (p / p.sum(axis=1, keepdims=True)) @ costs
    return expected


def confusion(codes: IntArray, predicted: IntArray, weight: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Sum of weights by true (row) and predicted (column) class."""
    flat = np.bincount(codes * shape[1] + predicted, weight, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(float, copy=False)


def costs_of(codes: IntArray, predicted: IntArray, costs: FloatArray) -> FloatArray:
    """Cost of each sample's predicted class, shape (n,)."""
    found: FloatArray = costs.ravel()[codes * costs.shape[1] + predicted]
    return found


@dataclass(frozen=True, eq=False)
class PredictedCounts(Frozen):
    """Counts of predicted classes, those of the highest columns; NaN where nothing was counted."""

    n_predicted: IntArray
    """How often each class is predicted, shape (k,)."""
    recall: FloatArray
    """Share of each class that is predicted correctly, by weight, shape (k,)."""
    precision: FloatArray
    """Share of correct predictions among those of each class, by weight, shape (k,)."""
    mistaken_for: IntArray
    """The class most often predicted wrongly for each one, the first of several; -1 where none is."""
    mistaken_share: FloatArray
    """Share of each class for which that one is predicted, by weight, shape (k,)."""

    @classmethod
    def of(cls, predictions: Predictions) -> "PredictedCounts":
        codes, predicted, k = predictions.codes, predicted_classes(predictions), len(predictions.labels)
        # By the largest weight, so that no sum is beyond all floats; only ratios matter.
        weight = relative_weights(predictions)
        right = np.bincount(codes, weight * (codes == predicted), minlength=k)
        mistaken_for, wrong = _most_mistaken(codes, predicted, weight, k)
        total = np.bincount(codes, weight, minlength=k)
        return cls(
            n_predicted=np.bincount(predicted, minlength=k),
            recall=_share(right, total),
            precision=_share(right, np.bincount(predicted, weight, minlength=k)),
            mistaken_for=mistaken_for,
            mistaken_share=_share(wrong, total),
        )


def predicted_counts(source: Source) -> PredictedCounts:
    """Counts of predicted classes, from samples or from a table of them."""
    if isinstance(source, Predictions):
        return PredictedCounts.of(source)
    noted, k = row_notes(source), len(source.labels)
    table = noted.confusion.astype(float)
    wrong = table - np.diag(np.diag(table))
    most = wrong.argmax(axis=1)
    times = wrong[np.arange(k), most]
    total = table.sum(axis=1)
    return PredictedCounts(
        n_predicted=noted.times,
        recall=_share(np.diag(table), total),
        precision=_share(np.diag(table), table.sum(axis=0)),
        mistaken_for=np.where(times > 0, most, -1),
        mistaken_share=np.where(total > 0, _share(times, total), np.nan),
    )


def relative_weights(predictions: Predictions) -> FloatArray:
    """Weights of the samples over the largest of them, shape (n,)."""
    if predictions.sample_weight is None:
        return np.ones(predictions.n_samples)
    relative: FloatArray = predictions.sample_weight / predictions.sample_weight.max()
    return relative


def _most_mistaken(codes: IntArray, predicted: IntArray, weight: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """The class most often predicted wrongly for each, and how often by weight; of 10,000 classes no table of all."""
    wrong = codes != predicted
    cell, place = np.unique(codes[wrong] * k + predicted[wrong], return_inverse=True)
    times = np.bincount(place, weight[wrong], minlength=len(cell))
    # The most frequent of each class first, and of equal ones that which comes first in the order of the labels.
    order = np.lexsort((cell, -times, cell // k))
    classes, first = np.unique(cell[order] // k, return_index=True)
    most, share = np.full(k, -1), np.zeros(k)
    most[classes], share[classes] = cell[order][first] % k, times[order][first]
    return most, share


def _share(part: Any, total: Any) -> FloatArray:
    # Sums of the same weights in the same order, so that a part that is everything is exactly 1.
    found: FloatArray = np.divide(part, total, out=np.full(len(total), np.nan), where=total > 0)
    return found
