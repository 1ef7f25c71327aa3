"""Replicates on a device: classes sorted once, then read and fitted under many sample weights at a time."""

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from polyroc._core.torch.cuts import Lines, cut, shared_lines
from polyroc._core.torch.devices import computing_on, free_bytes, grid_on, on_host, pieces, uploaded
from polyroc._core.torch.factorization import cells_of, effects_of, fit_rank_one
from polyroc._core.torch.fit import fit_cells
from polyroc._core.torch.pairs import DevicePairs, pairs_on, weights_on
from polyroc._core.torch.passes import areas_of, cut_own, polygons_at_once
from polyroc._core.torch.rates import TensorRates
from polyroc._core.torch.runs import Runs, tails_of
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import PairIndex, PairWeights, PairwiseRates, RankOneFits

# Replicates that are drawn and fitted together at most: beyond it the host has nothing to draw meanwhile.
_MOST_AT_ONCE = 128
# Numbers of single precision that a replicate needs for each cell of a fit: rates, cross terms and what they become.
_NUMBERS_PER_CELL = 6


@dataclass(frozen=True, eq=False)
class Reweighed:
    """Runs whose samples are weighed again and again."""

    runs: Runs
    pairs: PairIndex
    call_rates: FloatArray
    thresholds: Thresholds
    stream: torch.cuda.Stream | None
    """Where a card was told to sort: threads that draw weights go on there, and not before the sorting is done."""
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
        found = TensorRates(tpr[0], None if fpr is None else fpr[0], self.call_rates)
        return found, on_host(areas[0])

    def fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        """The rank-one structure under each of several weights, in single precision.

        Its 1e-7 is nothing compared with what resampling moves. A fit that does not converge is done again in double.
        """
        size = self.at_once
        parts = [self._fits(weights[start:stop], pair_weights, shrinkage) for start, stop in pieces(len(weights), size)]
        if len(parts) == 1:
            return parts[0]
        names = ("row_effects", "mean_area", "weighted_area", "mean_rates", "converged")
        return RankOneFits(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def _fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        with self._turn, self._computing:
            effects, mean_area, weighted_area, mean_rates, converged = self._fitted(weights, pair_weights, shrinkage)
        for r in np.flatnonzero(~converged):
            with self._turn, self._computing:
                effects[r], converged[r] = self._fitted_again(weights[r], pair_weights, shrinkage)
        return RankOneFits(effects, mean_area, weighted_area, mean_rates, converged)

    def _fitted(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> tuple[Any, ...]:
        """Effects, mean areas, weighted ones, mean rates, and which fits converged."""
        tpr, fpr, areas = self._read(weights, torch.float32)
        on_device = weights_on(pair_weights, self.runs.device)
        cells, means = cells_of(tpr, fpr, self.call_rates, on_device, shrinkage)
        ended = fit_cells(cells, one_optimum=self.thresholds != "shared")
        effects = on_host(effects_of(cells, ended, means)[0])
        share = on_device.tpr / on_device.tpr.sum()
        mean_area, weighted_area = on_host(areas.mean(1)), on_host((areas * share).sum(1).clamp(max=1))
        mean_rates = on_host(means)
        return effects, mean_area, weighted_area, mean_rates, np.array(ended.converged)

    def _fitted_again(self, weight: FloatArray, pair_weights: PairWeights, shrinkage: float) -> tuple[FloatArray, bool]:
        """Row effects, and whether the fit converged, in double precision."""
        found = fit_rank_one(self._rates(weight)[0], pair_weights, shrinkage)
        return found.row_effects, found.converged

    def _read(
        self, weights: FloatArray, precision: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        """TPR and, where it is stored, FPR, (B, K, T), and areas (B, K), under each of several weights."""
        runs, device = self.runs, self.runs.device
        n_weighings, n_pairs, n_grid = len(weights), len(self.pairs), len(self.call_rates)
        tails = tails_of(runs, uploaded(weights, device, torch.float64)).flatten(1)
        grid, listed = grid_on(self.call_rates, device), pairs_on(self.pairs, device)
        tpr = torch.empty((n_weighings, n_pairs, n_grid), dtype=precision, device=device)
        fpr = torch.empty_like(tpr) if self.thresholds == "shared" else None
        areas = torch.empty((n_weighings, n_pairs), dtype=torch.float64, device=device)
        size = polygons_at_once(device, n_grid)
        for start, stop in pieces(n_pairs, size):
            some = listed.part(start, stop)
            areas[:, start:stop] = areas_of(runs, some, tails)
            if fpr is None and stop - start == n_pairs:
                cut_own(runs, some, grid, tpr, tails)
                continue
            for b in range(n_weighings):
                if fpr is None:
                    cut_own(runs, some, grid, tpr[b, start:stop], tails[b])
                else:
                    found = cut(_shared_lines(runs, some, tails[b]), grid)
                    tpr[b, start:stop], fpr[b, start:stop] = found.share[0], found.share[1]
        return tpr, fpr, areas


def _shared_lines(runs: Runs, pairs: DevicePairs, tails: torch.Tensor) -> Lines:
    return shared_lines(runs, pairs.positive.long(), pairs.negative.long(), tails=tails)
