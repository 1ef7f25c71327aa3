"""The engine of cards: on the CPU, or on a card where there is one, it gives what the reference gives."""

import gc
import pickle
import threading
import weakref
from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from copies import refuse_copies
from numpy.testing import assert_allclose, assert_array_equal
from pages import python_of
from preparing import prepared
from problems import gaussian_problem, quietly
from scipy.special import expit

import polyroc
from polyroc._core.rates import all_pairs
from polyroc._core.weights import pair_weights
from polyroc._inputs import arrays as input_devices
from polyroc._inputs.options import Options
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.grid import grid
from polyroc._records import Factorization, PairwiseRates

pytestmark = pytest.mark.full("torch")

# Fits of replicates are done in single precision: a few of its units of 6e-8.
SINGLE = 5e-7
PROBLEM = gaussian_problem(0, 3000, 4, 1.3)


@pytest.fixture
def on_device(monkeypatch):
    """Puts arrays on a card, or has tensors of the CPU taken for those of one."""
    import torch

    if torch.cuda.is_available():
        return lambda array: torch.tensor(array, device="cuda")
    monkeypatch.setattr(input_devices, "_lies_on_device", lambda value: isinstance(value, torch.Tensor))
    return torch.tensor


def evaluated(engine, y_true, y_score, **options):
    return quietly(polyroc.evaluate, y_true, y_score, engine=engine, **options)


def assert_agree(found, expected, *, auc=1e-9, rates=1e-12):
    assert_allclose(found.rates.tpr, expected.rates.tpr, rtol=0, atol=rates)
    assert_allclose(found.rates.fpr, expected.rates.fpr, rtol=0, atol=rates)
    assert found.factorization.status == expected.factorization.status
    assert found.auc == pytest.approx(expected.auc, abs=auc)
    assert found.hand_till == pytest.approx(expected.hand_till, abs=1e-12)


# Agreement


def weights(n):
    return np.random.default_rng(7).integers(0, 4, n) * 0.7


def costs(k):
    return 10 ** np.random.default_rng(8).uniform(-1, 1, (k, k))


CASES = {
    "plain": {},
    "weights": {"sample_weight": weights(700)},
    "costs": {"costs": costs(6)},
    "prevalence": {"weighting": "prevalence", "sample_weight": weights(700)},
    "absent class": {"labels": range(6)},
    "shared": {"thresholds": "shared"},
    "shared, weights and costs": {"thresholds": "shared", "sample_weight": weights(700), "costs": costs(6)},
    "difference": {"thresholds": "difference", "sample_weight": weights(700)},
    "few rows": {"n_thresholds": 3},
    "some pairs": {"max_pairs": 12},
}


@pytest.mark.parametrize("decimals", [12, 0], ids=["distinct", "ties"])
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_reference(case, decimals):
    problem = gaussian_problem(3, 700, 6, 1.2)
    y_true = np.where(problem.y_true == 4, 5, problem.y_true) if case == "absent class" else problem.y_true
    given = (y_true, np.round(problem.y_score, decimals))
    found, expected = (evaluated(name, *given, **CASES[case]) for name in ("torch", "numpy"))
    assert_agree(found, expected)
    assert_allclose(found.pairs.auc, expected.pairs.auc, rtol=0, atol=1e-12)
    assert_array_equal(found.score_thresholds, expected.score_thresholds)
    assert_allclose(found.influences, expected.influences, rtol=0, atol=1e-8 * np.abs(expected.influences).max())


def skewed():
    """One class of 20,000 samples and twenty of 20."""
    rng = np.random.default_rng(0)
    y_true = np.repeat(np.arange(21), [20_000] + 20 * [20])
    y_score = rng.normal(size=(len(y_true), 21)).astype(np.float32)
    y_score[np.arange(len(y_true)), y_true] += 1.5
    return y_true, y_score


def test_skewed_classes_give_the_same():
    assert_agree(*(evaluated(name, *skewed()) for name in ("torch", "numpy")))


