"""Scores on a GPU: the rules and words of scores on the host, and no sample is copied unless somebody asks for it.

There is no card where these tests run, so tensors of the CPU are taken for those of one.
"""

import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from copies import refuse_copies
from numpy.testing import assert_allclose, assert_array_equal
from problems import gaussian_problem

import polyroc
from polyroc._core import engines, get_engine
from polyroc._core import samples as _samples
from polyroc._core.samples import warn_of_disagreement, warn_of_mixed_scales, weighed
from polyroc._inputs import arrays as _devices
from polyroc._inputs.arrays import is_on_device
from polyroc._inputs.fingerprint import Fingerprint
from polyroc._inputs.predictions import as_predictions, in_order_of
from polyroc._inputs.tensors import TensorPredictions, Tensors
from polyroc._records import Predictions

PROBLEM = gaussian_problem(0, 400, 4)
WEIGHT = np.random.default_rng(1).integers(0, 4, 400).astype(float)


@pytest.fixture
def device(monkeypatch):
    """Tensors of the CPU, and foreign arrays, are taken for those of a card; gives torch."""
    import torch

    kinds = (torch.Tensor, Foreign)
    monkeypatch.setattr(_devices, "_lies_on_device", lambda value: isinstance(value, kinds))
    return torch


@pytest.fixture
def watched(monkeypatch, device):
    """As `device`; more than a hundred numbers at once cannot be brought to the host."""
    refuse_copies(monkeypatch, 100)
    return device


class Foreign:
    """An array of another library, which speaks DLPack; `get` is CuPy's."""

    def __init__(self, array, kind=1):
        self.array, self.kind = array, kind

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.kind, 0

    def get(self):
        return np.asarray(self.array)


def assert_same(found, expected):
    """The same record, once from a device and once from the host."""
    assert isinstance(found, TensorPredictions)
    assert_array_equal(found.labels, expected.labels)
    assert found.labels.dtype == expected.labels.dtype
    assert_array_equal(found.class_counts, expected.class_counts)
    for name in ("n_samples", "n_columns", "is_binary", "is_weighted"):
        assert getattr(found, name) == getattr(expected, name)
    assert_allclose(found.class_weights, expected.class_weights, rtol=1e-14)
    assert_allclose(found.effective_counts, expected.effective_counts, rtol=1e-13)
    for name in ("scores", "codes", "sample_weight", "kept"):
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert_array_equal(one, other)
            assert one.dtype == other.dtype
            assert not one.flags.writeable
            assert getattr(found, name) is one


# Where arrays lie


def test_arrays_say_where_they_lie():
    assert not is_on_device(np.zeros(3))
    assert not is_on_device([1, 2])
    assert not is_on_device(Foreign(np.zeros(3), 1))
    assert not is_on_device(Foreign(np.zeros(3), 8))
    assert is_on_device(Foreign(np.zeros(3), 2))
    assert is_on_device(Foreign(np.zeros(3), 10))


def test_an_array_that_cannot_say_it_is_read_as_an_array():
    class Lost(Foreign):
        def __dlpack_device__(self):
            raise BufferError

    assert not is_on_device(Lost(np.zeros(3)))


@pytest.mark.full("torch")
def test_tensors_say_where_they_lie():
    import torch

    assert not is_on_device(torch.zeros(3))
    assert not is_on_device(torch.zeros(3, requires_grad=True))
    assert not is_on_device(torch.zeros(3, device="meta"))


def test_without_torch_it_is_said_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    match = r'`y_score` lies on a GPU.*pip install "polyroc\[torch\]".*`y_score.get\(\)` of CuPy, `numpy.asarray'
    with pytest.raises(ModuleNotFoundError, match=match):
        polyroc.evaluate([0, 1, 2], Foreign(np.eye(3), 2))


