"""The reference engine: plain NumPy, written to be read; it decides what the others must give."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import logit

from polyroc._engines._cells import LOGIT_BOUND, shrunk_cells
from polyroc._engines._numpy._areas import pairwise_areas as areas_by_columns
from polyroc._engines._numpy._contrasts import contrast_areas as areas_by_pairs
from polyroc._engines._numpy._solver import chance_deviance, minimise, solve_rows
from polyroc._lib._typing import FloatArray, Thresholds
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Predictions, RankOneFits, Status


class Run:
    """The scores of one class in one column, and the share of the class at or above any score."""

    def __init__(self, scores: FloatArray, weight: FloatArray | None) -> None:
        if weight is None:
            self.scores = np.sort(scores)
            self.tail = np.arange(len(scores), -1, -1) / len(scores)
        else:
            order = np.argsort(scores, kind="stable")
            self.scores = scores[order]
            cumulated = np.concatenate([[0.0], np.cumsum(weight[order][::-1])])
            self.tail = (cumulated / cumulated[-1])[::-1]

    def share_from(self, score: FloatArray) -> FloatArray:
        return self.tail[np.searchsorted(self.scores, score, side="left")]

    def share_above(self, score: FloatArray) -> FloatArray:
        """As `share_from`, with samples of the very same score counted one half."""
        return 0.5 * (self.share_from(score) + self.tail[np.searchsorted(self.scores, score, side="right")])


class Runs:
    """Every run that the pairs ask for, each sorted once."""

    def __init__(self, predictions: Predictions) -> None:
        self._predictions = predictions
        self._members = [np.flatnonzero(predictions.codes == c) for c in range(len(predictions.labels))]
        self._made: dict[tuple[int, int], Run] = {}

    def __call__(self, members_of: int, column: int) -> Run:
        key = (members_of, column)
        if key not in self._made:
            members, weight = self._members[members_of], self._predictions.sample_weight
            scores = self._predictions.scores[members, column]
            self._made[key] = Run(scores, None if weight is None else weight[members])
        return self._made[key]


class Column:
    """One column of scores in falling order, and the share of any class at or above each distinct score."""

    def __init__(self, predictions: Predictions, column: int) -> None:
        score, weight = np.ascontiguousarray(predictions.scores[:, column]), predictions.sample_weight
        order = np.argsort(score)[::-1]
        score = score[order]
        is_last_of_tie = np.ones(len(score), dtype=bool)
        np.not_equal(score[1:], score[:-1], out=is_last_of_tie[:-1])
        self._last_of_tie = np.flatnonzero(is_last_of_tie)
        self._codes = predictions.codes[order]
        self._weight = None if weight is None else weight[order]

    def share(self, members_of: int) -> FloatArray:
        """Shares of a class, highest score first, after the corner 0."""
        is_member = self._codes == members_of
        cumulated = np.cumsum(is_member if self._weight is None else np.where(is_member, self._weight, 0.0))
        share = np.zeros(len(self._last_of_tie) + 1)
        np.divide(cumulated[self._last_of_tie], cumulated[-1], out=share[1:])
        return share


def memory_needed(predictions: Predictions, n_pairs: int, n_call_rates: int) -> int:
    """Bytes that rates and fit will need at most, beside the scores themselves."""
    # Rates, shrunk rates, weights and the arrays of two points of the fit, each of all cells in double precision.
    return 2 * predictions.scores.nbytes + 20 * 8 * 2 * n_call_rates * n_pairs


def memory_to_reweigh(predictions: Predictions, pairs: PairIndex, thresholds: Thresholds) -> int:
    """Bytes that `reweigh` will keep: none."""
    return 0


def pairwise_rates(
    predictions: Predictions,
    pairs: PairIndex,
    call_rates: FloatArray,
    thresholds: Thresholds,
    *,
    n_jobs: int | None = None,  # one thread whatever is asked
) -> PairwiseRates:
    """Cut every pair's ROC polygon at the call rates."""
    locate = partial(score_thresholds, predictions, pairs, call_rates, thresholds)
    if thresholds == "own":
        return PairwiseRates(_own_tpr(predictions, pairs, call_rates), None, call_rates, locate)
    runs = Runs(predictions)
    tpr, fpr = np.empty((2, len(call_rates), len(pairs)))
    for pair, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        _, call_rate, positive, negative = polygon(runs, i, j, thresholds)
        tpr[:, pair] = np.interp(call_rates, call_rate, positive)
        fpr[:, pair] = np.interp(call_rates, call_rate, negative)
    return PairwiseRates(tpr, fpr, call_rates, locate)


def _own_tpr(predictions: Predictions, pairs: PairIndex, call_rates: FloatArray) -> FloatArray:
    """The same with own thresholds, where one sort of column i serves all pairs (i, j); FPR follows from TPR."""
    tpr = np.empty((len(call_rates), len(pairs)))
    for i in np.unique(pairs.positive).tolist():
        column = Column(predictions, i)
        positive = column.share(i)
        for pair in np.flatnonzero(pairs.positive == i).tolist():
            # Scores that only other classes have repeat a vertex, which changes no polygon.
            call_rate = (positive + column.share(pairs.negative[pair])) / 2
            tpr[:, pair] = np.interp(call_rates, call_rate, positive)
    return tpr


