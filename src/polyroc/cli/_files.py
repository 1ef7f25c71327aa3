"""Tables from files: their columns by name, read only when asked for."""

import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from polyroc._typing import BoolArray, FloatArray
from polyroc.cli._formats import HEAD, Format, decimal_mark_of, delimiter_of, format_of
from polyroc.cli._plain import InputError, clean, listed, one_line, quoted

STANDARD_INPUT = "-"
# Whole numbers up to here are exact in float64.
_EXACT = 2**53
_ROWS_AT_ONCE = 65_536
# Parquet is read through a buffer of this size, so that no compressed column lies in memory whole.
_BUFFER = 1 << 20
# Arrays of an npz file that name the columns of its matrices.
_COLUMN_NAMES = ("labels", "classes")
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

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def column(self, name: str) -> Any:
        """One column as a pyarrow chunked array."""
        return pa.chunked_array(list(self.chunks(name)), type=self.schema.field(name).type)

    def where(self, chosen: BoolArray, name: str) -> "Source":
        """Some of the rows as a table of its own."""

        def chunks(column: str) -> Iterator[Any]:
            start = 0
            for chunk in self.chunks(column):
                yield chunk.filter(pa.array(chosen[start : start + len(chunk)]))
                start += len(chunk)

        return Source(name, self.schema, int(np.count_nonzero(chosen)), chunks)

    def matrix(self, names: Sequence[str]) -> FloatArray:
        """Columns of numbers, side by side; in single precision where all of them are."""
        types = [self.schema.field(name).type for name in names]
        single = all(pa.types.is_float32(one) or pa.types.is_float16(one) for one in types)
        # Filled piece by piece, so that the file's own copy of the numbers never lies beside this one.
        matrix = np.empty((self.n_rows, len(names)), dtype=np.float32 if single else np.float64, order="F")
        for position, name in enumerate(names):
            start = 0
            for chunk in self.chunks(name):
                matrix[start : start + len(chunk), position] = _numbers(chunk, name)
                start += len(chunk)
        pa.default_memory_pool().release_unused()
        return matrix


def is_numeric(kind: Any) -> bool:
    """Whether a column of this Arrow type may be a score."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def open_source(path: str) -> Source:
    """Open a table; `-` is the standard input. What is wrong with it is said in one line."""
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        given = _standard_input() if path == STANDARD_INPUT else _path(path)
        source = _opened(given, name)
    except InputError as error:
        msg = f"{quoted_path(name)} {error}"
        raise InputError(msg) from error
    except _BROKEN as error:
        raise InputError(_unreadable(name, error)) from error
    names = source.names
    if twice := sorted({column for column in names if names.count(column) > 1} if len(set(names)) < len(names) else ()):
        msg = f"{quoted_path(name)} has columns of the same name: {listed(twice)}"
        raise InputError(msg)
    if source.n_rows == 0:
        msg = f"{quoted_path(name)} has no rows"
        raise InputError(msg)
    return source


def _unreadable(name: str, error: BaseException) -> str:
    reason = one_line(str(error).strip().partition("\n")[0])
    return f"{quoted_path(name)} cannot be read: {clean(reason, 200)}"


def quoted_path(name: str) -> str:
    """A file's name inside a sentence; its end says more than its beginning."""
    text = one_line(name)
    return f"'{text}'" if len(text) <= 60 else f"'...{text[-57:]}'"


def _path(path: str) -> Path:
    file = Path(path)
    if file.is_dir():
        msg = "is a folder: name a file in it"
        raise InputError(msg)
    try:
        exists = file.exists()
    except ValueError:  # a NUL in the name
        exists = False
    if not exists:
        near = _near_files(file)
        msg = "is not there" + (f": did you mean {near}?" if near else "")
        raise InputError(msg)
    if not os.access(file, os.R_OK):
        msg = "may not be read: permission denied"
        raise InputError(msg)
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
    if sys.stdin is None or sys.stdin.isatty():
        msg = "is a terminal: pipe a file into it, as in `polyroc evaluate - --target label < predictions.csv`"
        raise InputError(msg)
    return sys.stdin.buffer.read()


