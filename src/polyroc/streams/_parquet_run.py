"""A run over Parquet files: which row groups are done, in which threads, with a bar, and with a checkpoint."""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import numpy as np

from polyroc._inputs.checks import InputError, shown
from polyroc._lib.files import why_not_writable, write_whole
from polyroc._lib.threads import Threads, n_threads
from polyroc._lib.warnings import progress_bar, warn
from polyroc.streams._parquet_columns import Place, byte_width, is_words
from polyroc.streams._parquet_files import DamagedPartError, ParquetFiles, Part
from polyroc.streams._state import HEADER, packed_header, read_header, read_npz

DoneT = TypeVar("DoneT")
PartT = TypeVar("PartT")


def each_part(
    parts: Sequence[PartT],
    work: Callable[[PartT], DoneT],
    finish: Callable[[PartT, DoneT], None],
    *,
    n_workers: int,
    tell: Callable[[PartT], object] = lambda _part: None,
    is_due: Callable[[], bool] = lambda: False,
    rest: Callable[[], None] = lambda: None,
) -> None:
    """Call `work` for every part in threads; in this one, `finish` with its result, and then `tell` with the part.

    When a rest is due, parts under way end first. The same after an interrupt: parts under way end and are finished,
    and there is a rest. An error of `work` ends everything without a rest. So does an interrupt of `finish` or of a
    rest: what is half done cannot be stored.
    """
    todo, running, is_sound = deque(parts), deque[tuple[PartT, Future[DoneT]]](), True
    with Threads(n_workers) as threads:
        try:
            while todo or running:
                is_waited_for = is_due()
                is_sound = False
                if is_waited_for and not running:
                    rest()
                    is_waited_for = False
                while todo and len(running) < n_workers + 1 and not is_waited_for:
                    part = todo.popleft()
                    running.append((part, threads.submit(work, part)))
                is_sound = True
                result = running[0][1].result()
                is_sound = False
                part, _ = running.popleft()
                finish(part, result)
                is_sound = True
                tell(part)
        except BaseException:
            begun = [(part, future) for part, future in running if not future.cancel()]
            if is_sound and all(future.exception() is None for _, future in begun):
                for part, future in begun:
                    finish(part, future.result())
                rest()
            raise


_KIND = "polyroc parquet checkpoint"
# Seconds between two of them, and the share of the time that writing may take.
_EVERY, _SHARE = 30.0, 0.05
# Bytes of text that names of classes and columns can need, and what is known of each file.
_MOST_OF_FACTS, _MOST_OF_FILE = 2**26, 2**13
# What tells a file from one of the same name, in the order of `OpenFile.identity`.
_CHANGES = ("another size", "another time of modification", "other contents")


def as_checkpoint(path: Any) -> "Checkpoint | None":
    """The file of a path, which need not be there yet."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError("checkpoint", "must be the path of a file", shown(path))
    file = Path(path)
    if reason := why_not_writable(file):
        raise InputError("checkpoint", "must be a file that can be written", shown(str(path)), hint=f": {reason}")
    return Checkpoint(file)


class Checkpoint:
    """A file with all that a long run has done so far, from which it goes on; whole or not there at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = time.monotonic() + _EVERY

    def facts(self, n_files: int) -> dict[str, Any] | None:
        """Facts of an earlier run; None if there was none."""
        if not self._path.exists():
            return None
        with self._named():
            most = _MOST_OF_FACTS + n_files * _MOST_OF_FILE
            return read_header(read_npz(self._path, "checkpoint", lambda name: name == HEADER, most), _KIND)

    def arrays(self, most: int) -> dict[str, Any]:
        """Counts of an earlier run, if they have at most this many bytes."""
        with self._named():
            return read_npz(self._path, "checkpoint", lambda name: name != HEADER, most)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors name the file."""
        try:
            yield
        except InputError as error:
            raise InputError("checkpoint", error.rule, error.got, f" in '{self._path}'{error.hint}") from error

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def write(self, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Replace what was there, in one step."""
        start, buffer = time.monotonic(), BytesIO()
        try:
            np.savez_compressed(buffer, header=packed_header(_KIND, **facts), **dict(arrays))
        except ValueError as error:
            # After Ctrl-C in the middle NumPy's file cannot be closed, and this error hides the interrupt.
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None
            raise
        write_whole(self._path, buffer.getvalue())
        took = time.monotonic() - start
        self._next = start + max(_EVERY, took / _SHARE)


