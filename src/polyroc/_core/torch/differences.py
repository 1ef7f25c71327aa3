"""Pairs ranked by the difference of their two columns (docs/method.md, `thresholds="difference"`), many pairs at once.

No sort of a column serves two pairs, so runs are made for each of them. Each unordered pair is sorted once, and the
other order read as its reflection (`polyroc._core.polygons`). U unordered pairs, K ordered ones, m numbers, n samples,
T call rates.
"""

from collections.abc import Iterator
from functools import partial

import torch

from polyroc._core.polygons import unordered
from polyroc._core.torch.devices import uploaded
from polyroc._core.torch.influence import add_influences, add_wins, centred, reach_on
from polyroc._core.torch.records import Slopes, pairs_on
from polyroc._core.torch.runs import Lines, Samples, areas_of, cut_lines, pieces_by, ranks_of
from polyroc._lib.typing import FloatArray
from polyroc._records import PairIndex

# Points that are cut at once, samples that are sorted at once, and numbers differentiated at once.
_POINTS, _SORTED, _NUMBERS = 2**21, 2**23, 16
_LARGEST = torch.finfo(torch.float64).max


class Differences:
    """The samples of any two classes, with the difference of their columns as score."""

    def __init__(self, samples: Samples, pairs: PairIndex) -> None:
        self._samples, self._pairs, device = samples, pairs_on(pairs, samples.device), samples.device
        both = unordered(pairs)
        self._first, self._second, self._of_pair = (
            uploaded(one, device) for one in (both.first, both.second, both.of_pair)
        )
        self._forward, self._backward = uploaded(both.forward, device), uploaded(both.backward, device)
        self._members, self._counts = samples.by_class, samples.counts.to(device)
        self._offsets = torch.cumsum(self._counts, 0) - self._counts
        self._share = None if samples.weight is None else samples.share
        self._scores, self._scale = _subtractable(samples.scores)

    def rates(self, call_rates: FloatArray) -> torch.Tensor:
        """True positive rates of the ordered pairs, (K, T)."""
        grid = uploaded(call_rates, self._samples.device)
        tpr = torch.empty((len(self._first), len(grid)), dtype=torch.float64, device=grid.device)
        for some, lines, _ in self._runs(len(grid)):
            tpr[some] = cut_lines(lines, grid).share[0]
        mirrored = 1 - (2 * grid - tpr).clamp(0, 1).flip(1)
        is_forward = self._pairs.positive < self._pairs.negative
        return torch.where(is_forward[:, None], tpr[self._of_pair], mirrored[self._of_pair])

    def thresholds(self, call_rates: FloatArray) -> torch.Tensor:
        """The difference at which every ordered pair reaches every call rate, (T, K)."""
        # Slack for the rounding of shares, as with the columns' own thresholds.
        grid = uploaded(call_rates - 1e-12, self._samples.device)
        score = torch.empty((len(grid), len(self._of_pair)), dtype=torch.float64, device=grid.device)
        # Both orders by themselves: a call rate lies on another edge of the other one.
        for some, lines, _ in self._runs(len(grid), self._pairs.positive.long(), self._pairs.negative.long()):
            score[:, some] = (self._scale * cut_lines(lines, grid).score.T).clamp(-_LARGEST, _LARGEST)
        return score

    def areas(self) -> torch.Tensor:
        """Area (pair-area) of each ordered pair, (K,): the same for both orders."""
        return torch.cat([areas_of(lines) for _, lines, _ in self._runs(1)])[self._of_pair]

    def influences(self, call_rates: FloatArray, slopes: Slopes, *, least_reach: float) -> torch.Tensor:
        """Influences (influence) of the samples on m numbers, (m, n), by their gradient."""
        samples, grid = self._samples, uploaded(call_rates, self._samples.device)
        around = reach_on(call_rates, least_reach, samples.device)
        psi = torch.zeros((len(slopes.row), len(samples.codes)), dtype=torch.float64, device=samples.device)
        for some, lines, order in self._runs(len(grid) * min(len(psi), _NUMBERS)):
            by_rates = partial(self._of_both_orders, some)
            add_influences(psi, lines, order, grid, around, slopes, by_rates)
        return centred(psi, samples)

    def area_influences(self, shares: torch.Tensor) -> torch.Tensor:
        """Influences of the samples on sums of share times pairwise area, (m, n) from (m, K)."""
        samples = self._samples
        # Both orders of a pair have the same area.
        counted = torch.zeros((len(shares), len(self._first)), dtype=torch.float64, device=samples.device)
        counted.index_add_(1, self._of_pair, shares)
        psi = torch.zeros((len(shares), len(samples.codes)), dtype=torch.float64, device=samples.device)
        for some, lines, order in self._runs(len(shares)):
            add_wins(psi, lines, order, counted[:, some])
        return centred(psi, samples)

    def _of_both_orders(self, some: slice, slopes: Slopes) -> tuple[torch.Tensor, torch.Tensor]:
        """Derivatives by both rates of (first, second), which those of the other order follow, (m, P, T) each."""
        (tpr, fpr), (other_tpr, other_fpr) = (
            [slope * (place[some] >= 0)[:, None] for slope in slopes.by_rates(place[some].clamp(min=0))]
            for place in (self._forward, self._backward)
        )
        return tpr - other_fpr.flip(2), fpr - other_tpr.flip(2)

    def _runs(
        self, per_pair: int, first: torch.Tensor | None = None, second: torch.Tensor | None = None
    ) -> Iterator[tuple[slice, Lines, torch.Tensor]]:
        """Some pairs at a time, of `per_pair` points each, with the sample at each place: by default unordered ones."""
        first, second = (self._first if first is None else first), (self._second if second is None else second)
        for part in pieces_by(self._counts[first] + self._counts[second], _SORTED, _POINTS // per_pair):
            some = slice(*part)
            yield some, *self._made_runs(first[some], second[some])

    def _made_runs(self, first: torch.Tensor, second: torch.Tensor) -> tuple[Lines, torch.Tensor]:
        """The samples of both classes of each pair, (P,) each, sorted by the difference of their columns."""
        n_pairs, device, of_runs = len(first), first.device, torch.cat([first, second])
        counts = self._counts[of_runs]
        ends = torch.cumsum(counts, 0)
        starts = ends - counts
        run, rank = ranks_of(counts)
        sample, pair = self._members[self._offsets[of_runs][run] + rank], run % n_pairs
        # Subtracted in double precision whatever the scores are: ties are those of the double.
        score = self._scores[sample, first[pair]].to(torch.float64) - self._scores[sample, second[pair]].to(
            torch.float64
        )
        # By score, and then by run without changing the order within.
        by_score = torch.sort(score, descending=True, stable=True).indices
        order = by_score[torch.sort(run[by_score].to(torch.int32), stable=True).indices]
        tails = None if self._share is None else _tails(self._share[sample[order]], run, starts, ends)
        tail_starts = starts + torch.arange(2 * n_pairs, device=device)
        longest = int(counts.amax())
        starts, counts, tail_starts = (one.view(2, -1) for one in (starts, counts, tail_starts))
        return Lines(score[order], tails, starts, counts, tail_starts, longest), sample[order]


def _subtractable(scores: torch.Tensor) -> tuple[torch.Tensor, float]:
    """The scores and 1, or half of them and 2 if a difference would overflow: halves rank alike."""
    if scores.dtype == torch.float64 and float(scores.abs().amax()) >= 2.0**1023:
        return scores / 2, 2.0
    return scores, 1.0


def _tails(share: torch.Tensor, run: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Share of each run before each of its places and after the last, as one long row."""
    cumulated = torch.zeros(len(share) + 1, dtype=torch.float64, device=share.device)
    torch.cumsum(share, 0, out=cumulated[1:])
    before = cumulated[starts][run]
    tails = torch.zeros(len(share) + len(starts), dtype=torch.float64, device=share.device)
    places = torch.arange(1, len(share) + 1, device=share.device) + run
    tails[places] = (cumulated[1:] - before) / (cumulated[ends][run] - before)
    return tails
