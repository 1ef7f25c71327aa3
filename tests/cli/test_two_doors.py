"""The library and the command line give the same numbers if neither is asked for anything."""

import json

import numpy as np
import pyarrow as pa
import pytest
from cli_files import CLASSES, animals
from pyarrow import csv, parquet

import polyroc
from polyroc.cli import main
from polyroc.report import summarize

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
Y_TRUE, SCORES = animals(n_samples=300)
CODES = np.arange(300) % 3
# D is above 0.999 and below 1: there the formula does not hold, so that the data ask for resamples.
LOGITS = 4.0 * np.eye(3)[CODES] + np.random.default_rng(1).normal(size=(300, 3))
SHARP = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
COSTS = np.array([[0.0, 1, 3], [2, 0, 1], [1, 4, 0]])


def of_evaluate(first, second):
    evaluation = polyroc.evaluate(Y_TRUE, first)
    record = summarize(evaluation)
    for key, statistic in (("confidence_interval", "auc"), ("hand_till_interval", "hand_till")):
        interval = evaluation.confidence_interval(statistic=statistic)
        assert (record[key]["low"], record[key]["high"], record[key]["method"]) == (*interval, interval.method)
    right, band = evaluation.accuracy_interval(), evaluation.confidence_band()
    assert (record["accuracy_interval"]["low"], record["accuracy_interval"]["high"]) == right
    np.testing.assert_allclose(record["band"]["lower"]["tpr"], band.lower.tpr, atol=1e-5)
    return record


def of_compare(first, second):
    return polyroc.compare(Y_TRUE, {"first": first, "second": second}).to_dict(include_delong=True)


def of_plan(first, second):
    return polyroc.plan(polyroc.evaluate(Y_TRUE, first), half_width=0.02).to_dict()


def of_decide(first, second):
    return polyroc.decide(Y_TRUE, first, COSTS).to_dict()


COMMANDS = {
    "evaluate": ("first.parquet", of_evaluate),
    "compare": ("first.parquet second.parquet", of_compare),
    "plan": ("first.parquet --half-width 0.02", of_plan),
    "decide": ("first.parquet --costs costs.csv", of_decide),
}


def same(found, expected, path=""):
    """Every number, text and list of the library stands in the JSON of the command line."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            if key not in ("source", "warnings", "version", "versions"):
                same(found[str(key)], value, f"{path}.{key}")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), path
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            same(one, other, f"{path}[{place}]")
    else:
        assert found == expected, path


CASES = [*((command, "usual") for command in COMMANDS), ("evaluate", "for resamples"), ("compare", "for resamples")]


@pytest.mark.parametrize(("command", "data"), CASES)
def test_both_doors_give_the_same_numbers(command, data, tmp_path, monkeypatch, capsys):
    first, second = SCORES if data == "usual" else SHARP, np.round(SCORES, 1)
    monkeypatch.chdir(tmp_path)
    for name, scores in (("first", first), ("second", second)):
        table = pa.table({"label": Y_TRUE} | {one: scores[:, j] for j, one in enumerate(CLASSES)})
        parquet.write_table(table, f"{name}.parquet")
    csv.write_csv(pa.table({name: COSTS[:, j] for j, name in enumerate(CLASSES)}), "costs.csv")
    files, library = COMMANDS[command]
    assert main([command, *files.split(), "--target", "label", "--json"]) == 0
    found, expected = json.loads(capsys.readouterr().out), json.loads(json.dumps(library(first, second)))
    same(found, expected)
    if data != "usual":
        assert 0.999 < polyroc.evaluate(Y_TRUE, first).auc < 1
    if command in ("evaluate", "compare"):
        resampled = {"usual": (0, None, "influence"), "for resamples": (999, 0, "bootstrap")}[data]
        assert (found["n_resamples"], found["seed"], found["method"]) == resampled


def test_the_command_line_says_why_it_resamples_though_nobody_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"label": Y_TRUE} | {one: SHARP[:, j] for j, one in enumerate(CLASSES)})
    parquet.write_table(table, "sharp.parquet")
    assert main(["evaluate", "sharp.parquet", "--target", "label"]) == 0
    out, err = capsys.readouterr()
    assert "note: 999 resamples (seed 0) for the interval of D, because D is within 0.001 of 1\n" in err
    assert "D by 999 resamples (seed 0) because D is within 0.001 of 1" in " ".join(out.split())
    two = pa.table({"label": np.array(CLASSES)[CODES % 2], "cat": SCORES[:, 0]})
    parquet.write_table(two, "two.parquet")
    assert main(["evaluate", "two.parquet", "--target", "label", "--labels", "dog,cat", "--max-fpr", "0.2"]) == 0
    expected = "999 resamples (seed 0) for the interval of the partial area, because two classes have no formula"
    assert expected in capsys.readouterr().err
