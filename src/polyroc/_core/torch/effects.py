"""Effects of pairs that stay on the device: NumPy sees them when somebody asks."""

from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import Any

import torch

from polyroc._core.torch.devices import on_host, uploaded
from polyroc._lib.typing import FloatArray
from polyroc._records import Factorization, read_only


class TensorFactorization(Factorization):
    """`Factorization` whose pair effects are a tensor, copied to the host when they are first read."""

    def __init__(self, *, pair_effects: torch.Tensor | FloatArray, **others: Any) -> None:
        # An array where `dataclasses.replace` has put one.
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
        # Tensors of a card mean nothing to another process.
        return Factorization, tuple(getattr(self, field.name) for field in fields(Factorization))


def effects_on(factorization: Factorization, device: torch.device) -> torch.Tensor:
    """The effects of pairs on a device, (K,) in double precision; those that are there already as they are."""
    if isinstance(factorization, TensorFactorization):
        found = factorization.effect_tensor
        if found is not None and found.device == device:
            return found
    return uploaded(factorization.pair_effects, device, torch.float64)
