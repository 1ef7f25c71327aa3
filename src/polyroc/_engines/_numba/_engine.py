"""The fast engine: one sort per class and column, one merge per pair, one pass over the cells per iteration."""

from functools import partial

import numpy as np

from polyroc._engines._numba import _fit as passes
from polyroc._engines._numba._class_sorted import WORTH_A_THREAD, class_sorted
from polyroc._engines._numba._contrasts import contrast_areas
from polyroc._engines._numba._problem import fit_rank_one, pieces
from polyroc._engines._numba._rates import add_areas, cut_own, cut_shared
from polyroc._engines._numba._reweighed import MOST_VERTICES, Reweighed
from polyroc._engines._numpy._areas import pairwise_areas as areas_by_columns
from polyroc._engines._numpy._engine import score_thresholds
from polyroc._engines._threads import Threads, chunks
from polyroc._lib._typing import FloatArray, Thresholds
from polyroc._records import PairIndex, PairwiseRates, Predictions

__all__ = [
    "contrast_areas",
    "fit_rank_one",
    "memory_needed",
    "memory_to_reweigh",
    "pairwise_areas",
    "pairwise_rates",
    "reweigh",
]

# Fits of more cells than this are done in single precision, for their memory.
SINGLE_CELLS = 2**24


def memory_needed(predictions: Predictions, n_pairs: int, n_call_rates: int) -> int:
    """Bytes that rates and fit will need at most, beside the scores themselves."""
    cells = 2 * n_call_rates * n_pairs
    weighted = 0 if predictions.sample_weight is None else 12 * predictions.scores.size
    # The side that is solved for: a gram matrix for each piece of the work and some for their sum, or cross terms.
    n_rows = 2 * n_call_rates
    n_pieces = len(pieces(n_pairs))
    rooms = 8 * passes.BLOCK * n_rows * n_pieces
    grams = (4 * n_pieces + 32) * n_rows**2 + rooms if n_pairs > n_rows else 32 * n_rows * n_pairs
    return predictions.scores.nbytes + weighted + (4 if cells > SINGLE_CELLS else 8) * cells + 128 * n_pairs + grams


def memory_to_reweigh(predictions: Predictions, pairs: PairIndex, thresholds: Thresholds) -> int:
    """Bytes that `reweigh` will keep: sorted scores, which sample stands where, and the paths of all pairs."""
    counts = predictions.class_counts
    vertices = int(counts[pairs.positive].sum() + counts[pairs.negative].sum())
    paths = 8 * vertices if thresholds == "own" and vertices <= MOST_VERTICES else 0
    return predictions.scores.nbytes + 4 * predictions.scores.size + paths


def pairwise_rates(
    predictions: Predictions,
    pairs: PairIndex,
    call_rates: FloatArray,
    thresholds: Thresholds,
    *,
    n_jobs: int | None = None,
) -> PairwiseRates:
    """Cut every pair's ROC polygon at the call rates."""
    precision = np.float32 if 2 * len(call_rates) * len(pairs) > SINGLE_CELLS else np.float64
    # By pairs, as they are made and fitted; the record shows them by call rates.
    tpr = np.empty((len(pairs), len(call_rates)), dtype=precision)
    fpr = np.empty_like(tpr) if thresholds == "shared" else None
    with Threads(n_jobs) as threads:
        runs = class_sorted(predictions, threads)
        tails = runs.tails(predictions.sample_weight, threads)
        asked = (runs.offsets, pairs.positive, pairs.negative)
        parts = _chunks_of_pairs(predictions, len(pairs))
        if thresholds == "shared":
            threads.map(cut_shared, [(runs.values, tails, *asked, call_rates, *part, tpr, fpr) for part in parts])
        else:
            own = (*asked, pairs.positive, call_rates)
            threads.map(cut_own, [(runs.values, tails, *own, *part, tpr) for part in parts])
    locate = partial(score_thresholds, predictions, pairs, call_rates, thresholds)
    return PairwiseRates(tpr.T, None if fpr is None else fpr.T, call_rates, locate)


def _chunks_of_pairs(predictions: Predictions, n_pairs: int) -> list[tuple[int, int]]:
    """Pieces in each of which the runs of some pairs are merged."""
    merged = 2 * predictions.n_samples // int(np.count_nonzero(predictions.class_counts))  # by a pair, in the mean
    return chunks(n_pairs, 1 + WORTH_A_THREAD // (2 * merged), 128)


def pairwise_areas(predictions: Predictions, pairs: PairIndex, *, n_jobs: int | None = None) -> FloatArray:
    """Mann-Whitney area of each pair, shape (K,)."""
    if predictions.is_binary:
        return areas_by_columns(predictions, pairs)
    areas = np.empty(len(pairs))
    with Threads(n_jobs) as threads:
        runs = class_sorted(predictions, threads)
        tails = runs.tails(predictions.sample_weight, threads)
        threads.map(
            add_areas,
            [
                (runs.values, tails, runs.offsets, pairs.positive, pairs.negative, pairs.positive, *task, areas)
                for task in _chunks_of_pairs(predictions, len(pairs))
            ],
        )
    return areas


def reweigh(
    predictions: Predictions,
    pairs: PairIndex,
    call_rates: FloatArray,
    thresholds: Thresholds,
    *,
    n_jobs: int | None = None,
) -> Reweighed:
    """Sort once; weights come later."""
    return Reweighed(predictions, pairs, call_rates, thresholds, n_jobs)
