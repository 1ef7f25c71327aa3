"""The engine of graphics cards, which also runs on the CPU: scores stay where they are, and rates never leave there."""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

from polyroc._core.curvature import Curvature
from polyroc._core.engines import OnHost
from polyroc._core.gradient import Gradient
from polyroc._core.prepared import Engine, Resources
from polyroc._core.prepared import Reweighed as AnyReweighed
from polyroc._core.reference import Reweighed as HostReweighed
from polyroc._core.structures import centered, saturated
from polyroc._core.torch.adjoint import curvature_of
from polyroc._core.torch.cuts import Lines, cut, own_lines, shared_lines
from polyroc._core.torch.devices import (
    computing_on,
    device_of,
    free_bytes,
    go_on_after,
    grid_on,
    has_kernels,
    kernels,
    mark_on,
    on_host,
    pieces,
    precision_of,
    stream_of,
    uploaded,
)
from polyroc._core.torch.differences import Differences
from polyroc._core.torch.factorization import cell_bytes, fit_rank_one
from polyroc._core.torch.gradient import repeated_on, slopes_on
from polyroc._core.torch.influence import area_influences, sample_influences
from polyroc._core.torch.pairs import DevicePairs, pairs_on
from polyroc._core.torch.passes import areas_of, cut_own, polygons_at_once
from polyroc._core.torch.rates import TensorRates, on_device
from polyroc._core.torch.reweighed import Reweighed
from polyroc._core.torch.runs import Runs, Samples, sorted_runs, sorting_bytes
from polyroc._inputs.tensors import TensorPredictions
from polyroc._lib.typing import FloatArray, Structure, Thresholds
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Predictions

# Points that are cut at once in plain PyTorch: some twenty numbers of eight bytes each.
_CUTS_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class TorchFitter:
    """Fits on a device."""

    resources: Resources
    engine_name: ClassVar[str] = "torch"

    @cached_property
    def device(self) -> torch.device:
        return device_of(self.resources)

    def memory_for_cells(self, n_pairs: int, n_call_rates: int) -> int:
        """Bytes that the rates of pairs and their fit need."""
        return cell_bytes(n_pairs, n_call_rates, 8)

    def fit(
        self,
        rates: PairwiseRates,
        weights: PairWeights,
        *,
        shrinkage: float,
        structure: Structure,
        near: Factorization | None = None,
    ) -> Factorization:
        """The rank-one structure on the device; the others, which are for comparison, as the reference."""
        if structure == "saturated":
            return saturated(rates, weights, shrinkage)
        with computing_on(self.device, rates.n_pairs):
            found = fit_rank_one(on_device(rates, self.device), weights, shrinkage, near)
        return found if structure == "rank-one" else centered(rates, weights, shrinkage, found)

    def curvature(
        self, factorization: Factorization, rates: PairwiseRates, weights: PairWeights, shrinkage: float
    ) -> Curvature | None:
        """The cells at the end of a fit of many pairs, whose gradients stay on the device."""
        with computing_on(self.device, rates.n_pairs):
            return curvature_of(factorization, on_device(rates, self.device), weights, shrinkage)


_FitterT = TypeVar("_FitterT", bound=TorchFitter)


