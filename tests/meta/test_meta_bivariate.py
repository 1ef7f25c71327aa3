"""The bivariate model: against the dense likelihood, simulations, equivalences, and on its border."""

import itertools
import json
import math

import numpy as np
import pytest
from audit_c import AUDIT_C_TABLE, simulated
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, logit

from polyroc.meta import FitStatus, summary_roc

# At each of three false positive rates the same two true ones, which differ less than by chance: no correlation.
FLAT = [[tp, 50 - tp, fp, 100 - fp] for fp in (10, 30, 80) for tp in (40, 42)]


def dense(studies, between):
    """The covariance of all 2 m logits in one matrix, their mean by generalised least squares, and its precision."""
    m = len(studies)
    y, x = studies.logits.ravel(), np.tile(np.eye(2), (m, 1))
    v = np.kron(np.eye(m), between) + np.diag(studies.variances.ravel())
    inverse = np.linalg.inv(v)
    information = x.T @ inverse @ x
    mean = np.linalg.solve(information, x.T @ inverse @ y)
    return v, mean, information


def dense_log_likelihood(studies, between, method):
    """Harville (1974), less his constant log |X'X| / 2."""
    m = len(studies)
    v, mean, information = dense(studies, between)
    residual = studies.logits.ravel() - np.tile(mean, m)
    restricted = method == "reml"
    value = (
        np.linalg.slogdet(v)[1] + residual @ np.linalg.solve(v, residual) + (2 * m - 2 * restricted) * np.log(2 * np.pi)
    )
    return -(value + restricted * np.linalg.slogdet(information)[1]) / 2


def covariance_of(sd_tpr, sd_fpr, correlation):
    shared = sd_tpr * sd_fpr * correlation
    return np.array([[sd_tpr**2, shared], [shared, sd_fpr**2]])


def small_problems():
    rng = np.random.default_rng(5)
    for number in range(25):
        sizes = rng.integers(8, 60, size=2)
        spread = covariance_of(*rng.uniform(0, 1.2, size=2), rng.uniform(-0.9, 0.9))
        yield number, simulated(rng, [rng.normal(1.5), rng.normal(-1.0)], spread, int(rng.integers(3, 12)), sizes)


@pytest.mark.parametrize("method", ["reml", "ml"])
def test_the_fit_maximises_the_dense_likelihood(method):
    summary = summary_roc(AUDIT_C_TABLE, method=method)

    def loss(parameters):
        return -dense_log_likelihood(
            summary.studies, covariance_of(*np.exp(parameters[:2]), np.tanh(parameters[2])), method
        )

    options = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 5000}
    found = minimize(loss, [0.3, -0.3, 0.2], method="Nelder-Mead", options=options)
    assert summary.log_likelihood == pytest.approx(-loss(found.x), abs=1e-9)
    assert summary.log_likelihood == pytest.approx(
        dense_log_likelihood(summary.studies, summary.between, method), abs=1e-10
    )
    assert_allclose(summary.standard_deviation, np.exp(found.x[:2]), rtol=1e-5)
    assert summary.correlation == pytest.approx(np.tanh(found.x[2]), abs=1e-5)
    _, mean, information = dense(summary.studies, summary.between)
    assert_allclose(summary.mean, mean, rtol=1e-9)
    assert_allclose(summary.covariance, np.linalg.inv(information), rtol=1e-9)


@pytest.mark.parametrize("method", [pytest.param("reml", marks=pytest.mark.slow), "ml"])
def test_nothing_on_a_grid_is_likelier(method):
    deviations = [0.0, 0.05, 0.2, 0.5, 1.0, 1.6]
    correlations = [-1.0, -0.9, -0.4, 0.0, 0.4, 0.9, 1.0]
    statuses = set()
    for number, table in small_problems():
        summary = summary_roc(table, method=method)
        best = max(
            dense_log_likelihood(summary.studies, covariance_of(*one), method)
            for one in itertools.product(deviations, deviations, correlations)
        )
        assert summary.log_likelihood >= best - 1e-9, number
        statuses.add(str(summary.status))
    assert statuses == {"converged", "boundary"}


def test_no_problem_stalls_or_gives_what_json_cannot_write():
    for _, table in small_problems():
        summary = summary_roc(table)
        assert summary.status is not FitStatus.STALLED
        json.dumps(summary.to_dict(), allow_nan=False)
        assert np.linalg.eigvalsh(summary.between).min() >= -1e-12
        assert (summary.status is FitStatus.BOUNDARY) == (summary.correlation in (None, 1.0, -1.0))


