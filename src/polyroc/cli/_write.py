"""What goes into files, and the one line where it cannot."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from polyroc._lib import _files as _write
from polyroc._lib._files import why_not_writable
from polyroc.cli._files import quoted_path
from polyroc.cli._plain import CommandError, one_line

# What makes a spreadsheet take a cell for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_writable(path: Path) -> None:
    """Whether a file can be written there, asked before the work is done."""
    if reason := why_not_writable(path):
        raise _refusal(path, reason)


def write_whole(path: Path, content: bytes) -> None:
    """As the library does it, with one line where it cannot be done."""
    with said_of(path):
        _write.write_whole(path, content)


@contextmanager
def said_of(path: Path) -> Iterator[None]:
    """While it lasts, a full disk and its like are said in one line, of this path."""
    try:
        yield
    except OSError as error:
        raise _refusal(path, error.strerror or str(error)) from error


def _refusal(path: Path, reason: str) -> CommandError:
    return CommandError(f"{quoted_path(str(path))} cannot be written: {one_line(reason)}")


def csv_of(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A table as UTF-8 text that no spreadsheet runs."""
    file = StringIO(newline="")
    # RFC 4180. With a plain line feed, Python would not quote a carriage return, and some take it for a new row.
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([[_cell(value) for value in row] for row in rows])
    return file.getvalue().encode("utf-8", errors="backslashreplace")


def _cell(value: Any) -> Any:
    """Text that begins like a formula gets a quote before it, which spreadsheets do not show."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
