"""Sentences as tuples of text and names, because names are data that the template keeps apart."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from polyroc._core.samples import is_backwards
from polyroc._lib.numbers import area, area_and_ends, level
from polyroc._lib.text import printable, short_names

# This many letters have room in a cell, on two lines of a phone.
_LONGEST = 40


@dataclass(frozen=True)
class Name:
    """A name inside a sentence or a cell; the template sets it apart from the text around it."""

    whole: str
    """On one line; for sentences, and for paper."""
    short: str = ""
    """For tables and pictures, where it is cut; no two of the names that were cut together are the same."""

    @property
    def text(self) -> str:
        """As a table shows it."""
        return self.short or self.whole

    @property
    def title(self) -> str:
        """Whole name for the pointer if the name was cut; else empty."""
        return self.whole if self.text != self.whole else ""

    def to_dict(self) -> dict[str, str]:
        """For the script of the page; what is not needed is left out, for there may be thousands."""
        return {"text": self.text, "whole": self.title} if self.title else {"text": self.text}

    def __str__(self) -> str:
        return self.whole


def name_of(value: Any) -> Name:
    """A name that stands whole wherever it stands."""
    return Name(printable(value))


def names_of(values: Sequence[Any]) -> list[Name]:
    """Names that are shown together, cut so that no two become the same."""
    return [Name(printable(value), short) for value, short in zip(values, short_names(values, _LONGEST), strict=True)]


def class_names(summary: dict[str, Any]) -> dict[Any, Name]:
    """The classes by their labels."""
    labels = summary["labels"]
    return dict(zip(labels, names_of(labels), strict=True))


def model_names(summary: dict[str, Any]) -> dict[str, Name]:
    """The models of a comparison by their names."""
    models = list(summary["evaluations"])
    return dict(zip(models, names_of(models), strict=True))


@dataclass(frozen=True, eq=False)
class Model:
    """One model's part of the dict."""

    name: Name | None
    record: dict[str, Any] = field(repr=False)

    @cached_property
    def worst_pairs(self) -> list[int]:
        """Positions of the pairs, the smallest area first; equal ones as they come."""
        areas = self.record["pairs"]["auc"]
        return sorted(range(len(areas)), key=areas.__getitem__)

    @property
    def is_backwards(self) -> bool:
        """Whether the scores rank the wrong way by the interval of D; without one, chance may explain it."""
        interval = self.record["confidence_interval"]
        return interval is not None and is_backwards(interval["low"], interval["high"])


def models_of(summary: dict[str, Any]) -> list[Model]:
    """All models, in the order in which they were given."""
    if summary["kind"] == "evaluation":
        return [Model(None, summary)]
    names = model_names(summary)
    return [Model(names[model], record) for model, record in summary["evaluations"].items()]


def best_place(summary: dict[str, Any]) -> int:
    """Where the best model stands; without a clear one, that with the largest D."""
    if summary["kind"] == "evaluation":
        return 0
    if summary["best"] is not None:
        return list(summary["evaluations"]).index(summary["best"])
    values = [one["value"] for one in summary["auc"]["estimates"]]
    return values.index(max(values))


def best_of(summary: dict[str, Any]) -> Model:
    """That model."""
    return models_of(summary)[best_place(summary)]


def contenders(summary: dict[str, Any]) -> list[str]:
    """The models that may be the best: a leader by D or by M, and who is not significantly below a leader."""
    leading = []
    for contest in (summary["auc"], summary["hand_till"]):
        leader = max(contest["estimates"], key=lambda one: one["value"])["model"]
        rivals = {
            model
            for one in contest["differences"]
            if leader in (one["first"], one["second"]) and one["p_value_holm"] >= 1 - summary["confidence_level"]
            for model in (one["first"], one["second"])
        }
        leading += [leader, *rivals]
    return [model for model in summary["evaluations"] if model in leading]


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


def number_and_ends(value: float, low: float | None, high: float | None, *, digits: int = 4) -> dict[str, str]:
    """An area for a cell, and the ends of its interval, if it has one."""
    if low is None or high is None:
        return {"text": area(value, digits=digits), "ends": ""}
    text, lower, upper = area_and_ends(value, low, high, digits=digits)
    return {"text": text, "ends": f"{lower} to {upper}"}


def seen_from(model: str, difference: dict[str, Any]) -> dict[str, Any]:
    """A difference of two models with this one as the first."""
    if difference["first"] == model:
        return difference
    ends = {"first": model, "second": difference["first"], "low": -difference["high"], "high": -difference["low"]}
    return difference | ends | {"value": -difference["value"]}


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
