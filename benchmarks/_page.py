"""The results into docs/benchmarks.md, between its two marks; what stands around them stays."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

BEGIN = "<!-- results: written by `make bench BENCH_ARGS=--write` -->"
END = "<!-- end of results -->"
PACKAGES = ("polyroc", "numpy", "scipy", "numba", "scikit-learn", "torch", "torchmetrics")


def machine():
    """The kind of machine and the versions, in two paragraphs; nothing that tells which machine it was."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kind = f"{_processor()}, {usable} cores, {memory:.0f} GiB of memory, {platform.system()}"
    versions = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} not installed")
    return f"Machine: {kind}.\n\nVersions: {', '.join(versions)}."


def _processor():
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def replace_results(page, results):
    """The page with other results between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        msg = f"the page lacks its marks, {BEGIN} and {END}"
        raise ValueError(msg)
    return f"{before}{BEGIN}\n\n{results.strip()}\n\n{END}{after}"
