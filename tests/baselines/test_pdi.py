"""PDI against loops over its definition, R's mcca, derivatives by weights and the jackknife."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyroc.baselines._pdi as reference
from polyroc._core import Resources, get_engine
from polyroc._inputs.predictions import as_predictions
from polyroc.baselines import Pdi, pdi
from polyroc.baselines._pdi import pdi_functional


@st.composite
def problems(draw):
    """True classes, scores and weights of few samples, with ties of several classes, or with none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(3, 5))
    counts = draw(st.lists(st.integers(1, 4), min_size=k, max_size=k))
    y = rng.permutation(np.repeat(np.arange(k), counts))
    levels = draw(st.sampled_from([1, 2, 4, 1000]))
    s = rng.integers(0, levels, (len(y), k)) + levels // 3 * np.eye(k)[y]
    return y, s.astype(draw(st.sampled_from([np.float32, np.float64]))), rng.integers(1, 5, len(y))


def pdi_by_definition(y, s, w):
    """Every set of one sample per class: who is highest in column i, each of l equal ones counting 1/l."""
    classes = np.unique(y)
    won, compared = np.zeros(len(classes)), 0.0
    for chosen in product(*(np.flatnonzero(y == c) for c in classes)):
        weight = np.prod(w[list(chosen)].astype(float))
        compared += weight
        for place, i in enumerate(classes):
            column = s[list(chosen), i]
            if column[place] == column.max():
                won[place] += weight / np.count_nonzero(column == column.max())
    return won / compared


def functional(y, s, w=None, engine="numpy", n_jobs=1):
    predictions = as_predictions(y, s, sample_weight=w)
    return pdi_functional(get_engine(engine, predictions).prepare(predictions, Resources(n_jobs)))


@given(problem=problems())
def test_it_is_its_definition(problem):
    y, s, w = problem
    for weight in (np.ones(len(y)), w):
        expected = pdi_by_definition(y, s, weight)
        found = pdi(y, s, sample_weight=weight)
        np.testing.assert_allclose(found.per_class, expected, atol=1e-13)
        assert found.value == pytest.approx(expected.mean(), abs=1e-13)
    np.testing.assert_allclose(pdi(y, s).per_class, pdi_by_definition(y, s, np.ones(len(y))), atol=1e-13)


@given(problem=problems())
def test_influences_are_the_derivatives_by_the_weights(problem):
    y, s, w = problem
    w = w.astype(float)
    value, influences = functional(y, s, w)
    assert value == pytest.approx(pdi(y, s, sample_weight=w).value, abs=1e-15)
    assert np.abs(np.bincount(y, influences)).max() < 1e-14
    step = 1e-5
    for sample in range(len(y)):
        up, down = (pdi(y, s, sample_weight=w + e * np.eye(len(y))[sample]).value for e in (step, -step))
        assert influences[sample] == pytest.approx(w[sample] * (up - down) / (2 * step), abs=1e-8)


@given(problem=problems())
def test_cutting_columns_into_blocks_changes_nothing(problem):
    y, s, w = problem
    whole = functional(y, s, w)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "_CELLS", 2)
        blocks = functional(y, s, w)
    assert whole[0] == pytest.approx(blocks[0], abs=1e-15)
    np.testing.assert_allclose(whole[1], blocks[1], atol=1e-15)


def normal_scores(n_per_class, k, rng, shift=1.0, decimals=None):
    y = np.repeat(np.arange(k), n_per_class)
    s = rng.normal(size=(len(y), k)) + shift * np.eye(k)[y]
    return y, s if decimals is None else s.round(decimals)


@pytest.mark.parametrize("decimals", [None, 0])
def test_standard_error_agrees_with_the_jackknife(decimals):
    y, s = normal_scores([20, 30, 25], 3, np.random.default_rng(4), decimals=decimals)
    variance = 0.0
    for c in range(3):
        members = np.flatnonzero(y == c)
        left_out = [pdi(np.delete(y, m), np.delete(s, m, axis=0)).value for m in members]
        variance += (len(members) - 1) * np.var(left_out)
    # A U-statistic is linear in each class, so that leaving out one sample gives its structural component.
    assert pdi(y, s).standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)


@pytest.mark.slow
def test_standard_error_is_that_of_new_samples():
    rng = np.random.default_rng(5)
    found = [pdi(*normal_scores(40, 4, rng)) for _ in range(400)]
    spread = np.std([one.value for one in found], ddof=1)
    assert np.mean([one.standard_error for one in found]) == pytest.approx(spread, rel=0.1)


def test_mcca_gives_the_same_for_iris():
    """Fitted without penalty, as nnet's multinom; R code of mcca 0.7.0 and what it prints:

    pdi(y = iris[, 5], d = iris$Petal.Length, method = "multinom", k = 3)
    ## overall 0.9881333; per class 1, 0.9822, 0.9822
    """
    datasets = pytest.importorskip("sklearn.datasets")
    linear_model = pytest.importorskip("sklearn.linear_model")
    iris = datasets.load_iris()
    x = iris.data[:, 2:3]
    fitted = linear_model.LogisticRegression(C=1e6, max_iter=10_000, tol=1e-8).fit(x, iris.target)
    found = pdi(iris.target, fitted.predict_proba(x))
    np.testing.assert_allclose(found.per_class, [1, 0.9822, 0.9822], atol=1e-12)
    assert found.value == pytest.approx(0.9881333, abs=5e-8)


