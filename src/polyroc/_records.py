"""The frozen records that pass from one step to the next.

Predictions or ScoreCounts -> PairwiseRates -> Factorization -> RocCurve. The arrays of a record cannot be written, nor
those of a copy of it. Scores and weights are not copied, so their owner can still change them: an evaluation notices
that by its fingerprint before it reads them again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from polyroc._lib.grid import row_weights
from polyroc._lib.typing import BoolArray, FloatArray, IntArray, LabelArray

ArrayT = TypeVar("ArrayT", bound=np.ndarray[Any, Any])


def read_only(array: ArrayT) -> ArrayT:
    """The array itself, no longer writeable."""
    array.flags.writeable = False
    return array


class Frozen:
    """A record whose arrays become read-only views when it is made, and whose mappings become read-only copies."""

    def __post_init__(self) -> None:
        # So far a record has its fields and nothing else.
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                # A view, so that an array the caller passed in stays theirs to write.
                object.__setattr__(self, name, read_only(value.view()))
            elif isinstance(value, Mapping) and not name.startswith("_"):  # private ones are caches
                views = {key: read_only(x.view()) if isinstance(x, np.ndarray) else x for key, x in value.items()}
                object.__setattr__(self, name, MappingProxyType(views))

    def __getstate__(self) -> dict[str, Any]:
        # A read-only mapping cannot be pickled.
        return {name: dict(x) if isinstance(x, MappingProxyType) else x for name, x in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays come writeable out of a pickle and out of a deep copy, the cached ones too.
        for value in state.values():
            if isinstance(value, np.ndarray):
                read_only(value)
        self.__dict__.update(state)
        for name in getattr(self, "__dataclass_fields__", ()):
            if isinstance(value := state.get(name), dict) and not name.startswith("_"):
                for array in value.values():
                    if isinstance(array, np.ndarray):
                        read_only(array)
                self.__dict__[name] = MappingProxyType(value)


class Source(Protocol):
    """Source of scores, known by its classes: samples, or counts of samples, which can be added."""

    @property
    def labels(self) -> LabelArray:
        """The k classes, in the order of the score columns."""

    @property
    def n_samples(self) -> int:
        """Samples that counted."""

    @property
    def n_columns(self) -> int:
        """Score columns: k, or 1 of two classes."""

    @property
    def is_binary(self) -> bool:
        """Two classes by the number of columns: the ordinary ROC curve."""

    @property
    def is_weighted(self) -> bool:
        """Whether samples have weights of their own."""

    @property
    def class_counts(self) -> IntArray:
        """Number of samples of each class, shape (k,)."""

    @property
    def class_weights(self) -> FloatArray:
        """Sum of the sample weights of each class, shape (k,)."""

    @property
    def effective_counts(self) -> FloatArray:
        """Kish's effective number of samples of each class, shape (k,)."""


@dataclass(frozen=True, eq=False)
class Predictions(Frozen):
    """Scores of n samples for k classes, with their true classes: the source that holds every sample.

    Samples of weight 0 are already gone, and everything has been checked.
    """

    codes: IntArray
    """True class of each sample as a position in `labels`, shape (n,)."""
    scores: FloatArray
    """One column per class, shape (n, k); or (n, 1), the score of the second of two classes."""
    labels: LabelArray
    """The k classes, in the order of the score columns."""
    sample_weight: FloatArray | None = None
    """Positive weights, shape (n,); None where all are 1."""
    kept: BoolArray | None = None
    """Which of the samples that came are here, where some had weight 0; None where all are."""

    @property
    def n_samples(self) -> int:
        return len(self.codes)

    @property
    def n_columns(self) -> int:
        return int(self.scores.shape[1])

    @property
    def is_binary(self) -> bool:
        return self.n_columns <= 2

    @property
    def device(self) -> str | None:
        """The card on which the samples lie; None for the host."""
        return None

    @property
    def is_weighted(self) -> bool:
        return self.sample_weight is not None

    @cached_property
    def class_counts(self) -> IntArray:
        return read_only(np.bincount(self.codes, minlength=len(self.labels)))

    @cached_property
    def class_weights(self) -> FloatArray:
        if self.sample_weight is None:
            return read_only(self.class_counts.astype(float))
        total = np.bincount(self.codes, self.sample_weight, minlength=len(self.labels))
        return read_only(total.astype(float, copy=False))

    @cached_property
    def effective_counts(self) -> FloatArray:
        # Kish: (sum w)^2 / sum w^2.
        if self.sample_weight is None:
            return read_only(self.class_counts.astype(float))
        # Divided by the largest weight first, so that squares can neither overflow nor vanish.
        largest = np.zeros(len(self.labels))
        np.maximum.at(largest, self.codes, self.sample_weight)
        relative = self.sample_weight / largest[self.codes]
        total = np.bincount(self.codes, relative, minlength=len(self.labels))
        squares = np.bincount(self.codes, relative**2, minlength=len(self.labels))
        return read_only(np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0))


