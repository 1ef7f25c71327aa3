"""Compiled reading of ROC polygons from class-sorted scores.

`values[i, offsets[c]:offsets[c + 1]]` are the scores of class c in column i, in
rising order; `tails` (weighted) holds at the same place the share of the class
at or above each of them. A polygon is walked by merging two such runs from the
top, or, where runs are long, by looking for each call rate on the merge's path.
"""

from typing import Any

import numpy as np

from polyroc._engines._numba._compile import borrowed, inner, kernel

# Above this many samples in a pair, looking for T points is quicker than walking past all samples.
LONG = 4000


@kernel
def gather(scores: Any, order: Any, values: Any, start: int, stop: int) -> None:
    """Copy samples start..stop of the class order into columns: values[i, p] = scores[order[p], i]."""
    for begin in range(start, stop, 32):
        end = min(begin + 32, stop)
        for i in range(values.shape[0]):
            for p in range(begin, end):
                values[i, p] = scores[order[p], i]


@kernel
def find_tails(order: Any, weight: Any, offsets: Any, tails: Any, start: int, stop: int) -> None:
    """Shares of each class at or above each of its scores, for columns start..stop; order[i, p] is a sample."""
    for i in range(start, stop):
        for c in range(offsets.shape[0] - 1):
            total = 0.0
            for p in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
                total += weight[order[i, p]]
                tails[i, p] = total
            for p in range(offsets[c], offsets[c + 1]):
                tails[i, p] /= total


@kernel
def cut_short(
    values: Any, offsets: Any, positive: Any, negative: Any, grid: Any, which: Any, start: int, stop: int, tpr: Any
) -> None:
    """True positive rates of some pairs at the call rates, each from the positive class's own column.

    The pairs are which[start:stop], of at most LONG samples.
    """
    called_a, steps_by = np.empty(LONG + 2, np.int32), np.empty(grid.shape[0] + 2, np.int32)
    part, is_inside = np.empty(grid.shape[0], np.int64), np.empty(grid.shape[0], np.bool_)
    parts = (sort_grid(grid, part, is_inside), part, is_inside)
    fpr = np.empty_like(tpr[0])  # not kept: it is what TPR leaves of twice the call rate
    for pair in which[start:stop]:
        i, j = positive[pair], negative[pair]
        a, b = values[i, offsets[i] : offsets[i + 1]], values[i, offsets[j] : offsets[j + 1]]
        stride(a, b, grid, parts, called_a, steps_by, tpr[pair], fpr)


@kernel
def cut_long(
    values: Any, offsets: Any, positive: Any, negative: Any, grid: Any, which: Any, start: int, stop: int, tpr: Any
) -> None:
    """As `cut_short`, for pairs of any number of samples. Apart, so that only what is needed is compiled."""
    fpr = np.empty_like(tpr[0])
    for pair in which[start:stop]:
        i, j = positive[pair], negative[pair]
        a, b = values[i, offsets[i] : offsets[i + 1]], values[i, offsets[j] : offsets[j + 1]]
        look(a, b, grid, tpr[pair], fpr)


@inner
def stride(a: Any, b: Any, grid: Any, parts: Any, called_a: Any, steps_by: Any, tpr: Any, fpr: Any) -> None:
    """Merge two runs from the top and read the polygon at each call rate.

    Which class comes next cannot be predicted, so nothing branches upon it. The path of the merge is written down
    first: after s samples, `called_a[s]` of them are of a. Counting how many samples are called before each uniform
    call rate then says which edge it lies on, and from where to look for those between. `parts` is what `sort_grid`
    finds.
    """
    n_a, n_b, n_grid = a.shape[0], b.shape[0], grid.shape[0]
    at_a, at_b, called, n_steps, tied = n_a, n_b, 0, 0, 0
    n_parts, part, is_inside = borrowed(parts)
    unit = n_parts / (2.0 * n_a * n_b)
    for t in range(n_parts + 1):
        steps_by[t] = 0
    called_a[0] = 0
    while at_a > 0 and at_b > 0:
        # One sample more; of a tie, those of a first.
        x, y = a[at_a - 1], b[at_b - 1]
        one = int(x >= y)
        tied += int(x == y)
        at_a -= one
        at_b -= 1 - one
        called += n_a + one * (n_b - n_a)
        n_steps += 1
        called_a[n_steps] = n_a - at_a
        steps_by[min(np.int64(called * unit), n_parts)] += 1
    # What is left is of one class; its first sample decides the edge of all call rates that remain.
    called_a[n_steps + 1] = called_a[n_steps] + (1 if at_a > 0 else 0)
    if tied:
        read_with_ties(a, b, grid, parts, called_a, steps_by, n_steps, tpr, fpr)
        return
    cumulate(steps_by, n_parts)
    before = np.int64(0)
    for t in range(n_grid):
        before = max(before, np.int64(steps_by[part[t]]))
        if is_inside[t]:
            before = walk_on(grid[t], called_a, before, n_steps, n_a, n_b)
        cut_edge(grid[t], t, called_a, before, n_a, n_b, tpr, fpr)


