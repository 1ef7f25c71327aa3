"""Measures of named classes: functions of how often each class occurs, is named, and is named rightly.

A measure f of these shares has the gradient a_i + b_j + d_i [i = j] in the share of samples of class i that are named
j. So a sample adds its share times what the gradient says of it beyond the mean over all samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from polyroc._lib._typing import BoolArray, FloatArray, IntArray
from polyroc._records import Frozen
from polyroc._uncertainty._influence import STEP, halves
from polyroc._uncertainty._resampling import Units

# Weights under which a measure is computed again, for its bias: a few k numbers each.
_N_AGAIN = 32
# A larger share is all, but for rounding.
_ONE = 1 - 1e-14


@dataclass(frozen=True, eq=False)
class Margins(Frozen):
    """Shares of all samples, shape (..., k) each."""

    true: FloatArray
    """Of each class."""
    named: FloatArray
    """Named each class."""
    right: FloatArray
    """Of each class and named so."""


Gradient: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""By true class, by named class, and by class where both are the same; shape (k,) each."""


@dataclass(frozen=True, eq=False)
class OfNamed:
    """A measure of named classes: its value, shape (...), and its gradient."""

    value: Callable[[Margins], FloatArray]
    gradient: Callable[[Margins], Gradient]


@dataclass(frozen=True, eq=False)
class Named(Frozen):
    """The true and the named class of each sample, and its share of the weight of all."""

    codes: IntArray
    named: IntArray
    share: FloatArray
    n_classes: int

    @cached_property
    def margins(self) -> Margins:
        return self._margins(self.share)

    def measure(self, of: OfNamed) -> tuple[float, FloatArray]:
        """A measure and what each sample adds to it, shape (n,)."""
        by_true, by_named, by_right = of.gradient(self.margins)
        slope = by_true[self.codes] + by_named[self.named] + np.where(self.is_right, by_right[self.codes], 0.0)
        return float(of.value(self.margins)), self.share * (slope - self.share @ slope)

    def quadratic_kappa(self, share: FloatArray | None = None) -> tuple[float, FloatArray]:
        """Kappa with squared distances of the classes' places for weights, and what each sample adds."""
        share = self.share if share is None else share
        true, named = self.codes.astype(float), self.named.astype(float)
        apart = (true - named) ** 2
        seen = float(share @ apart)
        true_mean, named_mean = float(share @ true), float(share @ named)
        expected = float(share @ true**2 + share @ named**2) - 2 * true_mean * named_mean
        if expected <= 0:  # one class has all of the weight, but for rounding
            return 0.0, np.zeros_like(share)
        by_sample = true**2 - 2 * true * named_mean + named**2 - 2 * named * true_mean
        slope = -apart / expected + seen / expected**2 * by_sample
        return 1 - seen / expected, share * (slope - share @ slope)

    @cached_property
    def is_right(self) -> BoolArray:
        right: BoolArray = self.codes == self.named
        return right

    def again(self, units: Units) -> "Again":
        """The same samples under other weights, for the bias of several measures."""
        weights = halves(units, _N_AGAIN)
        shares = weights * self.share
        shares /= shares.sum(axis=1, keepdims=True)
        stacked = [self._margins(one) for one in shares]
        fields = (np.array([getattr(one, field) for one in stacked]) for field in ("true", "named", "right"))
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

        return Margins(of(self.codes, share), of(self.named, share), of(self.codes, np.where(self.is_right, share, 0)))


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
    # Classes that occur or are named, as in scikit-learn.
    both = margins.true + margins.named
    mean: FloatArray = _over(2 * margins.right, both).sum(axis=-1) / (both > 0).sum(axis=-1)
    return mean


def _f1_macro_gradient(margins: Margins) -> Gradient:
    both = margins.true + margins.named
    each = _over(np.ones_like(both), both) / np.count_nonzero(both)
    less = -each * _over(2 * margins.right, both)
    return less, less, 2 * each


def _mcc_parts(margins: Margins) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gorodkin's covariances: of true and named class, of the true and of the named one with itself."""
    both = margins.right.sum(axis=-1) - (margins.true * margins.named).sum(axis=-1)
    return both, 1 - (margins.true**2).sum(axis=-1), 1 - (margins.named**2).sum(axis=-1)


def _mcc(margins: Margins) -> FloatArray:
    both, true, named = _mcc_parts(margins)
    # One class for all is no correlation; rounding may leave a little of its variance.
    bottom = np.where(margins.named.max(axis=-1) < _ONE, np.sqrt(np.maximum(true * named, 0)), 0.0)
    return _over(np.asarray(both), np.asarray(bottom))


def _mcc_gradient(margins: Margins) -> Gradient:
    both, true, named = _mcc_parts(margins)
    nothing = np.zeros_like(margins.true)
    if margins.named.max() >= _ONE:
        return nothing, nothing, nothing
    scale = 1 / np.sqrt(true * named)
    by_true = scale * (both / true * margins.true - margins.named)
    by_named = scale * (both / named * margins.named - margins.true)
    return by_true, by_named, np.full_like(nothing, scale)


def _kappa(margins: Margins) -> FloatArray:
    chance = (margins.true * margins.named).sum(axis=-1)
    # Where one class has all of the weight, but for rounding, nothing is beyond chance.
    rest = np.where(chance < _ONE, 1 - chance, 0.0)
    return _over(np.asarray(margins.right.sum(axis=-1) - chance), rest)


def _kappa_gradient(margins: Margins) -> Gradient:
    seen, chance = margins.right.sum(), float(margins.true @ margins.named)
    if chance >= _ONE:
        nothing = np.zeros_like(margins.true)
        return nothing, nothing, nothing
    # d kappa / d chance = (seen - 1) / (1 - chance)^2, and chance is the sum of true times named.
    slope = (seen - 1) / (1 - chance) ** 2
    return slope * margins.named, slope * margins.true, np.full_like(margins.true, 1 / (1 - chance))


MEASURES: dict[str, OfNamed] = {
    "balanced_accuracy": OfNamed(_balanced_accuracy, _balanced_accuracy_gradient),
    "f1_macro": OfNamed(_f1_macro, _f1_macro_gradient),
    "mcc": OfNamed(_mcc, _mcc_gradient),
    "kappa": OfNamed(_kappa, _kappa_gradient),
}