def laid_out(counts):
    """Numbers that are sorted for each column: those of samples, and what short classes are filled up with."""
    import torch

    from polyroc._core.torch.runs import groups_of

    groups = groups_of(torch.tensor(counts), torch.device("cpu"))
    assert sorted(c for group in groups for c in group.classes.tolist()) == [
        c for c, count in enumerate(counts) if count
    ]
    for group in groups:
        sizes = [counts[c] for c in group.classes.tolist()]
        assert (len(sizes), max(sizes)) == (group.n_classes, group.length)
        # Nothing is filled up if classes are sorted where they lie.
        assert group.first is None or set(sizes) == {group.length}
    return sum(group.n_classes * group.length for group in groups)


def test_short_classes_are_not_filled_up_to_the_longest():
    assert laid_out([20_000] + 20 * [20]) == 20_400
    assert laid_out([30, 0, 30]) == 60
    rng = np.random.default_rng(1)
    for _ in range(20):
        counts = np.round(10 ** rng.uniform(0, 4, 50)).astype(int).tolist()
        assert laid_out(counts) <= 2 * sum(counts)


@pytest.mark.parametrize("thresholds", ["own", "shared"])
def test_sweeps_in_single_precision_end_in_double(monkeypatch, thresholds):
    from polyroc._core.torch import devices as _devices

    monkeypatch.setattr(_devices, "SINGLE_CELLS", 0)
    for seed, n, k in ((1, 900, 5), (2, 2000, 20)):
        problem = gaussian_problem(seed, n, k, 1.2)
        given = (problem.y_true, problem.y_score.astype(np.float32))
        found, expected = (evaluated(name, *given, thresholds=thresholds) for name in ("torch", "numpy"))
        assert found.rates.tpr.dtype == np.float32
        assert_agree(found, expected, auc=1e-5, rates=1e-6)
        # What the last step in double precision leaves.
        assert found.auc == pytest.approx(expected.auc, abs=5e-8)
        # Scores in double precision are never swept in single.
        assert evaluated("torch", problem.y_true, problem.y_score).rates.tpr.dtype == np.float64


# Replicates


def fits_of(problem, weights, **options):
    predictions = as_predictions(problem.y_true, problem.y_score)
    pairs, asked = all_pairs(predictions), Options(engine="torch", **options)
    reweighed = prepared("torch", predictions).reweigh(pairs, grid(99), asked.thresholds)
    return reweighed.fits(weights, pair_weights(predictions, pairs, asked), 1.0)


@pytest.mark.parametrize("thresholds", ["own", "shared"])
@pytest.mark.parametrize("k", [4, 16], ids=["fewer pairs than rows", "more pairs than rows"])
def test_replicates_do_not_depend_on_how_many_are_computed_at_once(monkeypatch, k, thresholds):
    from polyroc._core.torch import engine as _engine

    problem = gaussian_problem(5, 400, k)
    drawn = np.random.default_rng(0).integers(0, 3, (7, 400)).astype(float)
    drawn[:, np.unique(problem.y_true, return_index=True)[1]] = 1
    together = fits_of(problem, drawn, thresholds=thresholds)
    assert together.converged.all()
    for size in (1, 3):
        monkeypatch.setattr(_engine, "_MOST_AT_ONCE", size)
        found = fits_of(problem, drawn, thresholds=thresholds)
        assert_allclose(expit(found.row_effects), expit(together.row_effects), rtol=0, atol=SINGLE)
        for name in ("mean_area", "weighted_area", "mean_rates"):
            assert_allclose(getattr(found, name), getattr(together, name), rtol=0, atol=1e-12)
    alone = [fits_of(problem, one[None], thresholds=thresholds).row_effects[0] for one in drawn]
    # One at a time is the same problem, whatever comes before and after it.
    monkeypatch.setattr(_engine, "_MOST_AT_ONCE", 1)
    assert_array_equal(fits_of(problem, drawn, thresholds=thresholds).row_effects, alone)


@pytest.mark.parametrize("case", ["plain", "weights", "shared"])
def test_the_same_bits_when_computed_twice(case):
    import torch

    problem = gaussian_problem(3, 700, 6, 1.2)
    one, other = (evaluated("torch", problem.y_true, problem.y_score, **CASES[case]) for _ in range(2))
    assert one.auc == other.auc
    assert one.hand_till == other.hand_till
    assert_array_equal(one.rates.tpr, other.rates.tpr)
    assert_array_equal(one.factorization.row_effects, other.factorization.row_effects)
    if torch.cuda.is_available():
        # Sums in any order.
        assert_allclose(one.influences, other.influences, rtol=1e-12, atol=1e-15)
    else:
        assert_array_equal(one.influences, other.influences)
    assert_array_equal(*(each.bootstrap(20, rng=0).auc for each in (one, other)))


