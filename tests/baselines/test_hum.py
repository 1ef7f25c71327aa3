"""HUM against loops over its definition, R's mcca, normal distributions, derivatives by weights and the jackknife."""

from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

import polyroc.baselines._hum as unordered_engine
from polyroc._inputs.predictions import as_ordered_predictions, as_predictions
from polyroc.baselines import Hum, hand_till, hum
from polyroc.baselines._hum import Assignments, ordered_volume


@st.composite
def problems(draw, most_classes=5):
    """True classes, scores of every class and weights of few samples, with ties of several classes, or with none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(3, most_classes))
    counts = draw(st.lists(st.integers(1, 3), min_size=k, max_size=k))
    y = rng.permutation(np.repeat(np.arange(k), counts))
    levels = draw(st.sampled_from([1, 2, 4, 1000]))
    # Tenths: sums of them that are equal differ in their last bits.
    s = (rng.integers(0, levels, (len(y), k)) + draw(st.integers(0, 2)) * np.eye(k)[y]) / 10
    return y, s, rng.integers(1, 5, len(y)).astype(float)


def sets_of(y, w):
    """Every set of one sample per class, with its weight."""
    for chosen in product(*(np.flatnonzero(y == c) for c in np.unique(y))):
        yield list(chosen), np.prod(w[list(chosen)])


def ordered_by_definition(y, s, w):
    """P(S_1 < ... < S_k), where l tied ones are in order with probability 1/l!."""
    right = compared = 0.0
    for chosen, weight in sets_of(y, w):
        compared += weight
        if np.all(np.diff(s[chosen]) >= 0):
            runs = np.unique(s[chosen], return_counts=True)[1]
            right += weight / np.prod([factorial(run) for run in runs])
    return right / compared


def unordered_by_definition(y, merit, w):
    """All k! assignments of every set; each of l best ones counts 1/l."""
    right = compared = 0.0
    for chosen, weight in sets_of(y, w):
        compared += weight
        sums = [merit[chosen, list(classes)].sum() for classes in permutations(range(len(chosen)))]
        best = np.abs(sums - np.max(sums)) < 1e-9
        right += weight * best[0] / np.count_nonzero(best)
    return right / compared


def distances(p):
    return -np.sqrt(((p[:, None, :] - np.eye(p.shape[1])) ** 2).sum(axis=2))


def assert_derivatives(value_and_influences, w):
    _, influences = value_and_influences(w)
    step = 1e-5
    for sample in range(len(w)):
        up, down = (value_and_influences(w + e * np.eye(len(w))[sample])[0] for e in (step, -step))
        assert influences[sample] == pytest.approx(w[sample] * (up - down) / (2 * step), abs=1e-8)


@given(problem=problems())
def test_ordered_is_its_definition(problem):
    y, s, w = problem
    score = s[:, 0]
    assert hum(y, score, ordered=True).value == pytest.approx(
        ordered_by_definition(y, score, np.ones(len(y))), abs=1e-13
    )
    for given_score in (score, score[:, None]):
        found = hum(y, given_score, ordered=True, sample_weight=w)
        assert found.value == pytest.approx(ordered_by_definition(y, score, w), abs=1e-13)
        assert found.n_draws is None
        assert found.simulation_interval is None


@given(problem=problems())
def test_ordered_influences_are_the_derivatives_by_the_weights(problem):
    y, s, w = problem

    def found(weight):
        predictions = as_ordered_predictions(y, s[:, 0], labels=None, sample_weight=weight)
        value, influences = ordered_volume(predictions)
        assert np.abs(np.bincount(y, influences)).max() < 1e-13
        return value, influences

    assert_derivatives(found, w)


@given(problem=problems(4))
def test_unordered_is_its_definition(problem):
    y, s, w = problem
    found = hum(y, s, criterion="sum", sample_weight=w)
    assert found.value == pytest.approx(unordered_by_definition(y, s, w), abs=1e-13)
    p = (s + 0.1) / (s + 0.1).sum(axis=1, keepdims=True)
    found = hum(y, p)
    assert found.value == pytest.approx(unordered_by_definition(y, distances(p), np.ones(len(y))), abs=1e-13)
    assert found.n_draws is None


@given(problem=problems(4))
def test_unordered_influences_are_the_derivatives_by_the_weights(problem):
    y, s, w = problem
    assert_derivatives(lambda weight: Assignments(as_predictions(y, s, sample_weight=weight), "sum").enumerated(), w)


def normal_scores(counts, rng, shift=1.0, decimals=9):
    k = len(counts)
    y = np.repeat(np.arange(k), counts)
    return y, (rng.normal(size=(len(y), k)) + shift * np.eye(k)[y]).round(decimals)


def jackknife_error(y, s, **options):
    variance = 0.0
    for c in np.unique(y):
        members = np.flatnonzero(y == c)
        left_out = [hum(np.delete(y, m), np.delete(s, m, axis=0), **options).value for m in members]
        variance += (len(members) - 1) * np.var(left_out)
    return np.sqrt(variance)


@pytest.mark.parametrize("decimals", [9, 0])
def test_standard_errors_agree_with_the_jackknife(decimals):
    y, s = normal_scores([8, 10, 9], np.random.default_rng(4), decimals=decimals)
    # A U-statistic is linear in each class, so that leaving out one sample gives its structural component.
    found = hum(y, s, criterion="sum")
    assert found.standard_error == pytest.approx(jackknife_error(y, s, criterion="sum"), rel=1e-9)
    score = s[:, 0] + y
    found = hum(y, score, ordered=True)
    assert found.standard_error == pytest.approx(jackknife_error(y, score, ordered=True), rel=1e-9)


def test_volume_of_normal_distributions():
    """Three normal classes: VUS is the integral of P(S_1 < x) P(S_3 > x) over the density of S_2."""
    x = np.linspace(-12, 14, 20_001)
    density = np.exp(-((x - 1) ** 2) / 2) / np.sqrt(2 * np.pi)
    expected = float(np.sum(ndtr(x / 1.5) * density * (1 - ndtr((x - 2.2) / 0.8))) * (x[1] - x[0]))
    rng, found = np.random.default_rng(0), []
    y = np.repeat([0, 1, 2], [60, 40, 50])
    for _ in range(300):
        score = rng.normal(np.array([0, 1, 2.2])[y], np.array([1.5, 1, 0.8])[y])
        found.append(hum(y, score, ordered=True))
    values = np.array([one.value for one in found])
    assert values.mean() == pytest.approx(expected, abs=4 * values.std() / np.sqrt(len(values)))
    assert np.mean([one.standard_error for one in found]) == pytest.approx(values.std(ddof=1), rel=0.12)


def test_mcca_gives_the_same_for_iris():
    """Fitted without penalty, as nnet's multinom; R code of mcca's README and what it prints:

    hum(y = iris[, 5], d = iris[, 1:4], method = "multinom", k = 3)
    ##[1] 0.9972
    """
    datasets = pytest.importorskip("sklearn.datasets")
    linear_model = pytest.importorskip("sklearn.linear_model")
    x, y = datasets.load_iris(return_X_y=True)
    model = linear_model.LogisticRegression(C=1e6, max_iter=10_000, tol=1e-8, solver="newton-cg")
    found = hum(y, model.fit(x, y).predict_proba(x))
    # mcca prints four significant digits; there are 125,000 sets.
    assert found.value == pytest.approx(0.9972, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_scores_without_order_give_one_of_k_factorial_and_separated_ones_1(k):
    y = np.arange(k + 1) % k
    w = np.random.default_rng(0).random(k + 1) + 0.1
    for weight in (None, w):
        options = {"sample_weight": weight}
        assert hum(y, np.full(k + 1, 0.3), ordered=True, **options).value == pytest.approx(1 / factorial(k), rel=1e-12)
        assert hum(y, np.full((k + 1, k), 1 / k), **options).value == pytest.approx(1 / factorial(k), rel=1e-12)
        assert hum(y, y, ordered=True, **options).value == 1
        assert hum(y, -y, ordered=True, **options).value == 0
        perfect = hum(y, np.eye(k)[y], **options)
        assert (perfect.value, perfect.standard_error) == (1, 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_the_ordinary_auc(weighted):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    p = ((2 * rng.random(200) + y) / 3).round(1)
    w = rng.random(200) + 0.1 if weighted else None
    expected = hand_till(y, p, sample_weight=w)
    for s in (p, p[:, None], np.column_stack([1 - p, p])):
        assert hum(y, s, sample_weight=w).value == pytest.approx(expected, abs=1e-13)
    assert hum(y, p, ordered=True, sample_weight=w).value == pytest.approx(expected, abs=1e-13)


class TestSimulation:
    """What is drawn against all sets."""

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("decimals", [9, 0])
    def test_it_agrees_with_all_sets(self, monkeypatch, weighted, decimals):
        rng = np.random.default_rng(1)
        y, s = normal_scores([9, 7, 8, 6], rng, decimals=decimals)
        options = {"criterion": "sum", "sample_weight": rng.gamma(1, size=len(y)) if weighted else None}
        exact = hum(y, s, **options)
        monkeypatch.setattr("polyroc.baselines._hum.MOST_STEPS", 0)
        found = hum(y, s, n_draws=200_000, confidence_level=0.9999, rng=3, **options)
        assert found.n_draws == 200_000
        low, high = found.simulation_interval
        assert low < exact.value < high
        assert 0 < high - low < 0.01
        assert found.standard_error == pytest.approx(exact.standard_error, rel=0.05)

    def test_it_is_used_for_many_sets_and_repeats_by_its_seed(self):
        y, s = normal_scores([40, 40, 40, 40], np.random.default_rng(1))
        one, two = (hum(y, s, criterion="sum", n_draws=500, rng=7) for _ in range(2))
        assert one.value == two.value
        assert one.n_draws == 500
        assert one.simulation_interval.low < one.value < one.simulation_interval.high
        assert hum(y, s, criterion="sum", n_draws=500, rng=8).value != one.value
        assert one.to_dict()["simulation_interval"] == {
            "low": one.simulation_interval.low,
            "high": one.simulation_interval.high,
        }

    def test_cutting_the_sets_into_blocks_changes_nothing(self, monkeypatch):
        y, s = normal_scores([5, 6, 4], np.random.default_rng(1), decimals=1)
        whole = hum(y, s, criterion="sum")
        monkeypatch.setattr(unordered_engine, "_GAINS", 9)
        blocks = hum(y, s, criterion="sum")
        assert blocks.value == pytest.approx(whole.value, abs=1e-15)
        assert blocks.standard_error == pytest.approx(whole.standard_error, rel=1e-12)


def test_order_is_that_of_labels_and_of_categories():
    y, score = np.array(["low", "mid", "high", "mid"]), np.array([1.0, 2.0, 3.0, 4.0])
    assert hum(y, score, ordered=True, labels=["low", "mid", "high"]).value == 0.5
    # In alphabetical order "high" comes first.
    assert hum(y, score, ordered=True).value == 0
    pandas = pytest.importorskip("pandas")
    categorical = pandas.Categorical(y, categories=["low", "mid", "high"], ordered=True)
    found = hum(pandas.Series(categorical), score, ordered=True)
    assert found.value == 0.5
    assert found.labels.tolist() == ["low", "mid", "high"]


def test_increasing_maps_of_one_score_change_nothing():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 60)
    score = (rng.normal(size=60) + y).round(1)
    plain, mapped = hum(y, score, ordered=True), hum(y, np.exp(score) ** 3, ordered=True)
    assert (plain.value, plain.standard_error) == (mapped.value, mapped.standard_error)
    # Turned round, with the classes in the other order.
    assert hum(y, -score, ordered=True, labels=[3, 2, 1, 0]).value == pytest.approx(plain.value, abs=1e-14)


def test_adding_to_rows_and_one_scale_do_not_matter_for_sums():
    rng = np.random.default_rng(6)
    y, s = normal_scores([6, 5, 7], rng)
    moved = 3 * s + rng.normal(size=(len(y), 1))
    assert hum(y, moved, criterion="sum").value == pytest.approx(hum(y, s, criterion="sum").value, abs=1e-14)


def test_extreme_scores_and_weights_raise_no_flag():
    y, s = normal_scores([4, 3, 5], np.random.default_rng(2))
    weight = np.where(np.arange(len(y)) % 4 == 1, 1e-300, 1e20)
    s /= np.abs(s).max()
    expected = hum(y, s, criterion="sum"), hum(y, s[:, 0], ordered=True)
    with np.errstate(all="raise"):
        for scale in (1e308, 1e-300):
            assert hum(y, s * scale, criterion="sum").value == pytest.approx(expected[0].value, abs=1e-14)
            assert hum(y, s[:, 0] * scale, ordered=True).value == expected[1].value
        kept = weight > 1
        for options in ({"criterion": "sum"}, {"ordered": True}):
            given_score = s[:, 0] if "ordered" in options else s
            found = hum(y, given_score, sample_weight=weight, **options)
            assert found.value == pytest.approx(hum(y[kept], given_score[kept], **options).value, abs=1e-14)
            assert np.isfinite(found.standard_error)


def test_a_class_without_samples_is_left_out():
    y, s = normal_scores([5, 6, 7], np.random.default_rng(1))
    wider = np.insert(s, 1, 0.0, axis=1)
    with pytest.warns(UserWarning, match="labels="):
        found = hum(np.array([0, 2, 3])[y], wider, criterion="sum", labels=[0, 1, 2, 3])
    assert found.value == hum(y, s, criterion="sum").value
    with pytest.warns(UserWarning, match="labels="):
        found = hum(np.array([0, 2, 3])[y], s[:, 0], ordered=True, labels=[0, 1, 2, 3])
    assert found.value == hum(y, s[:, 0], ordered=True).value


def test_the_record():
    found = hum(["b", "a", "c"], [2.0, 1.0, 3.0], ordered=True)
    assert isinstance(found, Hum)
    assert float(found) == 1
    assert found.to_dict() == {
        "value": 1.0,
        "standard_error": 0.0,
        "labels": ["a", "b", "c"],
        "n_draws": None,
        "simulation_interval": None,
    }


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1, 2], np.eye(3)), {"ordered": True}, r"`y_score` must have shape \(n_samples,\) .* got \(3, 3\)"),
        (([0, 1, 2], np.eye(3)), {"ordered": "yes"}, "`ordered` must be True or False, got 'yes'"),
        (([0, 1, 2], [0.1, np.nan, 0.2]), {"ordered": True}, "`y_score` must be finite"),
        (([0, 1, 2], [0.1, 0.2]), {"ordered": True}, "`y_score` must have one row per label"),
        (([0, 0, 0], [0.1, 0.2, 0.3]), {"ordered": True}, "`y_true` must"),
        (([0, 1, 3], [0.1, 0.2, 0.3]), {"ordered": True, "labels": [0, 1, 2]}, "`y_true` must hold only classes"),
        (([0, 1, 2], np.eye(3)), {"criterion": "likelihood"}, "`criterion` must be one of 'distance', 'sum'"),
        (([0, 1, 2], 3 * np.eye(3)), {}, "`criterion` must be 'sum' if the rows .* not probabilities"),
        (([0, 1, 2], np.eye(3)), {"n_draws": 1}, "`n_draws` must be an integer from 2 to 100,000,000, got 1"),
        (([0, 1, 2], np.eye(3)), {"confidence_level": 1}, "`confidence_level` must be between 0 and 1"),
        (([0, 1, 2], np.eye(3)), {"rng": -1}, "`rng` must be"),
        ((np.arange(13), np.eye(13)), {}, "`y_true` must have samples of at most 12 classes .* got 13"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        hum(*arguments, **options)
