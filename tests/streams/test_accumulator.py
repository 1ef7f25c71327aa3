"""Counts of scores against samples in memory: the same numbers where bins are ties, and a known error elsewhere."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import coarsely, quietly, random_problem

import polyroc
from polyroc._counts import passes as reference
from polyroc._counts.bins import ScoreBins
from polyroc._counts.tally import ColumnCounter

SEEDS = st.integers(0, 2**32 - 1)


def snapped(problem):
    """Scores with few bits, so that every bin of the accumulator holds one distinct score."""
    scores = np.round(np.clip(problem.y_score, -1e4, 1e4) * 4) / 4
    return np.where(np.abs(scores) > 32, np.round(scores / 64) * 64, scores)


def accumulated(y_true, y_score, *, parts=1, sample_weight=None, rng=None, **arguments):
    accumulator = polyroc.RocAccumulator(arguments.pop("labels"), **arguments)
    place = np.arange(len(y_true)) if rng is None else rng.integers(0, parts, len(y_true))
    for part in np.unique(place) if rng is not None else [None]:
        chosen = slice(None) if part is None else place == part
        accumulator.update(y_true[chosen], y_score[chosen], None if sample_weight is None else sample_weight[chosen])
    return accumulator


def softmax(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def predictions(kind, n, k, seed):
    """Calibrated, over-confident, rounded and tiny probabilities."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, k, n)
    z = rng.normal(size=(n, k)) + 2 * np.eye(k)[y_true]
    p = softmax({"confident": z * 8, "tiny": z * 3 - 12 * (np.arange(k) > 0)}.get(kind, z))
    return y_true, np.round(p, 3) if kind == "tied" else p


def same_states(first, second):
    a, b = first.state_dict(), second.state_dict()
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype
        assert a[name].tobytes() == b[name].tobytes(), name


# Bins


@given(SEEDS, st.sampled_from(["probabilities", "free"]), st.integers(0, 12))
def test_bins_rise_with_the_scores_and_are_narrow(seed, kind, bits):
    rng, bins = np.random.default_rng(seed), ScoreBins(kind, bits)
    x = np.sort(rng.normal(size=300) * 10.0 ** rng.uniform(-30, 30, 300))
    if kind == "probabilities":
        x = np.sort(np.concatenate([[0.0, 0.5, 1.0], 1 / (1 + np.exp(-np.clip(x, -80, 36)))]))
    index = bins.index(x)
    assert np.all(np.diff(index) >= 0)
    assert index.min() >= 0
    assert index.max() < bins.n_bins
    # Scores of one bin differ by less than the last bit that it looks at, of p or of 1 - p.
    for one in np.unique(index):
        own = x[index == one]
        low, high = own.min(), own.max()
        size = min(max(abs(low), abs(high)), 1 - low if kind == "probabilities" else np.inf)
        assert high - low <= size * 2.0**-bits * (1 + 1e-6) + 1e-37


def test_every_float_of_single_precision_near_an_end_has_its_bin():
    bins = ScoreBins("probabilities", 6)
    close = 1 - np.array([0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3])
    assert len(set(bins.index(close).tolist())) == 6
    assert bins.index(np.array([0.0, 1.0])).tolist() == [0, bins.n_bins - 1]
    free = ScoreBins("free", 6)
    assert free.index(np.array([-0.0]))[0] == free.index(np.array([0.0]))[0]
    ends = free.index(np.array([-1e300, 1e300]))
    assert 0 <= ends[0] < ends[1] < free.n_bins


@pytest.mark.parametrize("kind", ["probabilities", "free"])
def test_wider_bins_are_two_neighbours(kind):
    bins = ScoreBins(kind, 6)
    index = np.arange(bins.n_bins)
    wider = bins.coarser(index)
    assert np.all(np.diff(wider) >= 0)
    assert np.bincount(wider).max() == 2
    # Mirrored: what is one bin on the one side is one bin on the other.
    assert np.array_equal(np.flatnonzero(np.diff(wider)), np.sort(bins.n_bins - 2 - np.flatnonzero(np.diff(wider))))


