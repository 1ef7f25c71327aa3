"""The passes of `polyroc._engines._numpy._counting`, compiled: each reads a score once."""

from typing import Any

import numpy as np

from polyroc._engines._bins import ScoreBins
from polyroc._engines._numba._compile import inner, kernel
from polyroc._lib._typing import FloatArray, IntArray

_NO_WEIGHT = np.empty(0)
_LARGEST = float(np.finfo(np.float32).max)


def count(counter: Any, bins: ScoreBins, scores: FloatArray, codes: IntArray, weight: FloatArray | None) -> None:
    """As the reference's."""
    rule = _rule(bins)
    done = 0
    while True:
        given = (scores, codes, _NO_WEIGHT if weight is None else weight, *rule)
        done, counter.n_used = _count(*given, counter.slots, counter.rows, counter.n_used, done)
        if done == len(scores):
            return
        # All rows were in use when another bin occurred.
        counter.grow(counter.n_used + 1)


def note_rows(columns: list[FloatArray]) -> tuple[IntArray, float]:
    """As the reference's."""
    n = len(columns[0])
    highest, named, total = columns[0].copy(), np.zeros(n, dtype=np.int32), columns[0].astype(np.float64)
    for place, column in enumerate(columns[1:], 1):
        _note(column, place, highest, named, total)
    return named, float(np.abs(total - 1).max())


def look_up(
    slots: IntArray, table: FloatArray, bins: ScoreBins, scores: FloatArray, codes: IntArray, found: FloatArray
) -> bool:
    """As the reference's."""
    return bool(_look_up(scores, codes, *_rule(bins), slots, table, found))


def _rule(bins: ScoreBins) -> tuple[bool, int, int]:
    return bins.scores == "probabilities", bins.shift, bins.n_bins


@inner
def _bin_of(score: Any, mirrored: Any, shift: Any, n_bins: Any) -> Any:
    """`ScoreBins.index` of one score."""
    if mirrored:
        upper = score > 0.5
        folded = 1 - score if upper else score
        # What rounding put below 0 counts as 0.
        low = (np.float32(folded).view(np.int32) if folded > 0 else np.int32(0)) >> shift
        return n_bins - 1 - low if upper else low
    # Either zero by its value: kernels are compiled as if there were one.
    bits = np.float32(min(max(score, -_LARGEST), _LARGEST)).view(np.int32) if score != 0 else np.int32(0)
    ordered = bits ^ np.int32(0x7FFFFFFF) if bits < 0 else bits
    return (ordered >> shift) + n_bins // 2


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
    n_used: Any,
    start: Any,
) -> Any:
    """Count from a sample on, up to the end or to where no row is left: there, and the rows in use.

    scores and codes (n,), weight (n,) or empty; slots (n_bins,), rows (capacity, k).
    """
    weighted = len(weight) > 0
    for s in range(start, len(scores)):
        b = _bin_of(scores[s], mirrored, shift, n_bins)
        r = slots[b]
        if r < 0:
            if n_used == len(rows):
                return s, n_used
            r = n_used
            slots[b] = r
            n_used += 1
        if weighted:
            rows[r, codes[s]] += weight[s]
        else:
            rows[r, codes[s]] += 1
    return len(scores), n_used


@kernel
def _note(column: Any, place: Any, highest: Any, named: Any, total: Any) -> None:
    """All of shape (n,)."""
    for s in range(len(column)):
        score = column[s]
        total[s] += score
        if score > highest[s]:
            highest[s] = score
            named[s] = place


@kernel
def _look_up(
    scores: Any, codes: Any, mirrored: Any, shift: Any, n_bins: Any, slots: Any, table: Any, found: Any
) -> Any:
    """Scores and codes (n,); slots (n_bins,), table (rows, k, m); found (n, m) is added to."""
    m = found.shape[1]
    for s in range(len(scores)):
        r = slots[_bin_of(scores[s], mirrored, shift, n_bins)]
        if r < 0:
            return False
        c = codes[s]
        for q in range(m):
            found[s, q] += table[r, c, q]
    return True
