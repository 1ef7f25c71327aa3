"""The board from which threads take work, and what is copied and sorted by many of them."""

import threading

import numpy as np
import pytest
from interrupts import threads_left, until
from numpy.testing import assert_allclose, assert_array_equal
from problems import gaussian_problem

import polyroc
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.threads import Threads

pytest.importorskip("numba")

from polyroc._engines._numba import _board, _cells, _class_sorted, _crew, _engine
from polyroc._engines._numba._adjoint import solve_one
from polyroc._engines._numba._compile import kernel
from polyroc._engines._numba._eliminated import EliminatedPairs

pytestmark = pytest.mark.threads


@kernel
def mark(board, taken, worker):
    while _board.load(board, _board.STOP) == 0:
        ticket = _board.take(board)
        if ticket >= 0:
            taken[worker, ticket] += 1
            _board.finish(board)
        else:
            _board.wait(0)


def test_every_ticket_is_taken_once():
    board, taken = _board.new_board(), np.zeros((3, 3000), dtype=np.int64)
    helpers = [threading.Thread(target=mark, args=(board, taken, worker)) for worker in range(3)]
    for helper in helpers:
        helper.start()
    try:
        for handed in range(0, 3000, 30):
            _board.hand_out(board, 30)
            assert until(lambda: _board.are_done(board, 1000))
            assert_array_equal(taken.sum(axis=0), np.arange(3000) < handed + 30)
    finally:
        _board.stop(board)
    for helper in helpers:
        helper.join(120)
        assert not helper.is_alive()


def test_no_ticket_is_taken_after_the_stop():
    board, taken = _board.new_board(), np.zeros((1, 5), dtype=np.int64)
    _board.hand_out(board, 5)
    _board.stop(board)
    mark(board, taken, 0)
    assert not taken.any()
    assert not _board.are_done(board, 10)


def fit_with(monkeypatch, helpers_come):
    """A fit of 40 classes whose helpers never come, or take all pieces; and how many pieces they took."""
    problem = gaussian_problem(4, 1500, 40)
    serve, n_helped = _crew.serve, [0]

    def by_one_side(board, job, worker, once):
        if (worker > 0) == helpers_come:
            found = serve(board, job, worker, once)
            n_helped[0] += int(board[_board.DONE]) if worker > 0 else 0
            return found
        if worker == 0:
            # Until others have taken all pieces.
            assert until(lambda: board[_board.NEXT] == board[_board.LIMIT])
        return False

    with monkeypatch.context() as patch:
        patch.setattr(_crew, "serve", by_one_side)
        found = polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", n_jobs=3).factorization
    assert not threads_left()
    return found, n_helped[0]


def test_who_takes_a_piece_does_not_matter(monkeypatch):
    (alone, of_nobody), (helped, of_helpers) = fit_with(monkeypatch, False), fit_with(monkeypatch, True)
    assert of_nobody == 0
    assert of_helpers > 0
    assert_array_equal(alone.row_effects, helped.row_effects)
    assert_array_equal(alone.pair_effects, helped.pair_effects)
    assert alone.deviance == helped.deviance


def test_an_error_between_passes_sends_helpers_home(monkeypatch):
    problem = gaussian_problem(4, 1500, 40)
    polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", n_jobs=3)

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(EliminatedPairs, "attempt", fail)
    with pytest.raises(KeyboardInterrupt):
        polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", n_jobs=3)
    assert not threads_left()


def crew_of(n_jobs, threads):
    problem = gaussian_problem(0, 2000, 50)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", n_jobs=n_jobs)
    weights = polyroc._estimator._weights.pair_weights(evaluation._source, evaluation._pair_index, evaluation._options)
    return crew_for(evaluation.rates, weights, threads)


def crew_for(rates, weights, threads):
    cells = _cells.cells_of(rates, weights, 1.0, _cells.row_means(rates, weights, threads))
    return EliminatedPairs.of(cells, _cells.pieces(rates.n_pairs), threads).crew


def test_an_interrupt_while_helpers_begin_sends_home_those_that_have(monkeypatch):
    start, begun = Threads.start, []

    def start_one(self, call):
        if begun:
            raise KeyboardInterrupt
        begun.append(call)
        return start(self, call)

    with Threads(3) as threads:
        crew = crew_of(3, threads)
        monkeypatch.setattr(Threads, "start", start_one)
        with pytest.raises(KeyboardInterrupt), crew.at_work():
            pass
    assert begun
    assert crew._board[_board.STOP] == 1
    assert not threads_left()


def test_an_error_of_a_helper_is_raised_by_who_waits_for_it(monkeypatch):
    problem = gaussian_problem(4, 1500, 40)
    serve = _crew.serve

    def fails_elsewhere(board, job, worker, once):
        if worker == 0:
            # A ticket stays with the helper that took it and failed.
            return until(lambda: board[_board.NEXT] > board[_board.DONE]) and False
        board[_board.NEXT] += 1
        raise MemoryError

    monkeypatch.setattr(_crew, "serve", fails_elsewhere)
    with pytest.raises(MemoryError):
        polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", n_jobs=2)
    monkeypatch.setattr(_crew, "serve", serve)
    assert not threads_left()


@pytest.mark.slow
def test_a_helper_that_nobody_tells_goes_home_by_itself():
    with Threads(2) as threads:
        job = crew_of(2, threads).job
    helper = threading.Thread(target=_crew.serve, args=(_board.new_board(), job, 1, False))
    helper.start()
    helper.join(600)
    assert not helper.is_alive()


def test_a_job_has_the_memory_it_says():
    problem = gaussian_problem(0, 2000, 50)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine="numba")
    rates, n_pairs = evaluation.rates, evaluation.rates.n_pairs
    n_rows, n_pieces = 2 * rates.n_call_rates, len(_cells.pieces(n_pairs))
    weights = polyroc._estimator._weights.pair_weights(evaluation._source, evaluation._pair_index, evaluation._options)
    with Threads(4) as threads:
        job = crew_for(rates, weights, threads).job
    there = sum(array.nbytes for name, array in job._asdict().items() if name != "data")
    said = _crew.job_memory(n_pairs, n_rows, n_pieces, 4, 8)
    assert 0.8 * said <= there <= said + 8 * (n_rows + 4) * 8
    prepared = _engine.ENGINE.prepare(evaluation._source, polyroc._engines.Resources(4))
    assert prepared.memory_for_cells(n_pairs, rates.n_call_rates) > there


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
@pytest.mark.parametrize("way", ["scattered", "gathered", "at once"])
def test_classes_are_copied_and_sorted_by_any_way(monkeypatch, way, dtype, order):
    """As sorted column by column, where a class may have no sample and blocks are small."""
    monkeypatch.setattr(_class_sorted, "WORTH_A_THREAD", 64)
    monkeypatch.setattr(_class_sorted, "_SCATTERED", 10**6 if way == "scattered" else 0)
    monkeypatch.setattr(_class_sorted, "_SMALL_CLASS", 10**6 if way == "at once" else 0)
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
