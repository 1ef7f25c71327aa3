"""Kernels of Triton where there is no card: by Triton's own interpreter, and compiled, in processes of their own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import kernel_launches
import pytest

NEEDS_KERNELS = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Triton is for Linux"),
    pytest.mark.full("torch", "triton"),
]


def check_kernels(script, name, check):
    """Run a check, which takes a device: on a card where there is one, else in a process that interprets kernels.

    There `script` is called with the name of the check, and the kernels it launched are compiled afterwards.
    """
    import torch

    from polyroc._core.torch.passes import has_kernels

    if not has_kernels("cuda"):
        pytest.skip("with this version of Triton kernels are not used")
    if torch.cuda.is_available():
        check(torch.device("cuda"))
        return
    with tempfile.TemporaryDirectory() as folder:
        launches = str(Path(folder, "launches.json"))
        # The interpreter is chosen when Triton is imported: not here, where other tests may have done so.
        _run([script, name, launches], {"TRITON_INTERPRET": "1"})
        _run([kernel_launches.__file__, launches], {"TRITON_CACHE_DIR": folder})


def _run(asked, settings):
    """Run a Python process, which must not fail."""
    path = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    where = os.environ | {"PYTHONPATH": path} | settings
    # Against a hang alone: beside seven busy processes the interpreter took more than five minutes.
    found = subprocess.run(
        [sys.executable, *asked], env=where, capture_output=True, text=True, timeout=3600, check=False
    )
    assert found.returncode == 0, found.stderr


def main(checks):
    """What such a script does: one check on the CPU."""
    import torch

    name, launches = sys.argv[1:]
    with kernel_launches.recorded(launches):
        checks[name](torch.device("cpu"))
