"""Pictures of ROC curves: axes for rates (square, corner, logit), and lines, bands, faint pairs, diagonal, legend."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.curve import RocCurve
from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError
from polyroc._lib.axes import COLOURS_ON_LIGHT, View, decades_of, densified
from polyroc._lib.limits import PAIR_CURVES_DRAWN
from polyroc._lib.numbers import area, area_and_ends, counted, level
from polyroc._lib.typing import FloatArray
from polyroc._uncertainty.band import ConfidenceBand
from polyroc._uncertainty.intervals import Interval
from polyroc.display._style import (
    LINE_STYLES,
    colour_of,
    faint_grid,
    ink,
    legend,
    legend_label,
    letters_in,
    literal,
    names_of,
    points_now,
    points_of,
)
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._scoring import evaluate_estimator

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
    """Both rates from 0 to 1; the other frames are like it but for their scales."""

    scale: ClassVar[Scale] = "square"

    def points(self, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A curve as it is drawn: with more points where straight lines bend."""
        return fpr, tpr

    def legend_place(self, *, backwards: bool) -> Place:
        """Where the curves are not."""
        return "upper left" if backwards else "lower right"

    def dress(self, ax: "Axes") -> None:
        """Scales, limits, ticks, labels and grid."""
        setattr(ax, _KEPT, self)
        self._set_scales(ax)
        faint_grid(ax)

    def _set_scales(self, ax: "Axes") -> None:
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        ax.set(xlabel="false positive rate", ylabel="true positive rate")


