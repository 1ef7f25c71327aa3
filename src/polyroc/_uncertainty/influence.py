"""How sure a statistic is without resampling: by what each sample contributes to it (docs/influence.md).

The influences of the samples replace the replicates: their sum of squares is the variance of the statistic. What they
do not show is its bias, a term of second order. A few refits do: under other weights of the samples the statistic
changes by the sum of the influences, which is known, and by a rest, whose mean is the bias. The rest varies little, so
that four refits suffice, and what they leave open is added to the standard error.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from polyroc._inputs.checks import InputError
from polyroc._inputs.options import Options
from polyroc._lib.typing import Curve, FloatArray, IntervalKind
from polyroc._lib.warnings import ResamplingWarning, warn
from polyroc._records import Frozen
from polyroc._uncertainty.delong import covariance, freedom, standard_error
from polyroc._uncertainty.intervals import (
    EDGE,
    Interval,
    Reach,
    end_interval,
    logit_corrected,
    logit_ends,
    rare_error,
    unseen_error,
)
from polyroc._uncertainty.replicates import Replicates
from polyroc._uncertainty.units import AnyUnits, Units, normal_errors

N_REFITS = 4
# Curves that are drawn for a band.
N_CURVES = 2_000
# Points nearer to a corner than this are at the corner: they stay there.
_CORNER = 1e-6
# A point within its own standard error of an end of the range is moved at most this far on the logit scale.
_MOST_SHIFT = 6.0
# Half of the units of each stratum count 1 + STEP and the others 1 - STEP, which is as far as resampling moves them.
STEP = 0.8
# Bias and standard error stand in the ratio of at most sqrt(k / n) (k classes of n samples each; 0.1 to 1 times that in
# the settings of docs/coverage.md). Below this ratio nobody would see the bias.
_NO_BIAS = 0.05
# More than this on the logit scale is no bias but a fit that went elsewhere.
_MOST_BIAS = 1.0
# Nearer to 0 or 1 the influences of a sample without errors say nothing about the errors of the next one.
_NEAR_END = 0.001
# Scores that rank nothing leave influences of this size at most.
ROUNDING = 1e-14


def near_end(area: float, name: str = "D") -> str:
    """Why influences do not carry the interval of an area this near to 0 or 1; empty where they do."""
    return f"{name} is within {_NEAR_END} of {round(area)}" if min(area, 1 - area) < _NEAR_END else ""


def too_large(error: float, area: float, name: str = "D") -> str:
    """Why a standard error cannot be that of an area; empty where it can.

    Nothing between 0 and 1 with this mean varies more. A formula that says so is far from linear there, as with costs
    that leave a few samples to decide.
    """
    largest = float(np.sqrt(area * (1 - area)))
    return f"the formula gives a standard error of {error:.2g}, more than {name} can have" if error > largest else ""


def refuse_centered(options: Options) -> None:
    """Influences are not derived for one of the structures."""
    if options.structure == "centered":
        rule = "must be 'rank-one' or 'saturated' for influences, which have no formula for this one"
        raise InputError("structure", rule, repr(options.structure))


@dataclass(frozen=True, eq=False)
class Spread(Frozen):
    """One statistic and how sure it is, by its influences."""

    estimate: float
    influences: FloatArray
    units: AnyUnits
    n_independent: int
    """Units of the smallest class."""
    n_classes: int
    rare_class: float | None = None
    """Size of a class in which an unseen error costs what it does over all classes; None to allow for none more."""
    bias: tuple[float, float] = (0.0, 0.0)
    """By how much the statistic is too large on average, and the standard error of that."""
    unshrunk: float | None = None
    """The estimate without shrinkage, of a statistic that a fit makes biased; None of one that has no bias."""
    pair_error: float = 0.0
    """Standard error that a sample of the pairs adds."""
    at_end: bool = False
    """Whether not one comparison of two samples went wrong, or all did."""
    error_cost: float = 1.0
    """What an error may cost at most, compared with what it costs in the whole area."""
    floor: float = 0.0
    """The least value that the statistic can have."""
    width: ClassVar[float] = 1.0
    """Of the range: between 0 and 1, whatever the least value."""
    excess: ClassVar[float] = 0.0
    """An area is too large by its bias only."""

    @cached_property
    def standard_error(self) -> float:
        return whole_error(self.influences, self.units, self.pair_error)

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom of the standard error: few where few samples carry the variance."""
        return freedom(self.influences, self.units)

    def interval(self, confidence_level: float) -> Interval:
        """Confidence interval on the logit scale, with the terms that the bootstrap's has."""
        if self.standard_error == 0 and not self.at_end:
            single = "A class has only one sample or group, which shows no variation"
            why = single if self.n_independent == 1 else "No sample changes the statistic"
            warn(f"{why}, so the interval is a single point.", ResamplingWarning)
        return self.ends(confidence_level)

    def ends(self, confidence_level: float, kind: IntervalKind = "logit") -> Interval:
        """The interval alone, for whoever asks for many of them, or warns elsewhere."""
        if self.at_end:
            return end_interval(self.estimate, self.n_independent, confidence_level, self.error_cost, self.floor)
        if self.standard_error == 0:
            return Interval(self.estimate, self.estimate)
        unseen = self.error_cost * unseen_error(self.n_classes, self.n_independent)
        reach = Reach.of(confidence_level, self.freedom, unseen, self._rare)
        low, high = logit_ends(self.estimate, self._error, reach, mean=self._place, unshrunk=self.unshrunk)
        return Interval(max(float(low), self.floor), float(high))

    @property
    def hidden(self) -> float:
        """What an unseen error may add to the difference of two models, which make half of such errors together."""
        return self._rare / 2

    @property
    def _rare(self) -> float:
        return 0.0 if self.rare_class is None else rare_error(self.n_classes, self.rare_class)

    def is_like(self, other: "Spread") -> bool:
        """Whether another one has the very same estimate and influences."""
        return self.estimate == other.estimate and np.array_equal(self.influences, other.influences)

    def corrected(self) -> tuple[float, float]:
        """The estimate less its bias, and its standard error there: where the interval of a difference begins."""
        return logit_corrected(self.estimate, self._error, self._place)

    @property
    def _place(self) -> float | None:
        return place_of(self.estimate, self.bias[0])

    @property
    def _error(self) -> float:
        return error_at(self._place, self.estimate, float(np.hypot(self.standard_error, self.bias[1])))


