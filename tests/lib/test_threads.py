import concurrent.futures
import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType

import pytest
from interrupts import ctrl_c, interrupted_at_line, threads_left, until

from polyroc._lib import threads as _threads
from polyroc._lib.threads import Threads, one_pool

pytestmark = pytest.mark.threads

MANY = [(i,) for i in range(100_000)]


@pytest.fixture
def stopped(monkeypatch):
    """Set when a call, or the end of a block, has cancelled what has not begun, and waits for the rest."""
    event, exception, shutdown = threading.Event(), Future.exception, ThreadPoolExecutor.shutdown

    def tell_and_wait(future):
        event.set()
        return exception(future)

    def shut_down_and_tell(executor, **options):
        shutdown(executor, wait=False, **options)
        event.set()
        shutdown(executor)

    monkeypatch.setattr(Future, "exception", tell_and_wait)
    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", shut_down_and_tell)
    return event


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max 100000\n", 64),
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("10000 100000\n", 1),
        ("9900000 100000\n", 64),
        ("", 64),
        ("1 0", 64),
        (None, 64),
    ],
)
def test_as_many_threads_as_cores_and_container_allow(tmp_path, monkeypatch, text, expected):
    if text is not None:
        (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(_threads, "_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    _threads._limit_of_container.cache_clear()
    try:
        assert [_threads.n_threads(asked) for asked in (None, -1, 3, 99)] == [expected, expected, 3, 99]
    finally:
        _threads._limit_of_container.cache_clear()


@pytest.mark.parametrize("way", ["map", "imap"])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 3, 40])
def test_results_are_in_the_order_of_the_tasks(n_jobs, n_tasks, way):
    second_is_done = threading.Event()

    def first_is_last(i):
        if i == 0 and n_jobs > 1 and n_tasks > 1:
            assert second_is_done.wait(120)
        if i == 1:
            second_is_done.set()
        return i * i

    with Threads(n_jobs) as threads:
        found = list(getattr(threads, way)(first_is_last, [(i,) for i in range(n_tasks)]))
    assert found == [i * i for i in range(n_tasks)]
    assert not threads_left()


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_as_many_threads_work_at_once_as_asked_for(n_jobs):
    all_there, lock, now, most = threading.Barrier(n_jobs, timeout=120), threading.Lock(), [0], [0]

    def work():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        all_there.wait()
        with lock:
            now[0] -= 1

    with one_pool(n_jobs), Threads(n_jobs) as threads:
        threads.map(work, [()] * 20)
        threads.map(work, [()] * 20)
        list(threads.imap(work, [()] * 20))
    assert most == [n_jobs]
    assert not threads_left()


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_an_error_of_any_thread_is_raised_and_ends_the_others(where, stopped, monkeypatch):
    caller, both_there, done = threading.get_ident(), threading.Barrier(2, timeout=120), []
    has_failed, set_exception = threading.Event(), Future.set_exception
    monkeypatch.setattr(Future, "set_exception", lambda *given: (set_exception(*given), has_failed.set()))

    def work(i):
        both_there.wait()
        if (threading.get_ident() == caller) == (where == "here"):
            raise ValueError(where)
        # The error ends the call, or the other thread, while this one is at its first task.
        assert (stopped if where == "here" else has_failed).wait(120)
        done.append(i)

    with pytest.raises(ValueError, match=where), Threads(2) as threads:
        threads.map(work, MANY)
    assert len(done) == 1
    assert not threads_left()


def test_computations_of_one_pool_share_its_threads():
    def helpers(n_jobs=2):
        # Each of them, and this one, must have come before any goes on.
        all_there = threading.Barrier(n_jobs, timeout=120)

        def who(_):
            all_there.wait()
            return threading.current_thread()

        with Threads(n_jobs) as threads:
            return set(threads.map(who, [(i,) for i in range(n_jobs)])) - {threading.current_thread()}

    with one_pool(2):
        # The second of its threads begins if the first is not yet seen as idle.
        own = helpers() | helpers()
        assert own <= set(threads_left())
        assert len(threads_left()) <= 2
        # A computation of another size has threads of its own, and so has another thread that computes.
        assert not helpers(3) & own
        found = []
        other = threading.Thread(target=lambda: found.extend(helpers()))
        other.start()
        other.join()
        assert found
        assert not set(found) & own
    assert not threads_left()


