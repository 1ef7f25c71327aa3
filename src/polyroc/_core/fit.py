"""Minimise the weighted binomial deviance of a factorization on the logit scale.

Equations (model), (deviance), (cut) and (row) of docs/method.md.

The linear predictor of cell (i, j) is <u_i, z_j>, where u_i are the q effects
of row i and z_j the design of pair j:

    rank-one   q = 1   z_j = (v_j,)      eta_ij = lambda_i v_j, v_j >= 0
    centered   q = 2   z_j = (1, v_j)    eta_ij = lambda0_i + lambda_i v_j

Rows meet pairs in every cell, but rows do not meet rows, nor pairs pairs: the
Hessian is an arrow, and eliminating the larger side leaves a small dense
system. `descend` damps its steps and accepts those that lower the
deviance.

Three details make it dependable:

- The predictor does not change when v is stretched and lambda shrunk (nor, with
  q = 2, when v is moved). The Hessian is singular along these orbits; a rank-q
  term on the eliminated side's complement pins them down and costs nothing.
- The change of deviance is summed from the changes of the cells, not from two
  deviances. It keeps its sign down to steps of 1e-12, where the difference of
  two sums is noise.
- A pair whose own Newton step would take v_j below v_j / 10 takes that cut step
  by itself, and the others are solved for given that it does. Otherwise one
  pair at the border would bend the joint step of all.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.special import expit, logit

from polyroc._core.weights import Cells
from polyroc._lib.typing import FloatArray
from polyroc._records import Status

StateT = TypeVar("StateT")

MAX_ITER = 200
FIRST_DAMPING = 0.1
MAX_DAMPING = 1e12
# A gradient of no more than this is rounding.
AT_REST = 1e-12
# A Hessian that stays indefinite with this much damping is not so by rounding.
SOME_DAMPING = 1e-3


@dataclass(frozen=True, eq=False)
class Attempt(Generic[StateT]):
    """Where a step leads, and what it does on the way."""

    state: StateT
    change: float
    """Half the change of the deviance."""
    noise: float
    """Rounding error of `change`."""
    promised: float
    """The fall that the quadratic model promised for half the deviance."""
    move: float
    """The largest move of a fitted probability or of a coordinate of the curve; anything where damping is too large for
    the step to be the last."""


class Problem(Protocol[StateT]):
    """A descent's problem: steps from any state, and how far a state is from stationary."""

    def attempt(self, state: StateT, damping: float) -> Attempt[StateT] | None:
        """Try the step with this damping; None where the damped Hessian is not positive definite."""

    def gradient(self, state: StateT) -> float:
        """The largest scaled gradient, a weighted mean of residuals."""


@dataclass(frozen=True)
class Tolerance:
    """A fit has converged when nothing a reader sees moves, nothing pulls, and damping did not cause it."""

    move: float = 1e-9
    gradient: float = 1e-8
    damping: float = 1e-9


# In single precision; and for a first fit of some of the pairs, which need be no better than a sample can tell.
SINGLE_TOLERANCE = Tolerance(move=5e-6, gradient=1e-6, damping=1e-4)
ROUGH = Tolerance(move=1e-2, gradient=1e-3, damping=1e-2)

# Rounding error of the change of the deviance per unit of what moved, in double and in single precision.
ROUNDING, SINGLE_ROUNDING = 1e-15, 5e-7

# A move of the row effects that leaves their curvature as good as it need be: steps that are bent by a hundredth still
# gain two digits each, and in single precision there are fewer digits to gain.
STEADY, SINGLE_STEADY = 1e-2, 0.1


@dataclass(frozen=True, eq=False)
class Descent(Generic[StateT]):
    """Where a descent ended, and how."""

    state: StateT
    deviance_path: FloatArray
    """From the deviance given, by the changes of the steps taken; rounding may bring a perfect fit below 0."""
    n_iter: int
    status: Status


