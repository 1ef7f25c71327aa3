"""The commands from arguments to exit code: numbers as the library gives them, and each stream its own."""

import csv
import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cli_files import animal_table, animals, example_files
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc import cli
from polyroc._lib import numbers as _numbers
from polyroc.cli import main
from polyroc.cli._models import model_names
from polyroc.evaluation._uncertainty import Uncertainty

Y_TRUE, SCORES = animals()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(animal_table(), "animals.parquet")
    return tmp_path


@pytest.fixture
def two_files(folder):
    """The same samples by two models, the second in another order and without the first's weights."""
    keyed = animal_table().append_column("id", pa.array(np.arange(60)))
    arrow_csv.write_csv(keyed.append_column("w", pa.array(np.arange(60) % 3 + 1.0)), "first.csv")
    other = keyed
    for j, name in enumerate(("p_cat", "p_dog", "p_owl")):
        other = other.set_column(j + 1, name, pa.array((1 - SCORES[:, (j + 1) % 3]) / 2))
    arrow_csv.write_csv(other.take(pa.array(np.arange(60)[::-1])), "second.csv")
    arrow_csv.write_csv(other, "same_order.csv")
    return folder


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False, **options
    )


def test_json_is_all_there_is_on_stdout_and_has_the_librarys_numbers(folder, capsys):
    assert (
        main(
            [
                "evaluate",
                "animals.parquet",
                "--target",
                "label",
                "--method",
                "bootstrap",
                "--resamples",
                "99",
                "--seed",
                "3",
                "--json",
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    found = json.loads(out)
    evaluation = polyroc.evaluate(Y_TRUE, SCORES, rng=3)
    drawn = evaluation.bootstrap(99, rng=3)
    low, high = drawn.confidence_interval()
    assert err == ""
    assert found["auc"] == evaluation.auc
    assert found["hand_till"] == evaluation.hand_till
    assert (found["confidence_interval"]["low"], found["confidence_interval"]["high"]) == (low, high)
    assert found["confidence_interval"]["level"] == 0.95
    assert found["confidence_interval"]["method"] == "bootstrap"
    assert found["hand_till_interval"]["low"] == drawn.confidence_interval(statistic="hand_till").low
    assert found["n_samples"] == 60
    assert found["class_counts"] == [20, 20, 20]
    assert found["pairs"]["auc"] == evaluation.pairs.auc.tolist()
    assert found["fit"]["status"] == "converged"
    assert found["options"]["weighting"] == "equal"
    assert (found["n_resamples"], found["seed"], found["version"]) == (99, 3, polyroc.__version__)


def test_options_reach_the_library(folder, capsys):
    call = "evaluate animals.parquet --target label --method none --json --weighting prevalence --thresholds shared "
    assert (
        main([*call.split(), "--n-thresholds", "49", "--shrinkage", "2", "--max-pairs", "4", "--engine", "numpy"]) == 0
    )
    options = {"weighting": "prevalence", "thresholds": "shared", "n_thresholds": 49, "shrinkage": 2.0}
    found = json.loads(capsys.readouterr().out)
    expected = polyroc.evaluate(Y_TRUE, SCORES, max_pairs=4, engine="numpy", **options)
    assert found["auc"] == expected.auc
    assert found["options"] == expected.fitted.options.to_dict()
    assert found["confidence_interval"] is None
    assert found["n_resamples"] == 0


def test_the_partial_area_is_told_where_it_is_asked_for(folder, capsys):
    call = [
        "evaluate",
        "animals.parquet",
        "--target",
        "label",
        "--method",
        "bootstrap",
        "--resamples",
        "49",
        "--max-fpr",
        "0.2",
    ]
    assert main([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["partial_auc"]
    evaluation = polyroc.evaluate(Y_TRUE, SCORES)
    low, high = evaluation.bootstrap(49, rng=0).confidence_interval(statistic="partial_auc", max_fpr=0.2)
    assert found == {"max_fpr": 0.2, "value": evaluation.partial_auc(0.2), "low": low, "high": high}
    assert main(call) == 0
    expected = rf"^partial area +{found['value']:.4f} +\[{low:.4f}, {high:.4f}\] +area of D's curve, FPR up to 0\.2"
    assert re.search(expected, capsys.readouterr().out, re.MULTILINE)
    assert main([*call[:4], "--method", "none", "--max-fpr", "0.2"]) == 0
    assert re.search(rf"^partial area +{found['value']:.4f} +area of D's", capsys.readouterr().out, re.MULTILINE)


def test_models_are_compared_by_the_partial_area_where_it_is_asked_for(two_files, capsys):
    call = [
        "compare",
        "first.csv",
        "second.csv",
        "--target",
        "label",
        "--key",
        "id",
        "--method",
        "bootstrap",
        "--resamples",
        "49",
    ]
    asked = [*call, "--scores", "p_*", "--max-fpr", "0.2"]
    assert main([*asked, "--json", "--out", "differences.csv"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["max_fpr"] == 0.2
    [difference] = found["partial_auc"]["differences"]
    assert "partial_auc" in Path("differences.csv").read_text(encoding="utf-8")
    assert found["tied_with_best"] == found["auc"]["ranks"]["tied_with_best"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "partial area, FPR up to 0.2" in out
    assert f"{difference['value']:+.4f}" in out


def test_text_says_both_statistics_the_worst_pairs_and_what_is_next(folder, capsys):
    assert main(["evaluate", "animals.parquet", "--target", "label", "--method", "bootstrap", "--resamples", "99"]) == 0
    out = capsys.readouterr().out
    evaluation = polyroc.evaluate(Y_TRUE, SCORES)
    low, high = evaluation.confidence_interval(method="bootstrap", n_resamples=99, rng=0)
    assert re.search(rf"^D +{evaluation.auc:.4f} +\[{low:.4f}, {high:.4f}\]", out, re.MULTILINE)
    assert re.search(rf"^M +{evaluation.hand_till:.4f} +\[", out, re.MULTILINE)
    worst = evaluation.pairs.auc.argmin()
    row = f"{evaluation.pairs.positive[worst]} +{evaluation.pairs.negative[worst]} +{evaluation.pairs.auc[worst]:.4f}"
    assert re.search(rf"class +against.*\n{row}", out)
    assert "\nNext\n" in out
    assert "--plot curve.png" in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_hints_repeat_the_options_that_change_the_number(tmp_path, capsys):
    """Typed without them, what comes next would give another D, or none."""
    example_files(tmp_path)
    path = tmp_path / "predictions.parquet"
    given = ["--scores", "p_*", "--weighting", "prevalence", "--costs", str(tmp_path / "costs.csv"), "--groups", "id"]
    assert main(["evaluate", str(path), "--target", "label", "--method", "none", *given]) == 0
    hints = capsys.readouterr().out.partition("\nNext\n")[2].splitlines()
    calls = [shlex.split(hint.partition("polyroc ")[2]) for hint in hints if "polyroc " in hint]
    assert [call[0] for call in calls] == 4 * ["evaluate"] + ["compare"]
    for call in calls:
        options = call[3 if call[0] == "compare" else 2 :]
        assert (
            dict(zip(options[::2], options[1::2], strict=False)).items()
            >= dict(zip(given[::2], given[1::2], strict=True)).items()
        )
    # As it stands, with the name of a file for OTHER.
    other = path.with_name("other.parquet")
    other.write_bytes(path.read_bytes())
    rival = [str(other) if word == "OTHER" else word for word in calls[-1]]
    assert main([*rival, "--method", "bootstrap", "--resamples", "19"]) == 0
    assert "D and M are the same for all models" in capsys.readouterr().out


def test_quiet_leaves_notes_and_hints_out_but_not_warnings(folder, capsys):
    parquet.write_table(animal_table(n_samples=9).append_column("fold", pa.array(range(9))), "few.parquet")
    call = ["evaluate", "few.parquet", "--target", "label", "--method", "bootstrap", "--resamples", "9"]
    assert main(call) == 0
    loud = capsys.readouterr()
    assert main([*call, "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert "note: not used as scores: 'fold'\n" in loud.err
    assert "warning: Classes of fewer than 10 samples: 'cat' (3)" in loud.err
    assert "Next" in loud.out
    assert quiet.err == loud.err.replace("note: not used as scores: 'fold'\n", "")
    assert loud.out.startswith(quiet.out)
    assert "Next" not in quiet.out


def write_scores(name, scores):
    table = animal_table()
    for j, column in enumerate(("p_cat", "p_dog", "p_owl")):
        table = table.set_column(j + 1, column, pa.array(scores[:, j]))
    parquet.write_table(table, name)


def test_logits_are_noticed_once(folder, capsys):
    logits = np.log(SCORES) + np.random.default_rng(0).normal(size=(60, 1))
    for name, scores in (("raw", logits), ("more", 2 * logits)):
        write_scores(f"{name}.parquet", scores)
    main(["evaluate", "raw.parquet", "--target", "label", "--method", "none"])
    assert "the scores of 'raw.parquet' go from " in capsys.readouterr().err
    main(["compare", "raw.parquet", "more.parquet", "--target", "label", "--method", "bootstrap", "--resamples", "9"])
    [note] = [line for line in capsys.readouterr().err.splitlines() if "go from" in line]
    low, high = 2 * logits.min(), 2 * logits.max()
    assert f"the scores of models 'raw', 'more' go from {low:.3g} to {high:.3g}, so they are not probabilities" in note
    main(["evaluate", "animals.parquet", "--target", "label", "--method", "none"])
    assert capsys.readouterr().err == ""


def test_log_probabilities_are_noticed_with_differences_of_columns_only(folder, capsys):
    write_scores("logs.parquet", np.log(SCORES))
    evaluate = ["evaluate", "logs.parquet", "--target", "label", "--method", "none"]
    main(evaluate)
    assert capsys.readouterr().err == ""
    main([*evaluate, "--thresholds", "difference"])
    assert "the scores of 'logs.parquet' are log probabilities. Their differences rank" in capsys.readouterr().err


def test_percentages_are_no_logits(folder, capsys):
    """They have the D of probabilities, and a softmax of them would not."""
    shares = SCORES / SCORES.sum(axis=1, keepdims=True)
    table = animal_table()
    for j, name in enumerate(("p_cat", "p_dog", "p_owl")):
        table = table.set_column(j + 1, name, pa.array(100 * shares[:, j]))
    parquet.write_table(table, "percent.parquet")
    main(["evaluate", "percent.parquet", "--target", "label", "--method", "none"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["evaluate animals.parquet", "compare animals.parquet animals.parquet"])
def test_resamples_and_seeds_need_a_method_that_draws(folder, capsys, command):
    call = [*shlex.split(command), "--target", "label", "--json"]
    for option, method in (("--resamples", "auto"), ("--seed", "auto"), ("--resamples", "influence")):
        assert main([*call, "--method", method, option, "9"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"polyroc: error: {option} needs a method that draws: pass --method bootstrap (")
        assert f"(--method {method} " in said
    assert main([*call, "--method", "bootstrap", "--resamples", "9"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_resamples"], found["seed"], found["method"]) == (9, 0, "bootstrap")


def test_the_seed_is_also_that_of_a_sample_of_the_pairs(folder, capsys):
    call = ["evaluate", "animals.parquet", "--target", "label", "--max-pairs", "4", "--method", "none", "--json"]
    assert main([*call, "--seed", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = polyroc.evaluate(Y_TRUE, SCORES, labels=["cat", "dog", "owl"], max_pairs=4, rng=3)
    assert found["auc"] == expected.auc


def test_the_number_of_resamples_stands_in_every_output(two_files, capsys):
    call = [
        "compare",
        "first.csv",
        "second.csv",
        "--target",
        "label",
        "--key",
        "id",
        "--method",
        "bootstrap",
        "--resamples",
        "39",
        "--seed",
        "4",
    ]
    assert main([*call, "--out", "table.csv", "--report", "page.html"]) == 0
    assert "39 paired resamples (seed 4)" in " ".join(capsys.readouterr().out.split())
    with Path("table.csv").open(newline="") as file:
        assert {(row["n_resamples"], row["seed"]) for row in csv.DictReader(file)} == {("39", "4")}
    assert re.search(r"39[^<]*seed 4", Path("page.html").read_text(encoding="utf-8"))
    assert main([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_resamples"], found["seed"]) == (39, 4)
    assert (
        main(
            [
                "evaluate",
                "first.csv",
                "--target",
                "label",
                "--scores",
                "p_*",
                "--method",
                "bootstrap",
                "--resamples",
                "39",
                "--seed",
                "4",
            ]
        )
        == 0
    )
    assert "39 resamples (seed 4)" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["evaluate animals.parquet --target label", "demo"])
@pytest.mark.parametrize("count", ["-3", "1", "20000000"])
def test_the_rule_for_resamples_is_the_true_one(folder, capsys, command, count):
    assert main([*command.split(), "--method", "bootstrap", "--resamples", count]) == 2
    expected = f"--resamples must be an integer from 2 to 10,000,000, got {count}."
    assert capsys.readouterr().err == f"polyroc: error: {expected}\n"


def test_the_next_command_has_the_real_column(folder, capsys):
    assert main(["evaluate", "animals.parquet", "--target", "label", "--method", "none"]) == 0
    assert "polyroc compare animals.parquet OTHER --target label\n" in capsys.readouterr().out


def test_compare_by_key_gives_the_librarys_numbers(two_files, capsys):
    call = ["compare", "first.csv", "second.csv", "--target", "label", "--key", "id", "--sample-weight", "w"]
    assert main([*call, "--method", "bootstrap", "--resamples", "99", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    scores = {"first": SCORES, "second": (1 - SCORES[:, [1, 2, 0]]) / 2}
    weight = np.arange(60) % 3 + 1.0
    expected = polyroc.compare(
        Y_TRUE, scores, method="bootstrap", n_resamples=99, rng=0, sample_weight=weight, labels=["cat", "dog", "owl"]
    )
    assert err == ""
    assert found["models"] == ["first", "second"]
    [difference] = found["auc"]["differences"]
    assert difference["value"] == pytest.approx(expected.by_auc.differences[0].value, abs=1e-12)
    assert difference["p_value"] == pytest.approx(expected.by_auc.differences[0].p_value, rel=1e-6)
    assert difference["p_value_holm"] == difference["p_value"]
    assert found["hand_till"]["rankings"][0]["probability"] == expected.by_hand_till.rankings[0].probability


def test_compare_in_the_same_order_and_from_one_file_agree(two_files, capsys):
    both = pa.table({"label": Y_TRUE} | {f"a_{c}": SCORES[:, j] for j, c in enumerate(("cat", "dog", "owl"))})
    for j, c in enumerate(("cat", "dog", "owl")):
        both = both.append_column(f"b_{c}", pa.array((1 - SCORES[:, (j + 1) % 3]) / 2))
    parquet.write_table(both, "both.parquet")
    found = []
    for call in (
        ["compare", "first.csv", "same_order.csv"],
        ["compare", "both.parquet", "--models", "first=a_*,same_order=b_*"],
    ):
        assert main([*call, "--target", "label", "--method", "bootstrap", "--resamples", "29", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["auc"] == found[1]["auc"]
    assert found[0]["hand_till"] == found[1]["hand_till"]


def test_compare_prints_differences_p_values_and_rankings_by_both(two_files, capsys):
    call = [
        "compare",
        "first.csv",
        "second.csv",
        "--target",
        "label",
        "--key",
        "id",
        "--method",
        "bootstrap",
        "--resamples",
        "99",
    ]
    assert main([*call, "--out", "table.csv"]) == 0
    out = capsys.readouterr().out
    for title in ("difference", "p (Holm)", "share of resamples", "accuracy", "worst pair"):
        assert title in out
    assert "first > second" in out
    table = arrow_csv.read_csv("table.csv").to_pylist()
    assert [row["statistic"] for row in table] == ["auc", "hand_till"]
    assert f"{table[0]['value']:+.4f}" in out
    assert _numbers.p_value(table[1]["p_value"], 99) in out


def changed(table, column, row, value):
    values = table[column].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values))


KEYED = animal_table().append_column("id", pa.array(np.arange(60)))
MISMATCHES = {
    "fewer rows": (KEYED.slice(0, 50), [], "have 60 and 50 rows; if their rows are in another order"),
    "other target": (changed(KEYED, "label", 7, "cat"), [], "have targets 'dog' and 'cat' in row 7"),
    "missing key": (KEYED.slice(0, 58), ["--key", "id"], "2 rows of 'a.parquet' not in 'b.parquet', by key '58', '59'"),
    "extra key": (
        pa.concat_tables([KEYED, changed(KEYED.slice(0, 1), "id", 0, 99)]),
        ["--key", "id"],
        "1 row of 'b.parquet' not in 'a.parquet', by key '99'",
    ),
    "key twice": (changed(KEYED, "id", 1, 0), ["--key", "id"], "'b.parquet' has '0' more than once in column 'id'"),
    "no key": (KEYED, ["--key", "ids"], "no column 'ids' in 'a.parquet'. Did you mean 'id'"),
    "target by key": (changed(KEYED, "label", 7, "cat"), ["--key", "id"], "'dog' and 'cat' in the row of key '7'"),
    "other classes": (
        KEYED.append_column("p_fox", pa.array(np.ones(60))),
        ["--key", "id"],
        "model 'b' has scores for 'cat', 'dog', 'owl', 'fox', but the first model for 'cat', 'dog', 'owl'",
    ),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_files_whose_rows_do_not_match_are_refused(case, folder, capsys):
    other, options, message = MISMATCHES[case]
    parquet.write_table(KEYED, "a.parquet")
    parquet.write_table(other, "b.parquet")
    assert main(["compare", "a.parquet", "b.parquet", "--target", "label", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_keys_of_different_types_are_matched_as_text(folder, capsys):
    parquet.write_table(KEYED, "a.parquet")
    texts = KEYED.set_column(4, "id", KEYED["id"].cast(pa.string()))
    parquet.write_table(texts.take(pa.array(np.arange(60)[::-1])), "b.parquet")
    assert (
        main(shlex.split("compare a.parquet b.parquet --target label --key id --method bootstrap --resamples 9 --json"))
        == 0
    )
    assert json.loads(capsys.readouterr().out)["auc"]["differences"][0]["value"] == 0


WRONG_CALLS = {
    "compare animals.parquet --target label": "compare needs two files",
    "compare - - --target label": "can be read only once",
    "compare a b --target label --models x=a,y=b": "one file, got 2 files",
    "compare animals.parquet --target label --models x=p_* --scores p_*": "got --scores as well",
    "compare animals.parquet --target label --models x=p_*": "at least two models",
    "compare animals.parquet --target label --models p_*,q_*": "must read like 'knn=knn_*,tree=tree_*', got 'p_*'",
    "compare animals.parquet --target label --models x=p_*,x=p_*": "names 'x' twice",
    "compare animals.parquet animals.parquet --target label --method none": "compare needs a method",
    "evaluate": "Missing",
    "evaluate animals.parquet": "Missing option '--target'. Try 'polyroc evaluate --help'",
    "evaluate animals.parquet --target label --bogus": "No such option",
    "evaluat animals.parquet": "No such command 'evaluat'",
    "evaluate animals.parquet --target label --plot curve.gif": "--plot must end in .png, .svg or .pdf",
    "evaluate animals.parquet --target label --plot nowhere/curve.png": "there is no folder 'nowhere'",
    "compare animals.parquet animals.parquet --target label --out .": "it is a folder",
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_wrong_calls_end_with_2_and_one_line(call, folder, capsys):
    assert main(call.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("polyroc: error: ")
    assert err.count("\n") == 1
    assert WRONG_CALLS[call] in err


def test_files_of_the_same_name_make_distinct_models():
    assert model_names(["a.csv", "b.csv"]) == ["a", "b"]
    assert model_names(["a.csv", "a.parquet"]) == ["a.csv", "a.parquet"]
    assert model_names(["x/a.csv", "y/a.csv"]) == [str(x) for x in ("x/a.csv", "y/a.csv")]
    assert model_names(["a.csv", "a.csv"]) == ["a (1)", "a (2)"]
    assert model_names(["-", "b.csv"]) == ["stdin", "b"]


def test_version_and_demo(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"polyroc {polyroc.__version__}\n"
    assert main(["demo", "--method", "bootstrap", "--resamples", "29"]) == 0
    assert "logistic > knn > tree" in capsys.readouterr().out


def test_no_arguments_show_the_help(capsys):
    assert main([]) == 2
    assert "evaluate" in capsys.readouterr().out


def test_debug_shows_where_and_without_it_there_is_one_line(folder, capsys, monkeypatch):
    def broken(*_, **__):
        msg = "not a\nnumber"
        raise ZeroDivisionError(msg)

    monkeypatch.setattr(polyroc, "evaluate", broken)
    call = ["evaluate", "animals.parquet", "--target", "label"]
    assert main(call) == 1
    err = capsys.readouterr().err
    expected = "unexpected ZeroDivisionError: not a?number. This is a bug of polyroc; --debug shows where."
    assert err == f"polyroc: error: {expected}\n"
    assert main([*call, "--debug"]) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "in broken" in err
    assert main(["evaluate", "nowhere.csv", "--target", "label", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.slow
def test_the_shell_completes_commands(tmp_path):
    environment = {**os.environ, "_POLYROC_COMPLETE": "complete_bash", "COMP_WORDS": "polyroc ev", "COMP_CWORD": "1"}
    done = python("-m", "polyroc", env=environment)
    assert (done.returncode, done.stdout.strip()) == (0, "evaluate")


def test_an_interrupt_ends_with_130(folder, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(polyroc, "evaluate", interrupted)
    assert main(["evaluate", "animals.parquet", "--target", "label"]) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err.strip() == "polyroc: interrupted"


@pytest.mark.slow
@pytest.mark.threads
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_ends_a_process_with_130(tmp_path):
    example_files(tmp_path)
    # So many resamples that it cannot be done before the signal comes.
    call = shlex.split(
        "evaluate predictions.parquet --target label --method bootstrap --resamples 99999 --engine numpy --jobs 1"
    )
    # Loaded before: an extension module that is interrupted while it is loaded may forget that it was.
    code = "import sys, pyarrow.parquet, pyarrow.compute, typer, polyroc.cli._commands, polyroc.cli._formats; "
    # Ignored by whatever is started in the background.
    code += "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    # Ready at the second block of resamples.
    code += "from polyroc._uncertainty.units import ResamplingPlan as Plan; weights, starts = Plan.weights, []; "
    code += "Plan.weights = lambda plan, start, stop: (starts.append(start), len(starts) == 2 and "
    code += "print('ready', flush=True), weights(plan, start, stop))[2]; "
    code += f"sys.exit(polyroc.cli.main({call}))"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "note: not used as scores: 'id'\n\npolyroc: interrupted"


@pytest.mark.slow
def test_module_and_console_script_are_the_same_program(folder):
    call = ["evaluate", "animals.parquet", "--target", "label", "--method", "none", "--json"]
    by_module = python("-W", "error", "-m", "polyroc", *call)
    assert by_module.returncode == 0, by_module.stderr
    assert by_module.stderr == ""
    assert json.loads(by_module.stdout)["n_samples"] == 60
    by_script = python("-c", "from polyroc.cli import run; run()", *call)
    assert by_script.stdout == by_module.stdout
    failed = python("-m", "polyroc", "evaluate", "nowhere.csv", "--target", "label")
    assert failed.returncode == 2
    assert failed.stderr == "polyroc: error: 'nowhere.csv' is not there\n"


def test_the_console_script_is_declared():
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = project["project"]["scripts"]["polyroc"].partition(":")
    assert getattr(importlib.import_module(module), name) is cli.run


def test_without_typer_one_line_says_what_to_install():
    code = """
import sys
class Without:
    def find_spec(self, name, *args):
        if name.partition(".")[0] == "typer":
            raise ModuleNotFoundError("No module named 'typer'", name="typer")
sys.meta_path.insert(0, Without())
from polyroc.cli import run
run()
"""
    done = python("-c", code)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == 'polyroc: error: the command line needs typer: pip install "polyroc[cli]"\n'


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_a_reader_that_stops_reading_is_no_error(folder):
    code = "import sys; from polyroc.cli import main; sys.exit(main(sys.argv[1:]))"
    call = ["evaluate", "animals.parquet", "--target", "label", "--method", "none", "--json"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", code, *call], stdout=write, stderr=subprocess.PIPE, text=True, timeout=300, check=False
    )
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == ""


def test_help_names_no_package_that_import_polyroc_would_load():
    code = "import sys, polyroc; print(sorted({'typer', 'rich', 'pyarrow', 'click'} & set(sys.modules)))"
    assert python("-c", code).stdout == "[]\n"


def test_bars_are_for_terminals_only(folder, monkeypatch):
    shown = []
    original = Uncertainty.resampled

    def drawn(self, count, units, seed, n_jobs, progress, **options):
        shown.append(progress)
        return original(self, count, units, seed, n_jobs, False, **options)

    monkeypatch.setattr(Uncertainty, "resampled", drawn)
    call = ["evaluate", "animals.parquet", "--target", "label", "--method", "bootstrap", "--resamples", "9"]
    main(call)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for options in ([], ["--quiet"], ["--json"]):
        main([*call, *options])
    assert shown == [False, True, False, False]


def test_main_reads_the_arguments_of_the_process(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["polyroc", "--version"])
    with pytest.raises(SystemExit) as end:
        cli.run()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("polyroc ")


def test_thresholds_on_differences_show_auc_mu_with_its_interval(folder, capsys):
    call = [
        "evaluate",
        "animals.parquet",
        "--target",
        "label",
        "--method",
        "bootstrap",
        "--resamples",
        "99",
        "--thresholds",
        "difference",
    ]
    assert main(call) == 0
    out = capsys.readouterr().out
    evaluation = polyroc.evaluate(Y_TRUE, SCORES, thresholds="difference")
    drawn = evaluation.bootstrap(99, rng=0)
    for name, value, statistic in (
        ("D", evaluation.auc, "auc"),
        ("AUCmu", polyroc.baselines.auc_mu(Y_TRUE, SCORES), "mean_auc"),
        ("M", polyroc.baselines.hand_till(Y_TRUE, SCORES), "hand_till"),
    ):
        low, high = drawn.confidence_interval(statistic=statistic)
        assert re.search(rf"^{name} +{value:.4f} +\[{low:.4f}, {high:.4f}\]", out, re.MULTILINE)
