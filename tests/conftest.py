import importlib.util
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._kernels import cache_folder

# Set before anything imports numba.
os.environ.setdefault("NUMBA_CACHE_DIR", cache_folder())

# The same examples in every run of CI: a failure there is about the change, not about luck.
settings.register_profile("fast", deadline=None, max_examples=50, derandomize="CI" in os.environ)
settings.register_profile("nightly", deadline=None, max_examples=2000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_runtest_setup(item):
    """Skip a test marked `full("package")` or `mlflow` where that is missing; fail in the environment made for it."""
    for mark in item.iter_markers("full"):
        missing = [name for name in mark.args if importlib.util.find_spec(name) is None]
        if missing and os.environ.get("POLYROC_FULL") == "1":
            pytest.fail(f"the full environment lacks {', '.join(missing)}", pytrace=False)
        if missing:
            pytest.skip(f"needs {', '.join(missing)}: make test-full")
    if item.get_closest_marker("mlflow") and importlib.util.find_spec("mlflow") is None:
        if os.environ.get("POLYROC_MLFLOW") == "1":
            pytest.fail("the environment for mlflow lacks it", pytrace=False)
        pytest.skip("needs mlflow: make test-mlflow")
