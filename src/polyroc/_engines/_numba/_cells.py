"""PairwiseRates and PairWeights -> the cells of a compiled fit, and how many of its pairs are taken at a time.

T call rates, K pairs, R fitted rows of 2T: some of the true positive rates, then some of the false.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from polyroc._engines._cells import EDGE
from polyroc._engines._descent import ROUNDING, SINGLE_ROUNDING, SINGLE_TOLERANCE, Tolerance
from polyroc._engines._numba._fit import FAR, Data, add_row_means
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc._records import PairWeights, PairwiseRates, read_only

# A fit of more pairs than these begins where a fit of some of them ended: of a quarter of MEDIUM, or of CURVED. Beyond
# MANY the curvature of the rows, too, is that of CURVED pairs: it bends the steps a little, not where they lead.
MEDIUM_PAIRS, MANY_PAIRS, CURVED_PAIRS = 4_096, 32_768, 8_192

# Cells whose means are found in a millisecond or two.
_FEW_CELLS = 4_000_000


def size_of_first_fit(n_pairs: int, *, one_optimum: bool) -> int | None:
    """How many of the pairs are fitted first, to begin near the end; None where all begin alike."""
    if n_pairs > MANY_PAIRS:
        return CURVED_PAIRS
    return MEDIUM_PAIRS // 4 if n_pairs > MEDIUM_PAIRS and one_optimum else None


def pieces(n_pairs: int) -> list[tuple[int, int]]:
    """The pieces in which the pairs of a fit are swept."""
    # At most 32, twice as many as threads are common: a core that is slower, or busy, takes fewer. More would have more
    # gram matrices to add up. Below 512 pairs a sweep takes less than a millisecond. Of the pairs of a first, rough fit
    # each piece has fewer, so that there is work for 16 threads.
    return chunks(n_pairs, 128 if n_pairs < MEDIUM_PAIRS else 256, 32) if n_pairs >= 512 else [(0, n_pairs)]


@dataclass(frozen=True, eq=False)
class Cells:
    """What is fitted, as the kernels want it."""

    data: Data
    fitted: BoolArray
    """Which of the 2T rows have something to fit."""
    mean: FloatArray
    """Of all 2T rows."""

    @property
    def n_pairs(self) -> int:
        return len(self.data.tpr)

    @property
    def n_rows(self) -> int:
        """Rows that are fitted."""
        return len(self.data.mean)

    @property
    def precision(self) -> Any:
        return self.data.tpr.dtype

    @property
    def is_single(self) -> bool:
        return bool(self.precision == np.float32)

    @property
    def keeps_pairs(self) -> bool:
        """Whether the pairs are the smaller side, which is solved for."""
        return self.n_pairs <= self.n_rows

    @property
    def tolerance(self) -> Tolerance:
        return SINGLE_TOLERANCE if self.is_single else Tolerance()

    @property
    def rounding(self) -> float:
        return SINGLE_ROUNDING if self.is_single else ROUNDING

    @property
    def first_row(self) -> FloatArray:
        """Where each row begins if all pairs are alike: at the logit of its mean."""
        return np.asarray(logit(np.clip(self.mean[self.fitted], EDGE, 1 - EDGE)))


def cells_of(
    rates: PairwiseRates, weights: PairWeights, shrinkage: float, mean: FloatArray, *, far: float = FAR
) -> Cells:
    """The cells of a fit, given the means of all 2T rows."""
    n = rates.n_call_rates
    on_tpr, on_fpr = _interior(mean[:n]), _interior(mean[n:])
    fitted = np.zeros(2 * n, dtype=np.bool_)
    fitted[:n][on_tpr] = fitted[n:][on_fpr] = True
    tpr, fpr, doubled = _by_pairs(rates)
    data = Data(
        tpr=tpr,
        fpr=fpr,
        doubled=doubled,
        first_tpr=on_tpr.start,
        first_fpr=on_fpr.start,
        n_tpr=on_tpr.stop - on_tpr.start,
        curved=2**32 if rates.n_pairs <= MANY_PAIRS else 2**32 * CURVED_PAIRS // rates.n_pairs,
        on_tpr=weights.tpr,
        on_fpr=weights.fpr,
        on_row=np.tile(rates.row_weights, 2)[fitted].astype(tpr.dtype),
        keep=weights.size / (weights.size + shrinkage),
        mean=mean[fitted].astype(tpr.dtype),
        far=far,
    )
    return Cells(data, fitted, mean)


def row_means(rates: PairwiseRates, weights: PairWeights, threads: Threads) -> FloatArray:
    """The mean rate of each of the 2T rows."""
    # Few are done before a thread that helps has begun.
    parts = pieces(rates.n_pairs) if rates.tpr.size > _FEW_CELLS else [(0, rates.n_pairs)]
    sums = np.zeros((len(parts), 2 * rates.n_call_rates))
    by_pairs = (*_by_pairs(rates), weights.tpr, weights.fpr)
    threads.map(add_row_means, [(*by_pairs, *c, out) for c, out in zip(parts, sums, strict=True)])
    # Within a row omega_r of (weights) is the same everywhere and cancels.
    totals: FloatArray = np.repeat([weights.tpr.sum(), weights.fpr.sum()], rates.n_call_rates)
    means: FloatArray = sums.sum(axis=0) / totals
    return means


def _interior(mean: FloatArray) -> slice:
    """The rows of one kind of rate with something to fit: the means rise, so they lie together."""
    inside = np.flatnonzero((mean > EDGE) & (mean < 1 - EDGE))
    return slice(int(inside[0]), int(inside[-1]) + 1) if len(inside) else slice(0, 0)


def _by_pairs(rates: PairwiseRates) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The rates as the kernels want them: (K, T), FPR empty where it follows from TPR, and twice the call rates."""
    tpr = np.ascontiguousarray(rates.tpr.T)
    fpr = np.empty((0, 0), tpr.dtype) if rates.separate_fpr is None else np.ascontiguousarray(rates.separate_fpr.T)
    # Read-only always: numba would compile once more for arrays that may be written to.
    return read_only(tpr.view()), read_only(fpr.view()), (2 * rates.call_rates).astype(tpr.dtype)