class _Sorted:
    """Room for the samples on the device and their sorted scores, filled when they are first needed."""

    def __init__(self) -> None:
        self.samples: Samples | None = None
        self.runs: Runs | None = None
        self.mark: torch.cuda.Event | None = None
        """After what is here was made, on a card: other threads may read it on other streams."""
        self.lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class TorchPrepared(TorchFitter, OnHost):
    """Samples on a device, and from the first question on their scores sorted by class and column."""

    _sorted: _Sorted = field(default_factory=_Sorted, repr=False)

    @cached_property
    def device(self) -> torch.device:
        """Where the scores are, if they are on a device already."""
        source = self.source
        if self.resources.device is None and isinstance(source, TensorPredictions):
            found: torch.device = source.tensors.scores.device
            return found
        return device_of(self.resources)

    @property
    def on_device(self) -> Samples:
        """The samples where they are computed with."""
        room = self._sorted
        with room.lock:
            if room.samples is None:
                room.samples = _samples_on(self.source, self.device)
                room.mark = mark_on(self.device)
            go_on_after(room.mark, self.device)
            return room.samples

    def runs(self, *, ordered: bool = False) -> Runs:
        """The sorted scores, with the sample at each place where that is asked for."""
        samples, room = self.on_device, self._sorted
        with room.lock:
            if room.runs is None or (ordered and room.runs.order is None):
                room.runs = sorted_runs(samples, ordered=ordered)
                room.mark = mark_on(self.device)
            go_on_after(room.mark, self.device)
            return room.runs

    def memory_available(self) -> int | None:
        """Bytes that can still be had on the device."""
        return free_bytes(self.device)

    def memory_needed(self, n_pairs: int, n_call_rates: int, thresholds: Thresholds = "own") -> int:
        """Bytes that rates and fit will need at most, in addition to the scores themselves."""
        n, n_columns, n_cells = self.source.n_samples, self.source.n_columns, 2 * n_pairs * n_call_rates
        dtype, is_there = _scores_of(self.source, self.device)
        size, precision = int(dtype.itemsize), int(precision_of(dtype, n_cells).itemsize)
        rates = 2 * precision if thresholds == "shared" else precision
        # Scores that come from the host, sorted ones, and which sample stands where and shares where there are weights.
        kept = ((1 if is_there else 2) * size + (12 if self.source.is_weighted else 0)) * n * n_columns
        return kept + sorting_bytes(n, n_columns, size) + cell_bytes(n_pairs, n_call_rates, rates)

    def memory_to_reweigh(self, pairs: PairIndex, thresholds: Thresholds) -> int:
        """Bytes that `reweigh` will keep: sorted scores, and which sample stands where."""
        if thresholds == "difference":  # which the reference sorts anew for each weight
            return 0
        size = int(_scores_of(self.source, self.device)[0].itemsize)
        return (size + 4) * self.source.n_samples * self.source.n_columns

    def rates(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> PairwiseRates:
        """Cut every pair's ROC polygon at the call rates."""
        with computing_on(self.device, len(pairs)):
            return self._rates(pairs, call_rates, thresholds)

    def _rates(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> PairwiseRates:
        if thresholds == "difference":
            return TensorRates(self._differences(pairs).rates(call_rates), None, call_rates)
        runs, listed = self.runs(), pairs_on(pairs, self.device)
        n_pairs, n_grid = len(pairs), len(call_rates)
        precision = precision_of(runs.values.dtype, 2 * n_pairs * n_grid)
        tpr = torch.empty((n_pairs, n_grid), dtype=precision, device=self.device)
        fpr = torch.empty_like(tpr) if thresholds == "shared" else None
        grid = grid_on(call_rates, self.device)
        if fpr is None:
            for start, stop in pieces(n_pairs, polygons_at_once(self.device, n_grid)):
                cut_own(runs, listed.part(start, stop), grid, tpr[start:stop])
        else:
            for start, stop in pieces(n_pairs, _CUTS_AT_ONCE // n_grid):
                found = cut(_lines(runs, listed, thresholds, start, stop), grid)
                tpr[start:stop], fpr[start:stop] = found.share[0], found.share[1]
        return TensorRates(tpr, fpr, call_rates)

    def score_thresholds(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> FloatArray:
        """The score at which every pair reaches every call rate, shape (T, K)."""
        with computing_on(self.device, len(pairs)):
            return self._score_thresholds(pairs, call_rates, thresholds)

    def _score_thresholds(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> FloatArray:
        if thresholds == "difference":
            return on_host(self._differences(pairs).thresholds(pairs_on(pairs, self.device), call_rates))
        runs, listed = self.runs(), pairs_on(pairs, self.device)
        # Slack for the rounding of shares: (0.7 + 0.1) / 2 is a little less than the 0.4 it reaches.
        grid = uploaded(call_rates - 1e-12, self.device)
        found = [
            on_host(cut(_lines(runs, listed, thresholds, start, stop), grid).score.T)
            for start, stop in pieces(len(pairs), _CUTS_AT_ONCE // len(call_rates))
        ]
        return np.concatenate(found, axis=1)

    def areas(self, pairs: PairIndex, thresholds: Thresholds = "own") -> FloatArray:
        """Mann-Whitney area of each pair, shape (K,)."""
        with computing_on(self.device, len(pairs)):
            return self._areas(pairs, thresholds)

    def _areas(self, pairs: PairIndex, thresholds: Thresholds) -> FloatArray:
        if thresholds == "difference":
            return on_host(self._differences(pairs).areas())
        listed = pairs_on(pairs, self.device)
        found = [
            areas_of(self.runs(), listed.part(start, stop))
            for start, stop in pieces(len(pairs), polygons_at_once(self.device, 1))
        ]
        return on_host(torch.cat(found))

    def areas_against_rest(self) -> FloatArray:
        """Area of each class against all the others, shape (k,)."""
        with computing_on(self.device, None):
            return on_host(areas_against_rest(self.runs(), self.source.class_weights))

    def _differences(self, pairs: PairIndex) -> Differences:
        return Differences(self.on_device, pairs_on(pairs, self.device))

    def influences(
        self,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        gradient: Gradient,
        *,
        least_reach: float = 0.0,
    ) -> FloatArray:
        """What each sample adds to each of m numbers, shape (m, n)."""
        with computing_on(self.device, len(pairs)):
            return self._influences(pairs, call_rates, thresholds, gradient, least_reach)

    def _influences(
        self,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        gradient: Gradient,
        least_reach: float,
    ) -> FloatArray:
        if thresholds == "difference":
            slopes = slopes_on(gradient, self.device)
            return on_host(self._differences(pairs).influences(call_rates, slopes, least_reach=least_reach))
        slopes, asked = slopes_on(gradient, self.device), (pairs_on(pairs, self.device), call_rates)
        is_own = thresholds == "own" and slopes.cell is None
        if is_own and has_kernels(self.device.type) and len(call_rates) <= kernels("sweep").MOST_CALL_RATES:
            passes = kernels("influence")
            found = passes.sample_influences(self.on_device, self.runs(), *asked, slopes, least_reach=least_reach)
        else:
            given = (self.on_device, self.runs(ordered=True), *asked)
            found = sample_influences(*given, thresholds, slopes, least_reach=least_reach)
        return on_host(found)

    def area_influences(self, pairs: PairIndex, share: FloatArray, thresholds: Thresholds = "own") -> FloatArray:
        """What each sample adds to weighted means of the areas, shape (..., n) from (..., K)."""
        with computing_on(self.device, len(pairs)):
            return self._area_influences(pairs, share, thresholds)

    def _area_influences(self, pairs: PairIndex, share: FloatArray, thresholds: Thresholds) -> FloatArray:
        shares = repeated_on(np.atleast_2d(share), self.device)
        asked = (pairs_on(pairs, self.device), shares)
        if thresholds == "difference":
            found = self._differences(pairs).area_influences(shares)
        elif has_kernels(self.device.type):
            found = kernels("influence").area_influences(self.on_device, self.runs(), *asked)
        else:
            found = area_influences(self.on_device, self.runs(ordered=True), *asked)
        return on_host(found).reshape(*share.shape[:-1], -1)

    def reweigh(self, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds) -> AnyReweighed:
        """Sort once; weights come later."""
        if thresholds == "difference":
            return HostReweighed(self.source, pairs, call_rates, thresholds)
        with computing_on(self.device, len(pairs)):
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


def _lines(runs: Runs, pairs: DevicePairs, thresholds: Thresholds, start: int, stop: int) -> Lines:
    positive, negative = pairs.positive[start:stop].long(), pairs.negative[start:stop].long()
    if thresholds == "shared":
        return shared_lines(runs, positive, negative)
    return own_lines(runs, positive, negative, pairs.column[start:stop].long())


def _settled(fitter: _FitterT) -> _FitterT:
    """The same, whose device is known: a thread that asks later has another current card."""
    fitter.device  # noqa: B018
    return fitter


class TorchEngine:
    """PyTorch, on a card or on the CPU."""

    name = "torch"

    def prepare(self, source: Any, resources: Resources) -> TorchPrepared:
        """Sorted when first asked."""
        return _settled(TorchPrepared(source, resources))

    def fitter(self, resources: Resources) -> TorchFitter:
        """What needs no source."""
        return _settled(TorchFitter(resources))


ENGINE: Engine = TorchEngine()


def areas_against_rest(runs: Runs, class_weights: FloatArray) -> torch.Tensor:
    """Area of each class against all the others, (k,): the mean of its areas by the weights of the others."""
    device, present = runs.device, torch.nonzero(runs.counts > 0)[:, 0]
    one, other = torch.meshgrid(present, present, indexing="ij")
    is_pair = one != other
    positive, negative = one[is_pair], other[is_pair]
    listed = DevicePairs(positive.to(torch.int32), negative.to(torch.int32), positive.to(torch.int32))
    found = [
        areas_of(runs, listed.part(start, stop)) for start, stop in pieces(len(positive), polygons_at_once(device, 1))
    ]
    area = torch.full((len(runs.counts),) * 2, torch.nan, dtype=torch.float64, device=device)
    area[positive, negative] = torch.cat(found)
    weight = uploaded(class_weights / class_weights.max(), device, torch.float64)
    is_there = ~area.isnan()
    # Without a pair a row has no weight: 0 / 0 is the NaN of a class without samples.
    return (area.nan_to_num() * weight).sum(1) / (is_there * weight).sum(1)
