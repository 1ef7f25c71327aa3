"""The bivariate model of Reitsma et al. and what is read off it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from polyroc._inputs.checks import as_confidence_level
from polyroc._lib.numbers import area, area_and_ends
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, read_only
from polyroc._uncertainty.intervals import Interval
from polyroc.meta._bivariate import FitMethod, FitStatus, fit_bivariate
from polyroc.meta._studies import Studies
from polyroc.meta._summary import LogitLine, SummaryRoc


@dataclass(frozen=True)
class Hsroc:
    """Parameters of Rutter and Gatsonis' hierarchical summary ROC model.

    Attributes
    ----------
    Lambda : float
        Mean accuracy: the higher, the farther is the curve above the diagonal.
    Theta : float
        Mean threshold, on the logit scale; higher means more positive tests.
    beta : float
        Asymmetry of the curve; 0 for a curve that is symmetric to the falling diagonal.
    sigma2_alpha, sigma2_theta : float
        Variances between studies of accuracy and threshold.

    References
    ----------
    Rutter and Gatsonis (2001), A hierarchical regression approach to meta-analysis of diagnostic test accuracy
    evaluations, Statistics in Medicine 20.

    Examples
    --------
    >>> from polyroc.meta import summary_roc
    >>> tables = {"TP": [47, 126, 19, 36], "FN": [9, 51, 10, 3], "FP": [101, 272, 12, 78], "TN": [738, 1543, 192, 276]}
    >>> summary = summary_roc(tables)
    >>> round(summary.hsroc.Lambda, 2), round(summary.hsroc.beta, 2)
    (3.29, -0.23)
    """

    Lambda: float
    Theta: float
    beta: float
    sigma2_alpha: float
    sigma2_theta: float


def hsroc_of(mean: FloatArray, between: FloatArray) -> Hsroc | None:
    """By Harbord et al. (2007), table 1; None where one standard deviation is 0 and beta therefore infinite.

    They write it for specificity: its logit is minus that of the false positive rate, so its mean and its covariance
    with the logit of the sensitivity have the other sign here.
    """
    sd_tpr, sd_fpr = np.sqrt(np.diag(between)).tolist()
    tpr, fpr = mean.tolist()
    if sd_tpr == sd_fpr == 0:
        # Nothing varies: any beta fits, and 0 is the symmetric curve.
        return Hsroc(Lambda=tpr - fpr, Theta=(tpr + fpr) / 2, beta=0.0, sigma2_alpha=0.0, sigma2_theta=0.0)
    if sd_tpr == 0 or sd_fpr == 0:
        return None
    scale = math.sqrt(sd_fpr / sd_tpr)
    product, covariance = sd_tpr * sd_fpr, float(between[0, 1])
    return Hsroc(
        Lambda=scale * tpr - fpr / scale,
        Theta=(scale * tpr + fpr / scale) / 2,
        beta=math.log(sd_fpr / sd_tpr),
        # A correlation of 1 or -1 makes one of them 0, but for rounding.
        sigma2_alpha=max(0.0, 2 * (product - covariance)),
        sigma2_theta=max(0.0, (product + covariance) / 2),
    )


_N_POINTS = 200


@dataclass(frozen=True, eq=False)
class Region(Frozen):
    """A region of points (FPR, TPR), by its border.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The border; its last point is its first.
    confidence_level : float
        Probability that it covers what it is for.

    Examples
    --------
    >>> from polyroc.meta import summary_roc
    >>> tables = {"TP": [47, 126, 19, 36], "FN": [9, 51, 10, 3], "FP": [101, 272, 12, 78], "TN": [738, 1543, 192, 276]}
    >>> summary = summary_roc(tables)
    >>> region = summary.confidence_region()
    >>> bool(region.tpr.min() < summary.tpr < region.tpr.max())
    True
    """

    fpr: FloatArray
    tpr: FloatArray
    confidence_level: float

    def __repr__(self) -> str:
        return f"Region(confidence_level={self.confidence_level:g}, {len(self.fpr)} points)"


def region_of(mean: FloatArray, covariance: FloatArray, confidence_level: float) -> Region:
    """The points at one Mahalanobis distance from the mean; both are of the logits of TPR and FPR."""
    # The chi-squared distribution of two degrees of freedom has a quantile in closed form.
    radius = math.sqrt(-2 * math.log1p(-confidence_level))
    lengths, axes = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, _N_POINTS + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    # An eigenvalue of 0 may come out a little below.
    border = mean[:, None] + radius * (axes * np.sqrt(np.maximum(lengths, 0))) @ circle
    border[:, -1] = border[:, 0]
    tpr, fpr = expit(border)
    return Region(fpr=fpr, tpr=tpr, confidence_level=confidence_level)


# Mean, variances and correlation are five numbers; with as few studies they are hardly known.
_FEW = 6


@dataclass(frozen=True, eq=False, repr=False)
class ReitsmaSummary(SummaryRoc):
    """Result of `summary_roc` for the bivariate model of Reitsma et al.

    The pair (logit TPR, logit FPR) of a study is normal around the mean, with a covariance between studies and the
    known variances within each study.

    Attributes
    ----------
    studies, curve, auc, partial_auc, observed_fpr, notes
        As in `SummaryRoc`. The curve is Rutter and Gatsonis' one.
    method : {"reml", "ml"}
        Restricted or ordinary maximum likelihood.
    mean : ndarray of shape (2,)
        Means of logit TPR and logit FPR.
    covariance : ndarray of shape (2, 2)
        Covariance of `mean`.
    standard_error : ndarray of shape (2,)
        Standard errors of `mean`.
    between : ndarray of shape (2, 2)
        Covariance between studies.
    standard_deviation : ndarray of shape (2,)
        Standard deviations between studies of logit TPR and logit FPR.
    correlation : float or None
        Their correlation; None where a standard deviation is 0.
    log_likelihood : float
        Of the logits; restricted for ``method="reml"``.
    status : FitStatus
        How the fit ended: "converged", "boundary" (a standard deviation of 0, or a correlation of 1 or -1) or
        "stalled".
    tpr, fpr : float
        The summary point: the mean as rates.
    hsroc : Hsroc or None
        The same model in the parameters of Rutter and Gatsonis; None where only one standard deviation is 0, because
        some of them are infinite there.

    Examples
    --------
    >>> from polyroc.meta import summary_roc
    >>> tables = {"TP": [47, 126, 19, 36], "FN": [9, 51, 10, 3], "FP": [101, 272, 12, 78], "TN": [738, 1543, 192, 276]}
    >>> summary = summary_roc(tables)
    >>> round(summary.tpr, 2), round(summary.fpr, 2)
    (0.79, 0.13)
    >>> low, high = summary.tpr_interval()
    >>> bool(low < summary.tpr < high)
    True
    """

    mean: FloatArray
    between: FloatArray
    log_likelihood: float
    status: FitStatus
    method: FitMethod

    @property
    def approach(self) -> str:
        return "reitsma"

    @cached_property
    def standard_deviation(self) -> FloatArray:
        return read_only(np.sqrt(np.diag(self.between)))

    @property
    def correlation(self) -> float | None:
        product = float(np.prod(self.standard_deviation))
        if product == 0:
            return None
        if self.status is FitStatus.BOUNDARY:
            # Exactly: the quotient would be so but for rounding.
            return math.copysign(1.0, self.between[0, 1])
        return float(np.clip(self.between[0, 1] / product, -1, 1))

    @property
    def tpr(self) -> float:
        return float(expit(self.mean[0]))

    @property
    def fpr(self) -> float:
        return float(expit(self.mean[1]))

    @property
    def hsroc(self) -> Hsroc | None:
        return hsroc_of(self.mean, self.between)

    @property
    def _line(self) -> LogitLine:
        # Rutter and Gatsonis' curve in these parameters: through the mean, with the ratio of the deviations as slope.
        sd_tpr, sd_fpr = self.standard_deviation.tolist()
        slope = sd_tpr / sd_fpr if sd_fpr > 0 else math.inf if sd_tpr > 0 else 1.0
        return LogitLine(center=float(self.mean[1]), height=float(self.mean[0]), slope=slope)

    def tpr_interval(self, confidence_level: float = 0.95) -> Interval:
        """Confidence interval of the true positive rate of the summary point.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        """
        return self._interval(0, confidence_level)

    def fpr_interval(self, confidence_level: float = 0.95) -> Interval:
        """Confidence interval of the false positive rate of the summary point; as `tpr_interval`."""
        return self._interval(1, confidence_level)

    def _interval(self, place: int, confidence_level: Any) -> Interval:
        reach = float(ndtri((1 + as_confidence_level(confidence_level)) / 2) * self.standard_error[place])
        mean = float(self.mean[place])
        return Interval(float(expit(mean - reach)), float(expit(mean + reach)))

    @underflow_is_zero
    def confidence_region(self, confidence_level: float = 0.95) -> Region:
        """Where the summary point is, jointly in both rates: an ellipse on the logit scale.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        """
        return region_of(self.mean, self.covariance, as_confidence_level(confidence_level))

    @underflow_is_zero
    def prediction_region(self, confidence_level: float = 0.95) -> Region:
        """Where the true rates of a further study would be; as `confidence_region`."""
        return region_of(self.mean, self.covariance + self.between, as_confidence_level(confidence_level))

    @property
    def notes(self) -> tuple[str, ...]:
        correlation = self.correlation
        notes = [_about_border(self)] if self.status is FitStatus.BOUNDARY else []
        if self.status is FitStatus.STALLED:
            notes.append(f"{self.status.message} Do not use its numbers.")
        if correlation is not None and correlation < 0:
            notes.append(
                "Over the studies, TPR falls where FPR rises. Different thresholds do not explain that, so the curve, "
                "which always rises, describes these studies badly: use the summary point."
            )
        if len(self.studies) < _FEW:
            notes.append(f"Five parameters are estimated from {len(self.studies)} pairs of rates.")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        hsroc = self.hsroc
        return super().to_dict() | {
            "method": self.method,
            "status": str(self.status),
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
            "standard_error": self.standard_error.tolist(),
            "between": self.between.tolist(),
            "standard_deviation": self.standard_deviation.tolist(),
            "correlation": self.correlation,
            "log_likelihood": self.log_likelihood,
            "tpr": self.tpr,
            "tpr_interval": list(self.tpr_interval()),
            "fpr": self.fpr,
            "fpr_interval": list(self.fpr_interval()),
            "hsroc": None if hsroc is None else dict(vars(hsroc)),
        }

    def _title(self) -> str:
        by = {"reml": "restricted maximum likelihood", "ml": "maximum likelihood"}[self.method]
        return f"Summary ROC curve of {len(self.studies)} studies: bivariate model, {by}"

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for name, rate, ends in (("TPR", self.tpr, self.tpr_interval()), ("FPR", self.fpr, self.fpr_interval())):
            text, low, high = area_and_ends(rate, *ends, digits=3)
            rows.append((f"summary {name}", f"{text}  (95 % interval {low} to {high})"))
        first, second = (_deviation(x) for x in self.standard_deviation.tolist())
        rows.append(("SD between studies", f"{first} of logit TPR, {second} of logit FPR"))
        correlation = self.correlation
        if correlation is not None:
            sign = "-" if correlation < 0 else ""
            rows.append(("correlation", f"{sign}{area(abs(correlation), digits=3)}"))
        return rows


def _deviation(value: float) -> str:
    return f"{value:.3f}" if value == 0 or value >= 0.0005 else "less than 0.001"


def _about_border(summary: ReitsmaSummary) -> str:
    sd_tpr, sd_fpr = summary.standard_deviation.tolist()
    if sd_tpr == sd_fpr == 0:
        return (
            "The studies differ no more than chance explains. Their curve could have any slope; it is drawn with one "
            "odds ratio throughout."
        )
    if sd_tpr == 0:
        return "TPR varies no more than chance explains, so the curve is flat: use the summary point instead."
    if sd_fpr == 0:
        return "FPR varies no more than chance explains, so the curve is a step: use the summary point instead."
    return (
        f"The estimated correlation is {summary.correlation:+.0f}, the end of its range: there are too few studies, or "
        "too small ones, to estimate it."
    )


def reitsma_summary(studies: Studies, method: FitMethod) -> ReitsmaSummary:
    """Fit the bivariate model."""
    fit = fit_bivariate(studies.logits, studies.variances, method)
    return ReitsmaSummary(studies=studies, method=method, **vars(fit))
