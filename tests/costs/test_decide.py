"""decide: the rule, its cost, and what is refused. Costs are never symmetric here, so transposition shows."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import polyroc

COSTS = np.array([[0.0, 1.0, 6.0], [2.0, 0.0, 1.0], [0.5, 3.0, 0.0]])
# A mistake about a class costs the same whatever is predicted: offsets on log probabilities then contain Bayes' rule.
COSTS_BY_CLASS = np.array([[0.0, 4.0, 4.0], [1.0, 0.0, 1.0], [2.0, 2.0, 0.0]])


def minus_log_expected(p, costs, ratio=1.0):
    """Minus the logarithm of what naming each class is expected to cost above the least of its row, by loops."""
    q = p * ratio
    q = q / q.sum(axis=1, keepdims=True)
    above = [[c - min(row) for c in row] for row in costs]
    return -np.log(
        [[sum(a * row[j] for a, row in zip(one, above, strict=True)) for j in range(len(above[0]))] for one in q]
    )


def samples(seed=0, n=300, k=3, sharpness=1.0, shift=(0.0, 0.0, 0.0)):
    """Calibrated probabilities (sharpness 1, no shift) of k normal classes, or distorted ones."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(k), np.arange(k), rng.choice(k, n - 2 * k)]
    x = rng.normal(size=(n, k))
    x[np.arange(n), y] += 1.2
    logits = sharpness * 1.2 * x + np.resize(shift, k)
    p = np.exp(logits)
    return y, p / p.sum(axis=1, keepdims=True)


def cost_by_loops(y, predicted, costs, prior=None, weight=None):
    """Sum over classes of prior * mean cost within the class."""
    weight = np.ones(len(y)) if weight is None else weight
    classes = range(len(costs))
    shares = [weight[y == a].sum() / weight.sum() for a in classes] if prior is None else prior
    total = 0.0
    for a in classes:
        inside = [(w, costs[a][j]) for w, t, j in zip(weight, y, predicted, strict=True) if t == a]
        total += shares[a] * sum(w * c for w, c in inside) / sum(w for w, _ in inside)
    return total


# Two classes: the ROC hull


@pytest.mark.slow
def test_two_classes_end_at_the_tangent_point_of_the_hull():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.r_[0, 0, 1, 1, rng.integers(0, 2, 60)]
        score = np.round(rng.normal(size=64) + y, 1 if seed % 2 else 6)
        costs = np.array([[0.0, rng.uniform(0.2, 3)], [rng.uniform(0.2, 3), 0.0]])
        decision = polyroc.decide(y, score, costs)
        # Every vertex of the ROC curve, so also those of its hull: the tangent has the least cost.
        share = y.mean()
        least = min(
            (1 - share) * np.mean(score[y == 0] >= t) * costs[0, 1] + share * np.mean(score[y == 1] < t) * costs[1, 0]
            for t in np.r_[np.unique(score), np.inf]
        )
        assert decision.resubstitution_cost == pytest.approx(least, abs=1e-12)
        predicted = decision.predict(score)
        assert cost_by_loops(y, predicted, costs) == pytest.approx(least, abs=1e-12)


def test_one_column_of_probabilities_is_as_two():
    y, p = samples(k=2, shift=(0.0, 1.0))
    one, two = (polyroc.decide(y, scores, [[0, 4], [1, 0]]) for scores in (p[:, 1], p))
    assert one.cost == pytest.approx(two.cost)
    np.testing.assert_array_equal(one.predict(p[:, 1]), two.predict(p))


# The rules


def test_argmax_names_the_highest_score_and_bayes_the_least_expected_cost():
    y, p = samples()
    highest, bayes = (polyroc.decide(y, p, COSTS, rule=rule) for rule in ("argmax", "bayes"))
    np.testing.assert_array_equal(highest.predict(p), p.argmax(axis=1))
    expected = [[sum(row[a] * COSTS[a][j] for a in range(3)) for j in range(3)] for row in p]
    np.testing.assert_array_equal(bayes.predict(p), np.argmin(expected, axis=1))
    assert bayes.offsets is None
    assert highest.offsets.tolist() == [0, 0, 0]


