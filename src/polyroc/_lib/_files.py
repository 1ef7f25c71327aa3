"""Files are written whole or not at all."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path


def why_not_writable(path: Path) -> str:
    """What keeps a file from being written there, asked before the work is done; nothing where it can be."""
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
    """Write beside the file, then take its place in one step; an OSError where that cannot be done."""
    if reason := why_not_writable(path):
        raise OSError(reason)
    # Where the name is a link, the file it leads to is replaced and the link stays.
    path = path.resolve()
    beside = path.with_name(f".polyroc-{secrets.token_hex(8)}.tmp")
    try:
        # Not tempfile: its files are for their owner alone, and stay so after the rename.
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(beside, path)  # noqa: PTH105  # the issue asks for it by name, and tests replace it
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
