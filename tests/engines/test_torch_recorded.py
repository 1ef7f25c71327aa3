"""Small fits from a recording are those that are launched step by step.

On a card these tests replay CUDA graphs. On the CPU, what a graph would repeat is done again, in the same memory: that
tests everything but the graph itself.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import gaussian_problem, quietly, random_problem

import polyroc

pytestmark = pytest.mark.full("torch")


@pytest.fixture
def recorded(monkeypatch):
    """The module, with nothing recorded yet, on any device; `calls` has the number of iterations of each replay."""
    from polyroc._engines._torch import _devices, _recorded

    assert _recorded._recordings.forget in _devices.on_shortage
    monkeypatch.setattr(_recorded, "_is_recorded_on", lambda _: True)
    monkeypatch.setattr(_recorded, "_recordings", _recorded._Recordings())
    monkeypatch.setattr(_devices, "on_shortage", [_recorded._recordings.forget])
    real, calls = _recorded._Recording.descend, []

    def descend(self, *args):
        ended = real(self, *args)
        calls.append(ended.courses[0].n_iter)
        return ended

    monkeypatch.setattr(_recorded._Recording, "descend", descend)
    monkeypatch.setattr(_recorded, "calls", calls, raising=False)
    return _recorded


def evaluated(y_true, y_score, **options):
    return quietly(polyroc.evaluate, y_true, y_score, engine="torch", **options)


def launched(monkeypatch, recorded, *args, **options):
    """The same without any recording."""
    with monkeypatch.context() as patch:
        patch.setattr(recorded, "_is_recorded_on", lambda _: False)
        return evaluated(*args, **options)


def assert_same(found, expected):
    """To the last bit on the CPU; on a card, steps of small fits are kernels of their own."""
    import torch

    one, other = found.factorization, expected.factorization
    assert one.status == other.status
    if torch.cuda.is_available():
        assert found.auc == pytest.approx(expected.auc, abs=1e-9)
        assert_allclose(one.pair_effects, other.pair_effects, rtol=0, atol=1e-7)
        return
    assert found.auc == expected.auc
    assert one.n_iter == other.n_iter
    for name in ("row_effects", "pair_effects", "deviance_path", "mean_rates"):
        assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    "options",
    [{}, {"thresholds": "shared"}, {"n_thresholds": 5}, {"shrinkage": 0.01}],
    ids=["plain", "shared", "pairs outnumber rows", "little shrinkage"],
)
def test_fits_of_one_size_are_replayed_from_the_second_on(recorded, monkeypatch, options):
    """Each with its own rates, costs and weights: nothing of the fit that was recorded stays in the others."""
    for seed in range(5):
        problem = gaussian_problem(seed, 400, 6, 1.0 + seed / 2)
        costs = {"costs": 10 ** np.random.default_rng(seed).uniform(-1, 1, (6, 6))} if seed % 2 else {}
        given = (problem.y_true, problem.y_score)
        expected = launched(monkeypatch, recorded, *given, **costs, **options)
        assert_same(evaluated(*given, **costs, **options), expected)
        assert len(recorded.calls) == seed


def test_steps_that_are_not_taken_are_taken_back(recorded, monkeypatch):
    refused = 0
    for seed in range(12):
        problem = random_problem(seed, n_classes=5, max_samples=500)
        given = (problem.y_true, problem.y_score)
        expected = launched(monkeypatch, recorded, *given, **problem.arguments)
        found = evaluated(*given, **problem.arguments)
        assert_same(found, expected)
        refused += found.factorization.n_iter - (len(found.factorization.deviance_path) - 1)
    assert refused > 0
    assert len(recorded.calls) > 6


def test_single_precision_is_recorded_by_itself(recorded, monkeypatch):
    from polyroc._engines._torch import _devices

    problem = gaussian_problem(0, 500, 5)
    y_true, y_score = problem.y_true, problem.y_score.astype(np.float32)
    for _ in range(2):
        evaluated(y_true, y_score)
    assert len(recorded.calls) == 1
    monkeypatch.setattr(_devices, "SINGLE_CELLS", 0)
    expected = launched(monkeypatch, recorded, y_true, y_score)
    for _ in range(3):
        found = evaluated(y_true, y_score)
        assert found.factorization.is_single
        assert found.auc == pytest.approx(expected.auc, abs=1e-7)
    assert len(recorded.calls) == 3


def test_few_recordings_are_kept(recorded):
    problem = gaussian_problem(0, 200, 3)
    most = recorded._MOST_RECORDINGS
    # Even ones: an odd number has its point at 1/2 already, and so a grid as long as that of the number before it.
    sizes = range(4, 4 + 2 * (most + 2), 2)
    for n_thresholds in sizes:
        for _ in range(2):
            evaluated(problem.y_true, problem.y_score, n_thresholds=n_thresholds)
    assert len(recorded.calls) == most + 2
    assert len(recorded._recordings._kept) == most
    # The first is forgotten, the last is not.
    evaluated(problem.y_true, problem.y_score, n_thresholds=sizes[0])
    assert len(recorded.calls) == most + 2
    evaluated(problem.y_true, problem.y_score, n_thresholds=sizes[-1])
    assert len(recorded.calls) == most + 3


def test_what_cannot_be_recorded_is_launched(recorded, monkeypatch):
    """Once a library has refused, no other fit tries."""
    asked = []

    def refuses(*_):
        asked.append(1)
        msg = "operation not permitted when stream is capturing"
        raise RuntimeError(msg)

    monkeypatch.setattr(recorded, "_recorded", refuses)
    problem = gaussian_problem(0, 300, 4)
    found = [evaluated(problem.y_true, problem.y_score).auc for _ in range(4)]
    assert len(set(found)) == 1
    assert len(asked) == 1
    assert recorded.calls == []


def test_a_shortage_of_memory_may_pass(recorded, monkeypatch):
    """Nothing is recorded then, but later it is."""
    import torch

    def fails(*_):
        msg = "CUDA out of memory. Tried to allocate 7.00 GiB. GPU 0 has a total capacity of 8.00 GiB"
        raise torch.OutOfMemoryError(msg)

    problem = gaussian_problem(0, 300, 4)
    found = [evaluated(problem.y_true, problem.y_score).auc]
    with monkeypatch.context() as patch:
        patch.setattr(recorded, "_recorded", fails)
        found.append(evaluated(problem.y_true, problem.y_score).auc)
    assert recorded.calls == []
    # Met for the first time once more, then recorded.
    found += [evaluated(problem.y_true, problem.y_score).auc for _ in range(2)]
    assert len(recorded.calls) == 1
    assert found == pytest.approx(4 * [found[0]], abs=1e-9)


def test_recordings_are_forgotten_where_memory_is_short(recorded, monkeypatch):
    import torch

    from polyroc._engines._torch import _engine

    problem = gaussian_problem(0, 300, 4)
    for _ in range(2):
        evaluated(problem.y_true, problem.y_score)
    assert len(recorded._recordings._kept) == 1

    def fails(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with monkeypatch.context() as patch:
        patch.setattr(_engine, "cut_own", fails)
        with pytest.raises(MemoryError):
            evaluated(problem.y_true, problem.y_score)
    assert not recorded._recordings._kept
    for _ in range(2):
        evaluated(problem.y_true, problem.y_score)
    assert len(recorded.calls) == 2


@pytest.mark.parametrize("is_made_inside", [True, False])
def test_a_recording_serves_inside_and_outside_inference_mode(recorded, monkeypatch, is_made_inside):
    import torch

    problem = gaussian_problem(0, 300, 4)
    expected = launched(monkeypatch, recorded, problem.y_true, problem.y_score)
    for is_inside in (is_made_inside, is_made_inside, not is_made_inside, is_made_inside):
        with torch.inference_mode(is_inside):
            assert_same(evaluated(problem.y_true, problem.y_score), expected)
    assert len(recorded.calls) == 3


def test_a_default_device_changes_no_recording(recorded, monkeypatch):
    import torch

    problem = gaussian_problem(0, 300, 4)
    expected = launched(monkeypatch, recorded, problem.y_true, problem.y_score)
    for _ in range(2):
        with torch.device("meta"):
            assert_same(evaluated(problem.y_true, problem.y_score), expected)
    assert len(recorded.calls) == 1


def test_large_fits_are_not_recorded(recorded, monkeypatch):
    monkeypatch.setattr(recorded, "_MOST_RATES", 100)
    problem = gaussian_problem(0, 300, 4)
    for _ in range(3):
        evaluated(problem.y_true, problem.y_score)
    assert recorded.calls == []
    assert not recorded._recordings._kept
