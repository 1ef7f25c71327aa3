"""Counts of scores, made ready: what an engine answers about samples, answered from the bins that they fell into.

Rates and areas need the share of each class above each bin of a column, and nothing else: a bin is a large tie. What
needs single samples is refused, in one sentence.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._core import memory
from polyroc._core.adjoint import Curvature, Gradient
from polyroc._core.engines import Fitter, Resources, Reweighed
from polyroc._core.influence import Knots, Reach, cut_polygon, look_up, members_and_columns, reach
from polyroc._core.polygons import Run, merged_polygon
from polyroc._counts.bins import ScoreBins
from polyroc._counts.passes import passes_for
from polyroc._inputs.checks import InputError
from polyroc._inputs.predictions import Batch
from polyroc._lib.threads import Threads
from polyroc._lib.typing import FloatArray, IntArray, Structure, Thresholds
from polyroc._records import Factorization, Frozen, PairIndex, PairWeights, PairwiseRates, Predictions, ScoreCounts


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


# Vertices of all polygons from which on columns are worth a thread each.
_WORTH_A_THREAD = 2**20
_NO_SAMPLES = (
    "This needs single samples, and the evaluation was computed from counts in bins, which do not keep them. Call "
    "`polyroc.evaluate` with samples that fit in memory, a random part of all if need be."
)
_NO_SECOND_PASS = (
    "Standard errors and intervals of counted scores need a second pass over the samples, and there was none: only "
    "point estimates are known. Pass the same samples to `RocAccumulator.second_pass()`; for files or partitions, "
    "leave `standard_errors` at True."
)


class SamplesNeededError(ValueError):
    """What was asked for needs single samples, and the evaluation holds counts of them.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> accumulator = polyroc.RocAccumulator(range(10))
    >>> accumulator.update(example.y_true, example.scores["tree"])
    >>> try:
    ...     accumulator.compute().confidence_interval()
    ... except polyroc.SamplesNeededError as error:
    ...     print(str(error).split(",")[0])
    Standard errors and intervals of counted scores need a second pass over the samples
    """

    def __init__(self, message: str = _NO_SAMPLES) -> None:
        super().__init__(message)


def second_pass_needed() -> SamplesNeededError:
    """What to do for standard errors of counted scores."""
    return SamplesNeededError(_NO_SECOND_PASS)


def refuse_differences(thresholds: Thresholds) -> None:
    """Differences of columns are made of joint scores, of which counts by column know nothing."""
    if thresholds == "difference":
        rule = "must be 'own' or 'shared' for counts of scores, which hold each column by itself"
        raise InputError("thresholds", rule, "'difference'")


@dataclass(frozen=True, eq=False)
class CountedPrepared:
    """Counts of scores, with an engine's way to fit."""

    source: ScoreCounts
    fitter: Fitter

    @property
    def samples(self) -> Predictions:
        """There are none."""
        raise SamplesNeededError

    @property
    def engine_name(self) -> str:
        """That of the fit."""
        return self.fitter.engine_name

    @property
    def resources(self) -> Resources:
        """Those of the fit."""
        return self.fitter.resources

    def memory_available(self) -> int | None:
        """Bytes that can still be had; None where that is unknown."""
        return memory.available()

    def memory_for_cells(self, n_pairs: int, n_call_rates: int) -> int:
        """Bytes that the rates of pairs and their fit need."""
        return self.fitter.memory_for_cells(n_pairs, n_call_rates)

    def memory_needed(self, n_pairs: int, n_call_rates: int, thresholds: Thresholds = "own") -> int:
        """Bytes that rates and fit will need at most; the shares of a column as well."""
        largest = max(column.weight.size for column in self.source.columns)
        return 16 * largest + 16 * n_call_rates * n_pairs + self.memory_for_cells(n_pairs, n_call_rates)

    def memory_to_reweigh(self, pairs: PairIndex, thresholds: Thresholds) -> int:
        """Nothing is weighed again."""
        raise SamplesNeededError

    def polygon(self) -> tuple[PairwiseRates, FloatArray]:
        """The vertices of the ordinary ROC curve of two classes, without its two corners, and their scores, (T, 1)."""
        column = self.source.columns[-1]
        fpr, tpr = column.shares()[1:-1].T
        scores = self.source.bins.lower_ends(column.bins[:-1])
        return PairwiseRates(tpr[:, None], fpr[:, None], (tpr + fpr) / 2), scores[:, None]

    def rates(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> PairwiseRates:
        """Cut every pair's ROC polygon at the call rates."""
        refuse_differences(thresholds)
        tpr: FloatArray = np.empty((len(call_rates), len(pairs)))
        if thresholds == "own":
            vertices = sum(len(column.bins) for column in self.source.columns) * len(self.source.labels)

            def cut(i: int, of_class: IntArray) -> None:
                shares = np.ascontiguousarray(self.source.columns[int(pairs.column[of_class[0]])].shares().T)
                tpr[:, of_class] = _cut_column(shares, i, pairs.negative[of_class], call_rates)

            with Threads(self.resources.n_jobs if vertices >= _WORTH_A_THREAD else 1) as threads:
                threads.map(cut, by_positive(pairs))
            return PairwiseRates(tpr, None, call_rates)
        fpr = np.empty_like(tpr)
        for pair, (i, j) in enumerate(zip(pairs.positive.tolist(), pairs.negative.tolist(), strict=True)):
            _, called, positive, negative = self._shared_polygon(i, j)
            tpr[:, pair] = np.interp(call_rates, called, positive)
            fpr[:, pair] = np.interp(call_rates, called, negative)
        return PairwiseRates(tpr, fpr, call_rates)

    def _shared_polygon(self, i: int, j: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """One vertex per bin of either column, the highest first: bins, then call rate, TPR and FPR."""
        return merged_polygon([counted_run(self.source, *each) for each in ((i, i), (j, i), (i, j), (j, j))])

    def score_thresholds(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> FloatArray:
        """The lowest score of the bin in which every pair reaches every call rate, shape (T, K)."""
        refuse_differences(thresholds)
        found = np.empty((len(call_rates), len(pairs)))
        for pair, (i, j, c) in enumerate(zip(pairs.positive, pairs.negative, pairs.column, strict=True)):
            if thresholds == "own":
                column = self.source.columns[c]
                bins, call_rate = column.bins, column.shares()[:, [i, j]].mean(axis=1)
            else:
                bins, call_rate, _, _ = self._shared_polygon(int(i), int(j))
            reached = np.searchsorted(call_rate[1:], call_rates - 1e-12, side="left")
            found[:, pair] = self.source.bins.lower_ends(bins[np.minimum(reached, len(bins) - 1)].astype(np.int64))
        return found

    def fit(
        self,
        rates: PairwiseRates,
        weights: PairWeights,
        *,
        shrinkage: float,
        structure: Structure,
        near: Factorization | None = None,
    ) -> Factorization:
        """Shared and pair effects."""
        return self.fitter.fit(rates, weights, shrinkage=shrinkage, structure=structure, near=near)

    def curvature(
        self, factorization: Factorization, rates: PairwiseRates, weights: PairWeights, shrinkage: float
    ) -> Curvature | None:
        """The engine's passes over the cells at the end of a fit."""
        return self.fitter.curvature(factorization, rates, weights, shrinkage)

    def areas(self, pairs: PairIndex, thresholds: Thresholds = "own") -> FloatArray:
        """Mann-Whitney area of each pair, samples of one bin counting as ties, shape (K,)."""
        refuse_differences(thresholds)
        areas = np.empty(len(pairs))
        for i, of_class in by_positive(pairs):
            shares = self.source.columns[int(pairs.column[of_class[0]])].shares()
            # Share of the positive class above each bin, half of those in it; what the others have there loses to it.
            above = 0.5 * (shares[1:, i] + shares[:-1, i])
            areas[of_class] = above @ np.diff(shares[:, pairs.negative[of_class]], axis=0)
        found: FloatArray = np.clip(areas, 0.0, 1.0)
        return found

    def shares_within_bins(self, pairs: PairIndex) -> FloatArray:
        """Share of each pair's comparisons within bins of several scores, whose winner is unknown, shape (K,)."""
        found = np.empty(len(pairs))
        for i, of_class in by_positive(pairs):
            column = self.source.columns[int(pairs.column[of_class[0]])]
            rise = np.diff(column.shares(), axis=0)[~column.is_tie]
            found[of_class] = rise[:, i] @ rise[:, pairs.negative[of_class]]
        return found

    def areas_against_rest(self) -> FloatArray:
        """Area of each class against all the others, shape (k,); NaN of a class without samples."""
        found = np.full(len(self.source.labels), np.nan)
        for i in np.flatnonzero(self.source.class_counts):
            column = self.source.columns[i]
            shares = column.shares()[:, i]
            above = 0.5 * (shares[1:] + shares[:-1])
            rest = column.weight.sum(axis=1) - column.weight[:, i]
            found[i] = float(above @ rest / rest.sum())
        return found

    def influence_tables(
        self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds, gradient: Gradient
    ) -> InfluenceTables:
        """What a sample adds to each of m numbers by the bin of each of its scores, not yet centred."""
        refuse_differences(thresholds)
        return cut_tables(self.source, pairs, call_rates, thresholds, gradient)

    def area_tables(self, pairs: PairIndex, share: FloatArray) -> InfluenceTables:
        """The same for the mean of the pairs' areas by these shares: DeLong's components."""
        return area_tables(self.source, pairs, share)

    def influences(
        self,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        gradient: Gradient,
        *,
        least_reach: float = 0.0,
    ) -> FloatArray:
        """There are no samples that could add anything."""
        raise SamplesNeededError

    def area_influences(self, pairs: PairIndex, share: FloatArray, thresholds: Thresholds = "own") -> FloatArray:
        """There are no samples that could add anything."""
        raise SamplesNeededError

    def reweigh(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> Reweighed:
        """Samples cannot be weighed again."""
        raise SamplesNeededError


def by_positive(pairs: PairIndex) -> list[tuple[int, IntArray]]:
    """Each positive class with the places of its pairs."""
    order = np.argsort(pairs.positive, kind="stable")
    classes, first = np.unique(pairs.positive[order], return_index=True)
    return list(zip(classes.tolist(), np.split(order, first[1:]), strict=True))


def _cut_column(shares: FloatArray, positive: int, negatives: IntArray, call_rates: FloatArray) -> FloatArray:
    """True positive rates of one class against others, shape (T, K), from shares of all classes, shape (k, B + 1)."""
    tpr = np.empty((len(call_rates), len(negatives)))
    for place, j in enumerate(negatives.tolist()):
        # Bins that only other classes have repeat a vertex, which changes no polygon.
        tpr[:, place] = np.interp(call_rates, (shares[positive] + shares[j]) / 2, shares[positive])
    return tpr


# Rows whose sums stay in the cache while all columns pass.
_BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class InfluenceLookup(Frozen):
    """Tables of m statistics, ready for samples of the same source."""

    bins: ScoreBins
    slots: tuple[IntArray, ...]
    """Of each column the place of each bin in its table, -1 of those that were not counted."""
    tables: tuple[FloatArray, ...]
    mean: FloatArray
    """Shape (k, m)."""
    class_weights: FloatArray

    @classmethod
    def of(cls, source: ScoreCounts, found: InfluenceTables) -> "InfluenceLookup":
        bins: Any = source.bins
        slots = tuple(bins.slots(column.bins) for column in source.columns)
        return cls(bins, slots, found.columns, found.mean, source.class_weights)

    @property
    def n_statistics(self) -> int:
        return int(self.mean.shape[1])

    def influences(self, batch: Batch, n_seen: int) -> FloatArray | None:
        """What each sample adds, shape (n, m); None where a score has a bin that was never counted."""
        found = np.zeros((len(batch), self.n_statistics))
        passes = passes_for((n_seen + len(batch)) * len(self.tables))
        for start in range(0, len(batch), _BLOCK):
            rows = slice(start, start + _BLOCK)
            for slots, table, column in zip(self.slots, self.tables, batch.columns, strict=True):
                if not passes.look_up(slots, table, self.bins, column[rows], batch.codes[rows], found[rows]):
                    return None
        found -= self.mean[batch.codes]
        found *= self.shares(batch)[:, None]
        return found

    def shares(self, batch: Batch) -> FloatArray:
        """Share of each sample in the weight of its class, shape (n,)."""
        weight = 1.0 if batch.weight is None else batch.weight
        share: FloatArray = weight / self.class_weights[batch.codes]
        return share
