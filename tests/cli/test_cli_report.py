"""`--report`: a page beside text or JSON, with the same numbers, or one line that says why not."""

import errno
import json
import os
import shlex

import pytest
from cli_files import animal_table, example_files
from pyarrow import parquet
from report_pages import Page, from_letters

from polyroc.cli import _outputs, main
from polyroc.cli._outputs import as_json


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(animal_table(), "a.parquet")
    parquet.write_table(animal_table(seed=1), "b.parquet")
    return tmp_path


def read(name):
    with open(name, encoding="utf-8") as file:  # noqa: PTH123  # the folder is the current one
        return Page(file.read())


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "evaluate a.parquet --target label --method bootstrap --resamples 9",
        "compare a.parquet b.parquet --target label --method bootstrap --resamples 9",
        "demo --method bootstrap --resamples 9",
    ],
)
def test_a_page_is_written_beside_text_and_json(call, folder, capsys):
    assert main([*shlex.split(call), "--report", "page.html"]) == 0
    out, err = capsys.readouterr()
    assert err.endswith("note: the report is in 'page.html'\n")
    assert "worst pair" in out
    first = read("page.html").data
    assert main([*shlex.split(call), "--report", "page.html", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    # The page holds the numbers that JSON has, with fewer digits.
    one = found if "fit" in found else next(iter(found["evaluations"].values()))
    areas = [parts / 1e7 for parts in from_letters(first["models"][0]["pairs"]["auc"])]
    assert areas == pytest.approx(sorted(one["pairs"]["auc"]), abs=1.01e-7)
    assert read("page.html").data == first
    # Rates for the page's own fit are for the page.
    assert len(first["explorer"]["models"]) == len(first["models"])
    assert not any(key.startswith("explorer") for key in found)
    assert f"{one['auc']:.4f}" in read("page.html").text


@pytest.mark.parametrize("call", ["evaluate a.parquet", "compare a.parquet b.parquet"])
def test_decisions_are_on_the_page_where_asked_for_and_never_in_json(call, folder, capsys):
    call = [
        *shlex.split(call),
        "--target",
        "label",
        "--method",
        "bootstrap",
        "--resamples",
        "9",
        "--report",
        "page.html",
        "--json",
    ]
    assert main(call) == 0
    assert read("page.html").data["decisions"] is None
    plain = json.loads(capsys.readouterr().out)
    assert main([*call, "--include-decisions"]) == 0
    assert json.loads(capsys.readouterr().out) == plain
    page = read("page.html")
    decisions = page.data["decisions"]
    assert len(decisions["models"]) == len(page.data["models"])
    right = sum(row[place] for place, row in enumerate(decisions["models"][0]["confusion"])) / decisions["n_samples"]
    one = plain if "accuracy" in plain else plain["evaluations"]["a"]
    assert right == pytest.approx(one["accuracy"], abs=1e-12)
    assert "Cost of decisions." in page.text


def test_decisions_need_a_page_with_costs_to_change(folder, capsys):
    assert main(shlex.split("evaluate a.parquet --target label --include-decisions")) == 2
    assert "--include-decisions needs --report" in capsys.readouterr().err
    call = "evaluate a.parquet --target label --method none --structure centered --report page.html --include-decisions"
    assert main(shlex.split(call)) == 0
    said = "--include-decisions adds nothing to this page: Costs cannot be changed here with the centered structure."
    assert said in capsys.readouterr().err
    assert read("page.html").data["decisions"] is None


def test_the_page_names_its_source_seed_and_columns(folder, capsys):
    call = "evaluate a.parquet --target label --method bootstrap --resamples 9 --seed 5 --report page.htm --quiet"
    assert main(shlex.split(call)) == 0
    assert capsys.readouterr().err == ""
    text = read("page.htm").text
    assert "Source: file a.parquet" in text
    assert "Source: scores p_cat, p_dog, p_owl" in text
    assert "9, seed 5" in text


def test_without_resamples_the_page_has_no_interval(folder, capsys):
    assert main(shlex.split("evaluate a.parquet --target label --method none --report page.html")) == 0
    assert "no interval was asked for" in read("page.html").text
    assert "% interval" not in read("page.html").text


def test_warnings_are_on_the_page(folder, capsys):
    parquet.write_table(animal_table(n_samples=9), "few.parquet")
    assert (
        main(shlex.split("evaluate few.parquet --target label --method bootstrap --resamples 9 --report page.html"))
        == 0
    )
    text = read("page.html").text
    assert text.count("Classes of fewer than 10 samples: 'cat' (3)") == 1
    assert text.count("Classes of fewer than 10 samples") == 1
    assert "Read with care" in text


def test_hints_name_the_report_until_there_is_one(folder, capsys):
    call = shlex.split("evaluate a.parquet --target label --method bootstrap --resamples 9")
    main(call)
    assert "--report report.html" in capsys.readouterr().out
    main([*call, "--report", "page.html"])
    assert "--report" not in capsys.readouterr().out


WRONG = {
    "evaluate a.parquet --target label --report page.txt": "--report must end in .html, got 'page.txt'",
    "evaluate a.parquet --target label --report nowhere/page.html": "there is no folder 'nowhere'",
    "compare a.parquet b.parquet --target label --report nowhere/page.html": "there is no folder 'nowhere'",
    "demo --report taken.html": "it is a folder",
}


@pytest.mark.parametrize("call", WRONG)
def test_a_page_that_cannot_be_written_is_refused_before_the_work(call, folder, capsys, monkeypatch):
    def no(*_, **__):
        pytest.fail("worked for nothing")

    (folder / "taken.html").mkdir()
    for name in ("evaluate", "compare"):
        monkeypatch.setattr(f"polyroc.{name}", no)
    assert main(shlex.split(call)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert WRONG[call] in err


def test_a_missing_package_is_said_before_the_work(folder, capsys, monkeypatch):
    monkeypatch.setattr(_outputs, "find_spec", lambda name: None if name == "jinja2" else object())
    assert main(shlex.split("evaluate a.parquet --target label --report page.html")) == 2
    assert '--report needs jinja2: pip install "polyroc[report]"' in capsys.readouterr().err


def test_a_page_that_fails_to_be_written_ends_with_2_and_no_output(folder, capsys, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = sorted(path.name for path in folder.iterdir())
    monkeypatch.setattr(os, "replace", full)
    assert (
        main(
            shlex.split("evaluate a.parquet --target label --method bootstrap --resamples 9 --report page.html --json")
        )
        == 2
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert "'page.html' cannot be written: No space left on device" in err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_example_files_make_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example_files(tmp_path)
    call = "compare knn.csv tree.csv --target label --key id --costs costs.csv --report page.html"
    assert main(shlex.split(call)) == 0
    page = read("page.html")
    assert page.inside("td").count("20") >= 9
    assert "2 models compared on 10 classes" in page.text


def test_json_keeps_lists_on_a_line_and_reads_back():
    summary = {"a": [1, 2.5, None, "x, [y]"], "b": {"c": [[1, 2], [3]], "d": {}, "e": []}, "f": "\u2028"}
    text = as_json(summary)
    assert json.loads(text) == summary
    assert '  "a": [1, 2.5, null, "x, [y]"],\n' in text
    assert text.isascii()
    with pytest.raises(ValueError, match="Out of range"):
        as_json({"a": float("nan")})


def test_the_page_of_a_comparison_says_what_would_change_the_order(folder, capsys):
    parquet.write_table(animal_table(seed=2), "b.parquet")
    call = "compare a.parquet b.parquet --target label --method bootstrap --resamples 9 --quiet --json"
    assert main(shlex.split(call)) == 0
    assert "tipping" not in json.loads(capsys.readouterr().out)
    assert main(shlex.split(f"{call} --report page.html")) == 0
    found = json.loads(capsys.readouterr().out)
    tips = {one["statistic"]: one for one in found["tipping"]["entries"]}
    by_auc = tips["auc"]
    page = read("page.html").text
    # As a file of costs, it is what it says.
    labels = found["labels"]
    costs = [[1.0] * len(labels) for _ in labels]
    row, column = (labels.index(by_auc[key]) for key in ("true_class", "predicted_class"))
    costs[row][column] = by_auc["cost"]
    lines = [",".join(labels), *(",".join(map(str, one)) for one in costs)]
    (folder / "costs.csv").write_text("\n".join(lines))
    assert main(shlex.split(f"{call} --costs costs.csv")) == 0
    after = json.loads(capsys.readouterr().out)["evaluations"]
    assert after[by_auc["model"]]["auc"] == pytest.approx(by_auc["value"], abs=1e-6)
    assert after[by_auc["model"]]["auc"] > after[by_auc["first"]]["auc"]
    before = found["evaluations"]
    assert before[by_auc["model"]]["auc"] < before[by_auc["first"]]["auc"]
    assert f"{by_auc['model']} becomes first by D if predicting" in " ".join(page.split())
