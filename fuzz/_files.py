"""The command line: hostile files, names and options end as numbers or as one line that says what is wrong."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import polyroc
from fuzz import _tables
from fuzz._case import Attempt
from fuzz._escape import Escape, short
from fuzz._guard import GUARD
from fuzz._oracles import check_share, require
from polyroc.cli import main

_ENDINGS = (0, 2)
_JOINER = "\u200d"
_LIMIT = 60
_PLAINLY = ["--json", "--quiet", "--method", "none"]


# Values of each option, right and wrong ones; none of a flag.
_SOME: dict[str, tuple[str, ...]] = {
    "--scores": ("p_*", "p_ant,p_bee", "*", "", "none", "p_ant", "label", "=", "\x1b[31m"),
    "--labels": ("ant,bee,cat", "ant", "", ",", "ant,ant,bee", "bee,ant"),
    "--sample-weight": ("w", "id", "label", "none", "g", ""),
    "--groups": ("g", "id", "label", "none", "p_ant"),
    "--weighting": ("prevalence", "x"),
    "--thresholds": ("shared", "", "own", "difference"),
    "--n-thresholds": ("2", "3", "9", "0", "-1", "x", "1e3", "99999999999999999999"),
    "--shrinkage": ("0", "1e300", "-1", "nan", "inf", "x"),
    "--structure": ("centered", "saturated", "rank-one", "x"),
    "--engine": ("numpy", "numba", "torch"),
    "--max-pairs": ("2", "4", "0", "-1", "x"),
    "--max-fpr": ("0.1", "0", "1.5", "nan", "x"),
    "--confidence-level": ("0.9", "0", "1", "nan", "x", "-inf"),
    "--seed": ("1", "-1", "x", "99999999999999999999999"),
    "--jobs": ("1", "2", "0", "-1", "x"),
    "--model-column": ("g", "g=1", "g=1,2", "g=1,none", "label=ant", "=", "g=", "none"),
    "--pooled": (),
    "--drop-missing": (),
    "--common": (),
    "--key": ("id", "label", "none", "w"),
    "--models": ("a=p_*", "a=p_ant,b=p_bee", "=", "a", "a=p_*,a=p_*"),
    "--costs": ("first.csv", "none.csv", "-", "."),
    "--plot": ("x.txt", "none/x.png", "first.csv", "first.npz"),
    "--report": ("x.txt", "none/x.html", ".", "first.csv"),
    "--out": ("differences.csv", "none/x.csv", ".", "\udcff", "x.csv", "first.csv", "second.csv", "x.txt"),
    "--force": (),
    "--json": (),
    "--quiet": (),
    "--debug": (),
    "--bogus": ("1",),
    "--help": (),
}


_DECIDE: dict[str, tuple[str, ...]] = {
    "--rule": ("auto", "tuned", "bayes", "argmax", "", "x"),
    "--prior": ("ant=0.5,bee=0.5", "ant=0.2,bee=0.3,cat=0.5", "=", "", "ant=nan", "costs.csv", "none.csv"),
    "--reject-cost": ("0.1", "0", "-1", "nan", "1e300", "x"),
    "--apply": ("costs.csv", "none.json", "-", "."),
    "--save-rule": ("rule.json", "none/rule.json", "first.csv", "x.txt"),
    "--out": ("predicted.csv", "predicted.parquet", "none/x.csv", ".", "first.csv", "x.txt"),
}


@dataclass(frozen=True)
class Ending:
    """How a call of the command line ended."""

    code: int
    out: str
    err: str


def attempt_case(given: Attempt) -> None:
    """Files and a call; afterwards the files are as they were, and all that was written is whole."""
    made = [_tables.predictions(given)]
    paths = [_written(given, made[0], "first")]
    command = "evaluate"
    if given.happens(0.25):
        command = "compare"
        made.append(_tables.predictions(given, n=len(made[0].codes)) if given.happens(0.3) else made[0])
        paths.append(_written(given, made[1], "second"))
    intact = [path for path, is_intact in paths if is_intact]
    arguments = [
        command,
        *(str(path) for path, _ in paths),
        "--target",
        given.choose(["label"] * 9 + ["w", "none", ""]),
    ]
    if command == "evaluate" and given.happens(0.1):
        command = arguments[0] = "decide"
        options = _decide_options(given, made[0])
    else:
        options = _options(given, command)
    arguments += options
    stdin = b""
    if command != "compare" and given.happens(0.1):
        stdin = paths[0][0].read_bytes()
        arguments[1] = "-"
    before = _contents(given.folder)
    if given.happens(0.004):  # a new Python takes a second
        if arguments[1] == "-" and given.happens(0.5):
            arguments[1] = "/dev/stdin"
        ending = in_a_process(arguments, input=stdin)
    else:
        ending = in_process(arguments, stdin)
    check_ending(ending, arguments)
    _check_folder(before, given.folder, ending, arguments)
    if made[0].is_plain and len(intact) == 1 == len(paths) and options == _PLAINLY and "label" in arguments:
        _check_answer(made[0], ending, arguments)


def _written(given: Attempt, made: _tables.Predictions, stem: str) -> tuple[Path, bool]:
    """A file of some format, spoilt in a third of the cases; and whether it is not."""
    suffix = given.choose(_tables.FORMATS)
    try:
        content = _tables.FORMATS[suffix](made.columns)
    except Exception:  # names that this format cannot have
        suffix, content = ".csv", _tables.FORMATS[".csv"](made.columns)
    is_intact = not given.happens(0.35)
    if not is_intact:
        content = _tables.spoilt(given, content)
        suffix = given.choose([suffix] * 4 + ["", *_tables.FORMATS, ".json", ".pkl", ".xlsx"])
    path = given.folder / f"{stem}{suffix}"
    path.write_bytes(content)
    return path, is_intact


def _options(given: Attempt, command: str) -> list[str]:
    if given.happens(0.3):
        return _PLAINLY if command == "evaluate" else ["--json", "--method", "bootstrap", "--resamples", "5"]
    chosen = given.rng.permutation(list(_SOME))[: int(given.rng.integers(0, 4))]
    method = given.choose(["auto", "influence", "none", "bootstrap", "bootstrap", "x"])
    options = ["--method", method]
    if given.happens(0.9 if method == "bootstrap" else 0.05):
        options += ["--resamples", given.choose(["0", "2", "5", "5", "-1", "x", "1"])]
    for name in map(str, chosen):
        options += [name, given.choose(_SOME[name])] if _SOME[name] else [name]
    if given.happens(0.02):
        options += ["--report", "report.html", *(["--include-decisions"] if given.happens(0.5) else [])]
    if given.happens(0.005) and command == "evaluate":
        options += ["--plot", given.choose(["curve.png", "curve.svg"])]
    return options


def _decide_options(given: Attempt, made: _tables.Predictions) -> list[str]:
    """Costs of these classes, with wrong and right options of `decide`."""
    count = len(made.classes)
    rows = [[str(abs(t - j) + (t > j)) for j in range(count)] for t in range(count)]
    costs = given.folder / "costs.csv"
    costs.write_bytes(_tables.FORMATS[".csv"](dict(zip(map(str, made.classes), zip(*rows, strict=True), strict=True))))
    if given.happens(0.1):
        costs.write_bytes(_tables.spoilt(given, costs.read_bytes()))
    options = ["--costs", str(costs)]
    shared = (
        "--scores",
        "--labels",
        "--sample-weight",
        "--groups",
        "--pooled",
        "--drop-missing",
        "--confidence-level",
        "--seed",
        "--force",
        "--json",
    )
    some = {name: _SOME[name] for name in shared} | _DECIDE
    for name in map(str, given.rng.permutation(list(some))[: int(given.rng.integers(0, 4))]):
        options += [name, given.choose(some[name])] if some[name] else [name]
    return options


def in_process(arguments: list[str], stdin: bytes = b"") -> Ending:
    """The command line without the start of another Python."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except Exception as error:
        msg = f"{type(error).__name__}: {short(str(error))} came out of polyroc {_typed(arguments)}"
        raise Escape(msg) from error
    finally:
        sys.stdin = before
    return Ending(code, *(_text(stream) for stream in (out, err)))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "backslashreplace")  # type: ignore[attr-defined]


