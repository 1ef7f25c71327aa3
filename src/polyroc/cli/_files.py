"""Tables from files: their columns by name, read only when asked for."""

import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from io import BytesIO, UnsupportedOperation
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc._core.memory import available
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc.cli._formats import (
    HEAD,
    Format,
    column_as_written,
    delimited_table,
    format_of,
    ndjson_table,
    npz_table,
    repeated,
)
from polyroc.cli._messages import CommandError, clean, listed, one_line, quoted

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
        status = _status(path)
        is_again = path == STANDARD_INPUT and list(paths).count(path) > 1
        if status is not None and not stat.S_ISREG(status.st_mode):
            is_again |= any(os.path.samestat(status, other) for other in streams)
            streams.append(status)
        if is_again:
            what = "the standard input" if path == STANDARD_INPUT else quoted(path)
            raise CommandError(what, "can be read only once")


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
    if _status(path) is None:
        near = []
        with suppress(OSError, ValueError):
            near = get_close_matches(file.name, [entry.name for entry in file.parent.iterdir()], n=1)
        msg = "is not there" + (f": did you mean {quoted(near[0])}?" if near else "")
        raise CommandError(msg)
    if not os.access(file, os.R_OK):
        msg = "may not be read: permission denied"
        raise CommandError(msg)
    return file


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        what = "closed" if sys.stdin is None else "a terminal"
        msg = f"is {what}: pipe a file into it, as in `polyroc evaluate - --target label < predictions.csv`"
        raise CommandError(msg)
    return sys.stdin.buffer.read()


# Whole numbers up to here are exact in float64.
_EXACT = 2**53
_ROWS_AT_ONCE = 65_536
# Parquet is read through a buffer of this size, so that no compressed column lies in memory whole.
_BUFFER = 1 << 20
# What the packages that read files raise when one is broken.
_BROKEN = (pa.ArrowException, OSError, EOFError, zipfile.BadZipFile, zlib.error, UnicodeDecodeError)


@dataclass(frozen=True, eq=False)
class Source:
    """A table that has been opened: what columns it has, and how to read some of them."""

    name: str
    """As the user called it."""
    schema: Any
    n_rows: int
    chunks: Callable[[str], Iterable[Any]]
    """A column as pyarrow arrays, one after the other."""
    written: Callable[[str], Any] | None = None
    """A column as the text that the file has; None for files that say themselves what type a column has."""
    path: str = ""
    """As it is typed in a command."""

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def column(self, name: str) -> Any:
        """One column as a pyarrow chunked array."""
        return pa.chunked_array(list(self.chunks(name)), type=self.schema.field(name).type)

    def pieces(self, column: str) -> Iterator[tuple[slice, Any]]:
        """A column piece by piece, with the rows of each; the file's own copy of it is never in memory whole."""
        start = 0
        for chunk in self.chunks(column):
            yield slice(start, start + len(chunk)), chunk
            start += len(chunk)

    def where(self, chosen: BoolArray, name: str) -> "Source":
        """Some of the rows as a table of its own."""

        def chunks(column: str) -> Iterator[Any]:
            return (chunk.filter(pa.array(chosen[rows])) for rows, chunk in self.pieces(column))

        whole = self.written
        written = None if whole is None else lambda column: whole(column).filter(pa.array(chosen))
        return Source(name, self.schema, int(np.count_nonzero(chosen)), chunks, written, self.path)

    def matrix(self, names: Sequence[str]) -> FloatArray:
        """Columns of numbers, side by side; in single precision where all of them are."""
        single = all(_is_single(self.schema.field(name).type) for name in names)
        matrix = np.empty((self.n_rows, len(names)), dtype=np.float32 if single else np.float64, order="F")
        for position, name in enumerate(names):
            for rows, chunk in self.pieces(name):
                matrix[rows, position] = _numbers(chunk, name)
        pa.default_memory_pool().release_unused()
        return matrix

    def present(self, names: Collection[str]) -> BoolArray:
        """Whether each row has a value in all of these columns."""
        present = np.ones(self.n_rows, dtype=np.bool_)
        for name in names:
            for rows, chunk in self.pieces(name):
                present[rows] &= ~_is_missing(chunk)
        return present


def _is_missing(values: Any) -> BoolArray:
    """Null, NaN, or text without a letter."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    missing = values.is_null(nan_is_null=True)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        missing = pc.or_(missing, pc.fill_null(pc.equal(values, ""), True))
    rows: BoolArray = missing.to_numpy(zero_copy_only=False)
    return rows


def is_numeric(kind: Any) -> bool:
    """Whether a column of this Arrow type may be a score."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_single(kind: Any) -> bool:
    """Whether a column of this Arrow type is exact in single precision."""
    return bool(pa.types.is_float32(kind) or pa.types.is_float16(kind))


