"""Sorted scores, and what ROC polygons give when they are read: the passes sort, tails, cut and areas.

A run is one class in one column, in falling order. The polygon of a pair goes through the scores of two runs of one
column (own thresholds), of four runs of two columns (shared), or of two runs of differences that are made for it. Each
run counts alike.

Words in parentheses are the labels of equations in docs/method.md. n samples, k classes, C columns, P polygons, r runs
of each, T call rates.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from polyroc._core.torch.devices import pieces
from polyroc._core.torch.records import DevicePairs

if TYPE_CHECKING:
    from polyroc._core.torch.passes import Passes

# Scores that are sorted at once: PyTorch sorts with an index of eight bytes for each, and copies both.
_SORTED_AT_ONCE = 2**28
# Points that are cut at once, each of which takes some twenty numbers; polygons and samples whose wins are counted.
_POINTS_AT_ONCE, _POLYGONS_AT_ONCE, _SAMPLES_AT_ONCE = 2**22, 2**22, 2**24


@dataclass(frozen=True, eq=False)
class Samples:
    """Scores and classes on a device."""

    scores: torch.Tensor  # (n, C)
    codes: torch.Tensor  # (n,), int64
    weight: torch.Tensor | None  # (n,), float64
    counts: torch.Tensor  # (k,), int64, on the host

    @property
    def device(self) -> torch.device:
        return self.scores.device

    @property
    def by_class(self) -> torch.Tensor:
        """The samples class by class, (n,)."""
        k = len(self.counts)
        # Codes of as few bytes as they need: a radix sort passes over each.
        short = torch.uint8 if k <= 2**8 else torch.int16 if k <= 2**15 else torch.int32
        return torch.sort(self.codes.to(short), stable=True).indices

    @property
    def share(self) -> torch.Tensor:
        """Share of each sample in its class, by weight, (n,)."""
        if self.weight is None:
            return 1 / self.counts.to(self.device, torch.float64)[self.codes]
        total = torch.zeros(len(self.counts), dtype=torch.float64, device=self.device)
        return self.weight / total.index_add_(0, self.codes, self.weight)[self.codes]


@dataclass(frozen=True, eq=False)
class Runs:
    """Sorted scores, run by run; those of a column lie together, and there class after class."""

    values: torch.Tensor  # (C, n), each class in falling order
    order: torch.Tensor | None  # (C, n), int32: the sample at each place; None if not needed
    tails: (
        torch.Tensor | None
    )  # (C, n + k): share of a class before each place and after the last; None without weights
    offsets: torch.Tensor  # (k + 1,), int64: where each class begins
    counts: torch.Tensor  # (k,), int64
    longest: int

    @property
    def device(self) -> torch.device:
        return self.values.device

    @property
    def own_tails(self) -> torch.Tensor | None:
        """The tails as one long row."""
        return None if self.tails is None else self.tails.view(-1)


@dataclass(frozen=True, eq=False)
class Group:
    """Classes of about the same size, which are sorted as the rows of one table."""

    classes: torch.Tensor
    n_classes: int
    length: int
    """Size of the longest."""
    first: int | None
    """Where the first class begins, if they follow each other and have the same size."""


def sorted_runs(samples: Samples, passes: "Passes", *, ordered: bool) -> Runs:
    """Sort each class in each column; with the sample at each place if `ordered`, or if samples have weights."""
    ordered = ordered or samples.weight is not None
    n, n_columns = samples.scores.shape
    # One small copy to the device: where classes begin, and then how long they are.
    k = len(samples.counts)
    both = torch.cat([samples.counts.new_zeros(1), samples.counts.cumsum(0), samples.counts]).to(samples.device)
    offsets, counts = both[: k + 1], both[k + 1 :]
    by_class, groups = samples.by_class, groups_of(samples.counts, samples.device)
    values = torch.empty((n_columns, n), dtype=samples.scores.dtype, device=samples.device)
    order = torch.empty((n_columns, n), dtype=torch.int32, device=samples.device) if ordered else None
    for start, stop in pieces(n_columns, _SORTED_AT_ONCE // n):
        gathered = samples.scores[:, start:stop].index_select(0, by_class).T.contiguous()
        for group in groups:
            passes.sort(gathered, group, offsets, values[start:stop], None if order is None else order[start:stop])
        if order is not None:
            order[start:stop] = by_class[order[start:stop].long()].to(torch.int32)
    runs = Runs(values, order, None, offsets, counts, int(samples.counts.max()))
    return runs if samples.weight is None else replace(runs, tails=passes.tails(runs, samples.weight[None])[0])


def sorting_bytes(n: int, n_columns: int, size: int) -> int:
    """Bytes that sorting needs for a while: some columns, gathered twice, and sorted with an index of eight bytes."""
    return (3 * size + 8 + 4) * n * min(n_columns, max(1, _SORTED_AT_ONCE // n))


def groups_of(counts: torch.Tensor, device: torch.device) -> list[Group]:
    """Classes by size, within a factor of two: filled up to the longest, a group never doubles the work."""
    sizes, starts = counts.tolist(), (counts.cumsum(0) - counts).tolist()
    present = [c for c, size in enumerate(sizes) if size > 0]
    by_length: dict[int, list[int]] = {}
    for c in present:
        by_length.setdefault((sizes[c] - 1).bit_length(), []).append(c)
    groups = []
    for members in by_length.values():
        length = max(sizes[c] for c in members)
        is_table = len(members) == 1 or (len(members) == len(present) and min(sizes[c] for c in members) == length)
        classes = torch.tensor(members, device=device)
        groups.append(Group(classes, len(members), length, starts[members[0]] if is_table else None))
    return groups


def sort(
    gathered: torch.Tensor, group: Group, offsets: torch.Tensor, values: torch.Tensor, order: torch.Tensor | None
) -> None:
    """Sort the classes of a group in some columns, gathered by class, (c, n), into `values` and `order`."""
    shape, begin, is_ordered = (len(gathered), group.n_classes, group.length), offsets[group.classes], order is not None
    if group.first is not None:
        run = slice(group.first, group.first + group.n_classes * group.length)
        table = torch.sort(gathered[:, run].reshape(shape), dim=2, descending=True, stable=is_ordered)
        values[:, run] = table.values.flatten(1)
        if order is not None:
            order[:, run] = (table.indices + begin[:, None]).flatten(1)
        return
    rank = torch.arange(group.length, device=gathered.device)
    inside = rank < (offsets[group.classes + 1] - begin)[:, None]
    place = begin[:, None] + rank * inside
    # Scores are finite, so what fills up the shorter classes comes last.
    filled = gathered[:, place.flatten()].reshape(shape).masked_fill_(~inside, -torch.inf)
    table = torch.sort(filled, dim=2, descending=True, stable=is_ordered)
    values[:, place[inside]] = table.values[:, inside]
    if order is not None:
        order[:, place[inside]] = (table.indices + begin[:, None])[:, inside].to(torch.int32)


def tails(runs: Runs, weights: torch.Tensor) -> torch.Tensor:
    """Shares (share) of each run before each of its places and after the last, (B, C, n + k), under weights (B, n).

    A weight may be 0, but not all those of a class.
    """
    assert runs.order is not None
    (n_columns, n), k, n_weighings = runs.values.shape, len(runs.counts), len(weights)
    shares = torch.zeros((n_weighings, n_columns, n + k), dtype=torch.float64, device=runs.device)
    class_of = torch.repeat_interleave(torch.arange(k, device=runs.device), runs.counts, output_size=n)
    # The classes of the samples, from the first column: the places of every column are those of the same classes.
    codes = torch.empty(n, dtype=torch.int64, device=runs.device)
    codes[runs.order[0].long()] = class_of
    totals = torch.zeros((n_weighings, k), dtype=torch.float64, device=runs.device).index_add_(1, codes, weights)
    # Place p of class c stands, as the share up to and with it, at p + c + 1. Sums over a class of any weight are made
    # about 1 first, because heavy classes would leave rounding in light ones.
    stands, before = torch.arange(1, n + 1, device=runs.device) + class_of, runs.offsets[:-1][class_of]
    after, share = runs.offsets[1:][class_of], weights / totals[:, codes]
    for start, stop in pieces(n_columns, _SORTED_AT_ONCE // (4 * n * n_weighings)):
        cumulated = torch.zeros((n_weighings, stop - start, n + 1), dtype=torch.float64, device=runs.device)
        torch.cumsum(share[:, runs.order[start:stop].long()], 2, out=cumulated[..., 1:])
        first = cumulated[..., before]
        shares[:, start:stop, stands] = (cumulated[..., 1:] - first) / (cumulated[..., after] - first)
    return shares


@dataclass(frozen=True, eq=False)
class Lines:
    """The runs of some polygons, (r, P) each, as places in one long row of sorted scores."""

    values: torch.Tensor  # one long row, each run in falling order
    tails: torch.Tensor | None  # likewise, shares, one more for each run
    starts: torch.Tensor
    counts: torch.Tensor
    tail_starts: torch.Tensor  # where runs begin in `tails`
    longest: int

    def of_polygons(self, which: torch.Tensor | slice) -> "Lines":
        starts, counts, tail_starts = (one[:, which] for one in (self.starts, self.counts, self.tail_starts))
        return Lines(self.values, self.tails, starts, counts, tail_starts, self.longest)

    def share(self, run: int, called: torch.Tensor) -> torch.Tensor:
        """Share (share) of a run that its first samples are, (P, ...) from their number."""
        shape = (-1,) + (1,) * (called.ndim - 1)
        if self.tails is None:
            return called.to(torch.float64) / self.counts[run].reshape(shape).to(torch.float64)
        return self.tails[self.tail_starts[run].reshape(shape) + called]

    def above(self, run: int, score: torch.Tensor, *, equal: bool) -> torch.Tensor:
        """How many samples of a run lie above each score (P, ...), or at it as well."""
        shape = (-1,) + (1,) * (score.ndim - 1)
        start, count = self.starts[run].reshape(shape), self.counts[run].reshape(shape)
        low, high = torch.zeros_like(score, dtype=torch.int64), count.expand(score.shape)
        for _ in range(self.longest.bit_length()):
            middle = (low + high) >> 1
            value = self.values[start + middle.minimum(count - 1)]
            is_above = (value >= score if equal else value > score) & (low < high)
            low, high = torch.where(is_above, middle + 1, low), torch.where(is_above, high, middle)
        return low


def lines_of(runs: Runs, pairs: DevicePairs, *, is_shared: bool = False, weighed: torch.Tensor | None = None) -> Lines:
    """The runs of both classes in the column of the first, or in both columns; `weighed` are other tails."""
    members = [(pairs.positive, pairs.column), (pairs.negative, pairs.column)]
    if is_shared:
        members = [(of, column) for column in pairs[:2] for of in pairs[:2]]
    n, n_tails = runs.values.shape[1], runs.values.shape[1] + len(runs.counts)
    return Lines(
        values=runs.values.view(-1),
        tails=runs.own_tails if weighed is None else weighed,
        starts=torch.stack([column.long() * n + runs.offsets[of] for of, column in members]),
        counts=torch.stack([runs.counts[of] for of, _ in members]),
        # Every run has one share more than samples.
        tail_starts=torch.stack([column.long() * n_tails + runs.offsets[of] + of for of, column in members]),
        longest=runs.longest,
    )


@dataclass(frozen=True, eq=False)
class Cut:
    """Where each call rate lies on each polygon."""

    score: torch.Tensor  # (P, T): the score on whose edge it lies
    part: torch.Tensor  # (P, T): how much of that edge is called
    above: torch.Tensor  # (r, P, T): samples of each run above the score
    upto: torch.Tensor  # (r, P, T): and with those at it
    share: torch.Tensor  # (r, P, T): share of each run that is called


def cut_lines(lines: Lines, call_rates: torch.Tensor) -> Cut:
    """Cut every polygon at the call rates (call-rate) or (shared-call-rate), (T,) in double precision.

    By bisection, twice nested: for each run the first score from which on the call rate is reached, and for a score how
    many of each run lie above it. The highest of the scores of all runs is the one on whose edge the call rate lies.
    """
    n_runs, n_polygons = lines.starts.shape
    # A call rate is the mean of the runs' shares.
    target = n_runs * call_rates
    score = torch.full((n_polygons, len(call_rates)), -torch.inf, dtype=lines.values.dtype, device=lines.values.device)
    for run in range(n_runs):
        score = score.maximum(_first_reaching(lines, run, target))
    above, upto = (
        torch.stack([lines.above(run, score, equal=equal) for run in range(n_runs)]) for equal in (False, True)
    )
    before, after = (torch.stack([lines.share(run, one[run]) for run in range(n_runs)]) for one in (above, upto))
    reached = before.sum(0)
    part = ((target - reached) / (after.sum(0) - reached)).clamp(0, 1)
    return Cut(score, part, above, upto, before + part * (after - before))


def _first_reaching(lines: Lines, run: int, target: torch.Tensor) -> torch.Tensor:
    """The highest score of a run at which the call rate is reached, (P, T); -inf if it has none."""
    start, count = lines.starts[run][:, None], lines.counts[run][:, None]
    low = torch.zeros((len(count), len(target)), dtype=torch.int64, device=count.device)
    high = count.expand(low.shape)
    for _ in range(lines.longest.bit_length()):
        middle = (low + high) >> 1
        score = lines.values[start + middle.minimum(count - 1)]
        called = lines.share(0, lines.above(0, score, equal=True))
        for other in range(1, len(lines.starts)):
            called = called + lines.share(other, lines.above(other, score, equal=True))
        is_short = (called < target) & (low < high)
        low, high = torch.where(is_short, middle + 1, low), torch.where(is_short, high, middle)
    return torch.where(low < count, lines.values[start + low.minimum(count - 1)], -torch.inf)


def cut(
    runs: Runs,
    pairs: DevicePairs,
    call_rates: torch.Tensor,
    tpr: torch.Tensor,
    fpr: torch.Tensor | None = None,
    weighed: torch.Tensor | None = None,
) -> None:
    """Write the rates (rates) of pairs at the call rates to `tpr` and, of shared thresholds, `fpr`, (P, T).

    `weighed` has tails to take in place of those of the runs: one row of them, or several, (B, M); then rates are
    (B, P, T).
    """
    if tpr.ndim == 3:
        assert weighed is not None
        for b, one in enumerate(weighed):
            cut(runs, pairs, call_rates, tpr[b], None if fpr is None else fpr[b], one)
        return
    for start, stop in pieces(len(tpr), _POINTS_AT_ONCE // len(call_rates)):
        lines = lines_of(runs, pairs.part(start, stop), is_shared=fpr is not None, weighed=weighed)
        share = cut_lines(lines, call_rates).share
        tpr[start:stop] = share[0]
        if fpr is not None:
            fpr[start:stop] = share[1]


def pieces_by(sizes: torch.Tensor, at_once: int, most: int = _POLYGONS_AT_ONCE) -> Iterator[tuple[int, int]]:
    """Ends of pieces of polygons of these sizes, each about `at_once` in all and at most `most`, but at least one."""
    ends = torch.cumsum(sizes, 0).cpu().numpy()
    start = 0
    while start < len(ends):
        limit = at_once + (ends[start - 1] if start else 0)
        stop = max(start + 1, min(start + most, int(np.searchsorted(ends, limit, side="right"))))
        yield start, stop
        start = stop


def ranks_of(counts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The run of every sample of some runs, and its rank there, one run after the other."""
    run = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    return run, torch.arange(len(run), device=counts.device) - (torch.cumsum(counts, 0) - counts)[run]


