"""The smallest change of a single cost that makes a model first by D: candidates by gradient, verified by fits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log

import numpy as np

from polyroc._core import Fitter, get_engine
from polyroc._core.adjoint import weight_gradient
from polyroc._core.curve import areas_under, from_corner_to_corner, mean_areas, shared_curve
from polyroc._core.weights import pair_weights
from polyroc._inputs.options import Options
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Factorization, Frozen, PairWeights, PairwiseRates
from polyroc.evaluation._evaluation import Evaluation

# About as many as it takes to look for the costs that make a model first by D.
N_FITS = 110


@dataclass(frozen=True, eq=False)
class Cells(Frozen):
    """The costs that may change, one for each ordered pair of classes, and the weights of the pairs as they are.

    The cost of predicting class a as b weights the true positive rates of the pair (a, b) and the false positive rates
    of (b, a).
    """

    true: IntArray
    """Position of the true class, shape (K,): also the positive class of pair number K."""
    predicted: IntArray
    """Position of the predicted class, shape (K,)."""
    weights: PairWeights

    @classmethod
    def of(cls, evaluation: Evaluation) -> "Cells":
        pairs = evaluation.fitted.pairs
        return cls(
            pairs.positive, pairs.negative, pair_weights(evaluation.fitted.source, pairs, evaluation.fitted.options)
        )

    def __len__(self) -> int:
        return len(self.true)

    @cached_property
    def turned(self) -> IntArray:
        """Where the pair (b, a) of each pair (a, b) stands, shape (K,)."""
        n_classes = int(self.true.max()) + 1
        place = np.zeros((n_classes, n_classes), dtype=np.intp)
        place[self.true, self.predicted] = np.arange(len(self))
        return place[self.predicted, self.true]

    def weights_at(self, cell: int, factor: float) -> PairWeights:
        """The weights where one cost is multiplied by a factor; only their ratios matter."""
        tpr, fpr = self.weights.tpr.copy(), self.weights.fpr.copy()
        tpr[cell] *= factor
        fpr[self.turned[cell]] *= factor
        scale = (tpr.mean() + fpr.mean()) / 2
        return PairWeights(tpr / scale, fpr / scale, self.weights.size)


@dataclass(frozen=True, eq=False)
class Rival:
    """One model: its rates, and what it is worth now."""

    name: str
    auc: float
    mean_auc: float
    rates: PairwiseRates = field(repr=False)
    _factorization: Factorization = field(repr=False)
    _fitter: Fitter = field(repr=False)
    _options: Options = field(repr=False)

    def auc_at(self, weights: PairWeights) -> float:
        """D under other weights, by a fit; NaN where that does not converge."""
        fit = self._fit(weights, self._options)
        return shared_curve(fit).auc if fit.converged else float("nan")

    def mean_auc_at(self, weights: PairWeights) -> float:
        """The area under the mean curve, which takes no fit."""
        tpr = self.rates.tpr.astype(float, copy=False) @ weights.tpr / weights.tpr.sum()
        fpr = self.rates.fpr.astype(float, copy=False) @ weights.fpr / weights.fpr.sum()
        return float(mean_areas(np.concatenate([tpr, fpr])[None])[0])

    def auc_slopes(self, cells: Cells) -> FloatArray:
        """How D changes with the logarithm of each cost, shape (K,); for other structures than rank-one, nearly."""
        weights, fit = cells.weights, self._factorization
        if self._options.structure != "rank-one":
            fit = self._fitter.fit(self.rates, weights, shrinkage=self._options.shrinkage, structure="rank-one")
        shrinkage = self._options.shrinkage
        curvature = self._fitter.curvature(fit, self.rates, weights, shrinkage)
        tpr, fpr = weight_gradient(fit, self.rates, weights, shrinkage=shrinkage, curvature=curvature)
        return tpr + fpr[cells.turned]

    def _fit(self, weights: PairWeights, options: Options) -> Factorization:
        return self._fitter.fit(self.rates, weights, shrinkage=options.shrinkage, structure=options.structure)


def rivals_of(evaluations: Mapping[str, Evaluation]) -> list[Rival]:
    """All models with their rates, which depend on no cost."""
    return [
        Rival(name, one.auc, one.mean_auc, one.rates, one.factorization, _for_many_fits(one), one.fitted.options)
        for name, one in evaluations.items()
    ]


def _for_many_fits(one: Evaluation) -> Fitter:
    """The engine that is done first with as many fits as are to come, which a single one may not have been worth."""
    prepared, options = one.fitted.prepared, one.fitted.options
    engine = get_engine(
        options.engine,
        prepared.source,
        n_pairs=len(one.fitted.pairs),
        n_thresholds=options.n_thresholds,
        repeats=N_FITS,
        has_rates=True,
    )
    if engine.name == prepared.engine_name:
        return prepared
    return engine.fitter(prepared.resources)


# By how much a model must exceed another one to be ahead of it: engines agree to as much.
TIE = 1e-9
# Candidates in each direction by the gradient, by the limit of a cost beyond all bounds, and by the mean area.
BY_SLOPE, BY_LIMIT, BY_MEAN_AREA = 8, 4, 4
# Where a change is tried first, as shares of the largest one that is still of interest on the log scale. Where the
# response to a cost rises, the first of them decides; the others are for one that rises and falls.
_STEPS = (1.0, 0.7, 0.4)
# How closely the place is found on the log scale where the order changes; three digits are shown.
_CLOSE = 5e-4
_MOST_STEPS = 40


@dataclass(frozen=True)
class Tip:
    """A cost, whether it rises or falls (1 or -1), and by how much on the log scale."""

    cell: int
    sign: int
    size: float


@dataclass(frozen=True, eq=False)
class Fits:
    """D of every model wherever it was asked for, each fitted once."""

    rivals: Sequence[Rival]
    cells: Cells
    _known: dict[tuple[int, int, float], float] = field(default_factory=dict, repr=False)

    def auc(self, rival: int, cell: int, log_factor: float) -> float:
        """D of a model at a changed cost."""
        if log_factor == 0:
            return self.rivals[rival].auc
        asked = (rival, cell, log_factor)
        if asked not in self._known:
            weights = self.cells.weights_at(cell, exp(log_factor))
            self._known[asked] = self.rivals[rival].auc_at(weights)
        return self._known[asked]

    def __len__(self) -> int:
        return len(self._known)


@dataclass(frozen=True, eq=False)
class Race:
    """One model that is not first, and the others in the order in which they are to be overtaken."""

    target: int
    others: tuple[tuple[int, float], ...]
    """Each with what the target must exceed it by: models that are first now by more than a tie, others by no less."""

    def margin(self, value: Callable[[int], float]) -> float:
        """By how much the target is first; where it is not, by how much some other model is ahead of it."""
        own, least = value(self.target), float("inf")
        for other, needed in self.others:
            gap = own - value(other) - needed
            if not gap > 0:
                # Of a fit that did not converge nobody knows who is ahead; `min` would pass over a NaN.
                return gap if gap <= 0 else -float("inf")
            least = min(least, gap)
        return least


def races(values: Sequence[float]) -> list[Race]:
    """One for each model that another one is ahead of."""
    best = max(values)
    first = [place for place, value in enumerate(values) if value >= best - TIE]
    order = sorted(range(len(values)), key=lambda place: -values[place])
    return [
        Race(place, tuple((other, TIE if other in first else -TIE) for other in order if other != place))
        for place in range(len(values))
        if place not in first
    ]


def candidates(
    race: Race, slopes: Sequence[FloatArray], limits: Sequence[FloatArray], changes: FloatArray
) -> list[tuple[int, int]]:
    """Costs and directions, the most promising first.

    Those with the smallest changes by the mean area; those by which the target gains most on the first model, by the
    gradient of D; and those whose pair the target is best at, compared with the best other model.
    """
    first = race.others[0][0]
    slope = slopes[race.target] - slopes[first]
    limit = limits[race.target] - np.max([limits[other] for other, _ in race.others], axis=0)
    found = []
    by_change = np.argsort(changes, axis=None, kind="stable")[:BY_MEAN_AREA].tolist()
    found += [(place % len(slope), 1 - 2 * (place // len(slope))) for place in by_change]
    order = np.argsort(-slope, kind="stable")
    found += [(cell, 1) for cell in order[:BY_SLOPE].tolist() if slope[cell] > 0]
    found += [(cell, 1) for cell in np.argsort(-limit, kind="stable")[:BY_LIMIT].tolist()]
    found += [(cell, -1) for cell in order[::-1][:BY_SLOPE].tolist() if slope[cell] < 0]
    return list(dict.fromkeys(found))


def smallest_tip(
    race: Race, fits: Fits, tried: Sequence[tuple[int, int]], largest: float, done: Callable[[int], object]
) -> Tip | None:
    """The smallest change of the candidates; none is followed beyond what another one has reached already."""
    best, bound = None, log(largest)
    # Twice: a response that rises and falls may be seen only once the range is as short as the best candidate's.
    for place, (cell, sign) in enumerate([*tried, *tried]):
        if place >= len(tried) and best is None:
            break

        def margin(size: float, cell: int = cell, sign: int = sign) -> float:
            return race.margin(lambda rival: fits.auc(rival, cell, sign * size))

        size = _crossing(margin, bound)
        if size is not None and (best is None or size < bound):
            best, bound = Tip(cell, sign, size), size
        done(place < len(tried))
    return best


def _crossing(margin: Callable[[float], float], bound: float) -> float | None:
    """A number up to the bound where a margin becomes positive; None where it is at no step."""
    for share in _STEPS:
        above = margin(share * bound)
        if above > 0:
            return _refined(margin, share * bound, above)
    return None


def _refined(margin: Callable[[float], float], high: float, above: float) -> float:
    """Where the margin becomes positive between 0 and a number: the Illinois method, with halving where it is slow."""
    low, below = 0.0, margin(0.0)
    for step in range(_MOST_STEPS):
        if high - low <= _CLOSE:
            break
        # Every third step halves the range, whatever the two margins are like.
        share = 0.5 if step % 3 == 2 or not np.isfinite(below) else below / (below - above)
        middle = low + min(max(share, 0.05), 0.95) * (high - low)
        found = margin(middle)
        if found > 0:
            high, above, below = middle, found, below / 2
        else:
            low, below, above = middle, found, above / 2
    return high


# How far outside a root, on the log scale, a model must be first.
_BEYOND = 1e-7


@dataclass(frozen=True, eq=False)
class MeanAreas(Frozen):
    """The mean area of one model by the factor 1 + u of each cost."""

    coefficients: FloatArray
    """Of 1, u and u^2, over a denominator that all models share, shape (3, K)."""
    limit: FloatArray
    """The area where one cost outweighs all others, shape (K,)."""


def mean_areas_of(rival: Rival, cells: Cells) -> MeanAreas:
    """The four areas of each cost, multiplied out."""
    weights, back = cells.weights, cells.turned
    tpr, fpr = (np.asarray(rate, dtype=float).T for rate in (rival.rates.tpr, rival.rates.fpr))
    mean_tpr, mean_fpr = weights.tpr @ tpr / weights.tpr.sum(), weights.fpr @ fpr / weights.fpr.sum()
    both, of_fpr, of_tpr = _areas(fpr[back], tpr), _areas(fpr[back], mean_tpr), _areas(mean_fpr, tpr)
    constant, _, square = _denominator(weights, cells)
    linear = weights.tpr * weights.fpr.sum() * of_tpr + weights.fpr[back] * weights.tpr.sum() * of_fpr
    return MeanAreas(np.stack([constant * _areas(mean_fpr, mean_tpr), linear, square * both]), both)


def _denominator(weights: PairWeights, cells: Cells) -> FloatArray:
    """Coefficients of (S + w u) (S' + w' u), shape (3, K): positive for every positive cost."""
    total_tpr, total_fpr, on_fpr = weights.tpr.sum(), weights.fpr.sum(), weights.fpr[cells.turned]
    constant = np.full(len(cells), total_tpr * total_fpr)
    return np.stack([constant, weights.tpr * total_fpr + on_fpr * total_tpr, weights.tpr * on_fpr])


def _areas(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    return areas_under(*np.broadcast_arrays(from_corner_to_corner(fpr), from_corner_to_corner(tpr)))


def smallest_changes(
    target: MeanAreas, others: Sequence[tuple[MeanAreas, float]], cells: Cells, largest: float
) -> FloatArray:
    """The smallest |log factor| of each cost, made more expensive and cheaper, at which a model is first, shape (2, K).

    It must exceed each of the others by more than the number that comes with it. Infinite where no factor will do.
    """
    below = _denominator(cells.weights, cells)
    margins = np.stack([target.coefficients - other.coefficients - least * below for other, least in others])
    logs = np.log1p(_roots(margins))
    logs = np.concatenate([logs, np.zeros((1, len(cells)))])
    found = np.full((2, len(cells)), np.inf)
    for place, sign in enumerate((1, -1)):
        outside = sign * logs + _BEYOND
        within = (outside > 0) & (outside <= np.log(largest) + _BEYOND)
        u = np.expm1(sign * np.where(within, outside, 0.0))
        is_first = within & np.all(_polynomial(margins, u) > 0, axis=0)
        found[place] = np.where(is_first, np.maximum(outside - _BEYOND, 0.0), np.inf).min(axis=0)
    return found


def _polynomial(margins: FloatArray, u: FloatArray) -> FloatArray:
    """Of each other model (O, 3, K) at each u (C, K), shape (O, C, K)."""
    constant, linear, square = (margins[:, degree, None] for degree in range(3))
    return constant + u * (linear + u * square)


def _roots(margins: FloatArray) -> FloatArray:
    """Real roots above -1 of each polynomial, shape (2 O, K); NaN where there is none."""
    constant, linear, square = np.moveaxis(margins, 1, 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inside = np.sqrt(linear**2 - 4 * square * constant)
        # Without the difference of two numbers that are nearly the same.
        half = -(linear + np.where(linear < 0, -inside, inside)) / 2
        roots = np.concatenate([half / square, constant / half])
        return np.where(np.isfinite(roots) & (roots > -1), roots, np.nan)
