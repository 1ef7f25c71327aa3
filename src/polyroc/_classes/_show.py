"""The table of classes as cells for people: the same in print, in notebooks, in Markdown and in LaTeX."""

from collections.abc import Sequence
from typing import Any, Protocol

from polyroc._lib._names import short_names
from polyroc._lib._numbers import area, area_and_ends, percent
from polyroc._uncertainty._intervals import Interval

# Letters of a name in a table.
_NAME = 20
# Decimals of shares and areas.
_DIGITS = 3
_NONE = "-"
HEADER = ("class", "samples", "named", "recall", "precision", "vs rest", "pairs", "hardest partner", "mistaken for")
# Columns of numbers.
RIGHT = (1, 2, 3, 4, 5, 6)
# What is named, and what is ranked.
PARTS = ((0, 1, 2, 3, 4, 8), (0, 5, 6, 7))
MEANING = (
    "named: how often the class is the highest column. vs rest: area of the class against all others. pairs: mean "
    "area of its pairs. hardest partner: the class with the lowest mean of both areas. mistaken for: the class most "
    "often named for it, and for which share of its samples."
)


class Row(Protocol):
    """One class."""

    @property
    def label(self) -> Any: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_named(self) -> int | None: ...
    @property
    def recall(self) -> float | None: ...
    @property
    def precision(self) -> float | None: ...
    @property
    def auc_vs_rest(self) -> float | None: ...
    @property
    def mean_pair_auc(self) -> float | None: ...
    @property
    def hardest_partner(self) -> Any: ...
    @property
    def hardest_auc(self) -> float | None: ...
    @property
    def mistaken_for(self) -> Any: ...
    @property
    def mistaken_share(self) -> float | None: ...
    @property
    def intervals(self) -> dict[str, Interval]: ...


def cells(rows: Sequence[Row], labels: Sequence[Any]) -> list[list[str]]:
    """A header and one row of text per class; names are shortened together, so that no two become the same."""
    names = dict(zip(map(str, labels), short_names(labels, _NAME), strict=True))
    return [list(HEADER), *(_row(row, names) for row in rows)]


def _row(row: Row, names: dict[str, str]) -> list[str]:
    return [
        names[str(row.label)],
        f"{row.n_samples:,}",
        _NONE if row.n_named is None else f"{row.n_named:,}",
        _recall(row),
        "never named" if row.n_named == 0 else _number(row, "precision"),
        _number(row, "auc_vs_rest"),
        _number(row, "mean_pair_auc"),
        _partner(row, names),
        _mistaken(row, names),
    ]


def _recall(row: Row) -> str:
    return "no samples" if row.n_samples == 0 else _number(row, "recall")


def _number(row: Row, name: str) -> str:
    value = getattr(row, name)
    if value is None:
        return _NONE
    if name not in row.intervals:
        return area(value, digits=_DIGITS)
    text, low, high = area_and_ends(value, *row.intervals[name], digits=_DIGITS)
    return f"{text} ({low} to {high})"


def _partner(row: Row, names: dict[str, str]) -> str:
    if row.hardest_auc is None:
        return _NONE
    return f"{names[str(row.hardest_partner)]}: {_number(row, 'hardest_auc')}"


def _mistaken(row: Row, names: dict[str, str]) -> str:
    if row.mistaken_share is None:
        return _NONE
    return f"{names[str(row.mistaken_for)]}: {percent(row.mistaken_share)}" if row.mistaken_share else "none"
