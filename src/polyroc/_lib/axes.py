"""Numbers -> places in a picture, without a library that draws: axes, curves, the order of classes, and plain SVG.

Areas stand on a logit axis, where intervals near 1 stay visible, and differences around zero.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, TypeAlias

import numpy as np

from polyroc._lib.limits import BEST_ORDER
from polyroc._lib.numbers import level
from polyroc._lib.typing import FloatArray, IntArray

_FEWEST_TICKS = 3
# Shorter axes would make noise look large: in logits, about 0.90 to 0.92.
_SHORTEST = 0.25
# Where all areas are 0 or 1, or an axis has to begin or end somewhere.
_LAST_LOGIT = 9.0
_PADDING = 0.06


@dataclass(frozen=True)
class Labels:
    """The room that labels take, in percent of the width; by default, of columns of the page."""

    margin: float = 6.0
    """At both ends, so that no label is cut."""
    apart: float = 15.0
    """Between the middles of two labels."""
    letter: float = 0.0
    """Between them in addition, for each letter of one of them, where few letters fit."""


_PAGE = Labels()
# Their labels have a sign and up to eight letters, and on paper the column is narrow.
_DIFFERENCES = Labels(margin=9.0, apart=5.0, letter=2.5)


@dataclass(frozen=True)
class Tick:
    """A number that the axis names."""

    at: float
    """In percent of the width."""
    text: str


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers, drawn across the width but for the margins of the labels."""

    low: float
    """Of the numbers as they are drawn: logits, or differences."""
    high: float
    is_logit: bool
    labels: Labels = _PAGE

    def place(self, value: float) -> float:
        """Where a number lies, in percent of the width; what lies beyond an end is drawn at that end."""
        drawn = _logit(value) if self.is_logit else value
        share = (min(max(drawn, self.low), self.high) - self.low) / (self.high - self.low)
        margin = self.labels.margin
        return round(margin + (100 - 2 * margin) * share, 3)

    def whisker(self, value: float, low: float | None, high: float | None) -> dict[str, float | None]:
        """The places of a number and of the ends of its interval."""
        ends = (None, None) if low is None or high is None else (self.place(low), self.place(high))
        return {"at": self.place(value), "first": ends[0], "last": ends[1]}

    @property
    def ticks(self) -> list[Tick]:
        """Round numbers, from left to right, as many as have room."""
        if not self.is_logit:
            chosen = self._with_room(sorted(_round_numbers(self.low, self.high), key=abs))
            return [Tick(self.place(value), self._text(value)) for value in sorted(chosen)]
        first, last = _area(self.low), _area(self.high)
        inside = [value for value in _round_areas() if first <= value <= last]
        chosen = self._with_room(inside)
        for finer in (1, 2):
            if len(chosen) < _FEWEST_TICKS:
                chosen = self._with_room([*chosen, *_round_numbers(first, last, finer=finer)])
        return [Tick(self.place(value), self._text(value)) for value in sorted(chosen)]

    def _with_room(self, values: Iterable[float]) -> list[float]:
        chosen: list[float] = []
        for value in values:
            apart = self.labels.apart + self.labels.letter * len(self._text(value))
            if all(abs(self.place(value) - self.place(other)) >= apart for other in chosen):
                chosen.append(value)
        return chosen

    def _text(self, value: float) -> str:
        text = f"{value:.9f}" if self.is_logit else f"{value:+.9f}"
        return "0" if value == 0 and not self.is_logit else text.rstrip("0").rstrip(".")

    def to_dict(self) -> dict[str, Any]:
        """For the template."""
        return {"ticks": self.ticks, "zero": None if self.is_logit else self.place(0.0)}


def logit_axis(values: Sequence[float], *, from_guessing: bool = False, labels: Labels = _PAGE) -> Axis:
    """An axis for areas; 0 and 1, whose logits are infinite, lie at its ends."""
    logits = [_logit(value) for value in values]
    known = [logit for logit in logits if math.isfinite(logit)]
    if from_guessing or not known:
        known.append(0.0)
    low, high = min(known), max(known)
    lacking = max(0.0, _SHORTEST - (high - low)) / 2
    low, high = low - lacking, high + lacking
    room = _PADDING * (high - low)
    low = min(low - 3 * room, -_LAST_LOGIT) if -math.inf in logits else low - room
    high = max(high + 3 * room, _LAST_LOGIT) if math.inf in logits else high + room
    return Axis(low, high, is_logit=True, labels=labels)