@pytest.mark.full("torch")
def test_an_array_that_torch_cannot_read_is_named():
    with pytest.raises(ValueError, match="`y_score` cannot be read as a tensor on a GPU, got Foreign: "):
        polyroc.evaluate([0, 1, 2], Foreign(np.eye(3), 2))


# The record


LABELS = {
    "same": lambda y: y,
    "from 7": lambda y: y + 7,
    "negative": lambda y: y - 3,
    "with gaps": lambda y: y**2,
    "far apart": lambda y: (y - 1) * 2**40,
    "beyond floats": lambda y: y + 2**62,
}


@pytest.mark.full("torch")
@pytest.mark.parametrize("weighted", [None, "host", "device", "single"])
@pytest.mark.parametrize("labels", LABELS)
def test_labels_on_the_device(watched, labels, weighted):
    y_true = LABELS[labels](PROBLEM.y_true.astype(np.int64))
    weight = {
        None: None,
        "host": WEIGHT,
        "device": watched.tensor(WEIGHT),
        "single": watched.tensor(WEIGHT, dtype=watched.float32),
    }[weighted]
    found = as_predictions(watched.tensor(y_true), watched.tensor(PROBLEM.y_score), sample_weight=weight)
    # All that is asked of the source on the way to D.
    assert found.n_samples == (400 if weighted is None else np.count_nonzero(WEIGHT))
    assert found.class_counts.sum() == found.n_samples
    assert found.class_weights.sum() == (400 if weighted is None else WEIGHT.sum())
    assert found.effective_counts.min() > 0
    assert repr(found) == f"TensorPredictions({found.n_samples} samples, 4 score columns on cpu)"
    Fingerprint.of(found).check(found)
    # The watch does watch.
    with pytest.raises(pytest.fail.Exception, match="numbers were copied to the host"):
        found.scores  # noqa: B018


@pytest.mark.full("torch")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", LABELS)
def test_the_record_is_that_of_the_host(device, labels, weighted):
    y_true, weight = LABELS[labels](PROBLEM.y_true.astype(np.int64)), WEIGHT if weighted else None
    expected = as_predictions(y_true, PROBLEM.y_score, sample_weight=weight)
    for truth in (device.tensor(y_true), y_true, y_true.tolist(), device.tensor(y_true[:, None])):
        assert_same(as_predictions(truth, device.tensor(PROBLEM.y_score), sample_weight=weight), expected)


@pytest.mark.full("torch")
@pytest.mark.parametrize("kind", ["bool", "uint8", "int8", "int16", "int32", "float16", "float32", "float64", "uint64"])
def test_types_of_labels(device, kind):
    y_true = PROBLEM.y_true % 2 if kind == "bool" else PROBLEM.y_true
    y_score = PROBLEM.y_score[:, :2] if kind == "bool" else PROBLEM.y_score
    truth = device.tensor(y_true).to(getattr(device, kind))
    assert_same(as_predictions(truth, device.tensor(y_score)), as_predictions(truth.numpy(), y_score))


@pytest.mark.full("torch")
def test_labels_of_the_host_that_are_no_integers(device):
    pd = pytest.importorskip("pandas")
    words = np.array(["owl", "ant", "cat", "bee"])[PROBLEM.y_true]
    order = pd.CategoricalDtype(["bee", "ant", "cat", "owl"])
    for y_true, labels in ((words, None), (words.tolist(), ["bee", "owl", "ant", "cat"]), (pd.Series(words), None)):
        found = as_predictions(y_true, device.tensor(PROBLEM.y_score), labels=labels)
        assert_same(found, as_predictions(y_true, PROBLEM.y_score, labels=labels))
    with pytest.warns(UserWarning, match="in the order of the categories"):
        found = as_predictions(pd.Series(words, dtype=order), device.tensor(PROBLEM.y_score))
    assert found.labels.tolist() == ["bee", "ant", "cat", "owl"]


