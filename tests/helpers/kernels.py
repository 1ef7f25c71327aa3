"""Kernels of Triton where there is no card: by Triton's own interpreter, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NEEDS_KERNELS = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Triton is for Linux"),
    pytest.mark.full("torch", "triton"),
]


def check_kernels(script, name, check):
    """Run a check, which takes a device: on a card where there is one, else in a process that interprets kernels.

    There `script` is called with the name of the check.
    """
    import torch

    if torch.cuda.is_available():
        check(torch.device("cuda"))
        return
    # The interpreter is chosen when Triton is imported: not here, where other tests may have done so.
    path = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    where = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": path}
    asked = [sys.executable, script, name]
    found = subprocess.run(asked, env=where, capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == 0, found.stderr


def main(checks):
    """What such a script does: one check on the CPU."""
    import torch

    checks[sys.argv[1]](torch.device("cpu"))
