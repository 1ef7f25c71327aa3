"""What rules cost under many cost matrices at once: passes over samples, in blocks of bounded memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import Frozen

# Rows (positions of samples) -> the class predicted for each under each matrix, shape (rows, R).
Predictor: TypeAlias = Callable[[IntArray], IntArray]

# Numbers that a block makes at once: 16 MB of them.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class CostSums(Frozen):
    """Costs of one rule under R matrices, summed over samples by their weights."""

    by_batch: FloatArray
    """Shape (G, R)."""
    by_class: FloatArray
    """Shape (k, R)."""
    made: BoolArray
    """Which classes are predicted at all, shape (R, k)."""
    per_sample: FloatArray
    """Mean over the matrices of what each sample costs, without its weight, shape (n,)."""


def bayes_classes(scores: FloatArray, costs: FloatArray, ratio: FloatArray) -> Predictor:
    """Bayes' rule: the class of the least expected cost, the first of equal ones.

    As `_predicted.cheapest`, for costs of shape (R, k, k); sums of probabilities need not be 1, because each row is
    only compared with itself.
    """
    n_matrices, k, _ = costs.shape
    side_by_side = np.ascontiguousarray(costs.transpose(1, 0, 2)).reshape(k, n_matrices * k)

    def predict(rows: IntArray) -> IntArray:
        p = np.maximum(scores[rows].astype(np.float64, copy=False), 0.0) * ratio
        # Where the prior rules out every class that has a probability, nothing is known: all classes that may occur.
        p = np.where(p.sum(axis=1, keepdims=True) > 0, p, ratio > 0)
        expected = (p @ side_by_side).reshape(len(rows), n_matrices, k)
        predicted: IntArray = np.argmin(expected, axis=2)
        return predicted

    return predict


def same_classes(predicted: IntArray, n_matrices: int) -> Predictor:
    """A rule that does not depend on the costs, from the classes it predicts, shape (n,)."""
    return lambda rows: np.broadcast_to(predicted[rows, None], (len(rows), n_matrices))


def known_classes(predicted: IntArray) -> Predictor:
    """Classes that were predicted before, shape (R, n)."""
    return lambda rows: predicted[:, rows].T


def cost_sums(
    predict: Predictor, codes: IntArray, weight: FloatArray, batch: IntArray, costs: FloatArray, n_batches: int
) -> CostSums:
    """Costs of a rule under each of R matrices, costs[matrix, true, predicted], by batches and by classes."""
    n_matrices, k, _ = costs.shape
    flat, starts = costs.ravel(), np.arange(n_matrices) * k * k
    by_batch, by_class = np.zeros((n_batches, n_matrices)), np.zeros((k, n_matrices))
    per_sample, made = np.empty(len(codes)), np.zeros(n_matrices * k, dtype=bool)
    order = np.argsort(batch, kind="stable")
    size = max(1, _BLOCK // (n_matrices * k))
    for start in range(0, len(codes), size):
        rows = order[start : start + size]
        predicted = predict(rows)
        made[starts // k + predicted] = True
        found = flat[starts + (codes[rows] * k)[:, None] + predicted]
        per_sample[rows] = found.mean(axis=1)
        weighed = found * weight[rows, None]
        firsts = np.flatnonzero(np.concatenate([[True], np.diff(batch[rows]) > 0]))
        # A batch may go on in the next block.
        by_batch[batch[rows[firsts]]] += np.add.reduceat(weighed, firsts, axis=0)
        by_class += (np.arange(k)[:, None] == codes[rows]) @ weighed
    return CostSums(by_batch, by_class, made.reshape(n_matrices, k), per_sample)