@given(SEEDS, st.sampled_from(["probabilities", "free"]), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_compiled_counts_are_those_of_the_reference(seed, kind, dtype, weighted):
    compiled = pytest.importorskip("polyroc._counts.compiled")
    rng, bins = np.random.default_rng(seed), ScoreBins(kind, 7)
    x = rng.normal(size=2000) * 10.0 ** rng.uniform(-8, 8, 2000)
    x[:4] = [0.0, -0.0, 1e-40, -1e-40]
    if kind == "probabilities":
        x = np.concatenate([1 / (1 + np.exp(-np.clip(x, -300, 300))), [0.0, 1.0, 0.5, -1e-7, 1 + 1e-7]])
    x = x.astype(dtype)
    codes = rng.integers(0, 3, len(x)).astype(np.int32)
    weight = rng.exponential(size=len(x)) if weighted else None
    found = []
    for passes in (reference, compiled):
        counter = ColumnCounter(bins.n_bins, 3)
        if weighted:
            counter.take_weights()
        passes.count(counter, bins, x, codes, weight)
        counts = counter.counts()
        table = np.arange(counts.weight.size * 2, dtype=float).reshape(*counts.weight.shape, 2)
        slots = np.full(bins.n_bins, -1, dtype=np.int32)
        slots[counts.bins] = np.arange(len(counts.bins))
        looked_up = np.zeros((len(x), 2))
        assert passes.look_up(slots, table, bins, x, codes, looked_up)
        assert not passes.look_up(np.full_like(slots, -1), table, bins, x, codes, looked_up.copy())
        confusion, times = np.zeros((3, 3), dtype=float if weighted else np.int64), np.zeros(3, dtype=np.int64)
        worst = passes.note_rows([x, x[::-1].copy(), -x], codes, weight, confusion, times)
        only = counter.scores_at(counts.bins)
        distinct = [np.unique(bins.compared(x[bins.index(x) == index])) for index in counts.bins]
        np.testing.assert_array_equal(only, [own[0] if len(own) == 1 else -np.inf for own in distinct])
        found.append((counts.bins, counts.weight, only, looked_up, confusion, times, worst))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=0)


# Against samples


@given(SEEDS)
def test_where_bins_are_ties_counts_give_what_samples_give(seed):
    problem = random_problem(seed, max_samples=500)
    y_score = snapped(problem)
    exact = quietly(polyroc.evaluate, problem.y_true, y_score, **problem.arguments)
    rng = np.random.default_rng(seed)
    accumulator = accumulated(problem.y_true, y_score, parts=4, rng=rng, score_kind="free", **problem.arguments)
    counted = quietly(accumulator.compute)
    np.testing.assert_allclose(counted.pairs.auc, exact.pairs.auc, rtol=0, atol=1e-12)
    np.testing.assert_allclose(counted.rates.tpr, exact.rates.tpr, rtol=0, atol=1e-12)
    np.testing.assert_allclose(counted.rates.fpr, exact.rates.fpr, rtol=0, atol=1e-12)
    assert counted.hand_till == pytest.approx(exact.hand_till, abs=1e-12)
    assert counted.class_counts.tolist() == exact.class_counts.tolist()
    assert counted.accuracy_note == exact.accuracy_note
    if not exact.accuracy_note:
        assert counted.accuracy == pytest.approx(exact.accuracy, abs=1e-12)
    if exact.factorization.converged:
        assert counted.auc == pytest.approx(exact.auc, abs=1e-9)
        assert counted.mean_auc == pytest.approx(exact.mean_auc, abs=1e-9)


@given(SEEDS)
def test_weights_are_counted_as_weights(seed):
    problem, rng = random_problem(seed, max_samples=300), np.random.default_rng(seed)
    weight = rng.exponential(size=len(problem.y_true)) * (rng.random(len(problem.y_true)) < 0.9)
    weight[:2] = 1.0
    exact = quietly(polyroc.evaluate, problem.y_true, snapped(problem), sample_weight=weight, **problem.arguments)
    accumulator = accumulated(
        problem.y_true, snapped(problem), sample_weight=weight, parts=3, rng=rng, score_kind="free", **problem.arguments
    )
    counted = quietly(accumulator.compute)
    np.testing.assert_allclose(counted.pairs.auc, exact.pairs.auc, rtol=0, atol=1e-12)
    np.testing.assert_allclose(counted.fitted.source.effective_counts, exact.fitted.source.effective_counts, rtol=1e-12)
    np.testing.assert_allclose(counted.accuracy_interval() or 0, exact.accuracy_interval() or 0, rtol=1e-12)
    if exact.factorization.converged:
        assert counted.auc == pytest.approx(exact.auc, abs=1e-9)


