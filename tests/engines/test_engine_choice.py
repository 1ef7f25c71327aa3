"""What engine="auto" takes: by the predicted cost, and by whether kernels are in memory, on disk, or nowhere."""

import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from problems import gaussian_problem

import polyroc
from polyroc._engines import _choice, get_engine
from polyroc._inputs.predictions import as_predictions

pytest.importorskip("numba")

ENGINES = Path(_choice.__file__).parent / "_numba"


def predictions_of(n, k):
    return as_predictions(np.arange(n) % k, np.zeros((n, k), dtype=np.float32))


@pytest.fixture
def state(monkeypatch):
    """Pretend that kernels are in memory, on disk, or nowhere."""

    def pretend(where):
        monkeypatch.setattr(_choice, "_missed", dict.fromkeys(_choice._missed, 0.0))
        monkeypatch.setattr(_choice, "_is_in_memory", lambda kernel: where == "memory")
        monkeypatch.setattr(_choice, "_is_on_disk", lambda kernel: where == "disk")

    return pretend


@pytest.mark.parametrize(
    ("n", "k", "in_memory", "on_disk", "nowhere"),
    [
        (1_000, 3, "numpy", "numpy", "numpy"),
        (1_000, 10, "numpy", "numpy", "numpy"),
        (20_000, 10, "numba", "numpy", "numpy"),
        (1_000_000, 10, "numba", "numba", "numpy"),
        (1_000, 100, "numba", "numba", "numpy"),
        (1_000, 300, "numba", "numba", "numba"),
    ],
)
def test_auto_takes_the_engine_that_is_done_first(state, n, k, in_memory, on_disk, nowhere):
    predictions = predictions_of(n, k)
    for where, expected in (("memory", in_memory), ("disk", on_disk), ("nowhere", nowhere)):
        state(where)
        assert get_engine("auto", predictions).name == expected, where


@pytest.mark.parametrize(("where", "fewest", "most"), [("disk", 10, 30), ("nowhere", 100, 300)])
def test_many_calls_add_up_to_what_is_worth_a_start(state, where, fewest, most):
    """Of 0.03 s each: half a second of loading, or several of compiling."""
    state(where)
    predictions = predictions_of(20_000, 10)
    names = [get_engine("auto", predictions).name for _ in range(most)]
    assert fewest < names.index("numba") < most
    # What is done in no time never adds up.
    state("nowhere")
    small = predictions_of(1_000, 3)
    assert {get_engine("auto", small).name for _ in range(3_000)} == {"numpy"}


def test_few_pairs_of_many_classes_are_little_work(state):
    state("disk")
    predictions = predictions_of(1_000, 100)
    assert get_engine("auto", predictions).name == "numba"
    assert get_engine("auto", predictions, n_pairs=200).name == "numpy"


def test_areas_alone_are_less_work_than_a_fit(state):
    state("disk")
    predictions = predictions_of(1_000, 100)
    assert get_engine("auto", predictions, task="areas").name == "numpy"


def test_the_engine_of_replicates_does_not_depend_on_the_state_of_the_machine(state):
    """Those of the fast engine are fitted in single precision, and the same seed is to give the same bits."""
    for (n, k), repeats in itertools.product([(300, 3), (1_000, 10), (20_000, 5)], (9, 99, 999)):
        predictions = predictions_of(n, k)
        found = set()
        for where in ("memory", "disk", "nowhere"):
            state(where)
            found.add(get_engine("auto", predictions, task="replicates", repeats=repeats).name)
        assert len(found) == 1
    for repeats, name in ((9, "numpy"), (999, "numba")):
        engine = get_engine("auto", predictions_of(300, 3), task="replicates", repeats=repeats)
        assert engine.name == name


def test_a_bootstrap_takes_the_engine_of_its_number_of_resamples(monkeypatch):
    asked = []
    monkeypatch.setattr("polyroc._engines.fast_is_quicker", lambda work: asked.append(work) or False)
    problem = gaussian_problem(0, 90, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, n_thresholds=49)
    evaluation.bootstrap(5, rng=0)
    polyroc.compare(
        problem.y_true, {"a": problem.y_score, "b": problem.y_score / 2}, method="bootstrap", n_resamples=7, rng=0
    )
    # Each model's as if it were alone, so that the same seed gives the same replicates.
    assert [work.repeats for work in asked if work.task == "replicates"] == [5, 7, 7]
    assert asked[0] == _choice.Work("evaluate", len(problem.y_true), 3, 6, 49, 1)


