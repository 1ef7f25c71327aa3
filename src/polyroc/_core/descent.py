"""Damped descent: which steps to accept, how much to damp the next, and when to stop.

Levenberg and Marquardt's rule, told once for every engine. An engine says what
a step with a given damping leads to; here it is decided whether to go there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from polyroc._lib.typing import FloatArray
from polyroc._records import Status

StateT = TypeVar("StateT")

MAX_ITER = 200
FIRST_DAMPING = 0.1
MAX_DAMPING = 1e12
# A gradient of no more than this is rounding.
_AT_REST = 1e-12
# A Hessian that stays indefinite with this much damping is not so by rounding.
_SOME_DAMPING = 1e-3


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
    """What is descended: steps from any state, and how far a state is from stationary."""

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
        if tried is None and self.damping >= _SOME_DAMPING and gradient_here() <= _AT_REST:
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
