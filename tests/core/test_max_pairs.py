"""A sample of the pairs: balanced, seeded, and honest about the error it adds."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import gaussian_problem, quietly

import polyroc
from polyroc._core.rates import all_pairs, reverse_places, sampled_pairs
from polyroc._inputs.predictions import as_predictions
from polyroc._uncertainty.units import ResamplingPlan, units_of


def predictions_of(k: int, missing=()):
    y_true = np.setdiff1d(np.arange(k), missing)
    return quietly(as_predictions, np.repeat(y_true, 2), np.zeros((2 * len(y_true), k)), labels=np.arange(k))


def pairs_of(index):
    return list(zip(index.positive.tolist(), index.negative.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("k", "missing", "max_pairs"), [(10, (), 45), (40, (), 400), (7, (2, 5), 19), (6, (), 6)])
def test_every_class_is_positive_and_negative_equally_often(k, missing, max_pairs, seed):
    pairs = sampled_pairs(predictions_of(k, missing), max_pairs, seed)
    present = k - len(missing)
    assert max_pairs - present < len(pairs) <= max_pairs
    assert len(set(pairs_of(pairs))) == len(pairs)
    assert np.all(pairs.positive != pairs.negative)
    expected = np.where(np.isin(np.arange(k), missing), 0, max_pairs // present)
    assert_array_equal(np.bincount(pairs.positive, minlength=k), expected)
    assert_array_equal(np.bincount(pairs.negative, minlength=k), expected)


def test_every_pair_is_drawn_equally_often():
    """Each of 20 pairs of 5 classes is one of 10 in half of all samples."""
    predictions, n_samples = predictions_of(5), 2000
    drawn = np.zeros((5, 5))
    for seed in range(n_samples):
        pairs = sampled_pairs(predictions, 10, seed)
        drawn[pairs.positive, pairs.negative] += 1
    shares = drawn[~np.eye(5, dtype=bool)] / n_samples
    assert np.abs(shares - 0.5).max() < 4 * np.sqrt(0.25 / n_samples)


def test_the_seed_decides():
    predictions = predictions_of(20)

    def drawn(rng):
        return pairs_of(sampled_pairs(predictions, 100, rng))

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    assert drawn(np.random.default_rng(3)) == drawn(3)
    generator = np.random.default_rng(3)
    assert drawn(generator) != drawn(generator)


def test_evaluate_hands_the_seed_on():
    problem = gaussian_problem(0, 600, 10)

    def evaluate(**options):
        return polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=30, **options)

    assert evaluate().auc == evaluate(rng=0).auc
    assert evaluate(rng=np.random.default_rng(0)).auc == evaluate(rng=np.random.default_rng(0)).auc
    assert evaluate(rng=1).auc != evaluate(rng=0).auc
    assert len(evaluate().pairs.positive) == 30


@pytest.mark.parametrize("max_pairs", [None, 90, 1000])
def test_enough_pairs_are_all_pairs(max_pairs):
    predictions = predictions_of(10)
    assert pairs_of(sampled_pairs(predictions, max_pairs, 0)) == pairs_of(all_pairs(predictions))


@pytest.mark.parametrize("max_pairs", [0, 1, -5, 2.5, 30.0, "30", True, [30]])
def test_max_pairs_must_be_a_number_of_pairs(max_pairs):
    problem = gaussian_problem(0, 100, 10)
    with pytest.raises(ValueError, match="`max_pairs` must be None or an integer"):
        polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=max_pairs)


def test_each_class_needs_a_pair():
    problem = gaussian_problem(0, 100, 10)
    with pytest.raises(ValueError, match="`max_pairs` must be at least the number of classes with samples, 10, got 9"):
        polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=9)


@pytest.mark.parametrize("rng", [-1, 1.5, "seed", True])
def test_rng_must_be_a_seed_or_a_generator(rng):
    problem = gaussian_problem(0, 100, 10)
    with pytest.raises(ValueError, match="`rng` must be"):
        polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=20, rng=rng)


def test_options_hold_a_seed_which_gives_the_same_pairs_again():
    problem = gaussian_problem(0, 100, 10)
    for rng in (np.random.default_rng(5), None):
        found = polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=20, rng=rng)
        seed = found.to_dict()["options"]["rng"]
        assert isinstance(seed, int)
        again = polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=20, rng=seed)
        assert pairs_of(found.fitted.pairs) == pairs_of(again.fitted.pairs)
    first, second = (
        polyroc.evaluate(problem.y_true, problem.y_score, max_pairs=20, rng=np.random.default_rng(s)) for s in (5, 6)
    )
    assert pairs_of(first.fitted.pairs) != pairs_of(second.fitted.pairs)


def means_of(kind: str, k: int):
    rng = np.random.default_rng(5)
    if kind == "alike":
        return np.eye(k)
    if kind == "classes differ":
        return np.diag(rng.uniform(0, 3, k))
    return np.eye(k) + 0.5 * rng.normal(size=(k, k))


_SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("alike", "classes differ")]


@pytest.fixture(scope="module", params=["pairs differ", *_SLOW])
def sampling(request):
    """D of all pairs, and D with its error from thirty samples of a quarter of the pairs."""
    k, rng = 40, np.random.default_rng(1)
    y_true = np.arange(2000) % k
    y_score = rng.normal(size=(len(y_true), k)) + means_of(request.param, k)[y_true]
    options = {"n_thresholds": 19, "n_jobs": 1}
    everything = polyroc.evaluate(y_true, y_score, **options)
    samples = [polyroc.evaluate(y_true, y_score, max_pairs=400, rng=seed, **options) for seed in range(30)]
    return everything, np.array([s.auc for s in samples]), np.array([s.pair_sampling_error for s in samples])


def test_a_sample_is_as_far_from_all_pairs_as_its_error_says(sampling):
    everything, areas, errors = sampling
    assert np.sum(np.abs(areas - everything.auc)[:20] <= 4 * errors[:20]) >= 18


def test_the_error_is_the_spread_over_samples(sampling):
    _, areas, errors = sampling
    assert 0.5 <= errors.mean() / areas.std(ddof=1) <= 2


def test_all_pairs_have_no_sampling_error(sampling):
    everything, *_ = sampling
    assert everything.pair_sampling_error == 0
    assert polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], max_pairs=2).pair_sampling_error == 0


def grouped(n_classes=6):
    """Groups of two classes each, of which few draws have both classes of a sampled pair."""
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(n_classes), 8)
    y_score = rng.normal(size=(len(y_true), n_classes)) + np.eye(n_classes)[y_true]
    return y_true, y_score, np.r_[n_classes, y_true[1:] // 2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
@pytest.mark.parametrize("structure", ["rank-one", "centered", "saturated"])
def test_resamples_of_groups_without_a_sampled_pair_are_drawn_again(structure, engine):
    y_true, y_score, groups = grouped()
    evaluation = polyroc.evaluate(y_true, y_score, max_pairs=6, rng=1, structure=structure, engine=engine)
    drawn = evaluation.bootstrap(99, groups=groups, rng=0)
    assert drawn.n_resamples == 99
    assert np.all(np.isfinite(drawn.auc))
    assert np.all(np.isfinite(drawn.hand_till))
    assert 0 < drawn.n_lost_class <= 99
    low, high = evaluation.confidence_interval(groups=groups, method="bootstrap", rng=0, n_resamples=99, interval="bca")
    assert 0 <= low < high <= 1
    # By hand: each resample has both classes of some pair.
    positive, negative = evaluation.fitted.pairs.positive, evaluation.fitted.pairs.negative
    plan = ResamplingPlan(
        evaluation.fitted.source, units_of(evaluation.fitted.source, groups), 99, [0], evaluation.fitted.pairs
    )
    for start, stop in plan.blocks:
        for weight in plan.weights(start, stop):
            there = set(y_true[weight > 0].tolist())
            assert any({i, j} <= there for i, j in zip(positive.tolist(), negative.tolist(), strict=True))


@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_models_are_compared_on_such_resamples_too():
    y_true, y_score, groups = grouped(8)
    noise = np.random.default_rng(1).normal(size=y_score.shape)
    scores = {"a": y_score, "b": y_score + noise}
    found = polyroc.compare(y_true, scores, groups=groups, method="bootstrap", n_resamples=99, rng=0, max_pairs=8)
    assert all(np.isfinite(entry.low) and np.isfinite(entry.high) for entry in found.by_auc.estimates)


@pytest.mark.filterwarnings("ignore:No samples")
@pytest.mark.parametrize("max_pairs", [None, 12, 18])
def test_the_reverse_of_a_pair_is_found_by_its_classes(max_pairs):
    # Class 2 has no samples.
    y_true = np.array([0, 1, 3, 4, 5, 6, 0, 1, 3, 4, 5, 6])
    predictions = as_predictions(y_true, np.random.default_rng(0).normal(size=(12, 7)), labels=range(7))
    pairs = sampled_pairs(predictions, max_pairs, 0)
    listed = list(zip(pairs.positive.tolist(), pairs.negative.tolist(), strict=True))
    expected = [listed.index((j, i)) if (j, i) in listed else -1 for i, j in listed]
    assert reverse_places(pairs, np.arange(len(pairs))).tolist() == expected
    # Of six classes, three distances lack the opposite of at least one.
    assert (max_pairs == 18) <= (-1 in expected)
