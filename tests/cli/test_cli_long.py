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
        resamples = "0" if command == "evaluate" else "19"
        given = [command, str(path), "--target", "label", "--resamples", resamples, "--json", *options]
        assert main(given) == code
        out, err = capsys.readouterr()
        return (json.loads(out), err) if code == 0 else err

    return run


SHUFFLED = np.random.default_rng(0).permutation(90)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("options", [[], ["--key", "id"]])
def test_the_models_of_a_column_are_compared_on_the_same_samples(polyroc_on, suffix, options):
    found, err = polyroc_on("compare", long_table(SHUFFLED), "--model-column", "model", *options, suffix=suffix)
    expected = polyroc.compare(Y_TRUE, MODELS, n_resamples=19, rng=0)
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


@pytest.mark.parametrize("column", ["model", "who"])
def test_a_long_file_is_not_pooled(polyroc_on, column):
    """Pooled, it has a D between those of its models, and belongs to neither."""
    message = polyroc_on("evaluate", long_table(column=column), code=2)
    assert "holds 2 models below each other, 'good', 'poor'" in message
    assert f"choose one, --model-column {column}=good, or compare them" in message
    # Called `model`, groups would be refused as well: no advice that does not help.
    is_meant = "If the rows are different samples, say so: --groups id"
    assert (is_meant in message) == (column == "who")
    code = 0 if column == "who" else 2
    again = polyroc_on("evaluate", long_table(column=column), "--groups", "id", code=code)
    assert column == "who" or "holds 2 models below each other" in again
    found, _ = polyroc_on("evaluate", long_table(column=column), "--model-column", f"{column}=poor")
    assert found["auc"] == pytest.approx(polyroc.auc_score(Y_TRUE, POOR), abs=1e-12)
    assert found["n_samples"] == 90
    assert "choose one" in polyroc_on("evaluate", long_table(column=column), "--model-column", column, code=2)
    assert f"--model-column {column}" in polyroc_on("compare", long_table(column=column), "--key", "id", code=2)


def test_a_long_file_without_ids_is_recognised_by_its_column_of_models(polyroc_on):
    message = polyroc_on("evaluate", long_table(with_id=False), code=2)
    assert "holds 2 models below each other, 'good', 'poor'" in message
    # Other samples for each: that may be meant, and is said.
    found, err = polyroc_on("evaluate", long_table(SHUFFLED, with_id=False))
    assert found["n_samples"] == 180
    assert "note: all rows are taken together; if column 'model' names their models, --model-column model" in err


def test_groups_say_that_repeated_ids_are_meant(polyroc_on):
    found, _ = polyroc_on("evaluate", long_table(column="eye"), "--groups", "id")
    assert found["n_samples"] == 180
    _, err = polyroc_on("evaluate", long_table(with_model=False))
    assert "note: column 'id' has 90 values in 180 rows; if these rows form groups, --groups id says so" in err


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
        (["--model-column", "model=good"], "--model-column must name a column alone"),
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
