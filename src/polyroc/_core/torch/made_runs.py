"""Runs that are made for single pairs, some pairs at a time: no sort of a column serves two of them.

Pairs are ranked by the difference of their two columns, or along what separates the two classes, as AUCmu asks for.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from polyroc._core.torch.cuts import Lines
from polyroc._core.torch.runs import Samples

# Samples that are sorted at once.
AT_ONCE = 2**23

# Scores of some samples, each for the pair that it is asked for: places of samples, and of pairs.
Scores = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class ByClass(NamedTuple):
    """The samples class by class."""

    members: torch.Tensor  # (n,)
    offsets: torch.Tensor  # (k + 1,)
    counts: torch.Tensor  # (k,)
    share: torch.Tensor | None  # (n,): of each sample in the weight of its class, in the order of the samples

    @classmethod
    def of(cls, samples: Samples) -> "ByClass":
        counts, codes, weight = samples.counts.to(samples.device), samples.codes, samples.weight
        offsets = torch.zeros(len(counts) + 1, dtype=torch.int64, device=samples.device)
        torch.cumsum(counts, 0, out=offsets[1:])
        members = torch.sort(codes, stable=True).indices
        if weight is None:
            return cls(members, offsets, counts, None)
        total = torch.zeros(len(counts), dtype=torch.float64, device=samples.device).index_add_(0, codes, weight)
        return cls(members, offsets, counts, weight / total[codes])

    def pieces(self, first: torch.Tensor, second: torch.Tensor, at_once: int) -> Iterator[slice]:
        """Pairs of about this many samples together, and at least one."""
        ends = torch.cumsum(self.counts[first] + self.counts[second], 0).cpu().numpy()
        start = 0
        while start < len(ends):
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + at_once, side="right")))
            yield slice(start, stop)
            start = stop


class Made(NamedTuple):
    """Two runs of each of some pairs."""

    lines: Lines
    order: torch.Tensor  # (S,): the sample at each place
    ends: torch.Tensor  # (2P,): where each run ends; those of first classes come first


def made_runs(classes: ByClass, first: torch.Tensor, second: torch.Tensor, scores: Scores) -> Made:
    """The samples of both classes of each pair, (P,) each, sorted by their scores for this pair."""
    n_pairs, device = len(first), first.device
    of_runs = torch.cat([first, second])
    counts = classes.counts[of_runs]
    ends = torch.cumsum(counts, 0)
    starts = ends - counts
    run = torch.repeat_interleave(torch.arange(2 * n_pairs, device=device), counts)
    rank = torch.arange(len(run), device=device) - starts[run]
    sample = classes.members[classes.offsets[of_runs][run] + rank]
    score = scores(sample, run % n_pairs)
    # By score, and then by run without changing the order within.
    by_score = torch.sort(score, descending=True, stable=True).indices
    order = by_score[torch.sort(run[by_score].to(torch.int32), stable=True).indices]
    tails, tail_starts = None, None
    if classes.share is not None:
        tails = _tails(classes.share[sample[order]], run, starts, ends)
        tail_starts = (starts + torch.arange(2 * n_pairs, device=device)).view(2, -1)
    longest = int(counts.amax())
    lines = Lines(score[order], tails, starts.view(2, -1), counts.view(2, -1), tail_starts, longest)
    return Made(lines, sample[order], ends)


def _tails(share: torch.Tensor, run: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Share of each run before each of its places and after the last, as one long row."""
    cumulated = torch.zeros(len(share) + 1, dtype=torch.float64, device=share.device)
    torch.cumsum(share, 0, out=cumulated[1:])
    before = cumulated[starts][run]
    found = torch.zeros(len(share) + len(starts), dtype=torch.float64, device=share.device)
    places = torch.arange(1, len(share) + 1, device=share.device) + run
    found[places] = (cumulated[1:] - before) / (cumulated[ends][run] - before)
    return found


def subtractable(scores: torch.Tensor) -> tuple[torch.Tensor, float]:
    """The same and 1, or half of it and 2, where the difference of two scores would overflow: that ranks alike."""
    if scores.dtype == torch.float64 and float(scores.abs().amax()) >= 2.0**1023:
        return scores / 2, 2.0
    return scores, 1.0


def differences(scores: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> Scores:
    """Scores by the difference of two columns for each pair, (P,) each."""

    def score(sample: torch.Tensor, pair: torch.Tensor) -> torch.Tensor:
        # Subtracted in double precision whatever the scores are: ties are those of the double.
        one, other = scores[sample, first[pair]], scores[sample, second[pair]]
        return one.to(torch.float64) - other.to(torch.float64)

    return score
