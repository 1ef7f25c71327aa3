"""How many resamples there is time for: a few are drawn and timed."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from polyroc import Evaluation
from polyroc._bootstrap import draw_samples
from polyroc._resampling import Plan, units_of
from polyroc.engines._threads import n_threads

DEFAULT = 999
_FEWER = (499, 199, 99)
# What people wait for without asking why, in seconds; and from when on a bar is shown.
_PATIENCE = 5.0
_LONG = 1.0


@dataclass(frozen=True)
class Resamples:
    """A number of resamples, and what is known about how long they take."""

    count: int
    seconds: float = 0.0
    """As predicted; 0 where nobody asked."""
    note: str = ""

    @property
    def is_long(self) -> bool:
        return self.seconds > _LONG


def plan_resamples(
    evaluation: Evaluation,
    wanted: int | None,
    *,
    groups: Any,
    n_jobs: int | None,
    n_models: int = 1,
    timed: bool = True,
) -> Resamples:
    """The number that was asked for, or the largest of a few that is done in time; `timed` tells how long, too."""
    if wanted is not None and (wanted == 0 or not timed):
        return Resamples(wanted)
    each = n_models * seconds_of_one(evaluation, groups, n_jobs)
    if wanted is not None:
        return Resamples(wanted, wanted * each)
    return affordable(each)


def affordable(seconds_of_each: float) -> Resamples:
    """The largest number that is predicted to be done in time.

    >>> affordable(0.001).count, affordable(0.008).count, affordable(1.0).count
    (999, 499, 99)
    """
    counts = (DEFAULT, *_FEWER)
    count = next((one for one in counts if one * seconds_of_each < _PATIENCE), counts[-1])
    seconds = count * seconds_of_each
    if count == DEFAULT:
        return Resamples(count, seconds)
    note = (
        f"{count} resamples, for {DEFAULT} would take about {DEFAULT * seconds_of_each:.0f} s "
        f"(these, {max(seconds, 1):.0f} s); --resamples {DEFAULT} draws them all, --resamples 0 none"
    )
    return Resamples(count, seconds, note)


def seconds_of_one(evaluation: Evaluation, groups: Any, n_jobs: int | None) -> float:
    """How long one resample takes among many: a block for each thread, after a warm-up."""
    predictions = evaluation.predictions
    units, replicates = units_of(predictions, groups), evaluation.replicates()

    def draw(count: int) -> float:
        start = perf_counter()
        draw_samples([replicates], Plan(predictions, units, count, [0]), n_jobs=n_jobs, progress=False)
        return perf_counter() - start

    # Compiled code is loaded by the first.
    draw(1)
    first, last = Plan(predictions, units, DEFAULT, [0]).blocks[0]
    count = (last - first) * n_threads(n_jobs)
    return draw(count) / count
