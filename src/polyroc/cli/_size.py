"""Whether files fit in memory, and so whether they are read or streamed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyroc._engines._memory import available
from polyroc.cli._files import is_numeric, quoted_path
from polyroc.cli._plain import CommandError
from polyroc.cli._settings import Settings

_MAGIC, _GIB = b"PAR1", 2**30
# Copies of the scores that an evaluation in memory has at once: as read, sorted by class, and what resamples need.
_COPIES = 3


def does_stream(paths: Sequence[str], settings: Settings) -> bool:
    """Whether the user asks for it, or files do not fit."""
    wanted = {"--exact": settings.exact, "--partial": settings.partial, "--checkpoint": settings.checkpoint is not None}
    asked = [option for option, given in wanted.items() if given]
    if settings.stream is False:
        if asked:
            msg = f"{asked[0]} is for streamed files: leave out --no-stream"
            raise CommandError(msg)
        return False
    if settings.stream or asked or any(Path(path).is_dir() for path in paths if "\0" not in path):
        if others := [path for path in paths if not _is_parquet(Path(path))]:
            option = "--stream" if settings.stream or not asked else asked[0]
            msg = f"{option} takes Parquet files, or a folder of them, got {quoted_path(others[0])}"
            raise CommandError(msg)
        return True
    return why_stream(paths) != ""


def why_stream(paths: Sequence[str]) -> str:
    """That files do not fit in memory, in words; empty where they do."""
    files = [Path(path) for path in paths]
    if not all(_is_parquet(file) and file.is_file() for file in files):
        return ""
    needed, free = sum(map(_bytes_needed, files)), available()
    if free is None or needed <= free:
        return ""
    return f"about {needed / _GIB:.1f} GiB of memory would be needed and {max(0, free) / _GIB:.1f} GiB are free"


def _is_parquet(path: Path) -> bool:
    try:
        if path.is_dir():
            return any(True for end in ("*.parquet", "*.pq") for _ in path.rglob(end))
        # Asked before it is opened: what is read from a pipe is gone for whoever reads it next.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) == _MAGIC
    except (OSError, ValueError):
        return False


def _bytes_needed(path: Path) -> int:
    """By the footer; 0 where it cannot be read, which is said later."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            n_rows, kinds = file.metadata.num_rows, list(file.schema_arrow.types)
    except (pa.ArrowException, OSError):
        return 0
    width = sum(_width(kind) for kind in kinds if is_numeric(kind))
    # Labels as objects and as codes.
    return int(n_rows * (_COPIES * width + 24))


def _width(kind: Any) -> int:
    return 4 if kind.bit_width <= 32 and "float" in str(kind) else 8
