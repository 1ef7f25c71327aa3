"""How well each class is ranked: against the rest, in the mean over its pairs, and against its hardest partner."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polyroc._core import Prepared
from polyroc._core.predicted import PredictedCounts, predicted_counts, relative_weights
from polyroc._core.samples import ClassWins, ColumnWins, class_shares, predicted_classes
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import Frozen, PairIndex, Predictions, Source
from polyroc._uncertainty.bootstrap import warn_of_small_classes
from polyroc._uncertainty.delong import Moments
from polyroc._uncertainty.influence import ROUNDING, Spread
from polyroc._uncertainty.intervals import is_at_end
from polyroc._uncertainty.units import Units, units_of
from polyroc.baselines._accuracy import wilson_interval
from polyroc.baselines._pairwise import mixed_areas
from polyroc.evaluation._fitted import Fitted


@dataclass(frozen=True, eq=False)
class ClassAreas(Frozen):
    """Areas of each class, shape (k,) each; NaN where a class has no samples."""

    against_rest: FloatArray
    """Probability that a sample of the class scores higher in its column than a sample of any other class."""
    of_pairs: FloatArray | None
    """Mean of both areas of all its pairs: the mean of these over the classes is M. None of a sample of the pairs."""
    hardest: IntArray | None
    """The class with which the mean of both areas is lowest, the first of several; -1 where there is none."""
    of_hardest: FloatArray | None
    """That mean of both areas."""

    @classmethod
    def of(cls, prepared: Prepared, pairs: PairIndex, areas: FloatArray) -> "ClassAreas":
        source = prepared.source
        if pairs.stratum is not None:
            return cls(prepared.areas_against_rest(), None, None, None)
        k, present = len(source.labels), np.flatnonzero(source.class_counts)
        both = np.full((len(present), len(present)), np.inf)
        place = np.zeros(k, dtype=np.intp)
        place[present] = np.arange(len(present))
        both[place[pairs.positive], place[pairs.negative]] = areas
        if source.is_binary:  # one pair, which is both
            both[place[pairs.negative], place[pairs.positive]] = areas
        both = (both + both.T) / 2
        hardest = both.argmin(axis=1)
        lowest = both.min(axis=1)
        np.fill_diagonal(both, 0.0)
        return cls(
            against_rest=_against_rest(source, pairs, areas),
            of_pairs=_spread_out(both.sum(axis=1) / (len(present) - 1), present, k),
            hardest=_spread_out(present[hardest], present, k, -1),
            of_hardest=_spread_out(lowest, present, k),
        )


def _against_rest(source: Source, pairs: PairIndex, areas: FloatArray) -> FloatArray:
    if source.is_binary:  # each is the rest of the other
        return np.full(len(source.labels), float(areas[0]))
    weight = source.class_weights / source.class_weights.max()
    # Means of areas that are all 1 may be rounded up.
    found: FloatArray = np.minimum(mixed_areas(pairs, areas, weight), 1.0)
    return found


def _spread_out(values: Any, present: IntArray, k: int, missing: float = np.nan) -> Any:
    """From the classes that have samples to all of them."""
    found = np.full(k, missing, dtype=values.dtype)
    found[present] = values
    return found


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


@dataclass(frozen=True, eq=False)
class ClassIntervals(Frozen):
    """Both ends of the interval of each number, shape (k, 2) each; NaN where there is no number."""

    recall: FloatArray | None
    precision: FloatArray | None
    auc_vs_rest: FloatArray
    mean_pair_auc: FloatArray | None
    hardest_auc: FloatArray | None


def class_intervals(
    predictions: Predictions,
    predicted: PredictedCounts | None,
    areas: ClassAreas,
    units: Units,
    confidence_level: float,
) -> ClassIntervals:
    """Intervals of everything that is known of the classes."""
    recall = precision = None
    if predicted is not None:
        counting, chosen = _Counting(predictions, units), predicted_classes(predictions)
        right = chosen == predictions.codes
        recall = counting.ends(predicted.recall, predictions.codes, right, confidence_level)
        precision = counting.ends(predicted.precision, chosen, right, confidence_level)
    ends = {name: np.full((len(predictions.labels), 2), np.nan) for name in ("rest", "pairs", "hardest")}
    # One at a time: the influences of all classes together would take more memory than the scores.
    for name, i, spread in Ranking(predictions, areas, units).spreads():
        ends[name][i] = spread.ends(confidence_level)
    of_pairs = (None, None) if areas.of_pairs is None else (ends["pairs"], ends["hardest"])
    return ClassIntervals(recall, precision, ends["rest"], *of_pairs)


@dataclass(frozen=True, eq=False)
class _Counting:
    """Shares of correct predictions, within the true or within the predicted class."""

    predictions: Predictions
    units: Units

    def ends(self, share: FloatArray, part: IntArray, right: BoolArray, confidence_level: float) -> FloatArray:
        """Wilson's intervals, shape (k, 2), for the effective number of samples of each part."""
        found = np.full((len(share), 2), np.nan)
        effective = self._effective(share, part, right)
        for i in np.flatnonzero(~np.isnan(share)):
            found[i] = wilson_interval(float(share[i]), float(effective[i]), confidence_level)
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
class MeasuredClasses:
    """Counts, areas and intervals behind the table of classes."""

    fitted: Fitted
    why_not_predicted: str
    """Why no class can be predicted; empty if classes can be."""

    @cached_property
    def predicted(self) -> PredictedCounts | None:
        """Counts of predicted classes; None if no class can be predicted."""
        return None if self.why_not_predicted else predicted_counts(self.fitted.source)

    @cached_property
    def areas(self) -> ClassAreas:
        """How well each class is ranked."""
        return ClassAreas.of(self.fitted.unchanged, self.fitted.pairs, self.fitted.own_areas)

    def units(self, groups: Any) -> Units:
        """Resampling units (samples or groups); warns about small classes."""
        units = units_of(self.fitted.samples, groups)
        warn_of_small_classes(self.fitted.samples, units)
        return units

    def intervals(self, confidence_level: float, units: Units) -> ClassIntervals:
        """How sure all of that is."""
        predictions = self.fitted.samples
        self.fitted.fingerprint.check(predictions)
        return class_intervals(predictions, self.predicted, self.areas, units, confidence_level)
