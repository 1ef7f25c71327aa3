"""Whether bins can distinguish scores: a warning with what helps, and an error before a wrong number leaves."""

import math
from dataclasses import dataclass, replace

import numpy as np

from polyroc._core.adjoint import Gradient
from polyroc._counts.bins import ScoreBins
from polyroc._counts.counted import CountedPrepared, by_positive
from polyroc._inputs.checks import InputError
from polyroc._lib.numbers import first_digit_up
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import warn
from polyroc._records import ColumnCounts, PairIndex, PairwiseRates, ScoreCounts

# Bins of half the width leave a quarter of the error: what halving them changed is three times what is left.
_LEFT = 3.0


@dataclass(frozen=True)
class BinningError:
    """What an evaluation of counted scores owes to its bins.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> accumulator = polyroc.RocAccumulator(range(10))
    >>> accumulator.update(example.y_true, example.scores["logistic"])
    >>> error = accumulator.compute().binning_error
    >>> error.hand_till < 0.001, error.auc < 0.001
    (True, True)
    """

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


# From here on bins can change the third digit of M; and from here on M would say little.
_WARNED, _REFUSED = 0.001, 0.05
RULE_OF_BINS = "must be scores that bins can distinguish"
_MOST_BITS = 16
_IN_MEMORY = "evaluate samples that fit in memory with `polyroc.evaluate`"
_FREE = "(in Python with score_kind='free')"
_NO_BINS = "No bins are narrow enough; "
# The least positive number of double precision.
_LEAST = 5e-324


def check_bins(prepared: CountedPrepared, pairs: PairIndex) -> None:
    """Warn if bins can move M by more than 0.001, and refuse the scores if it is more than 0.05."""
    bound = hand_till_bound(prepared, pairs)
    if bound <= _WARNED:
        return
    came, remedy = _scores_of(prepared.source), _remedy(prepared.source, bound)
    # Upwards: a bound must not be rounded below itself.
    most = f"{first_digit_up(bound):.1g}"
    if bound > _REFUSED:
        other = f"{_IN_MEMORY}, or Parquet files with `exact=True` and `standard_errors=False`"
        raise InputError("y_score", RULE_OF_BINS, f"{came}, whose bins can move M by {most}", f". {remedy}{other}")
    msg = f"Bins can move M by up to {most}: {came}. {remedy}{_IN_MEMORY}, or Parquet files with `exact=True`."
    warn(msg, UserWarning)


def check_bins_of_errors(prepared: CountedPrepared, pairs: PairIndex) -> None:
    """The same for standard errors alone, which bins give also if D and M come from sorted scores."""
    bound = hand_till_bound(prepared, pairs)
    if bound > _REFUSED:
        came = f"{_scores_of(prepared.source)}, whose bins give wrong standard errors, also with `exact=True`"
        remedy = _remedy(prepared.source, bound)
        other = "`evaluate_parquet` with `standard_errors=False` needs no bins"
        raise InputError("y_score", RULE_OF_BINS, came, f". {remedy}{other}")


def _scores_of(source: ScoreCounts) -> str:
    return f"scores from {source.lowest:.9g} to {source.highest:.9g}"


def _remedy(source: ScoreCounts, bound: float) -> str:
    """What makes bins narrower for these scores, up to the other ways out."""
    fine = source.bins
    assert isinstance(fine, ScoreBins)
    # Bins are narrow near 0, those of probabilities near 1 as well.
    one_sided = source.lowest >= 0 or source.highest <= 0
    if one_sided and _share_of_zero(source, fine) > 0.5:
        # Ends that were kept in single precision may have lost their sign.
        if fine.scores == "free" and source.lowest == source.highest:
            return _NO_BINS
        is_below = source.lowest < 0
        count_as_0 = f"above -{fine.least:.0e}" if is_below else f"below {fine.least:.0e}"
        return f"Scores {count_as_0} count as 0: count `{_logarithms(source, is_below)}` {_FREE}; or "
    half = (source.highest - source.lowest) / 2
    near = (
        min(source.lowest, 1 - source.highest) if fine.scores == "probabilities" else abs(source.lowest + half) - half
    )
    if near > half:
        return f"Subtract {_middle(source.lowest, source.highest)!r} from all scores {_FREE}; or "
    bits = fine.mantissa_bits + math.ceil(math.log2(bound / _WARNED))
    if fine.mantissa_bits == _MOST_BITS:
        return _NO_BINS
    return f"Take narrower bins, `mantissa_bits={min(bits, _MOST_BITS)}`; or "


def _middle(low: float, high: float) -> float:
    """A constant near the middle of two scores, in as few digits as their distance allows."""
    half = (high - low) / 2
    return round(low + half, 1 if half == 0 else 1 - math.floor(math.log10(half)))


def _logarithms(source: ScoreCounts, is_below: bool) -> str:
    """Code for scores in the same order that are not near 0; if all logarithms are far from 0, moved there."""
    sign, ends = ("-", (-source.highest, -source.lowest)) if is_below else ("", (source.lowest, source.highest))
    low, high = (math.log(max(end, _LEAST)) for end in ends)
    middle = _middle(low, high)
    # Where there are zeros, the others are somewhere.
    is_far = ends[0] > 0 and abs(middle) > high - low
    moved = f" {'-' if (middle > 0) != is_below else '+'} {abs(middle)!r}" if is_far else ""
    return f"{sign}np.log(np.maximum({sign}np.asarray(scores, float), {_LEAST})){moved}"


def _share_of_zero(source: ScoreCounts, fine: ScoreBins) -> float:
    """Share of the comparisons within bins of several scores that are made within those of 0 and just below it."""
    zero, inside, every = fine.index(np.array([0.0, -fine.least / 2])), 0.0, 0.0
    for column in source.columns:
        rise = np.diff(column.shares(), axis=0)
        within = np.where(column.is_tie, 0.0, rise.sum(axis=1) ** 2 - (rise**2).sum(axis=1))
        inside += float(within[np.isin(column.bins, zero)].sum())
        every += float(within.sum())
    return inside / every if every > 0 else 0.0