@dataclass(frozen=True, eq=False)
class ColumnCounts(Frozen):
    """One column of scores, counted: how much of each class lies in each bin."""

    bins: IntArray
    """The bins that have samples, the highest scores first, shape (B,)."""
    weight: FloatArray | IntArray
    """Number of samples of each class in each bin, or their weight, shape (B, k)."""
    is_tie: BoolArray
    """Whether all samples of the bin have the same score, shape (B,): then exact comparisons are ties, too."""

    def shares(self) -> FloatArray:
        """Share of each class in the bins before each bin, and in all of them, shape (B + 1, k); 0 without samples."""
        # Not kept: those of all columns would take as much memory as the counts.
        cumulated = np.zeros((len(self.bins) + 1, self.weight.shape[1]))
        # Whole numbers are added as such, so that no order of samples changes a bit.
        cumulated[1:] = np.cumsum(self.weight, axis=0)
        total = cumulated[-1].copy()
        np.divide(cumulated, total, out=cumulated, where=total > 0)
        return cumulated


class Binning(Protocol):
    """How scores are put into bins, which are numbered in the order of the scores."""

    def lower_ends(self, index: IntArray) -> FloatArray:
        """The lowest score of each bin."""

    def coarser(self, index: IntArray) -> IntArray:
        """Bins twice as wide."""

    def slots(self, index: IntArray) -> IntArray:
        """For every bin that a score can be put into, its place among these bins; -1 where it has none."""


@dataclass(frozen=True, eq=False)
class RowCounts(Frozen):
    """Counts of predicted classes, and the range of the scores: all that is kept of rows."""

    confusion: FloatArray | IntArray
    """Weight of the samples of each class (row) for which each class is predicted (column), shape (k, k)."""
    times: IntArray
    """How often each class is predicted, shape (k,)."""
    lowest: FloatArray
    """Lowest score of each column, shape (k,)."""
    highest: FloatArray
    worst_row: float
    """How far the sum of a row is from 1 at most."""


@dataclass(frozen=True, eq=False)
class ScoreCounts(Frozen):
    """Counts of the scores of each class in each column: the source that holds no sample.

    Own and shared thresholds need no more: they compare scores of classes within columns. A bin is a large tie.
    """

    labels: LabelArray
    columns: tuple[ColumnCounts, ...]
    class_counts: IntArray
    class_weights: FloatArray
    effective_counts: FloatArray
    is_weighted: bool
    row_counts: RowCounts | None
    """None of a single column."""
    bins: Binning
    """How scores were binned."""
    lowest: float
    highest: float
    """Of all scores."""

    @property
    def n_samples(self) -> int:
        return int(self.class_counts.sum())

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    @property
    def is_binary(self) -> bool:
        return self.n_columns <= 2


class PairIndex(Protocol):
    """The ordered pairs (positive, negative) as positions of classes, and the score column that ranks each."""

    @property
    def positive(self) -> IntArray:
        """Shape (K,)."""

    @property
    def negative(self) -> IntArray:
        """Shape (K,)."""

    @property
    def column(self) -> IntArray:
        """Shape (K,): that of the positive class, or the only one of two classes."""

    @property
    def stratum(self) -> IntArray | None:
        """Stratum of each pair in a sample of the pairs; None if all pairs are there."""

    def __len__(self) -> int: ...

    def part(self, start: int, stop: int) -> "SomePairs":
        """The pairs from one place to another, without those before and after."""


