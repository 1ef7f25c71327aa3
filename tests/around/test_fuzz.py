"""The fuzzer: its cases can be repeated, it catches what it is there to catch, and it leaves nothing behind."""

import json
import platform
import socket
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from parts import versions

import polyroc
from fuzz import __main__ as command
from fuzz import _areas, _corpus, _files, _numeric, _oracles, _problems, _tables, _workers
from fuzz._case import Attempt, Case
from fuzz._escape import Escape, attempt
from fuzz._run import Found, run_case
from fuzz._schedule import Schedule

ROOT = Path(__file__).resolve().parents[2]
Y = np.arange(12) % 3
S = np.random.default_rng(0).normal(size=(12, 3)) + np.eye(3)[Y]


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """Run a function as if it were a case."""

    def run(work, limit=60.0):
        monkeypatch.setitem(_corpus.CASES, "planted", work)
        found = run_case(Case("corpus", 0, "planted"), tmp_path, limit)
        return None if found is None else found.what

    return run


def case_of(area, number=0, seed=0):
    return Case(area, seed, number)


@pytest.mark.parametrize("name", ["numeric:7:1234", "files:0:0", "corpus:0:full-disk"])
def test_a_case_is_its_name(name):
    assert str(Case.parse(name)) == name


def test_a_case_of_the_corpus_needs_no_seed():
    assert Case.parse("corpus:full-disk") == Case.parse("corpus:0:full-disk")


@pytest.mark.parametrize("name", ["numeric", "numeric:7", "numeric:x:1", "numeric:1:-2"])
def test_what_is_no_name_of_a_case_is_refused(name):
    with pytest.raises(ValueError, match="area:seed:number"):
        Case.parse(name)


def test_a_case_is_the_same_each_time_and_others_are_others(tmp_path):
    def problem(case):
        return _problems.problem(Attempt(case.rng, tmp_path))

    again = [problem(case_of("numeric", 5)) for _ in range(2)]
    np.testing.assert_array_equal(again[0].y_true, again[1].y_true)
    np.testing.assert_array_equal(again[0].y_score, again[1].y_score)
    others = [case_of("numeric", 6), case_of("numeric", 5, seed=1), case_of("containers", 5)]
    draws = {float(case.rng.random()) for case in (case_of("numeric", 5), *others)}
    assert len(draws) == 4


@pytest.mark.parametrize("suffix", _tables.FORMATS)
def test_files_are_the_same_each_time(suffix, tmp_path):
    def content():
        given = Attempt(case_of("files", 3).rng, tmp_path)
        made = _tables.predictions(given)
        plain = replace(made, classes=("a", "b", "c", "d")[: len(made.classes)])
        return _tables.spoilt(given, _tables.FORMATS[suffix](plain.columns))

    assert content() == content()


@pytest.mark.slow
@pytest.mark.parametrize("area", _areas.SHARES)
def test_every_area_tries_something(area, tmp_path, monkeypatch):
    """Each makes calls, and none of its first cases is a fault of the fuzzer itself."""
    for number in range(6):
        found = run_case(case_of(area, number), tmp_path)
        assert found is None or "fuzz/" not in found.trace.splitlines()[-3], found.trace
    assert list((tmp_path / "case").iterdir()) == [] if (tmp_path / "case").exists() else True


def test_there_is_nothing_to_find_in_a_call_that_is_right(tried):
    assert tried(lambda _: _oracles.check_evaluation(polyroc.evaluate(Y, S))) is None


def raising(error):
    def function(*args, **kwargs):
        raise error

    return function


def test_an_error_of_another_kind_is_caught(tried, monkeypatch):
    monkeypatch.setattr(polyroc, "evaluate", raising(KeyError("x")))
    assert "KeyError is no refusal" in tried(_numeric.attempt_case)


def test_a_refusal_in_the_words_of_another_package_is_caught(tried):
    assert "ValueError is no refusal" in tried(lambda _: attempt(np.zeros(3).reshape, 2))
    assert "AxisError is no refusal" in tried(lambda _: attempt(np.sort, 1.0))


def test_a_refusal_by_polyroc_is_an_answer(tried):
    assert tried(lambda _: attempt(polyroc.evaluate, Y, S, structure="x")) is None
    assert attempt(polyroc.evaluate, Y, S, structure="x").refused


def test_numbers_that_should_have_been_refused_are_caught(monkeypatch, tmp_path):
    right = polyroc.evaluate
    monkeypatch.setattr(polyroc, "evaluate", lambda y, s, **options: right(y, np.nan_to_num(s), **options))
    # Up to the first that shows it, and from it on: those before it take seconds.
    found = (run_case(case_of("numeric", number), tmp_path) for number in range(5, 150))
    assert any(one is not None and "not finite were accepted" in one.what for one in found)


def planted(**fields):
    """An evaluation some of whose attributes have another value."""
    right = polyroc.evaluate(Y, S)
    kind = type("Planted", (type(right),), fields)
    object.__setattr__(right, "__class__", kind)
    return right


