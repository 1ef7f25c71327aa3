"""Small pictures as SVG text: ROC curves, and areas with whiskers. They hold no script and load nothing.

Lines of text and axes have the colour of the text around them. Curves have colours that are seen on light and on dark
paper, unless the page has variables of its own for them (`--curve-0`, ...), as the report has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

import numpy as np

from polyroc._lib._axis import Labels, logit_axis
from polyroc._lib._corner import View
from polyroc._lib._path import seen_points, tenths
from polyroc._lib._typing import FloatArray

Kind: TypeAlias = Literal["shared", "mean"]

# At least 3 to 1 in contrast to white and to black alike, in the order of the displays' colours.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#BF5F95", "#9A6F00", "#7A6BD1")
_DASH = {"shared": "", "mean": ' stroke-dasharray="4 3"'}
_FONT = 'font-family="system-ui, sans-serif" font-size="11" fill="currentColor"'
_ROW = 18
# Pixels of a letter below an axis, and between two numbers there.
_LETTER, _BETWEEN = 6.5, 8


@dataclass(frozen=True, eq=False)
class Line:
    """A curve in a small picture: rates from corner to corner, whose model it is, and which of its two curves."""

    fpr: FloatArray
    tpr: FloatArray
    colour: int = 0
    kind: Kind = "shared"


@dataclass(frozen=True)
class Whisker:
    """An area with its interval, in a row of its own."""

    name: str
    value: float
    low: float
    high: float
    colour: int = 0
    kind: Kind = "shared"


def colour_of(place: int) -> str:
    """The variable of the page, or a colour that is seen on any paper.

    >>> colour_of(6)
    'var(--curve-0, #0072B2)'
    """
    number = place % len(COLOURS)
    return f"var(--curve-{number}, {COLOURS[number]})"


def curve_svg(lines: Sequence[Line], view: View, *, side: int = 220) -> str:
    """Curves with their axes."""
    left, top = 62 if view.is_corner else 48, 8
    ends = np.array([0.0, 1.0])
    # The mean curves first: where both kinds are the same, the shared one is seen.
    ordered = sorted(lines, key=lambda line: line.kind == "shared")
    drawn = [
        f'<path d="{_path(ends, ends, view, side)}" stroke="currentColor" stroke-opacity="0.5" '
        'stroke-dasharray="1 3"/>',
        *(
            f'<path d="{_path(line.fpr, line.tpr, view, side)}" stroke="{colour_of(line.colour)}" '
            f'stroke-width="1.6"{_DASH[line.kind]}/>'
            for line in ordered
        ),
    ]
    width, height = left + side + 22, top + side + 40
    # Left of the frame and above it a line to a rate of 0 is seen to leave it.
    inside = side + 4
    return (
        f'<svg role="img" aria-label="ROC curves" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'style="overflow: hidden">'
        f'<g transform="translate({left} {top})" {_FONT}>{_axes(view, side)}'
        f'<svg x="-4" y="-4" width="{inside}" height="{inside}" viewBox="-4 -4 {inside} {inside}" fill="none" '
        f'stroke-linejoin="round">{"".join(drawn)}</svg></g></svg>'
    )


def _axes(view: View, side: int) -> str:
    parts = [f'<rect width="{side}" height="{side}" fill="none" stroke="currentColor" stroke-opacity="0.4"/>']
    for tick in view.ticks():
        x, y = tenths(tick.place * side), tenths((1 - tick.place) * side)
        parts.append(f'<path d="M{x} {side}v4M-4 {y}h4" stroke="currentColor" stroke-opacity="0.6"/>')
        parts.append(f'<text x="{x}" y="{side + 16}" text-anchor="middle">{tick.across}</text>')
        parts.append(f'<text x="-7" y="{y}" dy="0.35em" text-anchor="end">{tick.up}</text>')
    parts.append(f'<text x="{side // 2}" y="{side + 33}" text-anchor="middle">false positive rate</text>')
    turned = f"rotate(-90) translate({-side // 2} {-50 if view.is_corner else -34})"
    parts.append(f'<text transform="{turned}" text-anchor="middle">true positive rate</text>')
    return "".join(parts)


def _path(fpr: FloatArray, tpr: FloatArray, view: View, side: int) -> str:
    across, up = view.places(fpr, tpr)
    return "M" + "L".join(f"{x} {y}" for x, y in seen_points(side * across, side * (1 - up)))


def whiskers_svg(rows: Sequence[Whisker], *, width: int = 170) -> str:
    """Areas with their intervals on one logit axis, which gives areas near 1 the room that they need."""
    left = 12 + round(7 * max(len(row.name) for row in rows))
    labels = Labels(margin=0, apart=_BETWEEN * 100 / width, letter=_LETTER * 100 / width)
    axis = logit_axis([value for row in rows for value in (row.low, row.value, row.high)], labels=labels)
    height = _ROW * len(rows)
    parts = [f'<path d="M0 {height}h{width}" stroke="currentColor" stroke-opacity="0.6"/>']
    for tick in axis.ticks:
        x = tenths(tick.at * width / 100)
        parts.append(f'<path d="M{x} 0v{height + 4}" stroke="currentColor" stroke-opacity="0.2"/>')
        parts.append(f'<text x="{x}" y="{height + 16}" text-anchor="middle">{tick.text}</text>')
    for place, row in enumerate(rows):
        y = _ROW * place + _ROW // 2
        colour = colour_of(row.colour)
        low, middle, high = (tenths(axis.place(area) * width / 100) for area in (row.low, row.value, row.high))
        # Named by the text of the row, never by markup: names come from anywhere.
        parts.append(f'<text x="-8" y="{y}" dy="0.35em" text-anchor="end">{escape(row.name)}</text>')
        line = f"M{low} {y - 4}v8m0 -4H{high}m0 -4v8"
        parts.append(f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        inside = colour if row.kind == "shared" else "none"
        parts.append(f'<circle cx="{middle}" cy="{y}" r="3.2" fill="{inside}" stroke="{colour}" stroke-width="1.6"/>')
    whole, high_enough = left + width + 26, height + 24
    return (
        f'<svg role="img" aria-label="areas with their intervals" width="{whole}" height="{high_enough}" '
        f'viewBox="0 0 {whole} {high_enough}"><g transform="translate({left} 2)" {_FONT}>'
        f"{''.join(parts)}</g></svg>"
    )
