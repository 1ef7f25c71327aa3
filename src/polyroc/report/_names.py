"""Names of classes, models and files as text: never markup, on one line, and cut where they are long."""

from dataclasses import dataclass
from html import escape
from typing import Any

from polyroc._containers import one_line

_LONGEST = 40
# So many letters have room in every table, also on a phone.
_ROOM = 16
# Nobody reads more of a name than this, also where the pointer rests on it.
_WHOLE = 1000


@dataclass(frozen=True)
class Name:
    """A name inside a sentence or a cell; the template sets it apart from the text around it."""

    value: str

    @property
    def text(self) -> str:
        """As it is shown; one that would not be seen stands in quotes."""
        shown = one_line(self.value, _LONGEST)
        return shown if shown.strip() else repr(shown)

    @property
    def whole(self) -> str:
        """What the pointer finds where the name was cut, by us or for want of room; else nothing."""
        return one_line(self.value, _WHOLE) if len(self.value) > _ROOM else ""

    def to_dict(self) -> dict[str, str]:
        """For the script of the page; what is not needed is left out, for there may be thousands."""
        entry = {"text": self.text, "whole": self.whole, "plot": plot_text(self.text)}
        return {key: value for key, value in entry.items() if key == "text" or value not in ("", self.text)}

    def __str__(self) -> str:
        return self.text


def name_of(value: Any) -> Name:
    """The name of a class, whatever its type."""
    return Name(str(value))


def plot_text(text: str) -> str:
    """Text that plotly shows as it is: it reads a few tags and entities, and knows no others.

    >>> plot_text('<b>&</b> "x"')
    '&lt;b&gt;&amp;&lt;/b&gt; "x"'
    """
    return escape(text, quote=False)
