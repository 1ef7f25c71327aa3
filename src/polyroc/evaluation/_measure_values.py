"""Samples -> measures: each with its estimate, what every sample adds to it, and how sure it is."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr

from polyroc._core import Prepared
from polyroc._core.rates import all_pairs
from polyroc._core.samples import are_log_probabilities, are_probabilities, predicted_classes
from polyroc._lib.numbers import area
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import Frozen, Predictions
from polyroc._uncertainty.bootstrap import least_class
from polyroc._uncertainty.influence import STEP, Spread, halves, needs_bias
from polyroc._uncertainty.units import Units
from polyroc.baselines._accuracy import why_no_accuracy
from polyroc.baselines._pairwise import auc_mu_functional, mixed_areas
from polyroc.baselines._pdi import pdi_functional
from polyroc.evaluation._measure_list import Kind, Scaled, Share, effective_number
from polyroc.evaluation._outcomes import (
    calibration_gaps,
    log_losses,
    sample_shares,
    signed_errors,
    squared_losses,
    within_top,
)

# Weights under which a measure is computed again, for its bias: a few k numbers each.
_N_AGAIN = 32
# A larger share is all, but for rounding.
_ONE = 1 - 1e-14


@dataclass(frozen=True, eq=False)
class Margins(Frozen):
    """Shares of all samples, shape (..., k) each."""

    true: FloatArray
    """Of each class."""
    predicted: FloatArray
    """Share of samples for which each class is predicted."""
    right: FloatArray
    """Share of samples of each class that are predicted correctly."""


Gradient: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""By true class, by predicted class, and by class where both are the same; shape (k,) each."""


@dataclass(frozen=True, eq=False)
class ConfusionMeasure:
    """A measure of predicted classes: its value, shape (...), and its gradient."""

    value: Callable[[Margins], FloatArray]
    gradient: Callable[[Margins], Gradient]


@dataclass(frozen=True, eq=False)
class PredictedClasses(Frozen):
    """The true and the predicted class of each sample, and its share of the weight of all."""

    codes: IntArray
    predicted: IntArray
    share: FloatArray
    n_classes: int

    @cached_property
    def margins(self) -> Margins:
        return self._margins(self.share)

    def measure(self, of: ConfusionMeasure) -> tuple[float, FloatArray]:
        """A measure and what each sample adds to it, shape (n,)."""
        by_true, by_predicted, by_right = of.gradient(self.margins)
        slope = by_true[self.codes] + by_predicted[self.predicted] + np.where(self.is_right, by_right[self.codes], 0.0)
        return float(of.value(self.margins)), self.share * (slope - self.share @ slope)

    def quadratic_kappa(self, share: FloatArray | None = None) -> tuple[float, FloatArray]:
        """Kappa with squared distances of the classes' places for weights, and what each sample adds."""
        share = self.share if share is None else share
        true, predicted = self.codes.astype(float), self.predicted.astype(float)
        apart = (true - predicted) ** 2
        seen = float(share @ apart)
        true_mean, predicted_mean = float(share @ true), float(share @ predicted)
        expected = float(share @ true**2 + share @ predicted**2) - 2 * true_mean * predicted_mean
        if expected <= 0:  # one class has all of the weight, but for rounding
            return 0.0, np.zeros_like(share)
        by_sample = true**2 - 2 * true * predicted_mean + predicted**2 - 2 * predicted * true_mean
        slope = -apart / expected + seen / expected**2 * by_sample
        return 1 - seen / expected, share * (slope - share @ slope)

    @cached_property
    def is_right(self) -> BoolArray:
        right: BoolArray = self.codes == self.predicted
        return right

    def again(self, units: Units) -> "Again":
        """The same samples under other weights, for the bias of several measures."""
        weights = halves(units, _N_AGAIN)
        shares = weights * self.share
        shares /= shares.sum(axis=1, keepdims=True)
        stacked = [self._margins(one) for one in shares]
        fields = (np.array([getattr(one, field) for one in stacked]) for field in ("true", "predicted", "right"))
        return Again(weights, shares, Margins(*fields))

    def bias(self, name: str, influences: FloatArray, again: "Again") -> tuple[float, float]:
        """By how much a measure is too large on average, and the standard error of that."""
        if name == "quadratic_kappa":
            first = self.quadratic_kappa()[0]
            found = np.array([self.quadratic_kappa(one)[0] for one in again.shares])
        else:
            first = float(MEASURES[name].value(self.margins))
            found = MEASURES[name].value(again.margins)
        rest = (found - first - (again.weights @ influences - influences.sum())) / STEP**2
        return float(np.mean(rest)), float(np.std(rest, ddof=1) / np.sqrt(len(rest)))

    def _margins(self, share: FloatArray) -> Margins:
        def of(codes: IntArray, by: FloatArray) -> FloatArray:
            return np.bincount(codes, by, minlength=self.n_classes).astype(float, copy=False)

        return Margins(
            of(self.codes, share), of(self.predicted, share), of(self.codes, np.where(self.is_right, share, 0))
        )