# Records


@pytest.mark.parametrize("thresholds", ["own", "shared"])
def test_pickles_have_arrays_and_no_tensors(on_device, thresholds):
    from polyroc._core.torch.records import TensorRates

    given = (on_device(PROBLEM.y_true), on_device(PROBLEM.y_score))
    evaluation = polyroc.evaluate(*given, thresholds=thresholds)
    rates = evaluation.fitted.prepared.rates(evaluation.fitted.pairs, grid(9), thresholds)
    assert type(rates) is TensorRates
    for again in (pickle.loads(pickle.dumps(rates)), pickle.loads(pickle.dumps(rates.of_pairs(np.arange(12))))):
        assert type(again) is PairwiseRates
        assert_array_equal(again.tpr, rates.tpr)
        assert_array_equal(again.fpr, rates.fpr)
    pickled = pickle.dumps(evaluation)
    assert b"torch._utils" not in pickled
    again = pickle.loads(pickled)
    assert type(again.factorization) is Factorization
    assert again.auc == evaluation.auc
    assert again.hand_till == pytest.approx(evaluation.hand_till, abs=1e-12)
    assert again.standard_error == pytest.approx(evaluation.standard_error, rel=1e-8)


# Memory


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("CUDA error: out of memory\nCompile with `TORCH_USE_CUDA_DSA`", "CUDA error: out of memory"),
        ("Triton Error [CUDA]: out of memory", "Triton Error [CUDA]: out of memory"),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED"),
        ("CUDA error: an illegal memory access was encountered", None),
    ],
)
def test_memory_may_be_short_outside_of_pytorch(said, expected):
    from polyroc._core.torch.devices import failed_allocation

    assert failed_allocation(RuntimeError(said)) == expected
    assert failed_allocation(ValueError(said)) is None


def test_means_of_ones_are_not_above_one():
    """Rounded above 1, the logarithm of what is left would be no number."""
    y_true = np.repeat(np.arange(5), [1, 19, 75, 1, 4])
    for shrinkage in (1.0, 5.0):
        given = {"weighting": "prevalence", "shrinkage": shrinkage}
        expected, found = (evaluated(engine, y_true, np.eye(5)[y_true], **given) for engine in ("numpy", "torch"))
        assert found.explained == pytest.approx(expected.explained, abs=1e-9)
        assert found.factorization.chance_deviance == pytest.approx(expected.factorization.chance_deviance, rel=1e-9)
        assert found.notes == expected.notes


class _Fails:
    """In place of a step on the device: allocates a tensor, and then there is no memory for the next."""

    def __init__(self):
        self.made = None

    def __call__(self, *args, **kwargs):
        import torch

        tensor = torch.zeros(1000)
        self.made = weakref.ref(tensor)
        msg = "CUDA out of memory. Tried to allocate 7.00 GiB. GPU 0 has a total capacity of 8.00 GiB"
        raise torch.OutOfMemoryError(msg)


def tensors_alive():
    import torch

    gc.collect()
    return sum(type(one) is torch.Tensor for one in gc.get_objects())


def patch_step(patch, step, function):
    """Put a function in the place of a step of the engine, or of a pass in its table."""
    from polyroc._core.torch import engine as _engine
    from polyroc._core.torch.passes import PLAIN

    if step in PLAIN._fields:
        patch.setattr(_engine, "passes_on", lambda _: PLAIN._replace(**{step: function}))
    else:
        patch.setattr(_engine, step, function)


