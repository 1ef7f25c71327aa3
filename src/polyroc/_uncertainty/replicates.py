"""The statistics of the same predictions under other sample weights: what a bootstrap repeats.

A replicate is an evaluation with other weights, in which only one thing stays: the class counts, and with them how
far rates are shrunk (method, step 4).
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, get_args

import numpy as np
from scipy.special import expit

from polyroc._core import Prepared, Resources, get_engine
from polyroc._core.curve import (
    area_weights,
    areas_under,
    is_mean,
    mean_areas,
    partial_areas,
    shared_rates,
    with_corners,
)
from polyroc._core.memory import check_resampling_memory
from polyroc._core.samples import weighed
from polyroc._core.weights import pair_weights
from polyroc._inputs.options import Options
from polyroc._lib.grid import grid
from polyroc._lib.threads import Threads, threads_for
from polyroc._lib.typing import BoolArray, FloatArray, IntArray, Method, Statistic, Thresholds
from polyroc._lib.warnings import ResamplingWarning, warn
from polyroc._records import (
    Factorization,
    Frozen,
    PairIndex,
    PairWeights,
    PairwiseRates,
    Predictions,
    RankOneFits,
    Source,
    chosen_pairs,
)
from polyroc._uncertainty.units import Units, has_pair

# As many as are drawn where nobody says how many.
USUAL_RESAMPLES = 999

_ONE_CALL_RATE = np.array([0.5])


@dataclass(frozen=True, eq=False)
class Replicated(Frozen):
    """R replicates: the statistics, and both curves at the T points of the grid, without their corners."""

    auc: FloatArray
    hand_till: FloatArray
    mean_auc: FloatArray
    fpr: FloatArray
    tpr: FloatArray
    mean_fpr: FloatArray
    mean_tpr: FloatArray
    converged: BoolArray
    lost_class: BoolArray
    """Whether some class had no weight, so that its pairs were left out."""

    def partial_auc(self, max_fpr: float) -> FloatArray:
        """The standardised area left of `max_fpr` of each replicate, on the points of the grid, shape (R,)."""
        return partial_areas(*with_corners(self.fpr, self.tpr), max_fpr)

    @staticmethod
    def joined(parts: "list[Replicated]") -> "Replicated":
        """Several pieces as one."""
        names = [entry.name for entry in fields(Replicated)]
        columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return Replicated(**columns)


def replicate_bytes(n_call_rates: int) -> int:
    """Bytes that one replicate needs at most, both curves and the statistics, until it is part of a result."""
    # In double precision in the block in which it was drawn and in the array of all; in single precision in the result.
    return (8 + 8 + 4) * (4 * n_call_rates + 4)


class Replicates:
    """Evaluates the same predictions under other weights of the samples."""

    def __init__(
        self,
        prepared: Prepared,
        pairs: PairIndex,
        options: Options,
        n_resamples: int = USUAL_RESAMPLES,
        n_models: int = 1,
    ) -> None:
        source = prepared.samples
        self._predictions, self._pairs, self._options = source, pairs, options
        self._engine = get_engine(
            options.engine,
            source,
            n_pairs=len(pairs),
            n_thresholds=options.n_thresholds,
            repeats=n_resamples,
        )
        if self._engine.name != prepared.engine_name:
            prepared = self._engine.prepare(source, prepared.resources)
        # Replicates have a thread each.
        self._single = self._engine.prepare(source, Resources(n_jobs=1))
        self._weights = pair_weights(source, pairs, options)
        # Two classes have no fit; their curve is read at the call rates, as every pair's polygon is.
        self._is_fitted = not source.is_binary
        self._call_rates = grid(options.n_thresholds if self._is_fitted else Options().n_thresholds)
        self._thresholds: Thresholds = options.thresholds if self._is_fitted else "own"
        kinds: set[Thresholds] = {self._thresholds, "own"} if self._thresholds == "difference" else {self._thresholds}
        kept = n_models * sum(prepared.memory_to_reweigh(pairs, kind) for kind in kinds)
        each = replicate_bytes(len(self._call_rates))
        check_resampling_memory(prepared, n_resamples, each, kept, n_models=n_models)
        self._reweighed = prepared.reweigh(pairs, self._call_rates, self._thresholds)
        # M is that of the columns themselves, whatever ranks the pairs of D; one call rate is the least to be read.
        self._by_columns = prepared.reweigh(pairs, _ONE_CALL_RATE, "own") if self._thresholds == "difference" else None

    def __call__(self, weights: FloatArray) -> Replicated:
        """One replicate for each row of weights, shape (R, n), which multiply the samples' own."""
        own = self._predictions.sample_weight
        weights = weights if own is None else weights * own
        lost = self._loses_class(weights)
        if not lost.any():
            return self._of_all_classes(weights)
        parts = [
            self._of_some_classes(weight) if one_lost else self._of_all_classes(weight[None])
            for weight, one_lost in zip(weights, lost, strict=True)
        ]
        return Replicated.joined(parts)

    @property
    def at_once(self) -> int | None:
        """How many replicates the engine wants together; None where it makes them one by one."""
        return self._reweighed.at_once

    def on_threads(self, weights: FloatArray) -> Replicated:
        """The same for a few rows of weights, of large problems on a thread each."""
        if self.at_once is not None:
            return self(weights)
        with threads_for(self._predictions.n_samples * self._predictions.n_columns, self._options.n_jobs) as threads:
            return Replicated.joined(threads.map(self, [(weight[None],) for weight in weights]))

    def has_pair(self, kept: BoolArray) -> bool:
        """Whether some pair of classes is left when only these samples are kept."""
        return has_pair(self._predictions, self._pairs, kept)

    def _loses_class(self, weights: FloatArray) -> BoolArray:
        order, starts = self._by_class
        lost: BoolArray = np.any(np.add.reduceat(weights[:, order], starts, axis=1) <= 0, axis=1)
        return lost

    @cached_property
    def _by_class(self) -> tuple[IntArray, IntArray]:
        """The samples by class, and where each class that has some begins."""
        counts = self._predictions.class_counts
        return np.argsort(self._predictions.codes, kind="stable"), (np.cumsum(counts) - counts)[counts > 0]

    def _of_all_classes(self, weights: FloatArray) -> Replicated:
        if self._is_fitted and self._options.structure == "rank-one":
            fits = self._reweighed.fits(weights, self._weights, self._options.shrinkage)
            return self._replicated(fits, self._weights, self._hand_till(weights))
        parts = [
            self._one(*self._reweighed.rates(weight), self._weights, self._hand_till(weight[None]))
            for weight in weights
        ]
        return Replicated.joined(parts)

    def _hand_till(self, weights: FloatArray) -> FloatArray | None:
        """M of each replicate where the areas of its pairs are not those of M, shape (R,)."""
        if self._by_columns is None:
            return None
        return np.array([self._by_columns.rates(weight)[1].mean() for weight in weights])

    def _one(
        self,
        rates: PairwiseRates,
        areas: FloatArray,
        weights: PairWeights,
        hand_till: FloatArray | None,
        *,
        lost_class: bool = False,
    ) -> Replicated:
        """One replicate from its rates, with any structure; `hand_till` where it is not the mean of the areas."""
        area = np.array([areas.mean()])
        if not self._is_fitted:
            curve = (rates.fpr.T, rates.tpr.T)
            return Replicated(area, area, area, *curve, *curve, np.array([True]), np.array([lost_class]))
        options = self._options
        fit = self._single.fit(rates, weights, shrinkage=options.shrinkage, structure=options.structure)
        weighted = np.array([np.average(areas, weights=weights.tpr)])
        found = RankOneFits(fit.row_effects[None], area, weighted, fit.mean_rates[None], np.array([fit.converged]))
        return self._replicated(found, weights, hand_till, lost_class=lost_class)

    def _replicated(
        self, fits: RankOneFits, weights: PairWeights, hand_till: FloatArray | None, *, lost_class: bool = False
    ) -> Replicated:
        fpr, tpr = shared_rates(fits.row_effects)
        # A mean of rates that are all 0 or 1 may be beyond it by rounding.
        mean_tpr, mean_fpr = np.split(np.clip(fits.mean_rates, 0.0, 1.0), 2, axis=1)
        shares = area_weights(weights, self._options.thresholds)
        mean_auc = mean_areas(fits.mean_rates) if shares is None else fits.weighted_area
        return Replicated(
            auc=areas_under(fpr, tpr),
            hand_till=fits.mean_area if hand_till is None else hand_till,
            # The same numbers where they are the same statistic.
            mean_auc=fits.mean_area if is_mean(shares) else mean_auc,
            fpr=fpr[:, 1:-1],
            tpr=tpr[:, 1:-1],
            mean_fpr=mean_fpr,
            mean_tpr=mean_tpr,
            converged=fits.converged,
            lost_class=np.full(len(fits.converged), lost_class),
        )

    def _of_some_classes(self, weight: FloatArray) -> Replicated:
        """A replicate in which some classes have no weight: that of the other classes' pairs."""
        rest = weighed(self._predictions, weight)
        has_samples = rest.class_counts > 0
        held = has_samples[self._pairs.positive] & has_samples[self._pairs.negative]
        pairs = chosen_pairs(self._pairs, held)
        weights = PairWeights(self._weights.tpr[held], self._weights.fpr[held], self._weights.size[held])
        # Back to where the samples lie: by itself an engine would take the card of this thread, which is the first.
        prepared = self._engine.prepare(rest, Resources(n_jobs=1, device=self._predictions.device))
        rates, areas = (
            prepared.rates(pairs, self._call_rates, self._thresholds),
            prepared.areas(pairs, self._thresholds),
        )
        hand_till = None if self._by_columns is None else np.array([prepared.areas(pairs).mean()])
        return self._one(rates, areas, weights, hand_till, lost_class=True)


