"""Counts <-> plain arrays to be stored and sent; whatever comes back is checked, and nothing is run."""

import json
import math
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from polyroc._inputs.checks import InputError, shown

VERSION = 1
HEADER = "header"
# What can go wrong with a zip file of arrays: RuntimeError if it is encrypted, or packed as Python cannot unpack it.
_BROKEN = (OSError, ValueError, TypeError, EOFError, KeyError, OverflowError, RuntimeError, BadZipFile, zlib.error)


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


def read_npz(
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
    return read_npz(BytesIO(opened), "state")


def _narrow(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    if array.dtype.kind not in "iu" or array.size == 0 or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(int(array.max())))
