"""Wang and Carvalho's Multiclass ROC with every step as the paper prints it; `evaluate` has the corrected ones."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import entr, expit, logit

from polyroc._core.samples import in_range
from polyroc._core.weights import LOGIT_BOUND
from polyroc._inputs.arrays import read_table
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_n_resamples, as_rng, one_of, shown
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.typing import FloatArray, IntArray, LabelArray, Weighting
from polyroc._lib.warnings import ResamplingWarning, warn
from polyroc._records import AllPairs, Frozen, PairIndex, Predictions, SomePairs
from polyroc._uncertainty.intervals import Interval

Structure = Literal["rank-one", "centered", "full"]
Quantiles = Literal["column", "pair", "pooled"]

_MAX_ITER = 1_000
# Largest change of a fitted rate in the last iteration. Alternating steps approach the optimum slowly.
_TOLERANCE = 1e-12
# A rate that is this near is fitted exactly.
_FITTED = 1e-9
# A deviance that fell in this many iterations before effects overflowed falls towards an infinite optimum.
_STEADY = 10
# Below it a curvature is no number to divide by.
_TINY = 1e-200


class PrintedStatus(StrEnum):
    """How a fit of `wang_carvalho` ended; `message` says it in a sentence.

    >>> import numpy as np
    >>> from polyroc.baselines import wang_carvalho
    >>> y_true = np.repeat([0, 1, 2], 50)
    >>> y_score = np.random.default_rng(0).normal(size=(150, 3)) + np.eye(3)[y_true]
    >>> found = wang_carvalho(y_true, y_score)
    >>> found.status.message
    'The fit converged.'
    """

    CONVERGED = "converged"
    INFINITE = "infinite"
    MAX_ITER = "max-iter"
    DIVERGED = "diverged"

    @property
    def message(self) -> str:
        return {
            PrintedStatus.CONVERGED: "The fit converged.",
            PrintedStatus.INFINITE: "The optimum is infinite: the deviance fell until effects overflowed.",
            PrintedStatus.MAX_ITER: "The fit ran out of iterations before it converged.",
            PrintedStatus.DIVERGED: "The undamped steps diverged: there is no curve and no area.",
        }[self]


class PrintedCurve(NamedTuple):
    """Points of the curve by falling threshold; nothing makes them rise.

    >>> import numpy as np
    >>> from polyroc.baselines import wang_carvalho
    >>> y_true = np.repeat([0, 1, 2], 50)
    >>> y_score = np.random.default_rng(0).normal(size=(150, 3)) + np.eye(3)[y_true]
    >>> found = wang_carvalho(y_true, y_score)
    >>> fpr, tpr = found.curve
    >>> fpr.shape == tpr.shape
    True
    """

    fpr: FloatArray
    tpr: FloatArray


@dataclass(frozen=True, eq=False)
class WangCarvalho(Frozen):
    """Result of `wang_carvalho`; ``float(...)`` of it is D.

    Rows are T true, then T false positive rates, each by falling threshold, the
    first at the largest `tau`. What is fitted is NaN if the fit diverged.

    Attributes
    ----------
    auc : float
        The paper's statistic D. Nothing keeps it in [0, 1].
    curve : PrintedCurve
        Arrays `fpr` and `tpr`, with the corners only if `end_points` is True.
    rates : ndarray of shape (2T, K)
        True and false positive rates of the pairs, the paper's M.
    pairs : ndarray of shape (K, 2)
        The pairs (positive class, negative class).
    shared_effects : ndarray of shape (2T,)
        Threshold effects that all pairs share, the paper's Lambda_0.
    row_effects, pair_effects : ndarray of shape (2T, q) and of shape (K, q)
        The paper's Lambda, of orthogonal columns, and its V, of orthonormal ones.
    alpha, beta : ndarray of shape (T,) or None
        Line logit(TPR) = alpha + beta logit(FPR) of each threshold, as in summary
        ROC analysis. None for "full" and for rank 2 and above, which have no line.
    deviance : float
        Weighted binomial deviance of the fit.
    n_iter : int
        Iterations; 0 for "full".
    status : PrintedStatus
        How the fit ended; ``status.message`` says it in a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from polyroc.baselines import wang_carvalho
    >>> y_true = np.repeat([0, 1, 2], 50)
    >>> y_score = np.random.default_rng(0).normal(size=(150, 3)) + np.eye(3)[y_true]
    >>> found = wang_carvalho(y_true, y_score)
    >>> round(found.auc, 3), found.converged
    (0.721, True)
    >>> found.rates.shape, found.pairs.shape
    ((198, 6), (6, 2))
    """

    auc: float
    curve: PrintedCurve = field(repr=False)
    rates: FloatArray = field(repr=False)
    pairs: LabelArray = field(repr=False)
    shared_effects: FloatArray = field(repr=False)
    row_effects: FloatArray = field(repr=False)
    pair_effects: FloatArray = field(repr=False)
    alpha: FloatArray | None = field(repr=False)
    beta: FloatArray | None = field(repr=False)
    deviance: float
    n_iter: int
    status: PrintedStatus
    _refit: "partial[_Fit]" = field(repr=False)
    _eta: FloatArray = field(repr=False)
    _trials: IntArray = field(repr=False)
    _end_points: bool = field(repr=False)

    def __float__(self) -> float:
        return self.auc

    @property
    def converged(self) -> bool:
        """Whether the fit converged."""
        return self.status is PrintedStatus.CONVERGED

    def confidence_interval(self, n_resamples: int = 100, rng: Any = 0, *, confidence_level: float = 0.95) -> Interval:
        """The paper's parametric interval: percentiles of D over simulated tables of rates.

        Each cell of a table is drawn by itself, with n_i n_j trials. But rates
        share their samples, so these intervals are far too narrow. With three
        classes of 50 samples, nominal 95 % cover the truth in 1 to 6 % of the
        samples with end points (99 to 5 thresholds), and in 20.5 and 27.5 %
        without (5 and 2 thresholds).

        Parameters
        ----------
        n_resamples : int
            How many tables are drawn; the paper draws 100.
        rng : None, int or numpy.random.Generator
            Seed for these draws.
        confidence_level : float
            Nominal coverage.

        Returns
        -------
        Interval
            Both ends are NaN if the fit diverged.

        Examples
        --------
        >>> import numpy as np
        >>> from polyroc.baselines import wang_carvalho
        >>> y_true = np.repeat([0, 1, 2], 50)
        >>> y_score = np.random.default_rng(0).normal(size=(150, 3)) + np.eye(3)[y_true]
        >>> low, high = wang_carvalho(y_true, y_score).confidence_interval()
        >>> low < high < low + 0.02
        True
        """
        n_resamples, level = as_n_resamples(n_resamples), as_confidence_level(confidence_level)
        areas = replicate_areas(self, n_resamples, np.random.default_rng(as_rng(rng)))
        areas = areas[np.isfinite(areas)]
        if len(areas) < n_resamples and self.status is not PrintedStatus.DIVERGED:
            lost = f"{n_resamples - len(areas)} of {n_resamples} replicates diverged and are left out."
            warn(lost, ResamplingWarning)
        ends = np.quantile(areas, [(1 - level) / 2, (1 + level) / 2]) if len(areas) > 0 else [np.nan, np.nan]
        return Interval(*map(float, ends)).by("parametric")


@np.errstate(all="ignore")
def wang_carvalho(
    y_true: Any,
    y_score: Any,
    *,
    labels: Any = None,
    tau: Any = None,
    quantiles: Quantiles = "column",
    weighting: Weighting = "prevalence",
    pair_weights: Any = None,
    structure: Structure = "rank-one",
    rank: int = 1,
    end_points: bool = False,
) -> WangCarvalho:
    """Multiclass ROC of Wang and Carvalho, as the paper prints it.

    `polyroc.evaluate` takes other steps; docs/method.md lists them with their sizes.

    For the pair (i, j) the true positive rate at threshold t is the share of
    class i whose score in column i is strictly above t, the false positive rate
    that of class j. A binomial deviance matrix factorization (DMF) [2]_ gives
    one effect per threshold for all pairs, and D is the area under their curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_score : array-like or frame of shape (n_samples, n_classes)
        One score per class, higher meaning more likely. Two columns make two
        pairs; a single column is the score of the second of two classes.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns.
    tau : array-like of shape (T,), optional
        Increasing levels in [0, 1] of quantiles; by default 1/100, ..., 99/100.
    quantiles : {"column", "pair", "pooled"}
        Scores whose quantiles are the thresholds of pair (i, j): column i over
        all samples (Algorithm 1), column i over the samples of i and j (the
        paper's text), or columns i and j over these samples.
    weighting : {"prevalence", "equal"}
        W of a pair: n_i n_j, or 1.
    pair_weights : array-like of shape (K,), (2, K) or (2T, K), optional
        Q, positive factors of W: of the pairs, of their true and of their false
        positive rates, or of each rate; in the order of `pairs` and `rates`.
    structure : {"rank-one", "centered", "full"}
        eta = Lambda V' without an intercept (Algorithm 1); with an intercept
        per row and V orthogonal to ones; or the full-rank factorization, whose
        projection on ones is the mean of the logits and which no weight moves.
    rank : int
        Columns q of Lambda and V; "full" has no choice.
    end_points : bool
        Whether (0, 0) and (1, 1) are added to the curve, as the paper does not.

    Returns
    -------
    WangCarvalho
        D, the curve and the effects; NaN if the fit diverged, as `status` says.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    Notes
    -----
    The fit is iteratively reweighted least squares with full steps. It begins
    at the logits of rates perturbed as in R, (W M + 1/2) / (W + 1): Lambda is
    their first q columns (Algorithm 1), or the first singular vectors of what
    their row means leave ("centered", which for rank 2 and above may have lower
    optima). In each iteration one working response gives V and then Lambda.

    References
    ----------
    .. [1] L. Wang and L. Carvalho, "Multiclass ROC", arXiv 2404.13147.
    .. [2] L. Wang and L. Carvalho, "Deviance matrix factorization", Electronic
       Journal of Statistics 17, 3762-3810, 2023.

    Examples
    --------
    >>> import polyroc
    >>> from polyroc.baselines import wang_carvalho
    >>> example = polyroc.load_example()
    >>> y_true, y_score = example.y_true, example.scores["tree"]
    >>> round(wang_carvalho(y_true, y_score, weighting="equal").auc, 4)
    0.3643
    >>> round(wang_carvalho(y_true, y_score, weighting="equal", quantiles="pair", end_points=True).auc, 4)
    0.9509

    >>> print(wang_carvalho(y_true, y_score).status.message)  # with the weights n_i n_j
    The undamped steps diverged: there is no curve and no area.
    """
    quantiles = one_of(quantiles, "quantiles", ("column", "pair", "pooled"))
    weighting = one_of(weighting, "weighting", ("prevalence", "equal"))
    structure = one_of(structure, "structure", ("rank-one", "centered", "full"))
    end_points, levels = as_flag(end_points, "end_points"), _as_levels(tau)
    predictions = as_predictions(y_true, y_score, labels=labels)
    # A single column is the score of the second class.
    one = SomePairs(positive=np.array([1]), negative=np.array([0]), column=np.array([0]))
    pairs = one if predictions.n_columns == 1 else AllPairs(np.flatnonzero(predictions.class_counts))
    rank = _as_rank(rank, structure, 2 * len(levels), len(pairs))
    trials = predictions.class_counts[pairs.positive] * predictions.class_counts[pairs.negative]
    cost = _as_pair_weights(pair_weights, 2 * len(levels), len(pairs))
    weight = cost * (trials if weighting == "prevalence" else 1)
    rates = _rates(predictions, pairs, levels[::-1], quantiles)
    refit = partial(fit_as_printed, weight=weight, structure=structure, rank=rank)
    fit = refit(rates)
    base = fit.base.sum(axis=1)
    row, pair = _singular(fit.eta - base[:, None], min(fit.eta.shape) if structure == "full" else rank)
    alpha = beta = None
    if structure != "full" and rank == 1:
        (tp, fp), (base_tp, base_fp) = np.split(row[:, 0], 2), np.split(base, 2)
        # A threshold at which the false positive rates have no effect has no line.
        beta = np.where(fp != 0, tp / fp, np.nan)
        alpha = base_tp - beta * base_fp
    return WangCarvalho(
        auc=fit.area(end_points),
        curve=fit.curve(end_points),
        rates=rates,
        pairs=np.column_stack([predictions.labels[pairs.positive], predictions.labels[pairs.negative]]),
        shared_effects=fit.eta.mean(axis=1),
        row_effects=row,
        pair_effects=pair,
        alpha=alpha,
        beta=beta,
        deviance=_deviance(rates, weight, fit.eta),
        n_iter=fit.n_iter,
        status=fit.status,
        _refit=refit,
        _eta=fit.eta,
        _trials=trials,
        _end_points=end_points,
    )


@np.errstate(all="ignore")
def replicate_areas(result: WangCarvalho, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """D of tables drawn cell by cell with n_i n_j trials and the fitted rate; NaN if the replicate diverged."""
    if result.status is PrintedStatus.DIVERGED:
        return np.full(n_resamples, np.nan)
    trials, fitted = result._trials, expit(result._eta)
    fits = (result._refit(rng.binomial(trials, fitted) / trials) for _ in range(n_resamples))
    return np.array([fit.area(result._end_points) for fit in fits])


def _rates(predictions: Predictions, pairs: PairIndex, levels: FloatArray, quantiles: Quantiles) -> FloatArray:
    """True positive rates of all pairs above their false positive rates, shape (2T, K)."""
    scores, codes = in_range(predictions.scores.astype(float)), predictions.codes
    rates = np.empty((2, len(levels), len(pairs)))
    for p, (i, j, column) in enumerate(zip(pairs.positive, pairs.negative, pairs.column, strict=True)):
        rows = (codes == i) | (codes == j) | (quantiles == "column")
        columns = [i, j] if quantiles == "pooled" and scores.shape[1] > 1 else [column]
        thresholds = np.quantile(scores[np.ix_(rows, columns)], levels)
        for of_class, c in zip(rates[:, :, p], (i, j), strict=True):
            ordered = np.sort(scores[codes == c, column])
            of_class[:] = (len(ordered) - np.searchsorted(ordered, thresholds, side="right")) / len(ordered)
    return rates.reshape(-1, len(pairs))


class _Fit(NamedTuple):
    eta: FloatArray  # logits of the rates, shape (2T, K)
    base: FloatArray  # intercepts, shape (2T, 1), or (2T, 0) if the structure has none
    n_iter: int
    status: PrintedStatus

    def curve(self, end_points: bool) -> PrintedCurve:
        """The projection on ones, the row means of eta, as rates."""
        tpr, fpr = np.split(expit(self.eta.mean(axis=1)), 2)
        if end_points and self.status is not PrintedStatus.DIVERGED:
            tpr, fpr = np.r_[0, tpr, 1], np.r_[0, fpr, 1]
        return PrintedCurve(fpr, tpr)

    def area(self, end_points: bool) -> float:
        """D, the area under the curve by trapezoids."""
        curve = self.curve(end_points)
        return float(np.trapezoid(curve.tpr, curve.fpr))


# Steps may go anywhere; one that leaves the numbers ends the fit, and its status says so.
@np.errstate(all="ignore")
def fit_as_printed(rates: FloatArray, weight: FloatArray, structure: Structure = "rank-one", rank: int = 1) -> _Fit:
    """The fit to rates of shape (2T, K) with weights of this shape, by default that of Algorithm 1.

    Full steps of reweighted least squares: V, then Lambda and the intercept, all by one working response.
    """
    if structure == "full":
        eta = np.clip(logit(rates), -LOGIT_BOUND, LOGIT_BOUND)
        return _Fit(eta, eta[:, :0], 0, PrintedStatus.CONVERGED)
    eta = logit((weight * rates + 0.5) / (weight + 1))
    # An intercept is the effect of a row on a first column of ones.
    first = int(structure == "centered")
    base = eta.mean(axis=1, keepdims=True)[:, :first]
    row = np.hstack([base, _singular(eta - base, rank)[0]]) if first else eta[:, :rank]
    pair = np.hstack([np.ones((eta.shape[1], first)), np.zeros((eta.shape[1], rank))])
    deviance, falls = np.inf, True
    for n_iter in range(1, _MAX_ITER + 1):
        # From both tails: 1 - fitted would lose all digits of a rate near 1.
        fitted, missed, base = expit(eta), expit(-eta), row[:, :first]
        curvature = weight * fitted * missed
        # Curvature times the working response, so that a curvature of 0 is no division.
        response = curvature * eta + weight * (rates * missed - (1 - rates) * fitted)
        beyond = response - curvature * (base @ pair[:, :first].T)
        effects = _least_squares(row[:, first:], curvature.T, beyond.T, pair[:, first:])
        if first:
            effects -= effects.mean(axis=0)
            effects /= np.linalg.norm(effects) or 1  # of the size of the ones, next to which they are solved
        pair = np.hstack([pair[:, :first], effects])
        row = _least_squares(pair, curvature, response, row)
        last, eta = eta, row @ pair.T
        if not np.isfinite(eta).all():
            steady = falls and n_iter > _STEADY
            return _Fit(last, base, n_iter, PrintedStatus.INFINITE) if steady else _diverged(eta, n_iter)
        if np.abs(expit(eta) - fitted).max() <= _TOLERANCE:
            # Vanishing weights perturb all rates to 1/2: the effects begin at 0 and stay there, whatever the rates are.
            stuck = not pair[:, first:].any() and np.abs(rates - fitted).max() > _FITTED
            return _diverged(eta, n_iter) if stuck else _Fit(eta, row[:, :first], n_iter, PrintedStatus.CONVERGED)
        former, deviance = deviance, _deviance(rates, weight, eta)
        falls = falls and deviance <= former * (1 + 1e-9)
    return _Fit(eta, row[:, :first], _MAX_ITER, PrintedStatus.MAX_ITER)


def _diverged(eta: FloatArray, n_iter: int) -> _Fit:
    return _Fit(np.full_like(eta, np.nan), np.full((len(eta), 1), np.nan), n_iter, PrintedStatus.DIVERGED)


def _least_squares(design: FloatArray, curvature: FloatArray, response: FloatArray, now: FloatArray) -> FloatArray:
    """One side of the paper's equation of updates, shape (n, q), by a design (m, q) for n weighted regressions.

    A regression in which nothing has weight keeps the effects that it has now if its rates are fitted exactly, and
    has no number otherwise.
    """
    q = design.shape[1]
    squares = (design[:, :, None] * design[:, None, :]).reshape(-1, q * q)
    right, gram = response @ design, (curvature @ squares).reshape(-1, q, q)
    if not np.isfinite(gram).all():
        return np.full_like(now, np.nan)
    inverse = 1 / gram if q == 1 else np.linalg.pinv(gram, hermitian=True)
    solved: FloatArray = (inverse @ right[:, :, None])[:, :, 0]
    empty = np.einsum("nqq->n", gram) < _TINY
    return np.where(empty[:, None], np.where(np.abs(right) < _TINY, now, np.nan), solved)


def _singular(matrix: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """U D and V of the first singular values; each column of V has the sign that makes its sum positive."""
    if not np.isfinite(matrix).all():
        return np.full((len(matrix), rank), np.nan), np.full((matrix.shape[1], rank), np.nan)
    left, size, right = np.linalg.svd(matrix, full_matrices=False)
    sign = np.where(right[:rank].sum(axis=1) < 0, -1.0, 1.0)
    return left[:, :rank] * (size[:rank] * sign), right[:rank].T * sign


def _deviance(rates: FloatArray, weight: FloatArray, eta: FloatArray) -> float:
    """Twice the weighted divergence of the fit from the rates; logarithms of fitted rates from their logits."""
    return float(2 * np.sum(weight * (np.logaddexp(0, eta) - rates * eta - entr(rates) - entr(1 - rates))))


def _as_levels(tau: Any) -> FloatArray:
    levels = np.arange(1, 100) / 100 if tau is None else np.asarray(read_table(tau, "tau").values, dtype=float)
    if levels.ndim != 1 or len(levels) == 0:
        raise InputError("tau", "must be one-dimensional and not empty", f"shape {levels.shape}")
    outside = levels[~((levels >= 0) & (levels <= 1))]
    if len(outside) > 0:
        raise InputError("tau", "must be in [0, 1]", shown(outside[0].item()))
    for before, level in pairwise(levels):
        if level <= before:
            raise InputError("tau", "must increase", f"{level:g} after {before:g}")
    return levels


def _as_rank(rank: Any, structure: Structure, n_rows: int, n_pairs: int) -> int:
    if isinstance(rank, bool) or not isinstance(rank, Integral) or int(rank) < 1:
        raise InputError("rank", "must be an integer of at least 1", shown(rank))
    if structure == "full" and rank != 1:
        raise InputError("rank", "must be left out if `structure` is 'full', which has the largest rank", shown(rank))
    # Columns of V that are orthogonal to ones are one fewer.
    most = min(n_rows, n_pairs - (structure == "centered"))
    if most == 0:
        raise InputError("structure", "must not be 'centered' for a single pair, as of one score column", "'centered'")
    if int(rank) > most:
        rule = f"must be at most {most}, for {n_rows} rows and {n_pairs} pairs and `structure` {structure!r}"
        raise InputError("rank", rule, shown(rank))
    return int(rank)


def _as_pair_weights(value: Any, n_rows: int, n_pairs: int) -> FloatArray:
    """Q of each cell, shape (2T, K)."""
    weights = np.ones(n_pairs) if value is None else np.asarray(read_table(value, "pair_weights").values, dtype=float)
    if weights.shape not in ((n_pairs,), (2, n_pairs), (n_rows, n_pairs)):
        rule = f"must have shape ({n_pairs},), (2, {n_pairs}) or ({n_rows}, {n_pairs})"
        raise InputError("pair_weights", rule, f"{weights.shape}")
    wrong = weights[~(np.isfinite(weights) & (weights > 0))]
    if wrong.size > 0:
        raise InputError("pair_weights", "must be finite and positive", shown(wrong[0].item()))
    weights = np.atleast_2d(weights)
    return np.repeat(weights, n_rows // len(weights), axis=0)
