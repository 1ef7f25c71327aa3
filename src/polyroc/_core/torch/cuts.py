"""Cuts of ROC polygons at the call rates, in plain PyTorch: what the kernels of `_cut_kernels.py` must give.

A polygon goes through the scores of two runs or four, each of which counts alike. Where it has call rate s is found by
bisection, twice nested: for each run the first score from which on at least s is called, and for a score how many of
each run lie above it. The highest of the scores found is tau, on whose edge s lies (method, step 3).
"""

from dataclasses import dataclass

import torch

from polyroc._core.torch.runs import Runs


@dataclass(frozen=True, eq=False)
class Lines:
    """The runs of some polygons, (r, P) each, as places in one long row of sorted scores."""

    values: torch.Tensor  # one long row, each run in falling order
    tails: torch.Tensor | None  # likewise, shares with an entry more in each run; or several such rows, (B, M)
    starts: torch.Tensor
    counts: torch.Tensor
    tail_starts: torch.Tensor | None
    longest: int

    def share(self, run: int, called: torch.Tensor, precision: torch.dtype = torch.float64) -> torch.Tensor:
        """Share of a run that its first samples are, (P, ...) from their number."""
        shape = (-1,) + (1,) * (called.ndim - 1)
        if self.tails is None or self.tail_starts is None:
            return called.to(precision) / self.counts[run].reshape(shape).to(precision)
        return self.tails[self.tail_starts[run].reshape(shape) + called].to(precision)

    def above(self, run: int, score: torch.Tensor, *, equal: bool) -> torch.Tensor:
        """How many samples of a run lie above each score (P, ...), or at it as well."""
        shape = (-1,) + (1,) * (score.ndim - 1)
        start, count = self.starts[run].reshape(shape), self.counts[run].reshape(shape)
        low, high = torch.zeros_like(score, dtype=torch.int64), count.expand(score.shape)
        for _ in range(self.longest.bit_length()):
            middle = (low + high) >> 1
            found = self.values[start + middle.minimum(count - 1)]
            is_above = (found >= score if equal else found > score) & (low < high)
            low, high = torch.where(is_above, middle + 1, low), torch.where(is_above, high, middle)
        return low


@dataclass(frozen=True, eq=False)
class Cut:
    """Where each call rate lies on each polygon."""

    score: torch.Tensor  # (P, T): tau
    part: torch.Tensor  # (P, T): how much of the edge of tau is called
    above: torch.Tensor  # (r, P, T): samples of each run above tau
    upto: torch.Tensor  # (r, P, T): and with those at tau
    share: torch.Tensor  # (r, P, T): share of each run that is called


def own_lines(
    runs: Runs,
    positive: torch.Tensor,
    negative: torch.Tensor,
    column: torch.Tensor,
    *,
    tails: torch.Tensor | None = None,
) -> Lines:
    """The runs of both classes in the column of the first; with the weights of `tails`, or those of the runs."""
    return _lines(runs, [(positive, column), (negative, column)], tails)


def shared_lines(
    runs: Runs, positive: torch.Tensor, negative: torch.Tensor, *, tails: torch.Tensor | None = None
) -> Lines:
    """The runs of both classes in both columns."""
    members = [(positive, positive), (negative, positive), (positive, negative), (negative, negative)]
    return _lines(runs, members, tails)


def _lines(runs: Runs, members: list[tuple[torch.Tensor, torch.Tensor]], tails: torch.Tensor | None) -> Lines:
    if tails is None and runs.tails is not None:
        tails = runs.tails.view(-1)
    return Lines(
        values=runs.values.view(-1),
        tails=tails,
        starts=torch.stack([runs.starts(*each) for each in members]),
        counts=torch.stack([runs.counts[of] for of, _ in members]),
        tail_starts=None if tails is None else torch.stack([runs.tail_starts(*each) for each in members]),
        longest=runs.longest,
    )


def cut(lines: Lines, call_rates: torch.Tensor) -> Cut:
    """Cut every polygon at the call rates, (T,) in double precision."""
    n_runs, n_polygons = lines.starts.shape
    # A call rate is the mean of the runs' shares.
    wanted = n_runs * call_rates
    score = torch.full((n_polygons, len(call_rates)), -torch.inf, dtype=lines.values.dtype, device=lines.values.device)
    for run in range(n_runs):
        score = score.maximum(_first_reaching(lines, run, wanted))
    above = torch.stack([lines.above(run, score, equal=False) for run in range(n_runs)])
    upto = torch.stack([lines.above(run, score, equal=True) for run in range(n_runs)])
    before = torch.stack([lines.share(run, above[run]) for run in range(n_runs)])
    after = torch.stack([lines.share(run, upto[run]) for run in range(n_runs)])
    reached = before.sum(0)
    part = ((wanted - reached) / (after.sum(0) - reached)).clamp(0, 1)
    return Cut(score, part, above, upto, before + part * (after - before))


def _first_reaching(lines: Lines, run: int, wanted: torch.Tensor) -> torch.Tensor:
    """The highest score of a run from which on enough is called, (P, T); that of all runs' lowest is always enough."""
    start, count = lines.starts[run][:, None], lines.counts[run][:, None]
    low = torch.zeros((len(count), len(wanted)), dtype=torch.int64, device=count.device)
    high = count.expand(low.shape)
    for _ in range(lines.longest.bit_length()):
        middle = (low + high) >> 1
        score = lines.values[start + middle.minimum(count - 1)]
        called = lines.share(0, lines.above(0, score, equal=True))
        for other in range(1, len(lines.starts)):
            called = called + lines.share(other, lines.above(other, score, equal=True))
        is_short = (called < wanted) & (low < high)
        low, high = torch.where(is_short, middle + 1, low), torch.where(is_short, high, middle)
    found = lines.values[start + low.minimum(count - 1)]
    return torch.where(low < count, found, -torch.inf)