@pytest.mark.full("torch")
def test_labels_that_are_given_and_classes_that_are_absent(device):
    for labels in ([3, 1, 0, 2, 9], device.tensor([3, 1, 0, 2, 9])):
        scores = np.hstack([PROBLEM.y_score, PROBLEM.y_score[:, :1]])
        with pytest.warns(UserWarning, match="for 1 of 5 classes: 9"):
            found = as_predictions(device.tensor(PROBLEM.y_true), device.tensor(scores), labels=labels)
        with pytest.warns(UserWarning, match="for 1 of 5 classes: 9"):
            assert_same(found, as_predictions(PROBLEM.y_true, scores, labels=labels))


@pytest.mark.full("torch")
@pytest.mark.parametrize(
    ("kind", "read_as"),
    [("float32", "float32"), ("float64", "float64"), ("float16", "float32"), ("bfloat16", "float32"),
     ("int64", "float64"), ("int8", "float64"), ("uint16", "float64"), ("bool", "float64")],
)  # fmt: skip
def test_types_of_scores(device, kind, read_as):
    scores = device.tensor(np.round(4 * PROBLEM.y_score) if kind != "bool" else PROBLEM.y_score > 0.3)
    scores = scores.clamp(min=0).to(getattr(device, kind))
    found = as_predictions(PROBLEM.y_true, scores)
    assert found.tensors.scores.dtype == getattr(device, read_as)
    assert (found.tensors.scores.data_ptr() == scores.data_ptr()) == (kind == read_as)
    assert_array_equal(found.scores, scores.double().numpy())
    assert found.tensors.codes.dtype == device.int64


@pytest.mark.full("torch")
def test_gradients_strides_and_single_columns(device):
    learned = device.tensor(PROBLEM.y_score, requires_grad=True)
    assert_same(as_predictions(PROBLEM.y_true, learned), as_predictions(PROBLEM.y_true, PROBLEM.y_score))
    assert learned.requires_grad
    turned = device.tensor(PROBLEM.y_score.T.copy()).T
    found = as_predictions(PROBLEM.y_true, turned)
    assert found.tensors.scores.stride() == turned.stride()
    assert_same(found, as_predictions(PROBLEM.y_true, PROBLEM.y_score))
    for column in (turned[:, 1], turned[:, 1:2]):
        found = as_predictions(PROBLEM.y_true % 2, column)
        assert_same(found, as_predictions(PROBLEM.y_true % 2, PROBLEM.y_score[:, 1]))


@pytest.mark.full("torch")
def test_arrays_of_other_libraries(device):
    y_true, y_score = device.tensor(PROBLEM.y_true), device.tensor(PROBLEM.y_score)
    found = as_predictions(Foreign(y_true), Foreign(y_score), sample_weight=Foreign(device.tensor(WEIGHT)))
    assert_same(found, as_predictions(PROBLEM.y_true, PROBLEM.y_score, sample_weight=WEIGHT))
    assert found.tensors.weight is not None
    whole = as_predictions(Foreign(y_true), Foreign(y_score))
    assert whole.tensors.scores.data_ptr() == y_score.data_ptr()


@pytest.mark.full("torch", "jax")
def test_arrays_of_jax(monkeypatch):
    import jax

    y_true, y_score = jax.numpy.asarray(PROBLEM.y_true), jax.numpy.asarray(PROBLEM.y_score)
    monkeypatch.setattr(_devices, "_lies_on_device", lambda value: isinstance(value, jax.Array))
    assert_same(as_predictions(y_true, y_score), as_predictions(np.asarray(y_true), np.asarray(y_score)))


@pytest.mark.full("torch")
def test_labels_and_weights_move_to_the_device_of_the_scores(device, monkeypatch):
    moved, real = [], device.Tensor.to

    def to(self, *args, **kwargs):
        moved.append((self.data_ptr(), args[0]))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(device.Tensor, "to", to)
    y_true, y_score, weight = (device.tensor(x) for x in (PROBLEM.y_true, PROBLEM.y_score, WEIGHT))
    as_predictions(y_true, y_score, sample_weight=weight)
    assert {(y_true.data_ptr(), y_score.device), (weight.data_ptr(), y_score.device)} <= set(moved)


