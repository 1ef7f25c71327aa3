"""Fits whose pairs are swept in pieces by several threads, and what is copied and sorted by many of them."""

import numpy as np
import pytest
from interrupts import threads_left
from numpy.testing import assert_allclose, assert_array_equal
from problems import gaussian_problem

import polyroc
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.threads import Threads

pytest.importorskip("numba")

import numba

from polyroc._core.numba import class_sorted as _class_sorted
from polyroc._core.numba import engine as _engine
from polyroc._core.numba import problem as _problem
from polyroc._core.numba.problem import EliminatedPairs
from polyroc._core.numba.steps import solve_positive

pytestmark = pytest.mark.threads


def evaluated(n_jobs):
    problem = gaussian_problem(4, 1500, 40)
    return polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", n_jobs=n_jobs)


def problem_in_pieces(evaluation, threads):
    rates = evaluation.rates
    weights = polyroc._core.weights.pair_weights(
        evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options
    )
    cells = _problem.cells_of(rates, weights, 1.0, _problem.row_means(rates, weights, threads))
    return EliminatedPairs.of(cells, _problem.pieces(rates.n_pairs), threads)


def started(problem):
    return problem.start(problem.cells.first_row, np.ones(problem.cells.n_pairs))


def test_the_number_of_threads_changes_no_bit():
    alone, helped, crowded = (evaluated(n_jobs).factorization for n_jobs in (1, 3, 16))
    for other in (helped, crowded):
        assert_array_equal(alone.row_effects, other.row_effects)
        assert_array_equal(alone.pair_effects, other.pair_effects)
        assert alone.deviance == other.deviance
    assert not threads_left()


def test_each_thread_sweeps_in_arrays_of_its_own_and_gives_them_back():
    evaluation = evaluated(1)
    with Threads(3) as threads:
        problem = problem_in_pieces(evaluation, threads)
        assert len(problem.parts) > 3
        spare = {id(arrays) for arrays in problem.buffers.spare}
        first = started(problem)
        assert {id(arrays) for arrays in problem.buffers.spare} == spare
    assert len(spare) == 3
    with Threads(1) as threads:
        alone = problem_in_pieces(evaluation, threads)
        assert len(alone.buffers.spare) == 1
        assert_array_equal(started(alone).row_sums, first.row_sums)
        # Below the diagonal nobody reads.
        assert_array_equal(np.triu(alone.buffers.gram[0]), np.triu(problem.buffers.gram[0]))


def test_an_error_between_passes_leaves_no_thread(monkeypatch):
    evaluated(3)

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(EliminatedPairs, "attempt", fail)
    with pytest.raises(KeyboardInterrupt):
        evaluated(3)
    assert not threads_left()


def test_an_error_in_a_piece_is_raised(monkeypatch):
    evaluated(2)

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("polyroc._core.numba.fit.sweep", fail)
    with pytest.raises(MemoryError):
        evaluated(2)
    assert not threads_left()


def test_buffers_have_the_memory_they_say():
    evaluation = evaluated(None)
    n_pairs, n_rows = evaluation.rates.n_pairs, 2 * evaluation.rates.n_call_rates
    with Threads(4) as threads:
        problem = problem_in_pieces(evaluation, threads)
    buffers = problem.buffers
    there = sum(array.nbytes for array in vars(buffers).values() if isinstance(array, np.ndarray))
    there += sum(array.nbytes for arrays in buffers.spare for array in arrays)
    said = _problem.buffer_memory(n_pairs, n_rows, len(problem.parts), 4, 8)
    assert 0.8 * said <= there <= said + 8 * (n_rows + 4) * 8
    prepared = _engine.ENGINE.prepare(evaluation.fitted.source, polyroc._core.Resources(4))
    assert prepared.memory_for_cells(n_pairs, evaluation.rates.n_call_rates) > there


@numba.njit
def solve_one(matrix, right):
    return solve_positive(matrix, right)


@pytest.mark.parametrize("n", [*range(1, 14), 41, 90])
def test_positive_systems_are_solved_as_by_lapack(n):
    rng = np.random.default_rng(n)
    half = rng.normal(size=(n, n + 3))
    matrix, right = half @ half.T / n + np.eye(n), rng.normal(size=n)
    found = right.copy()
    assert solve_one(matrix.copy(), found)
    assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9, atol=1e-12)
    matrix[-1, -1] = -1.0
    assert not solve_one(matrix, right)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("way", ["scattered", "gathered"])
def test_classes_are_copied_and_sorted_by_any_way(monkeypatch, way, dtype, order):
    """As sorted column by column, where a class may have no sample and blocks are small."""
    monkeypatch.setattr(_class_sorted, "WORTH_A_THREAD", 64)
    monkeypatch.setattr(_class_sorted, "_SCATTERED", 10**6 if way == "scattered" else 0)
    rng = np.random.default_rng(0)
    y_true = rng.choice([0, 1, 2, 4, 5], size=700, p=[0.6, 0.2, 0.1, 0.09, 0.01])
    y_score = np.asarray(rng.normal(size=(700, 6)).round(1).astype(dtype), order=order)
    with pytest.warns(UserWarning, match="No samples"):
        predictions = as_predictions(y_true, y_score)
    with Threads(3) as threads:
        found = _class_sorted.class_sorted(predictions, threads)
        copied = _class_sorted.gathered(predictions, threads)
    members = np.argsort(y_true, kind="stable")
    assert_array_equal(found.members, members)
    assert_array_equal(found.offsets, np.cumsum([0, *np.bincount(y_true)]))
    assert_array_equal(copied.values, y_score[members].T)
    for c in range(6):
        expected = np.sort(y_score[y_true == c], axis=0).T
        assert_array_equal(found.values[:, found.offsets[c] : found.offsets[c + 1]], expected)
