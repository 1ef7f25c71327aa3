"""The Hessian of a fit of many pairs, with the pairs eliminated, for gradients of what was fitted.

As `polyroc._core.adjoint` has it, by the passes of the fit: BLAS would bring threads of its own, which wait for
each other while ours compute.

The system is that of equation (adjoint) in docs/influence.md, with R fitted rows and K pairs: A (R,) is `row_block`, B
(K,) is `by_pair`, and C is found anew for each pair, `cross` (R,). Eliminating the pairs leaves

    (A - C B^-1 C') a = c - C B^-1 right,    b = B^-1 (right - C' a)

of which `eliminate` sums A, C B^-1 C' (the gram matrix) and C B^-1 right (carried), and `multiply` C' a.
"""

from typing import Any

import numpy as np

from polyroc._core.adjoint import Eliminated
from polyroc._core.numba.compile import borrowed, kernel
from polyroc._core.numba.fit import BLOCK, PairState, fill_cells, fit_pair, linearise_pair
from polyroc._core.numba.linear import TINY, add_gram, add_scaled, dot, solve_positive, turn
from polyroc._core.numba.problem import cells_of, pieces
from polyroc._lib.threads import Threads
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc._records import Factorization, PairWeights, PairwiseRates, read_only

# Rows of the room in which the cells of one pair are worked out: rate, weight, p, p (1 - p), residual, bend, cross.
_WORK = 7


class Curvature:
    """Passes over the cells at the end of a fit."""

    def __init__(
        self,
        factorization: Factorization,
        rates: PairwiseRates,
        weights: PairWeights,
        shrinkage: float,
        n_jobs: int | None,
    ) -> None:
        cells = cells_of(rates, weights, shrinkage, factorization.mean_rates)
        self._data = cells.data
        self._row = factorization.row_effects[cells.fitted].astype(cells.precision)
        self._effect = factorization.pair_effects
        self._pieces, self._n_jobs = pieces(rates.n_pairs), n_jobs

    def eliminated(self, right: FloatArray, free: BoolArray) -> Eliminated:
        """What is left of rows when the free pairs are eliminated; `right` has shape (m, K)."""
        n_rows, n_pairs, m = len(self._row), len(self._effect), len(right)
        # `add_gram` takes tiles of four rows.
        side, precision = (n_rows + 3) // 4 * 4, self._row.dtype
        by_pair = np.zeros(n_pairs)
        given = read_only(np.array(right, dtype=float)), read_only(free.copy())
        results, tasks = [], []
        for piece in self._pieces:
            found = np.zeros(n_rows), np.zeros((side, side)), np.zeros((m, n_rows))
            results.append(found)
            room = self._work(), np.empty((BLOCK, n_rows), precision), np.zeros((side, BLOCK), precision)
            tasks.append((self._data, self._row, self._pairs(), *given, *piece, by_pair, *found, *room))
        with Threads(self._n_jobs) as threads:
            threads.map(eliminate, tasks)
        row_block, gram, carried = (sum(parts[1:], start=parts[0]) for parts in zip(*results, strict=True))
        # `add_gram` fills the triangle above the diagonal; below it only where tiles cross.
        upper = np.triu(gram[:n_rows, :n_rows])
        return Eliminated(row_block, upper + np.triu(upper, 1).T, carried, by_pair)

    def solve(self, schur: FloatArray, right: FloatArray) -> FloatArray:
        """Solve what is left for m right sides: one by Cholesky here, many by LAPACK, which factorizes once."""
        # To a diagonal of 1, for which `solve_positive` knows what pivot is rounding.
        scale = 1 / np.sqrt(np.maximum(np.diag(schur), TINY))
        found = right * scale
        if len(right) == 1 and solve_one(schur * np.outer(scale, scale), found[0]):
            return np.asarray(found * scale)
        return np.asarray(np.linalg.solve(schur, right.T).T)

    def times(self, found: FloatArray) -> FloatArray:
        """The cross terms of every pair times some rows, shape (m, K) from (m, R)."""
        out = np.empty((len(found), len(self._effect)))
        given = read_only(np.array(found, dtype=float))
        tasks = [(self._data, self._row, self._pairs(), given, *piece, self._work(), out) for piece in self._pieces]
        with Threads(self._n_jobs) as threads:
            threads.map(multiply, tasks)
        return out

    def _work(self) -> FloatArray:
        return np.empty((_WORK, len(self._row)), self._row.dtype)

    def _pairs(self) -> PairState:
        # Room for each task: `linearise_pair` writes gradient, curvature and pins, of which only the curvature is read.
        gradient, block = np.empty((2, len(self._effect)))
        effect = read_only(np.array(self._effect, dtype=float))
        return PairState(effect, gradient, block, np.empty(len(self._effect), dtype=np.bool_))


