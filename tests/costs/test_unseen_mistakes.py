"""Expensive mistakes that a sample does not show: intervals, advice, and the text that names them."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import polyroc

# To predict class 0 for another class costs 200.
COSTS = np.array([[0.0, 1, 1], [200, 0, 1], [200, 1, 0]])
PREVALENCE = [0.6, 0.3, 0.1]


def population(seed, n):
    """Calibrated probabilities of three normal classes."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, 2, 0, 1, 2, rng.choice(3, n - 6, p=PREVALENCE)]
    x = rng.normal(size=(n, 3))
    x[np.arange(n), y] += 2.5
    p = np.exp(2.5 * x + np.log(PREVALENCE))
    return y, p / p.sum(axis=1, keepdims=True)


def gamma_by_chi_squares(y, v, w):
    low = v / (2 * y) * stats.chi2.ppf(0.025, 2 * y**2 / v) if y > 0 else 0.0
    return low, (v + w**2) / (2 * (y + w)) * stats.chi2.ppf(0.975, 2 * (y + w) ** 2 / (v + w**2))


def drawn_in(shown, poisson, n):
    """The part of the Poisson variance that counts out of n have, with four samples more."""
    return 1 - (1 - shown / poisson) * n / (n + 4)


def test_no_advice_for_a_rule_whose_expensive_mistakes_were_not_seen():
    # In this sample the highest score makes none of its mistakes that cost 200. By a normal interval of the difference,
    # 0.167 to 0.283, the advice was to use it: it truly costs fifteen times as much as Bayes' rule.
    y, p = population(9, 200)
    new_y, new_p = population(1000, 100_000)
    true = {
        "argmax": COSTS[new_y, new_p.argmax(axis=1)].mean(),
        "bayes": COSTS[new_y, (new_p @ COSTS).argmin(1)].mean(),
    }
    assert true["argmax"] > 15 * true["bayes"]
    for rule in ("bayes", "auto"):
        decision = polyroc.decide(y, p, COSTS, rule=rule)
        highest = next(one for one in decision.rules if one.rule == "argmax")
        assert highest.difference < -0.2
        assert highest.difference_interval.high > 3
        assert decision.text.sentence.startswith("No rule is clearly the cheapest. Bayes' rule is used, ")
        assert COSTS[new_y, decision.predict(new_p)].mean() == true["bayes"]
    # Tuned to this sample, offsets give up all caution, and their claimed cost does not show it.
    tuned = polyroc.decide(y, p, COSTS, rule="tuned")
    assert tuned.cost < 0.05
    assert COSTS[new_y, tuned.predict(new_p)].mean() > 5
    assert tuned.cost_interval.high > 3.6


def test_the_unseen_mistake_is_named_and_stored():
    y, p = population(9, 200)
    decision = polyroc.decide(y, p, COSTS, rule="argmax")
    unseen = decision.unseen
    assert (unseen.true_class, unseen.predicted_class) in [(1, 0), (2, 0)]
    assert decision.confusion[unseen.true_class, 0] == 0
    assert unseen.cost == 200
    assert unseen.may_add == pytest.approx(-np.log(0.025))
    text = f"No {unseen.true_class} was predicted as 0 in these 200 samples; at a cost of 200 each, that mistake alone"
    assert f"{text} could add 3.7 per sample. From about {unseen.n_samples:,} samples" in " ".join(
        str(decision).split()
    )
    again = polyroc.Decision.from_dict(json.loads(json.dumps(decision.to_dict())))
    assert again.unseen == unseen
    # Where mistakes are of one kind, they are seen.
    assert polyroc.decide(y, p, 1 - np.eye(3)).unseen is None


