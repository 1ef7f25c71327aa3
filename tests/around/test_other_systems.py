"""Code that differs by system, where the other system is faked: cores, limits, threads, locks, line ends."""

import builtins
import io
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import polyroc
from polyroc._core import memory as _memory
from polyroc._lib import files, threads


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


@pytest.fixture
def text_of_windows(monkeypatch, tmp_path):
    """Files that are opened to write text get line ends of Windows, unless it is said which."""
    real = io.open

    def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest):
        translated = "b" not in mode and mode != "r" and newline is None
        return real(file, mode, buffering, encoding, errors, "\r\n" if translated else newline, *rest)

    monkeypatch.setattr(io, "open", opened)
    monkeypatch.setattr(builtins, "open", opened)
    (tmp_path / "plain.txt").write_text("a\n", encoding="utf-8")
    assert (tmp_path / "plain.txt").read_bytes() == b"a\r\n"


def test_files_are_written_with_the_same_line_ends_on_every_system(tmp_path, monkeypatch, text_of_windows):
    pytest.importorskip("typer")
    pytest.importorskip("jinja2")
    from polyroc.cli import main

    monkeypatch.chdir(tmp_path)
    rows = [f"{'ab'[i % 2]},{0.1 * (i % 7):.1f},{1 - 0.1 * (i % 7):.1f}\n" for i in range(40)]
    Path("p.csv").write_bytes("".join(["label,p_a,p_b\n", *rows]).encode())
    Path("c.csv").write_bytes(b"a,b\n0,1\n3,0\n")
    Path("q.csv").write_bytes(Path("p.csv").read_bytes())
    for command in (
        "evaluate p.csv --target label --report page.html --plot curve.svg",
        "compare p.csv q.csv --target label --out differences.csv",
        "decide p.csv --target label --costs c.csv --rule bayes --save-rule rule.json --out decided.csv",
    ):
        assert main([*command.split(), "--quiet"]) == 0
    # The lines of CSV end as RFC 4180 says, on every system; once more translated, there would be empty ones.
    ends = {
        "page.html": b"\n",
        "curve.svg": b"\n",
        "differences.csv": b"\r\n",
        "rule.json": b"\n",
        "decided.csv": b"\r\n",
    }
    for name, end in ends.items():
        assert set(re.findall(rb"\r*\n", Path(name).read_bytes())) == {end}, name


def test_files_are_written_whole_where_there_are_no_locks(tmp_path, monkeypatch):
    # Windows: no module fcntl, and none of these flags. What a killed process left stays: nobody knows whose it is.
    monkeypatch.setattr(files, "fcntl", None)
    for flag in ("O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(os, flag, raising=False)
    abandoned = tmp_path / f".polyroc-{'0' * 16}.tmp"
    abandoned.write_bytes(b"half")
    for content in (b"first", b"second"):
        files.write_whole(tmp_path / "a.json", content)
        assert (tmp_path / "a.json").read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == [abandoned.name, "a.json"]


def test_a_failed_write_leaves_the_old_file_where_there_are_no_locks(tmp_path, monkeypatch):
    def refuse(*_):
        # Windows: another program has the file open.
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "fcntl", None)
    files.write_whole(tmp_path / "a.json", b"old")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        files.write_whole(tmp_path / "a.json", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"old"
