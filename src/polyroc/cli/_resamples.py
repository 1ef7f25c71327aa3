"""How many resamples, and how long they will take: a few are drawn and timed, which changes no number."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from polyroc import Evaluation
from polyroc._engines._threads import n_threads
from polyroc._lib._numbers import counted
from polyroc._uncertainty._bootstrap import draw_samples
from polyroc._uncertainty._resampling import Plan, units_of

# The same on every machine and under every load, so that the same seed gives the same numbers.
DEFAULT = 999
# From when on a bar is shown, in seconds.
_LONG = 1.0


@dataclass(frozen=True)
class Resamples:
    """A number of resamples, and how long they are expected to take."""

    count: int
    seconds: float = 0.0

    @property
    def is_long(self) -> bool:
        return self.seconds > _LONG

    @property
    def note(self) -> str:
        """What is announced before they are drawn; nothing where none are."""
        if self.count == 0:
            return ""
        return f"{counted(self.count, 'resample')}, {duration(self.seconds)}; --resamples changes the number"


def duration(seconds: float) -> str:
    """A time that is only expected, in words.

    >>> duration(0.2), duration(7.4), duration(170), duration(7300)
    ('less than a second', 'about 7 s', 'about 3 min', 'about 2 h')
    """
    if seconds < 1:
        return "less than a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.0f} h"


def plan_resamples(
    evaluation: Evaluation, count: int, *, groups: Any, n_jobs: int | None, n_models: int = 1, timed: bool = True
) -> Resamples:
    """The number that was asked for; `timed` tells how long it will take."""
    if count == 0 or not timed:
        return Resamples(count)
    return Resamples(count, count * n_models * seconds_of_one(evaluation, groups, n_jobs))


def seconds_of_one(evaluation: Evaluation, groups: Any, n_jobs: int | None) -> float:
    """How long one resample takes among many: a block for each thread, after a warm-up."""
    predictions = evaluation.predictions
    units, replicates = units_of(predictions, groups), evaluation.replicates()

    def draw(count: int) -> float:
        start = perf_counter()
        plan = Plan(predictions, units, count, [0], evaluation.pair_index)
        draw_samples([replicates], plan, n_jobs=n_jobs, progress=False)
        return perf_counter() - start

    # Compiled code is loaded by the first.
    draw(1)
    first, last = Plan(predictions, units, DEFAULT, [0]).blocks[0]
    count = (last - first) * n_threads(n_jobs)
    return draw(count) / count