@dataclass(frozen=True, eq=False)
class Again(Frozen):
    """Samples weighed again as resamples would weigh them."""

    weights: FloatArray
    """Of the samples, shape (_N_AGAIN, n)."""
    shares: FloatArray
    margins: Margins


def _over(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """A ratio, 0 where there is nothing to divide by: scikit-learn's `zero_division=0`."""
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom > 0)


def _balanced_accuracy(margins: Margins) -> FloatArray:
    present = margins.true > 0
    mean: FloatArray = _over(margins.right, margins.true).sum(axis=-1) / present.sum(axis=-1)
    return mean


def _balanced_accuracy_gradient(margins: Margins) -> Gradient:
    present = np.count_nonzero(margins.true)
    each = _over(np.ones_like(margins.true), margins.true) / present
    return -each * _over(margins.right, margins.true), np.zeros_like(each), each


def _f1_macro(margins: Margins) -> FloatArray:
    # Classes that occur or are predicted, as in scikit-learn.
    both = margins.true + margins.predicted
    mean: FloatArray = _over(2 * margins.right, both).sum(axis=-1) / (both > 0).sum(axis=-1)
    return mean


def _f1_macro_gradient(margins: Margins) -> Gradient:
    both = margins.true + margins.predicted
    each = _over(np.ones_like(both), both) / np.count_nonzero(both)
    less = -each * _over(2 * margins.right, both)
    return less, less, 2 * each


def _mcc_parts(margins: Margins) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gorodkin's covariances: of true and predicted class, of the true and of the predicted one with itself."""
    both = margins.right.sum(axis=-1) - (margins.true * margins.predicted).sum(axis=-1)
    return both, 1 - (margins.true**2).sum(axis=-1), 1 - (margins.predicted**2).sum(axis=-1)


def _mcc(margins: Margins) -> FloatArray:
    both, true, predicted = _mcc_parts(margins)
    # One class for all is no correlation; rounding may leave a little of its variance.
    bottom = np.where(margins.predicted.max(axis=-1) < _ONE, np.sqrt(np.maximum(true * predicted, 0)), 0.0)
    return _over(np.asarray(both), np.asarray(bottom))


def _mcc_gradient(margins: Margins) -> Gradient:
    both, true, predicted = _mcc_parts(margins)
    nothing = np.zeros_like(margins.true)
    if margins.predicted.max() >= _ONE:
        return nothing, nothing, nothing
    scale = 1 / np.sqrt(true * predicted)
    by_true = scale * (both / true * margins.true - margins.predicted)
    by_predicted = scale * (both / predicted * margins.predicted - margins.true)
    return by_true, by_predicted, np.full_like(nothing, scale)


