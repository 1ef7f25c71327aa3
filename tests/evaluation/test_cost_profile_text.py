from types import SimpleNamespace

import numpy as np
import pytest

import polyroc
from polyroc._uncertainty.intervals import Interval
from polyroc.costs._profile import CostDifference, ModelCost
from polyroc.costs._words import CostProfileText


def profile_of(a, b, costs, **options):
    y_true = np.array([0, 1, 2] * 60)
    rng = np.random.default_rng(0)
    scores = {}
    for name, strength in (("logistic", a), ("knn", b)):
        z = rng.normal(size=(180, 3))
        z[np.arange(180), y_true] += strength
        p = np.exp(z)
        scores[name] = p / p.sum(axis=1, keepdims=True)
    return polyroc.cost_profile(y_true, scores, costs=costs, **options)


RANGE = polyroc.CostRange(low=1 - np.eye(3), high=[[0, 9, 3], [4, 0, 2], [20, 2, 0]])


def test_clear_winner_is_recommended_with_its_share():
    profile = profile_of(3, 0.5, RANGE)
    assert profile.text.sentence == "Use logistic: it is cheapest in 100 % (98 to 100 %) of the cost matrices."
    assert profile.text.cost_sentence.startswith("On average logistic costs ")
    assert " less than knn (95 % interval " in profile.text.cost_sentence
    assert "chance" not in profile.text.cost_sentence
    assert profile.text.rule_sentence == "Classes are predicted by Bayes' rule."
    text = str(profile)
    assert text.startswith("Costs of 2 models under 200 cost matrices of a distribution, 180 samples\n")
    assert " ".join(text.splitlines()[-3].split()) == "model mean cost 95 % interval cheapest in 95 % interval"
    assert max(map(len, text.splitlines())) <= 100


def test_equal_models_have_no_winner():
    profile = profile_of(1.5, 1.5, RANGE)
    assert profile.text.sentence.startswith("No clear winner: ")
    assert " is cheapest in " in profile.text.sentence
    assert profile.text.cost_sentence.endswith("which may be chance.")


def test_tuned_offsets_say_how_they_were_judged():
    costs = [[[0, 1, 2], [3, 0, 1], [1, 5, 0]]]
    assert profile_of(1, 2, costs, rule="tuned").text.rule_sentence == (
        "Classes are predicted by tuned offsets. Each sample is judged with offsets that were tuned without its fold "
        "(5 folds)."
    )
    both = profile_of(1, 2, costs, rule=("argmax", "bayes", "tuned"), n_folds=None)
    assert both.text.rule_sentence == (
        "Classes are predicted by the highest score, Bayes' rule and tuned offsets. Offsets were tuned and judged on "
        "the same samples, so their costs are too low."
    )
    assert str(both).startswith("Costs of 6 rules under 1 cost matrix, 180 samples")


def told(shares, costs=(0.3, 0.4), gap=(0.05, 0.15), *, names="abc", n_matrices=250, is_drawn=True):
    """A text about models a, b, ... with these shares, each with its interval; the first costs least."""
    models = [
        ModelCost(name, name, "bayes", cost, 0.02, Interval(cost - 0.04, cost + 0.04), share, Interval(*ends))
        for name, cost, (share, *ends) in zip(names, costs, shares, strict=False)
    ]
    apart = CostDifference("b", "a", costs[1] - costs[0], 0.0, Interval(*gap))
    profile = SimpleNamespace(
        models=models,
        difference=lambda first, second: apart,
        costs=range(n_matrices),
        is_drawn=is_drawn,
        n_folds=None,
        n_samples=500,
        confidence_level=0.95,
    )
    return CostProfileText(profile)


@pytest.mark.parametrize(("share", "words"), [(0.996, "99.6 %"), (0.9995, "over 99.9 %"), (1.0, "100 %")])
def test_shares_are_not_rounded_to_all(share, words):
    text = told([(share, 0.991, 0.9999), (1 - share, 0.0, 0.009)])
    assert text.sentence == f"Use a: it is cheapest in {words} (99.1 to over 99.9 %) of the cost matrices."
    assert text.rows[1][3] == words


def test_of_one_matrix_no_share_is_told():
    once = {"n_matrices": 1, "is_drawn": False}
    assert told([(1, 1, 1), (0, 0, 0)], **once).sentence == "Use a: it is the cheapest under the cost matrix."
    unsure = told([(1, 0, 1), (0, 0, 1)], gap=(-0.02, 0.2), **once)
    assert unsure.sentence == "No clear winner: which one is the cheapest under the cost matrix may be chance."
    same = told([(0.5, 0.5, 0.5)] * 2, costs=(0.3, 0.3), gap=(0.0, 0.0), **once)
    assert same.sentence == "No clear winner: the cheapest ones cost the same under the cost matrix."
    found = profile_of(3, 0.5, [1 - np.eye(3)])
    assert found.text.sentence == "Use logistic: it is the cheapest under the cost matrix."


def test_cheapest_most_often_is_no_winner_where_another_costs_less():
    shares = [(0.3, 0.2, 0.4), (0.7, 0.6, 0.8)]
    assert told(shares).sentence == (
        "No clear winner: b is cheapest in 70 % (60 to 80 %) of the cost matrices, but a costs less on average."
    )
    assert told(shares, gap=(-0.01, 0.2)).sentence.startswith("Use b: ")


def test_names_with_in_stand_whole():
    text = told([(0.4, 0.2, 0.5), (0.6, 0.4, 0.8)], names=("a", "made in house"))
    assert text.sentence == (
        "No clear winner: made in house is cheapest in 60 % (40 to 80 %) of the cost matrices, a in 40 % (20 to 50 %)."
    )


def test_equal_costs_are_not_called_chance():
    same = told([(0.5, 0.5, 0.5)] * 2, costs=(0.3, 0.3), gap=(0.0, 0.0))
    assert same.cost_sentence == "On average a costs 0.300 per sample, the same as b (95 % interval 0 to 0)."
    near = told([(0.5, 0, 1)] * 2, costs=(0.3, 0.3001), gap=(-0.04, 0.04))
    assert near.cost_sentence == (
        "On average a costs 0.300 per sample, about the same as b (95 % interval -0.040 to 0.040)."
    )
    less = told([(0.5, 0, 1)] * 2, gap=(-0.04, 0.24))
    assert less.cost_sentence == (
        "On average a costs 0.300 per sample, 0.100 less than b (95 % interval -0.040 to 0.240), which may be chance."
    )


def test_an_end_that_is_not_zero_is_not_printed_as_zero():
    text = told([(0.9, 0.7, 1), (0.1, 0, 0.3)], costs=(0.3, 0.7), gap=(0.004, 0.87))
    assert text.cost_sentence.endswith("0.40 less than b (95 % interval 0.004 to 0.87).")
