"""Sorting rows together with their places, by a plain sort of whole numbers.

NumPy's sort uses wide registers where `argsort` follows indices through memory, which takes four times as long. So the
bits of a score, as a whole number of the same order, and its place share one word of 64 bits. What does not fit is cut
from the end of the score: the few scores that agree in all bits before are put in order afterwards.
"""

from typing import Any

import numpy as np

from polyroc._engines._numba._compile import inner, kernel
from polyroc._lib._typing import FloatArray, IntArray

# Steps per score to put scores in order that agree in the bits that were kept; beyond them the row is sorted otherwise.
_MOST_STEPS = 4

ONE, ZERO, WORD = np.uint64(1), np.uint64(0), np.uint64(64)


def sort_with_places(values: FloatArray, members: IntArray, order: IntArray) -> None:
    """Sort each row in place, and write to `order` which of the `members`, shape (n,), then stands where."""
    bits = values.view(np.uint32 if values.dtype.itemsize == 4 else np.uint64)
    keys = np.empty(values.shape, dtype=np.uint64)
    pack(bits, keys, np.uint64(8 * values.dtype.itemsize - 1))
    keys.sort(axis=1)
    is_sorted = np.ones(len(values), dtype=np.bool_)
    unpack(keys, members, values, order, _MOST_STEPS * values.shape[1], is_sorted)
    for row in np.flatnonzero(~is_sorted):
        places = np.argsort(values[row])
        values[row], order[row] = values[row][places], order[row][places]


@kernel
def pack(bits: Any, keys: Any, sign: Any) -> None:
    """Of each row the distance of each score from the lowest, counted in floats, and its place in the lowest bits."""
    on_place = bits_of(np.uint64(max(1, bits.shape[1] - 1)))
    for r in range(bits.shape[0]):
        lowest, highest = ~ZERO, ZERO
        for p in range(bits.shape[1]):
            word = np.uint64(bits[r, p])
            # Floats rise with their bits, negative ones fall: mirror those below the others.
            word = (ONE << sign) - (word ^ (ONE << sign)) if word >> sign else word + (ONE << sign)
            keys[r, p] = word
            lowest, highest = min(lowest, word), max(highest, word)
        needed = bits_of(highest - lowest) + on_place
        cut = needed - WORD if needed > WORD else ZERO
        for p in range(bits.shape[1]):
            keys[r, p] = (((keys[r, p] - lowest) >> cut) << on_place) | np.uint64(p)


@inner
def bits_of(number: Any) -> Any:
    """Binary digits of a whole number."""
    count = ZERO
    while number > ZERO:
        number >>= ONE
        count += ONE
    return count


@kernel
def unpack(keys: Any, members: Any, values: Any, order: Any, most_steps: int, is_sorted: Any) -> None:
    """From sorted keys to scores and members; where the bits kept did not decide, by insertion."""
    n = keys.shape[1]
    mask = (ONE << bits_of(np.uint64(max(1, n - 1)))) - ONE
    for r in range(keys.shape[0]):
        before, steps = values[r].copy(), 0
        for p in range(n):
            place = keys[r, p] & mask
            score, member = before[place], members[place]
            q = p
            while q > 0 and values[r, q - 1] > score and steps < most_steps:
                values[r, q], order[r, q] = values[r, q - 1], order[r, q - 1]
                q -= 1
                steps += 1
            values[r, q], order[r, q] = score, member
        is_sorted[r] = steps < most_steps
