"""Parts of the input in threads, a few ahead, and finished in their order; with rests in which nothing is under way."""

from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

from polyroc._lib._threads import Pool, taken_back

ResultT = TypeVar("ResultT")
PartT = TypeVar("PartT")


class _Task(Generic[PartT, ResultT]):
    """A part that is handed out, and what became of it."""

    def __init__(self, part: PartT) -> None:
        self.part = part
        self.result: ResultT | None = None
        self.error: BaseException | None = None
        self.is_done = False

    def run(self, work: Callable[[PartT], ResultT]) -> None:
        try:
            self.result = work(self.part)
        except BaseException as error:  # raised in the thread that waits for it
            self.error = error
        self.is_done = True


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
    finished, and there is a rest. An error of `work` ends everything, without a rest, and so does whatever ends
    `finish` or a rest in the middle: what is half done cannot be stored.
    """
    todo, running, is_sound = deque(parts), deque[_Task[PartT, ResultT]](), True
    # An interrupt may lose what is taken from a queue. So results stand in the tasks, and the queue only says that one
    # of them has come.
    waiting, come = deque[_Task[PartT, ResultT]](), SimpleQueue[None]()

    def call() -> None:
        try:
            task = waiting.popleft()
        except IndexError:  # taken back
            return
        task.run(work)
        come.put(None)

    pool = Pool(n_workers)
    try:
        while todo or running:
            waits = is_due()
            if waits and not running:
                is_sound = False
                rest()
                is_sound, waits = True, False
            while todo and len(running) < n_workers + 1 and not waits:
                task: _Task[PartT, ResultT] = _Task(todo.popleft())
                # First there: what is under way must have been handed out.
                waiting.append(task)
                running.append(task)
                pool.start(call)
            while not running[0].is_done:
                come.get()
            is_sound = False
            done = running.popleft()
            finish(done.part, _result_of(done))
            is_sound = True
            tell(done.part)
    except BaseException:
        # Taken back, so that no thread begins them; what threads have in hand comes to its end.
        back = taken_back(waiting)
        pool.end(wait=False)
        ended = [task for task in running if task not in back]
        while not all(task.is_done for task in ended):
            come.get()
        if is_sound and all(task.error is None for task in ended):
            for task in ended:
                finish(task.part, _result_of(task))
            rest()
        raise
    pool.end(wait=True)


def _result_of(task: _Task[PartT, ResultT]) -> ResultT:
    if task.error is not None:
        raise task.error
    return task.result  # type: ignore[return-value]  # None only where `work` returned it
