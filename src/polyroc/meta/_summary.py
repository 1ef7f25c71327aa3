"""Base of the summaries of both approaches: a straight line on the logit scale, its areas, words and a picture."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from polyroc._core.curve import RocCurve
from polyroc._lib.numbers import area
from polyroc._lib.text import aligned, wrapped
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, read_only
from polyroc.meta._studies import Studies

if TYPE_CHECKING:
    from polyroc.display import SummaryRocDisplay

# Points of the curve end at this logit, a rate of 1.5e-8; what is left to the corners is drawn straight.
_FARTHEST = 18.0
# Beyond this logit of FPR there is nothing to integrate: less than 1e-26 of the range is there.
_EDGE = 60.0
_N_POINTS = 2001
# Closer than this to slope 1 the closed form is more accurate than the integral is.
_SAME = 1e-9


@dataclass(frozen=True)
class LogitLine:
    """logit TPR = height + slope * (logit FPR - center), with a slope from 0 to infinity."""

    center: float
    height: float
    slope: float

    @property
    def is_step(self) -> bool:
        """Whether the curve jumps from 0 to 1 at one false positive rate."""
        return math.isinf(self.slope)

    @underflow_is_zero
    def tpr_at(self, fpr: FloatArray) -> FloatArray:
        """True positive rates at false positive rates."""
        if self.is_step:
            # At the jump itself the upper end, as in `RocCurve.tpr_at`.
            return np.where(fpr >= expit(self.center), 1.0, 0.0)
        if self.slope == 0:
            return np.full_like(fpr, expit(self.height))
        rates: FloatArray = expit(self.height + self.slope * (logit(fpr) - self.center))
        return rates

    @underflow_is_zero
    def curve(self) -> RocCurve:
        """Points of the curve, dense in both rates, with its exact area."""
        if self.is_step:
            jump = float(expit(self.center))
            return RocCurve(fpr=np.array([0, jump, jump, 1]), tpr=np.array([0.0, 0, 1, 1]), exact_auc=self.area())
        if self.slope == 0:
            level = float(expit(self.height))
            return RocCurve(fpr=np.array([0.0, 0, 1, 1]), tpr=np.array([0, level, level, 1]), exact_auc=self.area())
        # Denser in the middle, where rates change most: straight lines between these points are right to 1e-5.
        logits = _FARTHEST * np.sinh(3 * np.linspace(-1, 1, _N_POINTS)) / np.sinh(3)
        # Small steps in one rate may be leaps in the other, so both are taken.
        fpr = np.union1d(logits, self.center + (logits - self.height) / self.slope)
        tpr = self.height + self.slope * (fpr - self.center)
        return RocCurve(fpr=np.r_[0, expit(fpr), 1], tpr=np.r_[0, expit(tpr), 1], exact_auc=self.area())

    @underflow_is_zero
    def area(self) -> float:
        """Area under the whole curve."""
        if self.is_step:
            return float(expit(-self.center))
        if self.slope == 0:
            return float(expit(self.height))
        if abs(self.slope - 1) < _SAME:
            return _area_of_odds_ratio(self.height - self.center)
        return self._integral(-_EDGE, _EDGE)

    @underflow_is_zero
    def mean_tpr(self, low: float, high: float) -> float:
        """Mean true positive rate over false positive rates from `low` to `high`: the normalised partial area."""
        if low == high:
            return float(self.tpr_at(np.array(low, dtype=np.float64)))
        if self.is_step:
            return float(np.clip((high - expit(self.center)) / (high - low), 0, 1))
        if self.slope == 0:
            return float(expit(self.height))
        start, stop = np.clip(logit([low, high]), -_EDGE, _EDGE).tolist()
        return min(self._integral(start, stop) / (high - low), 1.0)

    def _integral(self, low: float, high: float) -> float:
        # scipy.integrate takes as long to load as all of polyroc.
        from scipy.integrate import quad

        def density(x: float) -> float:
            """TPR times the derivative of FPR, by the logit of FPR."""
            return float(expit(self.height + self.slope * (x - self.center)) * expit(x) * expit(-x))

        # Cut where TPR and FPR are 1/2: a steep curve changes within a small part of the range, at its cut.
        cuts = np.unique(np.clip([low, self.center - self.height / self.slope, 0.0, high], low, high))
        # With `full_output` it does not warn that it cannot do better than rounding lets it.
        parts = [quad(density, *ends, epsabs=1e-13, epsrel=1e-11, full_output=1)[0] for ends in pairwise(cuts.tolist())]
        return float(np.clip(sum(parts), 0.0, 1.0))


def _area_of_odds_ratio(log_ratio: float) -> float:
    """Area under the curve of one odds ratio R: R (R - 1 - ln R) / (R - 1)^2, Walter (2002).

    >>> round(_area_of_odds_ratio(0.0), 6), round(_area_of_odds_ratio(math.log(10)), 6)
    (0.5, 0.826841)
    """
    if abs(log_ratio) < 1e-3:
        # Its series: the formula would lose all digits. The next term is of order 5.
        return 0.5 + log_ratio / 6 - log_ratio**3 / 360
    # In 1 / R where R > 1, which cannot overflow: the area of 1 / R is 1 minus that of R.
    inverse = math.exp(-abs(log_ratio))
    area = (1 - inverse - inverse * abs(log_ratio)) / (1 - inverse) ** 2
    return area if log_ratio > 0 else 1 - area


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
    covariance: FloatArray

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
        """Rows of the text besides the areas: names and numbers."""

    @cached_property
    def standard_error(self) -> FloatArray:
        return read_only(np.sqrt(np.diag(self.covariance)))

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
