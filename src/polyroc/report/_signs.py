"""Whole numbers in few letters: what each differs from the one before it, in one to three signs of 89.

Neighbouring rates of a pair differ little, so that this takes two thirds of what base64 does. fit_cells.js reads it.
"""

import numpy as np

from polyroc._lib._typing import IntArray

# What can be printed, less what ends strings or has a meaning in HTML.
SIGNS = "".join(chr(code) for code in range(33, 127) if chr(code) not in '"&<>\\')
_BASE = len(SIGNS)
# How many first signs stand alone, and how many have one more; the others have two more.
_ALONE, _IN_TWO = 40, 31
_SECOND = _ALONE + _IN_TWO * _BASE


def as_signs(numbers: IntArray) -> str:
    """Numbers of at most 16 bits and a sign, in one line of text.

    >>> as_signs(np.array([0, 1, 0, 32767, 32767, -32767]))
    '!$#twu!}46'
    """
    change = np.diff(numbers.ravel().astype(np.int64), prepend=0)
    # 0, -1, 1, -2, 2, ... are 0, 1, 2, 3, 4, ...
    code = np.where(change >= 0, 2 * change, -2 * change - 1)
    short, middle = code < _ALONE, code < _SECOND
    two, three = code - _ALONE, code - _SECOND
    first = np.where(short, code, np.where(middle, _ALONE + two // _BASE, _ALONE + _IN_TWO + three // _BASE**2))
    second = np.where(middle, two % _BASE, three // _BASE % _BASE)
    places = np.stack([first, second, three % _BASE], axis=1)
    is_used = np.stack([np.ones_like(short), ~short, ~middle], axis=1)
    alphabet = np.frombuffer(SIGNS.encode("ascii"), dtype=np.uint8)
    return bytes(alphabet[places[is_used]]).decode("ascii")
