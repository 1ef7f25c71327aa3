"""The passes of a fit by pieces, which the threads of a crew take from a board (`_board.py`).

Whoever takes a piece writes only to the places of that piece, and pieces are added up in their order: results do not
depend on who took which. T call rates, K pairs, R fitted rows, P pieces, W threads; S is R rounded up to a multiple of
four.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from polyroc._engines._numba import _board
from polyroc._engines._numba._compile import borrowed, inner, kernel
from polyroc._engines._numba._fit import (
    BLOCK,
    N_ROW_SUMS,
    N_TOTALS,
    Data,
    Gathering,
    PairState,
    add_deviance,
    solve_effects,
    sweep,
)
from polyroc._lib.threads import Threads
from polyroc._lib.typing import FloatArray

# Entries of `Job.asked`: which pass, the number of the first ticket, from which state to which, whether with curvature,
# and where the gram matrix goes.
PASS, FIRST, OLD, NEW, CURVATURE, GRAM = range(6)
# Passes: over the pairs of a piece, and last over some rows of all gram matrices.
SWEEP, EFFECTS, DEVIANCE, ADD_GRAMS = range(4)
# Effects at which sums are looked up for a start: neighbours differ by 7 %.
N_EFFECTS = 129
# Rows of the gram matrices that are added up at a time.
_GRAM_ROWS = 16
# Turns that are waited for the last pieces before Python has a look whether Ctrl-C was pressed: about 0.15 s, of naps.
_TURNS = 5_000
# Turns after which a helper goes home by itself, some seconds: nobody may have come to tell it. Others do its work.
_PATIENCE = 40_000


class Job(NamedTuple):
    """What all threads share. A state, of two, has one entry along the first axis of `rows` and of what pairs have."""

    data: Any  # Data
    edges: Any  # (P + 1,) where the pieces begin
    asked: Any  # (6,), by PASS and what follows it
    stretch: Any  # (1,)
    rows: Any  # (2, R) lambda of both states, in the working precision
    effect: Any  # (2, K), as the next three in PairState
    gradient: Any
    block: Any
    pinned: Any
    row_sums: Any  # (P, 4, R)
    totals: Any  # (P, 8)
    grams: Any  # (P, S, S) of the pieces, in single precision: it bends steps a little, not where they lead
    gram: Any  # (2, S, S) their sums, in double, on and above the diagonal; one for each state at most
    work: Any  # (W, 10, R)
    gathered: Any  # (W, BLOCK, R)
    turned: Any  # (W, S, BLOCK)
    pull: Any  # (R,) and
    table: Any  # (3, N_EFFECTS), as `solve_effects` has them
    chance: Any  # (2, R), as `add_deviance` has it


def new_job(data: Data, edges: list[int], n_workers: int) -> Job:
    """Room for a fit by pieces."""
    n_pairs, n_rows, n_pieces, precision = len(data.tpr), len(data.mean), len(edges) - 1, data.tpr.dtype
    side = (n_rows + 3) // 4 * 4
    effect, gradient, block = np.empty((3, 2, n_pairs))
    return Job(
        data=data,
        edges=np.array(edges),
        asked=np.zeros(6, dtype=np.int64),
        stretch=np.zeros(1),
        rows=np.empty((2, n_rows), dtype=precision),
        effect=effect,
        gradient=gradient,
        block=block,
        pinned=np.empty((2, n_pairs), dtype=np.bool_),
        row_sums=np.empty((n_pieces, N_ROW_SUMS, n_rows)),
        totals=np.empty((n_pieces, N_TOTALS)),
        grams=np.empty((n_pieces, side, side), dtype=np.float32),
        gram=np.zeros((2, side, side)),
        work=np.empty((n_workers, 10, n_rows), dtype=precision),
        gathered=np.empty((n_workers, BLOCK, n_rows), dtype=np.float32),
        # Zeros: rows beyond R fill up tiles of four and stay what they are.
        turned=np.zeros((n_workers, side, BLOCK), dtype=np.float32),
        pull=np.empty(n_rows, dtype=precision),
        table=np.empty((3, N_EFFECTS)),
        chance=np.empty((2, n_rows), dtype=precision),
    )


def job_memory(n_pairs: int, n_rows: int, n_pieces: int, n_workers: int, itemsize: int) -> int:
    """Bytes of `new_job`, beyond its data."""
    by_pairs, by_pieces = 2 * 25 * n_pairs, n_pieces * (8 * N_ROW_SUMS * n_rows + 4 * (n_rows + 3) ** 2)
    by_workers = n_workers * (10 * itemsize * n_rows + 8 * BLOCK * (n_rows + 3))
    return by_pairs + by_pieces + by_workers + 16 * (n_rows + 3) ** 2


class Crew:
    """The thread that asks, and helpers, who all work on one job."""

    def __init__(self, job: Job, threads: Threads) -> None:
        self.job, self._threads, self._board, self._n_tickets = job, threads, _board.new_board(), 0
        self._errors: list[BaseException] = []
        """Of helpers: a ticket that one of them left is never done."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Helpers wait for pieces for as long as the block runs."""
        with self._threads.beside(self._help, len(self.job.work) - 1, stop=lambda: _board.stop(self._board)):
            yield

    def _help(self, number: int) -> None:
        try:
            serve(self._board, self.job, number + 1, False)
        except BaseException as error:
            self._errors.append(error)

    def sweep(self, old: int, new: int, stretch: float, gram: int | None) -> None:
        """Sweep from one state to another; the curvature of the rows goes to a place for it, or is left out."""
        asked = self.job.asked
        asked[OLD], asked[NEW], self.job.stretch[0] = old, new, stretch
        asked[CURVATURE], asked[GRAM] = gram is not None, gram or 0
        self._pass(SWEEP, len(self.job.edges) - 1)
        if gram is not None:
            self._pass(ADD_GRAMS, -(-self.job.grams.shape[1] // _GRAM_ROWS))

    def solve_effects(self, pull: FloatArray, table: FloatArray) -> None:
        """The effects of state 0, from its rows."""
        self.job.pull[:], self.job.table[:] = pull, table
        self._pass(EFFECTS, len(self.job.edges) - 1)

    def deviances(self, state: int, chance: FloatArray) -> FloatArray:
        """Half the deviances of a state and of chance, by pieces, shape (P, 2)."""
        self.job.asked[OLD], self.job.chance[:] = state, chance
        self._pass(DEVIANCE, len(self.job.edges) - 1)
        return np.array(self.job.totals[:, :2])

    def _pass(self, kind: int, n_tickets: int) -> None:
        self.job.asked[PASS], self.job.asked[FIRST] = kind, self._n_tickets
        self._n_tickets += n_tickets
        _board.hand_out(self._board, n_tickets)
        # A piece at a time, and then some turns: in between Ctrl-C is answered.
        while serve(self._board, self.job, 0, True):
            pass
        while not _board.are_done(self._board, _TURNS):
            if self._errors:
                raise self._errors[0]


@kernel
def serve(board: Any, job: Any, worker: int, once: bool) -> bool:
    """Work on pieces until the board says stop, or on one; whether there was any."""
    # In one function: numba optimises callees again in each of their callers.
    job, turn = borrowed(job), 0
    data, asked, edges, effect = job.data, job.asked, job.edges, job.effect
    while _board.load(board, _board.STOP) == 0:
        ticket = _board.take(board)
        if ticket < 0:
            if once or turn == _PATIENCE:
                return False
            _board.wait(turn)
            turn += 1
            continue
        turn = 0
        p, old, new = ticket - asked[FIRST], asked[OLD], asked[NEW]
        if asked[PASS] == ADD_GRAMS:
            add_grams(job.grams, p, data.curved / 2.0**32, job.gram[asked[GRAM]])
        elif asked[PASS] == EFFECTS:
            solve_effects(data, job.pull, job.table, edges[p], edges[p + 1], effect[0])
        elif asked[PASS] == DEVIANCE:
            found = add_deviance(data, job.rows[old], effect[old], job.chance, edges[p], edges[p + 1])
            job.totals[p, 0], job.totals[p, 1] = found
        else:
            row_sums, total, gram = job.row_sums[p], job.totals[p], job.grams[p]
            row_sums[:] = 0.0
            total[:] = 0.0
            if asked[CURVATURE]:
                gram[:] = 0.0
            before = PairState(effect[old], job.gradient[old], job.block[old], job.pinned[old])
            after = PairState(effect[new], job.gradient[new], job.block[new], job.pinned[new])
            gathering = Gathering(gram, job.gathered[worker], job.turned[worker])
            given = (data, job.rows[old], job.rows[new], before, after, job.stretch[0], asked[CURVATURE] != 0)
            sweep(*given, edges[p], edges[p + 1], row_sums, total, job.work[worker], None, gathering)
        _board.finish(board)
        if once:
            return True
    return False


@inner
def add_grams(grams: Any, part: int, share: float, out: Any) -> None:
    """Add up some rows of the gram matrices of all pieces, in their order; the share of pairs in them is for all."""
    for i in range(part * _GRAM_ROWS, min(out.shape[0], (part + 1) * _GRAM_ROWS)):
        total = out[i, i:]
        for k in range(total.shape[0]):
            total[k] = 0.0
        for p in range(grams.shape[0]):
            more = grams[p, i, i:]
            for k in range(more.shape[0]):
                total[k] += np.float64(more[k])
        for k in range(total.shape[0]):
            total[k] /= share