class ParametricReplicates:
    """The paper's own replicates: every rate drawn from a binomial distribution around its fitted value.

    Cells share samples, so that drawing them one by one is far too confident; docs/coverage.md states the coverage.
    It is here to reproduce the paper, and to be compared with.
    """

    def __init__(
        self,
        prepared: Prepared,
        pairs: PairIndex,
        options: Options,
        fit: Factorization,
        rates: PairwiseRates,
        method: Method,
        n_resamples: int,
    ) -> None:
        source = prepared.source
        self._options, self._call_rates = options, rates.call_rates
        check_resampling_memory(prepared, n_resamples, replicate_bytes(len(rates.call_rates)), 0)
        engine = get_engine(options.engine, source, n_pairs=len(pairs), repeats=USUAL_RESAMPLES)
        # Replicates have a thread each, and are fitted where the samples lie.
        device = source.device if isinstance(source, Predictions) else None
        self._fitter = engine.fitter(Resources(n_jobs=1, device=device))
        self._weights = pair_weights(source, pairs, options)
        # Row and pair effects multiply to the linear predictor, however they are scaled.
        self._mean = expit(fit.row_effects[:, None] * fit.pair_effects)
        self._sizes = _binomial_sizes(source, pairs, method)

    def __call__(self, rng: np.random.Generator) -> Replicated:
        """One replicate. M and the mean curve are not among what this model draws: their places hold nothing."""
        tpr_mean, fpr_mean = np.split(self._mean, 2)
        tpr_size, fpr_size = self._sizes
        drawn = PairwiseRates(
            rng.binomial(tpr_size, tpr_mean) / tpr_size,
            rng.binomial(fpr_size, fpr_mean) / fpr_size,
            self._call_rates,
        )
        fit = self._fitter.fit(drawn, self._weights, shrinkage=self._options.shrinkage, structure="rank-one")
        fpr, tpr = shared_rates(fit.row_effects[None])
        auc: FloatArray = areas_under(fpr, tpr)
        nothing, no_curve = np.full(1, np.nan), np.full((1, 0), np.nan)
        return Replicated(
            auc,
            nothing,
            nothing,
            fpr[:, 1:-1],
            tpr[:, 1:-1],
            no_curve,
            no_curve,
            np.array([fit.converged]),
            np.array([False]),
        )


