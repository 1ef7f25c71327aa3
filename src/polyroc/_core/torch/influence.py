"""Influences of samples on the device, in plain PyTorch: tables by rank, handed out in the order of the scores.

In one column the influence of a sample of a class is a step function of its score, so of its rank within the class: a
cut adds its coefficient to all samples above, which is one addition at the rank of the lowest of them. When all pairs
of a column are done the additions are cumulated, and handed to the samples in the order of their ranks.

Words in parentheses are the labels of equations in docs/influence.md. m numbers are differentiated, D or points of a
curve; n samples, k classes, C columns, K pairs, T call rates.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch

from polyroc._core.reach import Reach, reach
from polyroc._core.torch.cuts import Cut, Lines, cut, own_lines, shared_lines
from polyroc._core.torch.devices import pieces, uploaded
from polyroc._core.torch.gradient import Slopes
from polyroc._core.torch.pairs import DevicePairs
from polyroc._core.torch.runs import Runs, Samples
from polyroc._lib.typing import FloatArray, Thresholds

# Points that are cut at once, entries of tables that are filled at once, and numbers differentiated at once.
_POINTS, _ENTRIES, _NUMBERS = 2**20, 2**26, 16


def sample_influences(
    samples: Samples,
    runs: Runs,
    pairs: DevicePairs,
    call_rates: FloatArray,
    thresholds: Thresholds,
    slopes: Slopes,
    *,
    least_reach: float,
) -> torch.Tensor:
    """What each sample adds to each of m numbers, (m, n), from their gradient; the sums of classes are 0."""
    around = DeviceReach.of(reach(call_rates, least_reach), samples.device)
    grid = uploaded(call_rates, samples.device)
    n_numbers, n_samples = len(slopes.row), runs.values.shape[1]
    found = torch.zeros((n_numbers, n_samples), dtype=torch.float64, device=samples.device)
    together = min(n_numbers, _NUMBERS)
    by_column = _ByColumn.of(pairs, runs.values.shape[0], is_shared=thresholds == "shared")
    for columns in by_column.pieces(_POINTS // len(grid), _ENTRIES // (n_samples * together)):
        for first, last in pieces(n_numbers, together):
            table = torch.zeros(
                (last - first, columns.stop - columns.start, n_samples), dtype=torch.float64, device=samples.device
            )
            for some in by_column.entries(columns, _POINTS // len(grid)):
                _add_pairs(some, runs, pairs, grid, around, slopes.of_numbers(slice(first, last)), columns.start, table)
            _hand_out(cumulated(table, runs.offsets[1:], runs.counts), runs, columns, found[first:last])
    return centred(found, samples)


class DeviceReach(NamedTuple):
    """`Reach` on a device."""

    low: torch.Tensor
    low_part: torch.Tensor
    high: torch.Tensor
    high_part: torch.Tensor
    width: torch.Tensor

    @classmethod
    def of(cls, around: Reach, device: torch.device) -> "DeviceReach":
        return cls(
            *(uploaded(getattr(around, name), device) for name in ("low", "low_part", "high", "high_part", "width"))
        )

    def next_called(self, share: torch.Tensor) -> torch.Tensor:
        """Each run's part of what is called next, from the shares that are called, both (r, P, T)."""
        shape = (*share.shape[:2], 1)
        share = torch.cat([share.new_zeros(shape), share, share.new_ones(shape)], 2)
        rise = self._read(share, self.high, self.high_part) - self._read(share, self.low, self.low_part)
        # A call rate is the mean of the runs' shares: all of them together rise by as many times its width.
        return (rise / (len(share) * self.width)).clamp(0, 1)

    @staticmethod
    def _read(share: torch.Tensor, place: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        return (1 - part) * share[..., place] + part * share[..., place + 1]


class _Some(NamedTuple):
    """Some pairs, each in one of its columns."""

    pair: torch.Tensor  # (P,)
    is_negative: torch.Tensor  # (P,): whether the column is that of the negative class
    column: torch.Tensor  # (P,)
    is_shared: bool


class _ByColumn(NamedTuple):
    """The pairs whose threshold moves through each column: as the positive class's, and shared also the other's."""

    all: _Some
    first: list[int]  # (C + 1,): where those of each column begin

    @classmethod
    def of(cls, pairs: DevicePairs, n_columns: int, *, is_shared: bool) -> "_ByColumn":
        n_pairs = len(pairs.column)
        column = torch.cat([pairs.positive, pairs.negative]) if is_shared else pairs.column
        order = torch.sort(column, stable=True).indices
        counts = torch.bincount(column, minlength=n_columns)
        first = [0, *torch.cumsum(counts, 0).tolist()]
        return cls(_Some(order % n_pairs, order >= n_pairs, column[order].long(), is_shared), first)

    def pieces(self, most_pairs: int, most_columns: int) -> Iterator[range]:
        """Columns that are worked on together: at least one."""
        start, n_columns = 0, len(self.first) - 1
        while start < n_columns:
            stop = start + 1
            limit = self.first[start] + most_pairs
            while stop < n_columns and self.first[stop + 1] <= limit and stop - start < most_columns:
                stop += 1
            if self.first[stop] > self.first[start]:
                yield range(start, stop)
            start = stop

    def entries(self, columns: range, at_once: int) -> Iterator[_Some]:
        """The pairs of these columns."""
        begin, end = self.first[columns.start], self.first[columns.stop]
        for start, stop in pieces(end - begin, at_once):
            some = slice(begin + start, begin + stop)
            yield self.all._replace(
                pair=self.all.pair[some], is_negative=self.all.is_negative[some], column=self.all.column[some]
            )


def _add_pairs(
    some: _Some,
    runs: Runs,
    pairs: DevicePairs,
    grid: torch.Tensor,
    around: DeviceReach,
    slopes: Slopes,
    first_column: int,
    table: torch.Tensor,
) -> None:
    """Note what every cut adds, at the rank of the lowest sample that it calls; `table` is (m, columns, n)."""
    positive, negative = pairs.positive[some.pair].long(), pairs.negative[some.pair].long()
    if some.is_shared:
        lines = shared_lines(runs, positive, negative)
    else:
        lines = own_lines(runs, positive, negative, pairs.column[some.pair].long())
    at = cut(lines, grid)
    by_tpr, by_fpr = slopes.by_rates(some.pair)
    next_called = around.next_called(at.share)
    # One more sample called moves the threshold up, and with it both rates: this much is lost again.
    moved = by_tpr * next_called[0] + by_fpr * next_called[1]
    # The rates are those of the positive class's column: a score in the other one only moves the threshold.
    is_own = (~some.is_negative)[:, None]
    column = (some.column - first_column)[:, None] * runs.values.shape[1]
    for run, (members_of, pull) in enumerate(((positive, by_tpr), (negative, by_fpr))):
        start = column + runs.offsets[members_of][:, None]
        # Runs of this column: 0 and 1 in that of the positive class, 2 and 3 in the other one.
        add_knots(at, _of_column(at, run, is_own), start, pull * is_own - moved, table)


def _of_column(at: Cut, run: int, is_own: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How many of a run lie above each cut, and with those at it, in the column of each pair, (P, T) each."""
    if len(at.above) == 2:
        return at.above[run], at.upto[run]
    return torch.where(is_own, at.above[run], at.above[run + 2]), torch.where(is_own, at.upto[run], at.upto[run + 2])


def add_knots(
    at: Cut, called: tuple[torch.Tensor, torch.Tensor], start: torch.Tensor, height: torch.Tensor, table: torch.Tensor
) -> None:
    """Note heights (m, P, T) at the ranks of the runs that begin at `start`, (P, 1)."""
    flat = table.view(len(table), -1)
    # h of (influence): whole above the edge, `part` on it.
    on_edge = at.part * height
    for rank, value in zip(called, (height - on_edge, on_edge), strict=True):
        # Where nothing is called, nothing is added, wherever.
        place = (start + (rank - 1).clamp(min=0)).flatten()
        flat.index_add_(1, place, torch.where(rank > 0, value, 0.0).flatten(1))


def cumulated(table: torch.Tensor, ends: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """From what is noted at each rank to what a sample there is given: the sum from its rank on, within each run.

    Runs of these counts lie along the last axis of `table` and end at `ends`.
    """
    upto = torch.zeros((*table.shape[:-1], table.shape[-1] + 1), dtype=table.dtype, device=table.device)
    torch.cumsum(table, -1, out=upto[..., 1:])
    at_end = upto[..., ends].repeat_interleave(counts, -1, output_size=table.shape[-1])
    return at_end - upto[..., :-1]


def _hand_out(given: torch.Tensor, runs: Runs, columns: range, out: torch.Tensor) -> None:
    """Add to every sample what it is given at its ranks, (m, columns, n); the same bits whenever asked."""
    assert runs.order is not None
    order = runs.order[columns.start : columns.stop].long()
    out += torch.empty_like(given).scatter_(2, order.expand(given.shape), given).sum(1)


def centred(found: torch.Tensor, samples: Samples) -> torch.Tensor:
    """Less the mean of each class, and times the share of each sample in its class, (m, n)."""
    codes, weight = samples.codes, samples.weight
    if weight is None:
        share = 1 / samples.counts.to(samples.device, torch.float64)[codes]
    else:
        total = torch.zeros(len(samples.counts), dtype=torch.float64, device=samples.device)
        share = weight / total.index_add_(0, codes, weight)[codes]
    mean = torch.zeros((len(found), len(samples.counts)), dtype=torch.float64, device=samples.device)
    mean.index_add_(1, codes, share * found)
    return share * (found - mean[:, codes])


# Samples whose wins are found at once.
_SAMPLES = 2**22


def area_influences(samples: Samples, runs: Runs, pairs: DevicePairs, shares: torch.Tensor) -> torch.Tensor:
    """What each sample adds to sums of share times pairwise area, (m, n) from (m, K): DeLong's components."""
    assert runs.order is not None
    order = runs.order.view(-1)
    found = torch.zeros((len(shares), runs.values.shape[1]), dtype=torch.float64, device=samples.device)
    for start, stop in pieces(len(pairs.column), max(1, _SAMPLES // (2 * runs.longest * len(shares)))):
        some = [one[start:stop].long() for one in pairs]
        lines = own_lines(runs, *some)
        for run in (0, 1):
            owner, place, won = wins(lines, run)
            found.index_add_(1, order[place].long(), shares[:, start:stop][:, owner] * won)
    return centred(found, samples)


def wins(lines: Lines, run: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The polygon and the place of every sample of one of two runs, and the share of the other one that it beats.

    A sample of the first run wins against those of the second below it, one of the second against those of the first
    above it; ties count half.
    """
    counts = lines.counts[run]
    owner = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    rank = torch.arange(len(owner), device=counts.device) - (torch.cumsum(counts, 0) - counts)[owner]
    place = lines.starts[run][owner] + rank
    tail_starts = None if lines.tail_starts is None else lines.tail_starts[:, owner]
    each = Lines(lines.values, lines.tails, lines.starts[:, owner], lines.counts[:, owner], tail_starts, lines.longest)
    score, other = lines.values[place], 1 - run
    above, upto = (each.share(other, each.above(other, score, equal=equal)) for equal in (False, True))
    return owner, place, (above + upto) / 2 if run else 1 - (above + upto) / 2
