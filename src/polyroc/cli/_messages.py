"""Messages on the standard error: errors, notes, and warnings of the library, each as a line of safe text."""

import logging
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import UnsupportedOperation
from typing import Any, TextIO

from polyroc._inputs.checks import InputError, in_words
from polyroc._inputs.options import DECLARED
from polyroc._lib.text import wrapped

_LONGEST = 40
_JOINER = "\u200d"  # holds emoji together, does nothing else

# Arguments of the library that have the same name here, and those that are called otherwise.
_SAME_NAME = (
    "labels sample_weight groups confidence_level max_fpr half_width detect power assurance allocation statistic prior "
    "rule reject_cost target checkpoint key models model_column pooled drop_missing common"
)
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in (*_SAME_NAME.split(), *DECLARED)} | {
    "y_true": "--target",
    "y_score": "--scores",
    "scores": "--scores",
    "n_resamples": "--resamples",
    "rng": "--seed",
    "n_jobs": "--jobs",
    "seed": "--seed",
    "pilot": "the sample",
    "paths": "the files",
}
# Said with their value.
_FLAGS = {
    "partial=True": "--partial",
    "exact=True": "--exact",
    "standard_errors=False": "--method none",
    "polyroc.evaluate": "--no-stream",
}


class CommandError(ValueError):
    """Error that the user can correct, in one line; arguments in backquotes have the names that they have in Python.

    `about` is the option or the file that the rest is about.
    """

    def __init__(self, about: str, rest: str = "") -> None:
        super().__init__(f"{about} {rest}" if rest else about)


def clean(value: Any, longest: int = _LONGEST) -> str:
    """A name as it may be shown: control characters replaced, cut where it is too long.

    >>> clean(f"a{chr(10)}b"), len(clean(500 * "x"))
    ('a?b', 40)
    """
    text = one_line(str(value))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def typed(value: Any) -> str:
    """A value as it is typed in a shell: all of it, however long, and quoted where it must be.

    >>> print("--groups", typed("patient id"))
    --groups 'patient id'
    """
    return shlex.quote(one_line(str(value)))


def one_line(text: str) -> str:
    """The text without control characters, line breaks among them."""
    return "".join(c if c.isprintable() or c == _JOINER else "?" for c in text)


def quoted(value: Any) -> str:
    """A name inside a sentence."""
    return f"'{clean(value)}'"


def listed(values: Sequence[Any], most: int = 10) -> str:
    """The first few names inside a sentence.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    text = ", ".join(quoted(value) for value in values[:most])
    return text if len(values) <= most else f"{text} and {len(values) - most} more"


def option_of(code: str) -> str:
    """Option for an argument, or for one with its value, that the library has between backquotes.

    >>> option_of("y_true"), option_of("labels="), option_of("exact=True"), option_of("other")
    ('--target', '--labels', '--exact', '`other`')
    """
    name = code.removesuffix("=").removesuffix(".columns")
    return _FLAGS.get(code) or _OPTIONS.get(name, f"`{code}`")


def in_options(error: Exception) -> str:
    """The message of an error with the options as they are typed."""
    if isinstance(error, InputError):
        return error.said(option_of)
    return in_words(str(error), option_of)


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
        text = in_words(text, option_of)
        if text and text not in self._notes and not self._quiet:
            self._notes.add(text)
            _line(f"note: {text}")

    def warning(self, text: str) -> None:
        """Something that bears on what the numbers mean."""
        text = in_words(text, option_of)
        if text not in self.warnings:
            self.warnings.append(text)
            _line(f"warning: {text}")

    def say(self, warnings: Sequence[str], notes: Sequence[str]) -> None:
        for text in warnings:
            self.warning(text)
        for text in notes:
            self.note(text)

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
                warnings.showwarning = lambda message, *_about, **_where: self.warning(str(message))
                yield
        finally:
            logger.setLevel(level)
            logger.removeHandler(handler)


class _Notes(logging.Handler):
    """Log lines, such as that code is being compiled, as notes."""

    def __init__(self, messages: Messages) -> None:
        super().__init__(logging.INFO)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.note(record.getMessage())


def error(text: str) -> None:
    """Say what went wrong, in one line."""
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
