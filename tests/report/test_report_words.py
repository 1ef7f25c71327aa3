"""The sentences of the report, from the dict alone: the right numbers, and never more than these say."""

import copy

import numpy as np
import pytest
from report_pages import comparison_of, evaluation_of

from polyroc.report import summarize
from polyroc.report._sentences import plain_text as text
from polyroc.report._words import advice, cautions, details, disagreement


def told(summary):
    return "\n".join(text(sentence) for sentence in details(summary))


def said_of_m(summary):
    return " ".join(text(sentence) for sentence in disagreement(summary))


@pytest.fixture(scope="module")
def one_model():
    evaluation = evaluation_of(5)
    return summarize(evaluation, bootstrap=evaluation.bootstrap(49, rng=0))


@pytest.fixture(scope="module")
def three_models():
    return summarize(comparison_of())


def test_one_model_is_told_by_accuracy_d_m_and_its_worst_pair(one_model):
    first, second = (text(sentence) for sentence in advice(one_model))
    assert first.startswith("These scores separate the 5 classes better than guessing, but hardly class 0")
    right = one_model["accuracy_interval"]
    ends = f"({100 * right['low']:.0f} % to {100 * right['high']:.0f} %)"
    assert first.endswith(f"They predict the right class in {100 * one_model['accuracy']:.0f} % of samples {ends}.")
    d, m = (one_model[key] for key in ("confidence_interval", "hand_till_interval"))
    assert f"D {one_model['auc']:.3f} (95 % interval {d['low']:.3f} to {d['high']:.3f}), " in second
    assert f"M {one_model['hand_till']:.3f} ({m['low']:.3f} to {m['high']:.3f}); 0.5 is guessing" in second
    worst = int(np.argmin(one_model["pairs"]["auc"]))
    names = f"{one_model['pairs']['positive'][worst]} against {one_model['pairs']['negative'][worst]}"
    areas = areas_by_pair(one_model)
    turned = (one_model["pairs"]["negative"][worst], one_model["pairs"]["positive"][worst])
    least = min(one_model["pairs"]["auc"])
    assert f"The worst pair is {names} (area {least:.3f}; reversed {areas[turned]:.3f})." in second
    assert "that all 20 ordered pairs of classes share: 0.5 is guessing, 1 is perfect" in told(one_model)
    assert one_model["advice"] == [first, second]


def areas_by_pair(summary):
    pairs = summary["pairs"]
    return dict(zip(zip(pairs["positive"], pairs["negative"], strict=True), pairs["auc"], strict=True))


def test_classes_are_hardly_separated_only_if_both_directions_are_low(one_model):
    areas = areas_by_pair(one_model)
    better = {pair: max(areas[pair], areas[pair[::-1]]) for pair in areas if pair[0] < pair[1]}
    both = sorted((pair for pair in better if better[pair] < 0.7), key=better.get)
    assert one_model["low_both_ways"] == [list(pair) for pair in both[:3]]
    assert f", but hardly {both[0][0]} from {both[0][1]}. They predict" in text(advice(one_model)[0])
    assert one_model["worst_pair"]["auc"] < 0.7
    one_direction = {**one_model, "low_both_ways": []}
    assert "better than guessing. They predict" in text(advice(one_direction)[0])
    sampled = {**one_model, "worst_pair": {**one_model["worst_pair"], "reversed_auc": None}}
    assert text(advice(sampled)[1]).endswith(f"(area {one_model['worst_pair']['auc']:.3f}).")


