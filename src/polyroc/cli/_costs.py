"""A file of costs -> a matrix in the order of the classes."""

from collections.abc import Sequence
from typing import Any

from polyroc._typing import FloatArray
from polyroc.cli._columns import ways_of
from polyroc.cli._files import Source, is_numeric, open_source, quoted_path
from polyroc.cli._labels import text_of
from polyroc.cli._plain import InputError, clean, listed


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
        raise InputError(msg)
    matrix = source.matrix(columns)
    names = _row_names(source, columns, texts)
    order = [names.index(text) for text in texts]
    return matrix[order]


def _row_names(source: Source, columns: list[str], texts: list[str]) -> list[str]:
    """The classes of the rows: a column that holds just them, or the order of the columns in the file."""
    others = [name for name in source.names if name not in columns]
    for name in others:
        found = [text_of(value) for value in source.column(name).to_pylist()]
        if sorted(found) == sorted(texts):
            return found
    if others and not all(is_numeric(source.schema.field(name).type) for name in others):
        msg = (
            f"--costs: the rows of {quoted_path(source.name)} must be named {listed(texts)}, by column {listed(others)}"
        )
        raise InputError(msg)
    by_column = dict(zip(columns, texts, strict=True))
    return [by_column[name] for name in source.names if name in by_column]
