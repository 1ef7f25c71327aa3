"""Which device computes, in which precision, and how much memory it has left."""

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from polyroc._core import memory
from polyroc._core.prepared import Resources
from polyroc._lib.typing import FloatArray

logger = logging.getLogger("polyroc")

# Fits of more cells than this are done in single precision where scores are: below it double costs next to nothing.
SINGLE_CELLS = 2**24
_GIB = 2**30


def device_of(resources: Resources) -> torch.device:
    """The device that was asked for, else a card where there is one, else the CPU."""
    found = torch.device(resources.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    # With its number, as tensors have it: otherwise a card would not be known as the one where they are.
    return torch.device("cuda", torch.cuda.current_device()) if found == torch.device("cuda") else found


def precision_of(scores: torch.dtype, n_cells: int) -> torch.dtype:
    """Single where scores are and cells are very many, else double."""
    return torch.float32 if scores == torch.float32 and n_cells > SINGLE_CELLS else torch.float64


def free_bytes(device: torch.device) -> int | None:
    """Bytes that can still be had on a device; None where that is unknown."""
    if device.type != "cuda":
        return memory.available()
    # What PyTorch keeps for itself and does not use can be had, too.
    kept = int(torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    return int(torch.cuda.mem_get_info(device)[0]) + kept


def uploaded(array: Any, device: torch.device, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A NumPy array on the device."""
    array = np.ascontiguousarray(array)
    # PyTorch warns of arrays that nobody may write to, as those of records are.
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device=device, dtype=dtype)


def grid_on(call_rates: FloatArray, device: torch.device) -> torch.Tensor:
    """Call rates on a device, where those of the last few grids are."""
    return _kept_grid(tuple(call_rates.tolist()), device)


@lru_cache(maxsize=16)
def _kept_grid(call_rates: tuple[float, ...], device: torch.device) -> torch.Tensor:
    return torch.tensor(call_rates, dtype=torch.float64, device=device)


def on_host(tensor: torch.Tensor) -> FloatArray:
    """A tensor as a NumPy array."""
    found: FloatArray = tensor.cpu().numpy()
    return found


def stream_of(device: torch.device) -> torch.cuda.Stream | None:
    """Where this thread queues its work on a card; other devices have no such thing."""
    return torch.cuda.current_stream(device) if device.type == "cuda" else None


def wait_for(device: torch.device) -> None:
    """Wait until all that this thread queued on a device is done."""
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()


def mark_on(device: torch.device) -> torch.cuda.Event | None:
    """What comes after all that this thread queued on a card so far."""
    return None if device.type != "cuda" else torch.cuda.current_stream(device).record_event()


def go_on_after(mark: torch.cuda.Event | None, device: torch.device) -> None:
    """What this thread queues from here on comes after a mark of any thread."""
    if mark is not None:
        torch.cuda.current_stream(device).wait_event(mark)


@dataclass(frozen=True)
class computing_on:  # noqa: N801 -- used as a function is
    """What is computed on a device, in whatever thread and with whatever settings of the caller.

    An allocation that fails is a MemoryError with the numbers, and nothing stays allocated. Not by `contextmanager`:
    its frame, which an error keeps, has the traceback, whose frames have every tensor. For the same reason a function
    that enters here has no tensors of its own.
    """

    device: torch.device
    n_pairs: int | None
    """How many pairs it is about; None where nobody could ask for fewer."""
    stream: torch.cuda.Stream | None = None
    """That of whoever made what is read here; None for that of this thread."""
    _settings: ExitStack = field(default_factory=ExitStack, repr=False)

    def __enter__(self) -> None:
        if self.device.type == "cuda":
            # Triton launches on the current device of a thread, wherever the tensors are. A new thread has the first.
            self._settings.enter_context(torch.cuda.device(self.device))
            self._settings.enter_context(torch.cuda.stream(self.stream))
        # Where it is on, products of single precision are done in half.
        self._settings.enter_context(torch.autocast(self.device.type, enabled=False))

    def __exit__(self, _kind: Any, error: BaseException | None, traceback: Any) -> None:
        del traceback
        self._settings.close()
        asked = None if error is None else asked_for(error)
        if error is None or asked is None:
            return
        # Its frames have what was allocated so far.
        error = error.with_traceback(None)
        free = free_bytes(self.device) or 0
        what, less = "this", "Copy the scores to the host, where the same is computed: `y_score.cpu()`."
        if self.n_pairs is not None:
            what = f"{self.n_pairs} pairs of classes"
            less = "Fewer `n_thresholds` need less, and so does a sample of pairs, `max_pairs`."
        had = f"{free / _GIB:.1f} GiB can be had now"
        msg = f"The device {self.device} has no memory for {what}: {asked}, and {had}. {less}"
        raise MemoryError(msg) from error


def asked_for(error: BaseException) -> str | None:
    """What PyTorch says of an allocation that failed; None where the error is another one."""
    if isinstance(error, torch.OutOfMemoryError):
        return str(error).partition(". GPU")[0]
    if not isinstance(error, RuntimeError):
        return None
    # On the CPU it has no error of its own for that; nor has CUDA for pinned memory and libraries.
    _, found, said = str(error).partition("DefaultCPUAllocator: ")
    if found:
        return said.partition(". Error code")[0]
    first = str(error).partition("\n")[0]
    return first if "out of memory" in first or "ALLOC_FAILED" in first else None


def pieces(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Ends of pieces of a range."""
    for start in range(0, n, max(1, size)):
        yield start, min(n, start + max(1, size))


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


def compiled_with(num_warps: int) -> dict[str, Any]:
    """How Triton compiles a kernel, as arguments of its launch."""
    # A product is rounded together with the sum that it enters. Triton will do so only where that is asked for (3.10);
    # until then it warns where nothing is said (3.9).
    return {"num_warps": num_warps, "enable_fp_fusion": True}


@cache
def announce_compilation() -> None:
    """Say that kernels are being compiled, unless Triton has those of this version on disk; once in a process.

    Which of them are needed depends on the problem, so a marker in Triton's folder stands for all. By a log line, as
    in `_numba/_compile.py`.
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
    found = os.environ.get("TRITON_CACHE_DIR") if knobs is None else knobs.cache.dir
    return Path(found) if found else Path.home() / ".triton" / "cache"


def _version() -> str:
    """That of PyTorch and of the kernels themselves: either compiles anew."""
    files = sorted(Path(__file__).parent.glob("*_kernels.py"))
    return hashlib.sha256(b"".join([torch.__version__.encode(), *(path.read_bytes() for path in files)])).hexdigest()


# Classes of at most this many samples are sorted by kernels, where a device has them.
LONGEST_SHORT = 1024
# Columns that one launch of a kernel takes: CUDA has no more programs in the second dimension of a grid.
MOST_COLUMNS = 65_535


def short_sort(scores: torch.Tensor, *, ordered: bool) -> Callable[..., None] | None:
    """What sorts short runs of these scores, if a kernel does."""
    if not has_kernels(scores.device.type) or not kernels("sort").can_sort(scores.dtype, ordered=ordered):
        return None
    found: Callable[..., None] = kernels("sort").sort_short
    return found