def _kappa(margins: Margins) -> FloatArray:
    chance = (margins.true * margins.predicted).sum(axis=-1)
    # Where one class has all of the weight, but for rounding, nothing is beyond chance.
    rest = np.where(chance < _ONE, 1 - chance, 0.0)
    return _over(np.asarray(margins.right.sum(axis=-1) - chance), rest)


def _kappa_gradient(margins: Margins) -> Gradient:
    seen, chance = margins.right.sum(), float(margins.true @ margins.predicted)
    if chance >= _ONE:
        nothing = np.zeros_like(margins.true)
        return nothing, nothing, nothing
    # d kappa / d chance = (seen - 1) / (1 - chance)^2, and chance is the sum of true times predicted.
    slope = (seen - 1) / (1 - chance) ** 2
    return slope * margins.predicted, slope * margins.true, np.full_like(margins.true, 1 / (1 - chance))


MEASURES: dict[str, ConfusionMeasure] = {
    "balanced_accuracy": ConfusionMeasure(_balanced_accuracy, _balanced_accuracy_gradient),
    "f1_macro": ConfusionMeasure(_f1_macro, _f1_macro_gradient),
    "mcc": ConfusionMeasure(_mcc, _mcc_gradient),
    "kappa": ConfusionMeasure(_kappa, _kappa_gradient),
}


@dataclass(frozen=True, eq=False)
class OneVsRest(Frozen):
    """The mean area of one class against the rest. A sample counts in the pairwise areas, and in the weights."""

    value: float
    share: FloatArray
    """Weight of each pairwise area, shape (K,)."""
    by_weight: FloatArray
    """Influence of each sample by its weight alone, the areas staying as they are, shape (n,)."""


def one_vs_rest_of(source: Predictions, areas: FloatArray, *, weighted: bool) -> OneVsRest:
    """The mean area of one class against the rest, from the areas of all pairs, shape (K,).

    Class i has the area R_i = sum_j W_j A_ij / sum_j W_j over the other classes j, and counts the same as the others
    or by its weight W_i.
    """
    pairs = all_pairs(source)
    weight = source.class_weights / source.class_weights.sum()
    i, j = pairs.positive, pairs.negative
    rest = np.bincount(i, weight[j], minlength=len(weight))
    compared = rest > 0
    against = np.where(compared, mixed_areas(pairs, areas, weight), 0.0)
    counts = np.where(compared, weight if weighted else 1.0, 0.0)
    counts /= counts.sum()
    value = float(counts @ against)
    # dR_i / dW_c = (A_ic - R_i) / sum_j W_j, of every other class i.
    slope = np.bincount(j, counts[i] / rest[i] * (areas - against[i]), minlength=len(weight))
    if weighted:
        # And the weight of the class itself: d value / dW_c = (R_c - value) / sum of the weights compared.
        slope += np.where(compared, against - value, 0.0) / weight[compared].sum()
    share = source.sample_weight
    share = np.full(source.n_samples, 1 / source.n_samples) if share is None else share / source.class_weights.sum()
    return OneVsRest(value, counts[i] * weight[j] / rest[i], share * slope[source.codes])


N_BINS = 15
N_TOP = 3
# Of the mean of |x|, x normal with mean 0 and variance 1.
_MEAN_SIZE = float(np.sqrt(2 / np.pi))

Sure: TypeAlias = Spread | Scaled
"""A measure that has influences, and so an interval of any level."""


@dataclass(frozen=True, eq=False)
class Measured:
    """One measure of one model: a value, and how sure it is where that can be said."""

    kind: Kind
    estimate: float
    sure: Sure | None
    note: str = ""


class MeansOfAreas(NamedTuple):
    """Measures that are means of the areas of all pairs: one pass over the samples serves all of them."""

    hand_till_influences: FloatArray
    ovr_macro: tuple[float, FloatArray]
    ovr_weighted: tuple[float, FloatArray]