def in_a_process(arguments: list[str], **how: Any) -> Ending:
    """The command line as the system starts it; a signal ends it with a negative code."""
    return process([sys.executable, "-m", "polyroc", *arguments], **how)


def process(call: list[str], **how: Any) -> Ending:
    """Another program, which must end in time."""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | how.pop("env", {})
    how = {"capture_output": True, "stdin": subprocess.DEVNULL} | how
    if "input" in how or "stdout" in how:
        how.pop("capture_output")
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    if "input" in how:
        how.pop("stdin")
    try:
        with GUARD.asleep():
            done = subprocess.run(call, check=False, timeout=_LIMIT, env=environment, **how)
    except subprocess.TimeoutExpired as error:
        msg = f"a hang: {_typed(call[1:])} is not done after {_LIMIT} seconds"
        raise Escape(msg) from error
    out, err = ((stream or b"").decode("utf-8", "backslashreplace") for stream in (done.stdout, done.stderr))
    return Ending(done.returncode, out, err)


def check_ending(ending: Ending, arguments: list[str], endings: tuple[int, ...] = _ENDINGS) -> None:
    """Numbers, or one line; no traceback, nothing that a terminal would obey, no number that is none."""
    call = f"of polyroc {_typed(arguments)}"
    last = short(ending.err.strip().rpartition("\n")[2], 300)
    require("bug of polyroc" not in ending.err, f"'a bug of polyroc' {call}: {last}")
    require("Traceback" not in ending.err or "--debug" in arguments, f"a traceback {call}: {last}")
    require(ending.code in endings, f"exit code {ending.code} {call}: {last}")
    if ending.code == 2:
        require("polyroc: error: " in ending.err, f"no line of error {call}: {last}")
    for name, text in (("output", ending.out), ("standard error", ending.err)):
        # A traceback of --debug shows lines of code, and they are polyroc's own.
        odd = [c for c in text if not (c.isprintable() or c in ("\n", _JOINER))]
        require(not odd or "--debug" in arguments, f"{odd[:1]!r} in the {name} {call}")
    if ending.code == 0 and "--json" in arguments and "--help" not in arguments:
        _check_json(ending.out, call)


