"""The dict -> the pairs of a model for the script, in as few letters as keep what the page says of them."""

from itertools import permutations
from typing import Any

from polyroc.report._models import Model

# The page shows at most six decimals of an area, and three of an effect.
_PARTS = 10**6
_EFFECT_PARTS = 1000


def packed_pairs(summary: dict[str, Any], model: Model, *, most: int, first: int) -> dict[str, Any]:
    """Areas in millionths and effects in thousandths; pairs.js unpacks them, the smallest area first.

    All pairs come in the order of their classes, which need not be told for each; `first` are the pairs with the
    smallest areas, whose order rounding might change. A sample of the pairs, or the worst of very many, are named.
    """
    pairs = model.record["pairs"]
    position = {label: place for place, label in enumerate(summary["labels"])}
    positive, negative = ([position[label] for label in pairs[side]] for side in ("positive", "negative"))
    classes = sorted(set(positive))
    is_whole = len(positive) <= most and list(zip(positive, negative, strict=True)) == list(permutations(classes, 2))
    kept = list(range(len(positive))) if is_whole else model.worst_pairs[:most]
    if is_whole:
        named: dict[str, Any] = {"classes": classes, "first": model.worst_pairs[:first]}
    else:
        named = {"positive": [positive[p] for p in kept], "negative": [negative[p] for p in kept]}
    return {
        **named,
        "auc": [millionths(pairs["auc"][p]) for p in kept],
        "effect": [round(round(pairs["effect"][p], 3) * _EFFECT_PARTS) for p in kept],
    }


def millionths(area: float) -> float:
    """An area in whole millionths; only one that would become 0 or 1 keeps its digits.

    >>> millionths(0.98765432), millionths(1.0), round(millionths(1 - 2e-9), 3)
    (987654, 1000000, 999999.998)
    """
    parts = round(area * _PARTS)
    return area * _PARTS if parts in (0, _PARTS) and area not in (0.0, 1.0) else parts
