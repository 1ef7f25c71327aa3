import hashlib
import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import settings

# numba looks only at the file of a kernel to see whether its compiled code is still good, not at what that file
# imports. So each state of the engines has a cache of its own. Set before anything imports numba.
_ROOT = Path(__file__).parents[1]
_SOURCES = sorted((_ROOT / "src" / "polyroc" / "engines").glob("*.py"))
_STATE = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(_ROOT / ".numba_cache" / _STATE))

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
