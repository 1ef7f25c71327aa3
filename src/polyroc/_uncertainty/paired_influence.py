"""Influences of several models on the same samples -> estimates, differences, rankings, without resampling."""

import math
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit, gammainccinv, gammaincinv, logit, ndtr

from polyroc._lib.typing import AnyStatistic, FloatArray
from polyroc._uncertainty.delong import Moments, covariance, sides
from polyroc._uncertainty.influence import ROUNDING, Spread
from polyroc._uncertainty.intervals import EDGE, Interval
from polyroc._uncertainty.p_values import Test
from polyroc._uncertainty.paired import (
    Contest,
    HasEnds,
    ModelEstimate,
    ends_apart,
    p_value_by_intervals,
    probability_best,
    rankings,
    ties_rounded,
    with_holm,
)
from polyroc._uncertainty.units import AnyUnits, normal_errors

# Draws from the normal distribution of all models' statistics, for rankings: their shares are right to 0.005.
N_DRAWS = 9_999


class HasInfluences(HasEnds, Protocol):
    """A statistic, or a measure, with what each sample adds to it."""

    @property
    def estimate(self) -> float: ...

    @property
    def influences(self) -> FloatArray:
        """Shape (n,)."""

    @property
    def units(self) -> AnyUnits: ...

    @property
    def standard_error(self) -> float: ...

    @property
    def unshrunk(self) -> float | None:
        """The estimate without shrinkage; None where nothing is shrunk."""

    @property
    def excess(self) -> float:
        """By how much the estimate may be too large, whatever the samples show."""

    @property
    def hidden(self) -> float:
        """What an unseen error of this model may add to its difference from another."""

    @property
    def width(self) -> float:
        """Of the range."""

    def corrected(self) -> tuple[float, float]:
        """The estimate less its bias, and its standard error there."""


def contest_by_influence(
    statistic: AnyStatistic, models: Mapping[str, Spread], confidence_level: float, test: Test
) -> Contest:
    """Compare the models by their influences on the same samples."""
    names = list(models)
    # Once for all models: of fifty there are 1,225 pairs.
    together = covariance(np.array([one.influences for one in models.values()]), next(iter(models.values())).units)
    draws = ties_rounded(normal_draws(list(models.values()), together))
    best = probability_best(draws)
    estimates = tuple(
        ModelEstimate(name, one.estimate, one.standard_error, *one.interval(confidence_level), float(share))
        for (name, one), share in zip(models.items(), best, strict=True)
    )
    measured = [(a, b, *difference(models[a], models[b], confidence_level, test)) for a, b in combinations(names, 2)]
    return Contest(statistic, estimates, with_holm(measured), rankings(names, draws), together)


def difference(
    first: HasInfluences, second: HasInfluences, confidence_level: float, test: Test
) -> tuple[float, float, Interval, float]:
    """The difference of two models, its standard error, interval and p value.

    Centre and spread are those that the intervals of both begin with, as for paired replicates; the influences give
    the correlation. Rare errors may make the difference larger than that; whether there is one they do not tell.
    """
    value = first.estimate - second.estimate
    both = covariance(np.array([first.influences, second.influences]), first.units)
    plain = math.sqrt(max(0.0, both[0, 0] + both[1, 1] - 2 * both[0, 1]))
    if first.standard_error == 0 and second.standard_error == 0:
        return value, 0.0, ends_apart(first, second, confidence_level), p_value_by_intervals(first, second)
    (a, error_a), (b, error_b) = first.corrected(), second.corrected()
    alone = math.sqrt(both[0, 0] * both[1, 1])
    common = both[0, 1] / alone * error_a * error_b if alone > 0 else 0.0
    error = math.sqrt(max(error_a**2 + error_b**2 - 2 * common, plain**2))
    if first.unshrunk is not None and second.unshrunk is not None:
        error = math.hypot(error, first.unshrunk - second.unshrunk - value)
    if error < ROUNDING:  # the same scores, or models that go wrong together
        return value, 0.0, Interval(value, value), 1.0
    apart = first.influences - second.influences
    moments, units, width = Moments.of(apart, first.units), first.units, first.width
    to_0 = test.freedom(moments, units)
    near, far = (test.reach(confidence_level, one) * error for one in (to_0, moments.freedom(units.sizes)))
    below, above = _away_from_0(first, second, confidence_level, test, plain)
    # To the side away from 0, which is both where they are equal.
    below = max(far, error * below) if a <= b else near
    above = max(far, error * above) if a >= b else near
    # Either may be too large by any part of its excess.
    ends = Interval(max(-width, a - b - first.excess - below), min(width, a - b + second.excess + above))
    beyond = max(0.0, abs(a - b) - (first.excess if a > b else second.excess))
    return value, plain, ends, test.p_value(beyond / error, to_0)


def _away_from_0(
    first: HasInfluences, second: HasInfluences, confidence_level: float, test: Test, plain: float
) -> tuple[float, float]:
    """How many standard errors a difference may be below, and above, what it is, if rare errors make it.

    What speaks for one model and what speaks for the other are two sums of few large influences. Each has Fay and
    Feuer's interval, and MOVER (Zou and Donner, 2008) joins both. Half a unit more may come to either (mid-p), as large
    as the largest that was seen, as far as the variance is less certain than that of normal units; or a whole one that
    was not seen.
    """
    if plain < ROUNDING:  # no unit adds anything
        return 0.0, 0.0
    apart, units = first.influences - second.influences, first.units
    moments = Moments.of(apart, units)
    normal = moments.normal_freedom(units.sizes)
    share = math.sqrt(max(0.0, 1 - moments.freedom(units.sizes) / normal))
    hidden = max(first.hidden, second.hidden)
    more, less = (
        _Part(total, squares, max(0.5 * share * largest, hidden))
        for total, squares, largest in np.array(sides(apart, units)).tolist()
    )
    tail = float(ndtr(-test.reach(confidence_level, normal)))
    below = math.hypot(more.below(tail), less.above(tail))
    return below / plain, math.hypot(more.above(tail), less.below(tail)) / plain


class _Part(NamedTuple):
    """A sum of the units that speak for one of two models."""

    total: float
    squares: float
    unseen: float
    """What one unit more may add."""

    def above(self, tail: float) -> float:
        """How far the high end of Fay and Feuer's (1997) interval is from the sum."""
        mean = self.total + self.unseen
        scale = (self.squares + self.unseen**2) / mean
        return scale * float(gammainccinv(mean / scale, tail)) - self.total

    def below(self, tail: float) -> float:
        """How far the low end is."""
        scale = self.squares / self.total
        return self.total - scale * float(gammaincinv(self.total / scale, tail))


def normal_draws(models: list[Spread], together: FloatArray | None = None) -> FloatArray:
    """Draws of all models' statistics from the normal distribution of their logits, shape (m, N_DRAWS).

    `together` is their covariance where it is known.
    """
    estimates = np.clip([one.estimate for one in models], EDGE, 1 - EDGE)
    slope = 1 / (estimates * (1 - estimates))
    if together is None:
        together = covariance(np.array([one.influences for one in models]), models[0].units)
    noise = np.random.default_rng(0).normal(size=(N_DRAWS, len(models)))
    errors = normal_errors(noise, together * np.outer(slope, slope))
    drawn: FloatArray = expit(logit(estimates) + errors).T
    return drawn
