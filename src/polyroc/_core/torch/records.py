"""Records whose arrays stay on the device: pairs and their weights, rates, effects and gradients.

NumPy sees an array when it is first read. Of all pairs nothing is listed on the host.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from polyroc._core.adjoint import Gradient
from polyroc._core.torch.devices import on_host, uploaded
from polyroc._core.weights import RuledPairWeights
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import AllPairs, Factorization, PairIndex, PairWeights, PairwiseRates, read_only


class DevicePairs(NamedTuple):
    """Positions of classes, (K,) each, int32."""

    positive: torch.Tensor
    negative: torch.Tensor
    column: torch.Tensor

    def part(self, start: int, stop: int) -> "DevicePairs":
        return DevicePairs(*(one[start:stop] for one in self))


def pairs_on(pairs: PairIndex, device: torch.device) -> DevicePairs:
    """The pairs on a device."""
    if isinstance(pairs, AllPairs):
        return all_pairs(uploaded(pairs.classes, device, torch.int32))
    listed = (pairs.positive, pairs.negative, pairs.column)
    return DevicePairs(*(uploaded(one, device, torch.int32) for one in listed))


def all_pairs(classes: torch.Tensor) -> DevicePairs:
    """Every ordered pair of some classes, int32, positive-major."""
    positive = classes.repeat_interleave(len(classes) - 1)
    # A class is not paired with itself: from there on, the others stand one place further.
    row = torch.arange(len(classes), device=classes.device, dtype=torch.int32)
    other = row[:-1] + (row[:-1] >= row[:, None])
    return DevicePairs(positive, classes[other.flatten()], positive)


class Weights(NamedTuple):
    """W_p Q_p of (weights) for both rates and m_p of (shrinkage), (K,) each; one number, expanded, if all are alike."""

    tpr: torch.Tensor
    fpr: torch.Tensor
    size: torch.Tensor

    @property
    def are_alike(self) -> bool:
        return bool(self.tpr.stride(0) == 0 and self.fpr.stride(0) == 0)

    @property
    def totals(self) -> torch.Tensor:
        """Sums of the weights of true and of false positive rates, (2,)."""
        if self.are_alike:  # which needs no list
            return len(self.tpr) * torch.cat([self.tpr[:1], self.fpr[:1]])
        return torch.stack([self.tpr.sum(), self.fpr.sum()])


def weights_on(weights: PairWeights, device: torch.device) -> Weights:
    """The weights of the pairs on a device; those that follow a rule are made there, in the order of the rule."""
    if not isinstance(weights, RuledPairWeights):
        tpr, fpr, size = (uploaded(one, device, torch.float64) for one in (weights.tpr, weights.fpr, weights.size))
        return Weights(tpr, fpr, size)
    pairs, inverse = pairs_on(weights.pairs, device), 1 / uploaded(weights.counts, device, torch.float64)
    share = None if weights.share is None else uploaded(weights.share, device, torch.float64)

    def by_rule(factors: tuple[FloatArray, ...]) -> torch.Tensor:
        weight = torch.ones(1, dtype=torch.float64, device=device).expand(len(weights.pairs))
        if share is not None:
            weight = share[pairs.positive] * share[pairs.negative]
        for factor in factors:
            matrix = uploaded(factor, device, torch.float64).flatten()
            weight = weight * matrix[pairs.positive.long() * len(factor) + pairs.negative]
        return weight if weights.are_equal and weights.scale == 1 else weight / weights.scale

    tpr = by_rule(weights.tpr_factors)
    fpr = by_rule(weights.fpr_factors) if weights.fpr_factors else tpr
    return Weights(tpr, fpr, 2 / (inverse[pairs.positive] + inverse[pairs.negative]))


class TensorRates(PairwiseRates):
    """`PairwiseRates` of tensors, by pairs, (K, T)."""

    def __init__(self, tpr: torch.Tensor, fpr: torch.Tensor | None, call_rates: FloatArray) -> None:
        for name, value in (("tpr_tensor", tpr), ("fpr_tensor", fpr), ("call_rates", call_rates)):
            object.__setattr__(self, name, value)

    tpr_tensor: torch.Tensor
    fpr_tensor: torch.Tensor | None
    # Up to half a gibibyte of a card's memory, for standard errors without a second cut.
    most_kept: ClassVar[int] = 2**27

    @cached_property
    def tpr(self) -> FloatArray:
        return read_only(on_host(self.tpr_tensor).T)

    @cached_property
    def separate_fpr(self) -> FloatArray | None:
        return None if self.fpr_tensor is None else read_only(on_host(self.fpr_tensor).T)

    @property
    def n_call_rates(self) -> int:
        return int(self.tpr_tensor.shape[1])

    @property
    def n_pairs(self) -> int:
        return int(self.tpr_tensor.shape[0])

    def of_pairs(self, chosen: IntArray | BoolArray) -> "TensorRates":
        """The rates of some of the pairs, on the device."""
        which = torch.from_numpy(np.array(chosen)).to(self.tpr_tensor.device)
        fpr = None if self.fpr_tensor is None else self.fpr_tensor[which]
        return TensorRates(self.tpr_tensor[which], fpr, self.call_rates)

    def __reduce__(self) -> tuple[Callable[..., PairwiseRates], tuple[Any, ...]]:
        # Here and below: tensors of a card mean nothing to another process.
        return PairwiseRates, (np.array(self.tpr), self.separate_fpr, self.call_rates)


def rates_on(rates: PairwiseRates, device: torch.device) -> TensorRates:
    """The rates on a device; those that are there already as they are."""
    if isinstance(rates, TensorRates) and rates.tpr_tensor.device == device:
        return rates
    fpr = None if rates.separate_fpr is None else uploaded(rates.separate_fpr.T, device)
    return TensorRates(uploaded(rates.tpr.T, device), fpr, rates.call_rates)


class TensorFactorization(Factorization):
    """`Factorization` whose pair effects are a tensor."""

    def __init__(self, *, pair_effects: torch.Tensor | FloatArray, **others: Any) -> None:
        # `dataclasses.replace` may put an array there.
        name = "effect_tensor" if isinstance(pair_effects, torch.Tensor) else "pair_effects"
        for key, value in {name: pair_effects, **others}.items():
            object.__setattr__(self, key, value)
        self.__post_init__()

    effect_tensor: torch.Tensor | None = None

    @cached_property
    def pair_effects(self) -> FloatArray:  # a field, which is filled when it is read
        assert self.effect_tensor is not None
        return read_only(on_host(self.effect_tensor))

    def __reduce__(self) -> tuple[Callable[..., Factorization], tuple[Any, ...]]:
        return Factorization, tuple(getattr(self, field.name) for field in fields(Factorization))


def effects_on(factorization: Factorization, device: torch.device) -> torch.Tensor:
    """The effects of pairs on a device, (K,) in double precision; those that are there already as they are."""
    effect = factorization.effect_tensor if isinstance(factorization, TensorFactorization) else None
    if effect is not None and effect.device == device:
        return effect
    return uploaded(factorization.pair_effects, device, torch.float64)


class Slopes(NamedTuple):
    """The factors of a `Gradient` of m numbers, all in double precision."""

    row: torch.Tensor  # (m, Q, 2T)
    pair: tuple[torch.Tensor, ...]  # Q of (m, K); what all numbers or all pairs have in common is expanded
    tpr: torch.Tensor  # (K,)
    fpr: torch.Tensor  # (K,)
    cell: torch.Tensor | None  # (K, 2T)

    def of_numbers(self, which: slice) -> "Slopes":
        """Those of some of the m numbers."""
        return self._replace(row=self.row[which], pair=tuple(one[which] for one in self.pair))

    def by_rates(self, pairs: torch.Tensor | slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Derivatives by the true and by the false positive rates of some pairs, (m, P, T) each."""
        slope = torch.zeros((), dtype=torch.float64, device=self.row.device)
        for q, factor in enumerate(self.pair):
            slope = slope + factor[:, pairs, None] * self.row[:, q, None]
        if self.cell is not None:
            slope = slope * self.cell[pairs]
        n = self.row.shape[2] // 2
        return slope[..., :n] * self.tpr[pairs, None], slope[..., n:] * self.fpr[pairs, None]


