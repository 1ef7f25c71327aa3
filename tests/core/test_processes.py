"""The fast engine in other people's processes: forks, threads, signals, missing packages, an empty cache."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import gaussian_problem

import polyroc

pytest.importorskip("numba")
pytestmark = pytest.mark.threads

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")

# What every process computes: 60 classes, so that there are several chunks for several threads.
PROBLEM = """
import sys
import numpy as np
import polyroc
rng = np.random.default_rng(0)
y_true = np.arange(1200) % 60
y_score = rng.normal(size=(1200, 60)) + np.eye(60)[y_true]
def area(*_):
    return polyroc.auc_score(y_true, y_score, engine="numba", n_jobs=2).hex()
"""

# As where a package is not installed: no finder finds it.
WITHOUT_NUMBA = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, *args):
        missing = name.partition(".")[0] in ("numba", "llvmlite")
        return None if missing else self.finder.find_spec(name, *args)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


def run(code: str, **environment: str) -> str:
    """What a fresh process prints; its failure is that of the test."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_fork
def test_a_forked_child_computes_the_same():
    run(
        PROBLEM
        + """
import os
before = area()
child = os.fork()
if child == 0:
    os._exit(0 if area() == before else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
assert area() == before
"""
    )


@needs_fork
def test_a_pool_of_forked_workers_computes_the_same():
    run(
        PROBLEM
        + """
import multiprocessing
before = area()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(area, range(4), chunksize=1) == [before] * 4
"""
    )


@pytest.mark.slow
def test_spawned_workers_compute_the_same(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        PROBLEM
        + """
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(area, range(2), chunksize=1) == [area()] * 2
"""
    )
    subprocess.run([sys.executable, script], check=True, timeout=300)


def test_four_threads_at_once_compute_the_same():
    problem = gaussian_problem(0, 2000, 60)

    def area(_):
        return polyroc.auc_score(problem.y_true, problem.y_score, engine="numba", n_jobs=2)

    expected = area(None)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(area, range(12))) == [expected] * 12


def test_four_threads_may_ask_one_evaluation_for_its_areas():
    problem = gaussian_problem(1, 2000, 40)
    ask = polyroc.evaluate(problem.y_true, problem.y_score, engine="numba")
    weighted = polyroc.evaluate(
        problem.y_true, problem.y_score, engine="numba", sample_weight=np.full(len(problem.y_true), 2.0)
    )
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda evaluation: evaluation.pairs.auc, [ask, weighted] * 4))
    for area in found[::2]:
        assert_array_equal(area, found[0])
    assert np.abs(found[1] - found[0]).max() < 1e-13


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_long_evaluation(n_jobs):
    code = f"""
import signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by whatever is started in the background
import numpy as np
import polyroc
from polyroc._core.numba.problem import EliminatedPairs
y_true = np.arange(20_000) % 200
y_score = np.random.default_rng(0).normal(size=(20_000, 200)).astype(np.float32)
# Once before: numba may swallow an interrupt that arrives while it compiles.
polyroc.auc_score(y_true, y_score, engine="numba", n_jobs={n_jobs})
sweep, n_sweeps = EliminatedPairs._sweep, 0
def counted(*asked):
    global n_sweeps
    n_sweeps += 1
    if n_sweeps == 3:  # in the middle of a fit, with helpers at work
        print("started", flush=True)
    return sweep(*asked)
EliminatedPairs._sweep = counted
try:
    while True:
        polyroc.auc_score(y_true, y_score, engine="numba", n_jobs={n_jobs})
except KeyboardInterrupt:
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("polyroc")]
    print("interrupted", *left, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        try:
            # Without the interrupt it would go on for ever.
            said, _ = process.communicate(timeout=300)
        finally:
            process.kill()
    assert said == "interrupted\n"
    assert process.returncode == 0


def test_small_problems_do_not_load_numba():
    said = run(
        """
