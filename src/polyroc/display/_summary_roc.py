"""Diagnostic studies and their summary ROC curve."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyroc._inputs.checks import as_confidence_level, as_flag
from polyroc._lib.numbers import area, level
from polyroc.display._rates_axes import MARK, dress, legend_in_corner
from polyroc.display._style import colour_of, despined, literal, square_axes_of
from polyroc.meta import ReitsmaSummary, SummaryRoc

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Areas of the largest study's circle, and of the smallest that can still be seen, in square points.
_LARGEST, _SMALLEST = 220.0, 8.0


@dataclass(kw_only=True, eq=False, repr=False)
class SummaryRocDisplay:
    """Studies as circles, their area by the number of people, and the summary curve.

    Parameters
    ----------
    summary : ReitsmaSummary or MosesSummary
        Result of `polyroc.meta.summary_roc`.
    name : str, optional
        What the legend calls the curve.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    studies_ : PathCollection or None
        The circles.
    line_ : Line2D
        The curve over the observed false positive rates.
    extrapolated_ : Line2D
        The whole curve, dashed, below it.
    point_ : Line2D or None
        The summary point of the bivariate model.
    confidence_region_, prediction_region_ : Polygon or None
        The regions around it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polyroc.display import SummaryRocDisplay
    >>> from polyroc.meta import summary_roc
    >>> summary = summary_roc([[47, 9, 101, 738], [126, 51, 272, 1543], [36, 3, 78, 276], [130, 19, 211, 959]])
    >>> display = SummaryRocDisplay.from_summary(summary, name="AUDIT-C").plot(Figure().add_subplot())
    >>> display.ax_.get_xlabel()
    'false positive rate'
    """

    summary: SummaryRoc
    name: str | None = None

    @classmethod
    def from_summary(cls, summary: SummaryRoc, *, name: str | None = None) -> "SummaryRocDisplay":
        """Make the display from the result of `polyroc.meta.summary_roc`, without drawing it."""
        return cls(summary=summary, name=name)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        confidence_level: float = 0.95,
        prediction_region: bool = False,
        studies: bool = True,
        despine: bool = False,
    ) -> "SummaryRocDisplay":
        """Draw studies, curve, summary point and its region. Several displays in one picture differ in colour.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure.
        confidence_level : float
            Of the regions, between 0 and 1.
        prediction_region : bool
            Draw the region in which a further study is expected, too. Only the bivariate model has regions.
        studies : bool
            Draw the studies.
        despine : bool
            Remove the top and right spines.
        """
        confidence_level = as_confidence_level(confidence_level)
        predicted = as_flag(prediction_region, "prediction_region")
        circles = as_flag(studies, "studies")
        self.ax_ = ax = square_axes_of(ax)
        self.figure_ = ax.figure
        colour = colour_of(ax, sum(line.get_gid() == MARK for line in ax.get_lines()))
        self.studies_ = self._draw_studies(colour) if circles else None
        self._draw_curve(colour)
        self.point_: Any = None
        self.confidence_region_: Any = None
        self.prediction_region_: Any = None
        if isinstance(self.summary, ReitsmaSummary):
            self._draw_point(self.summary, colour, confidence_level, predicted=predicted)
        dress(ax)
        legend_in_corner(ax, backwards=self.summary.auc < 0.5)
        if despine:
            despined(ax)
        return self

    def _draw_studies(self, colour: str) -> Any:
        studies = self.summary.studies
        people = studies.counts.sum(axis=1)
        sizes = np.maximum(_LARGEST * people / people.max(), _SMALLEST)
        style: dict[str, Any] = {"facecolors": "none", "edgecolors": colour, "linewidths": 1, "alpha": 0.8}
        # Not cut at the border, where studies without a mistake are.
        return self.ax_.scatter(studies.fpr, studies.tpr, s=sizes, zorder=2.5, clip_on=False, **style)

    def _draw_curve(self, colour: str) -> None:
        curve, (low, high) = self.summary.curve, self.summary.observed_fpr
        name = "" if self.name is None else f"{self.name}: "
        label = literal(f"{name}summary curve, area {area(self.summary.auc, digits=3)}")
        inner = (curve.fpr > low) & (curve.fpr < high)
        observed = np.r_[low, curve.fpr[inner], high]
        heights = np.r_[curve.tpr_at(low), curve.tpr[inner], curve.tpr_at(high)]
        # The solid part covers the dashes, which are the whole curve: so both meet, also where the curve jumps.
        [self.extrapolated_] = self.ax_.plot(curve.fpr, curve.tpr, linestyle="--", linewidth=1.2, color=colour)
        [self.line_] = self.ax_.plot(observed, heights, linewidth=1.8, color=colour, label=label, gid=MARK)

    def _draw_point(self, summary: ReitsmaSummary, colour: str, confidence_level: float, *, predicted: bool) -> None:
        ax = self.ax_
        region = summary.confidence_region(confidence_level)
        label = literal(f"summary point, {level(confidence_level)} region")
        [self.point_] = ax.plot(
            summary.fpr, summary.tpr, marker="s", markersize=6, linestyle="none", color=colour, label=label, zorder=3
        )
        [self.confidence_region_] = ax.fill(region.fpr, region.tpr, color=colour, alpha=0.2, linewidth=0)
        if predicted:
            wide = summary.prediction_region(confidence_level)
            further = literal(f"a further study, {level(confidence_level)} region")
            [self.prediction_region_] = ax.fill(
                wide.fpr, wide.tpr, facecolor="none", edgecolor=colour, linestyle=":", linewidth=1.2, label=further
            )
