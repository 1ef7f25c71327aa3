"""How sure each number of a class is: Wilson's intervals of shares, and DeLong's of areas, without resampling."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polyroc._classes._areas import ClassAreas
from polyroc._engines._class_wins import ClassWins, ColumnWins
from polyroc._engines._named import Named, relative_weights
from polyroc._engines._samples import class_shares, named_classes
from polyroc._lib._typing import BoolArray, FloatArray, IntArray
from polyroc._records import Frozen, Predictions
from polyroc._uncertainty._influence import Spread
from polyroc._uncertainty._intervals import is_at_end
from polyroc._uncertainty._resampling import Units
from polyroc.baselines._accuracy import wilson

# Samples times classes beyond which wins are kept in single precision, for their memory.
_SINGLE = 2**24


@dataclass(frozen=True, eq=False)
class ClassIntervals(Frozen):
    """Both ends of the interval of each number, shape (k, 2) each; NaN where there is no number."""

    recall: FloatArray | None
    precision: FloatArray | None
    auc_vs_rest: FloatArray
    mean_pair_auc: FloatArray | None
    hardest_auc: FloatArray | None


def class_intervals(
    predictions: Predictions, named: Named | None, areas: ClassAreas, units: Units, confidence_level: float
) -> ClassIntervals:
    """Intervals of everything that is known of the classes."""
    recall = precision = None
    if named is not None:
        counting, chosen = _Counting(predictions, units), named_classes(predictions)
        right = chosen == predictions.codes
        recall = counting.ends(named.recall, predictions.codes, right, confidence_level)
        precision = counting.ends(named.precision, chosen, right, confidence_level)
    ranking = _Ranking(predictions, areas, units)
    of_rest, *of_pairs = ranking.spreads()
    k = len(predictions.labels)
    mean, hardest = [None if spreads is None else _ends(spreads, k, confidence_level) for spreads in of_pairs]
    return ClassIntervals(recall, precision, _ends(of_rest, k, confidence_level), mean, hardest)


def _ends(spreads: "dict[int, Spread]", k: int, confidence_level: float) -> FloatArray:
    found = np.full((k, 2), np.nan)
    for i, spread in spreads.items():
        found[i] = spread.ends(confidence_level)
    return found


@dataclass(frozen=True, eq=False)
class _Counting:
    """Shares of samples that were named right, within their class or within what was named alike."""

    predictions: Predictions
    units: Units

    def ends(self, share: FloatArray, part: IntArray, right: BoolArray, confidence_level: float) -> FloatArray:
        """Wilson's intervals, shape (k, 2), for the effective number of samples of each part."""
        found = np.full((len(share), 2), np.nan)
        effective = self._effective(share, part, right)
        for i in np.flatnonzero(~np.isnan(share)):
            found[i] = wilson(float(share[i]), float(effective[i]), confidence_level)
        return found

    def _effective(self, share: FloatArray, part: IntArray, right: BoolArray) -> FloatArray:
        """Kish's number of each part; with groups that of as many independent samples as vary as much."""
        k, weight = len(share), relative_weights(self.predictions)
        total = np.bincount(part, weight, minlength=k)
        squares = np.bincount(part, weight**2, minlength=k)
        kish = np.divide(total**2, squares, out=np.ones(k), where=squares > 0)
        if not self.units.are_groups:
            return np.asarray(kish)
        # The share is a ratio of sums over groups: what each group adds to it, and how much that varies.
        cell, place = np.unique(part * self.units.n_units + self.units.unit, return_inverse=True)
        added = np.bincount(place, weight * (right - np.nan_to_num(share)[part]))
        groups = np.bincount(cell // self.units.n_units, minlength=k)
        between = np.bincount(cell // self.units.n_units, added**2, minlength=k) * groups / np.maximum(groups - 1, 1)
        varies = np.divide(between, total**2, out=np.zeros(k), where=total > 0)
        within = np.nan_to_num(share * (1 - share))
        by_groups = np.divide(within, varies, out=groups.astype(float), where=(varies > 0) & (within > 0))
        effective: FloatArray = np.maximum(1.0, np.minimum(kish, by_groups))
        return effective


@dataclass(frozen=True, eq=False)
class _Ranking:
    """Areas of the classes, and what each sample adds to them."""

    predictions: Predictions
    areas: ClassAreas
    units: Units

    def spreads(self) -> "tuple[dict[int, Spread], dict[int, Spread] | None, dict[int, Spread] | None]":
        """By class: of the area against the rest, of the mean over its pairs, and of the hardest pair."""
        if self.predictions.is_binary:
            # One pair, ranked by its last column; it is the rest, the mean and the hardest of both classes.
            spread = self._of_one_pair()
            both = {0: spread, 1: spread}
            return both, both, both
        wins, against_rest = self._wins(), {}
        for i, column in self._columns():
            against_rest[i] = self._against_rest(i, column)
            if wins is not None:
                wins[i] += column.above
                wins[:, self._members[i]] += column.below.T
        if wins is None:
            return against_rest, None, None
        of_pairs = dict(self._of_pairs(wins))
        return against_rest, of_pairs, {i: self._of_hardest(wins, i) for i in self._present}

    @cached_property
    def _present(self) -> list[int]:
        return np.flatnonzero(self.predictions.class_counts).tolist()

    @cached_property
    def _members(self) -> dict[int, IntArray]:
        return {i: np.flatnonzero(self.predictions.codes == i) for i in self._present}

    def _columns(self) -> Iterator[tuple[int, ColumnWins]]:
        wins = ClassWins(self.predictions)
        return ((i, wins.in_column(i, self._members[i])) for i in self._present)

    def _wins(self) -> FloatArray | None:
        """Room for the wins of each sample in its pairs with each class, in both columns, shape (k, n)."""
        if self.areas.of_pairs is None:
            return None
        k, n = len(self.predictions.labels), self.predictions.n_samples
        return np.zeros((k, n), dtype=np.float32 if n * k > _SINGLE else np.float64)

    @cached_property
    def _share(self) -> FloatArray:
        """Share of each sample in its class, shape (n,)."""
        share = class_shares(self.predictions)
        return 1 / self.predictions.class_counts[self.predictions.codes] if share is None else share

    def _against_rest(self, i: int, column: ColumnWins) -> Spread:
        """DeLong's for class i and all other samples, whose classes are as random as their scores."""
        is_own = (self.predictions.codes == i).astype(np.intp)
        weight = self.predictions.class_weights / self.predictions.class_weights.max()
        weight[i] = 0.0
        found = column.above.copy()
        found[self._members[i]] = column.below @ (weight / weight.sum())
        total = np.bincount(is_own, relative_weights(self.predictions))
        share = relative_weights(self.predictions) / total[is_own]
        units = self._units_of_two(is_own)
        n_independent = min(self._n_units(is_own == 0), self._n_units(is_own == 1))
        return self._spread(self.areas.against_rest[i], _centred(found, share, is_own), units, n_independent)

    def _units_of_two(self, is_own: IntArray) -> Units:
        """The class is one stratum and the rest another; groups with samples of both are one."""
        units = self.units
        if not units.are_groups:
            return Units(units.unit, is_own, are_groups=False)
        if not np.any(units.stratum):
            return units
        stratum = np.zeros(units.n_units, dtype=np.intp)
        stratum[units.unit] = is_own
        return Units(units.unit, stratum, are_groups=True)

    def _of_pairs(self, wins: FloatArray) -> Iterator[tuple[int, Spread]]:
        """Of the mean over both areas of all pairs of each class."""
        assert self.areas.of_pairs is not None
        n_areas, codes = 2 * (len(self._present) - 1), self.predictions.codes
        own = np.zeros(self.predictions.n_samples)
        for i, members in self._members.items():
            others = [c for c in self._present if c != i]
            own[members] = wins[:, members][others].sum(axis=0, dtype=float)
        units_in = {i: self._n_units(codes == i) for i in self._present}
        for i in self._present:
            found = np.where(codes == i, own, wins[i]) / n_areas
            fewest = min(units_in[c] for c in self._present if c != i)
            # One more sample of this class takes part in all these areas, one of another class in two of them.
            n_independent = min(units_in[i], (len(self._present) - 1) * fewest)
            influences = _centred(found, self._share, codes)
            yield i, self._spread(self.areas.of_pairs[i], influences, self.units, n_independent)

    def _of_hardest(self, wins: FloatArray, i: int) -> Spread:
        """Of the mean of both areas of one pair."""
        assert self.areas.hardest is not None
        assert self.areas.of_hardest is not None
        j, codes = int(self.areas.hardest[i]), self.predictions.codes
        found = np.zeros(self.predictions.n_samples)
        found[self._members[i]] = wins[j, self._members[i]] / 2
        found[self._members[j]] = wins[i, self._members[j]] / 2
        n_independent = min(self._n_units(codes == i), self._n_units(codes == j))
        influences = _centred(found, self._share, codes)
        return self._spread(self.areas.of_hardest[i], influences, self.units, n_independent)

    def _of_one_pair(self) -> Spread:
        predictions = self.predictions
        column = ClassWins(predictions).in_column(predictions.n_columns - 1, self._members[1])
        found = column.above.copy()
        found[self._members[1]] = column.below[:, 0]
        n_independent = min(self._n_units(predictions.codes == c) for c in (0, 1))
        influences = _centred(found, self._share, predictions.codes)
        return self._spread(self.areas.against_rest[1], influences, self.units, n_independent)

    def _n_units(self, part: BoolArray) -> int:
        """Units with samples of a part; fewer where some samples weigh much more than others."""
        weight = relative_weights(self.predictions)[part]
        # Equal weights must not lose a sample by rounding.
        effective = int(weight.sum() ** 2 / np.sum(weight**2) + 1e-9)
        units = len(np.unique(self.units.unit[part])) if self.units.are_groups else len(weight)
        return max(1, min(units, effective))

    def _spread(self, estimate: float, influences: FloatArray, units: Units, n_independent: int) -> Spread:
        # Two classes, or a class and all others: what one more sample of the smaller costs is the same.
        at_end = is_at_end(float(estimate))
        return Spread(float(estimate), influences, units, n_independent, n_classes=2, at_end=at_end)


def _centred(found: FloatArray, share: FloatArray, part: IntArray) -> FloatArray:
    """Less the mean of each part, and times the share of each sample in it."""
    mean = np.bincount(part, share * found)
    influences: FloatArray = share * (found - mean[part])
    return influences
