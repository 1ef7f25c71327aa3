"""`polyroc decide`: the library's decision, rows with the predicted class, and rules that are applied later."""

import csv
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cli_files import CLASSES, animal_table, animals
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc.cli import main

Y_TRUE, SCORES = animals(150)
# costs[true, predicted]: far from its own transpose, with a gain.
COSTS = np.array([[0.0, 1, 2], [3, 0, 1], [40, 25, -1]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = animal_table(n_samples=150)
    arrow_csv.write_csv(table, "first.csv")
    parquet.write_table(table, "first.parquet")
    parquet.write_table(table.drop_columns(["label"]), "new.parquet")
    # Rows and columns in another order than the classes.
    rows = [",".join(["true", "owl", "cat", "dog"])]
    rows += [",".join([CLASSES[t], *(str(COSTS[t, j]) for j in (2, 0, 1))]) for t in (1, 2, 0)]
    (tmp_path / "costs.csv").write_text("\n".join(rows))
    return tmp_path


def run(*arguments):
    return main(["decide", *arguments])


def made(*arguments, file="first.csv"):
    return run(file, "--target", "label", "--costs", "costs.csv", *arguments)


def test_json_has_the_librarys_numbers(folder, capsys):
    assert made("--json", "--seed", "3", "--confidence-level", "0.9") == 0
    record = json.loads(capsys.readouterr().out)
    decision = polyroc.decide(Y_TRUE, SCORES, COSTS, rng=3, confidence_level=0.9)
    expected = decision.to_dict()
    assert {name: record[name] for name in expected} == expected
    assert record["source"] == {"file": "first.csv", "target": "label", "costs": "costs.csv"}
    assert (record["version"], record["warnings"], record["seed"]) == (polyroc.__version__, [], 3)


def test_text_is_the_decisions(folder, capsys):
    assert made() == 0
    assert capsys.readouterr().out == f"first.csv: 150 samples\n\n{polyroc.decide(Y_TRUE, SCORES, COSTS)}\n"


def test_out_has_the_rows_with_the_named_class(folder, capsys):
    assert made("--out", "decisions.parquet", file="first.parquet") == 0
    assert "note: the decisions are in 'decisions.parquet'" in capsys.readouterr().err
    written = parquet.read_table("decisions.parquet")
    predicted = polyroc.decide(Y_TRUE, SCORES, COSTS).predict(SCORES)
    assert written.drop_columns(["decision"]).equals(animal_table(n_samples=150))
    assert written["decision"].to_pylist() == predicted.tolist()
    assert made("--out", "decisions.csv", "--quiet") == 0
    with Path("decisions.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["decision"] for row in rows] == predicted.tolist()
    assert [float(row["p_owl"]) for row in rows] == SCORES[:, 2].tolist()


@pytest.mark.slow
def test_where_the_rule_abstains_the_cell_is_empty(folder, capsys):
    assert made("--reject-cost", "0.1", "--out", "decisions.parquet", "--rule", "bayes") == 0
    predicted = polyroc.decide(Y_TRUE, SCORES, COSTS, reject_cost=0.1, rule="bayes").predict(SCORES)
    written = parquet.read_table("decisions.parquet")["decision"]
    assert 0 < written.null_count < 150
    assert written.to_pylist() == predicted.tolist()
    assert "The rule abstains on " in capsys.readouterr().out
    assert made("--reject-cost", "0.1", "--out", "decisions.csv") == 0
    predicted = polyroc.decide(Y_TRUE, SCORES, COSTS, reject_cost=0.1).predict(SCORES)
    with Path("decisions.csv").open(newline="", encoding="utf-8") as file:
        assert [row["decision"] for row in csv.DictReader(file)] == [one or "" for one in predicted.tolist()]


@pytest.mark.parametrize("given", ["dog=0.5,owl=0.2, cat=0.3", "wide.csv", "long.csv"])
def test_prior_is_typed_or_a_file(folder, capsys, given):
    (folder / "wide.csv").write_text("owl,cat,dog\n0.2,0.3,0.5\n")
    (folder / "long.csv").write_text("class,prior\nowl,0.2\ndog,0.5\ncat,0.3\n")
    assert made("--prior", given, "--json") == 0
    expected = polyroc.decide(Y_TRUE, SCORES, COSTS, prior=[0.3, 0.5, 0.2]).to_dict()
    assert json.loads(capsys.readouterr().out)["offsets"] == expected["offsets"]


def test_groups_and_weights_are_read_as_by_evaluate(folder, capsys):
    groups, weight = np.arange(150) // 2, np.arange(150) % 3 + 1
    table = animal_table(n_samples=150).append_column("patient", pa.array(groups)).append_column("w", pa.array(weight))
    parquet.write_table(table, "more.parquet")
    assert made("--groups", "patient", "--sample-weight", "w", "--json", file="more.parquet") == 0
    expected = polyroc.decide(Y_TRUE, SCORES, COSTS, groups=groups, sample_weight=weight)
    assert json.loads(capsys.readouterr().out)["cost_interval"] == list(expected.cost_interval)


@pytest.mark.parametrize(
    "options",
    [{}, {"rule": "bayes"}, {"rule": "argmax"}, {"reject_cost": 0.3}, {"rule": "bayes", "reject_cost": 0.2}],
)
def test_a_saved_rule_names_the_same_classes_later(folder, capsys, options):
    typed = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    assert made(*typed, "--prior", "dog=0.5,owl=0.2,cat=0.3", "--save-rule", "rule.json") == 0
    # Columns in another order, and one that is no score.
    shuffled = parquet.read_table("new.parquet").select(["p_owl", "p_cat", "p_dog"]).slice(20)
    parquet.write_table(shuffled.append_column("age", pa.array(range(130))), "later.parquet")
    capsys.readouterr()
    assert run("later.parquet", "--apply", "rule.json", "--out", "decisions.parquet", "--json") == 0
    decision = polyroc.decide(Y_TRUE, SCORES, COSTS, prior=[0.3, 0.5, 0.2], **options)
    predicted = decision.predict(SCORES[20:]).tolist()
    assert parquet.read_table("decisions.parquet")["decision"].to_pylist() == predicted
    record = json.loads(capsys.readouterr().out)
    assert record["predicted"] == {name: predicted.count(name) for name in CLASSES}
    assert record["abstained"] == predicted.count(None)
    stored = json.loads((folder / "rule.json").read_text())
    assert stored["format"] == "polyroc decision 1"
    assert polyroc.Decision.from_dict(stored).to_dict() == decision.to_dict()


def test_an_applied_rule_says_what_it_named(folder, capsys):
    assert made("--save-rule", "rule.json", "--reject-cost", "0.3", "--quiet") == 0
    capsys.readouterr()
    assert run("new.parquet", "--apply", "rule.json", "--out", "predicted.csv") == 0
    predicted = polyroc.decide(Y_TRUE, SCORES, COSTS, reject_cost=0.3).predict(SCORES).tolist()
    parts = ", ".join(f"{name} {predicted.count(name)}" for name in CLASSES if predicted.count(name))
    out = capsys.readouterr().out
    assert out == f"new.parquet: 150 samples. Predicted: {parts}; no class for {predicted.count(None)}.\n"


def test_labels_of_a_text_file_stay_as_they_are_written(folder):
    y_true, scores = animals(60, classes=("01", "1"))
    rows = [
        f"{label},{a!r},{b!r},0{row}" for row, (label, (a, b)) in enumerate(zip(y_true, scores.tolist(), strict=True))
    ]
    (folder / "codes.csv").write_text("\n".join(["label,p_01,p_1,id", *rows]))
    (folder / "two.csv").write_text("01,1\n0,1\n5,0\n")
    assert run("codes.csv", "--target", "label", "--costs", "two.csv", "--out", "decisions.parquet") == 0
    written = parquet.read_table("decisions.parquet")
    assert written["label"].to_pylist() == y_true
    assert written["id"].to_pylist()[:3] == ["00", "01", "02"]
    assert set(written["decision"].to_pylist()) <= {"01", "1"}


def test_one_column_for_two_classes_is_applied_to_the_same_class(folder, capsys):
    y_true, scores = animals(80, classes=("ham", "spam"))
    arrow_csv.write_csv(pa.table({"label": y_true, "p_spam": scores[:, 1]}), "mail.csv")
    arrow_csv.write_csv(pa.table({"p_spam": scores[:, 1]}), "later.csv")
    arrow_csv.write_csv(pa.table({"p_ham": scores[:, 0]}), "other.csv")
    (folder / "two.csv").write_text("ham,spam\n0,9\n1,0\n")
    assert run("mail.csv", "--target", "label", "--costs", "two.csv", "--save-rule", "rule.json") == 0
    assert run("later.csv", "--apply", "rule.json", "--out", "predicted.parquet") == 0
    predicted = polyroc.decide(y_true, scores, [[0, 9], [1, 0]]).predict(scores)
    assert parquet.read_table("predicted.parquet")["decision"].to_pylist() == predicted.tolist()
    assert run("other.csv", "--apply", "rule.json", "--out", "predicted.parquet") == 2
    assert "the rule was made from scores of class 'spam', got column 'p_ham'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["first.csv", "--target", "label"], "decide needs --target and --costs, or --apply for a rule that"),
        (["first.csv", "--costs", "costs.csv"], "decide needs --target and --costs, or --apply for a rule that"),
        (["new.parquet", "--apply", "r.json"], "--apply needs --out, the file for the decisions"),
        (
            ["new.parquet", "--apply", "r.json", "--out", "d.csv", "--target", "label", "--reject-cost", "0"],
            "--apply uses a rule that is made already: leave out --target, --reject-cost",
        ),
        (["--out", "d.npz"], "--out must end in .parquet or .csv, got 'd.npz'"),
        (["--save-rule", "rule.pkl"], "--save-rule must end in .json, got 'rule.pkl'"),
        (["--out", "first.csv"], "--out: 'first.csv' is an input of this command"),
        (["--save-rule", "other.json"], "--save-rule: 'other.json' is there already and is not a rule that --save"),
        (["--out", "other.parquet"], "--out: 'other.parquet' is there already and is not a table of decisions that"),
        (["--out", "other.csv"], "--out: 'other.csv' is there already and is not a table of decisions that --out"),
        (["--out", "nowhere/d.csv"], "'nowhere/d.csv' cannot be written: there is no folder 'nowhere'"),
        (["--rule", "best"], "--rule must be one of 'auto', 'tuned', 'bayes', 'argmax', got 'best'."),
        (["--prior", "cat=0.5,dog=0.5"], "--prior must name each class once ('cat', 'dog', 'owl'), got 'cat', 'dog'"),
        (["--prior", "cat=0.5,dog=much"], "--prior must be a file or look like a=0.1,b=0.9, each class once, got 'dog"),
        (["--prior", "cat=0.5,dog=0.5,owl=0.5"], "--prior must sum to 1 (to within 1e-06), got a sum of 1.5."),
        (["--prior", "other.csv"], "--prior: 'other.csv' must have a header with the 3 classes"),
        (["--prior", "0.5"], "--prior must be a file or look like a=0.1,b=0.9, got '0.5': there is no such file"),
        (["--reject-cost", "inf"], "--reject-cost must be None or a number within 1e+60 of 0, got inf."),
    ],
)
def test_what_is_wrong_is_said_in_one_line_before_anything_is_written(folder, capsys, arguments, message):
    (folder / "other.json").write_text("{}")
    (folder / "other.csv").write_text("a,b\n1,2\n")
    parquet.write_table(pa.table({"a": [1]}), "other.parquet")
    before = sorted(folder.iterdir())
    if arguments[0].startswith("--"):
        arguments = ["first.csv", "--target", "label", "--costs", "costs.csv", *arguments]
    assert run(*arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"polyroc: error: {message}")
    assert sorted(folder.iterdir()) == before


def test_own_files_are_replaced_others_only_by_force(folder):
    for _ in range(2):
        assert made("--out", "d.parquet", "--save-rule", "rule.json") == 0
        assert made("--out", "d.csv") == 0
    (folder / "other.csv").write_text("a,b\n1,2\n")
    assert made("--out", "other.csv", "--force") == 0
    assert (folder / "other.csv").read_text().startswith("label,p_cat,p_dog,p_owl,decision")


def test_a_column_of_this_name_is_not_replaced(folder, capsys):
    table = animal_table(n_samples=150)
    parquet.write_table(table.append_column("decision", table["label"]), "again.parquet")
    assert made("--out", "d.csv", file="again.parquet") == 2
    assert "'again.parquet' has a column 'decision' already: rename it, or leave out --out" in capsys.readouterr().err


@pytest.fixture(scope="module")
def rule():
    """A rule as --save-rule stores it."""
    return {"format": "polyroc decision 1"} | polyroc.decide(Y_TRUE, SCORES, COSTS).to_dict()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format": "polyroc decision 9"},
            "is no rule that --save-rule wrote: its 'format' must be 'polyroc decision 1'",
        ),
        ({"offsets": [0, 1]}, "cannot be used: it must have finite numbers of shape (3,) as 'offsets', got [0, 1]."),
        ({"offsets": [0, 1, None]}, "cannot be used: it must have finite numbers of shape (3,) as 'offsets'"),
        ({"labels": ["cat", "cat", "owl"]}, "cannot be used: 'labels' must"),
        ({"labels": ["cat", 1, "owl"]}, "cannot be used: 'labels' must"),
        ({"rule": "tricky"}, "cannot be used: 'rule' must be one of"),
        ({"rules": [1]}, "cannot be used: it must have a list of dictionaries as 'rules'"),
        ({"rules": []}, "cannot be used: it must have the cost of its own rule, 'auto', among 'rules'"),
        ({"n_columns": 1}, "cannot be used: it must have 3 as 'n_columns'"),
        ({"costs": "many"}, "cannot be used: 'costs' must"),
    ],
)
def test_rules_that_were_tampered_with_are_refused(folder, capsys, rule, changes, message):
    (folder / "rule.json").write_text(json.dumps(rule))
    assert run("new.parquet", "--apply", "rule.json", "--out", "good.csv", "--quiet") == 0
    (folder / "broken.json").write_text(json.dumps(rule | changes))
    capsys.readouterr()
    assert run("new.parquet", "--apply", "broken.json", "--out", "d.csv") == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"polyroc: error: --apply: 'broken.json' {message}")
    assert not (folder / "d.csv").exists()


