"""--measures: the table on the page and in JSON."""

import json

import pytest
from cli_files import example_files

import polyroc
from polyroc.cli import main


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example_files(tmp_path)


def _run(capsys, *arguments):
    assert main([*arguments, "--target", "label", "--quiet"]) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_evaluate_prints_measures_only_where_asked(capsys):
    out = _run(capsys, "evaluate", "tree.csv", "--method", "none", "--measures")
    assert "F1, macro" in out
    assert "standard error" in out
    assert "F1, macro" not in _run(capsys, "evaluate", "tree.csv", "--method", "none")


@pytest.mark.usefixtures("files")
def test_json_has_the_measures_of_the_library_and_one_interval_of_d(capsys):
    out = json.loads(
        _run(capsys, "evaluate", "tree.csv", "--method", "bootstrap", "--resamples", "49", "--measures", "--json")
    )
    rows = {row["name"]: row for row in out["measures"]["measures"]}
    example = polyroc.load_example()
    expected = polyroc.evaluate(example.y_true, example.scores["tree"]).measures(["mcc"])["mcc"]
    # The file has all digits of the scores.
    assert rows["mcc"]["low"] == pytest.approx(expected.low, abs=1e-9)
    assert rows["auc"]["low"] == out["confidence_interval"]["low"]
    assert rows["hand_till"]["high"] == out["hand_till_interval"]["high"]
    assert "measures" not in json.loads(_run(capsys, "evaluate", "tree.csv", "--method", "none", "--json"))


@pytest.mark.usefixtures("files")
def test_compare_prints_differences_of_measures(capsys):
    given = ("compare", "knn.csv", "tree.csv", "--method", "bootstrap", "--resamples", "9", "--measures")
    out = _run(capsys, *given)
    assert "log loss" in out
    assert "Lower is better for" in out
    record = json.loads(_run(capsys, *given, "--json"))
    rows = {row["name"]: row for row in record["measures"]["measures"]}
    assert rows["auc"]["differences"] == record["auc"]["differences"]
    assert rows["kappa"]["differences"][0]["first"] == "knn"


@pytest.mark.usefixtures("files")
def test_a_report_can_be_written_with_measures(capsys):
    _run(
        capsys,
        "evaluate",
        "tree.csv",
        "--method",
        "bootstrap",
        "--resamples",
        "9",
        "--measures",
        "--report",
        "page.html",
    )
