import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._kernels import cache_folder

# Set before anything imports NumPy. Workers of pytest-xdist have a core each; more threads would only wait.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Set before anything imports numba.
os.environ.setdefault("NUMBA_CACHE_DIR", cache_folder())

# The same examples in every run, and twice as many in CI: a failure is about the change, not about luck. Random search
# is for `nightly` and `make fuzz`.
examples = 50 if "CI" in os.environ else 25
settings.register_profile("fast", deadline=None, max_examples=examples, derandomize=True)
# For another environment, in which the same tests run once more.
settings.register_profile("few", deadline=None, max_examples=5, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=2000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


# The first is the reference; that of cards runs on the CPU where there is none.
ENGINES = ["numpy", "numba", pytest.param("torch", marks=pytest.mark.full("torch"))]
REFERENCE, *OTHERS = ENGINES


# Both are made once: hypothesis refuses fixtures that are made anew for each test but not for each example.
@pytest.fixture(scope="session", params=ENGINES)
def engine(request):
    """The name of each engine in turn: a test that takes it runs on all of them."""
    require(request.param)  # each is called as the package that it is made of
    return request.param


@pytest.fixture(scope="session", params=OTHERS)
def fast_engine(request):
    """Each engine but the reference, for tests that compare it with the reference."""
    require(request.param)
    return request.param


def require(*packages):
    """Skip a test where one of these is missing; fail in the environment made for all of them."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("POLYROC_FULL") == "1":
        pytest.fail(f"the full environment lacks {', '.join(missing)}", pytrace=False)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: make test-full")


# Modules whose examples need a package that `make test` does not install.
OPTIONAL_DOCTESTS = {
    "_dask.py": (pytest.mark.full("dask"), "dask"),
    "dask.py": (pytest.mark.full("dask"), "dask"),
    "_spark.py": (pytest.mark.spark, "pyspark"),
    "spark.py": (pytest.mark.spark, "pyspark"),
}


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist nobody asks
def pytest_xdist_auto_num_workers():
    """One more than there are cores: some tests wait for a browser, for a child process or for a signal."""
    return min(4, len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items):
    """Mark what is slow by itself: examples that run experiments, and tests in Chromium but for a smoke test."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.path.parent.name == "experiments":
            item.add_marker(pytest.mark.slow)
        if isinstance(item, pytest.DoctestItem) and item.path.name in OPTIONAL_DOCTESTS:
            mark, needed = OPTIONAL_DOCTESTS[item.path.name]
            item.add_marker(mark)
            # Fails instead where the tests of the same package do.
            lacking = importlib.util.find_spec(needed) is None
            item.add_marker(pytest.mark.skipif(lacking, reason=f"needs {needed}"))
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
            if not item.get_closest_marker("smoke"):
                item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item):
    """Skip tests marked `full`, `mlflow`, `spark` or `training` without their package; fail where it must be there."""
    for mark in item.iter_markers("full"):
        require(*mark.args)
    if item.get_closest_marker("mlflow") and importlib.util.find_spec("mlflow") is None:
        if os.environ.get("POLYROC_MLFLOW") == "1":
            pytest.fail("the environment for mlflow lacks it", pytrace=False)
        pytest.skip("needs mlflow: make test-mlflow")
    for mark in item.iter_markers("training"):
        missing = [name for name in mark.args if importlib.util.find_spec(name) is None]
        if missing and os.environ.get("POLYROC_TRAINING") == "1":
            pytest.fail(f"the environment for training lacks {', '.join(missing)}", pytrace=False)
        if missing:
            pytest.skip(f"needs {', '.join(missing)}: make test-training")
    if item.get_closest_marker("spark"):
        require_spark()


def require_spark():
    """Skip a test where pyspark or Java is missing; fail without pyspark in the environment made for it."""
    if importlib.util.find_spec("pyspark") is None:
        if os.environ.get("POLYROC_SPARK") == "1":
            pytest.fail("the environment for Spark lacks pyspark", pytrace=False)
        pytest.skip("needs pyspark: make test-spark")
    if not has_java():
        pytest.skip("needs Java: apt-get install default-jre-headless")


def has_java():
    """Whether Spark finds a Java to run on."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") is not None or (home is not None and Path(home, "bin", "java").exists())