class Course:
    """How one descent goes: what it has been through, how much its next step is damped, and how it ended."""

    def __init__(
        self, deviance: float, *, tolerance: Tolerance, damping: float = FIRST_DAMPING, max_iter: int = MAX_ITER
    ) -> None:
        self.path, self.damping, self.n_iter = [deviance], damping, 0
        self.status: Status | None = None
        """None while it goes on."""
        self._tolerance, self._max_iter = tolerance, max_iter

    def goes_on_from(
        self, tried: Attempt[Any] | None, gradient_here: Callable[[], float], gradient_there: Callable[[], float]
    ) -> bool:
        """Judge a step, None where the damped Hessian was not positive definite; whether the step is taken."""
        self.n_iter += 1
        if self.n_iter >= self._max_iter:
            self.status = Status.MAX_ITER
        if tried is None and self.damping >= SOME_DAMPING and gradient_here() <= AT_REST:
            # The step is zero with any damping that makes it possible: exact symmetry holds the fit here.
            self.status = Status.SADDLE
            return False
        if tried is None or not tried.change <= tried.noise:
            self.damping = more_damping(self.damping)
            if self.damping > MAX_DAMPING:
                self.status = Status.STALLED
            return False
        still = tried.move <= self._tolerance.move and self.damping <= self._tolerance.damping
        # A rise within rounding is none.
        self.path.append(self.path[-1] + 2 * min(tried.change, 0.0))
        self.damping = next_damping(self.damping, tried.change, tried.noise, tried.promised)
        if still and gradient_there() <= self._tolerance.gradient:
            self.status = Status.CONVERGED
        return True


def descend(
    problem: Problem[StateT],
    state: StateT,
    deviance: float,
    *,
    tolerance: Tolerance,
    damping: float = FIRST_DAMPING,
    max_iter: int = MAX_ITER,
) -> Descent[StateT]:
    """Lower the deviance from a state until nothing moves."""
    course = Course(deviance, tolerance=tolerance, damping=damping, max_iter=max_iter)
    while course.status is None:
        tried = problem.attempt(state, course.damping)
        is_taken = _is_taken(course, problem, state, tried)
        if tried is not None and is_taken:
            state = tried.state
    return Descent(state, np.array(course.path), course.n_iter, course.status)


def _is_taken(course: Course, problem: Problem[StateT], state: StateT, tried: Attempt[StateT] | None) -> bool:
    """Judge a step from a state. By itself, so that no state before that is held while the next step is tried."""
    there = state if tried is None else tried.state
    return course.goes_on_from(tried, partial(problem.gradient, state), partial(problem.gradient, there))


def more_damping(damping: float) -> float:
    """After a step that was refused."""
    return max(10 * damping, 1e-4)


def next_damping(damping: float, change: float, noise: float, promised: float) -> float:
    """After a step that was accepted: less, the more of what the quadratic model promised came true."""
    # 3/4 and 1/4 are those of trust regions (Nocedal and Wright 2006, algorithm 4.1). The factors 1/100, 4 and, in
    # `more_damping`, 10 have no study behind them: they decide how many steps are taken, not where these lead.
    # Where nothing moved at all there is no noise either, and a promise of 1e-33 is as good as kept.
    if noise - change >= 0.75 * promised or noise == 0:
        return damping / 100 if damping > 1e-9 else 0.0
    return damping if -change > 0.25 * promised else max(4 * damping, 1e-6)


_TINY = 1e-290
_TOLERANCE = Tolerance()


# Records of a step are tuples, which are made in a third of the time of frozen ones: a small fit makes many.
class Point(NamedTuple):
    """Effects of rows (R, q) and pairs (K,), with the fitted cells that follow from them."""

    row: FloatArray
    pair: FloatArray
    eta: FloatArray
    probability: FloatArray
    variance: FloatArray
    """p (1 - p), from both tails: 1 - p would lose all digits of a probability near 1."""


class Derivatives(NamedTuple):
    """Gradient and the blocks of the Hessian at a point."""

    row_gradient: FloatArray  # (R, q)
    pair_gradient: FloatArray  # (K,)
    row_block: FloatArray  # (R, q, q)
    pair_block: FloatArray  # (K,)
    cross: FloatArray  # (R, q, K)


