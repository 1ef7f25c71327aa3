"""The statistic under many sample weights: sort once, then re-weigh. What a bootstrap repeats."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from polyroc._curve import shared_curve
from polyroc._options import Options
from polyroc._rates import grid
from polyroc._records import PairIndex, PairwiseRates, Predictions
from polyroc._typing import FloatArray
from polyroc._weights import pair_weights
from polyroc.engines._class_sorted import class_sorted
from polyroc.engines._numba import fit_replicate
from polyroc.engines._numba_paths import lay_paths, replicate_rates
from polyroc.engines._threads import Threads, chunks


class Replicates:
    """Evaluates the same predictions under other sample weights (own thresholds, rank-one model)."""

    def __init__(self, predictions: Predictions, pairs: PairIndex, options: Options) -> None:
        self._pairs, self._options = pairs, options
        with Threads(options.n_jobs) as threads:
            self._runs = class_sorted(predictions, threads, ordered=True)
            sizes = predictions.class_counts[pairs.positive] + predictions.class_counts[pairs.negative]
            self._begins = np.concatenate([[0], np.cumsum(sizes)])
            self._path = np.empty((self._begins[-1], 2), dtype=np.int32)
            self._sizes = np.empty(len(pairs), dtype=np.int64)
            runs = (self._runs.values, self._runs.offsets, pairs.positive, pairs.negative, self._begins)
            tasks = [(*runs, *task, self._path, self._sizes) for task in chunks(len(pairs), 8, 64)]
            threads.map(lay_paths, tasks)
        # In a replicate the class counts stay what they are, and with them how much rates are shrunk.
        self._weights = pair_weights(predictions, pairs, options)
        self._n_classes, self._n_samples = len(predictions.labels), predictions.n_samples

    def rates(self, weight: FloatArray, precision: type[np.floating[Any]] = np.float32) -> PairwiseRates:
        """Rates of all pairs under these weights of the samples."""
        n_grid = self._options.n_thresholds
        # Single precision: its 1e-7 is nothing beside what resampling moves.
        tpr, fpr = np.empty((2, len(self._pairs), n_grid), dtype=precision)
        shares = np.empty((self._n_classes, self._n_samples + self._n_classes))
        replicate_rates(
            self._runs.order,
            weight,
            self._runs.offsets,
            self._pairs.positive,
            self._pairs.negative,
            self._begins,
            self._sizes,
            self._path,
            shares,
            tpr,
            fpr,
        )
        return PairwiseRates(tpr.T, fpr.T, grid(n_grid), _no_thresholds)

    def auc(self, weight: FloatArray, precision: type[np.floating[Any]] = np.float32) -> float:
        """The area under these weights of the samples."""
        rates = self.rates(weight, precision)
        return shared_curve(fit_replicate(rates, self._weights, self._options.shrinkage)).auc

    def aucs(self, weights: Iterable[FloatArray]) -> FloatArray:
        """The areas under each of several weights, on as many threads as the options say."""
        with Threads(self._options.n_jobs) as threads:
            return np.array(threads.map(self.auc, [(weight,) for weight in weights]))


def _no_thresholds() -> FloatArray:
    msg = "Replicates do not know the scores at which call rates are reached."
    raise NotImplementedError(msg)
