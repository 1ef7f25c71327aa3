"""The table of passes: which function computes each of them, in plain PyTorch or by kernels of Triton on a card.

A pass is a function of tensors. A kernel replaces one function, with the same signature and the same numbers.
"""

import hashlib
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import torch

from polyroc._core.torch import influence, runs, sweeps
from polyroc._core.torch.runs import Runs
from polyroc._core.torch.sweeps import Swept

logger = logging.getLogger("polyroc")


class Passes(NamedTuple):
    """The functions of one kind of device."""

    sort: Callable[..., None]
    """Scores of some classes in falling order."""
    tails: Callable[[Runs, torch.Tensor], torch.Tensor]
    """Shares of sorted classes under several weights: (share) of docs/method.md."""
    cut: Callable[..., None]
    """Rates of pairs at the call rates: (rates), (call-rate)."""
    areas: Callable[..., torch.Tensor]
    """Areas of pairs: (pair-area)."""
    sweep: Callable[..., Swept]
    """A move of all effects, and derivatives of the (deviance) there."""
    gram: Callable[[torch.Tensor], torch.Tensor]
    """Products of the cross terms of rows, summed over pairs."""
    influences: Callable[..., torch.Tensor]
    """Influences of samples by a gradient: (influence) of docs/influence.md."""
    area_influences: Callable[..., torch.Tensor]
    """Influences of samples on areas."""


PLAIN = Passes(
    sort=runs.sort,
    tails=runs.tails,
    cut=runs.cut,
    areas=runs.areas,
    sweep=sweeps.sweep,
    gram=sweeps.gram,
    influences=influence.influences,
    area_influences=influence.area_influences,
)


@cache
def passes_on(device_type: str) -> Passes:
    """The table of a device: kernels of Triton on a card that runs them, plain PyTorch elsewhere.

    A kernel leaves to plain PyTorch what it is not made for: sort classes of more than 1,024 samples, and scores of 64
    bits with their places; cut shared thresholds; sweep and influences grids of more than 1,024 call rates; influences
    shared thresholds and the saturated structure. A gram matrix is a product, at which PyTorch is fast.
    """
    if not has_kernels(device_type):
        return PLAIN
    of_runs, of_sweeps, of_influence = kernels("run"), kernels("sweep"), kernels("influence")
    return PLAIN._replace(
        sort=of_runs.sort,
        tails=of_runs.tails,
        cut=of_runs.cut,
        areas=of_runs.areas,
        sweep=of_sweeps.sweep,
        influences=of_influence.influences,
        area_influences=of_influence.area_influences,
    )


# With older versions of Triton kernels cannot be tested: its own interpreter fails, or gives other numbers.
_OLDEST_TRITON = (3, 3)


@cache
def has_kernels(device_type: str) -> bool:
    """Whether kernels of Triton run on such a device."""
    if device_type != "cuda" or find_spec("triton") is None:
        return False
    import triton

    major, minor = triton.__version__.split(".")[:2]
    return (int(major), int(minor)) >= _OLDEST_TRITON


def kernels(name: str) -> ModuleType:
    """A module of kernels, imported when a device first needs it."""
    announce_compilation()
    return import_module(f"polyroc._core.torch.{name}_kernels")


@cache
def announce_compilation() -> None:
    """Say that kernels are being compiled, unless Triton has those of this version on disk; once in a process.

    Which of them are needed depends on the problem, so a marker in Triton's folder stands for all.
    """
    marker = _cache_folder() / f"polyroc-{_version()}"
    with suppress(OSError):
        if marker.exists():
            return
    logger.warning(
        "polyroc is compiling its kernels for the GPU, which takes up to half a minute. Later runs read them from disk."
    )
    # A folder that cannot be written to says it again.
    with suppress(OSError):
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()


def _cache_folder() -> Path:
    """Where Triton keeps what it compiled; before version 3.4 it has no knobs."""
    import triton

    knobs = getattr(triton, "knobs", None)
    folder = os.environ.get("TRITON_CACHE_DIR") if knobs is None else knobs.cache.dir
    return Path(folder) if folder else Path.home() / ".triton" / "cache"


def _version() -> str:
    """That of PyTorch and of the kernels themselves: either compiles anew."""
    files = sorted(Path(__file__).parent.glob("*_kernels.py"))
    return hashlib.sha256(b"".join([torch.__version__.encode(), *(path.read_bytes() for path in files)])).hexdigest()
