"""Costs in the digits that they have, and rules by names that differ."""

from types import SimpleNamespace

import numpy as np
import pytest

from polyroc._uncertainty.intervals import Interval
from polyroc.costs._decision import RuleCost
from polyroc.costs._judging import UnseenMistake
from polyroc.costs._words import DecisionText, amount, ends_of, less_than


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (0.31234, 0.011, "0.312"),
        (1234567.0, 2100.0, "1,234,567"),
        (0.000052, 0.0000041, "0.000052"),
        (-0.00001, 0.01, "0"),
        # Costs in a large unit: six decimals would all be 0.
        (3.124e-9, 1.1e-10, "3.12e-9"),
        (-3.124e-9, 1.1e-10, "-3.12e-9"),
        (-2e-13, 1.1e-10, "0"),
        (4.2e-11, 0.0, "4.2e-11"),
        (4.2e-9, 0.0, "4.2e-9"),
        (0.0, 1.1e-10, "0"),
        (1.5, 1.1e-10, "1.500000"),
    ],
)
def test_amounts_have_the_digits_that_their_errors_support(value, error, words):
    assert amount(value, error) == words


@pytest.mark.parametrize(
    ("ends", "error", "words"),
    [
        ((0.004, 0.87), 0.22, "0.004 to 0.87"),
        ((-0.0004, 0.87), 0.22, "-0.0004 to 0.87"),
        ((0.0, 0.87), 0.22, "0 to 0.87"),
        ((1e-13, 0.87), 0.22, "0 to 0.87"),
        ((-0.13, -0.11), 0.005, "-0.1300 to -0.1100"),
    ],
)
def test_ends_beyond_zero_are_seen_to_be(ends, error, words):
    assert ends_of(Interval(*ends), error) == words


@pytest.mark.parametrize(
    ("less", "ends", "words"),
    [
        (0.31, (0.2, 0.42), "0.310 less than x (95 % interval 0.200 to 0.420)"),
        (-0.31, (-0.42, -0.2), "0.310 more than x (95 % interval 0.200 to 0.420)"),
        (-0.31, (-0.72, 0.1), "0.31 more than x (95 % interval -0.10 to 0.72)"),
        (0.0, (-0.2, 0.2), "the same as x (95 % interval -0.20 to 0.20)"),
        (0.0001, (-0.2, 0.2), "about the same as x (95 % interval -0.20 to 0.20)"),
    ],
)
def test_differences_are_told_from_their_positive_side(less, ends, words):
    assert less_than(less, Interval(*ends), "x", 0.95) == words


def rule(name, cost, difference, ends, label=None):
    return RuleCost(name, label, cost, 0.02, Interval(cost - 0.04, cost + 0.04), difference, Interval(*ends))


def decided(*others, own="tuned", labels=("a", "b"), **changed):
    """A text about a rule and others, of which the cheapest is the rival."""
    chosen = rule(own, 0.5, 0.0, (0.0, 0.0))
    fields = {
        "rules": [chosen, *others],
        "chosen": chosen,
        "rival": min(others, key=lambda one: one.cost),
        "tuned_share": None,
        "unseen": None,
        "n_samples_to_tell": None,
        "resubstitution_cost": 0.45,
        "n_folds": 5,
        "n_samples": 100,
        "confidence_level": 0.95,
        "labels": np.array(labels),
        "offsets": None,
        "scale": "score",
        "abstained": None,
    }
    return DecisionText(SimpleNamespace(**fields | changed))


def test_a_rule_that_is_clearly_cheaper_is_recommended():
    text = decided(rule("argmax", 0.3, -0.2, (-0.3, -0.1)), rule("always", 0.9, 0.4, (0.3, 0.5), "a"))
    assert text.sentence == (
        "Use the highest score: it costs 0.300 per sample, 0.200 less than the tuned offsets "
        '(95 % interval 0.100 to 0.300). The tuned offsets are used until you ask for the rule "argmax", because '
        "scores are not probabilities."
    )


