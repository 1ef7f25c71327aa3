"""What is asked of an experiment, and what it found."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.special import ndtri, stdtrit

from polyroc._core.curve import RocCurve
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import progress_bar

# How often a true claim may fail that is judged by sampling error.
FALSE_ALARM = 0.001
# By what a claim is judged, where it is no threshold of its own.
CHANCE = "sampling error"
AS_SEEN = "as seen, no test"
IDENTITY = "exact, to 1e-9"


@dataclass(frozen=True)
class Claim:
    """A sentence, what was measured about it, whether it holds, and by what that was judged."""

    text: str
    measured: str
    holds: bool
    judged_by: str


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of plain values under names; what a CSV file holds, and what figures are drawn from."""

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, name: str, rows: Iterable[Mapping[str, Any]]) -> "Table":
        """From rows that have the same names in the same order."""
        found = list(rows)
        return cls(name, tuple(found[0]), tuple(tuple(row.values()) for row in found))

    def column(self, name: str) -> Any:
        """One column as an array."""
        place = self.header.index(name)
        return np.array([row[place] for row in self.rows])

    def where(self, **wanted: Any) -> "Table":
        """The rows that have these values."""
        places = {self.header.index(name): value for name, value in wanted.items()}
        chosen = tuple(row for row in self.rows if all(row[place] == value for place, value in places.items()))
        return Table(self.name, self.header, chosen)

    def known(self, name: str) -> "Table":
        """The rows that have a value in a column."""
        place = self.header.index(name)
        return Table(self.name, self.header, tuple(row for row in self.rows if row[place] is not None))

    def distinct(self, name: str) -> list[Any]:
        """The values of a column, each once, in the order in which they come."""
        place = self.header.index(name)
        return list(dict.fromkeys(row[place] for row in self.rows))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Everything that one experiment found.

    Attributes
    ----------
    name : str
        Of the experiment, as in `EXPERIMENTS`.
    title : str
        What it is about.
    tables : tuple of Table
        The numbers; each becomes a CSV file.
    claims : tuple of Claim
        What the paper says, or this library, beside what was measured.
    notes : tuple of str
        What a reader must know: where data came from, what was left out.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()

    def table(self, name: str) -> Table:
        """The table of that name.

        Parameters
        ----------
        name : str
            As in `tables`.
        """
        for table in self.tables:
            if table.name == name:
                return table
        raise InputError("name", f"must be one of {listed([table.name for table in self.tables])}", shown(name))


def curve_rows(curve: RocCurve, **keys: Any) -> list[dict[str, Any]]:
    """The points of a curve as rows of a table."""
    points = zip(curve.fpr.tolist(), curve.tpr.tolist(), strict=True)
    return [{**keys, "point": number, "fpr": fpr, "tpr": tpr} for number, (fpr, tpr) in enumerate(points)]


def sure(n_comparisons: int = 1) -> float:
    """How many standard errors are beyond chance: were a claim true, it would fail once in a thousand runs.

    Bonferroni's bound for as many comparisons as the claim makes.
    """
    return float(ndtri(1 - FALSE_ALARM / (2 * n_comparisons)))


def sure_of_few(n_values: int, n_comparisons: int = 1) -> float:
    """As `sure`, for means of so few values that their standard error is uncertain itself: Student's t."""
    return float(stdtrit(n_values - 1, 1 - FALSE_ALARM / (2 * n_comparisons)))


def tpr_at(fpr: FloatArray, curve_fpr: Iterable[FloatArray], curve_tpr: Iterable[FloatArray]) -> FloatArray:
    """The height of curves at false positive rates; a row per curve, which may lack its corners."""
    heights: FloatArray = np.array(
        [np.interp(fpr, np.r_[0, f, 1], np.r_[0, t, 1]) for f, t in zip(curve_fpr, curve_tpr, strict=True)]
    )
    return heights


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
