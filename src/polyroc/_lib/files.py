"""Files are written whole or not at all."""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

_BESIDE = re.compile(r"\.polyroc-[0-9a-f]{16}\.tmp")


def why_not_writable(path: Path) -> str:
    """Why no file can be written there, asked before the work is done; empty if it can."""
    if "\0" in str(path):
        return "no name may contain a NUL character"
    try:
        if not path.parent.is_dir():
            return f"there is no folder '{path.parent}'"
        if path.exists() and not path.is_file():
            # A rename would put a plain file in the place of a device.
            return "it is a folder" if path.is_dir() else "it is no regular file"
        return "" if os.access(path.parent, os.W_OK) else "permission denied"
    except OSError as error:  # a name that is too long, a link that leads to itself
        return error.strerror or str(error)


def write_whole(path: Path, content: bytes) -> None:
    """Write a temporary file next to it, then take its place in one step; an OSError where that cannot be done."""
    if reason := why_not_writable(path):
        raise OSError(reason)
    # Where the name is a link, the file it leads to is replaced and the link stays.
    path = path.resolve()
    _remove_abandoned(path.parent)
    with _file_beside(path) as beside:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(beside, path)  # noqa: PTH105  # the issue asks for it by name, and tests replace it


@contextmanager
def _file_beside(path: Path) -> Iterator[Path]:
    """A new file in the folder of another one, locked while this process lives, and removed if it is still there."""
    while True:
        beside = path.with_name(f".polyroc-{secrets.token_hex(8)}.tmp")
        # Not tempfile: its files are for their owner alone, and stay so after the rename.
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            os.close(descriptor)
            break
        with suppress(OSError):  # a file system without locks, on which nothing is taken for abandoned
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Until it was locked, another process could remove it.
        if os.fstat(descriptor).st_nlink:
            break
        os.close(descriptor)
    try:
        yield beside
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
        if fcntl is not None:
            os.close(descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Remove what a killed process has left: files of ours that nobody locks, because a lock ends with its process."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        names = [entry.path for entry in entries if _BESIDE.fullmatch(entry.name) and entry.is_file()]
        for name in names:
            with suppress(OSError):
                descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    Path(name).unlink()
                finally:
                    os.close(descriptor)
