"""Work over files that was interrupted goes on, with the result that it would have had."""

import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from interrupts import interrupted_at_line, threads_left
from parquet_files import damage, predictions, states, table_of, write

import polyroc
from polyroc.streams import _parquet_run


class StoppedError(Exception):
    pass


@contextmanager
def interrupted(monkeypatch, *, title, after):
    """Raise while a bar is told of progress, as Ctrl-C would."""
    told = []

    @contextmanager
    def bar(_total, what, *, shown):
        def update(count):
            if what == title and count:
                told.append(count)
                if len(told) > after:
                    raise StoppedError

        yield update

    with monkeypatch.context() as patch:
        patch.setattr(_parquet_run, "progress_bar", bar)
        with pytest.raises(StoppedError):
            yield


@pytest.fixture
def folder(tmp_path):
    y, scores = predictions()
    weight = np.random.default_rng(3).exponential(size=len(y))
    return write(tmp_path / "a", table_of(y, scores, w=weight, g=np.arange(len(y)) % 900), n_files=2, rows=400)


STOPS = [("counts", 0), ("counts", 3), ("counts", 9), ("standard errors", 0), ("standard errors", 5)]


@pytest.mark.parametrize(("title", "after"), STOPS)
@pytest.mark.parametrize("options", [{}, {"sample_weight": "w"}, {"exact": True}], ids=["plain", "weights", "exact"])
def test_resumed_work_has_the_same_result(folder, tmp_path, monkeypatch, title, after, options):
    asked = {"target": "y", "scores": "p_*", "checkpoint": tmp_path / "state.npz", **options}
    whole = polyroc.evaluate_parquet(folder, **{**asked, "checkpoint": None})
    with interrupted(monkeypatch, title=title, after=after):
        polyroc.evaluate_parquet(folder, **asked)
    counted = counted_parts(monkeypatch)
    found = polyroc.evaluate_parquet(folder, **asked)
    assert (found.auc, found.hand_till) == (whole.auc, whole.hand_till)
    assert found.standard_error == whole.standard_error
    assert states(found) == states(whole)
    assert len(counted) < 2 * 16 + (4 * 16 if "exact" in options else 0)
    # What is finished is not read again.
    counted.clear()
    again = polyroc.evaluate_parquet(folder, **asked)
    assert (again.auc, again.standard_error) == (whole.auc, whole.standard_error)
    assert not counted


def counted_parts(monkeypatch):
    """Every part that is read from now on."""
    counted, read = [], _parquet_run.ParquetRun.rows

    def rows(self, part, columns):
        counted.append(part)
        return read(self, part, columns)

    monkeypatch.setattr(_parquet_run.ParquetRun, "rows", rows)
    return counted


def test_an_exact_column_that_was_found_is_not_read_again(folder, tmp_path, monkeypatch):
    asked = {"target": "y", "scores": "p_*", "exact": True, "checkpoint": tmp_path / "state.npz"}
    with interrupted(monkeypatch, title="column 3 of 4", after=2):
        polyroc.evaluate_parquet(folder, **asked)
    counted = counted_parts(monkeypatch)
    found = polyroc.evaluate_parquet(folder, **asked)
    assert len(counted) == 3 * 16
    assert found.auc == polyroc.evaluate_parquet(folder, **{**asked, "checkpoint": None}).auc


@pytest.mark.filterwarnings("ignore:The interval of D is not corrected")
def test_with_groups_the_second_pass_begins_anew(folder, tmp_path, monkeypatch):
    asked = {"target": "y", "scores": "p_*", "groups": "g", "checkpoint": tmp_path / "state.npz"}
    with interrupted(monkeypatch, title="standard errors", after=2):
        polyroc.evaluate_parquet(folder, **asked)
    counted = counted_parts(monkeypatch)
    found = polyroc.evaluate_parquet(folder, **asked)
    assert len(counted) == 16
    whole = polyroc.evaluate_parquet(folder, **{**asked, "checkpoint": None})
    assert found.confidence_interval() == whole.confidence_interval()


@pytest.mark.filterwarnings("ignore:The interval of D is not corrected")
def test_a_comparison_is_resumed(folder, tmp_path, monkeypatch):
    asked = {"target": "y", "labels": range(4), "checkpoint": tmp_path / "state.npz"}
    models = {"a": "p_*", "b": "p_?"}
    with interrupted(monkeypatch, title="standard errors", after=2):
        polyroc.compare_parquet(folder, models, **asked)
    found = polyroc.compare_parquet(folder, models, **asked)
    assert found.evaluations["a"].auc == found.evaluations["b"].auc


