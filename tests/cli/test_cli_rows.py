"""Rows that are left out: with missing values by --drop-missing, and not in all files by --common."""

import json

import numpy as np
import pyarrow as pa
import pytest
from cli_files import CLASSES, animals
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc.cli import main

N = 90
Y_TRUE, FIRST = animals(N, seed=1)
SECOND = 0.5 * animals(N, seed=2)[1] + 0.5 / 3
LABELS = np.array(Y_TRUE)
# Rows whose values are taken away below.
NO_SCORE, NO_LABEL = [4, 7, 10], [12, 15]
LEFT = np.setdiff1d(np.arange(N), NO_SCORE + NO_LABEL)


def table_of(scores, rows=None, no_score=(), no_label=(), fill=None):
    """A table with an id; some scores and labels are null, or NaN."""
    rows = np.arange(N) if rows is None else rows
    values = scores[rows].copy()
    values[np.isin(rows, no_score), 1] = np.nan
    columns = {f"p_{name}": pa.array(values[:, j], from_pandas=fill is None) for j, name in enumerate(CLASSES)}
    label = [None if row in no_label else Y_TRUE[row] for row in rows]
    return pa.table({"id": rows, "label": pa.array(label, pa.string())} | columns)


def write(table, path):
    if path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    return str(path)


def called(capsys, command, *paths, code=0, options=()):
    resamples = {"evaluate": ["--method", "none"], "compare": ["--method", "bootstrap", "--resamples", "19"]}.get(
        command, []
    )
    assert main([command, *paths, "--target", "label", *resamples, "--json", *options]) == code
    out, err = capsys.readouterr()
    return (json.loads(out), err) if code == 0 else err


DROPPED = "5 of 90 rows with missing values: 3 of class 'dog', 2 without a class"


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_rows_with_missing_values_are_dropped_and_counted(tmp_path, capsys, suffix):
    path = write(table_of(FIRST, no_score=NO_SCORE, no_label=NO_LABEL), tmp_path / f"a.{suffix}")
    message = called(capsys, "evaluate", path, code=2)
    assert "column 'label' of" in message
    assert "got 2 of 90, the first in row 12: `--drop-missing` leaves out such rows and counts them" in message
    found, err = called(capsys, "evaluate", path, options=["--drop-missing"])
    assert found["auc"] == pytest.approx(polyroc.auc_score(LABELS[LEFT], FIRST[LEFT]), abs=1e-12)
    assert found["n_samples"] == len(LEFT)
    assert f"warning: dropped {DROPPED}\n" in err
    # Where the numbers go, this goes, too.
    assert found["warnings"] == [f"dropped {DROPPED}"]


@pytest.mark.parametrize("fill", [None, "nan"])
def test_null_and_nan_are_missing(tmp_path, capsys, fill):
    path = write(table_of(FIRST, no_score=NO_SCORE, fill=fill), tmp_path / "a.parquet")
    message = called(capsys, "evaluate", path, code=2)
    assert "column 'p_dog' of" in message
    assert "got 3 of 90, the first in row 4: `--drop-missing`" in message
    rows = np.setdiff1d(np.arange(N), NO_SCORE)
    found, _ = called(capsys, "evaluate", path, options=["--drop-missing"])
    assert found["auc"] == pytest.approx(polyroc.auc_score(LABELS[rows], FIRST[rows]), abs=1e-12)
    assert "dropped" not in called(capsys, "evaluate", write(table_of(FIRST), tmp_path / "b.csv"))[1]


def test_infinite_scores_are_not_missing(tmp_path, capsys):
    scores = FIRST.copy()
    scores[3, 0] = np.inf
    path = write(table_of(scores), tmp_path / "a.parquet")
    assert "must be finite" in called(capsys, "evaluate", path, options=["--drop-missing"], code=2)


def test_integers_that_pandas_made_floats_are_classes(tmp_path, capsys):
    """A column of integers of which one is missing."""
    codes = np.arange(N) % 3
    label = np.where(codes == 0, np.nan, codes.astype(float))
    label[codes == 0] = 0.0
    label[3] = np.nan
    for suffix, values in (("csv", pa.array(label, from_pandas=True)), ("parquet", pa.array(label))):
        table = pa.table({"label": values} | {f"p_{j}": FIRST[:, j] for j in range(3)})
        path = write(table, tmp_path / f"a.{suffix}")
        found, _ = called(capsys, "evaluate", path, options=["--drop-missing"])
        rows = np.delete(np.arange(N), 3)
        assert found["auc"] == pytest.approx(polyroc.auc_score(codes[rows], FIRST[rows]), abs=1e-12)
        assert found["labels"] == [0, 1, 2]


