"""Small pictures as SVG text: ROC curves, and areas with whiskers. They hold no script and load nothing.

Lines of text and axes have the colour of the text around them. Curves have colours that are seen on light and on dark
paper, unless the page has variables of its own for them (`--curve-0`, ...), as the report has.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

import numpy as np

from polyroc._lib._corner import densified, lowest_rate
from polyroc._lib._numbers import level
from polyroc._lib._typing import FloatArray

Kind: TypeAlias = Literal["shared", "mean"]
Scale: TypeAlias = Literal["square", "corner"]

# At least 3 to 1 in contrast to white and to black alike, in the order of the displays' colours.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#BF5F95", "#9A6F00", "#7A6BD1")
_DASH = {"shared": "", "mean": ' stroke-dasharray="4 3"'}
_FONT = 'font-family="system-ui, sans-serif" font-size="11" fill="currentColor"'
# By how many pixels a line may be wrong before somebody sees it.
_SEEN = 0.15
_ROW = 18


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


def curve_svg(lines: Sequence[Line], *, scale: Scale = "square", side: int = 220) -> str:
    """Curves with their axes; `scale` as in `RocCurveDisplay`."""
    lowest = lowest_rate((line.fpr, line.tpr) for line in lines)
    left, top = 62 if scale == "corner" else 48, 8
    ends = np.array([0.0, 1.0])
    # The mean curves first: where both kinds are the same, the shared one is seen.
    ordered = sorted(lines, key=lambda line: line.kind == "shared")
    drawn = [
        f'<path d="{_path(ends, ends, scale, lowest, side)}" stroke="currentColor" stroke-opacity="0.5" '
        'stroke-dasharray="1 3"/>',
        *(
            f'<path d="{_path(line.fpr, line.tpr, scale, lowest, side)}" stroke="{colour_of(line.colour)}" '
            f'stroke-width="1.6"{_DASH[line.kind]}/>'
            for line in ordered
        ),
    ]
    width, height = left + side + 22, top + side + 40
    return (
        f'<svg role="img" aria-label="ROC curves" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'style="overflow: hidden">'
        f'<g transform="translate({left} {top})" {_FONT}>{_axes(scale, lowest, side)}'
        f'<svg x="0" y="0" width="{side}" height="{side}" viewBox="0 0 {side} {side}" fill="none" '
        f'stroke-linejoin="round">{"".join(drawn)}</svg></g></svg>'
    )


def _axes(scale: Scale, lowest: float, side: int) -> str:
    decades = round(-math.log10(lowest))
    if scale == "square":
        across = up = [(f"{rate:g}", rate) for rate in (0, 0.2, 0.4, 0.6, 0.8, 1)]
    else:
        across = [(level(10.0**-e), 1 - e / decades) for e in range(decades + 1)]
        up = [(level(1 - 10.0**-e), e / decades) for e in range(decades + 1)]
    parts = [f'<rect width="{side}" height="{side}" fill="none" stroke="currentColor" stroke-opacity="0.4"/>']
    for text, place in across:
        x = _short(place * side)
        parts.append(f'<path d="M{x} {side}v4" stroke="currentColor" stroke-opacity="0.6"/>')
        parts.append(f'<text x="{x}" y="{side + 16}" text-anchor="middle">{text}</text>')
    for text, place in up:
        y = _short((1 - place) * side)
        parts.append(f'<path d="M-4 {y}h4" stroke="currentColor" stroke-opacity="0.6"/>')
        parts.append(f'<text x="-7" y="{y}" dy="0.35em" text-anchor="end">{text}</text>')
    parts.append(f'<text x="{side // 2}" y="{side + 33}" text-anchor="middle">false positive rate</text>')
    turned = f"rotate(-90) translate({-side // 2} {-50 if scale == 'corner' else -34})"
    parts.append(f'<text transform="{turned}" text-anchor="middle">true positive rate</text>')
    return "".join(parts)


def _path(fpr: FloatArray, tpr: FloatArray, scale: Scale, lowest: float, side: int) -> str:
    """The points that can be seen, to a tenth of a pixel."""
    if scale == "square":
        x, y = fpr * side, (1 - tpr) * side
    else:
        fpr, tpr = densified(fpr, tpr)
        decades, floor = -math.log10(lowest), lowest / 10
        x = (1 + np.log10(np.maximum(fpr, floor)) / decades) * side
        y = (1 + np.log10(np.maximum(1 - tpr, floor)) / decades) * side
    kept = _bends(x, y)
    return "M" + "L".join(f"{_short(a)} {_short(b)}" for a, b in zip(x[kept], y[kept], strict=True))


def _bends(x: FloatArray, y: FloatArray) -> list[int]:
    """Ends and bends: the points without which the line would be seen to go elsewhere (Ramer, Douglas and Peucker)."""
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


def _short(value: float) -> str:
    """A tenth of a pixel, in as few letters as that takes.

    >>> _short(12.04), _short(0.51), _short(-0.01)
    ('12', '0.5', '0')
    """
    return f"{round(float(value), 1) + 0.0:g}"


def whiskers_svg(rows: Sequence[Whisker], *, width: int = 170) -> str:
    """Areas with their intervals on one logit axis, which gives areas near 1 the room that they need."""
    left = 12 + round(7 * max(len(row.name) for row in rows))
    at = _Logit.around([value for row in rows for value in (row.low, row.value, row.high)], width)
    height = _ROW * len(rows)
    parts = [f'<path d="M0 {height}h{width}" stroke="currentColor" stroke-opacity="0.6"/>']
    for tick in at.ticks():
        x = _short(at(tick))
        parts.append(f'<path d="M{x} 0v{height + 4}" stroke="currentColor" stroke-opacity="0.2"/>')
        parts.append(f'<text x="{x}" y="{height + 16}" text-anchor="middle">{tick:.6g}</text>')
    for place, row in enumerate(rows):
        y = _ROW * place + _ROW // 2
        colour, middle = colour_of(row.colour), _short(at(row.value))
        low, high = _short(at(row.low)), _short(at(row.high))
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


@dataclass(frozen=True)
class _Logit:
    """From areas to pixels."""

    first: float
    last: float
    width: int
    edge: float

    @classmethod
    def around(cls, areas: Sequence[float], width: int) -> "_Logit":
        """With room at both ends; areas of 0 and 1 stand a little further out than all others."""
        gaps = [gap for area in areas for gap in (area, 1 - area) if gap > 0]
        edge = min([0.25, *gaps]) / 4
        places = [_logit(area, edge) for area in areas]
        room = max(0.06 * (max(places) - min(places)), 0.02)
        return cls(min(places) - room, max(places) + room, width, edge)

    def __call__(self, area: float) -> float:
        return self.width * (_logit(area, self.edge) - self.first) / (self.last - self.first)

    def ticks(self) -> list[float]:
        """Round numbers with room for their digits: at least two, and as round as there are."""
        found: list[float] = []
        for tick in self._round_numbers():
            x = self(tick)
            # Six pixels for each letter.
            if 0 <= x <= self.width and all(abs(x - self(one)) > 8 + 6.5 * len(f"{tick:.6g}") for one in found):
                found.append(tick)
        return sorted(found)

    def _round_numbers(self) -> Iterator[float]:
        """From the roundest on, until some finer ones have been told."""
        low, high = (1 / (1 + math.exp(-end)) for end in (self.first, self.last))
        yield from (0.5, 0.9, 0.99, 0.999, 0.9999, 0.1, 0.01)
        for step in (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001, 0.00005, 0.00002, 0.00001):
            inside = [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
            yield from (round(tick, 6) for tick in inside if 0 < round(tick, 6) < 1)
            if len(inside) >= 2:
                return


def _logit(area: float, edge: float) -> float:
    inside = min(max(area, edge), 1 - edge)
    return math.log(inside / (1 - inside))