def _binomial_sizes(source: Source, pairs: PairIndex, method: Method) -> tuple[IntArray, IntArray]:
    """Trials behind each pair's true and false positive rates: the paper's n_i n_j for both, or n_i and n_j."""
    counts = np.maximum(np.rint(source.effective_counts), 1).astype(np.int64)
    positive, negative = counts[pairs.positive], counts[pairs.negative]
    if method == "parametric-pairs":
        return positive * negative, positive * negative
    return positive, negative


# About this many evaluations at most. The skewness of the influences, which is what they are for, is the same in
# expectation for sums over blocks of samples as for single ones.
_MANY_BLOCKS = 500
_AT_ONCE = 16


def jackknife_influences(replicates: Replicates, units: Units, n_jobs: int | None) -> FloatArray:
    """What each block of units adds to each statistic, shape (3, n_blocks)."""
    block = _blocks(units)
    n_blocks = int(block.max()) + 1
    usable = np.array([replicates.has_pair(block[units.unit] != b) for b in range(n_blocks)])
    if not usable.all():
        what = (
            f"Without {n_blocks - np.count_nonzero(usable)} of {n_blocks} groups no pair of classes is left to compare"
        )
        warn(f"{what}. The acceleration of BCa leaves out these groups.", ResamplingWarning)
    return _influences(replicates, units, block, usable, n_jobs)


