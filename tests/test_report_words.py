"""The sentences of the report, from the dict alone: the right numbers, and never more than these say."""

import copy

import numpy as np
import pytest
from report_pages import comparison_of, evaluation_of

from polyroc.report import summarize
from polyroc.report._words import cautions, disagreement, summary_sentences


def text(sentence):
    return "".join(str(piece) for piece in sentence)


def told(summary):
    return "\n".join(text(sentence) for sentence in summary_sentences(summary))


@pytest.fixture(scope="module")
def one_model():
    evaluation = evaluation_of(5)
    return summarize(evaluation, bootstrap=evaluation.bootstrap(49, rng=0))


@pytest.fixture(scope="module")
def three_models():
    return summarize(comparison_of())


def test_one_model_is_told_by_d_and_its_interval(one_model):
    low, high = (one_model["confidence_interval"][end] for end in ("low", "high"))
    expected = f"with an area D of {one_model['auc']:.3f} (95 % interval {low:.3f} to {high:.3f})."
    assert text(summary_sentences(one_model)[0]).endswith(expected)
    assert "that all 20 ordered pairs of classes share: 0.5 is guessing, 1 is perfect" in told(one_model)


def test_what_is_found_at_a_rate_is_said_of_the_pairs_and_not_of_the_shared_curve(one_model):
    found = one_model["operating_point"]["pairs"]
    expected = f"the pairs find {100 * found['mean']:.0f} % of their own samples on average, from "
    assert f"Where 5 % of the samples of the other class may be called positive, {expected}" in told(one_model)
    assert f"from {100 * found['low']:.0f} % to {100 * found['high']:.0f} %." in told(one_model)
    # Pairs of many classes are not kept, and the shared curve does not speak for them.
    without = {**one_model, "operating_point": {"fpr": 0.05, "tpr": 0.5, "pairs": None}}
    assert "5 %" not in told(without).replace("95 %", "").replace("35 %", "")


def test_without_resamples_no_interval_is_made_up(one_model):
    summary = {**one_model, "confidence_interval": None, "hand_till_interval": None, "n_resamples": 0}
    assert "(no interval was asked for)" in told(summary)
    assert "interval " not in told(summary).replace("no interval was", "")


def test_the_pairs_that_cost_most_are_named_with_their_share(one_model):
    pairs = one_model["pairs"]
    worst = np.argsort(pairs["auc"], kind="stable")[:3]
    share = (1 - np.array(pairs["auc"]))[worst].sum() / (1 - np.array(pairs["auc"])).sum()
    for p in worst:
        assert f"{pairs['positive'][p]} against {pairs['negative'][p]} (area {pairs['auc'][p]:.3f})" in told(one_model)
    expected = f"these 3 of 20 pairs account for {100 * share:.0f} % of the gap to a perfect score."
    assert expected in told(one_model)


def test_the_pairs_that_cost_most_are_those_of_the_costs_that_were_given():
    costs = np.ones((5, 5))
    # Classes 3 and 4 are far from the hardest, until it is expensive to take one for the other.
    costs[3, 4] = costs[4, 3] = 50
    evaluation = evaluation_of(5, options={"costs": costs})
    pairs = evaluation.pairs
    weight = np.array([costs[int(a[-2:]), int(b[-2:])] for a, b in zip(pairs.positive, pairs.negative, strict=True)])
    gap = weight * (1 - pairs.auc)
    first, second = np.argsort(-gap)[:2]
    assert {pairs.positive[first], pairs.negative[first]} == {"class 03", "class 04"}
    said = told(summarize(evaluation))
    assert (
        f"{pairs.positive[first]} against {pairs.negative[first]} (area {pairs.auc[first]:.3f}, cost "
        f"{50 / weight.mean():.2g} times the mean), {pairs.positive[second]} against {pairs.negative[second]}" in said
    )
    share = np.sort(gap)[-3:].sum() / gap.sum()
    assert f"account for {100 * share:.0f} % of the gap to a perfect score, weighted by the costs given." in said


def test_perfect_scores_have_no_pairs_that_cost():
    summary = summarize(evaluation_of(3, strength=100))
    assert "Every pair of classes is separated without a mistake." in told(summary)


def test_the_best_model_its_rivals_and_m(three_models):
    best = three_models["auc"]["estimates"][0]
    first, second = three_models["auc"]["differences"][:2]
    assert text(summary_sentences(three_models)[0]).startswith("first ranks highest with probability ")
    assert f"in {best['probability_best'] * 49:.0f} of 49 resamples" in told(three_models)
    ends = f"(95 % interval {first['low']:.3f} to {first['high']:.3f})"
    assert f"By D it is ahead of second by {first['value']:.3f} {ends}" in told(three_models)
    assert f"ahead of third by {second['value']:.3f}" in told(three_models)
    assert "By Hand and Till's M it ranks highest as well" in told(three_models)


