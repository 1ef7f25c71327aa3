"""Where sweeps for offsets begin, and how many of them are made.

A sweep ends where no single offset can be improved, which need not be the best place. So sweeps begin at several
places, and the best end counts. Of many samples all starts are tried on a small part of them, and only the best end is
swept over larger parts and at last over all.
"""

import numpy as np

from polyroc._engines._naming import costs_of, highest
from polyroc._engines._offsets import OffsetProblem, Tuned, descend
from polyroc._lib._typing import FloatArray, IntArray

# Numbers (samples times rows) that starts are tried on, and at least this many samples.
_TRIED_CELLS = 60_000
_LEAST_TRIED = 2_000
# From part to part: this many times as many samples.
_GROWTH = 8
# Random starts by numbers (samples times rows) of a problem: many where it is small, so that a few samples decide.
# On 240 to 1,000 samples 80 starts lowered the tuned cost by 0.01 to 0.05 % more than 10, and the true cost not at all.
_RANDOM_STARTS = ((600, 80), (10_000, 10))
_LEAST_RANDOM = 3
# Sweeps over many samples end where one gains less than this part of the cost's standard error.
_OF_ERROR = 0.01


def tune(problem: OffsetProblem, starts: list[FloatArray], seed: int) -> Tuned:
    """The best offsets that sweeps from these starts and from some random ones reach, with mean 0.

    Never worse than the first start. Of equal ones, those nearest to 0.
    """
    rng = np.random.default_rng(seed)
    n, m = problem.z.shape[1], len(problem.z)
    size = max(_LEAST_TRIED, _TRIED_CELLS // m)
    n_random = next((number for most, number in _RANDOM_STARTS if n * m <= most), _LEAST_RANDOM)
    if n <= size:
        return _centred(problem, _best(_ends(problem, starts, n_random, rng)))
    rank = _ranks(problem, rng)
    found = _best(_ends(_part_by_class(problem, rank, size), starts, n_random, rng))
    while (size := size * _GROWTH) < n // 4:
        part = _part_by_class(problem, rank, size)
        found = descend(part, found.offsets, _OF_ERROR * _standard_error(part, found.offsets))
    least = _OF_ERROR * _standard_error(problem, found.offsets)
    ends = [descend(problem, found.offsets, least)]
    # A part may mislead: if the first start is better on all samples, that one is swept over all of them, too.
    if problem.cost(starts[0]) < ends[0].cost:
        ends.append(descend(problem, starts[0], least))
    return _centred(problem, _best(ends))


def _ends(problem: OffsetProblem, starts: list[FloatArray], n_random: int, rng: np.random.Generator) -> list[Tuned]:
    ends = [descend(problem, start) for start in starts]
    bases = [*starts, *(end.offsets for end in ends)]
    for number in range(n_random):
        # By turns from the best end so far, and from a start or its end.
        base = _best(ends).offsets if number % 2 else bases[number // 2 % len(bases)]
        ends.append(descend(problem, _jump(problem, base, rng)))
    return ends


def _jump(problem: OffsetProblem, base: FloatArray, rng: np.random.Generator) -> FloatArray:
    """One offset in two at the threshold of a random sample, whose level becomes as high as the highest of the others.

    Drawn in the order of the sweeps, so that the order of the columns changes nothing.
    """
    offsets = base.copy()
    for j in problem.order[rng.random(len(base)) < max(0.5, 1 / len(base))]:
        sample = rng.integers(problem.z.shape[1])
        level = problem.z[:, sample] + offsets
        level[j] = -np.inf
        offsets[j] = level.max() - problem.z[j, sample] + rng.choice([-1e-6, 1e-6]) * problem.margin
    return offsets


def _best(ends: list[Tuned]) -> Tuned:
    """Of the least cost, and of equal costs (but for rounding) nearest to 0."""
    least = min(end.cost for end in ends)
    equal = [end for end in ends if end.cost <= least + 1e-12 * max(1.0, abs(least))]
    # By squares: sums of absolute values are often equal but for rounding, because the mean is 0.
    return min(equal, key=lambda end: float(((end.offsets - end.offsets.mean()) ** 2).sum()))


def _centred(problem: OffsetProblem, end: Tuned) -> Tuned:
    """The same with mean 0; the cost anew, because levels that were equal may now differ by a last bit."""
    offsets = end.offsets - end.offsets.mean()
    return Tuned(offsets, problem.cost(offsets))


def _ranks(problem: OffsetProblem, rng: np.random.Generator) -> IntArray:
    """A random rank of each sample within its class, from 0, shape (n,)."""
    n, k = len(problem.codes), len(problem.costs)
    shuffled = rng.permutation(n)
    # Short integers are sorted by counting.
    codes = problem.codes.astype(np.int16 if k < 2**15 else np.intp)[shuffled]
    counts = np.bincount(codes, minlength=k)
    rank = np.empty(n, dtype=np.intp)
    rank[shuffled[np.argsort(codes, kind="stable")]] = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank


def _part_by_class(problem: OffsetProblem, rank: IntArray, size: int) -> OffsetProblem:
    """A random part of each class, at least 10 of each, whose weights stand for the whole class."""
    counts = np.bincount(problem.codes, minlength=len(problem.costs))
    wanted = np.maximum(np.ceil(counts * (size / len(rank))), 10)
    chosen = np.flatnonzero(rank < wanted[problem.codes])
    return problem.part(chosen, class_weights(problem.codes[chosen], problem.weight[chosen], class_sums(problem)))


def class_sums(problem: OffsetProblem) -> FloatArray:
    """What each class counts for, shape (k,)."""
    return np.bincount(problem.codes, problem.weight, minlength=len(problem.costs)).astype(float, copy=False)


def class_weights(codes: IntArray, weight: FloatArray, sums: FloatArray) -> FloatArray:
    """The weights of some samples, scaled so that each class counts for what it shall."""
    total = np.bincount(codes, weight, minlength=len(sums))
    scale = np.divide(sums, total, out=np.zeros(len(sums)), where=total > 0)
    return weight * scale[codes]


def _standard_error(problem: OffsetProblem, offsets: FloatArray) -> float:
    costs = problem.weight * costs_of(problem.codes, highest(problem.z, offsets), problem.costs)
    # Sums of products: a product of vectors by BLAS would wake threads that then wait for more at full speed.
    return float(np.sqrt(((costs - problem.weight * costs.sum()) ** 2).sum()))
