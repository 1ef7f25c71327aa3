"""Lines in SVG: the points that can be seen, to a tenth of a pixel."""

import math

import numpy as np

from polyroc._lib._typing import FloatArray

# By how many pixels a line may be wrong before somebody sees it.
_SEEN = 0.15


def seen_points(x: FloatArray, y: FloatArray) -> list[tuple[str, str]]:
    """The ends and bends of a line.

    >>> seen_points(np.array([0.0, 1.0, 2.0, 5.0]), np.array([0.0, 1.05, 2.0, 0.04]))
    [('0', '0'), ('2', '2'), ('5', '0')]
    """
    kept = _bends(x, y)
    return [(tenths(across), tenths(up)) for across, up in zip(x[kept], y[kept], strict=True)]


def _bends(x: FloatArray, y: FloatArray) -> list[int]:
    """The points without which the line would be seen to go elsewhere (Ramer, Douglas and Peucker)."""
    kept, open_ = {0, len(x) - 1}, [(0, len(x) - 1)]
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        across, up = x[last] - x[first], y[last] - y[first]
        between = slice(first + 1, last)
        length = math.hypot(across, up) or 1.0
        distance = np.abs(across * (y[between] - y[first]) - up * (x[between] - x[first])) / length
        furthest = int(distance.argmax())
        if distance[furthest] > _SEEN:
            middle = first + 1 + furthest
            kept.add(middle)
            open_ += [(first, middle), (middle, last)]
    return sorted(kept)


def tenths(value: float) -> str:
    """A tenth of a pixel, in as few letters as that takes.

    >>> tenths(12.04), tenths(0.51), tenths(-0.01)
    ('12', '0.5', '0')
    """
    return f"{round(float(value), 1) + 0.0:g}"