def test_costs_are_true_by_predicted_and_not_transposed():
    y, p = samples()
    for rule in ("tuned", "bayes"):
        decision, turned = (polyroc.decide(y, p, costs, rule=rule) for costs in (COSTS, COSTS.T))
        assert np.any(decision.predict(p) != turned.predict(p))
        predicted = decision.predict(p)
        assert decision.resubstitution_cost == pytest.approx(cost_by_loops(y, predicted, COSTS))
        assert decision.resubstitution_cost < cost_by_loops(y, turned.predict(p), COSTS)


def test_tuned_offsets_have_mean_zero_and_are_what_predict_adds():
    y, p = samples(shift=(1.0, -1.0, 0.0))
    decision = polyroc.decide(y, p, COSTS)
    assert decision.offsets.sum() == pytest.approx(0)
    assert decision.scale == "expected cost"
    np.testing.assert_array_equal(
        decision.predict(p), np.argmax(minus_log_expected(p, COSTS) + decision.offsets, axis=1)
    )
    assert "Offsets, added to minus the logarithms of expected costs: 0 " in " ".join(str(decision).split())


def test_costs_by_true_class_keep_log_probabilities():
    y, p = samples(shift=(1.0, -1.0, 0.0))
    # A diagonal, and a last bit by which products differ, do not matter.
    for costs in (COSTS_BY_CLASS, COSTS_BY_CLASS - np.diag([0, 1, 3]), 0.1 * 3 * COSTS_BY_CLASS + 1e-16 * COSTS):
        decision = polyroc.decide(y, p, costs)
        assert decision.scale == "log probability"
        np.testing.assert_array_equal(decision.predict(p), np.argmax(np.log(p) + decision.offsets, axis=1))
    assert "Offsets, added to the log probabilities: 0 " in str(decision)


@pytest.mark.slow
def test_tuned_costs_no_more_than_the_highest_score_on_its_own_samples():
    for seed in range(10):
        y, p = samples(seed, n=60)
        tuned = polyroc.decide(y, p, COSTS_BY_CLASS, rule="tuned")
        argmax = next(one for one in tuned.rules if one.rule == "argmax")
        assert tuned.resubstitution_cost <= argmax.cost


# Bayes' rule among the tuned ones


def random_costs(seed, k):
    """No two equal, gains on the diagonal and sometimes off it."""
    return np.random.default_rng(seed).exponential(size=(k, k)) * (1 - 2 * np.eye(k)) - 0.1 * (seed % 2)


@pytest.mark.parametrize("reject_cost", [None, -0.1])
@pytest.mark.parametrize("prior", [None, [0.1, 0.2, 0.3, 0.4]])
def test_offsets_of_zero_are_bayes_rule(prior, reject_cost):
    abstained = 0
    for seed in range(5):
        y, p = samples(seed, n=500, k=4, sharpness=0.7)
        # Rounded ones have equal expected costs, and zeros.
        for scores in (p, np.eye(4)[p.argmax(axis=1)] * 0.5 + 0.5 * np.eye(4)[y]):
            costs = random_costs(seed, 4)
            options = {"prior": prior, "reject_cost": reject_cost, "n_folds": 2}
            tuned, bayes = (polyroc.decide(y, scores, costs, rule=m, **options) for m in ("tuned", "bayes"))
            zero = {"offsets": [0.0] * 4, "reject_offset": None if reject_cost is None else 0.0}
            at_zero = polyroc.Decision.from_dict(tuned.to_dict() | zero)
            assert at_zero.scale == "expected cost"
            np.testing.assert_array_equal(at_zero.predict(scores), bayes.predict(scores))
            # By another road, on the scores without ties.
            if scores is p:
                q = p * (1.0 if prior is None else prior / (np.bincount(y) / len(y)))
                expected = (q / q.sum(axis=1, keepdims=True)) @ costs
                predicted = expected.argmin(axis=1).astype(object)
                if reject_cost is not None:
                    predicted[expected.min(axis=1) > reject_cost] = None
                    abstained += pd.isna(predicted).sum()
                np.testing.assert_array_equal(bayes.predict(p), predicted)
            # So on their own samples tuned offsets never cost more.
            assert tuned.resubstitution_cost <= bayes.cost + 1e-12
    assert reject_cost is None or 100 < abstained < 2400


