"""A problem that cannot fit says so before it allocates."""

import re
import subprocess
import sys
import tracemalloc
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from preparing import prepared
from problems import gaussian_problem

import polyroc
from polyroc._core import memory as _memory
from polyroc._inputs.predictions import as_predictions
from polyroc._uncertainty.replicates import replicate_bytes

MIB = 2**20


@pytest.fixture
def problem():
    return gaussian_problem(0, 1000, 50)


def leave(monkeypatch, free):
    """Let this much memory be free, on the host and on a card."""
    monkeypatch.setattr(_memory, "available", free)
    if find_spec("torch") is not None:
        monkeypatch.setattr("polyroc._core.torch.engine.free_bytes", lambda device: free())


def test_a_problem_that_does_not_fit_names_its_size_and_the_way_out(monkeypatch, problem, engine):
    # Enough to sort the scores, and for some of the pairs.
    leave(monkeypatch, lambda: 4 * MIB)
    with pytest.raises(MemoryError) as caught:
        polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, n_thresholds=199)
    message = str(caught.value)
    assert "2450 pairs of classes at 209 call rates" in message
    assert re.search(r"about \d+\.\d GiB", message)
    assert "`n_thresholds`" in message
    assert re.search(r"`max_pairs=\d+`", message)


def test_nothing_large_is_allocated_first(monkeypatch, problem, engine):
    prepared(engine, as_predictions(problem.y_true, problem.y_score))  # imported by now
    leave(monkeypatch, lambda: MIB)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError):
            polyroc.evaluate(problem.y_true, problem.y_score, engine=engine)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The rates alone would need 3.7 MiB.
    assert peak < MIB


def test_what_the_message_proposes_fits(monkeypatch, engine):
    problem = gaussian_problem(0, 900, 30)
    predictions = as_predictions(problem.y_true, problem.y_score)
    leave(monkeypatch, lambda: prepared(engine, predictions).memory_needed(870, 111) // 2)
    with pytest.raises(MemoryError) as caught:
        polyroc.evaluate(problem.y_true, problem.y_score, engine=engine)
    proposed = int(re.search(r"`max_pairs=(\d+)`", str(caught.value))[1])
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, max_pairs=proposed)
    assert evaluation.factorization.converged


@pytest.mark.parametrize("free", [None, 2**40])
def test_nothing_is_raised_where_there_is_room_or_nothing_is_known(monkeypatch, problem, engine, free):
    leave(monkeypatch, lambda: free)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, n_thresholds=9)
    assert evaluation.factorization.converged


def test_two_classes_always_fit(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: 0)
    assert polyroc.auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) == 0.75


def test_what_is_free_is_known_on_linux():
    free = _memory.available()
    assert free is None or 0 < free < 2**50


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_the_reference_engine_needs_no_more_than_it_says(weighted):
    problem = gaussian_problem(0, 2000, 30)
    weight = np.linspace(1, 2, 2000) if weighted else None
    predictions = as_predictions(problem.y_true, problem.y_score, sample_weight=weight)
    needed = prepared("numpy", predictions).memory_needed(870, 111)
    tracemalloc.start()
    try:
        polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy", sample_weight=weight)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < needed


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_the_fast_engine_needs_no_more_than_it_says(weighted):
    pytest.importorskip("numba")
    problem = gaussian_problem(0, 3000, 100)
    weight = np.linspace(1, 2, 3000) if weighted else None
    predictions = as_predictions(problem.y_true, problem.y_score, sample_weight=weight)
    needed = prepared("numba", predictions).memory_needed(9900, 111)
    polyroc.auc_score(problem.y_true, problem.y_score, engine="numba", sample_weight=weight)  # compiled by now
    tracemalloc.start()
    try:
        polyroc.auc_score(problem.y_true, problem.y_score, engine="numba", sample_weight=weight, n_jobs=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The sums of sixteen chunks have the same size for any problem.
    assert peak < needed + 8 * MIB


def made(root, files):
    """A system with these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MEMINFO = "MemTotal:  99 kB\nMemFree:  1 kB\nMemAvailable:  16777216 kB\n"  # 16 GiB
STAT = "anon 5\ninactive_file 1073741824\ntotal_inactive_file 2147483648\n"


@pytest.mark.parametrize(
    ("files", "gib"),
    [
        ({}, None),
        ({"proc/meminfo": MEMINFO}, 16),
        # Version 2, in the folder of the container: 8 GiB less 6, of which 1 is given back.
        ({"sys/fs/cgroup/memory.max": str(8 << 30), "sys/fs/cgroup/memory.current": str(6 << 30)}, 3),
        ({"sys/fs/cgroup/memory.max": "max", "sys/fs/cgroup/memory.current": str(6 << 30)}, 16),
        # A unit of systemd, which is below it; its own limit is stricter than that of what it is part of.
        (
            {
                "proc/self/cgroup": "0::/user.slice/run.scope\n",
                "sys/fs/cgroup/user.slice/memory.max": str(9 << 30),
                "sys/fs/cgroup/user.slice/memory.current": str(2 << 30),
                "sys/fs/cgroup/user.slice/run.scope/memory.max": str(5 << 30),
                "sys/fs/cgroup/user.slice/run.scope/memory.current": str(1 << 30),
                "sys/fs/cgroup/user.slice/run.scope/memory.stat": "anon 1\n",
            },
            4,
        ),
        # Version 1, beside an empty version 2; the path is that of the host, and the folder that of the container.
        (
            {
                "proc/self/cgroup": "5:cpu:/docker/x\n4:memory:/docker/x\n0::/\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": str(8 << 30),
                "sys/fs/cgroup/memory/memory.usage_in_bytes": str(7 << 30),
                "sys/fs/cgroup/memory/memory.stat": STAT,
            },
            3,
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/job\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712",
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes": str(7 << 30),
            },
            16,
        ),
    ],
    ids=["nothing known", "system", "cgroup 2", "no limit", "unit of systemd", "cgroup 1", "no limit in cgroup 1"],
)
def test_the_strictest_limit_counts_and_files_that_were_read_are_given_back(tmp_path, files, gib):
    rest = {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.stat": STAT} if files else {}
    free = _memory.available(made(tmp_path, {**rest, **files}))
    assert free == (None if gib is None else gib << 30)


def test_files_that_say_nothing_are_no_limit(tmp_path):
    files = {"proc/meminfo": "MemAvailable: lots\n", "proc/self/cgroup": "nonsense\n", "proc/self/statm": "\n"}
    assert _memory.available(made(tmp_path, files)) is None


_IN_LITTLE_SPACE = """
import resource
import numpy as np, polyroc
from polyroc._core import memory as _memory
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (300 << 20), resource.RLIM_INFINITY))
assert 250 << 20 < _memory.available() <= 300 << 20
y_true = np.arange(60) % 3
evaluation = polyroc.evaluate(y_true, np.random.default_rng(0).normal(size=(60, 3)), engine="numpy")
try:
    evaluation.bootstrap(100_000, rng=0)
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits and sizes of processes are read as Linux has them"
)
def test_a_limit_of_the_address_space_is_known():
    done = subprocess.run([sys.executable, "-c", _IN_LITTLE_SPACE], capture_output=True, text=True, check=True)
    words = r"100,000 resamples need about 0\.8 GiB of memory, and 0\.[23] GiB are free\. `n_resamples` can be at most "
    assert re.match(words, done.stdout)


