"""The result of `cost_profile`; what rules cost under many matrices, and how sure it is which one is the cheapest."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from scipy.special import betaincinv

from polyroc._inputs.arrays import FrameBackend, frame_of, plain
from polyroc._inputs.checks import one_of
from polyroc._lib.typing import BoolArray, FloatArray, IntArray, LabelArray
from polyroc._records import Frozen
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import Streams, Units
from polyroc.costs._cost_matrices import CostRatios
from polyroc.costs._rules import RuleName
from polyroc.costs._words import CostProfileText, turned


@dataclass(frozen=True)
class ModelCost:
    """Cost of one model over all matrices.

    Attributes
    ----------
    name : str
        The model; with several rules, the model and the rule.
    model, rule : str
        The model and how it predicts classes.
    cost, standard_error : float
        Expected cost per sample, averaged over the matrices, and its standard error.
    interval : Interval
        Confidence interval of `cost`.
    share_cheapest : float
        Share of the matrices in which no other model costs less; equal costs are split.
    share_interval : Interval
        Confidence interval of `share_cheapest`.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = polyroc.CostRatios(true_class=3, ratios=[1, 10])
    >>> profile = polyroc.cost_profile(example.y_true, example.scores, costs=costs)
    >>> cheapest = min(profile.models, key=lambda one: one.cost)
    >>> cheapest.name, cheapest.share_cheapest
    ('logistic', 1.0)
    """

    name: str
    model: str
    rule: RuleName
    cost: float
    standard_error: float
    interval: Interval
    share_cheapest: float
    share_interval: Interval


@dataclass(frozen=True)
class CostDifference:
    """By how much the first model costs more than the second, averaged over the matrices, on the same samples.

    Attributes
    ----------
    first, second : str
        Names of the models.
    value, standard_error : float
        Mean cost of the first minus that of the second, and its standard error.
    interval : Interval
        Confidence interval of `value`.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = polyroc.CostRatios(true_class=3, ratios=[1, 10])
    >>> profile = polyroc.cost_profile(example.y_true, example.scores, costs=costs)
    >>> difference = profile.difference("knn", "logistic")
    >>> difference.value > 0, difference.interval.low > 0
    (True, True)
    """

    first: str
    second: str
    value: float
    standard_error: float
    interval: Interval


@dataclass(frozen=True, eq=False)
class CostProfile(Frozen):
    """Result of `cost_profile`: what models cost under many cost matrices.

    Attributes
    ----------
    models : tuple of ModelCost
        Mean cost and share of the matrices in which each is the cheapest, with intervals.
    differences : tuple of CostDifference
        One for each pair of models: mean costs, paired by samples.
    costs : ndarray of shape (n_matrices, n_classes, n_classes)
        The matrices, ``costs[matrix, true, predicted]``.
    cost_by_matrix, standard_error_by_matrix : ndarray of shape (n_models, n_matrices)
        Expected cost per sample of each model under each matrix, and its standard error.
    low_by_matrix, high_by_matrix : ndarray of shape (n_models, n_matrices)
        Ends of the confidence intervals of `cost_by_matrix`, each for itself.
    family : CostRatios or None
        What the matrices are made of, if that is a ratio; its ratios are in `ratios`.
    ratios : ndarray of shape (n_matrices,) or None
        The ratio of each matrix, ascending.
    is_drawn : bool
        Whether the matrices were drawn from a distribution. Then intervals also cover what other draws would give.
    labels : ndarray of shape (n_classes,)
        The classes, in the order of rows and columns.
    prior : ndarray of shape (n_classes,)
        Prevalence of each class that costs are weighed with.
    n_samples, n_resamples : int
        Samples that counted, and resamples behind the intervals of the shares.
    n_folds : int or None
        Folds by which tuned offsets are judged; None where they are judged on the samples that they were tuned on.
    confidence_level : float
        Of all intervals.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = polyroc.CostRatios(true_class=3, ratios=[1, 10])
    >>> profile = polyroc.cost_profile(example.y_true, example.scores, costs=costs)
    >>> profile.names, profile.cost_by_matrix.shape
    (['logistic', 'knn', 'tree'], (3, 2))
    """

    models: tuple[ModelCost, ...]
    differences: tuple[CostDifference, ...]
    costs: FloatArray
    cost_by_matrix: FloatArray
    standard_error_by_matrix: FloatArray
    low_by_matrix: FloatArray
    high_by_matrix: FloatArray
    family: CostRatios | None
    ratios: FloatArray | None
    is_drawn: bool
    labels: LabelArray
    prior: FloatArray
    n_samples: int
    n_resamples: int
    n_folds: int | None
    confidence_level: float

    @property
    def names(self) -> list[str]:
        """Names of the models, in the order of `models` and of the rows of `cost_by_matrix`."""
        return [one.name for one in self.models]

    def difference(self, first: str, second: str) -> CostDifference:
        """Mean cost of one model minus that of another.

        Parameters
        ----------
        first, second : str
            Names of two models.
        """
        a, b = one_of(first, "first", tuple(self.names)), one_of(second, "second", tuple(self.names))
        for one in self.differences:
            if (one.first, one.second) == (a, b):
                return one
            if (one.first, one.second) == (b, a):
                return CostDifference(a, b, -one.value, one.standard_error, turned(one.interval, -1))
        return CostDifference(a, b, 0.0, 0.0, Interval(0.0, 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        by_matrix = ("cost_by_matrix", "standard_error_by_matrix", "low_by_matrix", "high_by_matrix")
        arrays = {name: getattr(self, name).tolist() for name in ("prior", "costs", *by_matrix)}
        facts = ("is_drawn", "n_samples", "n_resamples", "n_folds", "confidence_level")
        return {
            "models": [_row(one) for one in self.models],
            "differences": [{**vars(one), "interval": list(one.interval)} for one in self.differences],
            "labels": plain(self.labels),
            **arrays,
            "ratios": None if self.ratios is None else self.ratios.tolist(),
            **{name: getattr(self, name) for name in facts},
            "sentence": self.text.sentence,
        }

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """One row for each model: mean cost and share of the matrices in which it is the cheapest, with intervals.

        The package `backend` must be installed.
        """
        rows = [_row(one) for one in self.models]
        return frame_of({name: np.array([row[name] for row in rows]) for name in rows[0]}, backend)

    @property
    def text(self) -> CostProfileText:
        """The profile in sentences, as it is shown everywhere."""
        return CostProfileText(self)

    def __str__(self) -> str:
        return str(self.text)

    def __repr__(self) -> str:
        return f"CostProfile({len(self.models)} models, {len(self.costs)} cost matrices)"


def _row(one: ModelCost) -> dict[str, Any]:
    names = ("name", "model", "rule", "cost", "standard_error")
    return {name: getattr(one, name) for name in names} | {
        "low": one.interval.low,
        "high": one.interval.high,
        "share_cheapest": one.share_cheapest,
        "share_low": one.share_interval.low,
        "share_high": one.share_interval.high,
    }


# Of more units than this, several are drawn together. The spread over this many batches is known to 2 %.
_MOST_BATCHES = 2000
# Small strata are not thrown together into fewer batches than this.
_LEAST_BATCHES = 10
# Replicates at once.
_BLOCK = 64
# Costs that differ by less than this share of the largest are the same: sums in another order differ by rounding.
_SAME = 1e-10


@dataclass(frozen=True, eq=False)
class Batches(Frozen):
    """Units dealt into batches within their strata: sums over a batch vary as its units do."""

    batch: IntArray
    """The batch of each sample, shape (n,)."""
    stratum: IntArray
    """The stratum of each batch, shape (G,)."""

    @property
    def scale(self) -> FloatArray:
        """Factor by which u - 1 draws of u batches vary as they should (Rao and Wu 1988), shape (G,)."""
        sizes = np.bincount(self.stratum)
        return (sizes / np.maximum(sizes - 1, 1))[self.stratum]


def batches_of(units: Units, seed: int) -> Batches:
    """Each unit its own batch; of many units, several in a batch, dealt by chance."""
    if units.n_units <= _MOST_BATCHES:
        return Batches(units.unit, units.stratum)
    sizes = np.bincount(units.stratum)
    wanted = np.rint(_MOST_BATCHES * sizes / units.n_units).astype(np.intp)
    counts = np.minimum(np.maximum(wanted, _LEAST_BATCHES), sizes)
    order = np.lexsort((np.random.default_rng([seed, 1]).random(units.n_units), units.stratum))
    stratum = units.stratum[order]
    rank = np.arange(units.n_units) - (np.cumsum(sizes) - sizes)[stratum]
    first = np.cumsum(counts) - counts
    batch = np.empty(units.n_units, dtype=np.intp)
    batch[order] = first[stratum] + rank % np.maximum(counts[stratum], 1)
    return Batches(batch[units.unit], np.repeat(np.arange(len(sizes)), counts))


def cheapest_shares(cost: FloatArray) -> FloatArray:
    """Share of the matrices in which each model is the cheapest, split evenly among equals: (m, R) -> (m,)."""
    is_cheapest = cost <= cost.min(axis=0) + _SAME * np.abs(cost).max(axis=0)
    # Rounded, because sums of thirds are 1 but for rounding.
    split: FloatArray = is_cheapest / is_cheapest.sum(axis=0)
    shares: FloatArray = np.round(split @ np.full(split.shape[1], 1 / split.shape[1]), 12)
    return shares


def share_ends(
    cost: FloatArray,
    errors: FloatArray,
    moved: FloatArray,
    ends_of_differences: Callable[[float], tuple[FloatArray, FloatArray]],
    level: float,
    *,
    is_drawn: bool,
) -> FloatArray:
    """Ends of the intervals of the shares, shape (m, 2).

    The share is no smooth function of the costs: where models are nearly equal, quantiles of its replicates covered the
    true one in 40 to 90 % of trials. So each difference from another model under each matrix is tested, all together.
    A model is surely the cheapest where every test says that it costs less, and may be the cheapest where none says
    that it costs more. From one share to the other the interval reaches.

    `errors` are the standard errors of all differences, shape (m, m, R), `moved` replicates of what costs are off by,
    shape (B, m, R). Neither knows of expensive mistakes that no sample shows, so the interval of the difference, shape
    (m, m, R) at a level, must exclude 0 as well.
    """
    # Matrices that are a sample get half of what is left to chance.
    inside = (1 + level) / 2 if is_drawn else level
    tail, slack = (1 - inside) / 2, _SAME * np.abs(cost).max(axis=0)
    found, (low, high) = np.empty((len(cost), 2)), ends_of_differences(inside)
    for a in range(len(cost)):
        others = np.arange(len(cost)) != a
        apart, error = cost[a] - cost[others], errors[a, others]
        # Models that predict the same cost the same; they share what they win. Where nothing varies, nothing is tested.
        same = (error == 0) & (np.abs(apart) <= slack)
        t = np.divide(apart, error, out=np.where(apart > slack, np.inf, -np.inf), where=error > 0)
        noise = (moved[:, a, None] - moved[:, others]) / np.where(error > 0, error, 1.0)
        split = 1 / (1 + same.sum(axis=0))
        surely = np.all(same | _are_surely_positive(-t, -noise, tail) & (high[a, others] < 0), axis=0)
        perhaps = np.all(same | ~(_are_surely_positive(t, noise, tail) & (low[a, others] > 0)), axis=0)
        ends = float(np.mean(split * surely)), float(np.mean(split * perhaps))
        found[a] = _of_a_sample(*ends, cost.shape[1], tail) if is_drawn else ends
    return np.round(found, 12)


def _are_surely_positive(t: FloatArray, noise: FloatArray, tail: float) -> BoolArray:
    """Which of several statistics are positive, so that with probability 1 - tail none is said to be that is not.

    Romano and Wolf's (2005) step-down: the largest error of those that are left decides, until no more are found.
    """
    found = np.isposinf(t)
    while not found.all():
        reach = float(np.quantile(noise[:, ~found].max(axis=1), 1 - tail))
        more = found | (t > max(reach, 0.0))
        if np.array_equal(more, found):
            break
        found = more
    return found


def _of_a_sample(low: float, high: float, size: int, tail: float) -> tuple[float, float]:
    """Clopper and Pearson's ends for shares that were found in a sample of matrices."""
    below, above = low * size, high * size
    return (
        float(betaincinv(below, size - below + 1, tail)) if below > 0 else 0.0,
        float(betaincinv(above + 1, size - above, 1 - tail)) if above < size else 1.0,
    )


