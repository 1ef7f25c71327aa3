"""Influences of samples in plain PyTorch: tables by rank, handed out in the order of the scores.

In one column the influence of a sample of a class is a step function of its score, so of its rank within the class: a
cut adds its coefficient to all samples above, which is one addition at the rank of the lowest of them. When all pairs
of a column are done the additions are cumulated, and handed to the samples in the order of their ranks.

Words in parentheses are the labels of equations in docs/influence.md. m numbers are differentiated, D or points of a
curve; n samples, k classes, C columns, K pairs, T call rates.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from polyroc._core.reach import Reach, reach
from polyroc._core.torch.devices import pieces, uploaded
from polyroc._core.torch.records import DevicePairs, Slopes
from polyroc._core.torch.runs import Cut, Lines, Runs, Samples, compared, cut_lines, lines_of
from polyroc._lib.typing import FloatArray, Thresholds

# Points that are cut at once, entries of tables that are filled at once, numbers differentiated at once, and samples
# whose wins are counted at once.
_POINTS, _ENTRIES, _NUMBERS, _SAMPLES = 2**20, 2**26, 16, 2**22

# Sorted scores, with the sample at each place if they are asked for as `ordered`.
GetRuns = Callable[..., Runs]


def influences(
    samples: Samples,
    get_runs: GetRuns,
    pairs: DevicePairs,
    call_rates: FloatArray,
    thresholds: Thresholds,
    slopes: Slopes,
    *,
    least_reach: float,
) -> torch.Tensor:
    """Influences (influence) of the samples on m numbers, (m, n), by their gradient."""
    runs, around = get_runs(ordered=True), DeviceReach.of(reach(call_rates, least_reach), samples.device)
    grid = uploaded(call_rates, samples.device)
    n_numbers, (n_columns, n_samples) = len(slopes.row), runs.values.shape
    psi = torch.zeros((n_numbers, n_samples), dtype=torch.float64, device=samples.device)
    together = min(n_numbers, _NUMBERS)
    by_column = _ByColumn.of(pairs, n_columns, is_shared=thresholds == "shared")
    for columns in by_column.pieces(_POINTS // len(grid), _ENTRIES // (n_samples * together)):
        for first, last in pieces(n_numbers, together):
            shape = (last - first, columns.stop - columns.start, n_samples)
            table, some_slopes = (
                samples.scores.new_zeros(shape, dtype=torch.float64),
                slopes.of_numbers(slice(first, last)),
            )
            for some in by_column.entries(columns, _POINTS // len(grid)):
                _add_pairs(some, runs, pairs, grid, around, some_slopes, columns.start, table)
            _hand_out(cumulated(table, runs.offsets[1:], runs.counts), runs, columns, psi[first:last])
    return centred(psi, samples)


class DeviceReach(NamedTuple):
    """`Reach` on a device."""

    low: torch.Tensor
    low_part: torch.Tensor
    high: torch.Tensor
    high_part: torch.Tensor
    width: torch.Tensor

    @classmethod
    def of(cls, around: Reach, device: torch.device) -> "DeviceReach":
        return cls(*(uploaded(getattr(around, name), device) for name in cls._fields))

    def next_called(self, share: torch.Tensor) -> torch.Tensor:
        """The beta of (influence): each run's part of what is called next, from the called shares, (r, P, T)."""
        shape = (*share.shape[:2], 1)
        share = torch.cat([share.new_zeros(shape), share, share.new_ones(shape)], 2)
        low, high = (
            (1 - part) * share[..., place] + part * share[..., place + 1]
            for place, part in ((self.low, self.low_part), (self.high, self.high_part))
        )
        # A call rate is the mean of the runs' shares: all of them together rise by as many times its width.
        return ((high - low) / (len(share) * self.width)).clamp(0, 1)


class _InColumns(NamedTuple):
    """Some pairs, each in one of its columns."""

    pair: torch.Tensor  # (P,)
    is_negative: torch.Tensor  # (P,): whether the column is that of the negative class
    column: torch.Tensor  # (P,)
    is_shared: bool


class _ByColumn(NamedTuple):
    """The pairs whose threshold moves through each column: as the positive class's, and shared also the other's."""

    all: _InColumns
    first: list[int]  # (C + 1,): where those of each column begin

    @classmethod
    def of(cls, pairs: DevicePairs, n_columns: int, *, is_shared: bool) -> "_ByColumn":
        n_pairs = len(pairs.column)
        column = torch.cat([pairs.positive, pairs.negative]) if is_shared else pairs.column
        order = torch.sort(column, stable=True).indices
        first = [0, *torch.cumsum(torch.bincount(column, minlength=n_columns), 0).tolist()]
        return cls(_InColumns(order % n_pairs, order >= n_pairs, column[order].long(), is_shared), first)

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

    def entries(self, columns: range, at_once: int) -> Iterator[_InColumns]:
        """The pairs of these columns."""
        begin, end = self.first[columns.start], self.first[columns.stop]
        for start, stop in pieces(end - begin, at_once):
            some = slice(begin + start, begin + stop)
            pair, is_negative, column, is_shared = self.all
            yield _InColumns(pair[some], is_negative[some], column[some], is_shared)