class Step(NamedTuple):
    """A proposed move and the fall of half the deviance that the quadratic model promises."""

    row: FloatArray
    pair: FloatArray
    promised: float


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a fit ended, and how."""

    row: FloatArray
    pair: FloatArray
    deviance_path: FloatArray
    n_iter: int
    status: Status


def design(pair: FloatArray, q: int) -> FloatArray:
    """The z_j of every pair, shape (K, q)."""
    return pair[:, None] if q == 1 else np.column_stack([np.ones_like(pair), pair])


def point(row: FloatArray, pair: FloatArray) -> Point:
    eta = row @ design(pair, row.shape[1]).T
    # Both tails from one exponential, of the smaller to the larger: it cannot overflow.
    ratio = np.exp(-np.abs(eta))
    larger = 1 / (1 + ratio)
    smaller = ratio * larger
    return Point(row, pair, eta, np.where(eta < 0, smaller, larger), smaller * larger)


def deviance(cells: Cells, at: Point) -> float:
    """Twice the weighted Kullback-Leibler divergence of the fit from the rates."""
    # M log(M / p) + (1 - M) log((1 - M) / (1 - p)), with log p = -softplus(-eta) so that p = 0 is harmless.
    return _deviance(cells, at.eta, _softplus(at.eta))


def chance_deviance(cells: Cells, call_rates: FloatArray) -> float:
    """The deviance of chance, where every rate is the call rate of its row."""
    by_chance = np.concatenate([call_rates, call_rates])[:, None]
    return _deviance(cells, logit(by_chance), -np.log1p(-by_chance))


def _deviance(cells: Cells, eta: FloatArray, softplus: FloatArray) -> float:
    entropy = _xlogx(cells.rate) + _xlogx(1 - cells.rate)
    return max(0.0, 2 * float(np.sum(cells.weight * (entropy + softplus - cells.rate * eta))))


def minimise(cells: Cells, row: FloatArray, pair: FloatArray, *, max_iter: int = MAX_ITER) -> Solution:
    """Minimise the deviance from a start; q is the number of columns of `row`."""
    if len(row) == 0:  # every rate of every row is 0, or is 1: nothing is left to fit
        return Solution(row, pair, np.zeros(1), 0, Status.CONVERGED)
    problem = _Problem(cells, bounded=row.shape[1] == 1)
    # Probabilities that vanish compared with others are no error, whatever the caller has made of underflow.
    with np.errstate(under="ignore"):
        start = problem.state(point(row, pair))
        end = descend(problem, start, deviance(cells, start.at), tolerance=_TOLERANCE, max_iter=max_iter)
    return Solution(end.state.at.row, end.state.at.pair, np.maximum(end.deviance_path, 0), end.n_iter, end.status)


class _State(NamedTuple):
    at: Point
    derivatives: Derivatives


@dataclass(frozen=True)
class _Problem:
    cells: Cells
    bounded: bool

    def state(self, at: Point) -> _State:
        return _State(at, _derivatives(self.cells, at))

    def attempt(self, state: _State, damping: float) -> Attempt[_State] | None:
        step = _propose(state.derivatives, state.at, damping, bounded=self.bounded)
        if step is None:
            return None
        trial = _advance(state.at, step, bounded=self.bounded)
        change, noise = _change(self.cells, state.at, trial)
        # A damped step never ends a fit, so nobody asks how far it went.
        move = _largest_move(state.at, trial) if damping <= _TOLERANCE.damping else math.inf
        return Attempt(self.state(trial), change, noise, step.promised, move)

    def gradient(self, state: _State) -> float:
        return _scaled_gradient(self.cells, state.at, state.derivatives, bounded=self.bounded)


def _derivatives(cells: Cells, at: Point) -> Derivatives:
    q = at.row.shape[1]
    z = design(at.pair, q)
    slope = at.row[:, -1]
    residual = cells.weight * (at.probability - cells.rate)
    curvature = cells.weight * at.variance
    # Of one effect, slope times design is the predictor itself.
    cross = (curvature * at.eta)[:, None, :] if q == 1 else (curvature * slope[:, None])[:, None, :] * z.T
    cross[:, -1, :] += residual
    return Derivatives(
        row_gradient=residual @ z,
        pair_gradient=slope @ residual,
        row_block=np.einsum("ij,ja,jb->iab", curvature, z, z) if q > 1 else (curvature @ at.pair**2)[:, None, None],
        pair_block=slope**2 @ curvature + _TINY,
        cross=cross,
    )


def _propose(d: Derivatives, at: Point, damping: float, *, bounded: bool) -> Step | None:
    """The damped Newton step; None where the damped Hessian is not positive definite."""
    n_rows, q, n_pairs = d.cross.shape
    stretch = 1 + damping
    # Scaled by the blocks' own square roots every diagonal block is 1 + damping, and
    # the coupling of a Gauss-Newton step has singular values of at most 1.
    root, pair_root = _lower_root(d.row_block), np.sqrt(d.pair_block)
    row_scale = _inverse_lower(root)  # (R, q, q)
    pair_scale, row_gradient = 1 / pair_root, d.row_gradient
    pinned_move = None
    if bounded and (pinned := d.pair_gradient > 0.9 * at.pair * d.pair_block).any():
        pinned_move = np.where(pinned, -0.9 * at.pair / stretch, 0.0)
        pair_scale, pair_root = np.where(pinned, 0.0, pair_scale), np.where(pinned, 0.0, pair_root)
        row_gradient = row_gradient + d.cross @ pinned_move
    g_row = _blockwise(row_scale, row_gradient).ravel()
    g_pair = pair_scale * d.pair_gradient
    coupling = np.einsum("iab,ibj->iaj", row_scale, d.cross) if q > 1 else row_scale * d.cross
    coupling = coupling.reshape(n_rows * q, n_pairs) * pair_scale
    if n_pairs <= n_rows * q:
        gauge = _pair_gauge(at, pair_root)
        y_pair = _solve_small(coupling.T @ coupling, coupling.T @ g_row, g_pair, gauge, stretch)
        if y_pair is None:
            return None
        y_row: FloatArray = -(g_row + coupling @ y_pair) / stretch
    else:
        gauge = _row_gauge(at, root)
        y_row_or_none = _solve_small(coupling @ coupling.T, coupling @ g_pair, g_row, gauge, stretch)
        if y_row_or_none is None:
            return None
        y_row = y_row_or_none
        y_pair = -(g_pair + coupling.T @ y_row) / stretch
    # With (H + damping D) y = -g the model falls by -g.y / 2 + damping y.D.y / 2.
    promised = -(g_row @ y_row + g_pair @ y_pair) / 2 + damping * (y_row @ y_row + y_pair @ y_pair) / 2
    row_move = _blockwise(row_scale.transpose(0, 2, 1), y_row.reshape(n_rows, q))
    pair_move = pair_scale * y_pair
    if pinned_move is not None:
        promised -= d.pair_gradient @ pinned_move
        pair_move += pinned_move
    return Step(row_move, pair_move, float(promised))


def _solve_small(
    gram: FloatArray, carried: FloatArray, gradient: FloatArray, gauge: FloatArray, stretch: float
) -> FloatArray | None:
    """Solve for the side that was kept: ((1 + mu) I - gram / (1 + mu) + gauge) y = carried / (1 + mu) - gradient."""
    schur: FloatArray = gauge @ gauge.T - gram / stretch
    schur.flat[:: len(schur) + 1] += stretch
    # Factored twice, once to see whether it is positive definite: NumPy has no triangular solve with which to
    # go on from the Cholesky factor, and SciPy's would load all of scipy.linalg.
    try:
        np.linalg.cholesky(schur)
    except np.linalg.LinAlgError:
        return None
    return np.linalg.solve(schur, carried / stretch - gradient)


def _pair_gauge(at: Point, pair_root: FloatArray) -> FloatArray:
    """Unit vectors, in the pairs' scaled coordinates, along which the predictor does not change."""
    return _orthonormal(pair_root[:, None] * design(at.pair, at.row.shape[1]))


