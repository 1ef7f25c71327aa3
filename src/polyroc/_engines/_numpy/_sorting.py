"""Passes over one column whose scores are gathered by class and sorted: no bins, and no more memory than the scores."""

from typing import Any

import numpy as np

from polyroc._lib.typing import FloatArray, IntArray

# Scores that are compared at a time.
_AT_ONCE = 1 << 16


def gather(scores: FloatArray, codes: Any, places: IntArray, column: FloatArray) -> None:
    """Put each score at the next place of its class; places, shape (k,), move on."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(places))
    ends = np.cumsum(counts)
    ranked = scores[order]
    for c in np.flatnonzero(counts).tolist():
        column[places[c] : places[c] + counts[c]] = ranked[ends[c] - counts[c] : ends[c]]
    places += counts


def doubled_wins(positive: FloatArray, negative: FloatArray) -> int:
    """Twice the number of pairs in which the positive sample has the higher score, ties once; both are sorted."""
    wins = 0
    for start in range(0, len(positive), _AT_ONCE):
        some = positive[start : start + _AT_ONCE]
        # Only those between the ends of some scores in a row need be searched.
        first = int(np.searchsorted(negative, some[0], side="left"))
        between = negative[first : np.searchsorted(negative, some[-1], side="right")]
        below = np.searchsorted(between, some, side="left") + np.searchsorted(between, some, side="right")
        wins += 2 * first * len(some) + int(below.sum())
    return wins
