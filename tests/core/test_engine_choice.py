"""What engine="auto" takes: NumPy below one size, numba above it, and NumPy again if numba does not work."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import gaussian_problem

import polyroc
from polyroc import baselines
from polyroc._core import engines as _registry
from polyroc._core import get_engine
from polyroc._inputs.predictions import as_predictions

pytest.importorskip("numba")


def predictions_of(n, k):
    return as_predictions(np.arange(n) % k, np.zeros((n, k), dtype=np.float32))


@pytest.mark.parametrize(
    ("n", "k", "repeats", "expected"),
    [
        (1_000, 3, 1, "numpy"),
        (899, 10, 1, "numpy"),
        (50_000, 10, 1, "numpy"),
        (1_000, 50, 1, "numpy"),
        (1_000, 100, 1, "numba"),
        (200_000, 10, 1, "numba"),
        (1_000_000, 2, 1, "numpy"),
        (300, 3, 9, "numpy"),
        (300, 3, 999, "numba"),
        (899, 10, 999, "numba"),
    ],
)
def test_auto_is_one_size(n, k, repeats, expected):
    assert get_engine("auto", predictions_of(n, k), repeats=repeats).name == expected


def test_few_pairs_and_areas_alone_are_little_work():
    predictions = predictions_of(1_000, 100)
    assert get_engine("auto", predictions).name == "numba"
    assert get_engine("auto", predictions, n_pairs=200).name == "numpy"
    assert get_engine("auto", predictions, n_thresholds=0).name == "numpy"


def test_fits_of_rates_that_are_known_merge_no_samples():
    """The page of the example has some hundred of them, and is not worth eight seconds of compiling."""
    predictions = predictions_of(899, 10)
    assert get_engine("auto", predictions, repeats=110).name == "numba"
    assert get_engine("auto", predictions, repeats=110, has_rates=True).name == "numpy"
    assert get_engine("auto", predictions, repeats=999, has_rates=True).name == "numba"


def test_a_bootstrap_takes_the_engine_of_its_number_of_resamples(monkeypatch):
    sizes = []
    real = _registry.engine_for
    monkeypatch.setattr("polyroc._core.engines.engine_for", lambda size: sizes.append(size) or real(size))
    problem = gaussian_problem(0, 90, 3)
    n = len(problem.y_true)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, n_thresholds=49)
    evaluation.bootstrap(5, rng=0)
    polyroc.compare(
        problem.y_true, {"a": problem.y_score, "b": problem.y_score / 2}, method="bootstrap", n_resamples=7, rng=0
    )
    # Each model's as if it were alone, so that the same seed gives the same replicates.
    assert sizes[:2] == [6 * (2 * n // 3 + 2 * 49), 5 * 6 * (2 * n // 3 + 2 * 49)]
    assert sizes.count(7 * 6 * (2 * n // 3 + 2 * 99)) == 2


INNER = """from polyroc._core.numba.compile import inner

@inner
def answer():
    return {}
"""
OUTER = """from polyroc._core.numba.compile import kernel
from polyroc._core.numba._inner_part import answer

@kernel
def question():
    return answer()