def test_tables_of_classes_are_those_of_samples():
    problem = random_problem(5, n_classes=4)
    y_score = snapped(problem)
    arguments = {"labels": range(4)}
    exact = quietly(polyroc.evaluate, problem.y_true, y_score, **arguments).classes.to_dict()
    counted = quietly(accumulated(problem.y_true, y_score, score_kind="free", **arguments).compute).classes.to_dict()
    assert counted.keys() == exact.keys()
    for name, values in exact.items():
        if values and isinstance(values, list) and isinstance(values[0], float):
            np.testing.assert_allclose(counted[name], values, atol=1e-12)
        else:
            assert counted[name] == values, name


@pytest.mark.parametrize("columns", [1, 2])
def test_two_classes_have_their_ordinary_curve(columns):
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, 2, 400)
    p = np.round(rng.beta(1 + y_true, 2 - y_true) * 64) / 64
    y_score = p[:, None] if columns == 1 else np.column_stack([1 - p, p])
    exact = polyroc.evaluate(y_true, y_score)
    accumulator = polyroc.RocAccumulator([0, 1])
    accumulator.update(y_true, y_score)
    counted = accumulator.compute()
    assert counted.auc == pytest.approx(exact.auc, abs=1e-12)
    np.testing.assert_allclose(counted.curve.tpr, exact.curve.tpr, atol=1e-12)
    np.testing.assert_allclose(counted.curve.fpr, exact.curve.fpr, atol=1e-12)
    second = accumulator.second_pass()
    second.update(y_true, y_score)
    low, high = second.compute().confidence_interval()
    np.testing.assert_allclose([low, high], exact.confidence_interval(), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["calibrated", "confident", "tied", "tiny"])
def test_bins_change_little_and_say_how_much(kind):
    y_true, y_score = predictions(kind, 1_000_000, 10, 1)
    exact = polyroc.evaluate(y_true, y_score)
    counted = accumulated(y_true, y_score, labels=range(10)).compute()
    assert abs(counted.auc - exact.auc) < 1e-6
    # Bins of equal scores move nothing but the order of the sums.
    assert abs(counted.hand_till - exact.hand_till) <= counted.binning_error.hand_till + 1e-14


@pytest.mark.parametrize("kind", ["calibrated", "confident", "tied", "tiny"])
def test_the_error_of_bins_is_known(kind):
    errors, claimed = [], []
    for seed in range(8):
        y_true, y_score = predictions(kind, 4_000, 4, seed)
        exact = polyroc.evaluate(y_true, y_score)
        counted = coarsely(accumulated(y_true, y_score, labels=range(4), mantissa_bits=3).compute)
        assert abs(counted.hand_till - exact.hand_till) <= counted.binning_error.hand_till
        errors.append(counted.auc - exact.auc)
        claimed.append(counted.binning_error.auc)
    # A size, not a bound: within a factor of three over eight samples.
    assert 1 / 3 < np.linalg.norm(errors) / np.linalg.norm(claimed) < 3


def test_probabilities_of_every_precision():
    y_true, y_score = predictions("calibrated", 2_000, 4, 0)
    exact = polyroc.evaluate(y_true, y_score).auc
    for dtype in (np.float16, np.float32, np.float64):
        accumulator = polyroc.RocAccumulator(range(4))
        accumulator.update(y_true, y_score.astype(dtype))
        assert accumulator.compute().auc == pytest.approx(exact, abs=1e-3 if dtype is np.float16 else 2e-5)


# Merging


@given(SEEDS, st.integers(1, 9))
def test_any_tree_of_merges_gives_the_same_bytes(seed, n_parts):
    rng = np.random.default_rng(seed)
    y_true, y_score = predictions("calibrated", 300, 4, seed)
    whole = accumulated(y_true, y_score, labels=range(4))
    place = rng.integers(0, n_parts, len(y_true))
    parts = []
    for part in range(n_parts):
        parts.append(polyroc.RocAccumulator(range(4)))
        order = rng.permutation(np.flatnonzero(place == part))
        parts[-1].update(y_true[order], y_score[order])
    while len(parts) > 1:
        first, second = rng.choice(len(parts), 2, replace=False)
        parts[first].merge(parts[second])
        del parts[second]
    same_states(whole, parts[0])
    assert quietly(parts[0].compute).auc == quietly(whole.compute).auc


def test_batches_with_and_without_weights_merge_as_if_they_counted_one():
    y_true, y_score = predictions("calibrated", 400, 3, 0)
    weight = np.random.default_rng(0).exponential(size=200)
    whole = polyroc.RocAccumulator(range(3))
    whole.update(y_true, y_score, np.concatenate([np.ones(200), weight]))
    plain, weighted = polyroc.RocAccumulator(range(3)), polyroc.RocAccumulator(range(3))
    plain.update(y_true[:200], y_score[:200])
    weighted.update(y_true[200:], y_score[200:], weight)
    for first, second in ((plain, weighted), (weighted, plain)):
        merged = polyroc.RocAccumulator(range(3))
        merged.merge(first)
        merged.merge(second)
        assert merged.compute().auc == pytest.approx(whole.compute().auc, abs=1e-12)
        a, b = merged.state_dict(), whole.state_dict()
        for name in a:
            np.testing.assert_allclose(a[name], b[name], rtol=1e-12)


