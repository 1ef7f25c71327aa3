import numpy as np
import pytest
from scipy.spatial import ConvexHull

from polyroc._core import polygons as _hull
from polyroc._core.polygons import upper_hull


def hull_by_lines(x, y):
    """A point is a corner if no line between two others runs on or above it."""
    corners = []
    for b in range(len(x)):
        above = [
            y[a] + (y[c] - y[a]) * (x[b] - x[a]) / (x[c] - x[a]) >= y[b] - 1e-12
            for a in range(b)
            for c in range(b + 1, len(x))
        ]
        if not any(above):
            corners.append(b)
    return corners


@pytest.mark.parametrize("rounds", [64, 0, 1])
@pytest.mark.parametrize("seed", range(20))
def test_corners_are_those_that_no_line_covers(seed, rounds, monkeypatch):
    monkeypatch.setattr(_hull, "_ROUNDS", rounds)
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    # Whole numbers, so that many points lie on one line.
    x, y = np.cumsum(rng.integers(1, 3, n)).astype(float), np.cumsum(rng.integers(-1, 3, n)).astype(float)
    assert upper_hull(x, y).tolist() == hull_by_lines(x, y)


@pytest.mark.parametrize("rounds", [64, 0, 2])
def test_polygons_in_one_array_are_as_each_alone(rounds, monkeypatch):
    monkeypatch.setattr(_hull, "_ROUNDS", rounds)
    rng = np.random.default_rng(1)
    parts = [(np.sort(rng.random(n)), rng.random(n)) for n in (2, 9, 40, 3)]
    is_end = np.concatenate([[True, *[False] * (len(x) - 2), True] for x, _ in parts])
    x, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    starts = np.cumsum([0, *[len(px) for px, _ in parts]])
    alone = [start + upper_hull(px, py) for start, (px, py) in zip(starts, parts, strict=False)]
    assert upper_hull(x, y, is_end).tolist() == np.concatenate(alone).tolist()


def test_many_points_on_an_arc_that_is_eaten_from_one_end():
    # Each round takes one point here: only the last one lies below the line of its neighbours.
    x = np.arange(400.0)
    y = np.append(np.sqrt(x[:-1]), 1e6)
    assert upper_hull(x, y).tolist() == [0, 399]


def test_corners_of_a_large_polygon_are_those_of_qhull():
    rng = np.random.default_rng(2)
    x, y = np.linspace(0, 1, 5000), np.sort(rng.random(5000))
    points = np.column_stack([x, y])
    corners = set(ConvexHull(np.vstack([points, [[0, -1], [1, -1]]])).vertices.tolist())
    assert set(upper_hull(x, y).tolist()) == corners - {5000, 5001}