def replicated_errors(
    influences: FloatArray, luck: FloatArray, batches: Batches, n_resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Standard errors of all differences of costs, shape (m, m, R), and replicates of the errors of costs, (B, m, R).

    By a bootstrap of the influences of batches on costs, shape (G, m, R). `luck` is the standard deviation of costs
    that samples do not show, shape (m, R): one normal error per replicate and model moves its costs under all matrices
    together.
    """
    n_models, n_matrices = luck.shape
    scale = batches.scale
    errors = np.zeros((n_models, n_models, n_matrices))
    for a, b in combinations(range(n_models), 2):
        squares = scale @ (influences[:, a] - influences[:, b]) ** 2
        errors[a, b] = errors[b, a] = np.sqrt(squares + luck[a] ** 2 + luck[b] ** 2)
    scaled = (influences * scale[:, None, None]).reshape(len(influences), -1)
    found = np.empty((n_resamples, n_models, n_matrices))
    streams = Streams([seed, 2])
    for start in range(0, n_resamples, _BLOCK):
        stop = min(start + _BLOCK, n_resamples)
        counts, lucky = np.empty((stop - start, len(scaled))), np.zeros((stop - start, n_models, 1))
        for place, rng in enumerate(streams(start, stop)):
            counts[place] = _drawn(batches.stratum, rng)
            lucky[place, :, 0] = rng.normal(size=n_models)
        found[start:stop] = (counts @ scaled).reshape(-1, n_models, n_matrices) + lucky * luck
    return errors, found


def _drawn(stratum: IntArray, rng: np.random.Generator) -> IntArray:
    """How often each batch is drawn: u - 1 of the u batches of each stratum, with replacement."""
    sizes = np.bincount(stratum)
    order = np.argsort(stratum, kind="stable")
    draws = np.maximum(sizes - 1, np.minimum(sizes, 1))
    first = np.repeat(np.cumsum(sizes) - sizes, draws)
    places = first + (rng.random(len(first)) * np.repeat(sizes, draws)).astype(np.intp)
    return np.bincount(order[places], minlength=len(stratum))


# Rows (positions of samples) -> the class predicted for each under each matrix, shape (rows, R).
Predictor: TypeAlias = Callable[[IntArray], IntArray]

# Numbers that a block makes at once: 16 MB of them.
_NUMBERS_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class CostSums(Frozen):
    """Costs of one rule under R matrices, summed over samples by their weights."""

    by_batch: FloatArray
    """Shape (G, R)."""
    by_class: FloatArray
    """Shape (k, R)."""
    made: BoolArray
    """Which classes are predicted at all, shape (R, k)."""
    per_sample: FloatArray
    """Mean over the matrices of what each sample costs, without its weight, shape (n,)."""


def bayes_classes(scores: FloatArray, costs: FloatArray, ratio: FloatArray) -> Predictor:
    """Bayes' rule: the class of the least expected cost, the first of equal ones.

    As `_predicted.cheapest`, for costs of shape (R, k, k); sums of probabilities need not be 1, because each row is
    only compared with itself.
    """
    n_matrices, k, _ = costs.shape
    side_by_side = np.ascontiguousarray(costs.transpose(1, 0, 2)).reshape(k, n_matrices * k)

    def predict(rows: IntArray) -> IntArray:
        p = np.maximum(scores[rows].astype(np.float64, copy=False), 0.0) * ratio
        # Where the prior rules out every class that has a probability, nothing is known: all classes that may occur.
        p = np.where(p.sum(axis=1, keepdims=True) > 0, p, ratio > 0)
        expected = (p @ side_by_side).reshape(len(rows), n_matrices, k)
        predicted: IntArray = np.argmin(expected, axis=2)
        return predicted

    return predict


def same_classes(predicted: IntArray, n_matrices: int) -> Predictor:
    """A rule that does not depend on the costs, from the classes it predicts, shape (n,)."""
    return lambda rows: np.broadcast_to(predicted[rows, None], (len(rows), n_matrices))


def known_classes(predicted: IntArray) -> Predictor:
    """Classes that were predicted before, shape (R, n)."""
    return lambda rows: predicted[:, rows].T


def cost_sums(
    predict: Predictor, codes: IntArray, weight: FloatArray, batch: IntArray, costs: FloatArray, n_batches: int
) -> CostSums:
    """Costs of a rule under each of R matrices, costs[matrix, true, predicted], by batches and by classes."""
    n_matrices, k, _ = costs.shape
    flat, starts = costs.ravel(), np.arange(n_matrices) * k * k
    by_batch, by_class = np.zeros((n_batches, n_matrices)), np.zeros((k, n_matrices))
    per_sample, made = np.empty(len(codes)), np.zeros(n_matrices * k, dtype=bool)
    order = np.argsort(batch, kind="stable")
    size = max(1, _NUMBERS_AT_ONCE // (n_matrices * k))
    for start in range(0, len(codes), size):
        rows = order[start : start + size]
        predicted = predict(rows)
        made[starts // k + predicted] = True
        found = flat[starts + (codes[rows] * k)[:, None] + predicted]
        per_sample[rows] = found.mean(axis=1)
        weighed = found * weight[rows, None]
        firsts = np.flatnonzero(np.concatenate([[True], np.diff(batch[rows]) > 0]))
        # A batch may go on in the next block.
        by_batch[batch[rows[firsts]]] += np.add.reduceat(weighed, firsts, axis=0)
        by_class += (np.arange(k)[:, None] == codes[rows]) @ weighed
    return CostSums(by_batch, by_class, made.reshape(n_matrices, k), per_sample)