def _row_gauge(at: Point, root: FloatArray) -> FloatArray:
    """The same in the rows' scaled coordinates."""
    n_rows, q = at.row.shape
    row = np.zeros((n_rows, q, q))
    for a in range(q):
        row[:, a, a] = at.row[:, -1]
    return _orthonormal(np.einsum("iba,ibc->iac", root, row).reshape(n_rows * q, q))


def _orthonormal(columns: FloatArray) -> FloatArray:
    if columns.shape[1] == 1:
        return np.asarray(columns / max(math.sqrt(np.vdot(columns, columns)), _TINY))
    return np.linalg.qr(columns)[0]


def _blockwise(blocks: FloatArray, vectors: FloatArray) -> FloatArray:
    """Each row's block (q, q) times its vector (q,)."""
    return blocks[:, 0] * vectors if blocks.shape[1] == 1 else np.einsum("iab,ib->ia", blocks, vectors)


def _lower_root(blocks: FloatArray) -> FloatArray:
    """Cholesky roots of the rows' blocks (R, q, q), made safely positive definite first."""
    if blocks.shape[1] == 1:
        return np.asarray(np.sqrt(blocks + _TINY))
    ridge: FloatArray = 1e-10 * np.einsum("iaa->ia", blocks) + _TINY
    return np.linalg.cholesky(blocks + ridge[:, :, None] * np.eye(blocks.shape[1]))


