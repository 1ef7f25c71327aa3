"""Every public number of 60 problems is the one that was stored; `tests/helpers/golden.py` stores them again."""

import json

import golden
import pytest
from numpy.testing import assert_allclose

STORED = json.loads(golden.PATH.read_text(encoding="utf-8"))


def test_every_problem_is_stored():
    assert list(STORED) == list(golden.problems())
    assert len(STORED) == 60


@pytest.mark.parametrize("name", STORED)
def test_numbers_are_those_that_were_stored(name):
    numbers = golden.all_numbers(name)
    assert list(numbers) == list(STORED[name])
    for key, expected in STORED[name].items():
        if expected is None or isinstance(expected, str):
            assert numbers[key] == expected, key
            continue
        tolerance = 1e-8 if key.startswith(("interval", "band")) else 1e-6 if key.startswith("p of") else 1e-9
        assert_allclose(numbers[key], expected, rtol=tolerance, atol=tolerance * 1e-2, err_msg=key)
