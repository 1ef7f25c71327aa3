"""`polyroc.torch.MulticlassD` against `RocAccumulator`, to the last bit: batches, processes, copies."""

import copy
import doctest
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyroc
from polyroc._counts.bins import ScoreBins

try:
    import torch
    from torchmetrics import MetricCollection

    import polyroc.torch as polyroc_torch
    from polyroc.streams import _torch_metric
    from polyroc.streams._torch_metric import bin_index
    from polyroc.torch import MulticlassD
except ModuleNotFoundError:  # then every test is skipped, and fails in the environment made for them
    torch = None

pytestmark = pytest.mark.training("torch", "torchmetrics")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    if torch is not None:
        torch.set_num_threads(1)


def problem(k=5, n=700, seed=0, dtype=np.float32):
    """Logits of samples in batches of different sizes, some without some classes."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(k, size=n)
    logits = 3 * rng.normal(size=(n, k)) + 3 * np.eye(k)[y_true]
    return torch.tensor(logits.astype(dtype)), torch.tensor(y_true)


def batches(*tensors, sizes=(1, 64, 3, 200)):
    cuts = [*sizes, len(tensors[0]) - sum(sizes)]
    return zip(*(one.split(cuts) for one in tensors), strict=True)


def accumulated(preds, target, **options):
    """The other road: NumPy on the host, in one batch."""
    accumulator = polyroc.RocAccumulator(range(preds.shape[1]), **options)
    accumulator.update(target.numpy(), preds.numpy())
    return accumulator


def updated(metric, preds, target):
    for one, truth in batches(preds, target):
        metric.update(one, truth)
    return metric


BITS = {"float32": (np.uint32, np.float32, 32), "float64": (np.uint64, np.float64, 64)}


@pytest.mark.parametrize("mantissa_bits", [0, 3, 6, 16])
@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("scores", ["probabilities", "free"])
@given(seed=st.integers(0, 2**32 - 1))
def test_bins_are_those_of_the_host(scores, dtype, mantissa_bits, seed):
    rng = np.random.default_rng(seed)
    whole, real, width = BITS[dtype]
    any_float = rng.integers(0, 2**width, size=200, dtype=whole).view(real)
    any_float = any_float[np.isfinite(any_float)]
    edges = np.array([0, -0.0, 0.5, 1, 1e-45, 1e-40, 1 - 2**-24, 0.5 + 2**-24, -1e-7, 1 + 1e-7], dtype=real)
    near = np.nextafter(np.array([0.5, 1, 0.25, 0.75], dtype=real), real(2))
    values = np.concatenate([any_float, edges, near, rng.random(100).astype(real)])
    if scores == "probabilities":
        values = np.concatenate([np.abs(values[np.abs(values) <= 1]), edges, 1 - 10.0 ** rng.uniform(-16, 0, 50)])
        values = values.astype(real)
    bins = ScoreBins(scores, mantissa_bits)
    found = bin_index(bins, torch.tensor(values))
    assert found.dtype == torch.int64
    np.testing.assert_array_equal(found.numpy(), bins.index(values))
    assert found.min() >= 0
    assert found.max() < bins.n_bins


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("scores", "rule"), [("auto", "probabilities"), ("logits", "probabilities"), ("free", "free")])
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.filterwarnings("ignore:The two columns")
def test_same_as_the_accumulator_to_the_last_bit(scores, rule, dtype, k):
    logits, target = problem(k, dtype=dtype)
    used = logits if scores == "free" else logits.softmax(dim=1)
    expected = accumulated(used, target, score_kind=rule)
    metric = updated(MulticlassD(k, score_kind=scores), logits, target)
    assert metric.compute().dtype == torch.float64
    assert metric.compute().item() == expected.compute().auc
    state, theirs = metric.accumulator().state_dict(), expected.state_dict()
    for name in theirs.keys() - {"worst_row", "ranges"}:
        np.testing.assert_array_equal(state[name], theirs[name])
    np.testing.assert_allclose(state["ranges"], theirs["ranges"], rtol=1e-7)
    assert state["worst_row"] == pytest.approx(theirs["worst_row"], rel=1e-6, abs=1e-12)
    evaluation = metric.evaluation()
    assert evaluation.hand_till == expected.compute().hand_till
    assert evaluation.accuracy == (used.argmax(1) == target).double().mean().item()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_that_bins_cannot_tell_apart_are_refused(dtype):
    dtype = getattr(torch, dtype)
    rng = np.random.default_rng(0)
    target = torch.tensor(rng.integers(0, 4, 4_000))
    logits = torch.tensor(rng.normal(size=(4_000, 4)), dtype=dtype) + torch.eye(4, dtype=dtype)[target]
    narrow = 0.5 + logits.softmax(dim=1) / 1000
    tiny = (60 * logits - 400).double().exp()
    exact = polyroc.evaluate(target.numpy(), narrow.numpy()).auc
    for preds, words in ((narrow, "Subtract 0.50"), (tiny, "below 5e-41 count as 0")):
        metric = updated(MulticlassD(4), preds, target)
        for asked in (metric.compute, metric.evaluation):
            with pytest.raises(polyroc.InputError, match=f"must be scores that bins can distinguish.*{words}"):
                asked()
    # Ends in single precision, which lose the sign of such scores.
    for preds in (tiny, -tiny):
        with pytest.raises(polyroc.InputError, match=r"No bins are narrow enough; evaluate samples"):
            updated(MulticlassD(4, score_kind="free"), preds, target).compute()
    # What the message proposes.
    assert updated(MulticlassD(4, score_kind="free"), narrow - 0.5005, target).compute().item() == pytest.approx(
        exact, abs=1e-4
    )
    # Rounded scores are ties in any bins.
    ties = updated(MulticlassD(4), (logits.softmax(dim=1) * 16).round() / 16, target).evaluation()
    assert ties.binning_error.hand_till == 0


@pytest.mark.parametrize("output", ["auc", "hand_till", "mean_auc"])
def test_outputs_and_options_of_evaluate(output):
    logits, target = problem(4)
    options = {"costs": np.arange(16).reshape(4, 4) + 1, "thresholds": "shared", "mantissa_bits": 8}
    expected = accumulated(logits.softmax(1), target, **options).compute()
    metric = updated(MulticlassD(4, output=output, **options), logits, target)
    assert metric.compute().item() == getattr(expected, output)


def test_near_the_exact_number():
    logits, target = problem(5, 2000)
    metric = updated(MulticlassD(5, mantissa_bits=10), logits, target)
    exact = polyroc.auc_score(target.numpy(), logits.softmax(1).numpy())
    # Two samples of 400 in one bin change the area of a pair by 3e-6.
    assert metric.compute().item() == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_softmaxed_in_single(dtype):
    logits, target = problem()
    logits = logits.to(getattr(torch, dtype))
    expected = accumulated(logits.float().softmax(1), target).compute().auc
    assert updated(MulticlassD(5), logits, target).compute().item() == expected


def test_probabilities_are_left_alone_and_decided_by_batch():
    logits, target = problem()
    preds = logits.softmax(1)
    expected = accumulated(preds, target).compute().auc
    for scores in ("auto", "probabilities"):
        assert updated(MulticlassD(5, score_kind=scores), preds, target).compute().item() == expected
    # Rounding just beyond 1 is no logit.
    metric = MulticlassD(5)
    metric.update(preds * (1 + 1e-7), target)
    assert metric.compute().item() == pytest.approx(expected, abs=1e-4)


def test_images_and_what_is_ignored():
    logits, target = problem(4, 600)
    maps, truth = logits.reshape(6, 10, 10, 4).movedim(-1, 1), target.reshape(6, 10, 10).clone()
    truth[0, :3] = -100
    kept = truth.reshape(-1) >= 0
    metric = MulticlassD(4, ignore_index=-100)
    metric.update(maps, truth)
    assert metric.compute().item() == accumulated(logits.softmax(1)[kept], target[kept]).compute().auc


def test_forward_gives_the_batch_and_keeps_the_rest():
    logits, target = problem()
    metric = MulticlassD(5)
    for one, truth in batches(logits, target, sizes=(100, 250)):
        value = metric(one, truth)
        assert value.item() == accumulated(one.softmax(1), truth).compute().auc
    assert metric.compute().item() == accumulated(logits.softmax(1), target).compute().auc


def test_a_batch_of_one_class_is_nan_and_counts():
    logits, target = problem(3)
    alone = target == 1
    metric = MulticlassD(3)
    with pytest.warns(UserWarning, match="fewer than two classes"):
        assert math.isnan(metric(logits[alone], target[alone]))
    metric.update(logits[~alone], target[~alone])
    assert metric.compute().item() == accumulated(logits.softmax(1), target).compute().auc


def test_empty_batches_and_classes_without_samples():
    logits, target = problem(3)
    metric = MulticlassD(4)
    metric.update(torch.zeros(0, 4), torch.zeros(0, dtype=torch.long))
    preds = torch.cat([logits.softmax(1), torch.zeros(len(target), 1)], dim=1)
    metric.update(preds, target)
    with pytest.warns(UserWarning, match="No samples"):
        found = metric.compute().item()
    with pytest.warns(UserWarning, match="No samples"):
        assert found == polyroc_auc_of(preds, target)


def polyroc_auc_of(preds, target):
    return accumulated(preds, target).compute().auc


def test_reset_forgets():
    logits, target = problem()
    metric = updated(MulticlassD(5), logits.flip(0), target)
    metric.reset()
    assert metric.counts.sum() == 0
    updated(metric, logits, target)
    assert metric.compute().item() == accumulated(logits.softmax(1), target).compute().auc


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda metric: pickle.loads(pickle.dumps(metric)), lambda m: m.clone()]
)
def test_copies_go_on_by_themselves(copied):
    logits, target = problem()
    metric = MulticlassD(5, labels=list("abcde"), costs=np.ones((5, 5)))
    metric.update(logits[:300], target[:300])
    other = copied(metric)
    other.update(logits[300:], target[300:])
    assert other.compute().item() == accumulated(logits.softmax(1), target).compute().auc
    assert metric.compute().item() == accumulated(logits[:300].softmax(1), target[:300]).compute().auc
    assert other.evaluation().labels.tolist() == list("abcde")


def test_devices_and_types_leave_counts_whole():
    logits, target = problem()
    metric = MulticlassD(5).to("cpu").half().set_dtype(torch.float16)
    assert metric.counts.dtype == torch.int64
    module = torch.nn.ModuleDict({"metric": metric}).to(torch.float16)
    updated(module["metric"], logits, target)
    assert module["metric"].counts.dtype == torch.int64
    assert metric.compute().item() == accumulated(logits.softmax(1), target).compute().auc
    assert metric.compute().device == metric.device
    assert MulticlassD(5).to("meta").counts.device.type == "meta"


def test_state_dicts_and_merging():
    logits, target = problem()
    first, second = MulticlassD(5), MulticlassD(5)
    first.update(logits[:400], target[:400])
    second.update(logits[400:], target[400:])
    first.merge_state(second)
    assert first.compute().item() == accumulated(logits.softmax(1), target).compute().auc
    first.persistent(True)
    third = MulticlassD(5)
    third.persistent(True)
    third.load_state_dict(first.state_dict())
    assert torch.equal(third.counts, first.counts)
    assert third.evaluation().auc == first.compute().item()


def test_metrics_of_a_collection_share_counts():
    logits, target = problem()
    collection = MetricCollection({"d": MulticlassD(5), "m": MulticlassD(5, output="hand_till")})
    for one, truth in batches(logits, target):
        collection.update(one, truth)
    assert collection.compute_groups == {0: ["d", "m"]}
    d, m = collection.values(copy_state=False)
    assert d.counts.data_ptr() == m.counts.data_ptr()
    expected = accumulated(logits.softmax(1), target).compute()
    found = collection.compute()
    assert (found["d"].item(), found["m"].item()) == (expected.auc, expected.hand_till)


OTHERS = [
    {"ignore_index": 3},
    {"ignore_index": 5},
    {"score_kind": "probabilities"},
    {"score_kind": "logits"},
    {"mantissa_bits": 7},
]


@pytest.mark.parametrize("options", OTHERS)
@pytest.mark.parametrize("empty_first", [False, True])
@pytest.mark.filterwarnings("ignore:No samples in `y_true`:UserWarning")
@pytest.mark.filterwarnings("ignore:Bins can move M by up to:UserWarning")
def test_metrics_of_a_collection_that_count_otherwise_share_nothing(options, empty_first):
    logits, target = problem()
    preds = logits.softmax(1)
    metrics = {"one": MulticlassD(5), "other": MulticlassD(5, **options)}
    alone = {name: updated(copy.deepcopy(metric), preds, target).compute().item() for name, metric in metrics.items()}
    collection = MetricCollection(metrics)
    # Before the first sample of class 3, or of any, all counts are equal.
    first = (target != 3) & (target < 0 if empty_first else True)
    for kept in (first, ~first):
        collection.update(preds[kept], target[kept])
    assert collection.compute_groups == {0: ["one"], 1: ["other"]}
    assert {name: value.item() for name, value in collection.compute().items()} == alone


def test_counts_of_other_options_are_refused():
    logits, target = problem()
    message = "`state` must be that of a MulticlassD with the same .*, got another metric's"
    metrics = {"one": MulticlassD(5), "other": MulticlassD(5, ignore_index=3)}
    collection = MetricCollection(copy.deepcopy(metrics), compute_groups=[["one", "other"]])
    collection.update(logits, target)
    with pytest.raises(polyroc.InputError, match=message):
        collection.compute()
    one, other = (updated(metric, logits, target) for metric in metrics.values())
    one.merge_state(other)
    with pytest.raises(polyroc.InputError, match=message):
        one.evaluation()
    # What changes D alone, and how batches are checked, has no part in the counts.
    first, second = MulticlassD(5, validate_args=False), MulticlassD(5, costs=1 - np.eye(5))
    first.update(logits[:400], target[:400])
    second.update(logits[400:], target[400:])
    first.merge_state(second)
    assert first.compute().item() == accumulated(logits.softmax(1), target).compute().auc


def test_counts_go_on_to_a_second_pass():
    logits, target = problem()
    preds = logits.softmax(1).numpy()
    second = updated(MulticlassD(5), logits, target).accumulator().second_pass()
    second.update(target.numpy(), preds)
    exact = polyroc.evaluate(target.numpy(), preds).standard_error
    assert second.compute().standard_error == pytest.approx(exact, rel=0.01)


def test_gradients_are_neither_needed_nor_kept():
    logits, target = problem()
    preds = logits.clone().requires_grad_()
    metric = MulticlassD(5)
    assert not metric(preds, target).requires_grad
    assert not metric.lowest.requires_grad
    with torch.inference_mode():
        metric.update(logits, target)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_classes": 1}, "`num_classes` must be an integer of at least 2, got 1"),
        ({"num_classes": 3, "output": "f1"}, "`output` must be"),
        ({"num_classes": 3, "score_kind": "raw"}, "`score_kind` must be"),
        ({"num_classes": 3, "labels": ["a", "b"]}, "`labels` must name 3 classes, got 2"),
        ({"num_classes": 3, "ignore_index": "x"}, "`ignore_index` must be None or an integer of 64 bits, got 'x'"),
        ({"num_classes": 3, "ignore_index": 1.5}, "`ignore_index` must be None or an integer of 64 bits, got 1.5"),
        ({"num_classes": 3, "ignore_index": 2**63}, "`ignore_index` must be None or an integer of 64 bits, got 9"),
        ({"num_classes": 3, "validate_args": "x"}, "`validate_args` must be True or False, got 'x'"),
        ({"num_classes": 3, "mantissa_bits": 17}, "`mantissa_bits` must be an integer from 0 to 16"),
        ({"num_classes": 3, "thresholds": "difference"}, "`thresholds` must be 'own' or 'shared'"),
        ({"num_classes": 1000}, r"1000 classes, which need 15.04 GiB with `mantissa_bits=3`: .*RocAccumulator"),
        ({"num_classes": 100, "mantissa_bits": 9}, r"100 classes, which need 9.61 GiB"),
    ],
)
def test_wrong_arguments_are_refused_before_memory_is_taken(arguments, words):
    with pytest.raises(polyroc.InputError, match=words):
        MulticlassD(**arguments)


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match=r"MulticlassD\(\) got an unexpected keyword argument 'average'. Accepted"):
        MulticlassD(3, average="macro")
    assert MulticlassD(3, sync_on_compute=False, n_thresholds=50).sync_on_compute is False


PROBABILITIES = {10: 8, 22: 8, 23: 7, 32: 7, 33: 6, 45: 6, 46: 5, 64: 5, 65: 4, 91: 4, 92: 3, 128: 3}


@pytest.mark.parametrize(
    ("k", "scores", "bits"), [*((k, "auto", bits) for k, bits in PROBABILITIES.items()), (33, "free", 5)]
)
def test_many_classes_have_wider_bins(k, scores, bits, monkeypatch):
    monkeypatch.setattr(torch, "zeros", lambda shape, **_: torch.empty(0, dtype=torch.int64))
    metric = MulticlassD(k, score_kind=scores)
    assert metric._bins.mantissa_bits == bits
    assert metric.nbytes <= 2**28
    assert metric.nbytes == 8 * k * k * metric._bins.n_bins


@pytest.mark.parametrize(
    ("preds", "target", "words"),
    [
        ([[0.1, 0.9, 0.0]], [3], "`target` must lie between 0 and 2, got 3"),
        ([[0.1, 0.9, 0.0]], [-1], "`target` must lie between 0 and 2, got -1"),
        ([[0.1, math.nan, 0.0]], [1], "`preds` must be finite"),
        ([[0.1, math.inf, 0.0]], [1], "`preds` must be finite"),
        ([[0.1, 0.9]], [1], r"`preds` must have shape \(n, 3, ...\)"),
        ([[0.1, 0.9, 0.0]], [1, 1], "`preds` must have shape"),
        ([[0.1, 0.9, 0.0]], [1.0], "`target` must be a tensor of integers"),
        ([[1, 0, 0]], [1], "`preds` must be a tensor of floats"),
    ],
)
def test_wrong_batches_are_refused_and_change_nothing(preds, target, words):
    metric = MulticlassD(3)
    with pytest.raises(polyroc.InputError, match=words):
        metric.update(torch.tensor(preds), torch.tensor(target))
    assert metric.counts.sum() == 0


@pytest.mark.parametrize(("validate_args", "as_step"), [(False, False), (True, False), (True, True)])
def test_a_step_that_is_refused_changes_nothing(validate_args, as_step):
    logits, target = problem()
    metric = MulticlassD(5, validate_args=validate_args, dist_sync_on_step=as_step)
    metric.update(logits[:300], target[:300])
    metric(logits[300:400], target[300:400])
    with pytest.raises(polyroc.InputError, match="`target` must lie between 0 and 4"):
        metric(logits[:100], target[:100] + 1)
    metric(logits[400:500], target[400:500])
    metric.update(logits[500:], target[500:])
    assert metric.compute().item() == accumulated(logits.softmax(1), target).compute().auc
    assert metric._to_sync


def test_a_step_that_was_counted_before_it_was_refused_is_not_forgotten():
    logits, target = problem()
    metric = MulticlassD(5, validate_args=False, dist_sync_on_step=True)
    metric.update(logits, target)
    for result in (lambda: metric(logits, target + 1), metric.compute):
        with pytest.raises(polyroc.InputError, match="`target` must lie between 0 and 4"):
            result()


def test_sparse_and_nested_tensors_are_refused():
    logits, target = problem()
    metric = MulticlassD(5)
    with pytest.raises(polyroc.InputError, match=r"`preds` must be dense, got torch.sparse_coo"):
        metric.update(logits.to_sparse(), target)
    with pytest.raises(polyroc.InputError, match=r"`target` must be dense, got torch.sparse_coo"):
        metric.update(logits, target.to_sparse())


UNCHECKED = r" of batches that were not checked\. `validate_args=True` finds the batch"


@pytest.mark.parametrize(
    ("preds", "target", "words"),
    [
        ([[0.1, 0.9, 0.0], [0.2, 0.3, 0.5]], [3, 1], "`target` must lie between 0 and 2, got others in 1 sample"),
        (
            [[0.1, 0.9, 0.0], [0.2, 0.3, 0.5]],
            [-1, 2**40],
            "`target` must lie between 0 and 2, got others in 2 samples",
        ),
        ([[0.1, math.nan, 0.0], [0.2, 0.3, 0.5]], [1, 1], "`preds` must be finite, and .*, got others in 1 sample"),
        (
            [[math.inf, -math.inf, 0.0], [0.2, 0.3, 0.5]],
            [1, 1],
            "`preds` must be finite, .* got others in 1 sample",
        ),
        (
            [[4.0, 0.0, 1.0], [4.0, 0.3, 0.5]],
            [1, 1],
            "`preds` must be finite, and between 0 and 1, got others in 2 samples",
        ),
    ],
)
def test_wrong_batches_that_are_not_checked_are_refused_at_the_end(preds, target, words):
    metric = MulticlassD(3, score_kind="probabilities", validate_args=False)
    metric.update(torch.eye(3), torch.arange(3))
    metric.update(torch.tensor(preds), torch.tensor(target))
    for result in (metric.compute, metric.evaluation, metric.accumulator):
        with pytest.raises(polyroc.InputError, match=words + UNCHECKED):
            result()
    metric.reset()
    metric.update(torch.eye(3), torch.arange(3))
    assert metric.compute().item() == 1


@pytest.mark.parametrize("score_kind", ["auto", "logits", "free"])
def test_unchecked_batches_give_the_same_and_logits_must_be_finite(score_kind):
    logits, target = problem()
    checked, unchecked = (MulticlassD(5, score_kind=score_kind, validate_args=check) for check in (True, False))
    assert updated(checked, logits, target).compute() == updated(unchecked, logits, target).compute()
    unchecked.update(torch.tensor([[math.nan, 0, 0, 0, 0]]), torch.tensor([1]))
    with pytest.raises(polyroc.InputError, match="`preds` must be finite, got others in 1 sample" + UNCHECKED):
        unchecked.compute()


def test_logits_where_probabilities_were_promised():
    with pytest.raises(polyroc.InputError, match=r"must lie between 0 and 1, got 4: .*score_kind='logits'"):
        MulticlassD(3, score_kind="probabilities").update(torch.tensor([[4.0, 0.0, 1.0]]), torch.tensor([1]))


def _process(rank, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/meeting", world_size=2, rank=rank)
    logits, target = problem()
    # Halves of different sizes, the first without class 4; a third batch that only one process has.
    order = torch.argsort(target)
    mine = order[:450] if rank == 0 else order[450:]
    metric = MulticlassD(5)
    metric.update(logits[mine[:100]], target[mine[:100]])
    metric.update(logits[mine[100:]], target[mine[100:]])
    alone = metric.counts.clone()
    value, evaluation = metric.compute().item(), metric.evaluation()
    unsynced = torch.equal(alone, metric.counts)
    batch = metric(logits[:50], target[:50]).item()
    numbers = [value, evaluation.auc, evaluation.hand_till, evaluation.accuracy, unsynced, batch]
    np.save(f"{folder}/rank{rank}.npy", np.array(numbers, dtype=float))
    torch.distributed.destroy_process_group()


def test_two_processes_of_ddp(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    torch.multiprocessing.spawn(_process, args=(str(tmp_path),), nprocs=2)
    logits, target = problem()
    expected = accumulated(logits.softmax(1), target).compute()
    batch = accumulated(logits[:50].softmax(1), target[:50]).compute().auc
    numbers = [expected.auc, expected.auc, expected.hand_till, expected.accuracy, 1, batch]
    for rank in (0, 1):
        np.testing.assert_array_equal(np.load(tmp_path / f"rank{rank}.npy"), numbers)


def test_the_example():
    assert doctest.testmod(_torch_metric).failed == 0
    assert polyroc.torch is polyroc_torch
