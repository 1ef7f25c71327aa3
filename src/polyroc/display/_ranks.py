"""Many models: the ranks that each may have."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyroc._lib.numbers import area, level
from polyroc._lib.typing import AnyStatistic
from polyroc._uncertainty.paired import STATISTIC_LABELS, RankIntervals
from polyroc.display._style import (
    axes_of,
    colour_of,
    despined,
    faint_grid,
    fit_names,
    font_points,
    ink,
    letters_beside,
    literal,
    names_of,
    points_of,
)
from polyroc.evaluation._comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters of an estimate, and of a name; names get at most this share of the width.
_ESTIMATE, _NAME, _SHARE = 8, 30, 0.4


@dataclass(kw_only=True, eq=False, repr=False)
class RankDisplay:
    """The ranks that each model may have, the best model on top.

    Parameters
    ----------
    ranks : RankIntervals
        What `Comparison.rank_intervals` gives.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    bars_ : list
        One bar for each model, from top to bottom.
    line_ : Line2D
        The ranks by the estimates, as dots.

    Examples
    --------
    >>> import polyroc
    >>> from matplotlib.figure import Figure
    >>> from polyroc.display import RankDisplay
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> display = RankDisplay.from_comparison(comparison).plot(Figure().add_subplot())
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['logistic', 'knn', 'tree']
    """

    ranks: RankIntervals

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, statistic: AnyStatistic = "auc", confidence_level: float | None = None
    ) -> "RankDisplay":
        """Hold the ranks of a comparison; nothing is drawn yet.

        Parameters
        ----------
        comparison : Comparison
            Result of `compare`.
        statistic, confidence_level
            As in `Comparison.rank_intervals`.
        """
        return cls(ranks=comparison.rank_intervals(statistic=statistic, confidence_level=confidence_level))

    def plot(self, ax: "Axes | None" = None, *, despine: bool = True) -> "RankDisplay":
        """Draw a bar from the best to the worst rank that each model may have.

        Models that may be the best are in another colour than the others. A dot marks the rank by the estimates, which
        stand right of the bars.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure, higher for many models.
        despine : bool
            Remove the top and right spines.
        """
        shown = self.ranks.by_rank
        self.ax_ = ax = axes_of(ax, height=min(1.4 + 0.22 * len(shown), 12))
        self.figure_ = ax.figure
        lows, highs = [one.low for one in shown], [one.high for one in shown]
        colours = [colour_of(ax, 0 if one.low == 1 else 1) for one in shown]
        # Half a rank to either side, so that a rank that is certain is a bar, too.
        widths = [high - low + 0.7 for low, high in zip(lows, highs, strict=True)]
        bars = ax.barh(range(len(shown)), widths, 0.5, [low - 0.35 for low in lows], color=colours, alpha=0.45)
        self.bars_: list[Any] = list(bars)
        [self.line_] = ax.plot([one.rank for one in shown], range(len(shown)), "o", color=ink(), markersize=4, zorder=4)
        ax.set_ylim(max(len(shown), 3) - 0.4, -0.6)
        statistic = STATISTIC_LABELS[self.ranks.statistic]
        sure = literal(level(self.ranks.confidence_level))
        ax.set_xlabel(f"rank by {statistic}\n(dot: as measured; bars: {sure} together)")
        ax.locator_params(axis="x", integer=True)
        faint_grid(ax, "x")
        ax.tick_params(axis="y", length=0)
        fit_names(ax, names_of([one.model for one in shown], letters_beside(ax, share=_SHARE, most=_NAME)))
        self._say_estimates(ax)
        if despine:
            despined(ax)
        return self

    def _say_estimates(self, ax: "Axes") -> None:
        """Each estimate right of its bar, as large as the names, and room for it."""
        shown, count = self.ranks.by_rank, len(self.ranks)
        size = font_points(ax.get_yticklabels()[0].get_fontsize())
        # Names that are left out for lack of room leave out their estimates, too.
        named = {round(place) for place in ax.get_yticks()}
        room = _ESTIMATE * 0.6 * size / points_of(ax)[0]
        end = 0.5 + count / (1 - min(room, 0.5))
        ax.set_xlim(0.5, end)
        ticks = [tick for tick in ax.get_xticks() if 1 <= tick <= count]
        # The first rank is what everybody looks for; a tick next to it would touch its number.
        step = ticks[1] - ticks[0] if len(ticks) > 1 else 1
        ax.set_xticks([1, *(tick for tick in ticks if tick > 1 + step / 2)])
        ax.set_xlim(0.5, end)
        for place in sorted(named & set(range(count))):
            one = shown[place]
            ax.annotate(
                area(one.value),
                (one.high + 0.35, place),
                (3, 0),
                textcoords="offset points",
                va="center",
                fontsize=size,
            )