def test_simulated_studies_give_their_parameters_back():
    between = covariance_of(0.9, 0.5, 0.6)
    table = simulated(np.random.default_rng(3), [1.2, -1.5], between, 3000, (2000, 2000))
    summary = summary_roc(table)
    assert np.all(np.abs(summary.mean - [1.2, -1.5]) < 4 * summary.standard_error)
    # Of m normal pairs a standard deviation has the relative error 1 / sqrt(2 m), a correlation (1 - r^2) / sqrt(m).
    assert_allclose(summary.standard_deviation, [0.9, 0.5], rtol=4 / math.sqrt(6000))
    assert summary.correlation == pytest.approx(0.6, abs=4 * 0.64 / math.sqrt(3000))


def test_regions_are_ellipses_around_the_mean():
    summary = summary_roc(AUDIT_C_TABLE)
    for region, covariance in (
        (summary.confidence_region(0.9), summary.covariance),
        (summary.prediction_region(0.9), summary.covariance + summary.between),
    ):
        away = logit(np.stack([region.tpr, region.fpr])) - summary.mean[:, None]
        # The 90 % quantile of the chi-squared distribution with two degrees of freedom, from a table.
        assert_allclose(np.einsum("in,ij,jn->n", away, np.linalg.inv(covariance), away), 4.60517, rtol=1e-6)
        assert (region.fpr[0], region.tpr[0]) == (region.fpr[-1], region.tpr[-1])
        assert region.confidence_level == 0.9


def test_intervals_are_of_the_logits():
    summary = summary_roc(AUDIT_C_TABLE)
    low, high = summary.tpr_interval()
    assert_allclose(logit([low, high]), summary.mean[0] + np.array([-1, 1]) * 1.959964 * summary.standard_error[0])
    low, high = summary.fpr_interval(0.9)
    assert_allclose(logit([low, high]), summary.mean[1] + np.array([-1, 1]) * 1.644854 * summary.standard_error[1])


def test_the_curve_is_rutter_and_gatsonis_curve_of_the_same_model():
    summary = summary_roc(AUDIT_C_TABLE)
    found, fpr = summary.hsroc, summary.curve.fpr[1:-1:7]
    height = found.Lambda * np.exp(-found.beta / 2) + np.exp(-found.beta) * logit(fpr)
    assert_allclose(summary.curve.tpr[1:-1:7], expit(height), atol=1e-9)
    # And their model has the same mean and covariance: logits (theta + alpha / 2) e^(-beta / 2) of the diseased and
    # (theta - alpha / 2) e^(beta / 2) of the healthy, with independent theta and alpha.
    down, up = np.exp(-found.beta / 2), np.exp(found.beta / 2)
    to_logits = np.array([[down, down / 2], [up, -up / 2]])
    assert_allclose(to_logits @ [found.Theta, found.Lambda], summary.mean)
    variances = np.diag([found.sigma2_theta, found.sigma2_alpha])
    assert_allclose(to_logits @ variances @ to_logits.T, summary.between)


def test_the_order_of_the_studies_does_not_matter():
    first = summary_roc(AUDIT_C_TABLE)
    other = summary_roc(AUDIT_C_TABLE[np.random.default_rng(0).permutation(14)])
    assert_allclose(other.mean, first.mean, atol=1e-8)
    assert_allclose(other.between, first.between, atol=1e-7)
    assert other.auc == pytest.approx(first.auc, abs=1e-9)


def test_swapping_diseased_and_healthy_mirrors_the_curve():
    first, swapped = summary_roc(AUDIT_C_TABLE), summary_roc(AUDIT_C_TABLE[:, [2, 3, 0, 1]])
    assert_allclose(swapped.mean, first.mean[::-1], atol=1e-7)
    assert_allclose(swapped.between, first.between[::-1, ::-1], atol=1e-6)
    assert swapped.auc == pytest.approx(1 - first.auc, abs=1e-7)
    assert_allclose(swapped.curve.tpr_at(first.curve.tpr[50:-50:9]), first.curve.fpr[50:-50:9], atol=1e-4)


def test_calling_positive_negative_mirrors_the_curve_at_the_other_diagonal():
    # Healthy people with a negative test become diseased ones with a positive test.
    first, turned = summary_roc(AUDIT_C_TABLE), summary_roc(AUDIT_C_TABLE[:, ::-1])
    assert_allclose(turned.mean, -first.mean[::-1], atol=1e-7)
    assert turned.auc == pytest.approx(first.auc, abs=1e-7)
    assert turned.hsroc.Lambda == pytest.approx(first.hsroc.Lambda, abs=1e-6)
    assert turned.hsroc.beta == pytest.approx(-first.hsroc.beta, abs=1e-6)


