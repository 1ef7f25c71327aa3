"""How sure each number of a class is: Wilson's intervals of shares, and DeLong's of areas, without resampling."""

from dataclasses import dataclass

import numpy as np

from polyroc._classes._areas import ClassAreas
from polyroc._classes._ranking import Ranking
from polyroc._engines._named import Named, relative_weights
from polyroc._engines._samples import named_classes
from polyroc._lib._typing import BoolArray, FloatArray, IntArray
from polyroc._records import Frozen, Predictions
from polyroc._uncertainty._resampling import Units
from polyroc.baselines._accuracy import wilson_interval


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
    ends = {name: np.full((len(predictions.labels), 2), np.nan) for name in ("rest", "pairs", "hardest")}
    # One at a time: the influences of all classes together would take more memory than the scores.
    for name, i, spread in Ranking(predictions, areas, units).spreads():
        ends[name][i] = spread.ends(confidence_level)
    of_pairs = (None, None) if areas.of_pairs is None else (ends["pairs"], ends["hardest"])
    return ClassIntervals(recall, precision, ends["rest"], *of_pairs)


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
