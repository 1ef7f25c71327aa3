"""Which columns hold the scores, and which class each belongs to."""

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from polyroc.cli._files import Source, is_numeric, quoted_path
from polyroc.cli._labels import Target, text_of
from polyroc.cli._plain import InputError, clean, listed, quoted


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
    raise InputError(msg)


def split(text: str) -> list[str]:
    """Names between commas; one that holds a comma stands in double quotes.

    >>> split('a,"b,c"')
    ['a', 'b,c']
    """
    return [part for part in next(csv.reader([text], skipinitialspace=True), []) if part]


def choose_scores(
    source: Source, target: Target, *, scores: str | None, labels: str | None, taken: Collection[str]
) -> Choice:
    """The score columns that the user wants, or all numbers that nothing else has a use for."""
    columns = _named(source, scores) if scores else _others(source, taken)
    given = None if labels is None else target.like(split(labels))
    if given is not None and not given:
        msg = f"--labels must name classes, got {quoted(labels)}"
        raise InputError(msg)
    if len(columns) == 1:
        return _binary(columns[0], target, given)
    prefixes = prefixes_of(columns, target.texts if given is None else [text_of(label) for label in given])
    if len(prefixes) > 1:
        raise InputError(_several_models(source, prefixes))
    if prefixes:
        return _matched(columns, prefixes[0], target, given, strict=scores is not None)
    if given is None:
        raise InputError(_no_match(source, columns, target))
    if len(given) != len(columns):
        came = f"{len(given)} classes ({listed(given)}) for {len(columns)} score columns ({listed(columns)})"
        msg = f"--labels must name as many classes as there are score columns, got {came}"
        raise InputError(msg)
    return Choice(tuple(columns), tuple(given))


def prefixes_of(columns: Sequence[str], classes: Sequence[str]) -> list[str]:
    """What stands before the classes in the names of columns, such that every class has its column.

    >>> prefixes_of(["knn_a", "knn_b", "tree_a", "tree_b"], ["a", "b"])
    ['knn_', 'tree_']
    """
    folded = set(classes) <= {"false", "true"}
    there = {name.lower() if folded else name for name in columns}
    if there >= set(classes):
        return [""]
    longest = max(classes, key=len)
    before = [name[: len(name) - len(longest)] for name in sorted(there) if name.endswith(longest)]
    return [prefix for prefix in before if all(prefix + label in there for label in classes)]


def _named(source: Source, scores: str) -> list[str]:
    """Columns by name or by pattern; a name that looks like a pattern is a name first."""
    found: list[str] = []
    for piece in [scores] if scores in source.names else split(scores):
        if piece not in source.names and any(mark in piece for mark in "*?["):
            matches = [name for name in source.names if fnmatchcase(name, piece)]
            if not matches:
                where = quoted_path(source.name)
                msg = f"--scores: no column of {where} matches {quoted(piece)}. It has {listed(source.names)}."
                raise InputError(msg)
        else:
            matches = [check_column(source, piece, "--scores")]
        found += [name for name in matches if name not in found]
    if not found:
        msg = f"--scores names no columns, got {quoted(scores)}"
        raise InputError(msg)
    return found


def _others(source: Source, taken: Collection[str]) -> list[str]:
    columns = [name for name in source.names if name not in taken and is_numeric(source.schema.field(name).type)]
    if not columns:
        kinds = ", ".join(f"{clean(name)} ({clean(source.schema.field(name).type)})" for name in source.names[:10])
        msg = f"{quoted_path(source.name)} has no columns of numbers besides {listed(sorted(taken))}: it has {kinds}"
        raise InputError(msg)
    return columns


def _matched(columns: list[str], prefix: str, target: Target, given: list[Any] | None, *, strict: bool) -> Choice:
    """Columns that name the classes; `strict` where the user named the columns, all of which must then be used."""
    kept = _with_prefix(columns, prefix)
    if not (strict or prefix):
        # What stands beside columns that are named just as the classes (an index, a weight) is no class.
        wanted = {*target.texts, *(text_of(label) for label in given or ())}
        kept = [name for name in columns if name in wanted or name.lower() in wanted]
    left = [name for name in columns if name not in kept]
    if strict and left:
        msg = f"--scores: the columns must begin alike, got {listed(kept)}, but also {listed(left)}"
        raise InputError(msg)
    note = f"not used as scores: {listed(left)}" if left else ""
    classes = target.like([name[len(prefix) :] for name in kept])
    if given is None:
        return Choice(tuple(kept), tuple(classes), note)
    by_class = {text_of(label): name for name, label in zip(kept, classes, strict=True)}
    if strict and len(given) < len(kept):
        unnamed = [name for label, name in by_class.items() if label not in map(text_of, given)]
        msg = f"--labels must name the class of every score column, got none for {listed(unnamed)}"
        raise InputError(msg)
    return Choice(tuple(by_class[text_of(label)] for label in given), tuple(given), note)


def _with_prefix(columns: list[str], prefix: str) -> list[str]:
    # The case of booleans is lost, and with it that of their prefix.
    kept = [name for name in columns if name.startswith(prefix)]
    return kept or [name for name in columns if name.lower().startswith(prefix)]


def _binary(column: str, target: Target, given: list[Any] | None) -> Choice:
    """One column is the score of the class that it is named after, otherwise of the second."""
    classes = target.classes if given is None else given
    if len(classes) != 2:
        # The library says what is wrong, in the words it has for all who come with one column.
        return Choice((column,), tuple(classes))
    if given is None:
        name = column.lower() if isinstance(classes[0], bool) else column
        named = [label for label in classes if _is_named_after(name, text_of(label))]
        if len(named) == 1:
            classes = [label for label in classes if label != named[0]] + named
    return Choice(
        (column,), tuple(classes), f"one score column: {quoted(column)} is the score of class {quoted(classes[1])}"
    )


def _is_named_after(column: str, label: str) -> bool:
    """Whether the class is the whole name, or its last word: `p_spam`, but not `grade1` for the class 1."""
    return column == label or (column.endswith(label) and not column[-len(label) - 1].isalnum())


def _several_models(source: Source, prefixes: list[str]) -> str:
    patterns = [f"{clean(prefix)}*" for prefix in prefixes]
    models = ",".join(f"{clean(prefix).rstrip('_-. ')}={clean(prefix)}*" for prefix in prefixes[:3])
    return (
        f"{quoted_path(source.name)} holds the scores of {len(prefixes)} models, {listed(patterns)}: "
        f"choose one, --scores '{patterns[0]}', or compare them, `polyroc compare ... --models '{models}'`"
    )


def _no_match(source: Source, columns: list[str], target: Target) -> str:
    where = quoted_path(source.name)
    lacking = [label for label, text in zip(target.classes, target.texts, strict=True) if text not in columns]
    ends = [text for text in target.texts if not any(name.endswith(text) for name in columns)]
    if 0 < len(ends) < len(target.classes):
        texts = [name for name in source.names if not is_numeric(source.schema.field(name).type)]
        wrong = [name for name in texts if name.endswith(tuple(ends))]
        hint = f", and {listed(wrong)} without numbers" if wrong else ""
        return f"{where} has no score column for {listed(ends)} of the target's classes; it has {listed(columns)}{hint}"
    example = ",".join(clean(label) for label in target.classes[:3])
    return (
        f"the score columns of {where}, {listed(columns)}, do not name the classes {listed(lacking)}: "
        f"rename them, or name their classes in order, --labels {example}{',...' if len(target.classes) > 3 else ''}"
    )