def test_words_are_chosen_from_the_interval_and_not_from_d(one_model):
    """A D of 0.499 between 0.493 and 0.505 is guessing; only an interval below 1/2 is backwards."""
    interval = one_model["confidence_interval"]
    for d, ends, said, backwards in [
        (0.499, (0.493, 0.505), "Do not rely on these scores: by D they cannot be distinguished from guessing", False),
        (0.47, (0.45, 0.49), "Do not use these scores as they are: they rank the 5 classes backwards", True),
        (0.51, (0.502, 0.518), "These scores separate the 5 classes better than guessing", False),
    ]:
        ends = {**interval, "low": ends[0], "high": ends[1]}
        summary = {**one_model, "auc": d, "confidence_interval": ends}
        assert text(advice(summary)[0]).startswith(said)
        assert any("backwards" in text(caution) for caution in cautions(summary)) == backwards
    # Without an interval only the warning of `evaluate` says it, which knows what chance explains.
    bare = {**one_model, "auc": 0.48, "hand_till": 0.49, "confidence_interval": None}
    assert "without an interval" in text(advice(bare)[0])
    assert not [caution for caution in cautions(bare) if "backwards" in text(caution)]
    warned = {**bare, "warnings": ["The scores rank samples backwards, by more than chance explains."]}
    assert len([caution for caution in cautions(warned) if "backwards" in text(caution)]) == 1


def test_columns_that_name_no_class_have_no_accuracy_but_a_reason(one_model):
    note = "There is one score column, so a class is predicted only by a threshold."
    summary = {**one_model, "accuracy": None, "accuracy_note": note}
    said = text(advice(summary)[0])
    assert "How often the prediction is correct is unknown: there is one score column" in said


def test_what_contradicts_d_is_read_with_care(one_model):
    summary = {**one_model, "notes": ["D is 0.9950, but one pair fails."]}
    assert text(cautions(summary)[0]) == "D is 0.9950, but one pair fails."


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
    said = " ".join(text(sentence) for sentence in [*advice(summary), *details(summary)])
    assert "judged on the 5 classes, without an interval." in said
    assert "better than" not in said
    assert f"D {summary['auc']:.3f}, M {summary['hand_till']:.3f}; 0.5" in said


def test_the_pairs_that_cost_most_are_named_with_their_share(one_model):
    pairs = one_model["pairs"]
    worst = np.argsort(pairs["auc"], kind="stable")[:3]
    share = (1 - np.array(pairs["auc"]))[worst].sum() / (1 - np.array(pairs["auc"])).sum()
    for p in worst:
        assert f"{pairs['positive'][p]} against {pairs['negative'][p]} (area {pairs['auc'][p]:.3f})" in told(one_model)
    expected = f"these 3 of 20 pairs account for {100 * share:.0f} % of the gap to a perfect score."
    assert expected in told(one_model)


def test_a_page_with_costs_says_that_m_has_none():
    costs = np.ones((4, 4))
    costs[0, 1] = 20
    options = {"costs": costs}
    summary = summarize(comparison_of(k=4, names=("first", "second"), n_resamples=None, options=options))
    assert "D is weighted by the costs, M is not." in said_of_m(summary)
    assert summary["verdict"].endswith("D is weighted by the costs, M is not.")
    winner = {**summary, "best": "first"}
    assert "better than second by D (weighted by the costs) and by M, at 95 %" in text(advice(winner)[0])
    plain = {**winner, "options": {**summary["options"], "costs": None}}
    assert "weighted" not in text(advice(plain)[0]) + said_of_m(plain)


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
        f"{50 / weight.mean():.3g} times the mean), {pairs.positive[second]} against {pairs.negative[second]}" in said
    )
    share = np.sort(gap)[-3:].sum() / gap.sum()
    assert f"account for {100 * share:.0f} % of the gap to a perfect score, weighted by the costs given." in said


def test_perfect_scores_have_no_pairs_that_cost():
    summary = summarize(evaluation_of(3, strength=100))
    assert "Every pair of classes is separated without a mistake." in told(summary)


def test_the_best_model_and_its_rivals(three_models):
    first, second = three_models["auc"]["differences"][:2]
    right = three_models["evaluations"]["first"]["accuracy"]
    interval = three_models["evaluations"]["first"]["accuracy_interval"]
    assert three_models["best"] == "first"
    assert text(advice(three_models)[0]) == (
        "Use first: it is better than both other models by D and by M, at 95 % confidence. It predicts the right class "
        f"in {100 * right:.0f} % of samples ({100 * interval['low']:.0f} % to {100 * interval['high']:.0f} %)."
    )
    ends = f"(95 % interval {first['low']:.4f} to {first['high']:.4f})"
    assert f"By D, first is ahead of second by {first['value']:.4f} {ends}" in told(three_models)
    assert f"ahead of third by {second['value']:.4f}" in told(three_models)
    everything = told(three_models) + " ".join(three_models["advice"])
    assert "probability" not in everything
    assert "ranks highest" not in everything