def test_checkpoints_are_written_now_and_then(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_parquet_run, "_EVERY", 0.0)
    monkeypatch.setattr(_parquet_run, "_SHARE", 1e9)
    written = []
    write_whole = _parquet_run.write_whole
    monkeypatch.setattr(_parquet_run, "write_whole", lambda *given: (written.append(1), write_whole(*given)))
    polyroc.evaluate_parquet(folder, target="y", scores="p_*", checkpoint=tmp_path / "state.npz")
    assert len(written) > 4


def test_a_damaged_part_stays_left_out(tmp_path):
    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores), write_page_checksum=True)
    damage(folder / "0.parquet", row_group=1, column=2)
    asked = {"target": "y", "partial": True, "checkpoint": tmp_path / "state.npz"}
    for _ in range(2):
        with pytest.warns(UserWarning, match="Row group 1 of"):
            assert polyroc.evaluate_parquet(folder, **asked).n_samples == 5_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": ["p_0", "p_1", "p_3", "p_2"], "labels": [0, 1, 3, 2]}, r"same `scores\[''\]` as this call"),
        ({"sample_weight": "w"}, "same `sample_weight` as this call, 'w', got None"),
        ({"mantissa_bits": 5}, "same `mantissa_bits` as this call, 5, got 8"),
        ({"score_kind": "free"}, "same `score_kind` as this call, 'free', got 'probabilities'"),
        ({"shrinkage": 2.0}, r"same `options\['shrinkage'\]` as this call, 2.0, got 1.0"),
        ({"exact": True}, "same `exact` as this call, True, got False"),
        ({"target": "g"}, "`checkpoint` must be of a run with the same `target`|class"),
    ],
)
def test_a_checkpoint_of_another_call_is_refused(folder, tmp_path, change, message):
    asked = {"target": "y", "scores": "p_*", "labels": range(4), "checkpoint": tmp_path / "state.npz"}
    polyroc.evaluate_parquet(folder, **asked)
    with pytest.raises(polyroc.InputError, match=message):
        polyroc.evaluate_parquet(folder, **{**asked, **change})


def test_a_checkpoint_of_other_files_is_refused(folder, tmp_path):
    asked = {"target": "y", "scores": "p_*", "checkpoint": tmp_path / "state.npz"}
    polyroc.evaluate_parquet(folder, **asked)
    with pytest.raises(polyroc.InputError, match=r"same `files` as this call, \['0.parquet'\], got"):
        polyroc.evaluate_parquet(folder / "0.parquet", **asked)
    y, scores = predictions(seed=5)
    write(folder, table_of(y, scores, w=np.ones(len(y)), g=np.arange(len(y))), n_files=2, rows=400)
    with pytest.raises(polyroc.InputError, match="must be of the same files as this call, got one of an earlier"):
        polyroc.evaluate_parquet(folder, **asked)