@inner
def sort_grid(grid: Any, part: Any, is_inside: Any) -> Any:
    """Into how many parts the uniform points cut [0, 1]; where each call rate's part begins, and if it lies inside."""
    # The first point is one step of the uniform ones. Any number would do: it says from where to look.
    n_parts = min(np.int64(1.0 / grid[0] + 0.5), grid.shape[0] + 1)
    for t in range(grid.shape[0]):
        # A little more, so that rounding does not put a point below the part that begins there.
        part[t] = np.int64(grid[t] * n_parts + 1e-12)
        is_inside[t] = grid[t] * n_parts > part[t] + 1e-12
    return n_parts


@inner
def cumulate(steps_by: Any, n_parts: int) -> None:
    """From the steps of each part to those before its beginning."""
    total = 0
    for b in range(n_parts + 1):
        here = steps_by[b]
        steps_by[b] = total
        total += here


@inner
def walk_on(rate: float, called_a: Any, before: int, n_steps: int, n_a: int, n_b: int) -> Any:
    """From a place on the path on to the last step that ends before a call rate."""
    target = 2.0 * rate * n_a * n_b
    while before < n_steps:
        from_a = np.int64(called_a[before + 1])
        if from_a * n_b + (before + 1 - from_a) * n_a >= target:
            break
        before += 1
    return before


@inner
def cut_edge(rate: float, t: int, called_a: Any, before: int, n_a: int, n_b: int, tpr: Any, fpr: Any) -> None:
    """Read the edge that one sample makes, on which only the rate of its class grows."""
    from_a = called_a[before + 1] > called_a[before]
    fixed = (before - called_a[before]) / n_b if from_a else called_a[before] / n_a
    growing = min(1.0, max(0.0, 2.0 * rate - fixed))
    tpr[t] = growing if from_a else fixed
    fpr[t] = fixed if from_a else growing


@inner
def read_with_ties(
    a: Any, b: Any, grid: Any, parts: Any, called_a: Any, steps_by: Any, n_steps: int, tpr: Any, fpr: Any
) -> None:
    """As the end of `stride`, where the classes share scores."""
    n_a, n_b, n_grid = a.shape[0], b.shape[0], grid.shape[0]
    # The path to its end: part of what is left may belong to a tie.
    left = called_a[n_steps + 1] - called_a[n_steps]
    n_parts, part, is_inside = borrowed(parts)
    unit = n_parts / (2.0 * n_a * n_b)
    for s in range(n_steps + 1, n_a + n_b + 1):
        called_a[s] = called_a[s - 1] + left
        called = np.int64(called_a[s]) * n_b + np.int64(s - called_a[s]) * n_a
        steps_by[min(np.int64(called * unit), n_parts)] += 1
    cumulate(steps_by, n_parts)
    t, before = np.int64(0), np.int64(0)
    while t < n_grid:
        before = max(before, np.int64(steps_by[part[t]]))
        if is_inside[t]:
            before = walk_on(grid[t], called_a, before, n_a + n_b - 1, n_a, n_b)
        at_a, at_b = n_a - called_a[before + 1], n_b - (before + 1 - called_a[before + 1])
        if called_a[before + 1] > called_a[before]:
            score, is_tie = a[at_a], at_b > 0 and b[at_b - 1] == a[at_a]
        else:
            score, is_tie = b[at_b], at_a < n_a and a[at_a] == b[at_b]
        if is_tie:
            t = cut_tie(a, b, at_a, at_b, score, grid, t, tpr, fpr)
        else:
            cut_edge(grid[t], t, called_a, before, n_a, n_b, tpr, fpr)
            t += 1


