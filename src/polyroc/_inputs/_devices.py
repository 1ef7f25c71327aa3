"""Whether an array lies on a GPU, and its copy on the host; asked of the array alone, because no library is imported.

A tensor of torch knows it; arrays of CuPy and JAX say it by DLPack. An array of JAX could be read by NumPy wherever it
lies, so it must be asked before that.
"""

from typing import Any

import numpy as np

# Types of devices in DLPack: kDLCUDA and kDLROCM.
_CUDA, _ROCM = 2, 10


def is_on_device(value: Any) -> bool:
    """Whether an array lies on a GPU that torch can compute on."""
    # Asked first what comes most often, and is quickly told.
    return not isinstance(value, np.ndarray | list | tuple) and _lies_on_device(value)


def _lies_on_device(value: Any) -> bool:
    # Cards of AMD are called CUDA by torch.
    if getattr(value, "is_cuda", None) is True:
        return True
    ask = getattr(value, "__dlpack_device__", None)
    if ask is None:
        return False
    try:
        return int(ask()[0]) in (_CUDA, _ROCM)
    # Whatever cannot say where it lies is read as an array, which says what is wrong with it.
    except Exception:
        return False


def on_host(value: Any) -> Any:
    """What NumPy can read of an array on a GPU; anything else as it came."""
    if not is_on_device(value):
        return value
    if hasattr(value, "detach"):  # torch
        return value.detach().cpu()
    # CuPy; an array of JAX copies itself when it is read.
    return value.get() if hasattr(value, "get") else value