@dataclass(frozen=True)
class Corner(Square):
    """FPR against 1 - TPR, both on log axes of this many decades; better is up and left.

    The axes take rates as they are, FPR and TPR, so that more can be drawn into them.
    """

    scale: ClassVar[Scale] = "corner"
    decades: int

    def points(self, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        return densified(fpr, tpr)

    def legend_place(self, *, backwards: bool) -> Place:
        # Curves may pass anywhere.
        return "best"

    def _set_scales(self, ax: "Axes") -> None:
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


@dataclass(frozen=True)
class Logit(Square):
    """Logit of FPR against logit of TPR, both from this many decades below 50 % to as many above.

    The fit of D has one line here that all pairs share, stretched for each by its pair effect. The axes take rates as
    they are, FPR and TPR, so that more can be drawn into them.
    """

    scale: ClassVar[Scale] = "logit"
    decades: int

    def points(self, fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
        return densified(fpr, tpr, both_ends=True)

    def _set_scales(self, ax: "Axes") -> None:
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
    room = letters_in(width, "xtick.labelsize")
    return max(1, math.ceil(longest / max(room, 1)))


# By this mark the curves that are already in the axes are known, so that the next one looks different.
MARK = "polyroc curve"


def next_style(
    ax: "Axes", wanted: Mapping[str, Any] | None, *, n_curves: int, two_kinds: bool = False
) -> dict[str, Any]:
    """Colour and line of the next curve, or of the curves of all folds, unless somebody wants others.

    Where there are two kinds of curves, colours distinguish the models and lines the kinds.
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
    """Line of the mean curve next to that of the shared one."""
    return {**shared, "linestyle": ":" if shared["linestyle"] == "-." else "--"}


def draw_diagonal(ax: "Axes", wanted: Mapping[str, Any] | None, frame: Frame) -> Any:
    """The curve of scores that say nothing."""
    from matplotlib import cbook
    from matplotlib.lines import Line2D

    style = {"color": ink(), "alpha": 0.5, "linewidth": 1, "linestyle": ":"}
    style |= {"label": literal("no information (D 0.5)")} | cbook.normalize_kwargs(dict(wanted or {}), Line2D)
    ends = np.array([0.0, 1.0])
    return ax.plot(*frame.points(ends, ends), **style)[0]


def draw_band(ax: "Axes", band: ConfidenceBand, colour: Any, frame: Frame) -> Any:
    """The area between the two curves of the band."""
    # The lower edge there and the upper one back: both are curves, which fill_between could not take.
    lower, upper = (frame.points(side.fpr, side.tpr) for side in (band.lower, band.upper))
    fpr, tpr = (np.r_[there, back[::-1]] for there, back in zip(lower, upper, strict=True))
    return ax.fill(fpr, tpr, color=colour, alpha=0.2, linewidth=0)[0]


def draw_pairs(ax: "Axes", curves: Sequence[RocCurve], frame: Frame) -> Any:
    """The curves of the pairs, the fainter the more they are."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    # Grey, so that the shared curve is seen first, also where very many pairs take the same way.
    front, behind = (np.array(to_rgb(colour)) for colour in (ink(), ax.get_facecolor()))
    faint = LineCollection(
        [np.column_stack(frame.points(curve.fpr, curve.tpr)) for curve in curves],
        colors=[0.45 * front + 0.55 * behind],
        linewidths=0.7,
        alpha=max(0.1, min(0.7, 24 / len(curves))),
        zorder=1,
        # As vectors this many curves would make a PDF that is slow to open.
        rasterized=len(curves) > 200,
    )
    ax.add_collection(faint, autolim=False)
    return faint


def dress(ax: "Axes") -> None:
    """Limits, labels and grid of rates on both axes."""
    Square().dress(ax)


def legend_in_corner(ax: "Axes", *, backwards: bool, frame: Frame = Square()) -> None:
    """Where the curves are not; the grid does not cross the letters."""
    legend(ax, frame.legend_place(backwards=backwards))


_DIGITS = 3
_LONGEST = 30
# Where a line keeps its entry: when another curve comes, names may have to be cut elsewhere.
_ENTRY = "_polyroc_entry"


@dataclass(frozen=True)
class Entry:
    """Legend entry of one curve."""

    name: str | None
    numbers: str
    remark: str = ""

    def of(self, name: str, room: int) -> str:
        """With the name as it is shown; on two lines where one is too short."""
        numbers = f"{self.numbers}, {self.remark}" if self.remark else self.numbers
        text = legend_label(name)
        return f"{text} ({numbers})" if len(text) + len(numbers) + 3 <= room else f"{text}\n{numbers}"

    def __str__(self) -> str:
        return f"{self.numbers} ({self.remark})" if self.remark else self.numbers


def statistic_text(letter: str, value: float, interval: Interval | None) -> str:
    """D or M with its interval, rounded to nothing that it does not say.

    >>> statistic_text("D", 0.99964, Interval(0.9996, 0.99968))
    'D 0.99964 [0.99960, 0.99968]'
    >>> statistic_text("M", 0.9152, None)
    'M 0.915'
    """
    if interval is None:
        return f"{letter} {area(value, digits=_DIGITS)}"
    text, low, high = area_and_ends(value, *interval, digits=_DIGITS)
    return f"{letter} {text} [{low}, {high}]"


def folds_text(letter: str, curves: Sequence[RocCurve]) -> str:
    """The mean area of several folds and how it varies over them."""
    areas = [curve.auc for curve in curves]
    spread = f", SD {np.std(areas, ddof=1):.3f}" if len(areas) > 1 else ""
    return f"mean {letter} {area(float(np.mean(areas)), digits=_DIGITS)}{spread} of {counted(len(areas), 'fold')}"


def label(ax: "Axes", line: Any, entry: Entry) -> None:
    """Give a line its entry, and all lines of the axes names that differ."""
    setattr(line, _ENTRY, entry)
    lines = [one for one in ax.get_lines() if hasattr(one, _ENTRY)]
    room = letters_in(min(points_now(ax)), "small") - 5
    names = [name for one in lines if (name := getattr(one, _ENTRY).name) is not None]
    short = dict(zip(names, names_of(names, min(_LONGEST, room)), strict=True))
    for one in lines:
        own: Entry = getattr(one, _ENTRY)
        one.set_label(str(own) if own.name is None else own.of(short[own.name], room))


def evaluate_folds(
    cv_results: Mapping[str, Any], X: Any, y: ArrayLike, sample_weight: Any, options: dict[str, Any]
) -> list[Evaluation]:
    """One evaluation for each fold."""
    from sklearn.utils import _safe_indexing

    for key in ("estimator", "indices"):
        if key not in cv_results:
            wanted = "cross_validate(..., return_estimator=True, return_indices=True)"
            raise InputError("cv_results", f"must contain {key!r}, as those of {wanted} do")
    y_true = read_labels(y, "y")
    weight = None if sample_weight is None else np.asarray(sample_weight)
    return [
        evaluate_estimator(
            estimator,
            _safe_indexing(X, test),
            y_true[test],
            sample_weight=None if weight is None else weight[test],
            **options,
        )
        for estimator, test in zip(cv_results["estimator"], cv_results["indices"]["test"], strict=True)
    ]


def pair_curves_of(evaluation: Evaluation) -> list[RocCurve]:
    """The curves of the pairs, from corner to corner, where they are at hand and more than one."""
    rates = evaluation.fitted.kept_rates
    if rates is None or rates.n_pairs < 2:
        return []
    chosen = np.arange(rates.n_pairs)
    if rates.n_pairs > PAIR_CURVES_DRAWN:
        by_effect = np.argsort(evaluation.pairs.effect, kind="stable")
        chosen = by_effect[np.linspace(0, rates.n_pairs - 1, PAIR_CURVES_DRAWN).round().astype(int)]
    return [RocCurve(fpr=np.r_[0, rates.fpr[:, p], 1], tpr=np.r_[0, rates.tpr[:, p], 1]) for p in chosen]
