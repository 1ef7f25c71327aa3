"""Python's audit hook as a guard: no write outside a folder, no network, no other process, no pickle.

It is told before the fact, so what must not be done is not done, and reported.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events of the arguments that name what is changed.
_CHANGES = {
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.link": (0, 1),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.utime": (0,),
    "shutil.rmtree": (0,),
}
_NEVER = {
    "os.exec": "runs another program",
    "os.fork": "forks",
    "os.posix_spawn": "runs another program",
    "os.system": "runs another program",
    "pickle.find_class": "loads a pickle",
    "socket.connect": "connects to a network",
    "socket.getaddrinfo": "asks for an address in a network",
    "subprocess.Popen": "runs another program",
    "urllib.Request": "connects to a network",
}
# Writing there changes nothing.
_DEVICES = ("/dev/null", "/dev/full", "/dev/stdout", "/dev/stderr", "/dev/tty")
# numba keeps compiled kernels as pickles, matplotlib a list of fonts, each in a folder of its own.
_TRUSTED = ("numba", "matplotlib")


class Guard:
    """What was done that must not be done, since the guard was set."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._installed = False
        self.found: list[str] = []

    @contextmanager
    def watching(self, folder: Path) -> Iterator[None]:
        """While it lasts, only this folder may be written to."""
        if not self._installed:  # a hook cannot be taken away, so there is one, which sleeps
            sys.addaudithook(self._hear)
            self._installed = True
        self.found = []
        # Python's own cache of what is imported meanwhile.
        no_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        self._folder = os.path.realpath(folder)
        try:
            yield
        finally:
            self._folder = None
            sys.dont_write_bytecode = no_bytecode

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """While it lasts, what is done is the fuzzer's own doing."""
        folder, self._folder = self._folder, None
        try:
            yield
        finally:
            self._folder = folder

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._folder is None or (event != "open" and event not in _NEVER and event not in _CHANGES):
            return
        folder, self._folder = self._folder, None  # what is asked here is not heard
        try:
            wrong = self._judged(event, arguments, folder)
        finally:
            self._folder = folder
        if wrong is not None:
            self.found.append(f"{wrong} ({_where()})")
            msg = f"the fuzzer does not allow that polyroc {wrong}"
            raise PermissionError(msg)

    def _judged(self, event: str, arguments: tuple[Any, ...], folder: str) -> str | None:
        if event in _NEVER:
            return None if _is_trusted() else _NEVER[event]
        if event == "open":
            path, _, flags = arguments
            changed = [path] if isinstance(flags, int) and flags & _WRITES else []
        else:
            changed = [arguments[place] for place in _CHANGES[event]]
        outside = [path for path in changed if not _is_inside(path, folder)]
        return (
            f"writes outside of its folder: {event} {os.fsdecode(outside[0])}"
            if outside and not _is_trusted()
            else None
        )


def _is_inside(path: Any, folder: str) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):  # the number of a file that is open already
        return True
    text = os.path.abspath(os.fsdecode(path))  # noqa: PTH100  # as the system reads it, links and all
    if text in _DEVICES:
        return True
    parent = os.path.realpath(os.path.dirname(text))  # noqa: PTH120
    real = os.path.join(parent, os.path.basename(text))  # noqa: PTH118, PTH119
    return real == folder or real.startswith(folder + os.sep)


def _where() -> str:
    """The functions that were running, innermost first."""
    frame, names = sys._getframe(2), []
    while frame is not None and len(names) < 6:
        names.append(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return " < ".join(names)


def _is_trusted() -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _TRUSTED:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


GUARD = Guard()