@dataclass(frozen=True, eq=False)
class SomePairs(Frozen):
    """Pairs that are listed, shape (K,) each."""

    positive: IntArray
    negative: IntArray
    column: IntArray
    stratum: IntArray | None = None

    def __len__(self) -> int:
        return len(self.positive)

    def part(self, start: int, stop: int) -> "SomePairs":
        return chosen_pairs(self, slice(start, stop))


@dataclass(frozen=True, eq=False)
class AllPairs(Frozen):
    """Every ordered pair of some classes, positive-major: a rule, of which lists are made only where asked for.

    Of 10,000 classes the three lists would take 2.4 GB.

    >>> pairs = AllPairs(np.array([0, 2, 5]))
    >>> len(pairs), pairs.positive.tolist(), pairs.negative.tolist()
    (6, [0, 0, 2, 2, 5, 5], [2, 5, 0, 5, 0, 2])
    >>> pairs.part(3, 5).negative.tolist()
    [5, 0]
    """

    classes: IntArray
    """Positions of the classes that have samples, in rising order."""

    @property
    def stratum(self) -> None:
        return None

    @cached_property
    def positive(self) -> IntArray:
        return read_only(self._at(0, len(self))[0])

    @cached_property
    def negative(self) -> IntArray:
        return read_only(self._at(0, len(self))[1])

    @property
    def column(self) -> IntArray:
        return self.positive

    def __len__(self) -> int:
        return len(self.classes) * (len(self.classes) - 1)

    def part(self, start: int, stop: int) -> SomePairs:
        positive, negative = self._at(start, stop)
        return SomePairs(positive, negative, positive)

    def _at(self, start: int, stop: int) -> tuple[IntArray, IntArray]:
        first, second = np.divmod(np.arange(start, stop), max(1, len(self.classes) - 1))
        # A class is not paired with itself: from there on, the others stand one place further.
        return self.classes[first], self.classes[second + (second >= first)]

    def __getstate__(self) -> dict[str, Any]:
        return {"classes": self.classes}


def chosen_pairs(pairs: PairIndex, which: Any) -> SomePairs:
    """Some of the pairs, by a mask, positions or a slice; no longer a sample by strata."""
    return SomePairs(pairs.positive[which], pairs.negative[which], pairs.column[which])


@dataclass(frozen=True, eq=False)
class PairwiseRates(Frozen):
    """True and false positive rates of every pair at every call rate.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> evaluation.rates.tpr.shape  # call rates, ordered pairs
    (111, 90)
    """

    tpr: FloatArray
    """Share of the positive class called positive, shape (T, K)."""
    separate_fpr: FloatArray | None = field(repr=False)
    """`fpr` where it is stored; None where it follows from the rest, since TPR + FPR is twice the call rate."""
    call_rates: FloatArray
    """Share called positive at each grid point, each class counting one half, shape (T,)."""
    most_kept: ClassVar[int] = 4_000_000
    """Rates of more cells than this are not kept with a result but computed again when somebody asks for them."""

    @cached_property
    def fpr(self) -> FloatArray:
        """Share of the negative class called positive, shape (T, K)."""
        if self.separate_fpr is not None:
            return self.separate_fpr
        doubled = (2 * self.call_rates).astype(self.tpr.dtype)[:, None]
        return read_only(np.clip(doubled - self.tpr, 0, 1))

    @cached_property
    def row_weights(self) -> FloatArray:
        """Weight of each call rate in the fit, shape (T,): its share of the range from 0 to 1, with mean 1."""
        return read_only(row_weights(self.call_rates))

    def of_pairs(self, chosen: IntArray | BoolArray) -> "PairwiseRates":
        """The rates of some of the pairs."""
        # Taken by pairs: those of the fast engine lie together so.
        tpr = self.tpr.T[chosen].T
        fpr = None if self.separate_fpr is None else self.separate_fpr.T[chosen].T
        return PairwiseRates(tpr, fpr, self.call_rates)

    def __repr__(self) -> str:
        return f"PairwiseRates(tpr and fpr of {self.n_pairs} ordered pairs at {self.n_call_rates} call rates)"

    @property
    def n_call_rates(self) -> int:
        return int(self.tpr.shape[0])

    @property
    def n_pairs(self) -> int:
        return int(self.tpr.shape[1])


