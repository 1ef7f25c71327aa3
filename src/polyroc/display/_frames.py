"""Where rates are drawn: in the whole square, in its corner on two log axes, or on two logit axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from polyroc._estimator._curve import RocCurve
from polyroc._inputs.checks import InputError
from polyroc._lib.axes import View, decades_of, densified
from polyroc._lib.numbers import level
from polyroc._lib.typing import FloatArray
from polyroc.display._style import faint_grid, font_points, letters_in, literal, points_of, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scale: TypeAlias = Literal["square", "corner", "logit"]
Place: TypeAlias = Literal["upper left", "lower right", "best"]
# Where axes keep the frame that was drawn into them: the next curves must fit.
_KEPT = "_polyroc_frame"
# Rates of 0 and 1 have no place on a log axis: they stand this far outside.
_NOTHING = 1e-12
# Room beyond 100 %, for the diagonal.
_MARGIN = 1.12


@dataclass(frozen=True)
class Square:
    """Both rates from 0 to 1."""

    scale: ClassVar[Scale] = "square"

    def points(self, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        return fpr, tpr

    def legend_place(self, *, backwards: bool) -> Place:
        """Where the curves are not."""
        return "upper left" if backwards else "lower right"

    def dress(self, ax: "Axes") -> None:
        """Limits, labels and grid."""
        setattr(ax, _KEPT, self)
        ax.set(
            xlim=(-0.01, 1.01),
            ylim=(-0.01, 1.01),
            aspect="equal",
            xlabel="false positive rate",
            ylabel="true positive rate",
        )
        faint_grid(ax)


@dataclass(frozen=True)
class Corner:
    """FPR against 1 - TPR, both on log axes of this many decades; better is up and left.

    The axes take rates as they are, FPR and TPR, so that more can be drawn into them.
    """

    scale: ClassVar[Scale] = "corner"
    decades: int

    def points(self, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        return densified(fpr, tpr)

    def legend_place(self, *, backwards: bool) -> Place:
        """Curves may pass anywhere."""
        return "best"

    def dress(self, ax: "Axes") -> None:
        """Scales, limits, ticks in percent, labels and grid."""
        setattr(ax, _KEPT, self)
        ax.set_xscale("log", nonpositive="clip")
        ax.set_yscale("function", functions=(_height, _rate))
        lowest = 10.0**-self.decades
        ax.set(xlim=(lowest, _MARGIN), ylim=(1 - _MARGIN, 1 - lowest), aspect="auto")
        ax.set_box_aspect(1)
        ax.set(xlabel="false positive rate (log scale)", ylabel="true positive rate (log scale of misses)")
        ticks = View(is_corner=True, decades=self.decades).ticks()[::-1]
        minor = np.array([digit * tick.fpr for tick in ticks[1:] for digit in range(2, 10)])
        # First the labels at the left, which take room from those below.
        _tick(ax.yaxis, [tick.tpr for tick in ticks], [tick.up for tick in ticks], 1 - minor)
        shown = ticks[:: _step(ax, [tick.across for tick in ticks])]
        _tick(ax.xaxis, [tick.fpr for tick in shown], [tick.across for tick in shown], minor)
        faint_grid(ax)


@dataclass(frozen=True)
class Logit:
    """Logit of FPR against logit of TPR, both from this many decades below 50 % to as many above.

    The fit of D has one line here that all pairs share, stretched for each by its pair effect. The axes take rates as
    they are, FPR and TPR, so that more can be drawn into them.
    """

    scale: ClassVar[Scale] = "logit"
    decades: int

    def points(self, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        return densified(fpr, tpr, both_ends=True)

    def legend_place(self, *, backwards: bool) -> Place:
        """Where the curves are not."""
        return "upper left" if backwards else "lower right"

    def dress(self, ax: "Axes") -> None:
        """Scales, limits, ticks in percent, labels and grid."""
        setattr(ax, _KEPT, self)
        ax.set_xscale("logit", nonpositive="clip")
        ax.set_yscale("logit", nonpositive="clip")
        ends = 10.0**-self.decades, 1 - 10.0**-self.decades
        ax.set(xlim=ends, ylim=ends, aspect="auto")
        ax.set_box_aspect(1)
        ax.set(xlabel="false positive rate (logit scale)", ylabel="true positive rate (logit scale)")
        tails = 10.0 ** -np.arange(self.decades, 0, -1)
        rates = [*tails, 0.5, *1 - tails[::-1]]
        texts = [level(rate) for rate in rates]
        between = np.array([digit * tail for tail in tails for digit in range(2, 10) if digit * tail < 0.5])
        minor = np.concatenate([between, 1 - between])
        # First the labels at the left, which take room from those below.
        _tick(ax.yaxis, rates, texts, minor)
        first, step = self.decades, _step(ax, texts)
        shown = slice(first % step, None, step)  # 50 % among them
        _tick(ax.xaxis, rates[shown], texts[shown], minor)
        faint_grid(ax)


Frame: TypeAlias = Square | Corner | Logit


def frame_of(ax: "Axes", scale: Scale, curves: Sequence[RocCurve]) -> Frame:
    """The frame for these curves and for those that are in the axes already."""
    # Axes that were cleared take anything.
    kept: Any = getattr(ax, _KEPT, None) if ax.get_lines() else None
    if kept is not None and kept.scale != scale:
        raise InputError("scale", f"must be {kept.scale!r}, as that of the curves in these axes", repr(scale))
    if scale == "square":
        return Square()
    decades = decades_of((one.fpr, one.tpr) for one in curves)
    return (Corner if scale == "corner" else Logit)(decades if kept is None else max(kept.decades, decades))


def _tick(axis: Any, rates: Sequence[float], texts: Sequence[str], minor: FloatArray) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter

    axis.set_major_locator(FixedLocator(rates))
    axis.set_major_formatter(FixedFormatter([literal(text) for text in texts]))
    axis.set_minor_locator(FixedLocator(minor.tolist()))
    axis.set_minor_formatter(NullFormatter())


def _height(tpr: Any) -> Any:
    return -np.log10(np.maximum(1 - np.asarray(tpr, dtype=float), _NOTHING))


def _rate(height: Any) -> Any:
    return 1 - 10.0 ** -np.asarray(height, dtype=float)


def _step(ax: "Axes", texts: Sequence[str]) -> int:
    """Every how many ticks there is room for a label below the axis."""
    width = points_of(ax)[0] / max(len(texts) - 1, 1)
    # Half of each of two neighbours, and a letter between them.
    longest = max((len(one) + len(other)) / 2 for one, other in pairwise(texts)) + 1
    room = letters_in(width, font_points(pyplot().rcParams["xtick.labelsize"]))
    return max(1, math.ceil(longest / max(room, 1)))
