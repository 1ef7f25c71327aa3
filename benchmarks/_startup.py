"""What a user waits for once: the import, the first call, the compiler."""

import tempfile
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from benchmarks._measure import python, say

IMPORT = """
import numpy, scipy.special
from time import perf_counter
start = perf_counter()
import polyroc
print(perf_counter() - start)
"""
SMALL = """
import numpy, polyroc
rng = numpy.random.default_rng(0)
polyroc.auc_score(rng.permutation(1000) % 3, rng.normal(size=(1000, 3)))
"""
COMPILE = """
import sys, numpy, polyroc
from time import perf_counter
rng, k = numpy.random.default_rng(0), int(sys.argv[1])
y_true, y_score = rng.permutation(20000) % k, rng.normal(size=(20000, k))
def seconds():
    start = perf_counter()
    polyroc.evaluate(y_true, y_score, engine="numba").hand_till
    return perf_counter() - start
print(seconds() - seconds())
"""


@dataclass(frozen=True)
class Wait:
    what: str
    seconds: float
    target: float
    runs: int


def measure(quick):
    times = 1 if quick else 7
    say("import and first call")
    python("-c", SMALL)
    added = median(float(python("-c", IMPORT)) for _ in range(times))
    waits = [
        Wait("import polyroc, after numpy and scipy.special", added, 0.15, times),
        Wait("a whole process: start, import, first auc_score (n = 1,000, k = 3)", _first_call(times), 0.5, times),
    ]
    if not quick:
        for k in (10, 100):
            say(f"first compilation, k = {k}")
            what = f"compilation for evaluate and hand_till of k = {k}, nothing on disk"
            waits.append(Wait(what, _compilation(k, 5), 10, 5))
    return waits


def _first_call(times):
    def once():
        start = perf_counter()
        python("-c", SMALL)
        return perf_counter() - start

    return median(once() for _ in range(times))


def _compilation(k, times):
    def once():
        with tempfile.TemporaryDirectory() as folder:
            return float(python("-c", COMPILE, str(k), environment={"NUMBA_CACHE_DIR": folder}))

    return median(once() for _ in range(times))
