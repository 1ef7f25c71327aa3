"""The passes of `polyroc._counts.passes`, compiled: each reads a score once."""

from typing import Any

import numpy as np

from polyroc._core.numba.compile import inner, kernel
from polyroc._counts.bins import NO_SCORE, SEVERAL_SCORES, ScoreBins
from polyroc._lib.typing import FloatArray, IntArray

_NO_WEIGHT = np.empty(0)
_LARGEST = float(np.finfo(np.float32).max)
# Scores whose bins are computed before any is counted.
_AT_ONCE = 2048


def count(counter: Any, bins: ScoreBins, scores: FloatArray, codes: IntArray, weight: FloatArray | None) -> None:
    """As the reference's."""
    rule = _rule(bins)
    done = 0
    while True:
        given = (scores, codes, _NO_WEIGHT if weight is None else weight, *rule)
        done, counter.n_used = _count(*given, counter.slots, counter.rows, counter.scores, counter.n_used, done)
        if done == len(scores):
            return
        # All rows were in use when another bin occurred.
        counter.grow(counter.n_used + 1)


def note_rows(
    columns: list[FloatArray], codes: IntArray, weight: FloatArray | None, confusion: Any, times: IntArray
) -> float:
    """As the reference's."""
    n = len(codes)
    highest, predicted, total = columns[0].copy(), np.zeros(n, dtype=np.int32), columns[0].astype(np.float64)
    for place, column in enumerate(columns[1:], 1):
        _note(column, place, highest, predicted, total)
    return float(_confuse(codes, predicted, total, _NO_WEIGHT if weight is None else weight, confusion, times))


def look_up(
    slots: IntArray, table: FloatArray, bins: ScoreBins, scores: FloatArray, codes: IntArray, found: FloatArray
) -> bool:
    """As the reference's."""
    return bool(_look_up(scores, codes, *_rule(bins), slots, table, found))


def _rule(bins: ScoreBins) -> tuple[bool, int, int]:
    return bins.scores == "probabilities", bins.shift, bins.n_bins


@inner
def _put_in_bins(scores: Any, mirrored: Any, shift: Any, n_bins: Any, found: Any) -> None:
    """`ScoreBins.index` of some scores, by choices instead of branches, so that several are computed at once."""
    zero = np.int32(0)
    if mirrored:
        half, one = scores.dtype.type(0.5), scores.dtype.type(1)
        for s in range(len(scores)):
            score = scores[s]
            upper = score > half
            folded = np.float32(one - score if upper else score)
            # What rounding put below 0 counts as 0; either zero by its value, since kernels take them for one.
            low = (folded.view(np.int32) if folded > 0 else zero) >> shift
            found[s] = n_bins - 1 - low if upper else low
        return
    least, most = scores.dtype.type(-_LARGEST), scores.dtype.type(_LARGEST)
    for s in range(len(scores)):
        single = np.float32(min(max(scores[s], least), most))
        bits = single.view(np.int32) if single != 0 else zero
        ordered = bits ^ np.int32(0x7FFFFFFF) if bits < 0 else bits
        found[s] = (ordered >> shift) + n_bins // 2


