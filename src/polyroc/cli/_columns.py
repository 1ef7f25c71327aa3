"""The columns of a file: which hold the scores, and of which class; the true classes; and a file of costs."""

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc._inputs.arrays import read_labels
from polyroc._inputs.columns import (
    Affixes,
    Finding,
    Known,
    Trouble,
    find_columns,
    guessed_classes,
    possible_ranges,
    single_score,
    speaks_of,
    spoken_class,
)
from polyroc._inputs.labels import classes_like, is_canonical, text_of
from polyroc._lib.limits import LABELS_PROPOSED
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc.cli._files import Source, is_numeric, open_source, quoted_path
from polyroc.cli._messages import CommandError, clean, listed, quoted, typed

# As pandas writes integers of which one was missing; longer ones float64 does not distinguish.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,14})\.0")
INDEXES = ("", "unnamed: 0", "__index_level_0__", "index", "row")
_BOOLEANS = ({"true", "false"}, {"True", "False"}, {"TRUE", "FALSE"})


def as_spelled(column: Any, written: Any) -> Any:
    """The column as Arrow guessed it if that lost nothing, otherwise its text; blanks around it do not count."""
    trimmed = pc.utf8_trim_whitespace(written)
    words = pc.unique(trimmed).to_pylist()
    kind = column.type
    if pa.types.is_integer(kind):
        kept = all(map(is_canonical, words))
    elif pa.types.is_floating(kind):
        # Fractions are no labels at all, which is said elsewhere.
        kept = not _are_whole(column) or all(_WHOLE.fullmatch(word) for word in words)
    else:
        kept = pa.types.is_boolean(kind) and any(spelling.issuperset(words) for spelling in _BOOLEANS)
    return column if kept else trimmed


def _are_whole(column: Any) -> bool:
    return bool(pc.all(pc.equal(column, pc.floor(column))).as_py()) and bool(pc.all(pc.is_finite(column)).as_py())


@dataclass(frozen=True, eq=False)
class Target:
    """The true classes."""

    values: LabelArray
    """One for each row: text, integers or booleans."""
    classes: list[Any]
    """The distinct ones, in ascending order."""

    @property
    def texts(self) -> list[str]:
        """How a column may call the classes."""
        return [text_of(label) for label in self.classes]


def read_target(source: Source, name: str) -> Target:
    """The true classes of a table, at least two of them."""
    column = labels_column(source, name)
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    target = _text_target(source, name, column) if is_text else _other_target(column)
    if len(target.classes) < 2:
        where = f"column {quoted(name)} of {quoted_path(source.name)}"
        raise CommandError(where, f"must hold at least two classes, got only {quoted(target.classes[0])}")
    return target


def _text_target(source: Source, name: str, column: Any) -> Target:
    coded = column.combine_chunks().dictionary_encode()
    words, codes = coded.dictionary.to_pylist(), coded.indices.to_numpy()
    if "" in words:
        rows = np.flatnonzero(codes == words.index(""))
        raise CommandError(missing_values(source, name, len(rows), int(rows[0])))
    return Target(np.array(words, dtype=object)[codes], sorted(words))


def _other_target(column: Any) -> Target:
    values = read_labels(column.to_numpy(), "y_true")
    classes = read_labels(pc.unique(column).to_numpy(zero_copy_only=False), "y_true").tolist()
    return Target(values, sorted(classes))


def labels_column(source: Source, name: str) -> Any:
    """A column of text, integers or booleans, none missing, as a chunked array."""
    column = source.column(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if column.null_count > 0:
        first = int(np.argmax(column.is_null().to_numpy()))
        raise CommandError(missing_values(source, name, column.null_count, first))
    if source.written is not None and not pa.types.is_string(kind):
        column = as_spelled(column, source.written(name))
        kind = column.type
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind) or type(kind).__name__ == "StringViewType":
        return column.cast(pa.string())
    plain = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_integer,
        pa.types.is_boolean,
        pa.types.is_floating,
    )
    if not any(is_kind(kind) for is_kind in plain):
        where = f"column {quoted(name)} of {quoted_path(source.name)}"
        raise CommandError(where, f"must hold text, integers or booleans, got {clean(kind)}")
    return column


def missing_values(source: Source, name: str, count: int, first: int) -> str:
    """That a column has missing values, and what to do about it."""
    where = f"column {quoted(name)} of {quoted_path(source.name)}"
    way_out = ": `--drop-missing` leaves out such rows and counts them" if count < source.n_rows else ""
    came = f"got {count} of {source.n_rows}, the first in row {first}"
    return f"{where} must not have missing values, {came}{way_out}"


@dataclass(frozen=True)
class Columns:
    """Options about the columns and rows of a file."""

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
            raise CommandError(
                "`pooled`", "takes all rows as samples of one model: leave it out, or leave out `model_column`"
            )

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


@dataclass(frozen=True)
class Choice:
    """Score columns, and the classes in their order; of a single column, both classes."""

    columns: tuple[str, ...]
    labels: tuple[Any, ...]
    note: str = ""
    """Note on a guess, where it deserves one."""


