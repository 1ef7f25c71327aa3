"""Names in tables: short, and never so short that two become the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyroc._lib.text import printable, short_names

LETTERS = st.text("ab-", min_size=1, max_size=40)


@given(st.lists(LETTERS, min_size=1, max_size=12, unique=True), st.integers(8, 40))
def test_different_names_stay_different_and_fit(names, width):
    shorter = short_names(names, width)
    assert len(set(shorter)) == len(names)
    assert max(map(len, shorter)) <= width
    assert all(short == name for short, name in zip(shorter, names, strict=True) if len(name) <= width)


@pytest.mark.parametrize("width", [8, 12, 24, 30])
@pytest.mark.parametrize(
    "names",
    [
        [60 * "a" + "1", 60 * "a" + "2"],  # differ at the end
        ["1" + 60 * "a", "2" + 60 * "a"],  # at the beginning
        [40 * "a" + "1" + 40 * "b", 40 * "a" + "2" + 40 * "b"],  # in the middle
        [40 * "a" + x + 40 * "b" + y + 40 * "c" for x in "12" for y in "12"],  # in two places
        [50 * "a", 51 * "a", 52 * "a"],  # in length alone
        ["a\nb", "a\tb", "a?b"],  # by what cannot be printed
        [f"{40 * 'x'}{number:04}{40 * 'y'}" for number in range(1000)],
    ],
    ids=str,
)
def test_long_names_that_are_nearly_the_same(names, width):
    shorter = short_names(names, width)
    assert len(set(shorter)) == len(names)
    assert max(map(len, shorter)) <= width


def test_what_makes_the_difference_is_shown():
    names = [f"resnet50-imagenet-augmented-learning-rate-{rate}-weight-decay-0.0005-seed-1" for rate in ("0.1", "0.3")]
    first, second = short_names(names, 20)
    assert "0.1" in first
    assert "0.3" in second


def test_the_same_name_twice_is_the_same():
    assert short_names(["a", "b", "a"], 10) == ["a", "b", "a"]


def test_names_are_on_one_line_and_seen():
    assert short_names(["two\nlines", " ", 7], 10) == ["two?lines", "' '", "7"]
    assert printable("\x1b[31m" + 30 * "long ") == "?[31m" + 30 * "long "