def test_no_winner_is_named_where_the_comparison_names_none(three_models):
    summary = copy.deepcopy(three_models) | {
        "best": None,
        "verdict": "No clear winner: first leads by D and by M, but its lead over second is not significant.",
    }
    for key in ("auc", "hand_till"):
        summary[key]["differences"][0] |= {"value": 0.012, "low": -0.004, "high": 0.028, "p_value_holm": 0.2}
    lead, numbers = (text(sentence) for sentence in advice(summary))
    assert lead == summary["verdict"]
    models = summary["evaluations"]
    for name in ("first", "second"):
        right = f"{100 * models[name]['accuracy']:.0f} %"
        assert f"{name} predicts the right class in {right} of samples (D {models[name]['auc']:.3f}, M " in numbers
    assert "third" not in numbers
    assert "The worst pair of first is " in numbers
    assert "ahead of second by 0.0120 (95 % interval -0.0040 to 0.0280, which contains 0)" in told(summary)
    assert "Where an interval contains 0, these samples do not show which model is better." in told(summary)
    assert "contains 0" not in told(three_models)


def test_d_and_m_that_disagree_have_no_winner(three_models):
    said = "D and M disagree: D prefers third, M prefers first. Look at the pairs of classes."
    summary = copy.deepcopy(three_models) | {"best": None, "verdict": said, "notes": ["D and M disagree."]}
    assert text(advice(summary)[0]) == f"No clear winner. {said}"
    assert text(cautions(summary)[0]) == "D and M disagree."


def test_the_best_may_be_the_second_of_a_difference(three_models):
    summary = copy.deepcopy(three_models) | {"best": "third"}
    summary["auc"]["differences"][1] |= {
        "first": "first",
        "second": "third",
        "value": -0.02,
        "low": -0.03,
        "high": -0.01,
    }
    assert text(advice(summary)[0]).startswith("Use third: ")
    assert "ahead of first by 0.0200 (0.0100 to 0.0300)" in told(summary)


def test_two_models_are_told_by_name():
    summary = summarize(comparison_of(names=["good", "poor"]))
    assert summary["advice"][0].startswith("Use good: it is better than poor by D and by M, at 95 % confidence.")


def test_a_fit_that_failed_gives_no_verdict(three_models):
    summary = copy.deepcopy(three_models)
    summary["evaluations"]["second"]["fit"]["status"] = "stalled"
    [said] = advice(summary)
    assert text(said) == "No verdict: the fit of second did not converge, so D is not to be relied on."


def test_what_contradicts_d_of_a_model_that_loses_is_said_further_down(three_models):
    summary = copy.deepcopy(three_models)
    summary["evaluations"]["first"]["notes"] = ["A pair of the best fails."]
    summary["evaluations"]["third"]["notes"] = ["A pair fails."]
    assert [text(sentence) for sentence in cautions(summary)] == ["first: A pair of the best fails."]
    assert "third: A pair fails." in told(summary)


def test_what_is_noted_of_all_models_is_said_once(three_models):
    summary = copy.deepcopy(three_models)
    for evaluation in summary["evaluations"].values():
        evaluation["notes"] = ["The diagonal is ignored."]
    summary["evaluations"]["third"]["notes"] += ["A pair fails."]
    assert [text(sentence) for sentence in cautions(summary)] == ["All models: The diagonal is ignored."]
    assert "diagonal" not in told(summary)
    assert "third: A pair fails." in told(summary)


def test_many_rivals_are_counted():
    summary = summarize(comparison_of(k=3, names=[f"model {i}" for i in range(6)], n_resamples=9))
    assert "; 2 others are further behind." in told(summary)
    assert " to " in said_of_m(summary)


