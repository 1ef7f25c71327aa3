"""Ctrl-C and threads in tests without a clock: interrupts by line or by handshake, and waits that load cannot fail."""

import linecache
import signal
import sys
import threading
import time
from contextlib import contextmanager


def until(happens):
    """Wait for it: whether it happened within two minutes, which only a hang takes."""
    end = time.monotonic() + 120
    while not happens():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def threads_left():
    """Threads of polyroc in this process."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("polyroc")]


def interrupted_at_line(n, files, call):
    """Call it, with a KeyboardInterrupt before the n-th line that this thread runs in these files; whether it came.

    Not at `with`: Python traces that line once more when its block ends, just before it gives back a lock, but there it
    never looks for signals.
    """
    names, n_left = set(map(str, files)), n

    def count(frame, event, _arg):
        nonlocal n_left
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        n_left -= event == "line" and not line.lstrip().startswith("with ")
        if n_left == 0:
            raise KeyboardInterrupt  # which also ends the tracing
        return count

    before = sys.gettrace()
    sys.settrace(lambda frame, _event, _arg: count if frame.f_code.co_filename in names else None)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@contextmanager
def ctrl_c():
    """A function for other threads: it sends Ctrl-C, and returns when the main thread has received it, once."""
    received = []

    def receive(*_):
        if not received:
            received.append(None)
            raise KeyboardInterrupt

    def is_received():
        # Again and again: one that comes just before the main thread begins to wait does not wake it.
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return bool(received)

    before = signal.signal(signal.SIGINT, receive)
    try:
        yield lambda: until(is_received)
    finally:
        signal.signal(signal.SIGINT, before)
