"""One row per sample and model: split by --model-column, and never pooled without a word."""

import json

import numpy as np
import pyarrow as pa
import pytest
from cli_files import CLASSES, animals
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc.cli import main

Y_TRUE, GOOD = animals(90, seed=1)
_, OTHER = animals(90, seed=2)
POOR = 0.5 * OTHER + 0.5 / 3
MODELS = {"good": GOOD, "poor": POOR}


def long_table(order=None, with_id=True, with_model=True, column="model"):
    """The rows of both models below each other; those of the second in another order."""
    parts = []
    for name, scores in MODELS.items():
        rows = np.arange(90) if order is None or name == "good" else order
        part = {"id": rows} if with_id else {}
        part |= {column: [name] * 90} if with_model else {}
        part |= {"label": np.array(Y_TRUE)[rows]} | {f"prob_{c}": scores[rows, j] for j, c in enumerate(CLASSES)}
        parts.append(pa.table(part))
    return pa.concat_tables(parts)


@pytest.fixture
def polyroc_on(tmp_path, capsys):
    """Write a table, run a command on it; the summary and the standard error, or the error."""

    def run(command, table, *options, suffix="csv", code=0):
        path = tmp_path / f"long.{suffix}"
        (arrow_csv.write_csv if suffix == "csv" else parquet.write_table)(table, path)
        method = "none" if command == "evaluate" else "auto"
        given = [command, str(path), "--target", "label", "--method", method, "--json", *options]
        assert main(given) == code
        out, err = capsys.readouterr()
        return (json.loads(out), err) if code == 0 else err

    return run


SHUFFLED = np.random.default_rng(0).permutation(90)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("options", [[], ["--key", "id"]])
def test_the_models_of_a_column_are_compared_on_the_same_samples(polyroc_on, suffix, options):
    found, err = polyroc_on("compare", long_table(SHUFFLED), "--model-column", "model", *options, suffix=suffix)
    expected = polyroc.compare(Y_TRUE, MODELS)
    for ours, theirs in zip(found["auc"]["estimates"], expected.by_auc.estimates, strict=True):
        assert ours["model"] == theirs.model
        assert ours["value"] == pytest.approx(theirs.value, abs=1e-12)
        assert ours["standard_error"] == pytest.approx(theirs.standard_error, abs=1e-9)
    assert found["source"]["model_column"] == "model"
    assert ("matched by column 'id'" in err) == (not options)


def test_without_an_id_rows_are_matched_by_their_order(polyroc_on):
    found, _ = polyroc_on("compare", long_table(with_id=False), "--model-column", "model")
    assert found["auc"]["estimates"][1]["value"] == pytest.approx(polyroc.auc_score(Y_TRUE, POOR), abs=1e-12)
    message = polyroc_on("compare", long_table(SHUFFLED, with_id=False), "--model-column", "model", code=2)
    assert "do not match" in message
    assert "model good' and " in message
    assert "--key" in message


def in_two_ways(message, column, *, by=None):
    """Whether a message has both readings of a long file, each with what to type."""
    why = "" if by is None else f", and the rows of each '{by}' differ by it"
    several = f"can be read in two ways. If column '{column}' ('good', 'poor'{why}) holds the names of 2 models, "
    one = "if all rows are samples of one model, add `--pooled`"
    return several in message and one in message


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("column", ["model", "who", "Unnamed: 3"])
@pytest.mark.parametrize("key", ["id", "case no.", None])
def test_a_long_file_is_not_pooled(polyroc_on, column, key, suffix):
    """Pooled, it has a D between those of its models, and belongs to neither."""
    table = long_table(SHUFFLED, with_id=key is not None, column=column)
    table = table.take(np.random.default_rng(1).permutation(180))
    if key is not None:
        table = table.rename_columns([{"id": key}.get(name, name) for name in table.column_names])
    if key is None and column != "model":
        # Nothing tells.
        assert polyroc_on("evaluate", table, suffix=suffix)[0]["n_samples"] == 180
        return
    message = polyroc_on("evaluate", table, suffix=suffix, code=2)
    assert in_two_ways(message.replace("'poor', 'good'", "'good', 'poor'"), column, by=key)
    pooled, _ = polyroc_on("evaluate", table, "--pooled", suffix=suffix)
    by_hand = polyroc.auc_score([*Y_TRUE, *Y_TRUE], np.vstack([GOOD, POOR]))
    assert (pooled["n_samples"], pooled["auc"]) == (180, pytest.approx(by_hand, abs=1e-9))
    found, _ = polyroc_on("evaluate", table, "--model-column", f"{column}=poor", suffix=suffix)
    assert found["auc"] == pytest.approx(polyroc.auc_score(Y_TRUE, POOR), abs=1e-9)
    assert found["n_samples"] == 90
    assert "choose one" in polyroc_on("evaluate", table, "--model-column", column, suffix=suffix, code=2)