def _influences(
    replicates: Replicates, units: Units, block: IntArray, usable: BoolArray, n_jobs: int | None
) -> FloatArray:
    def statistics(weights: FloatArray) -> FloatArray:
        found = replicates(weights)
        return np.array([getattr(found, statistic) for statistic in get_args(Statistic)])

    chosen = np.flatnonzero(usable)
    if len(chosen) == 0:  # nothing can be left out where each class has a single unit
        return np.empty((len(get_args(Statistic)), 0))

    def without(start: int) -> FloatArray:
        weights = block[units.unit] != chosen[start : start + _AT_ONCE, None]
        return statistics(weights.astype(np.float64))

    with Threads(n_jobs) as threads:
        left_out = np.hstack(threads.map(without, [(start,) for start in range(0, len(chosen), _AT_ONCE)]))
    # Without m of u units the statistic falls by their summed influence over u - m; u is the size of the stratum.
    stratum_of_block = np.zeros(len(usable), dtype=np.intp)
    stratum_of_block[block[block >= 0]] = units.stratum[block >= 0]
    u = np.bincount(units.stratum)[stratum_of_block][chosen]
    m = np.bincount(block[block >= 0], minlength=len(usable))[chosen]
    influences: FloatArray = (statistics(np.ones((1, len(units.unit)))) - left_out) * ((u - m) / u)
    return influences


def _blocks(units: Units) -> IntArray:
    """The block of each unit, within its stratum and at random; -1 where a stratum has one unit only."""
    rng = np.random.default_rng(0)
    size = -(-units.n_units // _MANY_BLOCKS)
    block = np.full(units.n_units, -1)
    n_blocks = 0
    for stratum in np.unique(units.stratum):
        members = rng.permutation(np.flatnonzero(units.stratum == stratum))
        count = min(len(members), max(2, len(members) // size))
        if len(members) > 1:
            block[members] = n_blocks + np.arange(len(members)) % count
            n_blocks += count
    return block
