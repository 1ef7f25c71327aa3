"""The same predictions fitted again, with thresholds of the other kind; test_max_pairs.py has the samples of pairs."""

import pytest
from report_pages import evaluation_of, problem

import polyroc
from polyroc._core import factorization as _factorization
from polyroc.report import summarize


def mixed_scales():
    """One column on another scale than the others: comparable no more."""
    y_true, labels, scores = problem(4)
    scores[:, 0] = 5 * scores[:, 0] + 3
    return y_true, labels, scores


@pytest.mark.parametrize("asked", ["own", "shared", "difference"])
def test_both_kinds_of_thresholds_are_those_of_a_fit_of_their_own(asked):
    y_true, labels, scores = mixed_scales()
    evaluation = polyroc.evaluate(y_true, scores, labels=labels, thresholds=asked)
    kinds = {"own", "shared", asked}
    expected = {kind: polyroc.auc_score(y_true, scores, labels=labels, thresholds=kind) for kind in kinds}
    assert evaluation.auc_by_thresholds == pytest.approx(expected, abs=1e-12)
    assert evaluation.auc_by_thresholds[asked] == evaluation.auc
    assert expected["own"] - expected["shared"] > 0.01
    assert summarize(evaluation)["auc_by_thresholds"] == evaluation.auc_by_thresholds


def test_all_other_options_stay_as_they_are():
    y_true, labels, scores = mixed_scales()
    options = {"shrinkage": 3.0, "weighting": "prevalence", "n_thresholds": 49, "labels": labels}
    found = polyroc.evaluate(y_true, scores, **options).auc_by_thresholds
    assert found["shared"] == pytest.approx(
        polyroc.auc_score(y_true, scores, thresholds="shared", **options), abs=1e-12
    )


def test_the_other_thresholds_are_left_out_where_they_say_nothing_or_take_long():
    assert evaluation_of(2).auc_by_thresholds is None
    assert evaluation_of(6, options={"max_pairs": 12}).auc_by_thresholds is None
    assert evaluation_of(101, n=303).auc_by_thresholds is None


def test_the_other_thresholds_are_no_reason_to_fail(monkeypatch):
    def full(*_):
        raise MemoryError

    evaluation = evaluation_of(3)
    monkeypatch.setattr(_factorization, "rates_of", full)
    assert evaluation.auc_by_thresholds is None
