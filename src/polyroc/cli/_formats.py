"""Which format a file has: what its first bytes say, and whether its suffix agrees."""

import re
import zipfile
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa

from polyroc.cli._messages import CommandError, clean, listed, quoted

# The byte order mark of UTF-8.
_MARK = b"\xef\xbb\xbf"
# As many bytes as the longest header line that is looked at.
HEAD = 65_536


class Format(StrEnum):
    """The formats that are read."""

    PARQUET = "Parquet"
    ARROW = "Arrow"
    STREAM = "an Arrow stream"
    NDJSON = "NDJSON"
    NPZ = "npz"
    TEXT = "CSV or TSV"


_MAGIC = {
    b"PAR1": Format.PARQUET,
    b"ARROW1": Format.ARROW,
    b"\xff\xff\xff\xff": Format.STREAM,
    b"PK\x03\x04": Format.NPZ,
    b"PK\x05\x06": Format.NPZ,
}

# What else begins in a way of its own, with what to do about it.
_REFUSED = {
    b"\x93NUMPY": "is a .npy file of one array: save labels and scores together with numpy.savez",
    b"\x1f\x8b": "is compressed by gzip: unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd: unpack it first",
    b"\xff\xfe": "is UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text: save it as UTF-8",
    b"FEA1": "is a Feather file of version 1: write it again as version 2",
    b"\x89HDF": "is an HDF5 file: export it as Parquet or CSV",
    b"SQLite": "is an SQLite database: export a table as CSV",
}

# A suffix allows these; one that is not named here allows all.
_BY_SUFFIX = {
    ".parquet": {Format.PARQUET},
    ".pq": {Format.PARQUET},
    ".arrow": {Format.ARROW, Format.STREAM},
    ".arrows": {Format.STREAM, Format.ARROW},
    ".feather": {Format.ARROW},
    ".ipc": {Format.ARROW, Format.STREAM},
    ".npz": {Format.NPZ},
    ".ndjson": {Format.NDJSON},
    ".jsonl": {Format.NDJSON},
    ".json": {Format.NDJSON},
    ".csv": {Format.TEXT},
    ".tsv": {Format.TEXT},
    ".tab": {Format.TEXT},
}
_PICKLES = {".pkl", ".pickle", ".joblib"}


