"""The bivariate model in the parameters of Rutter and Gatsonis."""

import math
from dataclasses import dataclass

import numpy as np

from polyroc._lib._typing import FloatArray


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
