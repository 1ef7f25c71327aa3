"""Which class each column of `y_score` belongs to; every error about that.

Names of columns decide where they are the classes, bare or with a common prefix and suffix. Columns without names, and
columns that are only numbered, go by `labels`, else by what leaves no choice: the categories of `y_true`, as many
labels as columns, or integers that start at 0. Whatever could be read in two ways is refused.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._lib.warnings import warn


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


# The arguments that an error about the scores of a model names.
OF_SCORES = ("y_score", "y_score.columns")


class Known(NamedTuple):
    """What is known about the classes before the columns are looked at."""

    found: list[Any]
    """The distinct values of `y_true`, in ascending order."""
    given: list[Any] | None
    """`labels`, where they are given."""
    categories: list[Any] | None
    """The categories of `y_true`, in their own order, where it has some."""


class Assigned(NamedTuple):
    """The classes, and which column belongs to each."""

    classes: list[Any]
    order: IntArray | None
    """The columns in the order of the classes; None where they are."""


def assign_columns(known: Known, names: list[Any] | None, n_columns: int) -> Assigned:
    """The class of each column."""
    if known.given is not None and len(known.given) != max(n_columns, 2):
        raise _wrong_count(known.given, "`labels` has", n_columns, _named_columns(known.given, names))
    if n_columns == 1:
        classes = _by_position(known, n_columns)
        if names is not None:
            _check_positive_name(names[0], classes)
        return Assigned(classes, None)
    if names is None:
        return Assigned(_by_position(known, n_columns), None)
    columns = distinct(read_labels(names, "y_score.columns"), "y_score.columns")
    wanted = known.found if known.given is None else known.given
    numbering = numbering_of([str(column) for column in columns], [str(label) for label in wanted])
    if numbering is not None:
        return Assigned(_by_number(known, columns, numbering), None)
    return _by_name(known, columns)


def are_named(names: list[Any] | None, n_columns: int) -> bool:
    """Whether columns go by their names: there are several, and they are not only numbered."""
    return n_columns > 1 and names is not None and numbering_of([str(name) for name in names]) is None


def _named_columns(classes: list[Any], names: list[Any] | None) -> str:
    """How to leave out columns of a table that belong to no class."""
    if names is None or not set(classes) < set(names):
        return ""
    return f": to leave out the others, pass the columns of the classes only, {listed(classes)}"


def distinct(labels: LabelArray, name: str) -> list[Any]:
    """The labels as a list, none of them twice."""
    classes: list[Any] = labels.tolist()
    if len(set(classes)) < len(classes):
        twice = [label for label, count in Counter(classes).items() if count > 1]
        raise InputError(name, "must not name a class twice", f"{listed(twice)} more than once")
    return classes


def positions(values: Sequence[Any], classes: Sequence[Any]) -> list[int | None]:
    """Where each value stands among the classes, by `str` if one side is text and the other is not."""
    if isinstance(values[0], str) != isinstance(classes[0], str):
        values, classes = [str(value) for value in values], [str(label) for label in classes]
    position = {label: index for index, label in enumerate(classes)}
    return [position.get(value) for value in values]


def check_two(present: list[Any]) -> None:
    """Whether there is anything to compare."""
    if len(present) < 2:
        came = f"fewer than two classes: {listed(present)}"
        raise InputError("y_true", "must have samples of at least two classes", came)


# Columns without names


def _by_position(known: Known, n_columns: int) -> list[Any]:
    n_classes = max(n_columns, 2)
    if known.given is not None:
        return known.given
    if known.categories is not None and (classes := _by_category(known, n_columns)) is not None:
        return classes
    if isinstance(known.found[0], bool):
        if n_classes != 2:
            raise _wrong_count([False, True], "boolean labels have", n_columns, "")
        return [False, True]
    check_two(known.found)
    if len(known.found) == n_classes:
        return known.found
    if not isinstance(known.found[0], str) and known.found[0] == 0 and known.found[-1] < n_classes:
        return list(range(n_classes))
    raise _wrong_count(known.found, "`y_true` has", n_columns, _readings(known.found, n_classes))


def _by_category(known: Known, n_columns: int) -> list[Any] | None:
    """Categories in their order: all of them, else those that occur; None where neither are as many as the columns."""
    every = known.categories or []
    for classes in (every, [label for label in every if label in set(known.found)]):
        if len(classes) == max(n_columns, 2):
            if classes != sorted(classes):
                warn(_about_categories(classes, n_columns), UserWarning)
            return classes
    return None


def _about_categories(classes: list[Any], n_columns: int) -> str:
    what = "The columns of `y_score` are read"
    if n_columns == 1:
        what = f"The column of `y_score` is read as the score of {shown(classes[1])}, the second class"
    return (
        f"{what} in the order of the categories of `y_true`: {listed(classes)}. This is not the sorted order that "
        "scikit-learn's `predict_proba` has. To settle the order, pass `labels=`, such as `labels=model.classes_`."
    )


def _wrong_count(classes: list[Any], source: str, n_columns: int, hint: str) -> InputError:
    columns = "one column, which is for two classes" if n_columns == 1 else f"{n_columns} columns"
    came = f"{columns}, while {source} {len(classes)} ({listed(classes)})"
    return InputError("y_score", "must have one column per class", came, hint=hint)


def _readings(found: list[Any], n_classes: int) -> str:
    """What the classes may be where fewer of them occur than there are columns."""
    if len(found) > n_classes:
        return ""
    ways = []
    if not isinstance(found[0], str):
        starts = [start for start in (0, 1) if start <= found[0] and found[-1] < start + n_classes]
        ways = [f"`labels=range({s}, {s + n_classes})` if the classes are {s} to {s + n_classes - 1}" for s in starts]
    which = ", or ".join(ways) if ways else f"all {n_classes} classes in the order of the columns as `labels=`"
    return f". Pass {which}; of a scikit-learn model, `labels=model.classes_`"


def _check_positive_name(name: Any, classes: list[Any]) -> None:
    # Only text: an unnamed pandas column is called 0, and so is often the first class.
    if isinstance(name, str) and spoken_class(name, [str(label) for label in classes]) == str(classes[0]):
        turned = f"[{shown(classes[1])}, {shown(classes[0])}]"
        raise InputError(
            "y_score",
            f"of one column must be the score of the second class, {shown(classes[1])}",
            f"a column named {shown(name)}",
            hint=f". If it is the score of {shown(classes[0])}, pass `labels={turned}`; else rename it",
        )


# Columns that are numbered


def _by_number(known: Known, columns: list[Any], numbering: Affixes) -> list[Any]:
    """The classes of columns 0, 1, 2, ..., which may be classes and may be mere numbers of columns."""
    numbers = range(len(columns))
    if known.given is not None:
        return _checked_against_numbers(known.given, columns)
    if known.categories is not None and (classes := _by_category(known, len(columns))) is not None:
        return classes
    found = [str(int(label)) if isinstance(label, bool) else str(label) for label in known.found]
    if "0" in found and set(found) <= {str(number) for number in numbers}:
        is_bare = numbering == Affixes("", "") and not isinstance(known.found[0], bool)
        return columns if is_bare else list(numbers)
    check_two(known.found)
    ask = _readings(known.found, len(columns)) or ". Pass the classes in the order of the columns as `labels=`"
    came = f"columns that are only numbered, {listed(columns)}"
    raise InputError("y_score", _named_after(known.found), came, hint=ask)


def _checked_against_numbers(given: list[Any], columns: list[Any]) -> list[Any]:
    texts, numbers = [str(label) for label in given], [str(number) for number in range(len(columns))]
    if texts != numbers and sorted(texts) == sorted(numbers):
        raise InputError(
            "y_score",
            f"must have its columns in the order of `labels`, {listed(given)}, where they are only numbered",
            f"columns {listed(columns)}",
            hint=": it is not clear whether these are classes. Pass `labels=` in the order of the columns, and "
            "columns named after the classes",
        )
    return given


# Columns with names


def _by_name(known: Known, columns: list[Any]) -> Assigned:
    wanted = known.found if known.given is None else known.given
    classes = named_classes(columns, wanted)
    if known.given is None:
        if classes is None:
            _refuse_names(columns, wanted)
        return Assigned(classes, None)
    if classes is None:
        _check_silence(columns, known.given)
        return Assigned(known.given, None)
    order = positions(known.given, classes)
    same = order == list(range(len(columns)))
    return Assigned(known.given, None if same else np.array(order, dtype=np.intp))


def named_classes(columns: list[Any], wanted: list[Any]) -> list[Any] | None:
    """The classes that the columns name, each of those wanted among them; None where they do not."""
    if None not in positions(wanted, columns):
        return columns
    texts, by_text = [str(column) for column in columns], {str(label): label for label in wanted}
    ways = affixes_of(texts, list(by_text))
    if len(ways) != 1 or not all(map(ways[0].fits, texts)):
        return None
    labels = [ways[0].label(text) for text in texts]
    if isinstance(wanted[0], str):
        return labels
    # Classes that do not occur are of the type of those that do, if they can be.
    typed = [by_text.get(label, int(label) if label.isdecimal() else label) for label in labels]
    return typed if len({type(label) for label in typed}) == 1 else labels


def _refuse_names(columns: list[Any], found: list[Any]) -> NoReturn:
    texts = [str(column) for column in columns]
    rule, hint = _named_after(found), ""
    ways = affixes_of(texts, [str(label) for label in found])
    if len(ways) == 1:
        others = [column for column, text in zip(columns, texts, strict=True) if not ways[0].fits(text)]
        came, hint = f"also {listed(others)}", ": drop what is no score"
    elif ways:
        starts = [way.name("...") for way in ways]
        came, hint = f"those of {len(ways)} models, {listed(starts)}", ": pass the columns of one"
    elif absent := _unspoken(texts, found):
        came = f"{listed(columns)} and none for {listed(absent)}"
    else:
        guessed = guessed_classes(texts, [str(label) for label in found])
        by_text = {str(label): label for label in found}
        such = "" if guessed is None else f", such as `labels={[by_text[text] for text in guessed]}`"
        rule, came = f"{rule}, perhaps with a common prefix or suffix", listed(columns)
        hint = f". Rename them, or pass the class of each column as `labels=`, in the order of the columns{such}"
    raise InputError("y_score", rule, came, hint=hint)


def _named_after(classes: list[Any]) -> str:
    return f"must have columns named after the classes, {listed(classes)}"


def _unspoken(texts: list[str], classes: list[Any]) -> list[Any]:
    """The classes that no name speaks of, where names speak of others."""
    absent = [label for label in classes if not any(speaks_of(text, str(label)) for text in texts)]
    return [] if len(absent) == len(classes) else absent


def _check_silence(columns: list[Any], given: list[Any]) -> None:
    """Whether the names say nothing else about the classes than `labels`, which may then name them by position."""
    texts = [str(column) for column in columns]
    if guessed_classes(texts, [str(label) for label in given]) == [str(label) for label in given]:
        return
    for label in given:
        spoken = [column for column, text in zip(columns, texts, strict=True) if speaks_of(text, str(label))]
        # What stands in every name tells no column from another.
        if 0 < len(spoken) < len(columns):
            absent = _unspoken(texts, given)
            lacking = f" and none for {listed(absent)}" if absent else ""
            raise InputError(
                "y_score",
                f"must have a column for each of `labels`, {listed(given)}",
                f"{listed(columns)}{lacking}",
                hint=". Names that speak of classes must be the classes, perhaps with a common prefix or suffix: "
                "rename them",
            )


# Probabilities may be rounded to two digits.
_NEARLY = 0.01


def completing(scores: FloatArray, others: Mapping[str, FloatArray]) -> list[str]:
    """The columns that make the rows of probabilities sum to 1, where without them some do not; none where none do.

    >>> scores = np.array([[0.5, 0.2], [0.1, 0.9]])
    >>> completing(scores, {"id": np.array([1.0, 2.0]), "owl": np.array([0.3, 0.0])})
    ['owl']
    """
    lacking = 1 - scores.sum(axis=1)
    if not np.abs(lacking).max(initial=0.0) > _NEARLY:
        return []
    likely = {name: one for name, one in others.items() if bool(np.all((one >= -_NEARLY) & (one <= 1 + _NEARLY)))}
    for names in (list(likely), *([name] for name in likely)):
        if names and bool(np.all(np.abs(lacking - sum(likely[name] for name in names)) <= _NEARLY)):
            return names
    return []