@pytest.mark.parametrize("n_models", [1, 3])
def test_resamples_that_do_not_fit_are_refused_with_numbers(monkeypatch, n_models):
    problem = gaussian_problem(0, 60, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy")
    monkeypatch.setattr(_memory, "available", lambda: 2**30)
    ask = partial(evaluation.bootstrap, 10_000_000)
    if n_models > 1:
        scores = dict.fromkeys("abc", problem.y_score)
        ask = partial(
            polyroc.compare, problem.y_true, scores, method="bootstrap", n_resamples=10_000_000, engine="numpy"
        )
    with pytest.raises(MemoryError) as caught:
        ask()
    words = r"10,000,000 resamples( of 3 models)? need about (\d+)\.\d GiB of memory, and 1\.0 GiB are free\."
    found = re.match(words, str(caught.value))
    # Four coordinates at each of 111 call rates, in double precision, once.
    assert n_models * 10_000_000 * 4 * 111 * 8 / 2**30 < int(found[2])
    assert (n_models == 3) == (found[1] is not None)
    most = int(re.search(r"`n_resamples` can be at most ([0-9,]+)", str(caught.value))[1].replace(",", ""))
    assert 2**30 / 30_000 < n_models * most < 2**30 / (4 * 111 * 8)


def test_parametric_resamples_that_do_not_fit_are_refused(monkeypatch):
    problem = gaussian_problem(0, 60, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine="numpy")
    monkeypatch.setattr(_memory, "available", lambda: 2**30)
    with pytest.raises(MemoryError, match="10,000,000 resamples need about"):
        evaluation.bootstrap(10_000_000, method="parametric-samples")


# Tracing makes the reference's many small arrays slow.
@pytest.mark.parametrize("engine", [pytest.param("numpy", marks=pytest.mark.slow), "numba"], indirect=True)
@pytest.mark.parametrize("n_models", [1, 2])
def test_resamples_need_no_more_than_they_say(engine, n_models):
    problem = gaussian_problem(0, 60, 3)
    scores = {name: problem.y_score + place for place, name in enumerate("ab"[:n_models])}
    evaluations = [polyroc.evaluate(problem.y_true, score, engine=engine) for score in scores.values()]
    evaluations[0].bootstrap(9, rng=0)  # compiled by now
    tracemalloc.start()
    try:
        if n_models == 1:
            evaluations[0].bootstrap(2_000, rng=0, n_jobs=1)
        else:
            polyroc.compare(
                problem.y_true, scores, method="bootstrap", n_resamples=2_000, rng=0, n_jobs=1, engine=engine
            )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    said = n_models * 2_000 * replicate_bytes(111)
    assert 0.6 * said < peak < said + 2 * MIB
