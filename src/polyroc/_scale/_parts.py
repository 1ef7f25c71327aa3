"""Parts of the input in threads, a few ahead, and finished in their order; with rests in which nothing is under way."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

ResultT = TypeVar("ResultT")
PartT = TypeVar("PartT")


def each_part(
    parts: Sequence[PartT],
    work: Callable[[PartT], ResultT],
    finish: Callable[[PartT, ResultT], None],
    *,
    n_workers: int,
    tell: Callable[[PartT], object] = lambda _part: None,
    is_due: Callable[[], bool] = lambda: False,
    rest: Callable[[], None] = lambda: None,
) -> None:
    """Call `work` for every part in threads; in this one, `finish` with its result, and then `tell` who watches.

    Where a rest is due, parts under way come to their end first. After an interrupt as well: then what they did is
    finished, and there is a rest. An error of `work` ends everything, without a rest.
    """
    todo, running, failed = deque(parts), deque[tuple[PartT, Future[ResultT]]](), False
    pool = ThreadPoolExecutor(n_workers, thread_name_prefix="polyroc")
    try:
        while todo or running:
            waits = is_due()
            if waits and not running:
                rest()
                waits = False
            while todo and len(running) < n_workers + 1 and not waits:
                part = todo.popleft()
                running.append((part, pool.submit(work, part)))
            # Waits, and lets an interrupt through before the part is taken away.
            failed = running[0][1].exception() is not None
            part, done = running.popleft()
            finish(part, done.result())
            tell(part)
    except BaseException:
        pool.shutdown(wait=True, cancel_futures=True)
        ended = [(part, future) for part, future in running if not future.cancelled()]
        # What failed may be half done, and so cannot be stored.
        if not failed and not any(future.exception() for _, future in ended):
            for part, future in ended:
                finish(part, future.result())
            rest()
        raise
    pool.shutdown()