"""


@pytest.mark.slow
def test_a_kernel_is_compiled_again_when_a_file_that_it_is_made_of_changes(tmp_path):
    """numba looks at the kernel's own file, which stays as it is."""
    package = shutil.copytree(
        Path(polyroc.__file__).parent, tmp_path / "polyroc", ignore=shutil.ignore_patterns("*.nb?")
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    numba = package / "_core" / "numba"
    (numba / "_outer_part.py").write_text(OUTER, encoding="utf-8")
    code = "from polyroc._core.numba._outer_part import question as q; print(q(), sum(q.stats.cache_hits.values()))"
    found = []
    for value in (41, 41, 42):
        (numba / "_inner_part.py").write_text(INNER.format(value), encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found.append(done.stdout.split())
    assert found == [["41", "0"], ["41", "1"], ["42", "0"]]


_WITHOUT_COMPILER = """
import numpy as np, polyroc
from polyroc._core import engines as _registry
_registry.LEAST_COMPILED = 0
rng = np.random.default_rng(0)
y_true = np.arange(120) % 3
y_score = rng.normal(size=(120, 3)) + np.eye(3)[y_true]
for engine in ("auto", "numpy"):
    evaluation = polyroc.evaluate(y_true, y_score, engine=engine)
    drawn = evaluation.bootstrap(9, rng=0)
    models = {"a": y_score, "b": -y_score}
    compared = polyroc.compare(y_true, models, method="bootstrap", n_resamples=9, rng=0, engine=engine)
    print(evaluation.auc, evaluation.hand_till, drawn.auc.sum(), compared.by_auc.differences[0].value)
print(polyroc.baselines.auc_mu(y_true, y_score) > 0.5)
try:
    polyroc.evaluate(y_true, y_score, engine="numba")
except RuntimeError as error:
    print(error)
"""


def test_numba_without_its_compiler_is_the_reference():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore:The scores", "-c", _WITHOUT_COMPILER],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    auto, reference, is_right, refused = done.stdout.splitlines()
    assert auto == reference
    assert is_right == "True"
    assert refused.startswith('engine="numba" needs numba\'s compiler, and the environment variable NUMBA_DISABLE_JIT')
    assert done.stderr == ""


@pytest.fixture
def large(monkeypatch):
    """Every problem is large enough for numba, which has not been tried yet."""
    monkeypatch.setattr(_registry, "LEAST_COMPILED", 0)
    _registry._tried.cache_clear()
    yield
    _registry._tried.cache_clear()


class OddError(Exception):
    """What nobody thought of."""


def fails(error):
    def called(*arguments, **keywords):
        raise error

    return called


@pytest.mark.parametrize("error", [OddError("no such instruction\nfar below"), ValueError("x"), OSError("gone")])
def test_if_compiling_fails_numpy_answers_with_one_warning(large, monkeypatch, error):
    problem = gaussian_problem(0, 200, 4)
    expected = polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy")
    monkeypatch.setattr("polyroc._core.numba.compile.compiles", fails(error))
    with pytest.warns(UserWarning, match=rf"numba does not work here \({type(error).__name__}: .*numpy") as said:
        found = polyroc.evaluate(problem.y_true, problem.y_score)
    assert len(said) == 1
    assert "\n" not in str(said[0].message)
    # A second warning would be an error.
    assert polyroc.evaluate(problem.y_true, problem.y_score).auc == found.auc == expected.auc
    assert_array_equal(found.bootstrap(9, rng=0).auc, expected.bootstrap(9, rng=0).auc)
    assert baselines.hand_till(problem.y_true, problem.y_score) == expected.hand_till
    assert get_engine("auto", found.fitted.source).name == "numpy"


def test_the_import_may_fail_in_any_way(large, monkeypatch):
    real = _registry.engine_named
    monkeypatch.setattr(
        _registry, "engine_named", lambda name: fails(OddError("broken"))() if name == "numba" else real(name)
    )
    problem = gaussian_problem(0, 100, 3)
    with pytest.warns(UserWarning, match=r"numba does not work here \(OddError: broken\)"):
        found = baselines.hand_till(problem.y_true, problem.y_score)
    assert found == polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy").hand_till


def test_by_name_nothing_else_is_taken(monkeypatch):
    problem = gaussian_problem(0, 100, 3)
    monkeypatch.setattr("polyroc._core.numba.engine.cut_own", fails(OddError("no such instruction")))
    with pytest.raises(OddError, match="no such instruction"):
        polyroc.auc_score(problem.y_true, problem.y_score, engine="numba")


def test_where_it_works_it_is_the_fast_engine(large):
    problem = gaussian_problem(0, 400, 4)
    auto, fast = (polyroc.evaluate(problem.y_true, problem.y_score, engine=engine) for engine in ("auto", "numba"))
    assert auto.auc == fast.auc
    assert_array_equal(auto.pairs.auc, fast.pairs.auc)
    assert_array_equal(auto.bootstrap(20, rng=0).auc, fast.bootstrap(20, rng=0).auc)
    assert_allclose(auto.auc, polyroc.auc_score(problem.y_true, problem.y_score, engine="numpy"), rtol=0, atol=1e-9)
    assert get_engine("auto", auto.fitted.source).name == "numba"
    assert np.isfinite(baselines.auc_mu(problem.y_true, problem.y_score))
