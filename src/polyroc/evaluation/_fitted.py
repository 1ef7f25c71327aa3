"""Fitted: a source made ready, what was fitted to it, and the numbers that follow without any interval."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from typing import Any, NamedTuple

import numpy as np

from polyroc._core import Prepared
from polyroc._core.adjoint import (
    Curvature,
    Gradient,
    area_gradient,
    held_pairs,
    mean_area_gradient,
    mean_point_gradient,
    point_gradient,
)
from polyroc._core.curve import RocCurve, area_weights, is_mean, mean_curve
from polyroc._core.factorization import pair_sampling_error, unshrunk_curve
from polyroc._core.influence import reach_of_points
from polyroc._core.polygons import difference_hull_areas, hull_areas
from polyroc._core.rates import rates_of
from polyroc._core.weights import pair_weights
from polyroc._counts.counted import CountedPrepared, InfluenceTables
from polyroc._inputs.arrays import FrameBackend, frame_of, plain
from polyroc._inputs.fingerprint import Fingerprint
from polyroc._inputs.options import Options
from polyroc._lib.typing import AnyStatistic, Curve, FloatArray, IntArray, LabelArray, Thresholds
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import (
    Factorization,
    Frozen,
    PairIndex,
    PairWeights,
    PairwiseRates,
    Predictions,
    Source,
    read_only,
)
from polyroc._uncertainty.replicates import USUAL_RESAMPLES, Replicates


@dataclass(frozen=True, eq=False)
class Fitted(Frozen):
    """A prepared source and its fit: point estimates, and what each sample adds to them."""

    prepared: Prepared
    options: Options
    curve: RocCurve
    factorization: Factorization
    pairs: PairIndex
    kept_rates: PairwiseRates | None
    """None of very many cells, which are computed again on access."""
    fingerprint: Fingerprint
    """Of the samples when they were evaluated."""

    @property
    def source(self) -> Source:
        return self.prepared.source

    @property
    def samples(self) -> Predictions:
        """The source if it holds samples; an error that says so if it holds counts."""
        return self.prepared.samples

    @property
    def has_samples(self) -> bool:
        return isinstance(self.source, Predictions)

    @property
    def unchanged(self) -> Prepared:
        """The prepared source, for reading samples again; an error if they were changed since."""
        self.fingerprint.check(self.source)
        return self.prepared

    @property
    def thresholds(self) -> Thresholds:
        """How the pairs are ranked: two classes by their one column, whatever was asked for."""
        return "own" if self.source.is_binary else self.options.thresholds

    @cached_property
    @underflow_is_zero
    def areas(self) -> FloatArray:
        """Area of each pair as it is ranked, shape (K,)."""
        return read_only(self.unchanged.areas(self.pairs, self.thresholds))

    @cached_property
    @underflow_is_zero
    def own_areas(self) -> FloatArray:
        """Areas of the pairs by the columns themselves, also if pairs are ranked by differences of columns."""
        return self.unchanged.areas(self.pairs) if self.thresholds == "difference" else self.areas

    @cached_property
    @underflow_is_zero
    def hand_till(self) -> float:
        return float(np.mean(self.own_areas))

    @property
    def mean_area(self) -> float:
        """The mean of the areas of the pairs as they are ranked: M, or AUCmu if that is by differences."""
        return float(np.mean(self.areas))

    def hull_areas(self) -> FloatArray:
        """Areas under the hulls of the pairs, ranked as `areas`."""
        passes = difference_hull_areas if self.thresholds == "difference" else hull_areas
        self.fingerprint.check(self.samples)
        return passes(self.samples, self.pairs, self.prepared.resources.n_jobs)

    @cached_property
    @underflow_is_zero
    def rates(self) -> PairwiseRates:
        return rates_of(self.unchanged, self.pairs, self.options) if self.kept_rates is None else self.kept_rates

    @property
    def weights(self) -> PairWeights:
        """Weight of each pair in the fit."""
        return pair_weights(self.source, self.pairs, self.options)

    @cached_property
    def area_weights(self) -> FloatArray | None:
        """Weight of each pairwise area in the area under the mean curve; None if that is no mean of areas."""
        return area_weights(self.weights, self.thresholds)

    @property
    def mean_is_hand_till(self) -> bool:
        """Whether the area under the mean curve is M."""
        return self.thresholds == "own" and is_mean(self.area_weights)

    @cached_property
    @underflow_is_zero
    def mean_curve(self) -> RocCurve:
        if self.source.is_binary:
            return self.curve
        shares, exact = self.area_weights, None
        if shares is not None:
            exact = self.mean_area if is_mean(shares) else min(1.0, float(shares @ self.areas))
        return mean_curve(self.factorization.mean_rates, exact)

    @cached_property
    @underflow_is_zero
    def unshrunk_curve(self) -> RocCurve | None:
        """The curve without shrinkage, by one more fit; None of two classes, whose curve is no fit."""
        return unshrunk_curve(self.prepared, self.pairs, self.rates, self.options, self.factorization)

    def pair_error(self, max_fpr: float | None = None) -> float:
        """Standard error that a sample of the pairs adds to D, or to the partial area."""
        stratum = self.pairs.stratum
        if stratum is None:
            return 0.0
        return pair_sampling_error(self.prepared, self.pairs, self.rates, self.options, stratum, max_fpr)

    def replicates(self, n_resamples: int = USUAL_RESAMPLES, *, n_models: int = 1) -> Replicates:
        """The same evaluation under other sample weights, prepared for about this many of them.

        Refused if there is no memory for these, and for those of as many models.
        """
        return Replicates(self.unchanged, self.pairs, self.options, n_resamples, n_models)

    def influences(self, statistic: AnyStatistic, max_fpr: float | None = None) -> FloatArray:
        """Influence of each sample on a statistic, shape (n,); they sum to 0 within each class.

        `max_fpr` is that of the partial area, which has no formula for two classes.
        """
        if (shares := self._shares_of(statistic)) is not None:
            thresholds = "own" if statistic == "hand_till" else self.thresholds
            return self.prepared.area_influences(self.pairs, shares, thresholds)
        gradient = self.gradient(statistic, max_fpr)
        found: FloatArray = self.prepared.influences(self.pairs, self.rates.call_rates, self.thresholds, gradient)[0]
        return found

    def tables(self, statistic: AnyStatistic) -> InfluenceTables:
        """The same for counted scores: what a sample adds by the bins of its scores."""
        assert isinstance(self.prepared, CountedPrepared)
        if (shares := self._shares_of(statistic)) is not None:
            return self.prepared.area_tables(self.pairs, shares)
        gradient = self.gradient(statistic)
        return self.prepared.influence_tables(self.pairs, self.rates.call_rates, self.thresholds, gradient)

    @property
    def equal_shares(self) -> FloatArray:
        # One number, repeated: a million of them need not be made, nor sent to a card.
        return np.broadcast_to(1 / len(self.pairs), len(self.pairs))

    def _shares_of(self, statistic: AnyStatistic) -> FloatArray | None:
        """Weight of each pairwise area in a statistic; None if that is no mean of areas."""
        if statistic == "hand_till" or self.source.is_binary:
            return self.equal_shares
        return self.area_weights if statistic == "mean_auc" else None

    def gradient(self, statistic: AnyStatistic, max_fpr: float | None = None) -> Gradient:
        """Derivatives of D, of the partial area or of the area under the mean curve by the pairwise rates."""
        if statistic == "mean_auc":
            return mean_area_gradient(self.factorization, self.weights)
        return area_gradient(
            self.factorization,
            self.rates,
            self.weights,
            shrinkage=self.options.shrinkage,
            structure=self.options.structure,
            curvature=self._curvature,
            max_fpr=max_fpr,
        )

    def point_influences(self, curve: Curve) -> FloatArray:
        """Influence of each sample on TPR and FPR at every call rate of a curve, shape (2T, n)."""
        if curve == "mean":
            gradient = mean_point_gradient(self.weights, self.rates.n_call_rates)
        else:
            gradient = point_gradient(
                self.factorization,
                self.rates,
                self.weights,
                shrinkage=self.options.shrinkage,
                structure=self.options.structure,
                curvature=self._curvature,
            )
        counts = self.source.class_counts
        least = reach_of_points(int(counts[counts > 0].min()))
        asked = (self.pairs, self.rates.call_rates, self.thresholds, gradient)
        return self.prepared.influences(*asked, least_reach=least)

    @property
    def _curvature(self) -> Curvature | None:
        """The engine's passes over the cells; few pairs need none."""
        if self.options.structure != "rank-one":
            return None
        return self.prepared.curvature(self.factorization, self.rates, self.weights, self.options.shrinkage)

    @property
    def doubt(self) -> str:
        """Why the influences of D do not carry an interval; empty if they do."""
        if self.source.is_binary:
            return ""
        if self.options.structure == "centered":
            return "the centered structure has no formula"
        if not self.factorization.converged:
            return "the fit did not converge"
        if self.options.structure == "rank-one" and (held := int(np.count_nonzero(held_pairs(self.factorization)))):
            return f"the fit holds {held} of {len(self.pairs)} pairs at the border, where D has a kink"
        return ""


