"""D, and the costs of rules and models, against the cost of one confusion."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._inputs.checks import InputError, one_of
from polyroc._lib.numbers import level
from polyroc.costs._cost_matrices import CostRatios
from polyroc.costs._cost_profile import cost_profile
from polyroc.costs._profile import CostProfile
from polyroc.costs._sweep import CostSweep
from polyroc.display._rates_axes import dress
from polyroc.display._style import (
    LINE_STYLES,
    RULE_NAMES,
    axes_of,
    colour_of,
    despined,
    faint_grid,
    ink,
    is_light,
    legend,
    legend_label,
    letters_in,
    literal,
    names_of,
    points_now,
    square_axes_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SweepKind: TypeAlias = Literal["auc", "curves"]
CostScale: TypeAlias = Literal["auto", "linear", "log"]
# Costs that span more than this are distinguished only on a log axis.
_WIDE = 10


def _plain_numbers() -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value:g}")


def _what_varies(of: CostSweep | CostRatios, points: float) -> str:
    """The words "cost of predicting A as B", cut to this width."""
    # "cost of predicting  as " are 23 letters; the names share the rest.
    longest = max(6, (letters_in(points, "axes.labelsize") - 23) // 2)
    classes = [of.true_class] if of.predicted_class is None else [of.true_class, of.predicted_class]
    true_class, *predicted = names_of(classes, longest)
    return f"cost of predicting {true_class} as {predicted[0] if predicted else 'another'}"


def _mark_one(ax: "Axes") -> None:
    """Where the costs are what they are anyway."""
    ax.axvline(1, color=ink(), alpha=0.5, linewidth=1, linestyle=":")


@dataclass(kw_only=True, eq=False, repr=False)
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

    sweep: CostSweep

    @classmethod
    def from_sweep(cls, sweep: CostSweep) -> "CostSweepDisplay":
        """Make the display from the result of `cost_sweep`, without drawing it."""
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
        """
        self.bands_: list[Any] = []
        if one_of(kind, "kind", get_args(SweepKind)) == "auc":
            self.ax_ = axes_of(ax)
            self.bands_ = _draw_bands(self.ax_, self.sweep) if bands else []
            self.lines_ = _draw_areas(self.ax_, self.sweep, banded=bool(self.bands_))
        else:
            self.ax_ = square_axes_of(ax)
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
    intervals = ((sweep.intervals, style), (sweep.mean_intervals, hatched))
    return [ax.fill_between(sweep.ratios, ends[:, 0], ends[:, 1], **look) for ends, look in intervals]


def _draw_areas(ax: "Axes", sweep: CostSweep, *, banded: bool) -> list[Any]:
    ax.set_xscale("log")
    faint_grid(ax)
    _mark_one(ax)
    style: dict[str, Any] = {"color": colour_of(ax, 0), "marker": "o", "markersize": 4}
    lines = [
        *ax.plot(sweep.ratios, sweep.auc, linewidth=1.8, label="D, shared curve", **style),
        *ax.plot(sweep.ratios, sweep.mean_auc, linewidth=1.4, linestyle="--", label="area, mean of pairs", **style),
    ]
    legend(ax)
    ax.xaxis.set_major_formatter(_plain_numbers())
    ax.ticklabel_format(axis="y", useOffset=False)
    ylabel = "area under the curve"
    if banded and sweep.confidence_level is not None:
        ylabel += f"\n({literal(level(sweep.confidence_level))} intervals)"
    ax.set(xlabel=_cost_of(sweep, points_now(ax)[0]), ylabel=ylabel)
    return lines


def _draw_curves(ax: "Axes", sweep: CostSweep, cmap: Any) -> list[Any]:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    first, last = float(sweep.ratios[0]), float(sweep.ratios[-1])
    scale = ScalarMappable(LogNorm(first, last) if first < last else LogNorm(first / 2, first * 2), cmap)
    lines = [
        ax.plot(curve.fpr, curve.tpr, color=scale.to_rgba(ratio), linewidth=1.2)[0]
        for ratio, curve in zip(sweep.ratios.tolist(), sweep.curves, strict=True)
    ]
    dress(ax)
    bar = ax.figure.colorbar(scale, ax=ax, label=_cost_of(sweep, points_now(ax)[1]), fraction=0.046, pad=0.04)
    bar.ax.yaxis.set_major_formatter(_plain_numbers())
    return lines


def _visible_colours(ax: "Axes") -> Any:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    first, last = (0.0, 0.85) if is_light(ax) else (0.3, 1.0)
    return ListedColormap(colormaps["viridis"](np.linspace(first, last, 256)))


def _cost_of(sweep: CostSweep, points: float) -> str:
    return f"{_what_varies(sweep, points)}\n(1: as without the sweep)"


