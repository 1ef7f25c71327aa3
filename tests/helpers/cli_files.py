"""Files for the tests of the command line: those that the examples in help and docs name, and smaller ones."""

import os
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from unittest import mock

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc.cli import main
from polyroc.cli._outputs import as_json

CLASSES = ("cat", "dog", "owl")


@cache
def help_of(*command):
    """What `polyroc COMMAND --help` prints on a terminal of the usual width."""
    with mock.patch.dict(os.environ, {"COLUMNS": "80", "NO_COLOR": "1"}), redirect_stdout(StringIO()) as printed:
        assert main([*command, "--help"]) == 0
    return printed.getvalue()


def example_files(folder):
    """predictions.parquet, knn.csv, tree.csv, both.csv, long.csv, costs.csv and rule.json, from the example.

    holed.csv lacks some scores, some.csv some rows.
    """
    example = polyroc.load_example()
    rows = {"id": np.arange(len(example.y_true)), "label": example.y_true}
    columns = {
        (prefix, model): {f"{prefix}{j}": example.scores[model][:, j] for j in range(10)}
        for prefix, model in [("p_", "logistic"), ("p_", "knn"), ("p_", "tree"), ("knn_", "knn"), ("tree_", "tree")]
    }
    parquet.write_table(pa.table(rows | columns["p_", "logistic"]), folder / "predictions.parquet")
    for model in ("knn", "tree"):
        arrow_csv.write_csv(pa.table(rows | columns["p_", model]), folder / f"{model}.csv")
    holed = {name: pa.array(values, mask=rows["id"] % 100 == 7) for name, values in columns["p_", "tree"].items()}
    arrow_csv.write_csv(pa.table(rows | holed), folder / "holed.csv")
    arrow_csv.write_csv(pa.table(rows | columns["p_", "tree"]).slice(0, 800), folder / "some.csv")
    both = rows | columns["knn_", "knn"] | columns["tree_", "tree"]
    arrow_csv.write_csv(pa.table(both), folder / "both.csv")
    models = [{"id": rows["id"], "model": [model] * len(rows["id"])} for model in ("knn", "tree")]
    parts = [pa.table(rows | one | columns["p_", one["model"][0]]) for one in models]
    arrow_csv.write_csv(pa.concat_tables(parts), folder / "long.csv")
    costs = np.where(np.arange(10) == 8, 20, 1)[:, np.newaxis] * (1 - np.eye(10, dtype=int))
    arrow_csv.write_csv(pa.table({str(j): costs[:, j] for j in range(10)}), folder / "costs.csv")
    # As --save-rule writes it: whichever command comes first, it is there.
    rule = polyroc.decide(example.y_true, example.scores["knn"], costs).to_dict()
    (folder / "rule.json").write_text(as_json({"format": "polyroc decision 1"} | rule))


def animals(n_samples=60, seed=0, classes=CLASSES):
    """True classes and probabilities."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_samples) % len(classes)
    logits = rng.normal(size=(n_samples, len(classes))) + 1.5 * np.eye(len(classes))[codes]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return [classes[code] for code in codes], scores


def animal_table(prefix="p_", classes=CLASSES, target="label", **options):
    """The same as a table with one score column per class."""
    y_true, scores = animals(classes=classes, **options)
    return pa.table({target: y_true} | {f"{prefix}{name}": scores[:, j] for j, name in enumerate(classes)})
