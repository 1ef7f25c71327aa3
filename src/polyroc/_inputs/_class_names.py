"""Which column is named after which class: `p_cat`, `cat_prob`, `p_cat_hat`, or numbers that name none.

Only text is compared here. Frames and files read the same names in the same way.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Affixes(NamedTuple):
    """What stands before and after the class in the name of a column."""

    before: str
    after: str

    def name(self, label: str) -> str:
        """The column of a class."""
        return f"{self.before}{label}{self.after}"

    def fits(self, column: str) -> bool:
        """Whether a column is named so, after any class."""
        room = len(column) > len(self.before) + len(self.after)
        return room and column.startswith(self.before) and column.endswith(self.after)

    def label(self, column: str) -> str:
        """The class that a column is named after."""
        return column[len(self.before) : len(column) - len(self.after)]


def affixes_of(columns: Sequence[str], classes: Sequence[str]) -> list[Affixes]:
    """Every way in which columns are named such that each class has its column, in the order of the columns.

    >>> affixes_of(["owl_prob", "cat_prob"], ["cat", "owl"])
    [Affixes(before='', after='_prob')]
    >>> [found.before for found in affixes_of(["knn_a", "knn_b", "tree_a", "tree_b"], ["a", "b"])]
    ['knn_', 'tree_']
    """
    there = set(columns)
    if there.issuperset(classes):
        return [Affixes("", "")]
    # The longest class has the fewest places where it can stand.
    longest = max(classes, key=len)
    ways: dict[tuple[str, ...], Affixes] = {}
    for column in columns:
        for affixes in _around(column, longest):
            names = tuple(affixes.name(label) for label in classes)
            # Two ways to the same columns are one: the classes a, aa in the columns aa, aaa.
            if names not in ways and there.issuperset(names):
                ways[names] = affixes
    return list(ways.values())


def numbering_of(columns: Sequence[str], classes: Sequence[str] = ()) -> Affixes | None:
    """How the columns are numbered 0, 1, 2, ... in their order; None if they are not.

    Libraries name columns so that nobody named, and they are numbers of columns as often as names of classes. Columns
    that are named after `classes` of which the digit is only a part, such as 10:00 and 11:00, are not numbered.

    >>> numbering_of(["p_0", "p_1", "p_2"]), numbering_of(["p_1", "p_2"])
    (Affixes(before='p_', after=''), None)
    >>> numbering_of(["p_10:00", "p_11:00"]), numbering_of(["p_10:00", "p_11:00"], ["10:00", "11:00"])
    (Affixes(before='p_1', after=':00'), None)
    """
    for affixes in _around(columns[0], "0"):
        if all(affixes.name(str(number)) == column for number, column in enumerate(columns)):
            return None if classes and _are_more_than_numbers(columns, classes) else affixes
    return None


def _are_more_than_numbers(columns: Sequence[str], classes: Sequence[str]) -> bool:
    """Whether numbered columns are named after classes that are not the numbers."""
    numbers = [str(number) for number in range(len(columns))]
    ways = [way for way in affixes_of(columns, classes) if all(map(way.fits, columns))]
    return any([way.label(column) for column in columns] != numbers for way in ways)


def speaks_of(column: str, label: str) -> bool:
    """Whether the class stands in the name of a column as a word of its own, in whatever case.

    >>> speaks_of("P(Cat)", "cat"), speaks_of("score1", "1")
    (True, False)
    """
    around = _around(column.casefold(), label.casefold())
    return any(not (before[-1:].isalnum() or after[:1].isalnum()) for before, after in around)


def spoken_class(column: str, classes: Sequence[str]) -> str | None:
    """The one class that a column speaks of; None where there is none, or more than one.

    >>> spoken_class("p not spam", ["spam", "not spam"])
    'not spam'
    """
    spoken = [label for label in classes if speaks_of(column, label)]
    # Of classes that contain each other the longer one is meant.
    outer = [label for label in spoken if not any(label != other and speaks_of(other, label) for other in spoken)]
    return outer[0] if len(outer) == 1 else None


def guessed_classes(columns: Sequence[str], classes: Sequence[str]) -> list[str] | None:
    """The class that each column speaks of, in the order of the columns; None where that is not clear.

    Good enough to be suggested, not to be taken.

    >>> guessed_classes(["Owl %", "cat (p)"], ["cat", "owl"])
    ['owl', 'cat']
    """
    found = [label for column in columns if (label := spoken_class(column, classes)) is not None]
    return found if len(set(found)) == len(columns) else None


def _around(column: str, label: str) -> list[Affixes]:
    """What stands around each place of the label in the name."""
    if not label:
        return []
    places = (place for place in range(len(column) - len(label) + 1) if column.startswith(label, place))
    return [Affixes(column[:place], column[place + len(label) :]) for place in places]
