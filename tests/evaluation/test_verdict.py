"""Which model is best: said of significant differences by D and by M, and of nothing else."""

from itertools import combinations

import numpy as np
import pytest

import polyroc
from polyroc import Contest, Difference, ModelEstimate
from polyroc.evaluation._comparison_text import Verdict


def contest(statistic, values, p_values):
    """A contest with these values of the models, and these p values of their pairs."""
    estimates = tuple(
        ModelEstimate(name, value, 0.01, value - 0.02, value + 0.02, 0.5) for name, value in values.items()
    )
    differences = tuple(
        Difference(a, b, values[a] - values[b], 0.01, -0.1, 0.1, p / 2, p)
        for (a, b), p in zip(combinations(values, 2), p_values, strict=True)
    )
    return Contest(statistic, estimates, differences, ())


def verdict(d, p_d, m, p_m):
    return Verdict(contest("auc", d, p_d), contest("hand_till", m, p_m), 0.95, 999)


def test_both_agree():
    found = verdict({"a": 0.9, "b": 0.8}, [0.001], {"a": 0.85, "b": 0.8}, [0.04])
    assert found.best == "a"
    assert found.sentence.startswith("Best by D and by M: a.")
    assert found.notes == ()


def test_equal_models_have_no_leader():
    found = verdict({"a": 0.9, "b": 0.9}, [1.0], {"a": 0.8, "b": 0.8}, [1.0])
    assert found.best is None
    assert found.sentence == "No clear winner: D and M are the same for all models."
    one = verdict({"a": 0.9, "b": 0.9}, [1.0], {"a": 0.8, "b": 0.7}, [1.0])
    assert "leads by" in one.sentence


def test_opposite_and_both_significant():
    found = verdict({"a": 0.9, "b": 0.8}, [0.001], {"a": 0.75, "b": 0.8}, [1e-9])
    assert found.best is None
    assert found.sentence == "D and M disagree: D prefers a, M prefers b. Look at the pairs of classes."
    assert found.notes == (
        "a is above b by D (by 0.100, p = 0.001) and below it by M (by 0.050, p < 1e-6); both differences are "
        "significant. Look at the pairs of classes.",
    )


@pytest.mark.parametrize("m_of_a", [0.81, 0.79])
def test_only_d_is_significant(m_of_a):
    found = verdict({"a": 0.9, "b": 0.8}, [0.001], {"a": m_of_a, "b": 0.8}, [0.2])
    assert found.best is None
    [note] = found.notes
    assert note.startswith("By D, a is better than b (by 0.100, p = 0.001); by M the difference ")
    assert ("points the other way" in note) == (m_of_a < 0.8)
    assert "is not significant (by 0.010, p = 0.20)" in note
    if m_of_a > 0.8:
        lead = "a is best by D, but by M its lead over b is not significant"
    else:
        lead = "a is best by D, but b leads by M, not significantly"
    assert found.sentence == f"No clear winner: {lead}. Look at the pairs of classes."


def test_only_m_is_significant():
    found = verdict({"a": 0.79, "b": 0.8}, [0.6], {"a": 0.8, "b": 0.7}, [0.001])
    [note] = found.notes
    assert note.startswith("By M, a is better than b (by 0.100, p = 0.001); by D the difference points the other way")
    assert found.sentence.startswith("No clear winner: a is best by M, but b leads by D, not significantly.")


def test_neither_is_significant():
    same = verdict({"a": 0.81, "b": 0.8}, [0.6], {"a": 0.8, "b": 0.79}, [0.5])
    assert same.notes == ()
    assert same.sentence == ("No clear winner: a leads by D and by M, but its lead over b is not significant.")
    opposite = verdict({"a": 0.81, "b": 0.8}, [0.6], {"a": 0.79, "b": 0.8}, [0.5])
    assert "neither difference is significant" in opposite.notes[0]
    assert opposite.sentence == "No clear winner: a leads by D and b by M, neither significantly."


def test_best_needs_a_significant_lead_over_every_other():
    # b is nearly as good as a; both are above c.
    values = {"a": 0.9, "b": 0.89, "c": 0.7}
    found = verdict(values, [0.3, 0.001, 0.001], values, [0.3, 0.001, 0.001])
    assert found.best is None
    assert "its lead over b is not significant" in found.sentence
    assert found.notes == ()


def test_models_that_are_the_same_have_no_best():
    found = verdict({"a": 0.9, "b": 0.9}, [1.0], {"a": 0.9, "b": 0.9}, [1.0])
    assert found.best is None
    assert found.notes == ()


