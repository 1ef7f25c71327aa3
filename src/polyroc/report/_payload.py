"""The dict -> what the script of the page needs: figures, pairs in columns, names once."""

import json
from typing import Any

from polyroc.report._figures import curve_figure, heatmap_figure
from polyroc.report._models import Model, best_place, models_of
from polyroc.report._names import class_names
from polyroc.report._tables import WORST
from polyroc.report._theme import themes

# All pairs of 141 classes. A page of more would take long to open, and nobody reads that far.
MOST_PAIRS = 20_000
# Of more models, bands and second curves would only hide each other when the page opens.
_MOST_BANDS = 3


def payload(summary: dict[str, Any]) -> dict[str, Any]:
    """Plain data for the script."""
    models = models_of(summary)
    return {
        "labels": [name.to_dict() for name in class_names(summary).values()],
        "counts": summary["class_counts"],
        "models": [_of_model(summary, model) for model in models],
        "selected": best_place(summary),
        "curve": curve_figure(summary),
        "heatmap_classes": summary["heatmap_classes"],
        "bands": len(models) <= _MOST_BANDS,
        "kinds": {"curve": True, "mean_curve": len(models) <= _MOST_BANDS},
        "themes": themes(),
        "first_rows": WORST,
    }


def _of_model(summary: dict[str, Any], model: Model) -> dict[str, Any]:
    record = model.record
    pairs, kept = record["pairs"], model.worst_pairs[:MOST_PAIRS]
    position = {label: place for place, label in enumerate(summary["labels"])}
    curves = record["pair_curves"]
    return {
        "name": None if model.name is None else model.name.to_dict(),
        "n_pairs": len(pairs["auc"]),
        "pairs": {
            "positive": [position[pairs["positive"][p]] for p in kept],
            "negative": [position[pairs["negative"][p]] for p in kept],
            # So many digits that no area becomes 1 by rounding.
            "auc": [round(pairs["auc"][p], 9) for p in kept],
            "effect": [round(pairs["effect"][p], 4) for p in kept],
        },
        # In the order of the pairs above: both begin with the smallest area.
        "curves": None if curves is None else {key: curves[key] for key in ("call_rate", "fpr", "tpr")},
        "heatmap": heatmap_figure(summary, model),
    }


def embedded(data: Any) -> str:
    r"""JSON that can stand inside a page: nothing in it ends the element that it stands in.

    >>> embedded("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
