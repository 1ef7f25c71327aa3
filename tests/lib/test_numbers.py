"""Numbers for people: whatever the digits, the text never claims what the number does not."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyroc._lib import numbers as _numbers
from polyroc._lib.numbers import (
    area,
    area_and_ends,
    difference,
    difference_and_ends,
    gap,
    level,
    p_equals,
    p_value,
    percent,
    share_of_resamples,
    smallest_p,
)

INSIDE = st.floats(0, 1, exclude_min=True, exclude_max=True)
# As near to 1 as areas of good models are.
NEAR_ONE = st.floats(1e-12, 1e-2).map(lambda gap: 1 - gap)


@given(st.one_of(INSIDE, NEAR_ONE))
def test_an_area_below_1_is_never_shown_as_1_nor_one_above_0_as_0(value):
    text = area(value)
    bound, _, number = text.rpartition(" ")
    assert 0 < float(number) < 1
    assert {"": abs(float(number) - value) <= 5.1e-5, "above": float(number) < value, "below": float(number) > value}[
        bound
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0000"), (0.0, "0.0000"), (0.9995, "0.9995"), (0.99995, "0.99995"), (0.9999999, "above 0.999999")],
)
def test_areas_at_the_end(value, text):
    assert area(value) == text


@given(NEAR_ONE, st.floats(2e-6, 1e-3), st.floats(2e-6, 1e-3))
def test_ends_that_differ_from_the_estimate_are_shown_to_differ(value, below, above):
    low, high = value - below, min(1.0, value + above)
    texts = area_and_ends(value, low, high)
    assert texts[0] != texts[1]
    if high - value > 2e-6:
        assert texts[0] != texts[2]


def test_an_interval_of_a_good_model_is_no_claim_of_perfection():
    # The legend once read 1.000 [0.999, 1.000].
    assert area_and_ends(0.99962, 0.99938, 0.99977) == ("0.9996", "0.9994", "0.9998")
    assert area_and_ends(0.99997, 0.99991, 0.99999) == ("0.99997", "0.99991", "0.99999")


@given(st.floats(-1, 1))
def test_a_difference_keeps_its_sign_and_is_0_only_where_it_is_nothing(value):
    text = difference(value)
    assert "e" not in text.removeprefix("below").removeprefix("above")
    number = float(text.rpartition(" ")[2])
    if abs(value) < 1e-12:
        assert text == "0"
    else:
        assert math.copysign(1, number) == math.copysign(1, value)
        assert number != 0


def test_a_tiny_difference_has_an_interval_that_can_be_read():
    assert difference_and_ends(-0.00003, -0.00012, 0.00006) == ("-0.00003", "-0.00012", "0.00006")
    assert difference_and_ends(0.0, 0.0, 0.0) == ("0", "0", "0")


@given(st.floats(-1, 1))
def test_sizes_in_sentences_have_no_exponents_and_are_no_rows_of_zeros(value):
    text = gap(value)
    assert re.fullmatch(r"0|less than 0\.0001|more than 0\.999|[01]\.\d{3,4}", text)
    assert (text == "0") == (abs(value) < 1e-12)
    if text[0] in "01" and text != "0":
        assert float(text) > 0


@given(INSIDE)
def test_a_share_is_all_or_nothing_only_where_it_is(value):
    assert percent(value) not in ("100 %", "0 %", "100.0 %", "0.0 %")


def test_percents():
    assert percent(0.996) == "99.6 %"
    assert percent(0.9996) == "over 99.9 %"
    assert percent(0.0004) == "below 0.1 %"
    assert (percent(1.0), percent(0.0)) == ("100 %", "0 %")


@given(st.integers(0, 999))
def test_shares_of_resamples_are_never_certain(count):
    text = share_of_resamples(count / 999, 999)
    assert text not in ("1.000", "0.000")
    if 1 < count < 998:
        assert float(text) == pytest.approx(count / 999, abs=5.1e-4)


@pytest.mark.parametrize("n_resamples", [2, 9, 49, 99, 199, 499, 999, 99_999, None])
def test_p_values_are_not_printed_below_what_supports_them(n_resamples):
    least = smallest_p(n_resamples)
    assert least >= 1e-6
    assert p_value(least * 0.99, n_resamples).startswith("< ")
    assert not p_value(least * 1.01, n_resamples).startswith("<")
    assert p_value(3.2e-28, n_resamples) == p_value(least / 2, n_resamples)
    if n_resamples is not None:
        # What can be counted is printed, and what is printed is at most ten times what counts support.
        assert least <= max(10 / (n_resamples + 1), 1e-6)


def test_p_values():
    assert p_value(3.2e-28, 999) == "< 1e-6"
    assert p_value(1.6e-5, 999) == "1.6e-5"
    assert _numbers.p_equals(3.2e-28, 999) == "p < 1e-6"
    assert _numbers.p_equals(0.04, 999) == "p = 0.04"


@given(st.floats(0.5, 1, exclude_max=True))
def test_nothing_below_1_is_rounded_to_1(value):
    texts = [difference(value), difference(-value), gap(value), p_value(value)]
    assert not {"+1.0000", "-1.0000", "1.000", "1.0", "1.00"} & set(texts)
    assert level(min(value, 1 - 1e-12)) != "100 %"


def test_numbers_near_1():
    assert gap(0.9996) == "more than 0.999"
    assert difference(-0.99996) == "-0.99996"
    assert (p_value(0.9949), p_value(0.996), p_value(1.0)) == ("0.99", "> 0.99", "1.0")
    assert (p_equals(0.996), p_equals(1.0)) == ("p > 0.99", "p = 1.0")
    assert level(0.99999999) == "99.999999 %"
