"""Numbers as text that a page carries: base64, little-endian, which curve.js, fit_cells.js and decisions.js read."""

import base64

import numpy as np

from polyroc._lib._typing import FloatArray, IntArray


def as_base64(numbers: FloatArray | IntArray, kind: str) -> str:
    """Numbers in few letters; `kind` as NumPy names it.

    >>> as_base64(np.array([[1.0, -1.0], [0.0, 32767.0]]), "<i2")
    'AQD//wAA/38='
    """
    return base64.b64encode(numbers.astype(kind).tobytes()).decode("ascii")


def share_of_room(tpr: FloatArray, call_rates: FloatArray) -> FloatArray:
    """(TPR - s) / min(s, 1 - s), from -1 to 1, where FPR = 2 s - TPR follows; call rates along the last axis.

    >>> share_of_room(np.array([[0.25, 0.75], [0.5, 1.0]]), np.array([0.25, 0.75])).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    share: FloatArray = (tpr - call_rates) / np.minimum(call_rates, 1 - call_rates)
    return share
