"""Areas that other people's measures are made of, on the device: against the rest, and along contrasts."""

import torch

from polyroc._engines._torch._areas import areas_of as areas_of_lines
from polyroc._engines._torch._devices import pieces, uploaded
from polyroc._engines._torch._made_runs import AT_ONCE, ByClass, contrasts, in_range, made_runs
from polyroc._engines._torch._pairs import DevicePairs
from polyroc._engines._torch._passes import areas_of, polygons_at_once
from polyroc._engines._torch._runs import Runs, Samples
from polyroc._lib.typing import FloatArray


def areas_against_rest(runs: Runs, class_weights: FloatArray) -> torch.Tensor:
    """Area of each class against all the others, (k,): the mean of its areas by the weights of the others."""
    device, present = runs.device, torch.nonzero(runs.counts > 0)[:, 0]
    one, other = torch.meshgrid(present, present, indexing="ij")
    is_pair = one != other
    positive, negative = one[is_pair], other[is_pair]
    listed = DevicePairs(positive.to(torch.int32), negative.to(torch.int32), positive.to(torch.int32))
    found = [
        areas_of(runs, listed.part(start, stop)) for start, stop in pieces(len(positive), polygons_at_once(device, 1))
    ]
    area = torch.full((len(runs.counts),) * 2, torch.nan, dtype=torch.float64, device=device)
    area[positive, negative] = torch.cat(found)
    weight = uploaded(class_weights / class_weights.max(), device, torch.float64)
    is_there = ~area.isnan()
    # Without a pair a row has no weight: 0 / 0 is the NaN of a class without samples.
    return (area.nan_to_num() * weight).sum(1) / (is_there * weight).sum(1)


def contrast_areas(samples: Samples, pairs: DevicePairs, partition: FloatArray) -> torch.Tensor:
    """Mann-Whitney area of each pair along (A[negative] - A[positive]) · p, (K,)."""
    classes, costs = ByClass.of(samples), uploaded(partition, samples.device, torch.float64)
    positive, negative = pairs.positive.long(), pairs.negative.long()
    found, scores = [], in_range(samples.scores)
    for some in classes.pieces(positive, negative, AT_ONCE):
        for start, stop in pieces(some.stop - some.start, AT_ONCE // costs.shape[1]):
            part = slice(some.start + start, some.start + stop)
            score = contrasts(scores, costs[negative[part]] - costs[positive[part]])
            found.append(areas_of_lines(made_runs(classes, positive[part], negative[part], score).lines))
    return torch.cat(found)
