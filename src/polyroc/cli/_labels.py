"""The column of true classes: a value for each row, and the classes there are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc._inputs._arrays import read_labels
from polyroc._lib._typing import LabelArray
from polyroc.cli._files import Source, quoted_path
from polyroc.cli._plain import CommandError, clean, quoted
from polyroc.cli._spelling import as_spelled, is_canonical


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
        raise CommandError(_missing(source, name, len(rows), int(rows[0])))
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
        raise CommandError(_missing(source, name, column.null_count, first))
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


def _missing(source: Source, name: str, count: int, first: int) -> str:
    where = f"column {quoted(name)} of {quoted_path(source.name)}"
    return f"{where} must not have missing values, got {count} of {source.n_rows}, the first in row {first}"
