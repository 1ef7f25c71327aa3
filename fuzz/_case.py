"""A case is its name: what it tries follows from the area, the seed and the number, and from nothing else."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = "corpus"


@dataclass(frozen=True)
class Case:
    """One thing that is tried."""

    area: str
    seed: int
    number: int | str
    """Of the corpus, the name of the case."""

    def __str__(self) -> str:
        return f"{self.area}:{self.seed}:{self.number}"

    @property
    def rng(self) -> np.random.Generator:
        # By name, so that a new area leaves the cases of the others as they are.
        words = [zlib.crc32(str(word).encode()) for word in (self.area, self.number)]
        return np.random.default_rng([self.seed, *words])

    @classmethod
    def parse(cls, text: str) -> "Case":
        """The case of a name, as `str` wrote it; `corpus:NAME` needs no seed.

        >>> Case.parse("numeric:7:1234")
        Case(area='numeric', seed=7, number=1234)
        """
        area, *rest = text.split(":", 2)
        if area == CORPUS and rest:
            return cls(CORPUS, 0, rest[-1])
        if len(rest) != 2 or not all(word.isdecimal() for word in rest):
            msg = f"a case is called area:seed:number, such as numeric:7:1234, got {text!r}"
            raise ValueError(msg)
        return cls(area, int(rest[0]), int(rest[1]))


@dataclass(frozen=True)
class Attempt:
    """What a case works with: numbers by chance, and a folder of its own."""

    rng: np.random.Generator
    folder: Path

    def choose(self, values: Any) -> Any:
        """One of some values, as it is."""
        values = list(values)
        return values[int(self.rng.integers(len(values)))]

    def happens(self, probability: float) -> bool:
        """True in this share of the cases."""
        return bool(self.rng.random() < probability)
