"""Sorting together with places, against NumPy's argsort."""

import numpy as np
import pytest
from conftest import require
from hypothesis import given
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import floats, integers

SCORES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "probabilities": lambda rng, shape: rng.dirichlet(np.ones(shape[0]), shape[1]).T,
    "ties": lambda rng, shape: rng.integers(-3, 4, shape).astype(float),
    "all alike": lambda rng, shape: np.full(shape, 0.25),
    "next to 1": lambda rng, shape: 1 - rng.integers(0, 2**12, shape) * 2.0**-53,
    # Two values far away, so that all others agree in the bits that are kept.
    "next to 1, with outliers": lambda rng, shape: np.hstack(
        [1 - rng.integers(0, 2**12, (shape[0], shape[1] - 2)) * 2.0**-53, np.full((shape[0], 2), [[-1e300, 1e300]])]
    ),
    "every size": lambda rng, shape: rng.choice([-1, 1], shape) * 10 ** rng.uniform(-307, 307, shape),
}


@pytest.fixture(scope="module")
def sort_with_places():
    require("numba")
    from polyroc._engines._numba._packed_sort import sort_with_places

    return sort_with_places


def check(sort_with_places, scores):
    """Values as NumPy sorts them, each member once, and the score of each member where it stands."""
    members = np.random.default_rng(1).permutation(scores.shape[1] + 5)[: scores.shape[1]].astype(np.uint32)
    values, order = scores.copy(), np.empty(scores.shape, dtype=np.uint32)
    sort_with_places(values, members, order)
    assert (values == np.sort(scores, axis=1)).all()
    for row, places in zip(scores, order, strict=True):
        assert sorted(places) == sorted(members)
        score_of = dict(zip(members.tolist(), row.tolist(), strict=True))
        assert [score_of[m] for m in places.tolist()] == sorted(row.tolist())


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 3000])
@pytest.mark.parametrize("kind", SCORES)
def test_rows_and_places_are_those_of_argsort(sort_with_places, kind, n, precision):
    with np.errstate(over="ignore", under="ignore"):
        scores = SCORES[kind](np.random.default_rng(0), (3, max(n, 3)))[:, :n].astype(precision)
    check(sort_with_places, np.nan_to_num(scores, posinf=3e38, neginf=-3e38))


def test_both_zeros_are_one(sort_with_places):
    """Members of either zero stand between those of negative and positive scores."""
    scores = np.array([[0.0, -0.0, 5e-324, -5e-324, -0.0, 0.0]])
    check(sort_with_places, scores)


@given(arrays(np.float64, (2, 40), elements=floats(allow_nan=False, allow_infinity=False)), integers(1, 40))
def test_any_finite_scores(sort_with_places, scores, n):
    check(sort_with_places, scores[:, :n])
