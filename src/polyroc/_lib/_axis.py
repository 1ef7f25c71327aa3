"""Numbers -> places on an axis: areas on a logit axis, where intervals near 1 stay visible, differences around zero."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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
        return _plain(value) if self.is_logit else _signed(value)

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


def _plain(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")


def _signed(value: float) -> str:
    return "0" if value == 0 else f"{value:+.9f}".rstrip("0").rstrip(".")
