"""Several models: replicates of their areas, their differences, their rankings, and the ranks that each may have."""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from polyroc._inputs.checks import InputError, one_of
from polyroc._lib.numbers import area, level, percent
from polyroc._lib.typing import AnyStatistic, FloatArray, Statistic
from polyroc._records import Frozen
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.paired import STATISTIC_LABELS, Contest, Ranking, RankIntervals
from polyroc.display._rates_axes import Scale
from polyroc.display._roc_curve import Curves, RocCurveDisplay
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
    square_axes_of,
)
from polyroc.evaluation._comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of more models two lines each are too many to follow, and their names in the legend would cover them.
_MOST_WITH_BOTH = 4


def curve_displays(comparison: Comparison, *, band: bool) -> list[RocCurveDisplay]:
    """One for each model, in their order, with the interval of its D."""
    sure = comparison.confidence_level
    return [
        RocCurveDisplay.from_evaluation(
            evaluation,
            name=name,
            interval=Interval(estimate.low, estimate.high),
            band=comparison.intervals_of(name).confidence_band(sure, of_any_size=True) if band else None,
            mean_band=comparison.intervals_of(name).confidence_band(sure, "mean", of_any_size=True) if band else None,
        )
        for (name, evaluation), estimate in zip(
            comparison.evaluations.items(), comparison.by_auc.estimates, strict=True
        )
    ]


def draw_curves(
    ax: "Axes", displays: list[RocCurveDisplay], *, scale: Scale, curves: Curves | None, band: bool
) -> list[Any]:
    """All of them, and the diagonal; the lines, those of the shared curves first."""
    if curves is None:
        curves = "both" if len(displays) <= _MOST_WITH_BOTH else "shared"
    for place, display in enumerate(displays):
        display.plot(ax, scale=scale, curves=curves, band=band, plot_chance_level=place == 0)
    lines = [getattr(one, line) for line in ("line_", "mean_line_") for one in displays]
    return [line for line in lines if line is not None]


ComparisonKind: TypeAlias = Literal["curves", "box", "ridge", "differences", "rankings"]

_STATISTICS: tuple[Statistic, ...] = ("auc", "hand_till")
_MOST_RANKINGS = 10
# Letters of a name, and the share of the width that names get at most.
_NAME, _SHARE = 30, 0.45
# Longer rankings are told by their first places.
_MOST_LINES = 4


@dataclass(frozen=True, eq=False)
class Density(Frozen):
    """Replicates of one model's statistic, and how dense they lie."""

    replicates: FloatArray
    quantiles: FloatArray
    """Lower end of the whiskers, quartiles, upper end."""
    at: FloatArray
    """Where the density was computed; a single place where all replicates are the same."""
    density: FloatArray


