"""Parts in threads: what becomes of them, in which order, and what an interrupt leaves behind."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from polyroc._scale._parts import each_part


class Log:
    """What was finished, and what had been when there was a rest."""

    def __init__(self):
        self.finished, self.told, self.rests = [], [], []

    def finish(self, part, result):
        self.finished.append((part, result))

    def rest(self):
        self.rests.append([part for part, _ in self.finished])


@pytest.mark.parametrize("n_workers", [1, 2, 5])
@pytest.mark.parametrize("n_parts", [0, 1, 3, 40])
def test_parts_are_finished_in_their_order_by_the_thread_that_asked(n_workers, n_parts):
    log, here = Log(), threading.get_ident()

    def work(part):
        assert threading.get_ident() != here
        time.sleep(0.002 * (part % 3 == 0))
        return part * part

    def finish(part, result):
        assert threading.get_ident() == here
        log.finish(part, result)

    each_part(range(n_parts), work, finish, n_workers=n_workers, tell=log.told.append, rest=log.rest)
    assert log.finished == [(part, part * part) for part in range(n_parts)]
    assert log.told == list(range(n_parts))
    assert not log.rests
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("polyroc")]


def test_only_a_few_parts_are_ahead():
    begun, n_finished = [], []

    def finish(_part, _result):
        n_finished.append(None)
        # Parts that are begun at any time: those that are finished, this one, and as many as are handed out.
        assert len(begun) <= len(n_finished) + 3

    each_part(range(30), begun.append, finish, n_workers=3)
    assert sorted(begun) == list(range(30))


def test_nothing_is_under_way_while_there_is_a_rest():
    log, now, is_due, lock = Log(), [0], [False], threading.Lock()

    def work(_part):
        with lock:
            now[0] += 1
        time.sleep(0.001)
        with lock:
            now[0] -= 1

    def finish(part, result):
        log.finish(part, result)
        is_due[0] |= part in (6, 13)

    def rest():
        assert now == [0]
        log.rest()
        is_due[0] = False

    each_part(range(20), work, finish, n_workers=3, is_due=lambda: is_due[0], rest=rest)
    assert len(log.finished) == 20
    # With those that were handed out before: three in threads, and one to come.
    assert [6 < len(rested) <= 10 + 7 * turn for turn, rested in enumerate(log.rests)] == [True, True]


def test_an_error_of_work_ends_everything_without_a_rest():
    log = Log()

    def work(part):
        if part == 5:
            raise ValueError(part)
        return part

    with pytest.raises(ValueError, match="5"):
        each_part(range(1000), work, log.finish, n_workers=3, rest=log.rest)
    assert log.finished == [(part, part) for part in range(5)]
    assert not log.rests


def test_what_is_under_way_at_an_interrupt_is_finished_and_stored():
    log = Log()

    def interrupted(part):
        if part == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each_part(range(1000), abs, log.finish, n_workers=2, tell=interrupted, rest=log.rest)
    done = [part for part, _ in log.finished]
    # Two may have been in the hands of threads, and one before a thread.
    assert list(range(5)) == done[:5]
    assert set(done) <= set(range(8))
    assert len(done) == len(set(done))
    assert log.rests == [done]


def test_an_interrupt_while_a_part_is_finished_stores_nothing():
    """What `finish` adds up may be half of a part; to add the part once more would count that half twice."""
    log = Log()

    def finish(part, result):
        if part == 4:
            raise KeyboardInterrupt
        log.finish(part, result)

    with pytest.raises(KeyboardInterrupt):
        each_part(range(1000), abs, finish, n_workers=2, rest=log.rest)
    assert log.finished == [(part, part) for part in range(4)]
    assert not log.rests


def test_an_interrupt_during_a_rest_does_not_store_once_more():
    """A rest adds up what threads have counted; what it had in hand at the interrupt is lost."""
    log = Log()

    def rest():
        log.rest()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each_part(range(9), abs, log.finish, n_workers=2, is_due=lambda: len(log.finished) > 3, rest=rest)
    assert len(log.rests) == 1


INTERRUPTED = """
import random, signal, time
from polyroc._scale._parts import each_part

signal.signal(signal.SIGALRM, signal.default_int_handler)
rng, n_interrupts = random.Random(0), 0
for _ in range(60):
    finished, rests = [], []
    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-3, 2e-2))
    def finish(part, _result):
        finished.append(part)
    def rest():
        rests.append(len(finished))
    try:
        while True:
            each_part(range(2_000), abs, finish, n_workers=2, rest=rest)
            finished.clear()
    except KeyboardInterrupt:
        n_interrupts += 1
    assert len(finished) == len(set(finished))
    assert rests in ([], [len(finished)])  # none while a part was finished
print(n_interrupts)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_a_process_ends_after_ctrl_c():
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, check=True)
    assert int(ended.stdout) == 60
