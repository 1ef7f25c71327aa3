"""Offsets of the least cost, by exact coordinate sweeps.

The cost of a rule "highest of z_j + b_j" is piecewise constant in the offsets b, and to minimise it over all of them is
NP-complete (Bourke et al. 2008). Along one offset it is easy: sample i is named j from the threshold

    t_i = max_{l != j} (z_il + b_l) - z_ij

on, so that one sort and the cumulated differences of cost give the best value exactly. Sweeps over all offsets are
repeated until none of them lowers the cost, from several starts.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polyroc._engines._naming import costs_of, highest
from polyroc._lib._typing import FloatArray, IntArray

# More samples than this are not sorted for each offset: bins rule out most of the range first.
_SORTED = 16_384
_BINS = 8_192
# Sweeps after which nobody waits for the last samples to find their place.
_MOST_SWEEPS = 50
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class OffsetProblem:
    """What is minimised: sum over samples of weight * costs[code, named]."""

    z: FloatArray
    """Levels, shape (m, n): a row for each class, and one of zeros where a rule may abstain."""
    codes: IntArray
    """True class of each sample, shape (n,)."""
    weight: FloatArray
    """What each sample counts for, shape (n,), sum 1."""
    costs: FloatArray
    """costs[true, named], shape (k, m)."""
    margin: float
    """How far an offset keeps from the samples next to it where there is room: 1 for logarithms."""
    order: IntArray
    """The rows in the order in which sweeps visit them, shape (m,); by what classes are, not by where they stand."""

    def cost(self, offsets: FloatArray) -> float:
        """Cost of the rule with these offsets."""
        return float(self.weight @ costs_of(self.codes, highest(self.z, offsets), self.costs))

    def part(self, chosen: IntArray, weight: FloatArray) -> "OffsetProblem":
        """The same for some of the samples, which get other weights."""
        z, codes = np.ascontiguousarray(self.z[:, chosen]), self.codes[chosen]
        return OffsetProblem(z, codes, weight, self.costs, self.margin, self.order)


class Tuned(NamedTuple):
    """Offsets and what they cost on the samples that they were tuned on."""

    offsets: FloatArray
    cost: float


class _Break(NamedTuple):
    """The best place for one offset: cost there, compared with never naming the class, and the samples next to it."""

    change: float
    low: float
    high: float


def descend(problem: OffsetProblem, start: FloatArray, least_gain: float = 0.0) -> Tuned:
    """Sweeps from a start until one lowers the cost by no more than `least_gain`; never worse than the start."""
    best = Tuned(start, np.inf)
    offsets = start.copy()
    rounding = 1e-12 * float(np.abs(problem.costs).max())
    for _ in range(_MOST_SWEEPS):
        later = _Later.of(problem, offsets)
        cost = float(problem.weight @ costs_of(problem.codes, later.named, problem.costs))
        gain = best.cost - cost
        if gain > 0:
            best = Tuned(offsets.copy(), cost)
        if not gain > max(least_gain, rounding):
            break
        if not _sweep(problem, offsets, later, cost, rounding):
            break
    return best


class _Later(NamedTuple):
    """The highest level among the rows that the sweep has yet to visit, and which row that is, shape (m, n) each."""

    level: FloatArray
    row: IntArray
    named: IntArray
    """The row that is highest of all, shape (n,)."""

    @classmethod
    def of(cls, problem: OffsetProblem, offsets: FloatArray) -> "_Later":
        m, n = problem.z.shape
        level, row = np.empty((m, n)), np.empty((m, n), dtype=np.int32)
        top, which = np.full(n, -np.inf), np.full(n, m, dtype=np.int32)
        for place in range(m - 1, -1, -1):
            level[place], row[place] = top, which
            j = problem.order[place]
            top, which = _higher(problem.z[j] + offsets[j], j, top, which)
        return cls(level, row, which.astype(np.intp))


def _higher(level: FloatArray, j: int, top: FloatArray, which: IntArray) -> tuple[FloatArray, IntArray]:
    """The higher of a row's levels and those so far; of equal ones the row that stands first."""
    wins = level > top
    ties = level == top
    if ties.any():
        wins |= ties & (which > j)
    return np.maximum(top, level), np.where(wins, np.int32(j), which)


