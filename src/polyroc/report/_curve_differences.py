"""How far the curves of two models lie apart, with a band: both vary with the same samples."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from polyroc._comparison import Comparison
from polyroc._lib._typing import Curve, FloatArray
from polyroc._uncertainty._curve_difference import (
    CurveDifference,
    CurveReplicates,
    curve_difference,
    replicates_of,
)
from polyroc._uncertainty._influence import paired_curve_draws
from polyroc._uncertainty._resampling import sampled_units

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
    if not comparison.bootstraps and any(one._why_no_band("shared") for one in evaluations.values()):
        return None
    shared = _differences(comparison, "shared", pairs)
    mean = [None] * len(pairs) if is_binary else [_plain(one) for one in _differences(comparison, "mean", pairs)]
    found = [
        {"first": first, "second": second, "curve": _plain(curve), "mean_curve": mean_curve}
        for (first, second), curve, mean_curve in zip(pairs, shared, mean, strict=True)
    ]
    return {"call_rate": _rounded(shared[0].call_rates), "level": comparison.confidence_level, "pairs": found}


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
    spreads = {name: one._point_spread(curve, units) for name, one in of.items()}
    curves = {name: one.curve if curve == "shared" else one.mean_curve for name, one in of.items()}
    found = []
    for first, second in pairs:
        drawn = paired_curve_draws(spreads[first], spreads[second], units)
        found.append((CurveReplicates(curves[first], *drawn[0]), CurveReplicates(curves[second], *drawn[1])))
    return found


def _plain(one: CurveDifference) -> dict[str, list[float]]:
    return {"value": _rounded(one.value), "low": _rounded(one.low), "high": _rounded(one.high)}


def _rounded(values: FloatArray) -> list[float]:
    # 0 has no sign.
    rounded: list[float] = (np.round(values, _DIGITS) + 0.0).tolist()
    return rounded