class TensorGradient(Gradient):
    """`Gradient` of tensors."""

    def __init__(self, slopes: Slopes) -> None:
        object.__setattr__(self, "slopes", slopes)

    slopes: Slopes

    def __len__(self) -> int:
        return len(self.slopes.row)

    @cached_property
    def row(self) -> FloatArray:
        return read_only(on_host(self.slopes.row))

    @cached_property
    def pair(self) -> FloatArray:
        return read_only(on_host(torch.stack(self.slopes.pair, 1)))

    @cached_property
    def tpr(self) -> FloatArray:
        return read_only(on_host(self.slopes.tpr))

    @cached_property
    def fpr(self) -> FloatArray:
        return read_only(on_host(self.slopes.fpr))

    @cached_property
    def cell(self) -> FloatArray | None:
        return None if self.slopes.cell is None else read_only(on_host(self.slopes.cell).T)

    def __reduce__(self) -> tuple[Callable[..., Gradient], tuple[Any, ...]]:
        return Gradient, (self.row, self.pair, self.tpr, self.fpr, self.cell)


def slopes_on(gradient: Gradient, device: torch.device) -> Slopes:
    """The factors of a gradient on a device; those that are there already as they are."""
    if isinstance(gradient, TensorGradient) and gradient.slopes.row.device == device:
        return gradient.slopes
    return Slopes(
        row=repeated_on(gradient.row, device),
        pair=tuple(repeated_on(gradient.pair[:, q], device) for q in range(gradient.pair.shape[1])),
        tpr=repeated_on(gradient.tpr, device),
        fpr=repeated_on(gradient.fpr, device),
        cell=None if gradient.cell is None else repeated_on(gradient.cell.T, device),
    )


def repeated_on(array: FloatArray, device: torch.device) -> torch.Tensor:
    """An array on the device, in double precision; one number repeated goes there as one number."""
    once = array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]
    return uploaded(once, device, torch.float64).expand(array.shape)
