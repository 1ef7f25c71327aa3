"""Areas along contrasts on the fast engine: classes gathered once, each pair sorted by NumPy and counted by a merge."""

from typing import Any

import numpy as np

from polyroc._engines._numba._class_sorted import gathered
from polyroc._engines._numba._compile import kernel
from polyroc._engines._numba._linear import add_scaled
from polyroc._engines._numba._rates import doubled_wins
from polyroc._engines._numpy._contrasts import contrast_areas as areas_by_pairs
from polyroc._engines._samples import in_range
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import FloatArray
from polyroc._records import PairIndex, Predictions


def contrast_areas(
    predictions: Predictions, pairs: PairIndex, partition: FloatArray, *, n_jobs: int | None = None
) -> FloatArray:
    """Mann-Whitney area of each pair along (A[negative] - A[positive]) · p, shape (K,)."""
    if predictions.sample_weight is not None:
        # `doubled_wins` counts samples, not weights.
        return areas_by_pairs(predictions, pairs, partition)
    areas, counts = np.empty(len(pairs)), predictions.class_counts
    with Threads(n_jobs) as threads:
        classes = gathered(predictions, threads)
        columns, offsets = in_range(classes.values), classes.offsets

        def add(start: int, stop: int) -> None:
            # Both classes of a pair in turn, in double; one room for all pairs of a task.
            room = np.empty((2, counts.max()))
            for pair in range(start, stop):
                i, j = pairs.positive[pair], pairs.negative[pair]
                first, second = room[0, : counts[i]], room[1, : counts[j]]
                project_pair(columns, offsets, partition, i, j, first, second)
                first.sort()
                second.sort()
                # (pair-area) of docs/method.md, along the contrast; whole numbers up to this division.
                areas[pair] = count_wins(first, second) / (2 * counts[i] * counts[j])

        threads.map(add, chunks(len(pairs), 1, 128))
    return areas


@kernel
def project_pair(columns: Any, offsets: Any, partition: Any, i: int, j: int, first: Any, second: Any) -> None:
    """The samples of classes i and j along A[j] - A[i]; columns (k, n), with the classes together."""
    for p in range(first.shape[0]):
        first[p] = 0.0
    for p in range(second.shape[0]):
        second[p] = 0.0
    # Summed as in `polyroc._engines._numpy._contrasts`, so that ties are the same.
    for c in range(columns.shape[0]):
        normal = partition[j, c] - partition[i, c]
        if normal != 0:
            add_scaled(first, normal, columns[c, offsets[i] : offsets[i + 1]])
            add_scaled(second, normal, columns[c, offsets[j] : offsets[j + 1]])


@kernel
def count_wins(a: Any, b: Any) -> Any:
    """Twice the wins of the sorted scores a over b, a tie being half a win."""
    return doubled_wins(a, b)
