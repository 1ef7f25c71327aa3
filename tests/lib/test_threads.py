import _thread
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from polyroc._lib import _threads
from polyroc._lib._threads import Threads, one_pool


def alive():
    return [thread for thread in threading.enumerate() if thread.name.startswith("polyroc")]


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


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 3, 40])
def test_results_are_in_the_order_of_the_tasks(n_jobs, n_tasks):
    def slower_at_first(i):
        time.sleep(0.001 * (i == 0))
        return i * i

    with Threads(n_jobs) as threads:
        assert threads.map(slower_at_first, [(i,) for i in range(n_tasks)]) == [i * i for i in range(n_tasks)]
    assert not alive()


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_no_more_threads_work_at_once_than_asked_for(n_jobs):
    lock, now, most = threading.Lock(), [0], [0]

    def work():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.002)
        with lock:
            now[0] -= 1

    with one_pool(n_jobs), Threads(n_jobs) as threads:
        threads.map(work, [()] * 20)
        threads.map(work, [()] * 20)
        list(threads.imap(work, [()] * 20))
    assert 1 <= most[0] <= n_jobs


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_an_error_of_any_thread_is_raised_and_ends_the_others(where):
    asked, failed, done = threading.get_ident(), threading.Event(), []

    def work(i):
        if (threading.get_ident() == asked) == (where == "here"):
            failed.set()
            raise ValueError(where)
        # The other thread has begun a task by then, and fails.
        failed.wait(60)
        done.append(i)

    with pytest.raises(ValueError, match=where), Threads(2) as threads:
        threads.map(work, [(i,) for i in range(100_000)])
    assert len(done) < 50_000


def test_what_is_computed_together_shares_its_threads():
    def helpers(n_jobs=2):
        # Each of them, and this one, must have come before any goes on.
        all_there = threading.Barrier(n_jobs, timeout=60)

        def who(_):
            all_there.wait()
            return threading.get_ident()

        with Threads(n_jobs) as threads:
            return set(threads.map(who, [(i,) for i in range(n_jobs)])) - {threading.get_ident()}

    with one_pool(2):
        # A thread that has just ended its task may not yet be seen as idle: then the pool's other one begins.
        found = helpers() | helpers() | helpers()
        first = {thread.ident for thread in alive()}
        assert found <= first
        assert len(first) <= 2
        # One of another size has threads of its own, and so has somebody else who computes at the same time.
        assert not helpers(3) & first
        found = []
        other = threading.Thread(target=lambda: found.extend(helpers()))
        other.start()
        other.join()
        assert found
        assert not set(found) & first
    assert not alive()


def test_what_has_not_begun_when_the_block_ends_never_does():
    begun, both_there, go_on = [], threading.Barrier(3, timeout=60), threading.Event()

    def work(i):
        begun.append(i)
        both_there.wait()
        go_on.wait()

    with Threads(2) as threads:
        with threads.beside(work, [(i,) for i in range(9)]):
            both_there.wait()
            # They go on when the block has ended: what is left is taken back before they are waited for.
            threading.Timer(0.05, go_on.set).start()
        assert len(begun) == 2


def test_results_come_as_soon_as_those_before_them_are_there():
    go_on = threading.Event()

    def work(i):
        if i == 3:
            go_on.wait()
        return i

    with Threads(2) as threads:
        found = threads.imap(work, [(i,) for i in range(9)])
        assert [next(found) for _ in range(3)] == [0, 1, 2]
        go_on.set()
        assert list(found) == [3, 4, 5, 6, 7, 8]


def test_an_error_ends_results_that_come_one_by_one():
    done = []

    def work(i):
        time.sleep(0.001)
        if i == 5:
            raise ValueError(i)
        done.append(i)

    with pytest.raises(ValueError, match="5"), Threads(2) as threads:
        list(threads.imap(work, [(i,) for i in range(100_000)]))
    assert len(done) < 50_000


def test_work_ends_with_its_block_though_somebody_holds_on_to_its_results():
    """As a shell does that keeps the last error, and with it the frames that wait for results."""
    done = []

    def work(i):
        time.sleep(0.001)
        done.append(i)

    with Threads(2) as threads:
        found = threads.imap(work, [(i,) for i in range(100_000)])
        next(found)
    n_done = len(done)
    time.sleep(0.02)
    assert len(done) == n_done < 50_000


def test_results_of_one_call_may_wait_for_those_of_another():
    done = []

    def work(i):
        time.sleep(0.001)
        done.append(i)
        return i

    with Threads(2) as threads:
        found = threads.imap(work, [(i,) for i in range(100_000)])
        next(found)
        assert threads.map(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]
    assert len(done) < 50_000


