"""Which device computes, in which precision, on which stream, and how much memory it has left."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from polyroc._core import memory
from polyroc._core.engines import Resources
from polyroc._lib.typing import FloatArray

# Fits of more cells than this are in single precision if scores are: below it double costs next to nothing.
SINGLE_CELLS = 2**24
_GIB = 2**30


def device_of(resources: Resources) -> torch.device:
    """The device of the options, else a card if there is one, else the CPU."""
    device = torch.device(resources.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    # With its number, as tensors have it: otherwise a card would not be known as the one where they are.
    return torch.device("cuda", torch.cuda.current_device()) if device == torch.device("cuda") else device


def precision_of(scores: torch.dtype, n_cells: int) -> torch.dtype:
    """Single if scores are and cells are very many, else double."""
    return torch.float32 if scores == torch.float32 and n_cells > SINGLE_CELLS else torch.float64


def free_bytes(device: torch.device) -> int | None:
    """Bytes that can still be had on a device; None if that is unknown."""
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


def on_host(tensor: torch.Tensor) -> FloatArray:
    """A tensor as a NumPy array."""
    array: FloatArray = tensor.cpu().numpy()
    return array


def pieces(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Ends of pieces of a range."""
    for start in range(0, n, max(1, size)):
        yield start, min(n, start + max(1, size))


def stream_of(device: torch.device) -> torch.cuda.Stream | None:
    """The stream on which this thread queues its work on a card; other devices have none."""
    return torch.cuda.current_stream(device) if device.type == "cuda" else None


def mark_on(device: torch.device) -> torch.cuda.Event | None:
    """A mark after all that this thread queued on a card so far."""
    return None if device.type != "cuda" else torch.cuda.current_stream(device).record_event()


def go_on_after(mark: torch.cuda.Event | None, device: torch.device) -> None:
    """Let what this thread queues from here on wait for a mark of any thread."""
    if mark is not None:
        torch.cuda.current_stream(device).wait_event(mark)


@dataclass(frozen=True)
class computing_on:  # noqa: N801 -- used as a function is
    """A computation on a device, in any thread and with any settings of the caller.

    An allocation that fails is a MemoryError with the numbers, and nothing stays allocated. Not by `contextmanager`:
    its frame, which an error keeps, has the traceback, whose frames have every tensor. For the same reason a function
    that enters here has no tensors of its own.
    """

    device: torch.device
    n_pairs: int | None
    """Number of pairs; None if fewer cannot be asked for."""
    stream: torch.cuda.Stream | None = None
    """The stream that made what is read here; None for that of this thread."""
    _settings: ExitStack = field(default_factory=ExitStack, repr=False)

    def __enter__(self) -> None:
        if self.device.type == "cuda":
            # Triton launches on the current device of a thread, wherever the tensors are. A new thread has the first.
            self._settings.enter_context(torch.cuda.device(self.device))
            self._settings.enter_context(torch.cuda.stream(self.stream))
        # If it is on, products of single precision are done in half.
        self._settings.enter_context(torch.autocast(self.device.type, enabled=False))

    def __exit__(self, _kind: Any, error: BaseException | None, traceback: Any) -> None:
        del traceback
        self._settings.close()
        allocation = None if error is None else failed_allocation(error)
        if error is None or allocation is None:
            return
        # Its frames have what was allocated so far.
        error = error.with_traceback(None)
        free = free_bytes(self.device) or 0
        what, less = "this", "Copy the scores to the host, where the same is computed: `y_score.cpu()`."
        if self.n_pairs is not None:
            what = f"{self.n_pairs} pairs of classes"
            less = "Fewer `n_thresholds` need less, and so does a sample of pairs, `max_pairs`."
        had = f"{free / _GIB:.1f} GiB can be had now"
        msg = f"The device {self.device} has no memory for {what}: {allocation}, and {had}. {less}"
        raise MemoryError(msg) from error


def failed_allocation(error: BaseException) -> str | None:
    """Message of PyTorch on an allocation that failed; None for any other error."""
    if isinstance(error, torch.OutOfMemoryError):
        return str(error).partition(". GPU")[0]
    if not isinstance(error, RuntimeError):
        return None
    # On the CPU it has no error of its own for that; nor has CUDA for pinned memory and libraries.
    _, is_of_cpu, message = str(error).partition("DefaultCPUAllocator: ")
    if is_of_cpu:
        return message.partition(". Error code")[0]
    first = str(error).partition("\n")[0]
    return first if "out of memory" in first or "ALLOC_FAILED" in first else None
