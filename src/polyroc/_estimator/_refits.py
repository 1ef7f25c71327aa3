"""The same source fitted again: with some of the pairs, the other kind of thresholds, or without shrinkage."""

from dataclasses import replace

import numpy as np

from polyroc._engines import Prepared
from polyroc._estimator._curve import RocCurve, shared_curve
from polyroc._estimator._factorization import fit_of
from polyroc._estimator._rates import rates_of
from polyroc._inputs._options import Options
from polyroc._lib._typing import BoolArray, IntArray, Thresholds
from polyroc._records import PairIndex, PairwiseRates, chosen_pairs

# Stands for no shrinkage where the fit without any does not converge, because pairs are separated.
_HARDLY_ANY = 0.01
# Of more classes the second fit would take as long as people are willing to wait for the first.
_MOST_CLASSES = 100


def pair_sampling_error(
    prepared: Prepared,
    pairs: PairIndex,
    rates: PairwiseRates,
    options: Options,
    stratum: IntArray,
    max_fpr: float | None = None,
) -> float:
    """Standard error that a sample of the pairs adds to D, or to the partial area.

    By the jackknife over what was drawn together.
    """
    n_draws = int(stratum.max()) + 1
    group = stratum if n_draws > 1 else np.random.default_rng(0).permutation(len(pairs))
    n_groups = min(10, n_draws) if n_draws > 1 else 10

    def auc_of(chosen: BoolArray) -> float:
        curve = shared_curve(fit_of(prepared, chosen_pairs(pairs, chosen), rates.of_pairs(chosen), options))
        return curve.auc if max_fpr is None else curve.partial_auc(max_fpr)

    areas = np.array([auc_of(group % n_groups != g) for g in range(n_groups)])
    variance = (n_groups - 1) / n_groups * np.sum((areas - areas.mean()) ** 2)
    # Draws are made without replacement from the k - 1 that there are.
    present = int(np.count_nonzero(prepared.source.class_counts))
    return float(np.sqrt(variance * (1 - n_draws / (present - 1))))


def auc_by_thresholds(
    prepared: Prepared, pairs: PairIndex, options: Options, auc: float
) -> dict[Thresholds, float] | None:
    """D with each kind of thresholds, `auc` being that of the options; None where the other is not worth a fit."""
    if prepared.source.is_binary or pairs.stratum is not None or len(prepared.source.labels) > _MOST_CLASSES:
        return None
    other: Thresholds = "shared" if options.thresholds == "own" else "own"
    asked = replace(options, thresholds=other)
    try:
        fit = fit_of(prepared, pairs, rates_of(prepared, pairs, asked), asked)
    except MemoryError:  # good to know, but no reason to fail
        return None
    # A number that a fit has not settled on says nothing about the columns.
    found = {options.thresholds: auc, other: shared_curve(fit).auc}
    return {"own": found["own"], "shared": found["shared"]} if fit.converged else None


def unshrunk_curve(
    prepared: Prepared, pairs: PairIndex, rates: PairwiseRates, options: Options, curve: RocCurve
) -> RocCurve | None:
    """The curve without shrinkage, `curve` being that of the options; None of two classes, whose curve is no fit."""
    if prepared.source.is_binary:
        return None
    if options.shrinkage == 0:
        return curve
    for shrinkage in (0.0, min(_HARDLY_ANY, options.shrinkage)):
        fit = fit_of(prepared, pairs, rates, replace(options, shrinkage=shrinkage))
        if fit.converged:
            break
    return shared_curve(fit)
