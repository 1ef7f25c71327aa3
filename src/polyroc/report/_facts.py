"""Numbers that only a report needs: facts of pairs, classes of the heatmap, and how far two curves lie apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from polyroc._core.curve import RocCurve
from polyroc._core.weights import pair_weights
from polyroc._lib.axes import cluster_tree, leaves
from polyroc._lib.limits import HEATMAP_CELLS, HEATMAP_HARDEST
from polyroc._lib.typing import Curve, FloatArray, IntArray
from polyroc._records import Frozen
from polyroc._uncertainty.band import band_lines, heights, heights_of_replicates, unseen_share
from polyroc._uncertainty.bootstrap import BootstrapResult
from polyroc._uncertainty.influence import paired_curve_draws
from polyroc._uncertainty.units import sampled_units
from polyroc.evaluation._comparison import Comparison
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
    tpr_there = np.array([np.interp(at, x, y) for x, y in zip(fpr, tpr, strict=True)])
    return point | {
        "pairs": {"mean": float(tpr_there.mean()), "low": float(tpr_there.min()), "high": float(tpr_there.max())}
    }


def pair_costs(evaluation: Evaluation) -> list[float] | None:
    """Cost of each pair's mistakes compared with the mean pair; None if no costs or weights were given.

    The mean of what it costs to miss the class and to predict it for another one, which D weighs by as well.
    """
    options = evaluation.fitted.options
    matrices = (options.costs, options.tpr_weights, options.fpr_weights)
    if evaluation.is_binary or all(matrix is None for matrix in matrices):
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


@dataclass(frozen=True, eq=False)
class CurveDifference(Frozen):
    """TPR of the first curve minus TPR of the second at equal call rates, each with an interval of its own."""

    call_rates: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


class CurveReplicates(NamedTuple):
    """A curve and its replicates, without their corners, shape (n_replicates, n_call_rates)."""

    curve: RocCurve
    fpr: FloatArray
    tpr: FloatArray

    def tpr_at(self, lines: FloatArray) -> FloatArray:
        """TPR where the curve cuts the lines, of which TPR - FPR has twice the differences."""
        return lines + heights(self.curve.fpr, self.curve.tpr, lines) / 2

    def replicates_at(self, lines: FloatArray) -> FloatArray:
        return lines + heights_of_replicates(self.fpr, self.tpr, lines) / 2


def replicates_of(drawn: BootstrapResult, curve: Curve) -> CurveReplicates:
    """One of the two curves of resamples."""
    if curve == "shared":
        return CurveReplicates(drawn.curve, drawn.fpr, drawn.tpr)
    assert drawn.mean_fpr is not None
    assert drawn.mean_tpr is not None
    return CurveReplicates(drawn.mean_curve, drawn.mean_fpr, drawn.mean_tpr)


def curve_difference(
    first: CurveReplicates, second: CurveReplicates, *, n_independent: int, confidence_level: float
) -> CurveDifference:
    """The difference of two models whose replicates were drawn together, with a pointwise band."""
    lines = band_lines()
    tail = (1 - confidence_level) / 2
    observed = [one.tpr_at(lines) for one in (first, second)]
    value = observed[0] - observed[1]
    of_first = first.replicates_at(lines)
    replicates = of_first - second.replicates_at(lines)
    # Points of a curve are biased at kinks. The replicates show how much, but not surely: as in the band of a curve,
    # half of it moves the centre, and all of it widens the band.
    bias = replicates.mean(axis=0) - value
    reach = -float(ndtri(tail)) * np.hypot(replicates.std(axis=0, ddof=1), bias)
    low, high = (value - bias / 2 + side * reach for side in (-1, 1))
    # The same scores have the same errors, also those that are not seen. Curves that never vary do not show it.
    if np.any(replicates) or np.any(value) or not np.any(np.ptp(of_first, axis=0)):
        unseen = unseen_share(tail, n_independent)
        falls, rises = zip(*(_may_move(tpr, lines, unseen) for tpr in observed), strict=True)
        low = np.minimum(low, value - np.maximum(falls[0], rises[1]))
        high = np.maximum(high, value + np.maximum(rises[0], falls[1]))
    room = 2 * np.minimum(lines, 1 - lines)
    return CurveDifference(
        call_rates=lines, value=value, low=np.clip(low, -room, room), high=np.clip(high, -room, room)
    )


def _may_move(tpr: FloatArray, lines: FloatArray, unseen: float) -> tuple[FloatArray, FloatArray]:
    """How far errors that are not seen may move a curve down and up: one that is nearer to an end than they are."""
    most = np.minimum(2 * lines, 1.0)
    least = np.maximum(2 * lines - 1, 0.0)
    return np.where(most - tpr < unseen, unseen, 0.0), np.where(tpr - least < unseen, unseen, 0.0)


# All pairs of five models; of more models, those with the best come first.
_MOST_PAIRS = 10
# Samples times pairs up to which drawing both curves together takes some seconds.
_QUICK_PAIRS = 100_000
_DIGITS = 6


def curve_differences(comparison: Comparison) -> dict[str, Any] | None:
    """First minus second, of the shared and of the mean curves; None where bands would need resamples of their own."""
    evaluations = comparison.evaluations
    best_first = sorted(evaluations, key=lambda name: -evaluations[name].auc)
    n_samples = evaluations[best_first[0]].n_samples
    most = _MOST_PAIRS if comparison.bootstraps else min(_MOST_PAIRS, _QUICK_PAIRS // n_samples)
    pairs = list(combinations(best_first, 2))[:most]
    is_binary = evaluations[best_first[0]].is_binary
    if not pairs:
        return None
    if not comparison.bootstraps and any(one.uncertainty.why_no_band("shared") for one in evaluations.values()):
        return None
    shared = _differences(comparison, "shared", pairs)
    mean = [None] * len(pairs) if is_binary else [_plain(one) for one in _differences(comparison, "mean", pairs)]
    records = [
        {"first": first, "second": second, "curve": _plain(curve), "mean_curve": mean_curve}
        for (first, second), curve, mean_curve in zip(pairs, shared, mean, strict=True)
    ]
    return {"call_rate": _rounded(shared[0].call_rates), "level": comparison.confidence_level, "pairs": records}


def _differences(comparison: Comparison, curve: Curve, pairs: Sequence[tuple[str, str]]) -> list[CurveDifference]:
    level, least = comparison.confidence_level, comparison.n_independent
    if comparison.bootstraps:
        drawn = {name: replicates_of(one, curve) for name, one in comparison.bootstraps.items()}
        paired = [(drawn[first], drawn[second]) for first, second in pairs]
    else:
        paired = _drawn_pairs(comparison, curve, pairs)
    return [curve_difference(*both, n_independent=least, confidence_level=level) for both in paired]


def _drawn_pairs(
    comparison: Comparison, curve: Curve, pairs: Sequence[tuple[str, str]]
) -> list[tuple[CurveReplicates, CurveReplicates]]:
    """Curves drawn together from what the same samples add to both."""
    units = sampled_units(comparison.units)
    of = {name: comparison.evaluations[name] for pair in pairs for name in pair}
    spreads = {name: one.uncertainty.point_spread(curve, units) for name, one in of.items()}
    curves = {name: one.curve if curve == "shared" else one.mean_curve for name, one in of.items()}
    paired = []
    for first, second in pairs:
        drawn = paired_curve_draws(spreads[first], spreads[second], units)
        paired.append((CurveReplicates(curves[first], *drawn[0]), CurveReplicates(curves[second], *drawn[1])))
    return paired


def _plain(one: CurveDifference) -> dict[str, list[float]]:
    return {"value": _rounded(one.value), "low": _rounded(one.low), "high": _rounded(one.high)}


def _rounded(values: FloatArray) -> list[float]:
    # 0 has no sign.
    rounded: list[float] = (np.round(values, _DIGITS) + 0.0).tolist()
    return rounded
