"""Curves of single pairs in little room: hundreds of curves of a hundred points each, as the page carries them."""

from typing import Any

import numpy as np

from polyroc.report._packing import as_base64, share_of_room

# 16-bit integers, in which 0 and 1 stay exact: of a rate as a share of what it can differ from the call rate, or of the
# rate itself.
_OF_ROOM, _OF_ONE = 32767, 65535
# Rates come with five decimals.
_ROUNDING = 3e-5


def curves_of(curves: dict[str, Any] | None, *, are_explored: bool) -> dict[str, Any] | None:
    """How many curves of pairs there are, and their rates unless the page has those of all pairs anyway."""
    if curves is None:
        return None
    return {"n": len(curves["tpr"])} if are_explored else packed_curves(curves)


def packed_curves(curves: dict[str, Any]) -> dict[str, Any]:
    """`tpr` and `fpr` as base64 of little-endian integers, a row per pair.

    Where FPR is 2 s - TPR at every call rate s, `fpr` is None, and `tpr` is (TPR - s) / min(s, 1 - s).
    """
    rates, fpr, tpr = (np.array(curves[key], dtype=float) for key in ("call_rate", "fpr", "tpr"))
    follows = bool(np.all(np.abs(2 * rates - tpr - fpr) < _ROUNDING))
    packed = {"call_rate": curves["call_rate"], "n": len(tpr)}
    if follows:
        share = np.clip(share_of_room(tpr, rates), -1, 1)
        return packed | {"tpr": as_base64(np.round(share * _OF_ROOM), "<i2"), "fpr": None}
    # With one threshold for both classes of a pair, a call rate says less about the rates.
    return packed | {key: as_base64(np.round(rate * _OF_ONE), "<u2") for key, rate in (("tpr", tpr), ("fpr", fpr))}
