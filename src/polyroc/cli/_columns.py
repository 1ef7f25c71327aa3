"""Which columns hold the scores, and which class each belongs to."""

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from polyroc._inputs.columns import (
    Affixes,
    affixes_of,
    completing,
    guessed_classes,
    numbering_of,
    speaks_of,
    spoken_class,
)
from polyroc._lib.limits import LABELS_PROPOSED
from polyroc.cli._files import Source, is_numeric, quoted_path
from polyroc.cli._labels import Target, text_of
from polyroc.cli._plain import CommandError, clean, listed, quoted, typed


@dataclass(frozen=True)
class Columns:
    """What the user said about the columns and rows of a file."""

    target: str
    scores: str | Sequence[str] | None = None
    labels: str | Sequence[Any] | None = None
    sample_weight: str | None = None
    groups: str | None = None
    key: str | None = None
    model_column: str | None = None
    """The column of models of a file in long layout; perhaps with those that are wanted, as in `model=knn`."""
    pooled: bool = False
    """Whether all rows are samples of one model, whatever the columns look like."""
    drop_missing: bool = False
    """Whether rows with missing values are left out."""
    common: bool = False
    """Whether rows are left out whose keys are not in all files."""
    has_groups: bool = True
    """Whether the command has --groups."""
    method: str = ""
    """Options of the command that say nothing about columns but change the numbers, as typed."""

    def __post_init__(self) -> None:
        if self.pooled and self.model_column is not None:
            msg = "--pooled takes all rows as samples of one model: leave it out, or leave out --model-column"
            raise CommandError(msg)

    @property
    def taken(self) -> list[str]:
        """Those that are no scores."""
        named = (self.target, self.sample_weight, self.groups, self.key, self.model_column)
        return [name for name in named if name]

    def typed(self, *without: str) -> str:
        """The options as they are typed, with a blank before each."""
        names = ("target", "scores", "labels", "sample_weight", "groups", "key", "model_column")
        given = {name: getattr(self, name) for name in names if name not in without}
        flags = [name for name in ("pooled", "drop_missing", "common") if getattr(self, name) and name not in without]
        values = [f" {_option(name)} {typed(joined(value))}" for name, value in given.items() if value is not None]
        return "".join([*values, *(f" {_option(name)}" for name in flags), self.method])


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def joined(names: str | Sequence[Any]) -> str:
    """Names between commas, as `split` reads them.

    >>> joined(["a", "b,c"])
    'a,"b,c"'
    """
    if isinstance(names, str):
        return names
    texts = [str(name) for name in names]
    return ",".join('"{}"'.format(text.replace('"', '""')) if "," in text or '"' in text else text for text in texts)


def several_models(source: Source, found: list[str], ways: Sequence[Affixes], target: Target, columns: Columns) -> str:
    """That columns are named in several ways, and how to choose."""
    chosen = [_choosing(found, way, ways, target.texts) for way in ways]
    names = [f"{way.before}{way.after}".strip("_-. ").replace("=", "_") or f"{n}" for n, way in enumerate(ways, 1)]
    several = f"{quoted_path(source.name)} holds the scores of {len(ways)} models, {listed(chosen)}: "
    one = f"choose one, `--scores {typed(chosen[0])}`"
    if not columns.target or columns.model_column is not None:
        return several + one
    models = joined([f"{name}={pattern}" for name, pattern in zip(names, chosen, strict=True)])
    rest = columns.typed("scores", "key", "pooled", "common")
    call = f"polyroc compare {typed(source.path)}{rest} --models {typed(models)}"
    return f"{several}{one}, or compare them, `{call}`"


def _choosing(columns: list[str], way: Affixes, ways: Sequence[Affixes], texts: list[str]) -> str:
    """A pattern for the columns of one model; their names where a pattern would take others as well."""
    claimed = {other.name(text) for other in ways if other != way for text in texts}
    own = [name for name in columns if way.fits(name) and name not in claimed]
    pattern = way.name("*")
    return joined([pattern] if [name for name in columns if fnmatchcase(name, pattern)] == own else own)


def no_match(source: Source, columns: list[str], target: Target) -> str:
    """That the columns do not name the classes, and what to do about it."""
    where = quoted_path(source.name)
    if numbering_of(columns) is not None:
        return (
            f"the score columns of {where} are only numbered, {listed(columns)}, so their classes are not known: "
            f"{_readings(columns, target)}"
        )
    absent = [text for text in target.texts if not any(_is_about(name, text) for name in columns)]
    if 0 < len(absent) < len(target.classes):
        texts = [name for name in source.names if not is_numeric(source.schema.field(name).type)]
        wrong = [name for name in texts if any(_is_about(name, text) for text in absent)]
        hint = f", and {listed(wrong)} without numbers" if wrong else ""
        came = f"it has {listed(columns)}{hint}"
        return f"{where} has no score column for {listed(absent)} of the target's classes; {came}"
    guessed = guessed_classes(columns, target.texts)
    such = (guessed and _labels(guessed)) or f"in the order {listed(columns)}, with --labels"
    return (
        f"the score columns of {where}, {listed(columns)}, do not name the classes {listed(target.classes)}: "
        f"rename them, choose others with --scores, or name the class of each column, {such}"
    )


