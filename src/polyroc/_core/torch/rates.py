"""Rates of pairs that stay on the device: what a fit reads. NumPy sees them when somebody asks."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch

from polyroc._core.torch.devices import on_host, uploaded
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import PairwiseRates, read_only


class TensorRates(PairwiseRates):
    """`PairwiseRates` of tensors, by pairs, (K, T); copied to the host when their arrays are first read."""

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
        # Tensors of a card mean nothing to another process.
        return PairwiseRates, (np.array(self.tpr), self.separate_fpr, self.call_rates)


def on_device(rates: PairwiseRates, device: torch.device) -> TensorRates:
    """The rates on a device; those that are there already as they are."""
    if isinstance(rates, TensorRates) and rates.tpr_tensor.device == device:
        return rates
    fpr = rates.separate_fpr
    tensors = [None if one is None else uploaded(one.T, device) for one in (rates.tpr, fpr)]
    assert tensors[0] is not None
    return TensorRates(tensors[0], tensors[1], rates.call_rates)
