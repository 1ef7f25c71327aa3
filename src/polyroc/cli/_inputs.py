"""What the user names to be read: a regular file, which can be read again, or a stream, which is read once."""

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import UnsupportedOperation
from pathlib import Path

from polyroc.cli._plain import CommandError, quoted

STANDARD_INPUT = "-"


def read_given(path: str) -> Path | bytes:
    """A regular file as its path; `-`, a pipe or a socket as all that comes out of it."""
    if path == STANDARD_INPUT:
        return _standard_input()
    file = _existing(path)
    mode = file.stat().st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        # Opened once: what one reader of a pipe has taken, the next one never sees.
        return file.read_bytes()
    if not stat.S_ISREG(mode):
        msg = "is a device: name a file or a pipe"
        raise CommandError(msg)
    return file


def check_read_once(paths: Sequence[str]) -> None:
    """Refuse a stream that is named twice: the second reader would find it empty."""
    streams: list[os.stat_result] = []
    for path in paths:
        known = _status(path)
        if known is None or stat.S_ISREG(known.st_mode):
            continue
        if any(os.path.samestat(known, other) for other in streams):
            what = "the standard input" if path == STANDARD_INPUT else quoted(path)
            msg = f"{what} can be read only once"
            raise CommandError(msg)
        streams.append(known)
    if list(paths).count(STANDARD_INPUT) > 1:
        msg = "the standard input can be read only once"
        raise CommandError(msg)


def is_input(path: Path, inputs: Sequence[str]) -> bool:
    """Whether a path leads to a file that is read, whatever it is called: by a link, or spelled in another way."""
    there = _status(str(path))
    if there is None:
        return False
    return any(os.path.samestat(there, one) for one in map(_status, inputs) if one is not None)


def _status(path: str) -> os.stat_result | None:
    with suppress(OSError, ValueError, AttributeError, UnsupportedOperation):
        return os.fstat(sys.stdin.fileno()) if path == STANDARD_INPUT else os.stat(path)  # noqa: PTH116  # as fstat
    return None


def _existing(path: str) -> Path:
    file = Path(path)
    if file.is_dir():
        msg = "is a folder: name a file in it"
        raise CommandError(msg)
    try:
        exists = file.exists()
    except ValueError:  # a NUL in the name
        exists = False
    if not exists:
        near = _near_files(file)
        msg = "is not there" + (f": did you mean {near}?" if near else "")
        raise CommandError(msg)
    if not os.access(file, os.R_OK):
        msg = "may not be read: permission denied"
        raise CommandError(msg)
    return file


def _near_files(file: Path) -> str:
    from difflib import get_close_matches

    try:
        there = [entry.name for entry in file.parent.iterdir()]
    except (OSError, ValueError):
        return ""
    near = get_close_matches(file.name, there, n=1)
    return quoted(near[0]) if near else ""


def _standard_input() -> bytes:
    if sys.stdin is None:
        msg = "is closed: pipe a file into it, as in `polyroc evaluate - --target label < predictions.csv`"
        raise CommandError(msg)
    if sys.stdin.isatty():
        msg = "is a terminal: pipe a file into it, as in `polyroc evaluate - --target label < predictions.csv`"
        raise CommandError(msg)
    return sys.stdin.buffer.read()