def test_results_come_as_soon_as_those_before_them_are_there():
    go_on = threading.Event()

    def work(i):
        if i == 3:
            assert go_on.wait(120)
        return i

    with Threads(2) as threads:
        found = threads.imap(work, [(i,) for i in range(9)])
        assert [next(found) for _ in range(3)] == [0, 1, 2]
        go_on.set()
        assert list(found) == [3, 4, 5, 6, 7, 8]


@pytest.fixture
def held(stopped):
    """A pool of two, and work that is done for the first five tasks; later ones end when their call does."""
    threads, done = Threads(2), []

    def work(i, error_at=None):
        if i == error_at:
            raise ValueError(i)
        if i > 4:
            assert stopped.wait(120)
        done.append(i)
        return i

    return threads, work, done


def test_an_error_ends_results_that_come_one_by_one(held):
    threads, work, done = held
    with pytest.raises(ValueError, match="4"), threads:
        list(threads.imap(work, [(i, 4) for i in range(100_000)]))
    # At most one of the other thread, which had begun it.
    assert set(done) in ({0, 1, 2, 3}, {0, 1, 2, 3, 5})
    assert not threads_left()


def test_work_ends_with_its_block_though_somebody_keeps_its_results(held):
    """As a shell does that keeps the last error, and with it the frames that wait for results."""
    threads, work, done = held
    with threads:
        found = threads.imap(work, MANY)
        assert next(found) == 0
    assert not threads_left()
    assert set(done) <= set(range(7))
    with pytest.raises(StopIteration):
        found.close() or next(found)


def test_unwanted_results_are_not_made(held):
    threads, work, done = held
    with threads:
        for i in threads.imap(work, MANY):
            if i == 3:
                break
        assert set(range(4)) <= set(done) <= set(range(7))


def test_a_call_between_the_results_of_another_needs_no_thread():
    go_on = threading.Event()

    def work(i):
        assert i < 2 or go_on.wait(120)
        return i

    with Threads(2) as threads:
        found = threads.imap(work, [(i,) for i in range(20)])
        assert next(found) == 0
        assert threads.map(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]
        go_on.set()
        assert list(found) == list(range(1, 20))


@pytest.mark.parametrize("n_started", [0, 1])
def test_if_the_system_has_no_more_threads_those_that_there_are_do_the_work(monkeypatch, n_started):
    start, started = threading.Thread.start, []

    def refuse(thread):
        if len(started) == n_started:
            msg = "can't start new thread"
            raise RuntimeError(msg)
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with Threads(3) as threads:
        assert threads.map(abs, [(-i,) for i in range(40)]) == list(range(40))
        assert list(threads.imap(abs, [(-i,) for i in range(40)])) == list(range(40))
        worked = []
        assert [threads.submit(worked.append, i).result() for i in range(9)] == [None] * 9
        assert sorted(worked) == list(range(9))
    assert len(started) == n_started
    assert not threads_left()


KEPT = """
import builtins, threading
from polyroc._lib.threads import Threads

builtins.kept = Threads(3)
kept.map(threading.Barrier(3, timeout=120).wait, [()] * 3)
print(threading.active_count())
"""
# `main_thread().join()` returns as soon as the interpreter begins to shut down. SciPy is imported before: since 1.18 it
# imports executors itself, which Python refuses by then.
OUTLIVES = """
import threading
import scipy.special
go_on = threading.Event()

def compute():
    if {is_late}:
        go_on.set()
        threading.main_thread().join()
    from polyroc._lib.threads import Threads
    with Threads(3) as threads:
        if not {is_late}:
            threads.map(threading.Barrier(3, timeout=120).wait, [()] * 3)
            go_on.set()
            threading.main_thread().join()
        print(threads.map(abs, [(-i,) for i in range(5)]), list(threads.imap(abs, [(-i,) for i in range(5)])))

threading.Thread(target=compute).start()
go_on.wait()
"""