def test_more_of_the_same_people_leave_the_variance_between_studies():
    # Within studies nothing is left of the variance, so the covariance of the logits is all there is.
    summary = summary_roc(AUDIT_C_TABLE[:6] * 10**9)
    assert_allclose(summary.between, np.cov(summary.studies.logits.T), rtol=1e-5)
    assert_allclose(summary.mean, summary.studies.logits.mean(axis=0), rtol=1e-6)


def test_studies_that_do_not_differ():
    summary = summary_roc(np.tile([40, 10, 20, 80], (6, 1)))
    assert summary.status is FitStatus.BOUNDARY
    assert summary.status.message.startswith("The fit converged to a covariance on the border")
    assert_allclose(summary.between, 0, atol=0)
    assert summary.correlation is None
    assert (summary.tpr, summary.fpr) == pytest.approx((0.8, 0.2))
    # The variance of one study of six times the size.
    assert_allclose(summary.covariance, np.diag([1 / 240 + 1 / 60, 1 / 120 + 1 / 480]))
    assert (summary.hsroc.beta, summary.hsroc.sigma2_alpha, summary.hsroc.sigma2_theta) == (0, 0, 0)
    assert summary.curve.tpr_at(0.2) == pytest.approx(0.8, abs=1e-5)
    assert summary.notes[0].startswith("The studies differ no more than chance explains.")
    assert "None" not in str(summary)


def test_only_the_false_positive_rate_varies():
    summary = summary_roc(FLAT)
    assert summary.status is FitStatus.BOUNDARY
    assert summary.standard_deviation[0] == 0
    assert summary.standard_deviation[1] > 1
    assert summary.hsroc is None
    assert summary.auc == summary.partial_auc == summary.tpr
    assert summary.curve.tpr_at([0.01, 0.99]) == pytest.approx([summary.tpr, summary.tpr])
    assert summary.notes[0].startswith("TPR varies no more than chance explains, so the curve is flat")


def test_only_the_true_positive_rate_varies():
    flat, step = summary_roc(FLAT), summary_roc(np.array(FLAT)[:, [2, 3, 0, 1]])
    assert step.standard_deviation[1] == 0
    assert step.auc == pytest.approx(1 - flat.auc)
    assert step.curve.tpr_at([step.fpr - 0.001, step.fpr + 0.001]).tolist() == [0, 1]
    low, high = step.observed_fpr
    assert step.partial_auc == pytest.approx((high - step.fpr) / (high - low))
    assert step.notes[0].startswith("FPR varies no more than chance explains, so the curve is a step")


def test_a_correlation_of_one_is_said_so():
    summary = summary_roc([[40, 10, 20, 80], [20, 30, 10, 90], [45, 5, 30, 70], [40, 10, 20, 80]])
    assert summary.status is FitStatus.BOUNDARY
    assert summary.correlation == 1
    assert summary.hsroc.sigma2_alpha == pytest.approx(0, abs=1e-12)
    assert summary.notes[0].startswith("The estimated correlation is +1, the end of its range")
    assert summary.notes[1] == "Five parameters are estimated from 4 pairs of rates."


def test_a_curve_that_rises_against_the_studies_is_doubted():
    rng = np.random.default_rng(1)
    table = simulated(rng, [1.0, -1.0], covariance_of(0.8, 0.8, -0.7), 30, (300, 300))
    summary = summary_roc(table)
    assert summary.correlation < -0.4
    assert summary.notes[0].startswith("Over the studies, TPR falls where FPR rises.")


def test_the_text():
    assert str(summary_roc(AUDIT_C_TABLE)).splitlines() == [
        "Summary ROC curve of 14 studies: bivariate model, restricted maximum likelihood",
        "summary TPR           0.891  (95 % interval 0.808 to 0.941)",
        "summary FPR           0.220  (95 % interval 0.167 to 0.285)",
        "SD between studies    1.175 of logit TPR, 0.638 of logit FPR",
        "correlation           0.854",
        "area under the curve  0.888",
        "mean TPR              0.870  (over the observed FPR, 0.059 to 0.520)",
    ]
    assert repr(summary_roc(AUDIT_C_TABLE)) == "ReitsmaSummary(14 studies, auc=0.8879)"


def test_floating_point_errors_that_a_caller_makes_fatal_do_not_occur():
    table = np.array([[1, 0, 1, 10**15], [10**15, 1, 3, 10**9], [40, 0, 2, 10**6], [10**12, 7, 0, 10**13]])
    with np.errstate(all="raise"):
        for options in ({}, {"method": "ml"}, {"approach": "moses", "weighted": True}):
            summary = summary_roc(table, **options)
            json.dumps(summary.to_dict(), allow_nan=False)
            assert str(summary)


def test_results_are_frozen():
    summary = summary_roc(AUDIT_C_TABLE)
    for array in (summary.mean, summary.between, summary.standard_error, summary.studies.tpr, summary.studies.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