def test_what_d_adds_to_m_is_told_with_the_numbers(one_model):
    summary = copy.deepcopy(one_model)
    summary |= {"auc": 0.9, "hand_till": 0.86, "auc_by_thresholds": {"own": 0.9, "shared": 0.87}}
    assert said_of_m(summary) == (
        "D is 0.040 above M (0.860), the plain mean of the areas of the pairs. Pairs that are separated well count "
        "more in D than in M. With one threshold per pair, D drops by 0.030 to 0.870. Rare classes, costs or columns "
        "on different scales can do that."
    )
    summary |= {"hand_till": 0.92, "auc_by_thresholds": {"own": 0.9, "shared": 0.9002}}
    assert "0.020 below M" in said_of_m(summary)
    assert said_of_m(summary).endswith(
        "With one threshold per pair, D moves by less than 0.0005 to 0.900: nothing is lost, so the score columns can "
        "share a threshold."
    )
    summary |= {"auc_by_thresholds": {"own": 0.9, "shared": 0.896}}
    assert "drops by 0.0040 to 0.896: little is lost, so the score columns can nearly share a threshold." in said_of_m(
        summary
    )
    summary |= {"hand_till": 0.9001, "auc_by_thresholds": None}
    assert said_of_m(summary) == (
        "D is within 0.0005 of M (0.900), the plain mean of the areas of the pairs: no pairs are much sharper than "
        "others."
    )


def test_several_models_are_told_in_one_sentence(three_models):
    for name, record in three_models["evaluations"].items():
        apart = record["auc"] - record["hand_till"]
        size = f"{apart:.3f}" if apart >= 0.0095 else f"{apart:.4f}"
        assert f"{size} above M for {name}" in said_of_m(three_models)


def test_two_classes_have_one_number():
    summary = summarize(evaluation_of(2))
    assert said_of_m(summary).startswith("With two classes there is one pair: D and M are both the ordinary area")
    assert " M " not in " ".join(summary["advice"])
    assert "cost most" not in told(summary)


def test_cautions_come_from_warnings_and_from_the_numbers(one_model):
    assert cautions({**one_model, "n_independent": 24}) == []
    summary = copy.deepcopy(one_model) | {"n_independent": 3, "n_not_converged": 2, "n_lost_class": 1, "auc": 0.4}
    summary["confidence_interval"] |= {"low": 0.38, "high": 0.42}
    summary["fit"]["status"] = "max-iter"
    found = [text(sentence) for sentence in cautions(summary)]
    assert found == [
        "The fit ran out of iterations before it converged. D is not to be relied on.",
        "D is 0.4000 and its interval ends at 0.4200, below 1/2: the scores rank backwards. The score columns may be "
        "in another order than the labels.",
        "2 of 49 replicates did not converge; they count as they ended.",
        "1 resample lacked some class, whose pairs were left out.",
        "Classes of fewer than 10 samples: the smallest has 3. These intervals are probably too narrow: so few "
        "samples show little of how they vary.",
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


def test_differences_of_columns_are_compared_with_auc_mu():
    evaluation = evaluation_of(5, options={"thresholds": "difference"})
    summary = copy.deepcopy(summarize(evaluation))
    mu = float(np.mean(summary["pairs"]["auc"]))
    assert mu == evaluation.mean_auc
    summary |= {
        "auc": mu + 0.04,
        "hand_till": 0.86,
        "auc_by_thresholds": {"own": 0.9, "shared": 0.87, "difference": 0.9},
    }
    assert said_of_m(summary) == (
        f"D is 0.040 above AUCmu ({mu:.3f}), the plain mean of the areas of the pairs. Both rank a pair by the "
        "difference of its two score columns. M (0.860) ranks by one column at a time. With one threshold per pair "
        "instead of one per column, D drops by 0.030 to 0.870. Rare classes, costs or columns on different scales "
        "can do that."
    )
    several = said_of_m(summarize(comparison_of(options={"thresholds": "difference"})))
    assert several.startswith("first: D is ")
    assert " second: D is " in several
