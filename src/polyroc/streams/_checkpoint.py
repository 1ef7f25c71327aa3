"""What a long run has done so far, in one file from which it goes on: plain arrays, whole or not there at all."""

import io
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from polyroc._inputs.checks import InputError, shown
from polyroc._lib.files import why_not_writable, write_whole
from polyroc._lib.typing import LabelArray
from polyroc.streams._state import HEADER, from_file, packed_header, read_header

_KIND = "polyroc parquet checkpoint"
# Seconds between two of them, and the share of the time that writing may take.
_EVERY, _SHARE = 30.0, 0.05
# Bytes of text that names of classes and columns can need, and what is known of each file.
_MOST_OF_FACTS, _MOST_OF_FILE = 2**26, 2**13


def as_checkpoint(path: Any) -> "Checkpoint | None":
    """The file of a path, which need not be there yet."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError("checkpoint", "must be the path of a file", shown(path))
    file = Path(path)
    if reason := why_not_writable(file):
        raise InputError("checkpoint", "must be a file that can be written", shown(str(path)), hint=f": {reason}")
    return Checkpoint(file)


# What tells a file from one of the same name, in the order of `OpenFile.identity`.
_CHANGES = ("another size", "another time of modification", "other contents")


class Checkpoint:
    """A file that is written now and then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = time.monotonic() + _EVERY

    def facts(self, n_files: int) -> dict[str, Any] | None:
        """What an earlier run was about; None where there was none."""
        if not self._path.exists():
            return None
        with self._named():
            stored = self._read(lambda name: name == HEADER, _MOST_OF_FACTS + n_files * _MOST_OF_FILE)
            return read_header(stored, _KIND)

    def arrays(self, most: int) -> dict[str, Any]:
        """What an earlier run has counted, if that has at most this many bytes."""
        with self._named():
            return self._read(lambda name: name != HEADER, most)

    def _read(self, only: Callable[[str], bool], most: int) -> dict[str, Any]:
        return from_file(self._path, "checkpoint", only, most)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors name the file."""
        try:
            yield
        except InputError as error:
            raise InputError("checkpoint", error.rule, error.got, f" in '{self._path}'{error.hint}") from error

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def write(self, labels: LabelArray, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Replace what was there, in one step."""
        start, buffer = time.monotonic(), io.BytesIO()
        # The classes are in every header.
        header = packed_header(_KIND, labels, **{name: value for name, value in facts.items() if name != "labels"})
        try:
            np.savez_compressed(buffer, header=header, **dict(arrays))
        except ValueError as error:
            # After Ctrl-C in the middle NumPy's file cannot be closed, and this error hides the interrupt.
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None
            raise
        write_whole(self._path, buffer.getvalue())
        took = time.monotonic() - start
        self._next = start + max(_EVERY, took / _SHARE)


def check_facts(stored: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of other files, columns or options, by name."""
    # As they come back from JSON.
    wanted = json.loads(json.dumps(dict(facts)))
    check_files(stored, wanted["files"])
    for name, value in wanted.items():
        came = stored.get(name)
        if isinstance(value, dict) and isinstance(came, dict):
            differ = [key for key in {**value, **came} if value.get(key) != came.get(key)]
            if differ:
                which = f"{name}[{differ[0]!r}]"
                raise _other(which, value.get(differ[0]), came.get(differ[0]))
        elif value != came:
            raise _other(name, value, came)


def check_files(stored: Mapping[str, Any], files: Any) -> None:
    """Refuse a checkpoint of other files, or of files that have been changed since."""
    came, wanted = stored.get("files"), json.loads(json.dumps(files))
    if came == wanted:
        return
    names = [[file[0] for file in some] if _are_files(some) else [] for some in (wanted, came)]
    if names[0] != names[1]:
        raise _other("files", names[0], names[1])
    assert isinstance(came, list)
    for (name, *mine), (_, *theirs) in zip(wanted, came, strict=True):
        if mine != theirs:
            what = next(told for told, a, b in zip(_CHANGES, mine, theirs, strict=True) if a != b)
            rule = "must be of the same files as this call"
            raise InputError("checkpoint", rule, f"one of an earlier {shown(name)}", hint=f": it has {what} now")


def _are_files(some: Any) -> TypeGuard[list[list[Any]]]:
    """Whether these are names of files, each with what it was like."""
    return isinstance(some, list) and all(isinstance(file, list) and len(file) == 1 + len(_CHANGES) for file in some)


def _other(name: str, value: Any, came: Any) -> InputError:
    rule = f"must be of a run with the same `{name}` as this call, {shown(value)}"
    return InputError("checkpoint", rule, shown(came), hint=": name another file, or remove it")
