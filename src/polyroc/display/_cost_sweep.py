"""The area, or the curve itself, as one confusion becomes more expensive."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from polyroc._inputs.checks import one_of
from polyroc._lib.numbers import level
from polyroc.costs._sweep import CostSweep
from polyroc.display._rates_axes import dress
from polyroc.display._style import (
    axes_of,
    colour_of,
    despined,
    faint_grid,
    font_points,
    is_light,
    letters_in,
    literal,
    names_of,
    points_now,
    pyplot,
    square_axes_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SweepKind: TypeAlias = Literal["auc", "curves"]


class CostSweepDisplay:
    """How D and the area under the mean curve change with the cost of one confusion.

    Parameters
    ----------
    sweep : CostSweep
        Result of `cost_sweep`.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    lines_ : list of Line2D
        The lines of D and of the area under the mean curve; or the shared curves, one for each ratio.
    bands_ : list of PolyCollection
        Pointwise confidence intervals of both areas; empty if the sweep has none, and with the curves.

    Examples
    --------
    >>> import polyroc
    >>> from matplotlib.figure import Figure
    >>> from polyroc.display import CostSweepDisplay
    >>> example = polyroc.load_example()
    >>> sweep = polyroc.cost_sweep(example.y_true, example.scores["tree"], true_class=8, ratios=[0.1, 1, 10])
    >>> display = CostSweepDisplay.from_sweep(sweep).plot(Figure().add_subplot())
    >>> display.ax_.get_xscale(), len(display.lines_)
    ('log', 2)

    With ``confidence_level=0.95`` in `cost_sweep`, bands are drawn around both lines.
    """

    def __init__(self, *, sweep: CostSweep) -> None:
        self.sweep = sweep

    @classmethod
    def from_sweep(cls, sweep: CostSweep) -> "CostSweepDisplay":
        """Make the display from a sweep, without drawing it.

        Parameters
        ----------
        sweep : CostSweep
            Result of `cost_sweep`.
        """
        return cls(sweep=sweep)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        kind: SweepKind = "auc",
        bands: bool = True,
        cmap: Any = None,
        despine: bool = False,
    ) -> "CostSweepDisplay":
        """Draw the sweep.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure.
        kind : {"auc", "curves"}
            D and the area under the mean curve by the cost; or the shared curves, coloured by the cost.
        bands : bool
            Draw the confidence interval at each ratio as a band, if the sweep has them.
        cmap : str or Colormap, optional
            Colours of the curves, from the lowest cost to the highest. By default those of viridis that are far enough
            from the background.
        despine : bool
            Remove the top and right spines.

        Returns
        -------
        CostSweepDisplay
            Itself.
        """
        if one_of(kind, "kind", get_args(SweepKind)) == "auc":
            self.ax_ = axes_of(ax)
            self.bands_ = _draw_bands(self.ax_, self.sweep) if bands else []
            self.lines_ = _draw_areas(self.ax_, self.sweep, banded=bool(self.bands_))
        else:
            self.ax_ = square_axes_of(ax)
            self.bands_ = []
            self.lines_ = _draw_curves(self.ax_, self.sweep, cmap or _visible_colours(self.ax_))
        self.figure_ = self.ax_.figure
        if despine:
            despined(self.ax_)
        return self


def _draw_bands(ax: "Axes", sweep: CostSweep) -> list[Any]:
    if sweep.intervals is None or sweep.mean_intervals is None:
        return []
    colour = colour_of(ax, 0)
    # The mean's is hatched as its line is dashed: both have the same colour.
    style: dict[str, Any] = {"facecolor": (colour, 0.22), "linewidth": 0}
    hatched: dict[str, Any] = {"facecolor": "none", "edgecolor": (colour, 0.35), "hatch": "////", "linewidth": 0}
    found = ((sweep.intervals, style), (sweep.mean_intervals, hatched))
    return [ax.fill_between(sweep.ratios, ends[:, 0], ends[:, 1], **look) for ends, look in found]


def _draw_areas(ax: "Axes", sweep: CostSweep, *, banded: bool) -> list[Any]:
    from matplotlib.ticker import FuncFormatter

    rc = pyplot().rcParams
    ax.set_xscale("log")
    faint_grid(ax)
    # Where the costs are what they are without a sweep.
    ax.axvline(1, color=rc["text.color"], alpha=0.5, linewidth=1, linestyle=":")
    style: dict[str, Any] = {"color": colour_of(ax, 0), "marker": "o", "markersize": 4}
    lines = [
        *ax.plot(sweep.ratios, sweep.auc, linewidth=1.8, label="D, shared curve", **style),
        *ax.plot(sweep.ratios, sweep.mean_auc, linewidth=1.4, linestyle="--", label="area, mean of pairs", **style),
    ]
    ax.legend(fontsize="small", frameon=True, framealpha=0.8, edgecolor="none")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
    ax.ticklabel_format(axis="y", useOffset=False)
    width = points_now(ax)[0]
    ylabel = "area under the curve"
    if banded and sweep.confidence_level is not None:
        ylabel += f"\n({literal(level(sweep.confidence_level))} intervals)"
    ax.set(xlabel=_cost_of(sweep, letters_in(width, font_points(rc["axes.labelsize"]))), ylabel=ylabel)
    return lines


def _draw_curves(ax: "Axes", sweep: CostSweep, cmap: Any) -> list[Any]:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import FuncFormatter

    first, last = float(sweep.ratios[0]), float(sweep.ratios[-1])
    scale = ScalarMappable(LogNorm(first, last) if first < last else LogNorm(first / 2, first * 2), cmap)
    lines = [
        ax.plot(curve.fpr, curve.tpr, color=scale.to_rgba(ratio), linewidth=1.2)[0]
        for ratio, curve in zip(sweep.ratios.tolist(), sweep.curves, strict=True)
    ]
    dress(ax)
    height = points_now(ax)[1]
    room = letters_in(height, font_points(pyplot().rcParams["axes.labelsize"]))
    bar = ax.figure.colorbar(scale, ax=ax, label=_cost_of(sweep, room), fraction=0.046, pad=0.04)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
    return lines


def _visible_colours(ax: "Axes") -> Any:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    first, last = (0.0, 0.85) if is_light(ax) else (0.3, 1.0)
    return ListedColormap(colormaps["viridis"](np.linspace(first, last, 256)))


def _cost_of(sweep: CostSweep, room: int) -> str:
    """What is swept, in two lines of at most this many letters."""
    # "cost of predicting  as " are 23 letters; the names share the rest.
    longest = max(6, (room - 23) // 2)
    classes = [sweep.true_class] if sweep.predicted_class is None else [sweep.true_class, sweep.predicted_class]
    true_class, *predicted = names_of(classes, longest)
    predicted_as = predicted[0] if predicted else "another"
    return f"cost of predicting {true_class} as {predicted_as}\n(1: as without the sweep)"
