"""Results -> one plain dict each: what `--json` prints, and what a report is laid out from."""

import json
import math
from collections.abc import Sequence
from typing import Any

from polyroc import BootstrapResult, Comparison, Evaluation, __version__
from polyroc._frames import plain
from polyroc._typing import Statistic


def evaluation_summary(
    evaluation: Evaluation,
    drawn: BootstrapResult | None,
    *,
    confidence_level: float,
    seed: int,
    source: dict[str, Any],
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything about one model: the numbers, how sure they are, and where they come from."""
    return {
        **evaluation.to_dict(),
        "confidence_interval": _interval(drawn, "auc", confidence_level),
        "hand_till_interval": _interval(drawn, "hand_till", confidence_level),
        "n_resamples": 0 if drawn is None else drawn.n_resamples,
        "seed": seed,
        "source": source,
        # Read late: the intervals above may have warned.
        "warnings": list(warnings),
        "version": __version__,
    }


def comparison_summary(
    comparison: Comparison, *, seed: int, source: dict[str, Any], warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything about several models on the same samples."""
    first = next(iter(comparison.evaluations.values()))
    return {
        **comparison.to_dict(),
        "n_samples": first.n_samples,
        "labels": plain(first.labels),
        "class_counts": plain(first.class_counts),
        "options": first.options.to_dict(),
        "seed": seed,
        "source": source,
        "warnings": list(warnings),
        "version": __version__,
    }


def as_json(summary: dict[str, Any]) -> str:
    """The summary as JSON that every reader takes: no NaN, no infinity, nothing beyond ASCII."""
    try:
        return json.dumps(summary, indent=2, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(summary), indent=2, allow_nan=False)


def _interval(drawn: BootstrapResult | None, statistic: Statistic, level: float) -> dict[str, Any] | None:
    if drawn is None:
        return None
    low, high = drawn.confidence_interval(level, statistic=statistic)
    return {
        "low": low,
        "high": high,
        "level": level,
        "method": drawn.method,
        "interval": "logit",
        "standard_error": drawn.standard_error(statistic),
    }


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
