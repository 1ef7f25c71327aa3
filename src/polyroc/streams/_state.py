"""Counts <-> plain arrays to be stored and sent; whatever comes back is checked, and nothing is run."""

import json
import math
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, TypeGuard
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from polyroc._inputs.checks import InputError, shown
from polyroc._lib.files import why_not_writable, write_whole

VERSION = 1
HEADER = "header"
# What can go wrong with a zip file of arrays: RuntimeError if it is encrypted, or packed as Python cannot unpack it.
_BROKEN = (
    OSError,
    ValueError,
    TypeError,
    EOFError,
    KeyError,
    OverflowError,
    RuntimeError,
    BadZipFile,
    zlib.error,
)


def packed_header(kind: str, labels: list[Any], **facts: Any) -> Any:
    """Header of a state, as text in bytes: labels may be text of any length."""
    header = {"kind": kind, "version": VERSION, "labels": labels, **facts}
    return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)


def read_header(state: Any, kind: str) -> dict[str, Any]:
    """The header of a state of this kind and version."""
    if not isinstance(state, Mapping) or HEADER not in state:
        raise InputError("state", "must be what `state_dict()` gives", shown(type(state).__name__))
    packed = state[HEADER]
    if not isinstance(packed, np.ndarray) or packed.dtype != np.uint8:
        raise InputError("state", "must have a header of bytes", shown(type(packed).__name__))
    try:
        header = json.loads(packed.tobytes())
        facts = header["kind"], header["version"], list(header["labels"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError("state", "must have a header that can be read") from error
    if facts[0] != kind:
        raise InputError("state", f"must be of kind {kind!r}", shown(facts[0]))
    if facts[1] != VERSION:
        raise InputError("state", f"must be of version {VERSION}", f"version {shown(facts[1])}")
    return dict(header)


def check_same(header: Mapping[str, Any], **expected: Any) -> None:
    """Refuse a state of other classes, or of scores that were counted otherwise."""
    for name, value in expected.items():
        if header.get(name) != value:
            raise InputError(
                "state", f"must have the same `{name}` as this one, {shown(value)}", shown(header.get(name))
            )


def read_array(state: Mapping[str, Any], name: str, shape: tuple[int | None, ...], kinds: str) -> Any:
    """An array of a state, copied, of this shape (None for any length) and of one of these kinds of numbers."""
    if name not in state:
        raise InputError("state", f"must hold {name!r}", hint=": it was cut short, or is not one of polyroc's")
    array = state[name]
    if not isinstance(array, np.ndarray) or array.dtype.hasobject:
        raise InputError("state", f"must hold an array of numbers as {name!r}", shown(type(array).__name__))
    fits = len(array.shape) == len(shape) and all(
        a == b for a, b in zip(array.shape, shape, strict=True) if b is not None
    )
    if array.dtype.kind not in kinds or not fits:
        wanted = ", ".join("any" if side is None else str(side) for side in shape)
        came = f"shape {array.shape} of {array.dtype}"
        raise InputError("state", f"must hold {name!r} of shape ({wanted})", came)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("state", f"must hold finite numbers in {name!r}")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def check_counts(name: str, *arrays: Any) -> None:
    """Refuse counts below 0."""
    if any(array.size and array.min() < 0 for array in arrays):
        raise InputError("state", f"must hold no negative count in {name!r}")


def _read(
    source: Any, name: str, only: Callable[[str], bool] = lambda _key: True, most: float = math.inf
) -> dict[str, Any]:
    """Arrays of an npz file, if they have at most this many bytes: a small file can unpack to any size."""
    try:
        with ZipFile(source) as stored:
            members = {info.filename.removesuffix(".npy"): info for info in stored.infolist()}
            chosen = {key: info for key, info in members.items() if only(key)}
            size = sum(info.file_size for info in chosen.values())
            if size > most:
                raise InputError(name, f"must unpack to at most the {most:,} bytes that this run can need", f"{size:,}")
            return {key: _array(stored, info) for key, info in chosen.items()}
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(name, "must be a whole npz file of arrays", hint=f": {str(error).rstrip('.')}") from error


def _array(stored: ZipFile, info: ZipInfo) -> "np.ndarray[Any, Any]":
    """An array of a zip file, which takes no more memory than the bytes that are there, whatever its header says."""
    data = stored.read(info)
    file = BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    if dtype.hasobject or min(shape, default=0) < 0:
        msg = f"'{info.filename}' is no array of numbers"
        raise ValueError(msg)
    flat = np.frombuffer(data, dtype, math.prod(shape), file.tell())
    return flat.reshape(shape, order="F" if is_fortran else "C").copy()


# Counts of a partition are small numbers and mostly zeros. The lowest level packs them ten times as fast as the usual
# one, into bytes that are at most a third more.
_LEVEL = 1


def pack(state: Mapping[str, Any]) -> bytes:
    """A state, with whole numbers in the smallest type that has room for them."""
    buffer = BytesIO()
    arrays: dict[str, Any] = {name: _narrow(np.asarray(array)) for name, array in state.items()}
    np.savez(buffer, **arrays)
    return zlib.compress(buffer.getbuffer(), _LEVEL)


def unpack(data: bytes) -> dict[str, Any]:
    """The arrays of a state; whatever is damaged or cut short is refused."""
    try:
        opened = zlib.decompress(data)
    except (zlib.error, TypeError) as error:
        raise InputError("state", "must be packed as it was sent", hint=f": {str(error).rstrip('.')}") from error
    return _read(BytesIO(opened), "state")


def _narrow(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    if array.dtype.kind not in "iu" or array.size == 0 or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(int(array.max())))


_KIND = "polyroc parquet checkpoint"
# Seconds between two of them, and the share of the time that writing may take.
_EVERY, _SHARE = 30.0, 0.05
# Bytes of text that names of classes and columns can need, and what is known of each file.
_MOST_OF_FACTS, _MOST_OF_FILE = 2**26, 2**13
# What tells a file from one of the same name, in the order of `OpenFile.identity`.
_CHANGES = ("another size", "another time of modification", "other contents")


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


class Checkpoint:
    """A file with all that a long run has done so far, from which it goes on; whole or not there at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = time.monotonic() + _EVERY

    def facts(self, n_files: int) -> dict[str, Any] | None:
        """Facts of an earlier run; None if there was none."""
        if not self._path.exists():
            return None
        with self._named():
            most = _MOST_OF_FACTS + n_files * _MOST_OF_FILE
            return read_header(_read(self._path, "checkpoint", lambda name: name == HEADER, most), _KIND)

    def arrays(self, most: int) -> dict[str, Any]:
        """Counts of an earlier run, if they have at most this many bytes."""
        with self._named():
            return _read(self._path, "checkpoint", lambda name: name != HEADER, most)

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

    def write(self, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Replace what was there, in one step."""
        start, buffer = time.monotonic(), BytesIO()
        try:
            np.savez_compressed(buffer, header=packed_header(_KIND, **facts), **dict(arrays))
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
