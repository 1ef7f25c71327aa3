"""Which engine is done first: what "auto" means.

The seconds of both engines are predicted from the size of the work. The fast one must also be started: its kernels are
in memory already, or read from disk, or compiled. That is paid by one large call, or by many that add up. So the choice
depends on the state of the machine, and results do by as much as engines differ (1e-9 where a fit has one interior
optimum). Two rules keep this small: work that the
reference does in no time is always left to it, and replicates, of which the fast engine makes fits in single
precision, are chosen for by their size alone. So the same seed gives the same bits, whatever is on disk.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Task: TypeAlias = Literal["evaluate", "areas", "contrasts", "replicates"]
# Seconds of a call, of a pair, of a sample that a pair merges, of a sample that is passed by for a pair, and of a
# product in the normal equations of the fit.
Costs: TypeAlias = tuple[float, float, float, float, float]

# Measured by `python -m benchmarks._engine_costs`, in seconds of one core of a server of 2026; right to a factor of 2.
_REFERENCE: dict[Task, Costs] = {
    "evaluate": (1.4e-3, 4.5e-5, 3.4e-8, 5.6e-9, 1.4e-9),
    "areas": (6.7e-5, 0.0, 2.3e-8, 0.0, 0.0),
    "contrasts": (1.1e-5, 3e-5, 4.7e-8, 0.0, 0.0),
    "replicates": (1.3e-3, 1.5e-5, 5.8e-8, 0.0, 2.7e-9),
}
_FAST: dict[Task, Costs] = {
    "evaluate": (7.8e-4, 2.4e-5, 7.9e-9, 0.0, 0.0),
    "areas": (4e-5, 0.0, 8.7e-9, 0.0, 0.0),
    "contrasts": (4.1e-5, 2.9e-6, 1.4e-8, 0.0, 0.0),
    "replicates": (6.3e-5, 5.2e-6, 6e-9, 0.0, 3e-10),
}
# To import numba and to read kernels from disk; and to compile them.
_LOADING = 0.5
_COMPILING: dict[Task, float] = {"evaluate": 8.7, "areas": 1.1, "contrasts": 1.4}
# Compiled code is kept for all later runs: this one need not earn all of it.
_OF_COMPILING = 0.5
# What is done so soon is left to the reference, in whatever state the machine is.
_NO_TIME = 0.02

# What the fast engine would have saved in this process so far: many calls are worth a start that none of them is worth.
_missed: dict[Task, float] = dict.fromkeys(_COMPILING, 0.0)

# Kernels without which a task cannot begin, by the module and the name under which numba keeps them.
_KERNELS: dict[Task, tuple[str, ...]] = {
    "evaluate": ("_fit.add_row_means",),
    "areas": ("_rates.add_areas",),
    "contrasts": ("_contrasts.count_wins",),
}


@dataclass(frozen=True)
class Work:
    """What is to be computed, by its size."""

    task: Task
    n_samples: int
    n_classes: int
    n_pairs: int
    n_thresholds: int = 99
    repeats: int = 1

    @property
    def features(self) -> Costs:
        """How often each of the costs is met."""
        passed = self.n_samples * self.n_pairs
        rows = 2 * self.n_thresholds
        return 1.0, self.n_pairs, 2 * passed / self.n_classes, passed, rows * self.n_pairs * min(rows, self.n_pairs)

    def seconds(self, constants: dict[Task, Costs]) -> float:
        each = sum(constant * feature for constant, feature in zip(constants[self.task], self.features, strict=True))
        return self.repeats * each


def fast_is_quicker(work: Work) -> bool:
    """Whether the fast engine, started if need be, is done before the reference."""
    reference = work.seconds(_REFERENCE)
    if reference < _NO_TIME:
        return False
    saving = reference - work.seconds(_FAST)
    if work.task == "replicates":
        return saving > _LOADING
    if saving + _missed[work.task] > _starting(work.task):
        return True
    _missed[work.task] += max(saving, 0.0)
    return False


def _starting(task: Task) -> float:
    if all(map(_is_in_memory, _KERNELS[task])):
        return 0.0
    if all(map(_is_on_disk, _KERNELS[task])):
        return _LOADING
    return _LOADING + _OF_COMPILING * _COMPILING[task]


def _is_in_memory(kernel: str) -> bool:
    module, _, name = kernel.partition(".")
    loaded = sys.modules.get(f"polyroc._engines._numba.{module}")
    return bool(getattr(getattr(loaded, name, None), "signatures", ()))


def _is_on_disk(kernel: str) -> bool:
    """Whether numba has kept this kernel since the engines were last written; asked without importing numba."""
    folder = Path(__file__).parent / "_numba"
    written = max(path.stat().st_mtime for path in Path(__file__).parent.rglob("*.py"))
    # As numba names its index: file and function, line, version of Python.
    name = f"{kernel}-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi"
    kept = (index for place in _places(folder) for index in place.glob(name))
    return any(index.stat().st_mtime >= written for index in kept)


def _places(folder: Path) -> Iterator[Path]:
    """Where numba keeps what it compiles of a folder, in its order."""
    subfolder = f"{folder.name}_*"  # ends in a hash of the path
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        yield from Path(given).glob(subfolder)
        return
    yield folder / "__pycache__"
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    yield from (of_user / "numba").glob(subfolder)
