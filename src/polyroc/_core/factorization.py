"""PairwiseRates and their weights -> Factorization, in its three structures.

The sections Fit and Curve and D of docs/method.md, and equation (explained).
"""

from dataclasses import replace

import numpy as np
from scipy.special import logit

from polyroc._core import Prepared
from polyroc._core.curve import RocCurve, shared_curve
from polyroc._core.fit import Solution, chance_deviance, minimise, solve_rows
from polyroc._core.polygons import unordered
from polyroc._core.rates import rates_of
from polyroc._core.weights import LOGIT_BOUND, Cells, pair_weights, shrunk_cells
from polyroc._inputs.options import Options
from polyroc._lib.limits import SECOND_FITS
from polyroc._lib.typing import BoolArray, FloatArray, IntArray, Thresholds
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Status, chosen_pairs

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


# Pairs whose rates differ by no more are the same to rounding.
_ALIKE = 1e-12
# A rate of 0.0001 separates pairs hardly better than one of 0.01, but its logit would rule the singular vectors: a
# decision tree on digits then starts towards a deviance of 2371 instead of 2221.
_START_BOUND = 5.0


def rank_one(rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Factorization:
    """Joint Levenberg-Marquardt steps; at the start all pairs are alike and each row has the logit of its mean."""
    cells = shrunk_cells(rates, weights, shrinkage)
    inner = cells.inner
    solution = minimise(inner, logit(inner.mean)[:, None], np.ones(rates.n_pairs))
    row = solution.row
    if solution.status is not Status.CONVERGED:
        row = solve_rows(inner, row, solution.pair)
    effect = _bounded(cells)
    effect[cells.interior] = row[:, 0] * solution.pair.mean()
    pair = solution.pair / solution.pair.mean()
    return _factorization(cells, solution, effect, pair, chance_deviance(cells, rates.call_rates))


def saturated(rates: PairwiseRates, weights: PairWeights, shrinkage: float) -> Factorization:
    """Every cell fits itself, and the shared effect is the mean of the logits."""
    cells = shrunk_cells(rates, weights, shrinkage)
    logits = np.clip(logit(cells.rate), -LOGIT_BOUND, LOGIT_BOUND)
    row = np.sum(cells.weight * logits, axis=1) / np.sum(cells.weight, axis=1)
    row = np.where(cells.interior, row, _bounded(cells))
    return Factorization(
        row_effects=row,
        pair_effects=np.ones(rates.n_pairs),
        deviance=0.0,
        deviance_path=np.zeros(1),
        n_iter=0,
        status=Status.CONVERGED,
        mean_rates=cells.mean,
    )


def centered(rates: PairwiseRates, weights: PairWeights, shrinkage: float, start: Factorization) -> Factorization:
    """The structure with an intercept, eta = lambda0 + lambda v' with sum(v) = 0: the better optimum of two starts.

    With shared thresholds and high costs it has several. The starts are the rank-one optimum and the first singular
    vectors of the logits less their row means.
    """
    cells = shrunk_cells(rates, weights, shrinkage)
    if np.ptp(cells.rate, axis=1).max() <= _ALIKE:
        # Then the intercept fits every pair, and there is no direction in which pairs could differ.
        return replace(start, pair_effects=np.zeros(rates.n_pairs))
    fitted, inner = cells.interior, cells.inner
    effect = start.row_effects[fitted]
    # lambda (1 + (v - 1)): the rank-one fit, written as an intercept and a deviation from it.
    near = minimise(inner, np.column_stack([effect, effect]), _off_the_saddle(start.pair_effects - 1))
    solution = min(near, minimise(inner, *_singular_start(inner)), key=lambda found: float(found.deviance_path[-1]))
    row = start.row_effects.copy()
    row[fitted] = solution.row[:, 0] + solution.row[:, 1] * solution.pair.mean()
    return _factorization(cells, solution, row, solution.pair - solution.pair.mean(), start.chance_deviance)


def _singular_start(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Row means of the logits, and the best approximation of rank one of what they leave."""
    logits = np.clip(logit(cells.rate), -_START_BOUND, _START_BOUND)
    mean = logits.mean(axis=1)
    left, size, right = np.linalg.svd(logits - mean[:, None], full_matrices=False)
    # Pair effects of size one, as at the other start.
    scale = np.sqrt(len(right[0]))
    return np.column_stack([mean, left[:, 0] * size[0] / scale]), right[0] * scale


def _factorization(
    cells: Cells, solution: Solution, row: FloatArray, pair: FloatArray, chance: float | None
) -> Factorization:
    return Factorization(
        row_effects=row,
        pair_effects=pair,
        deviance=float(solution.deviance_path[-1]),
        deviance_path=solution.deviance_path,
        n_iter=solution.n_iter,
        status=solution.status,
        mean_rates=cells.mean,
        chance_deviance=chance,
    )


def _bounded(cells: Cells) -> FloatArray:
    """The effects of rows whose rates are all 0 or all 1, which are not fitted; of other rows, nothing yet."""
    return np.where(cells.mean < 0.5, -LOGIT_BOUND, LOGIT_BOUND)


def _off_the_saddle(pair: FloatArray) -> FloatArray:
    """Leave the saddle where all pairs are alike, in which nothing would say which way to go."""
    if np.ptp(pair) > 1e-6:
        return pair
    return pair + 1e-3 * np.linspace(-1, 1, len(pair))
