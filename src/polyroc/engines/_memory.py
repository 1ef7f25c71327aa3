"""How much memory is left, so that a problem that cannot fit says so before it allocates."""

from pathlib import Path

from polyroc._records import Predictions
from polyroc.engines._protocol import Engine

_GIB = 2**30


def check_memory(engine: Engine, predictions: Predictions, n_pairs: int, n_call_rates: int) -> None:
    """Raise MemoryError, with the size needed and what to do, where the rates would not fit."""
    needed, free = engine.memory_needed(predictions, n_pairs, n_call_rates), available()
    if free is None or needed <= free:
        return
    fits = n_pairs
    while fits > 0 and engine.memory_needed(predictions, fits, n_call_rates) > free:
        fits = fits * 9 // 10
    advice = f"`max_pairs={fits}`" if fits > 0 else "`max_pairs`"
    msg = (
        f"{n_pairs} pairs of classes at {n_call_rates} call rates need about {needed / _GIB:.1f} GiB of memory, "
        f"and {free / _GIB:.1f} GiB are free. Fewer `n_thresholds` need less, and so does a sample of pairs, {advice}."
    )
    raise MemoryError(msg)


def available() -> int | None:
    """Bytes that can still be had, by the system's count and by the limit of a container; None where unknown."""
    found = [n for n in (_system_free(), _container_free()) if n is not None]
    return min(found) if found else None


def _system_free() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return None


def _container_free() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = (folder / "memory.current").read_text(encoding="ascii").strip()
        return None if limit == "max" else int(limit) - int(used)
    except (OSError, ValueError):
        return None