@dataclass(kw_only=True, eq=False, repr=False)
class ComparisonDisplay:
    """Several models compared.

    Parameters
    ----------
    by_auc, by_hand_till : Contest
        Estimates, differences and rankings by D and by Hand and Till's M.
    spreads : mapping
        ``spreads[statistic][model]``: the replicates and their density.
    confidence_level : float
        Of the intervals.
    n_resamples : int, optional
        How many replicates there are, for the label; 0 where influences took the place of resamples.
    curves : callable, optional
        ``curves(band=...)`` gives a RocCurveDisplay for each model; called when curves are drawn.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    artists_ : list
        The boxes, ridges, intervals or bars, from top to bottom; or the curves, all shared ones before the mean ones.

    Examples
    --------
    >>> import polyroc
    >>> from matplotlib.figure import Figure
    >>> from polyroc.display import ComparisonDisplay
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> display = ComparisonDisplay.from_comparison(comparison).plot(Figure().add_subplot(), kind="box")
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['logistic', 'knn', 'tree']
    """

    by_auc: Contest
    by_hand_till: Contest
    spreads: Mapping[str, Mapping[str, Density]]
    confidence_level: float = 0.95
    n_resamples: int | None = None
    curves: Callable[..., list[RocCurveDisplay]] | None = None

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> "ComparisonDisplay":
        """Make the display from the result of `compare`, without drawing it."""
        spreads: dict[str, dict[str, Density]] = {
            statistic: {
                model: _spread(replicates, comparison.confidence_level)
                for model, replicates in comparison.replicates(statistic).items()
            }
            for statistic in _STATISTICS
        }
        return cls(
            by_auc=comparison.by_auc,
            by_hand_till=comparison.by_hand_till,
            spreads=spreads,
            confidence_level=comparison.confidence_level,
            n_resamples=comparison.n_resamples,
            curves=partial(curve_displays, comparison),
        )

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        kind: ComparisonKind = "box",
        statistic: Statistic = "auc",
        scale: Scale = "square",
        curves: Curves | None = None,
        band: bool = True,
        despine: bool = True,
    ) -> "ComparisonDisplay":
        """Draw one view of the comparison.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure, higher for many rows.
        kind : {"curves", "box", "ridge", "differences", "rankings"}
            ROC curves of all models; replicates as boxes (the middle half of them, the median, and whiskers around the
            share that the confidence level names) or as densities, both with the other statistic of all samples as a
            triangle below; differences of models with their intervals, filled where these leave out 0; or the ten most
            frequent rankings.
        statistic : {"auc", "hand_till"}
            By D or by Hand and Till's M. Of curves, `curves` chooses.
        scale : {"square", "corner", "logit"}
            Of curves: the whole square, its corner on log axes, or logit axes, as in `RocCurveDisplay.plot`.
        curves : {"both", "shared", "mean"}, optional
            Which curves. By default both of up to four models, and of more the shared ones, whose areas are D.
        band : bool
            Draw the bands of the curves.
        despine : bool
            Remove the top and right spines.
        """
        kind = one_of(kind, "kind", get_args(ComparisonKind))
        statistic = one_of(statistic, "statistic", _STATISTICS)
        if kind == "curves":
            return self._draw_curves(ax, scale, curves, band=band, despine=despine)
        contest = self.by_auc if statistic == "auc" else self.by_hand_till
        rows = {"differences": len(contest.differences), "rankings": min(len(contest.rankings), 11)}
        self.ax_ = ax = axes_of(ax, height=min(1.2 + 0.3 * rows.get(kind, len(contest.estimates)), 12))
        self.figure_ = ax.figure
        rankings = partial(_rankings, share="share of draws" if self.n_resamples == 0 else "share of resamples")
        draws: dict[str, Callable[[Axes, Contest], list[Any]]] = {
            "box": self._box,
            "ridge": self._ridge,
            "differences": _differences,
            "rankings": rankings,
        }
        self.artists_ = draws[kind](ax, contest)
        faint_grid(ax, "x")
        ax.tick_params(axis="y", length=0)
        if despine:
            despined(ax)
        return self

    def _draw_curves(
        self, ax: "Axes | None", scale: Scale, curves: Curves | None, *, band: bool, despine: bool
    ) -> "ComparisonDisplay":
        if self.curves is None:
            raise InputError("kind", "must not be 'curves' where the display holds none", "'curves'")
        self.ax_ = ax = square_axes_of(ax)
        self.figure_ = ax.figure
        self.artists_ = draw_curves(ax, self.curves(band=band), scale=scale, curves=curves, band=band)
        if despine:
            despined(ax)
        return self

    def _box(self, ax: "Axes", contest: Contest) -> list[Any]:
        boxes: list[Any] = []
        for place, spread in enumerate(self._spreads(contest)):
            low, first, median, third, high = spread.quantiles
            ax.hlines([place, place], [low, third], [first, high], color=ink(), linewidth=1)
            ax.vlines([low, high], place - 0.12, place + 0.12, color=ink(), linewidth=1)
            colour = colour_of(ax, place)
            boxes += ax.barh([place], [third - first], 0.5, [first], color=colour, alpha=0.8)
            ax.vlines([median], place - 0.25, place + 0.25, color=ink(), linewidth=1)
        self._finish_rows(ax, contest, above=0.6, below=0.38)
        return boxes

    def _ridge(self, ax: "Axes", contest: Contest) -> list[Any]:
        spreads = self._spreads(contest)
        ridges: list[Any] = []
        for place, spread in enumerate(spreads):
            colour = colour_of(ax, place)
            if len(spread.at) == 1:
                ridges += ax.plot([spread.at[0]] * 2, [place, place - 0.8], color=colour, linewidth=1.8)
                continue
            # All ridges are equally high: a sure model would make the others flat.
            height = place - 0.8 * spread.density / spread.density.max()
            ridges.append(ax.fill_between(spread.at, place, height, color=colour, alpha=0.6, linewidth=0))
            ax.plot(spread.at, height, color=colour, linewidth=1.2)
        self._finish_rows(ax, contest, above=1.0, below=0.13)
        return ridges

    def _spreads(self, contest: Contest) -> list[Density]:
        return [self.spreads[contest.statistic][estimate.model] for estimate in contest.estimates]

    def _finish_rows(self, ax: "Axes", contest: Contest, above: float, below: float) -> None:
        other = self.by_hand_till if contest.statistic == "auc" else self.by_auc
        values = [estimate.value for estimate in other.estimates]
        # Below the row and pointing up at it: a mark upon the whiskers would be read as an outlier.
        ax.plot(values, [place + below for place in range(len(values))], "^", color=ink(), markersize=5, zorder=4)
        spread = ""
        if self.n_resamples is not None:
            drawn = f" of {self.n_resamples} resamples"
            spread = drawn if self.n_resamples else ", normal distribution by influences"
        mark = "triangle: M, Hand and Till" if contest.statistic == "auc" else "triangle: D"
        ax.set_xlabel(f"{STATISTIC_LABELS[contest.statistic]}{spread}\n({mark})")
        ax.set_ylim(len(values) - 0.4, -above)
        fit_names(
            ax,
            names_of([estimate.model for estimate in contest.estimates], letters_beside(ax, share=_SHARE, most=_NAME)),
        )


