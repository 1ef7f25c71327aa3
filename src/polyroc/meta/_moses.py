"""The regression of Moses, Shapiro and Littenberg."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polyroc._inputs.checks import InputError
from polyroc._lib.typing import FloatArray
from polyroc._records import read_only
from polyroc.meta._line import LogitLine
from polyroc.meta._studies import Studies
from polyroc.meta._summary import SummaryRoc

# Sums of two logits that differ by less than this do not differ.
_SAME = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class MosesSummary(SummaryRoc):
    """Result of `summary_roc` for the regression of Moses, Shapiro and Littenberg.

    D = logit TPR - logit FPR, the log odds ratio of a study, is regressed on S = logit TPR + logit FPR, which says how
    low its threshold is. The line D = a + b S is the curve.

    Attributes
    ----------
    studies, curve, auc, partial_auc, observed_fpr, notes
        As in `SummaryRoc`.
    intercept, slope : float
        a and b. With b = 0 the odds ratio exp(a) is the same at all thresholds.
    covariance : ndarray of shape (2, 2)
        Covariance of intercept and slope.
    standard_error : ndarray of shape (2,)
        Standard errors of intercept and slope.
    weighted : bool
        Whether studies have the weight 1 / variance of D.

    Examples
    --------
    >>> from polyroc.meta import summary_roc
    >>> tables = {"TP": [47, 126, 19, 36], "FN": [9, 51, 10, 3], "FP": [101, 272, 12, 78], "TN": [738, 1543, 192, 276]}
    >>> summary = summary_roc(tables, approach="moses")
    >>> round(summary.intercept, 2), round(summary.slope, 2)
    (3.44, 0.15)
    """

    intercept: float
    slope: float
    covariance: FloatArray
    weighted: bool

    @property
    def approach(self) -> str:
        return "moses"

    @cached_property
    def standard_error(self) -> FloatArray:
        return read_only(np.sqrt(np.diag(self.covariance)))

    @property
    def _line(self) -> LogitLine:
        # logit TPR (1 - b) = a + (1 + b) logit FPR
        away = 1 - self.slope
        return LogitLine(center=0.0, height=self.intercept / away, slope=(1 + self.slope) / away)

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        return super().to_dict() | {
            "weighted": self.weighted,
            "intercept": self.intercept,
            "slope": self.slope,
            "covariance": self.covariance.tolist(),
            "standard_error": self.standard_error.tolist(),
        }

    def _title(self) -> str:
        kind = "weighted" if self.weighted else "unweighted"
        return f"Summary ROC curve of {len(self.studies)} studies: Moses' regression, {kind}"

    def _rows(self) -> list[tuple[str, str]]:
        first, second = (f"{error:.3f}" for error in self.standard_error)
        return [
            ("intercept", f"{self.intercept:.3f}  (standard error {first})"),
            ("slope", f"{self.slope:.3f}  (standard error {second})"),
        ]


def moses_summary(studies: Studies, *, weighted: bool) -> MosesSummary:
    """Regress D on S by (weighted) least squares."""
    tpr, fpr = studies.logits.T
    difference, total = tpr - fpr, tpr + fpr
    weights = 1 / studies.variances.sum(axis=1) if weighted else np.ones(len(studies))
    weights = weights / weights.sum()
    center = weights @ total
    spread = float(weights @ (total - center) ** 2)
    if spread <= _SAME**2:
        came = "studies with the same logit TPR + logit FPR"
        raise InputError("tables", "must differ in threshold", came, hint=": use approach='reitsma'")
    slope = float(weights @ ((total - center) * difference)) / spread
    if abs(slope) >= 1:
        came = f"slope {slope:.3g} of logit TPR - logit FPR on their sum, which is no rising curve"
        raise InputError("tables", "must have a slope between -1 and 1", came, hint=": use approach='reitsma'")
    intercept = float(weights @ difference) - slope * center
    residuals = difference - intercept - slope * total
    # As in any weighted regression; because the weights sum to 1, no number of studies stands before the sum.
    variance = float(weights @ residuals**2) / (len(studies) - 2)
    covariance = variance * np.array([[1 + center**2 / spread, -center / spread], [-center / spread, 1 / spread]])
    return MosesSummary(
        studies=studies, intercept=float(intercept), slope=slope, covariance=covariance, weighted=weighted
    )