@kernel
def cut_own_weighted(
    values: Any,
    tails: Any,
    offsets: Any,
    positive: Any,
    negative: Any,
    grid: Any,
    start: int,
    stop: int,
    tpr: Any,
) -> None:
    """As `cut_short`, by shares of weight, for the pairs start..stop."""
    fpr = np.empty_like(tpr[0])
    for pair in range(start, stop):
        i, j = positive[pair], negative[pair]
        a, b = values[i, offsets[i] : offsets[i + 1]], values[i, offsets[j] : offsets[j + 1]]
        wa, wb = tails[i, offsets[i] : offsets[i + 1]], tails[i, offsets[j] : offsets[j + 1]]
        walk_weighted(a, b, wa, wb, grid, tpr[pair], fpr)


@inner
def cut_straight(
    grid: Any, t: int, s1: float, from_a: bool, above_a: int, n_a: int, above_b: int, n_b: int, tpr: Any, fpr: Any
) -> Any:
    """Read an edge on which only one rate grows, up to call rate s1; returns the next call rate to look for."""
    fixed = above_b / n_b if from_a else above_a / n_a
    while t < grid.shape[0] and grid[t] <= s1:
        growing = min(1.0, 2.0 * grid[t] - fixed)
        tpr[t] = growing if from_a else fixed
        fpr[t] = fixed if from_a else growing
        t += 1
    return t


@inner
def cut_tie(a: Any, b: Any, at_a: int, at_b: int, score: float, grid: Any, t: int, tpr: Any, fpr: Any) -> Any:
    """Read the polygon on the slanted edge of a tie between the classes."""
    n_a, n_b = a.shape[0], b.shape[0]
    low_a, low_b, high_a, high_b = at_a, at_b, at_a, at_b
    while low_a > 0 and a[low_a - 1] >= score:
        low_a -= 1
    while low_b > 0 and b[low_b - 1] >= score:
        low_b -= 1
    while high_a < n_a and a[high_a] <= score:
        high_a += 1
    while high_b < n_b and b[high_b] <= score:
        high_b += 1
    t0, f0 = (n_a - high_a) / n_a, (n_b - high_b) / n_b
    t1, f1 = (n_a - low_a) / n_a, (n_b - low_b) / n_b
    return interpolate(t0, f0, t1, f1, 0.5 * (t0 + f0), 0.5 * (t1 + f1), grid, t, tpr, fpr)


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


@inner
def look(a: Any, b: Any, grid: Any, tpr: Any, fpr: Any) -> None:
    """Find each call rate on the path of the merge by bisection, without walking the path."""
    n_a, n_b = a.shape[0], b.shape[0]
    t = np.int64(0)
    while t < grid.shape[0]:
        # With x of a above, the call rate leaves y of b; the path crosses where the two scores change order.
        low, high = 0, n_a
        while low < high:
            x = (low + high) // 2
            y = int(np.ceil((2.0 * grid[t] - x / n_a) * n_b))
            if y > n_b or (y > 0 and a[n_a - 1 - x] >= b[n_b - y]):
                low = x + 1
            else:
                high = x
        y = min(n_b, max(0, int(np.ceil((2.0 * grid[t] - low / n_a) * n_b))))
        at_a, at_b = settle(a, b, n_a - low, n_b - y, 2.0 * grid[t])
        # The sample called last: the lower one, and of a tie that of b.
        from_a = at_b == n_b or (at_a < n_a and a[at_a] < b[at_b])
        if from_a and at_b > 0 and b[at_b - 1] == a[at_a]:
            t = cut_tie(a, b, at_a, at_b, a[at_a], grid, t, tpr, fpr)
        elif not from_a and at_a < n_a and a[at_a] == b[at_b]:
            t = cut_tie(a, b, at_a, at_b, b[at_b], grid, t, tpr, fpr)
        else:
            s1 = max(grid[t], 0.5 * ((n_a - at_a) / n_a + (n_b - at_b) / n_b))
            t = cut_straight(grid, t, s1, from_a, n_a - at_a, n_a, n_b - at_b, n_b, tpr, fpr)


