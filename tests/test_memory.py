"""A problem that cannot fit says so before it allocates."""

import re
import tracemalloc

import numpy as np
import pytest
from problems import gaussian_problem

import polyroc
from polyroc._validation import as_predictions
from polyroc.engines import _memory, _numpy, get_engine

MIB = 2**20


@pytest.fixture(params=["numpy", "numba"])
def engine(request):
    pytest.importorskip(request.param)
    return request.param


@pytest.fixture
def problem():
    return gaussian_problem(0, 1000, 50)


def test_a_problem_that_does_not_fit_names_its_size_and_the_way_out(monkeypatch, problem, engine):
    monkeypatch.setattr(_memory, "available", lambda: MIB)
    with pytest.raises(MemoryError) as caught:
        polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, n_thresholds=199)
    message = str(caught.value)
    assert "2450 pairs of classes at 209 call rates" in message
    assert re.search(r"about \d+\.\d GiB", message)
    assert "`n_thresholds`" in message
    assert re.search(r"`max_pairs=\d+`", message)


def test_nothing_large_is_allocated_first(monkeypatch, problem, engine):
    module = get_engine(engine, as_predictions(problem.y_true, problem.y_score))
    monkeypatch.setattr(_memory, "available", lambda: MIB)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError):
            polyroc.evaluate(problem.y_true, problem.y_score, engine=module.__name__.rpartition("_")[2])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The rates alone would need 3.7 MiB.
    assert peak < MIB


def test_what_the_message_proposes_fits(monkeypatch, engine):
    problem = gaussian_problem(0, 900, 30)
    predictions = as_predictions(problem.y_true, problem.y_score)
    module = get_engine(engine, predictions)
    monkeypatch.setattr(_memory, "available", lambda: module.memory_needed(predictions, 870, 111) // 2)
    with pytest.raises(MemoryError) as caught:
        polyroc.evaluate(problem.y_true, problem.y_score, engine=engine)
    proposed = int(re.search(r"`max_pairs=(\d+)`", str(caught.value))[1])
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, max_pairs=proposed)
    assert evaluation.factorization.converged


@pytest.mark.parametrize("free", [None, 2**40])
def test_nothing_is_raised_where_there_is_room_or_nothing_is_known(monkeypatch, problem, engine, free):
    monkeypatch.setattr(_memory, "available", lambda: free)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, n_thresholds=9)
    assert evaluation.factorization.converged


def test_two_classes_always_fit(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: 0)
    assert polyroc.auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) == 0.75


def test_what_is_free_is_known_on_linux():
    free = _memory.available()
    assert free is None or 0 < free < 2**50


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_the_reference_engine_needs_no_more_than_it_says(weighted):
    problem = gaussian_problem(0, 2000, 30)
    weight = np.linspace(1, 2, 2000) if weighted else None
    predictions = as_predictions(problem.y_true, problem.y_score, sample_weight=weight)
    needed = _numpy.memory_needed(predictions, 870, 111)
    tracemalloc.start()
    try:
        polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy", sample_weight=weight)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < needed


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_the_fast_engine_needs_no_more_than_it_says(weighted):
    pytest.importorskip("numba")
    problem = gaussian_problem(0, 3000, 100)
    weight = np.linspace(1, 2, 3000) if weighted else None
    predictions = as_predictions(problem.y_true, problem.y_score, sample_weight=weight)
    needed = get_engine("numba", predictions).memory_needed(predictions, 9900, 111)
    polyroc.auc_score(problem.y_true, problem.y_score, engine="numba", sample_weight=weight)  # compiled by now
    tracemalloc.start()
    try:
        polyroc.auc_score(problem.y_true, problem.y_score, engine="numba", sample_weight=weight, n_jobs=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The sums of sixteen chunks have the same size for any problem.
    assert peak < needed + 8 * MIB
