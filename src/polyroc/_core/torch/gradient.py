"""A gradient that stays on the device: NumPy sees it when somebody asks."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import torch

from polyroc._core.gradient import Gradient
from polyroc._core.torch.devices import on_host, uploaded
from polyroc._lib.typing import FloatArray
from polyroc._records import read_only


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

    def by_rates(self, pairs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Derivatives by the true and by the false positive rates of some pairs, (m, P, T) each."""
        found = torch.zeros((), dtype=torch.float64, device=self.row.device)
        for q, factor in enumerate(self.pair):
            found = found + factor[:, pairs, None] * self.row[:, q, None]
        if self.cell is not None:
            found = found * self.cell[pairs]
        n = self.row.shape[2] // 2
        return found[..., :n] * self.tpr[pairs, None], found[..., n:] * self.fpr[pairs, None]


class TensorGradient(Gradient):
    """`Gradient` of tensors, copied to the host when its arrays are first read."""

    def __init__(self, slopes: Slopes) -> None:
        object.__setattr__(self, "slopes", slopes)

    slopes: Slopes

    def __len__(self) -> int:
        return len(self.slopes.row)

    @cached_property
    def row(self) -> FloatArray:  # a field, which is filled when it is read
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
        # Tensors of a card mean nothing to another process.
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
    """An array on the device, in double precision; what is one number repeated goes there as one number."""
    once = array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]
    return uploaded(once, device, torch.float64).expand(array.shape)
