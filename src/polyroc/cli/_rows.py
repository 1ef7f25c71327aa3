"""The rows of a table with the class that was named for each, as a file."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from polyroc.cli._files import Source, quoted_path
from polyroc.cli._labels import as_spelled
from polyroc.cli._outputs import check_replaced, check_writable, csv_of, head_of
from polyroc.cli._plain import CommandError, one_line, quoted

COLUMN = "decision"
_SUFFIXES = (".parquet", ".csv")
_ROWS_AT_ONCE = 65_536


def check_rows(path: Path, inputs: Sequence[str], *, force: bool) -> None:
    """Whether decisions can be written there, asked before the work is done."""
    check_writable(path)
    if path.suffix.lower() not in _SUFFIXES:
        msg = f"--out must end in .parquet or .csv, got {quoted(path.name)}"
        raise CommandError(msg)
    kind = "a table of decisions that --out wrote"
    check_replaced("--out", path, inputs, force=force, kind=kind, is_of_kind=_has_decisions)


def _has_decisions(path: Path) -> bool:
    """Whether a file is empty, or a table whose last column is that of the decisions."""
    head = head_of(path)
    if not head:
        return head is not None
    if path.suffix.lower() == ".csv":
        return head.split(b"\r\n", 1)[0].endswith(f",{COLUMN}".encode())
    with suppress(pa.ArrowException, OSError):
        import pyarrow.parquet as pq

        names: list[str] = pq.read_schema(path).names
        return names[-1:] == [COLUMN]
    return False


def check_free(source: Source) -> None:
    """Refuse a table that has a column of this name already."""
    if COLUMN in source.names:
        msg = f"{quoted_path(source.name)} has a column {quoted(COLUMN)} already: rename it, or leave out --out"
        raise CommandError(msg)


def rows_with_decisions(source: Source, named: Any, scores: Sequence[str], suffix: str) -> bytes:
    """The table with one column more, which is empty where nothing was named."""
    columns = {name: _kept(source, name, is_score=name in scores) for name in source.names}
    table = pa.table(columns | {COLUMN: pa.array(named.tolist())})
    if suffix.lower() == ".csv":
        return csv_of(table.column_names, _rows(table))
    import pyarrow.parquet as pq

    stream = pa.BufferOutputStream()
    try:
        pq.write_table(table, stream)
    except pa.ArrowException as error:
        msg = f"the rows of {quoted_path(source.name)} cannot be written as Parquet, use .csv: {one_line(str(error))}"
        raise CommandError(msg) from error
    content: bytes = stream.getvalue().to_pybytes()
    return content


def _kept(source: Source, name: str, *, is_score: bool) -> Any:
    """A column as the file has it: of a text file, 01 stays 01."""
    column = source.column(name)
    is_text = pa.types.is_string(column.type)
    if source.written is None or is_score or is_text or column.null_count > 0:
        return column
    return as_spelled(column, source.written(name))


def _rows(table: Any) -> Iterator[tuple[Any, ...]]:
    # Python's own numbers of few rows at a time: they take many times the memory of Arrow's.
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
