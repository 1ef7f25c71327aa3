"""What rules or models cost as one confusion becomes more expensive."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._inputs.checks import InputError, one_of
from polyroc._lib.numbers import level
from polyroc.costs._arguments import CostRatios
from polyroc.costs._cost_profile import cost_profile
from polyroc.costs._profile import CostProfile
from polyroc.display._style import (
    LINE_STYLES,
    axes_of,
    colour_of,
    despined,
    faint_grid,
    font_points,
    letters_in,
    names_of,
    points_now,
    pyplot,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CostScale: TypeAlias = Literal["auto", "linear", "log"]
_RULES = {"auto": "share of tuned offsets", "argmax": "highest score", "bayes": "Bayes' rule", "tuned": "tuned offsets"}
# Costs that span more than this are distinguished only on a log axis.
_WIDE = 10


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

    def __init__(self, *, profile: CostProfile) -> None:
        if profile.ratios is None:
            raise InputError("profile", "must be of costs=CostRatios(...), whose ratios are the horizontal axis")
        self.profile = profile

    @classmethod
    def from_profile(cls, profile: CostProfile) -> "CostProfileDisplay":
        """Make the display from a profile, without drawing it.

        Parameters
        ----------
        profile : CostProfile
            Result of `cost_profile` with ``costs=CostRatios(...)``.
        """
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

        Returns
        -------
        CostProfileDisplay
            Itself.
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
        width = points_now(ax)[0]
        room = letters_in(width / 2, font_points("small"))
        names = names_of([_name_of(one.name) for one in profile.models], max(8, min(30, room)))
        low, high = profile.low_by_matrix, profile.high_by_matrix
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        for place, name in enumerate(names):
            colour, style = colour_of(ax, place), LINE_STYLES[place % len(LINE_STYLES)]
            # matplotlib leaves labels with an underscore in front out of the legend.
            label = f" {name}" if name.startswith("_") else name
            many = len(profile.ratios) > 1
            self.lines_ += ax.plot(
                profile.ratios,
                profile.cost_by_matrix[place],
                color=colour,
                linestyle=style,
                linewidth=1.8,
                marker="" if many else "o",
                label=label,
            )
            if bands:
                ends = low[place], high[place]
                # A log axis has no place for a band that reaches 0: it ends at half of the lowest cost.
                if ax.get_yscale() == "log":
                    ends = np.maximum(low[place], profile.cost_by_matrix.min() / 2), high[place]
                self.bands_.append(ax.fill_between(profile.ratios, *ends, color=colour, alpha=0.15, linewidth=0))

    def _label(self, ax: "Axes", scale: str, *, bands: bool) -> None:
        from matplotlib.ticker import FuncFormatter, NullFormatter

        profile, rc = self.profile, pyplot().rcParams
        assert profile.ratios is not None
        assert profile.family is not None
        if profile.ratios[0] <= 1 <= profile.ratios[-1]:
            ax.axvline(1, color=rc["text.color"], alpha=0.5, linewidth=1, linestyle=":")
        plain = FuncFormatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_major_formatter(plain)
        if scale == "log":
            ax.yaxis.set_major_formatter(plain)
            span = np.log10(profile.cost_by_matrix.max() / profile.cost_by_matrix.min())
            # Two decades have few labels of their own: 2 and 5 of each help.
            ax.yaxis.set_minor_formatter(
                FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
                if span < 2
                else NullFormatter()
            )
        ax.legend(fontsize="small", frameon=True, framealpha=0.8, edgecolor="none")
        width = points_now(ax)[0]
        xlabel = _confusion(profile.family, letters_in(width, font_points(rc["axes.labelsize"])))
        ylabel = "expected cost per sample"
        if bands:
            ylabel += f"\n({level(profile.confidence_level)} intervals)".replace(
                "%", r"\%" if rc["text.usetex"] else "%"
            )
        ax.set(xlabel=xlabel, ylabel=ylabel)


def _name_of(name: str) -> str:
    """Rules by what they do; models by their own names."""
    return _RULES.get(name, name)


def _confusion(family: CostRatios, room: int) -> str:
    """What is varied, in two lines of at most this many letters."""
    # "cost of predicting  as " are 23 letters; the names share the rest.
    longest = max(6, (room - 23) // 2)
    classes = [family.true_class] if family.predicted_class is None else [family.true_class, family.predicted_class]
    true_class, *predicted = names_of(classes, longest)
    predicted_as = predicted[0] if predicted else "another"
    return f"cost of predicting {true_class} as {predicted_as}\n(multiple of its cost at 1)"
