"""Pairs as a rule against pairs as lists."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from polyroc._records import AllPairs, SomePairs, chosen_pairs


def listed(classes):
    pairs = [(i, j) for i in classes for j in classes if i != j]
    positive, negative = np.array(pairs).T
    return SomePairs(positive, negative, positive)


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2, 3, 4], [3, 5, 11, 12]])
def test_the_rule_gives_the_list(classes):
    rule, expected = AllPairs(np.array(classes)), listed(classes)
    assert len(rule) == len(expected)
    for name in ("positive", "negative", "column"):
        assert_array_equal(getattr(rule, name), getattr(expected, name))
    for start, stop in [(0, 1), (1, len(rule)), (0, len(rule)), (len(rule) - 1, len(rule))]:
        part, again = rule.part(start, stop), expected.part(start, stop)
        for name in ("positive", "negative", "column"):
            assert_array_equal(getattr(part, name), getattr(again, name))


def test_ten_thousand_classes_are_a_rule_and_no_list():
    rule = AllPairs(np.arange(10_000))
    assert len(rule) == 99_990_000
    part = rule.part(99_989_998, 99_990_000)
    assert part.positive.tolist() == [9_999, 9_999]
    assert part.negative.tolist() == [9_997, 9_998]
    assert set(vars(rule)) == {"classes"}  # nothing was listed on the way


def test_a_rule_is_sent_without_its_lists():
    rule = AllPairs(np.arange(300))
    assert rule.positive.nbytes > 500_000
    sent = pickle.dumps(rule)
    assert len(sent) < 5_000
    assert_array_equal(pickle.loads(sent).negative, rule.negative)


def test_some_of_the_pairs_keep_their_columns():
    binary = SomePairs(np.array([1]), np.array([0]), np.array([0]))
    assert chosen_pairs(binary, np.array([True])).column.tolist() == [0]
    few = chosen_pairs(AllPairs(np.arange(4)), [0, 5])
    assert few.positive.tolist() == few.column.tolist() == [0, 1]
    assert few.negative.tolist() == [1, 3]
