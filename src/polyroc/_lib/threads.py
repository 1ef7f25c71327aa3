"""Threads over fixed chunks: the same bits for any number of them, and Ctrl-C answered between chunks.

Compiled kernels and NumPy's sort release the interpreter lock, so plain threads
suffice. numba's own threading layers abort a forked child and concurrent callers.
"""

import math
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
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
        self._helpers: list[_Helpers] = []

    @property
    def size(self) -> int:
        """Threads that work at once, including the caller."""
        return self._size

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, *_: object) -> None:
        # A kept error keeps the frames of its traceback, and with them results that nobody asks for any more.
        for helpers in tuple(self._helpers):
            helpers.end()
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
        def work(_helper: int = 0) -> None:
            try:
                for i in _taken_from(left):
                    results[i] = function(*tasks[i])
            except BaseException:
                left.clear()
                raise

        with self.beside(work, min(self._size, len(tasks)) - 1, stop=left.clear):
            work()
        return results

    def imap(self, function: Callable[..., ResultT], tasks: list[tuple[Any, ...]]) -> Iterator[ResultT]:
        """As `map`, but each result is given as soon as it and those before it are ready, and an error at once."""
        if self._size == 1 or len(tasks) < 2:
            yield from (function(*task) for task in tasks)
            return
        left = deque(range(len(tasks)))
        done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

        def work(_helper: int = 0) -> None:
            try:
                for i in _taken_from(left):
                    done.put((i, function(*tasks[i]), None))
            except BaseException as error:
                left.clear()
                done.put((-1, None, error))

        with self.beside(work, min(self._size, len(tasks)), stop=left.clear) as n_helpers:
            if n_helpers == 0:
                work()
            ready: dict[int, ResultT] = {}
            for i in range(len(tasks)):
                while i not in ready:
                    number, result, error = done.get()
                    if error is not None:
                        raise error
                    ready[number] = result
                yield ready.pop(i)

    @contextmanager
    def beside(self, function: Callable[[int], object], n: int, *, stop: Callable[[], object]) -> Iterator[int]:
        """Call function(0), ..., function(n - 1) in other threads while the block runs; gives how many there are.

        At the end `stop` tells them to return; calls that have begun are waited for, the others never begin.
        """
        helpers = _Helpers(function, n, stop)
        self._helpers.append(helpers)
        try:
            yield sum(self.start(helpers.call) for _ in range(n))
        finally:
            helpers.end()
            self._helpers.remove(helpers)
        for error in filter(None, helpers.endings):
            raise error

    def start(self, call: Callable[[], object]) -> bool:
        """Have a thread call this as soon as one is free; False if no thread can be started.

        At the limit of the system, and in a thread that outlives the main one: then the interpreter starts no others.
        """
        try:
            self._pool().submit(call)
        except (RuntimeError, ImportError):
            return False
        return True

    def _pool(self) -> "ThreadPoolExecutor":
        # Imported here, because that fails as well once the main thread has ended; another thread may see it half done.
        from concurrent.futures import ThreadPoolExecutor

        shared: Threads | None = getattr(_here, "shared", _no_pool)()
        if shared is not None and shared is not self and shared.size == self._size:
            return shared._pool()
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._size, thread_name_prefix="polyroc")
        return self._executor


class _Helpers:
    """Calls of one function in other threads.

    Not futures: Ctrl-C while one is waited for may leave its lock behind. Queues and plain locks have no such moment.
    """

    def __init__(self, function: Callable[[int], object], n: int, stop: Callable[[], object]) -> None:
        self._function, self._stop = function, stop
        self._lock, self._left, self._n_begun = threading.Lock(), n, 0
        self.endings: list[BaseException | None] = []
        # Says that another call has ended. Not which one: an interrupt may lose what is taken from a queue.
        self._come: SimpleQueue[None] = SimpleQueue()

    def call(self) -> None:
        with self._lock:
            if self._left == 0:
                return
            self._left -= 1
            number, self._n_begun = self._n_begun, self._n_begun + 1
        try:
            self._function(number)
        except BaseException as error:
            self.endings.append(error)
        else:
            self.endings.append(None)
        self._come.put(None)

    def end(self) -> None:
        """Wait for calls that have begun, and begin no others; after an interrupt this can be repeated."""
        with self._lock:
            self._left = 0
        self._stop()
        while len(self.endings) < self._n_begun:
            self._come.get()


def _taken_from(left: "deque[int]") -> Iterator[int]:
    """Items that are left, one after the other; several threads take from them at once."""
    while left:
        try:
            i = left.popleft()
        except IndexError:  # another thread was quicker
            return
        yield i


# Its `shared` is a weak reference to the pool of this thread: one that an interrupt has left there goes by itself.
_here = threading.local()


def _no_pool() -> None:
    return None


@contextmanager
def one_pool(n_jobs: int | None) -> Iterator[None]:
    """One pool for all that this thread computes in the block: starting and ending 16 threads takes 2 ms or more."""
    before = getattr(_here, "shared", _no_pool)
    with Threads(n_jobs) as shared:
        _here.shared = weakref.ref(shared)
        try:
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