class Compared(NamedTuple):
    """Every sample of one of two runs, compared with the other run of its polygon."""

    polygon: torch.Tensor
    rank: torch.Tensor
    lines: Lines  # with one polygon for each sample
    above: torch.Tensor  # how many of the other run lie above the sample
    upto: torch.Tensor  # and with those at it


def compared(lines: Lines, run: int) -> Compared:
    """Where every sample of a run lies among those of the other one."""
    polygon, rank = ranks_of(lines.counts[run])
    each = lines.of_polygons(polygon)
    score = lines.values[each.starts[run] + rank]
    above, upto = (each.above(1 - run, score, equal=equal) for equal in (False, True))
    return Compared(polygon, rank, each, above, upto)


def areas(runs: Runs, pairs: DevicePairs, weighed: torch.Tensor | None = None) -> torch.Tensor:
    """Area (pair-area) of each pair in its column, (P,); (B, P) with several rows of tails, (B, M)."""
    if weighed is not None and weighed.ndim == 2:
        return torch.stack([areas(runs, pairs, one) for one in weighed])
    parts = pieces(len(pairs.positive), _POLYGONS_AT_ONCE)
    return torch.cat([areas_of(lines_of(runs, pairs.part(*part), weighed=weighed)) for part in parts])


def areas_of(lines: Lines) -> torch.Tensor:
    """Area (pair-area) of each polygon, (P,), by the first two of its runs."""
    parts = pieces_by(lines.counts[0], _SAMPLES_AT_ONCE)
    return torch.cat([_areas_of_some(lines.of_polygons(slice(*part))) for part in parts])


def _areas_of_some(lines: Lines) -> torch.Tensor:
    (first, second), (polygon, rank, each, above, upto) = lines.counts[:2], compared(lines, 0)
    if lines.tails is None:
        # Doubled: then everything is a whole number, and no order of samples changes a bit.
        lost = torch.zeros(len(first), dtype=torch.int64, device=first.device).index_add_(0, polygon, above + upto)
        # Whole numbers of 64 bits: PyTorch divides them in single precision unless told otherwise.
        return 1 - lost.to(torch.float64) / (2 * first * second)
    weight = each.share(0, rank + 1) - each.share(0, rank)
    lost = weight * (each.share(1, above) + each.share(1, upto)) / 2
    total = torch.zeros(len(first), dtype=torch.float64, device=first.device).index_add_(0, polygon, lost)
    return (1 - total).clamp(0, 1)
