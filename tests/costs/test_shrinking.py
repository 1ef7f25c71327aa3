"""rule="auto": Bayes' rule, or the share of the tuned offsets that is seen to cost less."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import polyroc
from polyroc._inputs.predictions import as_predictions
from polyroc._uncertainty.units import units_of
from polyroc.costs import _decide as decide_module
from polyroc.costs._judging import Judge
from polyroc.costs._rules import SHARES, Bayes, cross_fit, folds_of, shrink

BY_PAIR = np.array([[0.0, 1.0, 6.0], [2.0, 0.0, 1.0], [0.5, 3.0, 0.0]])
BY_CLASS = np.array([[0.0, 4.0, 4.0], [1.0, 0.0, 1.0], [2.0, 2.0, 0.0]])


def samples(seed, n, sharpness=1.0, shift=(0.0, 0.0, 0.0)):
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, 2, 0, 1, 2, rng.choice(3, n - 6)]
    x = rng.normal(size=(n, 3))
    x[np.arange(n), y] += 1.2
    p = np.exp(sharpness * 1.2 * x + shift)
    return y, p / p.sum(axis=1, keepdims=True)


DISTORTED = {"sharpness": 0.4, "shift": (2.0, 0.0, -2.0)}


@pytest.mark.parametrize("costs", [BY_PAIR, BY_CLASS])
@pytest.mark.parametrize("prior", [None, [0.2, 0.5, 0.3]])
def test_calibrated_scores_keep_bayes_rule_to_the_last_bit(costs, prior):
    y, p = samples(0, 400)
    # Rounded probabilities have equal expected costs.
    p = np.round(p, 1) + 1e-3
    p /= p.sum(axis=1, keepdims=True)
    auto, bayes = (polyroc.decide(y, p, costs, rule=rule, prior=prior) for rule in ("auto", "bayes"))
    assert (auto.rule, auto.tuned_share, auto.scale) == ("auto", 0.0, "expected cost")
    assert auto.offsets.tolist() == [0, 0, 0]
    assert_array_equal(auto.predict(p), bayes.predict(p))
    assert auto.rival.rule != "bayes"


@pytest.mark.parametrize("costs", [BY_PAIR, BY_CLASS])
def test_distorted_scores_keep_all_that_tuning_gains(costs):
    y, p = samples(0, 2000, **DISTORTED)
    new_y, new_p = samples(1, 20_000, **DISTORTED)
    made = {rule: polyroc.decide(y, p, costs, rule=rule) for rule in ("auto", "tuned", "bayes")}
    cost = {rule: costs[new_y, one.predict(new_p)].mean() for rule, one in made.items()}
    assert made["auto"].tuned_share >= 0.75
    assert cost["tuned"] < 0.9 * cost["bayes"]
    assert cost["auto"] < 1.01 * cost["tuned"]
    # Between the offsets of Bayes' rule, which on log probabilities are those of the costs, and the tuned ones.
    start = np.zeros(3) if costs is BY_PAIR else np.log([4, 1, 2]) - np.log([4, 1, 2]).mean()
    expected = start + made["auto"].tuned_share * (made["tuned"].offsets - start)
    if costs is BY_CLASS:
        # Prior over prevalence is 1.
        assert made["auto"].scale == "log probability"
    assert_allclose(made["auto"].offsets, expected, atol=1e-12)


def test_abstaining_is_shrunk_too():
    y, p = samples(0, 1500, **DISTORTED)
    auto, tuned = (polyroc.decide(y, p, BY_PAIR, rule=rule, reject_cost=0.5) for rule in ("auto", "tuned"))
    assert auto.tuned_share > 0
    assert auto.reject_offset == pytest.approx(auto.tuned_share * tuned.reject_offset)
    assert_allclose(auto.offsets, auto.tuned_share * tuned.offsets, atol=1e-12)
    assert auto.confusion.shape == (3, 4)


def test_scores_that_are_no_probabilities_are_tuned():
    y, p = samples(0, 200)
    auto, tuned = (polyroc.decide(y, np.log(p), BY_PAIR, rule=rule) for rule in ("auto", "tuned"))
    assert auto.to_dict() == tuned.to_dict()
    assert auto.rule == "tuned"
    assert auto.tuned_share is None


def parts(y, p, fold):
    """What `decide` makes for these folds."""
    predictions = as_predictions(y, p, labels=range(3))
    asked = decide_module._asked(predictions, BY_PAIR, None, "auto", None)
    judge = Judge.of(predictions, None, units_of(predictions, None), 0.95)
    problem = decide_module._problem(predictions, asked, judge)
    fitted = cross_fit(problem, asked.ratio, fold, 0, 1, lambda _: None, by_pairs=True)
    bayes = Bayes(np.zeros(3), (p @ BY_PAIR).argmin(axis=1))
    return shrink(judge, problem, fitted, bayes, fold, BY_PAIR)


def test_what_is_claimed_of_a_fold_has_not_seen_its_classes():
    y, p = samples(3, 300, sharpness=0.6, shift=(0.7, 0.0, -0.7))
    fold = folds_of(y, np.arange(300), 5, 0)
    usual, rng = parts(y, p, fold), np.random.default_rng(0)
    assert usual.share in SHARES
    for held in range(5):
        inside = np.flatnonzero(fold == held)
        other = y.copy()
        # As many of each class, in another order: a share that is chosen with them would be another one.
        other[inside] = rng.permutation(y[inside])
        assert_array_equal(parts(other, p, fold).predicted[inside], usual.predicted[inside])


def test_the_share_is_chosen_by_samples_and_not_by_the_seed_of_the_folds_alone():
    y, p = samples(0, 2000, **DISTORTED)
    assert {polyroc.decide(y, p, BY_PAIR, rng=seed).tuned_share for seed in range(3)} <= {0.75, 1.0}


@pytest.mark.parametrize("n_folds", [2, 3])
def test_few_folds_and_few_samples_have_a_rule(n_folds):
    y = np.array([0, 0, 1, 1, 2, 2, 2])
    p = np.where(np.eye(3)[y] == 1, 0.6, 0.2)
    decision = polyroc.decide(y, p, BY_PAIR, n_folds=n_folds)
    assert decision.rule == "auto"
    assert decision.predict(p).shape == (7,)


def test_costs_without_bayes_offsets_on_log_probabilities_have_them_on_expected_costs():
    y, p = samples(0, 300)
    # Mistakes about class 0 cost nothing, so that the logarithm of their cost is minus infinity.
    costs = np.array([[1.0, 1.0, 1.0], [4.0, 0.0, 4.0], [1.0, 1.0, 0.0]])
    tuned, bayes = (polyroc.decide(y, p, costs, rule=rule) for rule in ("tuned", "bayes"))
    assert tuned.scale == "expected cost"
    assert tuned.resubstitution_cost <= bayes.cost
