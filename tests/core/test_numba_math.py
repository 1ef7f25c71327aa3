"""The vectorised exponential and logarithm against NumPy's."""

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from polyroc._core.numba import compile as _numba_math  # noqa: E402


@numba.njit
def exponentials(x, out):
    for i in range(len(x)):
        out[i] = _numba_math.exp_negative(x[i])


@numba.njit
def logarithms(x, out):
    for i in range(len(x)):
        out[i] = _numba_math.log_positive(x[i])


def each(function, x):
    out = np.empty_like(x)
    function(x, out)
    return out


@pytest.mark.parametrize(("dtype", "lowest", "rtol"), [(np.float64, -700, 2e-15), (np.float32, -80, 2e-7)])
def test_exp_negative_is_the_exponential(dtype, lowest, rtol):
    rng = np.random.default_rng(0)
    x = np.r_[np.linspace(lowest, 0, 100_001), -(10.0 ** rng.uniform(-30, 1, 10_000)), 0.0, -0.0].astype(dtype)
    expected = np.exp(x.astype(np.longdouble))
    assert np.max(np.abs(each(exponentials, x) / expected - 1)) < rtol
    assert each(exponentials, np.zeros(1, dtype))[0] == 1


def test_log_positive_is_the_logarithm():
    rng = np.random.default_rng(0)
    x = np.r_[10.0 ** rng.uniform(-300, 300, 100_000), rng.uniform(0.5, 2, 100_000), np.nextafter(1, [0, 2])]
    expected = np.log(x.astype(np.longdouble))
    error = np.abs(each(logarithms, x) - expected)
    assert np.max(error / np.abs(expected)) < 2e-15
    assert np.array_equal(each(logarithms, np.array([1.0])), [0.0])


def test_log_positive_of_single_precision():
    x = np.random.default_rng(0).uniform(0.01, 100, 10_000).astype(np.float32)
    out = np.empty(len(x))
    logarithms(x, out)
    # A unit in the last place of numbers up to log(100).
    assert np.max(np.abs(out - np.log(x.astype(float)))) < 2**-21


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_go_there_and_back(dtype):
    @numba.njit
    def there_and_back(x):
        return _numba_math.from_bits(_numba_math.bits_of(x))

    for value in (0.0, 1.0, -3.5, 1e-30, np.inf):
        assert there_and_back(dtype(value)) == dtype(value)
