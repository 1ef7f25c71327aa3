import json
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta

import polyroc
from polyroc.baselines import h_measure


def made(n, k, seed, strengths=(1.5, 1.0)):
    """Labels and probabilities of models of several strengths."""
    rng = np.random.default_rng(seed)
    y_true = np.concatenate([np.arange(k), np.arange(k), rng.integers(0, k, n - 2 * k)])
    scores = {}
    for name, strength in zip("abcdef", strengths, strict=False):
        z = rng.normal(size=(n, k))
        z[np.arange(n), y_true] += strength
        p = np.exp(z)
        scores[name] = p / p.sum(axis=1, keepdims=True)
    return y_true, scores


def matrices(number, k, seed):
    """Asymmetric costs, with gains on the diagonal."""
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.2, 5, (number, k, k))
    costs[:, np.arange(k), np.arange(k)] = -rng.uniform(0, 0.5, (number, k))
    return costs


def costs_by_loops(y_true, p, matrix, ratio):
    """What Bayes' rule costs on each sample."""
    paid = []
    for true, row in zip(y_true, p, strict=True):
        expected = [
            sum(ratio[t] * row[t] * matrix[t, predicted] for t in range(len(row))) for predicted in range(len(row))
        ]
        paid.append(matrix[true, int(np.argmin(expected))])
    return np.array(paid)


def test_costs_agree_with_loops():
    y_true, scores = made(60, 3, 0)
    costs = matrices(5, 3, 1)
    profile = polyroc.cost_profile(y_true, scores, costs=costs)
    for place, name in enumerate("ab"):
        paid = np.array([costs_by_loops(y_true, scores[name], matrix, np.ones(3)) for matrix in costs])
        assert_allclose(profile.cost_by_matrix[place], paid.mean(axis=1), rtol=1e-12)
        assert_allclose(profile.standard_error_by_matrix[place], paid.std(axis=1, ddof=1) / np.sqrt(60), rtol=1e-12)
        mean = paid.mean(axis=0)
        assert_allclose(profile.models[place].cost, mean.mean(), rtol=1e-12)
        assert_allclose(profile.models[place].standard_error, mean.std(ddof=1) / np.sqrt(60), rtol=1e-9)
    turned = polyroc.cost_profile(y_true, scores, costs=costs.transpose(0, 2, 1))
    assert (np.abs(turned.cost_by_matrix - profile.cost_by_matrix) > 1e-6).all()


