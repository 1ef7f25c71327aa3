"""Warnings about scores that can be read, but probably not as they are meant."""

import warnings

import numpy as np
import pytest
from preparing import prepared

import polyroc
from polyroc import baselines
from polyroc._core.rates import all_pairs
from polyroc._core.samples import null_error
from polyroc._inputs.predictions import as_predictions

BACKWARDS = "rank samples backwards, by more than chance explains.*`labels=` must be in the order of the columns"


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def problem(n_classes=3, per_class=100, seed=0, gap=1.5):
    rng = np.random.default_rng(seed)
    y_true = np.repeat(np.arange(n_classes), per_class)
    return y_true, gap * np.eye(n_classes)[y_true] + rng.normal(size=(len(y_true), n_classes))


# Backwards


@pytest.mark.parametrize(("n_classes", "per_class"), [(2, 30), (3, 20), (10, 100)])
def test_columns_in_another_order_are_warned_of_without_an_interval(n_classes, per_class):
    y_true, logits = problem(n_classes, per_class, gap=2.5)
    scores = softmax(logits)
    with pytest.warns(UserWarning, match=BACKWARDS) as caught:
        polyroc.auc_score(y_true, np.roll(scores, 1, axis=1))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        polyroc.auc_score(y_true, scores)


@pytest.mark.slow
def test_scores_without_information_are_hardly_ever_warned_of():
    rng = np.random.default_rng(5)
    said = below = 0
    for _ in range(200):
        y_true = rng.permutation(np.arange(90) % 3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            below += polyroc.auc_score(y_true, softmax(rng.normal(size=(90, 3)))) < 0.5
        said += len(caught)
    assert below > 60
    assert said <= 5


@pytest.mark.parametrize("sizes", [(40, 40), (10, 90), (30, 30, 30), (8, 30, 90), (20,) * 8])
@pytest.mark.parametrize("kind", ["independent", "softmax", "opposed"])
def test_the_standard_error_without_information_is_an_upper_bound(sizes, kind):
    """Against simulation; nearly reached where classes are alike and columns sum to one."""
    rng = np.random.default_rng(11)
    k = len(sizes)
    y_true = np.repeat(np.arange(k), sizes)
    change = {"independent": lambda s: s, "softmax": softmax, "opposed": lambda s: s[:, :1] * (-1.0) ** np.arange(k)}
    found = []
    for _ in range(400):
        predictions = as_predictions(y_true, change[kind](rng.normal(size=(len(y_true), k))))
        areas = prepared("numpy", predictions).areas(all_pairs(predictions))
        found.append(areas.mean())
    bound = null_error(predictions, all_pairs(predictions))
    spread = np.std(found)
    assert spread < 1.12 * bound  # four standard errors of the spread itself
    if kind == "softmax" and len(set(sizes)) == 1:
        assert spread > 0.85 * bound


def test_m_is_not_computed_where_d_is_above_one_half(monkeypatch):
    def refuse(*given):
        raise AssertionError

    monkeypatch.setattr("polyroc._core.reference.pairwise_areas", refuse)
    y_true, scores = problem()
    assert polyroc.auc_score(y_true, scores) > 0.5


def test_intervals_below_one_half_are_warned_of():
    y_true, scores = problem(10, 60, gap=2.0)
    order = np.random.default_rng(2).permutation(10)
    assert np.any(order != np.arange(10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = polyroc.evaluate(y_true, np.roll(scores, 1, axis=1))
        drawn = evaluation.bootstrap(49, rng=0)
    for ask in (
        lambda: evaluation.confidence_interval(method="bootstrap", n_resamples=49, rng=0),
        drawn.confidence_interval,
        lambda: drawn.confidence_interval(statistic="hand_till"),
        lambda: evaluation.confidence_interval(statistic="hand_till", method="delong"),
    ):
        with pytest.warns(UserWarning, match=BACKWARDS):
            assert ask().high < 0.5


def test_an_interval_that_covers_one_half_is_no_news():
    y_true, scores = problem(gap=0, seed=6)
    evaluation = polyroc.evaluate(y_true, scores)
    low, high = evaluation.confidence_interval(method="bootstrap", n_resamples=49, rng=0)
    assert evaluation.auc < 0.5 < high
    assert low < 0.5


def test_a_comparison_names_the_model():
    y_true, scores = problem()
    models = {"right": scores, "wrong": np.roll(scores, 1, axis=1)}
    with pytest.warns(UserWarning, match=r"The scores of model 'wrong' rank samples backwards") as caught:
        polyroc.compare(y_true, models, method="bootstrap", n_resamples=19, rng=0)
    assert len(caught) == 1


# Two columns


def two_columns():
    rng = np.random.default_rng(3)
    y_true = np.repeat([0, 1], 100)
    return y_true, rng.normal(size=(200, 2)) + np.eye(2)[y_true] * [0.4, 1.5]


def pdi(*data):
    return float(baselines.pdi(*data))


SCORES_OF_TWO = [polyroc.auc_score, baselines.hand_till, baselines.one_vs_rest, baselines.auc_mu, pdi]


@pytest.mark.parametrize("score", SCORES_OF_TWO)
def test_two_columns_that_do_not_agree(score):
    metrics = pytest.importorskip("sklearn.metrics")
    y_true, scores = two_columns()
    used, other = metrics.roc_auc_score(y_true, scores[:, 1]), metrics.roc_auc_score(y_true, -scores[:, 0])
    match = f"The column of 1 was used; that of 0, reversed, .* differs by {used - other:.2g}\\. Pass one column"
    with pytest.warns(UserWarning, match=match):
        assert score(y_true, scores) == pytest.approx(used)
    # What it advises: of logits their difference, which ranks as their softmax does.
    expected = metrics.roc_auc_score(y_true, softmax(scores)[:, 1])
    assert score(y_true, scores[:, 1] - scores[:, 0]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "change",
    [
        softmax,
        lambda s: softmax(s).astype(np.float32),
        lambda s: np.round(softmax(s), 6),
        lambda s: np.column_stack([-s[:, 1], s[:, 1]]),
        lambda s: np.column_stack([np.exp(-s[:, 1]), s[:, 1]]),  # another scale, the reverse order
        lambda s: s[:, 1],
    ],
)
def test_two_columns_that_agree(change):
    y_true, scores = two_columns()
    for score in SCORES_OF_TWO:
        score(y_true, change(scores))


def test_a_comparison_names_the_model_whose_columns_disagree():
    y_true, scores = two_columns()
    with pytest.warns(UserWarning, match="The two columns of `y_score` of model 'raw' do not agree") as caught:
        polyroc.compare(y_true, {"raw": scores, "soft": softmax(scores)}, method="bootstrap", n_resamples=19, rng=0)
    assert len(caught) == 1


def test_labels_that_were_passed_are_not_proposed():
    y_true, logits = problem(per_class=200)
    scores = np.column_stack([np.roll(logits, 1, axis=1), np.zeros(600)])
    with pytest.warns(UserWarning) as caught:  # noqa: PT030 all that is said
        polyroc.auc_score(y_true, scores, labels=range(4))
    absent, backwards = (str(one.message) for one in caught)
    assert absent.endswith("If the classes are others, `labels=` must name those.")
    assert "`labels=` must be in the order of the columns" in backwards


# Probabilities against logits


def test_a_model_and_its_own_softmax():
    y_true, logits = problem(per_class=300)
    models = {"logits": logits, "softmax": softmax(logits), "rounded": np.round(softmax(logits), 2)}
    match = (
        "The scores of 'softmax', 'rounded' are probabilities, rows that sum to one; those of 'logits' are not. Logits "
        "and their softmax rank samples differently"
    )
    with pytest.warns(UserWarning, match=match):
        found = polyroc.compare(y_true, models, method="bootstrap", n_resamples=99, rng=0)
    # Significant, and about nothing but the scale: that is why it must be said.
    assert found.by_auc.differences[0].p_value < 1e-6


@pytest.mark.parametrize("change", [lambda s: s, softmax])
def test_models_on_one_scale_are_compared_without_a_word(change):
    y_true, logits = problem()
    _, others = problem(seed=1)
    polyroc.compare(y_true, {"a": change(logits), "b": change(others)}, method="bootstrap", n_resamples=19, rng=0)


@pytest.mark.parametrize("thresholds", ["own", "shared"])
def test_log_probabilities_are_probabilities_except_by_differences(thresholds):
    y_true, logits = problem(per_class=40)
    models = {"p": softmax(logits), "log p": np.log(softmax(logits)), "rounded": np.round(np.log(softmax(logits)), 2)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = polyroc.compare(y_true, models, method="influence", thresholds=thresholds)
    first, second, _ = found.by_auc.estimates
    assert first.value == second.value
    match = "The scores of 'log p', 'rounded' are log probabilities. Their differences rank samples differently"
    with pytest.warns(UserWarning, match=match) as caught:
        found = polyroc.compare(y_true, models, method="influence", thresholds="difference")
    assert len(caught) == 1
    first, second, _ = found.by_auc.estimates
    assert abs(first.value - second.value) > 1e-3


def test_logits_are_not_compared_with_log_probabilities():
    y_true, logits = problem()
    match = "The scores of 'log p' are probabilities or their logarithms; those of 'logits' are not. Logits and their"
    with pytest.warns(UserWarning, match=match):
        polyroc.compare(y_true, {"log p": np.log(softmax(logits)), "logits": logits}, method="influence")


def test_log_probabilities_name_classes_as_probabilities_do():
    """Classes 0 and 1 are so rare that all of their columns lie below that of class 2."""
    y_true, logits = problem()
    scores = softmax(logits - [200, 200, 0])
    by_p, by_log = polyroc.evaluate(y_true, scores), polyroc.evaluate(y_true, np.log(scores))
    assert np.log(scores)[:, 0].max() < np.log(scores)[:, 2].min()
    assert by_log.accuracy == by_p.accuracy == 1 / 3


def test_what_needs_probabilities_says_to_pass_the_exponentials_of_log_probabilities():
    y_true, logits = problem()
    logs, costs = np.log(softmax(logits)), 1 - np.eye(3)
    left_out = polyroc.evaluate(y_true, logs).measures().left_out
    assert left_out["brier"] == "The rows are log probabilities: pass `np.exp(y_score)`."
    assert "rows are not probabilities" in polyroc.evaluate(y_true, logits).measures().left_out["brier"]
    hint = r": these are log probabilities, pass `np.exp\(y_score\)`"
    with pytest.raises(polyroc.InputError, match=hint):
        polyroc.decide(y_true, logs, costs, rule="bayes")
    with pytest.raises(polyroc.InputError, match=hint):
        polyroc.decide(y_true, logs, costs, reject_cost=0.1)
    with pytest.raises(polyroc.InputError, match=hint):
        polyroc.decide(y_true, softmax(logits), costs).predict(logs)
    with pytest.raises(polyroc.InputError, match=hint):
        baselines.hum(y_true, logs, criterion="distance")


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_columns_near_the_largest_float_can_be_compared():
    """Their sums, and the differences of their sums, are beyond all floats."""
    largest = np.finfo(float).max
    first, second = np.array([-1.0, 0.5, 0, 1]), np.array([0.25, 1, 0, -1])
    with pytest.warns(UserWarning, match="The two columns of `y_score` do not agree"):
        polyroc.evaluate([0, 1, 0, 1], largest * np.column_stack([first, second]))
    with pytest.warns(UserWarning, match="do not agree"):
        polyroc.evaluate([0, 1, 0, 1], largest * np.array([[1, 1], [-1, -1], [1, 0.5], [-1, -0.5]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Two columns of one constant sum, which is beyond all floats.
        polyroc.evaluate([0, 1, 0, 1], largest * np.column_stack([np.full(4, 1.0), np.full(4, 1.0)]))
        polyroc.evaluate([0, 1, 0, 1], largest * np.column_stack([-second, second]))


@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning", "error::RuntimeWarning")
def test_models_near_the_largest_float_are_on_another_scale_than_probabilities():
    y_true, logits = problem(per_class=12)
    huge = np.where(logits > 0.5, 1.0, -1.0) * np.finfo(float).max
    with pytest.warns(UserWarning, match="The scores of 'p' are probabilities.*those of 'huge' are not"):
        polyroc.compare(y_true, {"p": softmax(logits), "huge": huge}, method="bootstrap", n_resamples=3, rng=0)