def check_column(source: Source, name: str, argument: str) -> str:
    """The name, if there is such a column; else near matches, and what there is."""
    names = source.names
    if name in names:
        return name
    near = get_close_matches(name, names, n=3) or [one for one in names if one.casefold() == name.casefold()]
    hint = f" Did you mean {' or '.join(map(quoted, near))}?" if near else ""
    msg = f"`{argument}`: no column {quoted(name)} in {quoted_path(source.name)}.{hint} It has {listed(names)}."
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
    classes = None if labels is None else classes_like(split(labels), target.classes)
    if classes is not None and not classes:
        raise CommandError("`labels`", f"must name classes, got {quoted(joined(labels or ''))}")
    if len(columns) == 1:
        return _binary(columns[0], target.classes if classes is None else classes)
    # Columns that somebody named must all be scores.
    finding = find_columns(Known(target.classes, classes, None), columns, None if scores else source.matrix)
    if finding.trouble is not None:
        raise CommandError(_trouble_of(finding, source, columns, target, asked))
    note = f"not used as scores: {listed(finding.left)}" if finding.left else ""
    return Choice(tuple(finding.columns), tuple(finding.classes), note)


def columns_of(source: Source, labels: Sequence[Any]) -> list[str]:
    """The columns that are named after classes, in the order of the classes; none where they are not."""
    finding = find_columns(Known(list(labels), None, None), source.names, lambda names: None)
    if finding.trouble is not None or finding.way is None:
        return []
    by_class = {text_of(label): name for label, name in zip(finding.classes, finding.columns, strict=True)}
    return [by_class[text] for label in labels if (text := text_of(label)) in by_class]


def _binary(column: str, classes: list[Any]) -> Choice:
    """One column is the score of the class that it is named after, otherwise of the second."""
    if len(classes) != 2:
        # The library says what is wrong, in the words it has for all who come with one column.
        return Choice((column,), tuple(classes))
    classes = single_score(column, classes)
    note = f"one score column: {quoted(column)} is the score of class {quoted(classes[1])}"
    return Choice((column,), tuple(classes), note)


def _named(source: Source, scores: str | Sequence[str]) -> list[str]:
    """Columns by name or by pattern; a name that looks like a pattern is a name first."""
    columns: list[str] = []
    for piece in [scores] if scores in source.names else split(scores):
        if piece not in source.names and any(mark in piece for mark in "*?["):
            matches = [name for name in source.names if fnmatchcase(name, piece)]
            if not matches:
                where = quoted_path(source.name)
                raise CommandError(
                    "`scores`:", f"no column of {where} matches {quoted(piece)}. It has {listed(source.names)}."
                )
        else:
            matches = [check_column(source, piece, "scores")]
        columns += [name for name in matches if name not in columns]
    if not columns:
        raise CommandError("`scores`", f"names no columns, got {quoted(joined(scores))}")
    return columns


def _others(source: Source, taken: Collection[str]) -> list[str]:
    columns = [name for name in source.names if name not in taken and is_numeric(source.schema.field(name).type)]
    if not columns:
        kinds = ", ".join(f"{clean(name)} ({clean(source.schema.field(name).type)})" for name in source.names[:10])
        raise CommandError(
            quoted_path(source.name), f"has no columns of numbers besides {listed(sorted(taken))}: it has {kinds}"
        )
    return columns


def _trouble_of(finding: Finding, source: Source, columns: list[str], target: Target, asked: Columns) -> str:
    """Why columns cannot be assigned to classes, and what to type instead."""
    where, labels, about = quoted_path(source.name), listed(finding.classes), listed(finding.about)
    match finding.trouble:
        case Trouble.SEVERAL:
            return _several_models(source, columns, finding.ways, target, asked)
        case Trouble.OTHERS:
            came = f"{listed(finding.columns)}, but also {listed(finding.left)}"
            return f"`scores`: the columns must be named alike, got {came}"
        case Trouble.COUNT:
            came = f"{len(finding.classes)} classes ({labels}) for {len(finding.columns)} score columns"
            hint = "" if finding.way is None else "; `scores` chooses columns"
            rule = "`labels` must name as many classes as there are score columns"
            return f"{rule}, got {came} ({listed(finding.columns)}){hint}"
        case Trouble.NUMBERED:
            why = "" if "0" in target.texts else f"0 is not among the target's classes {listed(target.classes)}, and "
            runs = possible_ranges(target.classes, len(finding.columns))
            ways = [f"{_labels(run)} if the classes are {run[0]} to {run[-1]}" for run in runs if _labels(run)]
            return (
                f"{why}the score columns of {where} are only numbered, {listed(finding.columns)}, so their classes are "
                f"not known: {' or '.join(ways) or 'name the class of each column in this order with `labels`'}"
            )
        case Trouble.TURNED:
            return (
                f"`labels` names {labels}, but the columns are {listed(finding.columns)}: it is not clear whether "
                "these numbers are classes. Leave `labels` out if they are, else rename the columns after the classes"
            )
        case Trouble.ABSENT:
            texts = [name for name in source.names if not is_numeric(source.schema.field(name).type)]
            wrong = [name for name in texts if any(speaks_of(name, text_of(label)) for label in finding.about)]
            hint = f", and {listed(wrong)} without numbers" if wrong else ""
            came = f"it has {listed(columns)}{hint}{_one_is_enough(finding, columns)}"
            return f"{where} has no score column for {about} of the target's classes; {came}"
        case Trouble.CONTRADICTED:
            return (
                f"`labels` names {labels}, but the columns are {listed(columns)}: columns that speak of classes must "
                "be named after them, perhaps with a common prefix or suffix; rename them"
            )
        case Trouble.COMPLETING:
            names = dict(zip(finding.columns, finding.classes, strict=True)) | {name: name for name in finding.about}
            such = _labels([names[name] for name in columns if name in names]) or "with `labels`"
            return (
                f"with {about} the scores of every row sum to 1, so that this looks like a class of which {where} has "
                f"no sample: name all classes, {such}, or choose the columns of scores with `scores`"
            )
    such = (finding.about and _labels(finding.about)) or f"in the order {listed(columns)}, with `labels`"
    way = f"choose others with `scores`, or name the class of each column, {such}"
    if len(columns) != len(finding.classes):
        way = _speaking(columns, [text_of(label) for label in finding.classes])
    return f"the score columns of {where}, {listed(columns)}, do not name the classes {labels}: rename them, {way}"


