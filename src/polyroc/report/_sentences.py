"""What sentences are made of: tuples of text and names, for names are data that the template keeps apart."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from polyroc._lib._numbers import area, area_and_ends, level
from polyroc.report._models import Model, models_of
from polyroc.report._names import Name, name_of

Sentence: TypeAlias = tuple[str | Name, ...]

_DIGITS = 3


def joined(parts: Sequence[Sentence]) -> Sentence:
    """a, b and c."""
    pieces: list[str | Name] = []
    for place, part in enumerate(parts):
        if place:
            pieces.append(" and " if place == len(parts) - 1 else ", ")
        pieces += part
    return tuple(pieces)


def plain_text(sentence: Sentence) -> str:
    """A sentence as text."""
    return "".join(str(piece) for piece in sentence)


def short_area(value: float) -> str:
    """An area as it stands in a sentence."""
    return area(value, digits=_DIGITS)


def with_interval(letter: str, value: float, interval: dict[str, Any] | None, *, named: bool = True) -> str:
    """A statistic with its interval, if there is one."""
    if interval is None:
        return f"{letter} {short_area(value)}"
    number, low, high = area_and_ends(value, interval["low"], interval["high"], digits=_DIGITS)
    how_sure = f"{level(interval['level'])} interval " if named else ""
    return f"{letter} {number} ({how_sure}{low} to {high})"


def of_pair(pair: dict[str, Any]) -> Sentence:
    """The names of a pair of classes."""
    return (name_of(pair["positive"]), " against ", name_of(pair["negative"]))


def of_model(model: Model) -> Sentence:
    """Whose the sentence is, where there are several."""
    return () if model.name is None else (model.name, ": ")


def is_binary(summary: dict[str, Any]) -> bool:
    """Two classes by the scores; of three with samples of two there are two ordered pairs, and a fit."""
    return len(models_of(summary)[0].record["pairs"]["auc"]) == 1


def n_classes(summary: dict[str, Any]) -> int:
    """Classes that have samples."""
    return sum(count > 0 for count in summary["class_counts"])
