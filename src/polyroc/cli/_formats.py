"""Which format a file has: what its first bytes say, and whether its suffix agrees."""

import re
from enum import StrEnum

from polyroc.cli._plain import CommandError, clean

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
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        msg = "is empty"
        raise CommandError(msg)
    # Unpickling runs whatever the file says.
    if suffix in _PICKLES or (head[0] == 0x80 and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")):
        msg = "is a pickle, which may run code when it is read, and is not read: save it as Parquet, CSV or npz"
        raise CommandError(msg)
    found = _by_content(head)
    allowed = _BY_SUFFIX.get(suffix)
    if allowed is not None and found not in allowed:
        wanted = " or ".join(sorted(allowed))
        msg = f"is not {wanted}, as its suffix {suffix} says: it looks like {found}, beginning with {_begin(head)}"
        raise CommandError(msg)
    return found


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
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
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
    """What parts the cells of a text file: the one of tab, semicolon and comma that its header has most of."""
    header = head.lstrip(b"\r\n").splitlines()[0]
    counts = {mark: header.count(mark.encode()) for mark in (",", "\t", ";")}
    return max(counts, key=lambda mark: counts[mark])


def decimal_mark_of(head: bytes, delimiter: str) -> str:
    """The comma where spreadsheets of many countries write it, between semicolons; otherwise the point."""
    return "," if delimiter == ";" and re.search(rb";-?\d+,\d", head) else "."