@pytest.mark.full("torch")
def test_scores_of_the_host_bring_everything_there(device):
    groups = np.arange(400) // 2
    tensors = {"y_true": device.tensor(PROBLEM.y_true), "sample_weight": device.tensor(WEIGHT + 1)}
    arrays = {"y_true": PROBLEM.y_true, "sample_weight": WEIGHT + 1}
    assert type(as_predictions(**tensors, y_score=PROBLEM.y_score)) is Predictions
    found, expected = (
        polyroc.evaluate(**one, y_score=PROBLEM.y_score).bootstrap(n_resamples=9, rng=0, groups=of).auc.tolist()
        for one, of in ((tensors, device.tensor(groups)), (arrays, groups))
    )
    assert found == expected
    assert as_predictions(Foreign(PROBLEM.y_true), PROBLEM.y_score).n_samples == 400


@pytest.mark.full("torch")
@pytest.mark.parametrize("factor", [1e-320, 1e-305, 1e305])
def test_weights_near_the_end_of_all_floats(device, factor):
    weight = (WEIGHT + np.arange(400) / 400) * factor
    found = as_predictions(device.tensor(PROBLEM.y_true), device.tensor(PROBLEM.y_score), sample_weight=weight)
    expected = as_predictions(PROBLEM.y_true, PROBLEM.y_score, sample_weight=weight)
    assert_array_equal(found.sample_weight, expected.sample_weight)
    assert_allclose(found.class_weights, expected.class_weights, rtol=1e-14)
    assert_allclose(found.effective_counts, expected.effective_counts, rtol=1e-13)


@pytest.mark.full("torch")
def test_sums_of_weights_do_not_depend_on_the_order(device):
    rng = np.random.default_rng(0)
    weight = 10 ** rng.uniform(-9, 9, 400)
    order = rng.permutation(400)
    one, other = (
        as_predictions(device.tensor(y), device.tensor(s), sample_weight=device.tensor(w))
        for y, s, w in (
            (PROBLEM.y_true, PROBLEM.y_score, weight),
            (PROBLEM.y_true[order], PROBLEM.y_score[order], weight[order]),
        )
    )
    assert_array_equal(one.class_weights, other.class_weights)
    assert_array_equal(one.effective_counts, other.effective_counts)


@pytest.mark.full("torch")
def test_sums_of_weights_where_torch_must_be_deterministic(device):
    tensors = [device.tensor(x) for x in (PROBLEM.y_true, PROBLEM.y_score)]
    expected = as_predictions(*tensors, sample_weight=WEIGHT)
    device.use_deterministic_algorithms(True)
    try:
        found = as_predictions(*tensors, sample_weight=WEIGHT)
        assert_array_equal(found.class_weights, expected.class_weights)
        assert_array_equal(found.effective_counts, expected.effective_counts)
    finally:
        device.use_deterministic_algorithms(False)


# What is refused


def bad(n_rows, value=np.nan):
    scores = PROBLEM.y_score.copy()
    scores[3 : 3 + n_rows, 2] = value
    return scores


