"""The engine of graphics cards, which also runs on the CPU: scores stay where they are, and rates never leave there."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import torch

from polyroc._core.adjoint import Curvature, Gradient
from polyroc._core.engines import Engine
from polyroc._core.engines import Reweighed as AnyReweighed
from polyroc._core.reference import NumpyFitter, NumpyPrepared
from polyroc._core.reference import Reweighed as HostReweighed
from polyroc._core.torch.devices import (
    computing_on,
    device_of,
    free_bytes,
    go_on_after,
    mark_on,
    on_host,
    pieces,
    precision_of,
    stream_of,
    uploaded,
)
from polyroc._core.torch.differences import Differences
from polyroc._core.torch.factorization import cell_bytes, cells_of, curvature_of, effects_of, fit_rank_one
from polyroc._core.torch.fit import fit_cells
from polyroc._core.torch.passes import Passes, passes_on
from polyroc._core.torch.records import TensorRates, all_pairs, pairs_on, rates_on, repeated_on, slopes_on, weights_on
from polyroc._core.torch.runs import Runs, Samples, cut_lines, lines_of, sorted_runs, sorting_bytes
from polyroc._inputs.tensors import TensorPredictions
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Predictions, RankOneFits

# Points whose scores are looked up at once: some twenty numbers of eight bytes each.
_POINTS_AT_ONCE = 2**22
# Replicates that are drawn and fitted together at most: beyond it the host has nothing to draw meanwhile.
_MOST_AT_ONCE = 128
# Numbers of single precision that a replicate needs for each cell of a fit: rates, cross terms and what they become.
_NUMBERS_PER_CELL = 6

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def _on_device(method: MethodT) -> MethodT:
    """A question about pairs, answered on the device; if its memory is short, with their number."""

    @wraps(method)
    def answered(self: "TorchPrepared", pairs: PairIndex, *args: Any, **options: Any) -> Any:
        with computing_on(self.device, len(pairs)):
            return method(self, pairs, *args, **options)

    return cast("MethodT", answered)


@dataclass(frozen=True, eq=False)
class TorchFitter(NumpyFitter):
    """Fits on a device."""

    engine_name: ClassVar[str] = "torch"

    def __post_init__(self) -> None:
        self.device  # noqa: B018 -- asked for here: a thread that asks later has another current card

    @cached_property
    def device(self) -> torch.device:
        return device_of(self.resources)

    def memory_for_cells(self, n_pairs: int, n_call_rates: int) -> int:
        """Bytes that the rates of pairs and their fit need."""
        return cell_bytes(n_pairs, n_call_rates, 8)

    def rank_one(
        self, rates: PairwiseRates, weights: PairWeights, shrinkage: float, near: Factorization | None
    ) -> Factorization:
        """The rank-one structure on the device."""
        with computing_on(self.device, rates.n_pairs):
            return fit_rank_one(rates_on(rates, self.device), weights, shrinkage, near)

    def curvature(
        self, factorization: Factorization, rates: PairwiseRates, weights: PairWeights, shrinkage: float
    ) -> Curvature | None:
        """The cells at the end of a fit of many pairs, whose gradients stay on the device."""
        with computing_on(self.device, rates.n_pairs):
            return curvature_of(factorization, rates_on(rates, self.device), weights, shrinkage)


class _Sorted:
    """The samples on the device and their sorted scores, made when they are first needed."""

    def __init__(self) -> None:
        self.samples: Samples | None = None
        self.runs: Runs | None = None
        self.mark: torch.cuda.Event | None = None
        """After what is here was made, on a card: other threads may read it on other streams."""
        self.lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class TorchPrepared(TorchFitter, NumpyPrepared):
    """Samples on a device, and from the first question on their scores sorted by class and column."""

    _sorted: _Sorted = field(default_factory=_Sorted, repr=False)

    @cached_property
    def device(self) -> torch.device:
        """The device of the scores, if they are on one already."""
        if self.resources.device is None and isinstance(self.source, TensorPredictions):
            return cast("torch.device", self.source.tensors.scores.device)
        return device_of(self.resources)

    @property
    def _passes(self) -> Passes:
        return passes_on(self.device.type)

    @property
    def on_device(self) -> Samples:
        """The samples on the device."""
        made = self._sorted
        with made.lock:
            if made.samples is None:
                made.samples = _samples_on(self.source, self.device)
                made.mark = mark_on(self.device)
            go_on_after(made.mark, self.device)
            return made.samples

    def runs(self, *, ordered: bool = False) -> Runs:
        """The sorted scores, with the sample at each place if `ordered`."""
        samples, made = self.on_device, self._sorted
        with made.lock:
            if made.runs is None or (ordered and made.runs.order is None):
                made.runs = sorted_runs(samples, self._passes, ordered=ordered)
                made.mark = mark_on(self.device)
            go_on_after(made.mark, self.device)
            return made.runs

    def memory_available(self) -> int | None:
        """Bytes that can still be had on the device."""
        return free_bytes(self.device)

    def memory_needed(self, n_pairs: int, n_call_rates: int, thresholds: Thresholds = "own") -> int:
        """Bytes that rates and fit will need at most, in addition to the scores themselves."""
        n, n_columns, n_cells = self.source.n_samples, self.source.n_columns, 2 * n_pairs * n_call_rates
        dtype, is_there = _scores_of(self.source, self.device)
        size, precision = int(dtype.itemsize), int(precision_of(dtype, n_cells).itemsize)
        rates = 2 * precision if thresholds == "shared" else precision
        # Scores that come from the host, sorted ones, and with weights the sample at each place and shares.
        kept = ((1 if is_there else 2) * size + (12 if self.source.is_weighted else 0)) * n * n_columns
        return kept + sorting_bytes(n, n_columns, size) + cell_bytes(n_pairs, n_call_rates, rates)

    def memory_to_reweigh(self, pairs: PairIndex, thresholds: Thresholds) -> int:
        """Bytes that `reweigh` will keep: sorted scores, and the sample at each place."""
        if thresholds == "difference":  # which the reference sorts anew for each weight
            return 0
        size = int(_scores_of(self.source, self.device)[0].itemsize)
        return (size + 4) * self.source.n_samples * self.source.n_columns

    @_on_device
    def rates(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> PairwiseRates:
        """Cut every pair's ROC polygon at the call rates."""
        if thresholds == "difference":
            return TensorRates(Differences(self.on_device, pairs).rates(call_rates), None, call_rates)
        runs, shape = self.runs(), (len(pairs), len(call_rates))
        precision = precision_of(runs.values.dtype, 2 * len(pairs) * len(call_rates))
        tpr = torch.empty(shape, dtype=precision, device=self.device)
        fpr = torch.empty_like(tpr) if thresholds == "shared" else None
        self._passes.cut(runs, pairs_on(pairs, self.device), uploaded(call_rates, self.device), tpr, fpr)
        return TensorRates(tpr, fpr, call_rates)

    @_on_device
    def score_thresholds(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> FloatArray:
        """The score at which every pair reaches every call rate, shape (T, K)."""
        if thresholds == "difference":
            return on_host(Differences(self.on_device, pairs).thresholds(call_rates))
        runs, listed = self.runs(), pairs_on(pairs, self.device)
        # Slack for the rounding of shares: (0.7 + 0.1) / 2 is a little less than the 0.4 it reaches.
        grid, scores = uploaded(call_rates - 1e-12, self.device), []
        for part in pieces(len(pairs), _POINTS_AT_ONCE // len(call_rates)):
            lines = lines_of(runs, listed.part(*part), is_shared=thresholds == "shared")
            scores.append(on_host(cut_lines(lines, grid).score.T))
        return np.concatenate(scores, axis=1)

    @_on_device
    def areas(self, pairs: PairIndex, thresholds: Thresholds = "own") -> FloatArray:
        """Mann-Whitney area of each pair, shape (K,)."""
        if thresholds == "difference":
            return on_host(Differences(self.on_device, pairs).areas())
        return on_host(self._passes.areas(self.runs(), pairs_on(pairs, self.device)))

    def areas_against_rest(self) -> FloatArray:
        """Area of each class against all the others, shape (k,)."""
        with computing_on(self.device, None):
            return on_host(areas_against_rest(self.runs(), self._passes, self.source.class_weights))

    @_on_device
    def influences(
        self,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        gradient: Gradient,
        *,
        least_reach: float = 0.0,
    ) -> FloatArray:
        """Influences of the samples on each of m numbers, shape (m, n)."""
        slopes = slopes_on(gradient, self.device)
        if thresholds == "difference":
            by_difference = Differences(self.on_device, pairs)
            return on_host(by_difference.influences(call_rates, slopes, least_reach=least_reach))
        given = (self.on_device, self.runs, pairs_on(pairs, self.device), call_rates, thresholds, slopes)
        return on_host(self._passes.influences(*given, least_reach=least_reach))

    @_on_device
    def area_influences(self, pairs: PairIndex, share: FloatArray, thresholds: Thresholds = "own") -> FloatArray:
        """Influences of the samples on weighted means of the areas, shape (..., n) from (..., K)."""
        shares = repeated_on(np.atleast_2d(share), self.device)
        if thresholds == "difference":
            psi = Differences(self.on_device, pairs).area_influences(shares)
        else:
            psi = self._passes.area_influences(self.on_device, self.runs, pairs_on(pairs, self.device), shares)
        return on_host(psi).reshape(*share.shape[:-1], -1)

    @_on_device
    def reweigh(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> AnyReweighed:
        """Sort once; weights come later."""
        if thresholds == "difference":
            return HostReweighed(self.source, pairs, call_rates, thresholds)
        return Reweighed(self.runs(ordered=True), pairs, call_rates, thresholds, stream_of(self.device))


def _scores_of(source: Predictions, device: torch.device) -> tuple[torch.dtype, bool]:
    """The type of the scores, and whether they are on the device: asked before anything is sent there."""
    if isinstance(source, TensorPredictions):
        scores = source.tensors.scores
        return scores.dtype, scores.device == device
    return torch.float32 if source.scores.dtype == np.float32 else torch.float64, False


def _samples_on(source: Predictions, device: torch.device) -> Samples:
    counts = torch.from_numpy(np.array(source.class_counts, dtype=np.int64))
    if isinstance(source, TensorPredictions) and source.tensors.scores.device == device:
        return Samples(*source.tensors, counts)
    weight = source.sample_weight
    return Samples(
        scores=uploaded(source.scores, device),
        codes=uploaded(source.codes, device, torch.int64),
        weight=None if weight is None else uploaded(weight, device, torch.float64),
        counts=counts,
    )


def areas_against_rest(runs: Runs, passes: Passes, class_weights: FloatArray) -> torch.Tensor:
    """Area of each class against all the others, (k,): the mean of its areas by the weights of the others."""
    pairs = all_pairs(torch.nonzero(runs.counts > 0)[:, 0].to(torch.int32))
    area = torch.full((len(runs.counts),) * 2, torch.nan, dtype=torch.float64, device=runs.device)
    area[pairs.positive.long(), pairs.negative.long()] = passes.areas(runs, pairs)
    weight = uploaded(class_weights / class_weights.max(), runs.device, torch.float64)
    is_there = ~area.isnan()
    # Without a pair a row has no weight: 0 / 0 is the NaN of a class without samples.
    return (area.nan_to_num() * weight).sum(1) / (is_there * weight).sum(1)


@dataclass(frozen=True, eq=False)
class Reweighed:
    """Classes sorted once, then read and fitted under many sample weights at a time."""

    runs: Runs
    pairs: PairIndex
    call_rates: FloatArray
    thresholds: Thresholds
    stream: torch.cuda.Stream | None
    """The stream on which a card was told to sort: threads that draw weights go on there, after the sorting."""
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Weights are drawn on threads, but the memory of the device is for one batch at a time."""

    @property
    def at_once(self) -> int:
        """How many replicates should be asked for together."""
        n_columns, n = self.runs.values.shape
        cells = 2 * len(self.call_rates) * len(self.pairs)
        each = 4 * _NUMBERS_PER_CELL * cells + 8 * n_columns * n + 8 * n
        free = free_bytes(self.runs.device)
        return _MOST_AT_ONCE if free is None else max(1, min(_MOST_AT_ONCE, free // (4 * each)))

    @property
    def _computing(self) -> computing_on:
        return computing_on(self.runs.device, len(self.pairs), self.stream)

    def rates(self, weight: FloatArray) -> tuple[PairwiseRates, FloatArray]:
        """Rates and areas of all pairs under these weights."""
        with self._turn, self._computing:
            return self._rates(weight)

    def _rates(self, weight: FloatArray) -> tuple[TensorRates, FloatArray]:
        tpr, fpr, areas = self._read(np.asarray(weight)[None], torch.float64)
        return TensorRates(tpr[0], None if fpr is None else fpr[0], self.call_rates), on_host(areas[0])

    def fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        """The rank-one structure under each of several weights, in single precision.

        Its 1e-7 is nothing compared with what resampling moves. A fit that does not converge is done again in double.
        """
        size = self.at_once
        parts = [self._fits(weights[start:stop], pair_weights, shrinkage) for start, stop in pieces(len(weights), size)]
        return RankOneFits(*(np.concatenate(one) for one in zip(*parts, strict=True)))

    def _fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> tuple[Any, ...]:
        with self._turn, self._computing:
            effects, *others, converged = self._fitted(weights, pair_weights, shrinkage)
        for r in np.flatnonzero(~converged):
            with self._turn, self._computing:
                effects[r], converged[r] = self._fitted_again(weights[r], pair_weights, shrinkage)
        return effects, *others, converged

    def _fitted(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> tuple[Any, ...]:
        """The fields of `RankOneFits`."""
        tpr, fpr, areas = self._read(weights, torch.float32)
        on_device = weights_on(pair_weights, self.runs.device)
        cells, means = cells_of(tpr, fpr, self.call_rates, on_device, shrinkage)
        ended = fit_cells(cells, one_optimum=self.thresholds != "shared")
        share = on_device.tpr / on_device.tpr.sum()
        numbers = (effects_of(cells, ended, means)[0], areas.mean(1), (areas * share).sum(1).clamp(max=1), means)
        return *(on_host(one) for one in numbers), np.array(ended.converged)

    def _fitted_again(self, weight: FloatArray, pair_weights: PairWeights, shrinkage: float) -> tuple[FloatArray, bool]:
        """Row effects, and whether the fit converged, in double precision."""
        fit = fit_rank_one(self._rates(weight)[0], pair_weights, shrinkage)
        return fit.row_effects, fit.converged

    def _read(
        self, weights: FloatArray, precision: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        """TPR and, if it is stored, FPR, (B, K, T), and areas (B, K), under each of several weights."""
        runs, device, passes = self.runs, self.runs.device, passes_on(self.runs.device.type)
        tails = passes.tails(runs, uploaded(weights, device, torch.float64)).flatten(1)
        listed, shape = pairs_on(self.pairs, device), (len(weights), len(self.pairs), len(self.call_rates))
        tpr = torch.empty(shape, dtype=precision, device=device)
        fpr = torch.empty_like(tpr) if self.thresholds == "shared" else None
        passes.cut(runs, listed, uploaded(self.call_rates, device), tpr, fpr, tails)
        return tpr, fpr, passes.areas(runs, listed, tails)


ENGINE = Engine("torch", lambda source, resources: TorchPrepared(resources, source), TorchFitter)
