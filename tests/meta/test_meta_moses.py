"""The regression of Moses, Shapiro and Littenberg."""

import json

import numpy as np
import pytest
from audit_c import AUDIT_C_TABLE
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from polyroc import InputError
from polyroc.meta import summary_roc


def by_normal_equations(summary, weighted):
    (tpr, fpr), m = summary.studies.logits.T, len(summary.studies)
    x = np.stack([np.ones(m), tpr + fpr], axis=1)
    w = np.diag(1 / summary.studies.variances.sum(axis=1)) if weighted else np.eye(m)
    inverse = np.linalg.inv(x.T @ w @ x)
    found = inverse @ x.T @ w @ (tpr - fpr)
    residual = tpr - fpr - x @ found
    return found, inverse * (residual @ w @ residual) / (m - 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_regression_of_the_difference_on_the_sum(weighted):
    summary = summary_roc(AUDIT_C_TABLE, approach="moses", weighted=weighted)
    found, covariance = by_normal_equations(summary, weighted)
    assert_allclose([summary.intercept, summary.slope], found, rtol=1e-10)
    assert_allclose(summary.covariance, covariance, rtol=1e-9)
    assert_allclose(summary.standard_error, np.sqrt(np.diag(covariance)), rtol=1e-9)
    # On the curve difference and sum of the logits are on the line.
    inner = (np.minimum(summary.curve.tpr, summary.curve.fpr) > 1e-6) & (summary.curve.tpr < 1 - 1e-6)
    tpr, fpr = logit(summary.curve.tpr[inner]), logit(summary.curve.fpr[inner])
    assert len(tpr) > 1000
    assert_allclose(tpr - fpr, summary.intercept + summary.slope * (tpr + fpr), atol=1e-6)


def test_studies_on_one_curve_give_that_curve():
    # Odds ratio 9 at four thresholds: without slope the area has a closed form.
    fpr = np.array([0.1, 0.25, 0.5, 0.75])
    tpr = expit(logit(fpr) + np.log(9))
    table = np.rint(10**9 * np.stack([tpr, 1 - tpr, fpr, 1 - fpr], axis=1))
    summary = summary_roc(table, approach="moses")
    assert summary.slope == pytest.approx(0, abs=1e-8)
    assert summary.intercept == pytest.approx(np.log(9), abs=1e-8)
    assert summary.auc == pytest.approx(9 / 64 * (8 - np.log(9)), abs=1e-8)
    # The bivariate model finds the same curve: all of the variation is along it.
    other = summary_roc(table)
    assert other.auc == pytest.approx(summary.auc, abs=1e-4)
    assert other.hsroc.beta == pytest.approx(0, abs=1e-3)


def test_swapping_diseased_and_healthy_mirrors_the_curve():
    first = summary_roc(AUDIT_C_TABLE, approach="moses")
    swapped = summary_roc(AUDIT_C_TABLE[:, [2, 3, 0, 1]], approach="moses")
    assert (swapped.intercept, swapped.slope) == pytest.approx((-first.intercept, -first.slope))
    assert swapped.auc == pytest.approx(1 - first.auc)


def test_the_text_and_the_dict():
    summary = summary_roc(AUDIT_C_TABLE, approach="moses")
    assert str(summary).splitlines()[:3] == [
        "Summary ROC curve of 14 studies: Moses' regression, unweighted",
        "intercept             3.179  (standard error 0.226)",
        "slope                 0.502  (standard error 0.087)",
    ]
    plain = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert (plain["approach"], plain["n_studies"], plain["weighted"]) == ("moses", 14, False)
    assert plain["auc"] == summary.auc


def test_studies_with_one_threshold_determine_no_line():
    with pytest.raises(InputError, match=r"`tables` must differ in threshold, got studies with the same logit TPR"):
        summary_roc(np.tile([40, 10, 20, 80], (4, 1)), approach="moses")


def test_a_line_that_falls_is_refused():
    # TPR falls where FPR rises, and more steeply.
    table = [[90, 10, 10, 90], [60, 40, 14, 86], [20, 80, 18, 82]]
    with pytest.raises(
        InputError, match=r"`tables` must have a slope between -1 and 1, got slope .*: use approach='rei"
    ):
        summary_roc(table, approach="moses")