def check_numbers(kept: list[str], target: Target, given: list[Any] | None) -> None:
    """Refuse columns p_0, p_1, ... whose numbers may be classes and may be mere numbers of columns."""
    if not kept or numbering_of(kept, target.texts) is None or isinstance(target.classes[0], bool):
        return
    numbers = [str(number) for number in range(len(kept))]
    if given is None:
        # Integers from 1 on: the last class may be absent, or the first.
        if "0" not in target.texts:
            came = f"{listed(target.classes)} in the target"
            msg = f"the columns {listed(kept)} are numbered from 0, but 0 is not among {came}: "
            raise CommandError(msg + _readings(kept, target))
    elif (texts := [text_of(label) for label in given]) != numbers and sorted(texts) == sorted(numbers):
        msg = (
            f"--labels names {listed(given)}, but the columns are {listed(kept)}: it is not clear whether these "
            "numbers are classes. Leave --labels out if they are, else rename the columns after the classes"
        )
        raise CommandError(msg)


def check_silence(columns: list[str], given: list[Any]) -> None:
    """Refuse labels by position for columns whose names speak of classes in another way."""
    texts = [text_of(label) for label in given]
    if numbering_of(columns) is not None or guessed_classes(columns, texts) == texts:
        return
    for text in texts:
        spoken = [name for name in columns if speaks_of(name, text)]
        # What stands in every name tells no column from another.
        if 0 < len(spoken) < len(columns):
            msg = (
                f"--labels names {listed(given)}, but the columns are {listed(columns)}: columns that speak of classes "
                "must be named after them, perhaps with a common prefix or suffix; rename them"
            )
            raise CommandError(msg)


def _readings(columns: list[str], target: Target) -> str:
    """The classes that numbered columns may have, each with what to type."""
    found, count = target.classes, len(columns)
    ways = []
    if not isinstance(found[0], str):
        starts = [start for start in (0, 1) if start <= found[0] and found[-1] < start + count]
        ranges = [list(range(start, start + count)) for start in starts]
        ways = [f"{_labels(one)} if the classes are {one[0]} to {one[-1]}" for one in ranges if _labels(one)]
    return " or ".join(ways) or "name the class of each column in this order with --labels"


def _labels(classes: Sequence[Any]) -> str:
    """The option as it is typed; empty for more classes than anybody reads."""
    return f"`--labels {typed(joined(classes))}`" if len(classes) <= LABELS_PROPOSED else ""


def _is_about(column: str, text: str) -> bool:
    return column.startswith(text) or column.endswith(text) or speaks_of(column, text)


@dataclass(frozen=True)
class Choice:
    """Score columns, and the classes in their order; of a single column, both classes."""

    columns: tuple[str, ...]
    labels: tuple[Any, ...]
    note: str = ""
    """What was guessed, where that deserves a word."""


def check_column(source: Source, name: str, option: str) -> str:
    """The name, if there is such a column; else near matches, and what there is."""
    names = source.names
    if name in names:
        return name
    near = get_close_matches(name, names, n=3) or [one for one in names if one.casefold() == name.casefold()]
    hint = f" Did you mean {' or '.join(map(quoted, near))}?" if near else ""
    msg = f"{option}: no column {quoted(name)} in {quoted_path(source.name)}.{hint} It has {listed(names)}."
    raise CommandError(msg)


def split(text: str | Sequence[Any]) -> list[str]:
    """Names between commas, of which one that contains a comma is in double quotes; or those of a list.

    >>> split('a,"b,c"'), split([0, 1])
    (['a', 'b,c'], ['0', '1'])
    """
    if not isinstance(text, str):
        return [str(name) for name in text]
    return [part for part in next(csv.reader([text], skipinitialspace=True), []) if part]


def choose_scores(source: Source, target: Target, asked: Columns, pattern: str | None = None) -> Choice:
    """The score columns that the user wants, or all numbers that nothing else has a use for.

    `pattern` takes the place of `asked.scores`.
    """
    scores, labels = pattern or asked.scores, asked.labels
    columns = _named(source, scores) if scores else _others(source, asked.taken)
    given = None if labels is None else target.like(split(labels))
    if given is not None and not given:
        msg = f"--labels must name classes, got {quoted(joined(labels or ''))}"
        raise CommandError(msg)
    if len(columns) == 1:
        return _binary(columns[0], target, given)
    ways = ways_of(columns, target.texts if given is None else [text_of(label) for label in given])
    if len(ways) > 1:
        raise CommandError(several_models(source, columns, ways, target, asked))
    if ways:
        choice = _matched(columns, ways[0], target, given, strict=scores is not None)
        if scores is None and given is None:
            _check_left(source, choice, columns)
        return choice
    if given is None:
        raise CommandError(no_match(source, columns, target))
    if len(given) != len(columns):
        came = f"{len(given)} classes ({listed(given)}) for {len(columns)} score columns ({listed(columns)})"
        msg = f"--labels must name as many classes as there are score columns, got {came}"
        raise CommandError(msg)
    check_silence(columns, given)
    return Choice(tuple(columns), tuple(given))


