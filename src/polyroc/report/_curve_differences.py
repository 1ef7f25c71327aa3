"""How far the curves of two models lie apart, with a band: both were resampled together."""

from itertools import combinations
from typing import Any

import numpy as np

from polyroc._comparison import Comparison
from polyroc._lib._typing import Curve, FloatArray
from polyroc._uncertainty._bootstrap import BootstrapResult
from polyroc._uncertainty._curve_difference import CurveDifference, curve_difference

# All pairs of five models; of more models, those with the best come first.
_MOST_PAIRS = 10
_DIGITS = 6


def curve_differences(comparison: Comparison) -> dict[str, Any] | None:
    """First minus second, of the shared and of the mean curves; None where no resamples were drawn."""
    drawn = comparison.bootstraps
    if len(drawn) < 2:
        return None
    best_first = sorted(drawn, key=lambda name: -comparison.evaluations[name].auc)
    found: list[dict[str, Any]] = []
    call_rates: FloatArray = np.empty(0)
    for first, second in list(combinations(best_first, 2))[:_MOST_PAIRS]:
        shared = _difference(drawn[first], drawn[second], comparison, "shared")
        is_binary = comparison.evaluations[first].is_binary
        mean = None if is_binary else _difference(drawn[first], drawn[second], comparison, "mean")
        call_rates = shared.call_rates
        found.append(
            {
                "first": first,
                "second": second,
                "curve": _plain(shared),
                "mean_curve": None if mean is None else _plain(mean),
            }
        )
    return {"call_rate": _rounded(call_rates), "level": comparison.confidence_level, "pairs": found}


def _difference(
    first: BootstrapResult, second: BootstrapResult, comparison: Comparison, curve: Curve
) -> CurveDifference:
    return curve_difference(first, second, curve=curve, confidence_level=comparison.confidence_level)


def _plain(one: CurveDifference) -> dict[str, list[float]]:
    return {"value": _rounded(one.value), "low": _rounded(one.low), "high": _rounded(one.high)}


def _rounded(values: FloatArray) -> list[float]:
    # 0 has no sign.
    rounded: list[float] = (np.round(values, _DIGITS) + 0.0).tolist()
    return rounded
