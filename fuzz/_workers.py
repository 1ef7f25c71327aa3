"""Processes that run the cases, and one that watches them: it survives a crash, and ends a hang."""

import multiprocessing
import os
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
# How often a worker says where it is; between, it says only what it begins.
_REPORTS = 0.2


@dataclass
class Tally:
    """What has been tried and what escaped."""

    tried: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)


@dataclass
class _Watched:
    """A worker as its watcher sees it."""

    schedule: Schedule
    process: Any
    reports: Connection
    begun: Any
    """Shared: the time at which the present case began, and its name behind it."""
    started: float


def work(schedules: Sequence[Schedule], folder: Path, progress: Callable[[int], None], limit: float = LIMIT) -> Tally:
    """Run every schedule in a process of its own, again after those that a case ended."""
    tally, deadline = Tally(), time.monotonic() + max(one.seconds for one in schedules)
    watched = [_started(one, folder, limit) for one in schedules]
    while watched:
        wait([one.reports for one in watched], timeout=1.0)
        for one in list(watched):
            is_over = _heard(one, tally, progress)
            killer = None if is_over else _what_ended(one, limit)
            if is_over or killer is not None:
                one.process.join()
                watched.remove(one)
            if killer is not None:
                tally.found.append(killer)
                left = deadline - time.monotonic()
                if left > 0 and isinstance(killer.case.number, int):
                    watched.append(_started(_after(one.schedule, killer.case, tally, left), folder, limit))
    return tally


def _after(schedule: Schedule, last: Case, tally: Tally, left: float) -> Schedule:
    """What is left to be tried after a case that took the process with it."""
    first = {area: schedule.first.get(area, schedule.worker) for area in schedule.areas}
    first |= {area: number for area, number in _next_numbers(tally, schedule).items() if area in first}
    assert isinstance(last.number, int)
    first[last.area] = last.number + schedule.n_workers
    return replace(schedule, first=first, seconds=left)


def _next_numbers(tally: Tally, schedule: Schedule) -> dict[str, int]:
    """At least as far as reported; what was not reported is tried again."""
    done = {area: tally.tried[f"{area}/{schedule.worker}"] for area in schedule.areas}
    return {area: schedule.worker + number * schedule.n_workers for area, number in done.items()}


def _started(schedule: Schedule, folder: Path, limit: float) -> _Watched:
    context = multiprocessing.get_context("spawn")
    reports, theirs = context.Pipe(duplex=False)
    begun = context.Array("c", 200)
    own = folder / f"worker {schedule.worker}"
    own.mkdir(exist_ok=True)
    process = context.Process(target=_loop, args=(schedule, own, theirs, begun, limit), daemon=True)
    process.start()
    theirs.close()
    return _Watched(schedule, process, reports, begun, time.monotonic())


def _loop(schedule: Schedule, folder: Path, reports: Connection, begun: Any, limit: float) -> None:
    """In the worker: one case after the other; every now and then a word about how many."""
    prepare(folder)
    tried: Counter[str] = Counter()
    last = time.monotonic()
    for case in schedule:
        begun.value = f"{time.monotonic()} {case}".encode()
        found = run_case(case, folder, limit)
        tried[case.area] += 1
        if found is not None or time.monotonic() - last > _REPORTS:
            reports.send((dict(tried), found))
            tried.clear()
            last = time.monotonic()
    begun.value = b""
    reports.send((dict(tried), None))
    reports.send(None)


def prepare(folder: Path) -> None:
    """Whatever a package writes for itself goes into the folder, too."""
    os.environ["MPLCONFIGDIR"] = str(folder)
    os.environ["MPLBACKEND"] = "agg"
    # Nothing that a case starts may ask a terminal how wide it is.
    os.environ["COLUMNS"] = "100"


def _heard(one: _Watched, tally: Tally, progress: Callable[[int], None]) -> bool:
    """Take what a worker has said; True where it has said that it is done."""
    try:
        while one.reports.poll():
            said = one.reports.recv()
            if said is None:
                return True
            tried, found = said
            for area, count in tried.items():
                tally.tried[area] += count
                tally.tried[f"{area}/{one.schedule.worker}"] += count
                progress(count)
            if found is not None:
                tally.found.append(found)
    except EOFError:
        pass
    return False


def _what_ended(one: _Watched, limit: float) -> Found | None:
    """The case that took its process with it, or would not end; None where all is well."""
    began, _, name = one.begun.value.decode().partition(" ")
    if one.process.is_alive():
        if not name or time.monotonic() - float(began) < limit + _PATIENCE:
            return None
        one.process.kill()
        return Found(Case.parse(name), f"a hang that hears no alarm: not done after {limit + _PATIENCE:g} seconds")
    code = one.process.exitcode
    if name:
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return Found(Case.parse(name), f"the process was ended {how}")
    return Found(Case("start", one.schedule.seed, "worker"), f"a worker did not start: exit code {code}")


def counts(tally: Tally) -> Iterator[tuple[str, int, int]]:
    """Area, cases and escapes."""
    escaped = Counter(found.case.area for found in tally.found)
    for area in [name for name in tally.tried if "/" not in name] or list(escaped):
        yield area, tally.tried[area], escaped[area]
