"""How far bins can have moved D and M: what counts know of their own error."""

from dataclasses import dataclass, replace

import numpy as np

from polyroc._engines._counted import CountedPrepared, by_positive
from polyroc._engines._gradient import Gradient
from polyroc._lib._typing import FloatArray
from polyroc._records import ColumnCounts, PairIndex, PairwiseRates, ScoreCounts

# Bins of half the width leave a quarter of the error: what halving them changed is three times what is left.
_LEFT = 3.0


@dataclass(frozen=True)
class BinningError:
    """What an evaluation of counted scores owes to its bins."""

    hand_till: float
    """At most this much is M off: half the share of comparisons that are made within a bin."""
    auc: float
    """About this much is D off, to first order, by what bins twice as wide would change."""


def binning_error(
    prepared: CountedPrepared, pairs: PairIndex, rates: PairwiseRates, gradient: Gradient | None
) -> BinningError:
    """The bound of M, and the first-order estimate of D by its gradient; of two classes, D has the bound of M."""
    bound = hand_till_bound(prepared, pairs)
    # Without bins of several scores, counts say all that samples do.
    if gradient is None or bound == 0:
        return BinningError(bound, bound)
    wider = CountedPrepared(wider_bins(prepared.source), prepared.fitter)
    other = wider.rates(pairs, rates.call_rates, "own" if rates.separate_fpr is None else "shared")
    moved = _along(gradient, pairs, other.tpr - rates.tpr, other.fpr - rates.fpr)
    # One part has the same sign everywhere; the other is luck, and differs from call rate to call rate.
    estimate = np.hypot(moved.sum() / _LEFT, np.linalg.norm(moved))
    return BinningError(bound, float(max(estimate, _within_lone_bins(prepared.source, pairs))))


def hand_till_bound(prepared: CountedPrepared, pairs: PairIndex) -> float:
    """At most this much is M off: half the share of comparisons that are made within a bin of several scores."""
    return float(np.mean(prepared.shares_within_bins(pairs))) / 2


def _within_lone_bins(source: ScoreCounts, pairs: PairIndex) -> float:
    """About this much is M off by bins without a neighbour, in which twice as wide bins change nothing.

    Errors of the bins of a column have either sign, so their squares are added.
    """
    found = 0.0
    for i, of_class in by_positive(pairs):
        column = source.columns[int(pairs.column[of_class[0]])]
        steps = np.diff(source.bins.coarser(column.bins)) != 0
        is_lone = np.r_[True, steps] & np.r_[steps, True] & ~column.is_tie
        rise = np.diff(column.shares(), axis=0)[is_lone]
        found += float(np.linalg.norm(rise[:, i] * rise[:, pairs.negative[of_class]].sum(axis=1)))
    return found / len(pairs) / 2


def _along(gradient: Gradient, pairs: PairIndex, tpr: FloatArray, fpr: FloatArray) -> FloatArray:
    """What D changes with the rates, shape (T, K) each, to first order: by call rate and positive class, shape (T, k).

    Pairs of one positive class are cut in the same column, where the same samples are out of order.
    """
    cells = np.stack([tpr * gradient.tpr, fpr * gradient.fpr])
    if gradient.cell is not None:
        cells *= gradient.cell.reshape(cells.shape)
    rows = gradient.row[0].reshape(len(gradient.row[0]), *cells.shape[:2])
    by_pair = np.einsum("qst,stj,qj->tj", rows, cells, gradient.pair[0], optimize=True)
    columns, place = np.unique(pairs.positive, return_inverse=True)
    found = np.zeros((len(by_pair), len(columns)))
    np.add.at(found.T, place, by_pair.T)
    return found


def wider_bins(source: ScoreCounts) -> ScoreCounts:
    """The same counts in bins twice as wide."""
    columns = []
    for column in source.columns:
        index = source.bins.coarser(column.bins)
        first = np.flatnonzero(np.concatenate([[True], index[1:] != index[:-1]]))
        is_tie = column.is_tie[first] & (np.diff(np.r_[first, len(index)]) == 1)
        columns.append(ColumnCounts(index[first], np.add.reduceat(column.weight, first, axis=0), is_tie))
    return replace(source, columns=tuple(columns))