def _speaking(columns: list[str], texts: list[str]) -> str:
    """How to choose the columns that speak of classes, if others are among them, such as an id."""
    chosen = [name for name in columns if spoken_class(name, texts) is not None]
    guessed = guessed_classes(chosen, texts)
    if guessed is not None and len(guessed) == len(texts) <= LABELS_PROPOSED:
        return f"or name columns and classes, `--scores {typed(joined(chosen))}` and {_labels(guessed)}"
    return "or choose one column for each class with `scores`, and name these classes in the same order with `labels`"


def _one_is_enough(finding: Finding, columns: list[str]) -> str:
    """The column to type, if one of two classes has one: a single score is enough."""
    named = [label for label in finding.classes if label not in finding.about]
    own = [name for name in columns if len(named) == 1 and speaks_of(name, text_of(named[0]))]
    if len(finding.classes) != 2 or len(own) != 1:
        return ""
    return f". One score column is enough for two classes: `--scores {typed(own[0])}`"


def _labels(classes: Sequence[Any]) -> str:
    """The option as it is typed; empty for more classes than anybody reads."""
    return f"`--labels {typed(joined(classes))}`" if len(classes) <= LABELS_PROPOSED else ""


def _several_models(source: Source, found: list[str], ways: Sequence[Affixes], target: Target, columns: Columns) -> str:
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


# What the column of rows is called in a table that is the other way round.
_OF_PREDICTIONS = ("named", "predicted", "prediction", "predicted class", "y_pred", "decision", "decided")


def read_costs(path: str, labels: Sequence[Any]) -> FloatArray:
    """Cost of predicting the class of a column for the class of a row.

    The header names the classes. The rows are in the same order, or are named by one more column of text.
    """
    source, texts = open_source(path), [text_of(label) for label in labels]
    columns = columns_of(source, labels)
    if not columns or source.n_rows != len(texts):
        raise CommandError(
            "`costs`:",
            f"{quoted_path(path)} must have a header with the {len(texts)} classes ({listed(labels)}) "
            f"and a row for each, got {source.n_rows} rows of {', '.join(clean(name) for name in source.names[:10])}",
        )
    matrix = source.matrix(columns)
    names = _row_names(source, columns, texts)
    order = [names.index(text) for text in texts]
    return matrix[order]


def _row_names(source: Source, columns: list[str], texts: list[str]) -> list[str]:
    """The classes of the rows: a column that holds just them, or the order of the columns in the file."""
    others = [name for name in source.names if name not in columns]
    for name in others:
        if sorted(row_names := _names_in(source, name)) == sorted(texts):
            if name.casefold() in _OF_PREDICTIONS:
                raise CommandError(
                    "`costs`:",
                    f"the rows of {quoted_path(source.name)} must be the true classes and the columns the "
                    f"predicted classes, got rows by column {quoted(name)}: transpose the table",
                )
            return row_names
    # Any other column is taken for names with a mistake in them, except the index that pandas writes.
    if wrong := [name for name in others if not _is_index(source, name)]:
        came = listed(_names_in(source, wrong[0])) if len(wrong) == 1 else "other names"
        raise CommandError(
            "`costs`:",
            f"the rows of {quoted_path(source.name)} must be named {listed(texts)}, by column "
            f"{listed(wrong)}, got {came}",
        )
    by_column = dict(zip(columns, texts, strict=True))
    return [by_column[name] for name in source.names if name in by_column]


def _names_in(source: Source, name: str) -> list[str]:
    """A column as the names that it may hold, spelled as in the file."""
    if source.column(name).null_count > 0:
        return [str(value) for value in source.column(name).to_pylist()]
    return [text_of(value) for value in labels_column(source, name).to_pylist()]


def _is_index(source: Source, name: str) -> bool:
    return name.casefold() in INDEXES and source.column(name).to_pylist() == list(range(source.n_rows))