def polygon(
    runs: Runs, i: int, j: int, thresholds: Thresholds
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """One vertex per distinct score, highest first, after the corner (0, 0): scores, then call rate, TPR and FPR."""
    positive, negative = runs(i, i), runs(j, i)
    counted = [positive, negative]
    if thresholds == "shared":
        counted += [runs(i, j), runs(j, j)]
    score = np.unique(np.concatenate([run.scores for run in counted]))[::-1]
    shares = np.zeros((len(counted), len(score) + 1))
    for share, run in zip(shares, counted, strict=True):
        share[1:] = run.share_from(score)
    return score, shares.sum(axis=0) / len(counted), shares[0], shares[1]


def score_thresholds(
    predictions: Predictions, pairs: PairIndex, call_rates: FloatArray, thresholds: Thresholds
) -> FloatArray:
    """The score at which every pair reaches every call rate, shape (T, K)."""
    runs = Runs(predictions)
    found = np.empty((len(call_rates), len(pairs)), dtype=predictions.scores.dtype)
    for pair, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        score, call_rate, _, _ = polygon(runs, i, j, thresholds)
        # Slack for the rounding of shares: (0.7 + 0.1) / 2 is a little less than the 0.4 it reaches.
        reached = np.searchsorted(call_rate[1:], call_rates - 1e-12, side="left")
        found[:, pair] = score[np.minimum(reached, len(score) - 1)]
    return found


def fit_rank_one(
    rates: PairwiseRates,
    weights: PairWeights,
    shrinkage: float,
    *,
    n_jobs: int | None = None,  # likewise
) -> Factorization:
    """Joint Levenberg-Marquardt steps; at the start all pairs are alike and each row has the logit of its mean."""
    cells = shrunk_cells(rates, weights, shrinkage)
    inner = cells.inner
    solution = minimise(inner, logit(inner.mean)[:, None], np.ones(rates.n_pairs))
    row = solution.row
    if solution.status is not Status.CONVERGED:
        row = solve_rows(inner, row, solution.pair)
    effect = np.where(cells.mean < 0.5, -LOGIT_BOUND, LOGIT_BOUND)
    effect[cells.interior] = row[:, 0] * solution.pair.mean()
    return Factorization(
        row_effects=effect,
        pair_effects=solution.pair / solution.pair.mean(),
        deviance=float(solution.deviance_path[-1]),
        deviance_path=solution.deviance_path,
        n_iter=solution.n_iter,
        status=solution.status,
        mean_rates=cells.mean,
        chance_deviance=chance_deviance(cells, rates.call_rates),
    )


def pairwise_areas(
    predictions: Predictions,
    pairs: PairIndex,
    *,
    n_jobs: int | None = None,  # likewise
) -> FloatArray:
    """Mann-Whitney area of each pair, shape (K,)."""
    return areas_by_columns(predictions, pairs)


def contrast_areas(
    predictions: Predictions,
    pairs: PairIndex,
    partition: FloatArray,
    *,
    n_jobs: int | None = None,  # likewise
) -> FloatArray:
    """Mann-Whitney area of each pair along (A[negative] - A[positive]) · p, shape (K,)."""
    return areas_by_pairs(predictions, pairs, partition)


@dataclass(frozen=True, eq=False)
class Reweighed:
    """Samples that are sorted anew for each weight: what others must give without that."""

    predictions: Predictions
    pairs: PairIndex
    call_rates: FloatArray
    thresholds: Thresholds

    def rates(self, weight: FloatArray) -> tuple[PairwiseRates, FloatArray]:
        """Rates and areas of all pairs under these weights."""
        kept, scores, codes = weight > 0, self.predictions.scores, self.predictions.codes
        weighed = replace(self.predictions, scores=scores[kept], codes=codes[kept], sample_weight=weight[kept])
        found = pairwise_rates(weighed, self.pairs, self.call_rates, self.thresholds)
        return found, pairwise_areas(weighed, self.pairs)

    def fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        """The rank-one model under each of several weights."""
        found = [self.rates(weight) for weight in weights]
        fits = [fit_rank_one(rates, pair_weights, shrinkage) for rates, _ in found]
        return RankOneFits(
            row_effects=np.array([fit.row_effects for fit in fits]),
            mean_area=np.array([areas.mean() for _, areas in found]),
            weighted_area=np.array([np.average(areas, weights=pair_weights.tpr) for _, areas in found]),
            mean_rates=np.array([fit.mean_rates for fit in fits]),
            converged=np.array([fit.converged for fit in fits]),
        )


def reweigh(
    predictions: Predictions,
    pairs: PairIndex,
    call_rates: FloatArray,
    thresholds: Thresholds,
    *,
    n_jobs: int | None = None,  # likewise
) -> Reweighed:
    """Nothing is done once."""
    return Reweighed(predictions, pairs, call_rates, thresholds)