@pytest.mark.full("torch")
@pytest.mark.parametrize(
    ("scores", "match"),
    [
        (bad(1), r"`y_score` must be finite, got NaN.* in 1 of 400 rows, the first is row 3\."),
        (bad(5, np.inf), "in 5 of 400 rows, the first is row 3"),
        (bad(2, -np.inf).astype(np.float32), "in 2 of 400 rows, the first is row 3"),
        (PROBLEM.y_score[:, :, None], r"must have shape \(n_samples, n_classes\) or .* got \(400, 4, 1\)"),
        (PROBLEM.y_score[:0], r"`y_score` must not be empty, got shape \(0, 4\)"),
        (PROBLEM.y_score[:9], r"one row per label, got shape \(9, 4\) and 400 labels in `y_true`"),
        (PROBLEM.y_score[:, :3], "got 3 columns, while `y_true` has 4"),
        (PROBLEM.y_score + 0j, r"`y_score` must hold real numbers, got complex numbers \(dtype torch.complex128\)"),
        (np.full((400, 4), 2**60), r"`y_score` must hold integers within 2\*\*53"),
        (np.full((400, 4), 2**63, dtype=np.uint64), r"`y_score` must hold integers within 2\*\*53"),
        (np.array(3.0), "`y_score` must be an array, a list, a series or a data frame, got Tensor"),
    ],
)
@pytest.mark.parametrize("where", ["device", "host"])
def test_scores_refused(watched, scores, match, where):
    y_true = watched.tensor(PROBLEM.y_true) if where == "device" else PROBLEM.y_true
    with pytest.raises(ValueError, match=match) as caught:
        polyroc.evaluate(y_true, watched.from_numpy(np.array(scores)))
    if "dtype" not in match and "Tensor" not in match:
        with pytest.raises(ValueError) as of_host:
            polyroc.evaluate(PROBLEM.y_true, scores)
        assert str(of_host.value) == str(caught.value)


@pytest.mark.full("torch")
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
def test_sparse_tensors_are_refused(device):
    scores = device.tensor(PROBLEM.y_score)
    for sparse in (scores.to_sparse(), scores.to_sparse_csr()):
        with pytest.raises(ValueError, match="`y_score` must be dense, got "):
            polyroc.evaluate(PROBLEM.y_true, sparse)


@pytest.mark.full("torch")
def test_scores_whose_sum_is_too_large_for_a_float_are_finite(device):
    scores = np.where(PROBLEM.y_score > 0.3, 1e308, 1e307)
    assert as_predictions(PROBLEM.y_true, device.tensor(scores)).n_samples == 400


def with_row(array, row, value):
    changed = array.astype(float)
    changed[row] = value
    return changed


@pytest.mark.full("torch")
@pytest.mark.parametrize(
    "y_true",
    [
        with_row(PROBLEM.y_true, 5, np.nan),
        with_row(PROBLEM.y_true, 5, 0.5),
        PROBLEM.y_true[:0],
        np.eye(4, dtype=int)[PROBLEM.y_true],
        PROBLEM.y_true + 0j,
        np.zeros(400, dtype=int),
        PROBLEM.y_true + 1 - (PROBLEM.y_true == 3),
        PROBLEM.y_true % 2 == 0,
    ],
)
def test_labels_refused_in_the_words_of_the_host(device, y_true):
    with pytest.raises(ValueError) as of_host:
        polyroc.evaluate(y_true, PROBLEM.y_score)
    with pytest.raises(ValueError) as caught:
        polyroc.evaluate(device.tensor(y_true), device.tensor(PROBLEM.y_score))
    assert str(caught.value) == str(of_host.value)


@pytest.mark.full("torch")
@pytest.mark.parametrize("factor", [1, 2**40])
def test_a_label_that_is_none_of_the_classes(watched, factor):
    y_true = PROBLEM.y_true.astype(np.int64) * factor
    labels = np.array([0, 1, 2, 5]) * factor
    first = int((PROBLEM.y_true == 3).argmax())
    match = rf"`y_true` must hold only classes of `labels` \(.*\), got {3 * factor}, first in row {first}\."
    with pytest.raises(ValueError, match=match):
        polyroc.evaluate(watched.tensor(y_true), watched.tensor(PROBLEM.y_score), labels=labels)


