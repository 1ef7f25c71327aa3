"""The dict -> the curve as lines of an SVG: what is seen before the script runs, and where none may."""

from collections.abc import Sequence
from typing import Any

from polyroc.report._figures import KINDS, thinned
from polyroc.report._models import models_of
from polyroc.report._theme import CURVES, dash_array

# Inside of the frame, in units of the drawing, which is 400 wide and high.
LEFT, TOP, SIDE = 48, 12, 340
_MOST_POINTS = 300


def curve_svg(summary: dict[str, Any]) -> dict[str, Any]:
    """Points of lines and bands, and the places of the ticks."""
    bands, lines = [], []
    for place, model in enumerate(models_of(summary)):
        colour = {"colour": place % len(CURVES["light"])}
        for kind, band in KINDS.items():
            if (curve := model.record[kind]) is not None:
                curve = thinned(curve, _MOST_POINTS)
                style = colour | {"kind": kind, "dash": dash_array(kind, place)}
                lines.append(style | {"points": _points(curve["fpr"], curve["tpr"])})
            if (around := model.record[band]) is not None:
                lower, upper = around["lower"], around["upper"]
                fpr, tpr = lower["fpr"] + upper["fpr"][::-1], lower["tpr"] + upper["tpr"][::-1]
                bands.append(colour | {"points": _points(fpr, tpr)})
    ticks = [{"text": f"{value:g}", "x": _x(value), "y": _y(value)} for value in (0, 0.2, 0.4, 0.6, 0.8, 1)]
    frame = {"left": LEFT, "top": TOP, "right": LEFT + SIDE, "bottom": TOP + SIDE}
    return {"bands": bands, "lines": lines, "ticks": ticks, **frame}


def _points(fpr: Sequence[float], tpr: Sequence[float]) -> str:
    return " ".join(f"{_x(x)},{_y(y)}" for x, y in zip(fpr, tpr, strict=True))


def _x(fpr: float) -> float:
    return round(LEFT + SIDE * fpr, 1)


def _y(tpr: float) -> float:
    return round(TOP + SIDE * (1 - tpr), 1)
