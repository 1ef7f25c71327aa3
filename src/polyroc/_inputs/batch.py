"""One batch of many -> coded labels and finite scores of classes that are known beforehand."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError
from polyroc._inputs.labels import encoded
from polyroc._inputs.predictions import as_scores, weights_of
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._records import Frozen


@dataclass(frozen=True, eq=False)
class Batch(Frozen):
    """Some of the samples; those of weight 0 are already gone."""

    codes: IntArray
    """True class of each sample as a position in the labels, shape (n,)."""
    columns: tuple[FloatArray, ...]
    """Scores of each column, shape (n,) each, all of one type; a single column of two classes."""
    weight: FloatArray | None
    kept: "np.ndarray[Any, np.dtype[np.bool_]] | None" = None
    """Which of the samples that came are here, where some had weight 0."""

    def __len__(self) -> int:
        return len(self.codes)


def as_batch(y_true: Any, y_score: Any, labels: LabelArray, sample_weight: Any = None) -> Batch | None:
    """A batch that may lack classes; None where it has no sample that counts."""
    if is_empty(y_true):
        return None
    truth, scores = read_labels(y_true, "y_true"), as_scores(y_score, labels)
    if len(scores) != len(truth):
        came = f"shape {scores.shape} and {len(truth)} labels in `y_true`"
        raise InputError("y_score", "must have one row per label", came)
    codes = encoded(truth, labels.tolist()).astype(np.int32, copy=False)
    if sample_weight is None:
        return Batch(codes, tuple(scores.T), None)
    weight = weights_of(sample_weight, len(truth))
    kept = weight > 0
    if kept.all():
        return Batch(codes, tuple(scores.T), weight)
    return Batch(codes[kept], tuple(scores[kept].T), weight[kept], kept) if kept.any() else None


def groups_of(batch: Batch, groups: Any) -> LabelArray:
    """Group of each sample of a batch; `groups` has one entry for each sample that came."""
    named = read_labels(groups, "groups")
    n_given = len(batch) if batch.kept is None else len(batch.kept)
    if len(named) != n_given:
        raise InputError("groups", f"must have one entry per sample, {n_given}", f"{len(named)}")
    return named if batch.kept is None else named[batch.kept]


def is_empty(y_true: Any) -> bool:
    """Whether a batch has no samples."""
    try:
        return len(y_true) == 0
    except TypeError:  # whatever has no length is refused by name later
        return False