def ways_of(columns: Sequence[str], classes: Sequence[str]) -> list[Affixes]:
    """How columns are named after classes, as `affixes_of`; columns of booleans in whatever case."""
    folded = set(classes) <= {"false", "true"}
    return affixes_of([name.lower() for name in columns] if folded else columns, classes)


def _named(source: Source, scores: str | Sequence[str]) -> list[str]:
    """Columns by name or by pattern; a name that looks like a pattern is a name first."""
    found: list[str] = []
    for piece in [scores] if scores in source.names else split(scores):
        if piece not in source.names and any(mark in piece for mark in "*?["):
            matches = [name for name in source.names if fnmatchcase(name, piece)]
            if not matches:
                where = quoted_path(source.name)
                msg = f"--scores: no column of {where} matches {quoted(piece)}. It has {listed(source.names)}."
                raise CommandError(msg)
        else:
            matches = [check_column(source, piece, "--scores")]
        found += [name for name in matches if name not in found]
    if not found:
        msg = f"--scores names no columns, got {quoted(joined(scores))}"
        raise CommandError(msg)
    return found


def _others(source: Source, taken: Collection[str]) -> list[str]:
    columns = [name for name in source.names if name not in taken and is_numeric(source.schema.field(name).type)]
    if not columns:
        kinds = ", ".join(f"{clean(name)} ({clean(source.schema.field(name).type)})" for name in source.names[:10])
        msg = f"{quoted_path(source.name)} has no columns of numbers besides {listed(sorted(taken))}: it has {kinds}"
        raise CommandError(msg)
    return columns


def _matched(columns: list[str], way: Affixes, target: Target, given: list[Any] | None, *, strict: bool) -> Choice:
    """Columns that name the classes; `strict` where the user named the columns, all of which must then be used."""
    kept = _kept(columns, way)
    if not (strict or any(way)):
        # Another column next to those named exactly as the classes (an index, a weight) is no class.
        wanted = {*target.texts, *(text_of(label) for label in given or ())}
        kept = [name for name in columns if name in wanted or name.lower() in wanted]
    left = [name for name in columns if name not in kept]
    if strict and left:
        msg = f"--scores: the columns must be named alike, got {listed(kept)}, but also {listed(left)}"
        raise CommandError(msg)
    note = f"not used as scores: {listed(left)}" if left else ""
    classes = target.like([way.label(name) for name in kept])
    check_numbers(kept if any(way) else [name for name in columns if name.isdecimal()], target, given)
    if given is None:
        return Choice(tuple(kept), tuple(classes), note)
    by_class = {text_of(label): name for name, label in zip(kept, classes, strict=True)}
    if strict and len(given) < len(kept):
        unnamed = [name for label, name in by_class.items() if label not in map(text_of, given)]
        msg = f"--labels must name the class of every score column, got none for {listed(unnamed)}"
        raise CommandError(msg)
    return Choice(tuple(by_class[text_of(label)] for label in given), tuple(given), note)


def _check_left(source: Source, choice: Choice, columns: list[str]) -> None:
    """Refuse to leave out columns that look like the scores of classes without samples: they can be the highest."""
    left = [name for name in columns if name not in choice.columns]
    if not left:
        return
    found = completing(source.matrix(choice.columns), dict(zip(left, source.matrix(left).T, strict=True)))
    if found:
        known = dict(zip(choice.columns, choice.labels, strict=True)) | {name: name for name in found}
        such = _labels([known[name] for name in columns if name in known]) or "with --labels"
        msg = (
            f"with {listed(found)} the scores of every row sum to 1, so that this looks like a class of which "
            f"{quoted_path(source.name)} has no sample: name all classes, {such}, or choose the columns of "
            "scores with --scores"
        )
        raise CommandError(msg)


def _kept(columns: list[str], way: Affixes) -> list[str]:
    # The case of booleans is lost, and with it that of what stands around them.
    return [name for name in columns if way.fits(name)] or [name for name in columns if way.fits(name.lower())]


def _binary(column: str, target: Target, given: list[Any] | None) -> Choice:
    """One column is the score of the class that it is named after, otherwise of the second."""
    classes = target.classes if given is None else given
    if len(classes) != 2:
        # The library says what is wrong, in the words it has for all who come with one column.
        return Choice((column,), tuple(classes))
    spoken = spoken_class(column, [text_of(label) for label in classes])
    classes = sorted(classes, key=lambda label: text_of(label) == spoken)  # stable: the order stays where none is named
    return Choice(
        (column,), tuple(classes), f"one score column: {quoted(column)} is the score of class {quoted(classes[1])}"
    )