@kernel
def solve_one(matrix: Any, right: Any) -> bool:
    """Solve in place; False where the matrix is not positive definite."""
    return bool(solve_positive(matrix, right))


@kernel
def eliminate(
    data: Any,
    row: Any,
    pairs: Any,
    right: Any,
    free: Any,
    start: int,
    stop: int,
    by_pair: Any,
    row_block: Any,
    gram: Any,
    carried: Any,
    work: Any,
    block: Any,
    turned: Any,
) -> None:
    """Add the curvature of rows, the gram matrix of scaled cross terms, and what pairs carry over to rows.

    The sums over pairs of (adjoint): right (m, K), free and by_pair (K,), row_block (R,), carried (m, R), gram (R, R)
    rounded up to a multiple of four; work (7, R), block (BLOCK, R), turned its transpose, with as many rows as gram.
    """
    data, row, pairs, work, block = borrowed(data), borrowed(row), borrowed(pairs), borrowed(work), borrowed(block)
    rate, weight, p, h, residual, bend, cross = work[0], work[1], work[2], work[3], work[4], work[5], work[6]
    # `nowhere` takes the gradient of the rows, which is 0 at the optimum and not needed.
    nowhere, filled = np.zeros(row.shape[0]), np.int64(0)
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        fit_pair(row, pairs.effect[j], p, h)
        linearise_pair(row, pairs, j, rate, weight, p, h, residual, bend, cross, nowhere)
        add_scaled(row_block, pairs.effect[j] * pairs.effect[j], bend)
        by_pair[j] = pairs.block[j]
        # A pair at the border v = 0 does not follow the rates: it bends the rows, but is not solved for.
        if free[j]:
            for s in range(right.shape[0]):
                add_scaled(carried[s], right[s, j] / by_pair[j], cross)
            # C B^-1/2, whose gram matrix is C B^-1 C'.
            factor, out = row.dtype.type(1.0 / np.sqrt(by_pair[j])), block[filled]
            for i in range(cross.shape[0]):
                out[i] = factor * cross[i]
            filled += 1
        # As in `sweep`: the gram matrix is added to by whole blocks, transposed so that sums run along memory.
        if filled == BLOCK or (filled > 0 and j + 1 == stop):
            turn(block, filled, turned)
            add_gram(turned, filled, gram)
            filled = np.int64(0)


@kernel
def multiply(data: Any, row: Any, pairs: Any, found: Any, start: int, stop: int, work: Any, out: Any) -> None:
    """The cross terms of pairs start..stop times some rows: C' a of (adjoint); found (m, R), out (m, K)."""
    data, row, pairs, work, found = borrowed(data), borrowed(row), borrowed(pairs), borrowed(work), borrowed(found)
    rate, weight, p, h, residual, bend, cross = work[0], work[1], work[2], work[3], work[4], work[5], work[6]
    nowhere = np.zeros(row.shape[0])
    for j in range(start, stop):
        fill_cells(data, j, rate, weight)
        fit_pair(row, pairs.effect[j], p, h)
        linearise_pair(row, pairs, j, rate, weight, p, h, residual, bend, cross, nowhere)
        for s in range(found.shape[0]):
            out[s, j] = dot(found[s], cross)
