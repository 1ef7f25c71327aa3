"""Dense counts of scores as tensors: the bins of `ScoreBins` by operations of torch, on the device of the scores."""

from typing import Any

import numpy as np
import torch

from polyroc._engines._bins import ROUNDED, SEVERAL_SCORES, ScoreBins
from polyroc._engines._tally import Tally
from polyroc._lib.typing import LabelArray

_LARGEST = float(np.finfo(np.float32).max)


def bin_index(bins: ScoreBins, scores: torch.Tensor) -> torch.Tensor:
    """`ScoreBins.index` of a tensor of float32 or float64, as int64."""
    if bins.scores == "probabilities":
        upper = scores > 0.5
        folded = torch.where(upper, 1 - scores, scores).clamp(0, 0.5).to(torch.float32)
        # Adding 0 makes one zero of the two.
        low = (folded + 0.0).view(torch.int32) >> bins.shift
        return torch.where(upper, bins.n_bins - 1 - low, low).long()
    bits = (scores.clamp(-_LARGEST, _LARGEST).to(torch.float32) + 0.0).view(torch.int32)
    # The bits of negative floats rise as the floats fall.
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return (ordered >> bins.shift).long() + bins.n_bins // 2


def add_counts(
    counts: torch.Tensor,
    least: torch.Tensor,
    most: torch.Tensor,
    bins: ScoreBins,
    scores: torch.Tensor,
    target: torch.Tensor,
) -> None:
    """Count scores (n, k) of classes (n,) into counts (k columns, k classes, n_bins), in place.

    `least` and `most`, (k columns, n_bins), are the ends of the scores of each bin as `score_bits`.
    """
    k = counts.shape[0]
    column, index = torch.arange(k, device=scores.device), bin_index(bins, scores)
    cell = (column * k + target[:, None]) * bins.n_bins + index
    # Whole numbers: whichever thread adds first, the sum is the same.
    counts.view(-1).scatter_add_(0, cell.view(-1), torch.ones_like(cell).view(-1))
    place, bits = (column * bins.n_bins + index).view(-1), score_bits(bins, scores).view(-1)
    least.view(-1).scatter_reduce_(0, place, bits, "amin")
    most.view(-1).scatter_reduce_(0, place, bits, "amax")


def score_bits(bins: ScoreBins, scores: torch.Tensor) -> torch.Tensor:
    """The bits of `ScoreBins.compared`: equal for equal scores, in numbers that every device has."""
    wide = (scores.cpu() if scores.device.type == "mps" else scores).double()
    compared = (wide.clamp(0, 1) if bins.scores == "probabilities" else wide) + 0.0
    return compared.view(torch.int64).to(scores.device)


def softmax_if_needed(scores: torch.Tensor) -> torch.Tensor:
    """As torchmetrics: softmax of a batch that has a value outside [0, 1]. Nothing is sent to the host to decide it."""
    outside = ((scores < -ROUNDED) | (scores > 1 + ROUNDED)).any()
    return torch.where(outside, scores.softmax(dim=1), scores)


def tally_of(labels: LabelArray, bins: ScoreBins, state: dict[str, Any]) -> Tally:
    """The counts on the host, as an accumulator would have them after the same samples."""
    tally = Tally(labels, bins)
    k = len(labels)
    counts: torch.Tensor = state["counts"]
    tally.class_counts = counts[0].sum(dim=1).cpu().numpy()
    if not tally.class_counts.any():
        return tally
    tally.set_columns(k)
    # Most bins are empty, and stay where they are.
    occurred = (counts != 0).any(dim=1)
    for place, (counter, column, used) in enumerate(zip(tally.counters, counts, occurred, strict=True)):
        least, most = (state[name][place, used].cpu().numpy() for name in ("least", "most"))
        scores = np.where(least == most, least.view(np.float64), SEVERAL_SCORES)
        counter.add_rows(used.nonzero()[:, 0].cpu().numpy(), column[:, used].T.contiguous().cpu().numpy(), scores)
    tally.confusion = state["confusion"].cpu().numpy().copy()
    tally.times = tally.confusion.sum(axis=0)
    tally.lowest, tally.highest = (state[name].cpu().numpy().astype(float) for name in ("lowest", "highest"))
    tally.worst_row = float(state["worst_row"])
    return tally
