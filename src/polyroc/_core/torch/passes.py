"""Which implementation of a pass a device has: kernels of Triton on a card that has them, plain PyTorch elsewhere."""

from types import ModuleType

import torch

from polyroc._core.torch import areas, cuts, sweeps
from polyroc._core.torch.cuts import Lines
from polyroc._core.torch.devices import has_kernels, kernels
from polyroc._core.torch.pairs import DevicePairs
from polyroc._core.torch.runs import Runs
from polyroc._core.torch.sweeps import Cells

# Polygons that are cut at once by a kernel, and in plain PyTorch, where each point takes some twenty numbers.
_AT_ONCE, _POINTS_AT_ONCE = 2**24, 2**22


def passes_for(cells: Cells) -> ModuleType:
    """The module whose `sweep` passes over these cells."""
    has_kernels_for = has_kernels(cells.tpr.device.type) and kernels("sweep").can_sweep(cells)
    return kernels("sweep") if has_kernels_for else sweeps


def polygons_at_once(device: torch.device, n_call_rates: int) -> int:
    """How many polygons are cut together."""
    return _AT_ONCE if has_kernels(device.type) else max(1, _POINTS_AT_ONCE // n_call_rates)


def cut_own(
    runs: Runs,
    pairs: DevicePairs,
    call_rates: torch.Tensor,
    out: torch.Tensor,
    tails: torch.Tensor | None = None,
) -> None:
    """The true positive rates of own thresholds, (P, T), written to `out` in its precision.

    With `tails` in place of those of the runs: one row of them, or several, (B, M); then `out` is (B, P, T).
    """
    tails = _flat_tails(runs) if tails is None else tails
    if has_kernels(out.device.type):
        kernels("cut").cut_own(runs, pairs, call_rates, out, tails)
    elif out.ndim == 3:
        assert tails is not None
        for one, found in zip(tails, out, strict=True):
            cut_own(runs, pairs, call_rates, found, one)
    else:
        out.copy_(cuts.cut(_lines(runs, pairs, tails), call_rates).share[0])


def areas_of(runs: Runs, pairs: DevicePairs, tails: torch.Tensor | None = None) -> torch.Tensor:
    """Area of each pair in its column, (P,), ties counting one half; (B, P) with `tails` of shape (B, M)."""
    tails = _flat_tails(runs) if tails is None else tails
    if has_kernels(runs.device.type):
        found: torch.Tensor = kernels("cut").areas_of(runs, pairs, tails)
        return found
    if tails is not None and tails.ndim == 2:
        return torch.stack([areas.areas_of(_lines(runs, pairs, one)) for one in tails])
    return areas.areas_of(_lines(runs, pairs, tails))


def _flat_tails(runs: Runs) -> torch.Tensor | None:
    return None if runs.tails is None else runs.tails.view(-1)


def _lines(runs: Runs, pairs: DevicePairs, tails: torch.Tensor | None) -> Lines:
    return cuts.own_lines(runs, pairs.positive.long(), pairs.negative.long(), pairs.column.long(), tails=tails)