def output_of(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stderr == ""
    return done.stdout


def test_a_process_ends_though_somebody_keeps_a_pool():
    """As a shell that keeps an error, and with it all that the frames of its traceback have."""
    assert output_of(KEPT) == "3\n"


@pytest.mark.parametrize("is_late", [False, True])
def test_a_thread_that_outlives_the_main_one_works_alone(is_late):
    """The interpreter then starts no other threads; modules may not even have been imported before."""
    assert output_of(OUTLIVES.format(is_late=is_late)) == "[0, 1, 2, 3, 4] [0, 1, 2, 3, 4]\n"


def test_a_thread_works_alone_while_another_fails_to_import_executors(monkeypatch):
    """As two threads do that outlive the main one: then the import fails, and one of them sees its module half done."""
    monkeypatch.delattr(concurrent.futures, "ThreadPoolExecutor", raising=False)
    monkeypatch.setitem(sys.modules, "concurrent.futures.thread", ModuleType("concurrent.futures.thread"))
    with Threads(3) as threads:
        assert threads.map(abs, [(-1,), (-2,)]) == [1, 2]
        assert list(threads.imap(abs, [(-1,), (-2,)])) == [1, 2]
        assert threads.submit(abs, -3).done()


@pytest.mark.parametrize("way", ["map", "imap"])
def test_an_interrupt_at_any_line_leaves_no_thread(way):
    """At each line of ours in turn. `Thread.start` and locks of `concurrent.futures` have moments of their own."""

    def compute():
        with one_pool(2), Threads(2) as threads:
            assert list(getattr(threads, way)(abs, [(-i,) for i in range(4)])) == [0, 1, 2, 3]

    n = 1
    while interrupted_at_line(n, [_threads.__file__], compute):
        # An interrupt before the pool is told to end loses it: its threads go by themselves.
        for thread in threads_left():
            thread.join(120)
        assert not threads_left(), f"line event {n}"
        # Nor a pool that is over, with which nobody would end the threads of the next computation.
        with Threads(2) as threads:
            threads.map(abs, [(-1,), (-2,)])
        assert not threads_left(), f"line event {n}"
        n += 1
    assert n > 50


# Below, queues instead of events: an event has a lock in Python, at which the interrupt could come.
def test_ctrl_c_at_work(stopped):
    caller, is_at_work, begun = threading.get_ident(), SimpleQueue(), []

    def work(i):
        begun.append(i)
        if threading.get_ident() == caller:
            is_at_work.put(None)
            SimpleQueue().get(timeout=120)
        is_at_work.get(timeout=120)
        assert interrupt()
        assert stopped.wait(120)

    with ctrl_c() as interrupt, pytest.raises(KeyboardInterrupt), Threads(2) as threads:
        threads.map(work, MANY)
    assert sorted(begun) == [0, 1]
    assert not threads_left()


def test_ctrl_c_while_results_are_waited_for(stopped):
    is_waiting, begun = SimpleQueue(), []

    def work(i):
        begun.append(i)
        if i == 1:
            is_waiting.get(timeout=120)
            assert interrupt()
        assert i == 0 or stopped.wait(120)
        return i

    def compute():
        with Threads(2) as threads:
            for _ in threads.imap(work, MANY):
                is_waiting.put(None)

    with ctrl_c() as interrupt, pytest.raises(KeyboardInterrupt):
        compute()
    assert set(begun) <= {0, 1, 2}
    assert not threads_left()


def test_ctrl_c_while_a_helper_is_waited_for(stopped):
    """The wait is then repeated, so no thread is left."""
    caller, both_there = threading.get_ident(), threading.Barrier(2, timeout=120)

    def work(_):
        both_there.wait()
        if threading.get_ident() != caller:
            assert stopped.wait(120)
            assert interrupt()

    with ctrl_c() as interrupt, pytest.raises(KeyboardInterrupt), Threads(2) as threads:
        threads.map(work, [(0,), (1,)])
    assert not threads_left()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not tell its threads")
def test_a_pool_that_was_left_is_not_there_for_a_fork():
    """Of other threads a child has nothing but the locks that they held."""

    all_there = threading.Barrier(4, timeout=120)
    with one_pool(4), Threads(4) as threads:
        threads.map(all_there.wait, [()] * 4)
        own = {str(thread.native_id) for thread in threads_left()}
    assert len(own) >= 3
    # The system takes a moment to forget a thread that has ended.
    assert until(lambda: not own & {path.name for path in Path("/proc/self/task").iterdir()})
