"""Names and numbers of the curves in a legend: no two of the axes get the same name by being cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyroc._estimator._curve import RocCurve
from polyroc._lib._numbers import area, area_and_ends, counted
from polyroc._uncertainty._intervals import Interval
from polyroc.display._style import font_points, letters_in, names_of, points_now

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIGITS = 3
_LONGEST = 30
# Where a line keeps its entry: when another curve comes, names may have to be cut elsewhere.
_KEPT = "_polyroc_entry"


@dataclass(frozen=True)
class Entry:
    """What the legend says of one curve."""

    name: str | None
    numbers: str
    remark: str = ""

    def of(self, name: str, room: int) -> str:
        """With the name as it is shown; on two lines where one is too short."""
        numbers = f"{self.numbers}, {self.remark}" if self.remark else self.numbers
        # matplotlib leaves labels with an underscore in front out of the legend.
        text = f" {name}" if name.startswith("_") else name
        return f"{text} ({numbers})" if len(text) + len(numbers) + 3 <= room else f"{text}\n{numbers}"

    def __str__(self) -> str:
        return f"{self.numbers} ({self.remark})" if self.remark else self.numbers


def statistic_text(letter: str, value: float, interval: Interval | None) -> str:
    """D or M with its interval, rounded to nothing that it does not say.

    >>> statistic_text("D", 0.99964, Interval(0.9996, 0.99968))
    'D 0.99964 [0.99960, 0.99968]'
    >>> statistic_text("M", 0.9152, None)
    'M 0.915'
    """
    if interval is None:
        return f"{letter} {area(value, digits=_DIGITS)}"
    text, low, high = area_and_ends(value, *interval, digits=_DIGITS)
    return f"{letter} {text} [{low}, {high}]"


def folds_text(letter: str, curves: Sequence[RocCurve]) -> str:
    """The mean area of several folds and how it varies over them."""
    areas = [curve.auc for curve in curves]
    spread = f", SD {np.std(areas, ddof=1):.3f}" if len(areas) > 1 else ""
    return f"mean {letter} {area(float(np.mean(areas)), digits=_DIGITS)}{spread} of {counted(len(areas), 'fold')}"


def label(ax: "Axes", line: Any, entry: Entry) -> None:
    """Give a line its entry, and all lines of the axes names that differ."""
    setattr(line, _KEPT, entry)
    lines = [one for one in ax.get_lines() if hasattr(one, _KEPT)]
    room = letters_in(min(points_now(ax)), font_points("small")) - 5
    names = [name for one in lines if (name := getattr(one, _KEPT).name) is not None]
    short = dict(zip(names, names_of(names, min(_LONGEST, room)), strict=True))
    for one in lines:
        found: Entry = getattr(one, _KEPT)
        one.set_label(str(found) if found.name is None else found.of(short[found.name], room))