@pytest.mark.full("torch")
@pytest.mark.parametrize("where", ["device", "host"])
@pytest.mark.parametrize(
    "weight",
    [with_row(WEIGHT, 7, np.nan), with_row(WEIGHT, 7, np.inf), with_row(WEIGHT, 7, -1), 0 * WEIGHT, WEIGHT[:9]],
)
def test_weights_refused_in_the_words_of_the_host(watched, weight, where):
    with pytest.raises(ValueError) as of_host:
        polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, sample_weight=weight)
    asked = watched.tensor(weight) if where == "device" else weight
    with pytest.raises(ValueError) as caught:
        polyroc.evaluate(PROBLEM.y_true, watched.tensor(PROBLEM.y_score), sample_weight=asked)
    assert str(caught.value) == str(of_host.value)


@pytest.mark.full("torch")
def test_a_class_whose_samples_all_have_no_weight(device):
    weight = np.where(PROBLEM.y_true == 2, 0.0, 1.0)
    with pytest.warns(UserWarning, match="for 1 of 4 classes: 2"):
        found = as_predictions(device.tensor(PROBLEM.y_true), device.tensor(PROBLEM.y_score), sample_weight=weight)
    assert found.class_counts[2] == found.class_weights[2] == found.effective_counts[2] == 0


# Copies and changes


@pytest.mark.full("torch")
def test_labels_may_be_written_over(device):
    y_true = device.tensor(PROBLEM.y_true)
    found = as_predictions(y_true, device.tensor(PROBLEM.y_score))
    y_true[:] = 0
    assert_array_equal(found.codes, PROBLEM.y_true)


@pytest.mark.full("torch")
def test_threads_share_one_copy(device, monkeypatch):
    found, copies, real = as_predictions(PROBLEM.y_true, device.tensor(PROBLEM.y_score)), [], device.Tensor.to
    barrier = threading.Barrier(4)

    def to(self, *args, **kwargs):
        copies.append(args)
        return real(self, *args, **kwargs)

    def ask(_):
        barrier.wait()
        return found.scores

    monkeypatch.setattr(device.Tensor, "to", to)
    with ThreadPoolExecutor(4) as pool:
        assert len({id(scores) for scores in pool.map(ask, range(4))}) == 1
    assert len(copies) == 1


@pytest.mark.full("torch")
def test_a_pickle_has_arrays_of_the_host(device):
    found = as_predictions(PROBLEM.y_true, device.tensor(PROBLEM.y_score), sample_weight=WEIGHT)
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is Predictions
    assert_same(found, again)


@pytest.mark.full("torch")
def test_other_weights_make_a_record_of_the_host(device):
    found = as_predictions(PROBLEM.y_true, device.tensor(PROBLEM.y_score))
    again = weighed(found, WEIGHT)
    assert type(again) is Predictions
    assert_array_equal(again.scores, PROBLEM.y_score[WEIGHT > 0])


@pytest.mark.full("torch")
@pytest.mark.parametrize("shape", [(50, 3), (40_000, 3), (200_000, 5), (30, 9_000)])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_fingerprints_are_those_of_the_host_and_show_a_change(device, shape, kind):
    n, k = shape
    scores = device.rand(shape, dtype=getattr(device, kind))
    for table in (scores, scores.T.contiguous().T, device.cat([scores, scores], dim=1)[:, ::2]):
        tensors = Tensors(table, device.zeros(n, dtype=device.int64), device.rand(n, dtype=device.float64))
        source = TensorPredictions(tensors, np.arange(k), np.zeros(k, dtype=int))
        then = Fingerprint.of(source)
        then.check(source)
        of_host = pickle.loads(pickle.dumps(then))
        assert type(of_host) is Fingerprint
        of_host.check(pickle.loads(pickle.dumps(source)))
        rows = slice(n // 2, n // 2 + max(1, n // 60))
        kept = table[rows].clone()
        table[rows] = kept / 2
        with pytest.raises(RuntimeError, match="`y_score` was changed"):
            then.check(source)
        table[rows] = kept
        then.check(source)
        tensors.weight[rows] += 1
        with pytest.raises(RuntimeError, match="`sample_weight` was changed"):
            then.check(source)


@pytest.mark.full("torch")
def test_scores_that_are_written_over_are_noticed(device):
    y_score = device.tensor(PROBLEM.y_score)
    evaluation = polyroc.evaluate(PROBLEM.y_true, y_score, engine="numpy")
    again = pickle.loads(pickle.dumps(evaluation))
    y_score[0, 0] += 1
    with pytest.raises(RuntimeError, match="`y_score` was changed after it was evaluated"):
        evaluation.hand_till  # noqa: B018
    assert again.hand_till == polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score).hand_till


