"""Write the JSON schemas of what `--json` prints into docs/_extra/schemas, from outputs of many commands.

python scripts/schemas.py; tests/around/test_schemas.py tests them against other outputs.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc.cli import main as cli

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_extra" / "schemas"
CLASSES = ("cat", "dog", "owl")
COMMANDS = {
    "evaluate": (
        "evaluate one.csv --target label",
        "evaluate one.csv --target label --method none",
        "evaluate one.csv --target label --method bootstrap --resamples 29 --seed 1 --measures --max-fpr 0.2",
        "evaluate one.csv --target label --costs costs.csv --groups group",
        "evaluate two.csv --target label --measures",
        # One column of scores: nothing says which class is predicted.
        "evaluate single.csv --target label",
        "evaluate both.parquet --target label --scores a_* --stream --measures",
        "evaluate both.parquet --target label --scores a_* --stream --method none",
    ),
    "compare": (
        "compare one.csv other.csv --target label",
        "compare one.csv other.csv --target label --method bootstrap --resamples 29 --measures --max-fpr 0.2",
        "compare one.csv other.csv --target label --costs costs.csv --groups group",
        # Of two classes there are no pairs to draw; and one model is the best, or none is.
        "compare two.csv weak.csv --target label",
        "compare one.csv other.csv --target label --report report.html --force",
        "compare both.parquet --target label --models a=a_*,b=b_* --stream",
        "demo",
    ),
    "plan": (
        "plan one.csv --target label --half-width 0.02",
        "plan one.csv other.csv --target label --detect 0.05 --power 0.9",
    ),
    "decide": (
        "decide one.csv --target label --costs costs.csv",
        "decide one.csv --target label --costs costs.csv --rule bayes",
        "decide one.csv --target label --costs costs.csv --rule argmax --save-rule rule.json --force",
        "decide one.csv --target label --costs costs.csv --reject-cost 0.3",
    ),
    "decide-apply": ("decide other.csv --apply rule.json --out decided.csv --force",),
}
WHAT = {
    "auc": "D: a number for one model; estimates, differences and rankings by D for several",
    "hand_till": "M, Hand and Till's (scikit-learn's ovo); as for auc",
    "mean_auc": "area under the mean curve: M, unless there are costs, weights or shared thresholds",
    "confidence_interval": "of D; null without intervals",
    "hand_till_interval": "of M; null without intervals",
    "accuracy": "share of samples whose highest column is their class; accuracy_note says why it is null",
    "worst_pair": "the ordered pair of classes with the smallest area",
    "notes": "what contradicts the numbers, one sentence each: read them to people",
    "warnings": "what was wrong with the input or the computation",
    "best": "the model that is significantly better than every other by D and by M; null if there is none",
    "tied_with_best": "models that may be the best by D",
    "verdict": "what to do, as text",
    "advice": "what to do next",
    "method": "how intervals were made: influence, bootstrap, or null",
    "version": "of polyroc",
    "cost": "expected cost per sample of the rule; cross-fitted if it was tuned",
    "cost_interval": "of cost",
}
# A class may be text or a number, whatever the samples of this script show.
_OF_CLASSES = {
    "labels",
    "label",
    "positive",
    "negative",
    "hardest_partner",
    "mistaken_for",
    "true_class",
    "predicted_class",
    "label_next",
}
# What has one of these among its keys has a key for each model or class, which are others elsewhere.
_NAMES = {"one", "other", *CLASSES}
_KINDS = {bool: "boolean", str: "string", type(None): "null", list: "array", dict: "object"}


def schema_of(values, depth=2):
    """A schema that fits all of the values; below `depth` it says only which kind they are."""
    kinds = sorted({_KINDS.get(type(value), "number") for value in values})
    found = {"type": kinds[0] if len(kinds) == 1 else kinds}
    objects = [value for value in values if isinstance(value, dict)]
    if objects and depth:
        names = dict.fromkeys(name for one in objects for name in one)
        found["properties"] = {
            name: {} if name in _OF_CLASSES else schema_of([one[name] for one in objects if name in one], depth - 1)
            for name in names
        }
        if everywhere := sorted(name for name in names if all(name in one for one in objects)):
            found["required"] = everywhere
    return found


def schema_for(command, outputs):
    found = schema_of(outputs)
    for name, entry in found["properties"].items():
        if set(entry.get("properties", {})) & _NAMES:
            entry.pop("properties")
            entry.pop("required", None)
        if name in WHAT:
            entry["description"] = WHAT[name]
        for inner in entry.get("properties", {}).values():
            # What is null here may be a number elsewhere, and the other way round.
            inner.pop("required", None)
            inner.pop("properties", None)
            if "type" in inner:
                kinds = {inner["type"]} if isinstance(inner["type"], str) else set(inner["type"])
                inner["type"] = sorted(kinds | {"null"} | ({"number"} if kinds == {"null"} else set()))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"polyroc {command.replace('-', ' --')} --json",
        **found,
        "additionalProperties": False,
    }


def write_files(folder):
    """Predictions of two models for 90 samples of three classes and of two, one column of the latter, and costs."""
    rng = np.random.default_rng(0)
    for name, n_classes, signal in (("one", 3, 1.5), ("other", 3, 1.0), ("two", 2, 1.5), ("weak", 2, 0.0)):
        codes = np.arange(90) % n_classes
        logits = rng.normal(size=(90, n_classes)) + signal * np.eye(n_classes)[codes]
        scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        rows = [
            f"{CLASSES[code]},{i // 3},{','.join(f'{score:.6f}' for score in row)}"
            for i, (code, row) in enumerate(zip(codes, scores, strict=True))
        ]
        head = ",".join(f"p_{name}" for name in CLASSES[:n_classes])
        (folder / f"{name}.csv").write_text("\n".join([f"label,group,{head}", *rows, ""]), encoding="utf-8")
        if name == "two":
            column = [f"{CLASSES[code]},{row[1]:.6f}" for code, row in zip(codes, scores, strict=True)]
            (folder / "single.csv").write_text("\n".join([f"label,{CLASSES[1]}", *column, ""]), encoding="utf-8")
    one, other = (arrow_csv.read_csv(folder / f"{name}.csv") for name in ("one", "other"))
    models = {f"{model}_{name}": table[f"p_{name}"] for model, table in (("a", one), ("b", other)) for name in CLASSES}
    parquet.write_table(pa.table({"label": one["label"], **models}), folder / "both.parquet")
    (folder / "costs.csv").write_text("cat,dog,owl\n0,1,1\n1,0,2\n5,1,0\n", encoding="utf-8")


def output_of(command):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = cli([*command.split(), "--json", "--quiet"])
    if status:
        sys.exit(f"`polyroc {command}` ended with exit code {status}")
    return json.loads(printed.getvalue())


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)
        write_files(Path(made))
        for name, commands in COMMANDS.items():
            schema = schema_for(name, [output_of(command) for command in commands])
            text = json.dumps(schema, indent=1, ensure_ascii=False)
            (FOLDER / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
        os.chdir(ROOT)
    print(f"{len(COMMANDS)} schemas of polyroc {polyroc.__version__} in {FOLDER.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
