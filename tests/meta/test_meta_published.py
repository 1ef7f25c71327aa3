"""What R's mada prints for its AuditC data.

library(mada)
data(AuditC)
fit <- reitsma(AuditC)
summary(fit)
summary(reitsma(AuditC, method = "ml"))
"""

import numpy as np
import pytest
from audit_c import AUDIT_C, AUDIT_C_TABLE
from numpy.testing import assert_allclose
from scipy.special import expit

from polyroc.meta import summary_roc


@pytest.fixture(scope="module")
def summary():
    return summary_roc(AUDIT_C)


def areas_of_mada(curve, fpr):
    """mada adds the trapezoids between its 99 points and divides by 99, though there are 98 of them."""
    tpr = curve.tpr_at(fpr)
    return np.sum((tpr[1:] + tpr[:-1]) / 2) / len(fpr)


def test_the_model(summary):
    assert_allclose(summary.mean, [2.0997, -1.2637], atol=5e-5)
    assert_allclose(summary.standard_error, [0.338, 0.174], atol=5e-4)
    assert_allclose(summary.standard_deviation, [1.175, 0.638], atol=5e-4)
    assert summary.correlation == pytest.approx(0.854, abs=5e-4)
    assert (summary.tpr, summary.fpr) == pytest.approx((0.891, 0.220), abs=5e-4)
    assert summary.status == "converged"
    assert summary.notes == ()


def test_more_digits_of_the_fit(summary):
    # fit$coefficients, fit$Psi, fit$vcov; mvmeta stops at a relative change of the likelihood of 1.5e-8.
    assert_allclose(summary.mean, [2.09974224746266, -1.263690935268621], atol=1e-6)
    assert_allclose(summary.between[[0, 0, 1], [0, 1, 1]], [1.3795829, 0.6402942, 0.4072082], atol=5e-6)
    assert_allclose(summary.covariance[[0, 0, 1], [0, 1, 1]], [0.1141433, 0.0458583, 0.0303914], atol=5e-7)


def test_the_likelihood_is_that_of_logits(summary):
    # logLik(fit) is a density of rates: that of the logits times the derivative of the logit, 1 / (p (1 - p)).
    rates = expit(summary.studies.logits)
    assert summary.log_likelihood - np.log(rates * (1 - rates)).sum() == pytest.approx(31.563960673, abs=1e-8)


def test_ordinary_maximum_likelihood():
    summary = summary_roc(AUDIT_C_TABLE, method="ml")
    assert_allclose(summary.mean, [2.0762591, -1.2624471], atol=1e-6)
    assert_allclose(summary.between[0], [1.2238418, 0.5832329], atol=2e-6)


def test_the_parameters_of_rutter_and_gatsonis(summary):
    # mada:::calc_hsroc_coef(fit)
    found = summary.hsroc
    assert (found.Theta, found.Lambda, found.beta) == pytest.approx((-0.0833793, 3.2621326, -0.610106), abs=2e-6)
    assert (found.sigma2_theta, found.sigma2_alpha) == pytest.approx((0.6949062, 0.2184478), abs=2e-6)


def test_the_areas(summary):
    # AUC(fit) gives 0.8866793 and, over the observed rates, 0.8611916: printed as 0.887 and 0.861.
    whole = areas_of_mada(summary.curve, np.arange(1, 100) / 100)
    assert whole == pytest.approx(0.8866793, abs=5e-6)
    assert round(whole, 3) == 0.887
    observed = areas_of_mada(summary.curve, np.linspace(*summary.observed_fpr, 99))
    assert observed == pytest.approx(0.8611916, abs=5e-6)
    assert round(observed, 3) == 0.861
    # What the trapezoids themselves say: the area from 0 to 1, and the mean rate over the observed range.
    fpr = np.linspace(0, 1, 200_001)
    assert summary.auc == pytest.approx(np.trapezoid(summary.curve.tpr_at(fpr), fpr), abs=2e-6)
    fpr = np.linspace(*summary.observed_fpr, 100_001)
    mean = np.trapezoid(summary.curve.tpr_at(fpr), fpr) / (fpr[-1] - fpr[0])
    assert summary.partial_auc == pytest.approx(mean, abs=2e-5)