def open_source(path: str) -> Source:
    """Open a table; `-` is the standard input. What is wrong with it is said in one line."""
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        source = replace(_opened(read_given(path), name), path=path)
    except CommandError as error:
        raise CommandError(quoted_path(name), f"{error}") from error
    except _BROKEN as error:
        raise CommandError(_unreadable(name, error)) from error
    names = source.names
    if twice := repeated(names):
        raise CommandError(quoted_path(name), f"has columns of the same name: {listed(twice)}")
    if source.n_rows == 0:
        raise CommandError(quoted_path(name), "has no rows")
    return source


def _unreadable(name: str, error: BaseException) -> str:
    reason = one_line(str(error).strip().partition("\n")[0])
    return f"{quoted_path(name)} cannot be read: {clean(reason, 200)}"


def quoted_path(name: str) -> str:
    """A file's name inside a sentence; its end says more than its beginning."""
    text = one_line(name)
    return f"'{text}'" if len(text) <= 60 else f"'...{text[-57:]}'"


def _opened(data: Path | bytes, name: str) -> Source:
    if isinstance(data, Path):
        with data.open("rb") as opened:
            head = opened.read(HEAD)
        suffix, where = data.suffix, str(data)
    else:
        head, suffix, where = data[:HEAD], "", None
    kind = format_of(head, suffix)
    file: Any = pa.BufferReader(data) if isinstance(data, bytes) else where
    if kind is Format.PARQUET:
        return _parquet(file, name)
    if kind is Format.NPZ:
        return _in_memory(npz_table(BytesIO(data) if isinstance(data, bytes) else data), name)
    if kind in (Format.ARROW, Format.STREAM):
        return _in_memory(_arrow(pa.memory_map(where) if where else file, kind), name)
    if kind is Format.NDJSON:
        return _in_memory(ndjson_table(_content(data)), name)

    def written(column: str) -> Any:
        # A file is read again: kept until then, all of it would lie in memory together with the table.
        return column_as_written(_content(data), column)

    return replace(_in_memory(delimited_table(_content(data)), name), written=written)


def _content(data: Path | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.read_bytes()


def _parquet(file: Any, name: str) -> Source:
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)

    def chunks(column: str) -> Iterator[Any]:
        try:
            for batch in parquet.iter_batches(_ROWS_AT_ONCE, columns=[column]):
                yield batch.column(column)
        except _BROKEN as error:
            raise CommandError(_unreadable(name, error)) from error

    return Source(name, parquet.schema_arrow, parquet.metadata.num_rows, chunks)


def _in_memory(table: Any, name: str) -> Source:
    def chunks(column: str) -> Iterable[Any]:
        return list(table.column(column).chunks)

    return Source(name, table.schema, table.num_rows, chunks)


def _arrow(file: Any, kind: Format) -> Any:
    reader = pa.ipc.open_file(file) if kind is Format.ARROW else pa.ipc.open_stream(file)
    table = reader.read_all()
    # Arrow takes offsets as they come; those of a broken file lead outside of it.
    table.validate(full=True)
    return table


def _numbers(column: Any, name: str) -> Any:
    kind = column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (is_numeric(kind) or pa.types.is_boolean(kind)):
        msg = f"column {quoted(name)} must hold numbers, got {clean(kind)}"
        raise CommandError(msg)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype == object:  # booleans with some missing
        values = values.astype(np.float64)
    if values.dtype.kind in "iu" and len(values) and max(-int(values.min()), int(values.max())) > _EXACT:
        msg = f"column {quoted(name)} must hold integers within 2**53, whose order float64 keeps, got larger ones"
        raise CommandError(msg)
    return values


# Whether files fit in memory

_GIB = 2**30
# Copies of the scores that an evaluation in memory has at once: as read, sorted by class, and what resamples need.
_COPIES = 3


def why_stream(paths: Sequence[str]) -> str:
    """That files do not fit in memory, in words; empty where they do."""
    files = [Path(path) for path in paths]
    if not all(is_parquet(file) and file.is_file() for file in files):
        return ""
    needed, free = sum(map(_bytes_needed, files)), available()
    if free is None or needed <= free:
        return ""
    return f"about {needed / _GIB:.1f} GiB of memory would be needed and {max(0, free) / _GIB:.1f} GiB are free"


def is_parquet(path: Path) -> bool:
    """Whether this is a Parquet file, or a folder of them."""
    try:
        if path.is_dir():
            return any(True for end in ("*.parquet", "*.pq") for _ in path.rglob(end))
        # Asked before it is opened: what is read from a pipe is gone for whoever reads it next.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except (OSError, ValueError):
        return False


def _bytes_needed(path: Path) -> int:
    """By the footer; 0 where it cannot be read, which is said later."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            n_rows, kinds = file.metadata.num_rows, list(file.schema_arrow.types)
    except (pa.ArrowException, OSError):
        return 0
    width = sum(4 if _is_single(kind) else 8 for kind in kinds if is_numeric(kind))
    # Labels as objects and as codes.
    return int(n_rows * (_COPIES * width + 24))