def test_prior_and_weights_agree_with_loops():
    y_true, scores = made(80, 3, 2)
    costs, weight = matrices(4, 3, 3), np.random.default_rng(0).uniform(0.1, 2, 80)
    prior = np.array([0.7, 0.1, 0.2])
    profile = polyroc.cost_profile(y_true, scores, costs=costs, prior=prior, sample_weight=weight)
    share = np.array([weight[y_true == c].sum() for c in range(3)]) / weight.sum()
    for place, name in enumerate("ab"):
        for r, matrix in enumerate(costs):
            paid = costs_by_loops(y_true, scores[name], matrix, prior / share)
            expected = sum(prior[c] * np.average(paid[y_true == c], weights=weight[y_true == c]) for c in range(3))
            assert_allclose(profile.cost_by_matrix[place, r], expected, rtol=1e-12)
    assert_allclose(profile.prior, prior)


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        ("argmax", "plain"),
        ("bayes", "prior"),
        ("bayes", "groups"),
        ("bayes", "weights"),
        ("tuned", "groups"),
        ("auto", "prior"),
    ],
)
def test_single_matrices_cost_what_decide_says(rule, more):
    y_true, scores = made(120, 3, 4)
    matrix = matrices(1, 3, 5)[0]
    options = {
        "plain": {},
        "prior": {"prior": [0.2, 0.5, 0.3]},
        "groups": {"groups": np.arange(120) // 3},
        "weights": {"sample_weight": np.random.default_rng(1).uniform(0.5, 2, 120)},
    }[more]
    profile = polyroc.cost_profile(y_true, scores, costs=[matrix], rule=rule, **options)
    for one, p in zip(profile.models, scores.values(), strict=True):
        decision = polyroc.decide(y_true, p, matrix, rule=rule, **options)
        assert_allclose(one.cost, decision.cost, rtol=1e-12)
        assert_allclose(one.standard_error, decision.standard_error, rtol=1e-9)
        assert_allclose(one.interval, decision.cost_interval, rtol=1e-9)
    # By batches of samples, for all matrices at once.
    assert_allclose(profile.low_by_matrix[:, 0], [one.interval.low for one in profile.models], rtol=1e-9)
    assert_allclose(profile.high_by_matrix[:, 0], [one.interval.high for one in profile.models], rtol=1e-9)
    assert_allclose(profile.standard_error_by_matrix[:, 0], [one.standard_error for one in profile.models], rtol=1e-9)


def test_uniform_costs_of_two_classes_give_half_the_brier_score():
    # A false positive costs c and a false negative 1 - c, c uniform: the integral of Bayes' cost is (p - y)^2 / 2.
    y_true, scores = made(90, 2, 6)
    c = (np.arange(4000) + 0.5) / 4000
    costs = np.zeros((4000, 2, 2))
    costs[:, 0, 1], costs[:, 1, 0] = c, 1 - c
    profile = polyroc.cost_profile(y_true, scores, costs=costs, n_resamples=2)
    brier = [np.mean((p[:, 1] - y_true) ** 2) / 2 for p in scores.values()]
    # The cost of a sample jumps at c = p, so the mean over the grid is off by at most its step, 1 / 4000, per sample.
    assert_allclose([one.cost for one in profile.models], brier, atol=1e-5)
    # A single column of probabilities is the second class's.
    alone = polyroc.cost_profile(y_true, {name: p[:, 1] for name, p in scores.items()}, costs=costs, n_resamples=2)
    assert_allclose(alone.cost_by_matrix, profile.cost_by_matrix, atol=1e-12)


def test_offsets_tuned_and_judged_on_the_same_samples_give_the_h_measure():
    y_true, scores = made(40, 2, 7)
    # The middle of 40 slices of the prior, each of the same probability.
    c = beta(2, 1 + 1 / 0.5).ppf((np.arange(40) + 0.5) / 40)
    costs = np.zeros((40, 2, 2))
    costs[:, 0, 1], costs[:, 1, 0] = c, 1 - c
    rules = ("tuned", "argmax")
    profile = polyroc.cost_profile(y_true, {"a": scores["a"]}, costs=costs, rule=rules, n_folds=None, n_resamples=2)
    share = y_true.mean()
    guessing = np.minimum(c * (1 - share), (1 - c) * share).mean()
    found = 1 - profile.models[0].cost / guessing
    assert_allclose(found, h_measure(y_true, scores["a"][:, 1], severity_ratio=0.5), atol=2e-3)


def test_shares_count_matrices_and_split_ties():
    y_true = np.array([0, 0, 1, 1, 2, 2])
    right = np.eye(3)[y_true]
    misses_one, misses_two = right.copy(), right.copy()
    misses_one[2:4] = [1, 0, 0]  # ones predicted as zeros
    misses_two[4:6] = [1, 0, 0]  # twos predicted as zeros
    costs = np.array([1 - np.eye(3)] * 4)
    costs[0, 1, 0], costs[1, 1, 0], costs[2, 2, 0] = 5, 3, 2
    profile = polyroc.cost_profile(y_true, {"one": misses_one, "two": misses_two}, costs=costs, rule="argmax")
    assert [one.share_cheapest for one in profile.models] == [(1 + 0.5) / 4, (2 + 0.5) / 4]
    assert_allclose(profile.cost_by_matrix, [[5 / 3, 1, 1 / 3, 1 / 3], [1 / 3, 1 / 3, 2 / 3, 1 / 3]])
    same = polyroc.cost_profile(y_true, {"x": misses_one, "y": misses_one}, costs=costs, rule="argmax")
    assert [(one.share_cheapest, *one.share_interval) for one in same.models] == [(0.5, 0.5, 0.5)] * 2
    assert (same.differences[0].value, same.differences[0].standard_error) == (0, 0)


def test_differences_are_paired():
    y_true, scores = made(150, 3, 8, strengths=(1.5, 1.2, 0.8))
    costs = matrices(3, 3, 9)
    profile = polyroc.cost_profile(y_true, scores, costs=costs)
    paid = {
        name: np.mean([costs_by_loops(y_true, p, matrix, np.ones(3)) for matrix in costs], axis=0)
        for name, p in scores.items()
    }
    for first, second in [("a", "b"), ("c", "a"), ("b", "c")]:
        apart = paid[first] - paid[second]
        found = profile.difference(first, second)
        assert_allclose(found.value, apart.mean(), rtol=1e-9)
        assert_allclose(found.standard_error, apart.std(ddof=1) / np.sqrt(150), rtol=1e-9)
        assert found.interval.low < found.value < found.interval.high
    assert profile.difference("a", "a").value == 0
    with pytest.raises(polyroc.InputError, match="`second` must be one of 'a', 'b', 'c', got 'd'"):
        profile.difference("a", "d")


def test_groups_count_as_single_samples():
    y_true, scores = made(100, 3, 10)
    costs = matrices(4, 3, 11)
    usual = polyroc.cost_profile(y_true, scores, costs=costs)
    twice = polyroc.cost_profile(
        np.repeat(y_true, 2),
        {name: np.repeat(p, 2, axis=0) for name, p in scores.items()},
        costs=costs,
        groups=np.repeat(np.arange(100), 2),
    )
    assert_allclose(twice.standard_error_by_matrix, usual.standard_error_by_matrix, rtol=1e-9)
    for one, other in zip(usual.models, twice.models, strict=True):
        assert_allclose(other.interval, one.interval, rtol=1e-9)
        assert_allclose(other.share_interval, one.share_interval, atol=0.3)


@pytest.mark.parametrize("prior", [None, [0.6, 0.3, 0.1]])
def test_batches_of_many_samples_vary_as_these_do(prior):
    y_true, scores = made(9000, 3, 12)
    costs = matrices(3, 3, 13)
    profile = polyroc.cost_profile(y_true, scores, costs=costs, prior=prior)
    for place, p in enumerate(scores.values()):
        for r, matrix in enumerate(costs):
            share = np.bincount(y_true) / 9000
            used = share if prior is None else np.array(prior)
            paid = matrix[y_true, np.argmin((p * used / share) @ matrix, axis=1)]
            of_class = [paid[y_true == c] for c in range(3)]
            cost = sum(weight * one.mean() for weight, one in zip(used, of_class, strict=True))
            assert_allclose(profile.cost_by_matrix[place, r], cost, rtol=1e-12)
            within = [weight * one.std(ddof=1) / np.sqrt(len(one)) for weight, one in zip(used, of_class, strict=True)]
            error = np.linalg.norm(within) if prior else paid.std(ddof=1) / np.sqrt(9000)
            # 2,000 batches know a standard error to 1.6 %.
            assert_allclose(profile.standard_error_by_matrix[place, r], error, rtol=0.07)


def stepped_down(t, noise):
    """Which statistics exceed the largest error of all that do not, one after the other from the largest."""
    order, found = np.argsort(-t, axis=None), np.zeros(t.size, dtype=bool)
    for place, largest in enumerate(order):
        left = order[place:]
        if t.flat[largest] <= np.quantile(noise.reshape(len(noise), -1)[:, left].max(axis=1), 0.975):
            break
        found[largest] = True
    return found.reshape(t.shape)


@pytest.mark.parametrize("strengths", [(1.4, 1.0), (1.2, 1.15), (1.5, 1.2, 0.9)])
def test_shares_reach_from_surely_to_perhaps_the_cheapest(strengths):
    y_true, scores = made(200, 3, 14, strengths=strengths)
    costs = matrices(15, 3, 15)
    profile = polyroc.cost_profile(y_true, scores, costs=costs, n_resamples=2000, rng=1)
    paid = np.array([[costs_by_loops(y_true, p, matrix, np.ones(3)) for matrix in costs] for p in scores.values()])
    rng, models = np.random.default_rng(0), range(len(scores))
    for a in models:
        apart = np.array([paid[a] - paid[b] for b in models if b != a])
        mean, error = apart.mean(axis=2), apart.std(axis=2, ddof=1) / np.sqrt(200)
        # Samples drawn again, in standard errors.
        noise = np.array([apart[:, :, rng.integers(0, 200, 200)].mean(axis=2) - mean for _ in range(2000)]) / error
        ends = []
        for factor in (0.93, 1.07):  # what 2,000 resamples leave open
            surely = np.all(stepped_down(-mean / error, -noise * factor), axis=0).mean()
            perhaps = 1 - np.any(stepped_down(mean / error, noise * factor), axis=0).mean()
            ends.append((surely, perhaps))
        one = profile.models[a]
        assert ends[1][0] <= one.share_interval.low <= ends[0][0]
        assert ends[0][1] <= one.share_interval.high <= ends[1][1]
        assert_allclose(one.share_cheapest, np.all(mean < 0, axis=0).mean())


def test_drawn_matrices_widen_the_intervals():
    y_true, scores = made(400, 3, 16)
    drawn = matrices(30, 3, 17)
    queue = iter(drawn)
    of_function = polyroc.cost_profile(y_true, scores, costs=lambda rng: next(queue), n_costs=30)
    of_list = polyroc.cost_profile(y_true, scores, costs=drawn)
    assert (of_function.is_drawn, of_list.is_drawn) == (True, False)
    assert_array_equal(of_function.cost_by_matrix, of_list.cost_by_matrix)
    for place in range(2):
        more = np.var(drawn_cost := of_list.cost_by_matrix[place], ddof=1) / len(drawn_cost)
        expected = np.hypot(of_list.models[place].standard_error, np.sqrt(more))
        assert_allclose(of_function.models[place].standard_error, expected, rtol=1e-9)
    apart = of_list.cost_by_matrix[0] - of_list.cost_by_matrix[1]
    expected = np.hypot(of_list.differences[0].standard_error, np.sqrt(np.var(apart, ddof=1) / 30))
    assert_allclose(of_function.differences[0].standard_error, expected, rtol=1e-9)


def test_all_of_few_drawn_matrices_do_not_prove_all():
    y_true, scores = made(400, 3, 18, strengths=(4, 0.1))
    costs = polyroc.CostRange(low=1 - np.eye(3), high=[[0, 2, 3], [4, 0, 2], [9, 2, 0]])
    best, worst = polyroc.cost_profile(y_true, scores, costs=costs, n_costs=40).models
    # 40 matrices that all say the same: Clopper and Pearson, with half of the 5 %, because the band has the other half.
    assert (best.share_cheapest, worst.share_cheapest) == (1, 0)
    assert_allclose(best.share_interval, (0.0125 ** (1 / 40), 1))
    assert_allclose(worst.share_interval, (0, 1 - 0.0125 ** (1 / 40)))


def test_several_rules_are_compared_as_models():
    y_true, scores = made(150, 3, 19)
    family = polyroc.CostRatios(true_class=1, predicted_class=0, ratios=[10, 0.1, 1])
    one = polyroc.cost_profile(y_true, {"a": scores["a"]}, costs=family, rule=("argmax", "bayes", "tuned", "auto"))
    assert one.names == ["argmax", "bayes", "tuned", "auto"]
    assert [entry.model for entry in one.models] == ["a"] * 4
    assert one.ratios.tolist() == [0.1, 1, 10]
    assert one.n_folds == 5
    for r, matrix in enumerate(one.costs):
        assert matrix.tolist() == [[0, 1, 1], [one.ratios[r], 0, 1], [1, 1, 0]]
        found = {rule.rule: rule.cost for rule in polyroc.decide(y_true, scores["a"], matrix).rules[:4]}
        assert_allclose(one.cost_by_matrix[:, r], [found[name] for name in one.names], rtol=1e-12)
    two = polyroc.cost_profile(y_true, scores, costs=family, rule=["argmax", "bayes"])
    assert two.names == ["a, argmax", "a, bayes", "b, argmax", "b, bayes"]
    assert_allclose(two.cost_by_matrix[:2], one.cost_by_matrix[:2], rtol=1e-12)
    assert two.n_folds is None


def test_free_scores_have_no_bayes_rule():
    y_true, scores = made(80, 3, 20)
    free = {name: np.log(p) for name, p in scores.items()}
    costs = matrices(3, 3, 21)
    with pytest.raises(polyroc.InputError, match=r"`scores` of model 'a' must be probabilities.* \"tuned\" takes any"):
        polyroc.cost_profile(y_true, free, costs=costs)
    # With costs by true class, logarithms of probabilities are what offsets are added to.
    by_class = np.array([[1.0], [3.0], [2.0]]) * (1 - np.eye(3))
    tuned = polyroc.cost_profile(y_true, free, costs=[by_class], rule="tuned")
    same = polyroc.cost_profile(y_true, scores, costs=[by_class], rule="tuned")
    assert_allclose(tuned.cost_by_matrix, same.cost_by_matrix, rtol=0.15)


@pytest.mark.slow
def test_same_bits_whatever_the_order_of_models_and_threads():
    y_true, scores = made(60, 3, 22)
    costs = polyroc.CostRange(low=1 - np.eye(3), high=[[0, 7, 3], [4, 0, 2], [9, 2, 0]])
    usual = polyroc.cost_profile(y_true, scores, costs=costs, n_costs=3, rule="tuned", rng=5, n_jobs=1)
    again = polyroc.cost_profile(
        y_true, {"b": scores["b"], "a": scores["a"]}, costs=costs, n_costs=3, rule="tuned", rng=5, n_jobs=2
    )
    assert_array_equal(again.costs, usual.costs)
    assert_array_equal(again.cost_by_matrix[::-1], usual.cost_by_matrix)
    assert again.models[::-1] == usual.models
    other = polyroc.cost_profile(y_true, scores, costs=costs, n_costs=3, rng=6)
    assert not np.array_equal(other.costs, usual.costs)


@pytest.mark.parametrize("unit", [1e50, 1e-50])
def test_the_unit_of_costs_does_not_matter(unit):
    y_true, scores = made(60, 3, 29)
    costs = matrices(6, 3, 30)
    usual, other = (polyroc.cost_profile(y_true, scores, costs=matrix) for matrix in (costs, unit * costs))
    assert_allclose(other.cost_by_matrix, unit * usual.cost_by_matrix, rtol=1e-9)
    for one, same in zip(usual.models, other.models, strict=True):
        assert (same.share_cheapest, same.share_interval) == (one.share_cheapest, one.share_interval)


def test_single_precision_is_read_as_it_is():
    y_true, scores = made(60, 3, 27)
    single = {name: p.astype(np.float32) for name, p in scores.items()}
    costs = matrices(3, 3, 28)
    double = polyroc.cost_profile(y_true, {name: p.astype(float) for name, p in single.items()}, costs=costs)
    assert_array_equal(polyroc.cost_profile(y_true, single, costs=costs).cost_by_matrix, double.cost_by_matrix)


def test_result_as_plain_data():
    y_true, scores = made(100, 3, 23)
    names = np.array(["x", "y", "z"])[y_true]
    profile = polyroc.cost_profile(names, scores, costs=polyroc.CostRatios("y", ratios=[1, 5]))
    told = json.loads(json.dumps(profile.to_dict()))
    assert told["labels"] == ["x", "y", "z"]
    assert told["ratios"] == [1, 5]
    assert [row["name"] for row in told["models"]] == ["a", "b"]
    assert_allclose(told["cost_by_matrix"], profile.cost_by_matrix)
    pytest.importorskip("pandas")
    frame = profile.to_frame()
    assert frame["share_cheapest"].tolist() == [one.share_cheapest for one in profile.models]
    assert frame.columns[:3].tolist() == ["name", "model", "rule"]
    copied = pickle.loads(pickle.dumps(profile))
    assert copied.models == profile.models
    assert repr(profile) == "CostProfile(2 models, 2 cost matrices)"
    for r, matrix in enumerate(profile.costs):
        for place, p in enumerate(scores.values()):
            low, high = polyroc.decide(names, p, matrix, rule="bayes").cost_interval
            ends = profile.low_by_matrix[place, r], profile.high_by_matrix[place, r]
            assert_allclose(ends, (low, high), rtol=1e-9)
    with pytest.raises(ValueError, match="read-only"):
        profile.cost_by_matrix[0] = 0


GOOD = [1 - np.eye(3), [[0, 1, 2], [3, 0, 1], [1, 1, 0]]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"costs": []}, r"`costs` must hold from 1 to 5,000 matrices, got 0"),
        (
            {"costs": 1 - np.eye(3)},
            r"`costs` must be a list of matrices .* got shape \(3, 3\): for a single matrix use",
        ),
        ({"costs": "low"}, r"`costs` must be a list of matrices of shape \(3, 3\), .*, got str"),
        ({"costs": int}, r"`costs` must be a list of matrices .*, got type"),
        ({"costs": None}, r"`costs` must be a list of matrices .*, got NoneType"),
        ({"costs": [GOOD[0], np.eye(2)]}, r"`costs` \(matrix 1\) must have shape \(3, 3\)"),
        ({"costs": [GOOD[0], np.full((3, 3), np.nan)]}, r"`costs` \(matrix 1\) must be finite, got nan in row 0"),
        ({"costs": lambda rng: np.eye(4)}, r"`costs` \(matrix 0\) must have shape \(3, 3\)"),
        ({"costs": GOOD, "n_costs": 1}, r"`n_costs` must be an integer from 2 to 5,000, got 1"),
        ({"costs": GOOD, "rule": "best"}, r"`rule` must be one of 'auto', 'tuned', 'bayes', 'argmax', got 'best'"),
        ({"costs": GOOD, "rule": ()}, r"`rule` must name one rule, or several once each, got \(\)"),
        ({"costs": GOOD, "rule": ["bayes", "bayes"]}, r"`rule` must name one rule, or several once each"),
        ({"costs": GOOD, "prior": [0.5, 0.4, 0.2]}, r"`prior` must sum to 1"),
        ({"costs": GOOD, "n_folds": 1}, r"`n_folds` must be an integer from 2"),
        ({"costs": polyroc.CostRange(np.eye(2), np.eye(3))}, r"`low` must have shape \(3, 3\)"),
        (
            {"costs": polyroc.CostRange(np.zeros((3, 3)), 1 - np.eye(3))},
            r"`low` must be positive and below `high` where they differ, got 0 and 1 in row 0, column 1",
        ),
        ({"costs": polyroc.CostRange(1 - np.eye(3), 1 - np.eye(3))}, r"`high` must differ from `low` in some entry"),
        ({"costs": polyroc.CostRange(1 - np.eye(3), np.full((3, 3), np.inf))}, r"`high` must be finite"),
        ({"costs": polyroc.CostRatios(7)}, r"`true_class` must be one of the classes \(0, 1, 2\), got 7"),
        ({"costs": polyroc.CostRatios(1, 1)}, r"`predicted_class` must be another class than `true_class`"),
        ({"costs": polyroc.CostRatios(1, ratios=[0, 1])}, r"`ratios` must be one or more finite positive numbers"),
        ({"costs": polyroc.CostRatios(1, base=np.eye(3))}, r"`base` must have a cost other than 0 for the confusion"),
    ],
)
def test_refuses_bad_arguments(options, words):
    y_true, scores = made(30, 3, 24)
    with pytest.raises(polyroc.InputError, match=words):
        polyroc.cost_profile(y_true, scores, **options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: {}, "`scores` must hold at least one model, got 0"),
        (lambda s: {"a": s["a"]}, "`scores` must hold at least two models where there is one `rule`, got one"),
        (lambda s: s["a"], "`scores` must be a mapping from names of models to their scores, got ndarray"),
        (lambda s: {1: s["a"], "b": s["b"]}, "`scores` must have text for its keys"),
        (lambda s: {"a": s["a"], "b": s["b"][:-1]}, "`scores` of model 'b': `y_score` must have one row per label"),
        (
            lambda s: {"a": s["a"], "b": s["b"] * 1e200},
            r"`scores` of model 'b' must lie within 1e\+100 of 0, got larger",
        ),
        (lambda s: {"a": s["a"], "b": s["b"] * np.nan}, "`scores` of model 'b': `y_score` must be finite"),
    ],
)
def test_refuses_bad_models(change, words):
    y_true, scores = made(30, 3, 25)
    with pytest.raises(polyroc.InputError, match=words):
        polyroc.cost_profile(y_true, change(scores), costs=GOOD)


