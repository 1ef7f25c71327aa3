"""Which sample stands where in sorted scores, by a plain sort of whole numbers.

NumPy's sort uses wide registers where `argsort` follows indices through memory, which takes four times as long. So the
bits of a score, as a whole number of the same order, and its place share one word of 64 bits. What does not fit is cut
from the end of the score: the few scores that agree in all bits before are put in order afterwards.
"""

from typing import Any

import numpy as np

from polyroc._engines._numba._compile import inner, kernel
from polyroc._lib.typing import FloatArray, IntArray

# Steps per score to put scores in order that agree in the bits that were kept; beyond them the row is sorted otherwise.
_MOST_STEPS = 4

ONE, ZERO, WORD = np.uint64(1), np.uint64(0), np.uint64(64)


def order_samples(scores: FloatArray, members: IntArray, column: int, ends: FloatArray, order: IntArray) -> None:
    """Write to each row of `order` the members, shape (n,), in rising order of a column of `scores`.

    The first row belongs to `column`, the next one to the next. `ends` are the lowest and the highest score of the
    members in each, shape (rows, 2).
    """
    unsigned = np.uint32 if scores.dtype.itemsize == 4 else np.uint64
    # (rows, n): the score in the high bits, and in the low ones its place among the members.
    keys = np.empty(order.shape, dtype=np.uint64)
    cuts = np.empty(len(order), dtype=np.uint64)
    # The bit of the sign: 31 or 63.
    sign = np.uint64(8 * scores.dtype.itemsize - 1)
    pack(scores.view(unsigned), members, column, ends.view(unsigned), sign, keys, cuts)
    keys.sort(axis=1)
    is_sorted = np.ones(len(order), dtype=np.bool_)
    unpack(keys, cuts, scores, members, column, _MOST_STEPS * len(members), order, is_sorted)
    for row in np.flatnonzero(~is_sorted):
        order[row] = members[np.argsort(scores[members, column + row])]


@kernel
def pack(bits: Any, members: Any, column: int, ends: Any, sign: Any, keys: Any, cuts: Any) -> None:
    """The distance of each score from the lowest of its row, counted in floats, and its place in the lowest bits.

    bits (n, k) are those of the scores, ends (rows, 2); keys (rows, n) and cuts (rows,) are written.
    """
    n, on_place = members.shape[0], bits_for(members.shape[0])
    lowest = np.empty(keys.shape[0], np.uint64)
    for r in range(keys.shape[0]):
        lowest[r] = rising(ends[r, 0], sign)
        needed = bits_of(rising(ends[r, 1], sign) - lowest[r]) + on_place
        # What is too much for a word: bits cut from the end of the score.
        cuts[r] = needed - WORD if needed > WORD else ZERO
    # 32 samples at a time: their rows of `scores` are still in the cache when the next column reads them.
    for begin in range(0, n, 32):
        end = min(begin + 32, n)
        for r in range(keys.shape[0]):
            for p in range(begin, end):
                distance = rising(bits[members[p], column + r], sign) - lowest[r]
                keys[r, p] = ((distance >> cuts[r]) << on_place) | np.uint64(p)


@inner
def rising(bits: Any, sign: Any) -> Any:
    """A whole number that rises with the float of these bits, the same for both zeros."""
    # Floats rise with their bits, negative ones fall: mirror those below the others.
    word, half = np.uint64(bits), ONE << sign
    return half - (word ^ half) if word >> sign else word + half


@inner
def bits_of(number: Any) -> Any:
    """Binary digits of a whole number."""
    count = ZERO
    while number > ZERO:
        number >>= ONE
        count += ONE
    return count


@inner
def bits_for(n: int) -> Any:
    """Binary digits of the places 0 to n - 1."""
    return bits_of(np.uint64(max(1, n - 1)))


@kernel
def unpack(
    keys: Any, cuts: Any, scores: Any, members: Any, column: int, most_steps: int, order: Any, is_sorted: Any
) -> None:
    """From sorted keys to members; where the bits kept did not decide, by insertion."""
    n, on_place = keys.shape[1], bits_for(keys.shape[1])
    mask = (ONE << on_place) - ONE
    for r in range(keys.shape[0]):
        for p in range(n):
            order[r, p] = members[keys[r, p] & mask]
        # Nothing was cut: equal keys are equal scores.
        if cuts[r] == ZERO:
            continue
        # Insertion costs the square of a run of equal keys, so its steps are counted and bounded.
        steps = 0
        for p in range(1, n):
            q, member = p, order[r, p]
            while q > 0 and keys[r, q - 1] >> on_place == keys[r, p] >> on_place and steps < most_steps:
                if scores[order[r, q - 1], column + r] <= scores[member, column + r]:
                    break
                order[r, q] = order[r, q - 1]
                q -= 1
                steps += 1
            order[r, q] = member
        is_sorted[r] = steps < most_steps
