"""Wang and Carvalho's Multiclass ROC with every step as the paper prints it; `evaluate` has the corrected ones."""

from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit, logit

from polyroc._engines._samples import in_range
from polyroc._inputs.arrays import read_table
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_n_resamples, as_rng, one_of, shown
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.typing import FloatArray, IntArray, LabelArray, Weighting
from polyroc._lib.warnings import ResamplingWarning, warn
from polyroc._records import AllPairs, Frozen, PairIndex, Predictions, SomePairs
from polyroc._uncertainty.intervals import Interval

Structure = Literal["rank-one", "centered", "full"]
Quantiles = Literal["column", "pair", "pooled"]

_TAU = np.arange(1, 100) / 100
_MAX_ITER = 1_000
# Largest change of a fitted rate in the last iteration. Alternating steps approach the optimum slowly.
_TOLERANCE = 1e-12
# A rate that is this near is fitted exactly.
_FITTED = 1e-9
# A deviance that fell in this many iterations before effects overflowed falls towards an infinite optimum.
_STEADY = 10
# Below it a curvature is no number to divide by.
_TINY = 1e-200
# Stands for an infinite logit in the full-rank factorization, which fits rates of 0 and 1 exactly.
_LOGIT_BOUND = 30.0


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

    Rows go by falling threshold, the first at the largest `tau`: T rows of true
    positive rates, then T rows of false positive rates. Everything that is
    fitted is NaN if the fit diverged.

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
    row_effects : ndarray of shape (2T, q)
        Orthogonal columns, the paper's Lambda.
    pair_effects : ndarray of shape (K, q)
        Orthonormal columns, the paper's V.
    alpha, beta : ndarray of shape (T,) or None
        Intercept and slope of the line logit(TPR) = alpha + beta logit(FPR) of
        each threshold, as in summary ROC analysis. None if the structure has
        no such line: for rank 2 and above, and for "full".
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
    _model: "_Model" = field(repr=False)
    _eta: FloatArray = field(repr=False)
    _trials: IntArray = field(repr=False)

    def __float__(self) -> float:
        return self.auc

    @property
    def converged(self) -> bool:
        """Whether the fit converged."""
        return self.status is PrintedStatus.CONVERGED

    def confidence_interval(self, n_resamples: int = 100, rng: Any = 0, *, confidence_level: float = 0.95) -> Interval:
        """The paper's parametric interval: percentiles of D over simulated tables of rates.

        Each cell of a table is drawn by itself from a binomial distribution
        with n_i n_j trials and the fitted rate. The rates of a problem share
        their samples, so these intervals are far too narrow: at nominal 95 %
        they cover the truth in 0 to 6 % of the samples, depending on the
        number of thresholds.

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
        generator = np.random.default_rng(as_rng(rng))
        if self.status is PrintedStatus.DIVERGED:
            return Interval(np.nan, np.nan).by("parametric")
        areas = replicate_areas(self, n_resamples, generator)
        areas = areas[np.isfinite(areas)]
        if len(areas) < n_resamples:
            warn(
                f"{n_resamples - len(areas)} of {n_resamples} replicates diverged and are left out.", ResamplingWarning
            )
        if len(areas) == 0:
            return Interval(np.nan, np.nan).by("parametric")
        low, high = np.quantile(areas, [(1 - level) / 2, (1 + level) / 2])
        return Interval(float(low), float(high)).by("parametric")


@np.errstate(all="ignore")
def replicate_areas(result: WangCarvalho, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """D of tables drawn cell by cell with n_i n_j trials and the fitted rate; NaN if the replicate diverged."""
    if result.status is PrintedStatus.DIVERGED:
        return np.full(n_resamples, np.nan)
    trials, fitted, model = result._trials, expit(result._eta), result._model
    drawn = [_fit(rng.binomial(trials, fitted) / trials, model) for _ in range(n_resamples)]
    return np.array([fit.curve_and_area(model.end_points)[1] for fit in drawn])


# Steps may go anywhere; one that leaves the numbers ends the fit, and its status says so.
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

    `polyroc.evaluate` is the same idea with other choices; docs/method.md lists
    all of them with their sizes. Use this function to have the printed numbers.

    For the pair (i, j) the true positive rate at threshold t is the share of
    class i whose score in column i is above t, and the false positive rate
    the share of class j. Ties with t do not count. A binomial matrix
    factorization of these rates (deviance matrix factorization [2]_) gives
    one effect per threshold for all pairs together, and D is the area under
    their curve.

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
        Increasing levels in [0, 1] of the quantiles that are the thresholds;
        by default 1/100, ..., 99/100.
    quantiles : {"column", "pair", "pooled"}
        Scores whose quantiles are the thresholds of pair (i, j): column i over
        all samples (Algorithm 1), column i over the samples of i and j (the
        paper's text), or columns i and j over these samples.
    weighting : {"prevalence", "equal"}
        W of a pair: n_i n_j, or 1.
    pair_weights : array-like of shape (K,), (2, K) or (2T, K), optional
        Q, positive weights by which W is multiplied: of the pairs, of their
        true and false positive rates, or of each rate. Pairs are in the order
        of `pairs` in the result, (1, 2), (1, 3), ..., (2, 1), ..., and rows in
        that of `rates`, by falling threshold.
    structure : {"rank-one", "centered", "full"}
        eta = Lambda V' without an intercept (Algorithm 1); with an intercept
        per row and V orthogonal to ones; or the full-rank factorization, whose
        projection on ones is the mean of the logits and which no weight moves.
    rank : int
        Columns q of Lambda and V; "full" has no choice.
    end_points : bool
        Whether (0, 0) and (1, 1) are added to the curve. The paper integrates
        without them.

    Returns
    -------
    WangCarvalho
        D, the curve and the effects. A fit that diverged has no number, and
        its `status` says so.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    Notes
    -----
    The fit is iteratively reweighted least squares with full steps. It begins
    at the rates perturbed as by R's binomial family, (W M + 1/2) / (W + 1).
    Algorithm 1 takes the first q columns of their logits for Lambda;
    "centered" the first singular vectors of the logits less their row means.
    In each iteration one working response gives V and then Lambda.

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
    >>> other = wang_carvalho(y_true, y_score, weighting="equal", quantiles="pair", end_points=True)
    >>> round(other.auc, 4)
    0.9509

    With the weights n_i n_j the undamped steps end without a number here.

    >>> printed = wang_carvalho(y_true, y_score)
    >>> printed.auc, printed.status.message
    (nan, 'The undamped steps diverged: there is no curve and no area.')
    """
    quantiles = one_of(quantiles, "quantiles", ("column", "pair", "pooled"))
    weighting = one_of(weighting, "weighting", ("prevalence", "equal"))
    structure = one_of(structure, "structure", ("rank-one", "centered", "full"))
    end_points, levels = as_flag(end_points, "end_points"), _as_levels(tau)
    predictions = as_predictions(y_true, y_score, labels=labels)
    pairs = _pairs(predictions)
    rank = _as_rank(rank, structure, 2 * len(levels), len(pairs))
    trials = predictions.class_counts[pairs.positive] * predictions.class_counts[pairs.negative]
    cost = _as_pair_weights(pair_weights, len(levels), len(pairs))
    weight = cost * trials if weighting == "prevalence" else cost
    model = _Model(weight, structure, rank, end_points)
    rates = _rates(predictions, pairs, levels[::-1], quantiles)
    fit = _fit(rates, model)
    curve, area = fit.curve_and_area(end_points)
    alpha, beta = fit.lines(model)
    return WangCarvalho(
        auc=area,
        curve=curve,
        rates=rates,
        pairs=np.column_stack([predictions.labels[pairs.positive], predictions.labels[pairs.negative]]),
        shared_effects=fit.shared,
        row_effects=fit.row,
        pair_effects=fit.pair,
        alpha=alpha,
        beta=beta,
        deviance=_deviance(rates, weight, fit.eta),
        n_iter=fit.n_iter,
        status=fit.status,
        _model=model,
        _eta=fit.eta,
        _trials=trials,
    )