def test_range_is_uniform_on_the_log_scale():
    y_true, scores = made(30, 3, 26)
    low, high = np.array([[0, 1, 2], [-1, 0, 5], [1, 0.1, 0]]), np.array([[0, 100, 2], [-1, 0, 50], [1, 0.2, 0]])
    costs = polyroc.cost_profile(y_true, scores, costs=polyroc.CostRange(low, high), n_costs=2000).costs
    for row, column in np.ndindex(3, 3):
        drawn, ends = costs[:, row, column], (low[row, column], high[row, column])
        if ends[0] == ends[1]:
            assert (drawn == ends[0]).all()
            continue
        place = np.sort(np.log(drawn / ends[0]) / np.log(ends[1] / ends[0]))
        # The largest distance from the uniform distribution is below this in 99.9 % of such samples.
        assert np.abs(place - (np.arange(2000) + 0.5) / 2000).max() < 1.95 / np.sqrt(2000)
    assert abs(np.corrcoef(costs[:, 0, 1], costs[:, 1, 2])[0, 1]) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strengths", "n_matrices"), [((1.2, 1.1), 12), ((1.2, 1.2), 12), ((1.2, 1.15), 40), ((1.2, 1.2, 1.2), 20)]
)
def test_intervals_cover_what_a_large_sample_gives(strengths, n_matrices):
    costs = matrices(n_matrices, 3, 30)
    y_true, scores = made(60_000, 3, 31, strengths=strengths)
    truth = polyroc.cost_profile(y_true, scores, costs=costs, n_resamples=2)
    rng = np.random.default_rng(0)
    covered = {"share": 0, "cost": 0, "difference": 0}
    for _ in range(300):
        rows = rng.choice(60_000, 300, replace=False)
        profile = polyroc.cost_profile(
            y_true[rows], {name: p[rows] for name, p in scores.items()}, costs=costs, n_resamples=399
        )
        for name, found, true in [
            ("share", profile.models[0].share_interval, truth.models[0].share_cheapest),
            ("cost", profile.models[0].interval, truth.models[0].cost),
            ("difference", profile.differences[0].interval, truth.differences[0].value),
        ]:
            covered[name] += found.low <= true <= found.high
    # Intervals of 95 %, within three standard errors of 300 samples; those of shares cover more than they must.
    assert min(covered.values()) >= 0.912 * 300
    assert max(covered["cost"], covered["difference"]) <= 0.988 * 300


def test_functions_that_take_no_generator_are_refused():
    y_true, scores = made(60, 3, 1)
    with pytest.raises(polyroc.InputError, match="`costs` must be, where it is a function, one that takes a generator"):
        polyroc.cost_profile(y_true, scores, costs=lambda: matrices(1, 3, 5)[0])
