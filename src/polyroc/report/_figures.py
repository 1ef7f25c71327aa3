"""The dict -> figures for plotly, as plain dicts without colours: the script of the page knows the theme."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from polyroc.display._style import COLOURS_ON_DARK, COLOURS_ON_LIGHT
from polyroc.report._models import Model, models_of
from polyroc.report._names import plot_text

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
# Shared and mean curves of the first models, and of those whose colours come for the second time; for plotly and SVG.
_DASHES = {"curve": ("solid", "longdashdot"), "mean_curve": ("dash", "dot")}
_DASH_ARRAYS = {"curve": ("", "12 3 2 3"), "mean_curve": ("7 4", "2 3")}


def dash(kind: str, place: int) -> str:
    """The line of a model's curve, as plotly calls it."""
    return _DASHES[kind][place // len(CURVES["light"]) % 2]


def dash_array(kind: str, place: int) -> str:
    """The same as SVG calls it."""
    return _DASH_ARRAYS[kind][place // len(CURVES["light"]) % 2]


def variables(theme: str) -> dict[str, str]:
    """Names and values for the style sheet."""
    curves = {f"curve-{place}": colour for place, colour in enumerate(CURVES[theme])}
    return (LIGHT if theme == "light" else DARK) | curves


def themes() -> dict[str, dict[str, object]]:
    """The same for the script."""
    return {"light": {**LIGHT, "curves": CURVES["light"]}, "dark": {**DARK, "curves": CURVES["dark"]}}


# Points closer than these cannot be told apart on a screen; only curves of two classes have more.
_MOST_POINTS = 1500
_DIGITS = 5
_FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13}
# Filled from the numbers of the trace, never from names: a name may hold such a sign itself.
_CURVE_HOVER = (
    "<b>%{text}</b><br>call rate (quantile) %{customdata:.3f}<br>"
    "false positive rate %{x:.3f}<br>true positive rate %{y:.3f}<extra></extra>"
)


# The two curves of a model, and where the dict has their bands.
KINDS = {"curve": "band", "mean_curve": "mean_band"}


def curve_figure(summary: dict[str, Any]) -> dict[str, Any]:
    """Every model's curves and bands; `meta` tells the script what a trace is, of which curve and whose."""
    diagonal = {"x": [0, 1], "y": [0, 1], "mode": "lines", "hoverinfo": "skip", "meta": {"role": "chance"}}
    models = models_of(summary)
    each = [(kind, place, model) for kind in KINDS for place, model in enumerate(models)]
    bands = [_band_trace(*one) for one in each if one[2].record[KINDS[one[0]]] is not None]
    lines = [_line_trace(*one) for one in each if one[2].record[one[0]] is not None]
    # No fixed ticks: a part that somebody enlarges needs ticks of its own.
    axis = {"range": [-0.005, 1.005], "nticks": 7, "zeroline": False}
    layout = {
        "xaxis": {**axis, "title": {"text": "false positive rate", "standoff": 8}},
        "yaxis": {**axis, "title": {"text": "true positive rate", "standoff": 4}},
        "margin": {"l": 58, "r": 12, "t": 12, "b": 52},
        "hovermode": "closest",
        "showlegend": False,
        "font": _FONT,
    }
    return {"data": [diagonal, *bands, *lines], "layout": layout}


def _line_trace(kind: str, place: int, model: Model) -> dict[str, Any]:
    curve = thinned(model.record[kind], _MOST_POINTS)
    text = _called(kind, model)
    return {
        "x": _rounded(curve["fpr"]),
        "y": _rounded(curve["tpr"]),
        "customdata": _rounded(curve["call_rate"]),
        # Once for each point: plotly fills a template from lists only.
        "text": [text] * len(curve["fpr"]),
        "mode": "lines",
        "hovertemplate": _CURVE_HOVER,
        "meta": {"role": "curve", "kind": kind, "model": place, "dash": dash(kind, place)},
    }


def _called(kind: str, model: Model) -> str:
    """What the pointer finds at a curve."""
    name = "" if model.name is None else plot_text(model.name.text)
    if len(model.record["pairs"]["auc"]) == 1:
        return name or "ROC curve"
    what = "shared curve" if kind == "curve" else "mean of the pairs"
    return f"{name}: {what}" if name else what


def _band_trace(kind: str, place: int, model: Model) -> dict[str, Any]:
    band = model.record[KINDS[kind]]
    lower, upper = band["lower"], band["upper"]
    return {
        "x": lower["fpr"] + upper["fpr"][::-1],
        "y": lower["tpr"] + upper["tpr"][::-1],
        "mode": "lines",
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "meta": {"role": "band", "kind": kind, "model": place},
    }


def thinned(curve: dict[str, list[float]], most: int) -> dict[str, list[float]]:
    """A curve with at most so many points, about equally far apart in call rate; both corners stay."""
    rates = curve["call_rate"]
    if len(rates) <= most:
        return curve
    last = len(rates) - 1
    nearest = (min(bisect_left(rates, step / (most - 1)), last) for step in range(most))
    chosen = sorted({0, *nearest, last})
    return {key: [values[point] for point in chosen] for key, values in curve.items()}


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, _DIGITS) for value in values]


# Inside of the frame, in units of the drawing, which is 400 wide and high.
LEFT, TOP, SIDE = 48, 12, 340
_MOST_DRAWN = 300


def curve_svg(summary: dict[str, Any]) -> dict[str, Any]:
    """Points of lines and bands, and the places of the ticks."""
    bands, lines = [], []
    for place, model in enumerate(models_of(summary)):
        colour = {"colour": place % len(CURVES["light"])}
        for kind, band in KINDS.items():
            if (curve := model.record[kind]) is not None:
                curve = thinned(curve, _MOST_DRAWN)
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
