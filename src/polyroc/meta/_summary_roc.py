"""summary_roc(...): one ROC curve for several diagnostic studies; and the regression of Moses et al."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args, overload

import numpy as np

from polyroc._inputs.checks import InputError, as_flag, one_of
from polyroc._lib.warnings import underflow_is_zero
from polyroc.meta._bivariate import FitMethod
from polyroc.meta._reitsma import ReitsmaSummary, reitsma_summary
from polyroc.meta._studies import CorrectionControl, Studies, read_studies
from polyroc.meta._summary import LogitLine, SummaryRoc

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
    weighted: bool

    @property
    def approach(self) -> str:
        return "moses"

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


SummaryApproach: TypeAlias = Literal["reitsma", "moses"]


@overload
def summary_roc(
    tables: Any,
    *,
    approach: Literal["reitsma"] = "reitsma",
    method: FitMethod = "reml",
    weighted: bool = False,
    correction: float = 0.5,
    correction_control: CorrectionControl = "all",
) -> ReitsmaSummary: ...


@overload
def summary_roc(
    tables: Any,
    *,
    approach: Literal["moses"],
    method: FitMethod = "reml",
    weighted: bool = False,
    correction: float = 0.5,
    correction_control: CorrectionControl = "all",
) -> MosesSummary: ...


@underflow_is_zero
def summary_roc(
    tables: Any,
    *,
    approach: SummaryApproach = "reitsma",
    method: FitMethod = "reml",
    weighted: bool = False,
    correction: float = 0.5,
    correction_control: CorrectionControl = "all",
) -> ReitsmaSummary | MosesSummary:
    """One ROC curve for several diagnostic studies, each known by its four counts.

    Parameters
    ----------
    tables : array-like of shape (n_studies, 4), data frame or mapping
        One row for each study: true positives, false negatives, false positives, true negatives, in this order; or
        columns called TP, FN, FP and TN, in any letter case. Other columns are ignored. At least 3 studies.
    approach : {"reitsma", "moses"}
        The bivariate normal model of Reitsma et al. [1]_, which is what the literature recommends; or the regression
        of Moses, Shapiro and Littenberg [2]_, for comparison with older reviews.
    method : {"reml", "ml"}
        How the bivariate model is fitted: by restricted or by ordinary maximum likelihood.
    weighted : bool
        Whether the regression of Moses et al. weighs studies by 1 / variance of their log odds ratio.
    correction : float
        Continuity correction, from 0 to 1: what is added to all four counts of a study.
    correction_control : {"all", "single", "none"}
        Correct all studies if any of them has a zero count; only studies that have one; or none, in which case a zero
        count is an error. Without zero counts nothing is corrected.

    Returns
    -------
    ReitsmaSummary or MosesSummary
        With `curve`, `auc`, `partial_auc`, `notes`, `plot` and the parameters of the model.

    Raises
    ------
    InputError
        If an argument breaks one of the rules above, a study has nobody diseased or nobody healthy, or the studies do
        not determine the regression of Moses et al.

    References
    ----------
    .. [1] J. B. Reitsma et al., "Bivariate analysis of sensitivity and specificity produces informative summary
       measures in diagnostic reviews", Journal of Clinical Epidemiology 58, 982-990, 2005.
    .. [2] L. E. Moses, D. Shapiro and B. Littenberg, "Combining independent studies of a diagnostic test into a summary
       ROC curve", Statistics in Medicine 12, 1293-1316, 1993.
    .. [3] R. M. Harbord et al., "A unification of models for meta-analysis of diagnostic accuracy studies",
       Biostatistics 8, 239-251, 2007.

    Examples
    --------
    Six studies of AUDIT-C, a questionnaire on alcohol (Kriston et al. 2008):

    >>> from polyroc.meta import summary_roc
    >>> tables = {
    ...     "TP": [47, 126, 19, 36, 130, 84],
    ...     "FN": [9, 51, 10, 3, 19, 2],
    ...     "FP": [101, 272, 12, 78, 211, 68],
    ...     "TN": [738, 1543, 192, 276, 959, 89],
    ... }
    >>> summary = summary_roc(tables)
    >>> print(summary)
    Summary ROC curve of 6 studies: bivariate model, restricted maximum likelihood
    summary TPR           0.856  (95 % interval 0.704 to 0.937)
    summary FPR           0.174  (95 % interval 0.101 to 0.282)
    SD between studies    1.077 of logit TPR, 0.768 of logit FPR
    correlation           0.932
    area under the curve  0.905
    mean TPR              0.872  (over the observed FPR, 0.059 to 0.433)
    >>> round(summary.curve.tpr_at(0.1), 2)
    0.71
    >>> summary_roc(tables, approach="moses")
    MosesSummary(6 studies, auc=0.9130)
    """
    approach = one_of(approach, "approach", get_args(SummaryApproach))
    method = one_of(method, "method", get_args(FitMethod))
    weighted = as_flag(weighted, "weighted")
    if approach == "reitsma" and weighted:
        raise InputError("weighted", "must be False for approach='reitsma', which weighs by its own variances", "True")
    if approach == "moses" and method != "reml":
        raise InputError("method", "must be left out for approach='moses', which has no likelihood", repr(method))
    studies = read_studies(tables, correction, correction_control)
    if approach == "moses":
        return moses_summary(studies, weighted=weighted)
    return reitsma_summary(studies, method)