@inner
def settle(a: Any, b: Any, above_a: int, above_b: int, target: float) -> Any:
    """From near the crossing to it: the first point of the path whose shares reach the target."""
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
def walk_weighted(a: Any, b: Any, wa: Any, wb: Any, grid: Any, tpr: Any, fpr: Any) -> None:
    """As `stride`, by shares of weight."""
    n_a, n_b = a.shape[0], b.shape[0]
    at_a, at_b, t = n_a, n_b, 0
    t0, f0 = 0.0, 0.0
    while True:
        if at_b == 0 or (at_a > 0 and a[at_a - 1] >= b[at_b - 1]):
            at_a -= 1
            score = a[at_a]
        else:
            at_b -= 1
            score = b[at_b]
        # The whole tie.
        while at_a > 0 and a[at_a - 1] >= score:
            at_a -= 1
        while at_b > 0 and b[at_b - 1] >= score:
            at_b -= 1
        t1 = wa[at_a] if at_a < n_a else 0.0
        f1 = wb[at_b] if at_b < n_b else 0.0
        if 0.5 * (t1 + f1) >= grid[t] or (at_a == 0 and at_b == 0):
            t = interpolate(t0, f0, t1, f1, 0.5 * (t0 + f0), 0.5 * (t1 + f1), grid, t, tpr, fpr)
            if t == grid.shape[0]:
                return
        t0, f0 = t1, f1


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
    """Rates of the pairs start..stop where one threshold moves through both columns of the pair."""
    at, n, share = np.empty(4, np.int64), np.empty(4, np.int64), np.empty(4)
    column, first = np.empty(4, np.int64), np.empty(4, np.int64)
    for pair in range(start, stop):
        i, j = positive[pair], negative[pair]
        for r in range(4):
            c = i if r % 2 == 0 else j
            column[r] = i if r < 2 else j
            first[r], n[r] = offsets[c], offsets[c + 1] - offsets[c]
            at[r], share[r] = n[r], 0.0
        t, s0, t0, f0 = 0, 0.0, 0.0, 0.0
        while t < grid.shape[0]:
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
            if s1 >= grid[t] or left == 0:
                t = interpolate(t0, f0, share[0], share[1], s0, s1, grid, t, tpr[pair], fpr[pair])
            s0, t0, f0 = s1, share[0], share[1]


@kernel
def add_areas(
    values: Any, tails: Any, offsets: Any, positive: Any, negative: Any, start: int, stop: int, out: Any
) -> None:
    """Mann-Whitney areas of the pairs start..stop, ties counted one half."""
    for pair in range(start, stop):
        i, j = positive[pair], negative[pair]
        a, b = values[i, offsets[i] : offsets[i + 1]], values[i, offsets[j] : offsets[j + 1]]
        if tails is None:
            out[pair] = doubled_wins(a, b) / (2.0 * a.shape[0] * b.shape[0])
        else:
            wa, wb = tails[i, offsets[i] : offsets[i + 1]], tails[i, offsets[j] : offsets[j + 1]]
            out[pair] = area_weighted(a, b, wa, wb)


@inner
def doubled_wins(a: Any, b: Any) -> Any:
    """Twice the number of pairs that a wins over b, a tie being half a win."""
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
        weight = wa[p] - (wa[p + 1] if p + 1 < a.shape[0] else 0.0)
        above_below = wb[below] if below < n_b else 0.0
        above_upto = wb[upto] if upto < n_b else 0.0
        total += weight * (1.0 - 0.5 * (above_below + above_upto))
        most += weight
    return total / most
