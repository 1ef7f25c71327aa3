"""Which classes are named for which: recall, precision, and where the mistakes of a class go."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._engines._samples import named_classes, row_notes
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions, Source


@dataclass(frozen=True, eq=False)
class Named(Frozen):
    """Counts of the class that is named for each sample, that of its highest column; NaN where nothing was counted."""

    n_named: IntArray
    """How often each class is named, shape (k,)."""
    recall: FloatArray
    """Share of each class that is named right, by weight, shape (k,)."""
    precision: FloatArray
    """Share of what is named so that is of that class, by weight, shape (k,)."""
    mistaken_for: IntArray
    """The class that is most often named wrongly for each one, the first of several; -1 where none is."""
    mistaken_share: FloatArray
    """Share of each class for which that one is named, by weight, shape (k,)."""

    @classmethod
    def of(cls, predictions: Predictions) -> "Named":
        codes, named, k = predictions.codes, named_classes(predictions), len(predictions.labels)
        # By the largest weight, so that no sum is beyond all floats; only ratios matter.
        weight = relative_weights(predictions)
        right = np.bincount(codes, weight * (codes == named), minlength=k)
        mistaken_for, wrong = _most_mistaken(codes, named, weight, k)
        total = np.bincount(codes, weight, minlength=k)
        return cls(
            n_named=np.bincount(named, minlength=k),
            recall=_share(right, total),
            precision=_share(right, np.bincount(named, weight, minlength=k)),
            mistaken_for=mistaken_for,
            mistaken_share=_share(wrong, total),
        )


def named_of(source: Source) -> Named:
    """Counts of what is named, from samples or from a table of them."""
    if isinstance(source, Predictions):
        return Named.of(source)
    noted, k = row_notes(source), len(source.labels)
    table = noted.confusion.astype(float)
    wrong = table - np.diag(np.diag(table))
    most = wrong.argmax(axis=1)
    times = wrong[np.arange(k), most]
    total = table.sum(axis=1)
    return Named(
        n_named=noted.times,
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


def _most_mistaken(codes: IntArray, named: IntArray, weight: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """The class most often named wrongly for each, and how often by weight; of 10,000 classes no table of all."""
    wrong = codes != named
    cell, place = np.unique(codes[wrong] * k + named[wrong], return_inverse=True)
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