@dataclass(frozen=True, eq=False)
class Passes:
    """Numbers that several measures of the same samples share, computed once."""

    prepared: Prepared
    units: Units
    """Resampling units, and the strata of measures that do not depend on prevalence."""
    pair_areas: Callable[[], FloatArray] | None
    """Areas of all pairs; None where only some of them were compared."""

    @property
    def source(self) -> Predictions:
        return self.prepared.samples

    @cached_property
    def overall(self) -> Units:
        """The same units in one stratum: how many of them are of which class is chance, too."""
        return Units(self.units.unit, np.zeros_like(self.units.stratum), self.units.are_groups)

    @cached_property
    def share(self) -> FloatArray:
        return sample_shares(self.source)

    @cached_property
    def predicted(self) -> PredictedClasses:
        source = self.source
        return PredictedClasses(source.codes, predicted_classes(source), self.share, len(source.labels))

    @cached_property
    def means_of_areas(self) -> "MeansOfAreas":
        assert self.pair_areas is not None
        areas = self.pair_areas()
        macro, weighted = (one_vs_rest_of(self.source, areas, weighted=weighted) for weighted in (False, True))
        shares = np.array([np.full(len(areas), 1 / len(areas)), macro.share, weighted.share])
        of_m, of_macro, of_weighted = self.prepared.area_influences(all_pairs(self.source), shares)
        return MeansOfAreas(
            of_m, (macro.value, of_macro + macro.by_weight), (weighted.value, of_weighted + weighted.by_weight)
        )

    @cached_property
    def _again(self) -> Again:
        return self.predicted.again(self.overall)

    @cached_property
    def n_classes(self) -> int:
        return int(np.count_nonzero(self.source.class_counts))

    @cached_property
    def n_least(self) -> int:
        return least_class(self.source, self.units)

    @cached_property
    def n_units(self) -> float:
        """Independent units; fewer where some samples weigh much more than others."""
        return min(float(self.units.n_units), effective_number(self.share))

    @cached_property
    def _why_not_predicted(self) -> str:
        return why_no_accuracy(self.source)

    @cached_property
    def _are_probabilities(self) -> bool:
        return self.source.n_columns > 1 and are_probabilities(self.source, every_row=True)

    def why_not(self, kind: Kind) -> str:
        """Why a measure cannot be computed of these samples; empty where it can."""
        if kind.needs == "probabilities" and not self._are_probabilities:
            if self.source.n_columns == 1:
                return "There is one score column: probabilities need one for each class."
            if are_log_probabilities(self.source):
                return "The rows are log probabilities: pass `np.exp(y_score)`."
            return "The rows are not probabilities: numbers between 0 and 1 that sum to 1."
        if kind.needs.startswith("all pairs") and self.pair_areas is None:
            return "Only a sample of the pairs of classes was compared (`max_pairs`)."
        if kind.needs == "predicted, several" and len(self.source.labels) <= N_TOP:
            return f"There are {len(self.source.labels)} classes, so that every class is among the first {N_TOP}."
        if kind.needs == "all pairs, one scale" and self.source.n_columns == 1:
            return ""
        return self._why_not_predicted if kind.needs.startswith("predicted") or kind.needs.endswith("one scale") else ""

    def of(self, kind: Kind) -> Measured:
        """One measure that can be computed."""
        if kind.name == "calibration_error":
            return self._calibration_error(kind)
        value, influences = self.functional(kind.name)
        return Measured(kind, value, self._sure(kind, value, influences))

    def functional(self, name: str) -> tuple[float, FloatArray]:
        """The value of a measure, and what each sample adds to it, shape (n,)."""
        if name in MEASURES:
            return self.predicted.measure(MEASURES[name])
        found: tuple[float, FloatArray] = _FUNCTIONALS[name](self)
        return found

    def _sure(self, kind: Kind, value: float, influences: FloatArray) -> Scaled:
        units = self.overall if kind.depends_on_prevalence else self.units
        n_independent = self.n_least if kind.rare_classes_count or kind.is_curved else self.n_units
        one = 1 / (self.n_classes * self.n_least) if kind.rare_classes_count else 1 / self.n_units
        sure = (Share if kind.scale == "share" else Scaled)(
            estimate=value,
            influences=influences,
            units=units,
            n_independent=n_independent,
            lowest=kind.lowest,
            highest=self._highest(kind),
            is_log=kind.scale == "log",
            unseen=kind.unseen * one,
        )
        if kind.is_curved and sure.standard_error > 0 and needs_bias(self.units, self.n_classes):
            return replace(sure, bias=self.predicted.bias(kind.name, influences, self._again))
        return sure

    def _highest(self, kind: Kind) -> float:
        if kind.name == "brier" and self.source.is_binary:
            return 1.0
        if kind.scale == "log":
            return -float(np.log(np.finfo(self.source.scores.dtype).eps))
        return kind.highest

    def mean(self, values: FloatArray) -> tuple[float, FloatArray]:
        """The mean of a number that each sample has, and what each sample adds to it."""
        # By shares: the weights themselves may be so large that a sum of losses overflows.
        value = float(np.mean(values)) if self.source.sample_weight is None else float(self.share @ values)
        return value, self.share * (values - value)

    def _calibration_error(self, kind: Kind) -> Measured:
        """Sizes of gaps: chance makes them larger, so that the interval reaches down to what it would leave."""
        unit = self.units.unit if self.units.are_groups else None
        gaps, variance = calibration_gaps(self.source, self.share, N_BINS, unit)
        n_columns = self.source.n_columns
        value = float(np.abs(gaps).sum()) / n_columns
        slope = signed_errors(self.source, np.sign(gaps)) / n_columns
        influences = self.share * (slope - self.share @ slope)
        error = np.sqrt(variance)
        excess = float(_excess(np.abs(gaps), error).sum()) / n_columns
        calibrated = _MEAN_SIZE * float(error.sum()) / n_columns
        note = (
            f"Chance makes it too large, here by up to about {area(excess)}; a perfectly calibrated model would have "
            f"about {area(calibrated)} with these samples. The interval allows for that."
        )
        sure = replace(self._sure(kind, value, influences), excess=excess)
        return Measured(kind, value, sure, note)


