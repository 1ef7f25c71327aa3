"""Offsets of the least cost, by exact coordinate sweeps.

The cost of a rule "highest of z_j + b_j" is piecewise constant in the offsets b, and to minimise it over all of them is
NP-complete (Bourke et al. 2008). Along one offset it is easy: class j is predicted for sample i from the threshold

    t_i = max_{l != j} (z_il + b_l) - z_ij

on, so that one sort and the cumulated differences of cost give the best value exactly. Sweeps over all offsets are
repeated until none of them lowers the cost, from several starts.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from polyroc._core.predicted import costs_of, highest
from polyroc._lib.typing import FloatArray, IntArray

# More samples than this are not sorted for each offset: bins rule out most of the range first.
_SORTED = 16_384
_BINS = 8_192
# Sweeps after which nobody waits for the last samples to find their place.
_MOST_SWEEPS = 50
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class OffsetProblem:
    """Problem to be minimised: sum over samples of weight * costs[code, predicted]."""

    z: FloatArray
    """Levels, shape (m, n): a row for each class, and a last one where a rule may abstain."""
    codes: IntArray
    """True class of each sample, shape (n,)."""
    weight: FloatArray
    """Weight of each sample, shape (n,), sum 1."""
    costs: FloatArray
    """costs[true, predicted], shape (k, m)."""
    margin: float
    """How far an offset keeps from the samples next to it where there is room: 1 for logarithms."""
    order: IntArray
    """The rows in the order in which sweeps visit them, shape (m,); by what classes are, not by where they stand."""
    knows_costs: bool = False
    """Whether levels are minus the logarithms of expected costs, so that offsets of 0 are Bayes' rule."""

    def cost(self, offsets: FloatArray) -> float:
        """Cost of the rule with these offsets."""
        return self.cost_of(highest(self.z, offsets))

    def cost_of(self, predicted: IntArray) -> float:
        """Cost of predicting these classes, shape (n,)."""
        return float(total(self.codes, predicted, self.weight, self.costs))

    @cached_property
    def largest(self) -> float:
        """The largest level, without its sign."""
        return max(float(self.z.max()), -float(self.z.min()))

    def part(self, chosen: IntArray, weight: FloatArray) -> "OffsetProblem":
        """The same for some of the samples, which get other weights."""
        z, codes = self.z.take(chosen, axis=1), self.codes[chosen]
        return replace(self, z=z, codes=codes, weight=weight)


class Tuned(NamedTuple):
    """Offsets and what they cost on the samples that they were tuned on."""

    offsets: FloatArray
    cost: float


class _Break(NamedTuple):
    """The best place for one offset: its cost compared with never predicting the class, and the samples next to it."""

    change: float
    low: float
    high: float


def descend(problem: OffsetProblem, start: FloatArray, least_gain: float = 0.0) -> Tuned:
    """Sweeps from a start until one lowers the cost by no more than `least_gain`; never worse than the start."""
    best = Tuned(start, np.inf)
    offsets = start.copy()
    rounding = 1e-12 * float(np.abs(problem.costs).max())
    level, row = np.empty(problem.z.shape), np.empty(problem.z.shape, dtype=np.int32)
    for _ in range(_MOST_SWEEPS):
        cost = problem.cost_of(later_rows(problem.z, offsets, problem.order, level, row))
        gain = best.cost - cost
        if gain > 0:
            best = Tuned(offsets.copy(), cost)
        if not gain > max(least_gain, rounding):
            break
        if not _sweep(problem, offsets, level, row, cost, rounding):
            break
    return best


def _sweep(
    problem: OffsetProblem, offsets: FloatArray, level: FloatArray, row: IntArray, cost: float, rounding: float
) -> bool:
    """Move each offset to its best place, the others held; whether any was moved. Writes to `offsets`.

    `level` and `row` are what the rows have that the sweep has yet to visit.
    """
    z = problem.z
    top, which = np.full(z.shape[1], -np.inf), np.full(z.shape[1], len(z), dtype=np.int32)
    # Levels nearer to each other than rounding may move them count as equal.
    least_gap = 4 * _EPS * (problem.largest + float(np.abs(offsets).max()))
    moved = False
    for place, j in enumerate(problem.order.tolist()):
        t, change, without = switches(
            top, which, level[place], row[place], z[j], j, problem.codes, problem.weight, problem.costs
        )
        found = _best_break(t, change, float(offsets[j]), least_gap, cost - rounding - without)
        if found is not None:
            offsets[j] = _inside(found, float(offsets[j]), problem.margin)
            cost, moved = without + found.change, True
        lift(top, which, z[j], float(offsets[j]), j)
    return moved


def _inside(found: _Break, old: float, margin: float) -> float:
    """The middle of a gap; in a wide one the value nearest to the old one that keeps a margin."""
    if found.high - found.low <= 2 * margin:
        return (found.low + found.high) / 2
    return min(max(old, found.low + margin), found.high - margin)


def _best_break(
    t: FloatArray, change: FloatArray, old: float, least_gap: float, below: float = np.inf
) -> _Break | None:
    """Threshold below which predicting the class costs least; of equal places the one nearest to the old value.

    None where that is not below a bound.
    """
    if len(t) > _SORTED:
        return _best_by_bins(t, change, old, least_gap, below)
    order = t.argsort()
    found = _best_of_sorted(t[order], change[order].cumsum(), old, least_gap)
    return found if found.change < below else None