@pytest.mark.parametrize("step", ["cut", "fit_rank_one"])
def test_an_allocation_that_fails_is_a_memory_error_and_leaves_nothing(monkeypatch, step):
    from polyroc._core.engines import Resources
    from polyroc._core.torch import devices as _devices
    from polyroc._core.torch.devices import device_of

    polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, engine="torch")  # what is kept for all problems is there by now
    before, fails = tensors_alive(), _Fails()
    patch_step(monkeypatch, step, fails)
    at_reading = []
    monkeypatch.setattr(_devices, "free_bytes", lambda _: at_reading.append(fails.made()) or 2**30)
    with pytest.raises(MemoryError) as caught:
        polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, engine="torch")
    gc.collect()
    # Before it says how much can be had, and even while the error is at hand.
    assert at_reading == [None]
    assert fails.made is not None
    assert fails.made() is None
    message = str(caught.value)
    assert message.startswith(f"The device {device_of(Resources())} has no memory for 12 pairs of classes: ")
    assert "Tried to allocate 7.00 GiB, and" in message
    assert "GiB can be had now" in message
    assert "`max_pairs`" in message
    del caught
    assert tensors_alive() == before


def test_the_cpu_has_no_memory_for_very_much(monkeypatch):
    import torch

    from polyroc._core.torch import engine as _engine

    monkeypatch.setattr(_engine, "fit_rank_one", lambda *_: torch.empty(2**60, dtype=torch.uint8))
    with pytest.raises(
        MemoryError, match=r"no memory for 12 pairs of classes: .* 1152921504606846976 bytes, and .* GiB"
    ):
        polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, engine="torch")

    def fail(*_):
        msg = "something else"
        raise RuntimeError(msg)

    monkeypatch.setattr(_engine, "fit_rank_one", fail)
    with pytest.raises(RuntimeError, match="something else"):
        polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, engine="torch")


def test_replicates_that_fail_are_a_memory_error(monkeypatch):
    from polyroc._core.torch import engine as _engine

    evaluation = polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, engine="torch")
    fails = _Fails()
    monkeypatch.setattr(_engine, "fit_cells", fails)
    with pytest.raises(MemoryError, match=r"no memory for 12 pairs of classes: .* `max_pairs`"):
        evaluation.bootstrap(9, rng=0)
    gc.collect()
    assert fails.made() is None


