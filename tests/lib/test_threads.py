import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from polyroc._lib._threads import Threads, one_pool


def alive():
    return [thread for thread in threading.enumerate() if thread.name.startswith("polyroc")]


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
    asked, done = threading.get_ident(), []

    def work(i):
        time.sleep(0.001)
        if (threading.get_ident() == asked) == (where == "here"):
            raise ValueError(where)
        done.append(i)

    with pytest.raises(ValueError, match=where), Threads(2) as threads:
        threads.map(work, [(i,) for i in range(1000)])
    assert len(done) < 500


def test_what_is_computed_together_shares_its_threads():
    def who(_):
        time.sleep(0.002)
        return threading.get_ident()

    def helpers(n_jobs=2):
        with Threads(n_jobs) as threads:
            return set(threads.map(who, [(i,) for i in range(20)])) - {threading.get_ident()}

    with one_pool(2):
        first = helpers()
        assert helpers() == first == {thread.ident for thread in alive()}
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
    begun, go_on = [], threading.Event()

    def work(i):
        begun.append(i)
        go_on.wait()

    with Threads(2) as threads:
        with threads.beside(work, [(i,) for i in range(9)]):
            time.sleep(0.02)
            go_on.set()
        n_begun = len(begun)
        time.sleep(0.02)
        assert len(begun) == n_begun


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
        list(threads.imap(work, [(i,) for i in range(1000)]))
    assert len(done) < 500


def test_work_ends_with_its_block_though_somebody_holds_on_to_its_results():
    """As a shell does that keeps the last error, and with it the frames that wait for results."""
    done = []

    def work(i):
        time.sleep(0.001)
        done.append(i)

    with Threads(2) as threads:
        found = threads.imap(work, [(i,) for i in range(1000)])
        next(found)
    n_done = len(done)
    time.sleep(0.02)
    assert len(done) == n_done < 500


def test_results_of_one_call_may_wait_for_those_of_another():
    done = []

    def work(i):
        time.sleep(0.001)
        done.append(i)
        return i

    with Threads(2) as threads:
        found = threads.imap(work, [(i,) for i in range(1000)])
        next(found)
        assert threads.map(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]
    assert len(done) < 500


def test_threads_end_with_their_pool_where_an_interrupt_came_before_its_end():
    threads = Threads(3)
    threads.map(time.sleep, [(0.001,)] * 6)
    left = alive()
    assert left
    del threads
    for thread in left:
        thread.join(timeout=60)
        assert not thread.is_alive()


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


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
@pytest.mark.parametrize("way", ["map", "imap"])
def test_a_process_ends_after_ctrl_c(way):
    """With a future for each task, one of ten interrupts left a lock behind for which all threads waited for ever."""
    code = INTERRUPTED.format(way=way)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert int(ended.stdout) > 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("error")
def test_a_pool_that_was_left_is_not_there_for_a_fork():
    """Python warns of a fork beside other threads."""
    with one_pool(4), Threads(4) as threads:
        threads.map(time.sleep, [(0.001,)] * 8)
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
