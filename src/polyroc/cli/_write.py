"""Files are written whole or not at all."""

import csv
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

from polyroc.cli._files import quoted_path
from polyroc.cli._plain import InputError, one_line

# What makes a spreadsheet take a cell for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_writable(path: Path) -> None:
    """Whether a file can be written there, asked before the work is done."""
    if not path.parent.is_dir():
        msg = f"{quoted_path(str(path))} cannot be written: there is no folder {quoted_path(str(path.parent))}"
        raise InputError(msg)
    if path.exists() and not path.is_file():
        # A rename would put a plain file in the place of a device.
        what = "a folder" if path.is_dir() else "no regular file"
        msg = f"{quoted_path(str(path))} cannot be written: it is {what}"
        raise InputError(msg)
    if not os.access(path.parent, os.W_OK):
        msg = f"{quoted_path(str(path))} cannot be written: permission denied"
        raise InputError(msg)


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the file, then take its place in one step."""
    check_writable(path)
    # Where the name is a link, the file it leads to is replaced and the link stays.
    path = path.resolve()
    beside = path.with_name(f".polyroc-{secrets.token_hex(8)}.tmp")
    try:
        # Not tempfile: its files are for their owner alone, and stay so after the rename.
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(beside, path)  # noqa: PTH105  # the issue asks for it by name, and tests replace it
    except OSError as error:
        msg = f"{quoted_path(str(path))} cannot be written: {one_line(error.strerror or str(error))}"
        raise InputError(msg) from error
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


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