@pytest.fixture(scope="module")
def one_failed_pair():
    """A model that fails on one pair and is near perfect on all others, and one that is fair on all."""
    rng = np.random.default_rng(3)
    y_true = np.repeat(np.arange(5), 80)
    sharp = 6.0 * np.eye(5)[y_true] + rng.normal(size=(400, 5))
    sharp[y_true < 2, :2] = 6.0 + rng.normal(size=(160, 2))
    even = 2.9 * np.eye(5)[y_true] + rng.normal(size=(400, 5))
    return polyroc.compare(
        y_true, {"fails on one pair": sharp, "even": even}, method="bootstrap", n_resamples=199, rng=5
    )


def test_d_and_m_prefer_different_models(one_failed_pair):
    [d], [m] = one_failed_pair.by_auc.differences, one_failed_pair.by_hand_till.differences
    assert d.value > 0 > m.value
    assert max(d.p_value_holm, m.p_value_holm) < 0.05
    assert one_failed_pair.best is None
    text = " ".join(str(one_failed_pair).split())
    assert "D and M disagree: D prefers fails on one pair, M prefers even. Look at the pairs of classes." in text
    assert "fails on one pair: D is 0.99" in text
    assert all(note in text for note in one_failed_pair.notes)
    record = one_failed_pair.to_dict()
    assert record["best"] is None
    assert record["notes"] == list(one_failed_pair.notes)
    assert record["verdict"] in text
    assert record["n_samples"] == 400
    assert (record["n_classes"], record["n_pairs"], record["seed"], record["n_resamples"]) == (5, 20, 5, 199)


def test_nothing_is_certain_in_the_printed_tables(one_failed_pair):
    text = str(one_failed_pair)
    assert "1.000\n" not in text
    assert "probab" not in text
    assert "> 0.995" in text
    assert "share of resamples" in text
    p_values = [
        one.p_value for contest in (one_failed_pair.by_auc, one_failed_pair.by_hand_till) for one in contest.differences
    ]
    assert min(p_values) < 1e-6
    assert "< 1e-6" in text
    # The numbers themselves stay, and where they come from is said.
    assert one_failed_pair.to_dict()["auc"]["differences"][0]["p_value"] == p_values[0]
    said = " ".join(text.split())
    assert "p values below 0.005, one in 200, are extrapolated" in said
    assert "Student's t distribution the tail" in said


def test_counted_p_values_are_not_extrapolated():
    example = polyroc.load_example()
    scores = {name: example.scores[name] for name in ("logistic", "tree")}
    found = polyroc.compare(example.y_true, scores, method="bootstrap", n_resamples=99, rng=0, interval="percentile")
    assert found.to_dict()["p_value_note"] == ""
    assert "extrapolated" not in str(found)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"costs": [[0, 1, 1], [9, 0, 1], [1, 1, 0]]}, "the costs"),
        ({"weighting": "prevalence"}, "the class frequencies"),
        ({"tpr_weights": [[1, 2, 1], [1, 1, 1], [1, 1, 1]]}, "the weights of rates"),
    ],
)
def test_a_weighted_d_is_not_named_next_to_m_without_a_word(options, told):
    rng = np.random.default_rng(0)
    y_true = np.repeat([0, 1, 2], [60, 40, 20])
    scores = {name: np.eye(3)[y_true] + rng.normal(size=(120, 3)) for name in ("a", "b")}
    found = polyroc.compare(y_true, scores, method="influence", **options)
    assert found.verdict.sentence.endswith(f"D is weighted by {told}, M is not.")
    title = " ".join(str(found).partition("\n\n")[0].split())
    assert title.endswith(f"intervals, D weighted by {told}, M not")
    assert f"that all pairs share, weighted by {told}" in str(found.evaluations["a"])
    plain = polyroc.compare(y_true, scores, method="influence")
    assert "weighted" not in str(plain)
    # The M of both is the same, and D is not.
    assert found.by_hand_till == plain.by_hand_till
    assert found.by_auc != plain.by_auc


def test_a_distance_from_m_that_weights_may_explain_is_not_put_down_to_the_pairs():
    rng = np.random.default_rng(0)
    y_true = np.repeat([0, 1, 2], 100)
    scores = np.eye(3)[y_true] * [1, 1, 6] + rng.normal(size=(300, 3))
    costs = np.ones((3, 3))
    costs[0, 2] = costs[2, 0] = 10
    evaluation = polyroc.evaluate(y_true, scores, costs=costs)
    apart = evaluation.auc - evaluation.hand_till
    assert apart > 0.05
    [note] = [note for note in evaluation.notes if " M: " in note]
    assert note == (
        f"D is {apart:.3f} above M: D is weighted by the costs, M is not, and pairs of classes may differ as well. "
        "Look at the pairs."
    )
