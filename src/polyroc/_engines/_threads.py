"""Threads over fixed chunks: the same bits for any number of them, and Ctrl-C answered between chunks.

Compiled kernels and NumPy's sort release the interpreter lock, so plain threads
suffice. numba's own threading layers abort a forked child and concurrent callers.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")

_WORTH_A_THREAD = 100_000


def n_threads(n_jobs: int | None) -> int:
    """How many threads `n_jobs` means: all cores this process may use for None and -1."""
    if n_jobs is None or n_jobs == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs


class Threads:
    """A pool that lives as long as one computation, so that nothing is left behind for a fork to copy."""

    def __init__(self, n_jobs: int | None) -> None:
        self._size = n_threads(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Threads":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            # After an error, and after Ctrl-C, what is still running may end by itself.
            self._pool.shutdown(wait=kind is None, cancel_futures=True)
            self._pool = None

    def map(self, function: Callable[..., ResultT], tasks: Iterable[tuple[Any, ...]]) -> list[ResultT]:
        """Call the function with each task's arguments; results in the order of the tasks."""
        return list(self.imap(function, list(tasks)))

    def imap(self, function: Callable[..., ResultT], tasks: list[tuple[Any, ...]]) -> Iterator[ResultT]:
        """As `map`, each result as soon as it and those before it are there."""
        if self._size == 1 or len(tasks) == 1:
            yield from (function(*task) for task in tasks)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._size, thread_name_prefix="polyroc")
        futures = [self._pool.submit(function, *task) for task in tasks]
        yield from (future.result() for future in futures)


def threads_for(n_scores: int, n_jobs: int | None) -> Threads:
    """A pool for passes over this many scores: few of them are not worth a thread."""
    return Threads(1 if n_scores < _WORTH_A_THREAD else n_jobs)


def chunks(n: int, size: int, most: int) -> list[tuple[int, int]]:
    """Cut range(n) into at most `most` pieces of at least `size`; by n alone, whatever the number of threads."""
    count = max(1, min(most, n // size))
    edges = [n * c // count for c in range(count + 1)]
    return list(pairwise(edges))
