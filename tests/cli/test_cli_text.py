"""Text is data: names that a terminal, rich, a spreadsheet or a file system would take for something else."""

import csv
import json
import logging
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cli_files import animal_table, animals
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc._inputs.checks import in_words
from polyroc._lib.text import short_names
from polyroc.cli import main
from polyroc.cli._messages import Messages, in_options, option_of

ODD = (
    "[/x]",
    "[bold]red",
    "<b>x</b>",
    "$a^$",
    "=1+1",
    "two\nlines",
    "\x1b[31mred\x07",
    ":smile:",
    "😀👩\u200d🔬",
    500 * "x",
)
# What a table shows of each.
SHOWN = (*ODD[:5], "two?lines", "?[31mred?", ":smile:", "😀👩\u200d🔬", f"{15 * 'x'}…{14 * 'x'}")


@pytest.fixture
def odd_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(animal_table("p ", ODD, n_samples=200), "odd.parquet")
    return tmp_path


def test_odd_classes_are_printed_as_they_are(odd_file, capsys, monkeypatch):
    # All of the pairs, so that every class is among them.
    monkeypatch.setattr("polyroc.cli._outputs._WORST", 90)
    assert main(["evaluate", "odd.parquet", "--target", "label", "--method", "bootstrap", "--resamples", "9"]) == 0
    out, err = capsys.readouterr()
    for name in SHOWN:
        assert name in out
    assert "\x1b" not in out + err
    assert "\x07" not in out + err
    # In sentences names stand whole, and no line breaks inside a word.
    assert max(len(line) for line in out.splitlines() if 100 * "x" not in line) < 120
    assert len(out.splitlines()) < 115


def test_odd_classes_survive_json_and_text_files(odd_file, capsys):
    for name in ("odd.parquet", "odd.csv"):
        arrow_csv.write_csv(animal_table("p ", ODD, n_samples=200), "odd.csv")
        assert main(["evaluate", name, "--target", "label", "--method", "none", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["labels"] == list(ODD)


@pytest.mark.parametrize(("name", "shown"), list(zip(ODD, (*SHOWN[:-1], f"{37 * 'x'}..."), strict=True)))
def test_odd_names_in_errors_stay_on_one_line(name, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({name: ["a", "b"], "p": [0.1, 0.2]}), "a.parquet")
    assert main(["evaluate", "a.parquet", "--target", "label"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"'{shown}'" in err
    assert main(["evaluate", "a.parquet", "--target", f"{name}!"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "stem", ["[x]", "[bold]red", "<b>", "$a^$", "=1+1", "two\nlines", "😀", "-x", "+1", "@a", 200 * "x"]
)
def test_odd_file_names_are_names_of_models(stem, tmp_path, monkeypatch, capsys):
    if "\n" in stem and sys.platform == "win32":
        pytest.skip("no such names there")
    monkeypatch.chdir(tmp_path)
    y_true, scores = animals()
    parquet.write_table(animal_table(), f"{stem}.parquet")
    table = pa.table({"label": y_true} | {f"p_{c}": scores[:, j] ** 2 + j for j, c in enumerate(("owl", "cat", "dog"))})
    parquet.write_table(table, "plain.parquet")
    call = [
        "compare",
        "--target",
        "label",
        "--method",
        "bootstrap",
        "--resamples",
        "9",
        "--out",
        "table.csv",
        "--",
        f"{stem}.parquet",
        "plain.parquet",
    ]
    assert main(call) == 0
    out = capsys.readouterr().out
    [shown, _] = short_names([stem, "plain"], 30)
    assert shown in out
    with Path("table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    # A formula for no spreadsheet; any other name as it is.
    assert rows[0]["first"] == (f"'{stem}" if stem[0] in "=+-@" else stem)
    # Numbers may begin with a minus.
    assert float(rows[0]["value"]) > 0


def test_negative_numbers_are_no_formulas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y_true, scores = animals()
    parquet.write_table(animal_table(), "good.parquet")
    table = pa.table(
        {"label": y_true} | {f"p_{c}": np.roll(scores[:, j], 1) for j, c in enumerate(("cat", "dog", "owl"))}
    )
    parquet.write_table(table, "bad.parquet")
    assert (
        main(
            shlex.split(
                "compare bad.parquet good.parquet --target label --method bootstrap --resamples 9 --out table.csv"
            )
        )
        == 0
    )
    with Path("table.csv").open(encoding="utf-8", newline="") as file:
        assert float(next(csv.DictReader(file))["value"]) < 0


def test_a_terminal_of_another_encoding_gets_escapes(odd_file):
    done = subprocess.run(
        [sys.executable, "-m", "polyroc", "evaluate", "odd.parquet", "--target", "label", "--method", "none"],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    done.stdout.decode("ascii")


def test_arguments_are_called_as_on_the_command_line():
    text = "`y_score.columns` and `n_jobs` of `labels=`; `other`"
    assert in_words(text, option_of) == "--scores and --jobs of --labels; `other`"
    error = polyroc.InputError("y_true", "must fit `y_score`", "'a`b'", hint=": pass `exact=True`")
    assert in_options(error) == "--target must fit --scores, got 'a`b': pass --exact."


def test_notes_and_warnings_are_said_once(capsys):
    messages = Messages(quiet=False)
    with messages.heard():
        for _ in range(3):
            logging.getLogger("polyroc").info("compiling")
            warnings.warn("a class is small", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: compiling\nwarning: a class is small\n"


@pytest.mark.slow
def test_no_line_on_a_narrow_terminal_is_longer_than_it(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "64")
    monkeypatch.setenv("TERM", "xterm")
    assert main(["demo", "--method", "bootstrap", "--resamples", "49"]) == 0
    narrow = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).partition("\nNext\n")[0]
    assert len(narrow.splitlines()) > 20
    assert max(map(len, narrow.splitlines())) <= 64
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert main(["demo", "--method", "bootstrap", "--resamples", "49"]) == 0
    wide = capsys.readouterr().out.partition("\nNext\n")[0]
    # No word and no number is in pieces.
    assert set(narrow.split()) == set(wide.split())


def test_notes_on_a_narrow_terminal_break_between_words(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    text = "the scores go from -3.9 to 10.9, so they are no probabilities; each column ranks the samples as it is"
    Messages(quiet=False).note(text)
    err = capsys.readouterr().err
    assert max(map(len, err.splitlines())) <= 40
    assert " ".join(err.split()) == f"note: {text}"


def test_long_names_of_models_stay_different(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = [f"{40 * 'a'}-{kind}-{40 * 'b'}" for kind in ("first", "second")]
    for name in names:
        parquet.write_table(animal_table(), f"{name}.parquet")
    call = [
        "compare",
        *(f"{name}.parquet" for name in names),
        "--target",
        "label",
        "--method",
        "bootstrap",
        "--resamples",
        "9",
    ]
    assert main(call) == 0
    out = capsys.readouterr().out
    table = out.partition("\nmodel ")[2].splitlines()[1:3]
    assert len({line.split()[0] for line in table}) == 2
    difference = next(line for line in out.splitlines() if " - " in line and " D " in line)
    first, _, rest = difference.partition(" - ")
    assert first != rest.split()[0]
