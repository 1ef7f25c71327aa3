"""Threads over fixed chunks: the same bits for any number of them, and Ctrl-C answered between chunks.

Compiled kernels and NumPy's sort release the interpreter lock, so plain threads
suffice. numba's own threading layers abort a forked child and concurrent callers.
"""

import _thread
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

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
    """A pool that lives as long as one computation, so that nothing is left behind for a fork to copy."""

    def __init__(self, n_jobs: int | None) -> None:
        self._size = n_threads(n_jobs)
        self._pool: Pool | None = None
        self._handed_out: list[deque[int]] = []
        """Of each call, the tasks that no thread has taken yet."""

    @property
    def size(self) -> int:
        """Threads that work at once, with the one that asks."""
        return self._size

    def __enter__(self) -> "Threads":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whoever holds an error holds the frames in which work was handed out: it ends here, not when they go.
        for left in self._handed_out:
            left.clear()
        if self._pool is not None:
            # After an error, and after Ctrl-C, what is still running may end by itself.
            self._pool.end(wait=kind is None)
            self._pool = None

    def map(self, function: Callable[..., ResultT], tasks: Iterable[tuple[Any, ...]]) -> list[ResultT]:
        """Call the function with each task's arguments; results in the order of the tasks."""
        given = list(tasks)
        if self._size == 1 or len(given) < 2:
            return [function(*task) for task in given]
        results: list[Any] = [None] * len(given)
        left = self._hand_out(len(given))

        # Each thread takes the next task by itself, and so does this one, which would otherwise only wait: to hand over
        # the interpreter lock takes 0.05 to 0.1 ms, and to be given each task would need it twice as often.
        def work() -> None:
            try:
                for place in _taken_from(left):
                    results[place] = function(*given[place])
            except BaseException:
                left.clear()
                raise

        with self.beside(work, [()] * (min(self._size, len(given)) - 1)):
            work()
        return results

    def imap(self, function: Callable[..., ResultT], tasks: list[tuple[Any, ...]]) -> Iterator[ResultT]:
        """As `map`, each result as soon as it and those before it are there, and an error as soon as it is."""
        if self._size == 1 or len(tasks) < 2:
            yield from (function(*task) for task in tasks)
            return
        left = self._hand_out(len(tasks))
        done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

        def work() -> None:
            try:
                for place in _taken_from(left):
                    done.put((place, function(*tasks[place]), None))
            except BaseException as error:
                left.clear()
                done.put((-1, None, error))

        try:
            with self.beside(work, [()] * min(self._size, len(tasks))):
                ready: dict[int, ResultT] = {}
                for place in range(len(tasks)):
                    while place not in ready:
                        found, result, error = done.get()
                        if error is not None:
                            raise error
                        ready[found] = result
                    yield ready.pop(place)
        finally:  # also where nobody wants the rest
            left.clear()

    @contextmanager
    def beside(
        self, function: Callable[..., object], tasks: list[tuple[Any, ...]], *, wait: bool = True
    ) -> Iterator[None]:
        """Call the function in other threads while the block runs; calls that have not begun at its end never do."""
        left, n_begun, ended = deque(tasks), len(tasks), SimpleQueue[BaseException | None]()

        def call() -> None:
            try:
                task = left.popleft()
            except IndexError:  # the block has ended
                return
            try:
                function(*task)
            except BaseException as error:  # raised by who waits for it
                ended.put(error)
            else:
                ended.put(None)

        try:
            for _ in tasks:
                self._workers().start(call)
            yield
        finally:
            n_begun -= len(taken_back(left))
        # Not after an error of the block: what is still running may end by itself.
        if wait:
            for _ in range(n_begun):
                error = ended.get()
                if error is not None:
                    raise error

    def _hand_out(self, n_tasks: int) -> "deque[int]":
        left = deque(range(n_tasks))
        self._handed_out.append(left)
        return left

    def _workers(self) -> "Pool":
        shared = getattr(_here, "shared", None)
        if shared is not None and shared is not self and shared.size == self._size:
            return shared._workers()  # type: ignore[no-any-return]
        if self._pool is None:
            self._pool = Pool(self._size)
        return self._pool


_Calls: TypeAlias = "SimpleQueue[Callable[[], None] | None]"


class Pool:
    """Threads that wait for calls, at most as many as asked for.

    Not `concurrent.futures`, and not `Thread.start` in the thread that asks: they take locks in Python, where Ctrl-C
    may come after a lock is taken and before it can be given back. Then threads wait for ever, and the process does
    not end. Queues have no such place, and interrupts come to no other thread than the main one.
    """

    def __init__(self, size: int) -> None:
        self._calls: _Calls = SimpleQueue()
        self._idle: deque[None] = deque()
        self._gone: SimpleQueue[None] = SimpleQueue()
        self._size = size
        self._threads: list[threading.Thread] = []

    def start(self, call: Callable[[], None]) -> None:
        """Have a thread call it as soon as one has nothing else to do; it must not raise."""
        self._calls.put(call)
        try:
            self._idle.pop()
        except IndexError:
            if len(self._threads) < self._size:
                name = f"polyroc_{len(self._threads)}"
                new = threading.Thread(target=_serve, args=(self._calls, self._idle, self._gone), name=name)
                _thread.start_new_thread(_begin, (new, self._gone))
                self._threads.append(new)

    def end(self, *, wait: bool) -> None:
        """Let the threads go when they have nothing to do."""
        self._calls.put(None)
        if wait:
            # One that begins a thread, and the thread itself.
            for _ in range(2 * len(self._threads)):
                self._gone.get()
            for thread in self._threads:
                if thread.is_alive():
                    thread.join()

    def __del__(self) -> None:
        # Where an interrupt came before its end: threads hold the queue, not the pool, and would wait for ever.
        if (calls := vars(self).get("_calls")) is not None:
            calls.put(None)


# Seconds after which threads without calls look whether the process is about to end.
_LOOK = 1.0


def _begin(new: threading.Thread, gone: "SimpleQueue[None]") -> None:
    """Begin a thread, from one that no interrupt comes to."""
    try:
        new.start()
    except RuntimeError:  # the system has no other thread, but it had this one
        new.run()
    gone.put(None)


def _serve(calls: _Calls, idle: "deque[None]", gone: "SimpleQueue[None]") -> None:
    while (call := _next_of(calls)) is not None:
        call()
        del call  # what it worked with is not held while it waits for the next
        idle.append(None)
    calls.put(None)  # for the next thread
    gone.put(None)


def _next_of(calls: _Calls) -> Callable[[], None] | None:
    """The next call; None at the end of the pool, and of the process: somebody may hold an error that holds a pool."""
    while True:
        with suppress(Empty):
            return calls.get(timeout=_LOOK)
        if not threading.main_thread().is_alive():
            return None


def taken_back(left: "deque[ResultT]") -> "list[ResultT]":
    """Everything that no thread has taken yet; threads may take from it at the same time."""
    taken = []
    while left:
        with suppress(IndexError):  # a thread was quicker
            taken.append(left.pop())
    return taken


def _taken_from(left: "deque[int]") -> Iterator[int]:
    """What is left, one after the other; several threads take from it at once."""
    while left:
        try:
            place = left.popleft()
        except IndexError:  # another thread was quicker
            return
        yield place


_here = threading.local()


@contextmanager
def one_pool(n_jobs: int | None) -> Iterator[None]:
    """One pool for all that this thread computes in the block: to begin and to end 16 threads takes 2 ms or more."""
    before = getattr(_here, "shared", None)
    with Threads(n_jobs) as shared:
        _here.shared = shared
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
