"""Processes that run the cases, and one that watches them: it survives a crash, and ends a hang."""

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz._case import Case
from fuzz._run import LIMIT, Found, run_case
from fuzz._schedule import Schedule

# Beyond the limit of a case, for code that hears no alarm.
_PATIENCE = 30.0
# A case at which a worker dies, for the test that its watcher survives.
CRASH = "POLYROC_FUZZ_CRASH"


@dataclass
class Tally:
    """What has been tried and what escaped."""

    tried: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)

    @property
    def rows(self) -> Iterator[tuple[str, int, int]]:
        """Area, cases and escapes."""
        escaped = Counter(one.case.area for one in self.found)
        for area in {**self.tried, **escaped}:
            yield area, self.tried[area], escaped[area]


@dataclass
class _Watched:
    """A worker as its watcher sees it."""

    schedule: Schedule
    process: Any
    reports: Connection
    begun: Any
    """Shared: the time at which the present case began, and its name behind it; empty before and after all of them."""
    done: Any
    """Shared: how many cases of each area are done."""
    counted: Counter[str] = field(default_factory=Counter)
    """Those of them that are in the tally."""


def work(schedules: Sequence[Schedule], folder: Path, progress: Callable[[int], None], limit: float = LIMIT) -> Tally:
    """Run every schedule in a process of its own, and the rest of it in another one after a case that ended it."""
    tally, end = Tally(), time.monotonic() + max(one.seconds for one in schedules)
    watched = [_started(one, folder, limit) for one in schedules]
    while watched:
        wait([one.reports for one in watched], timeout=0.5)
        for one in list(watched):
            is_over = _heard(one, tally)
            killer = None if is_over else _what_ended(one, limit)
            _count(one, tally, progress, killer)
            if is_over or killer is not None:
                one.process.join()
                watched.remove(one)
            if killer is not None:
                tally.found.append(killer)
                if isinstance(killer.case.number, int):
                    watched.append(_started(_rest(one, end - time.monotonic()), folder, limit))
    return tally


def _rest(one: _Watched, seconds: float) -> Schedule:
    """What is left to be tried after a case that took the process with it, and was counted."""
    schedule = one.schedule
    first = {
        area: schedule.first.get(area, schedule.worker) + one.counted[area] * schedule.n_workers
        for area in schedule.areas
    }
    return replace(schedule, first=first, seconds=seconds)


def _started(schedule: Schedule, folder: Path, limit: float) -> _Watched:
    # Not forked: a worker begins as `python -m fuzz` does, whatever this process has loaded.
    context = multiprocessing.get_context("spawn")
    reports, theirs = context.Pipe(duplex=False)
    begun, done = context.Array("c", 200), context.Array("q", len(schedule.areas))
    own = folder / f"worker {schedule.worker}"
    own.mkdir(exist_ok=True)
    process = context.Process(target=_loop, args=(schedule, own, theirs, begun, done, limit), daemon=True)
    process.start()
    theirs.close()
    return _Watched(schedule, process, reports, begun, done)


def _loop(schedule: Schedule, folder: Path, reports: Connection, begun: Any, done: Any, limit: float) -> None:
    """In the worker: one case after the other; what escapes is said at once."""
    prepare(folder)
    for case in schedule:
        begun.value = f"{time.monotonic()} {case}".encode()
        if os.environ.get(CRASH) == str(case):
            os.kill(os.getpid(), signal.SIGSEGV)
        found = run_case(case, folder, limit)
        if found is not None:
            reports.send(found)
        done[schedule.areas.index(case.area)] += 1
    begun.value = b""
    reports.send(None)


def prepare(folder: Path) -> None:
    """Whatever a package writes for itself goes into the folder, too."""
    os.environ["MPLCONFIGDIR"] = str(folder)
    os.environ["MPLBACKEND"] = "agg"
    # What is printed must not depend on the terminal.
    os.environ["COLUMNS"] = "100"


def _heard(one: _Watched, tally: Tally) -> bool:
    """Take what a worker has said; True where it has said that it is done."""
    try:
        while one.reports.poll():
            found = one.reports.recv()
            if found is None:
                return True
            tally.found.append(found)
    except EOFError:
        pass
    return False


def _count(one: _Watched, tally: Tally, progress: Callable[[int], None], killer: Found | None) -> None:
    """Add what is new."""
    done = Counter(dict(zip(one.schedule.areas, one.done[:], strict=True)))
    if killer is not None and killer.case.area in done:
        done[killer.case.area] += 1
    new = done - one.counted
    tally.tried.update(new)
    one.counted = done
    progress(new.total())


def _what_ended(one: _Watched, limit: float) -> Found | None:
    """The case that took its process with it, or would not end; None where all is well."""
    is_alive = one.process.is_alive()
    began, _, name = one.begun.value.decode().partition(" ")
    if is_alive:
        if not name or time.monotonic() - float(began) < limit + _PATIENCE:
            return None
        one.process.kill()
        return Found(Case.parse(name), f"a hang that hears no alarm: not done after {limit + _PATIENCE:g} seconds")
    if one.reports.poll() and not name:  # its last word has come meanwhile
        return None
    code = one.process.exitcode
    if name:
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return Found(Case.parse(name), f"the process was ended {how}")
    return Found(Case("worker", one.schedule.seed, "start"), f"a worker did not start: exit code {code}")
