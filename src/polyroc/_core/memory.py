"""How much memory is left, so that a problem that cannot fit says so before it allocates.

Four limits are asked for, and the least counts: what the system could give, what the container or the systemd unit may
have (cgroup v2 or v1), and the address space of the process (`ulimit -v`). Pages of files that were read are given back
when memory is asked for, so that they count as free.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from polyroc._core.engines import Prepared
from polyroc._lib.typing import Thresholds

_MIB, _GIB = 2**20, 2**30
# Version 1 of cgroups writes no limit as the largest number of pages.
_NO_LIMIT = 2**60


def check_memory(prepared: Prepared, n_pairs: int, n_call_rates: int, thresholds: Thresholds = "own") -> None:
    """Raise MemoryError, with the size needed and what to do, where the rates would not fit."""
    needed = prepared.memory_needed(n_pairs, n_call_rates, thresholds)
    free = _lacking(needed, prepared)
    if free is None:
        return
    fits = n_pairs
    while fits > 0 and prepared.memory_needed(fits, n_call_rates, thresholds) > free:
        fits = fits * 9 // 10
    advice = f"`max_pairs={fits}`" if fits > 0 else "`max_pairs`"
    msg = (
        f"{n_pairs} pairs of classes at {n_call_rates} call rates need {_compared(needed, free)} "
        f"Fewer `n_thresholds` need less, and so does a sample of pairs, {advice}."
    )
    raise MemoryError(msg)


def check_resampling_memory(prepared: Prepared, n_resamples: int, each: int, before: int, *, n_models: int = 1) -> None:
    """Raise MemoryError where replicates would not fit: `each` and model in bytes, after what is kept `before` them."""
    needed = before + n_models * n_resamples * each
    free = _lacking(needed, prepared)
    if free is None:
        return
    fits = (free - before) // (n_models * each)
    models = f" of {n_models} models" if n_models > 1 else ""
    advice = "Fewer samples, classes or `max_pairs` need less"
    if fits >= 2:
        advice = f"`n_resamples` can be at most {fits:,}"
    msg = f"{n_resamples:,} resamples{models} need {_compared(needed, free)} {advice}."
    raise MemoryError(msg)


def _lacking(needed: int, prepared: Prepared) -> int | None:
    """What is free where that is less than needed; None where it is enough, or unknown."""
    if needed < _MIB:  # which there is always; to ask takes as long as some of the work
        return None
    free = prepared.memory_available()
    return None if free is None or needed <= free else max(0, free)


def _compared(needed: int, free: int) -> str:
    return f"about {needed / _GIB:.1f} GiB of memory, and {free / _GIB:.1f} GiB are free."


def available(root: Path = Path("/")) -> int | None:
    """Bytes that can still be had, by the strictest limit that is known; None where none is."""
    found = [_system_free(root), *_containers_free(root), _address_space_free(root)]
    return min((n for n in found if n is not None), default=None)


def _system_free(root: Path) -> int | None:
    kib = _entries(root / "proc/meminfo").get("MemAvailable:")
    return None if kib is None else kib * 1024


def _containers_free(root: Path) -> Iterator[int | None]:
    """What each control group that the process is in may still have."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            folder, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            folder = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # Limits of the groups around it hold, too. Inside a container the path may be that of the host: then only the
        # last one, the folder itself, is there.
        inner = PurePosixPath(path.strip()).relative_to("/") if path.startswith("/") else PurePosixPath()
        yield from (_group_free(folder / group, *names) for group in (inner, *inner.parents))


def _group_free(folder: Path, limit: str, used: str, given_back: str) -> int | None:
    most, now = _number(folder / limit), _number(folder / used)
    if most is None or now is None or most >= _NO_LIMIT:
        return None
    return most - now + _entries(folder / "memory.stat").get(given_back, 0)


def _address_space_free(root: Path) -> int | None:
    """What `ulimit -v` leaves."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _text(root / "proc/self/statm").split()
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return limit - int(pages[0]) * resource.getpagesize()


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _number(file: Path) -> int | None:
    text = _text(file).strip()
    return int(text) if text.isdecimal() else None


def _entries(file: Path) -> dict[str, int]:
    """The first number after each word that begins a line."""
    words = (line.split() for line in _text(file).splitlines())
    return {entry[0]: int(entry[1]) for entry in words if len(entry) > 1 and entry[1].isdecimal()}