def place_of(estimate: float, bias: float) -> float | None:
    """Where replicates would stand on average; None of a statistic without bias."""
    if bias == 0:
        return None
    estimate = float(np.clip(estimate, EDGE, 1 - EDGE))
    shift = np.clip(bias / (estimate * (1 - estimate)), -_MOST_BIAS, _MOST_BIAS)
    return float(expit(logit(estimate) + shift))


def error_at(place: float | None, estimate: float, error: float) -> float:
    """The standard error of an estimate brought to a place: the variance of a share p of errors goes as p (1 - p).

    Tried: as the slope of the logit, p (1 - p), with which strong models of ten classes covered 92 %; and unchanged,
    with which intervals are up to 14 % wider than the bootstrap's. So they are as wide (docs/coverage.md).
    """
    if place is None:
        return error
    estimate = float(np.clip(estimate, EDGE, 1 - EDGE))
    return float(error * np.sqrt(place * (1 - place) / (estimate * (1 - estimate))))


def curve_draws(
    points: FloatArray, influences: FloatArray, bias: FloatArray, units: Units
) -> tuple[FloatArray, FloatArray]:
    """Curves drawn from the normal distribution of their points' logits, FPR and TPR, shape (N_CURVES, T) each.

    `points` are TPR and then FPR, shape (2T,), as is their `bias`, and `influences` what each sample adds to each of
    them, shape (2T, n). The draws stand where resamples would: beyond the points by the bias.
    """
    return _as_curve(_point_draws(points, influences, bias, units))


