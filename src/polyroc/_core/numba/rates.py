"""Compiled reading of ROC polygons from class-sorted scores.

`values[i, offsets[c]:offsets[c + 1]]` are the scores of class c in column i, in rising order; `tails` (weighted) holds
at the same place the share of the class at or above each of them. A polygon is walked by merging two such runs from the
top, or, where runs are long, by looking for each call rate on the merge's path.

With own thresholds both runs lie in the pair's column. With differences of columns as scores both orders of a pair have
one polygon: that of the order in which the lower class comes first is read, and the other one is its reflection.

Words in parentheses are the labels of equations in docs/method.md. n samples, k classes, K pairs, T call rates:
offsets (k + 1,); positive, negative (K,); grid (T,); tpr and fpr (K, T), those of a pair together.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._core.numba.compile import borrowed, inner, kernel
from polyroc._core.polygons import unordered
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc._records import PairIndex, read_only


class Polygons(NamedTuple):
    """The runs of K pairs: class and row of the sorted scores, of the positive and of the negative samples."""

    positive: Any  # (K,)
    negative: Any  # (K,)
    positive_row: Any  # (K,)
    negative_row: Any  # (K,)
    mirror: Any  # (K,) the pair whose reflection this one is, possibly itself; -1 of none; empty where all are -1


def polygons_of(pairs: PairIndex, thresholds: Thresholds) -> Polygons:
    """The runs of each pair's polygon; with shared thresholds those of its own column, for the areas."""
    if thresholds != "difference":
        nobody = read_only(np.empty(0, dtype=np.int64))
        return Polygons(pairs.positive, pairs.negative, pairs.column, pairs.column, nobody)
    both = unordered(pairs)
    first, second = (read_only(column[both.of_pair]) for column in (both.first, both.second))
    mirror = np.full(len(pairs), -1)
    is_back = both.backward >= 0
    # Where the order that would be read is not among the pairs, the other one is read as it, then reflected.
    mirror[both.backward[is_back]] = np.where(both.forward >= 0, both.forward, both.backward)[is_back]
    return Polygons(first, second, second, first, read_only(mirror))


def reflect_areas(polygons: Polygons, areas: FloatArray) -> None:
    """Fill in the areas of reflected polygons, which are those of the polygons that were read; areas (K,)."""
    if len(polygons.mirror) > 0:
        reflected = np.flatnonzero(polygons.mirror >= 0)
        areas[reflected] = areas[polygons.mirror[reflected]]


@inner
def is_read(polygons: Any, pair: int) -> Any:
    """Whether a pair's polygon is read from its runs."""
    if polygons.mirror.shape[0] == 0:
        return True
    mirror = polygons.mirror[pair]
    return mirror < 0 or mirror == pair