def test_what_is_no_checkpoint_is_refused(folder, tmp_path):
    file = tmp_path / "state.npz"
    asked = {"target": "y", "scores": "p_*", "checkpoint": file}
    polyroc.evaluate_parquet(folder, **asked)
    content = file.read_bytes()
    for wrong in (b"", b"text", content[: len(content) // 2]):
        file.write_bytes(wrong)
        with pytest.raises(polyroc.InputError, match="`checkpoint` must be a whole npz file"):
            polyroc.evaluate_parquet(folder, **asked)
    np.savez(file, a=np.arange(3))
    with pytest.raises(polyroc.InputError, match="`checkpoint` must be what"):
        polyroc.evaluate_parquet(folder, **asked)
    np.savez(file, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(polyroc.InputError, match="`checkpoint` must be a whole npz file of arrays"):
        polyroc.evaluate_parquet(folder, **asked)


def test_counts_that_do_not_add_up_are_refused(folder, tmp_path):
    file = tmp_path / "state.npz"
    asked = {"target": "y", "scores": "p_*", "checkpoint": file}
    polyroc.evaluate_parquet(folder, **asked)
    stored = dict(np.load(file))
    stored["counts/0/rows"][0, 0] += 1
    np.savez(file, **stored)
    with pytest.raises(polyroc.InputError, match="`checkpoint` must hold as many scores of each class"):
        polyroc.evaluate_parquet(folder, **asked)


def done_parts(file):
    return int(dict(np.load(file))["counts/parts"].sum()) if file.exists() else 0


@pytest.mark.threads
def test_a_killed_process_is_resumed(folder, tmp_path):
    file = tmp_path / "state.npz"
    code = f"""
        import os, signal
        import polyroc
        from polyroc.streams import _parquet_run
        _parquet_run._EVERY, _parquet_run._SHARE = 0.0, 1e9
        write, n_written = _parquet_run.write_whole, 0
        def write_and_die(*asked):
            global n_written
            write(*asked)
            n_written += 1
            if n_written == 3:
                os.kill(os.getpid(), signal.SIGKILL)
        _parquet_run.write_whole = write_and_die
        asked = dict(target="y", scores="p_*", labels=range(4), n_jobs=1)
        polyroc.evaluate_parquet({str(folder)!r}, checkpoint={str(file)!r}, **asked)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert 0 < done_parts(file) < 16
    asked = {"target": "y", "scores": "p_*", "labels": range(4)}
    found = polyroc.evaluate_parquet(folder, **asked, checkpoint=file)
    whole = polyroc.evaluate_parquet(folder, **asked)
    assert states(found) == states(whole)
    assert (found.auc, found.standard_error) == (whole.auc, whole.standard_error)


@pytest.mark.threads
@pytest.mark.parametrize("options", [{}, {"sample_weight": "w"}], ids=["plain", "weights"])
def test_interrupts_at_any_line_change_nothing(folder, tmp_path, options, monkeypatch):
    """Also those in the middle of adding a part, or of writing: a half must neither be lost nor count twice."""
    monkeypatch.setattr(_parquet_run, "_EVERY", 0.0)
    monkeypatch.setattr(_parquet_run, "_SHARE", 1e9)
    asked = {"target": "y", "scores": "p_*", "labels": list(range(4)), "n_jobs": 2, **options}
    whole, files = polyroc.evaluate_parquet(folder, **asked), list(Path(_parquet_run.__file__).parent.glob("*.py"))
    n_interrupts = 0
    for turn in range(8):
        found, n = [], 97 + 13 * turn

        def call(turn=turn, found=found):
            found.append(polyroc.evaluate_parquet(folder, checkpoint=tmp_path / f"{turn}.npz", **asked))

        # Later and later, so that it comes to an end.
        while interrupted_at_line(n, files, call):
            n_interrupts += 1
            n = n * 5 // 4
        [found] = found
        assert states(found) == states(whole)
        assert (found.auc, found.hand_till, found.standard_error) == (whole.auc, whole.hand_till, whole.standard_error)
    assert n_interrupts > 50
    assert not threads_left()


@pytest.mark.threads
@pytest.mark.parametrize("is_late", [False, True])
def test_a_thread_that_outlives_the_main_one_does_the_rest_alone(folder, tmp_path, is_late):
    """The interpreter then starts no other threads. It waited for ever after the first slow checkpoint."""
    asked = {"target": "y", "scores": "p_*", "labels": list(range(4))}
    code = f"""
        import threading
        import polyroc
        from polyroc.streams import _parquet_run
        _parquet_run._EVERY, _parquet_run._SHARE = 0.0, 1e9
        go_on, write = threading.Event(), _parquet_run.write_whole
        def write_late(*given):
            go_on.set()
            threading.main_thread().join()
            for thread in threading.enumerate():
                if thread.name.startswith("polyroc"):
                    thread.join()
            write(*given)
        _parquet_run.write_whole = write_late
        def compute():
            if {is_late}:
                go_on.set()
                threading.main_thread().join()
            found = polyroc.evaluate_parquet({str(folder)!r}, checkpoint="{tmp_path}/state.npz", n_jobs=2, **{asked!r})
            print(repr((found.auc, found.standard_error)))
        threading.Thread(target=compute).start()
        go_on.wait()
    """
    call = [sys.executable, "-c", textwrap.dedent(code)]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=300, check=True)
    whole = polyroc.evaluate_parquet(folder, **asked)
    assert ended.stdout == f"{(whole.auc, whole.standard_error)!r}\n"
    assert ended.stderr == ""
