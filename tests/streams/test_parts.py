"""Parts in threads: what becomes of them, in which order, and what an interrupt leaves behind."""

import threading

import pytest
from interrupts import ctrl_c, interrupted_at_line, threads_left, until

from polyroc.streams import _parquet_run as _parts
from polyroc.streams._parquet_run import each_part

pytestmark = pytest.mark.threads


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
    log, here, second_is_done = Log(), threading.get_ident(), threading.Event()

    def work(part):
        assert threading.get_ident() != here
        if part == 0 and n_workers > 1 and n_parts > 1:
            assert second_is_done.wait(120)
        if part == 1:
            second_is_done.set()
        return part * part

    def finish(part, result):
        assert threading.get_ident() == here
        log.finish(part, result)

    each_part(range(n_parts), work, finish, n_workers=n_workers, tell=log.told.append, rest=log.rest)
    assert log.finished == [(part, part * part) for part in range(n_parts)]
    assert log.told == list(range(n_parts))
    assert not log.rests
    assert not threads_left()


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

    def work(part):
        with lock:
            now[0] += 1
        # Under way until the main thread wants to rest, if it can still be.
        if part == 7:
            assert until(lambda: is_due[0])
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


@pytest.mark.parametrize("n_workers", [1, 3])
def test_an_error_of_work_ends_everything_without_a_rest(n_workers):
    log = Log()

    def work(part):
        if part == 5:
            raise ValueError(part)
        return part

    with pytest.raises(ValueError, match="5"):
        each_part(range(1000), work, log.finish, n_workers=n_workers, rest=log.rest)
    assert log.finished == [(part, part) for part in range(5)]
    assert not log.rests
    assert not threads_left()


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
    assert not threads_left()


def test_ctrl_c_while_a_part_is_waited_for():
    log = Log()

    def work(part):
        if part == 3:
            assert until(lambda: len(log.finished) == 3)
            assert interrupt()
        return part

    with ctrl_c() as interrupt, pytest.raises(KeyboardInterrupt):
        each_part(range(1000), work, log.finish, n_workers=1, rest=log.rest)
    assert log.finished[:4] == [(part, part) for part in range(4)]
    assert log.rests == [[part for part, _ in log.finished]]
    assert not threads_left()


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
    assert not threads_left()


def test_an_interrupt_during_a_rest_does_not_store_once_more():
    """A rest adds up what threads have counted; what it had in hand at the interrupt is lost."""
    log = Log()

    def rest():
        log.rest()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each_part(range(9), abs, log.finish, n_workers=2, is_due=lambda: len(log.finished) > 3, rest=rest)
    assert len(log.rests) == 1
    assert not threads_left()


def test_an_interrupt_at_any_line_stores_what_is_finished_or_nothing():
    """At each line of ours in turn."""
    n, n_rests = 0, 0
    while True:
        log, worked, n = Log(), [], n + 1

        def work(part, worked=worked):
            worked.append(part)
            return part

        def call(log=log, work=work):
            each_part(range(6), work, log.finish, n_workers=2, is_due=lambda: len(log.rests) < 1, rest=log.rest)

        if not interrupted_at_line(n, [_parts.__file__], call):
            break
        for thread in threads_left():
            thread.join(120)
        assert not threads_left()
        finished = [part for part, _ in log.finished]
        assert finished == list(range(len(finished)))
        assert len(worked) == len(set(worked))
        if len(log.rests) > 1:  # whatever was worked on is in what the last one stored
            assert log.rests[-1] == finished == sorted(worked)
            n_rests += 1
    assert n > 100
    assert n_rests > 10


def test_a_part_is_worked_on_once_if_no_thread_can_be_started(monkeypatch):
    def refuse(_thread):
        msg = "can't start new thread"
        raise RuntimeError(msg)

    log, worked = Log(), []
    monkeypatch.setattr(threading.Thread, "start", refuse)
    each_part(range(9), worked.append, log.finish, n_workers=2)
    assert worked == [part for part, _ in log.finished] == list(range(9))
