"""Gamma intervals of weighted counts: against published ones, loops, and invariances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from polyroc._uncertainty.unseen import Balance, Counted, gamma_ends, one_sided, share_of_poisson


@pytest.mark.parametrize("count", [0, 1, 3, 17, 250])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_equal_weights_give_garwoods_exact_interval(count, level):
    n, tail = 200, (1 - level) / 2
    low, high = gamma_ends(Counted(count / n, count / n**2, 1 / n), level)
    # The Poisson means at which this count or more, or this count or less, has the probability of a tail.
    assert_allclose(high, stats.chi2.ppf(1 - tail, 2 * count + 2) / 2 / n, rtol=1e-10)
    assert stats.poisson(n * high).cdf(count) == pytest.approx(tail)
    if count == 0:
        assert low == 0
    else:
        assert stats.poisson(n * low).sf(count - 1) == pytest.approx(tail)


def test_counts_of_garwoods_table():
    # Garwood (1936): 95 % limits of a Poisson mean for counts of 0, 1, 2, 5 and 10.
    table = {0: (0, 3.689), 1: (0.0253, 5.572), 2: (0.242, 7.225), 5: (1.623, 11.668), 10: (4.795, 18.390)}
    for count, ends in table.items():
        assert_allclose(gamma_ends(Counted(count, count, 1), 0.95), ends, atol=6e-4)


def test_unequal_weights_agree_with_the_formula_in_chi_squares():
    rng = np.random.default_rng(0)
    for _ in range(50):
        costs = rng.choice([0.0, 1.0, 2.5, 40.0], 30, p=[0.6, 0.2, 0.15, 0.05])
        y, v, w = costs.sum() / 30, (costs**2).sum() / 900, 40 / 30
        low, high = gamma_ends(Counted(y, v, w), 0.95)
        expected = v / (2 * y) * stats.chi2.ppf(0.025, 2 * y**2 / v) if y else 0.0
        assert_allclose(low, expected, rtol=1e-9)
        above = (v + w**2) / (2 * (y + w)) * stats.chi2.ppf(0.975, 2 * (y + w) ** 2 / (v + w**2))
        assert_allclose(high, above, rtol=1e-9)


def test_a_difference_joins_the_squares_of_its_sides():
    more, less = Counted(0.3, 0.002, 0.01), Counted(0.1, 0.004, 0.2)
    (low, high), (least, most) = gamma_ends(more, 0.95), gamma_ends(less, 0.95)
    found = Balance(more, less, further=0.01).ends(0.95)
    z = stats.norm.ppf(0.975)
    below = ((0.3 - low) ** 2 + (most - 0.1) ** 2 + z**2 * 0.01) ** 0.5
    above = ((high - 0.3) ** 2 + (0.1 - least) ** 2 + z**2 * 0.01) ** 0.5
    assert_allclose(found, (0.2 - below, 0.2 + above), rtol=1e-12)
    # The other way round, the same interval turned.
    assert_allclose(Balance(less, more, further=0.01).ends(0.95), (-found[1], -found[0]), rtol=1e-12)


def test_sides_are_those_of_the_units():
    more, less = one_sided(np.array([0.5, -0.2, 0.0, 0.1]), 0.01, 0.02)
    assert_allclose(more, (0.6, 0.26, 0.01))
    assert_allclose(less, (0.2, 0.04, 0.02))


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_intervals_of_a_share_cover_for_every_share(n):
    """Exact coverage: the sum of binomial probabilities of the counts whose interval holds the share."""
    counts = np.arange(n + 1)
    y = counts / n
    counted = Counted(y, y / n, np.full(n + 1, 1 / n))
    share = share_of_poisson(y * (1 - y) / (n - 1), counted.variance, n)
    low, high = Balance(counted, share=share).ends(0.95)
    plain_low, plain_high = gamma_ends(counted, 0.95)
    for p in np.r_[0.5 / n, 2 / n, np.linspace(0.01, 0.99, 99)]:
        mass = stats.binom.pmf(counts, n, p)
        covered = mass @ ((low <= p) & (p <= np.minimum(high, 1)))
        # Single shares of few samples lie on a jump; Wald's interval covers 33 % for a share of 0.5 / n and n = 20.
        assert covered >= (0.93 if n > 20 else 0.91)
        assert mass @ ((plain_low <= p) & (p <= plain_high)) >= covered - 1e-12


def test_more_samples_tell_and_see():
    more, less = Counted(0.05, 0.0004, 0.001), Counted(0.02, 0.0002, 1.0)
    balance = Balance(more, less)
    assert balance.is_mostly_unseen(0.95)
    factor = balance.times_to_see(0.95)
    assert not balance.times(factor).is_mostly_unseen(0.95)
    assert balance.times(factor / 1.02).is_mostly_unseen(0.95)
    assert Balance(more, more).times_to_tell(0.95) == np.inf
    assert Balance(more).times_to_tell(0.95) == 1


@pytest.mark.parametrize(
    ("apart", "counts"),
    [([0, 1, -1], [258, 24, 18]), ([0, 5, 1, -1, -5], [240, 9, 24, 21, 6]), ([0, 2, -1], [280, 8, 12])],
)
def test_samples_of_the_size_that_would_tell_do_so_in_80_percent(apart, counts):
    """Differences of the costs of 300 samples; larger samples with these rates are drawn."""
    rng, unit, counts = np.random.default_rng(0), np.array(apart, dtype=float), np.array(counts)
    most = np.abs(unit).max()

    def balance(counts, n):
        above, below = np.maximum(unit, 0) / n, np.maximum(-unit, 0) / n
        more = Counted(counts @ above, counts @ above**2, most / n)
        less = Counted(counts @ below, counts @ below**2, most / n)
        variance = (counts @ unit**2 / n - (counts @ unit / n) ** 2) / n
        return Balance(more, less, share=share_of_poisson(variance, more.variance + less.variance, n))

    n = int(300 * balance(counts, 300).times_to_tell(0.95))
    assert n > 300
    told = []
    for _ in range(1000):
        low, high = balance(rng.multinomial(n, counts / 300), n).ends(0.95)
        told.append(low > 0 or high < 0)
    # 1,000 samples know a share of 80 % to 1.3 %.
    assert np.mean(told) == pytest.approx(0.8, abs=0.05)
