"""The parts of a picture of ROC curves: line, band, faint pairs, diagonal, axes, legend."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polyroc._estimator._curve import RocCurve
from polyroc._uncertainty._band import ConfidenceBand
from polyroc.display._frames import Corner, Square
from polyroc.display._style import COLOURS_ON_LIGHT, LINE_STYLES, colour_of, literal, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# By this mark the curves that are already in the axes are known, so that the next one looks different.
MARK = "polyroc curve"
_SQUARE = Square()


def next_style(
    ax: "Axes", wanted: Mapping[str, Any] | None, *, n_curves: int, two_kinds: bool = False
) -> dict[str, Any]:
    """Colour and line of the next curve, or of the curves of all folds, unless somebody wants others.

    Where there are two kinds of curves, colours tell the models apart and lines the kinds.
    """
    from matplotlib import cbook
    from matplotlib.lines import Line2D

    place = sum(line.get_gid() == MARK for line in ax.get_lines())
    line = LINE_STYLES[place % len(LINE_STYLES)]
    if two_kinds:
        line = "-" if place // len(COLOURS_ON_LIGHT) % 2 == 0 else "-."
    style = {"color": colour_of(ax, place), "linestyle": line}
    width = {"linewidth": 1.8} if n_curves == 1 else {"linewidth": 1.2, "alpha": 0.7}
    return style | width | cbook.normalize_kwargs(dict(wanted or {}), Line2D)


def mean_style(shared: Mapping[str, Any]) -> dict[str, Any]:
    """The line of the mean curve beside that of the shared one."""
    return {**shared, "linestyle": ":" if shared["linestyle"] == "-." else "--"}


def draw_diagonal(ax: "Axes", wanted: Mapping[str, Any] | None, frame: Square | Corner = _SQUARE) -> Any:
    """The curve of scores that say nothing."""
    from matplotlib import cbook
    from matplotlib.lines import Line2D

    style = {"color": pyplot().rcParams["text.color"], "alpha": 0.5, "linewidth": 1, "linestyle": ":"}
    style |= {"label": literal("no information (D 0.5)")} | cbook.normalize_kwargs(dict(wanted or {}), Line2D)
    ends = np.array([0.0, 1.0])
    return ax.plot(*frame.points(ends, ends), **style)[0]


def draw_band(ax: "Axes", band: ConfidenceBand, colour: Any, frame: Square | Corner = _SQUARE) -> Any:
    """The area between the two curves of the band."""
    # The lower edge there and the upper one back: both are curves, which fill_between could not take.
    lower, upper = (frame.points(side.fpr, side.tpr) for side in (band.lower, band.upper))
    fpr, tpr = (np.r_[there, back[::-1]] for there, back in zip(lower, upper, strict=True))
    return ax.fill(fpr, tpr, color=colour, alpha=0.2, linewidth=0)[0]


def draw_pairs(ax: "Axes", curves: Sequence[RocCurve], frame: Square | Corner = _SQUARE) -> Any:
    """The curves of the pairs, the fainter the more they are."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    # Grey, so that the shared curve is seen first, also where very many pairs take the same way.
    ink, paper = (np.array(to_rgb(colour)) for colour in (pyplot().rcParams["text.color"], ax.get_facecolor()))
    faint = LineCollection(
        [np.column_stack(frame.points(curve.fpr, curve.tpr)) for curve in curves],
        colors=[0.45 * ink + 0.55 * paper],
        linewidths=0.7,
        alpha=max(0.1, min(0.7, 24 / len(curves))),
        zorder=1,
        # As vectors so many curves would make a PDF that is slow to open.
        rasterized=len(curves) > 200,
    )
    ax.add_collection(faint, autolim=False)
    return faint


def dress(ax: "Axes") -> None:
    """Limits, labels and grid of rates on both axes."""
    _SQUARE.dress(ax)


def legend_in_corner(ax: "Axes", *, backwards: bool, frame: Square | Corner = _SQUARE) -> None:
    """Where the curves are not; the grid does not cross the letters."""
    ax.legend(
        loc=frame.legend_place(backwards=backwards),
        fontsize="small",
        frameon=True,
        framealpha=0.8,
        edgecolor="none",
    )
