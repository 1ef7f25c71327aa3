"""How an experiment is to be run."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from polyroc._lib._progress import progress_bar

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """Seed, size, data and threads."""

    seed: int = 0
    quick: bool = False
    """A version of seconds, which shows that everything works."""
    data: Path | None = None
    """Folder of the data sets."""
    n_jobs: int | None = None
    progress: bool = False

    def size(self, full: T, quick: T) -> T:
        """A number that depends on how much time there is."""
        return quick if self.quick else full

    def rng(self, *stream: int) -> np.random.Generator:
        """A generator for one part of an experiment; the same part has the same one."""
        return np.random.default_rng([self.seed, *stream])

    def integer(self, *stream: int) -> int:
        """A seed for those who take no generator."""
        return int(self.rng(*stream).integers(2**32))

    def bar(self, total: int, what: str) -> AbstractContextManager[Callable[[int], object]]:
        """A bar that is told how much more is done."""
        return progress_bar(total, what, shown=self.progress)