@pytest.mark.parametrize(
    "content", ["", "[", '{"format": NaN}', "[" * 100_000, "\udcff", '{"a": "' + "9" * 9000 + '"}']
)
def test_rules_that_are_none_are_refused(folder, capsys, content):
    (folder / "bad.json").write_bytes(content.encode("utf-8", errors="surrogateescape"))
    assert run("new.parquet", "--apply", "bad.json", "--out", "d.csv") == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("polyroc: error: --apply: 'bad.json' is ")


def test_other_classes_and_logits_are_refused(folder, capsys):
    assert made("--save-rule", "rule.json", "--quiet") == 0
    parquet.write_table(animal_table(classes=("cat", "dog", "owl", "yak")).drop_columns(["label"]), "four.parquet")
    assert run("four.parquet", "--apply", "rule.json", "--out", "d.csv") == 2
    assert "has score columns for the classes 'cat', 'dog', 'owl', 'yak', but the rule has" in capsys.readouterr().err
    parquet.write_table(pa.table({f"p_{name}": np.log(SCORES[:, j]) for j, name in enumerate(CLASSES)}), "l.parquet")
    assert run("l.parquet", "--apply", "rule.json", "--out", "d.csv") == 2
    assert "--scores must hold probabilities, as the scores did that the rule was made from" in capsys.readouterr().err


def test_names_that_a_spreadsheet_would_run_are_quoted(folder):
    table = animal_table(n_samples=150).append_column("=cmd()", pa.array(["=1+1"] * 150))
    parquet.write_table(table, "formula.parquet")
    assert made("--out", "d.csv", file="formula.parquet") == 0
    header, first, *_ = (folder / "d.csv").read_text().splitlines()
    assert header.endswith(",'=cmd(),decision")
    assert ",'=1+1," in first


@pytest.mark.slow
def test_from_a_shell_with_pipes(folder):
    polyroc_ = f"{shlex.quote(sys.executable)} -m polyroc decide"
    script = (
        f"cat first.csv | {polyroc_} - --target label --costs costs.csv --save-rule rule.json --quiet > text.txt\n"
        f"{polyroc_} - --apply rule.json --scores 'p_*' --out predicted.csv --quiet < first.csv\n"
        f"{polyroc_} first.csv --target label --costs costs.csv --out own.csv --quiet > /dev/null\n"
        "cmp predicted.csv own.csv"
    )
    done = subprocess.run(["sh", "-e", "-c", script], capture_output=True, text=True, env=os.environ, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No rule is clearly the cheapest. Bayes' rule is used" in (folder / "text.txt").read_text()
