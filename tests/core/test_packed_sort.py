"""Which sample stands where in sorted scores, against NumPy's sort."""

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
def order_samples():
    require("numba")
    from polyroc._core.numba.class_sorted import order_samples

    return order_samples


def check(order_samples, scores):
    """Each member once, and the scores of members in the order of NumPy's sort; rows of others are never read."""
    n_rows, n = scores.shape
    members = np.random.default_rng(1).permutation(n + 5)[:n].astype(np.uint32)
    samples = np.full((n + 5, n_rows + 2), np.nan, dtype=scores.dtype)
    samples[members, 1:-1] = scores.T
    ends, order = np.stack([scores.min(axis=1), scores.max(axis=1)], axis=1), np.empty(scores.shape, dtype=np.uint32)
    order_samples(samples, members, 1, ends, order)
    for row, found in enumerate(order):
        assert sorted(found) == sorted(members)
        assert (samples[found, 1 + row] == np.sort(scores[row])).all()


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 3000])
@pytest.mark.parametrize("kind", SCORES)
def test_order_is_that_of_the_scores(order_samples, kind, n, precision):
    with np.errstate(over="ignore", under="ignore"):
        scores = SCORES[kind](np.random.default_rng(0), (3, max(n, 3)))[:, :n].astype(precision)
    check(order_samples, np.nan_to_num(scores, posinf=3e38, neginf=-3e38))


def test_both_zeros_are_one(order_samples):
    """Members of either zero stand between those of negative and positive scores."""
    scores = np.array([[0.0, -0.0, 5e-324, -5e-324, -0.0, 0.0]])
    check(order_samples, scores)


@given(arrays(np.float64, (2, 40), elements=floats(allow_nan=False, allow_infinity=False)), integers(1, 40))
def test_any_finite_scores(order_samples, scores, n):
    check(order_samples, scores[:, :n])