@dataclass(kw_only=True, eq=False, repr=False)
class CostProfileDisplay:
    """Expected cost per sample against the cost of one confusion, with a line for each model or rule.

    Parameters
    ----------
    profile : CostProfile
        Result of `cost_profile` with ``costs=CostRatios(...)``.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    lines_ : list of Line2D
        A line for each model, in their order.
    bands_ : list of PolyCollection
        Their pointwise confidence intervals; empty if they were not asked for.

    Examples
    --------
    >>> import polyroc
    >>> from matplotlib.figure import Figure
    >>> from polyroc.display import CostProfileDisplay
    >>> example = polyroc.load_example()
    >>> costs = polyroc.CostRatios(true_class=8, ratios=[0.1, 1, 10])
    >>> profile = polyroc.cost_profile(example.y_true, example.scores, costs=costs)
    >>> display = CostProfileDisplay.from_profile(profile).plot(Figure().add_subplot())
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['logistic', 'knn', 'tree']
    """

    profile: CostProfile

    def __post_init__(self) -> None:
        if self.profile.ratios is None:
            raise InputError("profile", "must be of costs=CostRatios(...), whose ratios are the horizontal axis")

    @classmethod
    def from_profile(cls, profile: CostProfile) -> "CostProfileDisplay":
        """Make the display from the result of `cost_profile`, without drawing it."""
        return cls(profile=profile)

    @classmethod
    def from_predictions(
        cls,
        y_true: "ArrayLike",
        y_score: "ArrayLike",
        *,
        costs: CostRatios,
        rule: Sequence[str] = ("argmax", "bayes", "tuned"),
        ax: "Axes | None" = None,
        **options: Any,
    ) -> "CostProfileDisplay":
        """Compute what the rules of `decide` cost at each ratio, and draw it.

        Offsets are tuned again at each ratio and for each fold, which takes a while for many samples: then use
        `cost_profile` with ``progress=True`` and `from_profile`.

        Parameters
        ----------
        y_true, y_score : array-like
            As in `decide`.
        costs : CostRatios
            The confusion whose cost varies.
        rule : sequence of {"argmax", "auto", "bayes", "tuned"}
            Rules to compare. "bayes" needs probabilities.
        ax : Axes, optional
            Where to draw; by default a new figure.
        **options
            Further keyword arguments of `cost_profile`.
        """
        if not isinstance(costs, CostRatios):
            raise InputError(
                "costs", "must be a CostRatios, whose ratios are the horizontal axis", type(costs).__name__
            )
        profile = cost_profile(y_true, {"scores": y_score}, costs=costs, rule=tuple(rule), **options)  # type: ignore[arg-type]
        return cls(profile=profile).plot(ax)

    def plot(
        self, ax: "Axes | None" = None, *, bands: bool = True, yscale: CostScale = "auto", despine: bool = True
    ) -> "CostProfileDisplay":
        """Draw the costs.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure.
        bands : bool
            Draw the confidence interval of each point.
        yscale : {"auto", "linear", "log"}
            Axis of the costs. "auto" is "log" where all costs are positive and span more than a factor of 10.
        despine : bool
            Remove the top and right spines.
        """
        scale = one_of(yscale, "yscale", get_args(CostScale))
        self.ax_ = ax = axes_of(ax)
        self.figure_ = ax.figure
        cost = self.profile.cost_by_matrix
        if scale == "auto":
            scale = "log" if cost.min() > 0 and cost.max() > _WIDE * cost.min() else "linear"
        ax.set_xscale("log")
        ax.set_yscale(scale)
        faint_grid(ax)
        self._draw(ax, bands=bands)
        self._label(ax, scale, bands=bands)
        if despine:
            despined(ax)
        return self

    def _draw(self, ax: "Axes", *, bands: bool) -> None:
        profile = self.profile
        assert profile.ratios is not None
        room = letters_in(points_now(ax)[0] / 2, "small")
        # Rules by what they do; models by their own names.
        names = names_of([RULE_NAMES.get(one.name, one.name) for one in profile.models], max(8, min(30, room)))
        costs, low, high = profile.cost_by_matrix, profile.low_by_matrix, profile.high_by_matrix
        if ax.get_yscale() == "log":
            # A log axis has no place for a band that reaches 0: it ends at half of the lowest cost.
            low = np.maximum(low, costs.min() / 2)
        marker = "" if len(profile.ratios) > 1 else "o"
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        for place, name in enumerate(names):
            colour = colour_of(ax, place)
            style: dict[str, Any] = {"color": colour, "linestyle": LINE_STYLES[place % len(LINE_STYLES)]}
            self.lines_ += ax.plot(
                profile.ratios, costs[place], linewidth=1.8, marker=marker, label=legend_label(name), **style
            )
            if bands:
                ends = low[place], high[place]
                self.bands_.append(ax.fill_between(profile.ratios, *ends, color=colour, alpha=0.15, linewidth=0))

    def _label(self, ax: "Axes", scale: str, *, bands: bool) -> None:
        from matplotlib.ticker import FuncFormatter, NullFormatter

        profile = self.profile
        assert profile.ratios is not None
        assert profile.family is not None
        if profile.ratios[0] <= 1 <= profile.ratios[-1]:
            _mark_one(ax)
        ax.xaxis.set_major_formatter(_plain_numbers())
        if scale == "log":
            ax.yaxis.set_major_formatter(_plain_numbers())
            span = np.log10(profile.cost_by_matrix.max() / profile.cost_by_matrix.min())
            # Two decades have few labels of their own: 2 and 5 of each help.
            ax.yaxis.set_minor_formatter(
                FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
                if span < 2
                else NullFormatter()
            )
        legend(ax)
        ylabel = "expected cost per sample"
        if bands:
            ylabel += f"\n({literal(level(profile.confidence_level))} intervals)"
        what = _what_varies(profile.family, points_now(ax)[0])
        ax.set(xlabel=f"{what}\n(multiple of its cost at 1)", ylabel=ylabel)
