"""Probabilities of single samples in 16 bits each, for a rule that is applied somewhere else."""

from dataclasses import dataclass

import numpy as np

from polyroc._core.predicted import confusion, highest, levels
from polyroc._core.samples import can_be_probabilities
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions

# Different numbers that are listed as they are, 128 kB: all that have four decimals, and all of small problems. Of a
# forest or of neighbours, expected costs are often equal, and then the last digit decides.
_MOST_VALUES = 2**14
# Probabilities below this count as much as this: costs of a millionth do not reach as far down.
_LEAST = 1e-20
_STEPS = 2**16 - 1


@dataclass(frozen=True, eq=False)
class CodedScores(Frozen):
    """Probabilities by their places in a list, or by equal steps of their logarithms."""

    codes: IntArray
    """Shape (n, k), from 0 to 65535."""
    values: FloatArray | None
    """The list; None where there are steps: code 0 stands for 0, and code c for exp(low + (c - 1) step)."""
    low: float = 0.0
    step: float = 0.0

    @property
    def decoded(self) -> FloatArray:
        """The probabilities that the codes stand for, shape (n, k)."""
        if self.values is not None:
            listed: FloatArray = self.values[self.codes]
            return listed
        return np.where(self.codes > 0, np.exp(self.low + (self.codes - 1) * self.step), 0.0)


@dataclass(frozen=True, eq=False)
class RuleScores(Frozen):
    """Input of two rules: counts of what the highest score predicts, and the scores if they are probabilities."""

    confusion: FloatArray
    """Sum of weights by true class (row) and class of the highest score (column), shape (k, k)."""
    scores: CodedScores | None
    """None for free scores, of which only the highest counts."""


def drawn_rows(n_samples: int, most: int, seed: int) -> IntArray | None:
    """A random sample of `most` rows in their order; None where there are no more."""
    if n_samples <= most:
        return None
    rows: IntArray = np.sort(np.random.default_rng(seed).choice(n_samples, most, replace=False))
    return rows


def rule_scores(predictions: Predictions, classes: IntArray, rows: IntArray | None) -> RuleScores:
    """Scores of some classes (columns) and samples (rows, None for all), and counts of what the highest predicts."""
    taken = slice(None) if rows is None else rows
    codes, scores = true_places(predictions, classes, rows), predictions.scores[taken][:, classes]
    # As `decide` compares them, so that rounding of logarithms decides alike.
    are_probabilities = can_be_probabilities(predictions)
    predicted = highest(levels(scores, on_log_scale=are_probabilities), np.zeros(len(classes)))
    weight = np.ones(len(codes)) if predictions.sample_weight is None else predictions.sample_weight[taken]
    found = confusion(codes, predicted, weight, (len(classes), len(classes)))
    return RuleScores(found, coded(scores) if are_probabilities else None)


def true_places(predictions: Predictions, classes: IntArray, rows: IntArray | None) -> IntArray:
    """The true class of each of these samples as a place in `classes`."""
    codes = predictions.codes if rows is None else predictions.codes[rows]
    places: IntArray = np.searchsorted(classes, codes)
    return places


def row_weights(predictions: Predictions, rows: IntArray | None) -> FloatArray | None:
    """Weights of these samples in units of the largest; None where all are 1."""
    if predictions.sample_weight is None:
        return None
    weight = predictions.sample_weight if rows is None else predictions.sample_weight[rows]
    scaled: FloatArray = weight / weight.max()
    return scaled


def coded(scores: FloatArray) -> CodedScores:
    """Probabilities in 16 bits each: exactly where they take few values, else to half a step of their logarithm.

    >>> coded(np.array([[0.0, 0.25, 0.75]])).decoded.tolist()
    [[0.0, 0.25, 0.75]]
    """
    p = np.maximum(scores.astype(np.float64), 0.0)
    values, places = np.unique(p, return_inverse=True)
    if len(values) <= _MOST_VALUES:
        return CodedScores(places.reshape(p.shape), values)
    least = max(float(values[values > 0][0]), _LEAST)
    low, high = float(np.log(least)), float(np.log(values[-1]))
    step = (high - low) / (_STEPS - 1)
    whole = np.rint((np.log(np.maximum(p, least)) - low) / step).astype(np.intp) + 1
    return CodedScores(np.where(p > 0, whole, 0), None, low, step)
