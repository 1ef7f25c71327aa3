"""The standard streams where they are closed, full or broken."""

import os
import sys
from contextlib import suppress
from io import UnsupportedOperation
from typing import TextIO

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
