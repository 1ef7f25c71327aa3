"""Compiled cuts through the polygons of pairs: which samples are called at each call rate, by rank.

A cut says more than a rate: how many samples of each run lie above the score on whose edge a call rate lies, how many
lie at or above it, and how much of that edge is called. Runs are those of `polyroc._engines._numba._rates`.

This is h of equation (influence) in docs/influence.md, by rank from the top: 1 for the first `above` samples of a run,
`part` for those from there to `upto`, 0 for the others. Call rates are those of (call-rate) and (shared-call-rate) in
docs/method.md.
"""

from typing import Any, NamedTuple

import numpy as np

from polyroc._engines._numba._compile import inner
from polyroc._engines._numba._rates import LONG


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
    """As `call_until` from the top, without weights: by bisection, as `polyroc._engines._numba._rates.skip`."""
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
