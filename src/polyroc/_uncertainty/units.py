"""What is independent (samples, groups, or sums over samples that nobody keeps), and which of it a replicate draws."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from polyroc._counts.counted import SamplesNeededError
from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError
from polyroc._lib.typing import AnyStatistic, BoolArray, FloatArray, IntArray
from polyroc._records import Frozen, PairIndex, Predictions

# Numbers from one stream to the next: numpy's own jump, the golden ratio of the period. So even millions of streams
# stay more than 2**100 numbers apart.
_APART = 0x9E3779B97F4A7C15F39CC0605CEDC835
_PERIOD = 1 << 128


class Streams:
    """One stream of random numbers per replicate: places in the single long sequence of a seed.

    A generator is moved to the place instead of seeded anew, which would take as long as 3,000 random numbers.
    """

    def __init__(self, seed: Sequence[int]) -> None:
        self._beginning = np.random.PCG64DXSM(np.random.SeedSequence(seed)).state

    def __call__(self, start: int, stop: int) -> Iterator[np.random.Generator]:
        """For each replicate of a block a generator at the beginning of its stream, valid until the next one is asked.

        Blocks may be asked for on several threads at once: each has a generator of its own.
        """
        bits = np.random.PCG64DXSM(0)
        rng = np.random.Generator(bits)
        for number in range(start, stop):
            bits.state = self._beginning
            bits.advance(number * _APART % _PERIOD)
            yield rng


def normal_errors(noise: FloatArray, covariance: FloatArray) -> FloatArray:
    """Errors with this covariance, shape (N, m), from independent ones of variance 1.

    By the symmetric root of the covariance, because there is only one. The signs of eigenvectors, and their directions
    where eigenvalues are alike, depend on the machine, and so would what is drawn along them.

    >>> import numpy as np
    >>> normal_errors(np.eye(2), np.array([[5.0, 4.0], [4.0, 5.0]])).round(12)
    array([[2., 1.],
           [1., 2.]])
    """
    values, vectors = np.linalg.eigh(covariance)
    # Rounding may leave a covariance a little below 0 in directions in which nothing varies.
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    found: FloatArray = noise @ root
    return found


@dataclass(frozen=True, eq=False)
class StreamedUnits(Frozen):
    """Samples, each within its class, by the sums over them. In place of influences stand combinations, shape (m,).

    With x_1 .. x_m what a sample adds to m statistics, any combination c of them has the influence c'x. So the sums of
    x x' in each class give every variance, covariance and paired difference; and the sums of all products of four give
    the degrees of freedom. Both are added batch by batch, and over the parts of a cluster.
    """

    sizes: IntArray
    """Number of samples of each class, shape (k,)."""
    squares: FloatArray
    """Sum of x x', shape (k, m, m). The sum of x over a class is 0, because influences are centred there."""
    fourths: FloatArray
    """Sum of z z' with z all products of two of x, shape (k, q, q), q = m (m + 1) / 2."""
    one_sided: FloatArray
    """Of the differences of each two of x, p = m (m - 1) / 2 of them: sums and sums of squares of those above 0, and of
    those below, shape (p, 2, 2)."""
    largest: FloatArray
    """The largest of those above 0, and of those below, shape (p, 2)."""
    are_groups: bool = False

    @property
    def n_units(self) -> int:
        return int(self.sizes.sum())

    def covariance(self, combinations: FloatArray) -> FloatArray:
        """Covariance of combinations, shape (r, m), as that of influences: (r, r)."""
        u = np.maximum(self.sizes, 2)[:, None, None]
        summed = np.sum(np.where(self.sizes[:, None, None] > 1, u / (u - 1), 1.0) * self.squares, axis=0)
        found: FloatArray = combinations @ summed @ combinations.T
        # A variance is a sum of squares. That of a difference is made of large terms that cancel, so rounding can put
        # it below 0 if two models have the same scores, when it is 0.
        np.fill_diagonal(found, np.maximum(found.diagonal(), 0.0))
        return found

    def variance_and_fourth(self, combination: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums over each class of the second and the fourth power of a combination, shape (k,) each."""
        first, second = np.triu_indices(len(combination))
        products = combination[first] * combination[second] * np.where(first == second, 1, 2)
        squares = np.einsum("a,cab,b->c", combination, self.squares, combination)
        return squares, np.einsum("p,cpq,q->c", products, self.fourths, products)

    def sides(self, combination: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of a difference of two statistics, one less the other: `_delong.sides`."""
        first, second = int(np.argmax(combination)), int(np.argmin(combination))
        a, b = sorted((first, second))
        # In the order of `differences`.
        place = a * len(combination) - a * (a + 1) // 2 + b - a - 1
        more, less = np.hstack([self.one_sided[place], self.largest[place][:, None]])
        return (more, less) if first < second else (less, more)


def products(x: FloatArray) -> FloatArray:
    """All products of two of the statistics, shape (n, q) from (n, m), in the order of `fourths`."""
    first, second = np.triu_indices(x.shape[1])
    found: FloatArray = x[:, first] * x[:, second]
    return found


def differences(x: FloatArray) -> FloatArray:
    """The differences of each two of the statistics, shape (n, p) from (n, m), in the order of `one_sided`."""
    first, second = np.triu_indices(x.shape[1], 1)
    found: FloatArray = x[:, first] - x[:, second]
    return found


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a second pass found out about the samples behind an evaluation."""

    units: "AnyUnits"
    influences: Mapping[str, FloatArray]
    """By statistic: a combination of what was streamed, or what each group adds."""

    def of(self, statistic: AnyStatistic) -> FloatArray:
        """That of one statistic."""
        if statistic not in self.influences:
            rule = f"must be one of {', '.join(map(repr, self.influences))} for counted scores"
            raise InputError("statistic", rule, repr(statistic))
        return self.influences[statistic]


# Samples weighed at once in one thread, over all replicates of a block.
_BLOCK_SAMPLES = 65_536
_BLOCK_REPLICATES = 16


@dataclass(frozen=True, eq=False)
class Units(Frozen):
    """What is resampled: single samples or whole groups, each within its stratum."""

    unit: IntArray
    """The unit of each sample, shape (n,)."""
    stratum: IntArray
    """The stratum of each unit, shape (U,)."""
    are_groups: bool
    by_class: IntArray | None = None
    """In how many groups each class occurs, shape (k,), where samples themselves are no longer there to tell."""

    @property
    def n_units(self) -> int:
        return len(self.stratum)

    @cached_property
    def sizes(self) -> IntArray:
        """Units of each stratum."""
        return np.bincount(self.stratum)

    def sums(self, values: FloatArray) -> FloatArray:
        """A number of each sample, shape (n,), summed over each unit, shape (U,)."""
        if not self.are_groups:  # each sample is a unit of its own, in their order
            return values
        return np.bincount(self.unit, values, minlength=self.n_units).astype(float, copy=False)

    def centred(self, values: FloatArray) -> FloatArray:
        """A number of each unit, shape (U,), less the mean of its stratum."""
        mean = np.bincount(self.stratum, values) / np.maximum(self.sizes, 1)
        found: FloatArray = values - mean[self.stratum]
        return found


# Samples that are there, or the sums over samples that are not.
AnyUnits: TypeAlias = Units | StreamedUnits


def sampled_units(units: AnyUnits) -> Units:
    """Units whose samples are there; a ValueError that says so where they are not."""
    if isinstance(units, StreamedUnits):
        raise SamplesNeededError
    return units


def units_of(predictions: Predictions, groups: Any) -> Units:
    """Single samples, resampled within their class; or whole groups, if given."""
    if groups is None:
        return Units(np.arange(predictions.n_samples), predictions.codes, are_groups=False)
    return _groups_as_units(predictions, groups)


def _groups_as_units(predictions: Predictions, groups: Any) -> Units:
    """Where each group holds a single class, groups are drawn within the classes, as single samples are."""
    n_given = predictions.n_samples if predictions.kept is None else len(predictions.kept)
    named = read_labels(groups, "groups")
    if len(named) != n_given:
        raise InputError("groups", f"must have one entry per sample, {n_given}", f"{len(named)}")
    if predictions.kept is not None:
        named = named[predictions.kept]
    distinct, first, unit = np.unique(named, return_index=True, return_inverse=True)
    # Numbered as they come, so that other names for the same groups give the same draws.
    unit = np.argsort(np.argsort(first))[unit]
    if len(distinct) < 2:
        raise InputError(
            "groups", "must name at least two groups", "one", hint=": with a single group nothing can be drawn"
        )
    lowest, highest = np.full(len(distinct), len(predictions.labels)), np.full(len(distinct), -1)
    np.minimum.at(lowest, unit, predictions.codes)
    np.maximum.at(highest, unit, predictions.codes)
    stratum = lowest if np.array_equal(lowest, highest) else np.zeros(len(distinct), dtype=np.intp)
    return Units(unit, stratum, are_groups=True)


@dataclass(frozen=True, eq=False)
class ResamplingPlan:
    """Draws of units with replacement, by strata; each depends on the seed and on its own number alone.

    Each stratum of size u contributes u - 1 draws (Rao and Wu 1988), which makes the bootstrap variance unbiased.
    With u draws it would be too small by the factor (u - 1) / u, which matters for small classes.

    A draw of groups that holds no pair of classes to be compared has no statistic, and is drawn again: the replicates
    are those of draws that can be evaluated.
    """

    predictions: Predictions
    units: Units
    n_resamples: int
    seed: Sequence[int]
    pairs: PairIndex | None = None
    """The pairs that are compared; None for all."""

    def __post_init__(self) -> None:
        # Of three groups or more, two are drawn at least, so that some draw holds both classes of any pair.
        if not self._is_one_group_drawn or any(map(self._has_pair, np.eye(self.units.n_units)[:, self.units.unit])):
            return
        raise InputError(
            "groups",
            "must not leave every resample without a pair of classes to compare",
            "two groups, of which one is drawn",
            hint=": neither holds both classes of a pair that `max_pairs` sampled. Pass more groups or a "
            "larger `max_pairs`",
        )

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """First and last + 1 of the replicates that are drawn together: a matter of speed, which changes no draw."""
        return self.blocks_of(max(1, min(_BLOCK_REPLICATES, _BLOCK_SAMPLES // self.predictions.n_samples)))

    def blocks_of(self, size: int) -> list[tuple[int, int]]:
        """The same, of a size that an engine wants."""
        return [(start, min(start + size, self.n_resamples)) for start in range(0, self.n_resamples, size)]

    def weights(self, start: int, stop: int) -> FloatArray:
        """How often each sample is drawn in each replicate of a block, shape (stop - start, n)."""
        drawn = np.empty((stop - start, self.predictions.n_samples))
        for weight, rng in zip(drawn, self._streams(start, stop), strict=True):
            weight[:] = self._draw(rng)
            # Without a pair of classes there is no statistic. Some draw has one: groups that are drawn within classes
            # leave out no class, and for others it was asked when the plan was made.
            while self.units.are_groups and not self._has_pair(weight):
                weight[:] = self._draw(rng)
        return drawn

    @cached_property
    def _streams(self) -> Streams:
        return Streams(self.seed)

    def _has_pair(self, weight: FloatArray) -> bool:
        """Whether samples of both classes of some pair are drawn."""
        return has_pair(self.predictions, self.pairs, weight > 0)

    @property
    def _is_one_group_drawn(self) -> bool:
        """Whether a draw is a single group, of two that hold several classes."""
        return self.units.are_groups and self.units.n_units == 2 and len(set(self.units.stratum.tolist())) == 1

    @cached_property
    def _strata(self) -> tuple[IntArray, IntArray, IntArray]:
        """The units by strata; and for each draw where its stratum begins there, and how many units that has."""
        order = np.argsort(self.units.stratum, kind="stable")
        sizes = np.bincount(self.units.stratum)
        sizes = sizes[sizes > 0]
        first, draws = np.cumsum(sizes) - sizes, np.maximum(sizes - 1, 1)
        return order, np.repeat(first, draws), np.repeat(sizes, draws)

    def _draw(self, rng: np.random.Generator) -> IntArray:
        """How often each sample is drawn, once."""
        order, first, size = self._strata
        places = first + (rng.random(len(first)) * size).astype(np.intp)
        counts = np.bincount(order[places], minlength=self.units.n_units)
        return counts[self.units.unit] if self.units.are_groups else counts


def has_pair(predictions: Predictions, pairs: PairIndex | None, kept: BoolArray) -> bool:
    """Whether some pair of classes that is compared is left when only these samples are kept."""
    present = np.bincount(predictions.codes[kept], minlength=len(predictions.labels)) > 0
    if pairs is None or pairs.stratum is None:  # all pairs of the classes that there are
        return bool(np.count_nonzero(present) > 1)
    return bool(np.any(present[pairs.positive] & present[pairs.negative]))


def as_seed(rng: Any) -> list[int]:
    """Entropy for the draws: the integer itself, or a few drawn from the generator (SPEC 7)."""
    if isinstance(rng, int):
        return [rng]
    return [int(x) for x in np.random.default_rng(rng).integers(0, 2**32, size=4)]


def plain_seed(rng: Any) -> int | None:
    """The seed where it can be given again; of a generator, or of chance, there is none."""
    return rng if isinstance(rng, int) else None
