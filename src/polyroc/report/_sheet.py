"""The dict -> what the first sheet of paper has below the summary: the hardest classes and pairs, and the settings."""

from typing import Any

from polyroc._lib._numbers import area
from polyroc.report._models import Model, best_of
from polyroc.report._names import class_names
from polyroc.report._sentences import plain_text
from polyroc.report._settings import setting_entries

_HARDEST = 5
# What a reader of one sheet has to know of how its numbers were made.
_TERMS = ("What a pair counts", "Thresholds", "Resamples", "Intervals")
_DIGITS = 3
_MATRICES = ("costs", "tpr_weights", "fpr_weights")


def sheet_of(summary: dict[str, Any]) -> dict[str, Any]:
    """The hardest classes and pairs of the model that is looked at first, and the settings in a line."""
    best = best_of(summary)
    told = [f"{term}: {plain_text(value)}." for term, value in setting_entries(summary) if term in _TERMS]
    costs = "as given" if any(summary["options"][key] is not None for key in _MATRICES) else "none given"
    return {
        "name": best.name,
        **_hardest_classes(summary, best),
        "pairs": _hardest_pairs(summary, best),
        "settings": " ".join([*told, f"Costs: {costs}.", f"polyroc {summary['version']}."]),
    }


def _hardest_classes(summary: dict[str, Any], model: Model) -> dict[str, Any]:
    """Those that are found least often; where no class is named, those that are ranked worst against the rest."""
    classes, names = model.record["classes"], class_names(summary)
    column, title = ("auc_vs_rest", "area against the rest") if classes["recall"] is None else ("recall", "share found")
    known = [(value, place) for place, value in enumerate(classes[column]) if value is not None]
    rows = [(names[classes["label"][place]], area(value, digits=_DIGITS)) for value, place in sorted(known)[:_HARDEST]]
    return {"classes": rows, "by": title}


def _hardest_pairs(summary: dict[str, Any], model: Model) -> list[tuple[Any, Any, str]]:
    pairs, names = model.record["pairs"], class_names(summary)
    return [
        (names[pairs["positive"][p]], names[pairs["negative"][p]], area(pairs["auc"][p]))
        for p in model.worst_pairs[:_HARDEST]
    ]
