"""Compiled cuts through the polygons of pairs, and tables of influences from them.

A cut says which samples are called at each call rate, by rank: how many samples of each run lie above the score on
whose edge a call rate lies, how many lie at or above it, and how much of that edge is called. Runs are those of
`polyroc._core.numba.rates`. This is h of (influence), by rank from the top: 1 for the first `above` samples of a
run, `part` for those from there to `upto`, 0 for the others.

In one column the influence of a sample of a class is a step function of its score, so of its rank within the class:
a cut adds its coefficient to all samples above, which is one addition at the rank of the lowest of them. When all
pairs of the column are done the additions are cumulated, and handed to the samples in the order of their ranks.

Words in parentheses are the labels of equations in docs/influence.md, call rates those of (call-rate) and
(shared-call-rate) in docs/method.md. m numbers are differentiated, D or points of a curve; n samples, k classes,
K pairs, T call rates.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._core.numba.compile import borrowed, inner, kernel
from polyroc._core.numba.rates import LONG


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
            at_a, at_b, score = look_for(a, b, grid[t])
        else:
            at_a, at_b, score = call_until(a, b, tail_a, tail_b, at_a, at_b, grid[t])
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
    """Call at least one sample more, until the call rate is reached; the score of the last one with the places."""
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
    return at_a, at_b, a[at_a] if one else b[at_b]


@inner
def look_for(a: Any, b: Any, rate: float) -> Any:
    """As `call_until` from the top, without weights: by bisection, as `polyroc._core.numba.rates.skip`."""
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
    from_a = at_b == n_b or (at_a < n_a and a[at_a] < b[at_b])
    return at_a, at_b, a[at_a] if from_a else b[at_b]


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


class Sorted(NamedTuple):
    """Class-sorted scores, and which sample stands where (`polyroc._core.numba.class_sorted`)."""

    values: Any  # (k, n)
    offsets: Any  # (k + 1,)
    order: Any  # (k, n)


class ByColumn(NamedTuple):
    """The pairs of each column."""

    columns: Any  # (C,)
    first: Any  # (C + 1,) where the pairs of each begin
    pairs: Any  # (P,) where P is K, or 2K with shared thresholds: each pair then has two columns
    is_negative: Any  # (P,) whether the column is that of the pair's negative class


class Reading(NamedTuple):
    """Call rates, and between which of their neighbours slopes are taken (`polyroc._core.influence`)."""

    grid: Any  # (T,)
    low: Any  # (T,) the point at or before the lower end, of the points 0, s_1 .. s_T, 1
    low_part: Any  # (T,) how far on to the next point the lower end lies
    high: Any  # (T,)
    high_part: Any  # (T,)
    width: Any  # (T,) length of the interval


class Slopes(NamedTuple):
    """A gradient (`polyroc._core.adjoint`) by pairs: G of (rate-gradient), as Q products of rows and pairs."""

    row: Any  # (m, Q, 2T)
    pair: Any  # (K, m, Q)
    tpr: Any  # (K,)
    fpr: Any  # (K,)
    cell: Any  # (K, 2T), or empty


@kernel
def add_influences(
    by_column: Any,
    positive: Any,
    negative: Any,
    is_shared: bool,
    classes: Any,
    tails: Any,
    reading: Any,
    slopes: Any,
    start: int,
    stop: int,
    out: Any,
) -> None:
    """Add psi of (influence), the terms of columns start..stop, for every sample; `out` is (m, n)."""
    classes, by_column = borrowed(classes), borrowed(by_column)
    reading, slopes = borrowed(reading), borrowed(slopes)
    n_runs, n_grid = 4 if is_shared else 2, reading.grid.shape[0]
    cut = room_for_cut(n_runs, n_grid)
    rise, by_rate = np.empty((n_runs, n_grid)), np.empty((2, n_grid))
    table, offsets = np.empty(out.shape), classes.offsets
    for place in range(start, stop):
        # By rank from the top of each class, class after class as in `offsets`.
        table[:] = 0.0
        for which in range(by_column.first[place], by_column.first[place + 1]):
            pair = by_column.pairs[which]
            i, j = positive[pair], negative[pair]
            cut_pair(classes, tails, i, j, reading.grid, is_shared, cut)
            find_rise(reading, cut.share, rise)
            # Runs of this column: 0 and 1 in that of the positive class, 2 and 3 in the other one.
            first = 2 if by_column.is_negative[which] else 0
            for s in range(out.shape[0]):
                differentiate(slopes, s, pair, by_rate)
                balance(by_rate, rise, first)
                add_knots(cut, first, by_rate[0], table[s, offsets[i] : offsets[i + 1]])
                add_knots(cut, first + 1, by_rate[1], table[s, offsets[j] : offsets[j + 1]])
        cumulate(table, offsets)
        hand_out(table, offsets, classes.order[by_column.columns[place]], out)


@inner
def cut_pair(classes: Any, tails: Any, i: int, j: int, grid: Any, is_shared: bool, cut: Any) -> None:
    """Cut the polygon of the pair (i, j)."""
    values, offsets = classes.values, classes.offsets
    if is_shared:
        cut_four(values, tails, offsets, i, j, grid, cut)
        return
    a, b = values[i, offsets[i] : offsets[i + 1]], values[i, offsets[j] : offsets[j + 1]]
    if tails is None:
        cut_two(a, b, None, None, grid, cut)
    else:
        tail_a, tail_b = tails[i, offsets[i] : offsets[i + 1]], tails[i, offsets[j] : offsets[j + 1]]
        cut_two(a, b, tail_a, tail_b, grid, cut)


@inner
def find_rise(reading: Any, share: Any, rise: Any) -> None:
    """Each run's part of what is called next, shape (runs, T); of two runs, beta of (influence) and 1 - beta."""
    n_runs = rise.shape[0]
    for r in range(n_runs):
        for t in range(rise.shape[1]):
            low, high = reading.low[t], reading.high[t]
            upper = share[r, high] + reading.high_part[t] * (share[r, high + 1] - share[r, high])
            lower = share[r, low] + reading.low_part[t] * (share[r, low + 1] - share[r, low])
            # A call rate is the mean of the runs' shares: all of them together rise by n_runs times its width.
            rise[r, t] = min(1.0, max(0.0, (upper - lower) / (n_runs * reading.width[t])))