def difference_axis(values: Sequence[float]) -> Axis:
    """An axis for differences, which has zero on it."""
    low, high = min(0.0, *values), max(0.0, *values)
    room = _PADDING * (high - low) or 0.01
    return Axis(low - room, high + room, is_logit=False, labels=_DIFFERENCES)


def _logit(value: float) -> float:
    if value <= 0:
        return -math.inf
    return math.inf if value >= 1 else math.log(value / (1 - value))


def _area(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _round_areas() -> list[float]:
    """0.5, 0.9, 0.99 and so on; after these 0.8, 0.95, 0.98, 0.995; and the same below a half."""
    near_one = [round(1 - 10.0**-power, 9) for power in range(1, 7)]
    between = [round(1 - digit * 10.0**-power, 9) for power in range(1, 7) for digit in (2, 5)]
    areas = [0.5, *near_one, *between]
    return list(dict.fromkeys(one for area in areas for one in (area, round(1 - area, 9))))


def _round_numbers(low: float, high: float, *, finer: int = 1) -> list[float]:
    """Multiples of the largest step 1, 2 or 5 times a power of ten of which enough lie between two numbers."""
    power = math.floor(math.log10(high - low)) + 1
    steps = [digit * 10.0 ** (power - down) for down in range(5) for digit in (5, 2, 1)]
    for step in steps:
        multiples = range(math.ceil(low / step), math.floor(high / step) + 1)
        if len(multiples) >= finer * _FEWEST_TICKS:
            return [round(multiple * step, 12) for multiple in multiples]
    return []


# D of the best model above which curves are first shown in the corner: the square would show little but its edges.
_GOOD = 0.95
# No test of a usual size says anything about rates further out; less than two decades are no corner.
_FEWEST_DECADES, _MOST_DECADES = 2, 5
# A rate of 0 stands this far outside the frame, as a share of its side, so that its line is seen to leave it.
_OUTSIDE = 0.015
# Straight lines between rates are bent on a log axis: 40 points per decade, from one below the frame, so that a line to
# a rate of 0 leaves it where it should.
_RATES = np.geomspace(10.0 ** -(_MOST_DECADES + 1), 1, 40 * (_MOST_DECADES + 1) + 1)


def opens_in_corner(areas: Iterable[float]) -> bool:
    """Whether curves with these areas are first shown in the corner.

    >>> opens_in_corner([0.91, 0.96]), opens_in_corner([0.95])
    (True, False)
    """
    return max(areas) > _GOOD


def decades_of(curves: Iterable[tuple[FloatArray, FloatArray]], n_steps: int | None = None) -> int:
    """How far both axes go: enough to show curves, FPR and TPR, from a TPR of 1/2 to an FPR of 1/2.

    A curve has no place for a rate of 0, so its smallest positive rate counts there. `n_steps` is the number of samples
    that rates are shares of, where it is known: a smaller rate than one of them is no finding.

    >>> one = np.array([0, 0.004, 1]), np.array([0, 0.9, 1])
    >>> decades_of([one]), decades_of([one], n_steps=90), decades_of([(np.array([0, 0, 1]), np.array([0, 1, 1]))])
    (3, 2, 2)
    """
    smallest = [1.0]
    for fpr, tpr in curves:
        smallest += [_end(fpr, tpr), _end(1 - tpr[::-1], 1 - fpr[::-1])]
    wanted = math.ceil(-math.log10(min(smallest)) - 1e-9)
    known = _MOST_DECADES if n_steps is None else math.ceil(math.log10(n_steps))
    return max(_FEWEST_DECADES, min(wanted, known, _MOST_DECADES))


def _end(rate: FloatArray, other: FloatArray) -> float:
    """The rate where the other one is 1/2; where that is 0, the smallest that is not."""
    middle = float(np.interp(0.5, other, rate))
    return middle if middle > 0 else float(rate[rate > 0].min())


def densified(fpr: FloatArray, tpr: FloatArray, *, both_ends: bool = False) -> tuple[FloatArray, FloatArray]:
    """A curve with more points on the same straight lines, close enough together for log axes.

    With `both_ends` also for logit axes, where rates near 0 and near 1 are both enlarged.

    >>> fpr, tpr = densified(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    >>> bool(np.abs(fpr - tpr).max() < 1e-12), bool(np.diff(np.log(fpr[fpr > 1e-5])).max() < 0.06)
    (True, True)
    """
    # Lengths along the curve: rates may stand still, but not both at once.
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(fpr)) + np.abs(np.diff(tpr)))])
    misses = 1 - _RATES[::-1]
    more = [np.interp(_RATES, fpr, along), np.interp(misses, tpr, along)]
    if both_ends:
        more += [np.interp(misses, fpr, along), np.interp(_RATES, tpr, along)]
    at = np.unique(np.concatenate([along, *more]))
    return np.interp(at, along, fpr), np.interp(at, along, tpr)