def test_an_evaluation_is_not_changed_by_later_batches():
    y_true, y_score = predictions("calibrated", 400, 3, 0)
    accumulator = polyroc.RocAccumulator(range(3))
    accumulator.update(y_true[:200], y_score[:200])
    before = accumulator.compute()
    accumulator.update(y_true[200:], y_score[200:])
    assert before.n_samples == 200
    assert before.hand_till == pytest.approx(polyroc.evaluate(y_true[:200], y_score[:200]).hand_till, abs=1e-4)
    accumulator.reset()
    assert accumulator.n_samples == 0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"labels": [0, 1, 3]}, "same `labels`"),
        ({"score_kind": "free"}, "same `score_kind`"),
        ({"mantissa_bits": 7}, "same `mantissa_bits`"),
    ],
)
def test_other_counts_are_not_merged(change, match):
    first = polyroc.RocAccumulator(range(3))
    arguments = {"labels": range(3), **change}
    with pytest.raises(ValueError, match=match):
        first.merge(polyroc.RocAccumulator(arguments.pop("labels"), **arguments))
    with pytest.raises(ValueError, match="must be a RocAccumulator"):
        first.merge(3)


# Containers and bad input


def test_frames_are_matched_by_name():
    y_true, y_score = predictions("calibrated", 300, 3, 0)
    names = ["ant", "bee", "cat"]
    label = np.array(names)[y_true]
    expected = polyroc.RocAccumulator(names)
    expected.update(label, y_score)
    columns = {f"p_{name}": y_score[:, place] for place, name in reversed(list(enumerate(names)))}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), pa.RecordBatch.from_pydict(columns)):
        accumulator = polyroc.RocAccumulator(names)
        accumulator.update(pd.Series(label), frame)
        same_states(accumulator, expected)


GOOD = ([0, 1, 2, 0], np.full((4, 3), 1 / 3))


@pytest.mark.parametrize(
    ("y_true", "y_score", "weight", "match"),
    [
        ([0, 1, 5, 0], GOOD[1], None, "only classes of `labels`"),
        ([0, 1], GOOD[1], None, "one row per label"),
        (GOOD[0], np.full((4, 2), 0.5), None, "y_score"),
        (GOOD[0], np.full((4, 3), np.nan), None, "must be finite"),
        (GOOD[0], np.full((4, 3), np.inf), None, "must be finite"),
        (GOOD[0], np.full((4, 3), 1.5), None, "score_kind='free'"),
        (GOOD[0], np.full((4, 3), -0.5), None, "between 0 and 1"),
        (GOOD[0], GOOD[1], [1, 1, -1, 1], "not negative"),
        (GOOD[0], GOOD[1], [1, 1, 1e200, 1], "1e\\+150"),
        (GOOD[0], GOOD[1], [1, 1], "sample_weight"),
    ],
)
def test_a_batch_that_is_refused_changes_nothing(y_true, y_score, weight, match):
    accumulator = polyroc.RocAccumulator(range(3))
    accumulator.update(*GOOD)
    before = accumulator.state_dict()
    with pytest.raises(ValueError, match=match):
        accumulator.update(y_true, y_score, weight)
    after = accumulator.state_dict()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


def test_batches_may_be_empty_or_lack_classes():
    accumulator = polyroc.RocAccumulator(range(3))
    accumulator.update([], np.empty((0, 3)))
    accumulator.update([0, 0], [[0.5, 0.3, 0.2]] * 2)
    accumulator.update([1], [[0.5, 0.3, 0.2]], [0.0])
    assert accumulator.n_samples == 2
    with pytest.raises(ValueError, match="at least two classes"):
        accumulator.compute()
    accumulator.update([1], [[0.2, 0.7, 0.1]])
    with pytest.warns(UserWarning, match="No samples"):
        assert accumulator.compute().auc == 1


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"labels": [0]}, "at least two classes"),
        ({"labels": [0, 0, 1]}, "twice"),
        ({"labels": [0, 1, 2], "score_kind": "logits"}, "'probabilities', 'free'"),
        ({"labels": [0, 1, 2], "mantissa_bits": 40}, "0 to 16"),
        ({"labels": [0, 1, 2], "mantissa_bits": True}, "0 to 16"),
        ({"labels": [0, 1, 2], "thresholds": "difference"}, "'own' or 'shared'"),
        ({"labels": [0, 1, 2], "shrinkage": -1}, "shrinkage"),
    ],
)
def test_what_cannot_be_counted_is_refused_at_once(arguments, match):
    with pytest.raises(ValueError, match=match):
        polyroc.RocAccumulator(arguments.pop("labels"), **arguments)


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        polyroc.RocAccumulator([0, 1, 2], bogus=1)