def _pairs(predictions: Predictions) -> PairIndex:
    if predictions.n_columns == 1:
        return SomePairs(positive=np.array([1]), negative=np.array([0]), column=np.array([0]))
    return AllPairs(np.flatnonzero(predictions.class_counts))


def _rates(predictions: Predictions, pairs: PairIndex, levels: FloatArray, quantiles: Quantiles) -> FloatArray:
    """True positive rates of all pairs above their false positive rates, shape (2T, K)."""
    scores, codes = in_range(predictions.scores.astype(float)), predictions.codes
    tpr, fpr = np.empty((2, len(levels), len(pairs)))
    for p, (i, j, column) in enumerate(zip(pairs.positive, pairs.negative, pairs.column, strict=True)):
        own, other = scores[codes == i, column], scores[codes == j, column]
        if quantiles == "column":
            pool = scores[:, column]
        elif quantiles == "pair" or scores.shape[1] == 1:
            pool = np.concatenate([own, other])
        else:
            pool = scores[(codes == i) | (codes == j)][:, [i, j]].ravel()
        thresholds = np.quantile(pool, levels)
        tpr[:, p], fpr[:, p] = _share_above(own, thresholds), _share_above(other, thresholds)
    return np.concatenate([tpr, fpr])


def _share_above(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    return (len(scores) - np.searchsorted(np.sort(scores), thresholds, side="right")) / len(scores)


@dataclass(frozen=True, eq=False)
class _Model:
    """What is fitted to rates."""

    weight: FloatArray
    """Shape (2T, K)."""
    structure: Structure
    rank: int
    end_points: bool


def fit_as_printed(rates: FloatArray, weight: FloatArray) -> tuple[float, PrintedStatus, int]:
    """D with end points, status and iterations of Algorithm 1 for rates and weights of shape (2T, K) from elsewhere."""
    with np.errstate(all="ignore"):
        fit = _fit(rates, _Model(weight, "rank-one", 1, end_points=True))
        return fit.curve_and_area(end_points=True)[1], fit.status, fit.n_iter


class _Fit(NamedTuple):
    eta: FloatArray
    shared: FloatArray
    row: FloatArray
    pair: FloatArray
    n_iter: int
    status: PrintedStatus

    def curve_and_area(self, end_points: bool) -> tuple[PrintedCurve, float]:
        tpr, fpr = np.split(expit(self.shared), 2)
        if end_points and np.isfinite(self.shared).all():
            tpr, fpr = np.r_[0, tpr, 1], np.r_[0, fpr, 1]
        return PrintedCurve(fpr, tpr), float(np.trapezoid(tpr, fpr))

    def lines(self, model: _Model) -> tuple[FloatArray | None, FloatArray | None]:
        """Alpha and beta of the summary ROC line of each threshold."""
        if model.structure == "full" or model.rank > 1:
            return None, None
        tp, fp = np.split(self.row[:, 0], 2)
        shared_tp, shared_fp = np.split(self.shared, 2)
        # A threshold at which the false positive rates have no effect has no line.
        beta = np.divide(tp, fp, out=np.full_like(tp, np.nan), where=fp != 0)
        return (shared_tp - beta * shared_fp if model.structure == "centered" else 0 * beta), beta


def _fit(rates: FloatArray, model: _Model) -> _Fit:
    if model.structure == "full":
        eta = np.clip(logit(rates), -_LOGIT_BOUND, _LOGIT_BOUND)
        return _projected(eta, np.zeros(len(eta)), min(eta.shape), 0, PrintedStatus.CONVERGED)
    return _alternate(rates, model)


def _alternate(rates: FloatArray, model: _Model) -> _Fit:
    """Full steps of reweighted least squares: V, then Lambda, both by one working response."""
    weight, centered = model.weight, model.structure == "centered"
    eta: FloatArray = logit((weight * rates + 0.5) / (weight + 1))
    base = eta.mean(axis=1) if centered else np.zeros(len(eta))
    if not np.isfinite(eta).all():  # weights so large that nothing was perturbed
        return _projected(eta, base, model.rank, 0, PrintedStatus.DIVERGED)
    row = _singular(eta - base[:, None], model.rank)[0] if centered else eta[:, : model.rank]
    pair: FloatArray = np.zeros((eta.shape[1], model.rank))
    fitted = expit(eta)
    status, n_iter = PrintedStatus.MAX_ITER, 0
    last, deviance, falls = (eta, base), np.inf, True
    while n_iter < _MAX_ITER and status is PrintedStatus.MAX_ITER:
        n_iter += 1
        # From both tails: 1 - fitted would lose all digits of a rate near 1.
        missed = expit(-eta)
        curvature = weight * fitted * missed
        # Curvature times the working response, so that a curvature of 0 is no division.
        response = curvature * eta + weight * (rates * missed - (1 - rates) * fitted)
        pair = _least_squares(row, curvature.T, (response - curvature * base[:, None]).T, pair)
        if centered:
            pair -= pair.mean(axis=0)
            effects = np.column_stack([base, row])
            effects = _least_squares(np.column_stack([np.ones(len(pair)), pair]), curvature, response, effects)
            base, row = effects[:, 0], effects[:, 1:]
        else:
            row = _least_squares(pair, curvature, response, row)
        eta = base[:, None] + row @ pair.T
        before, fitted = fitted, expit(eta)
        if not np.isfinite(eta).all():
            status = PrintedStatus.INFINITE if falls and n_iter > _STEADY else PrintedStatus.DIVERGED
            eta, base = last
        elif np.abs(fitted - before).max() <= _TOLERANCE:
            # Vanishing weights perturb all rates to 1/2: the effects begin at 0 and stay there, whatever the rates are.
            stuck = not pair.any() and bool(np.abs(rates - fitted).max() > _FITTED)
            status = PrintedStatus.DIVERGED if stuck else PrintedStatus.CONVERGED
        else:
            former, deviance = deviance, _deviance(rates, weight, eta)
            last, falls = (eta, base), falls and deviance <= former * (1 + 1e-9)
    return _projected(eta, base, model.rank, n_iter, status)


def _least_squares(design: FloatArray, curvature: FloatArray, response: FloatArray, now: FloatArray) -> FloatArray:
    """One side of the paper's equation of updates, shape (n, q), by a design (m, q) for n weighted regressions.

    A regression in which nothing has weight keeps the effects that it has now if its rates are fitted exactly, and
    has no number otherwise.
    """
    right = response @ design
    if design.shape[1] == 1:
        gram: FloatArray = (curvature @ design**2)[:, :, None]
        solved: FloatArray = right / gram[:, 0]
    else:
        gram = np.einsum("nm,mq,mr->nqr", curvature, design, design)
        if not np.isfinite(gram).all():
            return np.full_like(now, np.nan)
        solved = (np.linalg.pinv(gram, hermitian=True) @ right[:, :, None])[:, :, 0]
    empty = np.einsum("nqq->n", gram) < _TINY
    return np.where(empty[:, None], np.where(np.abs(right) < _TINY, now, np.nan), solved)


def _projected(eta: FloatArray, base: FloatArray, rank: int, n_iter: int, status: PrintedStatus) -> _Fit:
    """The factors as the paper constrains them, and their projection on ones, the row means of eta."""
    if status is PrintedStatus.DIVERGED:
        eta = np.full_like(eta, np.nan)
        row, pair = np.full((len(eta), rank), np.nan), np.full((eta.shape[1], rank), np.nan)
    else:
        row, pair = _singular(eta - base[:, None], rank)
    return _Fit(eta, eta.mean(axis=1), row, pair, n_iter, status)


def _singular(matrix: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """U D and V of the first singular values; each column of V has the sign that makes its sum positive."""
    left, size, right = np.linalg.svd(matrix, full_matrices=False)
    sign = np.where(right[:rank].sum(axis=1) < 0, -1.0, 1.0)
    return left[:, :rank] * (size[:rank] * sign), right[:rank].T * sign


def _deviance(rates: FloatArray, weight: FloatArray, eta: FloatArray) -> float:
    """Twice the weighted divergence of the fit from the rates; logarithms of fitted rates from their logits."""
    entropy = _x_log_x(rates) + _x_log_x(1 - rates)
    return float(2 * np.sum(weight * (entropy + np.logaddexp(0, eta) - rates * eta)))


def _x_log_x(x: FloatArray) -> FloatArray:
    return x * np.log(np.where(x > 0, x, 1))


def _as_levels(tau: Any) -> FloatArray:
    if tau is None:
        return _TAU
    levels = np.asarray(read_table(tau, "tau").values, dtype=float)
    if levels.ndim != 1 or len(levels) == 0:
        raise InputError("tau", "must be one-dimensional and not empty", f"shape {levels.shape}")
    outside = ~((levels >= 0) & (levels <= 1))
    if outside.any():
        raise InputError("tau", "must be in [0, 1]", shown(levels[outside][0].item()))
    rises = np.diff(levels) > 0
    if not rises.all():
        at = int(rises.argmin())
        raise InputError("tau", "must increase", f"{levels[at + 1]:g} after {levels[at]:g}")
    return levels


def _as_rank(rank: Any, structure: Structure, n_rows: int, n_pairs: int) -> int:
    if isinstance(rank, bool) or not isinstance(rank, Integral) or int(rank) < 1:
        raise InputError("rank", "must be an integer of at least 1", shown(rank))
    if structure == "full" and rank != 1:
        raise InputError("rank", "must be left out if `structure` is 'full', which has the largest rank", shown(rank))
    # Columns of V that are orthogonal to ones are one fewer.
    most = min(n_rows, n_pairs - (structure == "centered"))
    if int(rank) > most:
        rule = f"must be at most {most}, for {n_rows} rows and {n_pairs} pairs and `structure` {structure!r}"
        raise InputError("rank", rule, shown(rank))
    return int(rank)


def _as_pair_weights(value: Any, n_levels: int, n_pairs: int) -> FloatArray:
    """Q of each cell, shape (2T, K)."""
    if value is None:
        return np.ones((2 * n_levels, n_pairs))
    weights = np.asarray(read_table(value, "pair_weights").values, dtype=float)
    if weights.shape not in ((n_pairs,), (2, n_pairs), (2 * n_levels, n_pairs)):
        rule = f"must have shape ({n_pairs},), (2, {n_pairs}) or ({2 * n_levels}, {n_pairs})"
        raise InputError("pair_weights", rule, f"{weights.shape}")
    wrong = weights[~(np.isfinite(weights) & (weights > 0))]
    if wrong.size > 0:
        raise InputError("pair_weights", "must be finite and positive", shown(wrong[0].item()))
    if weights.shape == (2, n_pairs):
        return np.repeat(weights, n_levels, axis=0)
    return np.broadcast_to(weights, (2 * n_levels, n_pairs)).copy()
