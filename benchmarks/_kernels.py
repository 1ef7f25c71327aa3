"""Where compiled kernels are kept, for benchmarks and tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def cache_folder():
    return str(ROOT / ".numba_cache")