def test_a_long_file_of_json_lines_is_not_pooled(tmp_path, capsys):
    rows = long_table(SHUFFLED, column="who").to_pylist()
    (tmp_path / "long.jsonl").write_text("".join(f"{json.dumps(rows[row])}\n" for row in np.roll(np.arange(180), 77)))
    assert main(["evaluate", str(tmp_path / "long.jsonl"), "--target", "label", "--method", "none"]) == 2
    assert in_two_ways(capsys.readouterr().err.replace("'poor', 'good'", "'good', 'poor'"), "who", by="id")


@pytest.mark.parametrize("names", [[0, 1], [0.1, 0.7], [False, True], ["2024-05-01", "2024-06-01"]])
def test_models_may_be_numbered_or_dated(polyroc_on, names):
    table = long_table(column="run")
    run = pa.array([{"good": names[0], "poor": names[1]}[name] for name in table["run"].to_pylist()])
    table = table.set_column(1, "run", run)
    assert "holds the names of 2 models" in polyroc_on("evaluate", table, code=2)
    text = str(names[1]).lower() if isinstance(names[1], bool) else names[1]
    found, _ = polyroc_on("evaluate", table, "--model-column", f"run={text}")
    assert found["auc"] == pytest.approx(polyroc.auc_score(Y_TRUE, POOR), abs=1e-12)


def test_rows_that_a_model_lacks_do_not_hide_it(polyroc_on):
    table = long_table(SHUFFLED, column="who").slice(0, 150)
    assert in_two_ways(polyroc_on("evaluate", table, code=2), "who", by="id")


def test_the_file_of_a_comparison_is_not_pooled(polyroc_on, tmp_path):
    arrow_csv.write_csv(long_table(with_model=False).slice(0, 90), tmp_path / "one.csv")
    message = polyroc_on("compare", long_table(column="who"), str(tmp_path / "one.csv"), code=2)
    assert in_two_ways(message, "who", by="id")
    # The command has several models by itself.
    assert "choose one" not in message
    for options in ([], ["--key", "id"]):
        message = polyroc_on("compare", long_table(column="who"), *options, code=2)
        assert "alone can be compared by its column 'who': compare them, `polyroc compare" in message


def scored(n, **columns):
    """A file of one model, with other columns in front of its scores."""
    y_true, scores = animals(n, seed=3)
    return pa.table(columns | {"label": y_true} | {f"p_{name}": scores[:, j] for j, name in enumerate(CLASSES)})