def _opened(given: Path | bytes, name: str) -> Source:
    if isinstance(given, Path):
        with given.open("rb") as opened:
            head = opened.read(HEAD)
        suffix, where = given.suffix, str(given)
    else:
        head, suffix, where = given[:HEAD], "", None
    kind = format_of(head, suffix)
    file: Any = pa.BufferReader(given) if isinstance(given, bytes) else where
    if kind is Format.PARQUET:
        return _parquet(file, name)
    if kind is Format.NPZ:
        return _in_memory(_npz(BytesIO(given) if isinstance(given, bytes) else given), name)
    if kind in (Format.ARROW, Format.STREAM):
        return _in_memory(_arrow(pa.memory_map(where) if where else file, kind), name)
    content = given if isinstance(given, bytes) else given.read_bytes()
    return _in_memory(_ndjson(content) if kind is Format.NDJSON else _text(content, head), name)


def _parquet(file: Any, name: str) -> Source:
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)

    def chunks(column: str) -> Iterator[Any]:
        try:
            for batch in parquet.iter_batches(_ROWS_AT_ONCE, columns=[column]):
                yield batch.column(column)
        except _BROKEN as error:
            raise InputError(_unreadable(name, error)) from error

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


def _text(content: bytes, head: bytes) -> Any:
    from pyarrow import csv

    # Without a byte order mark; with line breaks inside quotes.
    file = pa.BufferReader(content.removeprefix(b"\xef\xbb\xbf"))
    delimiter = delimiter_of(head)
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = csv.ConvertOptions(decimal_point=decimal_mark_of(head, delimiter))
    try:
        table = csv.read_csv(file, parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid:
        # The type of a column is guessed from the first block. All in one block, the guess has seen everything.
        file.seek(0)
        whole = csv.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1))
        table = csv.read_csv(file, read_options=whole, parse_options=parse, convert_options=convert)
    # What is no UTF-8 Arrow reads as bytes.
    if any(pa.types.is_binary(kind) for kind in table.schema.types) or not _is_utf8(head.partition(b"\n")[0]):
        msg = "is not UTF-8 text: save it as UTF-8"
        raise InputError(msg)
    return table


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _ndjson(content: bytes) -> Any:
    from pyarrow import json

    file = pa.BufferReader(content.removeprefix(b"\xef\xbb\xbf"))
    try:
        return json.read_json(file)
    except pa.ArrowInvalid:
        # As for text: a number that becomes a fraction only in a later block.
        file.seek(0)
        return json.read_json(file, read_options=json.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1)))


def _npz(file: Any) -> Any:
    """Vectors are columns; a matrix `p` is the columns p_0, p_1, ..., or p_cat, p_dog, ... by the array `labels`."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.namelist()
    except NotImplementedError as error:
        raise OSError(str(error)) from error
    if not members or not all(member.endswith(".npy") for member in members):
        what = "an Excel workbook: save it as CSV" if any(m.startswith("xl/") for m in members) else "a zip archive"
        msg = f"is {what}, and no npz of arrays" if what == "a zip archive" else f"is {what}"
        raise InputError(msg)
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception as error:  # a broken archive makes zipfile and NumPy raise almost anything
        if "pickle" not in str(error):
            raise OSError(str(error)) from error
        msg = "holds Python objects (a pickle), which are not read: save text as `array.astype(str)`"
        raise InputError(msg) from error
    widths = {array.shape[1] for array in arrays.values() if array.ndim == 2}
    named = next((n for n in _COLUMN_NAMES if n in arrays and arrays[n].ndim == 1 and {len(arrays[n])} == widths), None)
    ends = None if named is None else arrays.pop(named).tolist()
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            columns |= {f"{name}_{ends[j] if ends else j}": array[:, j] for j in range(array.shape[1])}
        elif array.ndim == 1:
            columns[name] = array
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) != 1:
        came = ", ".join(f"{clean(name)} ({length})" for name, length in list(lengths.items())[:10])
        msg = f"must hold arrays of the same length, got {came}" if lengths else "holds no array of one or two axes"
        raise InputError(msg)
    return pa.table({name: pa.array(array) for name, array in columns.items()})


def _numbers(column: Any, name: str) -> Any:
    kind = column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (is_numeric(kind) or pa.types.is_boolean(kind)):
        msg = f"column {quoted(name)} must hold numbers, got {clean(kind)}"
        raise InputError(msg)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype == object:  # booleans with some missing
        values = values.astype(np.float64)
    if values.dtype.kind in "iu" and len(values) and max(-int(values.min()), int(values.max())) > _EXACT:
        msg = f"column {quoted(name)} must hold integers within 2**53, whose order float64 keeps, got larger ones"
        raise InputError(msg)
    return values
