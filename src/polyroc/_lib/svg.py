"""Lines in SVG: the points that can be seen, to a tenth of a pixel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

import numpy as np

from polyroc._lib.axes import Labels, View, logit_axis
from polyroc._lib.typing import FloatArray

# By how many pixels a line may be wrong before somebody sees it.
_SEEN = 0.15


def seen_points(x: FloatArray, y: FloatArray) -> list[tuple[str, str]]:
    """The ends and bends of a line.

    >>> seen_points(np.array([0.0, 1.0, 2.0, 5.0]), np.array([0.0, 1.05, 2.0, 0.04]))
    [('0', '0'), ('2', '2'), ('5', '0')]
    """
    kept = _bends(x, y)
    return [(tenths(across), tenths(up)) for across, up in zip(x[kept], y[kept], strict=True)]


def _bends(x: FloatArray, y: FloatArray) -> list[int]:
    """The points without which the line would be seen to go elsewhere (Ramer, Douglas and Peucker)."""
    kept, open_ = {0, len(x) - 1}, [(0, len(x) - 1)]
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        across, up = x[last] - x[first], y[last] - y[first]
        between = slice(first + 1, last)
        length = math.hypot(across, up) or 1.0
        distance = np.abs(across * (y[between] - y[first]) - up * (x[between] - x[first])) / length
        furthest = int(distance.argmax())
        if distance[furthest] > _SEEN:
            middle = first + 1 + furthest
            kept.add(middle)
            open_ += [(first, middle), (middle, last)]
    return sorted(kept)


def tenths(value: float) -> str:
    """A tenth of a pixel, in as few letters as that takes.

    >>> tenths(12.04), tenths(0.51), tenths(-0.01)
    ('12', '0.5', '0')
    """
    return f"{round(float(value), 1) + 0.0:g}"


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
