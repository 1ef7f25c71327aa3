"""What goes to the standard error: notes, and the library's warnings as lines."""

import logging
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import UnsupportedOperation
from typing import TextIO

from polyroc._lib.text import wrapped
from polyroc.cli._plain import in_options, one_line

_ERROR = 2


def replace_closed_error() -> None:
    """Give messages a place to go where the standard error is closed (`2>&-`): nobody wants to read them."""
    if sys.stderr is not None:
        return
    try:
        os.fstat(_ERROR)
    except OSError:
        # Otherwise the next file that is opened would be the standard error, and get the messages of C libraries.
        _lead_nowhere(_ERROR)
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # as long as the process


def silence_broken() -> None:
    """Silence the streams of the process that can no longer be written."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            silence(stream)


def silence(stream: TextIO) -> None:
    """Let what is still to be written to a stream vanish: Python would complain again when it closes it."""
    with suppress(OSError, UnsupportedOperation, AttributeError, ValueError):
        _lead_nowhere(stream.fileno())


def _lead_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


class Messages:
    """Says things once; `quiet` leaves out what is merely good to know."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._notes: set[str] = set()
        self.warnings: list[str] = []

    def note(self, text: str) -> None:
        """Something that is good to know."""
        if text and text not in self._notes and not self._quiet:
            self._notes.add(text)
            _line(f"note: {text}")

    def warning(self, text: str) -> None:
        """Something that bears on what the numbers mean."""
        text = in_options(text)
        if text not in self.warnings:
            self.warnings.append(text)
            _line(f"warning: {text}")

    @contextmanager
    def heard(self) -> Iterator[None]:
        """While it lasts, warnings and log lines of the library are said here."""
        handler = _Notes(self)
        logger = logging.getLogger("polyroc")
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                # For developers of packages, not for their users.
                for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
                    warnings.simplefilter("ignore", kind)
                warnings.showwarning = self._show
                yield
        finally:
            logger.setLevel(level)
            logger.removeHandler(handler)

    def _show(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        self.warning(str(message))


class _Notes(logging.Handler):
    """Log lines, such as that code is being compiled, as notes."""

    def __init__(self, messages: Messages) -> None:
        super().__init__(logging.INFO)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.note(record.getMessage())


def error(text: str) -> None:
    """What went wrong, in one line."""
    _line(f"polyroc: error: {text}")


def _line(text: str) -> None:
    """One line; on a terminal that is too narrow for it, several that break between words."""
    text = one_line(text)
    if sys.stderr.isatty():
        text = "\n".join(wrapped(text, shutil.get_terminal_size().columns))
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        raise
    except OSError:
        # Nobody can be told that nobody can be told anything; the numbers do not depend on it.
        silence(sys.stderr)
