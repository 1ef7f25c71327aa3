"""Names of classes, models and files as text: never markup, on one line, cut in tables and whole in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyroc._lib._names import printable, short_names

# So many letters have room in a cell, on two lines of a phone.
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
        """What the pointer finds where the name was cut; else nothing."""
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
