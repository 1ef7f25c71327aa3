"""Which column of scores belongs to which class, decided once for frames, files, Parquet, Dask and Spark.

Names of columns decide where they are the classes, bare or with a common prefix and suffix. Columns without names, and
columns that are only numbered, go by `labels`, else by what leaves no choice: the categories of `y_true`, as many
labels as columns, or integers that start at 0. Whatever could be read in two ways is refused.

`find_columns` decides for named columns and words nothing. `assign_columns` says a finding in the words of an
`InputError`; the command line has its own.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.labels import check_two, classes_like, text_of
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._lib.warnings import warn


class Affixes(NamedTuple):
    """Text before and after the class in the name of a column."""

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
    spoken = [label for column in columns if (label := spoken_class(column, classes)) is not None]
    return spoken if len(set(spoken)) == len(columns) else None


def _around(column: str, label: str) -> list[Affixes]:
    """Text around each place of the label in the name."""
    places = range(len(column) - len(label) + 1) if label else ()
    return [Affixes(column[:at], column[at + len(label) :]) for at in places if column.startswith(label, at)]


# The arguments that an error about the scores of a model names.
OF_SCORES = ("y_score", "y_score.columns")


class Known(NamedTuple):
    """Facts about the classes before the columns are read."""

    found: list[Any]
    """The distinct values of `y_true`, in ascending order."""
    given: list[Any] | None
    """`labels`, where they are given."""
    categories: list[Any] | None
    """The categories of `y_true`, in their own order, where it has some."""


class Trouble(Enum):
    """Why columns cannot be assigned to classes."""

    SEVERAL = "named in several ways, as those of several models"
    OTHERS = "some are named in another way"
    NUMBERED = "only numbered, and the classes are not these numbers"
    TURNED = "numbered, and `labels` has these numbers in another order"
    COUNT = "not as many as `labels`"
    ABSENT = "some classes are in no name, others are"
    UNNAMED = "the names are not the classes"
    CONTRADICTED = "the names say something else than `labels`"
    COMPLETING = "one that would be left out looks like the scores of a class without samples"


@dataclass(frozen=True)
class Finding:
    """Which column belongs to which class, or what stands in the way."""

    columns: list[str]
    """The score columns, in the order of `classes`; all that were looked at if there is trouble."""
    classes: list[Any] = field(default_factory=list)
    way: Affixes | None = None
    """How columns are named after classes; None if they were matched by position."""
    left: list[str] = field(default_factory=list)
    """Columns that belong to no class."""
    trouble: Trouble | None = None
    ways: list[Affixes] = field(default_factory=list)
    """Every way in which columns are named after classes."""
    about: list[Any] = field(default_factory=list)
    """Classes without a column, classes by guess in the order of the columns, or columns that complete the rows."""


ReadRows: TypeAlias = Callable[[Sequence[str]], FloatArray | None]


def find_columns(known: Known, names: Sequence[Any], rows: ReadRows | None = None) -> Finding:
    """The class of each of several named columns.

    `rows` reads columns, shape (n, len(names)), or returns None; it is given if columns of no class may be left out.

    >>> find_columns(Known([1, 2], None, None), ["p_2", "p_1"]).classes
    [2, 1]
    >>> find_columns(Known(["a", "b"], None, None), ["a", "c"]).trouble
    <Trouble.ABSENT: 'some classes are in no name, others are'>
    """
    labels_given, wanted = known.given, known.found if known.given is None else known.given
    texts, labels = [str(name) for name in names], [text_of(label) for label in wanted]
    # Booleans are matched in whatever case.
    is_folded = set(labels) <= {"false", "true"} and len({text.lower() for text in texts}) == len(texts)
    keys = {text: text.lower() if is_folded else text for text in texts}
    ways = affixes_of(list(keys.values()), labels)
    way = ways[0] if len(ways) == 1 else None
    used = texts if way is None else _named_alike(keys, way, labels, may_leave=rows is not None)
    taken = set(used)
    left = [text for text in texts if text not in taken]
    finding = Finding(used, list(wanted), way, left, ways=ways)
    numbering, numbers = numbering_of(used, labels), [str(number) for number in range(len(used))]
    if len(ways) > 1 and numbering is None:
        return replace(finding, trouble=Trouble.SEVERAL)
    if left and rows is None:
        return replace(finding, trouble=Trouble.OTHERS)
    if numbering is not None and labels != numbers and sorted(labels) == sorted(numbers) and labels_given is not None:
        return replace(finding, trouble=Trouble.TURNED)
    if labels_given is not None and len(labels_given) != len(used):
        return replace(finding, trouble=Trouble.COUNT)
    if numbering is not None and labels_given is None:
        finding = _numbered(finding, numbering, known)
    elif way is None:
        finding = _without_classes(finding, labels, labels_given, is_numbered=numbering is not None)
    else:
        by_label = {way.label(keys[text]): text for text in used}
        if labels_given is None:
            finding = replace(finding, classes=classes_like(list(by_label), wanted))
        else:
            finding = replace(finding, columns=[by_label[label] for label in labels])
    if finding.trouble is None and left and rows is not None and labels_given is None:
        return _complete(finding, rows)
    return finding


def _named_alike(keys: Mapping[str, str], way: Affixes, labels: list[str], *, may_leave: bool) -> list[str]:
    """The columns that are named in this way."""
    if any(way) or not may_leave:
        return [text for text, key in keys.items() if way.fits(key)]
    numbers, wanted = [text for text in keys if text.isdecimal()], set(labels)
    # Not if the classes are -1, 0 and 1: then 0 and 1 are some of them.
    if wanted <= set(numbers) and numbering_of(numbers, labels) is not None:
        return numbers
    # An index or a weight next to columns that are named just as the classes is no class.
    return [text for text, key in keys.items() if key in wanted]


def _numbered(finding: Finding, numbering: Affixes, known: Known) -> Finding:
    """Columns 0, 1, 2, ..., which may be classes and may be mere numbers of columns."""
    n_columns, is_boolean = len(finding.columns), isinstance(known.found[0], bool)
    if (classes := _categories(known, n_columns)) is not None:
        return replace(finding, classes=classes, way=None)
    present = {str(int(label)) if is_boolean else str(label) for label in known.found}
    numbers = [str(number) for number in range(n_columns)]
    if "0" not in present or not present <= set(numbers):
        return replace(finding, trouble=Trouble.NUMBERED)
    classes = list(range(n_columns)) if is_boolean else classes_like(numbers, known.found)
    return replace(finding, classes=classes, way=numbering)


def _without_classes(finding: Finding, labels: list[str], given: list[Any] | None, *, is_numbered: bool) -> Finding:
    """Names that are not the classes: by position if `labels` are given, and the names say nothing else."""
    columns, guessed = finding.columns, guessed_classes(finding.columns, labels)
    spoken = {label: sum(speaks_of(column, label) for column in columns) for label in labels}
    absent = [label for label, text in zip(finding.classes, labels, strict=True) if spoken[text] == 0]
    absent = [] if len(absent) == len(labels) else absent
    if given is None:
        trouble = Trouble.ABSENT if absent else Trouble.UNNAMED
        return replace(finding, trouble=trouble, about=absent or guessed or [])
    # What stands in every name tells no column from another.
    if not is_numbered and guessed != labels and any(0 < count < len(columns) for count in spoken.values()):
        return replace(finding, trouble=Trouble.CONTRADICTED, about=absent)
    return finding


def _complete(finding: Finding, rows: ReadRows) -> Finding:
    """The finding, unless a class without samples would lose its column: its score can be the highest."""
    n_used, table = len(finding.columns), rows([*finding.columns, *finding.left])
    if table is None:
        return finding
    lacking = completing(table[:, :n_used], dict(zip(finding.left, table[:, n_used:].T, strict=True)))
    return replace(finding, trouble=Trouble.COMPLETING, about=lacking) if lacking else finding


def possible_ranges(present: Sequence[Any], n_classes: int) -> list[range]:
    """The runs of integers from 0 or from 1 on that these classes can be part of."""
    runs = [range(start, start + n_classes) for start in (0, 1)]
    return (
        [] if isinstance(present[0], str) else [run for run in runs if run[0] <= present[0] and present[-1] <= run[-1]]
    )


def single_score(column: str, classes: Sequence[Any]) -> list[Any]:
    """Two classes with that one last which a single column of scores is named after, else as they are."""
    spoken = spoken_class(column, [text_of(label) for label in classes])
    return sorted(classes, key=lambda label: text_of(label) == spoken)


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


# Findings in the words of an InputError


class Said(NamedTuple):
    """Names of the arguments in the words of the caller."""

    scores: str = "y_score"
    target: str = "y_true"
    whose: str = ""  # "of model 'knn' " before a rule about one of several


FRAME = Said()


class Assigned(NamedTuple):
    """The classes, and which column belongs to each."""

    classes: list[Any]
    order: IntArray | None
    """The columns in the order of the classes; None where they are."""


def assign_columns(
    known: Known, names: list[Any] | None, n_columns: int, said: Said = FRAME, rows: ReadRows | None = None
) -> Assigned:
    """The class of each column; see `find_columns`."""
    if names is None or n_columns == 1:
        classes = _by_position(known, n_columns, names, said)
        if names is not None:
            _check_positive_name(names[0], classes, said)
        return Assigned(classes, None)
    argument = f"{said.scores}.columns"
    columns = distinct(read_labels(names, argument), argument)
    finding = find_columns(known, columns, rows)
    if finding.trouble is not None:
        raise _refusal(finding, known, columns, said)
    if known.given is None and finding.way is None:
        _warn_of_order(finding.classes, n_columns, said)
    place_of, classes = {str(column): place for place, column in enumerate(columns)}, finding.classes
    order = [place_of[column] for column in finding.columns]
    if known.given is None and finding.way == Affixes("", ""):
        spelled = [columns[place] for place in order]
        # As the caller spells them.
        classes = spelled if list(map(str, spelled)) == list(map(text_of, classes)) else classes
    return Assigned(classes, None if order == list(range(len(columns))) else np.array(order, dtype=np.intp))


def are_named(names: list[Any] | None, n_columns: int) -> bool:
    """Whether columns go by their names: there are several, and they are not only numbered."""
    return n_columns > 1 and names is not None and numbering_of([str(name) for name in names]) is None


def named_classes(columns: list[Any], wanted: list[Any]) -> list[Any] | None:
    """The classes that the columns name, each of those wanted among them; None where they do not."""
    finding = find_columns(Known(wanted, None, None), columns)
    return None if finding.trouble is not None else finding.classes


def distinct(labels: LabelArray, name: str) -> list[Any]:
    """The labels as a list, none of them twice."""
    classes: list[Any] = labels.tolist()
    if len(set(classes)) < len(classes):
        twice = [label for label, count in Counter(classes).items() if count > 1]
        raise InputError(name, "must not name a class twice", f"{listed(twice)} more than once")
    return classes


def _refusal(finding: Finding, known: Known, columns: list[Any], said: Said) -> InputError:
    wanted = known.found if known.given is None else known.given
    named, came = f"must have columns named after the classes, {listed(wanted)}", listed(columns)
    absent = f" and none for {listed(finding.about)}" if finding.about else ""
    match finding.trouble:
        case Trouble.COUNT:
            hint = ""
            if set(wanted) < set(columns):
                hint = f": to leave out the others, pass the columns of the classes only, {listed(wanted)}"
            return _wrong_count(wanted, "`labels` has", len(columns), hint, said)
        case Trouble.NUMBERED:
            check_two(known.found, said.target)
            came = f"columns that are only numbered, {came}"
            hint = _readings(known.found, len(columns)) or ". Pass the classes in the order of the columns as `labels=`"
        case Trouble.TURNED:
            named = f"must have its columns in the order of `labels`, {listed(wanted)}, where they are only numbered"
            came = f"columns {came}"
            hint = (
                ": it is not clear whether these are classes. Pass `labels=` in the order of the columns, and columns "
                "named after the classes"
            )
        case Trouble.SEVERAL:
            came = f"those of {len(finding.ways)} models, {listed([way.name('...') for way in finding.ways])}"
            hint = ": pass the columns of one"
        case Trouble.OTHERS:
            left = [column for column in columns if str(column) in finding.left]
            came, hint = f"also {listed(left)}", ": drop what is no score"
        case Trouble.ABSENT:
            came, hint = f"{came}{absent}", ""
        case Trouble.CONTRADICTED:
            named, came = f"must have a column for each of `labels`, {listed(wanted)}", f"{came}{absent}"
            hint = (
                ". Names that speak of classes must be the classes, perhaps with a common prefix or suffix: rename them"
            )
        case Trouble.COMPLETING:
            named = "must be the columns of all classes"
            came = f"{listed(finding.columns)}, whose rows sum to 1 only with {listed(finding.about)}"
            hint = (
                ": if that is a class without samples, name all classes in `labels`, in the order of the columns; else "
                f"name the columns in `{said.scores}`"
            )
        case _:
            guessed = classes_like(finding.about, wanted) if finding.about else []
            such = f", such as `labels={guessed}`" if guessed else ""
            named = f"{named}, perhaps with a common prefix or suffix"
            hint = f". Rename them, or pass the class of each column as `labels=`, in the order of the columns{such}"
    return InputError(said.scores, f"{said.whose}{named}", came, hint=hint)


def _wrong_count(classes: list[Any], source: str, n_columns: int, hint: str, said: Said) -> InputError:
    columns = "one column, which is for two classes" if n_columns == 1 else f"{n_columns} columns"
    came = f"{columns}, while {source} {len(classes)} ({listed(classes)})"
    return InputError(said.scores, f"{said.whose}must have one column per class", came, hint=hint)


def _by_position(known: Known, n_columns: int, names: list[Any] | None, said: Said) -> list[Any]:
    """The classes of columns without names, or of a single one."""
    n_classes, present = max(n_columns, 2), known.found
    if known.given is not None:
        if len(known.given) != n_classes:
            raise _wrong_count(known.given, "`labels` has", n_columns, "", said)
        return known.given
    if (classes := _categories(known, n_columns)) is not None:
        _warn_of_order(classes, n_columns, said)
        return classes
    if isinstance(present[0], bool):
        if n_classes != 2:
            raise _wrong_count([False, True], "boolean labels have", n_columns, "", said)
        return [False, True]
    check_two(present, said.target)
    if len(present) == n_classes:
        return present
    if not isinstance(present[0], str) and present[0] == 0 and present[-1] < n_classes:
        return list(range(n_classes))
    raise _wrong_count(present, f"`{said.target}` has", n_columns, _readings(present, n_classes), said)


def _categories(known: Known, n_columns: int) -> list[Any] | None:
    """Categories in their order: all of them, else those that occur; None where neither are as many as the columns."""
    if known.given is not None:
        return None
    every = known.categories or []
    occurring = [label for label in every if label in set(known.found)]
    return next((classes for classes in (every, occurring) if len(classes) == max(n_columns, 2)), None)


def _warn_of_order(classes: list[Any], n_columns: int, said: Said) -> None:
    if classes == sorted(classes):
        return
    what = f"The columns of `{said.scores}` are read"
    if n_columns == 1:
        what = f"The column of `{said.scores}` is read as the score of {shown(classes[1])}, the second class"
    msg = (
        f"{what} in the order of the categories of `{said.target}`: {listed(classes)}. This is not the sorted order "
        "that scikit-learn's `predict_proba` has. To settle the order, pass `labels=`, such as `labels=model.classes_`."
    )
    warn(msg, UserWarning)


def _readings(present: list[Any], n_classes: int) -> str:
    """Possible classes if fewer of them occur than there are columns."""
    if len(present) > n_classes:
        return ""
    ways = [
        f"`labels=range({run.start}, {run.stop})` if the classes are {run[0]} to {run[-1]}"
        for run in possible_ranges(present, n_classes)
    ]
    which = ", or ".join(ways) if ways else f"all {n_classes} classes in the order of the columns as `labels=`"
    return f". Pass {which}; of a scikit-learn model, `labels=model.classes_`"


def _check_positive_name(name: Any, classes: list[Any], said: Said) -> None:
    # Only text: an unnamed pandas column is called 0, and so is often the first class.
    if isinstance(name, str) and single_score(name, classes) != classes:
        turned = f"[{shown(classes[1])}, {shown(classes[0])}]"
        raise InputError(
            said.scores,
            f"{said.whose}of one column must be the score of the second class, {shown(classes[1])}",
            f"a column named {shown(name)}",
            hint=f". If it is the score of {shown(classes[0])}, pass `labels={turned}`; else rename it",
        )
