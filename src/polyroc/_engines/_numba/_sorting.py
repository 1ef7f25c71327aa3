"""The passes of `polyroc._engines._numpy._sorting`, compiled."""

from typing import Any

import numpy as np

from polyroc._engines._numba._compile import kernel
from polyroc._lib.typing import FloatArray, IntArray


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
