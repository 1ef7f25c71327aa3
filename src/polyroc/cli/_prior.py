"""--prior: the prevalence of each class, typed as a=0.1,b=0.9 or in a file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyroc._lib._typing import FloatArray
from polyroc.cli._columns import split, ways_of
from polyroc.cli._files import is_numeric, open_source, quoted_path
from polyroc.cli._labels import labels_column, text_of
from polyroc.cli._plain import CommandError, listed, quoted

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def is_file(prior: str | None) -> bool:
    """Whether the option names a file."""
    return prior is not None and "=" not in prior


def read_prior(prior: str, labels: Sequence[Any]) -> list[float]:
    """An entry for each class, in the order of the classes; whether they can be a prior the library says."""
    found = _in_file(prior, labels) if is_file(prior) else _typed(prior)
    texts = [text_of(label) for label in labels]
    if sorted(found) != sorted(texts):
        msg = f"--prior must name each class once ({listed(labels)}), got {listed(list(found))}"
        raise CommandError(msg)
    return [found[text] for text in texts]


def _typed(prior: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for piece in split(prior):
        name, _, number = piece.rpartition("=")
        if not name or name in found or _NUMBER.fullmatch(number.strip()) is None:
            msg = f"--prior must be a file or look like a=0.1,b=0.9, each class once, got {quoted(piece)}"
            raise CommandError(msg)
        found[name] = float(number)
    return found


def _in_file(path: str, labels: Sequence[Any]) -> dict[str, float]:
    """A header of classes with one row below it, or a column of classes next to one of numbers."""
    if not Path(path).exists():
        msg = f"--prior must be a file or look like a=0.1,b=0.9, got {quoted(path)}: there is no such file"
        raise CommandError(msg)
    source, texts = open_source(path), [text_of(label) for label in labels]
    ways = ways_of(source.names, texts)
    if len(ways) == 1 and source.n_rows == 1:
        actual = {name.lower(): name for name in source.names} | {name: name for name in source.names}
        row: FloatArray = source.matrix([actual[ways[0].name(text)] for text in texts])[0]
        return dict(zip(texts, row.tolist(), strict=True))
    numbers = [name for name in source.names if is_numeric(source.schema.field(name).type)]
    for name in source.names:
        others = [other for other in numbers if other != name]
        if len(others) == 1 and source.n_rows == len(texts) and source.column(name).null_count == 0:
            classes = [text_of(value) for value in labels_column(source, name).to_pylist()]
            if sorted(classes) == sorted(texts):
                return dict(zip(classes, source.matrix(others)[:, 0].tolist(), strict=True))
    msg = (
        f"--prior: {quoted_path(path)} must have a header with the {len(texts)} classes ({listed(labels)}) and one "
        f"row, or a column of the classes and one of numbers, got {source.n_rows} rows of {listed(source.names)}"
    )
    raise CommandError(msg)
