"""A file of costs -> a matrix in the order of the classes."""

from collections.abc import Sequence
from typing import Any

from polyroc._lib._typing import FloatArray
from polyroc.cli._columns import ways_of
from polyroc.cli._files import Source, open_source, quoted_path
from polyroc.cli._labels import labels_column, text_of
from polyroc.cli._long import INDEXES
from polyroc.cli._plain import CommandError, clean, listed


def read_costs(path: str, labels: Sequence[Any]) -> FloatArray:
    """What it costs to take the class of a row for the class of a column.

    The header names the classes. The rows are in the same order, or are named by one more column of text.
    """
    source, texts = open_source(path), [text_of(label) for label in labels]
    ways = ways_of(source.names, texts)
    # Booleans were matched in whatever case.
    actual = {name.lower(): name for name in source.names} | {name: name for name in source.names}
    columns = [actual[ways[0].name(text)] for text in texts] if len(ways) == 1 else []
    if not columns or source.n_rows != len(texts):
        msg = (
            f"--costs: {quoted_path(path)} must have a header with the {len(texts)} classes ({listed(labels)}) "
            f"and a row for each, got {source.n_rows} rows of {', '.join(clean(name) for name in source.names[:10])}"
        )
        raise CommandError(msg)
    matrix = source.matrix(columns)
    names = _row_names(source, columns, texts)
    order = [names.index(text) for text in texts]
    return matrix[order]


def _row_names(source: Source, columns: list[str], texts: list[str]) -> list[str]:
    """The classes of the rows: a column that holds just them, or the order of the columns in the file."""
    others = [name for name in source.names if name not in columns]
    for name in others:
        if sorted(found := _names_in(source, name)) == sorted(texts):
            return found
    # Any other column is taken for names with a mistake in them, except the index that pandas writes.
    if wrong := [name for name in others if not _is_index(source, name)]:
        came = listed(_names_in(source, wrong[0])) if len(wrong) == 1 else "other names"
        msg = (
            f"--costs: the rows of {quoted_path(source.name)} must be named {listed(texts)}, by column "
            f"{listed(wrong)}, got {came}"
        )
        raise CommandError(msg)
    by_column = dict(zip(columns, texts, strict=True))
    return [by_column[name] for name in source.names if name in by_column]


def _names_in(source: Source, name: str) -> list[str]:
    """A column as the names that it may hold, spelled as in the file."""
    if source.column(name).null_count > 0:
        return [str(value) for value in source.column(name).to_pylist()]
    return [text_of(value) for value in labels_column(source, name).to_pylist()]


def _is_index(source: Source, name: str) -> bool:
    return name.casefold() in INDEXES and source.column(name).to_pylist() == list(range(source.n_rows))