@dataclass(frozen=True, eq=False)
class PairWeights(Frozen):
    """Weights of the pairs in the fit."""

    tpr: FloatArray
    fpr: FloatArray
    """Weights of the pair's true and false positive rates, shape (K,) each."""
    size: FloatArray
    """Number of samples behind the pair's rates, shape (K,): how little they are shrunk."""


class Status(StrEnum):
    """How a fit ended; `message` says it in a sentence.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> evaluation.factorization.status is polyroc.Status.CONVERGED
    True
    """

    CONVERGED = "converged"
    MAX_ITER = "max-iter"
    STALLED = "stalled"
    SADDLE = "saddle"

    @property
    def message(self) -> str:
        return {
            Status.CONVERGED: "The fit converged.",
            Status.MAX_ITER: "The fit ran out of iterations before it converged.",
            Status.STALLED: "No further step lowered the deviance, though the fit had not converged.",
            Status.SADDLE: "The fit stopped at a saddle point: nothing pulls there, but the optimum lies elsewhere.",
        }[self]


@dataclass(frozen=True, eq=False)
class Factorization(Frozen):
    """The threshold effects all pairs share, and how sharp each pair is.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> fit = evaluation.factorization
    >>> fit.status, fit.n_iter > 0
    (<Status.CONVERGED: 'converged'>, True)
    """

    row_effects: FloatArray
    """Shared effects on the logit scale, shape (2T,): T for the true positive rates, then T for the false."""
    pair_effects: FloatArray
    """How sharp each pair is, shape (K,): 1 as the shared curve, more above; around 0 in the centered structure."""
    deviance: float
    deviance_path: FloatArray
    """Deviance at the start and after each accepted step."""
    n_iter: int
    status: Status
    mean_rates: FloatArray
    """Mean of each row's rates under the weights of the pairs, shape (2T,), as `row_effects`: without any fit."""
    chance_deviance: float | None = None
    """Deviance of the same rates from chance, where both rates of every pair are the call rate; None without a fit."""
    is_single: bool = False
    """Whether cells were swept in single precision, for which convergence has wider limits (method, step 6)."""

    def __repr__(self) -> str:
        sizes = f"{len(self.row_effects)} row effects, {len(self.pair_effects)} pair effects"
        how = f"{self.status} in single precision" if self.is_single else self.status
        return f"Factorization({sizes}, deviance={self.deviance:.4g}, {how} after {self.n_iter} iterations)"

    @property
    def message(self) -> str:
        """How the fit ended, in a sentence, and in which precision if that was single."""
        return f"{self.status.message[:-1]}, in single precision." if self.is_single else self.status.message

    @property
    def explained(self) -> float | None:
        """Share of what the pairs have beyond chance that one curve with pair effects explains, from 0 to 1.

        One minus the deviance of the fit over that of chance, where TPR and FPR of every pair are the call rate. 1
        where nothing is beyond chance. None where nothing is fitted: for two classes, and in the saturated structure.
        """
        if self.chance_deviance is None:
            return None
        # Less in a cell is rounding, also in single precision.
        if self.chance_deviance <= 1e-9 * len(self.row_effects) * len(self.pair_effects):
            return 1.0
        return min(1.0, max(0.0, 1 - self.deviance / self.chance_deviance))

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


@dataclass(frozen=True, eq=False)
class RankOneFits(Frozen):
    """Results of R replicates of the fit."""

    row_effects: FloatArray
    """Shared effects on the logit scale, shape (R, 2T)."""
    mean_area: FloatArray
    """Mean of the Mann-Whitney areas of the pairs, shape (R,)."""
    weighted_area: FloatArray
    """The same under the weights of the pairs' true positive rates, shape (R,)."""
    mean_rates: FloatArray
    """Mean of the pairs' rates under their weights, shape (R, 2T)."""
    converged: BoolArray
    """Whether each fit converged, shape (R,)."""
