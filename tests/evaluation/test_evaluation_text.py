"""What print(evaluation) shows: D, M, accuracy and the worst pair, and what contradicts D."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from drawing import evaluation_of

import polyroc
from polyroc import Status
from polyroc.evaluation._text import LowPairs, backwards_note


@pytest.fixture(scope="module")
def one_failed_pair():
    """Classes 0 and 1 cannot be distinguished, the rest is separated."""
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(4), 100)
    scores = 8 * np.eye(4)[y_true] + rng.normal(size=(400, 4))
    scores[y_true < 2, :2] = 8 + rng.normal(size=(200, 2))
    return polyroc.evaluate(y_true, scores)


def area_of(evaluation, positive, negative):
    [pair] = [one for one in evaluation.pairs if (one.positive, one.negative) == (positive, negative)]
    return pair.auc


def low_in_one_direction():
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(4), 100)
    scores = 8 * np.eye(4)[y_true] + rng.normal(size=(400, 4))
    # Samples of class 1 have scores of class 0 nearly as high as those of class 0, and a column of their own.
    scores[y_true == 1, 0] = 7.6 + rng.normal(size=100)
    scores[y_true == 1, 1] = 2 + rng.normal(size=100)
    labels = ["urgent", "emergency", "standard", "routine"]
    return polyroc.evaluate(np.array(labels)[y_true], scores, labels=labels)


def test_the_four_numbers_are_printed(one_failed_pair):
    lines = {line.split()[0]: line.split() for line in str(one_failed_pair).splitlines()[2:6]}
    assert lines["D"][1] == f"{one_failed_pair.auc:.4f}"
    assert lines["M"][1] == f"{one_failed_pair.hand_till:.4f}"
    assert lines["accuracy"][1] == f"{one_failed_pair.accuracy:.4f}"
    worst = min(one_failed_pair.pairs, key=lambda pair: pair.auc)
    back = area_of(one_failed_pair, worst.negative, worst.positive)
    meaning = f"area of {worst.positive} against {worst.negative}; reversed {back:.4f}"
    assert lines["worst"][2:] == [f"{worst.auc:.4f}", *meaning.split()]
    assert "scikit-learn's ovo" in str(one_failed_pair)
    assert max(map(len, str(one_failed_pair).splitlines())) <= 100


def test_one_failed_pair_under_a_high_d_is_said(one_failed_pair):
    assert one_failed_pair.auc > 0.95
    assert one_failed_pair.worst_pair.auc < 0.6
    failed, apart = one_failed_pair.notes
    n_failed = sum(pair.auc < 0.7 for pair in one_failed_pair.pairs)
    assert n_failed == 2
    worst = min(one_failed_pair.pairs, key=lambda pair: pair.auc)
    back = area_of(one_failed_pair, worst.negative, worst.positive)
    assert failed == (
        f"D is {one_failed_pair.auc:.4f}, but 2 of 12 ordered pairs have an area below 0.7 (worst: {worst.positive} "
        f"against {worst.negative}, {worst.auc:.4f}; {worst.negative} against {worst.positive}, {back:.4f}): D hardly "
        "notices pairs that fail. Below 0.7 in both directions: 0 and 1."
    )
    assert apart.startswith(f"D is {one_failed_pair.auc - one_failed_pair.hand_till:.3f} above M")
    text = " ".join(str(one_failed_pair).split())
    assert all(note in text for note in one_failed_pair.notes)
    assert one_failed_pair.to_dict()["notes"] == [failed, apart]


def test_a_pair_that_is_low_in_one_direction_only_is_told_with_the_other():
    """The column of class 0 does not rank class 0 above class 1; that of class 1 ranks class 1 above class 0."""
    evaluation = low_in_one_direction()
    low = [pair for pair in evaluation.pairs if pair.auc < 0.7]
    assert [(pair.positive, pair.negative) for pair in low] == [("urgent", "emergency")]
    back = area_of(evaluation, "emergency", "urgent")
    assert back > 0.85
    assert evaluation.notes[1] == (
        f"D is {evaluation.auc:.4f}, but urgent against emergency has an area of only {low[0].auc:.4f} (emergency "
        f"against urgent, {back:.4f}): D hardly notices a single pair that fails."
    )
    assert evaluation.to_dict()["worst_pair"]["reversed_auc"] == back
    # Of a sample of the pairs the other direction may be missing, and nothing is said of both.
    headline = replace(evaluation.headline, worst_reversed=None, low_pairs=LowPairs(2, None))
    assert headline.notes[1].endswith(
        f"(worst: urgent against emergency, {low[0].auc:.4f}): D hardly notices pairs that fail."
    )
    assert "No two classes are below 0.7 in both directions." in replace(headline, low_pairs=LowPairs(2, 0)).notes[1]


def test_many_classes_that_are_low_in_both_directions_are_counted():
    example = polyroc.load_example()
    evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    areas = {(pair.positive, pair.negative): pair.auc for pair in evaluation.pairs}
    better = {pair: max(areas[pair], areas[pair[::-1]]) for pair in areas if pair[0] < pair[1]}
    both = sorted((pair for pair in better if better[pair] < 0.7), key=better.get)
    told = ", ".join(f"{a} and {b}" for a, b in both[:3])
    assert f" Below 0.7 in both directions: {told}, and {len(both) - 3} other pairs of classes." in evaluation.notes[1]


def test_nothing_is_said_where_nothing_contradicts():
    evaluation = evaluation_of(4, n=800)
    assert abs(evaluation.auc - evaluation.hand_till) < 0.05
    assert evaluation.notes == ()
    assert len(str(evaluation).splitlines()) == 6


def test_two_classes_have_one_pair_and_no_worst():
    text = str(polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    assert "4 samples of 2 classes, 1 pair" in text
    assert "worst" not in text
    assert "one score column" in text


def test_long_names_stay_different_in_the_table_and_whole_in_sentences():
    names = [f"{40 * 'long '}{kind}" for kind in ("first", "second", "third", "fourth")]
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(4), 100)
    scores = 8 * np.eye(4)[codes] + rng.normal(size=(400, 4))
    scores[codes < 2, :2] = 8 + rng.normal(size=(200, 2))
    evaluation = polyroc.evaluate(np.array(names)[codes], scores, labels=names)
    row = next(line for line in str(evaluation).splitlines() if line.startswith("worst pair"))
    first, second = row.partition("area of ")[2].partition("; reversed")[0].split(" against ")
    assert first != second
    assert max(len(first), len(second)) <= 30
    assert names[0] in evaluation.notes[0]
    assert names[1] in evaluation.notes[0]


def test_a_fit_that_did_not_converge_is_said():
    evaluation = evaluation_of(4)
    fit = replace(evaluation.factorization, status=Status.MAX_ITER)
    failed = replace(evaluation, fitted=replace(evaluation.fitted, factorization=fit))
    assert "ran out of iterations" in str(failed)
    assert "D is not to be relied on" in str(failed)


def test_backwards_is_said_of_intervals_only():
    assert backwards_note(0.499, 0.493, 0.505) == ""
    assert "rank backwards" in backwards_note(0.42, 0.37, 0.47)
    assert "ends at 0.499997, below 1/2" in backwards_note(0.42, 0.37, 0.499997)


def test_a_single_point_does_not_rank_backwards():
    assert backwards_note(0.42, 0.42, 0.42) == ""
    with warnings.catch_warnings(record=True, action="always") as caught:
        comparison = polyroc.compare([0, 1, 2], {"right": np.eye(3), "turned": np.eye(3)[::-1]})
    assert not [one for one in caught if "backwards" in str(one.message)]
    assert "backwards" not in str(comparison)


def test_pairs_can_be_walked_and_asked_by_place(one_failed_pair):
    pairs = one_failed_pair.pairs
    assert len(list(pairs)) == len(pairs) == 12
    for place, pair in enumerate(pairs):
        assert pair == pairs[place] == pairs[place - 12]
        for name in pair._fields:
            assert getattr(pair, name) == getattr(pairs, name)[place]
    with pytest.raises(IndexError):
        pairs[12]
    with pytest.raises(TypeError):
        pairs[1.5]
    assert type(pairs[0].positive) is int
    assert one_failed_pair.to_dict()["worst_pair"]["auc"] == pairs.auc.min()


def test_worst_pair_is_found_only_when_asked_for():
    evaluation = polyroc.evaluate(np.arange(40) % 4, np.random.default_rng(0).normal(size=(40, 4)))
    repr(evaluation)
    assert "areas" not in vars(evaluation.fitted)
    assert evaluation.worst_pair.auc == min(evaluation.pairs.auc)


def test_differences_of_columns_show_auc_mu_and_are_compared_with_it():
    """M, which ranks by columns, is far from D here, and AUCmu is not: the pairs are alike."""
    rng = np.random.default_rng(0)
    y_true = np.arange(400) % 4
    scores = np.eye(4)[y_true] + rng.normal(0, 0.2, (400, 4)) + rng.normal(0, 3, (400, 1))
    evaluation = polyroc.evaluate(y_true, scores, thresholds="difference")
    mu = polyroc.baselines.auc_mu(y_true, scores)
    assert evaluation.auc - evaluation.hand_till > 0.05
    assert abs(evaluation.auc - mu) < 0.05
    assert evaluation.notes == ()
    lines = str(evaluation).splitlines()
    assert lines[3].split()[:2] == ["AUCmu", f"{mu:.4f}"]
    assert lines[4].split()[:2] == ["M", f"{evaluation.hand_till:.4f}"]
    far = replace(evaluation.headline, auc_mu=evaluation.auc - 0.1).notes
    assert far[0].startswith("D is 0.100 above AUCmu: the pairs of classes differ much")
    assert "AUCmu" not in str(polyroc.evaluate(y_true, scores))
