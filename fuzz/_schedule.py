"""Which case comes next: every area gets its share of the time, and each worker its share of the numbers."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fuzz._areas import SHARES
from fuzz._case import Case


@dataclass
class Schedule:
    """The cases of one worker, one after the other, until the time is up or all are done."""

    areas: Sequence[str]
    seed: int
    worker: int = 0
    n_workers: int = 1
    seconds: float = float("inf")
    n_cases: int | None = None
    """Cases of each area, over all workers; None for as many as there is time for."""
    first: dict[str, int] = field(default_factory=dict)
    """Where to go on after a case that took its worker with it."""

    def __iter__(self) -> Iterator[Case]:
        """Cases; the time until the next one is asked for counts for the area of the last."""
        end = time.monotonic() + self.seconds
        spent = dict.fromkeys(self.areas, 0.0)
        following = {area: self.first.get(area, self.worker) for area in self.areas}
        while spent and time.monotonic() < end:
            area = min(spent, key=lambda name: spent[name] / SHARES[name])
            number = following[area]
            if self.n_cases is not None and number >= self.n_cases:
                del spent[area]
                continue
            following[area] = number + self.n_workers
            start = time.monotonic()
            yield Case(area, self.seed, number)
            spent[area] += time.monotonic() - start