def test_offsets_of_zero_are_bayes_rule_with_abstention_also_for_costs_by_true_class():
    # Abstaining is compared with the sum of all other classes' costs: no offset on log probabilities gives that.
    y, p = samples(n=500)
    tuned, bayes = (polyroc.decide(y, p, COSTS_BY_CLASS, rule=m, reject_cost=0.4) for m in ("tuned", "bayes"))
    assert tuned.scale == "expected cost"
    at_zero = polyroc.Decision.from_dict(tuned.to_dict() | {"offsets": [0, 0, 0], "reject_offset": 0})
    np.testing.assert_array_equal(at_zero.predict(p), bayes.predict(p))
    assert tuned.resubstitution_cost <= bayes.cost


def test_tuned_is_within_sampling_error_of_bayes_for_costs_of_pairs():
    # Offsets on log probabilities do not contain Bayes' rule: they cost 0.416, 0.322, 0.386 and 0.219 where it costs
    # 0.294, 0.283, 0.311 and 0.180.
    for seed in range(4):
        y, p = calibrated(seed, 3000, 5)
        costs = np.random.default_rng(seed).exponential(size=(5, 5)) * (1 - np.eye(5))
        tuned = polyroc.decide(y, p, costs)
        bayes = next(one for one in tuned.rules if one.rule == "bayes")
        assert tuned.resubstitution_cost <= bayes.cost
        low, high = bayes.difference_interval
        # Bayes' rule is the best, so tuned offsets cost more, but no more than two standard errors.
        assert bayes.difference >= -2 * (high - low) / (2 * 1.96)


