"""Where the fast engine cannot be had, "auto" takes the reference, with one warning; by name it is an error."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import gaussian_problem

import polyroc
from polyroc import baselines
from polyroc._engines import _registry as _fallback
from polyroc._engines import get_engine

pytest.importorskip("numba")

_WITHOUT_COMPILER = """
import numpy as np, polyroc, polyroc._engines
polyroc._engines.fast_is_quicker = lambda work: True
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
    """Every problem is large enough for the fast engine, which has not failed yet."""
    monkeypatch.setattr("polyroc._engines.fast_is_quicker", lambda work: True)
    monkeypatch.setattr(_fallback.FastOrReference, "works", True)


class OddError(Exception):
    """What nobody thought of."""


def fails(error):
    def kernel(*arguments, **keywords):
        raise error

    return kernel


@pytest.mark.parametrize("error", [OddError("no such instruction\nfar below"), ValueError("x"), OSError("gone")])
def test_whatever_a_kernel_fails_with_the_reference_answers(large, monkeypatch, error):
    problem = gaussian_problem(0, 200, 4)
    expected = polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy")
    for kernel in ("cut_own", "add_areas"):
        monkeypatch.setattr(f"polyroc._engines._numba._engine.{kernel}", fails(error))
    with pytest.warns(UserWarning, match=rf"The fast engine failed \({type(error).__name__}: .*reference") as said:
        found = polyroc.evaluate(problem.y_true, problem.y_score)
    assert len(said) == 1
    # A second warning would be an error.
    again = polyroc.evaluate(problem.y_true, problem.y_score)
    assert "\n" not in str(said[0].message)
    assert found.auc == again.auc == expected.auc
    assert found.hand_till == expected.hand_till
    assert get_engine("auto", found._source).name == "numpy"


def test_a_fit_and_replicates_that_fail_are_done_by_the_reference(large, monkeypatch):
    problem = gaussian_problem(0, 200, 4)
    expected = polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy")
    monkeypatch.setattr("polyroc._engines._numba._engine.fit_rank_one", fails(OddError("no")))
    with pytest.warns(UserWarning, match="The fast engine failed"):
        assert polyroc.auc_score(problem.y_true, problem.y_score) == pytest.approx(expected.auc, abs=1e-12)
    monkeypatch.setattr(_fallback.FastOrReference, "works", True)
    monkeypatch.setattr("polyroc._engines._numba._reweighed.run_replicates", fails(OddError("no")))
    monkeypatch.setattr("polyroc._engines._numba._reweighed.replicate_rates", fails(OddError("no")))
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine="auto", structure="saturated")
    with pytest.warns(UserWarning, match="The fast engine failed") as said:
        drawn = evaluation.bootstrap(40, rng=0, n_jobs=4)
    assert len([entry for entry in said if "fast engine" in str(entry.message)]) == 1
    reference = polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy", structure="saturated")
    assert_array_equal(drawn.auc, reference.bootstrap(40, rng=0).auc)


def test_the_import_may_fail_in_any_way(large, monkeypatch):
    import polyroc._engines as engines

    real = engines.engine_named
    monkeypatch.setattr(
        engines, "engine_named", lambda name: fails(OddError("broken"))() if name == "numba" else real(name)
    )
    problem = gaussian_problem(0, 100, 3)
    with pytest.warns(UserWarning, match=r"The fast engine failed \(OddError: broken\)"):
        found = baselines.hand_till(problem.y_true, problem.y_score)
    assert found == polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy").hand_till


def test_a_lack_of_memory_is_no_reason_to_take_more(large, monkeypatch):
    problem = gaussian_problem(0, 100, 3)
    monkeypatch.setattr("polyroc._engines._numba._engine.cut_own", fails(MemoryError("full")))
    with pytest.raises(MemoryError, match="full"):
        polyroc.auc_score(problem.y_true, problem.y_score)


def test_by_name_nothing_else_is_taken(monkeypatch):
    problem = gaussian_problem(0, 100, 3)
    monkeypatch.setattr("polyroc._engines._numba._engine.cut_own", fails(OddError("no such instruction")))
    with pytest.raises(OddError, match="no such instruction"):
        polyroc.auc_score(problem.y_true, problem.y_score, engine="numba")


def test_where_it_works_it_is_the_fast_engine(large):
    problem = gaussian_problem(0, 400, 4)
    auto, fast = (polyroc.evaluate(problem.y_true, problem.y_score, engine=engine) for engine in ("auto", "numba"))
    assert auto.auc == fast.auc
    assert_array_equal(auto.pairs.auc, fast.pairs.auc)
    assert_array_equal(auto.bootstrap(20, rng=0).auc, fast.bootstrap(20, rng=0).auc)
    assert_allclose(auto.auc, polyroc.auc_score(problem.y_true, problem.y_score, engine="numpy"), rtol=0, atol=1e-9)
    assert isinstance(get_engine("auto", auto._source), _fallback.FastOrReference)
    assert np.isfinite(baselines.auc_mu(problem.y_true, problem.y_score))
