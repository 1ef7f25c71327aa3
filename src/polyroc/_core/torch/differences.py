"""Pairs ranked by the difference of their two columns, on the device: `_numpy/_rates.py` for many pairs at once.

Each unordered pair is sorted once, and the other order read as its reflection (`polyroc._core.unordered`). U
unordered pairs, K ordered ones, m numbers, n samples, T call rates.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch

from polyroc._core.reach import reach
from polyroc._core.torch.areas import areas_of
from polyroc._core.torch.cuts import cut
from polyroc._core.torch.devices import pieces, uploaded
from polyroc._core.torch.gradient import Slopes
from polyroc._core.torch.influence import DeviceReach, add_knots, centred, cumulated, wins
from polyroc._core.torch.made_runs import AT_ONCE, ByClass, Made, differences, made_runs, subtractable
from polyroc._core.torch.pairs import DevicePairs
from polyroc._core.torch.runs import Samples
from polyroc._lib.typing import FloatArray

# Points that are cut at once, and numbers differentiated at once.
_POINTS, _NUMBERS = 2**21, 16
_LARGEST = torch.finfo(torch.float64).max


class _Unordered(NamedTuple):
    """`polyroc._core.unordered.Unordered` on a device."""

    first: torch.Tensor  # (U,)
    second: torch.Tensor
    forward: torch.Tensor  # (U,): where (first, second) stands among the ordered pairs; -1 where it does not
    backward: torch.Tensor
    of_pair: torch.Tensor  # (K,)
    is_forward: torch.Tensor  # (K,)

    @classmethod
    def of(cls, pairs: DevicePairs) -> "_Unordered":
        low, high = pairs.positive.minimum(pairs.negative).long(), pairs.positive.maximum(pairs.negative).long()
        n_classes = int(high.amax()) + 1
        keys, of_pair = torch.unique(low * n_classes + high, return_inverse=True)
        is_forward = pairs.positive == low
        place = torch.arange(len(low), device=low.device)
        forward, backward = torch.full((2, len(keys)), -1, device=low.device)
        forward[of_pair[is_forward]], backward[of_pair[~is_forward]] = place[is_forward], place[~is_forward]
        return cls(keys // n_classes, keys % n_classes, forward, backward, of_pair, is_forward)


class Differences:
    """The samples of any two classes, with the difference of their columns as score."""

    def __init__(self, samples: Samples, pairs: DevicePairs) -> None:
        self._samples, self._classes, self._both = samples, ByClass.of(samples), _Unordered.of(pairs)
        self._scores, self._scale = subtractable(samples.scores)

    def rates(self, call_rates: FloatArray) -> torch.Tensor:
        """True positive rates of the ordered pairs, (K, T)."""
        both, grid = self._both, uploaded(call_rates, self._samples.device)
        found = torch.empty((len(both.first), len(grid)), dtype=torch.float64, device=grid.device)
        for some, made in self._runs(len(grid)):
            found[some] = cut(made.lines, grid).share[0]
        mirrored = 1 - (2 * grid - found).clamp(0, 1).flip(1)
        return torch.where(both.is_forward[:, None], found[both.of_pair], mirrored[both.of_pair])

    def thresholds(self, pairs: DevicePairs, call_rates: FloatArray) -> torch.Tensor:
        """The difference at which every ordered pair reaches every call rate, (T, K)."""
        # Slack for the rounding of shares, as with the columns' own thresholds.
        grid = uploaded(call_rates - 1e-12, self._samples.device)
        found = torch.empty((len(grid), len(pairs.positive)), dtype=torch.float64, device=grid.device)
        # Both orders by themselves: of the other one it is another edge that a call rate lies on.
        for some, made in self._runs(len(grid), pairs.positive.long(), pairs.negative.long()):
            found[:, some] = (self._scale * cut(made.lines, grid).score.T).clamp(-_LARGEST, _LARGEST)
        return found

    def areas(self) -> torch.Tensor:
        """Mann-Whitney area of each ordered pair, (K,): the same for both orders."""
        found = [areas_of(made.lines) for _, made in self._runs(1)]
        return torch.cat(found)[self._both.of_pair]

    def influences(self, call_rates: FloatArray, slopes: Slopes, *, least_reach: float) -> torch.Tensor:
        """What each sample adds to each of m numbers, (m, n), from their gradient; the sums of classes are 0."""
        samples, both = self._samples, self._both
        grid, around = uploaded(call_rates, samples.device), reach(call_rates, least_reach)
        on_device, n_numbers = DeviceReach.of(around, samples.device), len(slopes.row)
        found = torch.zeros((n_numbers, len(samples.codes)), dtype=torch.float64, device=samples.device)
        together = min(n_numbers, _NUMBERS)
        for some, made in self._runs(len(grid) * together):
            at = cut(made.lines, grid)
            next_called = on_device.next_called(at.share)
            for first, last in pieces(n_numbers, together):
                pulls = _of_both_orders(slopes.of_numbers(slice(first, last)), both.forward[some], both.backward[some])
                moved = pulls[0] * next_called[0] + pulls[1] * next_called[1]
                table = torch.zeros((last - first, len(made.order)), dtype=torch.float64, device=samples.device)
                for run, pull in enumerate(pulls):
                    called = at.above[run], at.upto[run]
                    add_knots(at, called, made.lines.starts[run][:, None], pull - moved, table)
                given = cumulated(table, made.ends, made.lines.counts.flatten())
                found[first:last].index_add_(1, made.order, given)
        return centred(found, samples)

    def area_influences(self, shares: torch.Tensor) -> torch.Tensor:
        """What each sample adds to sums of share times pairwise area, (m, n) from (m, K): DeLong's components."""
        samples, both = self._samples, self._both
        # Both orders of a pair have the same area.
        counted = torch.zeros((len(shares), len(both.first)), dtype=torch.float64, device=samples.device)
        counted.index_add_(1, both.of_pair, shares)
        found = torch.zeros((len(shares), len(samples.codes)), dtype=torch.float64, device=samples.device)
        for some, made in self._runs(len(shares)):
            for run in (0, 1):
                owner, place, won = wins(made.lines, run)
                found.index_add_(1, made.order[place], counted[:, some][:, owner] * won)
        return centred(found, samples)

    def _runs(
        self, per_pair: int, first: torch.Tensor | None = None, second: torch.Tensor | None = None
    ) -> Iterator[tuple[slice, Made]]:
        """Some pairs at a time, of `per_pair` points each: by default the unordered ones."""
        first = self._both.first if first is None else first
        second = self._both.second if second is None else second
        for some in self._classes.pieces(first, second, AT_ONCE):
            for start, stop in pieces(some.stop - some.start, _POINTS // per_pair):
                part = slice(some.start + start, some.start + stop)
                score = differences(self._scores, first[part], second[part])
                yield part, made_runs(self._classes, first[part], second[part], score)


def _of_both_orders(slopes: Slopes, forward: torch.Tensor, backward: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Derivatives by the true and false positive rates of (first, second), which those of the other order follow."""
    tpr, fpr = (one * (forward >= 0)[:, None] for one in slopes.by_rates(forward.clamp(min=0)))
    other_tpr, other_fpr = (one * (backward >= 0)[:, None] for one in slopes.by_rates(backward.clamp(min=0)))
    return tpr - other_fpr.flip(2), fpr - other_tpr.flip(2)
