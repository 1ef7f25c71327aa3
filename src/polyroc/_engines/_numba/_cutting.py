"""The passes of `polyroc._engines._numpy._cutting`, compiled."""

from typing import Any

import numpy as np

from polyroc._engines._numba._compile import kernel
from polyroc._lib.typing import FloatArray, IntArray


def cut_column(shares: FloatArray, positive: int, negatives: IntArray, call_rates: FloatArray) -> FloatArray:
    """As the reference's."""
    tpr = np.empty((len(negatives), len(call_rates)))
    _cut(shares, positive, negatives, call_rates, tpr)
    found: FloatArray = tpr.T
    return found


@kernel
def _cut(shares: Any, positive: Any, negatives: Any, call_rates: Any, tpr: Any) -> None:
    """Shares (k, B + 1), negatives (K,), call_rates (T,), tpr (K, T)."""
    own, last = shares[positive], shares.shape[1] - 1
    for place in range(len(negatives)):
        other = shares[negatives[place]]
        b = 0
        for t in range(len(call_rates)):
            # Twice the call rate at both ends of the edge on which it lies.
            wanted = 2 * call_rates[t]
            while b < last - 1 and own[b + 1] + other[b + 1] < wanted:
                b += 1
            before, after = own[b] + other[b], own[b + 1] + other[b + 1]
            part = (wanted - before) / (after - before) if after > before else 1.0
            tpr[place, t] = own[b] + min(max(part, 0.0), 1.0) * (own[b + 1] - own[b])