def test_rows_without_a_weight_or_a_group_are_missing(tmp_path, capsys):
    weight, group = np.linspace(1, 2, N), [f"g{row // 2}" for row in range(N)]
    weights = pa.array([None if row == 1 else weight[row] for row in range(N)])
    groups = pa.array([None if row == 5 else group[row] for row in range(N)])
    table = table_of(FIRST).append_column("w", weights).append_column("g", groups)
    path = write(table, tmp_path / "a.parquet")
    found, err = called(capsys, "evaluate", path, options=["--sample-weight", "w", "--groups", "g", "--drop-missing"])
    rows = np.delete(np.arange(N), [1, 5])
    expected = polyroc.auc_score(LABELS[rows], FIRST[rows], sample_weight=weight[rows])
    assert found["auc"] == pytest.approx(expected, abs=1e-12)
    assert "dropped 2 of 90 rows with missing values: 1 of class 'dog', 1 of class 'owl'" in err


@pytest.mark.parametrize(
    ("no_score", "no_label", "expected"),
    [
        (range(N), (), "--drop-missing leaves none of the 90 rows"),
        ((), range(N), "--drop-missing leaves none of the 90 rows"),
        (range(1, N, 3), (), "--drop-missing leaves no row of class 'dog': D would be about the other classes only"),
        (np.flatnonzero(LABELS != "owl"), (), "--drop-missing leaves no row of the classes 'cat', 'dog'"),
    ],
)
def test_what_leaves_no_rows_or_no_class_is_refused(tmp_path, capsys, no_score, no_label, expected):
    path = write(table_of(FIRST, no_score=list(no_score), no_label=list(no_label)), tmp_path / "a.parquet")
    assert expected in called(capsys, "evaluate", path, options=["--drop-missing"], code=2)
    other = write(table_of(SECOND), tmp_path / "b.parquet")
    assert expected in called(capsys, "compare", path, other, options=["--drop-missing"], code=2)


def same_estimates(found, rows):
    expected = polyroc.compare(
        LABELS[rows], {"a": FIRST[rows], "b": SECOND[rows]}, method="bootstrap", n_resamples=19, rng=0
    )
    for ours, theirs in zip(found["auc"]["estimates"], expected.by_auc.estimates, strict=True):
        assert ours["model"] == theirs.model
        assert ours["value"] == pytest.approx(theirs.value, abs=1e-12)
        assert ours["standard_error"] == pytest.approx(theirs.standard_error, abs=1e-9)


ORDER = np.random.default_rng(0).permutation(N)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("options", [[], ["--key", "id"]])
def test_rows_that_one_model_lacks_are_dropped_from_all(tmp_path, capsys, suffix, options):
    first = write(table_of(FIRST, no_score=[4, 7]), tmp_path / f"a.{suffix}")
    order = ORDER if options else None
    second = write(table_of(SECOND, order, no_score=[10], no_label=NO_LABEL), tmp_path / f"b.{suffix}")
    assert "`--drop-missing`" in called(capsys, "compare", first, second, options=options, code=2)
    found, err = called(capsys, "compare", first, second, options=[*options, "--drop-missing"])
    same_estimates(found, LEFT)
    dropped = "5 of 90 rows with a missing value in at least one model, for all models alike: 4 of class 'dog', 1 of"
    # Row 12 is a cat, row 15 as well.
    assert dropped.replace("4 of class 'dog', 1 of", "3 of class 'dog', 2 of class 'cat'") in err
    assert found["warnings"]


def test_models_in_columns_and_in_rows_drop_the_same_rows(tmp_path, capsys):
    first, second = table_of(FIRST, no_score=[4, 7]), table_of(SECOND, no_score=[10], no_label=NO_LABEL)
    columns = {"label": second["label"]}
    columns |= {f"a_{name}": first[f"p_{name}"] for name in CLASSES} | {f"b_{n}": second[f"p_{n}"] for n in CLASSES}
    both = write(pa.table(columns), tmp_path / "both.csv")
    found, err = called(capsys, "compare", both, options=["--models", "a=a_*,b=b_*", "--drop-missing"])
    same_estimates(found, LEFT)
    assert "dropped 5 of 90 rows with a missing value in at least one model, for all models alike" in err
    parts = [one.append_column("llm", pa.array([name] * N)) for name, one in (("a", first), ("b", second))]
    long = write(pa.concat_tables(parts), tmp_path / "long.csv")
    found, err = called(capsys, "compare", long, options=["--model-column", "llm", "--key", "id", "--drop-missing"])
    same_estimates(found, LEFT)
    assert "dropped 5 of 90 rows" in err


def test_rows_that_all_files_have_are_compared(tmp_path, capsys):
    first = write(table_of(FIRST, np.arange(80)), tmp_path / "a.csv")
    second = write(table_of(SECOND, np.flip(np.arange(10, N))), tmp_path / "b.parquet")
    message = called(capsys, "compare", first, second, options=["--key", "id"], code=2)
    assert "10 rows of" in message
    assert "`--common` compares the rows that all files have" in message
    found, err = called(capsys, "compare", first, second, options=["--key", "id", "--common"])
    same_estimates(found, np.arange(10, 80))
    assert "warning: left out by --common, because not all files have their keys: 10 rows of '" in err
    assert err.count("10 rows of '") == 2
    assert found["n_samples"] == 70


