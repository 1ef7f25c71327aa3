"""Pairs of classes and what they count for, on the device: of all pairs, made by rule and never listed on the host."""

from functools import lru_cache
from typing import NamedTuple

import torch

from polyroc._core.ruled_weights import RuledPairWeights
from polyroc._core.torch.devices import uploaded, wait_for
from polyroc._lib.typing import FloatArray
from polyroc._records import AllPairs, PairIndex, PairWeights


class DevicePairs(NamedTuple):
    """Positions of classes, (K,) each, int32."""

    positive: torch.Tensor
    negative: torch.Tensor
    column: torch.Tensor

    def part(self, start: int, stop: int) -> "DevicePairs":
        return DevicePairs(self.positive[start:stop], self.negative[start:stop], self.column[start:stop])


# All pairs of up to this many classes are kept for the next time.
_FEW_CLASSES = 200


def pairs_on(pairs: PairIndex, device: torch.device) -> DevicePairs:
    """The pairs on a device."""
    if not isinstance(pairs, AllPairs):
        listed = (pairs.positive, pairs.negative, pairs.column)
        return DevicePairs(*(uploaded(one, device, torch.int32) for one in listed))
    if len(pairs.classes) <= _FEW_CLASSES:
        return _all_of_few(tuple(pairs.classes.tolist()), device)
    return _all_pairs(uploaded(pairs.classes, device, torch.int32), device)


@lru_cache(maxsize=16)
def _all_of_few(classes: tuple[int, ...], device: torch.device) -> DevicePairs:
    found = _all_pairs(torch.tensor(classes, dtype=torch.int32, device=device), device)
    # What kernels fill must be there before it is read on another stream; what is copied from the host is.
    wait_for(device)
    return found


def _all_pairs(classes: torch.Tensor, device: torch.device) -> DevicePairs:
    k = len(classes)
    positive = classes.repeat_interleave(k - 1)
    # A class is not paired with itself: from there on, the others stand one place further.
    place = torch.arange(k - 1, device=device, dtype=torch.int32)
    other = place + (place >= torch.arange(k, device=device, dtype=torch.int32)[:, None])
    return DevicePairs(positive, classes[other.flatten()], positive)


class Weights(NamedTuple):
    """What pairs count for, (K,) each; one number, expanded, where all are alike."""

    tpr: torch.Tensor
    fpr: torch.Tensor
    size: torch.Tensor

    @property
    def totals(self) -> torch.Tensor:
        """Sums of the weights of true and of false positive rates, (2,)."""
        if self.tpr.stride(0) == 0 and self.fpr.stride(0) == 0:  # which needs no list
            return len(self.tpr) * torch.cat([self.tpr[:1], self.fpr[:1]])
        return torch.stack([self.tpr.sum(), self.fpr.sum()])


def weights_on(weights: PairWeights, device: torch.device) -> Weights:
    """The weights of the pairs on a device; those of many pairs that follow a rule are made there."""
    if not isinstance(weights, RuledPairWeights) or len(weights.pairs) <= _FEW_CLASSES**2:
        if isinstance(weights, RuledPairWeights) and weights.are_equal and weights.scale == 1:
            size = uploaded(weights.size, device, torch.float64)
            alike = _one(device).expand(len(size))
            return Weights(alike, alike, size)
        return Weights(*(uploaded(one, device, torch.float64) for one in (weights.tpr, weights.fpr, weights.size)))
    pairs = pairs_on(weights.pairs, device)
    inverse = 1 / uploaded(weights.counts, device, torch.float64)
    size = 2 / (inverse[pairs.positive] + inverse[pairs.negative])
    tpr = _by_rule(weights, weights.tpr_factors, pairs, device)
    fpr = _by_rule(weights, weights.fpr_factors, pairs, device) if weights.fpr_factors else tpr
    return Weights(tpr, fpr, size)


@lru_cache(maxsize=16)
def _one(device: torch.device) -> torch.Tensor:
    found = torch.ones(1, dtype=torch.float64, device=device)
    wait_for(device)  # as above
    return found


def _by_rule(
    weights: RuledPairWeights, factors: tuple[FloatArray, ...], pairs: DevicePairs, device: torch.device
) -> torch.Tensor:
    """Shares of both classes times the factors, over the scale: in the order of `RuledPairWeights`."""
    found = _one(device).expand(len(pairs.positive))
    if weights.share is not None:
        share = uploaded(weights.share, device, torch.float64)
        found = share[pairs.positive] * share[pairs.negative]
    for factor in factors:
        matrix = uploaded(factor, device, torch.float64).flatten()
        found = found * matrix[pairs.positive.long() * len(factor) + pairs.negative]
    return found if weights.are_equal and weights.scale == 1 else found / weights.scale