class Curve:
    def __init__(self, fpr, tpr, auc=0.5):
        self.fpr, self.tpr, self.auc = np.array(fpr), np.array(tpr), auc


@pytest.mark.parametrize(
    ("evaluation", "what"),
    [
        (lambda: planted(curve=Curve([0, 1], [0, 1], auc=1.5)), "D is 1.5"),
        (lambda: planted(curve=Curve([0, 1], [0, 1], auc=float("nan"))), "D is nan"),
        (lambda: planted(hand_till=-0.1), "M is -0.1"),
        (lambda: planted(curve=Curve([0, 0.5, 0.4, 1], [0, 0.5, 0.6, 1])), "curve.fpr falls"),
        (lambda: planted(mean_curve=Curve([0, np.nan, 1], [0, 0.5, 1])), "mean_curve.fpr"),
        (lambda: planted(to_dict=lambda _: {"deep": [{"x": float("nan")}]}), "not plain data of finite numbers"),
    ],
)
def test_a_wrong_result_is_caught(evaluation, what, tried):
    made = evaluation()
    assert what in tried(lambda _: _oracles.check_evaluation(made))


def test_an_m_that_is_not_hand_and_tills_is_caught(tried):
    made = planted(hand_till=polyroc.evaluate(Y, S).hand_till + 1e-9)
    assert "M is 1e-09 from" in tried(lambda _: _oracles.check_areas(made, Y, S, None))


def test_the_oracle_of_m_counts_by_hand():
    """Column 2 ranks the sample of class 2 between those of class 0: 1/2; all weight on the second: 0."""
    y_true = np.array([0, 0, 1, 2])
    y_score = np.array([[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3]])
    assert _oracles.pair_area(y_true, y_score, None, 2, 0) == 0.5
    assert _oracles.pair_area(y_true, y_score, np.array([0, 1, 1, 1.0]), 2, 0) == 0
    assert _oracles.pair_area(y_true, np.ones((4, 3)), None, 2, 0) == 0.5


def test_engines_that_differ_are_caught(tried):
    one = polyroc.evaluate(Y, S, engine="numpy")
    other = planted(curve=polyroc.RocCurve([0, 1], [0, 1], exact_auc=one.auc - 1e-8))
    assert "D of the engines differs by 1e-08" in tried(lambda _: _oracles.check_engines(one, other))


def test_an_interval_in_the_wrong_order_is_caught(tried):
    assert "(0.6, 0.5)" in tried(lambda _: _oracles.check_interval((0.6, 0.5), "interval"))
    assert "(0.5, 1.1)" in tried(lambda _: _oracles.check_interval((0.5, 1.1), "interval"))
    assert "nan" in tried(lambda _: _oracles.check_interval((float("nan"), 0.5), "interval"))


def test_a_filter_left_behind_is_caught(tried):
    assert "filter of warnings" in tried(lambda _: warnings.simplefilter("ignore", UserWarning))


def test_a_setting_of_numpy_left_behind_is_caught(tried):
    before = np.geterr()
    try:
        assert "np.seterr" in tried(lambda _: np.seterr(all="raise") and None)
    finally:
        np.seterr(**before)


def test_a_warning_about_numbers_is_caught(tried):
    assert "RuntimeWarning" in tried(lambda _: warnings.warn("overflow", RuntimeWarning, stacklevel=1))


def test_printing_is_caught(tried):
    assert "something was printed" in tried(lambda _: print("x"))  # noqa: T201


def test_a_hang_is_caught(tried):
    assert "a hang" in tried(lambda _: time.sleep(30), limit=0.2)  # None if it has slept enough


def test_a_write_outside_is_caught_and_not_done(tried, tmp_path):
    outside = tmp_path / "outside"
    assert "writes outside of its folder" in tried(lambda _: outside.write_text("x"))
    assert not outside.exists()
    outside.write_text("x")
    for change in (outside.unlink, lambda: outside.rename(tmp_path / "other"), lambda: outside.chmod(0o600)):
        assert "writes outside of its folder" in tried(lambda _, change=change: change())
    assert outside.read_text() == "x"


def test_a_write_outside_that_is_taken_for_an_error_of_the_system_is_caught(tried, tmp_path):
    def swallowed(_):
        with suppress(OSError):
            (tmp_path / "outside").write_text("x")

    assert "writes outside of its folder" in tried(swallowed)


def test_writing_inside_is_allowed_and_gone_afterwards(tried, tmp_path):
    def inside(given):
        (given.folder / "sub").mkdir()
        (given.folder / "sub" / "x").write_text("x")
        Path("y").write_text("in the current folder")

    assert tried(inside) is None
    assert not any((tmp_path / "case").rglob("*"))


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda _: subprocess.run(["true"], check=True), "runs another program"),
        (lambda _: socket.create_connection(("127.0.0.1", 9), timeout=1), "network"),
        (lambda _: __import__("pickle").loads(b"\x80\x04\x8c\x08builtins\x8c\x04list\x93."), "loads a pickle"),
    ],
)
def test_other_programs_networks_and_pickles_are_caught(act, what, tried):
    assert what in tried(act)