@dataclass(frozen=True)
class RateTick:
    """A line of the grid: the same place means other rates at either axis."""

    place: float
    fpr: float
    tpr: float
    across: str
    """FPR in words."""
    up: str


@dataclass(frozen=True)
class View:
    """Square or corner; places go from 0 to 1, to the right and upwards."""

    is_corner: bool
    decades: int = _MOST_DECADES

    def places(self, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where a curve stands, across and up, with points between its own where lines bend.

        >>> across, up = View(is_corner=True, decades=4).places(np.array([0.001, 0.1]), np.array([0.9, 0.99]))
        >>> round(float(across[0]), 12), round(float(up[-1]), 12)
        (0.25, 0.5)
        """
        if not self.is_corner:
            return fpr, tpr
        fpr, tpr = densified(fpr, tpr)
        return 1 - self._depth(fpr), self._depth(1 - tpr)

    def _depth(self, rates: FloatArray) -> FloatArray:
        """Decades below 100 %, as a share of all; of nothing, a little more than all."""
        least = 10.0 ** -(self.decades * (1 + _OUTSIDE))
        depth: FloatArray = -np.log10(np.maximum(rates, least)) / self.decades
        return depth

    def ticks(self) -> list[RateTick]:
        """The grid, from the left and from below."""
        if not self.is_corner:
            return [RateTick(rate, rate, rate, f"{rate:g}", f"{rate:g}") for rate in (0, 0.2, 0.4, 0.6, 0.8, 1)]
        rates = [(10.0 ** (decade - self.decades), 1 - 10.0**-decade) for decade in range(self.decades + 1)]
        return [
            RateTick(decade / self.decades, fpr, tpr, level(fpr), level(tpr)) for decade, (fpr, tpr) in enumerate(rates)
        ]


def clustered(areas: FloatArray) -> IntArray:
    """An order in which classes that are hard to separate are neighbours."""
    return np.arange(len(areas)) if len(areas) < 3 else leaves(cluster_tree(areas))


def cluster_tree(areas: FloatArray) -> FloatArray:
    """Which classes and groups are joined, as SciPy's `linkage` writes it; heights are mean areas."""
    from scipy.cluster.hierarchy import linkage

    both = np.stack([areas, areas.T])
    known = ~np.isnan(both)
    total = np.where(known, both, 0).sum(axis=0)
    # Pairs that were not sampled are taken for middling ones.
    mean = np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nanmean(areas))
    distances = mean[np.triu_indices(len(areas), 1)]
    least = distances.min()
    tree: FloatArray = linkage(distances - least, "average", optimal_ordering=len(areas) <= BEST_ORDER)
    tree[:, 2] += least
    return tree


def leaves(tree: FloatArray) -> IntArray:
    """The classes in the order of their tree."""
    from scipy.cluster.hierarchy import leaves_list

    order: IntArray = leaves_list(tree)
    return order


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

# After Okabe and Ito: distinguishable with every common form of colour blindness, and at least 3 to 1 in contrast to
# their background. On white their pink is darker here, and brown and indigo stand for orange and sky blue, which are
# too pale; on black their own colours are bright enough.
COLOURS_ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#BF5F95", "#6B4C00", "#332288")
COLOURS_ON_DARK = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00")
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