def calibrated(seed, n, k):
    """Probabilities, and classes that are drawn by them."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    return (rng.random((n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1), p


def test_tuned_mends_distorted_scores():
    y, p = samples(n=3000, sharpness=0.4, shift=(2.0, 0.0, -2.0))
    new_y, new_p = samples(1, n=20_000, sharpness=0.4, shift=(2.0, 0.0, -2.0))
    cost = {m: cost_by_loops(new_y, polyroc.decide(y, p, COSTS, rule=m).predict(new_p), COSTS) for m in RULES}
    assert cost["tuned"] < 0.9 * min(cost["bayes"], cost["argmax"])


RULES = ("tuned", "bayes", "argmax")


def test_tuned_is_within_sampling_error_of_bayes_where_bayes_is_best():
    # One cost per true class: then Bayes' rule adds offsets, and no rule on calibrated scores is cheaper.
    costs = np.array([[0, 4, 4], [1, 0, 1], [2, 2, 0]])
    y, p = samples(n=4000)
    tuned = polyroc.decide(y, p, costs)
    bayes = next(one for one in tuned.rules if one.rule == "bayes")
    assert bayes.difference_interval.low < 0 < bayes.difference_interval.high
    best = np.log([4, 1, 2])
    np.testing.assert_allclose(tuned.offsets, best - best.mean(), atol=0.35)


def test_free_scores_on_other_scales_are_mended():
    y, p = samples(n=600)
    free = np.log(p) + np.array([0.0, 50.0, -50.0])
    decision, plain = polyroc.decide(y, free, COSTS_BY_CLASS), polyroc.decide(y, p, COSTS_BY_CLASS, rule="tuned")
    assert decision.rule == "tuned"
    # The same breaks, shifted; between two of them an offset may lie anywhere.
    assert decision.resubstitution_cost == pytest.approx(plain.resubstitution_cost)
    shifted = decision.offsets + np.array([0.0, 50.0, -50.0])
    np.testing.assert_allclose(shifted - shifted[0], plain.offsets - plain.offsets[0], atol=0.02)
    assert decision.cost < 0.5 * decision.rules[1].cost
    assert not decision.on_log_scale
    assert [one.rule for one in decision.rules[:2]] == ["tuned", "argmax"]


# Priors and weights


def test_prior_reweighs_bayes_and_the_cost():
    y, p = samples()
    prior = np.array([0.2, 0.1, 0.7])
    decision = polyroc.decide(y, p, COSTS, prior=prior, rule="bayes")
    turned = p * prior / (np.bincount(y) / len(y))
    np.testing.assert_array_equal(decision.predict(p), np.argmin(turned @ COSTS, axis=1))
    assert decision.cost == pytest.approx(cost_by_loops(y, decision.predict(p), COSTS, prior))
    by_name = polyroc.decide(y, p, COSTS, prior={2: 0.7, 0: 0.2, 1: 0.1}, rule="bayes")
    assert by_name.cost == decision.cost
    series = pd.Series([0.1, 0.7, 0.2], index=["1", "2", "0"])
    assert polyroc.decide(y, p, COSTS, prior=series, rule="bayes").cost == decision.cost


def test_always_predicting_a_class_costs_what_prior_and_costs_say():
    y, p = samples()
    prior = np.array([0.2, 0.1, 0.7])
    always = [one for one in polyroc.decide(y, p, COSTS, prior=prior).rules if one.rule == "always"]
    assert [one.cost for one in always] == pytest.approx((prior @ COSTS).tolist())
    assert [one.label for one in always] == [0, 1, 2]
    # With a known prior nothing about it is uncertain.
    assert [one.standard_error for one in always] == [0, 0, 0]


def test_whole_weights_are_repeated_samples():
    y, p = samples(n=120)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = polyroc.decide(y, p, COSTS, sample_weight=weight)
    repeated = polyroc.decide(np.repeat(y, weight), np.repeat(p, weight, axis=0), COSTS)
    assert weighted.resubstitution_cost == pytest.approx(repeated.resubstitution_cost)
    predicted = weighted.predict(p)
    assert weighted.resubstitution_cost == pytest.approx(cost_by_loops(y, predicted, COSTS, weight=weight))


# The cost, cross-fitted


def test_cost_is_that_of_the_confusion_matrix():
    y, p = samples()
    prior = np.array([0.5, 0.3, 0.2])
    for rule in RULES:
        decision = polyroc.decide(y, p, COSTS, prior=prior, rule=rule)
        shares = decision.confusion / decision.confusion.sum(axis=1, keepdims=True)
        assert decision.cost == pytest.approx(prior @ (shares * COSTS).sum(axis=1))
        assert decision.confusion.sum() == len(y)


@pytest.mark.slow
def test_cost_of_scores_without_information_is_not_too_low():
    rng = np.random.default_rng(0)
    costs = np.array([[0, 1, 1.1], [0.9, 0, 1], [1, 1.1, 0]])
    found = []
    for _ in range(6):
        y, p = rng.permutation(np.resize([0, 1, 2], 90)), rng.dirichlet(np.ones(3), 90)
        decision = polyroc.decide(y, p, costs, rule="tuned")
        found.append((decision.cost, decision.resubstitution_cost))
    cost, resubstitution = np.mean(found, axis=0)
    # Nothing is cheaper than always naming one class; on their own samples the offsets seem to be.
    least = costs.mean(axis=0).min()
    assert resubstitution < 0.9 * least
    assert cost > 0.95 * least


def test_the_interval_of_tuned_offsets_allows_for_the_luck_of_tuning():
    y, p = samples(n=100)
    decision = polyroc.decide(y, p, COSTS, rule="tuned")
    shares = decision.confusion / len(y)
    variance = (shares * (COSTS - decision.cost) ** 2).sum() / (len(y) - 1)
    # Tuned on four fifths of the samples, offsets cost 5/4 of the excess more; on their own samples as much less.
    excess = (decision.cost - decision.resubstitution_cost) / (1 + 5 / 4)
    assert excess > 0
    # Two offsets are free: a sum of two squares varies as much as its mean.
    assert decision.standard_error == pytest.approx(np.sqrt(variance + excess**2))


def test_groups_are_kept_whole():
    # Every sample is there 20 times: without groups, a copy is judged by offsets that were tuned on the others.
    y, p = samples(n=60)
    copies = np.repeat(np.arange(60), 20)
    whole = polyroc.decide(y[copies], p[copies], COSTS, groups=copies)
    torn = polyroc.decide(y[copies], p[copies], COSTS)
    assert torn.cost == pytest.approx(torn.resubstitution_cost, rel=0.02)
    assert whole.cost > 1.1 * torn.cost
    assert whole.standard_error > 3 * torn.standard_error


def test_interval_of_a_given_rule_is_that_of_a_mean():
    y, p = samples()
    decision = polyroc.decide(y, p, COSTS, rule="argmax")
    each = COSTS[y, p.argmax(axis=1)]
    assert decision.standard_error == pytest.approx(each.std(ddof=1) / np.sqrt(len(y)))
    assert decision.cost == pytest.approx(each.mean())
    wider = polyroc.decide(y, p, COSTS, rule="argmax", confidence_level=0.99)
    assert wider.cost_interval.low < decision.cost_interval.low < decision.cost < decision.cost_interval.high


def test_without_a_mistake_the_interval_is_that_of_no_poisson_event():
    y = np.repeat([0, 1, 2], [10, 20, 30])
    p = np.where(np.eye(3)[y] == 1, 0.98, 0.01)
    for rule in RULES:
        decision = polyroc.decide(y, p, COSTS, rule=rule)
        assert decision.cost == decision.standard_error == 0
        # None of 60 is predicted wrong: at most 3.7 are expected (Garwood), and each costs at most 6.
        reach = 6 * stats.chi2.ppf(0.975, 2) / 2 / 60
        assert decision.cost_interval == pytest.approx((0, reach))
        others = [one for one in decision.rules[:3] if one.rule != rule]
        assert all(one.difference_interval == pytest.approx((-reach, reach)) for one in others)
        assert decision.rules[RULES.index(rule)].difference_interval == (0, 0)
    # With a known prior the smallest class says least, and gains can only be missed.
    decision = polyroc.decide(y, p, COSTS - 2 * np.eye(3), prior=[0.2, 0.3, 0.5], rule="argmax")
    # The heaviest sample of a class by its cost: 3 of 30 for class 2, 3 of 20 for class 1 and 8 of 10 for class 0.
    worst = max(0.2 / 10 * 8, 0.3 / 20 * 4, 0.5 / 30 * 5)
    assert decision.cost_interval == pytest.approx((-2, -2 + worst * stats.chi2.ppf(0.975, 2) / 2))
    assert f"{decision.cost_interval.high:.2f}" in str(decision)


def test_intervals_stay_within_what_a_sample_can_cost():
    y = np.repeat([0, 1, 2], 2)
    # All but one are wrong, and cost as much as they can.
    p = np.where(np.eye(3)[[2, 2, 0, 0, 1, 1]] == 1, 0.8, 0.1)
    p[0] = [0.8, 0.1, 0.1]
    decision = polyroc.decide(y, p, COSTS - 1, rule="argmax")
    assert decision.cost_interval.high == 5
    assert -1 < decision.cost_interval.low < decision.cost


def test_with_a_prior_the_variance_is_that_within_the_classes():
    y, p = samples()
    prior = [0.5, 0.3, 0.2]
    decision = polyroc.decide(y, p, COSTS, rule="bayes", prior=prior)
    each = COSTS[y, decision.predict(p)]
    variance = sum(q**2 * each[y == a].var(ddof=1) / np.sum(y == a) for a, q in enumerate(prior))
    assert decision.standard_error == pytest.approx(np.sqrt(variance))


# Abstaining


def test_bayes_abstains_where_every_class_is_expected_to_cost_more():
    y, p = samples()
    decision = polyroc.decide(y, p, COSTS, rule="bayes", reject_cost=0.5)
    predicted = decision.predict(p)
    abstained = (p @ COSTS).min(axis=1) > 0.5
    np.testing.assert_array_equal(pd.isna(pd.Series(predicted)), abstained)
    assert decision.confusion.shape == (3, 4)
    assert decision.confusion[:, 3].sum() == abstained.sum()
    rejecting = np.column_stack([COSTS, np.full(3, 0.5)])
    codes = np.where(abstained, 3, (p @ COSTS).argmin(axis=1))
    assert decision.cost == pytest.approx(cost_by_loops(y, codes, rejecting))


def test_tuned_abstains_only_where_it_pays():
    y, p = samples(n=800)
    free, cheap, expensive = (polyroc.decide(y, p, COSTS, reject_cost=c) for c in (None, 0.3, 100.0))
    assert cheap.resubstitution_cost < free.resubstitution_cost
    assert cheap.cost < 0.31
    assert cheap.confusion[:, 3].sum() > 0
    assert expensive.confusion[:, 3].sum() == 0
    assert expensive.resubstitution_cost == pytest.approx(free.resubstitution_cost, rel=0.03)
    level = minus_log_expected(p, np.column_stack([COSTS, np.full(3, 0.3)]))
    level += np.r_[cheap.offsets, cheap.reject_offset]
    predicted = np.array([0, 1, 2, None])[level.argmax(axis=1)]
    np.testing.assert_array_equal(cheap.predict(p), predicted)
    assert free.predict(p).dtype == y.dtype


# Invariances


def test_a_constant_on_a_row_moves_the_cost_and_not_the_rule():
    y, p = samples()
    prior = np.array([0.5, 0.3, 0.2])
    plain = polyroc.decide(y, p, COSTS, prior=prior)
    moved = polyroc.decide(y, p, COSTS + np.array([[0.0], [7.0], [-2.0]]), prior=prior)
    np.testing.assert_allclose(moved.offsets, plain.offsets, atol=1e-9)
    assert moved.cost == pytest.approx(plain.cost + 0.3 * 7 - 0.2 * 2)


@pytest.mark.parametrize("factor", [1000, 1e-20])
def test_the_scale_of_costs_scales_the_cost(factor):
    y, p = samples()
    plain, scaled = polyroc.decide(y, p, COSTS), polyroc.decide(y, p, factor * COSTS)
    np.testing.assert_allclose(scaled.offsets, plain.offsets, atol=1e-9)
    assert scaled.cost / factor == pytest.approx(plain.cost)
    assert scaled.standard_error / factor == pytest.approx(plain.standard_error)


def test_the_order_of_classes_changes_nothing():
    y, p = samples(n=200)
    order = [2, 0, 1]
    plain = polyroc.decide(y, p, COSTS)
    turned = polyroc.decide(y, p[:, order], COSTS[np.ix_(order, order)], labels=order)
    np.testing.assert_allclose(turned.offsets, plain.offsets[order], atol=1e-9)
    assert turned.cost == pytest.approx(plain.cost)
    np.testing.assert_allclose(turned.confusion, plain.confusion[np.ix_(order, order)])


def test_names_in_frames_are_matched():
    y, p = samples(n=200)
    names = np.array(["ant", "bee", "cat"])
    plain = polyroc.decide(y, p, COSTS)
    frame = pd.DataFrame(p, columns=names)[["cat", "ant", "bee"]]
    costs = pd.DataFrame(COSTS, index=names, columns=names).loc[["bee", "cat", "ant"], ["cat", "bee", "ant"]]
    predicted = polyroc.decide(names[y], frame, costs)
    assert dict(zip(predicted.labels.tolist(), predicted.offsets, strict=True)) == pytest.approx(
        dict(zip(names.tolist(), plain.offsets, strict=True))
    )
    np.testing.assert_array_equal(predicted.predict(pl.DataFrame(p, schema=names.tolist())), names[plain.predict(p)])


def test_the_seed_gives_the_same_and_threads_change_nothing():
    y, p = samples(n=20_000)
    one, two = (polyroc.decide(y, p, COSTS, n_jobs=n_jobs, rng=3) for n_jobs in (1, 2))
    assert one.cost == two.cost
    np.testing.assert_array_equal(one.offsets, two.offsets)


# What a Decision says


def test_rates_are_those_of_the_confusion_matrix():
    y, p = samples()
    decision = polyroc.decide(y, p, COSTS, rule="argmax")
    predicted = p.argmax(axis=1)
    rates = decision.rates
    for positive, negative, tpr, fpr in zip(rates.positive, rates.negative, rates.tpr, rates.fpr, strict=True):
        assert tpr == pytest.approx(np.mean(predicted[y == positive] == positive))
        assert fpr == pytest.approx(np.mean(predicted[y == negative] == positive))
    assert len(rates.to_frame("polars")) == 6


def test_the_point_on_a_curve_has_the_call_rate_of_the_decision():
    y, p = samples()
    decision = polyroc.decide(y, p, COSTS)
    curve = polyroc.evaluate(y, p).curve
    point = decision.point_on(curve)
    assert point.fpr + point.tpr == pytest.approx(decision.rates.fpr.mean() + decision.rates.tpr.mean())
    assert np.interp(point.fpr, curve.fpr, curve.tpr) == pytest.approx(point.tpr, abs=1e-3)


def test_a_pickle_is_small_and_predicts_alike():
    y, p = samples(n=5000)
    decision = polyroc.decide(y, p, COSTS)
    stored = pickle.dumps(decision)
    assert len(stored) < 5000
    np.testing.assert_array_equal(pickle.loads(stored).predict(p), decision.predict(p))
    assert json.loads(json.dumps(decision.to_dict()))["offsets"] == decision.offsets.tolist()
    assert decision.to_frame("polars")["cost"].to_list() == [one.cost for one in decision.rules]


def test_words_say_what_to_do_by_intervals():
    y, p = samples(n=3000, sharpness=0.4, shift=(2.0, 0.0, -2.0))
    clear = polyroc.decide(y, p, COSTS)
    assert clear.tuned_share == 1
    # Compared with the cheapest of the others, which here is Bayes' rule.
    others = [one for one in clear.rules if one.rule not in ("auto", "tuned")]
    assert clear.rival is min(others, key=lambda one: one.cost)
    assert clear.rival.rule == "bayes"
    assert clear.rival.difference_interval.low > 0
    assert str(clear).startswith("Use the tuned offsets: they cost 0.")
    assert f"{clear.rival.difference:.3f}" in clear.text.sentence
    assert "less than Bayes' rule (95 % interval" in clear.text.sentence
    assert polyroc.decide(y, p, COSTS, rule="argmax").text.sentence.startswith("Use the tuned offsets: they cost")
    assert "which is too low" in str(clear)
    y, p = samples(n=40)
    unclear = polyroc.decide(y, p, COSTS)
    assert unclear.text.sentence.startswith(
        "No rule is clearly the cheapest. Bayes' rule is used, because on held-out "
    )
    assert f"About {unclear.n_samples_to_tell:,} samples would tell with" in unclear.text.sentence


# Refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"costs": COSTS[:2]}, r"`costs` must have shape \(3, 3\), a row and a column per class, got \(2, 3\)"),
        ({"costs": np.where(COSTS == 6, np.nan, COSTS)}, "`costs` must be finite, got nan in row 0, column 2"),
        ({"costs": 1e70 * COSTS}, r"`costs` must lie within 1e\+60 of 0.*got entries from 0 to 6e\+70"),
        ({"costs": np.ones((3, 3))}, "`costs` must differ within some row"),
        ({"prior": [0.5, 0.4, 0.2]}, r"`prior` must sum to 1 \(to within 1e-06\), got a sum of 1.1"),
        ({"prior": [0.5, 0.5]}, r"`prior` must have shape \(3,\)"),
        ({"prior": [1.5, -0.5, 0.0]}, "`prior` must be finite and not negative, got -0.5 for class 1"),
        ({"prior": {"a": 0.5, "b": 0.5}}, r"`prior` must name each class once \(0, 1, 2\), got names 'a', 'b'"),
        ({"reject_cost": np.nan}, "`reject_cost` must be None or a number within 1e\\+60 of 0, got nan"),
        ({"n_folds": 1}, "`n_folds` must be an integer from 2 to 100, got 1"),
        ({"rule": "greedy"}, "`rule` must be one of 'auto', 'tuned', 'bayes', 'argmax', got 'greedy'"),
    ],
)
def test_what_is_refused(options, words):
    y, p = samples(n=30)
    with pytest.raises(polyroc.InputError, match=words):
        polyroc.decide(y, p, **{"costs": COSTS, **options})


def test_free_scores_are_refused_where_probabilities_are_needed():
    y, p = samples(n=30)
    match = r'probabilities, .* for rule="bayes".*np.exp.*; "tuned" takes any scores'
    with pytest.raises(polyroc.InputError, match=match):
        polyroc.decide(y, np.log(p), COSTS, rule="bayes")
    with pytest.raises(polyroc.InputError, match=r"probabilities, .* for `reject_cost`"):
        polyroc.decide(y, np.log(p), COSTS, reject_cost=1)
    decision = polyroc.decide(y, p, COSTS)
    with pytest.raises(polyroc.InputError, match="`y_score` must hold probabilities, as the scores did"):
        decision.predict(np.log(p))
    with pytest.raises(polyroc.InputError, match="`y_score` must have one column per class"):
        decision.predict(p[:, :2])


def test_classes_without_samples_have_no_prior_and_single_samples_no_fold():
    y, p = samples(n=30)
    with (
        pytest.warns(UserWarning, match="No samples"),
        pytest.raises(polyroc.InputError, match=r"`prior` must be 0 for classes without samples.*got more for 2"),
    ):
        polyroc.decide(np.where(y == 2, 1, y), p, COSTS, labels=[0, 1, 2], prior=[0.4, 0.4, 0.2])
    alone = np.r_[np.zeros(15, dtype=int), np.ones(14, dtype=int), 2]
    with pytest.raises(
        polyroc.InputError, match=r"`y_true` must have at least two samples of each class.*got one of 2"
    ):
        polyroc.decide(alone, p, COSTS)
    with pytest.raises(polyroc.InputError, match="`groups` must have at least two groups of each class"):
        polyroc.decide(y, p, COSTS, groups=np.where(y == 2, 0, np.arange(30)))


def test_evaluate_ignores_the_diagonal_and_says_so():
    y, p = samples(n=30)
    costs = COSTS + 1 - np.eye(3)
    noted, plain = polyroc.evaluate(y, p, costs=costs + np.diag([0, 1, -5])), polyroc.evaluate(y, p, costs=costs)
    assert noted.auc == plain.auc
    said = "The diagonal of `costs` is ignored: only misclassifications weigh D. `polyroc.decide` uses it."
    assert noted.notes == (*plain.notes, said)
    assert said in " ".join(str(noted).split())
    # Costs as they stand in the record have ones there.
    again = polyroc.evaluate(y, p, costs=noted.to_dict()["options"]["costs"])
    assert again.notes == plain.notes


def test_evaluate_goes_on_refusing_gains():
    y, p = samples(n=30)
    words = r"`costs` must be finite and positive off the diagonal, got -.*: `polyroc\.decide` takes gains"
    with pytest.raises(polyroc.InputError, match=words):
        polyroc.evaluate(y, p, costs=COSTS - 1.5)


@pytest.mark.filterwarnings("error")
def test_free_scores_in_single_precision_are_judged_as_in_double():
    y_true = np.arange(60) % 3
    y_score = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    y_score[np.arange(60), y_true] += 1
    costs = [[0, 4, 1], [1, 0, 2], [1, 1, 0]]
    single, double = (polyroc.decide(y_true, y_score.astype(kind), costs) for kind in (np.float32, np.float64))
    assert single.cost == double.cost
    np.testing.assert_allclose(single.offsets, double.offsets, atol=1e-5)


def test_empty_prior_is_refused():
    with pytest.raises(polyroc.InputError, match=r"`prior` must name each class once \(0, 1, 2\), got none"):
        polyroc.decide([0, 0, 1, 1, 2, 2], np.eye(3)[[0, 0, 1, 1, 2, 2]], [[0, 4, 1], [1, 0, 2], [1, 1, 0]], prior={})


def test_differences_from_tuned_offsets_allow_for_the_luck_of_tuning(monkeypatch):
    y, p = samples(n=100)
    by_rule = {rule: polyroc.decide(y, p, COSTS, rule=rule).rules for rule in ("tuned", "argmax")}
    monkeypatch.setattr("polyroc.costs._decide.tuning_variance", lambda *_: 0.0)
    for rule, rules in by_rule.items():
        for one, without in zip(rules, polyroc.decide(y, p, COSTS, rule=rule).rules, strict=True):
            assert one.difference == without.difference
            wider = np.ptp(one.difference_interval) > 1.001 * np.ptp(without.difference_interval)
            # One of two rules that differ is tuned.
            assert wider == (one.rule != rule and "tuned" in (one.rule, rule))


def test_with_a_prior_groups_vary_about_the_means_of_the_classes():
    y, p = samples(n=90)
    prior, groups = np.array([0.5, 0.3, 0.2]), np.arange(90) // 3
    assert max(len(set(y[groups == g])) for g in range(30)) > 1
    decision = polyroc.decide(y, p, COSTS, rule="argmax", prior=prior, groups=groups)
    each, counts = COSTS[y, p.argmax(axis=1)], np.bincount(y)
    means = np.bincount(y, each) / counts
    added = np.bincount(groups, (prior / counts)[y] * (each - means[y]))
    assert decision.standard_error == pytest.approx(np.sqrt(30 * added.var(ddof=1)))