class Pair(NamedTuple):
    """One ordered pair of classes: one entry of `Pairs`.

    >>> import polyroc
    >>> pair = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).worst_pair
    >>> pair.positive, pair.negative, pair.auc
    (1, 0, 0.75)
    """

    positive: Any
    negative: Any
    n_positive: int
    n_negative: int
    effect: float
    auc: float


@dataclass(frozen=True, eq=False)
class Pairs(Frozen):
    """Table of the ordered pairs of classes, one entry per pair in each column.

    ``pairs[i]`` is one `Pair`, and a loop over the table gives them all.

    Attributes
    ----------
    positive, negative : ndarray of shape (n_pairs,)
        The two classes; the score is the positive class's column.
    n_positive, n_negative : ndarray of shape (n_pairs,)
        Their numbers of samples.
    auc : ndarray of shape (n_pairs,)
        Mann-Whitney area A(i, j), ties counted one half.
    effect : ndarray of shape (n_pairs,)
        How the pair compares with the shared curve: above 1 it is easier, below 1 harder.
    hull_area : ndarray of shape (n_pairs,)
        Area under the convex hull of the pair's ROC curve. Computed on first access, and not in `to_frame`.

    Examples
    --------
    >>> import polyroc
    >>> pairs = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).pairs
    >>> [(pair.positive, pair.negative, pair.auc) for pair in pairs]
    [(1, 0, 0.75)]
    """

    positive: LabelArray
    negative: LabelArray
    n_positive: IntArray
    n_negative: IntArray
    effect: FloatArray
    auc: FloatArray
    _hull_areas: Callable[[], FloatArray] | None = field(default=None, repr=False)
    """Passes over the samples for `hull_area`; None in a table that was made without samples."""

    @cached_property
    @underflow_is_zero
    def hull_area(self) -> FloatArray:
        """Area under the upper convex hull of each pair's ROC curve, shape (n_pairs,), ranked as for `auc`.

        What the pair could reach if its scores were recalibrated by merging neighbours: the corners of the hull are
        the thresholds that are best at some costs (Provost and Fawcett 2001; Flach and Provost's repaired curves). It
        is at least `auc`, and equals it where the curve is concave. It is found on these samples, so it is optimistic
        for new ones, most of all for small classes.

        Examples
        --------
        The middle two scores are in the wrong order. Merged, they are no longer wrong.

        >>> import polyroc
        >>> pairs = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).pairs
        >>> pairs.auc.tolist(), pairs.hull_area.tolist()
        ([0.75], [0.875])
        """
        if self._hull_areas is None:
            msg = "These pairs were made without samples, so their hulls are unknown: use `evaluate(...).pairs`."
            raise AttributeError(msg)
        # Sums in another order: where the curve is concave, rounding may leave less.
        return read_only(np.maximum(self._hull_areas(), self.auc))

    def __len__(self) -> int:
        return len(self.positive)

    def __getitem__(self, position: int) -> Pair:
        # An array has its own error for a position that is not there; slices and masks are for the columns.
        place = range(len(self))[index(position)]
        return Pair(
            positive=self.positive[place : place + 1].tolist()[0],
            negative=self.negative[place : place + 1].tolist()[0],
            n_positive=int(self.n_positive[place]),
            n_negative=int(self.n_negative[place]),
            effect=float(self.effect[place]),
            auc=float(self.auc[place]),
        )

    def __iter__(self) -> Iterator[Pair]:
        return (self[place] for place in range(len(self)))

    @property
    def worst(self) -> Pair:
        """The pair with the smallest area; the first of several."""
        return self[int(np.argmin(self.auc))]

    def __repr__(self) -> str:
        return f"Pairs({len(self)} ordered pairs: positive, negative, n_positive, n_negative, auc, effect)"

    def to_dict(self) -> dict[str, list[Any]]:
        """The table as plain lists by column name."""
        return {name: plain(column) for name, column in self._columns().items()}

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """The table as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> evaluation.pairs.to_frame("pandas").shape
        (90, 6)
        """
        return frame_of(self._columns(), backend)

    def _columns(self) -> dict[str, np.ndarray[Any, Any]]:
        names = ("positive", "negative", "n_positive", "n_negative", "auc", "effect")
        return {name: getattr(self, name) for name in names}
