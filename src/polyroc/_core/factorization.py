"""PairwiseRates and their weights -> Factorization (method, steps 4, 6 and 7)."""

from dataclasses import replace

import numpy as np
from scipy.special import logit

from polyroc._core import Prepared
from polyroc._core.cells import LOGIT_BOUND
from polyroc._core.curve import RocCurve, shared_curve
from polyroc._core.rates import rates_of
from polyroc._core.unordered import unordered
from polyroc._core.weights import pair_weights
from polyroc._inputs.options import Options
from polyroc._lib.limits import SECOND_FITS
from polyroc._lib.typing import BoolArray, IntArray, Thresholds
from polyroc._records import Factorization, PairIndex, PairwiseRates, Status, chosen_pairs

# A smaller share of what pairs have beyond chance, and one curve with pair effects does not describe them. In five
# splits of each data set of the reproduction, classifiers with information reach 0.82 to 0.999 (glass 0.82 to 0.94,
# car 0.95 to 0.99, iris 0.97 to 0.998, optical and pen 0.99 and more), those of the embedded example 0.89 to 0.98.
# Below lie tae, 76 samples near chance, where noise differs from pair to pair (0.09 to 0.81), and simulated models
# whose curves differ in shape: a column that ranks backwards 0.35 to 0.80, positive classes of different spread 0.70
# to 0.83. A single pair at chance among separated ones is not seen (0.96 and more from five classes on).
EXPLAINED_BOUND = 0.8


def fit_of(
    prepared: Prepared,
    pairs: PairIndex,
    rates: PairwiseRates,
    options: Options,
    *,
    near: Factorization | None = None,
) -> Factorization:
    """The threshold effects that all pairs share; of two classes, the rates of their one pair.

    `near` is the fit of the same rates with other options, from which a fit of many pairs may begin.
    """
    if prepared.source.is_binary:
        return _own_fit(rates)
    weights = pair_weights(prepared.source, pairs, options)
    return prepared.fit(rates, weights, shrinkage=options.shrinkage, structure=options.structure, near=near)


def _own_fit(rates: PairwiseRates) -> Factorization:
    """One pair, whose rates are their own fit."""
    mean = np.concatenate([rates.tpr[:, 0], rates.fpr[:, 0]])
    return Factorization(
        row_effects=np.clip(logit(mean), -LOGIT_BOUND, LOGIT_BOUND),
        pair_effects=np.ones(1),
        deviance=0.0,
        deviance_path=np.zeros(1),
        n_iter=0,
        status=Status.CONVERGED,
        mean_rates=mean,
    )


# Stands for no shrinkage where the fit without any does not converge, because pairs are separated.
_HARDLY_ANY = 0.01
# Between them they say what one threshold for both columns of a pair loses.
_BY_COLUMNS: tuple[Thresholds, ...] = ("own", "shared")


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
    drawn, one_by_one, covered = _independent_draws(prepared, pairs, options, stratum)
    n_draws = int(drawn.max()) + 1
    group = drawn if n_draws > 1 else one_by_one
    n_groups = min(10, n_draws) if n_draws > 1 else 10

    def auc_of(chosen: BoolArray) -> float:
        curve = shared_curve(fit_of(prepared, chosen_pairs(pairs, chosen), rates.of_pairs(chosen), options))
        return curve.auc if max_fpr is None else curve.partial_auc(max_fpr)

    areas = np.array([auc_of(group % n_groups != g) for g in range(n_groups)])
    variance = (n_groups - 1) / n_groups * np.sum((areas - areas.mean()) ** 2)
    # Draws are made without replacement.
    return float(np.sqrt(variance * (1 - covered)))


def _independent_draws(
    prepared: Prepared, pairs: PairIndex, options: Options, stratum: IntArray
) -> tuple[IntArray, IntArray, float]:
    """What was drawn together, the pairs in random order where that is all one draw, and the share of all pairs drawn.

    With differences of columns both orders of a pair are one ranking: a draw and its reflection are one draw.
    """
    present = int(np.count_nonzero(prepared.source.class_counts))
    rng = np.random.default_rng(0)
    if options.thresholds != "difference":
        return stratum, rng.permutation(len(pairs)), (int(stratum.max()) + 1) / (present - 1)
    both = unordered(pairs)
    # A stratum has all pairs at some distance in a circle of classes, and those at the opposite distance reflect them.
    first = np.full(len(both), len(pairs))
    np.minimum.at(first, both.of_pair, stratum)
    drawn = np.unique(first[both.of_pair], return_inverse=True)[1]
    return drawn, rng.permutation(len(both))[both.of_pair], len(both) / (present * (present - 1) / 2)


def auc_by_thresholds(
    prepared: Prepared, pairs: PairIndex, options: Options, auc: float
) -> dict[Thresholds, float] | None:
    """D with own and with shared thresholds, and of the options, whose is `auc`; None where no fit is worth it."""
    if prepared.source.is_binary or pairs.stratum is not None or len(prepared.source.labels) > SECOND_FITS:
        return None
    found: dict[Thresholds, float] = {}
    for kind in _BY_COLUMNS:
        if kind == options.thresholds:
            found[kind] = auc
            continue
        asked = replace(options, thresholds=kind)
        try:
            fit = fit_of(prepared, pairs, rates_of(prepared, pairs, asked), asked)
        except MemoryError:  # good to know, but no reason to fail
            return None
        # A number that a fit has not settled on says nothing about the columns.
        if not fit.converged:
            return None
        found[kind] = shared_curve(fit).auc
    found.setdefault(options.thresholds, auc)
    return found


def unshrunk_curve(
    prepared: Prepared, pairs: PairIndex, rates: PairwiseRates, options: Options, fitted: Factorization
) -> RocCurve | None:
    """The curve without shrinkage, `fitted` being the fit with it; None of two classes, whose curve is no fit."""
    if prepared.source.is_binary:
        return None
    if options.shrinkage == 0:
        return shared_curve(fitted)
    for shrinkage in (0.0, min(_HARDLY_ANY, options.shrinkage)):
        fit = fit_of(prepared, pairs, rates, replace(options, shrinkage=shrinkage), near=fitted)
        if fit.converged:
            break
    return shared_curve(fit)
