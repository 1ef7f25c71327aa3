"""Parquet files as parts that are read one by one: a part is a row group of a file, and a fault is told of it by name.

Every part is opened anew, because readers are not made for several threads. Of a part a few thousand rows are decoded
at a time, and only the columns that are asked for, so memory does not grow with the files.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from polyroc._inputs.checks import InputError, listed, shown

# Columns are read through a buffer of this size, so that no compressed column lies in memory whole.
_BUFFER = 1 << 17
_MAGIC = b"PAR1"
# Bytes at either end of the data that tell a file from another one with the same footer.
_SAMPLED = 1 << 16
# What Arrow raises where a file is not what its footer says.
_BROKEN = (pa.ArrowException, OSError, EOFError, UnicodeDecodeError)


class DamagedPartError(ValueError):
    """A file, or a row group of it, that cannot be read; `part` says which in a few words."""

    def __init__(self, part: str, reason: object) -> None:
        said = " ".join(str(reason).split()).rstrip(".") or type(reason).__name__
        said = said if len(said) <= 200 else f"{said[:197]}..."
        super().__init__(
            f"{part} is damaged or cut short: {said}. Nothing is reported for part of the input; `partial=True` "
            "leaves out what cannot be read."
        )
        self.part = part


@dataclass(frozen=True)
class Part:
    """A row group."""

    number: int
    """Its place among all parts."""
    file: int
    row_group: int
    n_rows: int
    first_row: int
    """The row of the file with which it begins."""


@dataclass(frozen=True, eq=False)
class OpenFile:
    """A file whose footer has been read."""

    path: Path
    metadata: Any
    schema: Any
    """Arrow's."""
    identity: tuple[str, int, int, str]
    """Name, size, time of modification, and a digest of the footer and of the first and the last pages of data."""

    def type_of(self, column: str) -> Any:
        return self.schema.field(column).type


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Files with the same columns, row group by row group."""

    files: tuple[OpenFile, ...]
    parts: tuple[Part, ...]
    missing: tuple[str, ...]
    """Files that cannot be read at all, where that is allowed."""

    @property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @property
    def names(self) -> list[str]:
        """The columns of the first file."""
        return list(self.files[0].schema.names)

    def path_of(self, part: Part) -> str:
        return str(self.files[part.file].path)

    def told(self, part: Part) -> str:
        """A part in words."""
        return f"Row group {part.row_group} of '{self.path_of(part)}'"

    def batches(
        self, part: Part, columns: Sequence[str], *, n_rows: int, threads: bool, words: Sequence[str] = ()
    ) -> Iterator[Any]:
        """The rows of a part as record batches of at most this many; columns of `words` come as dictionaries."""
        file, seen = self.files[part.file], 0
        try:
            with pq.ParquetFile(
                file.path,
                metadata=file.metadata,
                read_dictionary=list(words) or None,
                buffer_size=_BUFFER,
                pre_buffer=False,
                page_checksum_verification=True,
            ) as reader:
                for batch in reader.iter_batches(
                    n_rows, row_groups=[part.row_group], columns=list(columns), use_threads=threads
                ):
                    seen += len(batch)
                    yield batch
        except _BROKEN as error:
            raise DamagedPartError(self.told(part), error) from error
        if seen != part.n_rows:
            raise DamagedPartError(self.told(part), f"it has {seen:,} rows instead of {part.n_rows:,}")

    def check_columns(self, columns: Sequence[str], argument: str) -> None:
        """Refuse columns that some file does not have."""
        for file in self.files:
            there = set(file.schema.names)
            if lacking := [name for name in columns if name not in there]:
                came = f"no {listed(lacking)} in '{file.path}', which has {listed(list(file.schema.names))}"
                raise InputError(argument, "must name columns of every file", came)

    def score_range(self, columns: Sequence[str]) -> tuple[float, float] | None:
        """Lowest and highest number of some columns by the footers; None where these do not tell."""
        low, high = [], []
        for file in self.files:
            places = {file.metadata.schema.column(c).path: c for c in range(file.metadata.num_columns)}
            for group in range(file.metadata.num_row_groups):
                for name in columns:
                    known = file.metadata.row_group(group).column(places[name]).statistics if name in places else None
                    if known is None or not known.has_min_max or not isinstance(known.min, int | float):
                        return None
                    low.append(float(known.min))
                    high.append(float(known.max))
        return (min(low), max(high)) if low else None


def open_files(paths: Any, *, partial: bool) -> ParquetFiles:
    """All files by their footers; one that cannot be read is refused, or left out where that is allowed."""
    files, missing = [], []
    for path in _found(paths):
        try:
            files.append(_opened(path))
        except DamagedPartError as error:
            if not partial:
                raise
            missing.append(error.part)
    if not files:
        raise InputError("paths", "must lead to at least one Parquet file that can be read", listed(missing))
    parts: list[Part] = []
    for place, file in enumerate(files):
        first = 0
        for group in range(file.metadata.num_row_groups):
            n_rows = file.metadata.row_group(group).num_rows
            if n_rows:
                parts.append(Part(len(parts), place, group, n_rows, first))
            first += n_rows
    if not parts:
        raise InputError("paths", "must lead to files with rows", f"{len(files)} without any")
    return ParquetFiles(tuple(files), tuple(parts), tuple(missing))


def _found(paths: Any) -> list[Path]:
    """The files behind paths; a folder stands for all that end in .parquet or .pq in it, by name."""
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(given, Sequence) or not given or not all(isinstance(one, str | os.PathLike) for one in given):
        raise InputError("paths", "must be a path, or a list of paths", shown(paths))
    found: list[Path] = []
    for one in given:
        path = Path(one)
        found += _inside(path) if _is_folder(path) else [path]
    _check_distinct(found)
    return found


def _inside(folder: Path) -> list[Path]:
    """The files of a folder, without what begins with . or _: Spark and pyarrow take it for unfinished or foreign."""
    every = sorted(file for end in ("*.parquet", "*.pq") for file in folder.rglob(end) if file.is_file())
    inside = [file for file in every if not any(name[0] in "._" for name in file.relative_to(folder).parts)]
    if not inside:
        came = f"none in folder {shown(str(folder))}"
        left_out = f" but {len(every)} whose names, or those of their folders, begin with . or _" if every else ""
        raise InputError("paths", "must lead to Parquet files", f"{came}{left_out}")
    return inside


def _check_distinct(files: list[Path]) -> None:
    """Refuse a file that two names lead to: its samples would count twice."""
    names: dict[Any, Path] = {}
    for path in files:
        try:
            status = path.stat()
        except (OSError, ValueError):  # which is said where it is opened
            continue
        # Some file systems number no files.
        identity = (status.st_dev, status.st_ino) if status.st_ino else path.resolve()
        first = names.setdefault(identity, path)
        if first is not path:
            came = f"'{path}' twice" if first == path else f"'{first}' and '{path}', which are one file"
            raise InputError("paths", "must not name a file twice", came)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a NUL in the name
        return False


def _opened(path: Path) -> OpenFile:
    try:
        status, is_file = path.stat(), path.is_file()
        # What comes through a pipe comes once.
        if not is_file:
            raise InputError("paths", "must lead to files, which are read more than once", f"'{path}'")
        with path.open("rb") as file:
            head, digest = file.read(4), _digest(file, status.st_size)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError("paths", "must lead to files that can be read", f"'{path}'", hint=f": {reason}") from error
    if head != _MAGIC:
        raise InputError("paths", "must lead to Parquet files", f"'{path}', which is none")
    try:
        with pq.ParquetFile(path) as opened:
            metadata, schema = opened.metadata, opened.schema_arrow
    except _BROKEN as error:
        part = f"'{path}'"
        raise DamagedPartError(part, error) from error
    names = list(schema.names)
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InputError("paths", "must lead to files with distinct columns", f"{listed(twice)} twice in '{path}'")
    return OpenFile(path, metadata, schema, (path.name, status.st_size, status.st_mtime_ns, digest))


def _digest(file: Any, size: int) -> str:
    """Of the end of a file, which says where everything is, and of the first and the last bytes before it."""
    file.seek(max(0, size - 8))
    # As much as there is of a file that was cut short.
    data = max(0, size - 8 - int.from_bytes(file.read(4), "little"))
    digest = hashlib.sha256()
    for start, stop in ((0, min(data, _SAMPLED)), (max(0, data - _SAMPLED), size)):
        file.seek(start)
        digest.update(file.read(stop - start))
    return digest.hexdigest()