def test_the_size_that_is_told_is_large_enough():
    y, p = population(9, 200)
    unseen = polyroc.decide(y, p, COSTS, rule="argmax").unseen
    times = -(-unseen.n_samples // 200)
    # The same samples so many times, as if they were others.
    more = polyroc.decide(np.tile(y, times), np.tile(p, (times, 1)), COSTS, rule="argmax")
    fewer = polyroc.decide(np.tile(y, times // 3), np.tile(p, (times // 3, 1)), COSTS, rule="argmax")
    assert more.unseen is None
    assert fewer.unseen is not None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", [None, [0.2, 0.3, 0.5]])
def test_the_interval_of_a_cost_agrees_with_loops(prior, weighted):
    y, p = population(3, 150)
    weight = np.random.default_rng(0).uniform(0.5, 2, 150) if weighted else np.ones(150)
    costs = COSTS + np.array([[0.0], [-3.0], [2.0]]) * (prior is not None)
    decision = polyroc.decide(y, p, costs, rule="argmax", prior=prior, sample_weight=weight if weighted else None)
    sums = [weight[y == c].sum() for c in range(3)]
    shares = [s / weight.sum() for s in sums] if prior is None else prior
    a = np.array([shares[t] * w / sums[t] for t, w in zip(y, weight, strict=True)])
    predicted = p.argmax(axis=1)
    e = np.array([costs[t, j] - min(costs[t]) for t, j in zip(y, predicted, strict=True)])
    w = max(a[y == t].max() * (costs[t, j] - min(costs[t])) for t in range(3) for j in set(predicted.tolist()))
    mean, v = sum(a * e), sum((a * e) ** 2)
    low, high = gamma_by_chi_squares(mean, v, w)
    shown, n = decision.standard_error**2, 150 if prior is None else np.bincount(y).min()
    narrower = np.sqrt(drawn_in(shown, v, n))
    base = sum(a * np.array([min(costs[t]) for t in y]))
    expected = base + mean - narrower * (mean - low), base + mean + narrower * (high - mean)
    assert_allclose(decision.cost_interval, expected, rtol=1e-9)


def test_the_interval_of_a_difference_agrees_with_loops():
    y, p = population(4, 150)
    decision = polyroc.decide(y, p, COSTS, rule="bayes")
    first, second = p.argmax(axis=1), (p @ COSTS).argmin(axis=1)
    d = COSTS[y, first] - COSTS[y, second]
    cells = [(t, i, j) for t in range(3) for i in set(first.tolist()) for j in set(second.tolist())]
    sides = []
    for sign in (1, -1):
        part = np.maximum(sign * d, 0)
        w = max(max(0, sign * (COSTS[t, i] - COSTS[t, j])) for t, i, j in cells) / 150
        y_, v = part.mean(), (part**2).sum() / 150**2
        sides.append((y_, v, *gamma_by_chi_squares(y_, v, w)))
    (more, v, low, high), (less, u, least, most) = sides
    narrower = np.sqrt(drawn_in(d.var(ddof=1) / 150, v + u, 150))
    expected = (
        more - less - narrower * np.hypot(more - low, most - less),
        more - less + narrower * np.hypot(high - more, less - least),
    )
    found = next(one for one in decision.rules if one.rule == "argmax")
    assert_allclose(found.difference_interval, expected, rtol=1e-9)


def test_a_class_that_only_the_deployed_rule_predicts_may_be_mistaken_too():
    # Offsets tuned on all samples predict class 0 once, those without a fold never. It truly costs 200 now and then.
    rng = np.random.default_rng(10)
    share = [0.2, 0.3, 0.5]
    y = np.r_[0, 1, 2, 0, 1, 2, rng.choice(3, 74, p=share)]
    x = rng.normal(size=(80, 3)) + np.eye(3)[y]
    p = np.exp(x) * share
    p /= p.sum(axis=1, keepdims=True)
    decision = polyroc.decide(y, p, COSTS, rule="tuned")
    assert decision.confusion[:, 0].sum() == 0
    assert np.count_nonzero(decision.predict(p) == 0) == 1
    assert (decision.unseen.predicted_class, decision.unseen.cost) == (0, 200)
    assert decision.cost_interval.high > 5
    # No rule that never predicts 0 is said to be more expensive.
    never = next(one for one in decision.rules if (one.rule, one.label) == ("always", 2))
    assert never.difference_interval.low < -5
    profile = polyroc.cost_profile(y, {"one": p, "other": x}, costs=[COSTS], rule="tuned", n_resamples=50)
    assert profile.high_by_matrix[0, 0] > 5


@pytest.mark.parametrize("grouped", ["no", "mixed", "pure"])
@pytest.mark.parametrize("prior", [None, [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_differences_with_weights_groups_and_a_prior_agree_with_loops(weighted, prior, grouped):
    y, p = population(5, 160)
    rng = np.random.default_rng(5)
    weight = rng.gamma(2.0, size=160) if weighted else np.ones(160)
    groups = {"no": np.arange(160), "mixed": rng.integers(0, 50, 160), "pure": 100 * y + rng.integers(0, 15, 160)}[
        grouped
    ]
    decision = polyroc.decide(
        y,
        p,
        COSTS,
        rule="argmax",
        prior=prior,
        sample_weight=weight if weighted else None,
        groups=None if grouped == "no" else groups,
        n_folds=2,
    )
    sums = [weight[y == c].sum() for c in range(3)]
    shares = [one / weight.sum() for one in sums] if prior is None else prior
    a = np.array([shares[t] * one / sums[t] for t, one in zip(y, weight, strict=True)])
    ratio = np.array(shares) / (np.array(sums) / weight.sum())
    first, second = (p * ratio @ COSTS).argmin(axis=1), p.argmax(axis=1)
    d = COSTS[y, first] - COSTS[y, second]
    of_groups = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    by_group = np.array([sum(a[i] * d[i] for i in rows) for rows in of_groups])
    together = sum(by_group**2) / sum((a * d) ** 2) if grouped != "no" else 1.0
    cells = [(t, i, j) for t in range(3) for i in set(first.tolist()) for j in set(second.tolist())]
    sides = []
    for sign in (1, -1):
        part = np.maximum(sign * by_group, 0)
        w = together * max(max(0, sign * a[y == t].max() * (COSTS[t, i] - COSTS[t, j])) for t, i, j in cells)
        sides.append((part.sum(), sum(part**2), *gamma_by_chi_squares(part.sum(), sum(part**2), w)))
    (more, v, low, high), (less, u, least, most) = sides
    # Where prevalences are known, each sample varies about the mean of its class, and so do groups of one class.
    means = [np.average(d, weights=a) if prior is None else np.average(d[y == t], weights=a[y == t]) for t in y]
    of_strata = [y[rows[0]] if prior is not None and grouped != "mixed" else 0 for rows in of_groups]
    shown, smallest = 0.0, 160
    for stratum in set(of_strata):
        added = np.array(
            [
                sum(a[i] * (d[i] - means[i]) for i in rows)
                for rows, of in zip(of_groups, of_strata, strict=True)
                if of == stratum
            ]
        )
        shown, smallest = shown + len(added) * added.var(ddof=1), min(smallest, len(added))
    narrower = np.sqrt(min(1.0, drawn_in(min(shown, v + u), v + u, smallest)))
    expected = (
        more - less - narrower * np.hypot(more - low, most - less),
        more - less + narrower * np.hypot(high - more, less - least),
    )
    found = next(one for one in decision.rules if one.rule == "bayes")
    assert_allclose(found.difference_interval, expected, rtol=1e-9)


def test_samples_of_a_group_are_one_mistake():
    y, p = population(9, 200)
    single = polyroc.decide(y, p, COSTS, rule="argmax", n_folds=2)
    copies = np.repeat(np.arange(200), 4)
    groups = polyroc.decide(y[copies], p[copies], COSTS, rule="argmax", n_folds=2, groups=copies)
    assert_allclose(groups.cost_interval, single.cost_interval, rtol=1e-9)
    assert groups.unseen.may_add == pytest.approx(single.unseen.may_add)


def test_a_cost_that_is_known_has_no_interval_to_speak_of():
    y, p = population(6, 100)
    decision = polyroc.decide(y, p, COSTS, prior=[0.2, 0.3, 0.5])
    always = [one for one in decision.rules if one.rule == "always"]
    assert all(one.interval == (one.cost, one.cost) for one in always)


def test_gains_that_differ_by_class_are_uncertain_as_the_classes_are():
    # Every sample is predicted right; what that earns depends on its class alone.
    y = np.repeat([0, 1, 2], [50, 30, 20])
    p = np.where(np.eye(3)[y] == 1, 0.98, 0.01)
    costs = (1 - np.eye(3)) * 1e-9 - np.diag([1.0, 5.0, 0.0])
    decision = polyroc.decide(y, p, costs, rule="argmax")
    earned = np.diag(costs)[y]
    reach = stats.norm.ppf(0.975) * earned.std(ddof=1) / 10
    # Below by that alone; above a mistake may cost a gain of 5.
    assert decision.cost_interval.low == pytest.approx(decision.cost - reach)
    assert decision.cost_interval.high == pytest.approx(decision.cost + np.hypot(reach, 5 * -np.log(0.025) / 100))


@pytest.mark.parametrize("factor", [1000, 1e-20])
def test_intervals_have_the_unit_of_the_costs(factor):
    y, p = population(7, 150)
    plain, scaled = (polyroc.decide(y, p, c, prior=[0.5, 0.3, 0.2]) for c in (COSTS, factor * COSTS))
    for one, other in zip(plain.rules, scaled.rules, strict=True):
        assert_allclose(np.array(other.interval) / factor, one.interval, rtol=1e-9)
        assert_allclose(np.array(other.difference_interval) / factor, one.difference_interval, rtol=1e-9, atol=1e-12)
    assert scaled.tuned_share == plain.tuned_share
    assert scaled.n_samples_to_tell == plain.n_samples_to_tell


def test_intervals_do_not_depend_on_the_order_of_the_classes_nor_on_a_constant_per_row():
    y, p = population(8, 150)
    order, prior = np.array([2, 0, 1]), np.array([0.5, 0.3, 0.2])
    plain = polyroc.decide(y, p, COSTS, prior=prior)
    turned = polyroc.decide(y, p[:, order], COSTS[np.ix_(order, order)], labels=order, prior=prior[order])
    moved = polyroc.decide(y, p, COSTS + np.array([[4.0], [-7.0], [0.5]]), prior=prior)
    added = prior @ [4.0, -7.0, 0.5]
    for place, one in enumerate(plain.rules[:4]):
        for other, shift in ((turned.rules[place], 0.0), (moved.rules[place], added)):
            assert_allclose(np.array(other.interval) - shift, one.interval, rtol=1e-9)
            assert_allclose(other.difference_interval, one.difference_interval, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_intervals_of_a_fixed_rule_cover_and_verdicts_are_right():
    """A hundred fixed samples of 200, in most of which no mistake of Bayes' rule costs 200."""
    new_y, new_p = population(1000, 200_000)
    true = {"bayes": COSTS[new_y, (new_p @ COSTS).argmin(1)].mean(), "argmax": COSTS[new_y, new_p.argmax(1)].mean()}
    covers, of_differences, normal, wrong = 0, 0, 0, 0
    for seed in range(100):
        y, p = population(seed, 200)
        decision = polyroc.decide(y, p, COSTS, rule="bayes", n_folds=2)
        low, high = decision.cost_interval
        covers += low <= true["bayes"] <= high
        normal += abs(decision.cost - true["bayes"]) <= 1.96 * decision.standard_error
        apart = next(one for one in decision.rules if one.rule == "argmax").difference_interval
        wrong += apart.high < 0
        of_differences += apart.low <= true["argmax"] - true["bayes"] <= apart.high
    assert covers >= 97
    assert of_differences >= 93
    assert normal < 50
    assert wrong == 0
