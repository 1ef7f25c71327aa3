"""The parts of a picture of ROC curves: line, band, faint pairs, diagonal, axes, legend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._estimator._curve import RocCurve
from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError
from polyroc._lib.limits import PAIR_CURVES_DRAWN
from polyroc._lib.numbers import area, area_and_ends, counted
from polyroc._uncertainty.band import ConfidenceBand
from polyroc._uncertainty.intervals import Interval
from polyroc.display._frames import Frame, Square
from polyroc.display._style import (
    COLOURS_ON_LIGHT,
    LINE_STYLES,
    colour_of,
    font_points,
    letters_in,
    literal,
    names_of,
    points_now,
    pyplot,
)
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._scoring import evaluate_estimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# By this mark the curves that are already in the axes are known, so that the next one looks different.
MARK = "polyroc curve"
_SQUARE = Square()


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


def draw_diagonal(ax: "Axes", wanted: Mapping[str, Any] | None, frame: Frame = _SQUARE) -> Any:
    """The curve of scores that say nothing."""
    from matplotlib import cbook
    from matplotlib.lines import Line2D

    style = {"color": pyplot().rcParams["text.color"], "alpha": 0.5, "linewidth": 1, "linestyle": ":"}
    style |= {"label": literal("no information (D 0.5)")} | cbook.normalize_kwargs(dict(wanted or {}), Line2D)
    ends = np.array([0.0, 1.0])
    return ax.plot(*frame.points(ends, ends), **style)[0]


def draw_band(ax: "Axes", band: ConfidenceBand, colour: Any, frame: Frame = _SQUARE) -> Any:
    """The area between the two curves of the band."""
    # The lower edge there and the upper one back: both are curves, which fill_between could not take.
    lower, upper = (frame.points(side.fpr, side.tpr) for side in (band.lower, band.upper))
    fpr, tpr = (np.r_[there, back[::-1]] for there, back in zip(lower, upper, strict=True))
    return ax.fill(fpr, tpr, color=colour, alpha=0.2, linewidth=0)[0]


def draw_pairs(ax: "Axes", curves: Sequence[RocCurve], frame: Frame = _SQUARE) -> Any:
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
        # As vectors this many curves would make a PDF that is slow to open.
        rasterized=len(curves) > 200,
    )
    ax.add_collection(faint, autolim=False)
    return faint


def dress(ax: "Axes") -> None:
    """Limits, labels and grid of rates on both axes."""
    _SQUARE.dress(ax)


def legend_in_corner(ax: "Axes", *, backwards: bool, frame: Frame = _SQUARE) -> None:
    """Where the curves are not; the grid does not cross the letters."""
    ax.legend(
        loc=frame.legend_place(backwards=backwards),
        fontsize="small",
        frameon=True,
        framealpha=0.8,
        edgecolor="none",
    )


_DIGITS = 3
_LONGEST = 30
# Where a line keeps its entry: when another curve comes, names may have to be cut elsewhere.
_KEPT = "_polyroc_entry"


@dataclass(frozen=True)
class Entry:
    """What the legend says of one curve."""

    name: str | None
    numbers: str
    remark: str = ""

    def of(self, name: str, room: int) -> str:
        """With the name as it is shown; on two lines where one is too short."""
        numbers = f"{self.numbers}, {self.remark}" if self.remark else self.numbers
        # matplotlib leaves labels with an underscore in front out of the legend.
        text = f" {name}" if name.startswith("_") else name
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
    setattr(line, _KEPT, entry)
    lines = [one for one in ax.get_lines() if hasattr(one, _KEPT)]
    room = letters_in(min(points_now(ax)), font_points("small")) - 5
    names = [name for one in lines if (name := getattr(one, _KEPT).name) is not None]
    short = dict(zip(names, names_of(names, min(_LONGEST, room)), strict=True))
    for one in lines:
        found: Entry = getattr(one, _KEPT)
        one.set_label(str(found) if found.name is None else found.of(short[found.name], room))


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