def _best_of_sorted(t: FloatArray, cumulated: FloatArray, old: float, least_gap: float) -> _Break:
    """From ascending thresholds and the change of cost up to each; thresholds of one place are passed together."""
    # A place between two thresholds, and one at either end, where the class is predicted for no sample or for all.
    ends = (t[1:] - t[:-1] > least_gap).nonzero()[0]
    n_places = len(ends) + 2
    changes, lows, highs = np.empty(n_places), np.empty(n_places), np.empty(n_places)
    changes[0], lows[0], highs[0] = 0.0, -np.inf, t[0]
    changes[1:-1], lows[1:-1], highs[1:-1] = cumulated[ends], t[ends], t[ends + 1]
    changes[-1], lows[-1], highs[-1] = cumulated[-1], t[-1], np.inf
    least = float(changes.min())
    equal = (changes <= least + 1e-14).nonzero()[0]
    best = equal[0]
    if len(equal) > 1:
        best = equal[np.argmin(np.maximum(np.maximum(lows[equal] - old, old - highs[equal]), 0.0))]
    return _Break(least, float(lows[best]), float(highs[best]))


def _best_by_bins(
    t: FloatArray, change: FloatArray, old: float, least_gap: float, below: float = np.inf
) -> _Break | None:
    """The same without a sort of all: only bins that may hold the least cost, and one below the bound, are sorted.

    Inside a bin the cost falls at most by the sum of its negative changes. Most bins are ruled out by that.
    """
    some = np.sort(t[:: max(1, len(t) // 1024)])
    low, high = float(some[len(some) // 100]), float(some[-1 - len(some) // 100])
    place, net, falling = binned(t, change, low, _BINS / max(high - low, 1e-300), _BINS)
    before = np.concatenate([[0.0], np.cumsum(net)])
    # The least cost between two bins can be reached; a bin is sorted if it may go below, or ends there.
    is_open = before[:-1] + falling <= min(float(before.min()) + 1e-14, below)
    chosen = is_open[place].nonzero()[0]
    found = _least_of_bins(t, change, place, before, chosen, old, least_gap) if len(chosen) else (0.0, -np.inf)
    # Naming nothing has a change of 0.
    if found[0] > 1e-14 or len(chosen) == 0:
        found = (0.0, -np.inf)
    return _Break(*found, lowest_above(t, found[1])) if found[0] < below else None


def _least_of_bins(
    t: FloatArray, change: FloatArray, place: IntArray, before: FloatArray, chosen: IntArray, old: float, gap: float
) -> tuple[float, float]:
    """The least cost in whole bins of chosen samples, and the threshold there; `before` is the change before a bin."""
    order = chosen[t[chosen].argsort()]
    tops, bins, running = t[order], place[order], change[order].cumsum()
    begins = np.concatenate([[0], (bins[1:] != bins[:-1]).nonzero()[0] + 1])
    passed = np.where(begins > 0, running[begins - 1], 0.0)
    # Up to each sample: what lies before its bin, and what of the bin is passed.
    cumulated = running + np.repeat(before[bins[begins]] - passed, np.diff(np.append(begins, len(bins))))
    apart = np.append((tops[1:] - tops[:-1] > gap) | (bins[1:] != bins[:-1]), True).nonzero()[0]
    least = float(cumulated[apart].min())
    equal = apart[cumulated[apart] <= least + 1e-14]
    end = equal[np.argmin(np.abs(tops[equal] - old))]
    return float(cumulated[end]), float(tops[end])


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
    """Weight of each class, shape (k,)."""
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


def later_rows(z: FloatArray, offsets: FloatArray, order: IntArray, level: FloatArray, row: IntArray) -> IntArray:
    """Which row is the highest of all; writes the highest level among the rows after each place, and its row."""
    m, n = z.shape
    top, which = np.full(n, -np.inf), np.full(n, m, dtype=np.int32)
    for place in range(m - 1, -1, -1):
        level[place], row[place] = top, which
        lift(top, which, z[order[place]], offsets[order[place]], order[place])
    return which


def total(codes: IntArray, predicted: IntArray, weight: FloatArray, costs: FloatArray) -> float:
    """Sum over samples of weight * costs[code, predicted]."""
    return float(weight @ costs.ravel()[codes * costs.shape[1] + predicted])


def lift(top: FloatArray, which: IntArray, z: FloatArray, offset: float, j: int) -> None:
    """Let row j, with levels z + offset, take part in the highest levels; both arrays are written."""
    level = z + offset
    ties = level == top
    wins = level > top
    if ties.any():
        wins |= ties & (which > j)
    np.maximum(top, level, out=top)
    which[wins] = j


def switches(
    top: FloatArray,
    which: IntArray,
    level: FloatArray,
    row: IntArray,
    z: FloatArray,
    j: int,
    codes: IntArray,
    weight: FloatArray,
    costs: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """Threshold from which class j is predicted for each sample, the change of cost there, and the cost without j.

    The rivals are the rows before, (top, which), and those after, (level, row).
    """
    ahead = level > top
    ties = level == top
    if ties.any():
        ahead |= ties & (row < which)
    rival = np.where(ahead, row, which)
    without = costs.ravel()[codes * costs.shape[1] + rival]
    change = costs[:, j][codes]
    change -= without
    change *= weight
    threshold = np.maximum(top, level)
    threshold -= z
    return threshold, change, float(weight @ without)


def binned(
    t: FloatArray, change: FloatArray, low: float, scale: float, n: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The bin of each threshold; in each bin the sum of all changes, and that of the negative ones."""
    place = np.clip((t - low) * scale, 0, n - 1).astype(np.int32)
    net = np.bincount(place, change, minlength=n).astype(float, copy=False)
    falling = np.bincount(place, np.minimum(change, 0.0), minlength=n).astype(float, copy=False)
    return place, net, falling


def lowest_above(t: FloatArray, bound: float) -> float:
    """The lowest threshold above a bound; infinite where there is none."""
    above = t[t > bound]
    return float(above.min()) if len(above) else np.inf
