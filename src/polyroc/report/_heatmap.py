"""The dict -> what the script draws the heatmap from: the order of the classes, their tree and their short names."""

from typing import Any

from polyroc._lib._names import short_names
from polyroc.report._models import Model
from polyroc.report._packed_pairs import millionths

# Letters of a name that have room along a side.
_LABEL = 14


def heatmap_data(summary: dict[str, Any]) -> dict[str, Any] | None:
    """What all models share; None for two classes.

    Areas are read from the pairs of the model that is looked at.
    """
    classes = summary["heatmap_classes"]
    if classes is None:
        return None
    return {
        "classes": classes,
        # A dict that an earlier version has stored knows none.
        "tree": summary.get("heatmap_tree"),
        # Cut together, so that no two become the same.
        "names": short_names([summary["labels"][position] for position in classes], _LABEL),
    }


def heatmap_areas(summary: dict[str, Any], model: Model, *, most: int) -> list[list[float | None]] | None:
    """A row per positive and a column per negative class, in millionths, where the page does not hold all pairs."""
    pairs, classes = model.record["pairs"], summary["heatmap_classes"]
    if classes is None or len(pairs["auc"]) <= most:
        return None
    labels = summary["labels"]
    place = {labels[position]: row for row, position in enumerate(classes)}
    cells: list[list[float | None]] = [[None] * len(classes) for _ in classes]
    for positive, negative, auc in zip(pairs["positive"], pairs["negative"], pairs["auc"], strict=True):
        if positive in place and negative in place:
            cells[place[positive]][place[negative]] = millionths(auc)
    return cells
