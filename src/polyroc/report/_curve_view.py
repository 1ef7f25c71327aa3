"""Where points of ROC curves are drawn: in the whole square, or in its corner on logarithmic scales.

In the square, four models of D 0.996 to 0.9995 are one blob. In the corner, false positives go from 100 % at the right
to a small share at the left, missed positives likewise from the bottom to the top, each decade as wide as the next:
better is up and left, as in the square. `curve.js` draws by the same rules.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from polyroc.report._models import models_of

# D of the best model above which a page opens with the corner: the square would show little but its edges.
_GOOD = 0.95
# The scales end at one of these, by the data. Further out nobody has enough samples.
_FEWEST_DECADES, _MOST_DECADES = 2, 5
# Only what lies up and left of this says how far the scales go: near its ends a curve has rates as small as you like.
_CORNER = 0.2
# A point at 0 stands this far outside the frame, as a share of its side, so that its line is seen to leave it.
OUTSIDE = 0.015
# Between two points a line bends on a logarithmic scale; it gets a point whenever a rate has changed by this factor.
_STEP = 1.3


@dataclass(frozen=True)
class View:
    """Square or corner; places go from 0 to 1, to the right and upwards."""

    is_corner: bool
    decades: int = _MOST_DECADES

    def across(self, fpr: float) -> float:
        """Where a false positive rate stands.

        >>> View(is_corner=True, decades=4).across(0.001), View(is_corner=False).across(0.2)
        (0.25, 0.2)
        """
        return 1 - self._depth(fpr) if self.is_corner else fpr

    def up(self, tpr: float) -> float:
        """Where a true positive rate stands.

        >>> View(is_corner=True, decades=4).up(0.99), View(is_corner=False).up(0.2)
        (0.5, 0.2)
        """
        return self._depth(1 - tpr) if self.is_corner else tpr

    def _depth(self, rate: float) -> float:
        """Decades below 100 %, as a share of all; of nothing, a little more than all."""
        most = 1 + OUTSIDE
        return most if rate <= 0 else round(min(most, -math.log10(rate) / self.decades), 12) + 0.0

    def places(self, fpr: Sequence[float], tpr: Sequence[float]) -> list[tuple[float, float]]:
        """A curve, with points between its own where lines bend."""
        points = list(zip(fpr, tpr, strict=True))
        if self.is_corner:
            points = [point for pair in pairwise(points) for point in self._between(*pair)] + points[-1:]
        return [(self.across(x), self.up(y)) for x, y in points]

    def _between(self, start: tuple[float, float], end: tuple[float, float]) -> Iterable[tuple[float, float]]:
        """The start, and points on the straight line from there to the end."""
        floor = 10.0 ** -(self.decades * (1 + OUTSIDE))
        shares = {0.0}
        # One rate grows from the start, and the other, of missed positives, from the end.
        for first, last, turned in ((start[0], end[0], False), (1 - end[1], 1 - start[1], True)):
            rate = max(first, floor)
            while last > rate * _STEP:
                share = (rate - first) / (last - first)
                shares.add(1 - share if turned else share)
                rate *= _STEP
        return [
            (start[0] + s * (end[0] - start[0]), start[1] + s * (end[1] - start[1])) for s in sorted(shares) if s < 1
        ]

    def ticks(self) -> list[tuple[float, str, str]]:
        """Places of the grid with the text at either axis: the same place means other rates."""
        if not self.is_corner:
            return [(value, f"{value:g}", f"{value:g}") for value in (0, 0.2, 0.4, 0.6, 0.8, 1)]
        marks = []
        for decade in range(self.decades + 1):
            place = decade / self.decades
            marks.append((place, _percent(10.0 ** (decade - self.decades)), _percent(1 - 10.0**-decade)))
        return marks


def _percent(rate: float) -> str:
    return f"{100 * rate:.6g} %"


def opening_view(summary: dict[str, Any]) -> View:
    """What a page opens with; the number of decades also serves who changes to the corner."""
    models = models_of(summary)
    best = max(model.record["auc"] for model in models)
    curves = [model.record[kind] for model in models for kind in ("curve", "mean_curve")]
    # A curve is made of the rates of all pairs: it moves by steps of one sample of one of them.
    n_steps = max(summary["class_counts"]) * max(len(model.record["pairs"]["auc"]) for model in models)
    decades = _decades([curve for curve in curves if curve is not None])
    return View(best > _GOOD, max(_FEWEST_DECADES, min(decades, math.ceil(math.log10(n_steps)))))


def _decades(curves: Sequence[dict[str, list[float]]]) -> int:
    """Down to the smallest rate near the corner, in whole decades."""
    near = [
        (fpr, 1 - tpr)
        for curve in curves
        for fpr, tpr in zip(curve["fpr"], curve["tpr"], strict=True)
        if fpr <= _CORNER and 1 - tpr <= _CORNER
    ]
    rates = [rate for point in near for rate in point if rate > 1e-12]
    wanted = math.ceil(-math.log10(min(rates))) if rates else _FEWEST_DECADES
    return min(max(wanted, _FEWEST_DECADES), _MOST_DECADES)
