"""Labels of text files: numbers or booleans only where each is spelled as such, so that 01 and 1 stay two classes."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
# As pandas writes integers of which one was missing; longer ones float64 does not tell apart.
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