# A question to samples on a device, and the step that fails.
QUESTIONS = {
    "rates": ("cut", lambda asked, pairs: asked.rates(pairs, grid(9), "own")),
    "score thresholds": ("cut_lines", lambda asked, pairs: asked.score_thresholds(pairs, grid(9), "own")),
    "areas": ("areas", lambda asked, pairs: asked.areas(pairs)),
    "areas by differences": ("Differences", lambda asked, pairs: asked.areas(pairs, "difference")),
    "areas against the rest": ("areas_against_rest", lambda asked, _: asked.areas_against_rest()),
    "area influences": ("area_influences", lambda asked, pairs: asked.area_influences(pairs, np.ones(12) / 12)),
    "weights to come": ("sorted_runs", lambda asked, pairs: asked.reweigh(pairs, grid(9), "own")),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_that_fails_is_a_memory_error(monkeypatch, question):
    step, ask = QUESTIONS[question]
    predictions, fails = as_predictions(PROBLEM.y_true, PROBLEM.y_score), _Fails()
    patch_step(monkeypatch, step, fails)
    # One-vs-rest has no option that would need less.
    is_alone = question == "areas against the rest"
    said = (
        r"no memory for this: .*`y_score.cpu\(\)`" if is_alone else "no memory for 12 pairs of classes: .*`max_pairs`"
    )
    with pytest.raises(MemoryError, match=said):
        ask(prepared("torch", predictions), all_pairs(predictions))
    gc.collect()
    assert fails.made() is None


def test_gradients_that_fail_are_a_memory_error(monkeypatch):
    from polyroc._core.torch import engine as _engine
    from polyroc._core.torch import factorization as _factorization

    problem = gaussian_problem(4, 600, 12, 1.5)
    for module, step in ((_engine, "curvature_of"), (_factorization, "_solve")):
        evaluation = quietly(polyroc.evaluate, problem.y_true, problem.y_score, n_thresholds=9, engine="torch")
        with monkeypatch.context() as patch:
            fails = _Fails()
            patch.setattr(module, step, fails)
            with pytest.raises(MemoryError, match="no memory for 132 pairs of classes"):
                evaluation.standard_error  # noqa: B018
        gc.collect()
        assert fails.made() is None
        assert evaluation.standard_error > 0


def test_replicates_that_fail_when_read_or_fitted_again_are_a_memory_error(monkeypatch):
    from polyroc._core.torch import engine as _engine

    predictions = as_predictions(PROBLEM.y_true, PROBLEM.y_score)
    pairs, drawn = all_pairs(predictions), np.ones((2, 3000))
    weights = pair_weights(predictions, pairs, Options(engine="torch"))
    reweighed = prepared("torch", predictions).reweigh(pairs, grid(9), "own")
    real = _engine.Reweighed._fitted

    def unfinished(self, *args):
        *found, converged = real(self, *args)
        return *found, converged & False

    monkeypatch.setattr(_engine.Reweighed, "_fitted", unfinished)
    # Those that did not converge are fitted again in double precision.
    assert reweighed.fits(drawn, weights, 1.0).converged.all()
    for step, ask in (
        ("areas", lambda: reweighed.rates(drawn[0])),
        ("fit_rank_one", lambda: reweighed.fits(drawn, weights, 1.0)),
    ):
        with monkeypatch.context() as patch:
            fails = _Fails()
            patch_step(patch, step, fails)
            with pytest.raises(MemoryError, match="no memory for 12 pairs of classes"):
                ask()
        gc.collect()
        assert fails.made() is None


def test_what_does_not_fit_is_refused_beforehand(monkeypatch, on_device):
    from polyroc._core.torch import engine as _engine

    problem = gaussian_problem(0, 1000, 50)
    fails = _Fails()
    monkeypatch.setattr(_engine, "free_bytes", lambda _: 2**23)
    monkeypatch.setattr(_engine, "sorted_runs", fails)
    for given in ((problem.y_true, problem.y_score), (on_device(problem.y_true), on_device(problem.y_score))):
        with pytest.raises(MemoryError, match=r"2450 pairs of classes at 111 call rates need .*`max_pairs=\d+`"):
            polyroc.evaluate(*given, engine="torch")
    assert fails.made is None


# From end to end


def test_arrays_of_the_host_are_taken():
    found, expected = (evaluated(name, PROBLEM.y_true, PROBLEM.y_score) for name in ("torch", "numpy"))
    assert_agree(found, expected)
    assert type(found.rates.tpr) is np.ndarray


def same(found, expected, atol=1e-9):
    assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=0, atol=atol)


@pytest.mark.parametrize("weighted", [False, True])
def test_tensors_go_the_whole_way(on_device, weighted):
    weight = weights(3000) if weighted else None
    tensors = {"y_true": on_device(PROBLEM.y_true), "y_score": on_device(PROBLEM.y_score)}
    tensors["sample_weight"] = None if weight is None else on_device(weight)
    found = polyroc.evaluate(**tensors)
    assert found.fitted.prepared.engine_name == "torch"
    expected = polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, sample_weight=weight, engine="numpy")
    assert_agree(found, expected)
    for name in ("accuracy", "mean_auc", "standard_error"):
        same(getattr(found, name), getattr(expected, name))
    assert str(found) == str(expected)
    # Its correction is a difference of fits, which compiled code has to 5e-9, too.
    same(found.confidence_interval(), expected.confidence_interval(), 1e-8)
    one, other = (each.bootstrap(30, rng=0) for each in (found, expected))
    for name in ("auc", "hand_till"):
        same(getattr(one, name), getattr(other, name), SINGLE)
    same(one.confidence_interval(), other.confidence_interval(), 10 * SINGLE)
    asked = {"true_class": 1, "predicted_class": 2, "ratios": [0.1, 1, 10]}
    swept = polyroc.cost_sweep(**tensors, **asked)
    given = {"sample_weight": weight, "engine": "numpy"}
    same(swept.auc, polyroc.cost_sweep(PROBLEM.y_true, PROBLEM.y_score, **asked, **given).auc)


