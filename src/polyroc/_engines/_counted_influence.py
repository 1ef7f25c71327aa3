"""What a sample adds to D and to areas, as tables: an entry for each bin, class and column.

The influence of a sample is a sum over its score columns of a step function that depends on its class alone
(`_numpy._influence`). Of counted scores the steps lie at bins, so a table of k look-ups per sample has all of it, and
a second pass over the samples needs neither a sort nor the samples of the first pass.
"""

from dataclasses import dataclass

import numpy as np

from polyroc._engines._gradient import Gradient
from polyroc._engines._numpy._influence import Knots, cut_polygon, look_up, members_and_columns
from polyroc._engines._numpy._rates import Run
from polyroc._engines._reach import Reach, reach
from polyroc._lib._typing import FloatArray, Thresholds
from polyroc._records import Frozen, PairIndex, ScoreCounts


@dataclass(frozen=True, eq=False)
class InfluenceTables(Frozen):
    """What a sample adds to each of m numbers, by column, bin and class."""

    columns: tuple[FloatArray, ...]
    """Of each column an array of shape (B, k, m), bins as in its counts."""
    mean: FloatArray
    """Mean over the samples of each class, shape (k, m), from the counts."""

    def joined(self, other: "InfluenceTables") -> "InfluenceTables":
        """These numbers and others of the same counts."""
        columns = [np.concatenate(both, axis=2) for both in zip(self.columns, other.columns, strict=True)]
        return InfluenceTables(tuple(columns), np.concatenate([self.mean, other.mean], axis=1))


def _with_means(source: ScoreCounts, columns: list[FloatArray]) -> InfluenceTables:
    mean = np.zeros((len(source.labels), columns[0].shape[2]))
    for column, table in zip(source.columns, columns, strict=True):
        mean += np.einsum("bc,bcm->cm", np.diff(column.shares(), axis=0), table)
    return InfluenceTables(tuple(columns), mean)


def counted_run(source: ScoreCounts, members_of: int, column: int) -> Run:
    """The bins of one class in one column, the lowest first."""
    counted = source.columns[column]
    weight = counted.weight[:, members_of]
    held = weight > 0
    cumulated = np.concatenate([[0.0], np.cumsum(weight[held])])
    return Run(counted.bins[held][::-1].astype(float), (cumulated / cumulated[-1])[::-1])


def area_tables(source: ScoreCounts, pairs: PairIndex, share: FloatArray) -> InfluenceTables:
    """Tables of the sum of share times pairwise area: DeLong's structural components."""
    k = len(source.labels)
    columns = [np.zeros((*column.weight.shape, 1)) for column in source.columns]
    for i in np.unique(pairs.positive).tolist():
        of_class = np.flatnonzero(pairs.positive == i)
        column = int(pairs.column[of_class[0]])
        shares = source.columns[column].shares()
        above = 0.5 * (shares[1:] + shares[:-1])
        weight = np.zeros(k)
        weight[pairs.negative[of_class]] = share[of_class]
        # A sample of i wins against those of j below it, a sample of j against those of i above it; ties count half.
        columns[column][:, :, 0] += np.outer(above[:, i], weight)
        columns[column][:, i, 0] += weight.sum() - above @ weight
    return _with_means(source, columns)


def cut_tables(
    source: ScoreCounts, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds, gradient: Gradient
) -> InfluenceTables:
    """Tables of m numbers from their gradient by the rates of all pairs."""
    around = reach(call_rates)
    if thresholds == "own":
        return _with_means(source, _own_tables(source, pairs, call_rates, gradient, around))
    knots: dict[tuple[int, int], list[Knots]] = {}
    for pair, (i, j) in enumerate(zip(pairs.positive.tolist(), pairs.negative.tolist(), strict=True)):
        members = members_and_columns(i, j, i, thresholds)
        cut = cut_polygon([counted_run(source, *each) for each in members], call_rates)
        next_called = np.clip(around.rise(cut.share) / (len(members) * around.width), 0, 1)
        by_tpr, by_fpr = gradient.of_pair(pair)
        moved = by_tpr * next_called[0] + by_fpr * next_called[1]
        for each, pull in zip(members, (by_tpr, by_fpr, 0.0, 0.0), strict=True):
            knots.setdefault(each, []).append(Knots(cut.score, cut.part, pull - moved))
    columns = [np.zeros((*column.weight.shape, len(gradient))) for column in source.columns]
    for (members_of, c), found in knots.items():
        columns[c][:, members_of] = look_up(found, source.columns[c].bins.astype(float)).T
    return _with_means(source, columns)


def _own_tables(
    source: ScoreCounts, pairs: PairIndex, call_rates: FloatArray, gradient: Gradient, around: Reach
) -> list[FloatArray]:
    """With own thresholds: all pairs of a positive class are cut in one column, whose steps are added up by bin."""
    columns = [np.zeros((*column.weight.shape, len(gradient))) for column in source.columns]
    for i in np.unique(pairs.positive).tolist():
        of_class = np.flatnonzero(pairs.positive == i)
        c = int(pairs.column[of_class[0]])
        shares, table = np.ascontiguousarray(source.columns[c].shares().T), columns[c]
        # What a sample adds if it lies above the bin at which a pair is cut, and within it, by cell of the table.
        cells, above, within = [], [], []
        for pair in of_class.tolist():
            j = int(pairs.negative[pair])
            edge, part, share = _cut(shares[i], shares[j], call_rates)
            next_called = np.clip(around.rise(share) / (2 * around.width), 0, 1)
            by_tpr, by_fpr = gradient.of_pair(pair)
            moved = by_tpr * next_called[0] + by_fpr * next_called[1]
            for members_of, pull in ((i, by_tpr), (j, by_fpr)):
                cells.append(edge * len(shares) + members_of)
                above.append(pull - moved)
                within.append((pull - moved) * part)
        cell, size = np.concatenate(cells), table.shape[0] * table.shape[1]
        for m, (one, other) in enumerate(zip(np.hstack(above), np.hstack(within), strict=True)):
            table[:, :, m] += np.bincount(cell, other, minlength=size).reshape(table.shape[:2])
            # Bins stand in falling order: a sample lies above every cut in a later bin.
            later = np.bincount(cell, one, minlength=size).reshape(table.shape[:2])
            table[:-1, :, m] += np.cumsum(later[:0:-1], axis=0)[::-1]
    return columns


def _cut(
    positive: FloatArray, negative: FloatArray, call_rates: FloatArray
) -> tuple["np.ndarray[tuple[int], np.dtype[np.intp]]", FloatArray, FloatArray]:
    """Bin and part of it in which each call rate lies, and shares of both classes there, with 0 before and 1 after."""
    called = (positive + negative) / 2
    edge = np.minimum(np.searchsorted(called[1:], call_rates, side="left"), len(called) - 2)
    rise = called[edge + 1] - called[edge]
    part = np.clip(np.divide(call_rates - called[edge], rise, out=np.ones(len(edge)), where=rise > 0), 0, 1)
    share = np.ones((2, len(call_rates) + 2))
    share[:, 0] = 0
    for row, shares in zip(share, (positive, negative), strict=True):
        row[1:-1] = shares[edge] + part * (shares[edge + 1] - shares[edge])
    return edge, part, share
