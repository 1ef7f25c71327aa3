"""What each sample adds to the areas of each class: DeLong's components, one pass over each column for all classes.

Let U(x, i) be the share of class i above sample x in column i, and L(x, c) the share of class c below x in the column
of its own class; ties count one half. A sample x of class i adds to the area A(i, c) by L(x, c), and to A(c, i) by
U(x, c). So the mean of both areas changes with L + U, and a table of that sum, shape (k, n), has all there is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polyroc._classes._areas import ClassAreas
from polyroc._engines._class_wins import ClassWins, ColumnWins
from polyroc._engines._named import relative_weights
from polyroc._engines._samples import class_shares
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Predictions
from polyroc._uncertainty._delong import Moments
from polyroc._uncertainty._influence import ROUNDING, Spread
from polyroc._uncertainty._intervals import is_at_end
from polyroc._uncertainty._resampling import Units

# Samples times classes beyond which wins are kept in single precision, for their memory.
_SINGLE = 2**24


class _Spread(Spread):
    """The same with both numbers from one pass over the influences: there are thousands of these."""

    @cached_property
    def _sizes(self) -> IntArray:
        return self.units.sizes

    @cached_property
    def _moments(self) -> Moments:
        return Moments.of(self.influences, self.units)

    @cached_property
    def standard_error(self) -> float:
        error = self._moments.standard_error(self._sizes)
        return error if error > ROUNDING else 0.0

    @cached_property
    def freedom(self) -> float:
        return self._moments.freedom(self._sizes)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Areas of the classes, and what each sample adds to them."""

    predictions: Predictions
    areas: ClassAreas
    units: Units

    def spreads(self) -> Iterator[tuple[str, int, Spread]]:
        """By class: of the area against the "rest", of the mean over its "pairs", and of the "hardest" pair."""
        if self.predictions.is_binary:
            # One pair, ranked by its last column; it is the rest, the mean and the hardest of both classes.
            spread = self._of_one_pair()
            yield from ((name, i, spread) for name in ("rest", "pairs", "hardest") for i in (0, 1))
            return
        k, n, codes = len(self.predictions.labels), self.predictions.n_samples, self.predictions.codes
        has_pairs = self.areas.of_pairs is not None
        both = np.zeros((k if has_pairs else 0, n), dtype=np.float32 if n * k > _SINGLE else np.float64)
        own = np.zeros(n)
        wins = ClassWins(self.predictions)
        for i, members in self._members.items():
            column = wins.in_column(i, members)
            yield "rest", i, self._against_rest(i, column)
            if has_pairs:
                both[i] += column.above
                both[:, members] += column.below.T
                own += np.where(codes == i, 0.0, column.above)
                column.below[:, i] = 0.0
                own[members] += column.below.sum(axis=1)
        if has_pairs:
            for i in self._members:
                yield "pairs", i, self._of_pairs(i, np.where(codes == i, own, both[i]))
                yield "hardest", i, self._of_hardest(i, both)

    @cached_property
    def _members(self) -> dict[int, IntArray]:
        """Places of the samples of each class that has some."""
        present = np.flatnonzero(self.predictions.class_counts).tolist()
        return {i: np.flatnonzero(self.predictions.codes == i) for i in present}

    @cached_property
    def _weight(self) -> FloatArray:
        return relative_weights(self.predictions)

    @cached_property
    def _share(self) -> FloatArray:
        """Share of each sample in its class, shape (n,)."""
        share = class_shares(self.predictions)
        return 1 / self.predictions.class_counts[self.predictions.codes] if share is None else share

    @cached_property
    def _n_units(self) -> dict[int, int]:
        """Units of each class; fewer where some samples weigh much more than others."""
        return {i: self._count(members) for i, members in self._members.items()}

    def _count(self, members: IntArray) -> int:
        weight = self._weight[members]
        # Equal weights must not lose a sample by rounding.
        effective = int(weight.sum() ** 2 / np.sum(weight**2) + 1e-9)
        units = len(np.unique(self.units.unit[members])) if self.units.are_groups else len(members)
        return max(1, min(units, effective))

    def _against_rest(self, i: int, column: ColumnWins) -> Spread:
        """DeLong's for class i and all other samples, whose classes are as random as their scores."""
        is_own = (self.predictions.codes == i).astype(np.intp)
        rest = self.predictions.class_weights / self.predictions.class_weights.max()
        rest[i] = 0.0
        found = column.above.copy()
        found[self._members[i]] = column.below @ (rest / rest.sum())
        share = self._weight / np.bincount(is_own, self._weight)[is_own]
        n_independent = min(self._n_units[i], self._count(np.flatnonzero(is_own == 0)))
        influences = _centred(found, share, is_own)
        return _spread(self.areas.against_rest[i], influences, self._units_of_two(is_own), n_independent)

    def _units_of_two(self, is_own: IntArray) -> Units:
        """The class is one stratum and the rest another; groups with samples of several classes are one."""
        units = self.units
        if not units.are_groups:
            return Units(units.unit, is_own, are_groups=False)
        if not np.any(units.stratum):
            return units
        stratum = np.zeros(units.n_units, dtype=np.intp)
        stratum[units.unit] = is_own
        return Units(units.unit, stratum, are_groups=True)

    def _of_pairs(self, i: int, wins: FloatArray) -> Spread:
        """Of the mean over both areas of all pairs of a class."""
        assert self.areas.of_pairs is not None
        n_others = len(self._members) - 1
        # One more sample of this class takes part in all these areas, one of another class in two of them.
        fewest = min(count for c, count in self._n_units.items() if c != i)
        n_independent = min(self._n_units[i], n_others * fewest)
        influences = _centred(wins / (2 * n_others), self._share, self.predictions.codes)
        return _spread(self.areas.of_pairs[i], influences, self.units, n_independent)

    def _of_hardest(self, i: int, both: FloatArray) -> Spread:
        """Of the mean of both areas of one pair: only the samples of these two classes take part."""
        assert self.areas.hardest is not None
        assert self.areas.of_hardest is not None
        j = int(self.areas.hardest[i])
        mine, others = self._members[i], self._members[j]
        members = np.concatenate([mine, others])
        part = np.repeat([0, 1], [len(mine), len(others)])
        wins = np.concatenate([both[j, mine], both[i, others]]).astype(float) / 2
        influences, units = _centred(wins, self._share[members], part), Units(np.arange(len(part)), part, False)
        if self.units.are_groups:
            units, whole = self.units, np.zeros(self.predictions.n_samples)
            whole[members] = influences
            influences = whole
        return _spread(self.areas.of_hardest[i], influences, units, min(self._n_units[i], self._n_units[j]))

    def _of_one_pair(self) -> Spread:
        column = ClassWins(self.predictions).in_column(self.predictions.n_columns - 1, self._members[1])
        found = column.above.copy()
        found[self._members[1]] = column.below[:, 0]
        influences = _centred(found, self._share, self.predictions.codes)
        return _spread(self.areas.against_rest[1], influences, self.units, min(self._n_units.values()))


def _spread(estimate: float, influences: FloatArray, units: Units, n_independent: int) -> Spread:
    # What one more sample of the smaller class costs is the same of two classes as of a class and all others.
    at_end = is_at_end(float(estimate))
    return _Spread(float(estimate), influences, units, n_independent, n_classes=2, at_end=at_end)


def _centred(found: FloatArray, share: FloatArray, part: IntArray) -> FloatArray:
    """Less the mean of each part, and times the share of each sample in it."""
    mean = np.bincount(part, share * found)
    influences: FloatArray = share * (found - mean[part])
    return influences
