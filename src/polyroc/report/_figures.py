"""The dict -> the colours of both themes, and the numbers and places that curves are drawn from."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from polyroc._lib.axes import COLOURS_ON_DARK, COLOURS_ON_LIGHT, View, decades_of, opens_in_corner, seen_points
from polyroc._lib.text import short_names
from polyroc._lib.typing import FloatArray
from polyroc.report._packing import area_parts
from polyroc.report._sentences import Model, models_of


def opening_view(summary: dict[str, Any]) -> View:
    """View that a page opens with; the number of decades is also that of the corner."""
    models = models_of(summary)
    curves = [model.record[kind] for model in models for kind in ("curve", "mean_curve")]
    rates = [(np.array(curve["fpr"]), np.array(curve["tpr"])) for curve in curves if curve is not None]
    # A curve is made of the rates of all pairs: it moves by steps of one sample of one of them.
    n_steps = max(summary["class_counts"]) * max(len(model.record["pairs"]["auc"]) for model in models)
    return View(opens_in_corner(model.record["auc"] for model in models), decades_of(rates, n_steps))


LIGHT = {
    "paper": "#ffffff",
    "raised": "#f5f7f9",
    "ink": "#1a1f26",
    "soft": "#55606c",
    "line": "#d9dfe5",
    "accent": "#00619a",
    "caution": "#fff3e0",
    "alarm": "#a34700",
}
DARK = {
    "paper": "#14171c",
    "raised": "#1d2127",
    "ink": "#e6e9ed",
    "soft": "#a4aeb9",
    "line": "#363e48",
    "accent": "#74c0f2",
    "caution": "#33270f",
    "alarm": "#f0a94b",
}
CURVES = {"light": COLOURS_ON_LIGHT, "dark": COLOURS_ON_DARK}
# Shared and mean curves of the first models, and of those whose colours come for the second time.
_DASH_ARRAYS = {"curve": ("", "12 3 2 3"), "mean_curve": ("7 4", "2 3")}


def dash_array(kind: str, place: int) -> str:
    """The line of a model's curve, as SVG calls it."""
    return _DASH_ARRAYS[kind][place // len(CURVES["light"]) % 2]


def variables(theme: str) -> dict[str, str]:
    """Names and values for the style sheet."""
    curves = {f"curve-{place}": colour for place, colour in enumerate(CURVES[theme])}
    return (LIGHT if theme == "light" else DARK) | curves


def themes() -> dict[str, dict[str, object]]:
    """The same for the script."""
    return {"light": {**LIGHT, "curves": CURVES["light"]}, "dark": {**DARK, "curves": CURVES["dark"]}}


# Points closer than these cannot be distinguished on a screen; only curves of two classes have more.
_MOST_POINTS = 1500
_DIGITS, _MOST_DIGITS = 5, 10


# The two curves of a model, and where the dict has their bands.
KINDS = {"curve": "band", "mean_curve": "mean_band"}


def curve_numbers(model: Model, place: int) -> dict[str, Any]:
    """Numbers and style of a model's curves, for the script."""
    numbers: dict[str, Any] = {"dashes": {kind: dash_array(kind, place) for kind in KINDS}}
    for kind, band in KINDS.items():
        curve, around = model.record[kind], model.record[band]
        numbers[kind] = None if curve is None else _rounded_curve(thinned(curve, _MOST_POINTS))
        sides = None if around is None else {side: _rounded_curve(around[side]) for side in ("lower", "upper")}
        numbers[band] = sides
    return numbers


def _rounded_curve(curve: dict[str, list[float]]) -> dict[str, list[float]]:
    return {key: [rounded_rate(rate) for rate in values] for key, values in curve.items()}


def rounded_rate(rate: float) -> float:
    """Five decimals, and six digits of what a rate lacks to 0 or 1: the corner shows that on a logarithmic scale.

    >>> rounded_rate(0.123456789), rounded_rate(0.0000123456789), rounded_rate(0.999987654321), rounded_rate(1.0)
    (0.123457, 1.23457e-05, 0.9999876543, 1.0)
    """
    lacks = min(rate, 1 - rate)
    digits = _DIGITS if lacks <= 0 else max(_DIGITS, min(_MOST_DIGITS, _DIGITS - math.floor(math.log10(lacks))))
    return round(rate, digits)


def thinned(curve: dict[str, list[float]], most: int) -> dict[str, list[float]]:
    """A curve with at most this many points, about equally far apart in call rate; both corners stay."""
    rates = curve["call_rate"]
    if len(rates) <= most:
        return curve
    last = len(rates) - 1
    nearest = (min(bisect_left(rates, step / (most - 1)), last) for step in range(most))
    chosen = sorted({0, *nearest, last})
    return {key: [values[point] for point in chosen] for key, values in curve.items()}


Place = TypeVar("Place", float, FloatArray)
# Inside of the frame, in units of the drawing, which is 400 wide and 374 high.
LEFT, TOP, SIDE = 62, 12, 322
_MOST_DRAWN = 300
_MOST_BANDS = 3


def curve_svg(summary: dict[str, Any]) -> dict[str, Any]:
    """Points of lines and bands, and the places of the ticks, in the view that a page opens with."""
    view = opening_view(summary)
    bands, lines = [], []
    for place, model in enumerate(models_of(summary)):
        colour = {"colour": place % len(CURVES["light"])}
        for kind, band in KINDS.items():
            if (curve := model.record[kind]) is not None:
                curve = thinned(curve, _MOST_DRAWN)
                style = colour | {"kind": kind, "dash": dash_array(kind, place)}
                lines.append(style | {"points": _points(view, curve["fpr"], curve["tpr"])})
            if (around := model.record[band]) is not None and draws_all(summary):
                sides = [_points(view, around[side]["fpr"], around[side]["tpr"]) for side in ("lower", "upper")]
                bands.append(colour | {"points": f"{sides[0]} {' '.join(sides[1].split()[::-1])}"})
    ticks = [
        {"x": round(_x(tick.place), 1), "y": round(_y(tick.place), 1), "across": tick.across, "up": tick.up}
        for tick in view.ticks()
    ]
    frame = {"left": LEFT, "top": TOP, "right": LEFT + SIDE, "bottom": TOP + SIDE}
    chance = _points(view, [0, 1], [0, 1])
    return {"bands": bands, "lines": lines, "ticks": ticks, "chance": chance, "is_corner": view.is_corner, **frame}


def draws_all(summary: dict[str, Any]) -> bool:
    """Whether mean curves are shown from the start, and bands where no script runs.

    Of many models they would only hide each other. A script shows bands when somebody asks for them.
    """
    return len(models_of(summary)) <= _MOST_BANDS


def _points(view: View, fpr: Sequence[float], tpr: Sequence[float]) -> str:
    across, up = view.places(np.array(fpr, dtype=float), np.array(tpr, dtype=float))
    return " ".join(f"{x},{y}" for x, y in seen_points(_x(across), _y(up)))


def _x(across: Place) -> Place:
    return LEFT + SIDE * across


def _y(up: Place) -> Place:
    return TOP + SIDE * (1 - up)


# Letters of a name that have room along a side.
_LABEL = 14


def heatmap_data(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Heatmap data that all models share; None for two classes.

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


def heatmap_areas(summary: dict[str, Any], model: Model, *, most: int) -> list[list[int | None]] | None:
    """A row per positive and a column per negative class, in ten-millionths, if the page does not hold all pairs."""
    pairs, classes = model.record["pairs"], summary["heatmap_classes"]
    if classes is None or len(pairs["auc"]) <= most:
        return None
    labels = summary["labels"]
    place = {labels[position]: row for row, position in enumerate(classes)}
    cells: list[list[int | None]] = [[None] * len(classes) for _ in classes]
    for positive, negative, auc in zip(pairs["positive"], pairs["negative"], pairs["auc"], strict=True):
        if positive in place and negative in place:
            cells[place[positive]][place[negative]] = area_parts(auc)
    return cells