def test_versions_are_told_without_another_program(tried, monkeypatch):
    monkeypatch.setattr(platform, "_uname_cache", None)
    assert tried(lambda _: versions()) is None
    assert versions()["platform"].endswith(platform.machine())


def ending(code=0, out="", err=""):
    return _files.Ending(code, out, err)


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (ending(1, err="polyroc: error: This is a bug of polyroc; --debug"), "a bug of polyroc"),
        (ending(2, err="Traceback (most recent call last)"), "a traceback"),
        (ending(-11), "exit code -11"),
        (ending(2, err="no such file"), "no line of error"),
        (ending(0, out="\x1b[31m"), "in the output"),
        (ending(0, out='{"auc": NaN}'), "NaN in the JSON"),
        (ending(0, out="{"), "no JSON"),
    ],
)
def test_a_command_that_ends_wrong_is_caught(made, what, tried):
    assert what in tried(lambda _: _files.check_ending(made, ["evaluate", "--json"]))


def change(name, content):
    """A command line that does something to a file, and says that all is well."""

    def main(arguments):
        Path(name).write_bytes(content)
        sys.stdout.write("{}")
        return 0

    return main


def test_an_input_that_is_changed_is_caught(tmp_path, monkeypatch):
    def main(arguments):
        Path(arguments[1]).write_bytes(b"") if arguments[1] != "-" else None
        return 2 if sys.stderr.write("polyroc: error: x") else 0

    monkeypatch.setattr(_files, "main", main)
    assert "was changed" in run_case(case_of("files"), tmp_path).what


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        (".polyroc-0.tmp", b"", "were left"),
        ("report.html", b"<html>half", "not whole"),
        ("report.html", f"<html>{_tables.MARKUP}</html>".encode(), "in the report"),
        ("differences.csv", b"model\r\n=1+1\r\n", "a formula"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_caught(name, content, what, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Escape, match=what):
        _files._check_folder(
            {}, tmp_path, ending(), ["evaluate", "--report", "report.html", "--out", "differences.csv"]
        )


def test_a_wrong_answer_of_the_command_line_is_caught(tmp_path, monkeypatch):
    given = Attempt(case_of("files").rng, tmp_path)
    made = next(one for one in (_tables.predictions(given) for _ in range(50)) if one.is_plain)
    right = polyroc.evaluate(made.codes, made.scores)
    said = {"auc": right.auc, "hand_till": right.hand_till}
    _files._check_answer(made, ending(out=json.dumps(said)), [])
    with pytest.raises(Escape, match="and not"):
        _files._check_answer(made, ending(out=json.dumps(said | {"auc": right.auc / 2})), [])


def test_a_schedule_ends_and_shares_the_numbers():
    cases = [list(Schedule(["numeric", "files"], 3, worker, 2, n_cases=5)) for worker in range(2)]
    assert {str(case) for case in cases[0]} | {str(case) for case in cases[1]} == {
        f"{area}:3:{number}" for area in ("numeric", "files") for number in range(5)
    }
    assert not {str(case) for case in cases[0]} & {str(case) for case in cases[1]}
    assert list(Schedule(["numeric"], 0, seconds=0)) == []


@pytest.mark.slow
def test_a_worker_that_dies_is_an_escape_and_another_goes_on(tmp_path, monkeypatch):
    """The deepest NDJSON once ended the process; here a case is told to."""
    monkeypatch.setenv(_workers.CRASH, "arguments:0:3")
    tally = _workers.work([Schedule(["arguments"], 0, n_cases=6)], tmp_path, lambda _: None)
    [found] = [one for one in tally.found if "ended by signal" in one.what]
    assert str(found.case) == "arguments:0:3"
    assert tally.tried == {"arguments": 6}


def test_the_command_counts_prints_what_to_repeat_and_fails(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(_corpus, "CASES", {"good": lambda _: None, "bad": raising(KeyError("x"))})
    before = set(Path(ROOT).iterdir())
    assert command.main(["--only", "corpus"]) == 1
    said = capsys.readouterr().out
    assert "python -m fuzz --replay corpus:0:bad" in said
    assert "2 cases" in said
    assert "1 escapes" in said
    assert command.main(["--replay", "corpus:0:good"]) == 0
    assert command.main(["--replay", "corpus:0:bad"]) == 1
    assert "KeyError" in capsys.readouterr().out
    assert set(Path(ROOT).iterdir()) - before <= {ROOT / ".numba_cache"}


def test_escapes_of_one_kind_are_told_together():
    found = [Found(case_of("numeric", number), f"D is 1.{number}e-5, and not in [0, 1]") for number in range(5)]
    others = [Found(case_of("numeric"), "curve.fpr falls"), Found(case_of("files"), "curve.fpr falls")]
    assert [len(kind) for kind in command.kinds([*found, *others])] == [5, 1, 1]


def test_names_of_the_corpus_are_those_of_its_functions():
    assert "buffer-used-again" in _corpus.CASES
    assert len(_corpus.CASES) == len(_corpus._LIBRARY) + len(_corpus.FILE_CASES)
