"""Parts in threads, a few ahead, finished in their order; with pauses in which nothing is under way."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Generic, TypeVar

from polyroc._lib._threads import Threads

ResultT = TypeVar("ResultT")
PartT = TypeVar("PartT")


class _Task(Generic[PartT, ResultT]):
    """A part that is handed out, with its result or error once it is done."""

    def __init__(self, part: PartT) -> None:
        self.part = part
        self.error: BaseException | None = None
        self.is_done = False
        self._result: ResultT | None = None

    def run(self, work: Callable[[PartT], ResultT]) -> None:
        try:
            self._result = work(self.part)
        except BaseException as error:  # raised in the thread that waits for it
            self.error = error
        self.is_done = True

    @property
    def result(self) -> ResultT:
        if self.error is not None:
            raise self.error
        return self._result  # type: ignore[return-value]  # None only if `work` returned it


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
    """Call `work` for every part in threads; in this one, `finish` with its result, and then `tell` with the part.

    When a rest is due, parts under way end first. The same after an interrupt: parts under way end and are finished,
    and there is a rest. An error of `work` ends everything without a rest. So does an interrupt of `finish` or of a
    rest: what is half done cannot be stored. If no thread can be started, this one does all the work.
    """
    todo, running, is_sound = deque(parts), deque[_Task[PartT, ResultT]](), True
    # An interrupt may lose what is taken from a queue. So results stand in the tasks, and the queue only says that one
    # of them has ended.
    waiting, come = deque[_Task[PartT, ResultT]](), SimpleQueue[None]()

    def call() -> None:
        try:
            task = waiting.popleft()
        except IndexError:  # taken back
            return
        task.run(work)
        come.put(None)

    with Threads(n_workers) as threads:
        try:
            while todo or running:
                is_waited_for = is_due()
                if is_waited_for and not running:
                    is_sound = False
                    rest()
                    is_sound, is_waited_for = True, False
                while todo and len(running) < n_workers + 1 and not is_waited_for:
                    task: _Task[PartT, ResultT] = _Task(todo.popleft())
                    # In this order: an interrupt in between must not leave a part that is running and never begins.
                    waiting.append(task)
                    running.append(task)
                    if not threads.start(call):
                        call()
                while not running[0].is_done:
                    come.get()
                is_sound = False
                task = running.popleft()
                finish(task.part, task.result)
                is_sound = True
                tell(task.part)
        except BaseException:
            not_begun = _taken_back(waiting)
            begun = [task for task in running if task not in not_begun]
            while not all(task.is_done for task in begun):
                come.get()
            if is_sound and all(task.error is None for task in begun):
                for task in begun:
                    finish(task.part, task.result)
                rest()
            raise


def _taken_back(waiting: "deque[_Task[PartT, ResultT]]") -> "list[_Task[PartT, ResultT]]":
    """Everything that no thread has begun; threads may take from it at the same time."""
    tasks = []
    while waiting:
        with suppress(IndexError):  # a thread was quicker
            tasks.append(waiting.pop())
    return tasks
