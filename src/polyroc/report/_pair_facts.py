"""What is said of pairs in the summary: their facts, and which classes the heatmap shows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyroc._estimator._weights import pair_weights
from polyroc._lib.class_order import cluster_tree, leaves
from polyroc._lib.limits import HEATMAP_CELLS, HEATMAP_HARDEST
from polyroc._lib.typing import FloatArray, IntArray
from polyroc.evaluation._evaluation import Evaluation

# False positives that people are used to allow.
_READ_AT_FPR = 0.05


def operating_point(evaluation: Evaluation) -> dict[str, Any]:
    """The true positive rate at a false positive rate: of the shared curve, and of the pairs themselves.

    The pairs' are None where their rates were not kept, of many classes.
    """
    curve, at = evaluation.curve, _READ_AT_FPR
    point = {"fpr": at, "tpr": float(np.interp(at, curve.fpr, curve.tpr)), "pairs": None}
    rates = evaluation.fitted.kept_rates
    if evaluation.is_binary or rates is None:
        return point
    corner = np.zeros((1, rates.n_pairs))
    fpr, tpr = (np.vstack([corner, rate, corner + 1]).T for rate in (rates.fpr, rates.tpr))
    found = np.array([np.interp(at, x, y) for x, y in zip(fpr, tpr, strict=True)])
    return point | {"pairs": {"mean": float(found.mean()), "low": float(found.min()), "high": float(found.max())}}


def pair_costs(evaluation: Evaluation) -> list[float] | None:
    """What a pair's mistakes cost compared with the mean pair; None where costs and weights were not given.

    The mean of what it costs to miss the class and to predict it for another one, which D weighs by as well.
    """
    options = evaluation.fitted.options
    given = (options.costs, options.tpr_weights, options.fpr_weights)
    if evaluation.is_binary or all(matrix is None for matrix in given):
        return None
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, options)
    costs: list[float] = ((weights.tpr + weights.fpr) / 2).tolist()
    return costs


# A table of which more than this share is blank shows nothing.
_BLANK = 0.75
# A picture shows no more.
_TREE_DIGITS = 5


def heatmap_order(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Positions of the classes, those that models confuse side by side, and the tree that says so.

    Both None for two classes, and for a sample of so few of their pairs that hardly a cell would be filled.
    """
    nothing = {"heatmap_classes": None, "heatmap_tree": None}
    first = evaluations[0]
    if first.is_binary:
        return nothing
    areas: FloatArray = np.mean([evaluation.pairs.auc for evaluation in evaluations], axis=0)
    chosen: IntArray = np.flatnonzero(first.class_counts)
    if len(chosen) > HEATMAP_CELLS:
        chosen = _hardest(first, areas)
    table = _among(first, areas, chosen)
    if np.isnan(table).mean() > _BLANK:
        return nothing
    tree = cluster_tree(table)
    order = leaves(tree)
    return {"heatmap_classes": chosen[order].tolist(), "heatmap_tree": _joined(tree, order)}


def _joined(tree: FloatArray, order: IntArray) -> list[list[float]]:
    """Each step joins two, leaves by their place in the drawing or earlier steps, counted on, at a mean area."""
    n = len(order)
    place = np.empty(n, dtype=int)
    place[order] = np.arange(n)

    def number(one: float) -> int:
        return int(place[int(one)]) if one < n else int(one)

    return [[number(a), number(b), round(float(area), _TREE_DIGITS)] for a, b, area, _ in tree]


def _hardest(evaluation: Evaluation, areas: FloatArray) -> IntArray:
    """The classes whose pairs have the smallest areas on average."""
    pairs, n_classes = evaluation.fitted.pairs, len(evaluation.labels)
    total, count = np.zeros(n_classes), np.zeros(n_classes)
    for side in (pairs.positive, pairs.negative):
        total += np.bincount(side, areas, minlength=n_classes)
        count += np.bincount(side, minlength=n_classes)
    mean = np.divide(total, count, out=np.ones(n_classes), where=count > 0)
    return np.sort(np.argsort(mean, kind="stable")[:HEATMAP_HARDEST])


def _among(evaluation: Evaluation, areas: FloatArray, chosen: IntArray) -> FloatArray:
    """The areas of the pairs among some classes, as a table; never a table of all classes, who may be thousands."""
    place = np.full(len(evaluation.labels), -1)
    place[chosen] = np.arange(len(chosen))
    row, column = place[evaluation.fitted.pairs.positive], place[evaluation.fitted.pairs.negative]
    inside = (row >= 0) & (column >= 0)
    table = np.full((len(chosen), len(chosen)), np.nan)
    table[row[inside], column[inside]] = areas[inside]
    return table
