"""What the summaries of both approaches share: the studies, the curve, its areas, words and a picture."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from polyroc._estimator._curve import RocCurve
from polyroc._lib.numbers import area
from polyroc._lib.text import aligned, wrapped
from polyroc._records import Frozen
from polyroc.meta._line import LogitLine
from polyroc.meta._studies import Studies

if TYPE_CHECKING:
    from polyroc.display import SummaryRocDisplay


@dataclass(frozen=True, eq=False)
class SummaryRoc(Frozen, ABC):
    """A summary ROC curve of several studies: what `ReitsmaSummary` and `MosesSummary` have in common.

    Attributes
    ----------
    studies : Studies
        Counts and rates of the studies.
    curve : RocCurve
        The summary curve; it is a straight line on the logit scale.
    auc : float
        Area under the whole curve. Most of it may be extrapolated: see `observed_fpr`.
    partial_auc : float
        Area over the observed false positive rates, divided by their range: the mean true positive rate there.
    observed_fpr : tuple of float
        Smallest and largest false positive rate of a study.
    notes : tuple of str
        What makes the summary doubtful, a sentence each.

    Examples
    --------
    >>> from polyroc.meta import summary_roc
    >>> tables = {"TP": [47, 126, 19, 36], "FN": [9, 51, 10, 3], "FP": [101, 272, 12, 78], "TN": [738, 1543, 192, 276]}
    >>> summary = summary_roc(tables)
    >>> round(summary.auc, 3), round(summary.curve.tpr_at(0.1), 2)
    (0.904, 0.71)
    """

    studies: Studies

    @property
    @abstractmethod
    def approach(self) -> str:
        """Name of the approach."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Doubts, a sentence each."""

    @property
    @abstractmethod
    def _line(self) -> LogitLine:
        """The curve on the logit scale."""

    @abstractmethod
    def _title(self) -> str:
        """First line of the text."""

    @abstractmethod
    def _rows(self) -> list[tuple[str, str]]:
        """What the text says besides the areas: names and numbers."""

    @cached_property
    def curve(self) -> RocCurve:
        return self._line.curve()

    @property
    def auc(self) -> float:
        return self.curve.auc

    @property
    def observed_fpr(self) -> tuple[float, float]:
        return float(self.studies.fpr.min()), float(self.studies.fpr.max())

    @cached_property
    def partial_auc(self) -> float:
        return self._line.mean_tpr(*self.observed_fpr)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        return {
            "approach": self.approach,
            "n_studies": len(self.studies),
            "auc": self.auc,
            "partial_auc": self.partial_auc,
            "observed_fpr": list(self.observed_fpr),
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None, **kwargs: Any) -> "SummaryRocDisplay":
        """Draw the studies and the curve (needs ``polyroc[plot]``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **kwargs
            Further arguments of `polyroc.display.SummaryRocDisplay.plot`.

        Returns
        -------
        SummaryRocDisplay
            With `ax_`, `figure_` and `line_`.
        """
        # As in `Evaluation.plot`: whoever does not draw does not load it.
        from polyroc.display import SummaryRocDisplay

        return SummaryRocDisplay.from_summary(self).plot(ax, **kwargs)

    def __str__(self) -> str:
        auc, partial, low, high = (area(x, digits=3) for x in (self.auc, self.partial_auc, *self.observed_fpr))
        rows = [
            *self._rows(),
            ("area under the curve", auc),
            ("mean TPR", f"{partial}  (over the observed FPR, {low} to {high})"),
        ]
        notes = [line for note in self.notes for line in wrapped(note)]
        return "\n".join([self._title(), *aligned(rows), *notes])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.studies)} studies, auc={area(self.auc)})"