def test_results_that_nobody_wants_are_not_made():
    begun = []

    def work(i):
        begun.append(i)
        time.sleep(0.001)
        return i

    with Threads(2) as threads:
        for found in threads.imap(work, [(i,) for i in range(100_000)]):
            if found == 3:
                break
        n_begun = len(begun)
        time.sleep(0.05)
        # Each of both threads may have had one in hand.
        assert len(begun) <= n_begun + 2
        assert n_begun < 50_000


def test_where_the_system_has_no_more_threads_those_that_it_had_do_the_work(monkeypatch):
    def refuse(_thread):
        msg = "can't start new thread"
        raise RuntimeError(msg)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with Threads(3) as threads:
        assert threads.map(abs, [(-i,) for i in range(40)]) == list(range(40))
        assert list(threads.imap(abs, [(-i,) for i in range(40)])) == list(range(40))


def test_a_thread_that_cannot_be_had_is_an_error(monkeypatch):
    def refuse(*_):
        msg = "can't start new thread"
        raise RuntimeError(msg)

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"), Threads(3) as threads:
        threads.map(abs, [(-i,) for i in range(40)])


def test_threads_end_with_their_pool_where_an_interrupt_came_before_its_end():
    threads, all_there = Threads(3), threading.Barrier(3, timeout=60)
    threads.map(all_there.wait, [()] * 3)
    left = alive()
    assert len(left) == 2
    del threads
    for thread in left:
        thread.join(timeout=60)
        assert not thread.is_alive()


KEPT = """
import builtins, threading
from polyroc._lib._threads import Threads

builtins.kept = Threads(3)
kept.map(threading.Barrier(3, timeout=60).wait, [()] * 3)
print(threading.active_count())
"""


def test_a_process_ends_though_somebody_holds_on_to_a_pool():
    """As a shell that keeps an error, and with it all that the frames of its traceback have."""
    ended = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "3\n"


INTERRUPTED = """
import random, signal, time
from polyroc._lib._threads import Threads

signal.signal(signal.SIGALRM, signal.default_int_handler)
rng, n_interrupts = random.Random(0), 0
for _ in range(60):
    try:
        with Threads(2) as threads:
            list(threads.imap(time.sleep, [(0.001,)] * 4))  # both threads are there
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-3, 2e-2))
            stop = time.monotonic() + 0.5
            while time.monotonic() < stop:
                list(threads.{way}(abs, [(i,) for i in range(5_000)]))
    except KeyboardInterrupt:
        n_interrupts += 1
print(n_interrupts)
"""
# The same while threads begin and end.
BEGUN = """
import random, signal, time
from polyroc._lib._threads import Threads

signal.signal(signal.SIGALRM, signal.default_int_handler)
rng, n_interrupts = random.Random(0), 0
for _ in range(600):
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-4, 4e-3))
        stop = time.monotonic() + 0.5
        while time.monotonic() < stop:
            with Threads(4) as threads:
                list(threads.{way}(abs, [(i,) for i in range(8)]))
    except KeyboardInterrupt:
        n_interrupts += 1
print(n_interrupts)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
@pytest.mark.parametrize("code", [INTERRUPTED, BEGUN], ids=["at work", "beginning"])
@pytest.mark.parametrize("way", ["map", "imap"])
def test_a_process_ends_after_ctrl_c(way, code):
    """With a future for each task, one of ten interrupts left a lock behind for which all threads waited for ever.

    `Thread.start` in the main thread leaves one behind, too, once in some hundred; or raises "release unlocked lock".
    """
    call = [sys.executable, "-c", code.format(way=way)]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    # An interrupt that comes to a finalizer is printed and lost, whoever's it is. No other error may be.
    assert set(re.findall(r"^(\w+)(?:: .*)?$", ended.stderr, re.MULTILINE)) <= {"KeyboardInterrupt"}
    assert int(ended.stdout) > 30


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not tell its threads")
def test_a_pool_that_was_left_is_not_there_for_a_fork():
    """Of other threads a child has nothing but the locks that they held."""

    def n_threads():
        return len(list(Path("/proc/self/task").iterdir()))

    before, all_there = n_threads(), threading.Barrier(4, timeout=60)
    with one_pool(4), Threads(4) as threads:
        threads.map(all_there.wait, [()] * 4)
        assert n_threads() >= before + 3
    # The system takes a moment to forget a thread that has ended.
    until = time.monotonic() + 10
    while n_threads() > before:
        assert time.monotonic() < until
        time.sleep(0.001)