@inner
def differentiate(slopes: Any, s: int, pair: int, by_rate: Any) -> None:
    """Derivatives of number s by the true and false positive rates of a pair: G of (rate-gradient), shape (2, T)."""
    n_grid = by_rate.shape[1]
    for kind in range(2):
        weight = slopes.fpr[pair] if kind else slopes.tpr[pair]
        out = by_rate[kind]
        for q in range(slopes.row.shape[1]):
            row, factor = slopes.row[s, q, kind * n_grid : (kind + 1) * n_grid], weight * slopes.pair[pair, s, q]
            if q == 0:
                for t in range(n_grid):
                    out[t] = factor * row[t]
            else:
                for t in range(n_grid):
                    out[t] += factor * row[t]
        if slopes.cell.shape[0] > 0:
            for t in range(n_grid):
                out[t] *= slopes.cell[pair, kind * n_grid + t]


@inner
def balance(by_rate: Any, rise: Any, first: int) -> None:
    """From derivatives by rates to coefficients of runs, of the first two or the last two: the call rate stays."""
    for t in range(by_rate.shape[1]):
        # One more sample called moves the threshold up, and with it both rates: this much is lost again. With two runs
        # what is left is g (1 - beta) for the positive class and -g beta for the negative, as in (influence).
        moved = by_rate[0, t] * rise[0, t] + by_rate[1, t] * rise[1, t]
        if first == 0:
            by_rate[0, t] -= moved
            by_rate[1, t] -= moved
        else:
            # The rates are those of the positive class's column: a score in the other one only moves the threshold.
            by_rate[0, t] = by_rate[1, t] = -moved


@inner
def add_knots(cut: Any, run: int, height: Any, table: Any) -> None:
    """Note what every call rate adds to the samples that it calls, at the rank of the lowest of them."""
    above, upto = cut.above[run], cut.upto[run]
    for t in range(height.shape[0]):
        # h of (influence): whole above the edge, `part` on it.
        on_edge = cut.part[t] * height[t]
        if above[t] > 0:
            table[above[t] - 1] += height[t] - on_edge
        if upto[t] > 0:
            table[upto[t] - 1] += on_edge


