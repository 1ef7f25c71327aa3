"""The bivariate normal model: covariance between studies by (restricted) maximum likelihood, the mean profiled out.

Of study i the logits y_i have the mean mu and the covariance V_i = Sigma + D_i, where D_i is known and diagonal. With
W_i = V_i^-1 and M = sum W_i, the best mean for a given Sigma is M^-1 sum W_i y_i, and half the deviance is

    1/2 sum log |V_i| + 1/2 sum (y_i - mu)' W_i (y_i - mu) + 1/2 log |M|,

the last term for the restricted likelihood alone. Sigma = L L' with a lower triangle L: it is positive semidefinite
whatever L is, and its border, where a variance or 1 - correlation^2 is 0, is an ordinary point of L.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from polyroc._lib.typing import FloatArray
from polyroc._records import Frozen

FitMethod: TypeAlias = Literal["reml", "ml"]

# In units of the spread of the data; what a gradient may be where the fit has converged.
_FLAT = 1e-6
# Half deviances that differ by less than this are the same.
_SAME = 1e-9
_STEP = 1e-5
_N_POLISH = 8


class FitStatus(StrEnum):
    """How the fit of the bivariate model ended; `message` says it in a sentence.

    >>> from polyroc.meta import summary_roc
    >>> tables = {"TP": [47, 126, 19, 36], "FN": [9, 51, 10, 3], "FP": [101, 272, 12, 78], "TN": [738, 1543, 192, 276]}
    >>> summary = summary_roc(tables)
    >>> summary.status.message
    'The fit converged.'
    """

    CONVERGED = "converged"
    BOUNDARY = "boundary"
    STALLED = "stalled"

    @property
    def message(self) -> str:
        return {
            FitStatus.CONVERGED: "The fit converged.",
            FitStatus.BOUNDARY: "The fit converged to a covariance on the border: a variance is 0, or the correlation "
            "is 1 or -1.",
            FitStatus.STALLED: "The fit stopped before it converged.",
        }[self]


@dataclass(frozen=True, eq=False)
class BivariateFit(Frozen):
    """Mean and covariances of the logits of TPR and FPR."""

    mean: FloatArray
    covariance: FloatArray
    """Of the mean, shape (2, 2)."""
    between: FloatArray
    """Between studies, shape (2, 2)."""
    log_likelihood: float
    status: FitStatus


def fit_bivariate(logits: FloatArray, variances: FloatArray, method: FitMethod) -> BivariateFit:
    """The covariance of the highest likelihood, from several starts."""
    # In units of the spread all numbers are near 1, whatever the counts are.
    unit = float(np.sqrt(np.mean(np.var(logits, axis=0) + variances.mean(axis=0))))
    problem = _Likelihood(logits / unit, variances / unit**2, restricted=method == "reml")
    best = min((problem.descend(start, gradient=1e-2) for start in problem.starts()), key=problem.value)
    optimum = problem.polished(problem.descend(best, gradient=_FLAT))
    triangle = problem.on_border(optimum)
    status = FitStatus.BOUNDARY if triangle is not None else FitStatus.CONVERGED
    if not np.abs(problem.gradient(optimum)).max() <= _FLAT * len(logits):
        status = FitStatus.STALLED
    chosen = problem.at(optimum if triangle is None else triangle)
    # Of each of the 2 m logits, less the two that the mean takes; densities are per unit.
    n_free = 2 * (len(logits) - (method == "reml"))
    return BivariateFit(
        mean=unit * chosen.mean,
        covariance=unit**2 * chosen.mean_covariance,
        between=unit**2 * chosen.between,
        log_likelihood=-chosen.half_deviance - n_free * (0.5 * math.log(2 * math.pi) + math.log(unit)),
        status=status,
    )


@dataclass(frozen=True)
class _Point:
    """Numbers that follow from one triangle (l11, l21, l22)."""

    triangle: FloatArray
    logits: FloatArray
    variances: FloatArray
    restricted: bool

    @cached_property
    def between(self) -> FloatArray:
        l11, l21, l22 = self.triangle
        return np.array([[l11**2, l11 * l21], [l11 * l21, l21**2 + l22**2]])

    @cached_property
    def determinants(self) -> FloatArray:
        """|V_i|, as a sum of what is not negative: no digits are lost where Sigma is singular and D small."""
        l11, _, l22 = self.triangle
        first, second = self.variances.T
        determinants: FloatArray = (
            (l11 * l22) ** 2 + self.between[0, 0] * second + self.between[1, 1] * first + first * second
        )
        return determinants

    @cached_property
    def precisions(self) -> FloatArray:
        """W_i, shape (m, 2, 2)."""
        first, second = (self.variances + np.diag(self.between)).T
        shared = np.full_like(first, -self.between[0, 1])
        adjugates = np.stack([np.stack([second, shared], axis=-1), np.stack([shared, first], axis=-1)], axis=-2)
        inverses: FloatArray = adjugates / self.determinants[:, None, None]
        return inverses

    @cached_property
    def mean_covariance(self) -> FloatArray:
        inverse: FloatArray = np.linalg.inv(self.precisions.sum(axis=0))
        return (inverse + inverse.T) / 2

    @cached_property
    def mean(self) -> FloatArray:
        mean: FloatArray = self.mean_covariance @ (self.precisions @ self.logits[:, :, None]).sum(axis=0)[:, 0]
        return mean

    @cached_property
    def pulls(self) -> FloatArray:
        """W_i (y_i - mu), shape (m, 2)."""
        pulls: FloatArray = (self.precisions @ (self.logits - self.mean)[:, :, None])[:, :, 0]
        return pulls

    @cached_property
    def half_deviance(self) -> float:
        value = np.log(self.determinants).sum() + np.sum(self.pulls * (self.logits - self.mean))
        if self.restricted:
            value -= np.linalg.slogdet(self.mean_covariance)[1]
        return float(value / 2)

    @cached_property
    def gradient(self) -> FloatArray:
        """By l11, l21, l22: with G the derivative by Sigma, that by L is the lower triangle of 2 G L."""
        by_between = self.precisions.sum(axis=0) - self.pulls.T @ self.pulls
        if self.restricted:
            by_between = by_between - (self.precisions @ self.mean_covariance @ self.precisions).sum(axis=0)
        l11, l21, l22 = self.triangle
        by_triangle: FloatArray = by_between @ np.array([[l11, 0.0], [l21, l22]])
        return by_triangle[[0, 1, 1], [0, 0, 1]]


@dataclass(frozen=True)
class _Likelihood:
    """The likelihood of the data as a function of the triangle."""

    logits: FloatArray
    variances: FloatArray
    restricted: bool

    def at(self, triangle: Any) -> _Point:
        return _Point(np.asarray(triangle, dtype=np.float64), self.logits, self.variances, self.restricted)

    def value(self, triangle: FloatArray) -> float:
        return self.at(triangle).half_deviance

    def gradient(self, triangle: FloatArray) -> FloatArray:
        return self.at(triangle).gradient

    def starts(self) -> list[FloatArray]:
        """The covariance of the logits less the mean variance within studies, and others around it."""
        spread = np.cov(self.logits.T, ddof=1)
        deviation = np.sqrt(np.maximum(np.diag(spread) - self.variances.mean(axis=0), 0.05 * np.diag(spread) + 1e-4))
        scale = np.sqrt(np.prod(np.diag(spread)))
        observed = float(np.clip(spread[0, 1] / scale, -0.95, 0.95)) if scale > 0 else 0.0
        tries = [(1.0, observed), (0.3, observed), (1.0, 0.0), (1.0, -observed), (0.1, 0.0)]
        return [
            np.array([size * deviation[0], size * deviation[1] * r, size * deviation[1] * np.sqrt(1 - r * r)])
            for size, r in tries
        ]

    def descend(self, start: FloatArray, gradient: float) -> FloatArray:
        """By BFGS, until the gradient is as small as asked for, or as near to it as BFGS gets."""
        # scipy.optimize takes as long to load as all of polyroc.
        from scipy.optimize import minimize

        def both(triangle: FloatArray) -> tuple[float, FloatArray]:
            point = self.at(triangle)
            return point.half_deviance, point.gradient

        found: FloatArray = minimize(both, start, jac=True, method="BFGS", options={"gtol": gradient}).x
        return found

    def polished(self, triangle: FloatArray) -> FloatArray:
        """Newton's steps, as long as they lower the gradient."""
        size = np.abs(self.gradient(triangle)).max()
        for _ in range(_N_POLISH):
            # Least squares: where a row of L is 0, Sigma does not change with its direction.
            step = np.linalg.lstsq(self._hessian(triangle), -self.gradient(triangle), rcond=1e-9)[0]
            moved = triangle + step
            moved_size = np.abs(self.gradient(moved)).max()
            if not moved_size < size or self.value(moved) > self.value(triangle) + _SAME:
                break
            triangle, size = moved, moved_size
        return triangle

    def _hessian(self, triangle: FloatArray) -> FloatArray:
        rows = [
            (self.gradient(triangle + step) - self.gradient(triangle - step)) / (2 * _STEP)
            for step in _STEP * np.eye(3)
        ]
        hessian = np.array(rows)
        return (hessian + hessian.T) / 2

    def on_border(self, triangle: FloatArray) -> FloatArray | None:
        """The nearest triangle with a variance or 1 - correlation^2 of exactly 0, if it is as likely; the plainest."""
        l11, l21, l22 = triangle
        second = np.hypot(l21, l22)
        # First those with the most zeros.
        border = [(0, 0, 0), (0, 0, second), (l11, 0, 0), (l11, np.copysign(second, l21), 0)]
        limit = self.value(triangle) + _SAME
        return next((np.array(near, dtype=np.float64) for near in border if self.value(np.array(near)) <= limit), None)
