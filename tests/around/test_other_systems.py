"""Code that differs by system, where the other system is faked: cores, containers, limits, threads, line ends."""

import builtins
import os
import threading

import numpy as np
import pytest

import polyroc
from polyroc._core import memory as _memory
from polyroc._lib import threads


@pytest.fixture
def three_digits():
    """Labels and scores of some 270 samples."""
    example = polyroc.load_example()
    chosen = example.y_true < 3
    return example.y_true[chosen], example.scores["tree"][chosen, :3]


@pytest.fixture
def no_limit(monkeypatch, tmp_path):
    """No limit of a container; the file that has one may be written."""
    limit = tmp_path / "cpu.max"
    monkeypatch.setattr(threads, "_LIMIT", limit)
    threads._limit_of_container.cache_clear()
    yield limit
    threads._limit_of_container.cache_clear()


@pytest.mark.parametrize(("cores", "expected"), [(6, 6), (None, 1)])
def test_cores_of_a_system_without_affinity(monkeypatch, no_limit, cores, expected):
    # macOS and Windows have no sched_getaffinity; some systems do not know how many cores there are.
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert threads.n_threads(None) == threads.n_threads(-1) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("150000 100000", 2), ("50000 100000", 1), ("max 100000", 8), ("", 8), ("lots", 8), ("1 0", 8)],
)
def test_cores_of_a_container(monkeypatch, no_limit, limit, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    no_limit.write_text(limit, encoding="ascii")
    assert threads.n_threads(None) == expected


def test_affinity_is_less_than_the_cores_of_the_machine(monkeypatch, no_limit):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert threads.n_threads(None) == 2


def test_memory_without_the_module_resource(monkeypatch, tmp_path):
    real = builtins.__import__

    def without_resource(name, *args, **kwargs):
        if name == "resource":
            raise ModuleNotFoundError(name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_resource)
    # Windows: no /proc, no control groups, and no limits of a process.
    assert _memory.available(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemAvailable: 1024 kB\n")
    assert _memory.available(tmp_path) == 1024 * 1024


@pytest.fixture
def refused(monkeypatch):
    """The threads refused by a runtime that starts none, such as Pyodide: the attempt is a RuntimeError."""
    attempts = []

    def refuse(self):
        attempts.append(self)
        msg = "can't start new thread"
        raise RuntimeError(msg)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    return attempts


def test_without_threads_two_jobs_compute_serially(refused):
    with threads.Threads(2) as both:
        assert both.map(pow, [(2, 1), (2, 2), (2, 3)]) == [2, 4, 8]
        assert list(both.imap(pow, [(2, 1), (2, 2), (2, 3)])) == [2, 4, 8]
    assert refused


def test_without_threads_numbers_are_the_same(refused, three_digits):
    def numbers(n_jobs):
        evaluation = polyroc.evaluate(*three_digits, engine="numpy", n_jobs=n_jobs)
        replicates = evaluation.bootstrap(n_resamples=99, rng=0, n_jobs=n_jobs)
        return evaluation.auc, replicates.auc.tolist()

    alone = numbers(1)
    assert not refused
    assert numbers(2) == alone
    assert refused


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_of_windows_in_files(tmp_path, newline):
    pytest.importorskip("pyarrow")
    path = tmp_path / "p.csv"
    rows = ["label,p_a,p_b", "a,0.9,0.1", "b,0.4,0.6", "a,0.7,0.3"]
    path.write_bytes(newline.join([*rows, ""]).encode())
    found = polyroc.read_predictions(path, target="label")
    assert found.y_true.tolist() == ["a", "b", "a"]
    assert found.labels.tolist() == ["a", "b"]
    assert np.asarray(found.y_score).tolist() == [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]


def test_files_are_written_with_the_same_bytes_on_every_system(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    from polyroc.report import write_html

    evaluation = polyroc.evaluate([0, 0, 1, 1] * 5, [0.1, 0.4, 0.35, 0.8] * 5)
    pages = []
    for linesep in ("\n", "\r\n"):
        monkeypatch.setattr(os, "linesep", linesep)
        write_html(evaluation, tmp_path / "report.html")
        pages.append((tmp_path / "report.html").read_bytes())
    assert b"\r\n" not in pages[0]
    assert pages[0] == pages[1]