@kernel
def _count(
    scores: Any,
    codes: Any,
    weight: Any,
    mirrored: Any,
    shift: Any,
    n_bins: Any,
    slots: Any,
    rows: Any,
    only: Any,
    n_used: Any,
    start: Any,
) -> Any:
    """Count from a sample on, up to the end or to where no row is left: there, and the rows in use.

    scores and codes (n,), weight (n,) or empty; slots (n_bins,), rows (capacity, k), only (capacity,).
    """
    weighted, k, found = len(weight) > 0, rows.shape[1], np.empty(_AT_ONCE, np.int32)
    # Places without a sign, or each would be looked at for whether it counts from the end.
    cells = rows.reshape(-1)
    for begin in range(start, len(scores), _AT_ONCE):
        n = min(_AT_ONCE, len(scores) - begin)
        _put_in_bins(scores[begin : begin + n], mirrored, shift, n_bins, found)
        own = codes[begin : begin + n]
        for s in range(n):
            r = slots[np.uint32(found[s])]
            if r < 0:
                if n_used == len(rows):
                    return begin + s, n_used
                r = n_used
                slots[np.uint32(found[s])] = r
                n_used += 1
            if weighted:
                cells[np.uint64(r * k + own[s])] += weight[begin + s]
            else:
                cells[np.uint64(r * k + own[s])] += 1
            seen = only[np.uint32(r)]
            if seen == SEVERAL_SCORES:  # as soon as some thousand samples have come
                continue
            score = float(scores[begin + s])
            if mirrored:
                score = min(max(score, 0.0), 1.0)
            if score != seen:
                only[np.uint32(r)] = score if seen == NO_SCORE else SEVERAL_SCORES
    return len(scores), n_used


@kernel
def _note(column: Any, place: Any, highest: Any, predicted: Any, total: Any) -> None:
    """All of shape (n,)."""
    place = np.int32(place)
    for s in range(len(column)):
        score = column[s]
        total[s] += score
        higher = score > highest[s]
        highest[s] = score if higher else highest[s]
        predicted[s] = place if higher else predicted[s]


@kernel
def _confuse(codes: Any, predicted: Any, total: Any, weight: Any, confusion: Any, times: Any) -> Any:
    """codes, predicted and total (n,), weight (n,) or empty; confusion (k, k) and times (k,) are added to."""
    weighted, worst = len(weight) > 0, 0.0
    for s in range(len(total)):
        worst = max(worst, abs(total[s] - 1))
    for s in range(len(codes)):
        confusion[codes[s], predicted[s]] += weight[s] if weighted else 1
        times[predicted[s]] += 1
    return worst


@kernel
def _look_up(
    scores: Any, codes: Any, mirrored: Any, shift: Any, n_bins: Any, slots: Any, table: Any, found: Any
) -> Any:
    """Scores and codes (n,); slots (n_bins,), table (rows, k, m); found (n, m) is added to."""
    m, k, bins = found.shape[1], table.shape[1], np.empty(_AT_ONCE, np.int32)
    entries, sums = table.reshape(-1), found.reshape(-1)
    for begin in range(0, len(scores), _AT_ONCE):
        n = min(_AT_ONCE, len(scores) - begin)
        _put_in_bins(scores[begin : begin + n], mirrored, shift, n_bins, bins)
        for s in range(n):
            r = slots[np.uint32(bins[s])]
            if r < 0:
                return False
            entry, place = np.uint64((r * k + codes[begin + s]) * m), np.uint64((begin + s) * m)
            for q in range(m):
                sums[place + np.uint64(q)] += entries[entry + np.uint64(q)]
    return True


def gather(scores: FloatArray, codes: Any, places: IntArray, column: FloatArray) -> None:
    """As the reference's."""
    _gather(scores, codes, places, column)


def doubled_wins(positive: FloatArray, negative: FloatArray) -> int:
    """As the reference's."""
    return int(_doubled_wins(positive, negative))


@kernel
def _gather(scores: Any, codes: Any, places: Any, column: Any) -> None:
    """Scores and codes (n,), places (k,), column (all samples,)."""
    for s in range(len(scores)):
        c = np.uint64(codes[s])
        column[np.uint64(places[c])] = scores[s]
        places[c] += 1


@kernel
def _doubled_wins(positive: Any, negative: Any) -> Any:
    """Both rising: what lies below a score, and what does not lie above it, moves on with the scores."""
    below, level, wins = 0, 0, 0
    for s in range(len(positive)):
        score = positive[s]
        while below < len(negative) and negative[below] < score:
            below += 1
        level = max(level, below)
        while level < len(negative) and negative[level] <= score:
            level += 1
        wins += below + level
    return wins