def _excess(size: FloatArray, error: FloatArray) -> FloatArray:
    """By how much the size of a normal number is too large on average, where its mean is a standard error smaller.

    The size of a number with mean m and standard error 1 is too large by 2 (phi(m) - m Phi(-m)). The size that was seen
    is itself too large, so that m is taken from a smaller one; with the mean that its square suggests, intervals of 30
    samples left out the truth in 17 %.
    """
    known = error > 0
    mean = np.maximum(size[known] / error[known] - 1, 0)
    excess = np.zeros_like(size)
    excess[known] = error[known] * 2 * (np.exp(-(mean**2) / 2) / np.sqrt(2 * np.pi) - mean * ndtr(-mean))
    return excess


_FUNCTIONALS: dict[str, Callable[[Passes], tuple[float, FloatArray]]] = {
    "pdi": lambda of: pdi_functional(of.prepared),
    "auc_mu": lambda of: auc_mu_functional(of.prepared),
    "ovr_macro": lambda of: of.means_of_areas.ovr_macro,
    "ovr_weighted": lambda of: of.means_of_areas.ovr_weighted,
    "accuracy": lambda of: of.mean(of.predicted.is_right.astype(float)),
    "top_3": lambda of: of.mean(within_top(of.source, N_TOP).astype(float)),
    "quadratic_kappa": lambda of: of.predicted.quadratic_kappa(),
    "brier": lambda of: of.mean(squared_losses(of.source) / (2 if of.source.is_binary else 1)),
    "log_loss": lambda of: of.mean(log_losses(of.source)),
}
