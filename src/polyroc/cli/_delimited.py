"""CSV and TSV -> tables, and their columns once more as they were written."""

from typing import Any

import pyarrow as pa

from polyroc.cli._formats import HEAD, decimal_mark_of, delimiter_of
from polyroc.cli._plain import CommandError

_MARK = b"\xef\xbb\xbf"


def delimited_table(content: bytes) -> Any:
    """The table, with a type for each column that Arrow guesses."""
    table = _read(content)
    # What is no UTF-8 Arrow reads as bytes.
    if any(pa.types.is_binary(kind) for kind in table.schema.types) or not _is_utf8(_header(content)):
        msg = "is not UTF-8 text: save it as UTF-8"
        raise CommandError(msg)
    return table


def column_as_written(content: bytes, name: str) -> Any:
    """One column as text, of which Arrow has guessed nothing: 01 is not 1."""
    return _read(content, {"include_columns": [name], "column_types": {name: pa.string()}}).column(name)


def _read(content: bytes, wanted: dict[str, Any] | None = None) -> Any:
    from pyarrow import csv

    # Without a byte order mark; with line breaks inside quotes.
    file = pa.BufferReader(content.removeprefix(_MARK))
    header = _header(content)
    delimiter = delimiter_of(header)
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    # Decimal marks are in the rows, however long the header is.
    convert = csv.ConvertOptions(
        decimal_point=decimal_mark_of(content[: len(header) + HEAD], delimiter), **(wanted or {})
    )
    try:
        return csv.read_csv(file, parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid:
        # The type of a column is guessed from the first block. All in one block, the guess has seen everything.
        file.seek(0)
        whole = csv.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1))
        return csv.read_csv(file, read_options=whole, parse_options=parse, convert_options=convert)


def _header(content: bytes) -> bytes:
    """The first line that is not empty, all of it."""
    start = len(content) - len(content.lstrip(_MARK + b"\r\n"))
    end = content.find(b"\n", start)
    return content[: len(content) if end < 0 else end]


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