def _check_json(text: str, call: str) -> None:
    def refuse(word: str) -> None:
        msg = f"{word} in the JSON {call}"
        raise Escape(msg)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError as error:
        msg = f"no JSON {call}: {error}"
        raise Escape(msg) from error


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _check_folder(before: dict[str, bytes], folder: Path, ending: Ending, arguments: list[str]) -> None:
    """Inputs are as they were; outputs are whole, or not there."""
    after, call = _contents(folder), f"of polyroc {_typed(arguments)}"
    for name, content in before.items():
        require(after.get(name) == content, f"input {name} was changed {call}")
    new = {name: content for name, content in after.items() if name not in before}
    asked = {
        arguments[place + 1]
        for place, word in enumerate(arguments[:-1])
        if word in ("--out", "--report", "--plot", "--save-rule")
    }
    require(set(new) <= asked, f"files {sorted(set(new) - asked)} were left {call}")
    require(ending.code == 0 or not new, f"{sorted(new)} written, but exit code {ending.code} {call}")
    for name, content in new.items():
        _check_written(name, content, call)


def _check_written(name: str, content: bytes, call: str) -> None:
    if name.endswith(".html"):
        require(content.rstrip().endswith(b"</html>"), f"{name} is not whole {call}")
        for markup in (_tables.MARKUP, "<img src=x onerror", "<svg/onload"):
            require(markup.encode() not in content, f"{markup} in the report {call}")
    if name.endswith(".csv"):
        cells = content.decode().replace("\r\n", ",").split(",")
        odd = [cell for cell in cells if cell.startswith(("=", "@", "\t"))]
        require(not odd, f"a formula in {name} {call}: {odd[:1]}")


def _check_answer(made: _tables.Predictions, ending: Ending, arguments: list[str]) -> None:
    """A plain file gives what the library gives for its numbers."""
    call = f"of polyroc {_typed(arguments)}"
    require(ending.code == 0, f"a plain file was refused {call}: {short(ending.err, 300)}")
    found = json.loads(ending.out)
    expected = polyroc.evaluate(made.codes, made.scores, labels=np.arange(len(made.classes)))
    for name in ("auc", "hand_till"):
        check_share(found[name], name)
        right = getattr(expected, name)
        require(abs(found[name] - right) < 1e-9, f"{name} is {found[name]} {call}, and not {right}")


def _typed(arguments: list[str]) -> str:
    return short(" ".join(arguments), 200)