@pytest.mark.parametrize("k", [2, 3, 10, 300])
def test_scores_without_order_give_one_of_k_and_separated_ones_the_ends(k):
    y = np.arange(2 * k) % k
    assert pdi(y, np.full((2 * k, k), 0.3)).value == pytest.approx(1 / k, rel=1e-12)
    perfect = pdi(y, np.eye(k)[y], sample_weight=np.random.default_rng(0).random(2 * k))
    assert perfect.value == 1
    assert perfect.standard_error == 0
    assert pdi(y, -np.eye(k)[y]).value == 0


@pytest.mark.slow
def test_many_classes_tied_at_the_top_share_what_is_won():
    # All samples but that of the last class are at the top of every column.
    k = 700
    s = np.ones((k, k))
    s[-1] = 0
    expected = np.append(np.full(k - 1, 1 / (k - 1)), 0)
    np.testing.assert_allclose(pdi(np.arange(k), s).per_class, expected, atol=1e-14)


@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_order_of_samples_and_increasing_maps_of_columns_change_nothing(problem, seed):
    y, s, w = problem
    rng = np.random.default_rng(seed)
    order, new = rng.permutation(len(y)), rng.permutation(s.shape[1])
    moved = np.empty(s.shape)
    moved[:, new] = np.column_stack([10.0**c * (column.astype(float) + 1) ** 3 for c, column in enumerate(s.T)])
    value, influences = functional(y, s, w)
    moved_value, moved_influences = functional(new[y][order], moved[order], w[order])
    assert moved_value == pytest.approx(value, abs=1e-13)
    np.testing.assert_allclose(moved_influences, influences[order], atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_the_ordinary_auc_with_delongs_error(weighted):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    p = ((2 * rng.random(200) + y) / 3).round(1)
    w = rng.integers(1, 4, 200) if weighted else np.ones(200, dtype=int)
    wins = (np.sign(p[y == 1][:, None] - p[y == 0]) + 1) / 2
    w_1, w_0 = w[y == 1] / w[y == 1].sum(), w[y == 0] / w[y == 0].sum()
    auc = w_1 @ wins @ w_0
    # DeLong, DeLong and Clarke-Pearson (1988): the components of both classes.
    components = [w_1 * (wins @ w_0 - auc), w_0 * (w_1 @ wins - auc)]
    variance = sum(len(one) * np.var(one, ddof=1) for one in components)
    for s in (p, p[:, None], np.column_stack([1 - p, p])):
        found = pdi(y, s, sample_weight=w if weighted else None)
        assert found.value == pytest.approx(auc, abs=1e-13)
        assert found.per_class.tolist() == [found.value, found.value]
        assert found.standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)


@pytest.mark.parametrize("decimals", [None, 0])
def test_extreme_scores_and_weights_raise_no_flag(decimals):
    y, s = normal_scores([4, 3, 5], 3, np.random.default_rng(2), decimals=decimals)
    s = s / np.abs(s).max()
    weight = np.where(np.arange(len(y)) % 4 == 1, 1e-300, 1e20)
    expected, kept = pdi(y, s), weight > 1
    with np.errstate(all="raise"):
        for scale in (1e308, 1e-300):
            found = pdi(y, s * scale)
            assert (found.value, found.standard_error) == (expected.value, expected.standard_error)
        found = pdi(y, s, sample_weight=weight)
        assert found.value == pytest.approx(pdi(y[kept], s[kept]).value, abs=1e-14)
        assert np.isfinite(found.standard_error)


def test_a_class_without_samples_is_left_out():
    y, s = normal_scores([5, 6, 7], 3, np.random.default_rng(1))
    wider = np.insert(s, 1, 9.0, axis=1)
    with pytest.warns(UserWarning, match="labels="):
        found = pdi(np.array([0, 2, 3])[y], wider, labels=[0, 1, 2, 3])
    assert found.value == pdi(y, s).value
    assert np.isnan(found.per_class[1])
    assert found.to_dict()["per_class"][1] is None
    # Two of three classes: two columns, each of which ranks both.
    y, s = y[y < 2], s[y < 2]
    with pytest.warns(UserWarning, match="labels="):
        found = pdi(y, s)
    np.testing.assert_allclose(found.per_class[:2], pdi_by_definition(y, s, np.ones(len(y))))


@pytest.mark.parametrize("decimals", [None, 1])
def test_threads_change_no_bit(decimals):
    y, s = normal_scores(30, 40, np.random.default_rng(3), decimals=decimals)
    one, two = (functional(y, s, n_jobs=n) for n in (1, 2))
    assert one[0] == two[0]
    assert np.array_equal(one[1], two[1])


def test_the_record():
    found = pdi(["b", "a", "c"], [[1, 2, 0], [3, 1, 0], [0, 1, 2]])
    assert isinstance(found, Pdi)
    assert float(found) == found.value == 1
    assert found.standard_error == 0
    assert found.to_dict() == {
        "value": 1.0,
        "per_class": [1.0, 1.0, 1.0],
        "standard_error": 0.0,
        "labels": ["a", "b", "c"],
    }
    with pytest.raises(ValueError, match="read-only"):
        found.per_class[0] = 0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1, 2], np.eye(3)[:2]), {}, "`y_score` must have one row per label"),
        (([0, 1, 2], [[0, 1, np.nan]] * 3), {}, "`y_score` must be finite"),
        (([0, 1, 2], np.eye(3)), {"sample_weight": [1, -1, 1]}, "`sample_weight` must be finite and not negative"),
        (([0, 1, 2], np.eye(3)), {"labels": [0, 1, 3]}, "`y_true` must hold only classes of `labels`"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        pdi(*arguments, **options)
