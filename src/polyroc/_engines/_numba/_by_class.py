"""Compiled copies of scores into columns in which the classes lie together.

n samples, k classes, C columns, B blocks of samples: codes (n,), scores (n, C), members (n,) the samples class by
class, each class in the order in which its samples came; values[i, p] = scores[members[p], i], shape (C, n).
"""

from typing import Any

import numpy as np

from polyroc._engines._numba._compile import kernel


@kernel
def count_classes(codes: Any, edges: Any, counts: Any) -> None:
    """How many samples of each class are in each block; edges (B + 1,), counts (B, k), zeros so far."""
    for b in range(counts.shape[0]):
        for s in range(edges[b], edges[b + 1]):
            counts[b, np.uint64(codes[s])] += 1


@kernel
def list_members(codes: Any, places: Any, members: Any, start: int, stop: int) -> None:
    """Write samples start..stop to their places; places (k,) are where those of each class go, and move on."""
    for s in range(start, stop):
        # Unsigned, so that compiled code need not ask whether an index counts from the end.
        c = np.uint64(codes[s])
        members[np.uint64(places[c])] = s
        places[c] += 1


@kernel
def scatter(scores: Any, codes: Any, places: Any, members: Any, values: Any, start: int, stop: int) -> None:
    """As `list_members`, and the scores with them.

    Scores are read in the order in which they lie in memory, so that the next ones are there already. As many places
    are written to as there are classes times columns: up to about a thousand they all stay in the nearest cache.
    """
    for s in range(start, stop):
        c = np.uint64(codes[s])
        place = np.uint64(places[c])
        places[c] += 1
        members[place] = s
        for i in range(values.shape[0]):
            values[i, place] = scores[s, i]


@kernel
def gather(scores: Any, members: Any, values: Any, first: int, last: int, start: int, stop: int) -> None:
    """Columns first..last of the samples at places start..stop, where there are too many classes to scatter them."""
    # 32 samples at a time: their rows of `scores` are still in the cache when the next column reads them.
    for begin in range(start, stop, 32):
        end = min(begin + 32, stop)
        for i in range(first, last):
            for p in range(begin, end):
                values[i, p] = scores[members[p], i]
