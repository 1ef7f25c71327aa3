"""How sure measures are, by other roads: covariances of means, errors that no sample shows, sizes that chance makes."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyroc
from polyroc._uncertainty.influence import STEP, halves
from polyroc._uncertainty.p_values import Once
from polyroc._uncertainty.paired_influence import difference
from polyroc._uncertainty.units import Units, units_of
from polyroc.evaluation._measure_list import KINDS, Scaled
from polyroc.evaluation._measure_values import Passes, _excess


def samples(n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(range(k), [n // 2, n // 3, n - n // 2 - n // 3]))
    z = rng.normal(size=(n, k))
    z[np.arange(n), y] += 1
    return y, np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)


def in_one_stratum(n):
    return Units(np.arange(n), np.zeros(n, dtype=np.intp), are_groups=False)


def test_covariance_of_two_means_is_that_of_the_samples_over_their_number():
    y, p = samples()
    measures = polyroc.evaluate(y, p).measures(["accuracy", "brier"])
    each = np.array([p.argmax(axis=1) == y, ((p - np.eye(3)[y]) ** 2).sum(axis=1)], dtype=float)
    assert_allclose(measures.covariance, np.cov(each) / len(y), rtol=1e-9)


def test_excess_is_what_the_mean_size_of_a_normal_number_has_beyond_its_mean():
    sizes, errors = np.array([0.0, 0.5, 1.5, 0.4, 0.7]), np.array([1.0, 1.0, 0.5, 0.1, 0.0])
    x = np.linspace(-12, 12, 200_001)
    for size, error, found in zip(sizes, errors, _excess(sizes, errors), strict=True):
        if error == 0:
            assert found == 0
            continue
        mean = max(size - error, 0.0)
        density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
        assert found == pytest.approx(np.sum(np.abs(mean + error * x) * density) * (x[1] - x[0]) - mean, abs=1e-9)


def test_either_of_two_sizes_may_be_too_large_by_its_excess():
    rng = np.random.default_rng(0)
    n = 80
    x, other = 0.004 * rng.normal(size=(2, n))
    # On a log scale, where the interval of a difference begins at the estimates, too.
    plain = [Scaled(e, i, in_one_stratum(n), n, is_log=True) for e, i in ((0.30, x), (0.18, other))]
    sized = [Scaled(e, i, in_one_stratum(n), n, excess=s) for e, i, s in ((0.30, x, 0.03), (0.18, other, 0.01))]
    value, error, ends, _ = difference(*plain, 0.95, Once())
    found = difference(*sized, 0.95, Once())
    assert found[:2] == (value, error)
    assert found[2] == pytest.approx((ends.low - 0.03, ends.high + 0.01))
    # The larger one is less beyond the other where it is too large by all of its excess.
    less = Scaled(0.27, x, in_one_stratum(n), n, is_log=True)
    assert found[3] == pytest.approx(difference(less, plain[1], 0.95, Once())[3])
    assert difference(*sized[::-1], 0.95, Once())[3] == pytest.approx(found[3])


def test_one_more_loss_widens_only_the_upper_end():
    rng = np.random.default_rng(1)
    x = 0.01 * rng.normal(size=50)
    plain, more = (Scaled(0.6, x, in_one_stratum(50), 50, highest=30.0, is_log=True, unseen=u) for u in (0.0, 0.05))
    low, high = plain.ends(0.95)
    assert more.ends(0.95).low == low
    # Student's t times the errors, whose squares add up.
    t = math.log(high / 0.6) / (plain.standard_error / 0.6)
    wider = math.log(more.ends(0.95).high / 0.6)
    assert wider**2 - math.log(high / 0.6) ** 2 == pytest.approx((t * 0.05 / 0.6) ** 2)


def test_one_error_of_the_smallest_class_costs_its_share_of_the_mean_over_classes():
    y, p = samples()  # 30, 20 and 10 of the classes
    evaluation = polyroc.evaluate(y, p)
    passes = Passes(evaluation.fitted.prepared, units_of(evaluation.fitted.source, None), None)
    # A tenth of an error in an area, and half of one in a loss.
    assert passes.of(KINDS["pdi"]).sure.unseen == pytest.approx(0.1 / (3 * 10))
    assert passes.of(KINDS["log_loss"]).sure.unseen == pytest.approx(0.5 / 60)


def test_bias_is_the_mean_rest_under_other_weights():
    y, p = samples()
    predicted = p.argmax(axis=1)
    evaluation = polyroc.evaluate(y, p)
    passes = Passes(evaluation.fitted.prepared, units_of(evaluation.fitted.source, None), None)

    def macro_f1(weight):
        hits = [weight[(y == c) & (predicted == c)].sum() for c in range(3)]
        return np.mean([2 * hits[c] / (weight[y == c].sum() + weight[predicted == c].sum()) for c in range(3)])

    found = passes.of(KINDS["f1_macro"]).sure
    weights = halves(in_one_stratum(60), 32)
    rest = [(macro_f1(w) - macro_f1(np.ones(60)) - (w - 1) @ found.influences) / STEP**2 for w in weights]
    assert_allclose(found.bias, (np.mean(rest), np.std(rest, ddof=1) / math.sqrt(32)), rtol=1e-8)
