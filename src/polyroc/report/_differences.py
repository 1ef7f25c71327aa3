"""The dict -> the differences of the models as they are drawn: whiskers around zero, the largest difference first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyroc._lib._axis import Axis, difference_axis
from polyroc._lib._numbers import difference_and_ends, p_value
from polyroc.report._names import Name, model_names

# Of more models, 45 pairs and more, those with the leader are drawn; the rest is folded.
_MOST_MODELS = 10


@dataclass(frozen=True)
class _Difference:
    """Two models, so turned that the first has the larger area."""

    first: str
    second: str
    value: float
    low: float
    high: float
    p_value_holm: float


def drawn_differences(summary: dict[str, Any], statistic: str) -> dict[str, Any]:
    """The axis, the rows that are shown, and the rows that are folded."""
    found = sorted((_turned(one) for one in summary[statistic]["differences"]), key=lambda one: -one.value)
    axis = difference_axis([end for one in found for end in (one.low, one.high, one.value)])
    shown, others = found, []
    if len(summary["evaluations"]) > _MOST_MODELS:
        leader = max(summary[statistic]["estimates"], key=lambda one: one["value"])["model"]
        shown = [one for one in found if leader in (one.first, one.second)]
        others = [one for one in found if leader not in (one.first, one.second)]
    names, n_resamples = model_names(summary), summary["n_resamples"] or None
    return {
        "axis": axis.to_dict(),
        "rows": _rows(shown, axis, names, n_resamples),
        "others": _rows(others, axis, names, n_resamples),
    }


def _turned(one: dict[str, Any]) -> _Difference:
    if one["value"] >= 0:
        return _Difference(one["first"], one["second"], one["value"], one["low"], one["high"], one["p_value_holm"])
    return _Difference(one["second"], one["first"], -one["value"], -one["high"], -one["low"], one["p_value_holm"])


def _rows(
    found: Sequence[_Difference], axis: Axis, names: dict[str, Name], n_resamples: int | None
) -> list[dict[str, Any]]:
    rows = []
    for one in found:
        value, low, high = difference_and_ends(one.value, one.low, one.high)
        rows.append(
            {
                "models": (names[one.first], names[one.second]),
                "whisker": axis.whisker(one.value, one.low, one.high),
                "is_clear": not one.low <= 0 <= one.high,
                "numbers": [value, f"{low} to {high}", p_value(one.p_value_holm, n_resamples)],
            }
        )
    return rows