def _sweep(problem: OffsetProblem, offsets: FloatArray, later: _Later, cost: float, rounding: float) -> bool:
    """Move each offset to its best place, the others held; whether any was moved. Writes to `offsets`."""
    n, m = problem.z.shape[1], len(offsets)
    top, which = np.full(n, -np.inf), np.full(n, m, dtype=np.int32)
    moved = False
    for place, j in enumerate(problem.order):
        ahead = later.level[place] > top
        ties = later.level[place] == top
        if ties.any():
            ahead |= ties & (later.row[place] < which)
        rest = np.maximum(top, later.level[place])
        rival = np.where(ahead, later.row[place], which)
        without = problem.weight * costs_of(problem.codes, rival, problem.costs)
        change = problem.weight * problem.costs[:, j][problem.codes] - without
        found = _best_break(rest - problem.z[j], change, float(offsets[j]), _EPS * 4 * float(np.abs(rest).max()))
        reached = float(without.sum()) + found.change
        if reached < cost - rounding:
            offsets[j] = _inside(found, float(offsets[j]), problem.margin)
            cost, moved = reached, True
        top, which = _higher(problem.z[j] + offsets[j], j, top, which)
    return moved


def _inside(found: _Break, old: float, margin: float) -> float:
    """The middle of a gap; in a wide one the value nearest to the old one that keeps a margin."""
    if found.high - found.low <= 2 * margin:
        return (found.low + found.high) / 2
    return min(max(old, found.low + margin), found.high - margin)


def _best_break(t: FloatArray, change: FloatArray, old: float, least_gap: float) -> _Break:
    """Where naming all samples with a lower threshold costs least; of equal places the one nearest to the old value."""
    if len(t) <= _SORTED:
        order = np.argsort(t)
        return _best_of_sorted(t[order], np.cumsum(change[order]), old, least_gap)
    return _best_by_bins(t, change, old, least_gap)


def _best_of_sorted(t: FloatArray, cumulated: FloatArray, old: float, least_gap: float) -> _Break:
    """From ascending thresholds and the change of cost up to each; thresholds of one place are passed together."""
    ends = np.r_[np.flatnonzero(t[1:] - t[:-1] > least_gap), len(t) - 1]
    changes = np.r_[0.0, cumulated[ends]]
    lows, highs = np.r_[-np.inf, t[ends]], np.r_[t[0], t[ends[:-1] + 1], np.inf]
    least = changes.min()
    equal = np.flatnonzero(changes <= least + 1e-14)
    away = np.maximum(lows[equal] - old, old - highs[equal])
    best = equal[np.argmin(np.maximum(away, 0.0))]
    return _Break(float(least), float(lows[best]), float(highs[best]))


def _best_by_bins(t: FloatArray, change: FloatArray, old: float, least_gap: float) -> _Break:
    """The same without a sort of all: only bins that may hold the least cost are sorted.

    Inside a bin the cost falls at most by the sum of its negative changes. Most bins are ruled out by that.
    """
    low, high = np.quantile(t[:: max(1, len(t) // 4096)], [0.01, 0.99])
    scale = _BINS / max(high - low, 1e-300)
    place = np.clip((t - low) * scale, 0, _BINS - 1).astype(np.int32)
    net = np.bincount(place, change, minlength=_BINS)
    falling = np.bincount(place, np.minimum(change, 0.0), minlength=_BINS)
    before = np.r_[0.0, np.cumsum(net)]
    # The least cost between two bins is always reached; a bin is sorted if it may go below, or ends there.
    bound = before.min()
    is_open = before[:-1] + falling <= bound + 1e-14
    chosen = np.flatnonzero(is_open[place])
    order = chosen[np.argsort(t[chosen])]
    bins = place[order]
    running = np.cumsum(change[order])
    first = np.r_[True, bins[1:] != bins[:-1]]
    begins = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    # Up to each sample: what lies before its bin, and what of the bin is passed.
    cumulated = before[bins] + running - (running[begins] - change[order][begins])
    return _between(t, t[order], cumulated, bins, old, least_gap)


def _between(
    t: FloatArray, tops: FloatArray, cumulated: FloatArray, bins: IntArray, old: float, least_gap: float
) -> _Break:
    """The best of the sorted samples, or nothing named at all; with the next sample above it, from whatever bin."""
    is_last_of_bin = np.r_[bins[1:] != bins[:-1], True]
    apart = np.r_[tops[1:] - tops[:-1] > least_gap, True]
    ends = np.flatnonzero(apart | is_last_of_bin)
    least = min(0.0, float(cumulated[ends].min())) if len(ends) else 0.0
    best: _Break | None = None
    if least >= -1e-14:
        best = _Break(0.0, -np.inf, float(t.min()))
    equal = ends[cumulated[ends] <= least + 1e-14]
    if len(equal):
        end = equal[np.argmin(np.abs(tops[equal] - old))]
        if best is None or abs(tops[end] - old) < max(0.0, old - best.high):
            above = t[t > tops[end]]
            best = _Break(float(cumulated[end]), float(tops[end]), float(above.min()) if len(above) else np.inf)
    assert best is not None
    return best
