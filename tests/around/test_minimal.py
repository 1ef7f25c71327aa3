"""What works with the run-time dependencies alone, and what is said where an optional package is missing.

`make test-minimal` has an environment of its own for this, in which nothing may be skipped; elsewhere a test is
skipped where the package that it misses is there.
"""

import importlib.util
import os
import subprocess
import sys
from importlib.metadata import requires

import numpy as np
import pytest

import polyroc

Y_TRUE = np.arange(60) % 3
Y_SCORE = np.eye(3)[Y_TRUE] + np.random.default_rng(0).normal(size=(60, 3))


def evaluation():
    return polyroc.evaluate(Y_TRUE, Y_SCORE)


def write_html(tmp_path):
    from polyroc.report import write_html

    write_html(evaluation(), tmp_path / "report.html")


# The package that is missing, its extra, and what asks for it.
ASKED = [
    ("numba", "fast", lambda _: polyroc.evaluate(Y_TRUE, Y_SCORE, engine="numba")),
    ("matplotlib", "plot", lambda _: evaluation().plot()),
    ("tqdm", "progress", lambda _: evaluation().bootstrap(9, progress=True)),
    ("jinja2", "report", write_html),
    ("sklearn", "sklearn", lambda _: polyroc.evaluate_cv(None, Y_SCORE, Y_TRUE)),
    ("sklearn", "sklearn", lambda _: polyroc.CostSensitiveClassifier),
    ("pyarrow", "cli", lambda _: polyroc.read_predictions("a.csv", target="y")),
    ("pyarrow", "cli", lambda _: polyroc.read_paired_predictions("a.csv", target="y")),
    ("torch", "torch", lambda _: polyroc.torch),
    ("dask", "dask", lambda _: polyroc.dask.evaluate(Y_TRUE, Y_SCORE)),
    ("dask", "dask", lambda _: polyroc.dask.compare(Y_TRUE, {})),
    ("pyspark", "spark", lambda _: polyroc.spark.evaluate(None, target="y")),
    ("pyspark", "spark", lambda _: polyroc.spark.compare(None, target="y", scores={})),
]


def missing(package):
    if importlib.util.find_spec(package) is not None:
        assert os.environ.get("POLYROC_MINIMAL") != "1", f"the minimal environment has {package}"
        pytest.skip(f"{package} is installed: make test-minimal")


@pytest.mark.parametrize(("package", "extra", "ask"), ASKED)
def test_a_missing_package_is_named_with_its_extra(package, extra, ask, tmp_path):
    missing(package)
    with pytest.raises(ModuleNotFoundError, match=rf'pip install "polyroc\[{extra}\]"'):
        ask(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command_line_says_what_it_needs():
    missing("typer")
    done = subprocess.run(
        [sys.executable, "-m", "polyroc", "demo"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert 'pip install "polyroc[cli]"' in done.stderr


def test_extras_that_are_named_exist():
    extras = {line.partition("extra == ")[2].strip("\"'") for line in requires("polyroc") if "extra ==" in line}
    assert {extra for _, extra, _ in ASKED} | {"cli"} <= extras


def test_numbers_need_nothing_else():
    """In a process of its own: one evaluation with all that it can be asked for, and what was imported for it."""
    code = """
import sys
import polyroc
example = polyroc.load_example()
name = min(example.scores)
evaluation = polyroc.evaluate(example.y_true, example.scores[name])
assert 0.5 < evaluation.auc < 1
evaluation.confidence_interval(method="bootstrap", n_resamples=19, rng=0)
evaluation.confidence_interval(method="delong", statistic="hand_till")
print(polyroc.compare(example.y_true, example.scores, method="bootstrap", n_resamples=19, rng=0))
assert not {"matplotlib", "pandas", "sklearn", "jinja2", "typer", "tqdm"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Comparison of" in done.stdout
