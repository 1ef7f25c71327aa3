"""Offsets by coordinate sweeps, against brute force over all places where the cost can change."""

import numpy as np
import pytest

from polyroc._core.predicted import FLOOR, cheapest, highest, levels, two_columns
from polyroc.costs import _offsets
from polyroc.costs._offsets import OffsetProblem, descend, tune


def a_problem(seed, n, k, *, digits=None):
    """Scores that tell something, costs that are not symmetric, weights."""
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), codes] += 1
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    costs = rng.exponential(size=(k, k)) - 0.2 * np.eye(k)
    weight = rng.uniform(0.5, 2, n)
    z = levels(p if digits is None else np.round(p, digits), on_log_scale=True)
    return OffsetProblem(z, codes, weight / weight.sum(), costs, 1.0, np.arange(k))


def starts_of(problem):
    return [np.zeros(len(problem.z)), np.log(np.abs(problem.costs).mean(axis=1))]


def least_cost_of_three(problem):
    """The least cost of any offsets of three classes: every place of the second, and there every place of the third.

    With the first offset 0, a sample changes its name on the lines x = a, y = c and x - y = d. So the cost can only
    change in x at an a, or where a line y = c meets a line x - y = d.
    """
    z, gap = problem.z, 1e-9
    a, c, d = z[0] - z[1], z[0] - z[2], z[2] - z[1]
    lines = np.unique(np.r_[a, (c[:, None] + d).ravel()])
    lines = lines[np.r_[True, np.diff(lines) > gap]]
    least = np.inf
    for x in np.r_[lines[0] - 1, (lines[1:] + lines[:-1]) / 2, lines[-1] + 1]:
        places = np.sort(np.maximum(z[0], z[1] + x) - z[2])
        wide = np.diff(places) > gap
        for y in np.r_[places[0] - 1, ((places[1:] + places[:-1]) / 2)[wide], places[-1] + 1]:
            least = min(least, problem.cost(np.array([0, x, y])))
    return least


def misses_of(seeds):
    """How often sweeps end above the least cost; they may end above it, never above their start, and never below."""
    misses = 0
    for seed in seeds:
        problem = a_problem(seed, 6 + seed % 9, 3, digits=1 if seed % 3 == 0 else None)
        found, least = tune(problem, starts_of(problem), seed=0), least_cost_of_three(problem)
        assert found.cost == pytest.approx(problem.cost(found.offsets), abs=1e-12)
        assert least - 1e-9 <= found.cost <= problem.cost(np.zeros(3)) + 1e-12
        misses += found.cost > least + 1e-9
    return misses


def test_three_classes_reach_the_least_cost_of_brute_force():
    assert misses_of(range(20)) == 0


@pytest.mark.slow
def test_three_classes_reach_the_least_cost_in_99_of_100_problems():
    assert misses_of(range(200)) <= 2


@pytest.mark.parametrize("digits", [None, 2])
def test_a_single_sweep_never_makes_it_worse(digits):
    for seed in range(20):
        problem = a_problem(seed, 200, 5, digits=digits)
        start = np.random.default_rng(seed).normal(size=5)
        assert descend(problem, start).cost <= problem.cost(start)


@pytest.mark.parametrize("digits", [None, 1])
def test_bins_find_the_same_place_as_a_sort(digits):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        t = rng.normal(size=3000) * 3
        t = t if digits is None else np.round(t, digits)
        change = rng.normal(size=3000) + t / 4
        order = np.argsort(t)
        by_sort = _offsets._best_of_sorted(t[order], np.cumsum(change[order]), 0.0, 1e-12)
        by_bins = _offsets._best_by_bins(t, change, 0.0, 1e-12)
        assert by_bins == pytest.approx(by_sort, abs=1e-9)


def test_bins_name_nothing_where_every_sample_costs_more():
    t = np.random.default_rng(0).normal(size=100)
    assert _offsets._best_by_bins(t, np.ones(100), 0.0, 1e-12) == (0.0, -np.inf, t.min())


def test_the_first_of_equal_levels_is_named():
    z = np.array([[1.0, 0.0, 2.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
    assert highest(z, np.zeros(3)).tolist() == [0, 1, 0]
    assert highest(z, np.array([0.0, 0.5, 0.0])).tolist() == [1, 1, 0]


def test_a_probability_of_zero_is_below_all_others_and_finite():
    z = levels(np.array([[0.0, 1e-300], [1e-30, 1.0]]), on_log_scale=True)
    assert z[0].tolist() == pytest.approx([np.log(FLOOR), np.log(1e-30)])
    assert z[0, 0] < z[1, 0] < z[0, 1] < z[1, 1] == 0


def test_one_column_is_the_second_class():
    assert two_columns(np.array([[0.2]]), are_probabilities=True).tolist() == [[0.8, 0.2]]
    assert two_columns(np.array([[-3.0]]), are_probabilities=False).tolist() == [[0.0, -3.0]]


def test_least_expected_cost_by_loops():
    rng = np.random.default_rng(3)
    p, costs, ratio = rng.dirichlet(np.ones(3), 50), rng.normal(size=(3, 3)), np.array([0.5, 2.0, 1.0])
    for row, name, abstained in zip(p, cheapest(p, costs, ratio, None), cheapest(p, costs, ratio, -0.3), strict=True):
        weights = [p_a * r for p_a, r in zip(row, ratio, strict=True)]
        expected = [sum(w * costs[a, j] for a, w in enumerate(weights)) / sum(weights) for j in range(3)]
        assert name == expected.index(min(expected))
        assert abstained == (3 if min(expected) > -0.3 else name)