@pytest.mark.full("torch")
def test_what_has_no_version_for_tensors_copies_them(device):
    accumulator, expected = (polyroc.RocAccumulator(range(4), score_kind="free") for _ in range(2))
    accumulator.update(device.tensor(PROBLEM.y_true), device.tensor(PROBLEM.y_score))
    expected.update(PROBLEM.y_true, PROBLEM.y_score)
    assert accumulator.compute().auc == expected.compute().auc


# What is asked of rows and columns


def looks(predictions):
    """What doubts and accuracy read of samples."""
    return [
        _samples.is_constant(predictions),
        _samples.are_probabilities(predictions),
        _samples.are_probabilities(predictions, every_row=True),
        _samples.are_log_probabilities(predictions),
        _samples.are_log_probabilities(predictions, every_row=True),
        _samples.can_be_probabilities(predictions),
        *(ends.tolist() for ends in _samples.column_ranges(predictions)),
    ]


TABLES = {
    "scores": PROBLEM.y_score,
    "probabilities": np.exp(PROBLEM.y_score) / np.exp(PROBLEM.y_score).sum(axis=1, keepdims=True),
    "log probabilities": PROBLEM.y_score - np.log(np.exp(PROBLEM.y_score).sum(axis=1, keepdims=True)),
    "ties": np.round(PROBLEM.y_score),
    "constant": np.full((400, 4), 0.25),
    "single": (PROBLEM.y_score / 10).astype(np.float32),
}


@pytest.mark.full("torch")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_looks_at_samples_are_taken_on_the_device(watched, table, weighted):
    scores, weight = TABLES[table], WEIGHT if weighted else None
    found = as_predictions(watched.tensor(PROBLEM.y_true), watched.tensor(scores), sample_weight=weight)
    expected = as_predictions(PROBLEM.y_true, scores, sample_weight=weight)
    assert looks(found) == looks(expected)
    assert _samples.accuracy_of(found) == pytest.approx(_samples.accuracy_of(expected), rel=1e-15)
    warn_of_mixed_scales({"a": found, "b": found})
    two = as_predictions(watched.tensor(PROBLEM.y_true % 2), watched.tensor(scores[:, :2]), sample_weight=weight)
    of_host = as_predictions(PROBLEM.y_true % 2, scores[:, :2], sample_weight=weight)
    areas = _samples.two_areas(of_host)
    if areas is None:
        assert _samples.two_areas(two) is None
    else:
        assert _samples.two_areas(two) == pytest.approx(areas, rel=1e-14 if weighted else 0)
        if abs(areas[0] - areas[1]) > 1e-3:
            with pytest.warns(UserWarning, match="do not agree"):
                warn_of_disagreement(two)


@pytest.mark.full("torch")
@pytest.mark.parametrize("table", TABLES)
def test_classes_that_are_named(device, table):
    found = as_predictions(PROBLEM.y_true, device.tensor(TABLES[table]))
    expected = as_predictions(PROBLEM.y_true, TABLES[table])
    assert_array_equal(_samples.predicted_classes(found), _samples.predicted_classes(expected))
    assert_array_equal(_samples.predicted_right(found), _samples.predicted_right(expected))
    assert not found._copies