@pytest.mark.parametrize("n_resamples", [0, 30])
def test_a_comparison_of_tensors(on_device, n_resamples):
    arrays = {"a": PROBLEM.y_score, "b": PROBLEM.y_score + np.random.default_rng(1).normal(size=(3000, 4))}
    tensors = {name: on_device(scores) for name, scores in arrays.items()}
    asked = {"method": "bootstrap", "n_resamples": n_resamples, "rng": 0} if n_resamples else {}
    found = polyroc.compare(on_device(PROBLEM.y_true), tensors, **asked)
    expected = polyroc.compare(PROBLEM.y_true, arrays, engine="numpy", **asked)
    for one, other in zip(found.by_auc.differences, expected.by_auc.differences, strict=True):
        same(one.value, other.value)
        same([one.low, one.high], [other.low, other.high], 10 * SINGLE if n_resamples else 1e-8)


def test_scores_are_not_copied_to_the_host(on_device, monkeypatch):
    given = (on_device(PROBLEM.y_true), on_device(PROBLEM.y_score))
    # Influences have a number for each sample; scores have four.
    refuse_copies(monkeypatch, 3000)
    evaluation = polyroc.evaluate(*given)
    assert evaluation.auc > 0.5
    assert evaluation.standard_error > 0
    assert "scores" not in evaluation.fitted.source._copies
    with pytest.raises(pytest.fail.Exception, match="12000 numbers were copied"):
        evaluation.fitted.source.scores  # noqa: B018


def test_the_code_of_the_page_runs(tmp_path, capsys):
    import torch

    code = python_of("docs/gpu.md").replace("50_000", "1_000").replace("100", "10")
    exec(code if torch.cuda.is_available() else code.replace('"cuda"', '"cpu"'), {})
    assert capsys.readouterr().out.startswith("0.9")


# Threads and streams


def test_the_device_is_that_of_the_thread_that_prepares(monkeypatch):
    """A new thread has the first card as its current one."""
    from polyroc._core.engines import Resources
    from polyroc._core.torch import engine as _engine

    asked, device_of = [], _engine.device_of

    def noted(resources):
        asked.append(threading.current_thread())
        return device_of(resources)

    monkeypatch.setattr(_engine, "device_of", noted)
    predictions = as_predictions(PROBLEM.y_true, PROBLEM.y_score)
    made = [_engine.ENGINE.fitter(Resources()), _engine.ENGINE.prepare(predictions, Resources())]
    thread = threading.Thread(target=lambda: [one.device for one in made])
    thread.start()
    thread.join()
    assert asked == 2 * [threading.current_thread()]


def test_replicates_of_the_parametric_model_are_fitted_where_the_scores_are(on_device, monkeypatch):
    from polyroc._core.torch import engine as _engine

    evaluation = polyroc.evaluate(on_device(PROBLEM.y_true), on_device(PROBLEM.y_score), engine="torch")
    asked, fitter = [], _engine.ENGINE.fitter
    noting = replace(_engine.ENGINE, fitter=lambda resources: asked.append(resources.device) or fitter(resources))
    monkeypatch.setattr(_engine, "ENGINE", noting)
    quietly(evaluation.bootstrap, 2, method="parametric-pairs", rng=0)
    assert asked == [str(evaluation.fitted.source.tensors.scores.device)]


def test_who_reads_what_another_made_goes_on_after_it(monkeypatch):
    from polyroc._core.torch import engine as _engine

    marks, waited = iter(["samples", "scores", "scores and places"]), []
    monkeypatch.setattr(_engine, "mark_on", lambda _: next(marks))
    monkeypatch.setattr(_engine, "go_on_after", lambda mark, _: waited.append(mark))
    made = prepared("torch", as_predictions(PROBLEM.y_true, PROBLEM.y_score))
    made.runs()
    assert waited == ["samples", "scores"]
    made.runs()
    made.runs(ordered=True)
    assert waited[2:] == ["scores", "scores", "scores", "scores and places"]


def test_marks_are_on_the_current_stream_of_the_device(monkeypatch):
    import torch

    from polyroc._core.torch.devices import go_on_after, mark_on

    class Stream:
        def record_event(self):
            return "mark"

        def wait_event(self, mark):
            done.append(mark)

    done, card = [], torch.device("cuda", 1)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream() if device == card else None)
    go_on_after(mark_on(card), card)
    assert done == ["mark"]
    go_on_after(mark_on(torch.device("cpu")), torch.device("cpu"))
    assert done == ["mark"]


# Kernels