@inner
def cumulate(table: Any, offsets: Any) -> None:
    """From what is noted at each rank to what a sample there is given: the sum from its rank on."""
    for s in range(table.shape[0]):
        for c in range(offsets.shape[0] - 1):
            total = 0.0
            for p in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
                total += table[s, p]
                table[s, p] = total


@inner
def hand_out(table: Any, offsets: Any, order: Any, out: Any) -> None:
    """Add to every sample what the table has at its rank, which counts from the top of its class."""
    for s in range(out.shape[0]):
        for c in range(offsets.shape[0] - 1):
            # Sorted scores rise and ranks fall: place p has the rank ends - p.
            ends = offsets[c] + offsets[c + 1] - 1
            for p in range(offsets[c], offsets[c + 1]):
                out[s, order[p]] += table[s, ends - p]


@kernel
def add_areas(
    by_column: Any, negative: Any, share: Any, classes: Any, tails: Any, start: int, stop: int, out: Any
) -> None:
    """Add the share of comparisons that each sample wins in columns start..stop, shape (n, m).

    These are DeLong's structural components of the areas (pair-area in docs/method.md); `share` (K, m) is what each
    area counts for in each of m sums.
    """
    classes, by_column = borrowed(classes), borrowed(by_column)
    values, offsets, n_sums = classes.values, classes.offsets, share.shape[1]
    below = np.empty(values.shape[1], np.int64)
    for place in range(start, stop):
        i = by_column.columns[place]
        order, first, n = classes.order[i], offsets[i], offsets[i + 1] - offsets[i]
        a = values[i, first : first + n]
        # What the samples of class i win, by place: each sample of another class adds at the first place above it.
        rise = np.zeros((n + 1, n_sums))
        for which in range(by_column.first[place], by_column.first[place + 1]):
            pair = by_column.pairs[which]
            begin, end = offsets[negative[pair]], offsets[negative[pair] + 1]
            b, of_b = values[i, begin:end], order[begin:end]
            if tails is None:
                add_wins_of_both(a, b, None, None, of_b, share[pair], below, rise, out)
            else:
                both_tails = (tails[i, first : first + n], tails[i, begin:end])
                add_wins_of_both(a, b, *both_tails, of_b, share[pair], below, rise, out)
        for p in range(n):
            for s in range(n_sums):
                out[order[first + p], s] += rise[p, s]
                rise[p + 1, s] += rise[p, s]


@inner
def add_wins_of_both(
    a: Any, b: Any, tail_a: Any, tail_b: Any, order_b: Any, share: Any, below: Any, rise: Any, out: Any
) -> None:
    """Add what each sample of run b wins by lying below run a to `out`, and what those of a win to `rise`; ties half.

    a (n_a,) and b (n_b,) rise, and so do the places of `rise` (n_a + 1, m); share (m,). `below` is room for n_b places.
    """
    n_a, n_b, high = a.shape[0], b.shape[0], np.int64(0)
    of_a, half = 0.5 / n_a, 0.5 / n_b
    find_below(a, b, below)
    for p in range(n_b):
        low = below[p]
        high = max(high, low)
        while high < n_a and a[high] == b[p]:
            high += 1
        if tail_a is None:
            higher = of_a * (2 * n_a - low - high)
        else:
            higher = 0.5 * (called_share(tail_a, low, n_a) + called_share(tail_a, high, n_a))
            half = 0.5 * (tail_b[p] - called_share(tail_b, p + 1, n_b))
        sample = order_b[p]
        for s in range(share.shape[0]):
            rise[low, s] += share[s] * half
            rise[high, s] += share[s] * half
            out[sample, s] += share[s] * higher


@inner
def find_below(a: Any, b: Any, below: Any) -> None:
    """How many of run a lie below each of run b, both rising: the first entries of `below`, as many as b has."""
    n_a, n_b = a.shape[0], b.shape[0]
    at_a, at_b = np.int64(0), np.int64(0)
    while at_a < n_a and at_b < n_b:
        # Which run comes next cannot be predicted, so nothing branches upon it: a place is written until it is right.
        below[at_b] = at_a
        one = np.int64(a[at_a] < b[at_b])
        at_a += one
        at_b += 1 - one
    below[at_b:n_b] = n_a
