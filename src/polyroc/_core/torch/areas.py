"""Mann-Whitney areas of pairs on the device: for every sample of the first run, how many of the second lie below it."""

from itertools import pairwise

import torch

from polyroc._core.torch.cuts import Lines

# Samples that are looked up at once.
_AT_ONCE = 2**24


def areas_of(lines: Lines) -> torch.Tensor:
    """Area of each polygon, (P,), by the first two of its runs; ties count one half."""
    first, second = lines.counts[0], lines.counts[1]
    found = torch.empty(len(first), dtype=torch.float64, device=first.device)
    ends = torch.cumsum(first, 0)
    bounds = [0]
    # Polygons in pieces, by the samples of their first runs.
    for limit in range(_AT_ONCE, int(ends[-1]) + _AT_ONCE, _AT_ONCE):
        bounds.append(max(bounds[-1] + 1, int(torch.searchsorted(ends, limit, right=True))))
        if bounds[-1] >= len(first):
            break
    for start, stop in pairwise(bounds):
        some = slice(start, min(stop, len(first)))
        found[some] = _areas_of_some(_part(lines, some), first[some], second[some])
    return found


def _part(lines: Lines, some: slice) -> Lines:
    tail_starts = None if lines.tail_starts is None else lines.tail_starts[:, some]
    return Lines(lines.values, lines.tails, lines.starts[:, some], lines.counts[:, some], tail_starts, lines.longest)


def _areas_of_some(lines: Lines, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    n_polygons = len(first)
    owner = torch.repeat_interleave(torch.arange(n_polygons, device=first.device), first)
    begin = torch.cumsum(first, 0) - first
    rank = torch.arange(len(owner), device=first.device) - begin[owner]
    score = lines.values[lines.starts[0][owner] + rank]
    tail_starts = None if lines.tail_starts is None else lines.tail_starts[:, owner]
    each = Lines(lines.values, lines.tails, lines.starts[:, owner], lines.counts[:, owner], tail_starts, lines.longest)
    above, upto = each.above(1, score, equal=False), each.above(1, score, equal=True)
    if lines.tails is None:
        # Doubled, so that everything is a whole number and no order of samples changes a bit.
        lost = torch.zeros(n_polygons, dtype=torch.int64, device=first.device).index_add_(0, owner, above + upto)
        # Whole numbers of 64 bits: PyTorch divides them in single precision unless told otherwise.
        return 1 - lost.to(torch.float64) / (2 * first * second)
    weight = each.share(0, rank + 1) - each.share(0, rank)
    lost = weight * (each.share(1, above) + each.share(1, upto)) / 2
    total = torch.zeros(n_polygons, dtype=torch.float64, device=first.device).index_add_(0, owner, lost)
    return (1 - total).clamp(0, 1)