@pytest.mark.parametrize(
    "asked",
    [
        lambda evaluation: evaluation.bootstrap(9),
        lambda evaluation: evaluation.influences,
        lambda evaluation: evaluation.measures(),
        lambda evaluation: evaluation.confidence_band(),
        lambda evaluation: evaluation.pairs.hull_area,
        lambda evaluation: evaluation.classes.with_intervals(),
    ],
)
def test_what_needs_samples_says_so(asked):
    accumulator = polyroc.RocAccumulator(range(3))
    accumulator.update(*predictions("calibrated", 300, 3, 0))
    evaluation = accumulator.compute()
    with pytest.raises(polyroc.SamplesNeededError, match="single samples"):
        asked(evaluation)
    for needs_second in (lambda: evaluation.standard_error, evaluation.confidence_interval):
        with pytest.raises(polyroc.SamplesNeededError, match="second pass"):
            needs_second()


def test_an_evaluation_of_counts_can_be_shown():
    accumulator = polyroc.RocAccumulator(range(3))
    accumulator.update(*predictions("calibrated", 300, 3, 0))
    evaluation = accumulator.compute()
    assert "Scores were counted in bins" in str(evaluation)
    assert "point estimates" in str(evaluation)
    assert evaluation._repr_html_()
    assert evaluation.to_dict(include_rates=True)["auc"] == evaluation.auc
    assert "300 samples" in repr(accumulator)


# States


def stored():
    accumulator = polyroc.RocAccumulator(["a", "b", "c"])
    y_true, y_score = predictions("calibrated", 200, 3, 0)
    accumulator.update(np.array(["a", "b", "c"])[y_true], y_score)
    return accumulator


def test_a_state_comes_back_as_it_was(tmp_path):
    accumulator = stored()
    np.savez(tmp_path / "state.npz", **accumulator.state_dict())
    again = polyroc.RocAccumulator(["a", "b", "c"])
    with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
        again.load_state_dict(state)
    same_states(accumulator, again)
    assert again.compute().auc == accumulator.compute().auc
    empty = polyroc.RocAccumulator(["a", "b", "c"])
    again.load_state_dict(empty.state_dict())
    assert again.n_samples == 0


def changed(name, change):
    def apply(state):
        state[name] = change(state[name].copy())
        return state

    return apply


def without(name):
    return lambda state: {key: value for key, value in state.items() if key != name}


def header_with(old, new):
    return changed("header", lambda x: np.frombuffer(x.tobytes().replace(old, new), dtype=np.uint8))


def put(value):
    def change(array):
        array.flat[0] = value
        return array

    return change


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (without("header"), "state_dict"),
        (without("rows"), "'rows'.*cut short"),
        (changed("rows", lambda x: x[:-1]), "'rows' of shape"),
        (changed("bins", lambda x: x[:-1]), "'bins' of shape"),
        (header_with(b'"version": 1', b'"version": 7'), "version 7"),
        (header_with(b'"polyroc counts"', b'"other"'), "kind"),
        (header_with(b'["a", "b", "c"]', b'["a", "b", "d"]'), "same `labels`"),
        (header_with(b'"probabilities"', b'"free"'), "same `score_kind`"),
        (changed("header", lambda x: x[:-3]), "header"),
        (changed("rows", put(-1)), "negative count in 'rows'"),
        (changed("class_counts", put(-1)), "negative count in 'class_counts'"),
        (changed("class_counts", put(10**6)), "damaged"),
        (changed("bins", put(10**7)), "rising bins"),
        (changed("confusion", lambda x: x.astype(object)), "array of numbers as 'confusion'"),
        (changed("ranges", put(np.nan)), "finite"),
        (lambda state: 3, "state_dict"),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(damage, match):
    accumulator = stored()
    before = accumulator.state_dict()
    with pytest.raises(ValueError, match=match):
        accumulator.load_state_dict(damage(accumulator.state_dict()))
    after = accumulator.state_dict()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