@pytest.mark.full("torch", "triton")
@pytest.mark.parametrize(("n_thresholds", "has"), [(5, True), (1200, False)])
def test_very_fine_grids_have_no_kernel_of_influences(monkeypatch, n_thresholds, has):
    """It would take minutes to compile."""
    from polyroc._core.torch import engine as _engine
    from polyroc._core.torch import influence_kernels as _influence_kernels
    from polyroc._core.torch.passes import PLAIN

    fails = _Fails()
    evaluation = polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score, engine="torch", n_thresholds=n_thresholds)
    passes = PLAIN._replace(influences=_influence_kernels.influences)
    monkeypatch.setattr(_engine, "passes_on", lambda _: passes)
    monkeypatch.setattr(_influence_kernels, "cut", fails)
    if has:
        with pytest.raises(MemoryError, match="no memory for 12 pairs of classes"):
            evaluation.standard_error  # noqa: B018
    else:
        assert evaluation.standard_error > 0


@pytest.mark.full("torch", "triton")
def test_a_table_of_kernels_has_them_for_all_but_the_gram_matrix(monkeypatch):
    from polyroc._core.torch import passes as _passes

    monkeypatch.setattr(_passes, "has_kernels", lambda _: True)
    found = _passes.passes_on.__wrapped__("cuda")
    plain = [name for name, one in found._asdict().items() if one is getattr(_passes.PLAIN, name)]
    assert plain == ["gram"]
    # Of the same names and arguments.
    for one, other in zip(found, _passes.PLAIN, strict=True):
        assert one.__name__ == other.__name__
        assert signature(one) == signature(other)


@pytest.mark.full("torch", "triton")
@pytest.mark.parametrize(("version", "has"), [("3.2.0", False), ("3.3.0", True), ("3.10.1+git5c", True), ("4.0", True)])
def test_kernels_need_a_triton_that_they_are_tested_with(version, has, monkeypatch):
    import triton

    from polyroc._core.torch.passes import has_kernels

    monkeypatch.setattr(triton, "__version__", version)
    # Without its cache, which is for the version that is installed.
    assert has_kernels.__wrapped__("cuda") == has
    assert not has_kernels.__wrapped__("cpu")


# What is said before kernels are compiled


@pytest.fixture
def announcement(monkeypatch, tmp_path, caplog):
    """What a new process says, whose Triton keeps kernels in the folder given."""
    import triton

    from polyroc._core.torch import passes as _passes

    def said_with(folder):
        monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
        if hasattr(triton, "knobs"):
            assert triton.knobs.cache.dir == str(folder)
        _passes.announce_compilation.cache_clear()
        caplog.clear()
        _passes.announce_compilation()
        _passes.announce_compilation()
        return [record.getMessage() for record in caplog.records if record.name == "polyroc"]

    yield said_with
    _passes.announce_compilation.cache_clear()


SAID = "polyroc is compiling its kernels for the GPU, which takes up to half a minute. Later runs read them from disk."


@pytest.mark.full("torch", "triton")
def test_the_first_compilation_is_announced(announcement, tmp_path, monkeypatch):
    from polyroc._core.torch import passes as _passes

    assert announcement(tmp_path / "cache") == [SAID]
    assert announcement(tmp_path / "cache") == []
    assert announcement(tmp_path / "other") == [SAID]
    # Other kernels are compiled again.
    monkeypatch.setattr(_passes, "_version", lambda: "other")
    assert announcement(tmp_path / "cache") == [SAID]


@pytest.mark.full("torch", "triton")
def test_a_folder_that_cannot_be_written_to_does_not_matter(announcement, tmp_path):
    (tmp_path / "file").touch()
    for _ in range(2):
        assert announcement(tmp_path / "file" / "cache") == [SAID]


@pytest.mark.full("torch", "triton")
def test_it_is_announced_where_kernels_are_first_failed_allocation(announcement, tmp_path, monkeypatch, caplog):
    from polyroc._core.torch import passes as _passes

    announcement(tmp_path / "one")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "two"))
    _passes.announce_compilation.cache_clear()
    caplog.clear()
    assert _passes.kernels("sweep").can_sweep
    assert [record.getMessage() for record in caplog.records] == [SAID]