def test_models_that_cannot_be_told_apart_are_said_not_to_be(three_models):
    summary = copy.deepcopy(three_models)
    summary["auc"]["differences"][0] |= {"value": 0.012, "low": -0.004, "high": 0.028}
    assert "ahead of second by 0.012 (95 % interval -0.004 to 0.028, which holds 0)" in told(summary)
    assert "the samples do not tell the two models apart" in told(summary)
    assert "which holds 0" not in told(three_models)


def test_the_best_may_be_the_second_of_a_difference_and_m_may_disagree(three_models):
    summary = copy.deepcopy(three_models)
    for key, shares in (("auc", (0.1, 0.1, 0.8)), ("hand_till", (0.9, 0.05, 0.05))):
        for estimate, share in zip(summary[key]["estimates"], shares, strict=True):
            estimate["probability_best"] = share
    summary["auc"]["differences"][1] |= {
        "first": "first",
        "second": "third",
        "value": -0.02,
        "low": -0.03,
        "high": -0.01,
    }
    assert told(summary).startswith("third ranks highest with probability 80 %")
    assert "ahead of first by 0.020 " in told(summary)
    assert "0.010 to 0.030" in told(summary)
    assert "By Hand and Till's M, first ranks highest instead, with probability 90 %." in told(summary)


def test_many_rivals_are_counted():
    summary = summarize(comparison_of(k=3, names=[f"model {i}" for i in range(6)], n_resamples=9))
    assert "; 2 others are further behind." in told(summary)
    assert " to " in text(disagreement(summary))


def test_what_d_adds_to_m_is_one_sentence_with_the_numbers(one_model):
    summary = copy.deepcopy(one_model)
    summary |= {"auc": 0.9, "hand_till": 0.86, "auc_by_thresholds": {"own": 0.9, "shared": 0.87}}
    said = text(disagreement(summary))
    assert said.startswith("D is 0.040 above M (0.860), the plain mean of the areas of the pairs, for sharp pairs")
    assert "D would be 0.870 instead of 0.900, 0.030 less: so far are the score columns from being comparable" in said
    assert said.count(". ") == 0
    summary |= {"hand_till": 0.92, "auc_by_thresholds": {"own": 0.9, "shared": 0.9002}}
    said = text(disagreement(summary))
    assert "0.020 below M" in said
    assert "almost the same: nothing is lost, so the score columns are comparable by one threshold." in said
    summary |= {"hand_till": 0.9001, "auc_by_thresholds": None}
    assert text(disagreement(summary)) == (
        "D is within 0.0001 of M (0.900), the plain mean of the areas of the pairs, as it is where no pairs are much "
        "sharper than others."
    )


def test_several_models_are_told_in_one_sentence(three_models):
    said = text(disagreement(three_models))
    for name, record in three_models["evaluations"].items():
        assert f"{abs(record['auc'] - record['hand_till']):.3f} above M for {name}" in said
    assert said.count(". ") == 0


def test_two_classes_have_one_number():
    summary = summarize(evaluation_of(2))
    assert text(disagreement(summary)).startswith("With two classes there is one pair, so D and M are the same")
    assert "cost most" not in told(summary)


def test_cautions_come_from_warnings_and_from_the_numbers(one_model):
    assert cautions({**one_model, "n_independent": 24}) == []
    summary = copy.deepcopy(one_model) | {"n_independent": 3, "n_not_converged": 2, "n_lost_class": 1, "auc": 0.4}
    summary["fit"]["status"] = "max-iter"
    found = [text(sentence) for sentence in cautions(summary)]
    assert found == [
        "The fit ran out of iterations before it converged. Its D is not to be relied on.",
        "D is 0.400, below 0.5: the scores rank backwards.",
        "2 of 49 replicates did not converge; they count as they ended.",
        "1 resample lacked some class, whose pairs were left out.",
        "Classes of fewer than 10 samples: the smallest has 3. Intervals are less sure than they claim, for resamples "
        "of so few hardly vary.",
    ]
    # As the library warns of them: not again.
    summary["warnings"] = [
        "The fit ran out of iterations before it converged. A larger `shrinkage` helps.",
        "Classes of fewer than 10 samples: 'cat' (3). Intervals are less sure than they claim.",
        "2 of 49 replicates did not converge; they count as they ended.",
    ]
    found = [text(sentence) for sentence in cautions(summary)]
    assert found[:3] == summary["warnings"]
    assert len(found) == 5


def test_cautions_name_the_model(three_models):
    summary = copy.deepcopy(three_models)
    summary["evaluations"]["second"]["fit"]["status"] = "stalled"
    assert text(cautions(summary)[0]).startswith("second: No further step lowered the deviance")