def test_common_rows_without_missing_values(tmp_path, capsys):
    first = write(table_of(FIRST, np.arange(80), no_score=[20]), tmp_path / "a.csv")
    second = write(table_of(SECOND, ORDER[ORDER > 9], no_label=[21]), tmp_path / "b.csv")
    found, err = called(capsys, "compare", first, second, options=["--key", "id", "--common", "--drop-missing"])
    same_estimates(found, np.setdiff1d(np.arange(10, 80), [20, 21]))
    assert "10 rows of '" in err
    assert "dropped 2 of 70 rows with a missing value in at least one model" in err


def test_weights_and_groups_of_the_first_file_follow_its_rows(tmp_path, capsys):
    weight, groups = np.linspace(1, 2, N), np.arange(N) // 2
    table = table_of(FIRST).append_column("w", pa.array(weight)).append_column("g", pa.array(groups))
    first = write(table, tmp_path / "a.csv")
    second = write(table_of(SECOND, ORDER[ORDER > 9]), tmp_path / "b.csv")
    given = ["--key", "id", "--common", "--sample-weight", "w", "--groups", "g"]
    found, _ = called(capsys, "compare", first, second, options=given)
    rows = np.arange(10, N)
    scores = {"a": FIRST[rows], "b": SECOND[rows]}
    expected = polyroc.compare(
        LABELS[rows], scores, sample_weight=weight[rows], groups=groups[rows], method="bootstrap", n_resamples=19, rng=0
    )
    for ours, theirs in zip(found["auc"]["estimates"], expected.by_auc.estimates, strict=True):
        assert ours["value"] == pytest.approx(theirs.value, abs=1e-12)
        assert ours["standard_error"] == pytest.approx(theirs.standard_error, abs=1e-9)


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        (np.arange(N), ["--common"], "--common needs --key, the column that identifies rows"),
        (np.arange(N), ["--common", "--key", "id", "--models", "a=p_*"], "--common matches rows of several tables"),
        (np.arange(80, N), ["--common", "--key", "id"], "--common leaves none of the 80 rows"),
        (np.r_[0:90:3, 1:90:3], ["--common", "--key", "id"], "--common leaves no row of class 'owl'"),
        (np.r_[1:81:3, 81:90], ["--common", "--key", "id"], "--common leaves no row of the classes 'cat', 'owl'"),
    ],
)
def test_common_rows_that_are_none_are_refused(tmp_path, capsys, rows, options, expected):
    first = write(table_of(FIRST, np.arange(80)), tmp_path / "a.csv")
    second = write(table_of(SECOND, rows), tmp_path / "b.csv")
    assert expected in called(capsys, "compare", first, second, options=options, code=2)


@pytest.mark.parametrize("command", ["plan", "decide"])
def test_other_commands_drop_rows_as_well(tmp_path, capsys, command):
    path = write(table_of(FIRST, no_score=NO_SCORE, no_label=NO_LABEL), tmp_path / "a.csv")
    costs = write(
        pa.table({name: 1 - np.eye(3, dtype=int)[:, j] for j, name in enumerate(CLASSES)}), tmp_path / "c.csv"
    )
    options = ["--half-width", "0.01"] if command == "plan" else ["--costs", costs, "--out", str(tmp_path / "o.csv")]
    assert "`--drop-missing`" in called(capsys, command, path, options=options, code=2)
    found, err = called(capsys, command, path, options=[*options, "--drop-missing"])
    assert DROPPED in err
    if command == "decide":
        assert found["n_samples"] == len(LEFT)
        written = arrow_csv.read_csv(tmp_path / "o.csv")
        assert written["id"].to_pylist() == LEFT.tolist()


def test_a_rule_is_applied_to_rows_without_missing_scores(tmp_path, capsys):
    whole = write(table_of(FIRST), tmp_path / "a.csv")
    costs = write(
        pa.table({name: 1 - np.eye(3, dtype=int)[:, j] for j, name in enumerate(CLASSES)}), tmp_path / "c.csv"
    )
    rule, out = str(tmp_path / "rule.json"), tmp_path / "o.csv"
    assert main(["decide", whole, "--target", "label", "--costs", costs, "--save-rule", rule]) == 0
    path = write(table_of(FIRST, no_score=NO_SCORE), tmp_path / "b.csv")
    assert main(["decide", path, "--apply", rule, "--out", str(out)]) == 2
    assert "`--drop-missing`" in capsys.readouterr().err
    assert main(["decide", path, "--apply", rule, "--out", str(out), "--drop-missing"]) == 0
    assert "dropped 3 of 90 rows with missing values" in capsys.readouterr().err
    assert arrow_csv.read_csv(out)["id"].to_pylist() == np.setdiff1d(np.arange(N), NO_SCORE).tolist()
