"""Curves of single pairs in little room: hundreds of curves of a hundred points each, as the page carries them."""

import base64
from typing import Any

import numpy as np

from polyroc._lib._typing import FloatArray

# A rate as a share of what it can differ from the call rate, as a 16-bit integer: 0 and 1 stay exact.
_SCALE = 32767
# Rates come with five decimals.
_ROUNDING = 3e-5


def packed_curves(curves: dict[str, Any]) -> dict[str, Any]:
    """`tpr` and `fpr` as base64 of little-endian integers, a row per pair.

    `fpr` is None where it is 2 s - `tpr` at every call rate s.
    """
    rates, fpr, tpr = (np.array(curves[key], dtype=float) for key in ("call_rate", "fpr", "tpr"))
    follows = bool(np.all(np.abs(2 * rates - tpr - fpr) < _ROUNDING))
    # Both classes of a pair count one half, so that FPR is a share of the same room on the other side.
    return {
        "call_rate": curves["call_rate"],
        "n": len(tpr),
        "tpr": _packed(tpr, rates),
        "fpr": None if follows else _packed(fpr, rates),
    }


def _packed(rate: FloatArray, call_rates: FloatArray) -> str:
    room = np.minimum(call_rates, 1 - call_rates)
    share = np.clip(np.round((rate - call_rates) / room * _SCALE), -_SCALE, _SCALE)
    return base64.b64encode(share.astype("<i2").tobytes()).decode("ascii")
