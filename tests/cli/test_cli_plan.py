"""`polyroc plan`: the numbers of the library, and words for what is wrong."""

import json

import numpy as np
import pyarrow as pa
import pytest
from cli_files import animal_table, animals
from pyarrow import csv as arrow_csv

import polyroc
from polyroc.cli import main

Y_TRUE, SCORES = animals(150)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = animal_table(n_samples=150)
    arrow_csv.write_csv(table, "first.csv")
    for j, name in enumerate(("p_cat", "p_dog", "p_owl")):
        table = table.set_column(j + 1, name, pa.array(second_model()[:, j]))
    arrow_csv.write_csv(table, "second.csv")
    return tmp_path


def second_model():
    noisy = SCORES + 0.3 * np.random.default_rng(5).random(SCORES.shape)
    return noisy / noisy.sum(axis=1, keepdims=True)


def run(*arguments):
    return main(["plan", *arguments, "--target", "label"])


def test_json_has_the_librarys_numbers(folder, capsys):
    assert run("first.csv", "--half-width", "0.02", "--allocation", "optimal", "--assurance", "0.95", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    plan = polyroc.plan(polyroc.evaluate(Y_TRUE, SCORES), half_width=0.02, allocation="optimal", assurance=0.95)
    assert record["planned"]["class_counts"] == plan.class_counts.tolist()
    assert record["sentence"] == plan.text.sentence
    assert record["source"] == {"files": ["first.csv"], "target": "label"}
    assert record["version"] == polyroc.__version__


def test_two_files_plan_the_test_of_two_models(folder, capsys):
    assert run("first.csv", "second.csv", "--detect", "0.03", "--power", "0.9", "--plot", "plan.png") == 0
    out = " ".join(capsys.readouterr().out.split())
    scores = {"first": SCORES, "second": second_model()}
    plan = polyroc.plan(polyroc.compare(Y_TRUE, scores, method="influence"), detect=0.03, power=0.9)
    assert plan.text.sentence in out
    assert "class now planned missing" in out
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "plan needs either --half-width or --detect, got neither"),
        (["--half-width", "0.1", "--detect", "0.1"], "plan needs either --half-width or --detect, got both"),
        (["--detect", "0.1"], "--detect needs two models: two files, or one file with --models or --model-column"),
        (["--half-width", "0.5"], "--half-width must be a number greater than 0 and less than 0.5, got 0.5."),
        (["--half-width", "0.1", "--assurance", "1"], "--assurance must be at least 0.5 and below 1, got 1.0."),
        (["--half-width", "0.1", "--allocation", "best"], "--allocation must be one of 'same', 'equal', 'optimal', "),
        (
            ["--half-width", "0.1", "--structure", "centered"],
            "the sample must be one for which the formula of influences ",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, capsys, arguments, message):
    assert run("first.csv", *arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"polyroc: error: {message}")


def test_three_models_are_too_many_and_a_formula_is_needed(folder, capsys):
    assert run("first.csv", "second.csv", "first.csv", "--half-width", "0.1") == 2
    assert "plan takes one model or two, got 3" in capsys.readouterr().err
    assert run("first.csv", "second.csv", "--half-width", "0.1", "--structure", "centered") == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("polyroc: error: no plan can be made by these models: the formula of influences does not")
