"""Compiled reading of ROC polygons under many sample weights, for bootstrap replicates.

Weights move a pair's polygon but not the order of its scores. So the path of
the merge is laid once: for each distinct score of the pair, how many samples of
either class score at least as much. A replicate cumulates its weights along the
sorted classes and looks the shares up along the paths; it never compares two
scores again.

Words in parentheses are the labels of equations in docs/method.md.
"""

from typing import Any, NamedTuple

from polyroc._engines._numba._compile import borrowed, inner, kernel
from polyroc._engines._numba._polygons import is_read, reflect_rates


class Paths(NamedTuple):
    """Where classes, pairs and the paths of their merges lie: n samples, k classes, K pairs, V vertices."""

    offsets: Any  # (k + 1,) where each class begins in a sorted column
    polygons: Any  # `polyroc._engines._numba._polygons`
    begins: Any  # (K + 1,) where each pair's path begins; a reflection has none
    sizes: Any  # (K,) how many vertices it has: distinct scores of the pair
    path: Any  # (V, 2) how many of the positive and of the negative class score at least as much, by falling scores


class Room(NamedTuple):
    """What a replicate's rates are read from and written to."""

    shares: Any  # (columns, n + k) share of each class among its highest scores: one place more per class
    tpr: Any  # (K, T)
    fpr: Any  # (K, T)
    areas: Any  # (K,)


@kernel
def lay_paths(values: Any, paths: Any, start: int, stop: int) -> None:
    """Write the paths and the sizes of the pairs start..stop: the vertices of (rates), as counts.

    `values` (columns, n) has each class in rising order.
    """
    offsets, path, polygons = paths.offsets, paths.path, paths.polygons
    for pair in range(start, stop):
        if not is_read(polygons, pair):
            paths.sizes[pair] = 0
            continue
        i, j = polygons.positive[pair], polygons.negative[pair]
        q, r = polygons.positive_row[pair], polygons.negative_row[pair]
        a, b = values[q, offsets[i] : offsets[i + 1]], values[r, offsets[j] : offsets[j + 1]]
        at_a, at_b, vertex = a.shape[0], b.shape[0], paths.begins[pair]
        while at_a > 0 or at_b > 0:
            score = b[at_b - 1] if at_a == 0 or (at_b > 0 and b[at_b - 1] > a[at_a - 1]) else a[at_a - 1]
            while at_a > 0 and a[at_a - 1] == score:
                at_a -= 1
            while at_b > 0 and b[at_b - 1] == score:
                at_b -= 1
            path[vertex, 0] = a.shape[0] - at_a
            path[vertex, 1] = b.shape[0] - at_b
            vertex += 1
        paths.sizes[pair] = vertex - paths.begins[pair]


@kernel
def replicate_rates(order: Any, weight: Any, paths: Any, grid: Any, room: Any) -> None:
    """Rates at the call rates `grid` (call-rate) and areas (pair-area) of all pairs under sample weights.

    `order` (columns, n) is the sample at each place of the sorted columns, `weight` (n,) its weight.
    """
    lay, room = borrowed(paths), borrowed(room)
    offsets, shares = lay.offsets, room.shares
    n_classes = offsets.shape[0] - 1
    for i in range(order.shape[0]):
        for c in range(n_classes):
            # Place 0 of a class is the share of nobody, so counts of `path` are places, without a test for 0.
            total, place = 0.0, offsets[c] + c
            shares[i, place] = 0.0
            for p in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
                total += weight[order[i, p]]
                place += 1
                shares[i, place] = total
            for p in range(offsets[c] + c + 1, place + 1):
                shares[i, p] /= total
    polygons = lay.polygons
    for pair in range(polygons.positive.shape[0]):
        if not is_read(polygons, pair):
            continue
        i, j = polygons.positive[pair], polygons.negative[pair]
        where = (polygons.positive_row[pair], polygons.negative_row[pair], offsets[i] + i, offsets[j] + j)
        of_pair = (lay.path, lay.begins[pair], lay.sizes[pair])
        room.areas[pair] = follow(shares, *where, *of_pair, grid, pair, room.tpr, room.fpr)
    reflect_rates(polygons.mirror, room.tpr, room.fpr, room.areas)


@inner
def follow(
    shares: Any,
    row_a: int,
    row_b: int,
    first_a: int,
    first_b: int,
    path: Any,
    begin: int,
    size: int,
    grid: Any,
    pair: int,
    tpr: Any,
    fpr: Any,
) -> Any:
    """Read one pair's polygon at the call rates (call-rate); returns the area under it (pair-area).

    `shares` as in `Room`, `path` as in `Paths`; row `pair` of tpr and fpr (K, T) is written.
    """
    n_grid = grid.shape[0]
    t, a0, b0, doubled_area = 0, 0.0, 0.0, 0.0
    target = 2.0 * grid[0]
    for v in range(begin, begin + size):
        a1, b1 = shares[row_a, first_a + path[v, 0]], shares[row_b, first_b + path[v, 1]]
        # A trapezoid, over FPR: its slanted edge counts ties between the classes one half.
        doubled_area += (b1 - b0) * (a0 + a1)
        if a1 + b1 >= target or v + 1 == begin + size:
            # Samples that were not drawn weigh 0: where they end the path, the last edge has no length.
            length = max(a1 + b1 - a0 - b0, 1e-300)
            while t < n_grid and (target <= a1 + b1 or v + 1 == begin + size):
                part = min(1.0, max(0.0, (target - a0 - b0) / length))
                tpr[pair, t] = a0 + part * (a1 - a0)
                fpr[pair, t] = b0 + part * (b1 - b0)
                t += 1
                target = 2.0 * grid[min(t, n_grid - 1)]
        a0, b0 = a1, b1
    return min(1.0, 0.5 * doubled_area)  # more is rounding
