"""The column of true classes: a value for each row, and the classes there are."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc._inputs.arrays import read_labels
from polyroc._lib.typing import LabelArray
from polyroc.cli._files import Source, quoted_path
from polyroc.cli._plain import CommandError, clean, quoted

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
# As pandas writes integers of which one was missing; longer ones float64 does not distinguish.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,14})\.0")
_BOOLEANS = ({"true", "false"}, {"True", "False"}, {"TRUE", "FALSE"})


def is_canonical(text: str) -> bool:
    """Whether a text is how an integer is written, and the only way to write it.

    >>> [is_canonical(text) for text in ("1", "-12", "0", "01", "+1", "-0", "1_0", "1.0")]
    [True, True, True, False, False, False, False, False]
    """
    return _INTEGER.fullmatch(text) is not None


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

    def like(self, texts: list[str]) -> list[Any]:
        """Classes from their texts, of the type that the target has; text where some cannot be of it."""
        known = dict(zip(self.texts, self.classes, strict=True))
        if isinstance(self.classes[0], bool):
            return [known.get(text.lower(), {"false": False, "true": True}.get(text.lower(), text)) for text in texts]
        if not isinstance(self.classes[0], str):
            # int("01") and int("1_0") would be other classes than the texts say.
            canonical = all(text in known or is_canonical(text) for text in texts)
            return [known[text] if text in known else int(text) for text in texts] if canonical else list(texts)
        return list(texts)


def text_of(label: Any) -> str:
    """A class as a column may be called."""
    # Arrow reads true, True and TRUE alike, so that the case is lost.
    return str(label).lower() if isinstance(label, bool) else str(label)


def read_target(source: Source, name: str) -> Target:
    """The true classes of a table, at least two of them."""
    column = labels_column(source, name)
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    target = _text_target(source, name, column) if is_text else _other_target(column)
    if len(target.classes) < 2:
        where = f"column {quoted(name)} of {quoted_path(source.name)}"
        msg = f"{where} must hold at least two classes, got only {quoted(target.classes[0])}"
        raise CommandError(msg)
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
        msg = f"{where} must hold text, integers or booleans, got {clean(kind)}"
        raise CommandError(msg)
    return column


def missing_values(source: Source, name: str, count: int, first: int) -> str:
    """That a column has missing values, and what to do about it."""
    where = f"column {quoted(name)} of {quoted_path(source.name)}"
    way_out = ": `--drop-missing` leaves out such rows and counts them" if count < source.n_rows else ""
    came = f"got {count} of {source.n_rows}, the first in row {first}"
    return f"{where} must not have missing values, {came}{way_out}"
