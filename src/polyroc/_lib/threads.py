"""Threads over fixed chunks: the same bits for any number of them, and Ctrl-C answered between chunks.

Compiled kernels and NumPy's sort release the interpreter lock, so plain threads
suffice. numba's own threading layers abort a forked child and concurrent callers.
"""

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

ResultT = TypeVar("ResultT")

_WORTH_A_THREAD = 100_000


def n_threads(n_jobs: int | None) -> int:
    """How many threads `n_jobs` means: all cores this process may use for None and -1."""
    if n_jobs is None or n_jobs == -1:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(cores, _limit_of_container() or cores)
    return n_jobs


# Microseconds of processor time in each period, or "max": how Linux limits a container (cgroup v2).
_LIMIT = Path("/sys/fs/cgroup/cpu.max")


@cache
def _limit_of_container() -> int | None:
    """Cores that a container may use, of all that it sees; None without a limit. Threads beyond it wait for others."""
    try:
        limit, period = _LIMIT.read_text(encoding="ascii").split()
        return max(1, math.ceil(int(limit) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        return None


class Threads:
    """Threads of one computation. None of them is left at the end of its block, by return or by error."""

    def __init__(self, n_jobs: int | None) -> None:
        self._size = n_threads(n_jobs)
        self._executor: ThreadPoolExecutor | None = None
        self._is_over = False

    @property
    def size(self) -> int:
        """Threads that work at once, including the caller."""
        return self._size

    def __enter__(self) -> "Threads":
        self._is_over = False
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def map(self, function: Callable[..., ResultT], tasks: Iterable[tuple[Any, ...]]) -> list[ResultT]:
        """Call the function with each task's arguments; results in the order of the tasks."""
        tasks = list(tasks)
        if self._size == 1 or len(tasks) < 2:
            return [function(*task) for task in tasks]
        results: list[Any] = [None] * len(tasks)
        left = deque(range(len(tasks)))

        # Each thread takes the next task by itself, and so does the caller, which would otherwise only wait: passing
        # the interpreter lock takes 0.05 to 0.1 ms, and handing out each task would pass it twice as often.
        def work() -> None:
            try:
                for i in _taken_from(left):
                    results[i] = function(*tasks[i])
            except BaseException:
                left.clear()
                raise

        helpers: list[Future[None]] = []
        try:
            helpers.extend(self.submit(work) for _ in range(min(self._size, len(tasks)) - 1))
            work()
        finally:
            left.clear()
            errors = _ended(helpers)
        for error in errors:
            raise error
        return results

    def imap(self, function: Callable[..., ResultT], tasks: Iterable[tuple[Any, ...]]) -> Iterator[ResultT]:
        """As `map`, but each result is given as soon as it and those before it are ready."""
        tasks = list(tasks)
        if self._size == 1 or len(tasks) < 2:
            yield from (function(*task) for task in tasks)
            return
        futures: deque[Future[ResultT]] = deque(Future() for _ in tasks)
        left = deque(zip(futures, tasks, strict=True))

        def work() -> None:
            for future, task in _taken_from(left):
                # Somebody may keep what waits for results longer than the block.
                if self._is_over:
                    return
                try:
                    future.set_result(function(*task))
                except BaseException as error:
                    left.clear()
                    future.set_exception(error)

        helpers: list[Future[None]] = []
        try:
            helpers.extend(self.submit(work) for _ in range(min(self._size, len(tasks))))
            while futures:
                yield futures.popleft().result()
        finally:
            left.clear()
            _ended(helpers)

    def submit(self, function: Callable[..., ResultT], *arguments: Any) -> "Future[ResultT]":
        """The result of a call in another thread; of a call in this one, at once, if no other can be started.

        None can be started at the limit of the system, and in a thread that outlives the main one.
        """
        future: Future[ResultT] = Future()
        # An executor that cannot start a thread has the call in its queue all the same.
        unclaimed = deque([function])

        def call() -> None:
            for claimed in _taken_from(unclaimed):
                if future.set_running_or_notify_cancel():
                    try:
                        future.set_result(claimed(*arguments))
                    except BaseException as error:
                        future.set_exception(error)

        try:
            self._pool().submit(call)
        except (RuntimeError, ImportError):
            call()
            if (error := future.exception()) is not None:
                raise error from None
        return future

    def _pool(self) -> "ThreadPoolExecutor":
        # Imported here, because that fails as well once the main thread has ended; another thread may see it half done.
        from concurrent.futures import ThreadPoolExecutor

        shared: Threads | None = getattr(_here, "shared", None)
        if shared is not None and shared is not self and not shared._is_over and shared.size == self._size:
            return shared._pool()
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._size, thread_name_prefix="polyroc")
        return self._executor


def _ended(calls: "Iterable[Future[Any]]") -> list[BaseException]:
    """Errors of calls, after those that have begun have ended; others never begin."""
    begun = [call for call in calls if not call.cancel()]
    return [error for call in begun if (error := call.exception()) is not None]


def _taken_from(left: "deque[ResultT]") -> Iterator[ResultT]:
    """What is left, one after the other; several threads take from it at once."""
    while left:
        try:
            taken = left.popleft()
        except IndexError:  # another thread was quicker
            return
        yield taken


# Its `shared` is the pool of this thread. An interrupt may leave one there that is over.
_here = threading.local()


@contextmanager
def one_pool(n_jobs: int | None) -> Iterator[None]:
    """One pool for all that this thread computes in the block: starting and ending 16 threads takes 2 ms or more."""
    before = getattr(_here, "shared", None)
    with Threads(n_jobs) as shared:
        try:
            _here.shared = shared
            yield
        finally:
            _here.shared = before


def threads_for(n_scores: int, n_jobs: int | None) -> Threads:
    """A pool for passes over this many scores: few of them are not worth a thread."""
    return Threads(1 if n_scores < _WORTH_A_THREAD else n_jobs)


def chunks(n: int, size: int, most: int) -> list[tuple[int, int]]:
    """Cut range(n) into at most `most` pieces of at least `size`; by n alone, whatever the number of threads."""
    count = max(1, min(most, n // size))
    edges = [n * c // count for c in range(count + 1)]
    return list(pairwise(edges))
