"""Which classes a heatmap shows, and in which order: of very many, the hardest."""

from collections.abc import Sequence

import numpy as np

from polyroc._evaluation import Evaluation
from polyroc._lib._typing import FloatArray, IntArray
from polyroc.display._class_order import MANY_CLASSES, clustered

# Beyond this, cells are smaller than a pointer can point at.
_MOST_CLASSES = 150
_HARDEST = 100
# A table of which more than this share is blank shows nothing.
_BLANK = 0.75


def heatmap_classes(evaluations: Sequence[Evaluation]) -> list[int] | None:
    """Positions of the classes, those that models take for each other side by side.

    None for two classes, and for a sample of so few of their pairs that hardly a cell would be filled.
    """
    first = evaluations[0]
    if first.predictions.is_binary:
        return None
    areas: FloatArray = np.mean([evaluation.pairs.auc for evaluation in evaluations], axis=0)
    chosen: IntArray = np.flatnonzero(first.class_counts)
    if len(chosen) > _MOST_CLASSES:
        chosen = _hardest(first, areas)
    table = _among(first, areas, chosen)
    if np.isnan(table).mean() > _BLANK:
        return None
    if len(chosen) > MANY_CLASSES:
        chosen = chosen[clustered(table)]
    positions: list[int] = chosen.tolist()
    return positions


def _hardest(evaluation: Evaluation, areas: FloatArray) -> IntArray:
    """The classes whose pairs have the smallest areas on average."""
    pairs, n_classes = evaluation.pair_index, len(evaluation.labels)
    total, count = np.zeros(n_classes), np.zeros(n_classes)
    for side in (pairs.positive, pairs.negative):
        total += np.bincount(side, areas, minlength=n_classes)
        count += np.bincount(side, minlength=n_classes)
    mean = np.divide(total, count, out=np.ones(n_classes), where=count > 0)
    return np.sort(np.argsort(mean, kind="stable")[:_HARDEST])


def _among(evaluation: Evaluation, areas: FloatArray, chosen: IntArray) -> FloatArray:
    """The areas of the pairs among some classes, as a table; never a table of all classes, who may be thousands."""
    place = np.full(len(evaluation.labels), -1)
    place[chosen] = np.arange(len(chosen))
    row, column = place[evaluation.pair_index.positive], place[evaluation.pair_index.negative]
    inside = (row >= 0) & (column >= 0)
    table = np.full((len(chosen), len(chosen)), np.nan)
    table[row[inside], column[inside]] = areas[inside]
    return table
