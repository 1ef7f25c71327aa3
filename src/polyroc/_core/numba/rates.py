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


@inner
def reflect_rates(mirror: Any, tpr: Any, fpr: Any, areas: Any) -> None:
    """The same where both rates are kept, (K, T) each, and the areas (K,), which a reflection leaves."""
    n_grid = tpr.shape[1]
    for pair in range(mirror.shape[0]):
        read = mirror[pair]
        if read < 0:
            continue
        areas[pair] = areas[read]
        for t in range(n_grid):
            last = n_grid - 1 - t
            positive, negative = tpr[read, last], fpr[read, t]
            # TPR at s is 1 - FPR at 1 - s, and the other way round.
            tpr[pair, last], fpr[pair, t] = 1.0 - negative, 1.0 - positive


# Above this many samples in a pair, looking for T points is quicker than walking past all samples.
LONG = 4000


@kernel
def find_tails(order: Any, weight: Any, offsets: Any, tails: Any, start: int, stop: int) -> None:
    """Shares of each class at or above each of its scores, for columns start..stop; order[i, p] is a sample.

    They cumulate the weights of (share) from the top; order and tails (k, n), weight (n,).
    """
    for i in range(start, stop):
        for c in range(offsets.shape[0] - 1):
            total = 0.0
            for p in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
                total += weight[order[i, p]]
                tails[i, p] = total
            # Divided by the same sum, so that the lowest score of a class has exactly the share 1.
            for p in range(offsets[c], offsets[c + 1]):
                tails[i, p] /= total


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
    at_a, at_b, t, is_long = n_a, n_b, np.int64(0), wa is None and n_a + n_b > long
    if is_long:
        at_a, at_b = skip(a, b, 2.0 * grid[0])
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
            t = cut_straight(share(wa, at_a + one, n_a), share(wa, at_a, n_a), share(wb, at_b, n_b), grid, t, tpr)
        if t == n_grid:
            return
        if is_long:
            at_a, at_b = skip(a, b, 2.0 * grid[t])
        # An edge may cover several call rates: `sought` is that of the first one not read yet.
        called, sought = called_at(wa, wb, at_a, n_a, at_b, n_b), sought_for(wa, grid[t], n_a, n_b)
    # One class is left. What is tied with the last sample called comes first, then a straight edge to (1, 1).
    while at_b > 0 and b[at_b - 1] == a[0]:
        at_b -= 1
    if is_tied(a, b, at_a, at_b) and called_at(wa, wb, at_a, n_a, at_b, n_b) >= sought:
        at_a, at_b, t = cut_tie(a, b, wa, wb, at_a, at_b, grid, t, tpr)
    if t < n_grid:
        cut_straight(share(wa, at_a, n_a), 1.0, 1.0, grid, t, tpr)


@inner
def share(tails: Any, at: int, n: int) -> float:
    """The share of a class from place `at` of its n sorted scores on."""
    if tails is None:
        return (n - at) / n
    return tails[at] if at < n else 0.0


@inner
def called_at(wa: Any, wb: Any, at_a: int, n_a: int, at_b: int, n_b: int) -> Any:
    """TPR + FPR with all called from these places on; without weights times n_a n_b, a whole number."""
    if wa is None:
        return (n_a - at_a) * n_b + (n_b - at_b) * n_a
    return share(wa, at_a, n_a) + share(wb, at_b, n_b)


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
def skip(a: Any, b: Any, target: float) -> Any:
    """A place on the path of the merge shortly before its shares reach the target, found by bisection."""
    n_a, n_b = a.shape[0], b.shape[0]
    # With x of a called, the target leaves y of b; the path crosses where the two scores change order.
    low, high = 0, n_a
    while low < high:
        x = (low + high) // 2
        y = np.int64(np.ceil((target - x / n_a) * n_b))
        if y > n_b or (y > 0 and a[n_a - 1 - x] >= b[n_b - y]):
            low = x + 1
        else:
            high = x
    at_a, at_b = n_a - low, n_b - min(n_b, max(0, np.int64((target - low / n_a) * n_b)))
    # Back onto the path, where nothing called comes after what is not, and below the target.
    while at_a < n_a and at_b > 0 and a[at_a] < b[at_b - 1]:
        at_a += 1
    while at_b < n_b and at_a > 0 and b[at_b] <= a[at_a - 1]:
        at_b += 1
    while (n_a - at_a) / n_a + (n_b - at_b) / n_b >= target:
        if at_a == n_a or (at_b < n_b and b[at_b] <= a[at_a]):
            at_b += 1
        else:
            at_a += 1
    return at_a, at_b


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
    t0, f0, t1, f1 = share(wa, high_a, n_a), share(wb, high_b, n_b), share(wa, low_a, n_a), share(wb, low_b, n_b)
    while True:
        part = min(1.0, max(0.0, (2.0 * grid[t] - t0 - f0) / (t1 + f1 - t0 - f0)))
        tpr[t] = t0 + part * (t1 - t0)
        t += 1
        if t == grid.shape[0] or 2.0 * grid[t] > t1 + f1:
            return low_a, low_b, t


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
    # The four shares of (shared-call-rate): S_ii, S_ji, S_ij, S_jj.
    at, n, share = np.empty(4, np.int64), np.empty(4, np.int64), np.empty(4)
    column, first = np.empty(4, np.int64), np.empty(4, np.int64)
    for pair in range(start, stop):
        i, j = positive[pair], negative[pair]
        for r in range(4):
            c = i if r % 2 == 0 else j
            column[r] = i if r < 2 else j
            first[r], n[r] = offsets[c], offsets[c + 1] - offsets[c]
            at[r], share[r] = n[r], 0.0
        # Call rate, TPR and FPR where the edge begins that the next score ends.
        t, s0, t0, f0 = 0, 0.0, 0.0, 0.0
        while t < grid.shape[0]:
            # One threshold for both columns: the highest score of any run that is not called yet.
            score = -np.inf
            for r in range(4):
                if at[r] > 0:
                    score = max(score, values[column[r], first[r] + at[r] - 1])
            left = 0
            for r in range(4):
                while at[r] > 0 and values[column[r], first[r] + at[r] - 1] >= score:
                    at[r] -= 1
                if tails is None:
                    share[r] = (n[r] - at[r]) / n[r]
                elif at[r] < n[r]:
                    share[r] = tails[column[r], first[r] + at[r]]
                left += at[r]
            s1 = 0.25 * (share[0] + share[1] + share[2] + share[3])
            # All called is (1, 1) but for rounding: the last edge takes every call rate that is left.
            if s1 >= grid[t] or left == 0:
                t = interpolate(t0, f0, share[0], share[1], s0, s1, grid, t, tpr[pair], fpr[pair])
            s0, t0, f0 = s1, share[0], share[1]


@inner
def interpolate(
    t0: float, f0: float, t1: float, f1: float, s0: float, s1: float, grid: Any, t: int, tpr: Any, fpr: Any
) -> Any:
    """Write every call rate from number t on that lies on the edge from s0 to s1, at least one."""
    while True:
        part = min(1.0, max(0.0, (grid[t] - s0) / (s1 - s0)))
        tpr[t] = t0 + part * (t1 - t0)
        fpr[t] = f0 + part * (f1 - f0)
        t += 1
        if t == grid.shape[0] or grid[t] > s1:
            return t


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