def test_what_is_used_is_said_if_another_rule_is_clearly_cheaper():
    rival = rule("always", 0.3, -0.2, (-0.3, -0.1), "a")
    told = "Use always predicting 'a': it costs 0.300 per sample, 0.200 less than {} (95 % interval 0.100 to 0.300). {}"
    why = "because on held-out folds no share of the tuned offsets cost less by more than a standard error"
    text = decided(rival, own="auto", tuned_share=0.0, scale="expected cost")
    assert text.sentence == told.format("Bayes' rule", f"Bayes' rule is used all the same, {why}.")
    text = decided(rival, own="argmax")
    assert text.sentence == told.format("the highest score", "The highest score is used all the same, as `rule` says.")


def test_a_rule_that_costs_more_but_not_clearly():
    rival = rule("argmax", 0.45, -0.05, (-0.12, 0.02))
    text = decided(rival)
    assert text.sentence == (
        "No rule is clearly the cheapest. The tuned offsets are used, because scores are not probabilities: they cost "
        "0.500 per sample, 0.050 more than the highest score (95 % interval -0.020 to 0.120), the cheapest other rule."
    )
    told = decided(rival, n_samples_to_tell=2100)
    more = "About 2,100 samples would tell with a probability of 80 %, if the difference is that large."
    assert told.sentence == f"{text.sentence} {more}"


def test_only_the_cheapest_other_rule_is_compared_with():
    # Another one is clearly more expensive, and the cheapest is not.
    text = decided(rule("argmax", 0.9, 0.4, (0.3, 0.5)), rule("always", 0.52, 0.02, (-0.03, 0.07), "a"))
    assert "0.020 less than always predicting 'a' (95 % interval -0.030 to 0.070), the cheapest" in text.sentence
    assert "highest score" not in text.sentence


def test_a_share_of_the_offsets_says_why_it_is_used():
    rivals = rule("tuned", 0.55, 0.05, (-0.1, 0.2)), rule("bayes", 0.6, 0.1, (-0.1, 0.2))
    for share, name, why in (
        (0.25, "A quarter of the tuned offsets are", "they cost less than Bayes' rule by more than a standard error"),
        (0.0, "Bayes' rule is", "no share of the tuned offsets cost less by more than a standard error"),
    ):
        text = decided(*rivals, own="auto", tuned_share=share, scale="expected cost")
        assert text.sentence.startswith(
            f"No rule is clearly the cheapest. {name} used, because on held-out folds {why}: "
        )


def test_a_share_that_costs_more_than_bayes_in_the_table_says_why():
    """Chosen because it cost less on held-out folds; the table judges that choice as well."""
    for difference, is_said in ((-0.01, True), (0.1, False)):
        rivals = rule("tuned", 0.45, -0.05, (-0.1, 0.02)), rule("bayes", 0.5 + difference, difference, (-0.1, 0.2))
        text = decided(*rivals, own="auto", tuned_share=0.75, scale="expected cost", n_samples_to_tell=2100)
        more = "Cross-fitted, with this choice made again without each fold, they cost no less than Bayes' rule."
        assert (f"the cheapest other rule. {more} About 2,100" in text.sentence) == is_said
        assert (more in text.sentence) == is_said


def test_the_mistake_that_was_not_seen_is_told():
    unseen = UnseenMistake("a", "b", 200.0, 3.6889, 4100)
    lines = " ".join(str(decided(rule("argmax", 0.9, 0.4, (0.3, 0.5)), unseen=unseen)).split())
    assert (
        "No 'a' was predicted as 'b' in these 100 samples; at a cost of 200 each, that mistake alone could add 3.7 per "
        "sample. From about 4,100 samples without it on, other mistakes would decide the interval." in lines
    )


def test_long_names_of_classes_stay_apart_in_the_table():
    labels = [
        f"the very long name of a class that ends in {end}, and goes on in the same way" for end in ("one", "two")
    ]
    text = decided(*(rule("always", 0.9, 0.4, (0.3, 0.5), label) for label in labels), labels=labels)
    names = [row[0] for row in text._table[1:]]
    assert len(set(names)) == 3
    assert all(len(name) <= len("always ") + 24 for name in names[1:])
