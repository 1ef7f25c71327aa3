"""Kernels of Triton compiled for cards where there is none: as they were launched while they were interpreted.

Interpreted, a kernel is Python: what Triton's compiler refuses, or warns of, is seen here only. Its compiler needs no
card, and Triton brings the assembler of NVIDIA with it. This file is also the script of a process without the
interpreter, which cannot be turned off where it is on.
"""

import importlib
import json
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

# The oldest cards that Triton compiles for, and the H200.
CAPABILITIES = (75, 90)


@contextmanager
def recorded(path):
    """Write down each kind of launch that is interpreted meanwhile."""
    from triton.runtime.interpreter import InterpretedFunction

    launcher_on, launches = InterpretedFunction.__getitem__, {}

    def record_on(kernel, grid):
        def launch(*args, **options):
            found = {
                "module": kernel.fn.__module__,
                "kernel": kernel.fn.__name__,
                "args": [_described(value) for value in args],
                "options": {name: _described(value) for name, value in options.items()},
            }
            launches[json.dumps(found)] = found
            return launcher_on(kernel, grid)(*args, **options)

        return launch

    InterpretedFunction.__getitem__ = record_on
    try:
        yield
    finally:
        InterpretedFunction.__getitem__ = launcher_on
    Path(path).write_text(json.dumps(list(launches.values())), encoding="utf-8")


def _described(value):
    import torch
    import triton.language as tl

    if isinstance(value, torch.Tensor):
        # A compiled kernel reads four numbers at a time where the first lies at a multiple of 16 bytes.
        return {"tensor": str(value.dtype).removeprefix("torch."), "offset": value.data_ptr() % 16}
    return {"type": str(value)} if isinstance(value, tl.dtype) else {"value": value}


def _made(described):
    import torch
    import triton.language as tl
    from triton.runtime.jit import MockTensor

    if "type" in described:
        return {str(kind): kind for kind in (tl.float32, tl.float64, tl.int32, tl.int64)}[described["type"]]
    if "tensor" not in described:
        return described["value"]
    made = MockTensor(getattr(torch, described["tensor"]))
    made.data_ptr = lambda: described["offset"]
    return made


class _Card:
    """What Triton asks of a driver in order to compile."""

    def __init__(self, capability):
        from triton.backends.compiler import GPUTarget

        self._target = GPUTarget("cuda", capability, 32)

    def get_current_target(self):
        return self._target

    def get_current_device(self):
        return self._target.arch

    def get_current_stream(self, device):
        return 0


def compile_launches(path):
    """Compile what was recorded, for each kind of card, without a warning."""
    from triton.runtime import driver

    warnings.simplefilter("error")
    launches = json.loads(Path(path).read_text(encoding="utf-8"))
    assert launches, "nothing was launched"
    for capability in CAPABILITIES:
        driver.set_active(_Card(capability))
        for launch in launches:
            kernel = getattr(importlib.import_module(launch["module"]), launch["kernel"])
            args = [_made(value) for value in launch["args"]]
            options = {name: _made(value) for name, value in launch["options"].items()}
            compiled = kernel.warmup(*args, grid=(1,), **options)
            assert compiled.asm["cubin"], f"{launch['kernel']} was not compiled for {capability}"


if __name__ == "__main__":
    compile_launches(sys.argv[1])
