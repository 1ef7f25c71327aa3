"""Where compiled kernels are kept, for benchmarks and tests.

numba looks only at a kernel's own file to see whether its compiled code is still good, not at what that file imports.
So each state of the engines has a folder of its own.
"""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def cache_folder():
    sources = sorted((ROOT / "src" / "polyroc" / "_engines").rglob("*.py"))
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return str(ROOT / ".numba_cache" / state)
