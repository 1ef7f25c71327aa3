"""Influences of samples in plain PyTorch: tables by rank, handed out in the order of the scores.

In one column the influence of a sample of a class is a step function of its score, so of its rank within the class: a
cut adds its coefficient to all samples above, which is one addition at the rank of the lowest of them. When all cuts of
a pair are done the additions are cumulated, and handed to the samples in the order of their ranks.

Words in parentheses are the labels of equations in docs/influence.md. m numbers are differentiated, D or points of a
curve; n samples, K pairs, of which P are worked on together, T call rates.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import partial

import torch

from polyroc._core.influence import Reach, reach
from polyroc._core.torch.devices import pieces, uploaded
from polyroc._core.torch.records import DevicePairs, Slopes
from polyroc._core.torch.runs import Lines, Runs, Samples, compared, cut_lines, lines_of, pieces_by, ranks_of
from polyroc._lib.typing import FloatArray, Thresholds

# Points that are cut at once, numbers differentiated at once, and samples that are given something at once.
_POINTS, _NUMBERS, _SAMPLES = 2**20, 16, 2**22

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
    runs, around = get_runs(ordered=True), reach_on(call_rates, least_reach, samples.device)
    assert runs.order is not None
    grid, order, n_numbers = uploaded(call_rates, samples.device), runs.order.view(-1), len(slopes.row)
    psi = torch.zeros((n_numbers, runs.values.shape[1]), dtype=torch.float64, device=samples.device)
    sizes = runs.counts[pairs.positive] + runs.counts[pairs.negative]
    for start, stop in pieces_by(sizes, _SAMPLES // min(n_numbers, _NUMBERS), _POINTS // len(grid)):
        lines = lines_of(runs, pairs.part(start, stop), is_shared=thresholds == "shared")
        by_rates = partial(Slopes.by_rates, pairs=slice(start, stop))
        add_influences(psi, lines, order, grid, around, slopes, by_rates)
    return centred(psi, samples)


def add_influences(
    psi: torch.Tensor,
    lines: Lines,
    order: torch.Tensor,
    grid: torch.Tensor,
    around: Reach,
    slopes: Slopes,
    by_rates: Callable[[Slopes], tuple[torch.Tensor, torch.Tensor]],
) -> None:
    """Add the psi of (influence) of some pairs, whose runs have the samples `order` at their places.

    `by_rates` gives the derivatives by both rates of these pairs, (m, P, T) each.
    """
    at = cut_lines(lines, grid)
    beta = _next_called(at.share, around)
    for first, last in pieces(len(psi), _NUMBERS):
        pulls = by_rates(slopes.of_numbers(slice(first, last)))
        # One more sample called moves the threshold up, and with it both rates: this much is lost again.
        moved = pulls[0] * beta[0] + pulls[1] * beta[1]
        for run, counts in enumerate(lines.counts):
            polygon, rank = ranks_of(counts)
            ends = torch.cumsum(counts, 0)
            # Rates are those of the positive class's column: a score in the other one only moves the threshold.
            height = pulls[run] - moved if run < len(pulls) else -moved
            # h of (influence): whole above the edge, `part` on it.
            on_edge = at.part * height
            table = torch.zeros((last - first, len(rank)), dtype=torch.float64, device=psi.device)
            for called, value in ((at.above[run], height - on_edge), (at.upto[run], on_edge)):
                # If nothing is called, nothing is added, at any place.
                place = ((ends - counts)[:, None] + (called - 1).clamp(min=0)).flatten()
                table.index_add_(1, place, torch.where(called > 0, value, 0.0).flatten(1))
            upto = torch.zeros((last - first, len(rank) + 1), dtype=torch.float64, device=psi.device)
            torch.cumsum(table, 1, out=upto[:, 1:])
            sample, from_rank_on = order[lines.starts[run][polygon] + rank], upto[:, ends[polygon]] - upto[:, :-1]
            psi[first:last].index_add_(1, sample, from_rank_on)


def reach_on(call_rates: FloatArray, least_reach: float, device: torch.device) -> Reach:
    """How far around each call rate slopes are taken, with tensors of a device."""
    around = reach(call_rates, least_reach)
    return Reach(*(uploaded(getattr(around, field.name), device) for field in fields(Reach)))


def _next_called(share: torch.Tensor, around: Reach) -> torch.Tensor:
    """The beta of (influence): each run's part of what is called next, from the called shares, (r, P, T)."""
    shape = (*share.shape[:2], 1)
    share = torch.cat([share.new_zeros(shape), share, share.new_ones(shape)], 2)
    rise: torch.Tensor = around.rise(share)
    # A call rate is the mean of the runs' shares: all of them together rise by as many times its width.
    return (rise / (len(share) * around.width)).clamp(0, 1)


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
    psi = torch.zeros((len(shares), runs.values.shape[1]), dtype=torch.float64, device=samples.device)
    sizes = runs.counts[pairs.positive] + runs.counts[pairs.negative]
    for start, stop in pieces_by(sizes, _SAMPLES // len(shares)):
        add_wins(psi, lines_of(runs, pairs.part(start, stop)), runs.order.view(-1), shares[:, start:stop])
    return centred(psi, samples)


def add_wins(psi: torch.Tensor, lines: Lines, order: torch.Tensor, shares: torch.Tensor) -> None:
    """Add what each sample of some pairs wins, times the shares of the pairs, (m, P).

    A sample of the first run wins against those of the second below it, one of the second against those of the first
    above it; ties count half.
    """
    for run in (0, 1):
        polygon, rank, each, above, upto = compared(lines, run)
        higher = (each.share(1 - run, above) + each.share(1 - run, upto)) / 2
        psi.index_add_(1, order[each.starts[run] + rank], shares[:, polygon] * (higher if run else 1 - higher))
