import numpy as np

import polyroc


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
    assert profile.text.rule_sentence == "Classes are named by Bayes' rule."
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
        "Classes are named by tuned offsets. Each sample is judged with offsets that were tuned without its fold "
        "(5 folds)."
    )
    both = profile_of(1, 2, costs, rule=("argmax", "bayes", "tuned"), n_folds=None)
    assert both.text.rule_sentence == (
        "Classes are named by the highest score, Bayes' rule and tuned offsets. Offsets were tuned and judged on the "
        "same samples, so their costs are too low."
    )
    assert str(both).startswith("Costs of 6 rules under 1 cost matrix, 180 samples")