def _add_pairs(
    some: _InColumns,
    runs: Runs,
    pairs: DevicePairs,
    grid: torch.Tensor,
    around: DeviceReach,
    slopes: Slopes,
    first_column: int,
    table: torch.Tensor,
) -> None:
    """Note what every cut adds, at the rank of the lowest sample that it calls; `table` is (m, columns, n)."""
    chosen = DevicePairs(*(one[some.pair] for one in pairs))
    at = cut_lines(lines_of(runs, chosen, is_shared=some.is_shared), grid)
    by_tpr, by_fpr = slopes.by_rates(some.pair)
    beta = around.next_called(at.share)
    # One more sample called moves the threshold up, and with it both rates: this much is lost again.
    moved = by_tpr * beta[0] + by_fpr * beta[1]
    # The rates are those of the positive class's column: a score in the other one only moves the threshold.
    is_own = (~some.is_negative)[:, None]
    column = (some.column - first_column)[:, None] * runs.values.shape[1]
    for run, pull in enumerate((by_tpr, by_fpr)):
        called = (at.above[run], at.upto[run])
        if some.is_shared:  # runs 0 and 1 are in the column of the positive class, 2 and 3 in the other one
            called = tuple(torch.where(is_own, one[run], one[run + 2]) for one in (at.above, at.upto))
        add_knots(at, called, column + runs.offsets[chosen[run]][:, None], pull * is_own - moved, table)


def add_knots(
    at: Cut, called: tuple[torch.Tensor, ...], start: torch.Tensor, height: torch.Tensor, table: torch.Tensor
) -> None:
    """Note heights (m, P, T) at the ranks `called` of the runs that begin at `start`, (P, 1)."""
    flat = table.view(len(table), -1)
    # h of (influence): whole above the edge, `part` on it.
    on_edge = at.part * height
    for rank, value in zip(called, (height - on_edge, on_edge), strict=True):
        # If nothing is called, nothing is added, at any place.
        place = (start + (rank - 1).clamp(min=0)).flatten()
        flat.index_add_(1, place, torch.where(rank > 0, value, 0.0).flatten(1))


def cumulated(table: torch.Tensor, ends: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Sums from each rank on within each run of what is noted there.

    Runs of these counts lie along the last axis of `table` and end at `ends`.
    """
    upto = torch.zeros((*table.shape[:-1], table.shape[-1] + 1), dtype=table.dtype, device=table.device)
    torch.cumsum(table, -1, out=upto[..., 1:])
    at_end = upto[..., ends].repeat_interleave(counts, -1, output_size=table.shape[-1])
    return at_end - upto[..., :-1]


def _hand_out(by_rank: torch.Tensor, runs: Runs, columns: range, psi: torch.Tensor) -> None:
    """Add to every sample the sums at its ranks, (m, columns, n), in an order that does not vary."""
    assert runs.order is not None
    order = runs.order[columns.start : columns.stop].long()
    psi += torch.empty_like(by_rank).scatter_(2, order.expand(by_rank.shape), by_rank).sum(1)


def centred(psi: torch.Tensor, samples: Samples) -> torch.Tensor:
    """The phi of (influence): psi less the mean of each class, times the share of each sample in its class, (m, n)."""
    codes, share = samples.codes, samples.share
    mean = torch.zeros((len(psi), len(samples.counts)), dtype=torch.float64, device=samples.device)
    mean.index_add_(1, codes, share * psi)
    return share * (psi - mean[:, codes])


def area_influences(samples: Samples, get_runs: GetRuns, pairs: DevicePairs, shares: torch.Tensor) -> torch.Tensor:
    """Influences on sums of share times pairwise area, (m, n) from (m, K): the components of DeLong and others."""
    runs = get_runs(ordered=True)
    assert runs.order is not None
    order = runs.order.view(-1)
    psi = torch.zeros((len(shares), runs.values.shape[1]), dtype=torch.float64, device=samples.device)
    for start, stop in pieces(len(pairs.column), max(1, _SAMPLES // (2 * runs.longest * len(shares)))):
        lines = lines_of(runs, pairs.part(start, stop))
        for run in (0, 1):
            polygon, place, won = wins(lines, run)
            psi.index_add_(1, order[place].long(), shares[:, start:stop][:, polygon] * won)
    return centred(psi, samples)


def wins(lines: Lines, run: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The polygon and the place of every sample of one of two runs, and the share of the other one that it beats.

    A sample of the first run wins against those of the second below it, one of the second against those of the first
    above it; ties count half.
    """
    polygon, rank, each, above, upto = compared(lines, run)
    higher = (each.share(1 - run, above) + each.share(1 - run, upto)) / 2
    return polygon, each.starts[run] + rank, higher if run else 1 - higher