CODES = np.arange(120)
ORDINARY = {
    "ids that are unique": scored(120, id=CODES, site=CODES % 4),
    "groups": scored(120, site=CODES % 4, ward=[f"w{code % 7}" for code in CODES]),
    # One row is there twice, in two splits.
    "an id that is there twice": scored(120, id=np.minimum(CODES, 118), split=["a", "b"] * 60),
    "repeated measurements": scored(120, patient=CODES // 6, device=["a", "b"] * 60),
    "patients with visits of different classes": scored(120, patient=CODES // 3, visit=CODES % 3),
    "ids that begin anew": scored(120, id=np.r_[:61, :59], split=["train"] * 61 + ["test"] * 59),
    "folds": scored(120, fold=CODES % 5, repeat=CODES // 40),
    "a score of few values": scored(120, id=CODES // 2, p_owl2=CODES % 2),
    "one model": scored(120, id=CODES, model=["knn"] * 120),
    "many names": scored(120, model=[f"m{code}" for code in CODES]),
}


@pytest.mark.parametrize("case", ORDINARY)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ordinary_files_raise_no_alarm(polyroc_on, case, suffix):
    found, _ = polyroc_on("evaluate", ORDINARY[case], "--scores", "p_cat,p_dog,p_owl", suffix=suffix)
    assert found["n_samples"] == 120
    found, _ = polyroc_on("evaluate", ORDINARY[case], suffix=suffix)
    assert found["n_samples"] == 120


def test_groups_say_that_repeated_ids_are_meant(polyroc_on):
    table = long_table(column="eye")
    assert "or `--groups id` if the rows of each 'id' form a group" in polyroc_on("evaluate", table, code=2)
    found, _ = polyroc_on("evaluate", table, "--groups", "id")
    assert found["n_samples"] == 180
    _, err = polyroc_on("evaluate", long_table(with_model=False))
    assert "note: column 'id' has 90 values in 180 rows; if these rows form groups, `--groups id` says so" in err
    # Groups of samples say nothing about models.
    table = table.append_column("patient", pa.array(np.r_[:90, :90] // 3))
    message = polyroc_on("evaluate", table, "--groups", "patient", code=2)
    assert in_two_ways(message, "eye", by="id")
    assert "`--groups" not in message
    # Called `model`, groups do not answer.
    assert in_two_ways(polyroc_on("evaluate", long_table(), "--groups", "id", code=2), "model")


@pytest.mark.parametrize("models", ["good,poor", "poor,good"])
def test_some_models_of_a_long_file_are_compared(polyroc_on, models):
    third = long_table().slice(0, 90)
    third = third.set_column(1, "model", pa.array(["third"] * 90))
    table = pa.concat_tables([third, long_table(SHUFFLED)])
    found, err = polyroc_on("compare", table, "--model-column", f"model={models}")
    names = models.split(",")
    expected = polyroc.compare(
        Y_TRUE, {name: MODELS[name] for name in names}, method="bootstrap", n_resamples=19, rng=0
    )
    assert {one["model"]: one["value"] for one in found["auc"]["estimates"]} == {
        one.model: pytest.approx(one.value, abs=1e-12) for one in expected.by_auc.estimates
    }
    assert "matched by column 'id'" in err
    message = polyroc_on("evaluate", table, "--model-column", f"model={models}", code=2)
    assert f"holds 2 models below each other, '{names[0]}', '{names[1]}'" in message
    # Only those that are named have to have a comma of their own in quotes.
    assert polyroc_on("compare", table, "--model-column", 'model="good",poor')[0]["auc"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_model_whose_name_has_a_comma(polyroc_on, suffix):
    table = long_table()
    names = pa.array([f"{name}, v2" for name in table["model"].to_pylist()])
    table = table.set_column(1, "model", names)
    expected = pytest.approx(polyroc.auc_score(Y_TRUE, POOR), abs=1e-12)
    for typed in ("model=poor, v2", 'model="poor, v2"'):
        assert polyroc_on("evaluate", table, "--model-column", typed, suffix=suffix)[0]["auc"] == expected
    assert polyroc_on("compare", table, "--model-column", 'model="poor, v2","good, v2"', suffix=suffix)[0]["auc"]


def test_ids_of_samples_of_different_classes_are_no_models(polyroc_on):
    """The two eyes of a patient: each has a class of its own."""
    table = long_table(column="eye")
    turned = pa.array([*Y_TRUE, *Y_TRUE[1:], Y_TRUE[0]])
    found, _ = polyroc_on("evaluate", table.set_column(table.column_names.index("label"), "label", turned))
    assert found["n_samples"] == 180


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--model-column", "modle"], "--model-column: no column 'modle' in .* Did you mean 'model'"),
        (["--model-column", "model=good"], "--model-column: 'model' must name at least two models, got 'good'"),
        (["--model-column", "model=good,zzz"], "--model-column: no 'zzz' in column 'model' of .* has 'good', 'poor'"),
        (["--model-column", "model=zzz,yyy"], "--model-column: no 'zzz', 'yyy' in column 'model'"),
        (["--model-column", "model="], "--model-column: no '' in column 'model'"),
        (["--model-column", "model=good,good"], "--model-column must name each model once, got 'good,good'"),
        (["--model-column", "model", "--pooled"], "--pooled takes all rows as samples of one model: leave it out"),
        (["--model-column", "model", "--common"], "--common needs --key, the column that identifies rows"),
        (["--model-column", "model", "--models", "a=x,b=y"], "--model-column takes .* got --models as well"),
    ],
)
def test_what_does_not_fit_is_refused(polyroc_on, options, expected):
    import re

    message = polyroc_on("compare", long_table(), *options, code=2)
    assert re.search(expected, message), message


def test_one_model_that_is_not_there(polyroc_on):
    message = polyroc_on("evaluate", long_table(), "--model-column", "model=best", code=2)
    assert "--model-column: no 'best' in column 'model'" in message
    one = long_table().slice(0, 90)
    assert polyroc_on("evaluate", one, "--model-column", "model")[0]["auc"] == polyroc.auc_score(Y_TRUE, GOOD)
    assert "at least two models, got 'good'" in polyroc_on("compare", one, "--model-column", "model", code=2)