def check_facts(stored: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of other files, columns or options, by name."""
    # As they come back from JSON.
    wanted = json.loads(json.dumps(dict(facts)))
    check_files(stored, wanted["files"])
    for name, value in wanted.items():
        came = stored.get(name)
        if isinstance(value, dict) and isinstance(came, dict):
            differ = [key for key in {**value, **came} if value.get(key) != came.get(key)]
            if differ:
                which = f"{name}[{differ[0]!r}]"
                raise _other(which, value.get(differ[0]), came.get(differ[0]))
        elif value != came:
            raise _other(name, value, came)


def check_files(stored: Mapping[str, Any], files: Any) -> None:
    """Refuse a checkpoint of other files, or of files that have been changed since."""
    came, wanted = stored.get("files"), json.loads(json.dumps(files))
    if came == wanted:
        return
    names = [[file[0] for file in some] if _are_files(some) else [] for some in (wanted, came)]
    if names[0] != names[1]:
        raise _other("files", names[0], names[1])
    assert isinstance(came, list)
    for (name, *mine), (_, *theirs) in zip(wanted, came, strict=True):
        if mine != theirs:
            what = next(told for told, a, b in zip(_CHANGES, mine, theirs, strict=True) if a != b)
            rule = "must be of the same files as this call"
            raise InputError("checkpoint", rule, f"one of an earlier {shown(name)}", hint=f": it has {what} now")


def _are_files(some: Any) -> TypeGuard[list[list[Any]]]:
    """Whether these are names of files, each with what it was like."""
    return isinstance(some, list) and all(isinstance(file, list) and len(file) == 1 + len(_CHANGES) for file in some)


def _other(name: str, value: Any, came: Any) -> InputError:
    rule = f"must be of a run with the same `{name}` as this call, {shown(value)}"
    return InputError("checkpoint", rule, shown(came), hint=": name another file, or remove it")


ResultT = TypeVar("ResultT")

# Bytes of rows that are decoded at a time, so that they are counted while they are in the cache; and how many rows.
_BYTES, _FEWEST, _MOST = 1 << 22, 1 << 13, 1 << 16
# What has become of a part.
_DONE, _MISSING = 1, 2
# Parts that a warning names.
_MOST_NAMED = 10
# The stage in which damaged parts are found.
COUNTS = "counts"


class ParquetRun:
    """Files that are streamed several times."""

    def __init__(
        self, files: ParquetFiles, *, n_jobs: int | None, partial: bool, progress: bool, checkpoint: Checkpoint | None
    ) -> None:
        self.files, self.n_jobs, self.partial = files, n_jobs, partial
        self._progress, self._checkpoint = progress, checkpoint
        self.n_workers = max(1, min(n_threads(n_jobs), len(files.parts)))
        # Where there are fewer parts than threads, threads work on each part instead.
        self.inside = n_threads(n_jobs) > len(files.parts)
        self.facts: dict[str, Any] = {"files": [list(file.identity) for file in files.files]}
        """Facts that a checkpoint must have in common with this run."""
        self.stored: dict[str, Any] = {}
        """The arrays of the checkpoint, those of a stage under its name."""
        self._status: dict[str, Any] = {}

    @property
    def missing(self) -> list[str]:
        """Files and row groups that are left out, in words."""
        status = self._of_stage(COUNTS)
        return [*self.files.missing, *(self.files.told(p) for p in self.files.parts if status[p.number] == _MISSING)]

    @property
    def present(self) -> list[Part]:
        """Parts that were counted, or will be."""
        status = self._of_stage(COUNTS)
        return [part for part in self.files.parts if status[part.number] != _MISSING]

    def warn_of_missing(self) -> None:
        """Say which parts of the input have no part in the result."""
        if missing := self.missing:
            # Paths whole, however long.
            more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
            told = f"{', '.join(missing[:_MOST_NAMED])}{more}"
            msg = f"Partial result: what could not be read was skipped: {told}."
            warn(msg, UserWarning)

    def rows(self, part: Part, columns: Sequence[str]) -> Iterator[tuple[Any, Place]]:
        """Record batches of a part with their places; text comes as dictionaries."""
        file = self.files.files[part.file]
        kinds = {name: file.type_of(name) for name in columns}
        n_rows = min(_MOST, max(_FEWEST, _BYTES // sum(byte_width(kind) for kind in kinds.values())))
        words = [name for name, kind in kinds.items() if is_words(kind)]
        read: Any = self.files.batches(part, columns, n_rows=n_rows, threads=self.inside, words=words)
        start = part.first_row
        # Where parts may be left out, all of one is read before any of it is counted.
        for batch in list(read) if self.partial else read:
            yield batch, Place(str(file.path), start)
            start += len(batch)

    def each_part(
        self,
        title: str,
        work: Callable[[Part], ResultT],
        finish: Callable[[ResultT], None],
        *,
        may_fail: bool = False,
        stage: str = "",
        state: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        """A pass over the parts that a stage has not done, or over all; parts that `may_fail` are left out if allowed.

        `state` is stored now and then, while nothing is under way.
        """
        status = self._of_stage(stage) if stage else np.zeros(len(self.files.parts), dtype=np.int8)

        def guarded(part: Part) -> ResultT | None:
            try:
                return work(part)
            except DamagedPartError:
                if self.partial and may_fail:
                    return None
                raise

        def finished(part: Part, result: ResultT | None) -> None:
            if result is not None:
                finish(result)
            status[part.number] = _MISSING if result is None else _DONE

        def rest() -> None:
            if self._checkpoint is not None and state is not None:
                self.store(stage, {"parts": status.copy(), **state()})

        parts = self.present
        todo = [part for part in parts if status[part.number] == 0]
        with progress_bar(sum(part.n_rows for part in parts), title, shown=self._progress) as told:
            told(sum(part.n_rows for part in parts if status[part.number] == _DONE))
            each_part(
                todo,
                guarded,
                finished,
                n_workers=self.n_workers,
                tell=lambda part: told(part.n_rows),
                is_due=lambda: self._checkpoint is not None and state is not None and self._checkpoint.is_due,
                rest=rest,
            )
        if todo:
            rest()

    def store(self, stage: str, arrays: dict[str, Any]) -> None:
        """Write the checkpoint, with these arrays of a stage in place of earlier ones."""
        if self._checkpoint is None:
            return
        others = {key: value for key, value in self.stored.items() if key.partition("/")[0] != stage}
        self.stored = {**others, **{f"{stage}/{key}": value for key, value in arrays.items()}}
        self._checkpoint.write(self.facts, self.stored)

    def of_stage(self, stage: str) -> dict[str, Any]:
        """The arrays of a stage that are stored; empty where it has not begun."""
        own = {key.partition("/")[2]: value for key, value in self.stored.items() if key.partition("/")[0] == stage}
        own.pop("parts", None)
        return own

    def _of_stage(self, stage: str) -> Any:
        """Status of each part."""
        if stage not in self._status:
            n_parts = len(self.files.parts)
            status = np.asarray(self.stored.get(f"{stage}/parts", np.zeros(n_parts, dtype=np.int8)))
            if status.shape != (n_parts,) or status.dtype.kind not in "iu":
                came = f"{status.dtype} of {status.shape}"
                raise InputError("checkpoint", f"must know of {n_parts} row groups", came)
            self._status[stage] = status.astype(np.int8)
        return self._status[stage]