def _differences(ax: "Axes", contest: Contest) -> list[Any]:
    entries = contest.differences
    ax.axvline(0, color=ink(), alpha=0.6, linewidth=1)
    drawn = []
    for place, entry in enumerate(entries):
        sure = entry.low > 0 or entry.high < 0
        colour = colour_of(ax, 0 if sure else 1)
        reach = [[max(entry.value - entry.low, 0)], [max(entry.high - entry.value, 0)]]
        interval = ax.errorbar([entry.value], [place], xerr=reach, fmt="o", color=colour, capsize=2.5, markersize=5)
        interval.lines[0].set_markerfacecolor(colour if sure else ax.get_facecolor())
        drawn.append(interval)
    ax.set_xlabel(f"difference of {STATISTIC_LABELS[contest.statistic]}")
    ax.set_ylim(len(entries) - 0.4, -0.6)
    room = letters_beside(ax, share=_SHARE, most=_NAME)
    models = list(dict.fromkeys(name for entry in entries for name in (entry.first, entry.second)))
    short = dict(zip(models, names_of(models, room - 2), strict=True))
    fit_names(ax, [_minus(short[entry.first], short[entry.second], room) for entry in entries])
    return drawn


def _minus(first: str, second: str, room: int) -> str:
    """On one line where there is room."""
    whole = f"{first} - {second}"
    return whole if len(whole) <= room else f"{first}\n- {second}"


def _rankings(ax: "Axes", contest: Contest, share: str) -> list[Any]:
    shown = contest.rankings[:_MOST_RANKINGS]
    shares = [ranking.probability for ranking in shown]
    room = letters_beside(ax, share=0.6, most=40)
    models = [estimate.model for estimate in contest.estimates]
    short = dict(zip(models, names_of(models, min(30, max(8, room - 2))), strict=True))
    names = [_in_words(ranking, short, room) for ranking in shown]
    if rest := contest.rankings[_MOST_RANKINGS:]:
        shares.append(sum(ranking.probability for ranking in rest))
        names.append(f"others ({len(rest)})")
    bars = ax.barh(range(len(shares)), shares, height=0.6, color=colour_of(ax, 0))
    if rest:
        bars[-1].set_alpha(0.5)
    ax.bar_label(bars, [literal(percent(share)) for share in shares], padding=3, fontsize="small")
    # Room on the right for the number next to the longest bar; but no share is above 1.
    ax.set_xlim(0, 1.25 * max(shares))
    ax.set_xticks([tick for tick in ax.get_xticks() if tick <= min(1, 1.25 * max(shares))])
    ax.set_xlabel(f"{share}, by {STATISTIC_LABELS[contest.statistic]}")
    # A single ranking is a bar, not a wall.
    ax.set_ylim(max(len(shares), 3) - 0.4, -0.6)
    fit_names(ax, names)
    return list(bars)


def _in_words(ranking: Ranking, short: Mapping[str, str], room: int) -> str:
    # No line is broken at a no-break space: names stay whole, and a sign on the line of the name before it.
    places = ["\xa0= ".join(short[name].replace(" ", "\xa0") for name in place) for place in ranking.order]
    text = "\xa0> ".join(places)
    lines = textwrap.wrap(text, room, max_lines=_MOST_LINES, placeholder=" ...", break_on_hyphens=False)
    return "\n".join(line.replace("\xa0", " ") for line in lines)


def _spread(replicates: FloatArray, confidence_level: float) -> Density:
    """Quantiles, and a Gaussian kernel density with Silverman's bandwidth."""
    tail = (1 - confidence_level) / 2
    quantiles: FloatArray = np.quantile(replicates, [tail, 0.25, 0.5, 0.75, 1 - tail])
    deviation, middle_half = float(np.std(replicates, ddof=1)), float(quantiles[3] - quantiles[1]) / 1.34
    width = 0.9 * (min(deviation, middle_half) or deviation) * len(replicates) ** -0.2
    if width < 1e-9:
        return Density(replicates, quantiles, quantiles[2:3].copy(), np.ones(1))
    first, last = max(0.0, replicates.min() - 3 * width), min(1.0, replicates.max() + 3 * width)
    at = np.linspace(first, last, 200)
    # No area is below 0 or above 1: what a kernel has beyond an end is folded back at it.
    mirrored = np.concatenate([replicates, -replicates, 2 - replicates])
    kernels = np.exp(-0.5 * ((at[:, None] - mirrored) / width) ** 2)
    density = kernels.sum(axis=1) / (len(replicates) * width * np.sqrt(2 * np.pi))
    return Density(replicates, quantiles, at, density)


# Letters of an estimate, and the share of the width that names of ranked models get at most.
_ESTIMATE, _RANKED_SHARE = 8, 0.4


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
        fit_names(ax, names_of([one.model for one in shown], letters_beside(ax, share=_RANKED_SHARE, most=_NAME)))
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