@kernel
def reflect_tpr(polygons: Any, grid: Any, tpr: Any) -> None:
    """Fill in the rates of reflected polygons where FPR is what TPR leaves of twice the call rate; tpr (K, T)."""
    polygons = borrowed(polygons)
    n_grid = grid.shape[0]
    for pair in range(polygons.mirror.shape[0]):
        read = polygons.mirror[pair]
        if read < 0:
            continue
        for t in range((n_grid + 1) // 2):
            last = n_grid - 1 - t
            # FPR of the polygon that was read, at 1 - s and at s. Both are read before either is written.
            high = min(1.0, max(0.0, 2.0 * grid[last] - tpr[read, last]))
            low = min(1.0, max(0.0, 2.0 * grid[t] - tpr[read, t]))
            tpr[pair, t], tpr[pair, last] = 1.0 - high, 1.0 - low


# Above this many samples in a pair, looking for T points is quicker than walking past all samples.
LONG = 4000


@kernel
def cut_own(values: Any, tails: Any, offsets: Any, polygons: Any, grid: Any, start: int, stop: int, tpr: Any) -> None:
    """TPR (rates) of the pairs start..stop at the call rates (call-rate), each by its two runs of sorted scores.

    FPR is not written: by (call-rate) it is what TPR leaves of twice the call rate. Reflections are left out.
    """
    for pair in range(start, stop):
        if not is_read(polygons, pair):
            continue
        i, j = polygons.positive[pair], polygons.negative[pair]
        q, r = polygons.positive_row[pair], polygons.negative_row[pair]
        a, b = values[q, offsets[i] : offsets[i + 1]], values[r, offsets[j] : offsets[j + 1]]
        # None is known when numba compiles: each of the two kernels has one branch only.
        if tails is None:
            read_own(a, b, None, None, grid, LONG, tpr[pair])
        else:
            wa, wb = tails[q, offsets[i] : offsets[i + 1]], tails[r, offsets[j] : offsets[j + 1]]
            read_own(a, b, wa, wb, grid, LONG, tpr[pair])


@inner
def read_own(a: Any, b: Any, wa: Any, wb: Any, grid: Any, long: int, tpr: Any) -> None:
    """Merge two runs from the top and read the polygon at each call rate; `wa` and `wb` are tails, or None."""
    # a[at_a:] and b[at_b:] are called. Without weights `called` counts in units of 1 / (n_a n_b), exactly.
    n_a, n_b, n_grid = a.shape[0], b.shape[0], grid.shape[0]
    at_a, at_b, t = n_a, n_b, np.int64(0)
    if wa is None and n_a + n_b > long:
        look_up(a, b, grid, tpr)
        return
    called, sought = called_at(wa, wb, at_a, n_a, at_b, n_b), sought_for(wa, grid[0], n_a, n_b)
    while at_a > 0 and at_b > 0:
        # Not branched upon: which class comes next cannot be predicted. Of a tie, those of a are called first.
        one = np.int64(a[at_a - 1] >= b[at_b - 1])
        at_a -= one
        at_b -= 1 - one
        if wa is None:
            called += n_a + one * (n_b - n_a)
        else:
            called = called_at(wa, wb, at_a, n_a, at_b, n_b)
        if called < sought:
            continue
        if is_tied(a, b, at_a, at_b):
            at_a, at_b, t = cut_tie(a, b, wa, wb, at_a, at_b, grid, t, tpr)
        else:
            least, above_a = called_share(wa, at_a + one, n_a), called_share(wa, at_a, n_a)
            t = cut_straight(least, above_a, called_share(wb, at_b, n_b), grid, t, tpr)
        if t == n_grid:
            return
        # An edge may cover several call rates: `sought` is that of the first one not read yet.
        called, sought = called_at(wa, wb, at_a, n_a, at_b, n_b), sought_for(wa, grid[t], n_a, n_b)
    # One class is left. What is tied with the last sample called comes first, then a straight edge to (1, 1).
    while at_b > 0 and b[at_b - 1] == a[0]:
        at_b -= 1
    if is_tied(a, b, at_a, at_b) and called_at(wa, wb, at_a, n_a, at_b, n_b) >= sought:
        at_a, at_b, t = cut_tie(a, b, wa, wb, at_a, at_b, grid, t, tpr)
    if t < n_grid:
        cut_straight(called_share(wa, at_a, n_a), 1.0, 1.0, grid, t, tpr)


@inner
def look_up(a: Any, b: Any, grid: Any, tpr: Any) -> None:
    """As `read_own`, without weights: each call rate is looked for, by bisection."""
    n_a, n_b, t = a.shape[0], b.shape[0], np.int64(0)
    while t < grid.shape[0]:
        at_a, at_b, one = look_for(a, b, grid[t])
        if is_tied(a, b, at_a, at_b):
            _, _, t = cut_tie(a, b, None, None, at_a, at_b, grid, t, tpr)
        else:
            t = cut_straight((n_a - at_a - one) / n_a, (n_a - at_a) / n_a, (n_b - at_b) / n_b, grid, t, tpr)


@inner
def called_at(wa: Any, wb: Any, at_a: int, n_a: int, at_b: int, n_b: int) -> Any:
    """TPR + FPR with all called from these places on; without weights times n_a n_b, a whole number."""
    if wa is None:
        return (n_a - at_a) * n_b + (n_b - at_b) * n_a
    return called_share(wa, at_a, n_a) + called_share(wb, at_b, n_b)


@inner
def sought_for(wa: Any, rate: float, n_a: int, n_b: int) -> Any:
    """What `called_at` has to reach for a call rate."""
    if wa is None:
        return np.int64(np.ceil(2.0 * rate * n_a * n_b))
    return 2.0 * rate


@inner
def is_tied(a: Any, b: Any, at_a: int, at_b: int) -> Any:
    """Whether the sample called last has its score in both classes: the lowest of a that is called says so."""
    # Of a tie, a is called first: b's part of it may be next (at_b - 1), or begun already (at_b).
    n_a, n_b = a.shape[0], b.shape[0]
    lowest = a[min(at_a, n_a - 1)]
    return at_a < n_a and (lowest == b[max(at_b - 1, 0)] or lowest == b[min(at_b, n_b - 1)])


@inner
def cut_straight(least: float, above_a: float, above_b: float, grid: Any, t: int, tpr: Any) -> Any:
    """Read the edge from TPR `least` to (above_b, above_a), on which one rate grows; returns the next call rate."""
    while True:
        # Where FPR grows, `least` and `above_a` are the same.
        # By (call-rate) TPR = 2 s - FPR, and FPR stays at `above_b` where TPR grows.
        tpr[t] = min(above_a, max(least, 2.0 * grid[t] - above_b))
        t += 1
        if t == grid.shape[0] or 2.0 * grid[t] > above_a + above_b:
            return t


@inner
def cut_tie(a: Any, b: Any, wa: Any, wb: Any, at_a: int, at_b: int, grid: Any, t: int, tpr: Any) -> Any:
    """Read the polygon on the slanted edge of a tie between the classes; returns its end and the next call rate."""
    # The tie is a[low_a:high_a] and b[low_b:high_b], its edge goes from (f0, t0) to (f1, t1).
    n_a, n_b, score = a.shape[0], b.shape[0], a[at_a]
    low_a, low_b, high_a, high_b = at_a, at_b, at_a, at_b
    while low_a > 0 and a[low_a - 1] >= score:
        low_a -= 1
    while low_b > 0 and b[low_b - 1] >= score:
        low_b -= 1
    while high_a < n_a and a[high_a] <= score:
        high_a += 1
    while high_b < n_b and b[high_b] <= score:
        high_b += 1
    t0, f0, t1, f1 = (
        called_share(wa, high_a, n_a),
        called_share(wb, high_b, n_b),
        called_share(wa, low_a, n_a),
        called_share(wb, low_b, n_b),
    )
    while True:
        part = min(1.0, max(0.0, (2.0 * grid[t] - t0 - f0) / (t1 + f1 - t0 - f0)))
        tpr[t] = t0 + part * (t1 - t0)
        t += 1
        if t == grid.shape[0] or 2.0 * grid[t] > t1 + f1:
            return low_a, low_b, t


class Cut(NamedTuple):
    """Where each of T call rates lies on a polygon through R runs."""

    above: Any  # (R, T) samples above the score of the edge
    upto: Any  # (R, T) samples at or above it
    part: Any  # (T,) how much of the edge is called
    share: Any  # (R, T + 2) share of each run that is called, with 0 before and 1 after


@inner
def room_for_cut(n_runs: int, n_grid: int) -> Any:
    """A cut that is still to be filled in."""
    share = np.zeros((n_runs, n_grid + 2))
    share[:, n_grid + 1] = 1.0
    above, upto = np.empty((n_runs, n_grid), np.int64), np.empty((n_runs, n_grid), np.int64)
    return Cut(above, upto, np.empty(n_grid), share)


@inner
def called_share(tail: Any, at: int, n: int) -> float:
    """Share of a run from place `at` on; `tail` is None without weights."""
    if tail is None:
        return (n - at) / n
    return tail[at] if at < n else 0.0


@inner
def cut_two(a: Any, b: Any, tail_a: Any, tail_b: Any, grid: Any, cut: Any) -> None:
    """Merge two runs from the top, from call rate to call rate, or look for each call rate where runs are long.

    a (n_a,) and b (n_b,) rise; tail_a and tail_b are of the same shapes, or None. Run 0 of the cut is a, run 1 is b.
    """
    n_a, n_b, n_grid = a.shape[0], b.shape[0], grid.shape[0]
    at_a, at_b, t = n_a, n_b, np.int64(0)
    is_long = tail_a is None and n_a + n_b > LONG
    while t < n_grid:
        if is_long:
            at_a, at_b, one = look_for(a, b, grid[t])
        else:
            at_a, at_b, one = call_until(a, b, tail_a, tail_b, at_a, at_b, grid[t])
        score = a[at_a] if one else b[at_b]
        # The whole tie at this score, in both runs: a[at_a:high_a] and b[at_b:high_b].
        high_a, high_b = at_a, at_b
        while high_a < n_a and a[high_a] <= score:
            high_a += 1
        while high_b < n_b and b[high_b] <= score:
            high_b += 1
        while at_a > 0 and a[at_a - 1] >= score:
            at_a -= 1
        while at_b > 0 and b[at_b - 1] >= score:
            at_b -= 1
        a0, b0 = called_share(tail_a, high_a, n_a), called_share(tail_b, high_b, n_b)
        a1, b1 = called_share(tail_a, at_a, n_a), called_share(tail_b, at_b, n_b)
        # (call-rate) at both ends of the edge.
        s0, s1 = 0.5 * (a0 + b0), 0.5 * (a1 + b1)
        while True:
            part = min(1.0, max(0.0, (grid[t] - s0) / (s1 - s0)))
            cut.part[t] = part
            cut.above[0, t], cut.upto[0, t] = n_a - high_a, n_a - at_a
            cut.above[1, t], cut.upto[1, t] = n_b - high_b, n_b - at_b
            cut.share[0, t + 1] = a0 + part * (a1 - a0)
            cut.share[1, t + 1] = b0 + part * (b1 - b0)
            t += 1
            if t == n_grid or grid[t] > s1:
                break


@inner
def call_until(a: Any, b: Any, tail_a: Any, tail_b: Any, at_a: int, at_b: int, rate: float) -> Any:
    """Call at least one sample more, until the call rate is reached; 1 if the last one is of a, with the places."""
    n_a, n_b = a.shape[0], b.shape[0]
    # In samples of a times samples of b, where weights are 1: whole numbers.
    called = float((n_a - at_a) * n_b + (n_b - at_b) * n_a)
    target = 2.0 * rate * n_a * n_b
    one, is_reached = 0, False
    while at_a > 0 and at_b > 0 and not is_reached:
        # Which class comes next cannot be predicted, so nothing branches upon it.
        one = int(a[at_a - 1] >= b[at_b - 1])
        at_a -= one
        at_b -= 1 - one
        if tail_a is None:
            called += n_a + one * (n_b - n_a)
            is_reached = called >= target
        else:
            is_reached = called_share(tail_a, at_a, n_a) + called_share(tail_b, at_b, n_b) >= 2.0 * rate
    # One run is used up: the other is called to its end.
    if not is_reached:
        one = int(at_a > 0)
        while at_a + at_b > 0 and not is_reached:
            at_a -= one
            at_b -= 1 - one
            is_reached = called_share(tail_a, at_a, n_a) + called_share(tail_b, at_b, n_b) >= 2.0 * rate
    return at_a, at_b, one


@inner
def look_for(a: Any, b: Any, rate: float) -> Any:
    """As `call_until` from the top, without weights: by bisection."""
    n_a, n_b = a.shape[0], b.shape[0]
    low, high = 0, n_a
    while low < high:
        x = (low + high) // 2
        # With x of a called, (call-rate) leaves y of b.
        y = int(np.ceil((2.0 * rate - x / n_a) * n_b))
        if y > n_b or (y > 0 and a[n_a - 1 - x] >= b[n_b - y]):
            low = x + 1
        else:
            high = x
    y = min(n_b, max(0, int(np.ceil((2.0 * rate - low / n_a) * n_b))))
    at_a, at_b = settle(a, b, n_a - low, n_b - y, 2.0 * rate)
    return at_a, at_b, int(at_b == n_b or (at_a < n_a and a[at_a] < b[at_b]))


@inner
def settle(a: Any, b: Any, above_a: int, above_b: int, target: float) -> Any:
    """From near the crossing to it: the first point of the path whose shares reach the target."""
    # Bisection divides, which rounds: its point may lie off the path.
    n_a, n_b = a.shape[0], b.shape[0]
    # Put the point on the path: nothing called may lie below what is not called.
    while above_a < n_a and above_b > 0 and a[above_a] < b[above_b - 1]:
        above_a += 1
    while above_b < n_b and above_a > 0 and b[above_b] < a[above_a - 1]:
        above_b += 1
    while (n_a - above_a) / n_a + (n_b - above_b) / n_b < target:
        if above_b == 0 or (above_a > 0 and a[above_a - 1] >= b[above_b - 1]):
            above_a -= 1
        else:
            above_b -= 1
    while True:
        # Step back while the target is still reached.
        back_a, back_b = above_a, above_b
        # Of a tie, b was called last.
        if above_a == n_a or (above_b < n_b and b[above_b] <= a[above_a]):
            back_b += 1
        else:
            back_a += 1
        if (n_a - back_a) / n_a + (n_b - back_b) / n_b < target:
            return above_a, above_b
        above_a, above_b = back_a, back_b


@inner
def cut_four(values: Any, tails: Any, offsets: Any, i: int, j: int, grid: Any, cut: Any) -> None:
    """The same with shared thresholds: classes i and j in column i, then both in column j."""
    # Runs in the order of (shared-call-rate): S_ii, S_ji, S_ij, S_jj.
    at, n, high = np.empty(4, np.int64), np.empty(4, np.int64), np.empty(4, np.int64)
    column, first = np.empty(4, np.int64), np.empty(4, np.int64)
    before, after = np.zeros(4), np.zeros(4)
    for r in range(4):
        c = i if r % 2 == 0 else j
        column[r] = i if r < 2 else j
        first[r], n[r] = offsets[c], offsets[c + 1] - offsets[c]
        at[r] = n[r]
    t, s0 = np.int64(0), 0.0
    while t < grid.shape[0]:
        # One threshold for both columns: the highest score that is not called yet.
        score = -np.inf
        for r in range(4):
            if at[r] > 0:
                score = max(score, values[column[r], first[r] + at[r] - 1])
        left, s1 = 0, 0.0
        for r in range(4):
            high[r] = at[r]
            while at[r] > 0 and values[column[r], first[r] + at[r] - 1] >= score:
                at[r] -= 1
            if tails is None:
                after[r] = (n[r] - at[r]) / n[r]
            elif at[r] < n[r]:
                after[r] = tails[column[r], first[r] + at[r]]
            left += at[r]
            s1 += 0.25 * after[r]
        # All called is a call rate of 1 but for rounding: the last edge takes all that are left.
        while t < grid.shape[0] and (grid[t] <= s1 or left == 0):
            part = min(1.0, max(0.0, (grid[t] - s0) / (s1 - s0)))
            cut.part[t] = part
            for r in range(4):
                cut.above[r, t], cut.upto[r, t] = n[r] - high[r], n[r] - at[r]
                cut.share[r, t + 1] = before[r] + part * (after[r] - before[r])
            t += 1
        s0 = s1
        for r in range(4):
            before[r] = after[r]


@kernel
def cut_shared(
    values: Any,
    tails: Any,
    offsets: Any,
    positive: Any,
    negative: Any,
    grid: Any,
    start: int,
    stop: int,
    tpr: Any,
    fpr: Any,
) -> None:
    """Rates of the pairs start..stop at the call rates of (shared-call-rate), in the columns of both classes."""
    cut = room_for_cut(4, grid.shape[0])
    for pair in range(start, stop):
        cut_four(values, tails, offsets, positive[pair], negative[pair], grid, cut)
        tpr[pair], fpr[pair] = cut.share[0, 1:-1], cut.share[1, 1:-1]


@kernel
def add_areas(values: Any, tails: Any, offsets: Any, polygons: Any, start: int, stop: int, out: Any) -> None:
    """The areas (pair-area) of the pairs start..stop, shape (K,); reflections are left out."""
    for pair in range(start, stop):
        if not is_read(polygons, pair):
            continue
        i, j = polygons.positive[pair], polygons.negative[pair]
        q, r = polygons.positive_row[pair], polygons.negative_row[pair]
        a, b = values[q, offsets[i] : offsets[i + 1]], values[r, offsets[j] : offsets[j + 1]]
        if tails is None:
            # Whole numbers up to this division: the area is rounded once.
            out[pair] = doubled_wins(a, b) / (2.0 * a.shape[0] * b.shape[0])
        else:
            wa, wb = tails[q, offsets[i] : offsets[i + 1]], tails[r, offsets[j] : offsets[j + 1]]
            out[pair] = area_weighted(a, b, wa, wb)


@inner
def doubled_wins(a: Any, b: Any) -> Any:
    """Twice the number of pairs that a wins over b, a tie being half a win: twice the numerator of (pair-area)."""
    n_a, n_b = a.shape[0], b.shape[0]
    at_a, at_b, total, tied = 0, 0, 0, 0
    while at_a < n_a and at_b < n_b:
        # Counted, not branched upon: which class comes next cannot be predicted.
        x, y = a[at_a], b[at_b]
        one = int(y < x)
        tied += int(x == y)
        total += (1 - one) * at_b
        at_b += one
        at_a += 1 - one
    # A tie also counts the samples at x, which this loop does not know.
    return doubled_wins_with_ties(a, b) if tied else 2 * (total + (n_a - at_a) * at_b)


@inner
def doubled_wins_with_ties(a: Any, b: Any) -> Any:
    """As `doubled_wins`, where the classes share scores."""
    below, upto, total = 0, 0, 0
    for x in a:
        while below < b.shape[0] and b[below] < x:
            below += 1
        upto = max(upto, below)
        while upto < b.shape[0] and b[upto] <= x:
            upto += 1
        # Twice the samples below x, and once those tied with it.
        total += below + upto
    return total


@inner
def area_weighted(a: Any, b: Any, wa: Any, wb: Any) -> float:
    """The share of weight that a wins over b: at most 1 whatever the rounding, and 1 where it wins always."""
    below, upto, total, most = 0, 0, 0.0, 0.0
    n_b = b.shape[0]
    for p in range(a.shape[0]):
        while below < n_b and b[below] < a[p]:
            below += 1
        upto = max(upto, below)
        while upto < n_b and b[upto] <= a[p]:
            upto += 1
        # Tails are cumulated from the top: what the next one leaves is the share of this sample.
        weight = wa[p] - (wa[p + 1] if p + 1 < a.shape[0] else 0.0)
        above_below = wb[below] if below < n_b else 0.0
        above_upto = wb[upto] if upto < n_b else 0.0
        total += weight * (1.0 - 0.5 * (above_below + above_upto))
        most += weight
    # `most` is 1 but for rounding. Where a wins always, `total` is the same sum.
    return total / most
