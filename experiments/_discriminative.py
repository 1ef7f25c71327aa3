"""Whether D distinguishes classifiers that M does not: the paper's "more discriminative ranking" (section 5.4)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from experiments._outcome import Claim, Table
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc._uncertainty.paired import Difference
from polyroc.evaluation._comparison import Comparison

_LEVEL = 0.05


def more_discriminative(compared: Mapping[str, Sequence[Comparison]], splits: Table) -> Claim:
    """The same difference of two classifiers by D and by M: which is surer, and which is found.

    It is counted twice, by resamples of each split and by the variation over splits. Surer means more standard errors,
    without the terms for bias and shrinkage in the p values of D, which would count against it.
    """
    by_d, by_m = (
        [one for many in compared.values() for model in many for one in getattr(model, f"by_{statistic}").differences]
        for statistic in ("auc", "hand_till")
    )
    resampled = _counted(_errors_away(by_d), _errors_away(by_m))
    over_splits = _counted(*(_errors_over_splits(splits, letter) for letter in ("D", "M")))
    found = [sum(one.p_value < _LEVEL for one in differences) for differences in (by_d, by_m)]
    n_splits = len(next(iter(compared.values())))
    only_d, only_m, n_compared = ties(splits)
    return Claim(
        "D gives a more discriminative ranking than M",
        f"the difference of two classifiers is more standard errors by D than by M in {resampled} by resamples of "
        f"{n_splits} splits, and in {over_splits} by its variation over splits; p < {_LEVEL:g} in "
        f"{found[0]} by D and {found[1]} by M; exact ties over all splits: {only_m} by M alone and "
        f"{only_d} by D alone, of {n_compared}",
        resampled.holds and over_splits.holds,
        "more standard errors in more than half, both times",
    )


class _Count(NamedTuple):
    """How many of how many."""

    surer: int
    of: int

    @property
    def holds(self) -> bool:
        return 2 * self.surer > self.of

    def __str__(self) -> str:
        return f"{self.surer} of {self.of}"


def _counted(by_d: FloatArray, by_m: FloatArray) -> _Count:
    """In how many comparisons D is the surer one; where both are the same, neither is."""
    return _Count(int(np.sum(by_d > by_m)), len(by_d))


def _errors_away(differences: Iterable[Difference]) -> FloatArray:
    """How many standard errors of the resamples each difference is from 0."""
    return np.array([abs(one.value) / max(one.standard_error, 1e-12) for one in differences])


def _errors_over_splits(splits: Table, letter: str) -> FloatArray:
    """How many standard deviations over splits the mean difference of two classifiers is from 0.

    Splits of one data set overlap, for D as for M.
    """
    found = []
    for name in splits.distinct("data"):
        values = _by_model(splits.where(data=name), letter)
        for a, b in combinations(range(values.shape[1]), 2):
            difference = values[:, a] - values[:, b]
            found.append(abs(difference.mean()) / max(difference.std(ddof=1), 1e-12))
    return np.array(found)


def ties(splits: Table) -> tuple[int, int, int]:
    """Of how many comparisons of two classifiers D alone is the same, M alone, and how many there are.

    These are what Ling, Huang and Zhang (2003), whom the paper cites, count to call one measure more discriminating.
    """
    by_d, by_m = (_tied(_by_model(splits, letter)) for letter in ("D", "M"))
    return int(np.sum(by_d & ~by_m)), int(np.sum(by_m & ~by_d)), by_d.size


def _tied(values: FloatArray) -> BoolArray:
    return np.array([values[:, a] == values[:, b] for a, b in combinations(range(values.shape[1]), 2)])


def _by_model(splits: Table, letter: str) -> FloatArray:
    """A row per split, a column per classifier."""
    values: FloatArray = splits.column(letter).reshape(-1, len(splits.distinct("model")))
    return values