def paired_curve_draws(
    first: tuple[FloatArray, FloatArray, FloatArray], second: tuple[FloatArray, FloatArray, FloatArray], units: Units
) -> list[tuple[FloatArray, FloatArray]]:
    """The same for the curves of two models on the same samples, drawn together; points, influences, bias of each."""
    points, influences, bias = (np.concatenate(both) for both in zip(first, second, strict=True))
    return [_as_curve(half) for half in np.split(_point_draws(points, influences, bias, units), 2, axis=1)]


def _as_curve(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    tpr, fpr = np.split(drawn, 2, axis=1)
    return np.maximum.accumulate(fpr, axis=1), np.maximum.accumulate(tpr, axis=1)


def _point_draws(points: FloatArray, influences: FloatArray, bias: FloatArray, units: Units) -> FloatArray:
    points = np.clip(points, _CORNER, 1 - _CORNER)
    slope = 1 / (points * (1 - points))
    shift = np.clip(bias * slope, -_MOST_BIAS, _MOST_BIAS)
    noise = np.random.default_rng(0).normal(size=(N_CURVES // 2, len(points)))
    errors = normal_errors(noise, covariance(influences, units) * np.outer(slope, slope))
    # With each draw its mirror image, so that their mean is no matter of luck.
    errors = np.concatenate([errors, -errors])
    drawn: FloatArray = expit(logit(points) + shift + np.clip(errors, -_MOST_SHIFT, _MOST_SHIFT))
    return drawn


def whole_error(influences: FloatArray, units: AnyUnits, pair_error: float) -> float:
    """Standard error of the samples and of a sample of the pairs; 0 where influences are nothing but rounding."""
    by_samples = standard_error(influences, units)
    return float(np.hypot(by_samples if by_samples > ROUNDING else 0.0, pair_error))


def needs_bias(units: AnyUnits, n_classes: int) -> bool:
    """Whether D's bias could be seen: not where every class has very many samples."""
    sizes = units.sizes
    size = 1 / np.mean(1 / sizes[sizes > 0])
    return bool(n_classes > _NO_BIAS**2 * size)


def refitted_bias(
    replicates: Replicates, estimate: float, influences: FloatArray, units: Units, max_fpr: float | None = None
) -> tuple[float, float]:
    """By how much D, or the partial area, is too large on average, and the standard error of that, by a few refits."""
    weights = halves(units)
    found = replicates.on_threads(weights)
    refits = found.auc if max_fpr is None else found.partial_auc(max_fpr)
    rest = (refits - estimate - (weights - 1) @ influences) / STEP**2
    return float(np.mean(rest)), float(np.std(rest, ddof=1) / np.sqrt(len(rest)))


def refitted_point_bias(
    replicates: Replicates, curve: Curve, points: FloatArray, influences: FloatArray, units: Units
) -> FloatArray:
    """The same for every point of a curve, TPR and then FPR, shape (2T,)."""
    weights = halves(units)
    found = replicates.on_threads(weights)
    refits = (found.tpr, found.fpr) if curve == "shared" else (found.mean_tpr, found.mean_fpr)
    rest = np.hstack(refits) - points - (weights - 1) @ influences.T
    bias: FloatArray = rest.mean(axis=0) / STEP**2
    return bias


def halves(units: Units, count: int = N_REFITS) -> FloatArray:
    """Weights of the samples that differ as those of resamples do, shape (count, n); the same whenever asked."""
    rng = np.random.default_rng(0)
    sizes = units.sizes
    weights = np.ones((count, units.n_units))
    for stratum in np.flatnonzero(sizes > 1):
        members = np.flatnonzero(units.stratum == stratum)
        half = np.where(np.arange(len(members)) < len(members) // 2, -1.0, 1.0)
        # As resamples of u - 1 units: a variance of u / (u - 1).
        half = (half - half.mean()) / half.std() * np.sqrt(len(members) / (len(members) - 1))
        for weight in weights:
            weight[members] += STEP * rng.permutation(half)
    # Of a stratum of two or three a unit may come out below 0; half a percent keeps its class there.
    np.maximum(weights, 0.005, out=weights)
    return weights[:, units.unit] if units.are_groups else weights