@pytest.mark.full("torch")
@pytest.mark.parametrize("n_columns", [1, 2])
def test_classes_in_another_order_stay_on_the_device(device, n_columns):
    y_true, scores = PROBLEM.y_true % 2, PROBLEM.y_score[:, :n_columns]
    first = as_predictions(y_true, PROBLEM.y_score[:, :2], labels=[1, 0], sample_weight=WEIGHT)
    found, expected = (
        in_order_of(first, as_predictions(y_true, one, sample_weight=WEIGHT), "a", "b")
        for one in (device.tensor(scores), scores)
    )
    assert_same(found, expected)


# From end to end


@pytest.mark.full("torch")
@pytest.mark.parametrize("options", [{}, {"sample_weight": WEIGHT}, {"weighting": "prevalence"}, {"max_pairs": 8}])
def test_an_engine_of_the_host_takes_scores_of_the_device(device, options):
    expected = polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, engine="numpy", **options)
    found = polyroc.evaluate(device.tensor(PROBLEM.y_true), device.tensor(PROBLEM.y_score), engine="numpy", **options)
    for name in ("auc", "hand_till", "mean_auc", "accuracy"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-14)
    assert str(found) == str(expected)
    assert found.classes.to_dict() == expected.classes.to_dict()


@pytest.mark.full("torch")
def test_a_comparison(device):
    arrays = {"a": PROBLEM.y_score, "b": PROBLEM.y_score**3}
    tensors = {"a": device.tensor(arrays["a"]), "b": device.tensor(arrays["b"])}
    groups = device.tensor(np.arange(400) // 2)
    expected = polyroc.compare(PROBLEM.y_true, arrays, engine="numpy", groups=np.arange(400) // 2)
    for scores in (tensors, {**arrays, "b": tensors["b"]}):
        found = polyroc.compare(device.tensor(PROBLEM.y_true), scores, engine="numpy", groups=groups)
        assert found.by_auc.differences == expected.by_auc.differences


@pytest.mark.full("torch")
def test_auto_is_the_engine_of_the_device(device, monkeypatch):
    asked = []

    def engine_named(name):
        asked.append(name)
        return real("numpy")

    real = engines.engine_named
    monkeypatch.setattr(engines, "engine_named", engine_named)
    polyroc.evaluate(PROBLEM.y_true, device.tensor(PROBLEM.y_score))
    assert asked == ["torch"]
    two = as_predictions(PROBLEM.y_true % 2, device.tensor(PROBLEM.y_score[:, 0]))
    for repeats in (1, 99, 9_999):
        get_engine("auto", two, repeats=repeats)
    assert asked == ["torch"] * 4
    polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score)
    assert asked[4:] == ["numpy"]


# On a card, where there is one


def to_cuda(array, library):
    if library == "torch":
        import torch

        return torch.tensor(array, device="cuda")
    if library == "cupy":
        return pytest.importorskip("cupy").asarray(array)
    # JAX would take three quarters of the card for each process of the tests.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    return jax.numpy.asarray(array)


@pytest.mark.full("torch")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "float32"])
@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
def test_on_a_card(library, kind, weighted):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    y_true, scores = PROBLEM.y_true.astype(kind), PROBLEM.y_score.astype(np.float32)
    weight = WEIGHT.astype(np.float32) if weighted else None
    on_card = [None if x is None else to_cuda(x, library) for x in (y_true, scores, weight)]
    found = as_predictions(*on_card[:2], sample_weight=on_card[2])
    expected = as_predictions(y_true, scores, sample_weight=weight)
    assert all(tensor is None or tensor.is_cuda for tensor in found.tensors)
    assert looks(found) == looks(expected)
    assert_array_equal(_samples.predicted_classes(found), _samples.predicted_classes(expected))
    assert not found._copies
    then = Fingerprint.of(found)
    then.check(found)
    assert_same(found, expected)
    pickle.loads(pickle.dumps(then)).check(expected)
    assert as_predictions(on_card[0], scores).n_samples == 400
