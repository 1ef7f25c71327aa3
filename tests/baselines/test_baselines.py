"""Hand and Till, one-vs-rest and AUCmu against their definitions, scikit-learn, and what must not matter."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyroc.baselines import auc_mu, hand_till, one_vs_rest


def one_vs_rest_weighted(y_true, y_score, **options):
    return one_vs_rest(y_true, y_score, average="weighted", **options)


BASELINES = [hand_till, one_vs_rest, one_vs_rest_weighted, auc_mu]
every_baseline = pytest.mark.parametrize("baseline", BASELINES)


@st.composite
def problems(draw):
    """True classes, scores and whole weights: every class occurs, some once, some columns are constant.

    The scores are whole multiples of 1/8, so that sums and differences of them are exact.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(3, 5))
    counts = draw(st.lists(st.integers(1, 8), min_size=k, max_size=k))
    y_true = rng.permutation(np.repeat(np.arange(k), counts))
    spread = draw(st.sampled_from([2, 8, 1000]))
    y_score = (rng.integers(-spread, spread, (len(y_true), k)) + spread // 2 * np.eye(k)[y_true]) / 8
    if draw(st.booleans()):
        y_score[:, -1] = 0.25
    return y_true, y_score.astype(draw(st.sampled_from([np.float32, np.float64]))), rng.integers(1, 5, len(y_true))


def area(positive, negative, w_positive=None, w_negative=None):
    """Mann-Whitney area from all comparisons."""
    w_positive = np.ones(len(positive)) if w_positive is None else w_positive
    w_negative = np.ones(len(negative)) if w_negative is None else w_negative
    won = (np.sign(positive[:, None] - negative) + 1) / 2
    return w_positive @ won @ w_negative / w_positive.sum() / w_negative.sum()


def hand_till_by_definition(y, s, w):
    def a(i, j):
        return area(s[y == i, i], s[y == j, i], w[y == i], w[y == j])

    return np.mean([(a(i, j) + a(j, i)) / 2 for i, j in combinations(np.unique(y), 2)])


def one_vs_rest_by_definition(y, s, w):
    return np.mean([area(s[y == i, i], s[y != i, i], w[y == i], w[y != i]) for i in np.unique(y)])


def one_vs_rest_weighted_by_definition(y, s, w):
    share = [w[y == i].sum() for i in np.unique(y)]
    areas = [area(s[y == i, i], s[y != i, i], w[y == i], w[y != i]) for i in np.unique(y)]
    return np.dot(share, areas) / np.sum(share)


def auc_mu_by_loops(y, s, w, partition=None):
    """Kleiman and Page's O over all pairs of samples: v = A[i] - A[j], one-hot truths, a product of two signs."""
    k = s.shape[1]
    truth = np.eye(k)
    partition = 1 - truth if partition is None else np.asarray(partition, dtype=float)
    total = 0.0
    for i, j in combinations(range(k), 2):
        v = partition[i] - partition[j]
        won = compared = 0.0
        for a in np.flatnonzero(y == i):
            for b in np.flatnonzero(y == j):
                agreement = ((truth[i] - truth[j]) @ v) * ((s[a].astype(float) - s[b]) @ v)
                won += w[a] * w[b] * (1.0 if agreement > 0 else 0.5 if agreement == 0 else 0.0)
                compared += w[a] * w[b]
        total += won / compared
    return 2 * total / (k * (k - 1))


DEFINITIONS = [
    hand_till_by_definition,
    one_vs_rest_by_definition,
    one_vs_rest_weighted_by_definition,
    auc_mu_by_loops,
]


@pytest.mark.parametrize(("baseline", "definition"), list(zip(BASELINES, DEFINITIONS, strict=True)))
@given(problem=problems())
def test_each_is_its_definition(baseline, definition, problem):
    y, s, w = problem
    assert baseline(y, s) == pytest.approx(definition(y, s, np.ones(len(y))), abs=1e-12)
    assert baseline(y, s, sample_weight=w) == pytest.approx(definition(y, s, w), abs=1e-12)


@every_baseline
@given(problem=problems())
def test_whole_weights_are_repetitions(baseline, problem):
    y, s, w = problem
    repeated = baseline(np.repeat(y, w), np.repeat(s, w, axis=0))
    assert baseline(y, s, sample_weight=w) == pytest.approx(repeated, abs=1e-12)
    assert baseline(y, s, sample_weight=w / 1e3) == pytest.approx(repeated, abs=1e-12)


@every_baseline
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_order_of_samples_and_of_classes_does_not_matter(baseline, problem, seed):
    y, s, w = problem
    rng = np.random.default_rng(seed)
    order, new = rng.permutation(len(y)), rng.permutation(s.shape[1])
    moved = np.empty_like(s)
    moved[:, new] = s
    value = baseline(new[y][order], moved[order], sample_weight=w[order])
    assert value == pytest.approx(baseline(y, s, sample_weight=w), abs=1e-12)


@every_baseline
@given(problem=problems())
def test_negated_scores_give_one_minus_the_value(baseline, problem):
    y, s, w = problem
    assert baseline(y, -s, sample_weight=w) == pytest.approx(1 - baseline(y, s, sample_weight=w), abs=1e-12)


@pytest.mark.parametrize("baseline", [hand_till, one_vs_rest, one_vs_rest_weighted])
@given(problem=problems())
def test_increasing_maps_of_single_columns_change_nothing(baseline, problem):
    y, s, _ = problem
    mapped = np.column_stack([10.0**c * (column.astype(float) + 1) ** 3 for c, column in enumerate(s.T)])
    assert baseline(y, mapped) == pytest.approx(baseline(y, s), abs=1e-14)


@given(problem=problems())
def test_auc_mu_is_unchanged_by_one_affine_map_of_all_scores(problem):
    y, s, _ = problem
    assert auc_mu(y, 4 * s.astype(float) + 1) == pytest.approx(auc_mu(y, s), abs=1e-14)


def test_auc_mu_depends_on_the_scale_of_a_column():
    # Ranked by p[0] - p[1] class 0 lies at 1 and -1, class 1 at -0.5; with the second column tenfold at -8, -10 and -5.
    y, s = [0, 0, 1, 2], [[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]]
    assert auc_mu(y, s) != pytest.approx(auc_mu(y, np.array(s) * [1, 10, 1]))


@every_baseline
def test_scores_without_order_give_one_half_and_separated_ones_the_ends(baseline):
    y = np.array([0, 1, 1, 2, 2, 2])
    assert baseline(y, np.full((6, 3), 0.3)) == 0.5
    assert baseline(y, np.eye(3)[y]) == 1
    assert baseline(y, -np.eye(3)[y]) == 0


def scored(n=2_000, decimals=2):
    rng = np.random.default_rng(8)
    y = rng.choice(5, n, p=[0.5, 0.3, 0.1, 0.09, 0.01])
    s = np.exp(rng.normal(size=(n, 5)) + 1.5 * np.eye(5)[y]).round(decimals)
    return y, s / s.sum(axis=1, keepdims=True), rng.gamma(0.5, size=n)


@pytest.mark.parametrize("decimals", [1, 12])
def test_scikit_learn_gives_the_same(decimals):
    metrics = pytest.importorskip("sklearn.metrics")
    y, s, w = scored(decimals=decimals)
    auc = metrics.roc_auc_score
    assert hand_till(y, s) == pytest.approx(auc(y, s, multi_class="ovo"), abs=1e-12)
    for average in ("macro", "weighted"):
        options = {"average": average, "sample_weight": w}
        assert one_vs_rest(y, s, average=average) == pytest.approx(
            auc(y, s, multi_class="ovr", average=average), abs=1e-12
        )
        assert one_vs_rest(y, s, **options) == pytest.approx(auc(y, s, multi_class="ovr", **options), abs=1e-12)
    expected = []
    for i, j in combinations(range(5), 2):
        of_pair = (y == i) | (y == j)
        ranked = (s[:, i] - s[:, j])[of_pair]
        expected.append(auc(y[of_pair] == i, ranked, sample_weight=w[of_pair]))
    assert auc_mu(y, s, sample_weight=w) == pytest.approx(np.mean(expected), abs=1e-12)


@every_baseline
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_the_ordinary_auc(baseline, weighted):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    p = ((2 * rng.random(200) + y) / 3).round(1)
    w = rng.random(200) + 0.1 if weighted else np.ones(200)
    expected = area(p[y == 1], p[y == 0], w[y == 1], w[y == 0])
    assert 0.6 < expected < 0.99
    for s in (p, p[:, None], np.column_stack([1 - p, p])):
        assert baseline(y, s, sample_weight=w) == pytest.approx(expected, abs=1e-12)


@every_baseline
def test_a_class_without_samples_is_left_out(baseline):
    y, s, _ = scored(300)
    y[y == 4] = 3
    with pytest.warns(UserWarning, match="labels="):
        value = baseline(y, s)
    assert value == pytest.approx(baseline(y, s[:, :4]), abs=1e-12)


@every_baseline
def test_labels_name_the_columns(baseline):
    y, s, _ = scored(300)
    names = np.array(["e", "d", "c", "b", "a"])
    assert baseline(names[y], s, labels=names) == baseline(y, s)


class TestAucMuMatrices:
    @given(problem=problems(), seed=st.integers(0, 2**32 - 1))
    def test_partition_is_the_definition(self, problem, seed):
        y, s, w = problem
        k = s.shape[1]
        partition = np.random.default_rng(seed).integers(1, 9, (k, k)) * (1 - np.eye(k))
        value = auc_mu(y, s, partition=partition, sample_weight=w)
        assert value == pytest.approx(auc_mu_by_loops(y, s, w, partition), abs=1e-12)
        # Costs are the same matrix with true classes in the rows, and any diagonal.
        costs = partition.T + np.diag(np.full(k, np.nan))
        assert auc_mu(y, s, costs=costs, sample_weight=w) == value

    def test_what_is_common_to_a_column_or_to_all_does_not_matter(self):
        y, s, _ = scored(300)
        partition = 1 - np.eye(5) + np.arange(5)
        assert auc_mu(y, s, partition=4 * partition) == auc_mu(y, s)

    def test_rows_of_a_partition_are_the_classes_called(self):
        # A[2, 0] = 3: calling a true 0 a 2. Ranked by 3 p[0] - p[2], classes 0 and 2 are separated.
        y, s = [0, 0, 1, 2], [[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]]
        partition = np.array([[0, 1, 1], [1, 0, 1], [3, 1, 0]])
        assert auc_mu(y, s, partition=partition) == 1
        assert auc_mu(y, s, partition=partition.T) == pytest.approx(5 / 6)
        assert auc_mu(y, s, costs=partition.T) == 1

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"partition": np.ones((2, 2))}, r"`partition` must have shape \(3, 3\).*got \(2, 2\)"),
            ({"costs": np.ones(3)}, r"`costs` must have shape \(3, 3\).*got \(3,\)"),
            ({"partition": [["a"]]}, "`partition` must hold real numbers, got text"),
            ({"partition": np.diag([0, np.nan, 0])}, r"`partition` must be finite, got nan in row 1, column 1"),
            ({"partition": np.ones((3, 3))}, "`partition` must be such that .* row 0, column 1"),
            ({"partition": np.eye(3)}, "`partition` must be such that .* row 0, column 1"),
            ({"costs": [[0, 1, 1], [1, 0, 0], [1, 1, 0]]}, "`costs` must be .*positive .* got 0.0 in row 1, column 2"),
            ({"costs": [[0, 1, 1], [1, 0, 1], [np.inf, 1, 0]]}, "`costs` must be finite .* got inf in row 2, column 0"),
            ({"costs": np.ma.ones((3, 3))}, "`costs` must not be a masked array"),
            ({"partition": np.ones((3, 3), dtype=complex)}, "`partition` must hold real numbers, got complex"),
            (
                {"costs": np.ones((3, 3)), "partition": 1 - np.eye(3)},
                "`partition` must be None where `costs` is given, got both",
            ),
        ],
    )
    def test_refusals_name_the_argument_the_rule_and_what_came(self, options, message):
        with pytest.raises(ValueError, match=message):
            auc_mu([0, 1, 2], np.eye(3), **options)

    def test_matrices_may_be_frames_named_after_the_classes(self):
        pandas = pytest.importorskip("pandas")
        y, s, _ = scored(300)
        costs = np.arange(1.0, 26).reshape(5, 5)
        names = np.array(list("abcde"))
        frame = pandas.DataFrame(costs, index=list("abcde"), columns=list("abcde"))
        assert auc_mu(names[y], s, costs=frame) == auc_mu(y, s, costs=costs)
        assert auc_mu(names[y], s, costs=frame[list("bacde")]) == auc_mu(y, s, costs=costs)
        for argument in ("costs", "partition"):
            with pytest.raises(ValueError, match=f"`{argument}` must have its columns in the order of the classes"):
                auc_mu(names[y], s, **{argument: frame[list("bacde")].reset_index(drop=True)})

    @pytest.mark.parametrize("scale", [2.0**1000, 2.0**-1000])
    def test_neither_huge_nor_tiny_numbers_change_anything(self, scale):
        y, s, _ = scored(300)
        costs = np.arange(1.0, 26).reshape(5, 5)
        partition = costs.T - np.diag(np.diag(costs)) - 100
        for factor in (1, scale):
            assert auc_mu(y, s * factor) == auc_mu(y, s)
            assert auc_mu(y, s * factor, costs=costs * scale) == auc_mu(y, s, costs=costs)
            assert auc_mu(y, s * factor, partition=partition * scale) == auc_mu(y, s, partition=partition)

    def test_numbers_near_the_largest_do_not_overflow(self):
        y, s, _ = scored(300)
        costs = np.arange(1.0, 26).reshape(5, 5) / 25
        expected = auc_mu(y, s - 0.5, costs=costs)
        assert auc_mu(y, s - 0.5, costs=1.7e308 * costs) == pytest.approx(expected, abs=1e-6)
        assert auc_mu(y, 1.7e308 * (2 * s - 1), costs=25 * costs) == pytest.approx(expected, abs=1e-6)


def test_an_unknown_average_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="`average` must be one of 'macro', 'weighted', got 'micro'"):
        one_vs_rest([0, 1, 2], np.eye(3), average="micro")


class Called:
    """Not text, though it reads like it."""

    def __str__(self):
        return "macro"


@pytest.mark.parametrize("average", ["a" * 10_000, Called(), None, ["macro"]])
def test_an_average_is_one_of_two_words_and_what_came_is_cut_short(average):
    with pytest.raises(ValueError, match="`average` must be one of 'macro', 'weighted', got ") as caught:
        one_vs_rest([0, 1, 2], np.eye(3), average=average)
    assert len(str(caught.value)) < 120
