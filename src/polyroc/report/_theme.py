"""The colours of the page, on light and on dark: style sheet and figures take them from here."""

from polyroc.display._style import COLOURS_ON_DARK, COLOURS_ON_LIGHT

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
