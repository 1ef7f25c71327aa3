"""Values against scikit-learn's own functions and against loops; influences against derivatives in the weights."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from parts import KINDS
from preparing import passes_of
from scipy.special import softmax
from sklearn import metrics

import polyroc

ALL = list(KINDS)


def _problem(seed, n=240, k=4, *, decimals=2, weighted=False):
    """Probabilities with ties, rows that sum to one, classes of different size."""
    rng = np.random.default_rng(seed)
    y = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    y[:k] = range(k)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), y] += 1.2
    scores = np.round(softmax(logits, axis=1), decimals)
    scores[:, -1] = np.abs(np.round(1 - scores[:, :-1].sum(axis=1), decimals))
    weight = rng.gamma(2, size=n) if weighted else None
    return y, scores, weight


def _sklearn(y, scores, weight):
    """Every measure that scikit-learn has, by its own function."""
    k = scores.shape[1]
    predicted, given = scores.argmax(axis=1), {"sample_weight": weight}
    labels = list(range(k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "accuracy": metrics.accuracy_score(y, predicted, **given),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted, **given),
            "f1_macro": metrics.f1_score(y, predicted, average="macro", **given),
            "mcc": metrics.matthews_corrcoef(y, predicted, **given),
            "kappa": metrics.cohen_kappa_score(y, predicted, labels=labels, **given),
            "quadratic_kappa": metrics.cohen_kappa_score(y, predicted, labels=labels, weights="quadratic", **given),
            "brier": metrics.brier_score_loss(y, scores, labels=labels, **given),
            "log_loss": metrics.log_loss(y, scores, labels=labels, **given),
        }
        if k > 3:
            found["top_3"] = metrics.top_k_accuracy_score(y, scores, k=3, labels=labels, **given)
        if k > 2 and len(np.unique(y)) == k:
            found["ovr_macro"] = metrics.roc_auc_score(y, scores, multi_class="ovr", **given)
            found["ovr_weighted"] = metrics.roc_auc_score(y, scores, multi_class="ovr", average="weighted", **given)
        if k > 2 and len(np.unique(y)) == k and weight is None:
            found["hand_till"] = metrics.roc_auc_score(y, scores, multi_class="ovo")
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_scikit_learn(seed, weighted):
    y, scores, weight = _problem(seed, weighted=weighted)
    measures = polyroc.evaluate(y, scores, sample_weight=weight).measures(ordered=True)
    expected = _sklearn(y, scores, weight)
    assert len(expected) >= 11
    for name, value in expected.items():
        assert_allclose(measures[name].estimate, value, atol=1e-12, rtol=0, err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
def test_absent_classes_count_as_scikit_learn_counts_them(weighted):
    y, scores, weight = _problem(7, weighted=weighted)
    y[y == 2] = 3
    assert (scores.argmax(axis=1) == 2).any()  # predicted, though it does not occur: an F1 of 0
    with pytest.warns(UserWarning, match="No samples"):
        evaluation = polyroc.evaluate(y, scores, labels=range(4), sample_weight=weight)
    measures = evaluation.measures(ordered=True)
    for name, value in _sklearn(y, scores, weight).items():
        assert_allclose(measures[name].estimate, value, atol=1e-12, rtol=0, err_msg=name)


def test_a_class_that_neither_occurs_nor_is_named_is_left_out_of_macro_f1():
    y, scores, _ = _problem(8)
    y[y == 1] = 3
    scores[:, 0] += scores[:, 1]
    scores[:, 1] = 0
    with pytest.warns(UserWarning, match="No samples"):
        evaluation = polyroc.evaluate(y, scores, labels=range(4))
    value = evaluation.measures(["f1_macro"])["f1_macro"].estimate
    assert_allclose(value, metrics.f1_score(y, scores.argmax(axis=1), average="macro"), atol=1e-12)


def test_two_columns_have_half_the_brier_score_as_in_scikit_learn():
    y, scores, weight = _problem(3, k=2, weighted=True)
    measures = polyroc.evaluate(y, scores, sample_weight=weight).measures()
    for name, value in _sklearn(y, scores, weight).items():
        if name != "quadratic_kappa":
            assert_allclose(measures[name].estimate, value, atol=1e-12, rtol=0, err_msg=name)
    area = metrics.roc_auc_score(y, scores[:, 1], sample_weight=weight)
    for name in ("auc", "hand_till", "ovr_macro", "ovr_weighted"):
        assert_allclose(measures[name].estimate, area, atol=1e-12)


def test_one_column_has_areas_only():
    y, scores, _ = _problem(3, k=2)
    measures = polyroc.evaluate(y, scores[:, 1]).measures()
    assert {"auc", "hand_till", "ovr_macro", "ovr_weighted"} <= set(measures.names)
    assert not {"accuracy", "brier", "calibration_error", "mcc"} & set(measures.names)
    assert measures.left_out["accuracy"].startswith("There is one score column")
    assert measures.left_out["brier"].startswith("There is one score column")


def test_calibration_error_by_loops():
    y, scores, weight = _problem(5, weighted=True)
    total = 0.0
    for column in range(4):
        for b in range(15):
            inside = [i for i in range(len(y)) if min(int(scores[i, column] * 15), 14) == b]
            gap = sum(weight[i] * ((y[i] == column) - scores[i, column]) for i in inside)
            total += abs(gap) / weight.sum()
    value = polyroc.evaluate(y, scores, sample_weight=weight).measures(["calibration_error"])
    assert_allclose(value["calibration_error"].estimate, total / 4, atol=1e-12)


def test_log_loss_of_an_impossible_class_is_clipped_as_in_scikit_learn():
    y, scores, _ = _problem(5)
    scores[0] = [0, 0.5, 0.5, 0] if y[0] == 0 else [1, 0, 0, 0]
    scores[1] = np.eye(4)[(y[1] + 1) % 4]
    for dtype in (np.float64, np.float32):
        given = scores.astype(dtype)
        value = polyroc.evaluate(y, given).measures(["log_loss"])["log_loss"].estimate
        assert_allclose(value, metrics.log_loss(y, given), rtol=1e-12 if dtype is np.float64 else 1e-6)


def _influences(name, y, scores, weight):
    if name == "hand_till":
        evaluation = polyroc.evaluate(y, scores, sample_weight=weight)
        return evaluation.hand_till, evaluation.hand_till_influences
    measured = passes_of(y, scores, weight).of(KINDS[name])
    return measured.estimate, measured.sure.influences


@pytest.mark.parametrize("name", [name for name in ALL if name != "auc"])
def test_influences_are_derivatives_in_the_weights(name):
    # D is a fit, whose derivatives have tests of their own.
    y, scores, weight = _problem(11, weighted=True)
    _, influences = _influences(name, y, scores, weight)
    step = 1e-4
    for sample in (0, 1, 2, 3, 17, 30, 45, 59):
        both = []
        for sign in (-1, 1):
            changed = weight.copy()
            changed[sample] *= 1 + sign * step
            both.append(_influences(name, y, scores, changed)[0])
        assert_allclose(influences[sample], (both[1] - both[0]) / (2 * step), rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in ALL if name != "auc"])
def test_influences_sum_to_nothing(name):
    y, scores, weight = _problem(12, weighted=True)
    _, influences = _influences(name, y, scores, weight)
    assert_allclose(influences.sum(), 0, atol=1e-12)
    if not KINDS[name].depends_on_prevalence:
        assert_allclose(np.bincount(y, influences), 0, atol=1e-12)


def test_weights_that_leave_one_class_give_no_agreement_beyond_chance():
    y, scores, _ = _problem(3)
    y[y == 3], y[:3] = 0, range(3)
    scores[:, :] = [0.97, 0.01, 0.01, 0.01]
    weight = np.where(y == 0, 1.0, 1e-30)
    measured = passes_of(y, scores[:, :3] / scores[:, :3].sum(axis=1, keepdims=True), weight)
    for name in ("kappa", "quadratic_kappa", "mcc"):
        value, influences = measured.functional(name)
        assert value == pytest.approx(0, abs=1e-12)
        assert np.all(np.isfinite(influences))


def test_huge_weights_do_not_overflow():
    y, scores, weight = _problem(4, weighted=True)
    expected = passes_of(y, scores, weight)
    found = passes_of(y, scores, weight * 1e305 / weight.sum())
    for name in ("accuracy", "log_loss", "brier", "f1_macro"):
        assert_allclose(found.functional(name)[0], expected.functional(name)[0], rtol=1e-12)
