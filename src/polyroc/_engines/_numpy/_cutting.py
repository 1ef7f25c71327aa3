"""Polygons of one counted column, cut at the call rates."""

import numpy as np

from polyroc._lib.typing import FloatArray, IntArray


def cut_column(shares: FloatArray, positive: int, negatives: IntArray, call_rates: FloatArray) -> FloatArray:
    """True positive rates of one class against others, shape (T, K), from shares of all classes, shape (k, B + 1)."""
    tpr = np.empty((len(call_rates), len(negatives)))
    for place, j in enumerate(negatives.tolist()):
        # Bins that only other classes have repeat a vertex, which changes no polygon.
        tpr[:, place] = np.interp(call_rates, (shares[positive] + shares[j]) / 2, shares[positive])
    return tpr
