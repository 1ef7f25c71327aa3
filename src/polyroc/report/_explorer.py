"""The dict -> what the template and the script need to let somebody try other costs."""

from typing import Any

from polyroc._lib._names import short_names
from polyroc._lib._numbers import area
from polyroc.report._decisions import decision_words
from polyroc.report._models import models_of

# Letters of a name along a side of the grid.
_LETTERS = 14
# Above these the cells have no room for numbers, and above the second the controls stand over the grid.
_WIDE, _NUMBERED = 12, 20


def explorer_section(summary: dict[str, Any], explorer: dict[str, Any] | None) -> dict[str, Any] | None:
    """The shell of the cost explorer; None where the page does not carry the rates of all pairs."""
    if explorer is None:
        return None
    k = len(explorer["classes"])
    return {
        "k": k,
        "n_models": len(models_of(summary)),
        "n_left_out": len(summary["labels"]) - k,
        "given": summary["options"]["costs"] is not None,
        "size": "wide" if k <= _WIDE else "medium" if k <= _NUMBERED else "small",
        "decisions": decision_words(summary),
        "judged": [{key: area(one[key]) for key in ("auc", "mean_auc")} for one in explorer["models"]],
    }


def explorer_names(summary: dict[str, Any], explorer: dict[str, Any] | None) -> dict[str, dict[str, list[str]]]:
    """All classes: for the sides of the grid, and letter by letter for a file that `--costs` reads."""
    if explorer is None:
        return {}
    labels = summary["labels"]
    return {"explorer_names": {"short": short_names(labels, _LETTERS), "exact": [_exact(label) for label in labels]}}


def _exact(label: Any) -> str:
    """As the command line calls a class; it knows booleans in small letters."""
    return str(label).lower() if isinstance(label, bool) else str(label)