def _inverse_lower(root: FloatArray) -> FloatArray:
    return np.asarray(1 / root if root.shape[1] == 1 else np.linalg.inv(root))


def _advance(at: Point, step: Step, *, bounded: bool) -> Point:
    pair = at.pair + step.pair
    # Each v_j is cut by itself; scaling the whole step would let one pair hold up all others.
    return point(at.row + step.row, np.maximum(pair, at.pair / 10) if bounded else pair)


def _change(cells: Cells, at: Point, trial: Point) -> tuple[float, float]:
    """Half the change of the deviance, accurate far below the deviance's own rounding, and its rounding error."""
    # Not the difference of the two predictors, whose rounding would drown a small move.
    q = at.row.shape[1]
    move = (trial.row - at.row) @ design(trial.pair, q).T + at.row[:, -1:] * (trial.pair - at.pair)
    distance = np.abs(move)
    far = distance > 1
    has_far = bool(far.any())
    # log(1 + e^(eta + m)) - log(1 + e^eta) = log1p(p expm1(m)), which a long move would overflow.
    softplus = np.log1p(at.probability * np.expm1(np.where(far, 0, move) if has_far else move))
    if has_far:
        softplus[far] = _softplus(trial.eta[far]) - _softplus(at.eta[far])
    change = float(np.sum(cells.weight * (softplus - cells.rate * move)))
    return change, 1e-15 * float(np.vdot(cells.weight, distance))


def _largest_move(at: Point, trial: Point) -> float:
    cells = np.abs(trial.probability - at.probability).max()
    return float(max(cells, np.abs(_shared(trial) - _shared(at)).max()))


def _shared(at: Point) -> FloatArray:
    """The curve's coordinates before any scaling: the predictor of the mean pair."""
    effect: FloatArray = at.row @ (design(at.pair, at.row.shape[1]).sum(axis=0) / len(at.pair))
    return np.asarray(expit(effect))


def _scaled_gradient(cells: Cells, at: Point, d: Derivatives, *, bounded: bool) -> float:
    """The largest gradient as a weighted mean of residuals, so that 1e-8 means the same everywhere."""
    z = np.abs(design(at.pair, at.row.shape[1]))
    slope = np.abs(at.row[:, -1])
    row = np.abs(d.row_gradient) / (cells.weight @ z + _TINY)
    pair = d.pair_gradient / (slope @ cells.weight + _TINY)
    at_zero = bounded & (at.pair * slope.max(initial=0) <= 1e-8)
    pair = np.where(at_zero, np.maximum(-pair, 0), np.abs(pair))
    return float(max(row.max(), pair.max()))


def _softplus(x: FloatArray) -> FloatArray:
    """log(1 + e^x)."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _xlogx(x: FloatArray) -> FloatArray:
    return x * np.log(np.maximum(x, _TINY))  # 0 at 0


def solve_rows(cells: Cells, row: FloatArray, pair: FloatArray, *, max_iter: int = 100) -> FloatArray:
    """The best row effects for given pair effects (q = 1), shape (R, 1).

    Each row solves sum_j w_j v_j (expit(lambda v_j) - M_j) = 0, which rises with lambda and falls with the
    rates. That makes the curve monotone whatever v is, also where a fit ended early.
    """
    effect = row[:, 0].copy()
    low, high = np.full_like(effect, -np.inf), np.full_like(effect, np.inf)
    for _ in range(max_iter):
        eta = np.outer(effect, pair)
        probability = expit(eta)
        gradient = (cells.weight * (probability - cells.rate)) @ pair
        curvature = (cells.weight * probability * expit(-eta)) @ pair**2 + _TINY
        low, high = np.where(gradient < 0, effect, low), np.where(gradient > 0, effect, high)
        move = np.clip(-gradient / curvature, -2.0, 2.0)
        moved = effect + move
        # A Newton step that leaves the bracket is replaced by bisection.
        outside = ((moved <= low) | (moved >= high)) & np.isfinite(low) & np.isfinite(high) & (gradient != 0)
        moved[outside] = (low[outside] + high[outside]) / 2
        if np.abs(moved - effect).max(initial=0) < 1e-13:
            break
        effect = moved
    return effect[:, None]