@pytest.mark.parametrize(("task", "kernel"), [("evaluate", "_fit.add_row_means"), ("areas", "_rates.add_areas")])
def test_kernels_are_found_where_numba_keeps_them(task, kernel):
    """By its name for them, which is not documented."""
    assert _choice._KERNELS[task] == (kernel,)
    problem = gaussian_problem(0, 300, 4)
    polyroc.evaluate(problem.y_true, problem.y_score, engine="numba").pairs.auc  # noqa: B018
    assert _choice._is_in_memory(kernel)
    assert _choice._is_on_disk(kernel)


def test_every_kernel_that_is_asked_for_exists():
    for kernel in itertools.chain(*_choice._KERNELS.values()):
        module, _, name = kernel.partition(".")
        source = (ENGINES / f"{module}.py").read_text(encoding="utf-8")
        assert f"@kernel\ndef {name}(" in source


def test_without_a_folder_of_their_own_kernels_are_beside_the_code_or_with_the_user(monkeypatch, tmp_path):
    from numba.core import caching

    from polyroc._engines._numba._fit import sweep

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = str(ENGINES / "_fit.py")
    # Older versions of numba write them with an underscore.
    in_tree, user_wide = (
        getattr(caching, name, None) or getattr(caching, f"_{name}")
        for name in ("InTreeCacheLocator", "UserWideCacheLocator")
    )
    beside = in_tree(sweep.py_func, source).get_cache_path()
    of_user = user_wide(sweep.py_func, source).get_cache_path()
    Path(of_user).mkdir(parents=True)
    assert [str(place) for place in _choice._places(ENGINES)] == [beside, of_user]


def test_kernels_older_than_their_source_do_not_count(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not _choice._is_on_disk("_fit.sweep")
    folder = tmp_path / "_numba_0123456789abcdef"
    folder.mkdir()
    version = "".join(map(str, sys.version_info[:2]))
    index = folder / f"_fit.sweep-179.py{version}.nbi"
    index.touch()
    assert _choice._is_on_disk("_fit.sweep")
    written = max(path.stat().st_mtime for path in ENGINES.parent.rglob("*.py"))
    os.utime(index, (written - 10, written - 10))
    assert not _choice._is_on_disk("_fit.sweep")


INNER = """from polyroc._engines._numba._compile import inner

@inner
def answer():
    return {}
"""
OUTER = """from polyroc._engines._numba._compile import kernel
from polyroc._engines._numba._inner_part import answer

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
    numba = package / "_engines" / "_numba"
    (numba / "_outer_part.py").write_text(OUTER, encoding="utf-8")
    code = "from polyroc._engines._numba._outer_part import question as q; print(q(), sum(q.stats.cache_hits.values()))"
    found = []
    for value in (41, 41, 42):
        (numba / "_inner_part.py").write_text(INNER.format(value), encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found.append(done.stdout.split())
    assert found == [["41", "0"], ["41", "1"], ["42", "0"]]


def seconds_of(*problems):
    """The least processor time of each, in turns: whatever disturbs one of them disturbs the others as well."""
    best = np.full(len(problems), np.inf)
    for _ in range(15):
        for place, problem in enumerate(problems):
            start = time.process_time()
            polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy", n_jobs=1)
            best[place] = min(best[place], time.process_time() - start)
    return best


@pytest.mark.clock
@pytest.mark.parametrize(("n", "k"), [(20_000, 10), (200_000, 5), (3_000, 8)])
def test_predictions_of_the_cost_are_about_right(n, k):
    """In the same run, against a small problem: by how much more the reference is predicted to take, and takes.

    Of few classes, for whose small matrices BLAS takes one thread.
    """
    small, large = gaussian_problem(0, 1_000, 5), gaussian_problem(0, n, k)
    predicted = [
        _choice.Work("evaluate", len(problem.y_true), width, width * (width - 1)).seconds(_choice._REFERENCE)
        for problem, width in ((large, k), (small, 5))
    ]
    measured = seconds_of(large, small)
    ratio = (predicted[0] / predicted[1]) / (measured[0] / measured[1])
    assert 1 / 3 < ratio < 3
