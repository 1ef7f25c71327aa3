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
WEIGHTS, GROUPS = 1.0 + np.arange(300) % 4, np.arange(300) // 4


def of_evaluate(first, second, groups=None, **options):
    evaluation = polyroc.evaluate(Y_TRUE, first, **options)
    record = summarize(evaluation, groups=groups)
    for key, statistic in (("confidence_interval", "auc"), ("hand_till_interval", "hand_till")):
        interval = evaluation.confidence_interval(statistic=statistic, groups=groups)
        assert (record[key]["low"], record[key]["high"], record[key]["method"]) == (*interval, interval.method)
    right, band = evaluation.accuracy_interval(groups=groups), evaluation.confidence_band(groups=groups)
    assert (record["accuracy_interval"]["low"], record["accuracy_interval"]["high"]) == right
    np.testing.assert_allclose(record["band"]["lower"]["tpr"], band.lower.tpr, atol=1e-5)
    return record


def of_compare(first, second, **options):
    compared = polyroc.compare(Y_TRUE, {"first": first, "second": second}, **options)
    return compared.to_dict(include_delong="groups" not in options)


def of_plan(first, second, **options):
    return polyroc.plan(polyroc.evaluate(Y_TRUE, first, **options), half_width=0.02).to_dict()


def of_decide(first, second, **options):
    return polyroc.decide(Y_TRUE, first, COSTS, **options).to_dict()


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


def answers(command, data, capsys, words=(), **options):
    """What the command line and the library say about files that are written here."""
    first, second = SCORES if data == "usual" else SHARP, np.round(SCORES, 1)
    for name, scores in (("first", first), ("second", second)):
        columns = {"label": Y_TRUE, "w": WEIGHTS, "g": GROUPS} | {one: scores[:, j] for j, one in enumerate(CLASSES)}
        parquet.write_table(pa.table(columns), f"{name}.parquet")
    csv.write_csv(pa.table({name: COSTS[:, j] for j, name in enumerate(CLASSES)}), "costs.csv")
    files, library = COMMANDS[command]
    assert main([command, *files.split(), "--target", "label", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out), json.loads(json.dumps(library(first, second, **options)))


@pytest.mark.parametrize(("command", "data"), CASES)
def test_both_doors_give_the_same_numbers(command, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found, expected = answers(command, data, capsys)
    same(found, expected)
    first = SCORES if data == "usual" else SHARP
    if data != "usual":
        assert 0.999 < polyroc.evaluate(Y_TRUE, first).auc < 1
    if command in ("evaluate", "compare"):
        resampled = {"usual": (0, None, "influence"), "for resamples": (999, 0, "bootstrap")}[data]
        assert (found["n_resamples"], found["seed"], found["method"]) == resampled


WEIGHTED, GROUPED = {"--sample-weight w": {"sample_weight": WEIGHTS}}, {"--groups g": {"groups": GROUPS}}
OF_METHOD = {
    "--costs costs.csv": {"costs": COSTS},
    "--thresholds shared": {"thresholds": "shared"},
    "--thresholds difference": {"thresholds": "difference"},
    "--weighting prevalence": {"weighting": "prevalence"},
}
OF_RULE = {
    "--reject-cost 1": {"reject_cost": 1},
    "--rule tuned": {"rule": "tuned"},
    "--seed 5": {"rng": 5},
}
SAMPLED = {"--max-pairs 5": {"max_pairs": 5}}
OPTIONS = {
    "evaluate": WEIGHTED | GROUPED | OF_METHOD | SAMPLED,
    "compare": WEIGHTED | GROUPED | OF_METHOD | SAMPLED,
    "plan": WEIGHTED | OF_METHOD,
    "decide": WEIGHTED | GROUPED | OF_RULE,
}


@pytest.mark.parametrize(("command", "words"), [(command, words) for command in OPTIONS for words in OPTIONS[command]])
def test_options_mean_the_same_at_both_doors(command, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    same(*answers(command, "usual", capsys, words.split(), **OPTIONS[command][words]))


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