import sys
import polyroc
polyroc.auc_score([0, 1, 2, 2], [[3, 1, 0], [1, 2, 0], [0, 1, 4], [1, 1, 0]])
print("numba" in sys.modules)
"""
    )
    assert said == "False\n"


LARGE = """
import polyroc
import numpy as np
y_true = np.arange(400) % 100
y_score = np.random.default_rng(0).normal(size=(400, 100)) + np.eye(100)[y_true]
print(polyroc.auc_score(y_true, y_score))
"""
FAST = LARGE.replace("y_score))", "y_score, engine='numba'))")


@pytest.mark.slow
def test_large_problems_load_numba_where_it_is_and_do_without_where_it_is_not():
    run(FAST)  # compiled by now
    with_numba = run(LARGE + "import sys; assert 'numba' in sys.modules")
    without = run(WITHOUT_NUMBA + LARGE + "assert 'numba' not in sys.modules")
    assert float(with_numba) == pytest.approx(float(without), abs=1e-9)


def test_asking_for_numba_where_it_is_missing_says_what_to_install():
    said = run(
        WITHOUT_NUMBA
        + """
import polyroc
try:
    polyroc.auc_score([0, 1, 2], [[3, 1, 0], [1, 2, 0], [0, 1, 4]], engine="numba")
except ModuleNotFoundError as error:
    print(error)
"""
    )
    assert 'engine="numba"' in said
    assert "polyroc[fast]" in said


@pytest.mark.slow
def test_auto_does_without_a_numba_that_does_not_import():
    """As after an upgrade of NumPy to a version that numba does not know yet."""
    broken = """
import importlib.abc, importlib.machinery, sys
class Broken(importlib.abc.Loader):
    def exec_module(self, module):
        raise ImportError("Numba needs NumPy 2.2 or less. Got NumPy 2.3.")
class Finder:
    def find_spec(self, name, *args):
        return importlib.machinery.ModuleSpec(name, Broken()) if name == "numba" else None
sys.meta_path.insert(0, Finder())
"""
    assert 0.5 < float(run(broken + LARGE)) < 1


def test_two_classes_do_not_load_numba():
    said = run(
        """
import sys
import numpy as np
import polyroc
polyroc.auc_score(np.arange(200_000) % 2, np.arange(200_000.0))
print("numba" in sys.modules)
"""
    )
    assert said == "False\n"


@pytest.mark.slow
def test_functions_of_others_compile_beside_it():
    """Such as code generators make, which belong to no module."""
    code = """
import numba
import polyroc._core.numba.engine
names = {}
exec("def add_one(x): return x + 1", names)
print(numba.njit(names["add_one"])(1))
"""
    assert run(code).strip() == "2"


@pytest.mark.slow
def test_compiling_is_announced_once_for_each_part(tmp_path):
    """If nobody has set up logging, too; and by nothing that turns into an error."""

    def once():
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", FAST], capture_output=True, text=True, check=True, env=environment
        )

    first, second = once(), once()
    from polyroc._core.numba.compile import PARTS

    said = re.findall(
        r"Compiling the fast engine for ([a-z ]+) takes about \d+ s\. Later runs read it from disk\.\n", first.stderr
    )
    assert len(said) == len(first.stderr.splitlines()) == len(set(said))
    assert said[0] == "evaluation"
    assert set(said) <= set(PARTS)
    assert second.stderr == ""
    assert second.stdout == first.stdout


@pytest.mark.slow
def test_the_announcement_is_silenced_as_any_other(tmp_path):
    quiet = "import logging; logging.getLogger('polyroc').setLevel(logging.ERROR)\n"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", quiet + FAST], capture_output=True, text=True, env=environment)
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_first_call_of_medium_size_neither_compiles_nor_loads(tmp_path):
    """20,000 samples of ten classes take NumPy 0.05 s, and numba seconds to compile."""
    said = run(
        """
import sys
import numpy as np
import polyroc
y_true = np.arange(20_000) % 10
y_score = np.random.default_rng(0).normal(size=(20_000, 10)) + np.eye(10)[y_true]
polyroc.evaluate(y_true, y_score).hand_till
polyroc.baselines.hand_till(y_true, y_score)
polyroc.evaluate(y_true[:300], y_score[:300]).bootstrap(9, rng=0)
# As large as the example of the README.
few, scores = y_true[:900], y_score[:900]
evaluation = polyroc.evaluate(few, scores)
evaluation.confidence_interval()
evaluation.measures()
comparison = polyroc.compare(few, {"a": scores, "b": 2 * scores + y_score[900:1800]})
comparison.tipping_costs()
print("numba" in sys.modules)
""",
        NUMBA_CACHE_DIR=str(tmp_path),
    )
    assert said == "False\n"
