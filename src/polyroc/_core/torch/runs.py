"""Scores sorted by class and column: every column of scores, gathered by class, each class in falling order.

A run is one class in one column. Every pair reads two runs of one column (own thresholds), four runs of two columns
(shared), or two runs of differences of columns that are made for it.
"""

from dataclasses import dataclass, replace

import torch

from polyroc._core.torch.devices import LONGEST_SHORT, has_kernels, kernels, pieces, short_sort

# Scores that are sorted at once: PyTorch sorts with an index of eight bytes for each, and copies both.
_AT_ONCE = 2**28
_FEW_SCORES = 2**20


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


@dataclass(frozen=True, eq=False)
class Runs:
    """Sorted scores, run by run; those of a column lie together, and there class after class."""

    values: torch.Tensor  # (C, n), each class in falling order
    order: torch.Tensor | None  # (C, n), int32: the sample at each place; None where nobody needs it
    tails: (
        torch.Tensor | None
    )  # (C, n + k): share of a class before each place and after the last; None without weights
    offsets: torch.Tensor  # (k + 1,), int64: where each class begins
    counts: torch.Tensor  # (k,), int64
    longest: int

    @property
    def device(self) -> torch.device:
        return self.values.device

    def starts(self, members_of: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        """Where runs begin in `values`, as one long row."""
        return column * self.values.shape[1] + self.offsets[members_of]

    def tail_starts(self, members_of: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        """Where runs begin in `tails`, as one long row: every run has one entry more."""
        k = len(self.counts)
        return column * (self.values.shape[1] + k) + self.offsets[members_of] + members_of


def sorted_runs(samples: Samples, *, ordered: bool) -> Runs:
    """Sort each class in each column; with the sample at each place where that is asked for, or where weights are."""
    ordered = ordered or samples.weight is not None
    n, n_columns = samples.scores.shape
    # One small copy to the device: where classes begin, and then how long they are.
    k = len(samples.counts)
    both = torch.cat([samples.counts.new_zeros(1), samples.counts.cumsum(0), samples.counts]).to(samples.device)
    offsets, counts = both[: k + 1], both[k + 1 :]
    place = torch.sort(_short(samples.codes, k), stable=True).indices
    values = torch.empty((n_columns, n), dtype=samples.scores.dtype, device=samples.device)
    order = torch.empty((n_columns, n), dtype=torch.int32, device=samples.device) if ordered else None
    longest, sort_short = int(samples.counts.max()), short_sort(samples.scores, ordered=ordered)
    if sort_short is not None and longest <= LONGEST_SHORT and n * n_columns <= _FEW_SCORES:
        # Not worth separating by size: each group takes a small copy to the device.
        groups = [_Group(torch.arange(k, device=samples.device), k, longest, 0, None, None)]
    else:
        groups = _alike(samples.counts, samples.device)
    for start, stop in pieces(n_columns, _AT_ONCE // n):
        gathered = samples.scores[:, start:stop].index_select(0, place).T.contiguous()
        out = values[start:stop], None if order is None else order[start:stop]
        for group in groups:
            if sort_short is not None and group.length <= LONGEST_SHORT:
                sort_short(gathered, *out, group.classes, offsets, group.length)
            else:
                _sort_group(gathered, group, *out)
    if order is not None:
        for start, stop in pieces(n_columns, _AT_ONCE // n):
            order[start:stop] = place[order[start:stop].long()].to(torch.int32)
    runs = Runs(values, order, None, offsets, counts, longest)
    return runs if samples.weight is None else weighed(runs, samples.weight)


def sorting_bytes(n: int, n_columns: int, size: int) -> int:
    """Bytes that sorting needs for a while: some columns, gathered twice, and sorted with an index of eight bytes."""
    return (3 * size + 8 + 4) * n * min(n_columns, max(1, _AT_ONCE // n))


def weighed(runs: Runs, weight: torch.Tensor) -> Runs:
    """The same runs with weights of the samples, (n,)."""
    return replace(runs, tails=tails_of(runs, weight[None])[0])


def tails_of(runs: Runs, weights: torch.Tensor) -> torch.Tensor:
    """Share of each run before each of its places and after the last, under several weights: (B, C, n + k) from (B, n).

    A weight may be 0, but not all those of a class.
    """
    assert runs.order is not None
    (n_columns, n), k, n_weighings = runs.values.shape, len(runs.counts), len(weights)
    tails = torch.zeros((n_weighings, n_columns, n + k), dtype=torch.float64, device=runs.device)
    if has_kernels(runs.device.type):
        kernels("cut").tails_of(runs.order, runs.offsets, runs.longest, weights, tails)
        return tails
    class_of = torch.repeat_interleave(torch.arange(k, device=runs.device), runs.counts, output_size=n)
    # The classes of the samples, from the first column: the places of every column are those of the same classes.
    codes = torch.empty(n, dtype=torch.int64, device=runs.device)
    codes[runs.order[0].long()] = class_of
    totals = torch.zeros((n_weighings, k), dtype=torch.float64, device=runs.device).index_add_(1, codes, weights)
    # Place p of class c stands, as the share up to and with it, at p + c + 1. Sums over a class of any weight are made
    # about 1 first, so that heavy classes leave no rounding in light ones.
    stands, before = torch.arange(1, n + 1, device=runs.device) + class_of, runs.offsets[:-1][class_of]
    after, share = runs.offsets[1:][class_of], weights / totals[:, codes]
    for start, stop in pieces(n_columns, _AT_ONCE // (4 * n * n_weighings)):
        cumulated = torch.zeros((n_weighings, stop - start, n + 1), dtype=torch.float64, device=runs.device)
        torch.cumsum(share[:, runs.order[start:stop].long()], 2, out=cumulated[..., 1:])
        first = cumulated[..., before]
        tails[:, start:stop, stands] = (cumulated[..., 1:] - first) / (cumulated[..., after] - first)
    return tails


def _short(codes: torch.Tensor, k: int) -> torch.Tensor:
    """Codes of as few bytes as they need: a radix sort passes over each."""
    return codes.to(torch.uint8 if k <= 2**8 else torch.int16 if k <= 2**15 else torch.int32)


@dataclass(frozen=True, eq=False)
class _Group:
    """Classes of about the same size, which are sorted as the rows of one table."""

    classes: torch.Tensor
    n_classes: int
    length: int
    first: int
    """Where the first class begins, if all of them follow each other and have the same size."""
    place: torch.Tensor | None
    """(classes, length): the place of each entry of the table; None for a view."""
    inside: torch.Tensor | None
    """Whether an entry is one: classes shorter than the longest of the group are filled up."""


def _alike(counts: torch.Tensor, device: torch.device) -> list[_Group]:
    """Classes by size, within a factor of two, so that filling up never doubles the work."""
    sizes = counts.tolist()
    present = [c for c, size in enumerate(sizes) if size > 0]
    if len({sizes[c] for c in present}) == 1:
        return [_Group(torch.tensor(present, device=device), len(present), sizes[present[0]], 0, None, None)]
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    by_length: dict[int, list[int]] = {}
    for c in present:
        by_length.setdefault((sizes[c] - 1).bit_length(), []).append(c)
    groups = []
    for members in by_length.values():
        length = max(sizes[c] for c in members)
        classes = torch.tensor(members, device=device)
        if len(members) == 1:
            groups.append(_Group(classes, 1, length, starts[members[0]], None, None))
            continue
        begin = torch.tensor([starts[c] for c in members], device=device)
        size = torch.tensor([sizes[c] for c in members], device=device)
        step = torch.arange(length, device=device)
        inside = step < size[:, None]
        place = torch.where(inside, begin[:, None] + step, begin[:, None])
        groups.append(_Group(classes, len(members), length, -1, place, inside))
    return groups


def _sort_group(gathered: torch.Tensor, group: _Group, values: torch.Tensor, order: torch.Tensor | None) -> None:
    """Sort the classes of a group in some columns, gathered by class, (c, n), into `values` and `order`."""
    c, shape = len(gathered), (group.n_classes, group.length)
    if group.place is None or group.inside is None:
        stop = group.first + group.n_classes * group.length
        table = gathered[:, group.first : stop].reshape(c, *shape)
        found = torch.sort(table, dim=2, descending=True, stable=order is not None)
        values[:, group.first : stop] = found.values.reshape(c, -1)
        if order is not None:
            begin = group.first + group.length * torch.arange(group.n_classes, device=gathered.device)
            order[:, group.first : stop] = (found.indices + begin[:, None]).reshape(c, -1)
        return
    # Scores are finite, so that what fills up comes last.
    table = gathered[:, group.place.flatten()].reshape(c, *shape).masked_fill_(~group.inside, -torch.inf)
    found = torch.sort(table, dim=2, descending=True, stable=order is not None)
    where = group.place[group.inside]
    values[:, where] = found.values[:, group.inside]
    if order is not None:
        order[:, where] = (found.indices + group.place[:, :1])[:, group.inside].to(torch.int32)