def format_of(head: bytes, suffix: str) -> Format:
    """The format of a file that begins with `head`; its suffix may only confirm it."""
    suffix = suffix.lower()
    if not head.strip(_MARK + b" \t\r\n"):
        raise CommandError("is empty")
    # Unpickling runs whatever the file says.
    if suffix in _PICKLES or (head[0] == 0x80 and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")):
        msg = "is a pickle, which may run code when it is read, and is not read: save it as Parquet, CSV or npz"
        raise CommandError(msg)
    kind = _by_content(head)
    allowed = _BY_SUFFIX.get(suffix)
    if allowed is not None and kind not in allowed:
        wanted = " or ".join(sorted(allowed))
        msg = f"is not {wanted}, as its suffix {suffix} says: it looks like {kind}, beginning with {_begin(head)}"
        raise CommandError(msg)
    return kind


def _by_content(head: bytes) -> Format:
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    for magic, what in _REFUSED.items():
        if head.startswith(magic):
            raise CommandError(what)
    if b"\0" in head:
        msg = f"is not in a format that is read: it begins with {_begin(head)}"
        raise CommandError(msg)
    text = head.removeprefix(_MARK).lstrip()
    # A name in a header may begin with a bracket, too; but no object follows it.
    if text[:1] == b"[" and text[1:].lstrip()[:1] in (b"{", b"["):
        msg = "is a JSON array: write one object per line (NDJSON)"
        raise CommandError(msg)
    if text[:14].lower().startswith((b"<!doctype html", b"<html", b"<?xml")):
        msg = "is a web page or XML, and no table"
        raise CommandError(msg)
    return Format.NDJSON if text[:1] == b"{" else Format.TEXT


def _begin(head: bytes) -> str:
    return repr(clean(head[:16].decode("utf-8", errors="replace"), 16))


def delimiter_of(head: bytes) -> str:
    """Separator of the cells of a text file: the one of tab, semicolon and comma that its header has most of."""
    header = head.lstrip(b"\r\n").splitlines()[0]
    counts = {mark: header.count(mark.encode()) for mark in (",", "\t", ";")}
    return max(counts, key=lambda mark: counts[mark])


def decimal_mark_of(head: bytes, delimiter: str) -> str:
    """The comma where spreadsheets of many countries write it, between semicolons; otherwise the point."""
    return "," if delimiter == ";" and re.search(rb";-?\d+,\d", head) else "."


def delimited_table(content: bytes) -> Any:
    """The table, with a type for each column that Arrow guesses."""
    table = _read(content)
    # What is no UTF-8 Arrow reads as bytes.
    header = _header(content)
    is_utf8 = header.decode(errors="ignore").encode() == header
    if not is_utf8 or any(pa.types.is_binary(kind) for kind in table.schema.types):
        msg = "is not UTF-8 text: save it as UTF-8"
        raise CommandError(msg)
    return table


def column_as_written(content: bytes, name: str) -> Any:
    """One column as text, of which Arrow has guessed nothing: 01 is not 1."""
    return _read(content, include_columns=[name], column_types={name: pa.string()}).column(name)


def _read(content: bytes, **wanted: Any) -> Any:
    from pyarrow import csv

    header = _header(content)
    delimiter = delimiter_of(header)
    # Decimal marks are in the rows, however long the header is.
    mark = decimal_mark_of(content[: len(header) + HEAD], delimiter)
    # Line breaks may be inside quotes.
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = csv.ConvertOptions(decimal_point=mark, **wanted)
    text = content.removeprefix(_MARK)
    return _guessed(csv.read_csv, csv.ReadOptions, text, parse_options=parse, convert_options=convert)


def _header(content: bytes) -> bytes:
    """The first line that is not empty, all of it."""
    start = len(content) - len(content.lstrip(_MARK + b"\r\n"))
    end = content.find(b"\n", start)
    return content[: len(content) if end < 0 else end]


# A row is flat, or has some lists in it. Twenty thousand levels overflow the stack of the parser.
DEEPEST = 100
_OTHER_BYTES = bytes(set(range(256)) - set(b'"[]{}\n'))
_ESCAPE = re.compile(rb"\\.")
# No string goes beyond its line: where one is not closed, the parser stops as well.
_STRING = re.compile(rb'"[^"\n]*"?')


def ndjson_table(content: bytes) -> Any:
    """One object per line, as a table."""
    from pyarrow import json

    content = content.removeprefix(_MARK)
    if depth_of(content) > DEEPEST:
        msg = f"is nested more than {DEEPEST} levels deep: write each row as one flat object"
        raise CommandError(msg)
    return _guessed(json.read_json, json.ReadOptions, content)


def _guessed(read: Callable[..., Any], options: Callable[..., Any], content: bytes, **how: Any) -> Any:
    """A table with types that Arrow guesses from the first block, or from all of it where the first misleads."""
    file = pa.BufferReader(content)
    try:
        return read(file, **how)
    except pa.ArrowInvalid:
        file.seek(0)
        return read(file, read_options=options(block_size=min(len(content) + 1, 2**31 - 1)), **how)


def depth_of(content: bytes) -> int:
    """How many brackets are open at once, at most; a parser that starts in any line meets no more.

    >>> depth_of(b'{"a": [1, 2], "b": "[[[["}'), depth_of(b"}}}" + 5 * b"[")
    (2, 5)
    """
    if b"\\" in content:
        content = _ESCAPE.sub(b"", content)
    # An empty string between two others changes nothing; most names are gone with it, which saves time.
    marks = content.translate(None, _OTHER_BYTES).replace(b'""', b"")
    codes = np.frombuffer(_STRING.sub(b"", marks).replace(b"\n", b""), dtype=np.uint8)
    opens = (codes == ord("[")) | (codes == ord("{"))
    levels = np.cumsum(np.where(opens, 1, -1), dtype=np.int64)
    # Closing brackets that nothing opened count for nothing.
    lowest = np.minimum(np.minimum.accumulate(levels), 0)
    return int((levels - lowest).max(initial=0))


# Arrays that name the columns of the matrices.
_COLUMN_NAMES = ("labels", "classes")


def npz_table(file: Any) -> Any:
    """A matrix `p` is the columns p_0, p_1, ..., or p_cat, p_dog, ... by the array `labels`."""
    _check_members(file)
    arrays = _arrays(file)
    widths = {array.shape[1] for array in arrays.values() if array.ndim == 2}
    named = next((n for n in _COLUMN_NAMES if n in arrays and arrays[n].ndim == 1 and {len(arrays[n])} == widths), None)
    ends = None if named is None else _ends(named, arrays.pop(named))
    columns = _columns(arrays, ends)
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) != 1:
        came = ", ".join(f"{clean(name)} ({length})" for name, length in list(lengths.items())[:10])
        msg = f"must hold arrays of the same length, got {came}" if lengths else "holds no array of one or two axes"
        raise CommandError(msg)
    return pa.table({name: pa.array(array) for name, array in columns.items()})


def _check_members(file: Any) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.namelist()
    except NotImplementedError as error:
        raise OSError(str(error)) from error
    if not members or not all(member.endswith(".npy") for member in members):
        is_workbook = any(member.startswith("xl/") for member in members)
        what = "an Excel workbook: save it as CSV" if is_workbook else "a zip archive, and no npz of arrays"
        msg = f"is {what}"
        raise CommandError(msg)
    if twice := repeated([member.removesuffix(".npy") for member in members]):
        msg = f"has more than one array of the same name: {listed(twice)}"
        raise CommandError(msg)


def _arrays(file: Any) -> dict[str, Any]:
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception as error:  # a broken archive makes zipfile and NumPy raise almost anything
        if "allow_pickle" not in str(error):
            raise OSError(str(error)) from error
        msg = "holds Python objects (a pickle), which are not read: save text as `array.astype(str)`"
        raise CommandError(msg) from error
    # NumPy hands out the bytes of a member that does not begin as an array does.
    if others := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
        msg = f"has members that are not arrays: {listed(others)}"
        raise CommandError(msg)
    return arrays


def _ends(name: str, labels: Any) -> list[str]:
    ends = [str(label) for label in labels.tolist()]
    if twice := repeated(ends):
        msg = (
            f"has array {quoted(name)} with {listed(twice)} more than once: each column of a matrix needs its own label"
        )
        raise CommandError(msg)
    return ends


def _columns(arrays: dict[str, Any], ends: list[str] | None) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            parts = {f"{name}_{ends[j] if ends else j}": array[:, j] for j in range(array.shape[1])}
        else:
            parts = {name: array} if array.ndim == 1 else {}
        if collide := [column for column in parts if column in columns]:
            which = f"{quoted(origin[collide[0]])} and {quoted(name)}"
            msg = f"has arrays that give columns of the same name: {which} both give {listed(collide)}; rename one"
            raise CommandError(msg)
        columns |= parts
        origin |= dict.fromkeys(parts, name)
    return columns


def repeated(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
