"""Samples -> measures: each with its estimate, what every sample adds to it, and how sure it is."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr

from polyroc._engines import Prepared
from polyroc._engines._outcomes import (
    calibration_gaps,
    log_losses,
    sample_shares,
    signed_errors,
    squared_losses,
    within_top,
)
from polyroc._engines._samples import are_log_probabilities, are_probabilities, named_classes
from polyroc._estimator._pairs import all_pairs
from polyroc._lib._numbers import area
from polyroc._lib._typing import FloatArray
from polyroc._measures._declared import Kind
from polyroc._measures._named import MEASURES, Again, Named
from polyroc._measures._one_vs_rest import one_vs_rest_of
from polyroc._measures._scale import Scaled, Share, effective_number
from polyroc._records import Predictions
from polyroc._uncertainty._bootstrap import least_class
from polyroc._uncertainty._influence import Spread, needs_bias
from polyroc._uncertainty._resampling import Units
from polyroc.baselines._accuracy import why_no_accuracy
from polyroc.baselines._auc_mu import auc_mu_functional
from polyroc.baselines._pdi import pdi_functional

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
    """What several measures of the same samples have in common, computed once."""

    prepared: Prepared
    units: Units
    """What is independent, and the strata of measures that do not depend on prevalence."""
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
    def named(self) -> Named:
        source = self.source
        return Named(source.codes, named_classes(source), self.share, len(source.labels))

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
        return self.named.again(self.overall)

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
    def _why_not_named(self) -> str:
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
        if kind.needs == "named, several" and len(self.source.labels) <= N_TOP:
            return f"There are {len(self.source.labels)} classes, so that every class is among the first {N_TOP}."
        if kind.needs == "all pairs, one scale" and self.source.n_columns == 1:
            return ""
        return self._why_not_named if kind.needs.startswith("named") or kind.needs.endswith("one scale") else ""

    def of(self, kind: Kind) -> Measured:
        """One measure that can be computed."""
        if kind.name == "calibration_error":
            return self._calibration_error(kind)
        value, influences = self.functional(kind.name)
        return Measured(kind, value, self._sure(kind, value, influences))

    def functional(self, name: str) -> tuple[float, FloatArray]:
        """The value of a measure, and what each sample adds to it, shape (n,)."""
        if name in MEASURES:
            return self.named.measure(MEASURES[name])
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
            return replace(sure, bias=self.named.bias(kind.name, influences, self._again))
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
    "accuracy": lambda of: of.mean(of.named.is_right.astype(float)),
    "top_3": lambda of: of.mean(within_top(of.source, N_TOP).astype(float)),
    "quadratic_kappa": lambda of: of.named.quadratic_kappa(),
    "brier": lambda of: of.mean(squared_losses(of.source) / (2 if of.source.is_binary else 1)),
    "log_loss": lambda of: of.mean(log_losses(of.source)),
}
