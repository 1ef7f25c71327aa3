"""The dict -> the tipping list: for each model that is not first, what a single mistake would have to cost."""

from typing import Any

from polyroc._lib._numbers import area_and_ends
from polyroc._tipping._words import ALL_FIRST, MEANING, STATISTICS, sentence
from polyroc.report._names import Name, class_names, model_names
from polyroc.report._sentences import Sentence, is_binary

_HOW = (
    "This page was made without a list of the costs that would change the order of the models. In Python, "
    "write_html(comparison, path, tipping=comparison.tipping_costs()) adds it."
)


def tipping_rows(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Sentences with numbers, and notes; None for one model, and for two classes, whose order no cost changes."""
    if summary["kind"] != "comparison" or is_binary(summary):
        return None
    found = summary.get("tipping")
    if found is None:
        return {"rows": [], "notes": [_HOW]}
    if not found["entries"]:
        return {"rows": [], "notes": [found["note"] or ALL_FIRST]}
    models, classes = model_names(summary), list(class_names(summary).values())
    rows = [_row(one, models, classes, found["largest"]) for one in found["entries"]]
    return {"rows": rows, "notes": [*_start(summary), MEANING]}


def _start(summary: dict[str, Any]) -> list[str]:
    given = summary["options"]["costs"] is not None
    return ["Each factor multiplies the cost that was given."] if given else []


def _row(one: dict[str, Any], models: dict[str, Name], classes: list[Name], largest: float) -> dict[str, Any]:
    """One entry; where no cost was found, without numbers and without a place in the grid."""
    true, taken = (None, None) if one["cell"] is None else (classes[place] for place in one["cell"])
    return {
        "sentence": sentence(models[one["model"]], one["statistic"], one["factor"], true, taken, largest),
        "numbers": () if one["cell"] is None else _numbers(one, models),
        "cell": one["cell"],
        "factor": one["factor"],
    }


def _numbers(one: dict[str, Any], models: dict[str, Name]) -> Sentence:
    """What both models are worth at that cost."""
    # There they are close: with as many digits as keep them apart.
    value, first_value, _ = area_and_ends(one["value"], one["first_value"], one["first_value"])
    by = STATISTICS[one["statistic"]].removeprefix("the ").capitalize()
    return (f"{by} is then {value}, and {first_value} for ", models[one["first"]], ".")
