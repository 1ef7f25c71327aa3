"""Settings of PyTorch that a caller has made for other work: they change no bit of a result."""

import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from preparing import prepared
from problems import gaussian_problem, quietly

import polyroc
from polyroc._core.weights import pair_weights
from polyroc._inputs import arrays as input_devices
from polyroc._inputs.options import Options
from polyroc._inputs.predictions import as_predictions
from polyroc._inputs.tensors import TensorPredictions
from polyroc._lib.grid import grid

pytestmark = pytest.mark.full("torch")


@contextmanager
def default_dtype(name):
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, name))
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def default_device():
    """A tensor that is made without a device has no numbers."""
    import torch

    with torch.device("meta"):
        yield


@contextmanager
def autocast():
    import torch

    with torch.autocast("cuda" if torch.cuda.is_available() else "cpu", dtype=torch.bfloat16):
        yield


@contextmanager
def inference_mode():
    import torch

    with torch.inference_mode():
        yield


MADE = {
    "default device": default_device,
    "double by default": lambda: default_dtype("float64"),
    "half by default": lambda: default_dtype("float16"),
    "autocast": autocast,
    "inference mode": inference_mode,
}


def numbers(y_true, y_score, sample_weight, **options):
    """What an evaluation gives, from its sorting to its resamples."""
    found = quietly(polyroc.evaluate, y_true, y_score, sample_weight=sample_weight, n_thresholds=9, **options)
    yield found.auc, found.hand_till, found.standard_error
    yield found.factorization.pair_effects
    yield found.pairs.auc
    yield found.score_thresholds
    yield found.influences
    yield found.bootstrap(5, rng=0).auc
    # And not on threads, which have settings of their own.
    asked = found.fitted.prepared.reweigh(found.fitted.pairs, grid(9), options.get("thresholds", "own"))
    weights = pair_weights(found.fitted.source, found.fitted.pairs, Options(engine="torch", **options))
    drawn = np.random.default_rng(0).integers(1, 4, (3, found.fitted.source.n_samples)).astype(float)
    yield asked.fits(drawn, weights, 1.0).row_effects
    yield asked.rates(drawn[0])[1]


CASES = {
    "own": {},
    "shared": {"thresholds": "shared"},
    "difference": {"thresholds": "difference"},
    "costs": {"costs": 10 ** np.random.default_rng(8).uniform(-1, 1, (8, 8))},
}


@pytest.fixture
def samples(monkeypatch):
    """More pairs than rows, in single precision, taken for tensors of a card where there is none."""
    import torch

    from polyroc._core.torch import devices as _devices

    monkeypatch.setattr(_devices, "SINGLE_CELLS", 0)
    if not torch.cuda.is_available():
        monkeypatch.setattr(input_devices, "_lies_on_device", lambda value: isinstance(value, torch.Tensor))
    problem = gaussian_problem(3, 300, 8, 1.2)
    weight = np.random.default_rng(7).uniform(0.1, 2, 300)
    given = (problem.y_true, problem.y_score.astype(np.float32), weight)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.tensor(one, device=device) for one in given]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("setting", MADE)
def test_a_setting_for_other_work_changes_nothing(samples, setting, case):
    expected = list(numbers(*samples, **CASES[case]))
    with MADE[setting]():
        found = list(numbers(*samples, **CASES[case]))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


def assert_same(found, expected):
    """To the last bit on the CPU; on a card, first fits of a size and influences may differ there."""
    import torch

    if torch.cuda.is_available():
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    else:
        assert_array_equal(found, expected)


@pytest.mark.parametrize("setting", MADE)
def test_nor_does_it_change_baselines(setting):
    problem = gaussian_problem(3, 200, 5, 1.2)
    predictions = as_predictions(problem.y_true, problem.y_score.astype(np.float32))

    def found():
        return prepared("torch", predictions).areas_against_rest()

    expected = found()
    with MADE[setting]():
        assert_array_equal(found(), expected)


def test_what_was_made_in_inference_mode_is_read_outside(samples):
    import torch

    with torch.inference_mode():
        made = [one.clone() for one in samples]
        evaluation = quietly(polyroc.evaluate, *made[:2], sample_weight=made[2])
    expected = quietly(polyroc.evaluate, *samples[:2], sample_weight=samples[2])
    assert_same(evaluation.standard_error, expected.standard_error)
    assert_same(evaluation.bootstrap(5, rng=0).auc, expected.bootstrap(5, rng=0).auc)
    assert_same(quietly(polyroc.evaluate, *made[:2], sample_weight=made[2]).auc, expected.auc)


# Several cards


@pytest.fixture
def entered(monkeypatch):
    """What a card is told in place of one: `torch.cuda.device`, `torch.cuda.stream` and `torch.autocast`."""
    import torch

    events = []

    def told(name):
        @contextmanager
        def within(*args, **kwargs):
            events.append((name, *args, *kwargs.values()))
            yield
            events.append(f"end of {name}")

        return within

    monkeypatch.setattr(torch.cuda, "device", told("device"))
    monkeypatch.setattr(torch.cuda, "stream", told("stream"))
    monkeypatch.setattr(torch, "autocast", told("autocast"))
    return events


def test_a_card_computes_where_the_scores_are_in_any_thread(entered):
    import torch

    from polyroc._core.torch.devices import computing_on

    second = torch.device("cuda", 1)

    def work():
        with computing_on(second, 12, "the caller's stream"):
            entered.append("work")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    before = [("device", second), ("stream", "the caller's stream"), ("autocast", "cuda", False)]
    assert entered == [*before, "work", "end of autocast", "end of stream", "end of device"]
    # The same where something goes wrong, which is not a shortage of memory.
    entered.clear()
    with pytest.raises(ValueError, match="wrong"), computing_on(second, 12):
        raise ValueError("wrong")
    assert entered[-3:] == ["end of autocast", "end of stream", "end of device"]


@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_a_resample_without_a_class_is_computed_where_the_samples_are(samples, monkeypatch):
    """By itself an engine would take the current card of the thread that draws."""
    from polyroc._core.torch import engine

    y_true, y_score, _ = samples
    evaluation = polyroc.evaluate(y_true, y_score)
    asked, prepare = [], engine.ENGINE.prepare

    def noted(source, resources):
        # Samples on a device say themselves where they are.
        if not isinstance(source, TensorPredictions):
            asked.append(resources.device)
        return prepare(source, resources)

    monkeypatch.setattr(engine, "ENGINE", replace(engine.ENGINE, prepare=noted))
    codes = y_true.cpu().numpy()
    # All samples of a class are one group, which a third of the resamples do not have.
    groups = np.where(codes == 7, 99, np.arange(len(codes)) % 20)
    assert evaluation.bootstrap(20, groups=groups, rng=0).n_lost_class > 0
    assert set(asked) == {str(y_score.device)}
